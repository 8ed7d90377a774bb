//! The results of one timespan.

use crate::io_table::{Columns, Kind};
use crate::{
    Detail, cpu_table, distribution_list, event_table, flush_table, io_table, latency_table, ledger_table, load_loop,
    operation_table, reduction_table, rotation_table, short, size_table, skew_table, stream_table, verification_block,
    wait_table,
};
use crate::{confidence, foreign, host_table, storage_table, verdict_block};
use model::affinity::list_text;
use model::fleet::{Fleet, FleetTimeSpan};
use model::note::Note;
use model::profile::TimeSpan;
use model::result::{Ending, Measured, MixedCores, TimeSpanResult};
use model::topology::Topology;

use std::io::{self, Write};

/// A timespan and what is shown with it.
pub(crate) struct Shown<'a> {
    /// From 1.
    pub(crate) number: usize,
    pub(crate) span: &'a TimeSpan,
    pub(crate) span_result: &'a TimeSpanResult,
    pub(crate) detail: Detail,
    /// Notes on the whole run that are shown here.
    pub(crate) run_notes: &'a [Note],
    pub(crate) topology: &'a Topology,
    /// The hosts that carried it out; `None` = one machine.
    pub(crate) fleet: Option<(&'a Fleet, &'a FleetTimeSpan)>,
}

/// The whole section, beginning with an empty line.
pub(crate) fn results(out: &mut dyn Write, shown: &Shown<'_>) -> io::Result<()> {
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
    if let Some((fleet, time_span)) = shown.fleet {
        host_table::table(out, fleet, time_span)?;
    }
    if let Some(verification) = &span_result.verification {
        verification_block::block(out, verification)?;
    }
    let verdict = span_result.verdict.as_ref();
    if shown.detail == Detail::Short {
        short::remarks(out, shown.run_notes, span_result)?;
        verdict.map_or(Ok(()), |verdict| short::verdict(out, verdict))?;
    } else {
        let notes: Vec<Note> = shown.run_notes.iter().chain(&span_result.notes).cloned().collect();
        remarks(out, &span_result.errors, &notes)?;
        if let Some((_, time_span)) = shown.fleet {
            host_table::notes_block(out, time_span)?;
        }
        verdict.map_or(Ok(()), |verdict| verdict_block::block(out, verdict))?;
    }
    span_result
        .expectation
        .as_ref()
        .map_or(Ok(()), |expectation| verdict_block::expectation_block(out, expectation))?;
    if span_result.requirements.is_empty() {
        Ok(())
    } else {
        verdict_block::requirements_block(out, &span_result.requirements)
    }
}

/// Why a timespan has no figures. Of one that was stopped, this is what `DiskSpd` says, for which scripts look.
pub(crate) const fn without_figures(ending: Ending) -> &'static str {
    match ending {
        Ending::Stopped | Ending::Completed => {
            "The test was interrupted before the measurements began. No results are displayed."
        }
        Ending::Failed => "The test failed before the measurements began. No results are displayed.",
        Ending::NotRun => "The test was not run. No results are displayed.",
    }
}

/// Says of a failed timespan that its figures are not what was asked for.
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

fn tables(out: &mut dyn Write, shown: &Shown<'_>, measured: &Measured) -> io::Result<()> {
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
    // DiskSpd counts them on its rings alone.
    if let (Some(_), Some(submissions)) = (&shown.span.io_ring, &measured.submissions) {
        wait_table::submissions(out, submissions)?;
    }
    latency_table::tables(out, measured)?;
    let is_short = shown.detail == Detail::Short;
    let load_loop = measured.load_loop.as_ref().filter(|_| !is_short);
    load_loop.map_or(Ok(()), |load_loop| load_loop::response_times(out, load_loop))?;
    if !measured.waits.is_empty() {
        wait_table::waits(out, &measured.waits, measured.is_latency_run)?;
    }
    if let Some(events) = &shown.span_result.kernel_events {
        event_table::blocks(out, events)?;
    }
    stream_table::tables(out, &measured.streams)?;
    if let Some(load_loop) = load_loop {
        let outstanding = shown.span_result.summary.and_then(|summary| summary.total.outstanding);
        load_loop::lines(out, load_loop, shown.span, outstanding)?;
    }
    size_table::table(out, &measured.sizes)?;
    operation_table::table(out, &measured.operations)?;
    if let Some(flushes) = measured.flushes.as_ref().filter(|_| !is_short) {
        let has_latencies = measured.total_latency.as_ref().is_some_and(|of| of.write.is_some());
        flush_table::lines(out, flushes, has_latencies)?;
    }
    if let Some(rotations) = &measured.rotations {
        rotation_table::lines(out, rotations)?;
    }
    skew_table::lines(out, &measured.skews)?;
    reduction_table::lines(out, &measured.reductions)?;
    if is_short {
        return short::figures(out, shown.span, measured);
    }
    confidence::lines(out, measured)?;
    storage_table::tables(out, measured)?;
    shown.span_result.ledger.as_ref().map_or(Ok(()), |ledger| ledger_table::block(out, ledger))
}

fn mixed_cores(out: &mut dyn Write, mixed: &MixedCores, several_groups: bool) -> io::Result<()> {
    writeln!(out, "\nNOTE: thread assignment spans different core types (P-core and E-core).")?;
    writeln!(out, "      Performance results may reflect mixed core capabilities.")?;
    writeln!(out, "      P-core cpus: {}", list_text(&mixed.performance, several_groups))?;
    writeln!(out, "      E-core cpus: {}", list_text(&mixed.efficiency, several_groups))
}

/// Errors and notes, beginning with an empty line; nothing if there are none.
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
