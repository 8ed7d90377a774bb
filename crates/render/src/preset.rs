//! The loads of a preset as a table.

use crate::figure_words::{cell, label};
use crate::numbers::ms;
use crate::plain_table::PlainTable;
use model::finding::{Finding, Severity, Source};
use model::headline::Headline;
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

/// Figures of each load.
const FIGURES: [Metric; 6] = [Metric::Iops, Metric::MibPerS, Metric::Mean, Metric::P99, Metric::P999, Metric::Cpu];

fn of_loads(preset: &PresetRun, result: &RunResult) -> PlainTable {
    let mut header = vec!["load"];
    header.extend(FIGURES.map(label));
    let has_flushes = result.time_spans.iter().any(|span| span.measured.as_ref().is_some_and(|m| m.flushes.is_some()));
    if has_flushes {
        header.extend(["fdatasync/s", "fdatasync ms"]);
    }
    let numbers = 1..header.len();
    if preset.has_latency_bands {
        header.push("mean latency is");
    }
    let mut table = PlainTable::new(header, numbers);
    for (name, span_result) in preset.loads.iter().zip(&result.time_spans) {
        let mut cells = vec![name.clone()];
        match stats::headline(span_result) {
            Some(headline) => figures(&headline, span_result, has_flushes, preset.has_latency_bands, &mut cells),
            None => cells.push("not measured".to_owned()),
        }
        table.add(cells);
    }
    table
}

fn figures(
    headline: &Headline,
    span_result: &TimeSpanResult,
    has_flushes: bool,
    has_bands: bool,
    cells: &mut Vec<String>,
) {
    cells.extend(FIGURES.map(|figure| cell(figure, headline)));
    if has_flushes {
        let flushes = span_result.measured.as_ref().and_then(|measured| measured.flushes);
        let mean_ns = flushes.and_then(|flushes| flushes.latency).map(|latency| latency.mean_ns);
        let known = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        cells.push(known(flushes.map(|flushes| format!("{:.2}", flushes.per_s))));
        cells.push(known(mean_ns.map(|ns| format!("{:.3}", ms(ns)))));
    }
    if has_bands {
        let band = headline.mean_ns.map(stats::latency_band::LatencyBand::of);
        cells.push(band.map_or_else(|| "-".to_owned(), |band| band.words().to_owned()));
    }
}

/// Loads of one name share a row: reads, then writes, in MB (10^6 bytes) per second.
fn desktop(preset: &PresetRun, result: &RunResult) -> PlainTable {
    let mut rows: Vec<(&str, [Option<f64>; 2])> = Vec::new();
    for (name, span_result) in preset.loads.iter().zip(&result.time_spans) {
        let Some(headline) = stats::headline(span_result) else { continue };
        let at = rows.iter().position(|(row, _)| row == name).unwrap_or_else(|| {
            rows.push((name, [None; 2]));
            rows.len() - 1
        });
        rows[at].1[usize::from(headline.write_share > 0.5)] = Some(headline.bytes_per_s / 1e6);
    }
    let mut table = PlainTable::new(["", "read MB/s", "write MB/s"], 1..3);
    for (name, values) in rows {
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        table.add([name.to_owned(), shown(values[0]), shown(values[1])]);
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
