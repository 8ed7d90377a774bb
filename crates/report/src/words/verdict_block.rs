//! The verdict, after everything that `DiskSpd` prints for a timespan, then results against the stated limits
//! (`--expect`) and whether the requirements (`--require`) are met.
//!
//! Lines begin with what no line of `DiskSpd` begins with, so that scripts pass over them.

use crate::words::foreign;
use model::expectation::{Ceiling, Expectation};
use model::finding::{Finding, Severity};
use model::verdict::Verdict;
use std::io::{self, Write};

/// What the head line says where nothing was found.
const SOUND: &str = "no conditions found that invalidate or bias the results";

/// What it says where nothing is worse than a note, before the names of the notes.
const VALID: &str = "no conditions found that invalidate the results; notes limit what they show";

/// What is said first of a verdict without warnings: its notes are named, or it would contradict them.
pub fn sum_up(verdict: &Verdict) -> String {
    let mut names: Vec<&str> = verdict.findings.iter().map(|finding| finding.name.as_str()).collect();
    names.dedup();
    if names.is_empty() { SOUND.to_owned() } else { format!("{VALID}: {}", names.join(", ")) }
}

/// The block, beginning with an empty line: a head line, then two lines for each finding.
pub fn block(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let head = match verdict.severity() {
        Some(severity) if severity > Severity::Note => severity.word().to_owned(),
        _ => sum_up(verdict),
    };
    writeln!(out, "\nVerdict: {head}")?;
    verdict.findings.iter().try_for_each(|found| finding(out, found))
}

/// Two lines.
pub fn finding(out: &mut dyn Write, found: &Finding) -> io::Result<()> {
    let Finding { name, severity, figure, advice, .. } = found;
    write!(out, "  {severity:<7} ")?;
    foreign::write_bytes(out, name.as_bytes())?;
    write!(out, ": ")?;
    foreign::write_bytes(out, figure.as_bytes())?;
    write!(out, "\n          ")?;
    foreign::write_bytes(out, advice.as_bytes())?;
    writeln!(out)
}

/// The block, beginning with an empty line: a head line, a line for each ceiling, two for each finding.
pub fn expectation_block(out: &mut dyn Write, expectation: &Expectation) -> io::Result<()> {
    writeln!(out, "\nExpectation: the limit with the least headroom is {}", expectation.binding)?;
    for Ceiling { name, unit, limit, reached, share_percent, is_estimate } in &expectation.ceilings {
        let (limit, reached) = (limit / unit.scale(), reached / unit.scale());
        let estimate = if *is_estimate { ", estimate for small random writes" } else { "" };
        writeln!(out, "  CEILING {name}: {reached:.2} of {limit:.2} {unit}, {share_percent:.1} %{estimate}")?;
    }
    expectation.findings.iter().try_for_each(|found| finding(out, found))
}

/// What the head line begins with.
pub const REQUIREMENTS_HEAD: &str = "Requirements: ";

/// The block, beginning with an empty line: a head line, then a line for each requirement and one for its advice, if
/// there is any.
pub fn requirements_block(out: &mut dyn Write, requirements: &[Finding]) -> io::Result<()> {
    writeln!(out, "\n{REQUIREMENTS_HEAD}{}", requirements_summary(requirements))?;
    for Finding { severity, subject, figure, advice, .. } in requirements {
        write!(out, "  {severity:<7} ")?;
        foreign::write_bytes(out, subject.as_bytes())?;
        write!(out, ": ")?;
        foreign::write_bytes(out, figure.as_bytes())?;
        writeln!(out)?;
        if !advice.is_empty() {
            write!(out, "          ")?;
            foreign::write_bytes(out, advice.as_bytes())?;
            writeln!(out)?;
        }
    }
    Ok(())
}

/// All of them in a few words: `1 of 2 not met`.
pub fn requirements_summary(requirements: &[Finding]) -> String {
    let count = |wanted| requirements.iter().filter(|finding| finding.severity == wanted).count();
    let all = requirements.len();
    match (count(Severity::Fail), count(Severity::Unknown)) {
        (0, 0) => "all met".to_owned(),
        (0, unknown) => format!("{unknown} of {all} not measured"),
        (failed, 0) => format!("{failed} of {all} not met"),
        (failed, unknown) => format!("{failed} of {all} not met, {unknown} not measured"),
    }
}
