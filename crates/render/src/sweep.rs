//! A sweep as lines, as a table and as comma-separated values.

mod advice;

pub use advice::{
    ACROSS_BLOCKS, NOT_FIRM, OF_PROBES, RULE, Range, across_blocks, compared, given_up, growth_of_blocks,
    growth_of_depths, interval_basis, most, none_beaten, nothing_better, range_of_load, rate_of_series, splits, unit,
};

use crate::figure_words::cell;
use crate::foreign;
use crate::numbers::ms;
use crate::plain_table::PlainTable;
use crate::prose::in_lines;
use crate::verdict_block;
use csv::{Terminator, WriterBuilder};
use model::headline::Headline;
use model::metric::{Metric, Scope, ScopedMetric};
use model::profile::Profile;
use model::sweep::{DepthEstimate, DepthSeries, Point, Purpose, Setting, Sweep, Visit, VisitOutcome};
use model::units::mib;
use std::io::{self, Write};

/// One run, in the form that `DiskSpd`'s guides print:
/// `Param -o 8 -t 1, 35558.31 iops, 277.80 MB/sec, 0.225 ms, 22.36% CPU`.
pub fn line(visit: &Visit, profile: &Profile, point: &Point, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "Param")?;
    // A run for the capacity is of no rate.
    let none = Point::default();
    let point = if visit.purpose == Purpose::Capacity { &none } else { point };
    for setting in shown(profile, point) {
        let dashes = if setting.name.chars().count() == 1 { "-" } else { "--" };
        write!(out, " {dashes}{} {}", setting.name, setting.value)?;
    }
    figures_of_line(&visit.outcome, out)?;
    writeln!(out, "{}", why(visit.purpose))
}

/// `, 35558.31 iops, 277.80 MB/sec, 0.225 ms, 22.36% CPU`, or why there are none.
pub(crate) fn figures_of_line(outcome: &VisitOutcome, out: &mut dyn Write) -> io::Result<()> {
    match outcome {
        VisitOutcome::Measured { headline, .. } => {
            write!(out, ", {:.2} iops, {:.2} MB/sec", headline.iops, mib(headline.bytes_per_s))?;
            for (scope, metric) in Headline::shown_metrics(&[Metric::Mean], [headline]) {
                if let Some(mean_ns) = headline.scoped_value((scope, metric)) {
                    write!(out, ", {}", scope.label(&format!("{:.3} ms", ms(mean_ns))))?;
                }
            }
            for (scope, p99_ns) in headline.waited_for.iter().filter_map(|of| Some((of.scope, of.p99_ns?))) {
                write!(out, ", {} {:.3} ms", scope.label("p99"), ms(p99_ns))?;
            }
            write!(out, ", {:.2}% CPU", headline.cpu_percent)
        }
        VisitOutcome::Failed { reasons } => write!(out, ", failed: {}", reasons.join("; ")),
    }
}

fn why(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Measure => "",
        Purpose::Probe => " (probe)",
        Purpose::Again => " (repeated)",
        Purpose::Confirm => " (confirmed)",
        Purpose::Precondition => " (preconditioning)",
        Purpose::Capacity => " (without a rate: the target's capacity)",
    }
}

/// Depth and threads, which the guides always print, and what else varies.
fn shown(profile: &Profile, point: &Point) -> Vec<Setting> {
    let setting = |name: &str, value: u32| Setting { name: name.to_owned(), value: value.to_string() };
    let target = profile.time_spans.first().and_then(|span| Some((span, span.targets.first()?)));
    let mut settings = match target {
        Some((span, _)) if span.thread_count > 0 && span.request_count > 0 => {
            vec![setting("O", span.request_count), setting("F", span.thread_count)]
        }
        Some((span, target)) if span.thread_count > 0 => {
            vec![setting("o", target.outstanding), setting("F", span.thread_count)]
        }
        Some((_, target)) => vec![setting("o", target.outstanding), setting("t", target.threads)],
        None => Vec::new(),
    };
    let others = point.settings.iter().filter(|setting| !setting.is_depth());
    settings.extend(others.cloned());
    settings
}

/// Which point to use, the table of all points, and notes.
pub fn summary(sweep: &Sweep, out: &mut dyn Write) -> io::Result<()> {
    if sweep.visits.is_empty() {
        return Ok(());
    }
    in_lines(out, |out| advice::answer(sweep, out))?;
    writeln!(out)?;
    table(sweep, out)?;
    in_lines(out, |out| {
        advice::notes(sweep, out)?;
        verdict_block::of_runs(out, sweep)
    })
}

