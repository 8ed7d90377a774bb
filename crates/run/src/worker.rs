//! The loop: one thread, its requests, and nothing that costs more than the I/O itself.
//!
//! A worker is a value with a [`turn`](Worker::turn); production calls it on a thread until it
//! says that it is over, tests call it in any order on a clock of their own. Nothing here
//! allocates, locks or formats unless an I/O fails.

use crate::allowance::Allowance;
use crate::collect::Paging;
use crate::flush::Flusher;
use crate::phase::{Phases, Stop};
use crate::recorder::Recorder;
use crate::spread::Spread;
use crate::submission::Submission;
use crate::work::{Assigner, Work};
use engine::{DoneBatch, Engine, Pushed, Wait};
use hot::clock::Clock;
use hot::rng::Rng;
use std::io;
use std::sync::Arc;

/// Waits shorter than this are spent looking for completions: waking from a sleep takes longer.
const SPIN_NS: u64 = 100_000;

/// A request and its operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// Index of the target that the operation goes to.
    pub(crate) work: u32,
    pub(crate) write: bool,
    pub(crate) offset: u64,
    pub(crate) started_ns: u64,
    /// When it was meant to start, in an open loop.
    pub(crate) intended_ns: u64,
}

impl Slot {
    /// An operation begins.
    #[inline]
    pub(crate) fn begin(&mut self, write: bool, offset: u64, now_ns: u64) {
        self.write = write;
        self.offset = offset;
        self.started_ns = now_ns;
    }
}

/// What a worker does until the run is over.
pub struct Worker<E, C> {
    pub(crate) engine: E,
    pub(crate) clock: C,
    pub(crate) rng: Rng,
    pub(crate) work: Box<[Work]>,
    pub(crate) assigner: Assigner,
    pub(crate) slots: Box<[Slot]>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) stop: Arc<Stop>,
    pub(crate) phases: Phases,
    pub(crate) done: DoneBatch,
    pub(crate) paging: Paging,
    /// Any target has a limit.
    pub(crate) paced: bool,
    /// Operations begin with a stamp of their own: those that were waited with, and those that a kernel
    /// thread takes while this one goes on.
    pub(crate) stamps_starts: bool,
    /// Starts are intended at times of their own (`--rate`).
    pub(crate) open_loop: bool,
    pub(crate) submission: Submission,
    pub(crate) spread: Spread,
    /// `None` = as many I/Os as there is time for.
    pub(crate) allowance: Option<Allowance>,
    /// Completions taken at once (`-oc`).
    pub(crate) completions_max: u32,
    /// The latest stamp.
    pub(crate) now_ns: u64,
    pub(crate) sampling: Sampling,
    /// `--fdatasync-every`.
    pub(crate) flusher: Option<Flusher>,
}

/// Turns whose operations are timed from their submission too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    /// Turns to the next; 0 = none at all.
    turns_left: u32,
    /// The stamp that the operations of the latest such turn began with; `u64::MAX` = there was none.
    pub(crate) started_ns: u64,
    /// Taken just before they were submitted.
    pub(crate) submitted_ns: u64,
    /// Those of them that have not come back: no other turn is sampled before, or the slow would be
    /// missing.
    pub(crate) unfinished: u32,
}

/// One turn in so many takes a stamp of its own before it submits.
const SAMPLED_TURNS: u32 = 64;

impl Sampling {
    /// Samples turns, or none.
    pub(crate) fn new(on: bool) -> Self {
        Self { turns_left: if on { SAMPLED_TURNS } else { 0 }, started_ns: u64::MAX, submitted_ns: 0, unfinished: 0 }
    }
}

/// What a turn led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Call again.
    GoOn,
    /// The run is over for this worker; operations may still be in flight.
    Over,
}

/// An I/O that went wrong, or a ring that broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// One operation failed, or came back empty.
    Io {
        /// Index into the worker's targets.
        work: usize,
        /// True if it was a write.
        write: bool,
        /// Where.
        offset: u64,
        /// How much.
        length: u64,
        /// The kernel's error number; 0 = nothing was transferred.
        errno: i32,
    },
    /// A flush failed.
    Flush {
        /// Index into the worker's targets.
        work: usize,
        /// The kernel's error number.
        errno: i32,
    },
    /// The engine itself failed.
    Engine {
        /// The kernel's error number.
        errno: i32,
    },
}

