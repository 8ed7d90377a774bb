//! Open loop (`--rate`): I/Os are meant to start at times that do not depend on completions. What
//! became of these starts, and how long answers took counted from them.
//!
//! An intended start belongs to the measurement if it lies in it, whenever the I/O is really started.

use crate::phase::{Phases, Stop};
use crate::row::Row;
use crate::saturation::Saturation;
use hot::counters;
use hot::slots::Slot;
use std::ops::Range;

/// Where starts are accounted for, during one turn.
pub(crate) struct StartAccounting<'a> {
    rows: &'a [Row],
    /// The measurement.
    window: Range<u64>,
    /// The latest stamp: requests that are free by now were freed then, or before.
    freed_ns: u64,
}

impl<'a> StartAccounting<'a> {
    pub(crate) fn new(rows: &'a [Row], phases: &Phases, stop: &Stop, freed_ns: u64) -> Self {
        Self { rows, window: phases.measurement(stop), freed_ns }
    }

    /// An I/O that was due at `due_ns` starts at `now_ns`, after which `left` requests are free.
    pub(crate) fn account(&self, slot: &mut Slot, saturation: &mut Saturation, due_ns: u64, now_ns: u64, left: usize) {
        slot.intended_ns = due_ns;
        saturation.start(self.freed_ns, left);
        let cells = self.rows[slot.work as usize].open_loop.as_ref().filter(|_| self.window.contains(&due_ns));
        let Some(cells) = cells else { return };
        if now_ns >= self.window.end {
            cells.backlog.add(1);
            return;
        }
        counters::record(&cells.lateness, now_ns.saturating_sub(due_ns));
        cells.delayed_by_depth.add(u64::from(saturation.delayed(due_ns)));
    }
}
