//! The index of a folder of results that a gate compares new runs with.

use crate::metric::MetricName;
use crate::units::UnixTime;
use crate::verdict::Level;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The mark of a line of an index, and its version.
pub const GATE_SCHEMA: &str = "diskspd-gate/1";

/// A line of the index: a result, or the acceptance of a new level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GateEntry {
    /// [`GATE_SCHEMA`].
    pub schema: String,
    /// The name of the result's file in the folder; `None` for an acceptance.
    pub file: Option<String>,
    /// When the run began, or the level was accepted, in nanoseconds since 1970-01-01 00:00:00 UTC.
    pub at_unix_ns: UnixTime,
    /// `--label`: name and value.
    #[serde(default)]
    pub labels: Vec<(String, String)>,
    /// Properties that runs must share to be compared: the name of each, and its value.
    pub fingerprint: BTreeMap<String, String>,
    /// How far the figures can be trusted: a [`Level`] by its name; `None` = it was not judged.
    pub verdict: Option<String>,
    /// The answer of the gate; `None` if it is not known: the line was made from a result alone.
    pub gate: Option<GateOutcome>,
    /// Metrics by full name, in the units of docs/metrics.md.
    #[serde(default)]
    pub metrics: BTreeMap<String, f64>,
    /// `--accept`: why the level of this run is the reference; of an acceptance, why the history begins behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
}

/// The answer of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// Not worse than the history.
    Pass,
    /// Worse.
    Fail,
    /// Not decided.
    CannotTell,
}

impl GateOutcome {
    /// As it is printed.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::CannotTell => "CANNOT TELL",
        }
    }
}

impl GateEntry {
    /// True if the figures of the run cannot be used.
    pub fn is_invalid(&self) -> bool {
        self.verdict.as_deref() == Some(Level::Invalid.word())
    }

    /// Value of a metric by its full name; `None` if it was not measured or is 0.
    pub fn value(&self, name: &MetricName) -> Option<f64> {
        self.metrics.get(&name.to_string()).copied().filter(|value| value.is_finite() && *value > 0.0)
    }
}

/// The runs that others of this fingerprint are compared with: those behind the last acceptance that are neither INVALID
/// nor judged worse, unless they were accepted. Their order counts, not their times: clocks are set back.
pub fn history_of<'a>(entries: &'a [GateEntry], fingerprint: &BTreeMap<String, String>) -> Vec<&'a GateEntry> {
    let same: Vec<&GateEntry> = entries.iter().filter(|entry| entry.fingerprint == *fingerprint).collect();
    let first = same.iter().rposition(|entry| entry.file.is_none()).map_or(0, |acceptance| acceptance + 1);
    let is_worse = |entry: &GateEntry| entry.gate == Some(GateOutcome::Fail) && entry.accepted.is_none();
    same[first..].iter().copied().filter(|entry| !entry.is_invalid() && !is_worse(entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_are_worse_are_no_history_until_they_are_accepted() {
        let run = |at: i128, gate: Option<GateOutcome>| GateEntry {
            file: Some(at.to_string()),
            at_unix_ns: UnixTime(at),
            gate,
            ..GateEntry::default()
        };
        let invalid = GateEntry { verdict: Some(Level::Invalid.word().to_owned()), ..run(3, None) };
        let mut entries = vec![run(1, None), run(2, Some(GateOutcome::Pass)), invalid, run(4, Some(GateOutcome::Fail))];
        let names = |entries: &[GateEntry]| {
            history_of(entries, &BTreeMap::new()).into_iter().filter_map(|of| of.file.clone()).collect::<String>()
        };
        assert_eq!(names(&entries), "12");
        entries[3].accepted = Some("new disk".to_owned());
        entries.insert(3, GateEntry { accepted: entries[3].accepted.clone(), ..GateEntry::default() });
        entries.extend([run(5, Some(GateOutcome::Pass)), run(6, Some(GateOutcome::Fail))]);
        assert_eq!(names(&entries), "45");
    }
}