impl<E: Engine, C: Clock> Worker<E, C> {
    /// The start signal was given: load begins at `phases.start_ns`.
    pub fn start(&mut self, phases: Phases) {
        self.phases = phases;
        self.now_ns = self.clock.now_ns();
        for work in &mut self.work {
            work.pacer.start(phases.start_ns);
        }
    }

    /// Issues what may be issued, waits for what comes back, and counts it.
    ///
    /// # Errors
    ///
    /// The first trouble; the worker must not be turned again after it.
    pub fn turn(&mut self) -> Result<Turn, Trouble> {
        // In a closed loop the stamp of the last completions is the time of the next starts: a
        // request's time then includes reaping and staging its batch. Paced starts need the time
        // itself.
        let now_ns = if self.stamps_starts { self.clock.now_ns() } else { self.now_ns };
        if now_ns >= self.phases.end_ns.min(self.stop.at_ns()) || self.stop.is_over() {
            return Ok(Turn::Over);
        }
        self.enter_phase(now_ns);
        if self.flusher.as_mut().is_some_and(|flusher| flusher.is_due(&self.recorder)) {
            return self.flush(now_ns);
        }
        if let Submission::Batched(batched) = self.submission {
            return self.turn_batched(batched, now_ns);
        }
        let before = self.engine.in_flight();
        let next_start_ns = self.issue(now_ns);
        if self.allowance.is_some() && next_start_ns.is_none() && self.leaves() {
            return Ok(Turn::Over);
        }
        let started = self.engine.in_flight() - before;
        self.sample_stamps(now_ns, started);
        if E::TAKES_MANY && self.spread.is_on() {
            self.wait_spread(now_ns, next_start_ns, before, started)?;
        } else {
            self.wait(now_ns, next_start_ns)?;
        }
        Ok(Turn::GoOn)
    }

    /// Waits only if nothing more may start, and not in a turn that looks how many of the `started` operations
    /// complete inside the submission, with `before` others in flight.
    #[inline(never)]
    fn wait_spread(
        &mut self,
        now_ns: u64,
        next_start_ns: Option<u64>,
        before: u32,
        started: u32,
    ) -> Result<(), Trouble> {
        if started > 0 && self.spread.is_watched() {
            self.push_and_reap(Wait::Poll, now_ns)?;
            let completed = before + started - self.engine.in_flight();
            self.spread.saw(before, started, completed);
            Ok(())
        } else if self.spread.has_more {
            self.push_and_reap(Wait::Poll, now_ns)
        } else {
            self.wait(now_ns, next_start_ns)
        }
    }

    /// Waits for what is under way, then flushes.
    #[cold]
    fn flush(&mut self, now_ns: u64) -> Result<Turn, Trouble> {
        if self.engine.in_flight() > 0 {
            self.wait(now_ns, None)?;
            return Ok(Turn::GoOn);
        }
        let begun_ns = self.clock.now_ns();
        if let Some(Err((work, error))) = self.flusher.as_mut().map(|flusher| flusher.flush(&self.recorder)) {
            return Err(Trouble::Flush { work, errno: error.raw_os_error().unwrap_or(0) });
        }
        self.now_ns = self.clock.now_ns();
        let counts = self.paging.is_measuring() && self.now_ns < self.phases.cool_down_ns.min(self.stop.at_ns());
        if let Some(flushes) = self.recorder.flushes.as_ref().filter(|_| counts) {
            flushes.record(self.now_ns - begun_ns);
        }
        Ok(Turn::GoOn)
    }

    /// In some turns, a stamp just before the submission of the `issued` operations.
    #[inline]
    fn sample_stamps(&mut self, now_ns: u64, issued: u32) {
        let Sampling { turns_left, unfinished, .. } = self.sampling;
        if turns_left > 1 {
            self.sampling.turns_left -= 1;
        } else if turns_left == 1 && unfinished == 0 {
            let submitted_ns = self.clock.now_ns();
            self.sampling =
                Sampling { turns_left: SAMPLED_TURNS, started_ns: now_ns, submitted_ns, unfinished: issued };
        }
    }

