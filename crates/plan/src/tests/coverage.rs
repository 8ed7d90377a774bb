//! Properties of whole plans, for sizes beyond any machine here.

use crate::Choices;
use crate::fixture::{facts, profile, span, target, theirs};
use model::facts::TargetKind;
use model::plan::{Area, Pattern, TimeSpanPlan, WorkerTarget};
use model::profile::{Distribution, DistributionRange, Target, TimeSpan};
use model::units::Bytes;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Offsets of a thread's first I/Os, relative to base, computed as in the specification.
fn walk(target: &WorkerTarget, count: usize) -> Vec<u64> {
    let block = target.block_bytes;
    let sequential = |area: &Area, start: u64| {
        let mut next = start;
        let mut offsets = Vec::new();
        for _ in 0..count {
            let fits = next.checked_add(block).is_some_and(|end| end <= area.size_bytes);
            let offset = if fits { next } else { start % area.alignment_bytes };
            offsets.push(offset);
            next = offset.saturating_add(area.alignment_bytes);
        }
        offsets
    };
    match &target.pattern {
        Pattern::Sequential { area, start_bytes } | Pattern::Parallel { area, start_bytes } => {
            sequential(area, *start_bytes)
        }
        Pattern::Append { area, .. } | Pattern::Recorded { area } => sequential(area, 0),
        Pattern::Interlocked { area, .. } => {
            (0..count as u64).map(|claim| claim % area.positions * area.alignment_bytes).collect()
        }
        Pattern::Random { area, ranges, .. } | Pattern::Mixed { area, ranges, .. } if ranges.is_empty() => {
            vec![0, (area.positions - 1) * area.alignment_bytes]
        }
        Pattern::Random { area, ranges, .. } | Pattern::Mixed { area, ranges, .. } => ranges
            .iter()
            .flat_map(|range| [range.start_bytes, range.start_bytes + (range.positions - 1) * area.alignment_bytes])
            .collect(),
    }
}

fn area(pattern: &Pattern) -> &Area {
    match pattern {
        Pattern::Sequential { area, .. }
        | Pattern::Parallel { area, .. }
        | Pattern::Append { area, .. }
        | Pattern::Interlocked { area, .. }
        | Pattern::Recorded { area }
        | Pattern::Random { area, .. }
        | Pattern::Mixed { area, .. } => area,
    }
}

fn any_base() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0u64..1 << 20, 0u64..1 << 40]
}

fn any_target() -> impl Strategy<Value = Target> {
    let geometry = (1u64..1 << 24, 1u64..1 << 24, any_base(), prop::option::of(1u64..1 << 43), 0u64..1 << 28);
    let shape = (prop_oneof![Just(0), 1u32..100, Just(100)], any::<bool>(), any::<bool>(), 0u32..4);
    (geometry, shape, 1u32..5, 1u32..5).prop_map(|(geometry, shape, threads, outstanding)| {
        let (block, stride, base, max, thread_stride) = geometry;
        let (random_percent, parallel, interlocked, distribution) = shape;
        let range = |io_percent, length| DistributionRange { io_percent, length };
        target("a", |target| {
            target.block_size = Bytes(block);
            target.alignment = Some(Bytes(stride));
            target.base_offset = Bytes(base);
            target.max_offset = Bytes(max.map_or(0, |length| base + length));
            target.thread_stride = Bytes(thread_stride);
            (target.random_percent, target.parallel, target.interlocked) = (random_percent, parallel, interlocked);
            (target.threads, target.outstanding) = (threads, outstanding);
            target.distribution = match distribution {
                0 => None,
                1 => Some(Distribution::Percent(vec![range(10, 1), range(20, 1), range(0, 50), range(70, 48)])),
                2 => Some(Distribution::Absolute(vec![range(50, block + 7), range(30, 1 << 35), range(20, 0)])),
                _ => Some(Distribution::Absolute(vec![range(0, block), range(40, block * 3), range(60, 0)])),
            };
        })
    })
}

fn planned(time_span: TimeSpan, size: u64) -> Option<TimeSpanPlan> {
    let facts = facts([("a", TargetKind::Regular(theirs(1, size)))]);
    let mut plan = crate::plan(&profile(time_span), &facts, &Choices::default()).ok()?;
    Some(plan.time_spans.remove(0))
}

