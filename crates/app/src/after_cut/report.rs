//! What was found after a cut, as text and JSON.

use super::logs::{Durable, Logs};
use super::read::{Progress, Target};
use crate::target_reading::{OTHER_TARGET, OTHER_TARGET_OUTCOME, THROUGH_CACHE};
use crate::unit_evidence::{UnitEvidence, WrongUnit, second_read_words};
use model::corruption::CorruptionClass as Class;
use model::units::{Bytes, counted};
use model::verification::UnitWrite;
use render::document::VERIFY_SCHEMA;
use report::{CorruptUnitText, Report, VerifiedTarget};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use verify::log::Kind;

/// What came out for all targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// All that is durable is there.
    Good,
    /// Something durable is not there.
    Corrupt,
    /// The logs have no change of a target, it was not read to its end, or a later run wrote over what is durable.
    CannotTell,
}

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
    /// The last records of a log may be missing: what they say is not known.
    journal_ends_early: bool,
    /// Why.
    journal_ends_early_because: Vec<String>,
    targets: Vec<TargetReport>,
}

/// What was found on a target.
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
    /// Units of the target in the run.
    units: u64,
    /// Units that a change of the run began for.
    known_units: u64,
    /// Units of which data or zeros are durable.
    durable_units: u64,
    /// Units that are right, later than the last write that completed included.
    right_units: u64,
    /// Units whose last completed write was not flushed, and is gone. That is allowed.
    unflushed_units: u64,
    /// Units that hold part of a write that was not durable. That is allowed.
    torn_units: u64,
    unchecked_units: u64,
    /// Units that lack what is durable because a later run wrote there: not counted as corrupt.
    later_units: u64,
    corrupt_units: u64,
    corrupt_by_class: BTreeMap<&'static str, u64>,
    /// The last change that is there; null = none.
    pub(super) last_change_there: Option<u64>,
    /// A unit is of a later write than the logs have.
    #[serde(skip)]
    pub(super) is_ahead: bool,
    /// Of the first corrupt units, those whose flush began before the last change that is there.
    lost_before_last: u64,
    /// False: nothing tells whether it is the target of the run, and no unit of the run is on it. Then nothing but what
    /// cannot be read counts as corrupt.
    is_target_of_run: bool,
    /// The first 100 in the order of their offsets.
    first: Vec<LostUnit>,
}

/// A corrupt unit.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LostUnit {
    pub(super) offset_bytes: u64,
    pub(super) class: Class,
    /// What its header says; null = it has none.
    pub(super) found: Option<UnitWrite>,
    pub(super) found_run: Option<String>,
    pub(super) is_intact: Option<bool>,
    /// Its first 64 bytes in hexadecimal.
    pub(super) first_bytes: String,
    /// A second read returned what is allowed.
    pub(super) second_read_is_right: Option<bool>,
    /// The file ends before it, or within it.
    pub(super) is_beyond_end: bool,
    #[serde(skip)]
    pub(super) durable_ticket: Option<u64>,
    /// What must be there; null = nothing is durable.
    pub(super) durable: Option<DurableChange>,
    pub(super) error: Option<String>,
    #[serde(flatten)]
    pub(super) evidence: UnitEvidence,
    #[serde(skip)]
    pub(super) unit_bytes: u64,
    /// When it was read, by `CLOCK_MONOTONIC`.
    #[serde(skip)]
    pub(super) at_ns: u64,
}

impl WrongUnit for LostUnit {
    fn range(&self) -> Range<u64> {
        self.offset_bytes..self.offset_bytes + self.unit_bytes
    }

    fn read_at_ns(&self) -> u64 {
        self.at_ns
    }

    fn evidence(&mut self) -> &mut UnitEvidence {
        &mut self.evidence
    }
}

/// A change that must be there, and why.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct DurableChange {
    /// Number of the change in the run.
    change: u64,
    thread: u32,
    begun_ns: u64,
    is_write_through: bool,
    /// The first flush that began after it had completed, and completed; null if it was written through.
    flush: Option<u64>,
    flush_thread: Option<u32>,
    flush_begun_ns: Option<u64>,
    /// Changes from this one on began when it was to be durable.
    #[serde(skip)]
    durable_since: u64,
}

