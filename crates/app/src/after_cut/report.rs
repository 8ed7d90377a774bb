//! Findings after a cut, as text and JSON.

use super::logs::Logs;
use super::lost_unit::{DurableChange, Loss, LostUnit};
use super::read::{Progress, Read, Target};
use crate::target_reading::{OTHER_TARGET, OTHER_TARGET_OUTCOME, THROUGH_CACHE};
use model::corruption::CorruptionClass as Class;
use model::units::{Bytes, counted};
use model::verification::Outcome;
use render::document::VERIFY_SCHEMA;
use report::{Report, VerifiedTarget};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The whole report.
#[derive(Debug, Serialize)]
pub(super) struct AfterCutReport {
    schema: &'static str,
    experimental: bool,
    pub(super) outcome: Outcome,
    /// Number of the run in hexadecimal.
    run: String,
    /// Changes in the logs.
    logged_changes: u64,
    /// Flushes in the logs that completed.
    logged_flushes: u64,
    /// True if the last records of a log may be missing, so that their changes are unknown.
    journal_ends_early: bool,
    /// The reasons.
    journal_ends_early_because: Vec<String>,
    targets: Vec<TargetReport>,
}

/// Findings on a target.
#[derive(Debug, Serialize)]
pub(super) struct TargetReport {
    #[serde(with = "model::path")]
    path: PathBuf,
    size_bytes: u64,
    /// Less than the size in the run if it was interrupted.
    read_bytes: u64,
    planned_bytes: u64,
    past_page_cache: bool,
    unit_bytes: u64,
    /// Units of the target during the run.
    units: u64,
    /// Units for which a change of the run began.
    known_units: u64,
    /// Units whose data or zeros are durable.
    durable_units: u64,
    /// Units that are right, including those later than the last completed write.
    right_units: u64,
    /// Units whose last completed write was not flushed, and is lost. That is permitted.
    unflushed_units: u64,
    /// Units that hold part of a write that was not durable. That is permitted.
    torn_units: u64,
    unchecked_units: u64,
    /// Units that lack durable contents because a later run wrote there: not counted as corrupt.
    later_units: u64,
    corrupt_units: u64,
    corrupt_by_class: BTreeMap<&'static str, u64>,
    /// The last change that is present; null = none.
    pub(super) last_change_there: Option<u64>,
    /// True if a unit is of a later write than those in the logs.
    #[serde(skip)]
    pub(super) is_ahead: bool,
    /// Of the first corrupt units, those whose flush began before the last change that is present.
    lost_before_last: u64,
    /// False: the target cannot be identified as that of the run, and no unit of the run is on it. Then only unreadable
    /// units count as corrupt.
    is_target_of_run: bool,
    /// The first 100, by offset.
    first: Vec<LostUnit>,
}

impl TargetReport {
    pub(super) fn new(target: &Target<'_>, read: Read) -> Self {
        let Read { progress, planned_bytes, past_page_cache } = read;
        let Progress {
            read_bytes,
            right,
            unflushed,
            torn,
            mut unchecked,
            mut by_class,
            mut first,
            latest,
            is_ahead,
            found_units,
            later_units,
            ..
        } = progress;
        let is_target_of_run = target.is_certain || found_units > 0;
        if !is_target_of_run {
            by_class.retain(|class, units| {
                let stays = *class == Class::Unreadable;
                unchecked += if stays { 0 } else { *units };
                stays
            });
            first.retain(|unit| unit.class == Class::Unreadable);
        }
        Self {
            path: target.path.clone(),
            size_bytes: target.size_bytes,
            read_bytes,
            planned_bytes,
            past_page_cache,
            unit_bytes: target.history.unit().bytes(),
            units: target.history.units(),
            known_units: target.history.changed().units(),
            durable_units: target.history.durable(),
            right_units: right,
            unflushed_units: unflushed,
            torn_units: torn,
            unchecked_units: unchecked,
            later_units,
            corrupt_units: by_class.values().sum(),
            corrupt_by_class: by_class.iter().map(|(class, units)| (class.name(), *units)).collect(),
            last_change_there: latest,
            is_ahead,
            lost_before_last: 0,
            is_target_of_run,
            first,
        }
    }

    /// Its path, and the first corrupt units.
    pub(super) fn wrong_units(&mut self) -> (&Path, &mut [LostUnit]) {
        (&self.path, &mut self.first)
    }

    fn explain(&mut self, logs: &mut Logs) {
        let tickets = self.first.iter().filter_map(|unit| unit.details.durable_ticket);
        if tickets.clone().next().is_none() {
            return;
        }
        let durable = logs.durable(tickets);
        for Loss { durable: change, durable_ticket, .. } in self.first.iter_mut().map(|unit| &mut unit.details) {
            *change = durable_ticket.and_then(|ticket| durable.get(&ticket)).map(DurableChange::new);
        }
        let last = self.last_change_there.unwrap_or(0);
        let is_before = |unit: &&LostUnit| {
            unit.is_gone() && unit.details.durable.is_some_and(|durable| durable.durable_since <= last)
        };
        self.lost_before_last = self.first.iter().filter(is_before).count() as u64;
    }