fn any_size() -> impl Strategy<Value = u64> {
    prop_oneof![1u64..1 << 26, 1u64..1 << 44, (9u64 << 40)..(9 << 40) + (1 << 30), u64::MAX - (1 << 30)..=u64::MAX]
}

proptest! {
    #[test]
    fn every_block_lies_inside_the_bounds_that_were_asked_for(target in any_target(), size in any_size()) {
        let Some(plan) = planned(span([target.clone()]), size) else { return Ok(()) };
        let end = match target.max_offset.get() { 0 => size, max => size.min(max) };
        for worker in &plan.workers {
            let work = &worker.targets[0];
            let base = area(&work.pattern).base_bytes;
            prop_assert_eq!(base, target.base_offset.get());
            for offset in walk(work, 50) {
                let last = u128::from(base) + u128::from(offset) + u128::from(work.block_bytes);
                prop_assert!(last <= u128::from(end), "{} past {}", last, end);
            }
        }
    }

    #[test]
    fn every_thread_and_request_is_planned_once(
        targets in prop::collection::vec(any_target(), 1..5),
        pool in 0u32..5,
        requests in 0u32..5,
    ) {
        let asked = TimeSpan { thread_count: pool, request_count: requests, ..span(targets) };
        let Some(plan) = planned(asked.clone(), 1 << 43) else { return Ok(()) };
        let pairs: BTreeSet<(u32, usize)> =
            plan.workers.iter().flat_map(|w| w.targets.iter().map(|t| (w.thread, t.target))).collect();
        let expected: u32 = asked.targets.iter().map(|target| asked.threads_on(target)).sum();
        prop_assert_eq!(pairs.len(), expected as usize);
        for (number, worker) in plan.workers.iter().enumerate() {
            prop_assert_eq!(worker.thread as usize, number);
            let fixed: u32 = worker.targets.iter().map(|target| target.slots).sum();
            prop_assert_eq!(worker.slots, if pool > 0 && requests > 0 { requests } else { fixed });
        }
        let interlocked = |target: &&Target| target.random_percent == 0 && target.interlocked && !target.parallel;
        prop_assert_eq!(plan.shared_counters, asked.targets.iter().filter(interlocked).count());
    }
}

/// Absolute offsets of the specification's tables.
#[test]
fn the_tables_of_the_specification_hold() {
    let offsets = |base: u64, size, stride, (thread_stride, thread): (u64, usize), change: fn(&mut Target)| {
        let asked = target("a", |target| {
            target.block_size = Bytes(if stride == 200 { 200 } else { 1000 });
            target.alignment = Some(Bytes(stride));
            target.base_offset = Bytes(base);
            target.thread_stride = Bytes(thread_stride);
            target.threads = 2;
            change(target);
        });
        let plan = planned(span([asked]), size).expect("a plan");
        walk(&plan.workers[thread].targets[0], 7).into_iter().map(|offset| offset + base).collect::<Vec<_>>()
    };
    let same = |_: &mut Target| ();
    assert_eq!(offsets(1000, 3000, 500, (0, 0), same), [1000, 1500, 2000, 1000, 1500, 2000, 1000]);
    assert_eq!(offsets(1000, 3000, 500, (0, 0), |t| t.parallel = true), [1000, 1500, 2000, 1000, 1500, 2000, 1000]);
    assert_eq!(offsets(1000, 3000, 500, (0, 0), |t| t.interlocked = true), [1000, 1500, 2000, 1000, 1500, 2000, 1000]);
    assert_eq!(offsets(0, 3000, 500, (250, 0), same), [0, 500, 1000, 1500, 2000, 0, 500]);
    assert_eq!(offsets(0, 3000, 500, (250, 1), same), [250, 750, 1250, 1750, 250, 750, 1250]);
    assert_eq!(offsets(0, 3000, 500, (750, 1), same), [750, 1250, 1750, 250, 750, 1250, 1750]);
    assert_eq!(offsets(0, 3000, 250, (500, 1), same), [500, 750, 1000, 1250, 1500, 1750, 2000]);
    assert_eq!(offsets(0, 3000, 200, (500, 1), same)[..3], [500, 700, 900]);
}
