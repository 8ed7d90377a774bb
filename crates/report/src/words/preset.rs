//! The loads of a preset as a table.

use crate::words::figure_words::{cell, shown_figure};
use crate::words::numbers::ms;
use crate::words::plain_table::PlainTable;
use model::finding::{Finding, Severity};
use model::headline::Headline;
use model::interference::StreamHeadline;
use model::latency_band::{BandKind, Medium};
use model::metric::{Metric, Scope};
use model::preset::{PresetRun, PresetTable};
use model::profile::StreamName;
use model::result::{RunResult, TimeSpanResult};
use model::units::mib;

/// The timespan and the I/Os behind a row of a table of loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadRow {
    /// Index of its timespan.
    pub time_span: usize,
    /// I/Os that its percentiles are of.
    pub ios: u64,
}

/// The table alone, and what its rows show, if each is of one timespan; nothing of a run without a preset.
pub fn loads(result: &RunResult) -> Option<(PlainTable, Option<Vec<LoadRow>>)> {
    let preset = result.preset.as_ref()?;
    Some(match preset.table {
        PresetTable::Loads => {
            let (table, rows) = of_loads(preset, result);
            (table, Some(rows))
        }
        PresetTable::Desktop => (desktop(preset, result), None),
    })
}

/// The outcome of all requirements of a preset's loads: the worst, and how many there are of each kind and
/// loads without any; `None` if no load has one.
pub fn requirements(result: &RunResult) -> Option<(Severity, String)> {
    let of_all = || result.time_spans.iter().flat_map(|span_result| &span_result.requirements);
    let count = |wanted| of_all().filter(|finding| finding.severity == wanted).count();
    let kinds = [Severity::Pass, Severity::Unknown, Severity::Fail];
    let worst = kinds.into_iter().rev().find(|kind| count(*kind) > 0)?;
    let parts = kinds.map(|kind| (count(kind), kind)).into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, kind)| format!("{count} {kind}")).collect();
    // Another part of them may have no limits.
    let without = result.time_spans.iter().filter(|span_result| span_result.requirements.is_empty()).count();
    let without = (without > 0).then(|| format!("{without} not judged"));
    Some((worst, parts.into_iter().chain(without).collect::<Vec<_>>().join(", ")))
}

/// The outcome of the bands of a load.
pub fn band_finding(span_result: &TimeSpanResult) -> Option<&Finding> {
    span_result.requirements.iter().find(|finding| finding.name == BAND_RULE)
}

/// The rule of latency bands.
const BAND_RULE: &str = "latency-band";

/// The figure that a load is judged by, beside its rating, then its throughput.
const FIRST_FIGURES: [Metric; 3] = [Metric::Mean, Metric::Iops, Metric::MibPerS];
/// Other figures of each load.
const FIGURES: [Metric; 3] = [Metric::P99, Metric::P999, Metric::Cpu];

/// Times of commits on average, and in the 99th percentile.
pub const COMMIT_COLUMNS: [&str; 2] = ["commit ms", "commit p99 ms"];
const FLUSH_COLUMNS: [&str; 2] = ["fdatasync/s", "fdatasync ms"];

/// Said of a load without limits beside loads that have some.
const NOT_JUDGED: &str = "not judged";

/// The columns that not every preset has.
struct Columns<'a> {
    preset: &'a PresetRun,
    has_flushes: bool,
    has_commits: bool,
    medium: Medium,
}

fn has_flushes(result: &RunResult) -> bool {
    result.time_spans.iter().any(|span| span.measured.as_ref().is_some_and(|measured| measured.flushes.is_some()))
}

fn of_loads(preset: &PresetRun, result: &RunResult) -> (PlainTable, Vec<LoadRow>) {
    let kinds: Vec<BandKind> = (0..preset.loads.len()).filter_map(|index| preset.band(index)).collect();
    let columns = Columns {
        preset,
        has_flushes: has_flushes(result),
        has_commits: kinds.contains(&BandKind::Log),
        medium: stats::latency_band::medium(result),
    };
    let mut table = columns.table();
    let mut rows = Vec::new();
    for (index, (name, span_result)) in preset.loads.iter().zip(&result.time_spans).enumerate() {
        let mut add = |cells: Vec<String>, ios| {
            table.add(cells);
            rows.push(LoadRow { time_span: index, ios });
        };
        let headline = stats::headline(span_result);
        let mut cells = vec![name.clone()];
        match &headline {
            Some(headline) => columns.figures(index, headline, span_result, &mut cells),
            None => cells.push("not measured".to_owned()),
        }
        add(cells, headline.map_or(0, |headline| headline.ios));
        if let Some(measured) = &span_result.measured {
            for (stream, of) in stats::interference::streams(measured).iter().zip(&measured.streams) {
                add(columns.of_stream(&stream.name, &stream.figures), of.figures.total.ios);
            }
        }
    }
    (table, rows)
}

