//! The results of one timespan.

use super::latency_table::{Columns, TableScope};
use super::lines::{Line, Lines};
use super::{Report, cpu_table, distribution_list, io_table, latency_table, machine, wait_table};
use crate::distributions::Distributions;
use crate::{ReadError, finish, number};
use model::figures::Directions;
use model::note::Note;
use model::profile::TimeSpan;
use model::result::{Measured, MixedCores, TimeSpanResult};

/// The parts of a timespan before they are joined.
#[derive(Default)]
struct Parts {
    span_result: TimeSpanResult,
    measured: Measured,
    /// True if there are figures.
    has_time: bool,
    /// The reason why there are none.
    without_figures: Option<String>,
    tables: Directions<Option<io_table::Table>>,
    latencies: Vec<(TableScope, Columns)>,
    distributions: Distributions,
    /// The last single line: it may be the title of a latency table.
    title: Option<String>,
    lacks_wait_histogram: bool,
}

/// Reads everything up to the next timespan or the totals.
pub(super) fn read(lines: &mut Lines<'_>, report: &mut Report) -> Result<(), ReadError> {
    let mut parts = Parts::default();
    while let Some(line) = lines.peek() {
        let content = line.content();
        if content.starts_with("Results for timespan ") || content == "Totals:" {
            break;
        }
        lines.take();
        if cpu_table::is_header(line) {
            let places = cpu_table::read(line, lines, &mut parts.measured)?;
            if report.machine.places.is_empty() {
                report.machine.places = places;
            }
        } else {
            block(line, lines, &mut parts)?;
        }
    }
    let index = report.result.time_spans.len();
    if report.result.profile.time_spans.len() <= index {
        report.result.profile.time_spans.push(TimeSpan::default());
    }
    let span = &mut report.result.profile.time_spans[index];
    let (span_result, has_waits) = together(parts, span, lines)?;
    report.result.profile.verbose_stats |= has_waits;
    report.result.time_spans.push(span_result);
    Ok(())
}

fn block(line: Line<'_>, lines: &mut Lines<'_>, parts: &mut Parts) -> Result<(), ReadError> {
    let content = line.content();
    let title = parts.title.take();
    match content {
        "Total IO" => parts.tables.total = Some(io_table::read(lines)?),
        "Read IO" => parts.tables.read = Some(io_table::read(lines)?),
        "Write IO" => parts.tables.write = Some(io_table::read(lines)?),
        "Effective IO Distributions" => distribution_list::read(lines, &mut parts.distributions)?,
        "IoRing Statistics" => wait_table::submissions(lines, &mut parts.measured)?,
        "Wait Statistics" => {
            parts.lacks_wait_histogram = true;
            wait_table::waits(lines, &mut parts.measured)?;
        }
        "Wait Statistics - Completion Wait" | "Wait Statistics - Lookaside" => {
            wait_table::waits(lines, &mut parts.measured)?;
        }
        "" => parts.title = title,
        _ if latency_table::is_header(line) => {
            let columns = latency_table::read(lines)?;
            parts.latencies.push((latency_table::whose(title.as_deref()), columns));
        }
        _ => sentence(line, lines, parts)?,
    }
    Ok(())
}

/// Single lines, not part of a table.
fn sentence(line: Line<'_>, lines: &mut Lines<'_>, parts: &mut Parts) -> Result<(), ReadError> {
    let content = line.content();
    let measured = &mut parts.measured;
    if content.starts_with("The test ") && content.ends_with(" No results are displayed.") {
        parts.without_figures = Some(content.to_owned());
    } else if content == "NOTE: thread assignment spans different core types (P-core and E-core)." {
        measured.mixed_cores = Some(mixed_cores(lines)?);
    } else if let Some(error) = line.text.strip_prefix("ERROR: ") {
        parts.span_result.errors.push(error.to_owned());
    } else if let Some((label, value)) = content.split_once(':') {
        let value = value.trim();
        match label {
            "actual test time" => {
                let seconds = line.parse(value.trim_end_matches('s'), number::real)?;
                measured.elapsed_ns = seconds.map_or(0, number::seconds_as_ns);
                parts.has_time = true;
            }
            "thread count" => measured.thread_count = line.parse(value, number::whole)?,
            "request count" => measured.request_count = Some(line.parse(value, number::whole)?),
            "effective affinity (cpu)" | "effective affinity (group/cpu)" => {
                measured.effective_affinity = Some(line.parse(value, machine::cpu_list)?);
            }
            _ => parts.title = Some(line.text.to_owned()),
        }
    } else {
        parts.title = Some(line.text.to_owned());
    }
    Ok(())
}

/// The lists of CPUs of both types.
fn mixed_cores(lines: &mut Lines<'_>) -> Result<MixedCores, ReadError> {
    let mut mixed = MixedCores::default();
    while let Some(line) = lines.peek().filter(|line| !line.content().is_empty()) {
        lines.take();
        if let Some(cpus) = line.content().strip_prefix("P-core cpus: ") {
            mixed.performance = line.parse(cpus, machine::cpu_list)?;
        } else if let Some(cpus) = line.content().strip_prefix("E-core cpus: ") {
            mixed.efficiency = line.parse(cpus, machine::cpu_list)?;
        }
    }
    Ok(mixed)
}

/// The timespan, and true if it has wait statistics.
fn together(parts: Parts, span: &mut TimeSpan, lines: &Lines<'_>) -> Result<(TimeSpanResult, bool), ReadError> {
    let Parts { mut span_result, mut measured, tables, latencies, distributions, .. } = parts;
    if let Some(said) = parts.without_figures {
        span_result.outcome = finish::ending(&span_result, Some(&said));
        return Ok((span_result, false));
    }
    if !parts.has_time {
        return Err(lines.error_here("the timespan has no line 'actual test time:'"));
    }
    io_table::join(tables, &mut measured).map_err(|reason| lines.error_here(&reason))?;
    for (whose, columns) in latencies {
        latency_table::add(whose, columns, &mut measured);
    }
    io_table::complete(span, &measured);
    finish::number_targets(&mut measured.rows, span);
    measured.distributions = distributions.finish(&mut measured.rows);
    measured.is_latency_run |= span.measure_latency || span.calculate_iops_std_dev;
    if parts.lacks_wait_histogram {
        span_result.notes.push(Note::NotInSource {
            source: "a text report of DiskSpd 2.2".to_owned(),
            missing: "the number of completions per wait, which is shown as 0".to_owned(),
        });
    }
    let has_waits = !measured.waits.is_empty();
    span_result.measured = Some(measured);
    span_result.outcome = finish::ending(&span_result, None);
    Ok((span_result, has_waits))
}
