//! Figures as comma-separated values: one line per thread, target and direction, and totals.
//!
//! The columns are documented in `docs/formats/csv.md`. Quoting is that of RFC 4180; lines end
//! with a line feed.

use crate::foreign;
use csv::{Terminator, Writer, WriterBuilder};
use model::figures::{Directions, Figures, LatencyDistribution, LatencyFigures, OperationFigures};
use model::operation::Operation;
use model::result::{LoadLoop, RunResult, TargetLatencies, TimeSpanResult};
use model::units::mib;
use std::io::{self, Write};
use std::path::Path;

/// Columns before the percentiles.
const COLUMNS: [&str; 16] = [
    "scope",
    "timespan",
    "thread",
    "target",
    "target_size_bytes",
    "direction",
    "elapsed_ns",
    "bytes",
    "ios",
    "mib_per_s",
    "iops",
    "iops_std_dev",
    "latency_mean_ns",
    "latency_std_dev_ns",
    "latency_min_ns",
    "latency_max_ns",
];

/// Percentiles, the same as in the text report.
const PERCENTILES: [(&str, u64); 13] = [
    ("latency_p25_ns", 250_000_000),
    ("latency_p50_ns", 500_000_000),
    ("latency_p75_ns", 750_000_000),
    ("latency_p90_ns", 900_000_000),
    ("latency_p95_ns", 950_000_000),
    ("latency_p99_ns", 990_000_000),
    ("latency_p99_9_ns", 999_000_000),
    ("latency_p99_99_ns", 999_900_000),
    ("latency_p99_999_ns", 999_990_000),
    ("latency_p99_9999_ns", 999_999_000),
    ("latency_p99_99999_ns", 999_999_900),
    ("latency_p99_999999_ns", 999_999_990),
    ("latency_p99_9999999_ns", 999_999_999),
];

fn columns() -> impl Iterator<Item = &'static str> {
    COLUMNS.into_iter().chain(PERCENTILES.map(|(name, _)| name))
}

/// The first line, without its line feed. No name needs quotes.
pub(crate) fn header() -> String {
    columns().collect::<Vec<_>>().join(",")
}

/// Writes a header and every figure of the run. An empty cell is a figure that is unknown or does not belong to the
/// line.
pub fn csv(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(out);
    writer.write_record(columns())?;
    for (number, span_result) in (1u32..).zip(&result.time_spans) {
        time_span(&mut writer, number, span_result)?;
    }
    if let Some(totals) = result.totals_of_several() {
        let line = Line { elapsed_ns: Some(totals.elapsed_ns), ..Line::new("run") };
        directions(&mut writer, &line, &totals.figures, None)?;
    }
    writer.flush()
}

/// The subject of a line.
#[derive(Clone, Copy)]
struct Line<'a> {
    scope: &'static str,
    time_span: Option<u32>,
    thread: Option<u32>,
    target: Option<&'a Path>,
    target_size_bytes: Option<u64>,
    elapsed_ns: Option<u64>,
}

impl Line<'_> {
    const fn new(scope: &'static str) -> Self {
        Self { scope, time_span: None, thread: None, target: None, target_size_bytes: None, elapsed_ns: None }
    }
}

type Output<'a, 'b> = Writer<&'a mut (dyn Write + 'b)>;

fn time_span(writer: &mut Output<'_, '_>, number: u32, span_result: &TimeSpanResult) -> io::Result<()> {
    let Some(measured) = &span_result.measured else { return Ok(()) };
    let line = |scope| Line { time_span: Some(number), elapsed_ns: Some(measured.elapsed_ns), ..Line::new(scope) };
    for row in &measured.rows {
        let line = Line {
            thread: Some(row.thread),
            target: Some(&row.path),
            // Results of fio lack it.
            target_size_bytes: Some(row.target_size_bytes).filter(|bytes| *bytes > 0),
            ..line("thread")
        };
        directions(writer, &line, &row.figures, None)?;
    }
    for TargetLatencies { path, latency } in &measured.target_latencies {
        latencies_only(writer, &Line { target: Some(path), ..line("target") }, latency)?;
    }
    if let Some(LoadLoop::Open(open)) = &measured.load_loop {
        latencies_only(writer, &line("response_time"), &open.response_time)?;
    }
    for (scope, latency) in [("flush", &measured.flush_latency), ("commit", &measured.commit_latency)] {
        latencies_only(writer, &line(scope), &Directions { write: latency.clone(), ..Directions::default() })?;
    }
    directions(writer, &line("timespan"), &measured.total, measured.total_latency.as_ref())?;
    for OperationFigures { operation, figures, latency } in &measured.operations {
        let direction = match operation {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Discard => "discard",
            Operation::WriteZeroes => "write_zeroes",
        };
        one_direction(writer, &line("operation"), direction, figures, latency.as_ref())?;
    }
    Ok(())
}

