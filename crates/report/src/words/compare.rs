//! Two sets of results side by side.

use crate::block::dash;
use crate::numbers::change;
use crate::words::confidence::{self, WithoutInterval};
use crate::words::figure_words::name_of as figure_name;
use crate::words::time::utc;
use crate::words::waits;
use model::metric::{Metric, Scope, ScopedMetric};
use model::note::Note;
use model::result::{Measured, RunResult};
use serde::Serialize;
use serde_json::Value;
use stats::compare::{Basis, ComparisonVerdict, Difference, EQUAL_PERCENT};
use std::collections::BTreeSet;

/// Differences of requested settings that make two results those of different loads, each with its place.
pub fn load_differences(first: &RunResult, second: &RunResult) -> Vec<String> {
    let known = [first, second].map(known_settings);
    let is_known = |option: &str| known.iter().flatten().all(|known| known.iter().any(|known| known == option));
    let found = settings::difference::known_differences(&first.profile, &second.profile, &is_known);
    found.into_iter().filter(|found| found.is_load).map(|found| found.text).collect()
}

/// The options whose settings a result has, if it was imported and has only some.
pub(crate) fn known_settings(result: &RunResult) -> Option<&[String]> {
    result.time_spans.iter().flat_map(|span| &span.notes).find_map(|note| match note {
        Note::LoadInPart { known, .. } => Some(&known[..]),
        _ => None,
    })
}

/// The note that only a part of the loads was compared; `None` if all of it was.
pub fn compared_in_part(first: &[RunResult], second: &[RunResult]) -> Option<String> {
    let known: Vec<&[String]> = first.iter().chain(second).filter_map(known_settings).collect();
    let mut options: Vec<&str> = known.first()?.iter().map(String::as_str).collect();
    options.retain(|option| known.iter().all(|known| known.iter().any(|known| known == option)));
    Some(match options.len() {
        0 => "Loads not compared: a result has no settings of its load.".to_owned(),
        count => format!("Loads compared in part: by the {count} settings that all results have."),
    })
}

/// Differences of labels, machine and program: the place of each, and both values. A machine missing from an imported
/// result is no difference.
pub fn system_differences(first: &RunResult, second: &RunResult) -> Vec<[String; 3]> {
    let has_machine = [first, second].iter().all(|result| known_settings(result).is_none());
    let machine = if has_machine { differences("machine", &first.system, &second.system) } else { Vec::new() };
    let tool = differences("tool", &first.tool, &second.tool);
    labels(first, second).into_iter().chain(machine).chain(tool).collect()
}

/// Labels that differ: they name what was varied.
fn labels(first: &RunResult, second: &RunResult) -> Vec<[String; 3]> {
    let value = |run: &RunResult, key: &str| {
        let found = run.labels.iter().find(|(known, _)| known == key);
        found.map_or_else(dash, |(_, value)| value.clone())
    };
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in first.labels.iter().chain(&second.labels) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let both = keys.into_iter().map(|key| [format!("label {key}"), value(first, key), value(second, key)]);
    both.filter(|[_, a, b]| a != b).collect()
}

/// Each leaf that differs: its place, and both values.
fn differences(name: &str, first: &impl Serialize, second: &impl Serialize) -> Vec<[String; 3]> {
    let mut found = Vec::new();
    // Values read from or written to JSON have a JSON form; null if there is none.
    let value = |of: Result<Value, _>| of.unwrap_or_default();
    walk(name, &value(serde_json::to_value(first)), &value(serde_json::to_value(second)), &mut found);
    found
}

fn walk(place: &str, first: &Value, second: &Value, found: &mut Vec<[String; 3]>) {
    match (first, second) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))).collect();
            keys.sort();
            for key in keys {
                walk(
                    &format!("{place}.{key}"),
                    a.get(key).unwrap_or(&Value::Null),
                    b.get(key).unwrap_or(&Value::Null),
                    found,
                );
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                walk(&format!("{place}[{index}]"), a, b, found);
            }
        }
        (first, second) if first != second => {
            found.push([place.to_owned(), shown(first), shown(second)]);
        }
        _ => {}
    }
}

