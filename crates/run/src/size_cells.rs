//! What a row counts of I/Os of several sizes.

use crate::sections::{self, Histogram};
use crate::times::tally;
use hot::buckets;
use hot::counters::{self, Counter, TallyCells, TallyValues};
use hot::slots::Slot;
use model::operation::{ByOperation, Operation};
use model::plan::{SizesPlan, WorkerTarget};
use model::record::SizeRecord;
use std::sync::atomic::Ordering::Relaxed;
use sys::mapping::untouched_table;

/// Cells by operation and size; the worker alone writes them.
#[derive(Debug)]
pub(crate) struct SizeCells {
    sizes: Box<[u64]>,
    /// Bytes transferred, which do not follow from the number of I/Os.
    bytes: ByOperation<Counter>,
    /// How many of them were in parts of the measurement that are over.
    bytes_before: ByOperation<Counter>,
    /// By size, for what the plan does.
    cells: ByOperation<Box<[SizeCell]>>,
}

#[derive(Debug, Default)]
struct SizeCell {
    tally: TallyCells,
    /// `-L`.
    histogram: Option<Box<Histogram>>,
}

impl SizeCells {
    pub(crate) fn new(sizes: &SizesPlan, target: &WorkerTarget, measures_latency: bool) -> Self {
        let cell = |_| SizeCell { histogram: measures_latency.then(untouched_table), ..SizeCell::default() };
        let cells = |operation| {
            let count = if target.does(operation) { sizes.sizes.len() } else { 0 };
            (0..count).map(cell).collect()
        };
        Self {
            sizes: sizes.sizes.iter().map(|size| size.bytes).collect(),
            bytes: ByOperation::default(),
            bytes_before: ByOperation::default(),
            cells: ByOperation::new(cells),
        }
    }

    /// Counts an I/O of `length` bytes; one that transferred less has what it lacks [taken off](Self::take_off).
    #[inline]
    pub(crate) fn record(&self, slot: &Slot, length: u32, latency_ns: u64, is_measured: bool) {
        self.bytes[slot.operation].add(u64::from(length));
        let cell = &self.cells[slot.operation][usize::from(slot.size)];
        counters::record(&cell.tally, latency_ns);
        if is_measured && let Some(histogram) = &cell.histogram {
            sections::count(histogram, buckets::index(latency_ns));
        }
    }

    /// An I/O that is counted transferred so many bytes less than its length.
    pub(crate) fn take_off(&self, operation: Operation, missing_bytes: u64) {
        let bytes = &self.bytes[operation];
        bytes.set(bytes.get().wrapping_sub(missing_bytes));
    }

    /// A size in bytes.
    pub(crate) fn size_bytes(&self, index: usize) -> u64 {
        self.sizes.get(index).copied().unwrap_or_default()
    }

    /// Bytes up to now.
    pub(crate) fn bytes(&self, operation: Operation) -> u64 {
        self.bytes[operation].get()
    }

    /// Bytes in the part that the worker is in.
    pub(crate) fn current_bytes(&self, operation: Operation) -> u64 {
        self.bytes[operation].get().saturating_sub(self.bytes_before[operation].get())
    }

    /// The part is over.
    pub(crate) fn close(&self, operation: Operation) {
        self.bytes_before[operation].set(self.bytes[operation].get());
    }

    /// Forgets the I/Os of the warm-up, whose latencies were counted in no histogram.
    pub(crate) fn forget(&self) {
        for operation in Operation::ALL {
            self.bytes[operation].set(0);
            for cell in &self.cells[operation] {
                counters::set(&cell.tally, TallyValues::default());
            }
        }
    }

    /// What was counted, of each kind and size.
    pub(crate) fn records(&self) -> Vec<SizeRecord> {
        let of = |operation: Operation| {
            self.cells[operation].iter().zip(&self.sizes).map(move |(cell, &size_bytes)| SizeRecord {
                operation,
                size_bytes,
                tally: tally(counters::values(&cell.tally)),
                buckets: cell.histogram.as_deref().map(non_empty).unwrap_or_default(),
            })
        };
        Operation::ALL.into_iter().flat_map(of).collect()
    }
}

fn non_empty(histogram: &Histogram) -> Vec<(u32, u64)> {
    let counts = (0..).zip(histogram).map(|(bucket, cell)| (bucket, cell.load(Relaxed)));
    counts.filter(|&(_, count)| count > 0).collect()
}
