//! Interval series (`-D`) and the deviation of the I/Os per second.

use crate::{latency, rate};
use model::figures::{Directions, IntervalFigures};
use model::plan::Intervals;
use model::record::{IntervalRecord, Tally};

/// How many intervals count: those planned, as far as the measurement reached, empty or not.
///
/// A last interval that was reached in part counts as a whole one.
pub(crate) fn counted(intervals: Intervals, elapsed_ns: u64) -> u64 {
    if intervals.width_ns == 0 { 0 } else { intervals.count.min(elapsed_ns.div_ceil(intervals.width_ns)) }
}

/// I/Os completed in each interval, of one row or of many merged index by index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    width_ns: u64,
    /// Reads and writes.
    cells: Vec<(Tally, Tally)>,
}

impl Series {
    pub(crate) fn new(intervals: Intervals, elapsed_ns: u64) -> Self {
        let counted = counted(intervals, elapsed_ns) as usize;
        Self { width_ns: intervals.width_ns, cells: vec![<(Tally, Tally)>::default(); counted] }
    }

    /// Adds a row; intervals that do not count are left out.
    pub(crate) fn add(&mut self, records: &[IntervalRecord]) {
        for record in records {
            let Some(cell) = usize::try_from(record.index).ok().and_then(|index| self.cells.get_mut(index)) else {
                continue;
            };
            cell.0.merge(&record.read);
            cell.1.merge(&record.write);
        }
    }

    /// Population deviation of the I/Os per second.
    pub(crate) fn std_devs(&self) -> Directions<f64> {
        let width_s = self.width_ns as f64 / 1e9;
        let std_dev = |count: fn(&(Tally, Tally)) -> u64| population_std_dev(self.cells.iter().map(count)) / width_s;
        if self.cells.is_empty() {
            return Directions::default();
        }
        Directions {
            read: std_dev(|cell| cell.0.count),
            write: std_dev(|cell| cell.1.count),
            total: std_dev(|cell| cell.0.count.saturating_add(cell.1.count)),
        }
    }

    /// One entry per interval that counts, empty ones included.
    pub(crate) fn figures(&self) -> Vec<Directions<IntervalFigures>> {
        let interval_figures = |tally: &Tally| IntervalFigures {
            ios: tally.count,
            iops: rate::per_second(tally.count, self.width_ns),
            latency: latency::figures(tally),
        };
        let directions = |(read, write): &(Tally, Tally)| {
            let mut both = *read;
            both.merge(write);
            Directions { read: interval_figures(read), write: interval_figures(write), total: interval_figures(&both) }
        };
        self.cells.iter().map(directions).collect()
    }
}

