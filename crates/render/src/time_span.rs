//! The results of one timespan.

use crate::io_table::{Columns, Kind};
use crate::report_text;
use crate::{Detail, cpu_table, distribution_list, event_table, foreign, io_table, latency_table, short, wait_table};
use model::affinity::list_text;
use model::ending::Ending;
use model::finding::Severity;
use model::note::Note;
use model::profile::TimeSpan;
use model::result::{Measured, MixedCores, TimeSpanResult};
use model::topology::Topology;
use model::verdict::Verdict;
use report::words::verdict::sum_up;
use report::{Section, Table};

use std::io::{self, Write};

/// A timespan and the data shown with it.
pub(crate) struct ShownTimeSpan<'a> {
    /// From 1.
    pub(crate) number: usize,
    pub(crate) span: &'a TimeSpan,
    pub(crate) span_result: &'a TimeSpanResult,
    pub(crate) detail: Detail,
    /// Notes on the whole run that are shown here.
    pub(crate) run_notes: &'a [Note],
    pub(crate) topology: &'a Topology,
    /// The hosts that ran it, then their notes; empty for one machine.
    pub(crate) hosts: Vec<Section>,
}

/// The whole section, beginning with an empty line.
pub(crate) fn results(out: &mut dyn Write, shown: &ShownTimeSpan<'_>) -> io::Result<()> {
    writeln!(out, "\nResults for timespan {}:", shown.number)?;
    writeln!(out, "{}", "*".repeat(79))?;
    let span_result = shown.span_result;
    match &span_result.measured {
        None => {
            writeln!(out, "{}", without_figures(span_result.outcome))?;
        }
        Some(measured) => {
            mark(out, span_result, measured)?;
            tables(out, shown, measured)?;
        }
    }
    let details = shown.detail;
    let has_details = details == Detail::Full;
    let (_, notes_of_hosts) = shown.hosts.split_at(shown.hosts.len().min(1));
    for block in report::beside_diskspd(Some(shown.span), span_result, has_details) {
        writeln!(out)?;
        report_text::block(out, &block, details)?;
    }
    shown.hosts.iter().take(1).try_for_each(|hosts| report_text::section(out, hosts, details))?;
    if has_details {
        let notes: Vec<Note> = shown.run_notes.iter().chain(&span_result.notes).cloned().collect();
        remarks(out, &span_result.errors, &notes)?;
        notes_of_hosts.iter().try_for_each(|notes| report_text::section(out, notes, details))?;
    } else {
        span_result.measured.as_ref().map_or(Ok(()), |measured| short::figures(out, measured))?;
        short::remarks(out, shown.run_notes, span_result)?;
    }
    span_result.verdict.as_ref().map_or(Ok(()), |of_span| verdict(out, of_span, details))?;
    if let Some((banner, table)) = span_result.expectation.as_ref().map(report::expectation) {
        writeln!(out)?;
        report_text::table(out, &Table { heading: banner.headline.clone(), ..table })?;
        report_text::findings(out, &banner, Detail::Full, "  ")?;
    }
    let Some(requirements) = report::requirements(&span_result.requirements) else { return Ok(()) };
    writeln!(out)?;
    report_text::banner(out, &requirements.headline, &requirements, Detail::Full)
}

/// Notes alone share the first line unless there are details.
fn verdict(out: &mut dyn Write, verdict: &Verdict, detail: Detail) -> io::Result<()> {
    let mut banner = report::verdict(verdict);
    let head = match verdict.severity() {
        Some(worst) if worst > Severity::Note => worst.word().to_owned(),
        Some(_) if detail == Detail::Short => {
            let mut names: Vec<String> = banner.findings.drain(..).map(|found| found.name).collect();
            names.dedup();
            format!("valid; NOTE {}", names.join(", "))
        }
        _ => sum_up(verdict),
    };
    if detail == Detail::Full {
        writeln!(out)?;
    }
    report_text::banner(out, &format!("Verdict: {head}"), &banner, detail)
}

/// The reason why a timespan has no figures. For a stopped one it is `DiskSpd`'s text, which scripts search for.
pub(crate) const fn without_figures(ending: Ending) -> &'static str {
    match ending {
        Ending::Stopped | Ending::Completed => {
            "The test was interrupted before the measurements began. No results are displayed."
        }
        Ending::Failed => "The test failed before the measurements began. No results are displayed.",
        Ending::NotRun => "The test was not run. No results are displayed.",
    }
}

/// Marks the figures of a failed timespan as not those requested.
fn mark(out: &mut dyn Write, span_result: &TimeSpanResult, measured: &Measured) -> io::Result<()> {
    if span_result.errors.is_empty() {
        return Ok(());
    }
    if measured.is_partial {
        writeln!(
            out,
            "The test failed after {:.2}s. The figures below cover that time only.",
            measured.elapsed_ns as f64 / 1e9
        )
    } else {
        writeln!(out, "The test failed after the measurements. The figures below are complete.")
    }
}

fn tables(out: &mut dyn Write, shown: &ShownTimeSpan<'_>, measured: &Measured) -> io::Result<()> {
    let several_groups = shown.topology.group_count() > 1;
    writeln!(out, "\nactual test time:\t{:.2}s", measured.elapsed_ns as f64 / 1e9)?;
    writeln!(out, "thread count:\t\t{}", measured.thread_count)?;
    if let Some(requests) = measured.request_count {
        writeln!(out, "request count:\t\t{requests}")?;
    }
    if let Some(affinity) = &measured.effective_affinity {
        let form = if several_groups { "group/cpu" } else { "cpu" };
        writeln!(out, "\neffective affinity ({form}): {}", list_text(affinity, several_groups))?;
    }
    if let Some(mixed) = &measured.mixed_cores {
        mixed_cores(out, mixed, several_groups)?;
    }
    cpu_table::table(out, measured, shown.topology)?;
    distribution_list::block(out, &measured.distributions)?;
    let columns = Columns { latency: shown.span.measure_latency, deviation: shown.span.calculate_iops_std_dev };
    for kind in [Kind::Total, Kind::Read, Kind::Write] {
        io_table::table(out, measured, kind, columns)?;
    }
    // DiskSpd counts them only on its rings.
    if let (Some(_), Some(submissions)) = (&shown.span.io_ring, &measured.submissions) {
        wait_table::submissions(out, submissions)?;
    }
    latency_table::tables(out, measured)?;
    if !measured.waits.is_empty() {
        wait_table::waits(out, &measured.waits, measured.is_latency_run)?;
    }
    shown.span_result.kernel_events.as_ref().map_or(Ok(()), |events| event_table::block(out, events))
}

fn mixed_cores(out: &mut dyn Write, mixed: &MixedCores, several_groups: bool) -> io::Result<()> {
    writeln!(out, "\nNOTE: thread assignment spans different core types (P-core and E-core).")?;
    writeln!(out, "      Performance results may reflect mixed core capabilities.")?;
    writeln!(out, "      P-core cpus: {}", list_text(&mixed.performance, several_groups))?;
    writeln!(out, "      E-core cpus: {}", list_text(&mixed.efficiency, several_groups))
}

/// Errors and notes, beginning with an empty line; empty if there are none.
pub(crate) fn remarks(out: &mut dyn Write, errors: &[String], notes: &[Note]) -> io::Result<()> {
    if errors.is_empty() && notes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for error in errors {
        foreign::remark(out, "ERROR", error)?;
    }
    for note in notes {
        foreign::remark(out, "NOTE", &note.to_string())?;
    }
    Ok(())
}
