//! Counts completed I/Os and frees their requests.

use crate::interval_cursor::Phase;
use crate::recorder::Recorder;
use crate::row::Row;
use crate::shape::{General, Shape};
use crate::size_cells::SizeCell;
use crate::work::{Assigner, Work};
use crate::worker::{Sampling, Worker, WorkerError};
use engine::{Done, Engine, Found, SlotId};
use hot::clock::Clock;
use hot::counters;
use hot::slots::Slot;
use model::corruption::is_unreadable;
use model::operation::Operation;

impl<E: Engine, C: Clock> Worker<E, C> {
    /// Goes to the part of the measurement that `now_ns` is in.
    #[inline]
    pub(crate) fn enter_part(&mut self, now_ns: u64) {
        if self.cursor.is_over(now_ns) {
            self.cursor.turn(now_ns, &self.phases, &self.stop, &self.recorder, &mut self.allowance);
        }
    }

    /// Counts what has come back, at most so many, and frees their requests, after a look without waiting or after
    /// a wait.
    #[inline]
    pub(crate) fn collect<S: Shape>(&mut self, most: u32, was_look: bool) -> Result<(), WorkerError> {
        let back = Back::look::<E, S>(&mut self.engine, most);
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
    fn count_and_free<S: Shape>(&mut self, back: Back, now_ns: u64) -> Option<Done> {
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
            let sizes = row.sizes.as_ref().filter(|_| !S::IS_SINGLE).map(|sizes| sizes.of(operation));
            let alike = Alike { slots, work, row, operation, now_ns };
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

    /// Counts any.
    pub(crate) fn count_any<S: Shape>(&mut self, back: Back, now_ns: u64) -> Option<Done> {
        if S::IS_SINGLE || !self.is_special {
            self.count_as::<S, false, false>(back, now_ns)
        } else if !S::IS_FIXED && self.is_traced {
            self.count_as::<General, true, true>(back, now_ns)
        } else {
            self.count_as::<General, true, false>(back, now_ns)
        }
    }

    /// Counts any; with sizes, response times, limits and flushes if they are special; and with what traces need if
    /// they are traced, which is special too.
    fn count_as<S: Shape, const SPECIAL: bool, const TRACED: bool>(&mut self, back: Back, now_ns: u64) -> Option<Done> {
        let Self {
            engine,
            slots,
            work,
            recorder,
            assigner,
            allowance,
            flusher,
            tracer,
            sampling,
            cursor,
            phases,
            stop,
            ..
        } = self;
        let tracer = tracer.as_ref().filter(|_| TRACED);
        let (recorder, rows) = (&**recorder, &*recorder.rows);
        // The only request starts anew at the stamp with which it came back.
        let waits_count = self.waits_count && !E::STAMPS && !S::IS_SINGLE;
        let (stopped_ns, sampled_ns) = (stop.at_ns(), sampling.started_ns);
        // That of all that ended now.
        let phase_now = cursor.phase_at(now_ns, stopped_ns);
        let mut latest_ns = now_ns;
        let mut failed = None;
        back.take::<E, S>(engine, |done| {
            let slot = &mut slots[if S::IS_SINGLE { 0 } else { done.slot as usize }];
            let at = if S::IS_FIXED { 0 } else { slot.work as usize };
            let (work, row) = (&mut work[at], &rows[at]);
            let (mut begun_ns, mut ended_ns) = (slot.end(waits_count, now_ns), now_ns);
            if E::STAMPS {
                if done.ended_ns > 0 {
                    (begun_ns, ended_ns) = (done.begun_ns, done.ended_ns);
                }
                latest_ns = ended_ns;
                if cursor.is_over(ended_ns) {
                    cursor.turn(ended_ns, phases, stop, recorder, allowance);
                }
            }
            let phase = if E::STAMPS { cursor.phase_at(ended_ns, stopped_ns) } else { phase_now };
            let (counts, is_measured) = (phase != Phase::Over, phase == Phase::Measurement);
            if !E::STAMPS && slot.started_ns == sampled_ns {
                sampling.finish(begun_ns, ended_ns, is_measured && done.result >= 0, recorder);
            }
            if TRACED && let Some(call) = work.flush_call(done.slot) {
                if let Some(replaying) = &mut work.replaying {
                    replaying.end_flush();
                }
                if done.result < 0 {
                    failed = failed.or(Some(done));
                    return;
                }
                if let Some(tracer) = tracer {
                    tracer.flush(at, call, (begun_ns, ended_ns));
                }
                if let Some(cells) = row.replay.as_ref().filter(|_| counts) {
                    cells.record_flush(ended_ns.saturating_sub(begun_ns));
                }
                give_back::<S>(assigner, work, slot.work, done.slot);
                return;
            }
            // Blocks are below 2 GiB (`limits::TRANSFER_BYTES_MAX`), so no error looks like a length.
            let length = match (TRACED, SPECIAL) {
                (true, _) => work.length_of_any(done.slot, slot),
                (_, true) => work.length(slot),
                _ => work.block,
            };
            if done.result.cast_unsigned() != length && !is_whole(slot.operation, done.result) {
                if done.result <= 0 {
                    if E::VERIFIES && slot.operation == Operation::Read && is_unreadable(done.result.wrapping_neg()) {
                        // Verification has counted it: the run shall find what else cannot be read.
                        if let Some(allowance) = allowance {
                            allowance.finish(length);
                        }
                        give_back::<S>(assigner, work, slot.work, done.slot);
                    } else {
                        failed = failed.or(Some(done));
                    }
                    return;
                }
                if counts {
                    row.record_short(slot, length, done.result.cast_unsigned());
                }
            }
            if let Some(tracer) = tracer {
                let issue_ns = if E::STAMPS && done.ended_ns > 0 { done.begun_ns } else { slot.started_ns };
                tracer.io(slot, length, (issue_ns, ended_ns));
            }
            if counts {
                if TRACED && work.replaying.is_some() {
                    row.record_length(slot.operation, length);
                }
                let latency_ns = ended_ns.saturating_sub(begun_ns);
                let size = row.sizes.as_ref().filter(|_| SPECIAL).map(|sizes| sizes.cell(slot));
                counters::record(size.map_or_else(|| row.tally(slot.operation), |size| &size.current), latency_ns);
                if is_measured && let Some(latencies) = &recorder.latencies {
                    let of_length = if TRACED && work.replaying.is_some() { length } else { 0 };
                    let tables = latencies.tables(row, slot.operation).of_size(size).of_length(of_length);
                    tables.record(slot, latency_ns, ended_ns);
                }
            }
            if SPECIAL {
                // The response to a write ends when it is durable.
                let is_kept = flusher.as_mut().filter(|_| slot.operation.changes_data()).is_some_and(|flusher| {
                    recorder.count_unflushed(is_measured);
                    flusher.finish(slot, begun_ns, counts)
                });
                if is_measured && !is_kept {
                    recorder.respond(row, slot.operation, ended_ns.saturating_sub(slot.intended_ns));
                }
                if let Some(allowance) = allowance {
                    allowance.finish(length);
                }
            }
            give_back::<S>(assigner, work, slot.work, done.slot);
        });
        self.now_ns = latest_ns;
        failed
    }

    #[cold]
    pub(crate) fn trouble(&self, done: &Done) -> WorkerError {
        let slot = &self.slots[done.slot as usize];
        let (at, errno) = (slot.work as usize, -done.result);
        let work = &self.work[at];
        if work.flush_call(done.slot).is_some() {
            return WorkerError::Flush { work: at, errno };
        }
        let length = work.length_of_any(done.slot, slot);
        WorkerError::Io { work: at, operation: slot.operation, offset: slot.offset, length: u64::from(length), errno }
    }
}

/// What has come back and is to be counted.
#[derive(Clone, Copy)]
pub(crate) struct Back {
    count: u32,
    is_stamped: bool,
    /// Already taken.
    only: Option<Done>,
}

impl Back {
    /// The only one, which was taken.
    pub(crate) fn taken(done: Done) -> Self {
        Self { count: 1, is_stamped: true, only: Some(done) }
    }

    /// At most `most`. Where one is all there can be, it is taken with the same look, which costs less.
    #[inline]
    fn look<E: Engine, S: Shape>(engine: &mut E, most: u32) -> Self {
        if S::IS_SINGLE && !E::STAMPS {
            let only = engine.take_oldest();
            return Self { count: u32::from(only.is_some()), is_stamped: false, only };
        }
        let Found { count, is_stamped } = engine.look();
        Self { count: count.min(most), is_stamped, only: None }
    }

    /// Gives each to `each`.
    #[inline]
    fn take<E: Engine, S: Shape>(self, engine: &mut E, mut each: impl FnMut(Done)) {
        if let (true, Some(done)) = (S::IS_SINGLE, self.only) {
            each(done);
        } else if !S::IS_SINGLE || E::STAMPS {
            engine.take(self.count, each);
        }
    }
}

/// Operations of one kind on the only target, all of them measured.
struct Alike<'a> {
    slots: &'a mut [Slot],
    work: &'a mut Work,
    row: &'a Row,
    operation: Operation,
    now_ns: u64,
}

impl Alike<'_> {
    /// Counts those that came back, frees their requests, and gives each with its latency to `also`; gives the first
    /// that failed.
    #[inline]
    fn count<E: Engine, S: Shape>(
        self,
        engine: &mut E,
        back: Back,
        sizes: Option<&[SizeCell]>,
        also: impl Fn(&Slot, Option<&SizeCell>, u64),
    ) -> Option<Done> {
        let Self { slots, work, row, operation, now_ns } = self;
        let (block, tally) = (work.block, row.tally(operation));
        let mut failed = None;
        let mut finish = |done: Done| {
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

/// Frees a request of the target with this index.
#[inline]
fn give_back<S: Shape>(assigner: &mut Assigner, work: &mut Work, index: u32, request: SlotId) {
    let free = match assigner {
        Assigner::Weighted { free, .. } if !S::IS_FIXED => free,
        Assigner::Fixed { ready } if !S::IS_FIXED && !work.is_ready => {
            work.is_ready = true;
            ready.push(index);
            &mut work.free
        }
        _ if S::IS_SINGLE => return,
        _ => &mut work.free,
    };
    free.give(request);
}

/// True if an operation whose result is not its length did all that it was to do: the kernel's result of one that
/// transfers no data is 0.
#[cold]
const fn is_whole(operation: Operation, result: i32) -> bool {
    result == 0 && !operation.transfers_data()
}

impl Sampling {
    /// An operation of the sampled iteration completed; it is timed if it `counts`.
    #[cold]
    fn finish(&mut self, begun_ns: u64, ended_ns: u64, counts: bool, recorder: &Recorder) {
        self.unfinished = self.unfinished.saturating_sub(1);
        if counts {
            let wait_ns = self.submitted_ns.saturating_sub(begun_ns);
            recorder.record_stamps(wait_ns, ended_ns.saturating_sub(self.submitted_ns));
        }
    }
}
