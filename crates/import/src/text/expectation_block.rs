//! What was expected, in our own reports.

use super::lines::{Line, Lines};
use super::verdict_block;
use crate::expectation_block::{CEILING, ESTIMATE, HEAD};
use crate::read::{ReadError, number};
use model::expectation::{Ceiling, CeilingUnit, Expectation};

pub(super) fn is_header(line: Line<'_>) -> bool {
    line.text.starts_with(HEAD)
}

/// Reads the lines after the head line `head`.
pub(super) fn read(head: Line<'_>, lines: &mut Lines<'_>) -> Result<Expectation, ReadError> {
    let binding = head.text.strip_prefix(HEAD).unwrap_or_default().to_owned();
    let mut ceilings = Vec::new();
    let begin = format!("  {CEILING} ");
    while let Some(line) = lines.peek().filter(|line| line.text.starts_with(&begin)) {
        lines.take();
        ceilings.push(ceiling(line, &line.text[begin.len()..])?);
    }
    Ok(Expectation { ceilings, binding, findings: verdict_block::read(lines)?.findings })
}

/// `vm-iops: 1440.00 of 1920.00 I/O per s, 75.0 %`
fn ceiling(line: Line<'_>, text: &str) -> Result<Ceiling, ReadError> {
    let wrong = || line.error(text, "expected '<ceiling>: <rate> of <limit>, <percent> %'".to_owned());
    let is_estimate = text.ends_with(ESTIMATE);
    let text = text.strip_suffix(ESTIMATE).unwrap_or(text);
    let (name, rest) = text.split_once(": ").ok_or_else(wrong)?;
    let (reached, rest) = rest.split_once(" of ").ok_or_else(wrong)?;
    let (limit, share) = rest.rsplit_once(", ").ok_or_else(wrong)?;
    let unit = CeilingUnit::ALL.into_iter().find(|unit| limit.ends_with(unit.words())).ok_or_else(wrong)?;
    let figure = |text: &str| -> Result<f64, ReadError> { line.parse(text.trim(), number::real)?.ok_or_else(wrong) };
    Ok(Ceiling {
        name: name.to_owned(),
        unit,
        limit: figure(limit.trim_end_matches(unit.words()))? * unit.scale(),
        reached: figure(reached)? * unit.scale(),
        share_percent: figure(share.trim_end_matches('%'))?,
        is_estimate,
    })
}
