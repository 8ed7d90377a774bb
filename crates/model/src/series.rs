//! The course of a measurement: counts of short cells, and latency histograms of longer sections.

use crate::packed_counts::PackedCounts;
use crate::tally::Tally;

/// What all threads did to all targets in equal parts of the measurement, in order, empty parts included.
/// A last part that was not reached whole is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesRecord {
    /// Width of a cell in nanoseconds: 100 ms, doubled until there are at most
    /// [`SERIES_CELLS_MAX`](crate::limits::SERIES_CELLS_MAX). 0 without cells.
    pub width_ns: u64,
    /// The first begins with the measurement.
    pub cells: Vec<SeriesCell>,
}

/// One part of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeriesCell {
    /// Reads that completed in it.
    pub read: CellCounts,
    /// Writes that completed in it.
    pub write: CellCounts,
}

/// I/Os of one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellCounts {
    /// How many.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Sum of their latencies in nanoseconds; says something with `-L` and `-D` only.
    pub latency_sum_ns: u64,
}

/// What all threads did to all targets in one part of the measurement, with its latencies. Sections follow
/// each other without gaps from the start of the measurement to its end; the last may be shorter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SectionRecord {
    /// Where it begins, in nanoseconds since the start of the measurement.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// Reads that completed in it.
    pub read: SectionCounts,
    /// Writes that completed in it.
    pub write: SectionCounts,
}

/// I/Os of one section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SectionCounts {
    /// How many, and the moments of their latencies.
    pub tally: Tally,
    /// Bytes transferred.
    pub bytes: u64,
    /// Their latencies by coarse bucket (`hot::buckets::coarse`).
    pub histogram: PackedCounts,
}
