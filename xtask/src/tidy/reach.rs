//! Rust files that belong to no program, library or test.

use super::Finding;
use super::tree::{Tree, folder_of, joined};
use crate::metadata;
use crate::stop::Stop;
use std::collections::BTreeSet;

/// Files that cargo does not build.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>, Stop> {
    let mut roots = Vec::new();
    for package in metadata::packages(&tree.root)? {
        let targets = package["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
        roots.extend(
            targets.iter().filter_map(|target| metadata::below(&tree.root, metadata::text(target, "src_path"))),
        );
    }
    // A separate workspace, which is not in this one's metadata.
    roots.extend(tree.ending(".rs").map(|(path, _)| path.to_owned()).filter(|path| path.starts_with("fuzz/targets/")));
    roots.push("fuzz/src/lib.rs".to_owned());
    Ok(dead(tree, roots))
}

fn dead(tree: &Tree, roots: Vec<String>) -> Vec<Finding> {
    let is_root: BTreeSet<String> = roots.iter().cloned().collect();
    let mut reached = BTreeSet::new();
    let mut open = roots;
    while let Some(path) = open.pop() {
        if let Some(text) = tree.text(&path)
            && reached.insert(path.clone())
        {
            open.extend(modules(&path, text, is_root.contains(&path)));
        }
    }
    let dead = tree.ending(".rs").filter(|(path, _)| !reached.contains(*path));
    dead.map(|(path, _)| Finding::of_file(path, "no program, library or test is made of it")).collect()
}

/// Possible files of the modules that a file declares.
fn modules(path: &str, text: &str, is_root: bool) -> Vec<String> {
    let folder = folder_of(path);
    let below = if is_root || path.ends_with("/mod.rs") { folder } else { path.trim_end_matches(".rs") };
    let mut places = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if let Some(place) = line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]")) {
            places.extend(joined(folder, place));
            lines.next();
        } else if let Some((_, place)) = line.strip_prefix("#[cfg_attr(").and_then(|rest| rest.split_once("path = \""))
        {
            // The module named after it is that of another build.
            places.extend(place.strip_suffix("\")]").and_then(|place| joined(folder, place)));
        } else if let Some(name) = module(line) {
            places.push(format!("{below}/{name}.rs"));
            places.push(format!("{below}/{name}/mod.rs"));
        }
    }
    places
}

/// The name in `pub(crate) mod name;`.
fn module(line: &str) -> Option<&str> {
    let declaration = line.strip_suffix(';')?;
    let (visibility, name) = declaration.split_once("mod ")?;
    let is_visibility = visibility.is_empty() || (visibility.starts_with("pub") && visibility.ends_with(' '));
    is_visibility.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    #[test]
    fn files_that_no_module_names_are_dead() {
        let files = [
            ("a/src/lib.rs", "mod b;\n#[cfg_attr(not(feature = \"c\"), path = \"without/c.rs\")]\npub(crate) mod c;\n"),
            ("a/src/without/c.rs", ""),
            ("a/src/b.rs", "//! mod no;\n#[cfg(test)]\nmod d;\n"),
            ("a/src/b/d.rs", ""),
            ("a/src/c/mod.rs", "mod e;\n"),
            ("a/src/c/e.rs", ""),
            ("a/src/d.rs", ""),
            ("a/tests/x.rs", "#[path = \"../other/y.rs\"]\nmod y;\n"),
            ("a/other/y.rs", ""),
            ("a/other/no.rs", ""),
        ];
        let files: BTreeMap<_, _> =
            files.into_iter().map(|(path, text)| (path.to_owned(), Some(text.to_owned()))).collect();
        let tree = Tree { root: PathBuf::new(), files };
        let dead = dead(&tree, vec!["a/src/lib.rs".to_owned(), "a/tests/x.rs".to_owned()]);
        let paths: Vec<&str> = dead.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["a/other/no.rs", "a/src/d.rs"]);
    }
}
