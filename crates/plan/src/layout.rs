//! Positions of I/Os on a target: bounds, grid of offsets, starts of threads, pattern.

use crate::distribution;
use crate::words;
use model::operation::Operation;
use model::plan::{Area, EffectiveDistribution, Pattern, SizePlan, SizesPlan, WeightedRange};
use model::profile::{Rotation, Skew, Target, Throughput};
use model::units::counted;

/// The layout of a target, before its assignment to threads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    pub(crate) area: Area,
    pub(crate) shape: Shape,
    pub(crate) effective_distribution: Option<EffectiveDistribution>,
    /// `None` = all I/Os have one size.
    pub(crate) sizes: Option<SizesPlan>,
}

/// A pattern without the parts that differ from thread to thread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Sequential { thread_stride_bytes: u64 },
    Parallel { thread_stride_bytes: u64 },
    Append { rotation: Rotation },
    Interlocked { counter: usize },
    Recorded,
    Random { ranges: Vec<WeightedRange>, skew: Option<Skew> },
    Mixed { ranges: Vec<WeightedRange>, skew: Option<Skew>, random_percent: u32 },
}

/// Lays out `target` of `size_bytes` bytes; `threads` are the relative numbers of its threads.
///
/// `counters` counts the assigned shared counters: one for each interlocked target, regardless of its threads.
pub(crate) fn layout(
    target: &Target,
    size_bytes: u64,
    threads: &[u32],
    counters: &mut usize,
) -> Result<Layout, String> {
    let block = target.largest_io_bytes();
    let area = area(target, size_bytes)?;
    let used = target.distribution.as_ref().filter(|_| target.random_percent > 0);
    let effective_distribution = used.and_then(|list| distribution::effective(list, &area, block));
    let ranges = effective_distribution.as_ref().map(|list| distribution::weighted(list, &area, block));
    let shape = shape(target, ranges.unwrap_or_default(), counters);
    let stride = match shape {
        Shape::Sequential { thread_stride_bytes } | Shape::Parallel { thread_stride_bytes } => thread_stride_bytes,
        _ => 0,
    };
    check_starts(target, &area, size_bytes, stride, threads)?;
    let sizes = target.sizes_option().map(|_| sizes(target, &area));
    Ok(Layout { area, shape, effective_distribution, sizes })
}

/// Bounds and grid.
fn area(target: &Target, size_bytes: u64) -> Result<Area, String> {
    let path = target.path.display();
    let base = target.base_offset.get();
    let block = target.largest_io_bytes();
    let alignment = alignment(target, block);
    if block == 0 || alignment == 0 {
        return Err(format!("'{path}': the block size is 0"));
    }
    let end = match target.max_offset.get() {
        0 => size_bytes,
        max => size_bytes.min(max),
    };
    if base >= end {
        return Err(format!(
            "'{path}' is too small: the base offset (-B) {} is at or beyond its end at {}",
            words::exact(base),
            words::exact(end)
        ));
    }
    let size = end - base;
    if block > size {
        // Only explicit limits are named.
        let range = match (base > 0, end < size_bytes) {
            (false, false) => "the target",
            (true, false) => "its range (-B)",
            (false, true) => "its range (-f)",
            (true, true) => "its range (-B, -f)",
        };
        let (block, size) = (words::exact(block), words::exact(size));
        return Err(format!("'{path}': {range} of {size} is too small for a block of {block}"));
    }
    let positions = (size - block) / alignment + 1;
    Ok(Area { base_bytes: base, size_bytes: size, alignment_bytes: alignment, positions })
}

/// Distance between random offsets of I/Os of a size, or between sequential ones of the only size.
fn alignment(target: &Target, bytes: u64) -> u64 {
    match target.stated_alignment().get() {
        0 => bytes,
        alignment => alignment,
    }
}

/// Positions of I/Os of each size; the largest fits into the area.
fn sizes(target: &Target, area: &Area) -> SizesPlan {
    let size = |bytes: u64| {
        let alignment_bytes = alignment(target, bytes);
        let positions = (area.size_bytes - bytes) / alignment_bytes + 1;
        let of_size = Area { alignment_bytes, positions, ..*area };
        let used = target.distribution.as_ref().filter(|_| target.random_percent > 0);
        let effective = used.and_then(|list| distribution::effective(list, &of_size, bytes));
        let ranges = effective.map(|effective| distribution::weighted(&effective, &of_size, bytes));
        let percent_of = |operation| {
            let same = target.sizes_of(operation).into_iter().filter(|(other, _)| *other == bytes);
            same.map(|(_, percent)| percent).sum()
        };
        SizePlan {
            bytes,
            read_percent: percent_of(Operation::Read),
            write_percent: percent_of(Operation::Write),
            other_percent: percent_of(Operation::Discard),
            alignment_bytes,
            positions,
            ranges: ranges.unwrap_or_default(),
        }
    };
    let bytes_per_ms = match target.throughput {
        Throughput::BytesPerMs(rate) if rate > 0 => Some(rate),
        _ => None,
    };
    SizesPlan { sizes: target.io_sizes().into_iter().map(size).collect(), bytes_per_ms }
}

