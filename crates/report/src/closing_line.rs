//! The outcome of a run, as the last line of its report.

use crate::numbers::{grouped, ms, significant_grouped};
use crate::words::load_line;
use model::finding::{Finding, Severity};
use model::headline::Headline;
use model::metric::{Metric, MetricName, Scope};
use model::profile::TimeSpan;
use model::result::{RunResult, TimeSpanResult};
use model::units::mib;
use std::collections::BTreeSet;

/// Findings that are named; the others are counted.
const NAMES_MAX: usize = 3;

/// `8 KiB random 70/30 read/write, QD 16: 43,253 IOPS, 338 MiB/s, mean 0.370 ms, p99 1.201 ms; WARN steal`; `None` if
/// nothing was measured.
pub fn closing_line(result: &RunResult) -> Option<String> {
    let mut lines = (0..result.time_spans.len()).filter_map(|index| of_time_span(result, index));
    let first = lines.next()?;
    match lines.count() {
        0 => Some(first),
        // Different loads have no figure in common.
        others => Some(format!("{} timespans measured; {}", others + 1, verdict(&result.time_spans))),
    }
}

/// The same of one timespan, by its index.
pub fn of_time_span(result: &RunResult, index: usize) -> Option<String> {
    let span_result = result.time_spans.get(index)?;
    let headline = stats::headline(span_result)?;
    let figures = figures(&headline, result.profile.time_spans.get(index), span_result);
    let verdict = verdict(std::slice::from_ref(span_result));
    Some(format!("{}: {figures}; {verdict}", load_line::short(result, index)))
}

/// `WARN steal`, `sound`
fn verdict(span_results: &[TimeSpanResult]) -> String {
    let findings: Vec<&Finding> = span_results.iter().flat_map(TimeSpanResult::findings).collect();
    let names = |severity: Severity| {
        let found = findings.iter().filter(|finding| finding.severity == severity);
        let names: BTreeSet<&str> = found.map(|finding| name(finding)).collect();
        (!names.is_empty()).then(|| format!("{severity} {}", listed(&names)))
    };
    let told: Vec<String> = Severity::ALL.into_iter().filter(|of| is_told(*of)).filter_map(names).collect();
    if !told.is_empty() {
        return told.join(", ");
    }
    let is_judged = span_results.iter().any(|span_result| span_result.verdict.is_some());
    match (is_judged, names(Severity::Note)) {
        (false, _) => "not judged".to_owned(),
        (true, Some(_)) => "valid".to_owned(),
        (true, None) => "sound".to_owned(),
    }
}

/// An unknown outcome matters as much as a bad one.
fn is_told(severity: Severity) -> bool {
    severity == Severity::Unknown || severity > Severity::Note
}

/// The rule, or the requirement as it was typed.
pub fn name(finding: &Finding) -> &str {
    if finding.source == model::finding::Source::Requirement { &finding.subject } else { &finding.name }
}

fn listed(names: &BTreeSet<&str>) -> String {
    let mut shown: Vec<String> = names.iter().take(NAMES_MAX).map(|name| (*name).to_owned()).collect();
    if names.len() > NAMES_MAX {
        shown.push(format!("{} more", names.len() - NAMES_MAX));
    }
    shown.join(", ")
}

/// Latencies are those that the application waits for, qualified if the tables have others.
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
    let mut parts = vec![
        format!("{} IOPS", grouped(headline.iops)),
        format!("{} MiB/s", significant_grouped(mib(headline.bytes_per_s))),
    ];
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
        let figures =
            |result: &RunResult| closing_line(result).and_then(|line| Some(line.split_once(": ")?.1.to_owned()));
        assert_eq!(
            figures(&result).as_deref(),
            Some(
                "60 IOPS, 0 MiB/s, mean (commit) 148.000 ms, p99 (commit) 160.000 ms, p99 (write) 0.020 ms; not judged"
            )
        );
        result.profile.time_spans[0].fsync_after_writes = None;
        assert_eq!(figures(&result).as_deref(), Some("60 IOPS, 0 MiB/s, mean 0.012 ms; not judged"));
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
