//! Every file that opens, creates, renames or removes files is listed in ARCHITECTURE.md, with its protection of other
//! people's data.

use super::Finding;
use super::tree::Tree;
use std::collections::BTreeSet;

const PAGE: &str = "ARCHITECTURE.md";
const SECTION: &str = "\n## Where files are written\n";
/// Prefix of the paths in the table.
pub(super) const CRATES: &str = "crates/";

/// Text of such calls.
const CALLS: [&str; 34] = [
    "File::create",
    "OpenOptions::new",
    "File::options",
    ".write(true)",
    ".append(true)",
    "fs::write(",
    "fs::rename(",
    "fs::copy(",
    "hard_link(",
    "::symlink(",
    "create_dir",
    "DirBuilder::new",
    "remove_file(",
    "remove_dir",
    "OFlags::WRONLY",
    "OFlags::RDWR",
    "OFlags::CREATE",
    "libc::open(",
    "tempfile::",
    "file.persist(",
    "UnixListener::bind",
    "set_len(",
    "ftruncate(",
    "renameat",
    "linkat(",
    "mkdirat(",
    "open_to_write(",
    "open_to_try_writing(",
    "open_to_change(",
    "duplicate_for_writing(",
    "create_new(",
    "create_nameless(",
    "create_folder",
    "NewFile::create",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let listed = listed(tree.text(PAGE).unwrap_or_default());
    let files: Vec<(&str, &str)> = tree.ending(".rs").filter(|(path, _)| path.starts_with(CRATES)).collect();
    let of_tests: BTreeSet<(&str, &str)> =
        files.iter().flat_map(|(path, text)| test_modules(text).map(|module| (crate_of(path), module))).collect();
    let is_of_program = |path: &str| {
        let (name, rest) = source_of(path).unwrap_or_default();
        let mut modules = rest.trim_end_matches(".rs").split('/');
        !name.is_empty() && !modules.any(|module| of_tests.contains(&(name, module)))
    };
    let mut findings = Vec::new();
    let mut found = BTreeSet::new();
    for (path, text) in files.iter().filter(|(path, _)| is_of_program(path)) {
        let Some((line, call)) = first_call(text) else { continue };
        let below = path.trim_start_matches(CRATES);
        found.insert(below);
        if !listed.contains(below) {
            let what = format!("'{call}' opens or changes files: add '{below}' to the table of {PAGE}, with its way");
            findings.push(Finding { path: (*path).to_owned(), line, what });
        }
    }
    let gone = listed.difference(&found);
    findings
        .extend(gone.map(|path| Finding::of_file(PAGE, format!("lists '{path}', which opens no files for writing"))));
    findings
}

/// The paths of the table, below `crates`.
fn listed(page: &str) -> BTreeSet<&str> {
    let section = page.split_once(SECTION).map_or("", |(_, section)| section);
    let section = section.split("\n## ").next().unwrap_or_default();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    cells.flat_map(|cell| cell.split('`')).filter(|part| part.contains("/src/")).collect()
}

/// The crate of a source, and its path in the folder of sources.
pub(super) fn source_of(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix(CRATES)?.split_once("/src/")
}

fn crate_of(path: &str) -> &str {
    path.strip_prefix(CRATES).and_then(|path| path.split('/').next()).unwrap_or_default()
}

/// Modules in separate files that only tests use.
pub(super) fn test_modules(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| rest.lines().next());
    after.filter_map(|line| line.strip_suffix(';')?.rsplit_once("mod ")).map(|(_, name)| name)
}

/// A source without its tests.
pub(super) fn program(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// The first such call outside of tests and comments, with its line.
fn first_call(text: &str) -> Option<(usize, &'static str)> {
    program(text).lines().enumerate().find_map(|(index, line)| {
        let line = line.trim_start();
        let is_code = !line.starts_with("//") && !line.starts_with("use ") && !line.starts_with("pub fn ");
        let call = CALLS.into_iter().find(|call| is_code && line.contains(call))?;
        Some((index + 1, call))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    #[test]
    fn what_is_not_listed_and_what_is_listed_for_nothing_is_found() {
        let page = "# A\n\n## Where files are written\n\n| file | way |\n|---|---|\n| `a/src/one.rs`, `a/src/gone.rs` | x |\n\n\
                    ## B\n\n| `a/src/two.rs` | y |\n";
        let files = [
            (PAGE, page),
            ("crates/a/src/one.rs", "fn f() {\n    fs::write(path, text);\n}\n"),
            ("crates/a/src/two.rs", "// fs::write(x)\nuse std::fs::File;\nfn f() {\n    File::create(path);\n}\n"),
            (
                "crates/a/src/three.rs",
                "#[cfg(test)]\nmod helper;\n\n#[cfg(test)]\nmod tests {\n    fs::write(path)\n}\n",
            ),
            ("crates/a/src/three/helper.rs", "fn f() {\n    fs::remove_file(path);\n}\n"),
            ("crates/a/tests/four.rs", "fn f() {\n    fs::remove_file(path);\n}\n"),
        ];
        let files: BTreeMap<String, Option<String>> =
            files.into_iter().map(|(path, text)| (path.to_owned(), Some(text.to_owned()))).collect();
        let found: Vec<String> = check(&Tree { root: PathBuf::new(), files }).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/a/src/two.rs:4: 'File::create' opens or changes files: add 'a/src/two.rs' to the table of \
                 ARCHITECTURE.md, with its way",
                "ARCHITECTURE.md: lists 'a/src/gone.rs', which opens no files for writing",
            ]
        );
    }
}
