//! Generated documents match the committed ones, and each question of a reader has its answer.

use std::collections::BTreeSet;
use std::path::Path;
use testkit::workplace;

#[test]
fn documents_are_current() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    for document in xtask::docs::all(root).expect("documents can be made") {
        assert!(document.made == document.committed, "{} is out of date: run cargo xtask docs", document.path);
    }
}

/// The cells of all rows of all tables of a page, without their headings, including bars in cells.
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

/// The texts between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The rows of a page that comments of tests refer to: `// Shows faults: A target hangs`.
fn shown(page: &str) -> BTreeSet<String> {
    let beginning = format!("// Shows {page}: ");
    let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut folders = vec![crates.to_owned()];
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let code = std::fs::read_to_string(path).expect("a source");
                found.extend(code.lines().filter_map(|line| Some(line.trim().strip_prefix(&beginning)?.to_owned())));
            }
        }
    }
    found
}

/// Fails unless a test shows each row, and only those.
fn expect_shown(page: &str, rows: &[Vec<String>]) {
    let rows: BTreeSet<String> = rows.iter().map(|row| row[0].replace('`', "")).collect();
    let shown = shown(page);
    assert_eq!(
        rows.difference(&shown).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "rows of {page}.md that no test shows"
    );
    assert_eq!(shown.difference(&rows).collect::<Vec<_>>(), Vec::<&String>::new(), "no rows of {page}.md");
}

#[test]
fn tests_show_every_fault() {
    let rows = rows("faults.md");
    assert!(rows.len() > 20);
    expect_shown("faults", &rows);
}

#[test]
fn tests_show_every_way_to_change_something() {
    let rows = rows("data-safety.md");
    assert!(rows.len() >= 9 && rows.iter().all(|row| row.len() == 3));
    expect_shown("data-safety", &rows);
}

#[test]
fn tests_show_every_option_and_each_of_its_letters() {
    let letters = [("-S", "buwhmryY"), ("-f", "rst"), ("-N", "vni"), ("-I", "123"), ("-a", "cspPeE"), ("-au", "p")];
    let letters =
        letters.into_iter().flat_map(|(option, letters)| letters.chars().map(move |one| format!("{option}{one}")));
    let forms: Vec<Vec<String>> =
        cli::options::all().map(cli::options::OptionRow::synopsis).chain(letters).map(|form| vec![form]).collect();
    expect_shown("switches", &forms);
    for form in rows("switches.md").iter().flat_map(|row| quoted(&row[0])) {
        assert!(cli::options::find_short(form).is_some(), "'{form}' is no form of any option");
    }
}

#[test]
fn tests_show_every_rule_of_the_verdict() {
    let rows: Vec<_> = rows("verdict.md").into_iter().filter(|row| row.len() == 4).collect();
    expect_shown("verdict", &rows);
    assert_eq!(rows.len(), rules::verdict::rules().count());
}

#[test]
fn the_guide_lists_the_exit_statuses() {
    let listed: Vec<Vec<String>> = rows("guide/commands.md")
        .into_iter()
        .filter(|row| row[0].split(", ").all(|number| number.parse::<u8>().is_ok()))
        .collect();
    let statuses =
        cli::exit_status::ExitStatus::TABLE.map(|(number, meaning)| vec![number.to_owned(), meaning.to_owned()]);
    assert_eq!(listed, statuses);
}

#[test]
fn tests_show_every_check() {
    let rows: Vec<Vec<String>> = rows("check.md").into_iter().filter(|row| row.len() == 4).collect();
    expect_shown("check", &rows);
    assert_eq!(rows.len(), rules::check::rules(model::check::Workload::Sql).count());
}

/// Questions of users, operators and maintainers in their words, each with the help or the heading that answers it.
const FACTS: &str = include_str!("../data/facts.txt");

#[test]
fn help_or_a_heading_answers_each_question() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let place = workplace!();
    let facts: Vec<(&str, &str)> = FACTS.lines().filter_map(|line| line.split_once('\t')).collect();
    assert_eq!(facts.len(), FACTS.lines().count(), "a line is a question, a tab and its answer");
    assert!(facts.len() >= 60, "{} questions", facts.len());
    let questions: BTreeSet<&str> = facts.iter().map(|(question, _)| *question).collect();
    assert_eq!(questions.len(), facts.len(), "each question stands once");
    for (question, answer) in facts {
        if answer.starts_with("--help ") {
            let run = place.diskspd(answer).run();
            run.expect_status(0);
            assert!(!run.stdout.trim().is_empty(), "{question}: {answer} prints nothing");
            continue;
        }
        let (page, anchor) = answer.split_once('#').map_or((answer, None), |(page, anchor)| (page, Some(anchor)));
        let text =
            std::fs::read_to_string(root.join(page)).unwrap_or_else(|error| panic!("{question}: {page}: {error}"));
        let anchors = xtask::tidy::anchors(&text);
        let is_there = anchor.is_none_or(|anchor| anchors.iter().any(|known| known == anchor));
        assert!(is_there, "{question}: {answer} is none of its headings: {anchors:?}");
    }
}
