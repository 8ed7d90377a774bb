//! Starting I/Os: which request, where, what it does, with what content.

use crate::allowance::Allowance;
use crate::flush::Flusher;
use crate::open_loop::Starts;
use crate::shape::{AnySizes, Shape};
use crate::submission::Built;
use crate::work::{Assigner, Work};
use crate::worker::Worker;
use engine::{Engine, Op, SlotId, Start};
use hot::clock::Clock;
use hot::mix::Mix;
use hot::rng::Rng;
use hot::sizes::{SizedNext, SizedStream};
use hot::slots::Slot;
use hot::stream::{Next, OffsetStream};
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
    pub(crate) fn issue_plain<S: Shape>(&mut self, now_ns: u64) -> u32 {
        let Self { engine, rng, work, slots, spread, .. } = self;
        let work = &mut work[0];
        let waiting = work.free.free_count();
        let count = if E::TAKES_MANY { waiting.min(spread.most as usize) } else { waiting };
        spread.has_more = E::TAKES_MANY && count < waiting;
        let Work { stream, mix, sizes, free, .. } = work;
        let ids = free.take_many(count);
        match sizes {
            Some(sizes) if S::HAS_SIZES => start_plain_sized(engine, rng, slots, (sizes, mix), ids, now_ns),
            _ => start_plain(engine, rng, slots, (stream, mix), 0, ids, now_ns),
        }
        count as u32
    }

    /// Starts the operations that have a free request and are due, as many as a turn may. Gives the time at which
    /// the next one is due, if requests are free and none may start yet.
    pub(crate) fn issue<S: Shape>(&mut self, now_ns: u64) -> Option<u64> {
        if S::REPLAYS {
            return self.issue_recorded(now_ns);
        }
        if S::PAUSES {
            self.issue_held(now_ns);
        }
        let most = if E::TAKES_MANY { self.spread.most as usize } else { usize::MAX };
        if self.assigner.is_weighted() {
            let mut started = 0;
            while started < most && self.issue_one_weighted::<S>(now_ns) == Built::One {
                started += 1;
            }
            self.spread.has_more = E::TAKES_MANY && started == most;
            return None;
        }
        let starts = self.open_loop.then(|| Starts::new(&self.recorder.rows, &self.phases, &self.stop, self.now_ns));
        let Self { engine, clock, rng, work, slots, allowance, flusher, assigner: Assigner::Fixed { ready }, .. } =
            self
        else {
            return None;
        };
        let mut parts = Parts { engine, clock, rng, slots, allowance, flusher, starts, most };
        let (mut next_start_ns, mut has_more, mut kept) = (None, false, 0);
        for position in 0..ready.len() {
            let index = ready[position];
            let work = &mut work[index as usize];
            let due_ns = parts.start_all::<S>(work, now_ns);
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
    pub(crate) fn issue_one<S: Shape>(&mut self, now_ns: u64) -> Built {
        let starts = self.open_loop.then(|| Starts::new(&self.recorder.rows, &self.phases, &self.stop, self.now_ns));
        let Self { engine, clock, rng, work, slots, allowance, flusher, assigner: Assigner::Fixed { ready }, .. } =
            self
        else {
            return self.issue_one_weighted::<S>(now_ns);
        };
        let mut parts = Parts { engine, clock, rng, slots, allowance, flusher, starts, most: 1 };
        let mut next_start_ns = u64::MAX;
        for position in 0..ready.len() {
            let work = &mut work[ready[position] as usize];
            let due_ns = work.pacer.due_ns();
            if due_ns > now_ns {
                next_start_ns = next_start_ns.min(due_ns);
                continue;
            }
            if !parts.admits::<S>(work) {
                continue;
            }
            let Some(slot) = work.free.take() else { continue };
            if work.free.free_count() == 0 {
                work.is_ready = false;
                ready.swap_remove(position);
            }
            parts.account::<S>(work, slot, due_ns, now_ns);
            parts.start::<S>(work, slot, now_ns);
            return Built::One;
        }
        if next_start_ns == u64::MAX { Built::NoneIdle } else { Built::NotBefore { start_ns: next_start_ns } }
    }

    fn issue_one_weighted<S: Shape>(&mut self, now_ns: u64) -> Built {
        let Self { engine, clock, rng, work, slots, allowance, flusher, assigner, .. } = self;
        let Assigner::Weighted { free, table } = assigner else { return Built::NoneIdle };
        if free.free_count() == 0 {
            return Built::NoneIdle;
        }
        let index = table.draw(rng);
        let work = &mut work[index];
        let mut parts = Parts { engine, clock, rng, slots, allowance, flusher, starts: None, most: 1 };
        if !parts.admits::<S>(work) {
            return Built::NoneIdle;
        }
        let Some(slot) = free.take() else { return Built::NoneIdle };
        parts.slots[slot as usize].work = index as u32;
        parts.start::<S>(work, slot, now_ns);
        Built::One
    }

    /// Issues writes that waited for a flush, as many as the next one covers.
    fn issue_held(&mut self, now_ns: u64) {
        let Self { engine, clock, rng, work, slots, allowance, flusher, .. } = self;
        let mut parts = Parts { engine, clock, rng, slots, allowance, flusher, starts: None, most: usize::MAX };
        while let Some(id) = parts.flusher.as_mut().and_then(Flusher::next_held) {
            let slot = &mut parts.slots[id as usize];
            slot.started_ns = now_ns;
            let (slot, work) = (*slot, &mut work[slot.work as usize]);
            parts.stage::<AnySizes>(work, id, (slot.operation, slot.offset, work.length::<AnySizes>(id, &slot)));
        }
    }
}

impl<E: Engine, C: Clock> Parts<'_, E, C> {
    /// Starts what is due on one target; gives the time of the next start if requests are left.
    #[inline]
    fn start_all<S: Shape>(&mut self, work: &mut Work, now_ns: u64) -> Option<u64> {
        // What a plain load does not use, it does not ask for either.
        let pauses = S::PAUSES && (work.rotates || self.flusher.is_some());
        if !work.pacer.is_limited() && self.allowance.is_none() && !pauses {
            let mut count = work.free.free_count();
            if E::TAKES_MANY {
                count = count.min(self.most);
                self.most -= count;
            }
            if work.is_all_prepared() {
                let Work { stream, mix, sizes, free, first_slot, .. } = work;
                let ids = free.take_many(count);
                match sizes {
                    Some(sizes) if S::HAS_SIZES => {
                        start_plain_sized(self.engine, self.rng, self.slots, (sizes, mix), ids, now_ns);
                    }
                    _ => start_plain(self.engine, self.rng, self.slots, (stream, mix), *first_slot, ids, now_ns),
                }
            } else {
                for _ in 0..count {
                    let Some(slot) = work.free.take() else { break };
                    self.start::<S>(work, slot, now_ns);
                }
            }
            return None;
        }
        while work.free.free_count() > 0 {
            let due_ns = work.pacer.due_ns();
            if due_ns > now_ns {
                return Some(due_ns);
            }
            if !self.admits::<S>(work) {
                return None;
            }
            let slot = work.free.take()?;
            self.account::<S>(work, slot, due_ns, now_ns);
            self.start::<S>(work, slot, now_ns);
        }
        None
    }

    /// A paced I/O that was due at `due_ns` starts.
    fn account<S: Shape>(&mut self, work: &mut Work, id: SlotId, due_ns: u64, now_ns: u64) {
        if let Some(starts) = &self.starts {
            let left = work.free.free_count();
            starts.account(&mut self.slots[id as usize], &mut work.saturation, due_ns, now_ns, left);
        }
        // The size is not drawn yet.
        if !(S::HAS_SIZES && work.sizes.is_some()) {
            work.pacer.charge(now_ns);
        }
    }

    /// True if the next I/O on a target may start.
    fn admits<S: Shape>(&mut self, work: &Work) -> bool {
        if S::PAUSES && work.is_full() {
            return false;
        }
        self.allowance.as_mut().is_none_or(|allowance| allowance.admits(work.block, work.writes_media))
    }

    /// Chooses offset, operation and content of one I/O and hands it to the engine.
    #[inline]
    fn start<S: Shape>(&mut self, work: &mut Work, id: SlotId, now_ns: u64) {
        if S::HAS_SIZES && work.sizes.is_some() {
            return self.start_sized::<S>(work, id, now_ns);
        }
        let request = id - work.first_slot;
        let next = work.stream.next(self.rng, request as usize);
        let operation = work.mix.next(next.continues, self.rng);
        if let Some(allowance) = self.allowance {
            allowance.charge(work.block, operation);
        }
        self.slots[id as usize].begin(operation, next.offset, now_ns);
        if !self.holds::<S>(id, operation) {
            self.stage::<S>(work, id, (operation, next.offset, work.block));
        }
    }

    /// The same where the size is drawn too, before the offset.
    fn start_sized<S: Shape>(&mut self, work: &mut Work, id: SlotId, now_ns: u64) {
        let Some(sizes) = &mut work.sizes else { return };
        let continues = sizes.continues(self.rng);
        let operation = work.mix.next(continues, self.rng);
        let SizedNext { size, length, offset } = sizes.next(operation, continues, self.rng);
        if let Some(allowance) = self.allowance {
            allowance.charge(length, operation);
        }
        if work.pacer.is_limited() {
            work.pacer.charge_size(now_ns, size);
        }
        let slot = &mut self.slots[id as usize];
        slot.begin(operation, offset, now_ns);
        slot.size = size;
        if !self.holds::<S>(id, operation) {
            self.stage::<S>(work, id, (operation, offset, length));
        }
    }

    /// True if a drawn operation is a write that waits for a flush first.
    #[inline]
    fn holds<S: Shape>(&mut self, id: SlotId, operation: Operation) -> bool {
        S::PAUSES && operation.changes_data() && self.flusher.as_mut().is_some_and(|flusher| !flusher.admits(id))
    }

    /// Hands a drawn operation with this offset and length to the engine.
    #[inline]
    fn stage<S: Shape>(&mut self, work: &mut Work, id: SlotId, drawn: (Operation, u64, u32)) {
        let (operation, offset, length) = drawn;
        if !work.is_prepared(operation) {
            return self.start_unprepared(work, id, operation, offset, length);
        }
        if S::HAS_SIZES && work.sizes.is_some() {
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
