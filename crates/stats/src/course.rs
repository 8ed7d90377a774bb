//! The course of a measurement: a result's series, sections and slowest I/Os.

use crate::latency;
use model::course::{Section, SectionFigures, Series, SeriesCounts};
use model::limits::{RESULT_SERIES_MAX, SLOWEST_IOS};
use model::record::{CellCounts, SectionCounts, SectionRecord, SeriesCell, SeriesRecord, SlowIo, ThreadRecord};
use std::cmp::Reverse;

/// The series, with cells twice as wide until there are few enough of them. Latencies are left out if they
/// were not measured.
pub(crate) fn series(record: &SeriesRecord, measures_latency: bool) -> Series {
    let mut width_ns = record.width_ns;
    let mut cells = record.cells.clone();
    while cells.len() > RESULT_SERIES_MAX {
        // One that is left alone is not whole.
        cells = cells.chunks_exact(2).map(|pair| both(&pair[0], &pair[1])).collect();
        width_ns = width_ns.saturating_mul(2);
    }
    let counts = |side: fn(&SeriesCell) -> &CellCounts| {
        let amounts = |amount: fn(&CellCounts) -> u64| cells.iter().map(side).map(amount).collect();
        let latency_sum_ns = if measures_latency { amounts(|counts| counts.latency_sum_ns) } else { Vec::new() };
        SeriesCounts { ios: amounts(|counts| counts.ios), bytes: amounts(|counts| counts.bytes), latency_sum_ns }
    };
    Series { width_ns, read: counts(|cell| &cell.read), write: counts(|cell| &cell.write) }
}

fn both(first: &SeriesCell, second: &SeriesCell) -> SeriesCell {
    let add = |a: CellCounts, b: CellCounts| CellCounts {
        ios: a.ios + b.ios,
        bytes: a.bytes + b.bytes,
        latency_sum_ns: a.latency_sum_ns.saturating_add(b.latency_sum_ns),
    };
    SeriesCell { read: add(first.read, second.read), write: add(first.write, second.write) }
}

/// The sections with their figures.
pub(crate) fn sections(records: &[SectionRecord]) -> Vec<Section> {
    let figures = |counts: &SectionCounts| {
        let SectionCounts { tally, bytes, histogram } = counts;
        let latency = latency::figures(tally)?;
        Some(SectionFigures { ios: tally.count, bytes: *bytes, latency, histogram: histogram.clone() })
    };
    let section = |record: &SectionRecord| Section {
        start_ns: record.start_ns,
        end_ns: record.end_ns,
        read: figures(&record.read),
        write: figures(&record.write),
    };
    records.iter().map(section).collect()
}

/// The slowest I/Os of all threads, the slowest first; of equally slow ones the earlier.
pub(crate) fn slowest(threads: &[ThreadRecord]) -> Vec<SlowIo> {
    let mut slowest: Vec<SlowIo> = threads.iter().flat_map(|thread| &thread.slowest).copied().collect();
    slowest.sort_by_key(|io| (Reverse(io.latency_ns), io.ended_at_ns, io.thread, io.offset_bytes));
    slowest.truncate(SLOWEST_IOS);
    slowest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_is_told_in_wider_cells() {
        let cell = |ios| CellCounts { ios, bytes: ios * 512, latency_sum_ns: ios * 3 };
        let cells = 0..RESULT_SERIES_MAX as u64 * 2 + 5;
        let cells = cells.map(|index| SeriesCell { read: cell(index), write: cell(1) }).collect();
        let series = series(&SeriesRecord { width_ns: 100, cells }, true);
        assert_eq!((series.width_ns, series.read.ios.len()), (400, RESULT_SERIES_MAX / 2 + 1));
        assert_eq!(series.read.ios[..2], [1 + 2 + 3, 4 + 5 + 6 + 7]);
        assert_eq!((series.read.bytes[0], series.read.latency_sum_ns[0]), (6 * 512, 18));
        assert!(series.write.ios.iter().all(|&ios| ios == 4));
    }

    #[test]
    fn latencies_that_were_not_measured_are_not_told() {
        let cells = vec![SeriesCell::default()];
        let series = series(&SeriesRecord { width_ns: 100, cells }, false);
        assert_eq!((series.read.ios.len(), series.read.latency_sum_ns.len()), (1, 0));
    }

    #[test]
    fn the_slowest_of_all_threads_are_in_order() {
        let io = |thread, latency_ns, ended_at_ns| SlowIo { thread, latency_ns, ended_at_ns, ..SlowIo::default() };
        let thread = |slowest: Vec<SlowIo>| ThreadRecord { slowest, ..ThreadRecord::default() };
        let many = (1..=SLOWEST_IOS as u64).map(|ns| io(0, ns, ns)).collect();
        let slowest = slowest(&[thread(many), thread(vec![io(1, 70, 9), io(1, 5000, 3), io(1, 1, 1)])]);
        assert_eq!(slowest.len(), SLOWEST_IOS);
        assert_eq!(slowest[..2], [io(1, 5000, 3), io(0, 100, 100)]);
        assert_eq!((slowest[31], slowest[32]), (io(1, 70, 9), io(0, 70, 70)));
    }
}
