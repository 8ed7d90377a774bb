//! The requests of a trace for one thread (`trace replay`), and those under way.
//!
//! Another thread reads the trace ahead into a bounded queue ([`Feed`]).

use engine::SlotId;
use hot::replay::{Feed, Request};
use model::action::Action;
use model::profile::FlushCall;
use std::sync::Arc;

/// The requests of a trace for one thread, and those under way.
#[derive(Debug)]
pub(crate) struct Replaying {
    feed: Arc<Feed>,
    /// The next request.
    next: Option<Request>,
    /// Requests have no times: each starts as soon as it may.
    pub(crate) is_closed_loop: bool,
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

    /// True if the next request waits for those under way: a flush of a closed replay, and what follows it.
    pub(crate) fn waits(&self) -> bool {
        let is_flush = matches!(self.next, Some(Request { action: Action::Flush(_), .. }));
        self.is_closed_loop && (is_flush || self.is_flushing)
    }

    /// The next request is not due yet: it waits for nothing else.
    pub(crate) fn is_early(&mut self) {
        self.is_starved = false;
    }

    /// Takes the next request, for the free request with this number; true if it had to be waited for.
    pub(crate) fn take(&mut self, slot: SlotId) -> Option<(Request, bool)> {
        let request = self.next.take()?;
        let is_flush = matches!(request.action, Action::Flush(_));
        self.lengths[slot as usize] = match request.action {
            Action::Flush(FlushCall::Fdatasync) => FDATASYNC,
            Action::Flush(FlushCall::Fsync) => FSYNC,
            Action::Operation(_) => request.length,
        };
        self.is_flushing = is_flush && self.is_closed_loop;
        Some((request, std::mem::take(&mut self.is_starved)))
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
    pub(crate) fn due_ns(&mut self) -> Option<u64> {
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
