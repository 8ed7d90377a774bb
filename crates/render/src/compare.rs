//! Two sets of results beside each other.

use crate::figure_words::{label, shown_figure};
use crate::load_line;
use crate::plain_table::PlainTable;
use model::finding::Severity;
use model::result::RunResult;
use serde::Serialize;
use serde_json::Value;
use stats::compare::{ComparisonVerdict, Difference, EQUAL_PERCENT};
use std::io::{self, Write};

/// What is not the same in two results, with the place of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unlike {
    /// Differences of what was asked for that make it another load.
    pub load: Vec<String>,
    /// Everything else: names, lengths, the machine, the program.
    pub other: Vec<String>,
}

/// Compares what was asked for, where, and with what.
pub fn unlike(first: &RunResult, second: &RunResult) -> Unlike {
    let mut unlike = Unlike::default();
    for settings::difference::Difference { text, is_load } in
        settings::difference::differences(&first.profile, &second.profile)
    {
        if is_load { unlike.load.push(text) } else { unlike.other.push(text) }
    }
    let elsewhere = system_differences(first, second);
    unlike.other.extend(elsewhere.into_iter().map(|[place, first, second]| format!("{place}: {first}, {second}")));
    unlike
}

/// What differs of machine and program: the place of each, and both values.
pub fn system_differences(first: &RunResult, second: &RunResult) -> Vec<[String; 3]> {
    let machine = differences("machine", &first.system, &second.system);
    machine.into_iter().chain(differences("tool", &first.tool, &second.tool)).collect()
}

