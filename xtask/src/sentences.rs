//! Every text of the program that may be read by a user: the string literals of its sources that have several words.
//!
//! The list is committed, so that a new or changed sentence is shown in review.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The text above the list.
const HEAD: &str = "\
# Texts of the program, sorted; {} stands for a value. Made by: cargo xtask docs
";

/// The list: one text a line, line feeds escaped.
///
/// # Errors
///
/// If a source cannot be read, or is not Rust.
pub(crate) fn list(root: &Path) -> io::Result<String> {
    let mut texts = BTreeSet::new();
    let files: Vec<(PathBuf, String)> = sources(&root.join("crates"))?
        .into_iter()
        .map(|file| std::fs::read_to_string(&file).map(|code| (file, code)))
        .collect::<io::Result<_>>()?;
    let of_tests: BTreeSet<PathBuf> = files.iter().flat_map(|(file, code)| files_of_tests(file, code)).collect();
    for (file, code) in files.iter().filter(|(file, _)| !of_tests.contains(file)) {
        let tokens: TokenStream = code
            .parse()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", file.display())))?;
        collect(tokens, &mut texts);
    }
    let lines: Vec<String> = texts.into_iter().collect();
    Ok(format!("{HEAD}{}\n", lines.join("\n")))
}

/// The sources of the program without those of tests.
fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let is_of_tests = matches!(name.as_str(), "tests" | "worker_tests" | "examples" | "benches");
            if !is_of_tests {
                found.extend(sources(&path)?);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") && !name.contains("test") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The files of the modules that a source declares for its tests alone.
fn files_of_tests(file: &Path, code: &str) -> Vec<PathBuf> {
    let stem = file.file_stem().unwrap_or_default();
    let holder = file.parent().unwrap_or(Path::new(""));
    let folder =
        if ["lib", "main", "mod"].iter().any(|name| stem == *name) { holder.to_owned() } else { holder.join(stem) };
    let lines = || code.lines().map(str::trim);
    let names = lines().zip(lines().skip(1)).filter_map(|(attribute, line)| {
        let (_, name) = line.strip_suffix(';')?.rsplit_once("mod ")?;
        (attribute == "#[cfg(test)]").then_some(name)
    });
    names.map(|name| folder.join(format!("{name}.rs"))).collect()
}

/// Literals outside of attributes, comments and modules of tests.
fn collect(tokens: TokenStream, texts: &mut BTreeSet<String>) {
    let mut is_of_tests = false;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if let Some(TokenTree::Punct(bang)) = tokens.peek()
                    && bang.as_char() == '!'
                {
                    tokens.next();
                }
                if let Some(TokenTree::Group(attribute)) = tokens.peek()
                    && attribute.delimiter() == Delimiter::Bracket
                {
                    is_of_tests |= attribute.stream().to_string().replace(' ', "") == "cfg(test)";
                    tokens.next();
                }
            }
            TokenTree::Group(group) => {
                // The body after the attribute.
                let is_body = group.delimiter() == Delimiter::Brace;
                if !is_of_tests {
                    collect(group.stream(), texts);
                }
                is_of_tests &= !is_body;
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => is_of_tests = false,
            TokenTree::Literal(literal) if !is_of_tests => texts.extend(sentence(&literal.to_string())),
            _ => {}
        }
    }
}

/// The text of a literal, if it has three words or more.
fn sentence(literal: &str) -> Option<String> {
    let text = syn::parse_str::<syn::LitStr>(literal).ok()?.value();
    let is_word = |word: &&str| word.chars().filter(|c| c.is_alphabetic()).count() > 1;
    (text.split_whitespace().filter(is_word).count() >= 3)
        .then(|| text.trim().escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_modules_for_tests_are_left_out() {
        let code =
            "mod shown;\n#[cfg(test)]\nmod cases;\n\n#[cfg(test)]\npub(crate) mod fixture;\n#[cfg(unix)]\nmod unix;\n";
        let found = |file: &str| files_of_tests(Path::new(file), code);
        assert_eq!(found("a/src/lib.rs"), [Path::new("a/src/cases.rs"), Path::new("a/src/fixture.rs")]);
        assert_eq!(found("a/src/b.rs"), [Path::new("a/src/b/cases.rs"), Path::new("a/src/b/fixture.rs")]);
    }

    #[test]
    fn texts_outside_of_tests_attributes_and_comments_are_listed() {
        let code = r##"
            /// A comment is no text.
            #[deprecated = "this is an attribute"]
            fn shown() { println!("{} of the files are missing", 3); let _ = "two words"; let _ = r#"a "raw" text too"#; }
            #[cfg(test)]
            mod tests { const TEXT: &str = "only seen by a test"; }
            const LAST: &str = "and \
                                this one is last";
        "##;
        let mut texts = BTreeSet::new();
        collect(code.parse().unwrap(), &mut texts);
        let texts: Vec<String> = texts.into_iter().collect();
        assert_eq!(texts, ["a \"raw\" text too", "and this one is last", "{} of the files are missing"]);
    }
}
