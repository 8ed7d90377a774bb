//! The loop: one thread, its requests, and nothing that costs more than the I/O itself.
//!
//! A worker is a value with a method `turn`; a thread calls it until it
//! says that it is over, tests call it in any order on a clock of their own. Nothing here
//! allocates, locks or formats unless an I/O fails.

use crate::allowance::Allowance;
use crate::drain::CANCEL_NS;
use crate::flush::Flusher;
use crate::interval_cursor::IntervalCursor;
use crate::io_trace::Tracer;
use crate::logs::Log;
use crate::phase::{Phases, Stop};
use crate::recorder::Recorder;
use crate::shape::{Fixed, General, Shape, Single, Submission};
use crate::spread::Spread;
use crate::work::{Assigner, Refill, Work};
use engine::{Engine, Pushed, Wait};
use hot::clock::Clock;
use hot::counters;
use hot::rng::Rng;
use hot::slots::Slot;
use model::operation::Operation;
use std::io;
use std::sync::Arc;

/// Waits shorter than this are spent looking for completions: waking from a sleep takes longer.
const SPIN_NS: u64 = 100_000;

/// How often a worker that waits for its last I/Os looks whether they are to be cancelled.
const LOOK_NS: u64 = 100_000_000;

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
pub enum WorkerError {
    /// One operation failed, or came back empty.
    Io {
        /// Index into the worker's targets.
        work: usize,
        /// What it was to do.
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

    /// True if it issues the requests of a trace.
    pub(crate) fn replays(&self) -> bool {
        self.work.iter().any(|work| work.replaying.is_some())
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

    #[inline]
    fn run_as<S: Shape>(&mut self) -> Result<(), WorkerError> {
        while self.turn_as::<S>()? == Turn::GoOn {}
        Ok(())
    }

    /// One turn, for those who look on at each.
    #[cfg(test)]
    pub(crate) fn turn(&mut self) -> Result<Turn, WorkerError> {
        self.settle();
        match (!E::VERIFIES && self.is_fixed(), !E::VERIFIES && self.is_single()) {
            (_, true) => self.turn_as::<Single>(),
            (true, false) => self.turn_as::<Fixed>(),
            (false, false) => self.turn_as::<General>(),
        }
    }

    /// Issues what may be issued, waits for what comes back, and counts it. The worker must not be turned again after
    /// an error.
    #[inline]
    fn turn_as<S: Shape>(&mut self) -> Result<Turn, WorkerError> {
        // In a closed loop the stamp of the last completions is the time of the next starts: a
        // request's time then includes reaping and staging its batch, and turns in which others go out first. Paced
        // starts need the time itself.
        let mut now_ns = if !S::IS_FIXED && self.stamps_starts { self.clock.now_ns() } else { self.now_ns };
        if now_ns >= self.phases.end_ns || now_ns >= self.stop.leave_ns() {
            return Ok(Turn::Over);
        }
        if !S::IS_FIXED {
            // Otherwise at the stamp, which is this one.
            self.enter_part(now_ns);
        }
        if S::IS_SINGLE && E::DOES_NOW && self.do_in_a_row(now_ns)? {
            return Ok(Turn::GoOn);
        }
        if !S::IS_FIXED && self.pauses {
            if !self.pause()? {
                return Ok(Turn::GoOn);
            }
            now_ns = now_ns.max(self.now_ns);
        }
        if !S::IS_FIXED
            && let Submission::Batched(batched) = self.submission
        {
            return self.turn_batched(batched, now_ns);
        }
        let before = self.engine.in_flight();
        let mut next_start_ns = None;
        let started = if S::IS_SINGLE {
            self.issue_only(now_ns)
        } else if S::IS_FIXED {
            self.issue_fixed(now_ns)
        } else {
            next_start_ns = self.issue(now_ns);
            if self.allowance.is_some() && next_start_ns.is_none() && self.leaves() {
                return Ok(Turn::Over);
            }
            self.engine.in_flight() - before
        };
        if !E::STAMPS && started > 0 {
            self.sample_stamps(now_ns, started);
        }
        let is_watched = E::TAKES_MANY && !S::IS_SINGLE && started > 0 && self.spread.is_watched();
        // Waits only if nothing more may start, and not in an iteration that checks how many of the started operations
        // complete inside the submission.
        let wait = if E::TAKES_MANY && !S::IS_SINGLE && (is_watched || self.spread.has_more) {
            Wait::Poll
        } else if S::IS_FIXED {
            Wait::For { count: 1 }
        } else {
            let Some(wait) = self.wait_for(now_ns, next_start_ns) else { return Ok(Turn::GoOn) };
            wait
        };
        self.push_and_collect::<S>(wait)?;
        if is_watched {
            self.spread.saw(before, started, before + started - self.engine.in_flight());
        }
        Ok(Turn::GoOn)
    }

    /// Flushes if the writes of a group have ended, and begins full files anew; false if I/Os that are under way have
    /// to come back first, or a flush came.
    fn pause(&mut self) -> Result<bool, WorkerError> {
        let is_due = self.flusher.as_ref().is_some_and(Flusher::is_due);
        // A write that waits for a flush belongs to the file as it is.
        let is_full = !is_due && self.work.iter().any(Work::is_full) && !self.has_held();
        if (is_due || is_full) && self.engine.in_flight() > 0 {
            self.push_and_collect::<General>(Wait::For { count: 1 })?;
            return Ok(false);
        }
        if is_due {
            self.flush()?;
        } else if is_full {
            self.rotate()?;
        }
        Ok(!is_due)
    }

    /// Flushes while nothing is under way.
    #[cold]
    #[inline(never)]
    fn flush(&mut self) -> Result<(), WorkerError> {
        let begun_ns = self.clock.now_ns();
        let Some(flusher) = &mut self.flusher else { return Ok(()) };
        let failed =
            |(work, error): (usize, io::Error)| WorkerError::Flush { work, errno: error.raw_os_error().unwrap_or(0) };
        let writes = flusher.flush(&mut self.engine, &self.clock, self.tracer.as_ref()).map_err(failed)?;
        self.now_ns = self.clock.now_ns();
        let is_measured = self.is_measured_now();
        if let Some(flushes) = self.recorder.flushes.as_ref().filter(|_| is_measured) {
            flushes.record(writes, self.now_ns - begun_ns);
        }
        if let Some(flusher) = &mut self.flusher {
            flusher.commit(self.now_ns, is_measured, &self.recorder);
        }
        Ok(())
    }

    /// True if writes wait for a flush.
    fn has_held(&self) -> bool {
        self.flusher.as_ref().is_some_and(Flusher::has_held)
    }

    /// Begins full files anew while nothing is under way. What the thread waits meanwhile is in none of its latencies.
    #[cold]
    #[inline(never)]
    fn rotate(&mut self) -> Result<(), WorkerError> {
        for index in 0..self.work.len() {
            if !self.work[index].is_full() {
                continue;
            }
            let begun_ns = self.clock.now_ns();
            self.engine.begin_emptying(self.work[index].file);
            if let Some(Some(log)) = self.logs.get(index) {
                log.begin_anew()
                    .map_err(|error| WorkerError::Rotation { work: index, errno: error.raw_os_error().unwrap_or(0) })?;
            }
            self.engine.emptied(self.work[index].file);
            self.work[index].rewind();
            self.now_ns = self.clock.now_ns();
            if let Some(rotations) = self.recorder.rotations.as_ref().filter(|_| self.is_measured_now()) {
                counters::record(rotations, self.now_ns - begun_ns);
            }
        }
        Ok(())
    }

    /// True if what ended at the latest stamp belongs to the measurement.
    fn is_measured_now(&self) -> bool {
        self.cursor.is_measuring() && self.now_ns < self.phases.measurement(&self.stop).end
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

    /// Takes in what is still in flight, without counting it, until the control thread cancels it, and then for
    /// [`CANCEL_NS`]. Gives the number of operations that did not come back.
    pub fn drain(&mut self) -> u32 {
        self.count_backlog();
        self.work.iter().filter_map(|work| work.replaying.as_ref()).for_each(|replaying| replaying.close());
        self.keep_samples();
        self.engine.forget_waiting();
        let mut cancelled_ns = None;
        while self.engine.in_flight() > 0 {
            self.recorder.in_flight.set(u64::from(self.engine.in_flight()));
            let now_ns = self.clock.now_ns();
            if cancelled_ns.is_some_and(|at_ns| now_ns >= at_ns + CANCEL_NS) {
                break;
            }
            let pushed = self.engine.push(Wait::Until { count: 1, deadline_ns: now_ns + LOOK_NS });
            self.engine.look();
            let Self { engine, tracer, slots, work, .. } = self;
            engine.take(u32::MAX, |done| {
                let slot = &slots[done.slot as usize];
                let Some(tracer) = tracer.as_ref().filter(|_| done.result >= 0) else { return };
                let (work, times) = (&work[slot.work as usize], (slot.started_ns, now_ns.max(done.ended_ns)));
                match work.flush_call(done.slot) {
                    Some(call) => tracer.flush(slot.work as usize, call, times),
                    None => tracer.io(slot, work.length_of_any(done.slot, slot), times),
                }
            });
            if cancelled_ns.is_none() && (pushed.is_err() || self.stop.is_cancelled()) {
                self.engine.cancel_all();
                cancelled_ns = Some(now_ns);
            }
        }
        self.recorder.in_flight.set(u64::from(self.engine.in_flight()));
        self.engine.in_flight()
    }

    /// Nothing more is written: the samples of what was go to the recorder.
    fn keep_samples(&mut self) {
        for (work, row) in self.work.iter_mut().zip(&self.recorder.rows) {
            if let Some(Refill::Reducible(_, sample)) = work.refill.take() {
                row.keep_sample(*sample);
            }
        }
    }

    /// True if nothing is in flight and nothing more may start: the allowance is used up, or the trace is over, and
    /// others are told.
    pub(crate) fn leaves(&mut self) -> bool {
        let mut replaying = self.work.iter_mut().filter_map(|work| work.replaying.as_mut());
        let is_exhausted = replaying.next().is_some_and(|replaying| replaying.is_exhausted());
        let Some(allowance) = &self.allowance else { return false };
        let over = (is_exhausted || allowance.is_refused()) && self.engine.in_flight() == 0 && !self.has_held();
        if over {
            allowance.leave(self.now_ns, &self.stop);
        }
        over
    }

    /// What is waited for: a completion, or the next start. `None` if that was slept for, with nothing in flight.
    fn wait_for(&self, now_ns: u64, next_start_ns: Option<u64>) -> Option<Wait> {
        match next_start_ns {
            Some(start_ns) if self.engine.in_flight() == 0 => {
                self.recorder.in_flight.set(0);
                if start_ns - now_ns > SPIN_NS {
                    self.recorder.waits.throttle_sleep.add(1);
                    sys::clock::sleep_until_ns(self.wake_ns(start_ns).min(self.phases.end_ns));
                }
                None
            }
            Some(start_ns) if start_ns - now_ns <= SPIN_NS => Some(Wait::Poll),
            Some(start_ns) => Some(Wait::Until { count: 1, deadline_ns: self.wake_ns(start_ns) }),
            None => Some(Wait::For { count: 1 }),
        }
    }

    /// Hands staged operations over, waits as told, and counts what came back.
    #[inline]
    fn push_and_collect<S: Shape>(&mut self, wait: Wait) -> Result<(), WorkerError> {
        // The only request was just started, or is still under way.
        if !S::IS_SINGLE {
            self.recorder.in_flight.set(u64::from(self.engine.in_flight()));
        }
        if matches!(wait, Wait::Until { .. }) {
            self.recorder.waits.throttle_wait.add(1);
        }
        let pushed = self.engine.push(wait).map_err(|error| engine_trouble(&error))?;
        self.count_submission(pushed);
        self.collect::<S>(if S::IS_SINGLE { 1 } else { self.completions_max }, wait == Wait::Poll)
    }

    /// When a wait for a start ends. In an open loop it ends early enough to be awake at the start:
    /// what waking takes would count as response time.
    pub(crate) fn wake_ns(&self, start_ns: u64) -> u64 {
        if self.open_loop { start_ns - SPIN_NS.min(start_ns) } else { start_ns }
    }

    /// Counts a system call that handed operations over. Those of the warm-up are forgotten later, those of the
    /// cool-down never counted.
    #[inline]
    pub(crate) fn count_submission(&self, pushed: Pushed) {
        if pushed.submitted > 0 && self.cursor.counts() {
            self.recorder.submits.add(1);
        }
    }

    /// Nothing more is started: the starts that were intended and not made are the backlog. A limit
    /// on the run's I/O (`--max-ios`) that is used up takes back what was intended after it.
    pub(crate) fn count_backlog(&mut self) {
        let is_used_up = self.allowance.as_ref().is_some_and(Allowance::is_refused);
        if !self.open_loop || is_used_up {
            return;
        }
        let window = self.phases.measurement(&self.stop);
        for (work, row) in self.work.iter_mut().zip(&self.recorder.rows) {
            let Some(cells) = &row.open_loop else { continue };
            // What is left of the warm-up is none of the measurement.
            work.pacer.pass(window.start);
            cells.backlog.add(match &mut work.replaying {
                Some(replaying) => replaying.pass(window.end),
                None => work.pacer.pass(window.end),
            });
        }
    }
}

pub(crate) fn engine_trouble(error: &io::Error) -> WorkerError {
    WorkerError::Engine { errno: error.raw_os_error().unwrap_or(0) }
}
