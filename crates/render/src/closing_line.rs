//! What came out of a run, on a line for its end on a terminal.

use crate::load_line;
use crate::numbers::ms;
use model::finding::{Finding, Severity};
use model::headline::Headline;
use model::metric::{Metric, MetricName, Scope};
use model::profile::TimeSpan;
use model::result::{RunResult, TimeSpanResult};
use model::units::mib;
use std::collections::BTreeSet;

/// Findings that are named; the others are counted.
const NAMES_MAX: usize = 3;

/// The line in the parts that are coloured apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosingLine {
    /// `43253 IOPS, 337.91 MiB/s, mean 0.370 ms, p99 1.201 ms`
    pub figures: String,
    /// The gravest finding above a note.
    pub severity: Option<Severity>,
    /// `sound`, `valid, notes: ` with their names, or the severity and the names of what was found.
    pub verdict: String,
    /// The load.
    pub load: String,
}

/// The line of a result; nothing if nothing was measured.
pub fn closing_line(result: &RunResult) -> Option<ClosingLine> {
    let measured = result.time_spans.iter().enumerate();
    let measured: Vec<(usize, Headline)> =
        measured.filter_map(|(index, span)| Some((index, stats::headline(span)?))).collect();
    let figures = match &measured[..] {
        [] => return None,
        [(index, only)] => figures(only, result.profile.time_spans.get(*index), &result.time_spans[*index]),
        // Loads that differ have no figure in common.
        several => format!("{} timespans measured", several.len()),
    };
    let findings: Vec<&Finding> = result.time_spans.iter().flat_map(TimeSpanResult::findings).collect();
    let found = findings.iter().filter(|finding| is_told(finding.severity));
    let severity = found.clone().map(|finding| finding.severity).max();
    let names: BTreeSet<&str> = found.map(|finding| name(finding)).collect();
    let is_judged = result.time_spans.iter().any(|span_result| span_result.verdict.is_some());
    let notes = findings.iter().filter(|finding| finding.severity == Severity::Note);
    let notes: BTreeSet<&str> = notes.map(|finding| name(finding)).collect();
    let verdict = match severity {
        Some(severity) => format!("{severity} {}", listed(&names)),
        None if is_judged && notes.is_empty() => "sound".to_owned(),
        None if is_judged => format!("valid, notes: {}", listed(&notes)),
        None => "not judged".to_owned(),
    };
    Some(ClosingLine { figures, severity, verdict, load: load_line::of_result(result) })
}

/// What cannot be told matters as much as what is wrong.
fn is_told(severity: Severity) -> bool {
    severity == Severity::Unknown || severity > Severity::Note
}

/// The rule, or the requirement as it was typed.
fn name(finding: &Finding) -> &str {
    if finding.source == model::finding::Source::Requirement { &finding.subject } else { &finding.name }
}

fn listed(names: &BTreeSet<&str>) -> String {
    let mut shown: Vec<String> = names.iter().take(NAMES_MAX).map(|name| (*name).to_owned()).collect();
    if names.len() > NAMES_MAX {
        shown.push(format!("{} more", names.len() - NAMES_MAX));
    }
    shown.join(", ")
}