    /// The order of the changes that are present and of the lost ones, as text.
    fn order(&self) -> Option<String> {
        let gone = self.first.iter().filter(|unit| unit.is_gone());
        let missing: Vec<&DurableChange> = gone.filter_map(|unit| unit.details.durable.as_ref()).collect();
        let earliest = missing.iter().map(|durable| durable.change).min()?;
        Some(match self.last_change_there {
            Some(last) if self.lost_before_last > 0 => format!(
                "change {last} is there, and began after the flushes of {} of the first {}: a flush was not honoured, \
                 or writes were reordered across it",
                self.lost_before_last,
                counted(missing.len(), "corrupt unit")
            ),
            Some(last) if last < earliest => {
                format!("nothing after change {last} is there: all that was written later is gone, flushed or not")
            }
            Some(last) => format!("the last change that is there is {last}"),
            None => "no change of the run is there".to_owned(),
        })
    }

    fn verified(&self) -> VerifiedTarget<'_> {
        let planned = Bytes(self.planned_bytes);
        let notes = [
            (!self.past_page_cache).then(|| THROUGH_CACHE.to_owned()),
            (!self.is_target_of_run).then(|| OTHER_TARGET.to_owned()),
            (self.read_bytes < self.planned_bytes).then(|| format!("interrupted after {}", Bytes(self.read_bytes))),
            (self.size_bytes < self.planned_bytes).then(|| format!("shorter than in the run ({planned})")),
        ];
        let count = |units: u64, words: &str| counted(units, "unit") + words;
        let later = count(self.later_units, ", by a later run (--verify): not checked");
        let counts = [
            ("known", format!("{} of {}", self.known_units, counted(self.units, "unit"))),
            ("durable", count(self.durable_units, " (flushed or written through)")),
            ("right", count(self.right_units, "")),
            ("not flushed", count(self.unflushed_units, " without an acknowledged write (allowed)")),
            ("torn", count(self.torn_units, ", by writes that were not durable (allowed)")),
            ("not checkable", count(self.unchecked_units, "")),
        ];
        VerifiedTarget {
            path: &self.path,
            size_bytes: self.size_bytes,
            compared_with: "the logs of a run that was cut off or failed (--journal)",
            notes: notes.into_iter().flatten().collect(),
            counts: counts.into_iter().chain((self.later_units > 0).then_some(("written later", later))).collect(),
            corrupt_units: self.corrupt_units,
            by_class: &self.corrupt_by_class,
            class_words: words,
            order: self.order(),
            first: self.first.iter().map(LostUnit::text).collect(),
        }
    }
}

fn words(class: Class) -> &'static str {
    match class {
        Class::Lost => "a write that was acknowledged and flushed is missing; older data is there",
        Class::Zeros => "a write that was acknowledged and flushed is missing; zeros are there",
        Class::Foreign => "a write that was acknowledged and flushed is missing; data that is not of this run is there",
        Class::Torn => "only part of a write that was acknowledged and flushed is there",
        class => class.words(),
    }
}

impl AfterCutReport {
    pub(super) fn new(logs: &mut Logs, mut targets: Vec<TargetReport>) -> Self {
        let cannot_tell = |target: &TargetReport| {
            target.known_units == 0
                || target.read_bytes < target.planned_bytes
                || !target.is_target_of_run
                || target.later_units > 0
        };
        let outcome = if targets.iter().any(|target| target.corrupt_units > 0) {
            Outcome::Corrupt
        } else if targets.iter().any(cannot_tell) {
            Outcome::CannotTell
        } else {
            Outcome::Good
        };
        for target in &mut targets {
            target.explain(logs);
        }
        let restarted =
            "the machine was started again since the run: what was logged last may not have reached its storage";
        let because = logs.is_other_boot.then(|| restarted.to_owned()).into_iter().chain(logs.early.iter().cloned());
        Self {
            schema: VERIFY_SCHEMA,
            experimental: true,
            outcome,
            run: format!("{:016x}", logs.history.run),
            logged_changes: logs.history.changes,
            logged_flushes: logs.history.flushes,
            journal_ends_early: logs.history.ends_early,
            journal_ends_early_because: because.collect(),
            targets,
        }
    }

    pub(super) fn report(&self) -> Report {
        let (changes, flushes) = (counted(self.logged_changes, "change"), counted(self.logged_flushes, "flush"));
        let early = self.journal_ends_early_because.iter();
        let early = early.map(|reason| format!("NOTE: the journal ends early: {reason}"));
        let lead = std::iter::once(format!("journal: {changes}, {flushes}")).chain(early).collect();
        let words = match self.outcome {
            Outcome::Good => "all that was acknowledged and flushed is there",
            Outcome::Corrupt => {
                "CORRUPT: rule out other writers, then keep the report, the journal and the data for the vendor"
            }
            Outcome::CannotTell if self.targets.iter().any(|target| target.later_units > 0) => {
                "unknown: a later run wrote to a target after the cut; nothing else is missing"
            }
            Outcome::CannotTell if self.targets.iter().any(|target| target.read_bytes < target.planned_bytes) => {
                "incomplete: no corruption found until the interruption"
            }
            Outcome::CannotTell if self.targets.iter().any(|target| !target.is_target_of_run) => OTHER_TARGET_OUTCOME,
            Outcome::Failed | Outcome::CannotTell => {
                "the journal has no write to a target: the load was cut off before it began"
            }
        };
        let targets = self.targets.iter().map(TargetReport::verified).collect();
        report::verification(lead, targets, format!("Verification after a cut (experimental): {words}"))
    }
}