/// A value on one line; long ones are cut.
fn shown(value: &Value) -> String {
    const CHARACTERS_MAX: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Lines on the basis of the verdicts where a side has one run.
pub fn one_run(differences: &[Difference], first: &[RunResult], second: &[RunResult]) -> Vec<String> {
    let side = match (first.len(), second.len()) {
        (1, 1) => "one run a side",
        (1, _) => "one run on the first side",
        (_, 1) => "one run on the second side",
        _ => return Vec::new(),
    };
    let names = |basis| {
        let found = differences.iter().filter(|found| found.basis == basis);
        let names: Vec<String> = found.map(|found| figure_name((found.scope, found.figure))).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let apart = names(Basis::Course);
    let apart =
        apart.map(|names| format!("{side}: {names} differ by 3 times as much or more as they varied within a run"));
    let several = match names(Basis::OneRun) {
        Some(names) => format!("{side}: {names} may differ as much from run to run (use diskspd repeat on both sides)"),
        None => format!("{side}: runs often differ more from each other than within a run (use diskspd repeat)"),
    };
    apart.into_iter().chain([several]).collect()
}

/// The latency that the application waits for on the two sides, if that differs.
pub fn unlike_waits(first: &[RunResult], second: &[RunResult]) -> Option<String> {
    let [of_first, of_second] = [first, second].map(stats::compare::waited_for);
    waits::unlike([("the first", &of_first), ("the second", &of_second)])
}

/// The verdict of a figure that one side lacks.
pub const NOT_COMPARED: &str = "not compared";

/// The time of the runs of a side: `2026/11/26 02:10:25 UTC`, or the starts of the first and the last.
pub fn measured(runs: &[RunResult]) -> Option<String> {
    let (from, to) = stats::compare::starts(runs)?;
    match runs.len() {
        1 => Some(utc(from)),
        count => Some(format!("{} to {} (starts of {count} runs)", utc(from), utc(to))),
    }
}

/// The place of a value that differs from run to run.
pub const AVAILABLE_MEMORY: &str = "machine.memory.available_bytes";

/// The name of [`AVAILABLE_MEMORY`] in words.
pub const FREE_MEMORY: &str = "free memory";
/// The name of the random seed in words.
pub const SEED: &str = "random seed (-z)";
/// Values that rarely are the same in two runs of one load.
pub const VARYING: [&str; 2] = [FREE_MEMORY, SEED];

/// The sentence for sides whose results are equal but for some of [`VARYING`].
pub fn nothing_differs<'a>(varying: impl IntoIterator<Item = &'a str>) -> String {
    let names = varying.into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" and the ");
    let (what, other) = match names.as_str() {
        "" => ("nothing that the results record".to_owned(), ""),
        names => (format!("only the {names}"), "other "),
    };
    format!("{what}: load, {other}settings, machine and program are the same (--label notes what else was changed)")
}

/// The kind of averages of sides with several runs.
pub fn averages(differences: &[Difference], first: &[RunResult], second: &[RunResult]) -> Option<String> {
    let has_several = first.len() > 1 || second.len() > 1;
    let is_left_out = !stats::compare::left_out(first, second).is_empty();
    match (has_several && !differences.is_empty(), has_several && is_left_out) {
        (false, false) => None,
        (_, false) => Some("several runs of a side: geometric mean".to_owned()),
        (false, true) => Some(format!("several runs of a side: median ({NOT_COMPARED})")),
        (true, true) => Some(format!("several runs of a side: geometric mean; median where {NOT_COMPARED}")),
    }
}

/// The metrics without interval, and the reasons; metrics with the same reason share a line:
/// `no 95 % interval of IOPS, mean: samples are correlated over about 2 s`.
pub fn why_without_intervals(differences: &[Difference], sides: [(&str, &[RunResult]); 2]) -> Vec<String> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let without = differences.iter().filter(|found| found.interval.is_none());
    for figure in without.map(|found| (found.scope, found.figure)) {
        let reasons = sides.map(|(name, runs)| without_interval(figure, runs).map(|reason| (name, reason)));
        let [a, b] = reasons.map(|reason| reason.map(|(name, reason)| (name, reason.why())));
        let why = match (a, b) {
            (Some((_, a)), Some((_, b))) if a == b => a,
            (a, b) => {
                let of_side = |(name, reason): (&str, String)| format!("{name}: {reason}");
                a.into_iter().chain(b).map(of_side).collect::<Vec<_>>().join("; ")
            }
        };
        let name = figure_name(figure);
        match found.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => found.push((why, vec![name])),
        }
    }
    let words = |(why, names): (String, Vec<String>)| format!("no 95 % interval of {}: {why}", names.join(", "));
    found.into_iter().map(words).collect()
}

/// The reason why a side lacks an interval of a metric; `None` if it has one.
fn without_interval(figure: ScopedMetric, runs: &[RunResult]) -> Option<WithoutInterval> {
    if stats::compare::has_scatter(runs, figure) {
        return None;
    }
    let of_figure = || {
        let measured = first_measured(runs)?;
        let rank_ppb = match figure {
            (Scope::All, Metric::Max | Metric::Cpu | Metric::IoCpu) => return None,
            (Scope::All, metric) => metric.rank_ppb(),
            _ => return None,
        };
        confidence::without_interval(measured, rank_ppb, measured.total.total.ios)
    };
    of_figure().or(Some(WithoutInterval::Reason("a single run does not tell it")))
}

/// The compared figures of the first run of a side.
fn first_measured(runs: &[RunResult]) -> Option<&Measured> {
    runs.first()?.time_spans.first()?.measured.as_ref()
}

