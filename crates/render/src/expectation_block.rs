//! Results against the stated limits (`--expect`), after the verdict.

use crate::verdict_block;
use model::expectation::{Ceiling, Expectation};
use std::io::{self, Write};

/// What the head line begins with.
pub(crate) const HEAD: &str = "Expectation: the limit with the least headroom is ";
/// What a line of a ceiling begins with, where that of a finding has its severity.
pub(crate) const CEILING: &str = "CEILING";
/// What an estimate ends with.
pub(crate) const ESTIMATE: &str = ", estimate for small random writes";

/// The block, beginning with an empty line: a head line, a line for each ceiling, two for each finding.
pub(crate) fn block(out: &mut dyn Write, expectation: &Expectation) -> io::Result<()> {
    writeln!(out, "\n{HEAD}{}", expectation.binding)?;
    for Ceiling { name, unit, limit, reached, share_percent, is_estimate } in &expectation.ceilings {
        let (limit, reached) = (limit / unit.scale(), reached / unit.scale());
        let estimate = if *is_estimate { ESTIMATE } else { "" };
        writeln!(out, "  {CEILING} {name}: {reached:.2} of {limit:.2} {unit}, {share_percent:.1} %{estimate}")?;
    }
    expectation.findings.iter().try_for_each(|finding| verdict_block::finding(out, finding))
}