fn shape(target: &Target, ranges: Vec<WeightedRange>, counters: &mut usize) -> Shape {
    let thread_stride_bytes = target.thread_stride.get();
    if let Some(append) = target.append {
        return Shape::Append { rotation: append.rotation };
    }
    match target.random_percent {
        100.. => Shape::Random { ranges, skew: target.skew },
        random_percent @ 1.. => Shape::Mixed { ranges, skew: target.skew, random_percent },
        0 if target.parallel => Shape::Parallel { thread_stride_bytes },
        0 if target.interlocked => {
            *counters += 1;
            Shape::Interlocked { counter: *counters - 1 }
        }
        0 => Shape::Sequential { thread_stride_bytes },
    }
}

/// Refuses starts of threads without room for their first block.
fn check_starts(target: &Target, area: &Area, size_bytes: u64, stride: u64, threads: &[u32]) -> Result<(), String> {
    let block = target.largest_io_bytes();
    // The caller has checked that one block fits.
    let last_start = area.size_bytes - block;
    let misfits: Vec<u32> =
        threads.iter().copied().filter(|&thread| u64::from(thread).saturating_mul(stride) > last_start).collect();
    let Some(&first) = misfits.first() else { return Ok(()) };
    let others = match misfits.len() {
        1 => String::new(),
        more => format!("; the same applies to {} after it", counted(more as u64 - 1, "thread")),
    };
    Err(format!(
        "'{}' is too small for -T {}: thread {first} starts at offset {}, where a block of {} would extend beyond the \
         end of the range at {} (file size {}){others}",
        target.path.display(),
        words::exact(stride),
        words::exact(area.base_bytes.saturating_add(u64::from(first).saturating_mul(stride))),
        words::exact(block),
        words::exact(area.base_bytes + area.size_bytes),
        words::exact(size_bytes),
    ))
}

impl Layout {
    /// The layout of a trace's requests, whose offsets and sizes are multiples of `alignment_bytes`.
    pub(crate) fn recorded(self, alignment_bytes: u64) -> Self {
        Self { shape: Shape::Recorded, area: Area { alignment_bytes, ..self.area }, ..self }
    }

    /// Bytes at the end of the area that no block reaches, if blocks cover everything before them.
    pub(crate) fn end_not_reached(&self, target: &Target) -> u64 {
        let stride = match self.shape {
            Shape::Append { .. } | Shape::Recorded => return 0,
            Shape::Sequential { thread_stride_bytes } | Shape::Parallel { thread_stride_bytes } => thread_stride_bytes,
            Shape::Interlocked { .. } | Shape::Random { .. } | Shape::Mixed { .. } => 0,
        };
        let sizes = target.io_sizes().into_iter();
        let steps = sizes.map(|bytes| (bytes, alignment(target, bytes)));
        // Blocks with a distance above their length, or with other starts in each thread, leave gaps on purpose.
        if steps.clone().any(|(bytes, step)| step > bytes || !stride.is_multiple_of(step)) {
            return 0;
        }
        steps.map(|(bytes, step)| (self.area.size_bytes - bytes) % step).min().unwrap_or(0)
    }