/// The metrics that are not compared, and the reason; `None` if all are.
pub fn incomplete([first, second]: [(&str, &[RunResult]); 2]) -> Option<String> {
    let left_out = stats::compare::left_out(first.1, second.1);
    if left_out.is_empty() {
        return None;
    }
    let stalled = without_ios([first, second]);
    let why = stalled.map_or_else(
        || "not all results have them".to_owned(),
        |stalled| format!("{stalled}; find out why, and measure again"),
    );
    Some(format!(
        "{NOT_COMPARED}: {}: {why}",
        left_out.into_iter().map(|(scope, of)| scope.label(of.heading())).collect::<Vec<_>>().join(", ")
    ))
}

/// The runs without completed I/Os: `a.json has no I/Os`; `None` if all have some.
pub fn without_ios(sides: [(&str, &[RunResult]); 2]) -> Option<String> {
    let of_side = |(name, runs): (&str, &[RunResult])| match (stats::compare::without_ios(runs), runs.len()) {
        (0, _) => None,
        (1, 1) => Some(format!("{name} has no I/Os")),
        (1, all) => Some(format!("1 of {all} runs of {name} has no I/Os")),
        (count, all) => Some(format!("{count} of {all} runs of {name} have no I/Os")),
    };
    let found: Vec<String> = sides.into_iter().filter_map(of_side).collect();
    (!found.is_empty()).then(|| found.join(", "))
}

/// Runs that are on both sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameRuns {
    /// All of them, so that nothing is compared.
    All {
        /// Runs of each side.
        runs: usize,
    },
    /// This number of runs.
    Some(usize),
}

impl SameRuns {
    /// `None` if each run is on one side.
    pub fn between(first: &[RunResult], second: &[RunResult]) -> Option<Self> {
        match stats::compare::on_both_sides(first, second) {
            0 => None,
            runs if runs == second.len() && runs == first.len() => Some(Self::All { runs }),
            runs => Some(Self::Some(runs)),
        }
    }

    /// The sentence for the user.
    pub fn words(self) -> String {
        match self {
            Self::All { runs: 1 } => "both sides are the same run".to_owned(),
            Self::All { .. } => "both sides are the same runs".to_owned(),
            Self::Some(runs) => format!("runs that are on both sides: {runs}; each run belongs to one side"),
        }
    }
}

/// The note that the results were measured one after the other.
pub fn drift(first: &[RunResult], second: &[RunResult]) -> Option<&'static str> {
    stats::compare::is_in_blocks(first, second)
        .then_some("measured one after the other: drift can look like a difference; use diskspd ab")
}

/// The verdict of metrics that are equal because both sides reached a limit of their own.
pub const LIMITED_BY_RATE: &str = "limited by their rate";

/// A verdict in words.
pub fn word(verdict: ComparisonVerdict) -> String {
    match verdict {
        ComparisonVerdict::Better => "better".to_owned(),
        ComparisonVerdict::Worse => "worse".to_owned(),
        ComparisonVerdict::NoDifference => equivalent(EQUAL_PERCENT),
        ComparisonVerdict::LimitedByRate => LIMITED_BY_RATE.to_owned(),
        ComparisonVerdict::CannotTell => "cannot tell".to_owned(),
    }
}

/// The tested hypothesis: the whole interval lies within the margin.
pub fn equivalent(margin_percent: f64) -> String {
    format!("equivalent within {margin_percent} %")
}

/// An end of an interval; beyond 1000 % the exact value means nothing.
pub fn end(percent: f64) -> String {
    const WIDE_PERCENT: f64 = 1000.0;
    match percent {
        wide if wide >= WIDE_PERCENT => format!("above +{WIDE_PERCENT} %"),
        wide if wide <= -WIDE_PERCENT => format!("below -{WIDE_PERCENT} %"),
        percent => change(percent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::{Directions, Figures};
    use model::result::{Measured, TimeSpanResult};
    use model::units::UnixTime;

    fn run(iops: f64, second: i128, label: &str) -> RunResult {
        let total = Directions { total: Figures { iops, ..Figures::default() }, ..Directions::default() };
        let measured = Measured { total, ..Measured::default() };
        RunResult {
            time_spans: vec![TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() }],
            started_at: UnixTime(second * 1_000_000_000),
            labels: vec![("scheduler".to_owned(), label.to_owned())],
            ..RunResult::default()
        }
    }

    /// A page stated "one result has no I/Os" and showed only the CPU usage.
    #[test]
    fn the_side_without_ios_is_named() {
        let (none, some) = ([run(0.0, 1, "none")], [run(5.0, 2, "none"), run(0.0, 3, "none")]);
        let sides: [(&str, &[RunResult]); 2] = [("a.json", &none), ("b", &some)];
        assert_eq!(without_ios(sides).as_deref(), Some("a.json has no I/Os, 1 of 2 runs of b has no I/Os"));
        assert_eq!(without_ios([sides[0]; 2].map(|_| ("c", &some[..1]))), None);
        let words = incomplete([("a.json", &none[..]), ("b", &some[..1])]).expect("IOPS are left out");
        assert_eq!(words, "not compared: IOPS: a.json has no I/Os; find out why, and measure again");
    }
}
