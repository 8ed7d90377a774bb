//! The way of an I/O, turn by turn: draw, stage, push, reap, account.
//!
//! A turn draws an offset and an operation for each free request, hands them to the engine, waits for what comes back, and
//! counts it. What does not happen at each I/O is elsewhere: waiting (`waiting.rs`), flushes and rotations (`interruptions.rs`),
//! batches of `-u` (`submission.rs`), phases and intervals (`interval_cursor.rs`). [`Fixed`](crate::shape::Fixed) loads are
//! here as a whole; what others ask for beside that, with limits, sizes, several targets and stamps, is in `general.rs`.

use crate::batch_starts::{start_mixed, start_plain_sized};
use crate::row::Row;
use crate::shape::{Shape, Submission};
use crate::size_cells::SizeCell;
use crate::work::Work;
use crate::worker::{Iteration, SAMPLED_TURNS, Sampling, Worker, WorkerError, engine_trouble};
use engine::{Completion, Engine, PollResult, Pushed, SlotId, Start, Wait};
use hot::clock::Clock;
use hot::counters;
use hot::mix::Mix;
use hot::rng::Rng;
use hot::slots::Slot;
use hot::stream::OffsetStream;
use model::operation::Operation;

impl<E: Engine, C: Clock> Worker<E, C> {
    /// Turns until the run is over. A function for each body: in one for all, they would not have the registers that each
    /// of them has alone.
    #[inline(never)]
    pub(crate) fn run_as<S: Shape>(&mut self) -> Result<(), WorkerError> {
        while self.turn_as::<S>()? == Iteration::GoOn {}
        Ok(())
    }

