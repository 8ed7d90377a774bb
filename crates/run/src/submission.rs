//! When operations are handed to the kernel: whatever there is once per turn, or in batches as
//! `-u` asks.
//!
//! The batched loop follows `DiskSpd` 2.3: requests are built one at a time; what happens after each
//! depends on how many are built (`queued`), how many are still idle, and whether latencies are
//! measured, in which case completions are looked for as soon as possible.

use crate::allowance::Allowance;
use crate::shape::{Batched, General, Submission};
use crate::worker::{Iteration, Worker, WorkerError, engine_trouble};
use engine::{Engine, Wait};
use hot::clock::Clock;

/// Outcome of building one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuildOutcome {
    /// It was built.
    One,
    /// Requests are idle, and none may start before this time.
    NotBefore {
        /// Monotonic nanoseconds.
        start_ns: u64,
    },
    /// No request is idle.
    NoneIdle,
}

/// Next call to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Go on building without a look at completions.
    GoOn,
    /// Look at completions that are there, without a system call.
    Look,
    /// Sleep until this time.
    Sleep(u64),
    /// A system call, and how many completions are taken after it.
    Enter { wait: Wait, most: u32 },
}

impl Batched {
    /// The next step, with `idle` requests left and `in_flight` operations built or submitted.
    fn step(&self, built: BuildOutcome, idle: u32, in_flight: u32, paced: bool) -> Step {
        let Self { size, latency_run, queued } = *self;
        let most = match (latency_run, paced) {
            (true, _) => u32::MAX,
            (false, true) => size,
            // Enough to fill the next batch.
            (false, false) => size.saturating_sub(idle),
        };
        let enter = |wait| Step::Enter { wait, most };
        match built {
            BuildOutcome::NotBefore { start_ns } if in_flight == 0 => Step::Sleep(start_ns),
            BuildOutcome::NotBefore { start_ns } => {
                enter(Wait::Until { count: queued.min(size).max(1), deadline_ns: start_ns })
            }
            BuildOutcome::One | BuildOutcome::NoneIdle if idle == 0 => {
                enter(Wait::For { count: if latency_run { 1 } else { queued.max(1) } })
            }
            _ if queued >= size => enter(Wait::For { count: if latency_run { 0 } else { size.saturating_sub(idle) } }),
            _ if latency_run => Step::Look,
            _ => Step::GoOn,
        }
    }
}

impl<E: Engine, C: Clock> Worker<E, C> {
    /// Builds at most one operation and does what follows from it.
    pub(crate) fn turn_batched(&mut self, mut batched: Batched, now_ns: u64) -> Result<Iteration, WorkerError> {
        let built = self.issue_one(now_ns);
        batched.queued += u32::from(built == BuildOutcome::One);
        let in_flight = self.engine.in_flight();
        self.recorder.in_flight.set(u64::from(in_flight));
        // None may start once one was refused: what is built goes out, what is out comes back.
        let refused = self.allowance.as_ref().is_some_and(Allowance::is_refused);
        if refused && self.finish_if_budget_spent() {
            return Ok(Iteration::Over);
        }
        let idle = if refused { 0 } else { self.slots.len() as u32 - in_flight };
        let waits = &self.recorder.waits;
        match batched.step(built, idle, in_flight, self.paced) {
            Step::GoOn => {}
            Step::Sleep(until_ns) => {
                waits.throttle_sleep.add(1);
                sys::clock::sleep_until_ns(self.wake_ns(until_ns).min(self.phases.end_ns));
                self.now_ns = self.clock.now_ns();
            }
            Step::Look => {
                self.collect::<General>(u32::MAX, true)?;
            }
            Step::Enter { wait, most } => {
                if matches!(wait, Wait::Until { .. }) {
                    waits.throttle_wait.add(1);
                }
                let pushed = self.engine.push(wait).map_err(|error| engine_trouble(&error))?;
                batched.queued = batched.queued.saturating_sub(pushed.submitted);
                self.count_submission(pushed);
                self.collect::<General>(most, false)?;
            }
        }
        self.submission = Submission::Batched(batched);
        Ok(Iteration::GoOn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batched(size: u32, latency_run: bool, queued: u32) -> Batched {
        Batched { size, latency_run, queued }
    }

    fn enter(count: u32, most: u32) -> Step {
        Step::Enter { wait: Wait::For { count }, most }
    }

    #[test]
    fn without_latencies_a_batch_waits_for_the_shortfall_of_the_next() {
        // -o8 -u2 while filling up: submit and wait for nothing, take nothing.
        assert_eq!(batched(2, false, 2).step(BuildOutcome::One, 6, 2, false), enter(0, 0));
        assert_eq!(batched(2, false, 1).step(BuildOutcome::One, 7, 1, false), Step::GoOn);
        // Steady: nothing idle, wait for as many as were queued and take a batch.
        assert_eq!(batched(2, false, 2).step(BuildOutcome::One, 0, 8, false), enter(2, 2));
        // One idle: the next batch is one short.
        assert_eq!(batched(2, false, 2).step(BuildOutcome::One, 1, 7, false), enter(1, 1));
    }

    #[test]
    fn with_latencies_completions_are_looked_for_at_once() {
        assert_eq!(batched(4, true, 1).step(BuildOutcome::One, 7, 1, false), Step::Look);
        assert_eq!(batched(4, true, 4).step(BuildOutcome::One, 4, 4, false), enter(0, u32::MAX));
        assert_eq!(batched(4, true, 1).step(BuildOutcome::One, 0, 8, false), enter(1, u32::MAX));
    }

    #[test]
    fn throttled_requests_wait_with_a_deadline_or_sleep() {
        let throttled = BuildOutcome::NotBefore { start_ns: 77 };
        assert_eq!(batched(4, false, 0).step(throttled, 8, 0, true), Step::Sleep(77));
        let until = |count| Wait::Until { count, deadline_ns: 77 };
        assert_eq!(batched(4, false, 2).step(throttled, 6, 2, true), Step::Enter { wait: until(2), most: 4 });
        assert_eq!(batched(4, true, 0).step(throttled, 6, 2, true), Step::Enter { wait: until(1), most: u32::MAX });
    }
}