    /// The pattern of one thread.
    pub(crate) fn pattern(&self, relative_thread: u32) -> Pattern {
        let area = self.area;
        // Checked: a block fits at every thread's start.
        let start = |stride: u64| u64::from(relative_thread) * stride;
        match &self.shape {
            Shape::Sequential { thread_stride_bytes } => {
                Pattern::Sequential { area, start_bytes: start(*thread_stride_bytes) }
            }
            Shape::Parallel { thread_stride_bytes } => {
                Pattern::Parallel { area, start_bytes: start(*thread_stride_bytes) }
            }
            Shape::Append { rotation } => Pattern::Append { area, rotation: *rotation },
            Shape::Interlocked { counter } => Pattern::Interlocked { area, counter: *counter },
            Shape::Recorded => Pattern::Recorded { area },
            Shape::Random { ranges, skew } => Pattern::Random { area, ranges: ranges.clone(), skew: *skew },
            Shape::Mixed { ranges, skew, random_percent } => {
                Pattern::Mixed { area, ranges: ranges.clone(), skew: *skew, random_percent: *random_percent }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::{Distribution, DistributionRange};
    use model::units::Bytes;
    use proptest::prelude::*;

    fn target(base: u64, block: u64, stride: u64) -> Target {
        let mut target = Target::new("a");
        target.base_offset = Bytes(base);
        target.block_size = Bytes(block);
        target.alignment = Some(Bytes(stride));
        target
    }

    fn lay(target: &Target, size: u64, threads: &[u32]) -> Result<Layout, String> {
        layout(target, size, threads, &mut 0)
    }

    #[test]
    fn the_area_counts_the_offsets_at_which_a_block_fits() {
        let layout = lay(&target(1000, 1000, 500), 3000, &[0]).expect("it fits");
        assert_eq!(layout.area, Area { base_bytes: 1000, size_bytes: 2000, alignment_bytes: 500, positions: 3 });
        let mut bounded = target(0, 1000, 1000);
        bounded.max_offset = Bytes(1500);
        assert_eq!(lay(&bounded, 9000, &[0]).expect("it fits").area.positions, 1);
        bounded.max_offset = Bytes(90_000);
        assert_eq!(lay(&bounded, 9000, &[0]).expect("it fits").area.size_bytes, 9000);
    }

    #[test]
    fn patterns_follow_the_first_matching_switch() {
        let pattern = |change: fn(&mut Target)| {
            let mut target = target(0, 1000, 500);
            target.thread_stride = Bytes(250);
            change(&mut target);
            lay(&target, 3000, &[0, 1]).expect("it fits").pattern(1)
        };
        assert!(matches!(pattern(|_| ()), Pattern::Sequential { start_bytes: 250, .. }));
        assert!(matches!(pattern(|t| t.parallel = true), Pattern::Parallel { start_bytes: 250, .. }));
        assert!(matches!(pattern(|t| t.interlocked = true), Pattern::Interlocked { counter: 0, .. }));
        assert!(matches!(pattern(|t| t.random_percent = 100), Pattern::Random { .. }));
        assert!(matches!(pattern(|t| t.random_percent = 99), Pattern::Mixed { random_percent: 99, .. }));
    }

    #[test]
    fn the_end_of_a_target_that_no_block_reaches_is_known() {
        let end = |block, step, size| {
            let target = target(0, block, step);
            lay(&target, size, &[0]).expect("it fits").end_not_reached(&target)
        };
        assert_eq!((end(1000, 1000, 3000), end(1000, 1000, 3001), end(1000, 1000, 3999)), (0, 1, 999));
        assert_eq!((end(1000, 500, 3500), end(1000, 300, 3500)), (0, 100), "overlapping blocks");
        assert_eq!(end(1000, 2000, 3500), 0, "gaps everywhere");
        let mut strided = target(0, 1000, 1000);
        strided.thread_stride = Bytes(250);
        assert_eq!(lay(&strided, 3500, &[0, 1]).expect("it fits").end_not_reached(&strided), 0);
    }

    #[test]
    fn each_interlocked_target_has_a_counter_of_its_own() {
        let mut interlocked = target(0, 1000, 500);
        interlocked.interlocked = true;
        let mut counters = 0;
        let shapes = [0, 1].map(|_| layout(&interlocked, 3000, &[0], &mut counters).expect("it fits").shape);
        assert_eq!(shapes, [Shape::Interlocked { counter: 0 }, Shape::Interlocked { counter: 1 }]);
        assert_eq!(counters, 2);
    }

    #[test]
    fn a_target_that_is_too_small_is_refused_with_its_numbers() {
        let message = |target: &Target, size, threads: &[u32]| lay(target, size, threads).expect_err("it does not fit");
        insta::assert_snapshot!(message(&target(4096, 4096, 4096), 4096, &[0]), @
            "'a' is too small: the base offset (-B) 4KiB is at or beyond its end at 4KiB");
        insta::assert_snapshot!(message(&target(4096, 4096, 4096), 8191, &[0]), @
            "'a': its range (-B) of 4095 bytes is too small for a block of 4KiB");
        let mut ranged = target(0, 4096, 4096);
        insta::assert_snapshot!(message(&ranged, 4095, &[0]), @
            "'a': the target of 4095 bytes is too small for a block of 4KiB");
        ranged.max_offset = Bytes(1024);
        insta::assert_snapshot!(message(&ranged, 8192, &[0]), @
            "'a': its range (-f) of 1KiB is too small for a block of 4KiB");
        let mut strided = target(1024, 4096, 4096);
        strided.thread_stride = Bytes(1 << 20);
        assert_eq!(lay(&strided, 1024 + 4096 + (2 << 20), &[0, 1, 2]).err(), None);
        insta::assert_snapshot!(message(&strided, 1023 + 4096 + (2 << 20), &[0, 1, 2, 3]), @"'a' is too small for -T 1MiB: thread 2 starts at offset 2049KiB, where a block of 4KiB would extend beyond the end of the range at 2102271 bytes (file size 2102271 bytes); the same applies to 1 thread after it");
    }

    #[test]
    fn huge_strides_do_not_wrap() {
        let mut strided = target(0, 4096, 4096);
        strided.thread_stride = Bytes(u64::MAX / 2);
        assert!(lay(&strided, 1 << 30, &[0, 1, 2, 3]).is_err());
    }

    /// The last offset that a pattern can reach, relative to base.
    fn last_offset(pattern: &Pattern) -> u64 {
        let on_grid = |area: &Area, phase: u64| phase + (area.positions - 1) * area.alignment_bytes;
        match pattern {
            Pattern::Interlocked { area, .. } | Pattern::Append { area, .. } | Pattern::Recorded { area } => {
                on_grid(area, 0)
            }
            Pattern::Random { area, ranges, .. } | Pattern::Mixed { area, ranges, .. } => {
                let last = |range: &WeightedRange| range.start_bytes + (range.positions - 1) * area.alignment_bytes;
                ranges.iter().map(last).max().unwrap_or_else(|| on_grid(area, 0))
            }
            // Sequential walks check each step; the plan only has their start.
            Pattern::Sequential { start_bytes, .. } | Pattern::Parallel { start_bytes, .. } => *start_bytes,
        }
    }

    fn any_target() -> impl Strategy<Value = Target> {
        let block = prop_oneof![1u64..1 << 16, 1u64..1 << 32];
        let base = prop_oneof![Just(0), 0u64..1 << 42];
        let mix = prop_oneof![Just(0), 1u32..100, Just(100)];
        let stride = prop_oneof![1u64..1 << 13, 1u64..1 << 45];
        (block, stride, base, 0u64..1 << 30, mix, any::<bool>(), any::<bool>()).prop_map(
            |(block, stride, base, thread_stride, random_percent, parallel, interlocked)| {
                let mut target = target(base, block, stride);
                target.thread_stride = Bytes(thread_stride);
                target.random_percent = random_percent;
                target.parallel = parallel;
                target.interlocked = interlocked;
                let range = |io_percent, length| DistributionRange { io_percent, length };
                target.distribution = interlocked.then(|| Distribution::Percent(vec![range(30, 3), range(70, 97)]));
                target
            },
        )
    }

    proptest! {
        #[test]
        fn no_block_crosses_the_end_of_its_area(
            target in any_target(),
            size in prop_oneof![1u64..1 << 44, (9u64 << 40)..(10 << 40), u64::MAX - (1 << 20)..=u64::MAX],
            threads in 1u32..64,
        ) {
            let threads: Vec<u32> = (0..threads).collect();
            if let Ok(layout) = lay(&target, size, &threads) {
                let area = layout.area;
                let block = target.block_size.get();
                prop_assert!(area.positions >= 1);
                prop_assert_eq!(area.base_bytes + area.size_bytes, size);
                // One more position would not fit: all possible offsets are used.
                let next = u128::from(area.positions) * u128::from(area.alignment_bytes);
                prop_assert!(next + u128::from(block) > u128::from(area.size_bytes));
                for &thread in &threads {
                    prop_assert!(last_offset(&layout.pattern(thread)) + block <= area.size_bytes);
                }
            }
        }

        #[test]
        fn a_target_that_holds_every_first_block_is_accepted(target in any_target(), threads in 1u32..64) {
            let threads: Vec<u32> = (0..threads).collect();
            let is_random = target.random_percent > 0 || (target.interlocked && !target.parallel);
            let strides = if is_random { 0 } else { *threads.last().expect("at least one") };
            let needed = u64::from(strides) * target.thread_stride.get() + target.block_size.get();
            let size = target.base_offset.get() + needed;
            prop_assert!(lay(&target, size, &threads).is_ok());
            prop_assert!(lay(&target, size - 1, &threads).is_err());
        }
    }
}