    /// Issues what may be issued, waits for what comes back, and counts it. The worker must not be turned again after
    /// an error.
    #[inline]
    pub(crate) fn turn_as<S: Shape>(&mut self) -> Result<Iteration, WorkerError> {
        // In a closed loop the stamp of the last completions is the time of the next starts: a
        // request's time then includes reaping and staging its batch, and turns in which others go out first. Paced
        // starts need the time itself.
        let mut now_ns = if !S::IS_FIXED && self.stamps_starts { self.clock.now_ns() } else { self.now_ns };
        if now_ns >= self.phases.end_ns || now_ns >= self.stop.leave_ns() {
            return Ok(Iteration::Over);
        }
        if !S::IS_FIXED {
            // Otherwise at the stamp, which is this one.
            self.enter_part(now_ns);
        }
        if S::IS_SINGLE && E::DOES_NOW && self.do_in_a_row(now_ns)? {
            return Ok(Iteration::GoOn);
        }
        if !S::IS_FIXED && self.pauses {
            if !self.pause()? {
                return Ok(Iteration::GoOn);
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
            if self.allowance.is_some() && next_start_ns.is_none() && self.finish_if_budget_spent() {
                return Ok(Iteration::Over);
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
            let Some(wait) = self.wait_for(now_ns, next_start_ns) else { return Ok(Iteration::GoOn) };
            wait
        };
        self.push_and_collect::<S>(wait)?;
        if is_watched {
            self.spread.saw(before, started, before + started - self.engine.in_flight());
        }
        Ok(Iteration::GoOn)
    }

    /// Starts an operation for the only request of the only target, unless it is under way. Gives how many started.
    #[inline]
    pub(crate) fn issue_only(&mut self, now_ns: u64) -> u32 {
        let Self { engine, rng, work, slots, .. } = self;
        if engine.in_flight() > 0 {
            return 0;
        }
        let Work { stream, mix, .. } = &mut work[0];
        start_plain(engine, rng, slots, (stream, mix), 0, &[0], now_ns);
        1
    }

    /// Starts an operation for every free request of the only target, as many as a turn may. Gives how many started.
    #[inline]
    pub(crate) fn issue_fixed(&mut self, now_ns: u64) -> u32 {
        let Self { engine, rng, work, slots, spread, .. } = self;
        let work = &mut work[0];
        let waiting = work.free.free_count();
        let count = if E::TAKES_MANY { waiting.min(spread.most as usize) } else { waiting };
        spread.has_more = E::TAKES_MANY && count < waiting;
        let Work { stream, mix, sizes, free, .. } = work;
        let ids = free.take_many(count);
        match sizes {
            Some(sizes) => start_plain_sized(engine, rng, slots, (sizes, mix), ids, now_ns),
            None => start_plain(engine, rng, slots, (stream, mix), 0, ids, now_ns),
        }
        count as u32
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

    /// Hands staged operations over, waits as `wait` asks, and counts what came back.
    #[inline]
    pub(crate) fn push_and_collect<S: Shape>(&mut self, wait: Wait) -> Result<(), WorkerError> {
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

    /// Counts a system call that handed operations over. Those of the warm-up are forgotten later, those of the
    /// cool-down never counted.
    #[inline]
    pub(crate) fn count_submission(&self, pushed: Pushed) {
        if pushed.submitted > 0 && self.cursor.counts() {
            self.recorder.submits.add(1);
        }
    }

    /// Counts completions, at most `most`, and frees their requests, after a look without waiting or after
    /// a wait.
    #[inline]
    pub(crate) fn collect<S: Shape>(&mut self, most: u32, was_look: bool) -> Result<(), WorkerError> {
        let back = Completions::poll::<E, S>(&mut self.engine, most);
        // One stamp for all: they were there when this turn looked.
        let (count, has_stamps) = (back.count, E::STAMPS && back.is_stamped && back.count > 0);
        let now_ns = if has_stamps { self.now_ns } else { self.clock.now_ns() };
        self.now_ns = now_ns;
        if !E::STAMPS {
            self.enter_part(now_ns);
        }
        let waits = &self.recorder.waits;
        let tally = if was_look { &waits.lookaside_completions } else { &waits.wait_completions };
        tally[(count as usize).min(7)].add(1);
        self.recorder.completed.add(u64::from(count));
        match self.count_and_free::<S>(back, now_ns) {
            Some(done) => Err(self.trouble(&done)),
            None => Ok(()),
        }
    }

    /// Counts operations that ended now, or have stamps of their own, and frees their requests; gives the first that
    /// failed.
    #[inline]
    fn count_and_free<S: Shape>(&mut self, back: Completions, now_ns: u64) -> Option<Completion> {
        let Self { engine, slots, work, recorder, sampling, cursor, stop, .. } = self;
        // Most turns: one kind of I/O only, on one target, all of them measured.
        if S::IS_FIXED
            && !E::STAMPS
            && cursor.is_measuring()
            && now_ns < stop.at_ns()
            && sampling.unfinished == 0
            && let (work, row) = (&mut work[0], &recorder.rows[0])
            && let Some(operation) = work.mix.fixed()
        {
            let sizes = row.sizes.as_ref().filter(|_| !S::IS_SINGLE).map(|sizes| sizes.cells_of(operation));
            let alike = UniformBatch { slots, work, row, operation, now_ns };
            return match (&recorder.latencies, sizes) {
                (Some(latencies), None) => {
                    let tables = latencies.tables(row, operation);
                    let also = |slot: &Slot, _: Option<&_>, latency_ns| tables.record(slot, latency_ns, now_ns);
                    alike.count::<E, S>(engine, back, None, also)
                }
                (Some(latencies), Some(sizes)) => {
                    let tables = latencies.tables(row, operation);
                    let also = |slot: &Slot, size: Option<&_>, latency_ns| {
                        tables.of_size(size).record(slot, latency_ns, now_ns);
                    };
                    alike.count::<E, S>(engine, back, Some(sizes), also)
                }
                (None, sizes) => alike.count::<E, S>(engine, back, sizes, |_, _, _| ()),
            };
        }
        self.count_any::<S>(back, now_ns)
    }
}

/// Starts I/Os for these requests of a target without limits whose operations are all prepared, in this
/// order; the target's first request is `first_slot`.
#[expect(clippy::inline_always, reason = "a call costs a sixth of the 260 instructions of an I/O at a depth of 1")]
#[inline(always)]
pub(crate) fn start_plain<E: Engine>(
    engine: &mut E,
    rng: &mut Rng,
    slots: &mut [Slot],
    (stream, mix): (&mut OffsetStream, &mut Mix),
    first_slot: SlotId,
    ids: &[SlotId],
    now_ns: u64,
) {
    let (Some(uniform), Some(operation)) = (stream.uniform(), mix.fixed()) else {
        return start_mixed(engine, rng, slots, (stream, mix), first_slot, ids, now_ns);
    };
    // In a copy, which stays in registers; behind the reference each draw would load and store it.
    let mut draws = rng.clone();
    engine.stage_each(ids.iter().map(|&id| {
        let offset = uniform.next(&mut draws).offset;
        slots[id as usize].begin(operation, offset, now_ns);
        Start { slot: id, operation, offset, length: None }
    }));
    *rng = draws;
}

/// Completions that are to be counted.
#[derive(Clone, Copy)]
pub(crate) struct Completions {
    count: u32,
    is_stamped: bool,
    /// Already taken.
    only: Option<Completion>,
}

impl Completions {
    /// The only one, which was taken.
    pub(crate) fn taken(done: Completion) -> Self {
        Self { count: 1, is_stamped: true, only: Some(done) }
    }

    /// At most `most`. Where one is all there can be, it is taken with the same look, which costs less.
    #[inline]
    fn poll<E: Engine, S: Shape>(engine: &mut E, most: u32) -> Self {
        if S::IS_SINGLE && !E::STAMPS {
            let only = engine.take_oldest();
            return Self { count: u32::from(only.is_some()), is_stamped: false, only };
        }
        let PollResult { count, is_stamped } = engine.poll();
        Self { count: count.min(most), is_stamped, only: None }
    }

    /// Gives each to `each`.
    #[inline]
    pub(crate) fn take<E: Engine, S: Shape>(self, engine: &mut E, mut each: impl FnMut(Completion)) {
        if let (true, Some(done)) = (S::IS_SINGLE, self.only) {
            each(done);
        } else if !S::IS_SINGLE || E::STAMPS {
            engine.take(self.count, each);
        }
    }
}

/// Operations of one kind on the only target, all of them measured.
struct UniformBatch<'a> {
    slots: &'a mut [Slot],
    work: &'a mut Work,
    row: &'a Row,
    operation: Operation,
    now_ns: u64,
}

impl UniformBatch<'_> {
    /// Counts those that came back, frees their requests, and gives each with its latency to `also`; gives the first
    /// that failed.
    #[inline]
    fn count<E: Engine, S: Shape>(
        self,
        engine: &mut E,
        back: Completions,
        sizes: Option<&[SizeCell]>,
        also: impl Fn(&Slot, Option<&SizeCell>, u64),
    ) -> Option<Completion> {
        let Self { slots, work, row, operation, now_ns } = self;
        let (block, tally) = (work.block, row.tally(operation));
        let mut failed = None;
        let mut finish = |done: Completion| {
            let slot = &mut slots[if S::IS_SINGLE { 0 } else { done.slot as usize }];
            let size = sizes.map(|sizes| &sizes[usize::from(slot.size)]);
            let (block, tally) = size.map_or((block, tally), |size| (size.length(), &size.current));
            if done.result.cast_unsigned() != block && !is_whole(operation, done.result) {
                if done.result <= 0 {
                    failed = failed.or(Some(done));
                    return false;
                }
                row.record_short(slot, block, done.result.cast_unsigned());
            }
            let latency_ns = now_ns.saturating_sub(slot.end(!S::IS_SINGLE, now_ns));
            counters::record(tally, latency_ns);
            also(slot, size, latency_ns);
            true
        };
        if S::IS_SINGLE {
            back.take::<E, S>(engine, |done| _ = finish(done));
        } else {
            work.free.give_many(|given| {
                back.take::<E, S>(engine, |done| {
                    if finish(done) {
                        given.push(done.slot);
                    }
                });
            });
        }
        failed
    }
}

/// True if an operation whose result is not its length did all that it was to do: the kernel's result of one that
/// transfers no data is 0.
#[cold]
pub(crate) const fn is_whole(operation: Operation, result: i32) -> bool {
    result == 0 && !operation.transfers_data()
}
