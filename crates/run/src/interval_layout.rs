//! How a measurement is cut into parts, and the counts of its cells.
//!
//! Whoever is about to count an I/O looks whether its part is over; only then is a part looked for, which
//! takes divisions.

use model::limits::{SECTIONS_MAX, SECTIONS_WITHOUT_INTERVALS, SERIES_CELLS_MAX, SERIES_WIDTH_NS};
use model::note::Note;
use model::operation::{ByOperation, Operation};
use model::plan::{Intervals, Pace, RateCurve, TimeSpanPlan};
use model::record::{CellCounts, SeriesCell, SeriesRecord};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sys::mapping::untouched_cells;

/// Words of an operation in a cell: count, bytes and sum of latencies.
const OPERATION_WORDS: usize = 3;

/// Words of a cell, operation by operation.
const CELL_WORDS: usize = Operation::COUNT * OPERATION_WORDS;

/// The parts of one measurement, for all of its threads.
#[derive(Debug)]
pub struct IntervalLayout {
    series: Intervals,
    /// Of `-D`.
    intervals: Option<Intervals>,
    /// `None` if latencies are not measured.
    sections: Option<Intervals>,
    /// The series' cells. Each thread adds what it did when it leaves a cell.
    cells: Box<[AtomicU64]>,
}

/// The parts that a moment lies in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Cell of the series.
    pub cell: u64,
    /// Interval of `-D`; 0 without them.
    pub interval: u64,
    /// Section; 0 without them.
    pub section: u64,
}

/// True if the offered rate rises or falls, so that response times differ from part to part.
fn has_ramp(plan: &TimeSpanPlan) -> bool {
    let mut targets = plan.workers.iter().flat_map(|worker| &worker.targets);
    targets.any(|target| matches!(target.pace, Pace::Varying { curve: RateCurve::Ramp { .. }, .. }))
}

impl IntervalLayout {
    /// Cuts the measurement of a plan.
    pub fn new(plan: &TimeSpanPlan) -> Self {
        let series = coarsened(cut(plan.duration_ns, SERIES_WIDTH_NS), SERIES_CELLS_MAX);
        let twentieth_ns = plan.duration_ns.div_ceil(SECTIONS_WITHOUT_INTERVALS).max(1);
        let sections = match plan.intervals {
            Some(intervals) => Some(coarsened(intervals, SECTIONS_MAX)),
            None => (plan.measure_latency || has_ramp(plan)).then(|| cut(plan.duration_ns, twentieth_ns)),
        };
        let words = usize::try_from(series.count).unwrap_or(usize::MAX).saturating_mul(CELL_WORDS);
        Self { series, intervals: plan.intervals, sections, cells: untouched_cells(words) }
    }

    /// The sections, if latencies are measured.
    pub(crate) fn sections(&self) -> Option<Intervals> {
        self.sections
    }

    /// Where `at_ns` nanoseconds after the start of the measurement are, and when the next part begins,
    /// on the same scale.
    pub(crate) fn find(&self, at_ns: u64) -> (Position, u64) {
        let mut next_ns = u64::MAX;
        let mut index = |parts: Option<Intervals>| {
            let Some(parts) = parts.filter(|parts| parts.width_ns > 0) else { return 0 };
            let index = (at_ns / parts.width_ns).min(parts.count.saturating_sub(1));
            next_ns = next_ns.min((index + 1).saturating_mul(parts.width_ns));
            index
        };
        let cell = index(Some(self.series));
        let place = Position { cell, interval: index(self.intervals), section: index(self.sections) };
        (place, next_ns)
    }

    /// Adds what a thread did in a cell.
    pub(crate) fn add(&self, cell: u64, counts: ByOperation<CellCounts>) {
        let first = usize::try_from(cell).unwrap_or(usize::MAX).saturating_mul(CELL_WORDS);
        let words = self.cells.get(first..).unwrap_or_default();
        let amounts = counts.iter().flat_map(|counts| [counts.ios, counts.bytes, counts.latency_sum_ns]);
        for (word, amount) in words.iter().zip(amounts).filter(|&(_, amount)| amount > 0) {
            word.fetch_add(amount, Relaxed);
        }
    }

