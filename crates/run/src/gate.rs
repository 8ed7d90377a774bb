//! Where workers wait until all of them are ready, and control until all of them have ended.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The meeting point of control and workers.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    /// Wakes workers. Apart from the other, else each that is ready would wake all that are.
    signalled: Condvar,
    /// Wakes control.
    reported: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: usize,
    ended: usize,
    locked: LockedMemory,
    signal: Option<Signal>,
    errors: Vec<String>,
}

/// Locked memory of the rings of all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockedMemory {
    /// Rings that were made.
    pub(crate) rings: u32,
    /// Bytes of the rings and of the buffers that are to be registered.
    pub(crate) needed_bytes: u64,
    /// Workers whose buffers found no room below the limit.
    pub(crate) refused: u32,
}

/// Signal to the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Load begins at this time.
    Start {
        /// Monotonic nanoseconds.
        start_ns: u64,
    },
    /// End without running.
    Abandon,
}

/// How far the workers are with their setting up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// Some are at it.
    NotYet,
    /// All are ready.
    Ready,
    /// One has failed.
    Failed,
}

impl Gate {
    /// A panicking worker poisons the lock; what it guards is valid at every moment.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker is set up; waits for the signal.
    pub(crate) fn ready(&self) -> Signal {
        let mut state = self.lock();
        state.ready += 1;
        self.reported.notify_all();
        loop {
            if let Some(signal) = state.signal {
                return signal;
            }
            state = self.signalled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A worker has its ring, which needs so much locked memory with its buffers; waits until all `count` have theirs,
    /// so that no buffers take the memory of a ring. Ends early if the workers are not to run.
    pub(crate) fn ring_made(&self, count: u32, locked_bytes: u64) {
        let mut state = self.lock();
        state.locked.rings += 1;
        state.locked.needed_bytes = state.locked.needed_bytes.saturating_add(locked_bytes);
        if state.locked.rings == count {
            self.signalled.notify_all();
        }
        while state.locked.rings < count && state.errors.is_empty() && state.signal.is_none() {
            state = self.signalled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The buffers of a worker are not registered, because the limit on locked memory is reached.
    pub(crate) fn buffers_refused(&self) {
        self.lock().locked.refused += 1;
    }

    /// Locked memory of all rings.
    pub(crate) fn locked_memory(&self) -> LockedMemory {
        self.lock().locked
    }

    /// Something went wrong on a worker.
    pub(crate) fn error(&self, message: String) {
        self.lock().errors.push(message);
        self.reported.notify_all();
        self.signalled.notify_all();
    }

    /// A worker has ended.
    pub(crate) fn ended(&self) {
        self.lock().ended += 1;
        self.reported.notify_all();
    }

    /// Gives the signal.
    pub(crate) fn signal(&self, signal: Signal) {
        self.lock().signal = Some(signal);
        self.signalled.notify_all();
    }

    /// Waits at most `patience` until `count` workers are ready or one has failed.
    pub(crate) fn readiness(&self, count: usize, patience: Duration) -> Readiness {
        let is_open = |state: &mut State| state.ready < count && state.errors.is_empty();
        let (state, _) =
            self.reported.wait_timeout_while(self.lock(), patience, is_open).unwrap_or_else(PoisonError::into_inner);
        match () {
            () if !state.errors.is_empty() => Readiness::Failed,
            () if state.ready < count => Readiness::NotYet,
            () => Readiness::Ready,
        }
    }

    /// Waits at most `patience` for `count` workers to end; true if they have.
    pub(crate) fn all_ended(&self, count: usize, patience: Duration) -> bool {
        let state = self.lock();
        let (state, _) = self
            .reported
            .wait_timeout_while(state, patience, |state| state.ended < count)
            .unwrap_or_else(PoisonError::into_inner);
        state.ended >= count
    }

    /// Errors so far, as sentences.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.lock().errors.clone()
    }
}
