//! The loads of a preset: their table, and conditions that make its figures doubtful.

use crate::{Detail, acceptance, report_text};
use model::result::RunResult;
use std::io::{self, Write};

/// The report of the run's preset; empty for a run without one.
pub fn table(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let Some(preset) = &result.preset else { return Ok(()) };
    report_text::sentence(out, &preset.title)?;
    for block in report::preset(result) {
        writeln!(out)?;
        report_text::block(out, &block, Detail::Short)?;
    }
    if preset.is_acceptance { acceptance::block(preset, result, out) } else { Ok(()) }
}
