//! What became of requirements, in our own reports.

use super::lines::{Line, Lines};
use super::verdict_block;
use crate::read::ReadError;
use crate::requirement_block::HEAD;
use model::finding::{Finding, Source};

/// The only rule that makes such findings.
const NAME: &str = "requirement";

pub(super) fn is_header(line: Line<'_>) -> bool {
    line.text.starts_with(HEAD)
}

/// Reads the findings after the head line, whose names are the requirements.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Vec<Finding>, ReadError> {
    let findings = verdict_block::findings(lines, Source::Requirement)?;
    Ok(findings
        .into_iter()
        .map(|finding| Finding { subject: finding.name, name: NAME.to_owned(), ..finding })
        .collect())
}
