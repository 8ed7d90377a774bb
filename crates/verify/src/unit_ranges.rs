//! The units of a target with history, and the place of each in a list of these units alone: 16 bytes for each range of
//! neighbours, however large the target is.

use std::ops::Range;

/// Memory of a range.
pub(crate) const RANGE_BYTES: u64 = size_of::<Begin>() as u64;

/// The minimum number of ranges that are added before they are merged again.
const UNMERGED_MIN: usize = 1 << 16;

/// Collects ranges of units, which may overlap and come in any order.
#[derive(Debug, Default)]
pub(crate) struct RangeCollector {
    ranges: Vec<Range<u64>>,
    /// Number of ranges that are sorted and disjoint.
    merged: usize,
}

/// Ranges of units in order, with gaps between them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct UnitRanges {
    begins: Vec<Begin>,
    units: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Begin {
    unit: u64,
    /// Number of units in the ranges before.
    place: u64,
}

impl RangeCollector {
    /// Adds a range; true if all ranges were merged by this, which is rare.
    pub(crate) fn add(&mut self, units: Range<u64>) -> bool {
        if units.is_empty() {
            return false;
        }
        match self.ranges.last_mut() {
            Some(last) if last.start <= units.start && units.start <= last.end => last.end = last.end.max(units.end),
            _ => self.ranges.push(units),
        }
        let is_full = self.ranges.len() >= UNMERGED_MIN.max(2 * self.merged);
        if is_full {
            self.merge();
        }
        is_full
    }

    fn merge(&mut self) {
        self.ranges.sort_unstable_by_key(|units| units.start);
        self.ranges.dedup_by(|next, last| {
            let meets = next.start <= last.end;
            if meets {
                last.end = last.end.max(next.end);
            }
            meets
        });
        self.merged = self.ranges.len();
        // Room for the ranges until the next merge only.
        self.ranges.reserve_exact(UNMERGED_MIN.max(2 * self.merged) - self.merged);
    }

    /// Ranges and units after the last merge.
    pub(crate) fn merged(&self) -> (u64, u64) {
        (self.merged as u64, self.ranges[..self.merged].iter().map(|units| units.end - units.start).sum())
    }

    /// Frees its memory.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn finish(mut self) -> UnitRanges {
        self.merge();
        let mut units = 0;
        let begin = |range: Range<u64>| {
            let begin = Begin { unit: range.start, place: units };
            units += range.end - range.start;
            begin
        };
        // In the memory of the ranges.
        let mut begins: Vec<Begin> = self.ranges.into_iter().map(begin).collect();
        begins.shrink_to_fit();
        UnitRanges { begins, units }
    }
}

impl UnitRanges {
    /// Number of units in all ranges.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Memory that they take.
    pub(crate) fn bytes(&self) -> u64 {
        self.begins.len() as u64 * RANGE_BYTES
    }

    /// Adds a range after all others.
    pub(crate) fn push(&mut self, range: Range<u64>) {
        if self.end() != Some(range.start) {
            self.begins.push(Begin { unit: range.start, place: self.units });
        }
        self.units += range.end - range.start;
    }

    /// End of the last range.
    pub(crate) fn end(&self) -> Option<u64> {
        self.begins.last().map(|last| last.unit + (self.units - last.place))
    }

    fn range(&self, number: usize) -> Option<Range<u64>> {
        let begin = self.begins.get(number)?;
        let end = self.begins.get(number + 1).map_or(self.units, |next| next.place);
        Some(begin.unit..begin.unit + (end - begin.place))
    }

    /// Number of the range that contains a unit, or of the first one after it.
    fn number(&self, unit: u64) -> usize {
        let behind = self.begins.partition_point(|begin| begin.unit <= unit);
        let before = behind.checked_sub(1).filter(|&before| self.range(before).is_some_and(|range| unit < range.end));
        before.unwrap_or(behind)
    }

    /// The place of a unit in the list of the units of all ranges.
    pub(crate) fn place(&self, unit: u64) -> Option<usize> {
        let number = self.number(unit);
        let range = self.range(number).filter(|range| range.contains(&unit))?;
        usize::try_from(self.begins[number].place + (unit - range.start)).ok()
    }

    /// The ranges, from the one that contains `unit` or is the first after it; units before `unit` are cut off.
    pub fn from(&self, unit: u64) -> impl Iterator<Item = Range<u64>> {
        let ranges = (self.number(unit)..self.begins.len()).filter_map(|number| self.range(number));
        ranges.map(move |range| range.start.max(unit)..range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;

    fn collected(ranges: impl IntoIterator<Item = Range<u64>>) -> UnitRanges {
        let mut collector = RangeCollector::default();
        ranges.into_iter().for_each(|range| _ = collector.add(range));
        collector.finish()
    }

    #[test]
    fn ranges_in_any_order_are_merged() {
        let ranges = collected([70..80, 10..20, 15..30, 30..31, 5..6, 72..73, 9..9]);
        assert!(ranges.from(0).eq([5..6, 10..31, 70..80]));
        assert!(ranges.from(12).eq([12..31, 70..80]) && ranges.from(31).eq(iter::once(70..80)));
        assert_eq!(ranges.from(80).next(), None);
        let places = [4, 5, 6, 10, 30, 31, 70, 79, 80].map(|unit| ranges.place(unit));
        assert_eq!(places, [None, Some(0), None, Some(1), Some(21), None, Some(22), Some(31), None]);
        assert_eq!((ranges.units(), ranges.bytes()), (32, 48));
        assert_eq!(collected([]), UnitRanges::default());
    }

    #[test]
    fn many_ranges_are_what_a_set_of_units_says() {
        let mut rng = hot::rng::Rng::new(7);
        let mut set = std::collections::BTreeSet::new();
        let mut collector = RangeCollector::default();
        let mut times = 0;
        for _ in 0..200_000 {
            let first = rng.below(1 << 40) & !0xFFF | rng.below(8);
            set.extend(first..first + 2);
            times += u32::from(collector.add(first..first + 2));
        }
        let ranges = collector.finish();
        assert!(times > 1, "they were merged meanwhile");
        assert!(ranges.from(0).flatten().eq(set.iter().copied()));
        assert!(set.iter().enumerate().all(|(place, unit)| ranges.place(*unit) == Some(place)));
    }
}
