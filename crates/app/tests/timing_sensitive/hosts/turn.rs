//! How many tests have agents at a time.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, PoisonError};

/// Each has several agents, a server and a controller, which must all be heard in time.
const TURNS: u32 = 16;

static TAKEN: Mutex<u32> = Mutex::new(0);
static ONE_ENDED: Condvar = Condvar::new();

thread_local! {
    /// Those of this thread, which count as one.
    static OF_THREAD: Cell<u32> = const { Cell::new(0) };
}

/// A test's turn, until it is dropped on the thread that took it.
#[derive(Debug)]
pub(crate) struct Turn(PhantomData<*const ()>);

impl Turn {
    /// Waits for it.
    pub(crate) fn take() -> Self {
        if OF_THREAD.replace(OF_THREAD.get() + 1) == 0 {
            let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
            let mut taken =
                ONE_ENDED.wait_while(taken, |taken| *taken == TURNS).unwrap_or_else(PoisonError::into_inner);
            *taken += 1;
        }
        Self(PhantomData)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        OF_THREAD.set(OF_THREAD.get() - 1);
        if OF_THREAD.get() == 0 {
            *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            ONE_ENDED.notify_one();
        }
    }
}
