//! The verdict of our own reports.

use super::lines::{Line, Lines};
use crate::read::{ReadError, number};
use model::finding::{Finding, Severity, Source};
use model::verdict::Verdict;

pub(super) fn is_header(line: Line<'_>) -> bool {
    line.text.starts_with("Verdict: ")
}

/// Reads the findings after the head line.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Verdict, ReadError> {
    Ok(Verdict { findings: findings(lines, Source::Verdict)? })
}

/// Reads findings: a line each, and one with advice.
pub(super) fn findings(lines: &mut Lines<'_>, source: Source) -> Result<Vec<Finding>, ReadError> {
    let mut findings = Vec::new();
    while let Some(line) = lines.peek().filter(|line| line.text.starts_with("  ")) {
        lines.take();
        let mut finding = finding(line, source)?;
        if let Some(advice) = lines.peek().filter(|line| line.text.starts_with("          ")) {
            advice.content().clone_into(&mut finding.advice);
            lines.take();
        }
        findings.push(finding);
    }
    Ok(findings)
}

fn finding(line: Line<'_>, source: Source) -> Result<Finding, ReadError> {
    let (word, rest) = line.content().split_once(' ').unwrap_or((line.content(), ""));
    let unknown = || line.error(word, format!("'{}' is not a severity", number::shown(word)));
    let severity = Severity::from_word(word).ok_or_else(unknown)?;
    let (name, figure) = rest.trim_start().split_once(": ").unwrap_or((rest, ""));
    Ok(Finding {
        name: name.to_owned(),
        severity,
        subject: String::new(),
        figure: figure.to_owned(),
        value: None,
        advice: String::new(),
        source,
    })
}
