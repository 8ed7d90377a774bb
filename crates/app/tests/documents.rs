//! Documents that are made from the program are those that are committed.

use std::path::Path;

#[test]
fn documents_are_current() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    for document in xtask::docs::all(root).expect("documents can be made") {
        assert!(document.made == document.committed, "{} is out of date: run cargo xtask docs", document.path);
    }
}

/// The source that a test's name begins with: a file of tests here, or a module of a crate.
fn source(root: &Path, parts: &[&str]) -> Option<String> {
    let place = match parts {
        [file] => format!("crates/app/tests/{file}.rs"),
        [member, modules @ .., "tests"] | [member, modules @ ..] => {
            format!("crates/{member}/src/{}.rs", modules.join("/"))
        }
        [] => return None,
    };
    std::fs::read_to_string(root.join(place)).ok()
}

#[test]
fn the_tests_that_the_list_of_faults_names_exist() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let page = std::fs::read_to_string(root.join("docs/faults.md")).expect("the page");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Fault")).collect();
    assert!(rows.len() > 20);
    for row in rows {
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test is named: {row}");
        for name in names {
            let mut parts: Vec<&str> = name.split("::").collect();
            // A whole module stands for all of its tests.
            let test = if name.ends_with("_tests") { None } else { parts.pop() };
            let code = source(root, &parts).unwrap_or_else(|| panic!("no source of '{name}'"));
            assert!(test.is_none_or(|test| code.contains(&format!("fn {test}()"))), "no test '{name}'");
        }
    }
}
