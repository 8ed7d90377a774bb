//! Where workers wait until all of them are ready, and control until all of them have ended.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The meeting point of control and workers.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: usize,
    ended: usize,
    signal: Option<Signal>,
    errors: Vec<String>,
}

/// What the workers are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Load begins at this time.
    Start {
        /// Monotonic nanoseconds.
        start_ns: u64,
    },
    /// Go home.
    Abandon,
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
        self.changed.notify_all();
        loop {
            if let Some(signal) = state.signal {
                return signal;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Something went wrong on a worker.
    pub(crate) fn error(&self, message: String) {
        self.lock().errors.push(message);
        self.changed.notify_all();
    }

    /// A worker has ended.
    pub(crate) fn ended(&self) {
        self.lock().ended += 1;
        self.changed.notify_all();
    }

    /// Gives the signal.
    pub(crate) fn signal(&self, signal: Signal) {
        self.lock().signal = Some(signal);
        self.changed.notify_all();
    }

    /// Waits until `count` workers are ready or one has failed; false if one has.
    pub(crate) fn all_ready(&self, count: usize) -> bool {
        let mut state = self.lock();
        while state.ready < count && state.errors.is_empty() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.errors.is_empty()
    }

    /// Waits at most `patience` for `count` workers to end; true if they have.
    pub(crate) fn all_ended(&self, count: usize, patience: Duration) -> bool {
        let state = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, patience, |state| state.ended < count)
            .unwrap_or_else(PoisonError::into_inner);
        state.ended >= count
    }

    /// What went wrong so far.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.lock().errors.clone()
    }
}
