//! The answer of a gate in words; the table of a history.

use crate::block::{Column, Table, dash};
use crate::numbers::{self, latency};
use crate::words::figure_words::shown_figure;
use crate::words::time::utc;
use model::gate::{GateEntry, GateOutcome};
use model::metric::{Metric, MetricName, MetricUnit};
use model::units::counted;
use stats::gate::{Change, EARLIER_MIN, GateVerdict, Judgement};
use std::collections::BTreeSet;

/// The findings of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The answer.
    pub outcome: GateOutcome,
    /// Its basis, in a sentence.
    pub reason: String,
    /// The metrics; none if they were not judged.
    pub changes: Vec<Change>,
}

impl Answer {
    /// An answer without figures.
    pub fn cannot_tell(reason: &str) -> Self {
        Self { outcome: GateOutcome::CannotTell, reason: reason.to_owned(), changes: Vec::new() }
    }

    /// The answer for `--before-a` and `--before-b`, whose table was printed.
    pub fn of_pairs(outcome: GateOutcome) -> Self {
        let reason = match outcome {
            GateOutcome::Pass => "B is not worse than A",
            GateOutcome::Fail => "B is worse than A",
            GateOutcome::CannotTell => "more pairs of runs are needed",
        };
        Self { outcome, reason: reason.to_owned(), changes: Vec::new() }
    }
}

/// The answer from a judgement; `own` are the runs of this gate.
pub fn answer(judgement: &Judgement, earlier: &[GateEntry], own: &[GateEntry]) -> Answer {
    let changed = |is_meant: fn(&Change) -> bool| {
        let meant = judgement.changes.iter().filter(|change| is_meant(change));
        meant
            .map(|change| format!("{} {}", change.figure.shown(), numbers::change(change.percent)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let runs = counted(earlier.len(), "earlier run");
    let (outcome, reason) = match &judgement.verdict {
        GateVerdict::NotEnough => {
            let recorded = earlier.len() + own.len();
            let missing = match EARLIER_MIN.saturating_sub(recorded) {
                0 => "the next run is judged".to_owned(),
                count => format!("{} more needed", counted(count, "result")),
            };
            (GateOutcome::CannotTell, format!("recorded, {recorded} of {EARLIER_MIN}; {missing}"))
        }
        GateVerdict::NotWorse => {
            let better = changed(|change| change.is_better);
            let note = if better.is_empty() { String::new() } else { format!("; better: {better}") };
            (GateOutcome::Pass, format!("not worse than {runs} ({}){note}", changed(|_| true)))
        }
        GateVerdict::Worse => {
            let since = judgement.changes.iter().filter(|change| change.is_worse).filter_map(|change| change.since);
            let first = since.min().and_then(|place| Some((place, earlier.iter().chain(own).nth(place)?)));
            let since = match first {
                Some((place, entry)) if place < earlier.len() => format!(" since {}", utc(entry.at_unix_ns)),
                _ => String::new(),
            };
            (GateOutcome::Fail, format!("{}{since}, against {runs}", changed(|change| change.is_worse)))
        }
        GateVerdict::CannotTell { runs: more } => {
            let remedy = match more {
                Some(more) => format!("about {} would decide (--runs)", counted(*more as usize, "run")),
                None => "the runs vary too much; use longer runs (-d)".to_owned(),
            };
            (GateOutcome::CannotTell, format!("may be worse than {runs} ({}); {remedy}", changed(|_| true)))
        }
    };
    Answer { outcome, reason, changes: judgement.changes.clone() }
}

/// The metrics of an answer; `None` if none were judged.
pub fn table(answer: &Answer) -> Option<Table> {
    let numbers = ["EARLIER", "NOW", "CHANGE"].map(Column::number);
    let columns = std::iter::once(Column::text("")).chain(numbers).chain([Column::text("")]);
    let rows: Vec<Vec<String>> = answer.changes.iter().map(|change| cells(change).into()).collect();
    (!rows.is_empty()).then(|| Table { rows, ..Table::with_columns(columns) })
}

/// A row of the table of a gate.
pub fn cells(change: &Change) -> [String; 5] {
    let unit = change.figure.metric.unit();
    let shown = |value: f64| match unit {
        MetricUnit::Nanoseconds => latency(value),
        _ => unit.shown((value * 10.0).round() / 10.0),
    };
    let verdict = match change {
        Change { is_worse: true, .. } => "worse",
        Change { is_better: true, .. } => "better",
        _ => "",
    };
    let percent = numbers::change(change.percent);
    [change.figure.shown(), shown(change.reference), shown(change.now), percent, verdict.to_owned()]
}

/// Runs that can be compared, the oldest first.
#[derive(Clone, Debug)]
pub struct History<'a> {
    /// The runs.
    pub runs: Vec<&'a GateEntry>,
    /// Indices of the runs that a new level begins with.
    pub levels: Vec<usize>,
}

/// The metrics of the table and the charts of a history: those of IOPS, mean and 99th percentile that its runs have.
pub fn shown_metrics(runs: &[&GateEntry]) -> Vec<MetricName> {
    let wanted = [Metric::Iops, Metric::Mean, Metric::P99];
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.metrics.keys()).collect();
    let parsed = names.into_iter().filter_map(|name| MetricName::parse(name).ok());
    let mut names: Vec<MetricName> = parsed
        .filter(|name| name.stream.is_none() && wanted.contains(&name.metric))
        .filter(|name| name.metric.needs_latency() || *name == MetricName::bare(name.metric))
        .collect();
    names.sort_by_key(|name| (name.metric, name.scope));
    names
}

/// A row for each run; `*` marks the first of a new level.
pub fn history(History { runs, levels }: &History<'_>) -> Table {
    let names = shown_metrics(runs);
    // Latencies of single parts come last, and are dropped first.
    let metric = |(index, name): (usize, &MetricName)| Column {
        spare: (index > 0).then(|| names.len() - index),
        ..Column::number(&name.scope.label(name.metric.heading()))
    };
    let words = ["", "TIME", "LABEL", "VERDICT", "GATE"].into_iter().enumerate();
    let words = words.map(|(index, name)| if index == 0 { Column::text(name) } else { Column::words(name) });
    let row = |(place, run): (usize, &&GateEntry)| {
        let mark = if levels.contains(&place) { "*" } else { "" };
        let labels = run.labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
        let verdict = run.verdict.clone().unwrap_or_default();
        let gate = run.gate.map_or("", GateOutcome::word).to_owned();
        let value = |name: &MetricName| run.value(name).map_or_else(dash, |value| shown_figure(name.metric, value, 3));
        let start = [mark.to_owned(), utc(run.at_unix_ns), labels, verdict, gate];
        start.into_iter().chain(names.iter().map(value)).collect()
    };
    let columns = words.chain(names.iter().enumerate().map(metric)).collect();
    Table { label: "Runs", columns, rows: runs.iter().enumerate().map(row).collect(), ..Table::default() }
}