/// Latencies without volumes and rates: those of a path, if there are several, and the response times of an open loop.
fn latencies_only(
    writer: &mut Output<'_, '_>,
    line: &Line<'_>,
    latencies: &Directions<Option<LatencyDistribution>>,
) -> io::Result<()> {
    let Directions { read, write, total } = latencies;
    for (direction, latencies) in [("read", read), ("write", write), ("total", total)] {
        if let Some(latencies) = latencies {
            let mut cells = beginning(line, direction);
            cells.extend([Cell::Empty, Cell::Whole(latencies.count), Cell::Empty, Cell::Empty, Cell::Empty]);
            cells.extend(latency(Some(&latencies.figures)));
            cells.extend(percentiles(Some(latencies)));
            write_cells(writer, cells)?;
        }
    }
    Ok(())
}

/// One line for reads, one for writes, one for both.
fn directions(
    writer: &mut Output<'_, '_>,
    line: &Line<'_>,
    figures: &Directions<Figures>,
    latencies: Option<&Directions<Option<LatencyDistribution>>>,
) -> io::Result<()> {
    let Directions { read, write, total } = figures;
    for (direction, figures, latencies) in [
        ("read", read, latencies.and_then(|latencies| latencies.read.as_ref())),
        ("write", write, latencies.and_then(|latencies| latencies.write.as_ref())),
        ("total", total, latencies.and_then(|latencies| latencies.total.as_ref())),
    ] {
        one_direction(writer, line, direction, figures, latencies)?;
    }
    Ok(())
}

fn one_direction(
    writer: &mut Output<'_, '_>,
    line: &Line<'_>,
    direction: &str,
    figures: &Figures,
    latencies: Option<&LatencyDistribution>,
) -> io::Result<()> {
    let mut cells = beginning(line, direction);
    cells.extend([
        Cell::Whole(figures.bytes),
        Cell::Whole(figures.ios),
        real(mib(figures.bytes_per_s)),
        real(figures.iops),
        figures.iops_std_dev.map_or(Cell::Empty, real),
    ]);
    cells.extend(latency(latencies.map(|latencies| &latencies.figures).or(figures.latency.as_ref())));
    cells.extend(percentiles(latencies));
    write_cells(writer, cells)
}

/// A cell before it is written.
enum Cell<'a> {
    Empty,
    Word(&'a str),
    /// Paths need not be UTF-8.
    Path(&'a Path),
    Whole(u64),
    Real(f64),
}

/// A cell of a number; NaN and infinities are unknown.
fn real<'a>(number: f64) -> Cell<'a> {
    if number.is_finite() { Cell::Real(number) } else { Cell::Empty }
}

fn beginning<'a>(line: &Line<'a>, direction: &'a str) -> Vec<Cell<'a>> {
    let whole = |number: Option<u64>| number.map_or(Cell::Empty, Cell::Whole);
    vec![
        Cell::Word(line.scope),
        whole(line.time_span.map(u64::from)),
        whole(line.thread.map(u64::from)),
        line.target.map_or(Cell::Empty, Cell::Path),
        whole(line.target_size_bytes),
        Cell::Word(direction),
        whole(line.elapsed_ns),
    ]
}

fn latency(figures: Option<&LatencyFigures>) -> [Cell<'static>; 4] {
    let whole = |number: Option<u64>| number.map_or(Cell::Empty, Cell::Whole);
    [
        figures.map_or(Cell::Empty, |figures| real(figures.mean_ns)),
        figures.map_or(Cell::Empty, |figures| real(figures.std_dev_ns)),
        whole(figures.and_then(|figures| figures.min_ns)),
        whole(figures.and_then(|figures| figures.max_ns)),
    ]
}

fn percentiles(latencies: Option<&LatencyDistribution>) -> [Cell<'static>; PERCENTILES.len()] {
    PERCENTILES.map(|(_, rank_ppb)| {
        let known = latencies.and_then(|all| all.percentiles.iter().find(|percentile| percentile.rank_ppb == rank_ppb));
        known.map_or(Cell::Empty, |percentile| Cell::Whole(percentile.value_ns))
    })
}

fn write_cells(writer: &mut Output<'_, '_>, cells: Vec<Cell<'_>>) -> io::Result<()> {
    for cell in cells {
        match cell {
            Cell::Empty => writer.write_field("")?,
            Cell::Word(word) => writer.write_field(word)?,
            Cell::Path(path) => writer.write_field(foreign::cell(path.as_os_str().as_encoded_bytes()))?,
            Cell::Whole(number) => writer.write_field(number.to_string())?,
            // The shortest digits that are exact.
            Cell::Real(number) => writer.write_field(number.to_string())?,
        }
    }
    writer.write_record(None::<&[u8]>)?;
    Ok(())
}
