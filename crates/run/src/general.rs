//! Steps that an I/O of any load may take beside its draw and its count: several targets, limits, sizes, content that
//! is made anew, open loops, flushes, and completions with stamps of their own.

use crate::allowance::Allowance;
use crate::batch_starts::start_plain_sized;
use crate::data_plane::{Completions, is_whole, start_plain};
use crate::flush::Flusher;
use crate::interval_cursor::Phase;
use crate::open_loop::StartAccounting;
use crate::recorder::Recorder;
use crate::shape::{General, Shape};
use crate::submission::BuildOutcome;
use crate::work::{Assigner, Work};
use crate::worker::{Sampling, Worker, WorkerError};
use engine::{Completion, Engine, Op, SlotId};
use hot::clock::Clock;
use hot::counters;
use hot::rng::Rng;
use hot::sizes::SizedNext;
use hot::slots::{FreeSlots, Slot};
use hot::weighted::Weighted;
use model::corruption::is_unreadable;
use model::operation::Operation;

/// State that starting an I/O needs beside its request and its target.
struct Parts<'a, E, C> {
    engine: &'a mut E,
    clock: &'a C,
    rng: &'a mut Rng,
    slots: &'a mut [Slot],
    allowance: &'a mut Option<Allowance>,
    flusher: &'a mut Option<Flusher>,
    /// `None` in a closed loop.
    starts: Option<StartAccounting<'a>>,
    /// Operations that the turn may still start.
    most: usize,
}

impl<E: Engine, C: Clock> Worker<E, C> {
    /// Tells the engine what requests do again and again.
    pub(crate) fn prepare(&mut self) {
        if self.assigner.is_weighted() {
            return;
        }
        for (slot, state) in (0..).zip(&self.slots) {
            let work = &self.work[state.work as usize];
            for operation in Operation::ALL {
                if let Some(op) = work.repeated(slot - work.first_slot, operation) {
                    self.engine.prepare(slot, &op);
                }
            }
        }
    }

    /// Starts the operations that have a free request and are due, as many as a turn may. Gives the time at which
    /// the next one is due, if requests are free and none may start yet.
    pub(crate) fn issue(&mut self, now_ns: u64) -> Option<u64> {
        if self.is_traced && self.replays() {
            return self.issue_recorded(now_ns);
        }
        if self.pauses {
            self.issue_held(now_ns);
        }
        let most = if E::TAKES_MANY { self.spread.most as usize } else { usize::MAX };
        let (mut parts, work, assigner) = self.parts(most);
        let ready = match assigner {
            Assigner::Fixed { ready } => ready,
            Assigner::Weighted { free, table } => {
                while parts.most > 0 && parts.start_drawn(work, free, table, now_ns) {
                    parts.most -= 1;
                }
                self.spread.has_more = E::TAKES_MANY && parts.most == 0;
                return None;
            }
        };
        let (mut next_start_ns, mut has_more, mut kept) = (None, false, 0);
        for position in 0..ready.len() {
            let index = ready[position];
            let work = &mut work[index as usize];
            let due_ns = parts.start_all(work, now_ns);
            if let Some(due_ns) = due_ns {
                next_start_ns = Some(next_start_ns.map_or(due_ns, |next: u64| next.min(due_ns)));
            }
            work.is_ready = due_ns.is_some();
            if E::TAKES_MANY && parts.most == 0 && work.free.free_count() > 0 {
                (work.is_ready, has_more) = (true, true);
            }
            if work.is_ready {
                ready[kept] = index;
                kept += 1;
            }
        }
        ready.truncate(kept);
        if E::TAKES_MANY {
            if has_more {
                // Those that had their turn wait for the others.
                ready.rotate_left(1);
            }
            self.spread.has_more = has_more;
        }
        next_start_ns
    }

    /// Starts one operation, if any request is free and due.
    pub(crate) fn issue_one(&mut self, now_ns: u64) -> BuildOutcome {
        let (mut parts, work, assigner) = self.parts(1);
        let ready = match assigner {
            Assigner::Fixed { ready } => ready,
            Assigner::Weighted { free, table } => {
                let has_started = parts.start_drawn(work, free, table, now_ns);
                return if has_started { BuildOutcome::One } else { BuildOutcome::NoneIdle };
            }
        };
        let mut next_start_ns = u64::MAX;
        for position in 0..ready.len() {
            let work = &mut work[ready[position] as usize];
            let due_ns = work.pacer.due_ns();
            if due_ns > now_ns {
                next_start_ns = next_start_ns.min(due_ns);
                continue;
            }
            if work.is_special && !parts.admits(work) {
                continue;
            }
            let Some(slot) = work.free.take() else { continue };
            if work.free.free_count() == 0 {
                work.is_ready = false;
                ready.swap_remove(position);
            }
            parts.account(work, slot, due_ns, now_ns);
            if work.is_special {
                parts.start_apart(work, slot, now_ns);
            } else {
                parts.start(work, slot, now_ns);
            }
            return BuildOutcome::One;
        }
        if next_start_ns == u64::MAX {
            BuildOutcome::NoneIdle
        } else {
            BuildOutcome::NotBefore { start_ns: next_start_ns }
        }
    }

