//! The verdict of our own reports.

use super::lines::{Line, Lines};
use crate::read::{ReadError, number};
use model::verdict::{Finding, Severity, Verdict};

pub(super) fn is_header(line: Line<'_>) -> bool {
    line.text.starts_with("Verdict: ")
}

/// Reads the findings after the head line: two lines each.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Verdict, ReadError> {
    let mut verdict = Verdict::default();
    while let Some(line) = lines.peek().filter(|line| line.text.starts_with("  ")) {
        lines.take();
        let mut finding = finding(line)?;
        if let Some(advice) = lines.peek().filter(|line| line.text.starts_with("          ")) {
            advice.content().clone_into(&mut finding.advice);
            lines.take();
        }
        verdict.findings.push(finding);
    }
    Ok(verdict)
}

fn finding(line: Line<'_>) -> Result<Finding, ReadError> {
    let (word, rest) = line.content().split_once(' ').unwrap_or((line.content(), ""));
    let unknown = || line.error(word, format!("'{}' is not a severity", number::shown(word)));
    let severity = Severity::from_word(word).ok_or_else(unknown)?;
    let (name, figure) = rest.trim_start().split_once(": ").unwrap_or((rest, ""));
    Ok(Finding { name: name.to_owned(), severity, figure: figure.to_owned(), value: None, advice: String::new() })
}
