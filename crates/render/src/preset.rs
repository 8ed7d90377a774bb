//! The loads of a preset: their table, and what makes its figures doubtful.

use crate::acceptance;
use crate::prose::in_lines;
use model::doubt::NotedRuns;
use model::finding::{Finding, Severity, Source};
use model::headline::Headline;
use model::preset::PresetRun;
use model::result::RunResult;
use report::words::preset::{about_commits, band_finding, busy_cpus, loads};
use std::io::{self, Write};

/// The table of the run's preset, and what makes its figures doubtful; nothing of a run without one.
pub fn table(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let Some(preset) = &result.preset else { return Ok(()) };
    writeln!(out, "{}", preset.title)?;
    judged(preset, result, out)?;
    writeln!(out)?;
    if let Some((table, _)) = loads(result) {
        table.write(out)?;
    }
    in_lines(out, |out| findings(preset, result, out))?;
    if preset.is_acceptance { acceptance::block(preset, result, out) } else { Ok(()) }
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
    writeln!(out, "Judged: {}", parts.collect::<Vec<_>>().join(", "))
}

/// What the verdicts say that is graver than a note, and requirements that are not known to be met, each with the loads
/// that it was found in.
fn findings(preset: &PresetRun, result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let mut found: Vec<(&Finding, Vec<&str>)> = Vec::new();
    for (name, span_result) in preset.loads.iter().zip(&result.time_spans) {
        let is_shown = |finding: &&Finding| match finding.source {
            // Those of an acceptance are all listed below.
            Source::Requirement => finding.severity != Severity::Pass && !preset.is_acceptance,
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
    let headlines: Vec<Headline> = result.time_spans.iter().filter_map(stats::headline).collect();
    let noted = NotedRuns::of(&headlines).map(|noted| noted.to_string());
    let sentences: Vec<String> = noted.into_iter().chain(busy_cpus(&headlines)).chain(about_commits(result)).collect();
    if !sentences.is_empty() {
        writeln!(out)?;
    }
    sentences.iter().try_for_each(|sentence| writeln!(out, "{sentence}"))
}

/// The name of a rule, or the requirement.
fn shown_name(finding: &Finding) -> &str {
    if finding.source == Source::Requirement { &finding.subject } else { &finding.name }
}
