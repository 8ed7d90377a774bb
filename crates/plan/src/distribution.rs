//! `-rd`: weighted ranges of a target, first as in reports, then as positions to draw offsets from.

use model::plan::{Area, EffectiveDistribution, EffectiveRange, WeightedRange};
use model::profile::{Distribution, DistributionRange};

/// The effective list of a distribution on an area; `None` = no range has a position, so offsets are uniform.
pub(crate) fn effective(distribution: &Distribution, area: &Area, block_bytes: u64) -> Option<EffectiveDistribution> {
    let ranges = match distribution {
        Distribution::Percent(ranges) => by_percent(ranges, area),
        Distribution::Absolute(ranges) => by_bytes(ranges, area.size_bytes, block_bytes),
    };
    let io_span = ranges.iter().map(|range| range.io_percent).sum();
    (io_span > 0).then_some(EffectiveDistribution { io_span, ranges })
}

/// The same in positions: each lies in its range, with room for a whole block.
pub(crate) fn weighted(effective: &EffectiveDistribution, area: &Area, block_bytes: u64) -> Vec<WeightedRange> {
    let last_start = area.size_bytes.saturating_sub(block_bytes);
    let in_positions = |range: &EffectiveRange| {
        if range.start_bytes > last_start {
            return None;
        }
        let alignment = area.alignment_bytes;
        // A range shorter than the alignment still has its first position.
        let whole = (range.length_bytes / alignment).max(1);
        let fitting = (last_start - range.start_bytes) / alignment + 1;
        let positions = whole.min(fitting);
        Some(WeightedRange { weight: range.io_percent, start_bytes: range.start_bytes, positions })
    };
    effective.ranges.iter().filter_map(in_positions).collect()
}

/// Lengths in percent: every boundary moves down to the grid, and a range that falls between two
/// grid points shares a position with a neighbour.
fn by_percent(ranges: &[DistributionRange], area: &Area) -> Vec<EffectiveRange> {
    let mut placing = Placing { area, placed: Vec::new(), carry: 0, carried_at: 0 };
    let mut start_percent = 0u64;
    for range in ranges {
        let end_percent = range.length.saturating_add(start_percent);
        if range.io_percent > 0 && start_percent < 100 {
            placing.place(range.io_percent, start_percent, end_percent);
        }
        start_percent = end_percent;
    }
    placing.finish()
}

/// The list under construction. Bounds are in positions of the grid, not in bytes.
struct Placing<'a> {
    area: &'a Area,
    placed: Vec<Placed>,
    /// Share of ranges without a position of their own yet.
    carry: u32,
    /// The position below the first of them.
    carried_at: u64,
}

struct Placed {
    io_percent: u32,
    first: u64,
    end: u64,
}

