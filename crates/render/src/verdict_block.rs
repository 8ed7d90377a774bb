//! The verdict, after everything that `DiskSpd` prints for a timespan, then results against the stated limits
//! (`--expect`) and whether the requirements (`--require`) are met.
//!
//! Lines begin with what no line of `DiskSpd` begins with, so that scripts pass over them.

use crate::foreign;
use model::expectation::{Ceiling, Expectation};
use model::finding::{Finding, Severity};
use model::verdict::Verdict;
use report::words::verdict::{requirements_summary, sum_up};
use std::io::{self, Write};

/// The block, beginning with an empty line: a head line, then two lines for each finding.
pub(crate) fn block(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let head = match verdict.severity() {
        Some(severity) if severity > Severity::Note => severity.word().to_owned(),
        _ => sum_up(verdict),
    };
    writeln!(out, "\nVerdict: {head}")?;
    verdict.findings.iter().try_for_each(|found| finding(out, found))
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

/// The block, beginning with an empty line: a head line, a line for each ceiling, two for each finding.
pub(crate) fn expectation_block(out: &mut dyn Write, expectation: &Expectation) -> io::Result<()> {
    writeln!(out, "\nExpectation: the limit with the least headroom is {}", expectation.binding)?;
    for Ceiling { name, unit, limit, reached, share_percent, is_estimate } in &expectation.ceilings {
        let (limit, reached) = (limit / unit.scale(), reached / unit.scale());
        let estimate = if *is_estimate { ", estimate for small random writes" } else { "" };
        writeln!(out, "  CEILING {name}: {reached:.2} of {limit:.2} {unit}, {share_percent:.1} %{estimate}")?;
    }
    expectation.findings.iter().try_for_each(|found| finding(out, found))
}

/// What the head line begins with.
pub(crate) const REQUIREMENTS_HEAD: &str = "Requirements: ";

/// The block, beginning with an empty line: a head line, then a line for each requirement and one for its advice, if
/// there is any.
pub(crate) fn requirements_block(out: &mut dyn Write, requirements: &[Finding]) -> io::Result<()> {
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