/// Each leaf that differs: its place, and both values.
fn differences(name: &str, first: &impl Serialize, second: &impl Serialize) -> Vec<[String; 3]> {
    let mut found = Vec::new();
    // What was read from JSON, or is written to it, has a JSON form; null where there is none.
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

/// The table, and what differs.
pub fn text(
    differences: &[Difference],
    (first, second): (&[RunResult], &[RunResult]),
    unlike: &Unlike,
    out: &mut dyn Write,
) -> io::Result<()> {
    for line in load_line::of_sides([("first", first.first()), ("second", second.first())].into_iter()) {
        writeln!(out, "load: {line}")?;
    }
    writeln!(out)?;
    let mut table = PlainTable::new(["", "first", "second", "change", "95 % interval", "verdict"], 1..5);
    for found in differences {
        let interval = found.interval.map_or("-".to_owned(), |(low, high)| format!("{} to {}", end(low), end(high)));
        table.add([
            label(found.figure).to_owned(),
            shown_figure(found.figure, found.first, 3),
            shown_figure(found.figure, found.second, 3),
            format!("{:+.1} %", found.percent),
            interval,
            word(found.verdict),
        ]);
    }
    table.write(out)?;
    for caution in cautions(first, second) {
        writeln!(out, "\n{caution}")?;
    }
    if first.len() == 1 || second.len() == 1 {
        writeln!(
            out,
            "\na single run shows only the variation within that run; runs often differ more from each other (use \
             diskspd repeat)"
        )?;
    }
    for (heading, lines) in [("\nthe loads differ:", &unlike.load), ("\nother differences:", &unlike.other)] {
        if !lines.is_empty() {
            writeln!(out, "{heading}")?;
        }
        for line in lines {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

/// What a difference may be due to: the verdicts of the results, or that they were measured one after the other.
pub fn cautions(first: &[RunResult], second: &[RunResult]) -> Vec<String> {
    let same = SameRuns::of(first, second).map(SameRuns::words);
    let incomplete = incomplete(first, second);
    same.into_iter()
        .chain(incomplete)
        .chain(verdicts(first, second))
        .chain(drift(first, second).map(str::to_owned))
        .collect()
}

/// Which figures are not compared, and why; `None` if all are.
pub fn incomplete(first: &[RunResult], second: &[RunResult]) -> Option<String> {
    let left_out: Vec<&str> = stats::compare::left_out(first, second).into_iter().map(label).collect();
    if left_out.is_empty() {
        return None;
    }
    let stalled = stats::compare::without_ios(first) + stats::compare::without_ios(second);
    let why = match stalled {
        0 => "not all results have them".to_owned(),
        1 => "one result has no I/Os; find out why, and measure it again".to_owned(),
        stalled => format!("{stalled} results have no I/Os; find out why, and measure them again"),
    };
    Some(format!("not compared: {}: {why}", left_out.join(", ")))
}

/// Runs that are on both sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameRuns {
    /// All of them, so that nothing is compared.
    All {
        /// How many each side has.
        runs: usize,
    },
    /// So many.
    Some(usize),
}

impl SameRuns {
    /// `None` if each run is on one side.
    pub fn of(first: &[RunResult], second: &[RunResult]) -> Option<Self> {
        match stats::compare::on_both_sides(first, second) {
            0 => None,
            runs if runs == second.len() && runs == first.len() => Some(Self::All { runs }),
            runs => Some(Self::Some(runs)),
        }
    }

    /// What it says to who compares them.
    pub fn words(self) -> String {
        match self {
            Self::All { runs: 1 } => "both sides are the same run".to_owned(),
            Self::All { .. } => "both sides are the same runs".to_owned(),
            Self::Some(runs) => format!("runs that are on both sides: {runs}; each run belongs to one side"),
        }
    }
}

/// That the results were measured one after the other.
pub fn drift(first: &[RunResult], second: &[RunResult]) -> Option<&'static str> {
    stats::compare::is_in_blocks(first, second)
        .then_some("measured one after the other: drift looks like a difference; use diskspd ab")
}

/// The worst verdicts of the results, if they are worse than a note.
fn verdicts(first: &[RunResult], second: &[RunResult]) -> Option<String> {
    let of = |name: &str, runs: &[RunResult]| {
        let severities = runs
            .iter()
            .flat_map(|run| &run.time_spans)
            .filter_map(|span_result| span_result.verdict.as_ref()?.severity());
        let (worst, count) = Severity::worst_above_note(severities)?;
        Some(format!("{} in {count} of {} results of the {name}", worst.word(), runs.len()))
    };
    let found: Vec<String> = [of("first", first), of("second", second)].into_iter().flatten().collect();
    (!found.is_empty()).then(|| format!("verdict of the results compared: {}", found.join(", ")))
}

/// How well several drives do beside one.
pub fn scaling(one: &RunResult, many: &RunResult, drives: u32, out: &mut dyn Write) -> io::Result<()> {
    for found in stats::compare::compare(std::slice::from_ref(one), std::slice::from_ref(many)) {
        if !found.figure.is_more_better() {
            continue;
        }
        let (one, many) = (shown_figure(found.figure, found.first, 3), shown_figure(found.figure, found.second, 3));
        let percent = stats::compare::scaling_percent(&found, drives);
        writeln!(
            out,
            "{}: {many} on {drives} drives, {one} on one drive: {percent:.1} % of linear scaling to {drives} drives",
            label(found.figure)
        )?;
    }
    Ok(())
}

/// A verdict in words.
pub fn word(verdict: ComparisonVerdict) -> String {
    match verdict {
        ComparisonVerdict::Better => "better".to_owned(),
        ComparisonVerdict::Worse => "worse".to_owned(),
        ComparisonVerdict::NoDifference => equivalent(EQUAL_PERCENT),
        ComparisonVerdict::CannotTell => "cannot tell".to_owned(),
    }
}

/// What was tested: the whole interval lies within the margin.
pub fn equivalent(margin_percent: f64) -> String {
    format!("equivalent within {margin_percent} %")
}

/// An end of an interval; so wide a one says nothing, however wide it is.
pub(crate) fn end(percent: f64) -> String {
    const WIDE_PERCENT: f64 = 1000.0;
    match percent {
        wide if wide >= WIDE_PERCENT => format!("above +{WIDE_PERCENT} %"),
        wide if wide <= -WIDE_PERCENT => format!("below -{WIDE_PERCENT} %"),
        percent => format!("{percent:+.1} %"),
    }
}