    /// Issues writes that waited for a flush, as many as the next one covers.
    fn issue_held(&mut self, now_ns: u64) {
        let (mut parts, work, _) = self.parts(usize::MAX);
        while let Some(id) = parts.flusher.as_mut().and_then(Flusher::next_held) {
            let slot = &mut parts.slots[id as usize];
            slot.started_ns = now_ns;
            let (slot, work) = (*slot, &mut work[slot.work as usize]);
            parts.stage(work, id, (slot.operation, slot.offset, work.length(&slot)));
        }
    }

    /// The state that starting I/Os needs, of which at most this number may start.
    #[inline]
    fn parts(&mut self, most: usize) -> (Parts<'_, E, C>, &mut [Work], &mut Assigner) {
        let starts =
            self.open_loop.then(|| StartAccounting::new(&self.recorder.rows, &self.phases, &self.stop, self.now_ns));
        let Self { engine, clock, rng, work, slots, allowance, flusher, assigner, .. } = self;
        (Parts { engine, clock, rng, slots, allowance, flusher, starts, most }, work, assigner)
    }
}

impl<E: Engine, C: Clock> Parts<'_, E, C> {
    /// Starts what is due on one target; gives the time of the next start if requests are left.
    #[inline]
    fn start_all(&mut self, work: &mut Work, now_ns: u64) -> Option<u64> {
        let mut count = work.free.free_count();
        if !work.pacer.is_limited() && self.allowance.is_none() && !work.rotates && self.flusher.is_none() {
            if E::TAKES_MANY {
                count = count.min(self.most);
                self.most -= count;
            }
            if work.is_all_prepared() {
                let Work { stream, mix, sizes, free, first_slot, .. } = work;
                let ids = free.take_many(count);
                match sizes {
                    Some(sizes) => start_plain_sized(self.engine, self.rng, self.slots, (sizes, mix), ids, now_ns),
                    None => start_plain(self.engine, self.rng, self.slots, (stream, mix), *first_slot, ids, now_ns),
                }
                return None;
            }
        }
        if work.is_special {
            return self.start_all_special(work, count, now_ns);
        }
        for _ in 0..count {
            let due_ns = work.pacer.due_ns();
            if due_ns > now_ns {
                return Some(due_ns);
            }
            let slot = work.free.take()?;
            self.account(work, slot, due_ns, now_ns);
            self.start(work, slot, now_ns);
        }
        None
    }

    /// The same for I/Os that are special.
    #[inline(never)]
    fn start_all_special(&mut self, work: &mut Work, count: usize, now_ns: u64) -> Option<u64> {
        for _ in 0..count {
            let due_ns = work.pacer.due_ns();
            if due_ns > now_ns {
                return Some(due_ns);
            }
            if !self.admits(work) {
                return None;
            }
            let slot = work.free.take()?;
            if work.pacer.is_limited() {
                self.account(work, slot, due_ns, now_ns);
            }
            self.start_special(work, slot, now_ns);
        }
        None
    }

    /// Starts an I/O on a target that is drawn; false if no request is free, or none may start.
    #[inline(never)]
    fn start_drawn(&mut self, work: &mut [Work], free: &mut FreeSlots, table: &Weighted, now_ns: u64) -> bool {
        if free.free_count() == 0 {
            return false;
        }
        let index = table.draw(self.rng);
        let work = &mut work[index];
        if !self.admits(work) {
            return false;
        }
        let Some(slot) = free.take() else { return false };
        self.slots[slot as usize].work = index as u32;
        // Requests of all targets are prepared for none.
        self.start_special(work, slot, now_ns);
        true
    }

    /// A paced I/O that was due at `due_ns` starts.
    #[inline]
    fn account(&mut self, work: &mut Work, id: SlotId, due_ns: u64, now_ns: u64) {
        if let Some(starts) = &self.starts {
            let left = work.free.free_count();
            starts.account(&mut self.slots[id as usize], &mut work.saturation, due_ns, now_ns, left);
        }
        // With several, the size is not drawn yet.
        if work.sizes.is_none() {
            work.pacer.charge(now_ns);
        }
    }

    /// True if the next I/O on a target may start.
    #[inline]
    fn admits(&mut self, work: &Work) -> bool {
        !work.is_full()
            && self.allowance.as_mut().is_none_or(|allowance| allowance.admits(work.block, work.writes_media))
    }

    /// Chooses offset and operation of one I/O that is not special and hands it to the engine.
    #[inline]
    fn start(&mut self, work: &mut Work, id: SlotId, now_ns: u64) {
        let next = work.stream.next(self.rng, (id - work.first_slot) as usize);
        let operation = work.mix.next(next.continues, self.rng);
        self.slots[id as usize].begin(operation, next.offset, now_ns);
        self.engine.stage_prepared(id, operation, next.offset);
    }

    /// [`start_special`](Self::start_special), where a call keeps what is around it small.
    #[inline(never)]
    fn start_apart(&mut self, work: &mut Work, id: SlotId, now_ns: u64) {
        self.start_special(work, id, now_ns);
    }

    /// The same with a size, which is drawn before the offset, a limit, a flush, or what is not prepared.
    #[expect(clippy::inline_always, reason = "a call costs a sixteenth of the 410 instructions of such an I/O")]
    #[inline(always)]
    fn start_special(&mut self, work: &mut Work, id: SlotId, now_ns: u64) {
        let slot = &mut self.slots[id as usize];
        let (operation, length) = if let Some(sizes) = &mut work.sizes {
            let continues = sizes.continues(self.rng);
            let operation = work.mix.next(continues, self.rng);
            let SizedNext { size, length, offset } = sizes.next(operation, continues, self.rng);
            if work.pacer.is_limited() {
                work.pacer.charge_size(now_ns, size);
            }
            slot.begin(operation, offset, now_ns);
            slot.size = size;
            (operation, length)
        } else {
            let next = work.stream.next(self.rng, (id - work.first_slot) as usize);
            let operation = work.mix.next(next.continues, self.rng);
            slot.begin(operation, next.offset, now_ns);
            (operation, work.block)
        };
        let offset = slot.offset;
        if let Some(allowance) = self.allowance {
            allowance.charge(length, operation);
        }
        // A write that waits for a flush is handed over later.
        let flusher = self.flusher.as_mut().filter(|_| operation.changes_data());
        if flusher.is_none_or(|flusher| flusher.admits(id)) {
            self.stage(work, id, (operation, offset, length));
        }
    }

    /// Hands a drawn operation with this offset and length to the engine.
    #[inline]
    fn stage(&mut self, work: &mut Work, id: SlotId, drawn: (Operation, u64, u32)) {
        let (operation, offset, length) = drawn;
        if !work.is_prepared(operation) {
            return self.start_unprepared(work, id, operation, offset, length);
        }
        if work.sizes.is_some() {
            self.engine.set_length(id, operation, length);
        }
        self.engine.stage_prepared(id, operation, offset);
    }

    /// An I/O whose buffer or content is another each time.
    #[inline(never)]
    fn start_unprepared(&mut self, work: &mut Work, id: SlotId, operation: Operation, offset: u64, length: u32) {
        let op = Op { offset, length, ..work.op(id - work.first_slot, operation, self.rng) };
        if op.operation == Operation::Write && work.fill(self.engine, self.rng, &op) {
            // Making the content is not part of the I/O.
            self.slots[id as usize].started_ns = self.clock.now_ns();
        }
        self.engine.stage(id, &op);
    }
}

impl<E: Engine, C: Clock> Worker<E, C> {
    /// Goes to the part of the measurement that `now_ns` is in.
    #[inline]
    pub(crate) fn enter_part(&mut self, now_ns: u64) {
        if self.cursor.is_over(now_ns) {
            self.cursor.advance(now_ns, &self.phases, &self.stop, &self.recorder, &mut self.allowance);
        }
    }

    /// Counts any.
    pub(crate) fn count_any<S: Shape>(&mut self, back: Completions, now_ns: u64) -> Option<Completion> {
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
    #[expect(clippy::too_many_lines, reason = "one sequence, of which each copy has only the parts that it needs")]
    fn count_as<S: Shape, const SPECIAL: bool, const TRACED: bool>(
        &mut self,
        back: Completions,
        now_ns: u64,
    ) -> Option<Completion> {
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
                    cursor.advance(ended_ns, phases, stop, recorder, allowance);
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
    pub(crate) fn trouble(&self, done: &Completion) -> WorkerError {
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
