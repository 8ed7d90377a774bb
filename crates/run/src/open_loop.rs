//! Open loop (`--rate`): I/Os are meant to start at times that do not depend on completions. What
//! became of these starts, and how long answers took counted from them.
//!
//! An intended start belongs to the measurement if it lies in it, whenever the I/O is really started.

use crate::allowance::Allowance;
use crate::phase::{Phases, Stop};
use crate::recorder::tally;
use crate::row::Row;
use crate::times::Times;
use crate::worker::{Slot, Worker};
use engine::Engine;
use hot::clock::Clock;
use hot::counters::{self, Counter, TallyCells};
use model::record::OpenLoopRecord;
use std::ops::Range;

/// What one row counts in an open loop.
#[derive(Debug)]
pub(crate) struct OpenLoopCells {
    /// Of reads, then of writes.
    response: [Times; 2],
    lateness: TallyCells,
    delayed_by_depth: Counter,
    backlog: Counter,
}

impl OpenLoopCells {
    pub(crate) fn new() -> Self {
        Self {
            response: [Times::new(), Times::new()],
            lateness: TallyCells::default(),
            delayed_by_depth: Counter::default(),
            backlog: Counter::default(),
        }
    }

    /// Counts the response time of an I/O.
    pub(crate) fn respond(&self, write: bool, response_ns: u64) {
        self.response[usize::from(write)].record(response_ns);
    }

    pub(crate) fn record(&self) -> OpenLoopRecord {
        let [read, write] = self.response.each_ref().map(Times::to_record);
        OpenLoopRecord {
            read,
            write,
            lateness: tally(counters::values(&self.lateness)),
            delayed_by_depth: self.delayed_by_depth.get(),
            backlog: self.backlog.get(),
        }
    }
}

/// Since when a target has had free requests, after it had none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Saturation {
    is_full: bool,
    /// When it last was no longer full.
    ended_ns: u64,
}

/// Where starts are accounted for, during one turn.
pub(crate) struct Starts<'a> {
    rows: &'a [Row],
    /// The measurement.
    window: Range<u64>,
    /// The latest stamp: requests that are free by now were freed then, or before.
    freed_ns: u64,
}

impl<'a> Starts<'a> {
    pub(crate) fn new(rows: &'a [Row], phases: &Phases, stop: &Stop, freed_ns: u64) -> Self {
        Self { rows, window: phases.measurement(stop), freed_ns }
    }

    /// An I/O that was due at `due_ns` starts at `now_ns`, after which `left` requests are free.
    pub(crate) fn account(&self, slot: &mut Slot, saturation: &mut Saturation, due_ns: u64, now_ns: u64, left: usize) {
        slot.intended_ns = due_ns;
        if saturation.is_full {
            saturation.ended_ns = self.freed_ns;
        }
        saturation.is_full = left == 0;
        let cells = self.rows[slot.work as usize].open_loop.as_ref().filter(|_| self.window.contains(&due_ns));
        let Some(cells) = cells else { return };
        if now_ns >= self.window.end {
            cells.backlog.add(1);
            return;
        }
        counters::record(&cells.lateness, now_ns.saturating_sub(due_ns));
        cells.delayed_by_depth.add(u64::from(due_ns < saturation.ended_ns));
    }
}

impl<E: Engine, C: Clock> Worker<E, C> {
    /// Nothing more is started: the starts that were intended and not made are the backlog. A limit
    /// on the run's I/O (`--max-ios`) that is used up takes back what was intended after it.
    pub(crate) fn count_backlog(&mut self) {
        let is_used_up = self.allowance.as_ref().is_some_and(Allowance::is_refused);
        if !self.open_loop || is_used_up {
            return;
        }
        let window = self.phases.measurement(&self.stop);
        for (work, row) in self.work.iter_mut().zip(&self.recorder.rows) {
            let Some(cells) = &row.open_loop else { continue };
            // What is left of the warm-up is none of the measurement.
            work.pacer.pass(window.start);
            cells.backlog.add(work.pacer.pass(window.end));
        }
    }
}
