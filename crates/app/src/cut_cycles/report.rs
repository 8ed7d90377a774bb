//! What the cycles of a series found.

use crate::status::Status;
use model::printable::printable;
use model::units::counted;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// What one cycle found, over all targets.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cycle {
    number: u32,
    /// From the first logged write of the load to the cut.
    cut_after_ns: u64,
    /// `good`, `corrupt` or `cannot_tell`.
    outcome: String,
    /// False: the load ended well in spite of the cut, and its map was compared.
    was_cut_off: bool,
    logged_changes: u64,
    logged_flushes: u64,
    journal_ends_early: bool,
    durable_units: u64,
    unflushed_units: u64,
    torn_units: u64,
    corrupt_units: u64,
}

/// A series.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    experimental: bool,
    /// As the worst cycle; `cannot_tell` if it was interrupted.
    outcome: &'static str,
    planned_cycles: u32,
    cycles: Vec<Cycle>,
}

impl Cycle {
    /// From the report of a verification.
    pub(super) fn read(number: u32, cut_after: Duration, report: &[u8]) -> Option<Self> {
        let report: Value = serde_json::from_slice(report).ok()?;
        let targets = report["targets"].as_array()?;
        let sum = |name: &str| targets.iter().filter_map(|target| target[name].as_u64()).sum();
        Some(Self {
            number,
            cut_after_ns: cut_after.as_nanos() as u64,
            outcome: report["outcome"].as_str()?.to_owned(),
            was_cut_off: report["logged_changes"].is_u64(),
            logged_changes: report["logged_changes"].as_u64().unwrap_or(0),
            logged_flushes: report["logged_flushes"].as_u64().unwrap_or(0),
            journal_ends_early: report["journal_ends_early"].as_bool().unwrap_or(false),
            durable_units: sum("durable_units"),
            unflushed_units: sum("unflushed_units"),
            torn_units: sum("torn_units"),
            corrupt_units: sum("corrupt_units"),
        })
    }

    /// True if it was verified to the end.
    pub(super) fn is_known(&self) -> bool {
        self.outcome != "cannot_tell"
    }

    pub(super) fn line(&self) -> String {
        let Self { number, logged_changes, logged_flushes, .. } = self;
        let outcome = match self.outcome.as_str() {
            "corrupt" => "CORRUPT",
            "cannot_tell" => "nothing could be checked",
            other => other,
        };
        let seconds = self.cut_after_ns as f64 / 1e9;
        if !self.was_cut_off {
            let corrupt = counted(self.corrupt_units, "corrupt unit");
            return format!("cycle {number}: cut after {seconds:.1} s, but the load ended well: {corrupt}: {outcome}");
        }
        let early = if self.journal_ends_early { ", journal ends early" } else { "" };
        format!(
            "cycle {number}: cut after {seconds:.1} s, {}, {}{early}; units: {} durable, {} not flushed and gone, {} torn, \
             {} corrupt: {outcome}",
            counted(*logged_changes, "change"),
            counted(*logged_flushes, "flush"),
            self.durable_units,
            self.unflushed_units,
            self.torn_units,
            self.corrupt_units
        )
    }
}

impl Series {
    pub(super) fn new(planned_cycles: u32) -> Self {
        Self { experimental: true, outcome: "cannot_tell", planned_cycles, cycles: Vec::new() }
    }

    /// Adds a cycle; true if the series must end.
    pub(super) fn add(&mut self, cycle: Cycle) -> bool {
        let is_corrupt = cycle.outcome == "corrupt";
        self.cycles.push(cycle);
        is_corrupt
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cycles.is_empty()
    }

    fn count(&self, outcome: &str) -> usize {
        self.cycles.iter().filter(|cycle| cycle.outcome == outcome).count()
    }

    pub(super) fn finish(&mut self) -> Status {
        let is_whole = self.cycles.len() == self.planned_cycles as usize;
        let (outcome, status) = if self.count("corrupt") > 0 {
            ("corrupt", Status::Corrupt)
        } else if is_whole && self.count("good") == self.cycles.len() {
            ("good", Status::Done)
        } else {
            ("cannot_tell", Status::CannotTell)
        };
        self.outcome = outcome;
        status
    }

    pub(super) fn text(&self, folder: &Path) -> String {
        let (all, planned) = (self.cycles.len(), self.planned_cycles);
        let (good, corrupt) = (self.count("good"), self.count("corrupt"));
        let cut_off = self.cycles.iter().filter(|cycle| cycle.was_cut_off).count();
        let folder = printable(&folder.to_string_lossy()).into_owned();
        let words = match self.outcome {
            "corrupt" => &*format!("CORRUPT: rule out other writers, then keep '{folder}' and the data for the vendor"),
            "good" => "all that was acknowledged and flushed was there",
            _ => "incomplete",
        };
        format!(
            "{all} of {}, {cut_off} of them cut off: {good} good, {corrupt} corrupt\n\
             Verification after cuts (experimental): {words}\n",
            counted(planned, "cycle")
        )
    }
}