/// Latencies are those that the application waits for. If these are not those of the tables, both say which they are.
fn figures(headline: &Headline, span: Option<&TimeSpan>, span_result: &TimeSpanResult) -> String {
    let waited_for = span.map_or_else(|| vec![Scope::All], Scope::waited_for);
    // Flushes are in no table of writes.
    let of_tables = if span.is_some_and(|span| span.flushes().is_some()) { Scope::Write } else { Scope::All };
    let latency = |scope, metric: Metric| {
        let name = MetricName { stream: None, scope, metric };
        let label = if scope == Scope::All && waited_for != [Scope::All] {
            format!("{} (service)", metric.name())
        } else {
            name.shown()
        };
        stats::metrics::value(&name, span_result).map(|ns| format!("{label} {:.3} ms", ms(ns)))
    };
    let mut parts = vec![format!("{:.0} IOPS", headline.iops), format!("{:.2} MiB/s", mib(headline.bytes_per_s))];
    for scope in &waited_for {
        parts.extend([Metric::Mean, Metric::P99].into_iter().filter_map(|metric| latency(*scope, metric)));
    }
    if !waited_for.contains(&of_tables) {
        parts.extend(latency(of_tables, Metric::P99));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::{
        CommitFigures, Directions, Figures, FlushFigures, LatencyDistribution, LatencyFigures, Percentile,
    };
    use model::finding::Source;
    use model::profile::{Profile, Target};
    use model::result::Measured;

    fn finding(name: &str, severity: Severity) -> Finding {
        Finding {
            name: name.to_owned(),
            severity,
            subject: "iops>5".to_owned(),
            figure: String::new(),
            value: None,
            advice: String::new(),
            basis: String::new(),
            source: if severity == Severity::Unknown { Source::Requirement } else { Source::Verdict },
        }
    }

    #[test]
    fn findings_are_named_up_to_a_number() {
        let names = |names: &[&'static str]| listed(&names.iter().copied().collect());
        assert_eq!(names(&["steal"]), "steal");
        assert_eq!(names(&["e", "d", "c", "b", "a"]), "a, b, c, 2 more");
    }

    #[test]
    fn latencies_are_what_the_application_waits_for_and_say_so() {
        let latency = |mean_ns| Some(LatencyFigures { mean_ns, ..LatencyFigures::default() });
        let of_writes = Figures { iops: 60.0, latency: latency(12e3), ..Figures::default() };
        let commit = CommitFigures { mean_ns: 148e6, p50_ns: 0, p99_ns: 160_000_000, max_ns: 0 };
        let measured = Measured {
            total: Directions { write: of_writes, total: of_writes, ..Directions::default() },
            total_latency: Some(Directions {
                write: Some(LatencyDistribution {
                    percentiles: vec![Percentile { rank_ppb: 990_000_000, value_ns: 20_000 }],
                    ..LatencyDistribution::default()
                }),
                ..Directions::default()
            }),
            flushes: Some(FlushFigures { after_writes: 1, commit: Some(commit), ..FlushFigures::default() }),
            ..Measured::default()
        };
        let mut target = Target::new("a");
        target.write_percent = 100;
        let span = TimeSpan { targets: vec![target], fsync_after_writes: Some(1), ..TimeSpan::default() };
        let mut result = RunResult {
            profile: Profile { time_spans: vec![span], ..Profile::default() },
            time_spans: vec![TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() }],
            ..RunResult::default()
        };
        let figures = |result: &RunResult| closing_line(result).map(|line| line.figures);
        assert_eq!(
            figures(&result).as_deref(),
            Some("60 IOPS, 0.00 MiB/s, mean (commit) 148.000 ms, p99 (commit) 160.000 ms, p99 (write) 0.020 ms")
        );
        result.profile.time_spans[0].fsync_after_writes = None;
        assert_eq!(figures(&result).as_deref(), Some("60 IOPS, 0.00 MiB/s, mean 0.012 ms"));
    }

    #[test]
    fn a_line_needs_figures() {
        let result = RunResult { time_spans: vec![TimeSpanResult::default()], ..RunResult::default() };
        assert_eq!(closing_line(&result), None);
    }

    #[test]
    fn requirements_are_named_as_typed_and_notes_are_not_told() {
        assert_eq!(name(&finding("require", Severity::Unknown)), "iops>5");
        assert_eq!(name(&finding("steal", Severity::Warn)), "steal");
        let told = Severity::ALL.into_iter().filter(|severity| is_told(*severity));
        assert_eq!(told.collect::<Vec<_>>(), [Severity::Invalid, Severity::Fail, Severity::Warn, Severity::Unknown]);
    }
}
