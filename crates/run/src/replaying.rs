//! Issuing the requests of a trace (`trace replay`), at their times or in their order.
//!
//! Another thread reads the trace ahead into a bounded queue ([`Feed`]). Flushes are operations like others at their
//! times; in a closed replay, which has no times, a flush waits for the requests before it, and the next ones for it.

use crate::open_loop::Starts;
use crate::times::Times;
use crate::worker::Worker;
use engine::{Engine, SlotId};
use hot::clock::Clock;
use hot::counters::Counter;
use hot::replay::{Feed, Request};
use model::action::Action;
use model::operation::Operation;
use model::profile::FlushCall;
use model::record::ReplayRecord;
use std::sync::Arc;

/// How long a thread that waits for the trace does something else.
const READING_NS: u64 = 50_000;

/// The requests of a trace for one thread, and those under way.
#[derive(Debug)]
pub(crate) struct Replaying {
    feed: Arc<Feed>,
    /// The next request.
    next: Option<Request>,
    is_closed_loop: bool,
    /// When the load began.
    begun_ns: u64,
    /// The queue was empty when the next request was wanted.
    is_starved: bool,
    /// A flush of a closed replay is under way.
    is_flushing: bool,
    /// Bytes of the operation of each request; [`FDATASYNC`] and [`FSYNC`] = it is a flush.
    lengths: Box<[u32]>,
}

/// In place of a length: no read or write is as long.
const FDATASYNC: u32 = u32::MAX - 1;
const FSYNC: u32 = u32::MAX;

impl Replaying {
    /// The requests that `feed` has, for `slots` requests under way.
    pub(crate) fn new(feed: Arc<Feed>, is_closed_loop: bool, slots: u32) -> Self {
        let lengths = vec![0; slots as usize].into_boxed_slice();
        Self { feed, next: None, is_closed_loop, begun_ns: 0, is_starved: false, is_flushing: false, lengths }
    }

    /// The start signal was given: times of the trace count from `now_ns`.
    pub(crate) fn start(&mut self, now_ns: u64) {
        self.begun_ns = now_ns;
    }

    /// Bytes of the operation of a request.
    #[inline]
    pub(crate) fn length(&self, request: SlotId) -> u32 {
        self.lengths[request as usize]
    }

    /// The call, if the operation of a request is a flush.
    #[inline]
    pub(crate) fn flush_call(&self, request: SlotId) -> Option<FlushCall> {
        match self.lengths[request as usize] {
            FDATASYNC => Some(FlushCall::Fdatasync),
            FSYNC => Some(FlushCall::Fsync),
            _ => None,
        }
    }

    /// A flush ended.
    pub(crate) fn end_flush(&mut self) {
        self.is_flushing = false;
    }

    /// True once all requests were issued.
    pub(crate) fn is_exhausted(&mut self) -> bool {
        // Finished first: what was put before it is seen then.
        let is_finished = self.feed.is_finished();
        self.peek().is_none() && is_finished
    }

    fn peek(&mut self) -> Option<&Request> {
        if self.next.is_none() {
            self.next = self.feed.take();
        }
        self.next.as_ref()
    }

    /// When the next request is due; `None` = it is not read yet, or there is none.
    fn due_ns(&mut self) -> Option<u64> {
        let begun_ns = self.begun_ns;
        let due_ns = self.peek().map(|request| begun_ns.saturating_add(request.due_ns));
        self.is_starved |= due_ns.is_none();
        due_ns
    }

    /// No more requests are taken.
    pub(crate) fn close(&self) {
        self.feed.close();
    }

    /// Counts the requests due before `end_ns` that were not issued.
    pub(crate) fn pass(&mut self, end_ns: u64) -> u64 {
        let mut passed = 0;
        while !self.is_exhausted() {
            match self.due_ns() {
                Some(due_ns) if due_ns >= end_ns => break,
                Some(_) => {
                    self.next = None;
                    passed += 1;
                }
                None => std::thread::yield_now(),
            }
        }
        passed
    }
}

impl Drop for Replaying {
    fn drop(&mut self) {
        self.close();
    }
}

/// Counts of a replay.
#[derive(Debug)]
pub(crate) struct ReplayCells {
    issued: Counter,
    lateness: Times,
    flushes: Times,
    delayed_by_reading: Counter,
}

impl ReplayCells {
    pub(crate) fn new() -> Self {
        let (issued, delayed_by_reading) = (Counter::default(), Counter::default());
        Self { issued, lateness: Times::new(), flushes: Times::new(), delayed_by_reading }
    }

    /// A flush ended.
    pub(crate) fn record_flush(&self, flush_ns: u64) {
        self.flushes.record(flush_ns);
    }

    pub(crate) fn to_record(&self) -> ReplayRecord {
        ReplayRecord {
            issued: self.issued.get(),
            lateness: self.lateness.to_record(),
            flushes: self.flushes.to_record(),
            delayed_by_reading: self.delayed_by_reading.get(),
        }
    }
}

impl<E: Engine, C: Clock> Worker<E, C> {
    /// Issues the requests of the trace that are due and have a free request. Gives the time of the next one, if
    /// requests are free.
    pub(crate) fn issue_recorded(&mut self, now_ns: u64) -> Option<u64> {
        let starts = self.open_loop.then(|| Starts::new(&self.recorder.rows, &self.phases, &self.stop, self.now_ns));
        let cells = self.recorder.rows[0].replay.as_ref()?;
        let Self { engine, clock, rng, work, slots, spread, .. } = self;
        let work = &mut work[0];
        let mut most = if E::TAKES_MANY { spread.most } else { u32::MAX };
        spread.has_more = false;
        while work.free.free_count() > 0 {
            let replaying = work.replaying.as_mut()?;
            if replaying.is_exhausted() {
                return None;
            }
            let Some(due_ns) = replaying.due_ns() else { return Some(now_ns + READING_NS) };
            if !replaying.is_closed_loop && due_ns > now_ns {
                replaying.is_starved = false;
                return Some(due_ns);
            }
            let is_flush = matches!(replaying.next, Some(Request { action: Action::Flush(_), .. }));
            if replaying.is_closed_loop && engine.in_flight() > 0 && (is_flush || replaying.is_flushing) {
                return None;
            }
            if most == 0 {
                spread.has_more = true;
                return None;
            }
            most -= 1;
            let (Some(id), Some(request)) = (work.free.take(), replaying.next.take()) else { return None };
            if std::mem::take(&mut replaying.is_starved) {
                cells.delayed_by_reading.add(1);
            }
            cells.issued.add(1);
            let operation = request.action.operation().unwrap_or(Operation::Write);
            slots[id as usize].begin(operation, request.offset, now_ns);
            let at = (id - work.first_slot) as usize;
            replaying.lengths[at] = match request.action {
                Action::Flush(FlushCall::Fdatasync) => FDATASYNC,
                Action::Flush(FlushCall::Fsync) => FSYNC,
                Action::Operation(_) => request.length,
            };
            replaying.is_flushing = is_flush && replaying.is_closed_loop;
            if let Some(starts) = &starts {
                cells.lateness.record(now_ns.saturating_sub(due_ns));
                let left = work.free.free_count();
                starts.account(&mut slots[id as usize], &mut work.saturation, due_ns, now_ns, left);
            }
            match request.action {
                Action::Flush(call) => engine.stage_flush(id, work.file, call),
                Action::Operation(_) => {
                    let started_ns = work.stage_recorded(engine, clock, rng, id, &request);
                    slots[id as usize].started_ns = started_ns.unwrap_or(now_ns);
                }
            }
        }
        None
    }
}