/// In two passes, so that large counts with small differences lose nothing.
fn population_std_dev(counts: impl ExactSizeIterator<Item = u64> + Clone) -> f64 {
    let n = counts.len() as f64;
    let sum: u128 = counts.clone().map(u128::from).sum();
    let mean = sum as f64 / n;
    let squares: f64 = counts.map(|count| (count as f64 - mean).powi(2)).sum();
    (squares / n).sqrt()
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the figures compared are exact")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn seconds(count: u64) -> Intervals {
        Intervals { width_ns: SECOND_NS, count }
    }

    fn tally(count: u64) -> Tally {
        Tally { count, sum_ns: 100 * u128::from(count), sum_squares_ns2: 1e4 * count as f64, min_ns: 100, max_ns: 100 }
    }

    fn record(index: u64, reads: u64, writes: u64) -> IntervalRecord {
        IntervalRecord { index, read: tally(reads), write: tally(writes) }
    }

    fn one_row(records: &[IntervalRecord], intervals: Intervals, elapsed_ns: u64) -> Series {
        let mut series = Series::new(intervals, elapsed_ns);
        series.add(records);
        series
    }

    fn std_devs(records: &[IntervalRecord], intervals: Intervals, elapsed_ns: u64) -> Directions<f64> {
        one_row(records, intervals, elapsed_ns).std_devs()
    }

    #[test]
    fn intervals_count_as_far_as_planned_and_reached() {
        for (planned, elapsed_ns, expected) in
            [(10, 10 * SECOND_NS, 10), (10, 10 * SECOND_NS + 1, 10), (10, 4 * SECOND_NS + 1, 5), (10, 1, 1), (10, 0, 0)]
        {
            assert_eq!(counted(seconds(planned), elapsed_ns), expected, "{elapsed_ns}");
        }
        assert_eq!(counted(Intervals { width_ns: 0, count: 3 }, 1), 0);
    }

    #[test]
    fn one_and_two_ios_deviate_by_a_half() {
        let both = std_devs(&[record(0, 1, 0), record(1, 2, 0)], seconds(2), 2 * SECOND_NS);
        assert_eq!(both, Directions { read: 0.5, write: 0.0, total: 0.5 });
    }

    #[test]
    fn the_deviation_is_of_ios_per_second() {
        let quarter = Intervals { width_ns: SECOND_NS / 4, count: 2 };
        assert_eq!(std_devs(&[record(0, 1, 0), record(1, 2, 0)], quarter, SECOND_NS / 2).read, 2.0);
    }

    #[test]
    fn empty_intervals_count_wherever_they_are() {
        let stalled_at_the_end = std_devs(&[record(0, 4, 0)], seconds(4), 4 * SECOND_NS);
        let stalled_at_the_start = std_devs(&[record(3, 4, 0)], seconds(4), 4 * SECOND_NS);
        assert_eq!(stalled_at_the_end, stalled_at_the_start);
        // 4 0 0 0: mean 1, variance (9 + 1 + 1 + 1) / 4 = 3
        assert!((stalled_at_the_end.read - 3f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_completes_after_the_last_interval_is_left_out() {
        let late = std_devs(&[record(0, 5, 0), record(1, 5, 0), record(2, 1, 0)], seconds(2), 2 * SECOND_NS + 7);
        assert_eq!(late.read, 0.0);
    }

    #[test]
    fn reads_and_writes_merge_before_they_deviate() {
        let swapping = std_devs(&[record(0, 10, 0), record(1, 0, 10)], seconds(2), 2 * SECOND_NS);
        assert_eq!(swapping, Directions { read: 5.0, write: 5.0, total: 0.0 });
    }

    #[test]
    fn a_series_has_an_entry_for_each_interval() {
        let series = one_row(&[record(1, 2, 3), record(9, 1, 0)], seconds(3), 3 * SECOND_NS).figures();
        assert_eq!(series.iter().map(|cell| cell.total.ios).collect::<Vec<_>>(), [0, 5, 0]);
        assert_eq!(series[1].read.latency.expect("there were reads").max_ns, Some(100));
        assert_eq!(series[0].total.latency, None);
    }

    #[test]
    fn the_rate_of_an_interval_is_per_second() {
        let quarter = Intervals { width_ns: SECOND_NS / 4, count: 1 };
        let series = one_row(&[record(0, 3, 2)], quarter, SECOND_NS / 4).figures();
        assert_eq!((series[0].read.iops, series[0].write.iops, series[0].total.iops), (12.0, 8.0, 20.0));
    }

    #[test]
    fn rows_merge_interval_by_interval() {
        let slow = Tally { count: 1, sum_ns: 400, sum_squares_ns2: 16e4, min_ns: 400, max_ns: 400 };
        let mut series = Series::new(seconds(2), 2 * SECOND_NS);
        series.add(&[record(0, 2, 0), record(1, 1, 1)]);
        series.add(&[IntervalRecord { index: 0, read: slow, write: Tally::default() }]);
        let figures = series.figures();
        let first = figures[0].read.latency.expect("there were reads");
        assert_eq!((figures[0].read.ios, first.mean_ns, first.min_ns, first.max_ns), (3, 200.0, Some(100), Some(400)));
        assert_eq!(figures[1].total.ios, 2);
    }

    proptest! {
        #[test]
        fn rows_merge_in_any_order(rows in prop::collection::vec(prop::collection::vec((0u64..6, 0u64..1000, 0u64..1000), 0..6), 0..5)) {
            let rows: Vec<Vec<IntervalRecord>> = rows.into_iter()
                .map(|row| row.into_iter().map(|(index, reads, writes)| record(index, reads, writes)).collect())
                .collect();
            let add_all = |rows: &mut dyn Iterator<Item = &Vec<IntervalRecord>>| {
                let mut series = Series::new(seconds(5), 5 * SECOND_NS);
                rows.for_each(|row| series.add(row));
                series.std_devs()
            };
            prop_assert_eq!(add_all(&mut rows.iter()), add_all(&mut rows.iter().rev()));
        }
    }
}
