//! The loop: one thread, its requests, and nothing that costs more than the I/O itself.
//!
//! A worker is a value with a method `iterate`; a thread calls it until it
//! says that it is over, tests call it in any order on a clock of their own. Nothing here
//! allocates, locks or formats unless an I/O fails.

use crate::allowance::Allowance;
use crate::flush::Flusher;
use crate::interval_cursor::IntervalCursor;
use crate::io_trace::Tracer;
use crate::logs::Log;
use crate::phase::{Phases, Stop};
use crate::recorder::Recorder;
use crate::shape::{Fixed, General, Single, Submission};
use crate::spread::Spread;
use crate::work::{Assigner, Work};
use engine::Engine;
use hot::clock::Clock;
use hot::rng::Rng;
use hot::slots::Slot;
use model::operation::Operation;
use std::io;
use std::sync::Arc;

/// A worker: one thread's engine, targets and phases until the run is over.
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
    pub(crate) cursor: IntervalCursor,
    /// Any target has a limit.
    pub(crate) paced: bool,
    /// Operations begin with a stamp of their own: those that were waited with, and those that a kernel
    /// thread takes while this one goes on.
    pub(crate) stamps_starts: bool,
    /// A free request waits: latencies begin when it came back, not when it is handed over.
    pub(crate) waits_count: bool,
    /// Starts are intended at times of their own (`--rate`).
    pub(crate) open_loop: bool,
    pub(crate) submission: Submission,
    pub(crate) spread: Spread,
    /// Completions are counted with more than their latency: sizes, response times, limits, flushes or traces.
    pub(crate) is_special: bool,
    /// I/Os are recorded (`--trace`), or are those of a trace.
    pub(crate) is_traced: bool,
    /// It flushes after some writes, or begins files anew when they are full.
    pub(crate) pauses: bool,
    /// `None` = as many I/Os as there is time for.
    pub(crate) allowance: Option<Allowance>,
    /// Completions taken at once (`-oc`).
    pub(crate) completions_max: u32,
    /// The latest stamp.
    pub(crate) now_ns: u64,
    pub(crate) sampling: Sampling,
    /// `--fdatasync-every`.
    pub(crate) flusher: Option<Flusher>,
    /// `--trace`.
    pub(crate) tracer: Option<Tracer>,
    /// `--append`: by target, the files that are begun anew when they are full; empty if there are none.
    pub(crate) logs: Box<[Option<Log>]>,
}

/// Turns whose operations are timed from their submission too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    /// Turns to the next; 0 = none at all.
    pub(crate) turns_left: u32,
    /// The stamp that the operations of the latest such turn began with; `u64::MAX` = there was none.
    pub(crate) started_ns: u64,
    /// Taken just before they were submitted.
    pub(crate) submitted_ns: u64,
    /// Those of them that have not come back: no other turn is sampled before, or the slow would be
    /// missing.
    pub(crate) unfinished: u32,
}

/// One turn in this many takes a stamp of its own before it submits.
pub(crate) const SAMPLED_TURNS: u32 = 64;

impl Sampling {
    /// Samples turns, or none.
    pub(crate) fn new(on: bool) -> Self {
        Self { turns_left: if on { SAMPLED_TURNS } else { 0 }, started_ns: u64::MAX, submitted_ns: 0, unfinished: 0 }
    }
}

/// Outcome of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iteration {
    /// Call again.
    GoOn,
    /// The run is over for this worker; operations may still be in flight.
    Over,
}

/// An I/O that went wrong, or a ring that broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerError {
    /// One operation failed, or came back empty.
    Io {
        /// Index into the worker's targets.
        work: usize,
        /// The failed operation.
        operation: Operation,
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
    /// A file that is full could not be begun anew.
    Rotation {
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

impl<E, C> Worker<E, C> {
    /// True if it may run as [`Fixed`].
    fn is_fixed(&self) -> bool {
        matches!(&*self.work, [work] if work.is_all_prepared() && !work.pacer.is_limited() && !work.rotates)
            && !self.replays()
            && matches!(self.assigner, Assigner::Fixed { .. })
            && self.submission == Submission::EachTurn
            && self.allowance.is_none()
            && self.flusher.is_none()
            && self.tracer.is_none()
            && !self.stamps_starts
    }

    /// True if nothing but this program keeps a request from starting anew when it comes back: no rate, burst, batch
    /// (`-u`), flush or rotation, and no content that is made before.
    fn holds_depth(&self) -> bool {
        self.submission == Submission::EachTurn
            && self.flusher.is_none()
            && !self.stamps_starts
            && self.work.iter().all(|work| !work.pacer.is_limited() && !work.rotates && work.refill.is_none())
    }

    /// True if it issues the requests of a trace, which it does on one target only.
    pub(crate) fn replays(&self) -> bool {
        matches!(&*self.work, [work] if work.replaying.is_some())
    }

    /// True if some I/Os have one of several sizes.
    fn has_sizes(&self) -> bool {
        self.work.iter().any(|work| work.sizes.is_some())
    }

    /// True if it may run as [`Single`].
    fn is_single(&self) -> bool {
        self.is_fixed() && !self.has_sizes() && self.slots.len() == 1
    }

    /// Asks once what the loop would have to ask at each I/O.
    fn settle(&mut self) {
        let (is_limited, flushes) = (self.allowance.is_some(), self.flusher.is_some());
        self.pauses = flushes || self.work.iter().any(|work| work.rotates);
        self.is_traced = self.tracer.is_some() || self.replays();
        self.is_special = self.open_loop || is_limited || flushes || self.has_sizes() || self.is_traced;
        for work in &mut self.work {
            work.is_special = is_limited || flushes || work.rotates || work.sizes.is_some() || !work.is_all_prepared();
        }
    }
}

impl<E: Engine, C: Clock> Worker<E, C> {
    /// The start signal was given: load begins at `phases.start_ns`.
    pub fn start(&mut self, phases: Phases) {
        self.phases = phases;
        self.cursor = IntervalCursor::until(phases.measure_ns);
        self.now_ns = self.clock.now_ns();
        self.waits_count = !E::VERIFIES && self.holds_depth();
        for slot in &mut self.slots {
            slot.intended_ns = self.now_ns;
        }
        for work in &mut self.work {
            work.pacer.start(phases.start_ns);
            if let Some(replaying) = &mut work.replaying {
                replaying.start(phases.start_ns);
            }
        }
    }

    /// Turns until the run is over for this worker; operations may still be in flight.
    ///
    /// # Errors
    ///
    /// The first trouble.
    pub fn run(&mut self) -> Result<(), WorkerError> {
        self.settle();
        if E::VERIFIES || !self.is_fixed() {
            self.run_as::<General>()
        } else if self.is_single() {
            // Whenever others look, but for moments.
            self.recorder.in_flight.set(1);
            self.run_as::<Single>()
        } else {
            self.run_as::<Fixed>()
        }
    }

    /// One turn, for those who look on at each.
    #[cfg(test)]
    pub(crate) fn iterate(&mut self) -> Result<Iteration, WorkerError> {
        self.settle();
        match (!E::VERIFIES && self.is_fixed(), !E::VERIFIES && self.is_single()) {
            (_, true) => self.turn_as::<Single>(),
            (true, false) => self.turn_as::<Fixed>(),
            (false, false) => self.turn_as::<General>(),
        }
    }
}

pub(crate) fn engine_trouble(error: &io::Error) -> WorkerError {
    WorkerError::Engine { errno: error.raw_os_error().unwrap_or(0) }
}
