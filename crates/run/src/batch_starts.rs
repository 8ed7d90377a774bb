//! Starts of all free requests of a target whose operations are prepared, where size, operation or offset take more than
//! one uniform draw.

use engine::{Engine, SlotId, Start};
use hot::mix::Mix;
use hot::rng::Rng;
use hot::sizes::{SizedNext, SizedStream};
use hot::slots::Slot;
use hot::stream::{Next, OffsetStream};
use model::operation::Operation;

/// Starts I/Os for these requests of a target without limits, in this order, with sizes that are drawn too.
#[inline(never)]
pub(crate) fn start_plain_sized<E: Engine>(
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

/// The same in one size, with any stream and any mix of operations; the first request of the target is `first_slot`.
#[inline(never)]
pub(crate) fn start_mixed<E: Engine>(
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
