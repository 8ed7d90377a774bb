//! Where workers wait until all of them are ready, and control until all of them have ended.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The meeting point of control and workers.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    /// What workers wait for. Apart from the other, else each that is ready would wake all that are.
    signalled: Condvar,
    /// What control waits for.
    reported: Condvar,
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

    /// Something went wrong on a worker.
    pub(crate) fn error(&self, message: String) {
        self.lock().errors.push(message);
        self.reported.notify_all();
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

    /// What went wrong so far.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.lock().errors.clone()
    }
}