impl Columns<'_> {
    /// The empty table: what was judged comes first.
    fn table(&self) -> PlainTable {
        let mut header = vec!["load"];
        if self.preset.has_latency_bands {
            header.push("rating of mean");
        }
        let numbers = header.len();
        header.extend(COMMIT_COLUMNS.iter().take(1).filter(|_| self.has_commits));
        header.extend(FIRST_FIGURES.map(Metric::heading));
        header.extend(COMMIT_COLUMNS.iter().skip(1).filter(|_| self.has_commits));
        header.extend(FIGURES.map(Metric::heading));
        header.extend(FLUSH_COLUMNS.iter().filter(|_| self.has_flushes));
        let [mib, p99, p999, cpu] = [Metric::MibPerS, Metric::P99, Metric::P999, Metric::Cpu].map(Metric::heading);
        let least_first = [FLUSH_COLUMNS[0], p999, FLUSH_COLUMNS[1], cpu, p99, COMMIT_COLUMNS[1], mib];
        let place = |name| header.iter().position(|known| *known == name);
        let spare: Vec<usize> = least_first.into_iter().filter_map(place).collect();
        let numbers = numbers..header.len();
        PlainTable::new(header, numbers).fitted(spare)
    }

    fn figures(&self, index: usize, headline: &Headline, span_result: &TimeSpanResult, cells: &mut Vec<String>) {
        let known = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let in_ms = |ns: Option<f64>| known(ns.map(|ns| format!("{:.3}", ms(ns))));
        let kind = self.preset.band(index);
        if self.preset.has_latency_bands {
            let judgement = kind.and_then(|kind| stats::latency_band::judge(span_result, kind, self.medium));
            let judged = band_finding(span_result).filter(|_| self.preset.is_judged);
            let severity = judged.map(|finding| format!("{} ", finding.severity)).unwrap_or_default();
            let words = judgement.map_or_else(|| NOT_JUDGED.to_owned(), |judgement| judgement.words);
            cells.push(severity + &words);
        }
        let commit = stats::latency_band::commit(span_result).filter(|_| kind == Some(BandKind::Log));
        if self.has_commits {
            cells.push(in_ms(commit.as_ref().map(|commit| commit.mean_ns)));
        }
        cells.extend(FIRST_FIGURES.map(|figure| cell((Scope::All, figure), headline)));
        if self.has_commits {
            cells.push(in_ms(commit.and_then(|commit| commit.p99_ns).map(|ns| ns as f64)));
        }
        cells.extend(FIGURES.map(|figure| cell((Scope::All, figure), headline)));
        if self.has_flushes {
            let flushes = span_result.measured.as_ref().and_then(|measured| measured.flushes);
            cells.push(known(flushes.map(|flushes| format!("{:.2}", flushes.per_s))));
            cells.push(in_ms(flushes.and_then(|flushes| flushes.latency).map(|latency| latency.mean_ns)));
        }
    }

    /// Figures of a stream, below those of its load.
    fn of_stream(&self, name: &StreamName, of: &StreamHeadline) -> Vec<String> {
        let shown = |(metric, value): (Metric, Option<f64>)| {
            value.map_or_else(|| "-".to_owned(), |value| shown_figure(metric, value, 3))
        };
        let first =
            [(Metric::Mean, of.mean_ns), (Metric::Iops, Some(of.iops)), (Metric::MibPerS, Some(mib(of.bytes_per_s)))];
        let others = [(Metric::P99, of.p99_ns), (Metric::P999, of.p999_ns)];
        let commit = || self.has_commits.then(|| "-".to_owned());
        let rating = self.preset.has_latency_bands.then(String::new);
        let start = std::iter::once(format!("- {name}")).chain(rating).chain(commit());
        start.chain(first.map(shown)).chain(commit()).chain(others.map(shown)).collect()
    }
}

