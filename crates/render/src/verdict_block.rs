//! The verdict, after everything that `DiskSpd` prints for a timespan.
//!
//! Its lines begin with what no line of `DiskSpd` begins with, so that scripts pass over them.

use crate::foreign;
use model::finding::{Finding, Severity};
use model::verdict::Verdict;
use std::io::{self, Write};

/// What the head line says where nothing is worse than a note.
pub const SOUND: &str = "no conditions found that invalidate or bias the results";

/// The block, beginning with an empty line: a head line, then two lines for each finding.
pub(crate) fn block(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let head = match verdict.severity() {
        Some(severity) if severity > Severity::Note => severity.word(),
        _ => SOUND,
    };
    writeln!(out, "\nVerdict: {head}")?;
    verdict.findings.iter().try_for_each(|found| finding(out, found))
}

/// What several runs say together, after an empty line; nothing if they say nothing.
pub(crate) fn of_runs(out: &mut dyn Write, findings: &[Finding]) -> io::Result<()> {
    if !findings.is_empty() {
        writeln!(out)?;
    }
    findings.iter().try_for_each(|found| finding(out, found))
}

/// Two lines.
pub(crate) fn finding(out: &mut dyn Write, found: &Finding) -> io::Result<()> {
    let Finding { name, severity, figure, advice, .. } = found;
    write!(out, "  {severity:<7} ")?;
    foreign::write_bytes(out, name.as_bytes())?;
    write!(out, ": ")?;
    foreign::write_bytes(out, figure.as_bytes())?;
    write!(out, "\n          ")?;
    foreign::write_bytes(out, advice.as_bytes())?;
    writeln!(out)
}
