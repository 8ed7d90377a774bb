//! When a timespan ends before its time (`--max-ios`, `--max-bytes`, `--max-write`): what its
//! threads may still start, to the last I/O.
//!
//! The threads take shares of one budget, so that their loops touch no memory of others; shares
//! shrink towards the end, so that no thread keeps what another could use.

use crate::phase::Stop;
use model::operation::Operation;
use model::profile::EndAfter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Relaxed};

/// I/Os of the largest share.
const SHARE_IOS_MAX: u64 = 64;

/// I/Os and bytes that all threads of a timespan may still do.
#[derive(Debug)]
pub(crate) struct Budget {
    ios: Pool,
    bytes: Pool,
    written_bytes: Pool,
    /// Threads that may still start something.
    working: AtomicUsize,
    /// Just after the last completion of the threads that have ended.
    ended_ns: AtomicU64,
    used_up: AtomicBool,
    /// Woken when the last thread has ended.
    control_thread: i32,
}

/// One kind of thing that threads take shares of; `u64::MAX` = as much as they want.
#[derive(Debug)]
struct Pool {
    left: AtomicU64,
    sharers: u64,
}

impl Pool {
    fn new(limit: Option<u64>, sharers: usize) -> Self {
        Self { left: AtomicU64::new(limit.unwrap_or(u64::MAX)), sharers: sharers.max(1) as u64 }
    }

    /// A share of at least `least`, or nothing if so much is not left.
    fn share(&self, least: u64) -> Option<u64> {
        if self.left.load(Relaxed) == u64::MAX {
            return Some(u64::MAX / 2);
        }
        let share_of = |left: u64| (left / (2 * self.sharers)).clamp(least, least.saturating_mul(SHARE_IOS_MAX));
        let taken = self.left.fetch_update(Relaxed, Relaxed, |left| (left >= least).then(|| left - share_of(left)));
        taken.ok().map(share_of)
    }
}

impl Budget {
    /// The budget of `workers` threads; `None` if nothing is limited. `control_thread` is woken
    /// when it is used up.
    pub(crate) fn new(limits: EndAfter, workers: usize, control_thread: i32) -> Option<Self> {
        (limits != EndAfter::default()).then(|| Self::within(limits, workers, control_thread))
    }

    /// The same, whether anything is limited or not: `workers` end by themselves.
    pub(crate) fn within(limits: EndAfter, workers: usize, control_thread: i32) -> Self {
        Self {
            ios: Pool::new(limits.ios, workers),
            bytes: Pool::new(limits.bytes, workers),
            written_bytes: Pool::new(limits.written_bytes, workers),
            working: AtomicUsize::new(workers),
            ended_ns: AtomicU64::new(0),
            used_up: AtomicBool::new(false),
            control_thread,
        }
    }

    /// True once all threads have ended because nothing was left for them.
    pub(crate) fn is_used_up(&self) -> bool {
        self.used_up.load(Relaxed)
    }

    /// A thread found nothing left and has no operation in flight; the last one ends the timespan
    /// just after the last completion of all.
    fn leave(&self, last_completion_ns: u64, stop: &Stop) {
        self.ended_ns.fetch_max(last_completion_ns + 1, AcqRel);
        if self.working.fetch_sub(1, AcqRel) == 1 {
            self.used_up.store(true, Relaxed);
            stop.request(self.ended_ns.load(Relaxed));
            sys::thread::wake(self.control_thread);
        }
    }
}

/// True if the operation may wear the device, so that `--max-write` counts it.
pub(crate) const fn writes_media(operation: Operation) -> bool {
    matches!(operation, Operation::Write | Operation::WriteZeroes)
}

/// One thread's share of the budget.
#[derive(Debug)]
pub(crate) struct Allowance {
    budget: Arc<Budget>,
    ios: u64,
    bytes: u64,
    written_bytes: u64,
    measuring: bool,
    refused: bool,
}