    /// Takes in what is still in flight, without counting it, until `deadline_ns`. Gives the
    /// number of operations that did not come back.
    pub fn drain(&mut self, deadline_ns: u64) -> u32 {
        self.count_backlog();
        let mut cancelled = false;
        while self.engine.in_flight() > 0 {
            let now_ns = self.clock.now_ns();
            if now_ns >= deadline_ns {
                break;
            }
            // Half of the time is for I/Os to end by themselves.
            let patience_ns = if cancelled { deadline_ns } else { now_ns + (deadline_ns - now_ns) / 2 };
            let pushed = self.engine.push(Wait::Until { count: 1, deadline_ns: patience_ns });
            self.done.clear();
            self.engine.reap(&mut self.done, u32::MAX);
            let nothing = self.done.items().is_empty();
            if pushed.is_err() || (nothing && !cancelled && self.clock.now_ns() >= patience_ns) {
                self.engine.cancel_all();
                cancelled = true;
            }
        }
        self.recorder.in_flight.set(u64::from(self.engine.in_flight()));
        self.engine.in_flight()
    }

    pub(crate) fn enter_phase(&mut self, now_ns: u64) {
        if !self.paging.is_measuring() && now_ns >= self.phases.measure_ns && now_ns < self.phases.cool_down_ns {
            self.paging.start_measuring(now_ns, &self.phases, &self.recorder);
            if let Some(allowance) = &mut self.allowance {
                allowance.start_measuring();
            }
        }
    }

    /// True if nothing is in flight and nothing more may start: the allowance is used up, and
    /// others are told.
    pub(crate) fn leaves(&self) -> bool {
        let Some(allowance) = &self.allowance else { return false };
        let over = allowance.is_refused() && self.engine.in_flight() == 0;
        if over {
            allowance.leave(self.now_ns, &self.stop);
        }
        over
    }

    /// Hands staged operations over, waits for a completion or for the next start, and counts what
    /// came back.
    #[inline]
    fn wait(&mut self, now_ns: u64, next_start_ns: Option<u64>) -> Result<(), Trouble> {
        let in_flight = self.engine.in_flight();
        let waits = &self.recorder.waits;
        let wait = match next_start_ns {
            Some(start_ns) if in_flight == 0 => {
                self.recorder.in_flight.set(0);
                if start_ns - now_ns > SPIN_NS {
                    waits.throttle_sleep.add(1);
                    sys::clock::sleep_until_ns(self.wake_ns(start_ns).min(self.phases.end_ns));
                }
                return Ok(());
            }
            Some(start_ns) if start_ns - now_ns <= SPIN_NS => Wait::Poll,
            Some(start_ns) => Wait::Until { count: 1, deadline_ns: self.wake_ns(start_ns) },
            None => Wait::For { count: 1 },
        };
        self.push_and_reap(wait, now_ns)
    }

    /// Hands staged operations over, waits as told, and counts what came back.
    #[inline]
    fn push_and_reap(&mut self, wait: Wait, now_ns: u64) -> Result<(), Trouble> {
        self.recorder.in_flight.set(u64::from(self.engine.in_flight()));
        let waits = &self.recorder.waits;
        match wait {
            Wait::For { .. } => waits.wait.add(1),
            Wait::Until { .. } => waits.throttle_wait.add(1),
            Wait::Poll => waits.lookaside.add(1),
        }
        let pushed = self.engine.push(wait).map_err(|error| engine_trouble(&error))?;
        self.count_submission(pushed, now_ns);
        self.reap_counted(self.completions_max, wait == Wait::Poll)
    }

    /// When a wait for a start ends. In an open loop it ends early enough to be awake at the start:
    /// what waking takes would count as response time.
    pub(crate) fn wake_ns(&self, start_ns: u64) -> u64 {
        if self.open_loop { start_ns - SPIN_NS.min(start_ns) } else { start_ns }
    }

    /// Counts a system call that was made at `now_ns` and handed operations over. Those of the warm-up are
    /// forgotten later, those of the cool-down never counted.
    #[inline]
    pub(crate) fn count_submission(&self, pushed: Pushed, now_ns: u64) {
        let counts = pushed.submitted > 0 && now_ns < self.phases.cool_down_ns;
        self.recorder.submits.add(u64::from(counts));
    }

    /// Takes at most `most` completions, after a look without waiting or after a wait.
    pub(crate) fn reap_counted(&mut self, most: u32, was_look: bool) -> Result<(), Trouble> {
        self.done.clear();
        self.engine.reap(&mut self.done, most);
        let waits = &self.recorder.waits;
        let tally = if was_look { &waits.lookaside_completions } else { &waits.wait_completions };
        tally[self.done.items().len().min(7)].add(1);
        self.collect()
    }
}

pub(crate) fn engine_trouble(error: &io::Error) -> Trouble {
    Trouble::Engine { errno: error.raw_os_error().unwrap_or(0) }
}
