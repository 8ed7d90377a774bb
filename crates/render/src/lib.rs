//! Results become documents: text (`DiskSpd`'s report in the layout of version 2.3), XML, JSON and CSV.
//!
//! Pure functions of their arguments; nothing is computed here, no file, clock or environment is read. Scripts split
//! these lines by prefix, by `|` and by position, so blanks, tabs and the order of lines are part of the contract.

mod acceptance;
mod cache_table;
pub mod check;
mod cpu_table;
mod csv;
mod distribution_list;
pub mod document;
mod echo;
mod echo_target;
mod event_table;
mod fio;
mod foreign;
pub mod gate;
mod io_table;
pub mod json;
mod latency_table;
mod open_metrics;
mod part_table;
pub mod placement;
mod preset;
mod report_text;
pub mod run_lines;
mod runs_csv;
mod short;
mod slowest_table;
mod sweep_csv;
mod system;
mod table_text;
mod time_span;
mod totals;
mod wait_table;
mod xml;

pub use csv::csv;
pub use fio::fio;
pub use open_metrics::open_metrics;
pub use part_table::part;
pub use preset::table as preset_table;
pub use report_text::{answers, report_text};
pub use runs_csv::{runs_csv, runs_csv_rows, runs_header};
pub use slowest_table::slowest;
pub use sweep_csv::csv as sweep_csv;
pub use table_text::{lines as table_lines, lines_of_any_width as wide_table_lines};
pub use xml::{system_xml, xml};

use model::facts::SystemFacts;
use model::printable::printable;
use model::profile::Profile;
use model::result::RunResult;
use model::units::UnixTime;
use report::closing_line;
use std::io::{self, Write};

/// Extent of a report beyond the output of `DiskSpd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Figures with their intervals, devices, warnings and advice, and the result on the last line.
    Short,
    /// Everything.
    Full,
}

impl Detail {
    /// The detail that the run was started with (`-v`).
    pub const fn from_profile(profile: &Profile) -> Self {
        if profile.verbose { Self::Full } else { Self::Short }
    }
}

/// Writes the whole report.
pub fn text(result: &RunResult, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
    echo::head(out, &result.command_line, &result.labels, &result.profile)?;
    let platform = match result.tool.implementation {
        Some(_) => echo_target::Platform::Linux,
        None => echo_target::Platform::Windows,
    };
    for (index, span) in result.profile.time_spans.iter().enumerate() {
        let decisions = echo::Decisions::from_plan(span, result.time_spans.get(index), &result.system, platform);
        echo::time_span(out, index + 1, span, &decisions)?;
    }
    match &result.fleet {
        None => system_text(&result.system, result.started_at, out)?,
        Some(fleet) => system::fleet_block(out, &result.system, fleet, result.started_at)?,
    }
    for (index, span_result) in result.time_spans.iter().enumerate() {
        let Some(span) = result.profile.time_spans.get(index) else { break };
        // Notes of the plan belong to the only timespan, or else to the end of the report.
        let run_notes = if result.time_spans.len() == 1 { &result.notes[..] } else { &[] };
        let shown = time_span::ShownTimeSpan {
            number: index + 1,
            span,
            span_result,
            detail,
            run_notes,
            topology: &result.system.topology,
            hosts: report::hosts(result, index),
        };
        time_span::results(out, &shown)?;
    }
    if let Some(totals) = result.totals_of_several() {
        totals::table(out, totals)?;
        time_span::remarks(out, &[], &result.notes)?;
    }
    if result.preset.is_some() {
        writeln!(out, "\n")?;
    }
    preset::table(result, out)?;
    // A preset ends with its own answer.
    let line = closing_line(result).filter(|_| detail == Detail::Short && result.preset.is_none());
    line.map_or(Ok(()), |line| writeln!(out, "{}", printable(&line)))
}

/// Writes the figures, the findings and the outcome, in a few lines.
pub fn brief(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    short::brief(result, out)?;
    closing_line(result).map_or(Ok(()), |line| writeln!(out, "{}", printable(&line)))
}

/// Writes the profile alone (`-Rptext`): the command line and the input parameters, as far as they follow from the
/// profile and the machine. Nothing was planned, so it prints the expected mechanism.
pub fn profile_text(
    command_line: &str,
    profile: &Profile,
    system: &SystemFacts,
    out: &mut dyn Write,
) -> io::Result<()> {
    echo::head(out, command_line, &[], profile)?;
    for (index, span) in profile.time_spans.iter().enumerate() {
        let decisions = echo::Decisions::expected(span, system);
        echo::time_span(out, index + 1, span, &decisions)?;
    }
    Ok(())
}

/// Writes the system block alone (`-Rs`).
pub fn system_text(system: &SystemFacts, started_at: UnixTime, out: &mut dyn Write) -> io::Result<()> {
    system::block(out, system, started_at)
}
