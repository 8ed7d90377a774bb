//! Latencies of the measurement: the tables that an I/O is counted in, and the slowest.

use crate::row::Row;
use crate::sections::{self, Histogram, SectionCells};
use crate::size_cells::SizeCell;
use hot::buckets::{self, Buckets};
use hot::slots::Slot;
use hot::slowest::Slowest;
use model::limits::TARGETS_MAX;
use model::operation::Operation;

/// Latencies of the measurement, of all rows together.
#[derive(Debug)]
pub(crate) struct LatencyCells {
    pub(crate) sections: SectionCells,
    pub(crate) slowest: Slowest,
}

/// Those of them that an I/O on one row goes into.
#[derive(Clone, Copy)]
pub(crate) struct LatencyTables<'a> {
    /// Of the section, all rows together.
    coarse: &'a Histogram,
    /// `-L`: of the row.
    fine: Option<&'a Buckets>,
    /// `-L`: of the size, where there are several.
    size: Option<&'a Histogram>,
    slowest: &'a Slowest,
    /// Bytes of the I/O, if they differ from I/O to I/O; 0 = as the size says.
    length: u32,
}

impl LatencyCells {
    #[inline]
    pub(crate) fn tables<'a>(&'a self, row: &'a Row, operation: Operation) -> LatencyTables<'a> {
        let (coarse, fine) = (self.sections.histogram(operation), row.buckets_of(operation));
        LatencyTables { coarse, fine, size: None, slowest: &self.slowest, length: 0 }
    }
}

impl<'a> LatencyTables<'a> {
    /// The same, and those of a size.
    #[inline]
    pub(crate) fn of_size(self, size: Option<&'a SizeCell>) -> Self {
        Self { size: size.and_then(|size| size.histogram.as_deref()), ..self }
    }

    /// The same, of an I/O of a trace.
    #[inline]
    pub(crate) fn of_length(self, length: u32) -> Self {
        Self { length, ..self }
    }

    /// Counts the latency of an I/O that ended at `ended_ns`, and keeps it if it is one of the slowest.
    #[inline]
    pub(crate) fn record(&self, slot: &Slot, latency_ns: u64, ended_ns: u64) {
        let bucket = buckets::index(latency_ns);
        sections::count(self.coarse, bucket);
        if let Some(fine) = self.fine {
            fine.record_at(bucket);
        }
        if let Some(size) = self.size {
            sections::count(size, bucket);
        }
        if self.slowest.wants(latency_ns) {
            let Slot { work, operation, size, offset, .. } = *slot;
            let tag = u64::from(self.length) << LENGTH_BIT
                | u64::from(work) << (2 * TAG_BITS)
                | u64::from(size) << TAG_BITS
                | operation.index() as u64;
            self.slowest.keep(hot::slowest::SlowIo { latency_ns, ended_ns, offset, tag });
        }
    }
}

/// Bits of the tag of a slow I/O that say what it did, and then its size; those above are the number of its row.
pub(crate) const TAG_BITS: u32 = 8;
pub(crate) const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
/// Above them, the bytes of an I/O of a trace. A thread has at most [`TARGETS_MAX`] rows.
pub(crate) const LENGTH_BIT: u32 = 2 * TAG_BITS + TARGETS_MAX.ilog2();