/// True if some points of a sweep were probed and then confirmed, so that its table has figures of both.
pub fn has_confirmed(sweep: &Sweep) -> bool {
    let is_confirmed = |visit: &Visit| visit.purpose == Purpose::Confirm && visit.headline().is_some();
    sweep.limit.is_none() && sweep.visits.iter().any(is_confirmed)
}

/// Which run a row of such a table has.
pub fn kind_of_row(sweep: &Sweep, point: usize) -> &'static str {
    let run = stats::sweep::median_run(sweep, point);
    if run.is_some_and(|run| run.purpose == Purpose::Confirm) { "confirmed" } else { "probe" }
}

/// Figures of the table.
const FIGURES: [Metric; 5] = [Metric::Iops, Metric::MibPerS, Metric::Mean, Metric::P99, Metric::Cpu];

/// Figures of each device, where there are several.
const PER_DEVICE: [&str; 4] = ["amplification", "depth/SSD", "IOPS/SSD", "MiB/s/SSD"];

fn table(sweep: &Sweep, out: &mut dyn Write) -> io::Result<()> {
    let mut header: Vec<String> = names(sweep).iter().map(|name| dashed(name)).collect();
    // In an open loop it is only a bound, the same at every rate.
    header.extend(sweep.limit.is_none().then(|| "depth".to_owned()));
    let figures = Headline::shown_metrics(&FIGURES, sweep.measured());
    header.extend(figures.iter().map(|(scope, metric)| scope.label(metric.heading())));
    if sweep.devices.is_some() {
        header.extend(PER_DEVICE.map(str::to_owned));
    }
    let numbers = 0..header.len();
    let spare = spare(&header);
    header.extend(has_confirmed(sweep).then(|| "run".to_owned()));
    header.push("verdict".to_owned());
    let mut table = PlainTable::new(header, numbers).fitted(spare);
    for (index, point) in sweep.points.iter().enumerate() {
        if sweep.visits.iter().any(|visit| visit.point == index && visit.is_of_point()) {
            table.add(row(sweep, index, point, &figures));
        }
    }
    table.write(out)
}

/// Columns of the table that may be left out, the least important first: what follows from others, then figures that the
/// answer does not rest on.
fn spare(header: &[String]) -> Vec<usize> {
    let least_first = [PER_DEVICE[3], PER_DEVICE[1], PER_DEVICE[2], PER_DEVICE[0], Metric::Cpu.heading()];
    let named = least_first.into_iter().chain([Metric::MibPerS.heading(), "depth"]);
    let mut spare: Vec<usize> = named.filter_map(|name| header.iter().position(|known| known == name)).collect();
    // Latencies of single parts, such as commits.
    let is_p99 = |name: &String| name.ends_with(Metric::P99.heading());
    spare.extend(header.iter().enumerate().rev().filter(|(_, name)| is_p99(name)).map(|(column, _)| column).skip(1));
    spare
}

fn row(sweep: &Sweep, index: usize, point: &Point, metrics: &[ScopedMetric]) -> Vec<String> {
    let mut cells: Vec<String> = point.settings.iter().map(|setting| setting.value.clone()).collect();
    let Some(figures) = stats::sweep::figures(sweep, index) else {
        cells.push("failed".to_owned());
        return cells;
    };
    let known = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    cells.extend(sweep.limit.is_none().then(|| known(figures.depth.map(|depth| depth.to_string()))));
    cells.extend(metrics.iter().map(|metric| cell(*metric, figures)));
    if let Some(devices) = sweep.devices {
        let each = stats::sweep::per_device(figures, devices);
        cells.extend([
            format!("{:.2}", each.amplification),
            known(each.depth.map(|depth| format!("{depth:.1}"))),
            format!("{:.2}", each.iops),
            format!("{:.2}", mib(each.bytes_per_s)),
        ]);
    }
    cells.extend(has_confirmed(sweep).then(|| kind_of_row(sweep, index).to_owned()));
    cells.push(figures.severity.map_or("", |severity| severity.word()).to_owned());
    cells
}

/// What varies, in the order of the settings; every point has the same.
pub fn names(sweep: &Sweep) -> Vec<String> {
    let first = sweep.points.first();
    first.map(|point| point.settings.iter().map(|setting| setting.name.clone()).collect()).unwrap_or_default()
}