/// Loads of one name share a row: reads, then writes, in MB (10^6 bytes) per second.
fn desktop(preset: &PresetRun, result: &RunResult) -> PlainTable {
    let figures = ["MB/s", "best", "IOPS", "us"];
    let directions = ["read", "write"].map(|direction| figures.map(|figure| format!("{direction} {figure}")));
    let header = std::iter::once("MB: 10^6 bytes".to_owned()).chain(directions.into_iter().flatten());
    // The best runs, the rates beside the throughput, then latencies.
    let mut table = PlainTable::new(header, 1..9).fitted([2, 6, 7, 3, 8, 4]);
    for (name, runs) in stats::preset_rows::reads_and_writes(preset, result) {
        let cells = runs.into_iter().flat_map(|runs| match runs {
            None => ["-"; 4].map(str::to_owned),
            Some(runs) => [
                format!("{:.2}", runs.median_bytes_per_s / 1e6),
                format!("{:.2}", runs.best_bytes_per_s / 1e6),
                format!("{:.0}", runs.median_iops),
                runs.median_latency_ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.1}", ns / 1e3)),
            ],
        });
        table.add(std::iter::once(name.to_owned()).chain(cells));
    }
    table
}

/// From this usage of all CPUs on they may be what limits a load.
const BUSY_PERCENT: f64 = 95.0;

/// How many runs left the machine no CPU time: `the CPUs of the machine were busy for 95 % of the time or more in 3 of 13 runs`.
pub fn busy_cpus<'a>(runs: impl IntoIterator<Item = &'a Headline>) -> Option<String> {
    let runs: Vec<&Headline> = runs.into_iter().collect();
    let busy: Vec<&Headline> = runs.iter().copied().filter(|run| run.cpu_percent >= BUSY_PERCENT).collect();
    let of = if runs.len() == 1 { String::new() } else { format!(" in {} of {} runs", busy.len(), runs.len()) };
    let is_shared = busy.iter().any(|run| run.warnings.iter().any(|name| name == "cpu-contention"));
    let who = if is_shared { " (see cpu-contention)" } else { "" };
    (!busy.is_empty()).then(|| {
        format!(
            "the CPUs of the machine were busy for {BUSY_PERCENT} % of the time or more{of}: they may limit the \
             figures{who}"
        )
    })
}

/// The definition of a commit, and the limits by which commits were rated: in a virtual machine the kernel does not know the disks.
pub fn about_commits(result: &RunResult) -> Vec<String> {
    let Some(preset) = result.preset.as_ref().filter(|preset| preset.has_latency_bands) else { return Vec::new() };
    if (0..preset.loads.len()).all(|index| preset.band(index) != Some(BandKind::Log)) {
        return Vec::new();
    }
    let mut sentences = Vec::new();
    if has_flushes(result) {
        let commit = "a commit is a durable write (O_DSYNC), or a write and the fdatasync after it; the other latencies are \
                      those of the I/Os alone";
        sentences.push(commit.to_owned());
    }
    let limits = match stats::latency_band::medium(result) {
        Medium::Flash => return sentences,
        Medium::HardDisk => "limits of a hard disk: the kernel reports the device as rotational".to_owned(),
        Medium::Unknown => {
            let why = if stats::latency_band::is_virtual(result) {
                "the kernel of this virtual machine does not see the disks of the host"
            } else {
                "the kernel does not report it"
            };
            format!(
                "limits of a commit: 5 and 10 ms on a hard disk, 1 and 5 ms on flash; which of them the device is, is not \
                 known: {why}"
            )
        }
    };
    sentences.push(limits);
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_cpus_are_counted_by_run() {
        let run = |cpu_percent: f64, warnings: &[&str]| Headline {
            cpu_percent,
            warnings: warnings.iter().map(ToString::to_string).collect(),
            ..Headline::default()
        };
        let head = "the CPUs of the machine were busy for 95 % of the time or more";
        assert_eq!(busy_cpus(&[run(94.0, &["cpu-contention"])]), None);
        assert_eq!(busy_cpus(&[run(95.0, &[])]), Some(format!("{head}: they may limit the figures")));
        let mixed = [run(99.0, &["cpu-contention"]), run(20.0, &[]), run(96.0, &["drift"])];
        let expected = format!("{head} in 2 of 3 runs: they may limit the figures (see cpu-contention)");
        assert_eq!(busy_cpus(&mixed), Some(expected));
    }
}
