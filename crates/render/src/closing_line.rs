//! What came out of a run, on a line for its end on a terminal.

use crate::load_line;
use crate::numbers::ms;
use model::finding::{Finding, Severity};
use model::headline::Headline;
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
    let headlines: Vec<Headline> = result.time_spans.iter().filter_map(stats::headline).collect();
    let figures = match &headlines[..] {
        [] => return None,
        [only] => figures(only),
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

fn figures(headline: &Headline) -> String {
    let latency = |name: &str, ns: Option<f64>| ns.map(|ns| format!("{name} {:.3} ms", ms(ns)));
    let parts = [
        Some(format!("{:.0} IOPS", headline.iops)),
        Some(format!("{:.2} MiB/s", mib(headline.bytes_per_s))),
        latency("mean", headline.mean_ns),
        latency("p99", headline.p99_ns.map(|ns| ns as f64)),
        latency("p99 response", headline.response_p99_ns.map(|ns| ns as f64)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::finding::Source;

    fn finding(name: &str, severity: Severity) -> Finding {
        Finding {
            name: name.to_owned(),
            severity,
            subject: "iops>5".to_owned(),
            figure: String::new(),
            value: None,
            advice: String::new(),
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
