//! The answer of a gate as Markdown and as `JUnit` XML.

use crate::document::{GATE_SUMMARY_TITLE, JUNIT_BEGINNING};
use crate::xml::in_attribute;
use model::gate::GateOutcome;
use model::printable::printable;
use report::words::gate::{Answer, cells};
use stats::gate::Change;
use std::fmt::Write as _;

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
