//! Starting I/Os: which request, where, what it does, with what content.

use crate::allowance::Allowance;
use crate::flush::Flusher;
use crate::open_loop::Starts;
use crate::submission::Built;
use crate::work::{Assigner, Work};
use crate::worker::Worker;
use engine::{Engine, Op, SlotId, Start};
use hot::clock::Clock;
use hot::mix::Mix;
use hot::rng::Rng;
use hot::sizes::{SizedNext, SizedStream};
use hot::slots::{FreeSlots, Slot};
use hot::stream::{Next, OffsetStream};
use hot::weighted::Weighted;
use model::operation::Operation;

/// What starting an I/O needs beside its request and its target.
struct Parts<'a, E, C> {
    engine: &'a mut E,
    clock: &'a C,
    rng: &'a mut Rng,
    slots: &'a mut [Slot],
    allowance: &'a mut Option<Allowance>,
    flusher: &'a mut Option<Flusher>,
    /// `None` in a closed loop.
    starts: Option<Starts<'a>>,
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
    pub(crate) fn issue_one(&mut self, now_ns: u64) -> Built {
        let (mut parts, work, assigner) = self.parts(1);
        let ready = match assigner {
            Assigner::Fixed { ready } => ready,
            Assigner::Weighted { free, table } => {
                let has_started = parts.start_drawn(work, free, table, now_ns);
                return if has_started { Built::One } else { Built::NoneIdle };
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
            if !parts.admits(work) {
                continue;
            }
            let Some(slot) = work.free.take() else { continue };
            if work.free.free_count() == 0 {
                work.is_ready = false;
                ready.swap_remove(position);
            }
            parts.account(work, slot, due_ns, now_ns);
            parts.start(work, slot, now_ns);
            return Built::One;
        }
        if next_start_ns == u64::MAX { Built::NoneIdle } else { Built::NotBefore { start_ns: next_start_ns } }
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

    /// What starting I/Os needs, at most so many.
    #[inline]
    fn parts(&mut self, most: usize) -> (Parts<'_, E, C>, &mut [Work], &mut Assigner) {
        let starts = self.open_loop.then(|| Starts::new(&self.recorder.rows, &self.phases, &self.stop, self.now_ns));
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
        for _ in 0..count {
            let due_ns = work.pacer.due_ns();
            if due_ns > now_ns {
                return Some(due_ns);
            }
            if !self.admits(work) {
                return None;
            }
            let slot = work.free.take()?;
            self.account(work, slot, due_ns, now_ns);
            self.start(work, slot, now_ns);
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
        if !work.is_special {
            return true;
        }
        !work.is_full()
            && self.allowance.as_mut().is_none_or(|allowance| allowance.admits(work.block, work.writes_media))
    }

    /// Chooses offset and operation of one I/O and hands it to the engine.
    #[inline]
    fn start(&mut self, work: &mut Work, id: SlotId, now_ns: u64) {
        if work.is_special {
            return self.start_special(work, id, now_ns);
        }
        let next = work.stream.next(self.rng, (id - work.first_slot) as usize);
        let operation = work.mix.next(next.continues, self.rng);
        self.slots[id as usize].begin(operation, next.offset, now_ns);
        self.engine.stage_prepared(id, operation, next.offset);
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

/// Starts I/Os for these requests of a target without limits whose operations are all prepared, in this
/// order; the target's first request is `first_slot`.
#[expect(clippy::inline_always, reason = "a call costs a sixth of the 260 instructions of an I/O at a depth of 1")]
#[inline(always)]
fn start_plain<E: Engine>(
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

/// The same where the sizes are drawn too.
#[inline(never)]
fn start_plain_sized<E: Engine>(
    engine: &mut E,
    rng: &mut Rng,
    slots: &mut [Slot],
    (sizes, mix): (&mut SizedStream, &mut Mix),
    ids: &[SlotId],
    now_ns: u64,
) {
    let mut draws = rng.clone();
    let mut begin = |id: SlotId, operation: Operation, next: SizedNext| {
        let slot = &mut slots[id as usize];
        slot.begin(operation, next.offset, now_ns);
        slot.size = next.size;
        Start { slot: id, operation, offset: next.offset, length: Some(next.length) }
    };
    let ids = ids.iter();
    match (sizes.uniform(), mix.fixed()) {
        (Some(uniform), Some(operation)) => {
            engine.stage_each(ids.map(|&id| begin(id, operation, uniform.next(operation, &mut draws))));
        }
        (Some(uniform), None) => engine.stage_each(ids.map(|&id| {
            let operation = mix.next(false, &mut draws);
            begin(id, operation, uniform.next(operation, &mut draws))
        })),
        (None, _) => engine.stage_each(ids.map(|&id| {
            let continues = sizes.continues(&mut draws);
            let operation = mix.next(continues, &mut draws);
            begin(id, operation, sizes.next(operation, continues, &mut draws))
        })),
    }
    *rng = draws;
}

/// The same with any stream and any mix of operations.
#[inline(never)]
fn start_mixed<E: Engine>(
    engine: &mut E,
    rng: &mut Rng,
    slots: &mut [Slot],
    (stream, mix): (&mut OffsetStream, &mut Mix),
    first_slot: SlotId,
    ids: &[SlotId],
    now_ns: u64,
) {
    let mut draws = rng.clone();
    let mut begin = |id: SlotId, next: Next, operation: Operation| {
        slots[id as usize].begin(operation, next.offset, now_ns);
        Start { slot: id, operation, offset: next.offset, length: None }
    };
    let ids = ids.iter();
    if let Some(uniform) = stream.uniform() {
        engine.stage_each(ids.map(|&id| begin(id, uniform.next(&mut draws), mix.next(false, &mut draws))));
    } else if let (Some(mut hot), Some(operation)) = (stream.hot(), mix.fixed()) {
        let mut ids = ids;
        while ids.len() > 0 {
            let ahead = hot.next_many(ids.len(), &mut draws);
            engine.stage_each(ahead.zip(&mut ids).map(|(next, &id)| begin(id, next, operation)));
        }
    } else {
        engine.stage_each(ids.map(|&id| {
            let next = stream.next(&mut draws, (id - first_slot) as usize);
            begin(id, next, mix.next(next.continues, &mut draws))
        }));
    }
    *rng = draws;
}
