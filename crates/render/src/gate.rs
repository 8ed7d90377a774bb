//! The answer of a gate as Markdown and as `JUnit` XML.

use crate::document::{GATE_SUMMARY_TITLE, JUNIT_BEGINNING};
use crate::table_text::{COLUMNS, lines};
use crate::xml::in_attribute;
use model::gate::GateOutcome;
use model::printable::{printable, wrapped};
use report::Change;
use report::words::gate::{Answer, cells, table};
use std::fmt::Write as _;

/// The answer, and a table of its metrics.
pub fn text(answer: &Answer) -> String {
    // With room for the indent of a second line.
    let line = format!("{}: {}", answer.outcome.word(), printable(&answer.reason));
    let head = wrapped(&line, COLUMNS - 2).join("\n  ") + "\n";
    table(answer).iter().flat_map(lines).fold(head, |text, line| text + &line + "\n")
}

/// The answer as Markdown.
pub fn summary(answer: &Answer) -> String {
    let plain = |text: &str| printable(text).replace(['|', '<', '`'], " ");
    let mut text = format!("{GATE_SUMMARY_TITLE}{}\n\n{}\n\n", answer.outcome.word(), plain(&answer.reason));
    if !answer.changes.is_empty() {
        text += "| metric | earlier | now | change | |\n|---|---|---|---|---|\n";
        for change in &answer.changes {
            let _ = writeln!(text, "| {} |", cells(change).map(|cell| plain(&cell)).join(" | "));
        }
        text.push('\n');
    }
    text
}

/// The answer as `JUnit` XML, a test case for each metric. "Cannot tell" is a skipped test.
pub fn junit(answer: &Answer) -> String {
    let reason = in_attribute(&answer.reason);
    let element = |is_worse: bool| match answer.outcome {
        GateOutcome::Fail if is_worse => format!("<failure message=\"{reason}\"/>"),
        GateOutcome::CannotTell => format!("<skipped message=\"{reason}\"/>"),
        _ => String::new(),
    };
    let of_change = |change: &Change| (change.figure.shown(), element(change.is_worse));
    let mut cases: Vec<(String, String)> = answer.changes.iter().map(of_change).collect();
    if cases.is_empty() || (answer.outcome == GateOutcome::Fail && !answer.changes.iter().any(|change| change.is_worse))
    {
        cases.push(("gate".to_owned(), element(true)));
    }
    let count = |word: &str| cases.iter().filter(|(_, element)| element.starts_with(word)).count();
    let counts =
        format!("tests=\"{}\" failures=\"{}\" skipped=\"{}\"", cases.len(), count("<failure"), count("<skipped"));
    let mut text = format!("{JUNIT_BEGINNING} {counts}>\n<testsuite name=\"diskspd gate\" {counts}>\n");
    for (name, element) in &cases {
        let name = in_attribute(name);
        // Writing to a string does not fail.
        let _ = writeln!(text, "<testcase classname=\"diskspd\" name=\"{name}\">{element}</testcase>");
    }
    text + "</testsuite>\n</testsuites>\n"
}
