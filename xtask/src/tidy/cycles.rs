//! Import cycles between modules. A module and its children count as one, beside other modules of the same parent.

use super::Finding;
use super::tree::Tree;
use super::writes::{CRATES, program, source_of, test_modules};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// The names of a module and of its ancestors, from the root of its crate.
type Path = Vec<String>;

/// `module -> modules beside it that it imports` of one parent.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Import cycles, outside of tests.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<(Path, &str)>> = BTreeMap::new();
    for (path, text) in tree.ending(".rs") {
        if let Some((name, below)) = source_of(path) {
            crates.entry(name).or_default().push((module(below), text));
        }
    }
    let cycles = crates.iter().flat_map(|(name, files)| {
        let of_parent = imports(files).into_iter().flat_map(|(parent, imports)| {
            cycles(&imports).into_iter().map(move |names| (parent.join("/"), names.join(", ")))
        });
        of_parent.map(move |(parent, names)| {
            let what = format!("{names} import each other: move what they share into a module of its own");
            Finding::of_file(format!("{CRATES}{name}/src/{parent}").trim_end_matches('/'), what)
        })
    });
    cycles.collect()
}

/// `a/b.rs` and `a/b/mod.rs` as a module.
fn module(below: &str) -> Path {
    let mut names: Path = below.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    names.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
    names
}

/// Imports between the modules of a crate, by parent.
fn imports(files: &[(Path, &str)]) -> BTreeMap<Path, Imports> {
    let of_tests: BTreeSet<&str> = files.iter().flat_map(|(_, text)| test_modules(text)).collect();
    let files = files.iter().filter(|(path, _)| !path.iter().any(|name| of_tests.contains(name.as_str())));
    let known: BTreeSet<&Path> = files.clone().map(|(path, _)| path).collect();
    let mut imports: BTreeMap<Path, Imports> = BTreeMap::new();
    for (from, text) in files {
        let Ok(tokens) = program(text).parse::<TokenStream>() else { continue };
        let mut paths = Vec::new();
        collect(tokens, &mut paths);
        for mut to in paths.iter().filter_map(|path| absolute(from, path)) {
            while !known.contains(&to) && to.pop().is_some() {}
            let depth = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
            // Neither contains the other.
            if let (Some(one), Some(other)) = (from.get(depth), to.get(depth)) {
                let beside = imports.entry(from[..depth].to_vec()).or_default();
                beside.entry(one.clone()).or_default().insert(other.clone());
            }
        }
    }
    imports
}

/// A path of a source from the root of its crate; `None` if it begins elsewhere.
fn absolute(from: &Path, path: &Path) -> Option<Path> {
    let up = path.iter().take_while(|name| *name == "super").count();
    let base = match path.first()?.as_str() {
        "crate" => &[][..],
        "self" => &from[..],
        "super" => from.get(..from.len().checked_sub(up)?)?,
        _ => return None,
    };
    Some(base.iter().chain(path.iter().skip(up.max(1))).cloned().collect())
}

/// All paths in a source that begin with `crate`, `self` or `super`, including those inside braces of `use`.
fn collect(tokens: TokenStream, paths: &mut Vec<Path>) {
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        match token {
            TokenTree::Ident(name) if ["crate", "self", "super"].contains(&name.to_string().as_str()) => {
                follow(vec![name.to_string()], &mut rest, paths);
            }
            TokenTree::Group(group) => collect(group.stream(), paths),
            _ => {}
        }
    }
}

/// The rest of a path that has begun.
fn follow(mut path: Path, rest: &mut std::iter::Peekable<impl Iterator<Item = TokenTree>>, paths: &mut Vec<Path>) {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    while rest.next_if(is_colon).is_some() {
        if rest.next_if(is_colon).is_none() {
            break;
        }
        match rest.next_if(|token| matches!(token, TokenTree::Ident(_) | TokenTree::Group(_))) {
            Some(TokenTree::Ident(name)) => path.push(name.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let mut inside = group.stream().into_iter().peekable();
                while let Some(token) = inside.next() {
                    if let TokenTree::Ident(name) = token {
                        let longer = path.iter().cloned().chain([name.to_string()]).filter(|name| name != "self");
                        follow(longer.collect(), &mut inside, paths);
                    }
                }
            }
            _ => break,
        }
    }
    paths.push(path);
}

/// Modules of one parent that import each other, directly or through others.
fn cycles(imports: &Imports) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        imports.keys().map(|name| (name, reached(imports, name))).collect();
    let cycle = |(name, all): (&&String, &BTreeSet<&String>)| -> Vec<String> {
        let leads_back = |other: &&&String| reached.get(**other).is_some_and(|back| back.contains(*name));
        all.iter().filter(leads_back).map(|other| (*other).clone()).collect()
    };
    let all: BTreeSet<Vec<String>> = reached.iter().map(cycle).filter(|cycle| cycle.len() > 1).collect();
    all.into_iter().collect()
}

/// All modules that one imports, directly or through others.
fn reached<'a>(imports: &'a Imports, from: &'a String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        open.extend(imports.get(next).into_iter().flatten().filter(|name| reached.insert(*name)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect();
        check(&Tree { root: PathBuf::new(), files }).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn modules_that_import_each_other_are_found() {
        let told = found(&[
            ("crates/a/src/lib.rs", "mod one;\nmod two;\nmod three;\n"),
            ("crates/a/src/one.rs", "use crate::{three, two::{self, X}};\n"),
            ("crates/a/src/two.rs", "fn f() {\n    let x = super::three::inner::y();\n}\n"),
            ("crates/a/src/three/mod.rs", "pub mod inner;\n"),
            ("crates/a/src/three/inner.rs", "use super::super::one::Z;\n"),
        ]);
        let expected = "crates/a/src: one, three, two import each other: move what they share into a module of its own";
        assert_eq!(told, [expected]);
    }

    #[test]
    fn children_and_tests_make_no_cycles() {
        let told = found(&[
            ("crates/a/src/lib.rs", "mod one;\nmod two;\n#[cfg(test)]\nmod both;\n"),
            ("crates/a/src/one.rs", "mod child;\nuse crate::two::X;\nuse child::Y;\n"),
            ("crates/a/src/one/child.rs", "use super::Z;\n"),
            ("crates/a/src/two.rs", "// crate::one\n\n#[cfg(test)]\nmod tests {\n    use crate::one::W;\n}\n"),
            ("crates/a/src/both.rs", "use crate::one;\nuse crate::two;\n"),
        ]);
        assert_eq!(told, [""; 0]);
    }
}
