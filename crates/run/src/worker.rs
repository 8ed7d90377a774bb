//! The loop: one thread, its requests, and nothing that costs more than the I/O itself.
//!
//! A worker is a value with a [`turn`](Worker::turn); production calls it on a thread until it
//! says that it is over, tests call it in any order on a clock of their own. Nothing here
//! allocates, locks or formats unless an I/O fails.

use crate::allowance::Allowance;
use crate::phase::{Phases, Stop};
use crate::recorder::Recorder;
use crate::submission::{Built, Submission};
use crate::work::{Assigner, Work};
use engine::{Done, DoneBatch, Engine, Op, SlotId, Wait};
use hot::clock::Clock;
use hot::fill;
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
    write: bool,
    offset: u64,
    started_ns: u64,
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
    pub(crate) interval: Interval,
    pub(crate) measuring: bool,
    /// Any target has a limit.
    pub(crate) paced: bool,
    pub(crate) submission: Submission,
    /// `None` = as many I/Os as there is time for.
    pub(crate) allowance: Option<Allowance>,
    /// Completions taken at once (`-oc`).
    pub(crate) completions_max: u32,
    /// The latest stamp.
    pub(crate) now_ns: u64,
}

/// The current interval of `-D`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Interval {
    /// Width; 0 = none.
    width_ns: u64,
    index: usize,
    /// First nanosecond after it.
    end_ns: u64,
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
        if self.interval.width_ns > 0 {
            self.interval.end_ns = phases.measure_ns.saturating_add(self.interval.width_ns);
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
        let now_ns = if self.paced { self.clock.now_ns() } else { self.now_ns };
        if now_ns >= self.phases.end_ns.min(self.stop.at_ns()) || self.stop.is_over() {
            return Ok(Turn::Over);
        }
        self.enter_phase(now_ns);
        if let Submission::Batched(batched) = self.submission {
            return self.turn_batched(batched, now_ns);
        }
        let next_start_ns = self.issue(now_ns);
        if self.allowance.is_some() && next_start_ns.is_none() && self.leaves() {
            return Ok(Turn::Over);
        }
        self.wait(now_ns, next_start_ns)?;
        Ok(Turn::GoOn)
    }

    /// Takes in what is still in flight, without counting it, until `deadline_ns`. Gives the
    /// number of operations that did not come back.
    pub fn drain(&mut self, deadline_ns: u64) -> u32 {
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

    fn enter_phase(&mut self, now_ns: u64) {
        if !self.measuring && now_ns >= self.phases.measure_ns && now_ns < self.phases.cool_down_ns {
            self.measuring = true;
            self.recorder.start_measuring();
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

    /// Starts every operation that has a free request and is due. Gives the time at which the
    /// next one is due, if requests are free and none may start yet.
    fn issue(&mut self, now_ns: u64) -> Option<u64> {
        match &mut self.assigner {
            Assigner::Fixed { ready } => {
                let mut next_start_ns = None;
                // Taken out for the loop, so that `stage` may borrow the rest; put back below.
                let mut list = std::mem::take(ready);
                list.retain(|&index| {
                    let due_ns = self.issue_fixed(index, now_ns);
                    if let Some(due_ns) = due_ns {
                        next_start_ns = Some(next_start_ns.map_or(due_ns, |next: u64| next.min(due_ns)));
                    }
                    self.work[index as usize].is_ready = due_ns.is_some();
                    due_ns.is_some()
                });
                if let Assigner::Fixed { ready } = &mut self.assigner {
                    *ready = list;
                }
                next_start_ns
            }
            Assigner::Weighted { .. } => {
                while self.issue_one_weighted(now_ns) == Built::One {}
                None
            }
        }
    }

    /// Starts what is due on one target; gives the time of the next start if requests are left.
    fn issue_fixed(&mut self, index: u32, now_ns: u64) -> Option<u64> {
        let work = &mut self.work[index as usize];
        while work.free.free_count() > 0 {
            let due_ns = work.pacer.due_ns();
            if due_ns > now_ns {
                return Some(due_ns);
            }
            if !admitted(&mut self.allowance, work) {
                return None;
            }
            let slot = work.free.take()?;
            work.pacer.charge(now_ns);
            let parts = Parts {
                engine: &mut self.engine,
                clock: &self.clock,
                rng: &mut self.rng,
                allowance: &mut self.allowance,
            };
            stage(parts, work, &mut self.slots[slot as usize], slot, now_ns);
        }
        None
    }

    /// Hands staged operations over, waits for a completion or for the next start, and counts what
    /// came back.
    fn wait(&mut self, now_ns: u64, next_start_ns: Option<u64>) -> Result<(), Trouble> {
        let in_flight = self.engine.in_flight();
        self.recorder.in_flight.set(u64::from(in_flight));
        let waits = &self.recorder.waits;
        let wait = match next_start_ns {
            Some(start_ns) if in_flight == 0 => {
                if start_ns - now_ns > SPIN_NS {
                    waits.throttle_sleep.add(1);
                    sys::clock::sleep_until_ns(start_ns.min(self.phases.end_ns));
                }
                return Ok(());
            }
            Some(start_ns) if start_ns - now_ns <= SPIN_NS => Wait::Poll,
            Some(start_ns) => Wait::Until { count: 1, deadline_ns: start_ns },
            None => Wait::For { count: 1 },
        };
        match wait {
            Wait::For { .. } => waits.wait.add(1),
            Wait::Until { .. } => waits.throttle_wait.add(1),
            Wait::Poll => waits.lookaside.add(1),
        }
        let pushed = self.engine.push(wait).map_err(|error| engine_trouble(&error))?;
        self.recorder.submits.add(u64::from(pushed.submitted > 0));
        self.reap_counted(self.completions_max, wait == Wait::Poll)
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

    /// Starts one operation, if any request is free and due.
    pub(crate) fn issue_one(&mut self, now_ns: u64) -> Built {
        let Assigner::Fixed { ready } = &mut self.assigner else {
            return self.issue_one_weighted(now_ns);
        };
        let mut next_start_ns = u64::MAX;
        for position in 0..ready.len() {
            let index = ready[position];
            let work = &mut self.work[index as usize];
            let due_ns = work.pacer.due_ns();
            if due_ns > now_ns {
                next_start_ns = next_start_ns.min(due_ns);
                continue;
            }
            if !admitted(&mut self.allowance, work) {
                continue;
            }
            let Some(slot) = work.free.take() else { continue };
            if work.free.free_count() == 0 {
                work.is_ready = false;
                ready.swap_remove(position);
            }
            work.pacer.charge(now_ns);
            let parts = Parts {
                engine: &mut self.engine,
                clock: &self.clock,
                rng: &mut self.rng,
                allowance: &mut self.allowance,
            };
            stage(parts, work, &mut self.slots[slot as usize], slot, now_ns);
            return Built::One;
        }
        if next_start_ns == u64::MAX { Built::NoneIdle } else { Built::NotBefore { start_ns: next_start_ns } }
    }

    fn issue_one_weighted(&mut self, now_ns: u64) -> Built {
        let Assigner::Weighted { free, table } = &mut self.assigner else { return Built::NoneIdle };
        if free.free_count() == 0 {
            return Built::NoneIdle;
        }
        let index = table.draw(&mut self.rng);
        if !admitted(&mut self.allowance, &self.work[index]) {
            return Built::NoneIdle;
        }
        let Some(slot) = free.take() else { return Built::NoneIdle };
        let parts =
            Parts { engine: &mut self.engine, clock: &self.clock, rng: &mut self.rng, allowance: &mut self.allowance };
        self.slots[slot as usize].work = index as u32;
        stage(parts, &mut self.work[index], &mut self.slots[slot as usize], slot, now_ns);
        Built::One
    }

    /// Counts what came back and frees its requests.
    fn collect(&mut self) -> Result<(), Trouble> {
        // One stamp for the batch: it was all there when this turn looked. Engines that stamp each
        // operation have just taken it.
        self.now_ns = match self.done.items() {
            [first, .., last] if first.ended_ns > 0 => last.ended_ns,
            [only] if only.ended_ns > 0 => only.ended_ns,
            _ => self.clock.now_ns(),
        };
        self.enter_phase(self.now_ns);
        let until_ns = self.phases.cool_down_ns.min(self.stop.at_ns());
        let count = self.done.items().len();
        let mut result = Ok(());
        for index in 0..count {
            let done = self.done.items()[index];
            result = result.and(self.complete(&done, until_ns));
        }
        self.recorder.completed.add(count as u64);
        self.done.clear();
        result
    }

    fn complete(&mut self, done: &Done, until_ns: u64) -> Result<(), Trouble> {
        let slot = self.slots[done.slot as usize];
        let work = &mut self.work[slot.work as usize];
        let stamped = done.ended_ns > 0;
        let (begun_ns, ended_ns) =
            if stamped { (done.begun_ns, done.ended_ns) } else { (slot.started_ns, self.now_ns) };
        if done.result <= 0 {
            return Err(Trouble::Io {
                work: slot.work as usize,
                write: slot.write,
                offset: slot.offset,
                length: u64::from(work.block),
                errno: -done.result,
            });
        }
        let bytes = u64::from(done.result.cast_unsigned());
        if ended_ns < until_ns {
            let latency_ns = ended_ns.saturating_sub(begun_ns);
            let row = &self.recorder.rows[slot.work as usize];
            let direction = if slot.write { &row.write } else { &row.read };
            direction.record(bytes, latency_ns, self.measuring);
            if self.measuring && self.interval.width_ns > 0 {
                let interval = self.interval.advance_to(ended_ns, self.phases.measure_ns);
                row.record_interval(interval, slot.write, latency_ns);
            }
            if bytes < u64::from(work.block) {
                row.short_transfers.add(1);
            }
        }
        if let Some(allowance) = &mut self.allowance {
            allowance.finish(work.block);
        }
        match &mut self.assigner {
            Assigner::Fixed { ready } => {
                work.free.give(done.slot);
                if !work.is_ready {
                    work.is_ready = true;
                    ready.push(slot.work);
                }
            }
            Assigner::Weighted { free, .. } => free.give(done.slot),
        }
        Ok(())
    }
}

impl Interval {
    /// Intervals of this width; 0 = none.
    pub(crate) fn of_width(width_ns: u64) -> Self {
        Self { width_ns, ..Self::default() }
    }

    /// The interval of a completion; divides only when it is a new one.
    #[inline]
    fn advance_to(&mut self, ended_ns: u64, measure_ns: u64) -> usize {
        if ended_ns >= self.end_ns {
            let index = ended_ns.saturating_sub(measure_ns) / self.width_ns;
            self.index = index as usize;
            self.end_ns = measure_ns.saturating_add((index + 1).saturating_mul(self.width_ns));
        }
        self.index
    }
}

/// What staging needs beside the request itself.
struct Parts<'a, E, C> {
    engine: &'a mut E,
    clock: &'a C,
    rng: &'a mut Rng,
    allowance: &'a mut Option<Allowance>,
}

/// True if the next I/O on a target may start.
#[inline]
fn admitted(allowance: &mut Option<Allowance>, work: &Work) -> bool {
    allowance.as_mut().is_none_or(|allowance| allowance.admits(work.block, work.mix.may_write()))
}

/// Chooses offset, direction and content of one I/O and hands it to the engine.
#[inline]
fn stage<E: Engine, C: Clock>(parts: Parts<'_, E, C>, work: &mut Work, slot: &mut Slot, id: SlotId, now_ns: u64) {
    let Parts { engine, clock, rng, allowance } = parts;
    let request = id - work.first_slot;
    let next = work.stream.next(rng, request as usize);
    let write = work.mix.next_is_write(next.continues, rng);
    let (region, region_offset) = work.buffer(request, write, rng);
    if let Some(allowance) = allowance {
        allowance.charge(work.block, write);
    }
    slot.write = write;
    slot.offset = next.offset;
    slot.started_ns = now_ns;
    if write && work.randomize {
        if let Some(memory) = engine.region_mut(region) {
            memory.fill(region_offset, u64::from(work.block), |part, _| fill::random(part, rng));
        }
        // Making the content is not part of the I/O.
        slot.started_ns = clock.now_ns();
    }
    engine.stage(
        id,
        &Op {
            write,
            file: work.file,
            region,
            region_offset,
            offset: next.offset,
            length: work.block,
            priority: work.priority,
        },
    );
}

pub(crate) fn engine_trouble(error: &io::Error) -> Trouble {
    Trouble::Engine { errno: error.raw_os_error().unwrap_or(0) }
}