impl Placing<'_> {
    fn place(&mut self, io_percent: u32, start_percent: u64, end_percent: u64) {
        let positions = self.area.positions;
        let (floor, exact) = self.grid(start_percent);
        let mut first = floor;
        let end = if end_percent >= 100 { positions } else { self.end(start_percent, end_percent) };
        // No grid point between its real bounds. (Two empty ranges at one point occur if a percent is less than a
        // byte.)
        let is_second_here = end == first && self.placed.last().is_some_and(|previous| previous.first == first);
        if end < first || (end == first && !exact) || is_second_here {
            match self.placed.last_mut() {
                Some(previous) if previous.first == end => previous.io_percent += io_percent,
                _ => self.carry(io_percent, floor),
            }
            return;
        }
        // The previous range was shorter than a step, so both begin at one point, which it keeps.
        if let Some(previous) = self.placed.last_mut()
            && first < end
            && previous.first == first
        {
            first += 1;
            previous.end += 1;
            if first == positions {
                self.carry(io_percent, floor);
                return;
            }
            if first == end {
                previous.io_percent += io_percent;
                return;
            }
        }
        self.settle(first);
        if self.carry > 0
            && let Some(previous) = self.placed.last_mut()
            && previous.io_percent < io_percent
        {
            previous.io_percent += std::mem::take(&mut self.carry);
        }
        let carried = std::mem::take(&mut self.carry);
        self.placed.push(Placed { io_percent: io_percent + carried, first, end });
    }

    fn carry(&mut self, io_percent: u32, floor: u64) {
        if self.carry == 0 {
            self.carried_at = floor;
        }
        self.carry += io_percent;
    }

    /// Gives the last range a position if it is still empty and the next begins at `next`.
    fn settle(&mut self, next: u64) {
        if let Some(last) = self.placed.last_mut()
            && last.end == last.first
            && last.first < next
        {
            last.end += 1;
        }
    }

    fn finish(mut self) -> Vec<EffectiveRange> {
        let positions = self.area.positions;
        self.settle(positions);
        if self.carry > 0 {
            if let Some(last) = self.placed.last_mut() {
                last.io_percent += self.carry;
                last.end = positions;
            } else {
                let first = self.carried_at;
                self.placed.push(Placed { io_percent: self.carry, first, end: first + 1 });
            }
        }
        let alignment = self.area.alignment_bytes;
        let mut io_start = 0;
        let in_bytes = |placed: Placed| {
            let range = EffectiveRange {
                io_start,
                io_percent: placed.io_percent,
                start_bytes: placed.first * alignment,
                length_bytes: (placed.end - placed.first) * alignment,
            };
            io_start += placed.io_percent;
            range
        };
        self.placed.into_iter().map(in_bytes).collect()
    }

    /// `percent` of the aligned size: the position at or below it, and true if it is exact.
    fn grid(&self, percent: u64) -> (u64, bool) {
        let bytes = self.share(percent);
        let alignment = u128::from(self.area.alignment_bytes);
        ((bytes / alignment) as u64, bytes.is_multiple_of(alignment))
    }

    /// End of a range that does not reach the end of the area.
    fn end(&self, start_percent: u64, end_percent: u64) -> u64 {
        // Two truncated products, added as in DiskSpd, not one.
        let bytes = self.share(start_percent) + self.share(end_percent - start_percent);
        (bytes / u128::from(self.area.alignment_bytes)) as u64
    }

    fn share(&self, percent: u64) -> u128 {
        let aligned = u128::from(self.area.positions) * u128::from(self.area.alignment_bytes);
        u128::from(percent.min(100)) * aligned / 100
    }
}