impl Allowance {
    /// Nothing taken yet.
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self { budget, ios: 0, bytes: 0, written_bytes: 0, measuring: false, refused: false }
    }

    /// The measurement begins: what is unfinished will count when it completes.
    pub(crate) fn start_measuring(&mut self) {
        self.measuring = true;
    }

    /// True if an I/O of `block` bytes may start, which may be a write if `may_write`.
    pub(crate) fn admits(&mut self, block: u32, may_write: bool) -> bool {
        let block = u64::from(block);
        let admitted = reserve(&mut self.ios, 1, &self.budget.ios)
            && reserve(&mut self.bytes, block, &self.budget.bytes)
            && (!may_write || reserve(&mut self.written_bytes, block, &self.budget.written_bytes));
        self.refused = !admitted;
        admitted
    }

    /// An I/O that was admitted has started.
    pub(crate) fn charge(&mut self, block: u32, operation: Operation) {
        let block = u64::from(block);
        self.ios -= 1;
        self.bytes -= block;
        if writes_media(operation) {
            self.written_bytes -= block;
        }
    }

    /// An I/O came back. One that is not measured gives back what it took, so that those in flight
    /// when the measurement begins are paid for.
    pub(crate) fn finish(&mut self, block: u32) {
        if !self.measuring {
            self.ios += 1;
            self.bytes += u64::from(block);
        }
    }

    /// True if the latest I/O that was asked for was refused.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused
    }

    /// The thread starts nothing more.
    pub(crate) fn leave(&self, last_completion_ns: u64, stop: &Stop) {
        self.budget.leave(last_completion_ns, stop);
    }
}

/// Makes sure that at least `least` are at hand.
fn reserve(at_hand: &mut u64, least: u64, pool: &Pool) -> bool {
    while *at_hand < least {
        let Some(share) = pool.share(least - *at_hand) else { return false };
        *at_hand += share;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn allowances(limits: EndAfter, threads: usize) -> Vec<Allowance> {
        let budget = Arc::new(Budget::new(limits, threads, 0).expect("something is limited"));
        (0..threads).map(|_| Allowance::new(Arc::clone(&budget))).collect()
    }

    fn start(allowance: &mut Allowance, block: u32, operation: Operation) -> bool {
        let admitted = allowance.admits(block, writes_media(operation));
        if admitted {
            allowance.charge(block, operation);
            allowance.finish(block);
        }
        admitted
    }

    proptest! {
        #[test]
        fn threads_together_start_exactly_what_is_allowed(
            limit in 0_u64..5000,
            order in prop::collection::vec(0_usize..4, 1..50),
        ) {
            let mut threads = allowances(EndAfter { ios: Some(limit), ..EndAfter::default() }, 4);
            for thread in &mut threads {
                thread.start_measuring();
            }
            let mut started = 0;
            // In any order, then each until it is refused.
            for &turn in order.iter().chain(&[0, 1, 2, 3]) {
                for _ in 0..97 {
                    started += u64::from(start(&mut threads[turn], 4096, Operation::Read));
                }
            }
            for thread in &mut threads {
                while start(thread, 4096, Operation::Read) {
                    started += 1;
                }
            }
            prop_assert_eq!(started, limit);
        }
    }

    #[test]
    fn bytes_written_count_from_the_start_and_never_exceed_the_limit() {
        let limit = EndAfter { written_bytes: Some(10_000), ..EndAfter::default() };
        let [mut thread] = <[_; 1]>::try_from(allowances(limit, 1)).expect("one was asked for");
        assert!(start(&mut thread, 4096, Operation::Write) && start(&mut thread, 4096, Operation::Write));
        assert!(!start(&mut thread, 4096, Operation::Write), "8192 of 10000 are written");
        assert!(thread.is_refused());
        assert!(start(&mut thread, 1024, Operation::Write), "a smaller one fits");
        assert!(!thread.is_refused());
        assert!(start(&mut thread, 1 << 20, Operation::Read), "reads are free");
    }

    #[test]
    fn operations_in_flight_when_the_measurement_begins_count() {
        let limit = EndAfter { ios: Some(5), bytes: Some(1 << 20), ..EndAfter::default() };
        let [mut thread] = <[_; 1]>::try_from(allowances(limit, 1)).expect("one was asked for");
        for _ in 0..3 {
            assert!(thread.admits(4096, false));
            thread.charge(4096, Operation::Read);
        }
        thread.start_measuring();
        assert!(start(&mut thread, 4096, Operation::Read) && start(&mut thread, 4096, Operation::Read));
        assert!(!start(&mut thread, 4096, Operation::Read));
    }

    #[test]
    fn the_last_thread_to_leave_ends_the_run_after_the_last_completion() {
        let limit = EndAfter { ios: Some(0), ..EndAfter::default() };
        let threads = allowances(limit, 2);
        let stop = Stop::default();
        threads[1].leave(900, &stop);
        assert_eq!(stop.at_ns(), u64::MAX);
        assert!(!threads[0].budget.is_used_up());
        threads[0].leave(700, &stop);
        assert_eq!(stop.at_ns(), 901);
        assert!(threads[0].budget.is_used_up());
    }
}
