//! I/O that completes at once without the kernel: what is left is the cost of the tool itself.

use crate::buffers::{Region, Regions};
use crate::prepared::Prepared;
use crate::{Completion, Engine, Op, PollResult, Pushed, SlotId, Wait, take_from};
use model::operation::Operation;
use model::profile::FlushCall;
use std::io;

/// Every operation transfers its whole length.
#[derive(Debug)]
pub struct NullEngine {
    regions: Regions,
    /// Results of the prepared operations.
    prepared: Prepared<i32>,
    done: Vec<Completion>,
}

impl NullEngine {
    /// An engine for `slots` requests; its buffers are never read or written by it.
    pub fn new(slots: u32, regions: Vec<Region>) -> Self {
        Self {
            regions: Regions::new(regions),
            prepared: Prepared::new(slots, &0),
            done: Vec::with_capacity(slots as usize),
        }
    }
}

impl Engine for NullEngine {
    const STAMPS: bool = false;
    const TAKES_MANY: bool = false;

    fn prepare(&mut self, slot: SlotId, op: &Op) {
        if op.operation.transfers_data() {
            // The same check that real engines make.
            let _ = self.regions.address(op);
        }
        self.prepared.set(slot, op.operation, i32::try_from(op.length).unwrap_or(i32::MAX));
    }

    #[inline]
    fn set_length(&mut self, slot: SlotId, operation: Operation, length: u32) {
        *self.prepared.get_mut(slot, operation) = i32::try_from(length).unwrap_or(i32::MAX);
    }

    #[inline]
    fn stage_prepared(&mut self, slot: SlotId, operation: Operation, _: u64) {
        let result = *self.prepared.get(slot, operation);
        self.done.push(Completion { slot, result, begun_ns: 0, ended_ns: 0 });
    }

    fn stage_flush(&mut self, slot: SlotId, _: u32, _: FlushCall) {
        self.done.push(Completion { slot, result: 0, begun_ns: 0, ended_ns: 0 });
    }

    fn push(&mut self, _: Wait) -> io::Result<Pushed> {
        Ok(Pushed { submitted: self.in_flight() })
    }

    #[inline]
    fn poll(&mut self) -> PollResult {
        PollResult { count: self.in_flight(), is_stamped: false }
    }

    #[inline]
    fn take(&mut self, most: u32, each: impl FnMut(Completion)) {
        take_from(&mut self.done, most, each);
    }

    fn cancel_all(&mut self) {
        self.done.clear();
    }

    fn in_flight(&self) -> u32 {
        self.done.len() as u32
    }

    fn fill(&mut self, op: &Op, fill: impl FnMut(&mut [u8], u64)) -> bool {
        self.regions.fill(op, fill)
    }

    fn copy_out(&self, op: &Op, at: u64, bytes: &mut [u8]) {
        self.regions.copy_out(op, at, bytes);
    }
}