/// Lengths in bytes: parts beyond the end are cut off.
fn by_bytes(ranges: &[DistributionRange], size_bytes: u64, block_bytes: u64) -> Vec<EffectiveRange> {
    let mut placed = Vec::new();
    let mut io_start = 0;
    let mut start_bytes = 0u64;
    for range in ranges {
        if range.io_percent > 0 {
            if start_bytes >= size_bytes {
                break;
            }
            let left = size_bytes - start_bytes;
            let mut length_bytes = range.length;
            if length_bytes == 0 || length_bytes > left {
                length_bytes = left;
                if left < block_bytes {
                    break;
                }
            }
            placed.push(EffectiveRange { io_start, io_percent: range.io_percent, start_bytes, length_bytes });
            io_start += range.io_percent;
        }
        start_bytes = start_bytes.saturating_add(range.length);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KIB: u64 = 1 << 10;
    const GIB: u64 = 1 << 30;

    fn area(size_bytes: u64, block_bytes: u64, alignment_bytes: u64) -> Area {
        let positions = (size_bytes - block_bytes) / alignment_bytes + 1;
        Area { base_bytes: 0, size_bytes, alignment_bytes, positions }
    }

    /// Pairs of I/O percent and length, with the automatic tail.
    fn list(pairs: &[(u32, u64)], tail: Option<u64>) -> Vec<DistributionRange> {
        let missing = 100 - pairs.iter().map(|pair| pair.0).sum::<u32>();
        let tail = tail.filter(|_| missing > 0).map(|length| (missing, length));
        pairs.iter().copied().chain(tail).map(|(io_percent, length)| DistributionRange { io_percent, length }).collect()
    }

    /// A list as the command line completes it.
    fn percent(pairs: &[(u32, u64)]) -> Distribution {
        Distribution::Percent(list(pairs, Some(100 - pairs.iter().map(|pair| pair.1).sum::<u64>())))
    }

    fn shown(distribution: &Distribution, size: u64, block: u64, unit: u64) -> Vec<(u32, u64, u64)> {
        let effective = effective(distribution, &area(size, block, block), block);
        let ranges = effective.map(|effective| effective.ranges).unwrap_or_default();
        ranges.iter().map(|range| (range.io_percent, range.start_bytes / unit, range.length_bytes / unit)).collect()
    }

    #[test]
    fn percent_lists_move_to_the_grid() {
        let shown_ranges = |pairs| shown(&percent(pairs), 100 * KIB, 4 * KIB, KIB);
        assert_eq!(shown_ranges(&[(10, 10), (10, 10), (0, 10)]), [(10, 0, 8), (10, 8, 12), (80, 28, 72)]);
        assert_eq!(shown_ranges(&[(10, 10), (10, 10), (10, 1)]), [(10, 0, 8), (10, 8, 12), (10, 20, 4), (70, 24, 76)]);
        assert_eq!(shown_ranges(&[(10, 96), (10, 3), (80, 1)]), [(10, 0, 96), (90, 96, 4)]);
        assert_eq!(shown_ranges(&[(10, 5), (10, 1), (80, 94)]), [(20, 0, 4), (80, 4, 96)]);
        assert_eq!(shown_ranges(&[(10, 1), (10, 1)]), [(20, 0, 4), (80, 4, 96)]);
        assert_eq!(shown_ranges(&[(10, 1); 5]), [(40, 0, 4), (10, 4, 4), (50, 8, 92)]);
        assert_eq!(
            shown(&percent(&[(90, 10), (0, 10), (5, 20)]), GIB, 4 * KIB, KIB),
            [(90, 0, 104_856), (5, 209_712, 209_716), (5, 419_428, 629_148)]
        );
    }

    #[test]
    fn a_share_that_is_carried_twice_is_not_lost() {
        let effective = shown(&percent(&[(10, 5), (5, 1), (5, 1), (80, 93)]), 100 * KIB, 4 * KIB, KIB);
        assert_eq!(effective.iter().map(|range| range.0).sum::<u32>(), 100);
        assert_eq!(effective, [(20, 0, 4), (80, 4, 96)]);
    }

    #[test]
    fn a_short_range_before_a_hole_has_one_position() {
        let effective = shown(&percent(&[(10, 1), (0, 50), (90, 49)]), 100 * KIB, 4 * KIB, KIB);
        assert_eq!(effective, [(10, 0, 4), (90, 48, 52)]);
    }

    #[test]
    fn a_list_whose_only_range_falls_between_grid_points_is_placed() {
        assert_eq!(shown(&percent(&[(0, 1), (100, 1), (0, 98)]), 100 * KIB, 4 * KIB, KIB), [(100, 0, 4)]);
    }

    fn absolute(pairs: &[(u32, u64)], size: u64, block: u64) -> (u32, Vec<(u32, u64, u64)>) {
        let list = Distribution::Absolute(list(pairs, Some(0)));
        let span = effective(&list, &area(size, block, block), block).map_or(0, |effective| effective.io_span);
        (span, shown(&list, size, block, 1))
    }

    #[test]
    fn byte_lists_are_cut_at_the_end_of_the_target() {
        let gib = |ranges: &[(u32, u64, u64)]| -> Vec<(u32, u64, u64)> {
            ranges.iter().map(|&(io, start, length)| (io, start * GIB, length * GIB)).collect()
        };
        let block = 4 * KIB;
        let spread = gib(&[(10, 0, 1), (10, 1, 1), (80, 102, 98)]);
        let hole = [(10, GIB), (10, GIB), (0, 100 * GIB)];
        assert_eq!(absolute(&hole, 200 * GIB, block), (100, spread.clone()));
        let trimmed = [hole.as_slice(), &[(80, 1024 * GIB)]].concat();
        assert_eq!(absolute(&trimmed, 200 * GIB, block), (100, spread));
        let halves = (20, gib(&[(10, 0, 100), (10, 100, 100)]));
        assert_eq!(absolute(&[(10, 100 * GIB), (10, 100 * GIB)], 200 * GIB, block), halves);
        assert_eq!(absolute(&[(10, 100 * GIB), (10, 200 * GIB)], 200 * GIB, block), halves);
        let with_hole = [(90, 10 * GIB), (0, 10 * GIB), (5, 20 * GIB)];
        assert_eq!(absolute(&with_hole, 20 * GIB, block), (90, gib(&[(90, 0, 10)])));
        assert_eq!(absolute(&with_hole, 30 * GIB, block), (95, gib(&[(90, 0, 10), (5, 20, 10)])));
        assert_eq!(absolute(&[(10, 98 * KIB)], 100 * KIB, 3 * KIB), (10, vec![(10, 0, 98 * KIB)]));
        assert_eq!(
            absolute(&[(10, 96 * KIB)], 100 * KIB, 3 * KIB),
            (100, vec![(10, 0, 96 * KIB), (90, 96 * KIB, 4 * KIB)])
        );
    }

    #[test]
    fn a_list_without_a_place_is_none() {
        let area = area(8 * KIB, 4 * KIB, 4 * KIB);
        let list = Distribution::Absolute(list(&[(0, 8 * KIB), (100, 4 * KIB)], None));
        assert_eq!(effective(&list, &area, 4 * KIB), None);
    }

    #[test]
    fn positions_keep_the_phase_of_their_range_and_leave_room_for_a_block() {
        let area = area(100 * KIB, 3 * KIB, 3 * KIB);
        let list = Distribution::Absolute(list(&[(10, 97 * KIB), (90, 0)], None));
        let effective = effective(&list, &area, 3 * KIB).expect("a list");
        let weighted = weighted(&effective, &area, 3 * KIB);
        let first = WeightedRange { weight: 10, start_bytes: 0, positions: 32 };
        let tail = WeightedRange { weight: 90, start_bytes: 97 * KIB, positions: 1 };
        assert_eq!(weighted, [first, tail]);
    }

    /// Percent lists that validation accepts: shares and lengths add up to 100.
    fn valid_percent() -> impl Strategy<Value = Distribution> {
        prop::collection::vec((0u32..40, 1u64..40), 1..12).prop_map(|raw| {
            let mut io_left = 100;
            let mut length_left = 100;
            let mut pairs = Vec::new();
            for (io, length) in raw {
                if length >= length_left {
                    break;
                }
                pairs.push((io.min(io_left), length));
                io_left -= io.min(io_left);
                length_left -= length;
            }
            pairs.push((io_left, length_left));
            Distribution::Percent(list(&pairs, None))
        })
    }

    proptest! {
        #[test]
        fn effective_percent_lists_ascend_without_overlap_and_add_up(
            distribution in valid_percent(),
            block in 1u64..10_000,
            alignment in 1u64..10_000,
            more in 0u64..10_000_000,
        ) {
            let area = area(block + more, block, alignment);
            let effective = effective(&distribution, &area, block).expect("something is placed");
            prop_assert_eq!(effective.io_span, 100);
            let mut end = 0;
            let mut io = 0;
            for range in &effective.ranges {
                prop_assert!(range.start_bytes >= end && range.length_bytes >= alignment);
                prop_assert!(range.start_bytes % alignment == 0 && range.length_bytes % alignment == 0);
                prop_assert_eq!(range.io_start, io);
                io += range.io_percent;
                end = range.start_bytes + range.length_bytes;
            }
            prop_assert!(end <= area.positions * alignment);
        }

        #[test]
        fn no_position_of_a_byte_list_lets_a_block_cross_the_end(
            pairs in prop::collection::vec((0u32..20, 1u64..1 << 50), 1..6),
            block in 1u64..1 << 20,
            alignment in 1u64..1 << 20,
            more in 0u64..1 << 60,
        ) {
            let pairs: Vec<(u32, u64)> = pairs.into_iter().map(|(io, length)| (io, length.max(block))).collect();
            let area = area(block + more, block, alignment);
            let distribution = Distribution::Absolute(list(&pairs, Some(0)));
            if let Some(effective) = effective(&distribution, &area, block) {
                let weighted = weighted(&effective, &area, block);
                prop_assert_eq!(weighted.len(), effective.ranges.len());
                for (range, shown) in weighted.iter().zip(&effective.ranges) {
                    prop_assert!(range.positions > 0);
                    let last = range.start_bytes + (range.positions - 1) * alignment;
                    prop_assert!(last + block <= area.size_bytes);
                    prop_assert!(last < shown.start_bytes + shown.length_bytes);
                }
            }
        }
    }
}