impl DurableChange {
    fn of(durable: &Durable) -> Self {
        let flush = durable.flush;
        Self {
            change: durable.change.ticket,
            thread: durable.thread,
            begun_ns: durable.change.time_us.saturating_mul(1000),
            is_write_through: durable.change.kind == Kind::WriteThrough,
            flush: flush.map(|(flush, _)| flush.ticket),
            flush_thread: flush.map(|(_, thread)| thread),
            flush_begun_ns: flush.map(|(flush, _)| flush.time_us.saturating_mul(1000)),
            durable_since: flush.map_or(durable.count, |(flush, _)| flush.ticket + 1),
        }
    }

    fn words(&self) -> String {
        let Self { change, thread, begun_ns, .. } = *self;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let flush = match (self.flush, self.flush_thread, self.flush_begun_ns) {
            (Some(flush), Some(thread), Some(begun_ns)) => {
                format!("flushed by thread {thread} at {:.6} s (change {flush})", seconds(begun_ns))
            }
            _ if self.is_write_through => "written through".to_owned(),
            _ => "flushed".to_owned(),
        };
        format!("change {change} of thread {thread} at {:.6} s, {flush}", seconds(begun_ns))
    }
}

impl LostUnit {
    /// A durable write is missing, in whole or in part: its order says something.
    fn is_gone(&self) -> bool {
        matches!(self.class, Class::Lost | Class::Zeros | Class::Foreign | Class::Torn)
    }

    pub(super) fn unreadable(offset_bytes: u64, unit_bytes: u64, error: &io::Error) -> Self {
        Self {
            offset_bytes,
            class: Class::Unreadable,
            found: None,
            found_run: None,
            is_intact: None,
            first_bytes: String::new(),
            second_read_is_right: None,
            is_beyond_end: false,
            durable_ticket: None,
            durable: None,
            error: Some(error.to_string()),
            evidence: UnitEvidence::default(),
            unit_bytes,
            at_ns: sys::clock::monotonic_ns(),
        }
    }

    fn text(&self) -> CorruptUnitText<'_> {
        let damaged = if self.is_intact == Some(false) { ", with a wrong checksum" } else { "" };
        let found = match &self.found {
            _ if self.is_beyond_end => Some("the file ends before its last byte".to_owned()),
            found => found.as_ref().map(|write| format!("{}{damaged}", write.words(self.found_run.as_deref()))),
        };
        let second_read = self.second_read_is_right.filter(|is_right| *is_right || !self.is_beyond_end);
        CorruptUnitText {
            class: self.class,
            offset_bytes: self.offset_bytes,
            place: String::new(),
            error: self.error.as_deref(),
            expected: self.durable.as_ref().map(|durable| ("durable", durable.words())),
            found,
            first_bytes: Some(&*self.first_bytes).filter(|_| !self.is_beyond_end),
            second_read: second_read.map(second_read_words),
            places: &self.evidence.places,
            kernel_messages: &self.evidence.kernel_messages,
        }
    }
}

impl TargetReport {
    pub(super) fn new(target: &Target<'_>, progress: Progress, planned_bytes: u64, past_page_cache: bool) -> Self {
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
        let tickets = self.first.iter().filter_map(|unit| unit.durable_ticket);
        if tickets.clone().next().is_none() {
            return;
        }
        let durable = logs.durable(tickets);
        for unit in &mut self.first {
            unit.durable = unit.durable_ticket.and_then(|ticket| durable.get(&ticket)).map(DurableChange::of);
        }
        let last = self.last_change_there.unwrap_or(0);
        let is_before =
            |unit: &&LostUnit| unit.is_gone() && unit.durable.is_some_and(|durable| durable.durable_since <= last);
        self.lost_before_last = self.first.iter().filter(is_before).count() as u64;
    }

    /// What the order of the changes that are there and of those that are not says.
    fn order(&self) -> Option<String> {
        let gone = self.first.iter().filter(|unit| unit.is_gone());
        let missing: Vec<&DurableChange> = gone.filter_map(|unit| unit.durable.as_ref()).collect();
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
            Outcome::CannotTell => "the journal has no write to a target: the load was cut off before it began",
        };
        let targets = self.targets.iter().map(TargetReport::verified).collect();
        report::verification(lead, targets, format!("Verification after a cut (experimental): {words}"))
    }
}
