//! When a worker moves counts from one cell to another, so that a reader does not count them twice or not
//! at all.
//!
//! A sequence lock: the number is odd while the worker moves, which it does as a part of the measurement ends, and
//! whoever read meanwhile reads again. The worker never waits.

use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence};
use std::thread;
use std::time::Duration;

/// A worker that lost its CPU in the middle of moving is waited for so often: a tenth of a second or so.
const TRIES_MAX: u32 = 1000;
const PATIENCE: Duration = Duration::from_micros(50);

/// Begins and ends of moves.
#[derive(Debug, Default)]
pub(crate) struct SeqLock(AtomicU64);

impl SeqLock {
    /// A move begins. Only the worker may.
    pub(crate) fn begin(&self) {
        self.0.store(self.0.load(Relaxed) + 1, Relaxed);
        fence(Release);
    }

    /// A move is over. Only the worker may.
    pub(crate) fn end(&self) {
        self.0.store(self.0.load(Relaxed) + 1, Release);
    }

    /// A value read between two moves; after too many tries, the value that was read last.
    pub(crate) fn between<T>(&self, read: impl Fn() -> T) -> T {
        for _ in 0..TRIES_MAX {
            let before = self.0.load(Acquire);
            if !before.is_multiple_of(2) {
                thread::sleep(PATIENCE);
                continue;
            }
            let found = read();
            fence(Acquire);
            if self.0.load(Relaxed) == before {
                return found;
            }
        }
        read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn what_moves_is_neither_doubled_nor_lost() {
        let (turns, current, sum, over) =
            (SeqLock::default(), AtomicU64::new(1000), AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..200_000 {
                    turns.begin();
                    let moved = current.swap(0, Relaxed);
                    sum.fetch_add(moved, Relaxed);
                    turns.end();
                    turns.begin();
                    let moved = sum.swap(0, Relaxed);
                    current.fetch_add(moved, Relaxed);
                    turns.end();
                }
                over.store(true, Relaxed);
            });
            while !over.load(Relaxed) {
                assert_eq!(turns.between(|| current.load(Relaxed) + sum.load(Relaxed)), 1000);
            }
        });
    }

    #[test]
    fn a_move_that_does_not_end_is_not_waited_for() {
        let turns = SeqLock::default();
        turns.begin();
        assert_eq!(turns.between(|| 7), 7);
    }
}
