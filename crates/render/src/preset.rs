//! The loads of a preset as a table.

use crate::figure_words::{cell, label};
use crate::numbers::ms;
use crate::plain_table::PlainTable;
use model::finding::{Finding, Severity, Source};
use model::headline::Headline;
use model::latency_band::BandKind;
use model::metric::Metric;
use model::preset::{PresetRun, PresetTable};
use model::result::{RunResult, TimeSpanResult};
use std::io::{self, Write};

/// The table of the run's preset, and what makes its figures doubtful; nothing of a run without one.
pub fn table(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let Some(preset) = &result.preset else { return Ok(()) };
    writeln!(out, "{}", preset.title)?;
    writeln!(out)?;
    table_of(preset, result).write(out)?;
    judged(preset, result, out)?;
    findings(preset, result, out)
}

/// The table alone; nothing of a run without a preset.
pub fn loads(result: &RunResult) -> Option<PlainTable> {
    result.preset.as_ref().map(|preset| table_of(preset, result))
}

fn table_of(preset: &PresetRun, result: &RunResult) -> PlainTable {
    match preset.table {
        PresetTable::Loads => of_loads(preset, result),
        PresetTable::Desktop => desktop(preset, result),
    }
}

/// How many loads passed, of a preset that judges.
fn judged(preset: &PresetRun, result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let severities: Vec<Severity> =
        result.time_spans.iter().filter_map(band_finding).map(|finding| finding.severity).collect();
    if !preset.is_judged || severities.is_empty() {
        return Ok(());
    }
    let count = |severity| severities.iter().filter(|found| **found == severity).count();
    let parts = [Severity::Pass, Severity::Fail, Severity::Unknown]
        .map(|severity| (count(severity), severity))
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, severity)| format!("{count} {severity}"));
    writeln!(out, "\nJudged: {}", parts.collect::<Vec<_>>().join(", "))
}

/// What became of the bands of a load.
fn band_finding(span_result: &TimeSpanResult) -> Option<&Finding> {
    span_result.requirements.iter().find(|finding| finding.name == BAND_RULE)
}

/// The rule of latency bands.
const BAND_RULE: &str = "latency-band";

/// Figures of each load.
const FIGURES: [Metric; 6] = [Metric::Iops, Metric::MibPerS, Metric::Mean, Metric::P99, Metric::P999, Metric::Cpu];

/// The columns that not every preset has.
struct Columns<'a> {
    preset: &'a PresetRun,
    has_flushes: bool,
    has_commits: bool,
    is_rotational: bool,
}

fn of_loads(preset: &PresetRun, result: &RunResult) -> PlainTable {
    let kinds: Vec<BandKind> = (0..preset.loads.len()).filter_map(|index| preset.band(index)).collect();
    let columns = Columns {
        preset,
        has_flushes: result.time_spans.iter().any(|span| span.measured.as_ref().is_some_and(|m| m.flushes.is_some())),
        has_commits: kinds.contains(&BandKind::Log),
        is_rotational: stats::latency_band::is_rotational(result),
    };
    let mut header = vec!["load"];
    header.extend(FIGURES.map(label));
    if columns.has_flushes {
        header.extend(["fdatasync/s", "fdatasync ms"]);
    }
    if columns.has_commits {
        header.push("commit ms");
    }
    let numbers = 1..header.len();
    match (columns.has_commits, kinds.contains(&BandKind::Data)) {
        (false, false) => {}
        (false, true) => header.push("mean latency is"),
        (true, false) => header.push("commit is"),
        (true, true) => header.push("mean latency or commit is"),
    }
    let mut table = PlainTable::new(header, numbers);
    for (index, (name, span_result)) in preset.loads.iter().zip(&result.time_spans).enumerate() {
        let mut cells = vec![name.clone()];
        match stats::headline(span_result) {
            Some(headline) => columns.figures(index, &headline, span_result, &mut cells),
            None => cells.push("not measured".to_owned()),
        }
        table.add(cells);
    }
    table
}

impl Columns<'_> {
    fn figures(&self, index: usize, headline: &Headline, span_result: &TimeSpanResult, cells: &mut Vec<String>) {
        let known = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        cells.extend(FIGURES.map(|figure| cell(figure, headline)));
        if self.has_flushes {
            let flushes = span_result.measured.as_ref().and_then(|measured| measured.flushes);
            let mean_ns = flushes.and_then(|flushes| flushes.latency).map(|latency| latency.mean_ns);
            cells.push(known(flushes.map(|flushes| format!("{:.2}", flushes.per_s))));
            cells.push(known(mean_ns.map(|ns| format!("{:.3}", ms(ns)))));
        }
        let kind = self.preset.band(index);
        let latency_ns = kind.and_then(|kind| stats::latency_band::latency_ns(span_result, kind));
        if self.has_commits {
            let commit_ns = latency_ns.filter(|_| kind == Some(BandKind::Log));
            cells.push(known(commit_ns.map(|ns| format!("{:.3}", ms(ns)))));
        }
        if self.preset.has_latency_bands {
            let words = kind.zip(latency_ns).map(|(kind, ns)| kind.bands(self.is_rotational).words(ns));
            let judged = band_finding(span_result).filter(|_| self.preset.is_judged);
            let severity = judged.map(|finding| format!("{} ", finding.severity)).unwrap_or_default();
            cells.push(severity + &known(words));
        }
    }
}

/// Loads of one name share a row: reads, then writes, in MB (10^6 bytes) per second.
fn desktop(preset: &PresetRun, result: &RunResult) -> PlainTable {
    let figures = ["MB/s", "best", "IOPS", "us"];
    let directions = ["read", "write"].map(|direction| figures.map(|figure| format!("{direction} {figure}")));
    let header = std::iter::once("MB: 10^6 bytes".to_owned()).chain(directions.into_iter().flatten());
    let mut table = PlainTable::new(header, 1..9);
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

/// What the verdicts say that is graver than a note, and requirements that are not known to be met, each with the loads
/// that it was found in.
fn findings(preset: &PresetRun, result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let mut found: Vec<(&Finding, Vec<&str>)> = Vec::new();
    for (name, span_result) in preset.loads.iter().zip(&result.time_spans) {
        let is_shown = |finding: &&Finding| match finding.source {
            Source::Requirement => finding.severity != Severity::Pass,
            _ => finding.severity > Severity::Note && finding.source == Source::Verdict,
        };
        for finding in span_result.findings().filter(is_shown) {
            match found.iter_mut().find(|(other, _)| shown_name(other) == shown_name(finding)) {
                Some((_, loads)) if loads.contains(&name.as_str()) => {}
                Some((_, loads)) => loads.push(name),
                None => found.push((finding, vec![name])),
            }
        }
    }
    for (index, (finding, loads)) in found.into_iter().enumerate() {
        if index == 0 {
            writeln!(out)?;
        }
        writeln!(out, "{} {} ({}): {}", finding.severity, shown_name(finding), loads.join("; "), finding.figure)?;
    }
    Ok(())
}

/// The name of a rule, or the requirement.
fn shown_name(finding: &Finding) -> &str {
    if finding.source == Source::Requirement { &finding.subject } else { &finding.name }
}