pub fn dashed(name: &str) -> String {
    if name.chars().count() == 1 { format!("-{name}") } else { name.to_owned() }
}

pub fn edge(sweep: &Sweep, series: &DepthSeries, estimate: &DepthEstimate) -> &'static str {
    let first = series.points.first().and_then(|point| stats::sweep::figures(sweep, *point));
    match first {
        _ if !estimate.is_at_edge => "",
        // One for each thread cannot be undercut.
        Some(first) if first.depth == Some(estimate.depth) && first.threads >= estimate.depth => "",
        Some(first) if first.depth == Some(estimate.depth) => {
            "; this is the smallest depth tried; a smaller one may be better"
        }
        _ => "; this is the largest depth tried; a larger one may be better",
    }
}

/// Columns after those of the varied settings.
pub(crate) const COLUMNS: [&str; 23] = [
    "point",
    "run",
    "purpose",
    "file",
    "total_depth",
    "threads",
    "iops",
    "mib_per_s",
    "latency_mean_ns",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_p99_9_ns",
    "response_mean_ns",
    "response_p50_ns",
    "response_p99_ns",
    "response_p99_9_ns",
    "commit_mean_ns",
    "commit_p50_ns",
    "commit_p99_ns",
    "commit_p99_9_ns",
    "cpu_percent",
    "verdict",
    "error",
];

/// True for the first line of such a table; those of earlier versions have no commits.
pub(crate) fn is_heading(line: &str) -> bool {
    let of_earlier: Vec<&str> = COLUMNS.into_iter().filter(|name| !name.starts_with("commit_")).collect();
    [&COLUMNS[..], &of_earlier].iter().any(|columns| line.ends_with(&columns.join(",")))
}

/// All runs, one a line, in the order in which they were made. Empty cells are unknown.
pub fn csv(sweep: &Sweep, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(out);
    let names = names(sweep);
    let names = names.iter().map(|name| foreign::text_cell(name));
    writer.write_record(names.chain(COLUMNS.map(str::to_owned)))?;
    for visit in &sweep.visits {
        let settings = sweep.points.get(visit.point).map(|point| &point.settings[..]).unwrap_or_default();
        let is_capacity = visit.purpose == Purpose::Capacity;
        let value = |setting: &Setting| if is_capacity { String::new() } else { setting.value.clone() };
        let mut cells: Vec<String> = settings.iter().map(value).collect();
        let purpose = match visit.purpose {
            Purpose::Measure => "measure",
            Purpose::Probe => "probe",
            Purpose::Again => "again",
            Purpose::Confirm => "confirm",
            Purpose::Precondition => "precondition",
            Purpose::Capacity => "capacity",
        };
        cells.extend([(visit.point + 1).to_string(), (visit.run + 1).to_string(), purpose.to_owned()]);
        match &visit.outcome {
            VisitOutcome::Measured { file, headline } => cells.extend(figures(file, headline)),
            VisitOutcome::Failed { reasons } => {
                cells.extend(std::iter::repeat_n(String::new(), 19));
                cells.push(foreign::text_cell(&reasons.join("; ")));
            }
        }
        writer.write_record(&cells)?;
    }
    writer.flush()
}

fn figures(file: &str, headline: &Headline) -> [String; 20] {
    let known = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let commit = |metric| headline.scoped_value((Scope::Commit, metric)).map(|ns| ns.to_string()).unwrap_or_default();
    [
        foreign::text_cell(file),
        headline.depth.map(|depth| depth.to_string()).unwrap_or_default(),
        headline.threads.to_string(),
        headline.iops.to_string(),
        mib(headline.bytes_per_s).to_string(),
        headline.mean_ns.map(|ns| ns.to_string()).unwrap_or_default(),
        known(headline.p50_ns),
        known(headline.p99_ns),
        known(headline.p999_ns),
        headline.response_mean_ns.map(|ns| ns.to_string()).unwrap_or_default(),
        known(headline.response_p50_ns),
        known(headline.response_p99_ns),
        known(headline.response_p999_ns),
        commit(Metric::Mean),
        commit(Metric::P50),
        commit(Metric::P99),
        commit(Metric::P999),
        headline.cpu_percent.to_string(),
        headline.severity.map_or("", |severity| severity.word()).to_owned(),
        String::new(),
    ]
}

#[cfg(test)]
mod tests;
