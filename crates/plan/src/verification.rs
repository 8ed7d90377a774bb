//! `--verify`: the size of a unit, and the memory of the map.

use crate::findings::{Findings, RefusalKind};
use model::facts::SystemFacts;
use model::note::Note;
use model::plan::{Expected, Pattern, TargetPlan, WorkerPlan, WorkerTarget};
use model::profile::TimeSpan;
use model::verification::VerificationPlan;
use verify::map::GenerationMap;
use verify::unit::UnitSize;

/// Divisor of the free memory that limits the map.
const MEMORY_SHARE: u64 = 2;

/// Divisor of the free memory for the map if it cannot have an entry for each unit.
const SHARED_MEMORY_SHARE: u64 = 8;

/// Plans the verification of a timespan, with the memory of the map; `None` = refused.
pub(crate) fn plan(
    time_span: &TimeSpan,
    workers: &[WorkerPlan],
    targets: &[TargetPlan],
    system: &SystemFacts,
    findings: &mut Findings,
) -> Option<(VerificationPlan, u64)> {
    if let Some(target) = targets.iter().find(|target| target.expect == Expected::Character) {
        let message = format!("--verify cannot be used with '{}': it stores nothing", target.path.display());
        findings.refuse(RefusalKind::Invalid, message);
        return None;
    }
    let places = || workers.iter().flat_map(|worker| &worker.targets).flat_map(places);
    let Some(unit) = UnitSize::dividing(places()) else {
        let divisor = 1u64 << places().fold(0, |bits, place| bits | place).trailing_zeros();
        let message = format!(
            "--verify needs I/O sizes, offsets and alignments that are multiples of 512 bytes; these are multiples of \
             {divisor}"
        );
        findings.refuse(RefusalKind::Invalid, message);
        return None;
    };
    let map_bytes = |target: &TargetPlan| GenerationMap::bytes(target.size_bytes.div_ceil(unit.bytes()));
    let needed_bytes = targets.iter().map(map_bytes).fold(0, u64::saturating_add);
    let available_bytes = system.memory.free_bytes();
    let is_exact = needed_bytes <= available_bytes / MEMORY_SHARE;
    let target_map_bytes_max =
        if is_exact { u64::MAX } else { available_bytes / SHARED_MEMORY_SHARE / targets.len().max(1) as u64 };
    if !is_exact {
        findings.note(Note::VerificationWithoutMap { needed_bytes, available_bytes });
    }
    let taken = |target: &TargetPlan| {
        let units = target.size_bytes.div_ceil(unit.bytes());
        8 * GenerationMap::cell_count(units, target_map_bytes_max) as u64
    };
    let plan = VerificationPlan {
        unit_bytes: unit.bytes() as u32,
        is_exact,
        target_map_bytes_max,
        stop_after: time_span.verify_stop,
    };
    Some((plan, targets.iter().map(taken).fold(0, u64::saturating_add)))
}

/// Sizes of I/Os, and the values whose multiples sum up to all of their offsets.
fn places(work: &WorkerTarget) -> Vec<u64> {
    let area = work.pattern.area();
    let mut places = vec![work.block_bytes, area.base_bytes, area.alignment_bytes];
    match &work.pattern {
        Pattern::Sequential { start_bytes, .. } | Pattern::Parallel { start_bytes, .. } => places.push(*start_bytes),
        Pattern::Random { ranges, .. } | Pattern::Mixed { ranges, .. } => {
            places.extend(ranges.iter().map(|range| range.start_bytes));
        }
        Pattern::Append { .. } | Pattern::Interlocked { .. } | Pattern::Recorded { .. } => {}
    }
    for size in work.sizes.iter().flat_map(|sizes| &sizes.sizes) {
        places.extend([size.bytes, size.alignment_bytes]);
        places.extend(size.ranges.iter().map(|range| range.start_bytes));
    }
    places
}
