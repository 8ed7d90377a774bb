//! Results against the stated limits (`--expect`), after the verdict.

use crate::verdict_block;
use model::expectation::{Ceiling, Expectation};
use std::io::{self, Write};

/// The block, beginning with an empty line: a head line, a line for each ceiling, two for each finding.
pub(crate) fn block(out: &mut dyn Write, expectation: &Expectation) -> io::Result<()> {
    writeln!(out, "\nExpectation: the limit with the least headroom is {}", expectation.binding)?;
    for Ceiling { name, unit, limit, reached, share_percent, is_estimate } in &expectation.ceilings {
        let (limit, reached) = (limit / unit.scale(), reached / unit.scale());
        let estimate = if *is_estimate { ", estimate for small random writes" } else { "" };
        writeln!(out, "  CEILING {name}: {reached:.2} of {limit:.2} {unit}, {share_percent:.1} %{estimate}")?;
    }
    expectation.findings.iter().try_for_each(|finding| verdict_block::finding(out, finding))
}
