//! Whether the requirements (`--require`) are met, after the verdict and the expectation.

use crate::foreign;
use model::finding::{Finding, Severity};
use std::io::{self, Write};

/// What the head line begins with.
pub(crate) const HEAD: &str = "Requirements: ";

/// The block, beginning with an empty line: a head line, then a line for each requirement and one for its advice, if
/// there is any.
pub(crate) fn block(out: &mut dyn Write, requirements: &[Finding]) -> io::Result<()> {
    writeln!(out, "\n{HEAD}{}", summary(requirements))?;
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
pub fn summary(requirements: &[Finding]) -> String {
    let count = |wanted| requirements.iter().filter(|finding| finding.severity == wanted).count();
    let all = requirements.len();
    match (count(Severity::Fail), count(Severity::Unknown)) {
        (0, 0) => "all met".to_owned(),
        (0, unknown) => format!("{unknown} of {all} not measured"),
        (failed, 0) => format!("{failed} of {all} not met"),
        (failed, unknown) => format!("{failed} of {all} not met, {unknown} not measured"),
    }
}
