//! Documents that are made from the program are those that are committed.

use std::path::Path;

#[test]
fn documents_are_current() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    for document in xtask::docs::all(root).expect("documents can be made") {
        assert!(document.made == document.committed, "{} is out of date: run cargo xtask docs", document.path);
    }
}

/// The source that a test's name begins with: a file of tests here, one of those that are in folders, or a
/// module of a crate.
fn source(root: &Path, parts: &[&str]) -> Option<String> {
    let place = match parts {
        [file] => format!("crates/app/tests/{file}.rs"),
        [folder @ ("verdict" | "vm"), file] => format!("crates/app/tests/{folder}/{file}.rs"),
        [member, modules @ .., "tests"] | [member, modules @ ..] => {
            format!("crates/{member}/src/{}.rs", modules.join("/"))
        }
        [] => return None,
    };
    std::fs::read_to_string(root.join(place)).ok()
}

/// The rows of all tables of a page, without their headings: cells, with the bars inside of them.
fn rows(page: &str) -> Vec<Vec<String>> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(page);
    let text = std::fs::read_to_string(path).expect("the page");
    let lines: Vec<&str> = text.lines().collect();
    let is_heading = |at: usize| lines.get(at + 1).is_some_and(|next| next.starts_with("|---"));
    let is_row = |at: &usize| lines[*at].starts_with("| ") && !is_heading(*at);
    let cells = |line: &str| -> Vec<String> {
        let inside = line.trim_start_matches("| ").trim_end_matches(" |");
        inside.split(" | ").map(|cell| cell.replace("\\|", "|")).collect()
    };
    (0..lines.len()).filter(is_row).map(|at| cells(lines[at])).collect()
}

/// What stands between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Fails unless the last cell of each row names tests, and all of them exist.
fn expect_tests(rows: &[Vec<String>]) {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    for row in rows {
        let names: Vec<&str> = quoted(row.last().expect("a row has cells")).collect();
        assert!(!names.is_empty(), "no test is named: {row:?}");
        for name in names {
            let mut parts: Vec<&str> = name.split("::").collect();
            // A whole module stands for all of its tests.
            let test = if name.ends_with("_tests") { None } else { parts.pop() };
            let code = source(root, &parts).unwrap_or_else(|| panic!("no source of '{name}'"));
            assert!(test.is_none_or(|test| code.contains(&format!("fn {test}()"))), "no test '{name}'");
        }
    }
}

#[test]
fn the_tests_that_the_list_of_faults_names_exist() {
    let rows = rows("faults.md");
    assert!(rows.len() > 20);
    expect_tests(&rows);
}

#[test]
fn the_tests_that_the_list_of_what_is_changed_names_exist() {
    let rows = rows("data-safety.md");
    assert!(rows.len() >= 9 && rows.iter().all(|row| row.len() == 4));
    expect_tests(&rows);
}

#[test]
fn every_option_has_its_row_in_the_list_of_switches_and_a_test() {
    let rows = rows("switches.md");
    expect_tests(&rows);
    let named: Vec<&str> = rows.iter().map(|row| quoted(&row[0]).next().expect("a switch")).collect();
    assert!(rows.iter().all(|row| row.len() == 4), "a row has four cells");
    let synopses: Vec<String> = spec::options::all().map(spec::options::OptionRow::synopsis).collect();
    for synopsis in &synopses {
        assert_eq!(named.iter().filter(|name| *name == synopsis).count(), 1, "rows of '{synopsis}'");
    }
    // The others are forms of one of them, like -Su.
    for name in named.iter().filter(|name| !synopses.iter().any(|synopsis| synopsis == *name)) {
        let row = spec::options::find_short(name).unwrap_or_else(|| panic!("'{name}' is no form of any option")).0;
        assert!(row.value.len() > 1 && name.len() > row.name.len(), "'{name}' is no form of {}", row.synopsis());
        assert_eq!(named.iter().filter(|other| *other == name).count(), 1, "rows of '{name}'");
    }
    // Options that are made of letters have a row for each.
    for (option, letters) in [("-S", "bhmruwyY"), ("-f", "rst"), ("-N", "vni"), ("-I", "123"), ("-a", "cspPeE")] {
        for letter in letters.chars() {
            let form = format!("{option}{letter}");
            assert!(named.contains(&form.as_str()), "no row of '{form}'");
        }
    }
}

#[test]
fn the_list_of_the_verdicts_rules_is_that_of_the_program() {
    let rows = rows("verdict.md");
    expect_tests(&rows);
    let names: Vec<&str> = rows.iter().map(|row| quoted(&row[0]).next().expect("a name")).collect();
    assert_eq!(names, stats::verdict::RULES.iter().map(|rule| rule.name).collect::<Vec<_>>());
    for (row, rule) in rows.iter().zip(stats::verdict::RULES) {
        assert_eq!((row.len(), row[1].as_str(), row[3].as_str()), (5, rule.severity.word(), rule.advice));
    }
}

#[test]
fn the_list_of_checks_is_that_of_the_program() {
    let rows: Vec<Vec<String>> = rows("check.md").into_iter().filter(|row| row.len() == 5).collect();
    expect_tests(&rows);
    let names: Vec<&str> = rows.iter().map(|row| quoted(&row[0]).next().expect("a name")).collect();
    assert_eq!(names, model::check::Check::ALL.map(model::check::Check::name));
}
