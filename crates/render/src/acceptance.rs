//! The end of the report of a preset with bounds: each with its outcome and source, then the overall PASS or FAIL.

use crate::foreign;
use crate::report_text::sentence;
use crate::table_text::COLUMNS;
use model::finding::Severity;
use model::preset::PresetRun;
use model::printable::wrapped;
use model::result::RunResult;
use std::io::{self, Write};

/// The block, beginning with an empty line.
pub(crate) fn block(preset: &PresetRun, result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    let is_single = result.time_spans.len() == 1;
    for (load, span_result) in preset.loads.iter().zip(&result.time_spans) {
        for found in &span_result.requirements {
            let of_load = if is_single { String::new() } else { format!(" ({load})") };
            let line = format!("{} {}{of_load}: {}", found.severity, found.subject, found.figure);
            sentence(out, &line)?;
            indented(out, &found.basis, found.severity.word().len() + 1)?;
        }
    }
    let (severity, words) = outcome(result);
    write!(out, "{severity}: ")?;
    foreign::write_bytes(out, preset.name.as_bytes())?;
    writeln!(out, ": {words}")
}

/// The joint outcome of all requirements, in a few words. A failed run does not pass, even if its figures do.
fn outcome(result: &RunResult) -> (Severity, String) {
    let has_failed = !result.errors.is_empty() || result.time_spans.iter().any(|span| !span.errors.is_empty());
    if has_failed {
        return (Severity::Fail, "the run failed".to_owned());
    }
    let severities = || result.time_spans.iter().flat_map(|span| &span.requirements).map(|found| found.severity);
    let (all, met) = (severities().count(), severities().filter(|of| *of == Severity::Pass).count());
    let words = format!("{met} of {all} {} met", if all == 1 { "requirement" } else { "requirements" });
    (severities().max().unwrap_or(Severity::Unknown), words)
}

/// A text in lines that begin with blanks.
fn indented(out: &mut dyn Write, text: &str, indent: usize) -> io::Result<()> {
    for line in wrapped(text, COLUMNS.saturating_sub(indent)) {
        write!(out, "{:indent$}", "")?;
        foreign::write_bytes(out, line.as_bytes())?;
        writeln!(out)?;
    }
    Ok(())
}