    /// The series of `elapsed_ns` nanoseconds.
    pub(crate) fn series(&self, elapsed_ns: u64) -> SeriesRecord {
        let whole = elapsed_ns.checked_div(self.series.width_ns).unwrap_or(0).min(self.series.count) as usize;
        let counts = |words: &[AtomicU64], operation: Operation| {
            let first = operation.index() * OPERATION_WORDS;
            let word = |index: usize| words.get(first + index).map_or(0, |word| word.load(Relaxed));
            CellCounts { ios: word(0), bytes: word(1), latency_sum_ns: word(2) }
        };
        let cell = |words: &[AtomicU64]| SeriesCell {
            read: counts(words, Operation::Read),
            write: counts(words, Operation::Write),
        };
        let cells = self.cells.chunks_exact(CELL_WORDS).take(whole).map(cell).collect();
        SeriesRecord { width_ns: self.series.width_ns, cells }
    }

    /// Notes about the parts.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.series.width_ns > SERIES_WIDTH_NS {
            notes.push(Note::SeriesCoarsened { width_ns: self.series.width_ns });
        }
        if let (Some(intervals), Some(sections)) = (self.intervals, self.sections)
            && sections.width_ns > intervals.width_ns
        {
            notes.push(Note::SectionsMerged { intervals: sections.width_ns / intervals.width_ns });
        }
        notes
    }
}

/// Parts of `width_ns` nanoseconds.
fn cut(duration_ns: u64, width_ns: u64) -> Intervals {
    Intervals { width_ns, count: duration_ns.div_ceil(width_ns) }
}

/// Parts twice as wide until there are at most `most`.
fn coarsened(mut parts: Intervals, most: u64) -> Intervals {
    while parts.count > most {
        parts = Intervals { width_ns: parts.width_ns.saturating_mul(2), count: parts.count.div_ceil(2) };
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn layout(duration_in_ms: u64, interval_ms: Option<u64>, measure_latency: bool) -> IntervalLayout {
        let duration_ns = duration_in_ms * MS;
        let intervals = interval_ms.map(|ms| cut(duration_ns, ms * MS));
        IntervalLayout::new(&TimeSpanPlan { duration_ns, intervals, measure_latency, ..TimeSpanPlan::default() })
    }

    #[test]
    fn a_part_ends_where_the_next_of_any_kind_begins() {
        let layout = layout(1000, Some(250), false);
        let at = |ms: u64| layout.find(ms * MS);
        assert_eq!(at(0), (Position::default(), 100 * MS));
        assert_eq!(at(249), (Position { cell: 2, interval: 0, section: 0 }, 250 * MS));
        assert_eq!(at(250), (Position { cell: 2, interval: 1, section: 1 }, 300 * MS));
        assert_eq!(at(999), (Position { cell: 9, interval: 3, section: 3 }, 1000 * MS));
    }

    #[test]
    fn latencies_without_intervals_have_twenty_sections() {
        assert_eq!(layout(60_000, None, true).sections(), Some(Intervals { width_ns: 3_000 * MS, count: 20 }));
        assert_eq!(layout(60_000, None, false).sections(), None);
    }

    #[test]
    fn long_runs_have_wider_parts_and_a_note() {
        assert_eq!(layout(60_000, Some(1000), true).notes(), []);
        let day_ms = 86_400_000;
        let long = layout(day_ms, Some(1), true);
        assert_eq!(long.series, Intervals { width_ns: 400 * MS, count: 216_000 });
        assert_eq!(long.sections(), Some(Intervals { width_ns: 512 * MS, count: 168_750 }));
        let notes = [Note::SeriesCoarsened { width_ns: 400 * MS }, Note::SectionsMerged { intervals: 512 }];
        assert_eq!(long.notes(), notes);
    }

    #[test]
    fn a_cell_that_was_not_reached_whole_is_left_out() {
        let layout = layout(1000, None, false);
        let read = CellCounts { ios: 2, bytes: 8192, latency_sum_ns: 77 };
        for cell in [0, 0, 2, 3, 1 << 40] {
            let mut counts = ByOperation::<CellCounts>::default();
            counts[Operation::Read] = read;
            layout.add(cell, counts);
        }
        let series = layout.series(350 * MS);
        let ios: Vec<u64> = series.cells.iter().map(|cell| cell.read.ios).collect();
        assert_eq!((series.width_ns, ios), (100 * MS, vec![4, 0, 2]));
        assert_eq!(series.cells[2], SeriesCell { read, write: CellCounts::default() });
    }
}
