//! Any engine but mapped targets, chosen when the thread starts: what serves the targets beside those that are mapped.
//!
//! Most threads have either, so that a choice at each call costs little; the loop over other engines is compiled for each
//! of them.

use crate::aio::AioEngine;
use crate::null::NullEngine;
use crate::sync::SyncEngine;
use crate::uring::UringEngine;
use crate::{Completion, Engine, Op, PollResult, Pushed, SlotId, Wait};
use hot::clock::Clock;
use model::operation::Operation;
use model::profile::FlushCall;
use std::io;

/// The engine below mapped targets.
pub enum Below<C> {
    /// See [`SyncEngine`].
    Sync(SyncEngine<C>),
    /// See [`UringEngine`].
    Uring(Box<UringEngine>),
    /// See [`AioEngine`].
    Aio(AioEngine),
    /// See [`NullEngine`].
    Null(NullEngine),
}

macro_rules! each {
    ($value:expr, $engine:ident => $call:expr) => {
        match $value {
            Below::Sync($engine) => $call,
            Below::Uring($engine) => $call,
            Below::Aio($engine) => $call,
            Below::Null($engine) => $call,
        }
    };
}

impl<C: Clock> Engine for Below<C> {
    const STAMPS: bool = true;
    const TAKES_MANY: bool = true;

    fn prepare(&mut self, slot: SlotId, op: &Op) {
        each!(self, engine => engine.prepare(slot, op));
    }

    fn stage_prepared(&mut self, slot: SlotId, operation: Operation, offset: u64) {
        each!(self, engine => engine.stage_prepared(slot, operation, offset));
    }

    fn set_length(&mut self, slot: SlotId, operation: Operation, length: u32) {
        each!(self, engine => engine.set_length(slot, operation, length));
    }

    fn stage(&mut self, slot: SlotId, op: &Op) {
        each!(self, engine => engine.stage(slot, op));
    }

    fn stage_flush(&mut self, slot: SlotId, file: u32, call: FlushCall) {
        each!(self, engine => engine.stage_flush(slot, file, call));
    }

    fn push(&mut self, wait: Wait) -> io::Result<Pushed> {
        each!(self, engine => engine.push(wait))
    }

    fn poll(&mut self) -> PollResult {
        each!(self, engine => engine.poll())
    }

    fn take(&mut self, most: u32, each: impl FnMut(Completion)) {
        each!(self, engine => engine.take(most, each));
    }

    fn forget_waiting(&mut self) {
        each!(self, engine => engine.forget_waiting());
    }

    fn cancel_all(&mut self) {
        each!(self, engine => engine.cancel_all());
    }

    fn in_flight(&self) -> u32 {
        each!(self, engine => engine.in_flight())
    }

    fn fill(&mut self, op: &Op, fill: impl FnMut(&mut [u8], u64)) -> bool {
        each!(self, engine => engine.fill(op, fill))
    }

    fn copy_out(&self, op: &Op, at: u64, bytes: &mut [u8]) {
        each!(self, engine => engine.copy_out(op, at, bytes));
    }
}
