//! Counts of a row with I/Os of several sizes: each I/O with its size only, of which the row's figures are the sums.

use crate::sections::Histogram;
use crate::times::tally;
use hot::counters::{self, Counter, TallyCells, TallyValues};
use hot::slots::Slot;
use model::operation::{ByOperation, Operation};
use model::plan::{SizesPlan, WorkerTarget};
use model::record::SizeRecord;
use std::sync::atomic::Ordering::Relaxed;
use sys::mapping::untouched_table;

/// Cells by operation and size, for what the plan does; the worker alone writes them.
#[derive(Debug)]
pub(crate) struct SizeCells(ByOperation<Box<[SizeCell]>>);

#[derive(Debug)]
pub(crate) struct SizeCell {
    /// Of the part that the worker is in.
    pub(crate) current: TallyCells,
    /// All parts before.
    sum: TallyCells,
    /// `-L`.
    pub(crate) histogram: Option<Box<Histogram>>,
    /// Bytes that short transfers lack.
    pub(crate) missing_bytes: Counter,
    size_bytes: u64,
}

impl SizeCell {
    /// Bytes of an I/O.
    #[inline]
    pub(crate) fn length(&self) -> u32 {
        self.size_bytes as u32
    }

    /// Count and moments up to now.
    fn values(&self) -> TallyValues {
        counters::values(&self.sum).merge(counters::values(&self.current))
    }
}

impl SizeCells {
    pub(crate) fn new(sizes: &SizesPlan, target: &WorkerTarget, measures_latency: bool) -> Self {
        let cell = |size_bytes| SizeCell {
            current: TallyCells::default(),
            sum: TallyCells::default(),
            histogram: measures_latency.then(untouched_table),
            missing_bytes: Counter::default(),
            size_bytes,
        };
        Self(ByOperation::new(|operation| {
            let sizes = sizes.sizes.iter().filter(|_| target.does(operation));
            sizes.map(|size| cell(size.bytes)).collect()
        }))
    }

    /// Where an I/O is counted.
    #[inline]
    pub(crate) fn cell(&self, slot: &Slot) -> &SizeCell {
        &self.cells_of(slot.operation)[usize::from(slot.size)]
    }

    /// Where I/Os of a kind are counted, by size.
    #[inline]
    pub(crate) fn cells_of(&self, operation: Operation) -> &[SizeCell] {
        &self.0[operation]
    }

    /// A size in bytes.
    pub(crate) fn size_bytes(&self, index: usize) -> u64 {
        self.0.iter().find_map(|cells| cells.get(index)).map_or(0, |cell| cell.size_bytes)
    }

    /// I/Os of the part that the worker is in, and their bytes if all were transferred.
    pub(crate) fn current(&self, operation: Operation) -> (TallyValues, u64) {
        self.0[operation].iter().fold((TallyValues::default(), 0), |(sum, bytes), cell| {
            let values = counters::values(&cell.current);
            (sum.merge(values), bytes + values.count.saturating_mul(cell.size_bytes))
        })
    }

    /// The bytes of all I/Os up to now if all were transferred.
    pub(crate) fn whole_bytes(&self, operation: Operation) -> u64 {
        self.0[operation].iter().map(|cell| cell.values().count.saturating_mul(cell.size_bytes)).sum()
    }

    /// The part is over.
    pub(crate) fn close(&self, operation: Operation) {
        for cell in &self.0[operation] {
            counters::set(&cell.sum, cell.values());
            counters::set(&cell.current, TallyValues::default());
        }
    }

    /// Forgets the I/Os of the warm-up, whose latencies were counted in no histogram.
    pub(crate) fn forget(&self) {
        for cell in self.0.iter().flatten() {
            counters::set(&cell.current, TallyValues::default());
            cell.missing_bytes.set(0);
        }
    }

    /// Counts of each kind and size.
    pub(crate) fn records(&self) -> Vec<SizeRecord> {
        let cell_records = |operation: Operation| {
            self.0[operation].iter().map(move |cell| {
                let values = cell.values();
                let whole = values.count.saturating_mul(cell.size_bytes);
                SizeRecord {
                    operation,
                    size_bytes: cell.size_bytes,
                    bytes: whole.saturating_sub(cell.missing_bytes.get()),
                    tally: tally(values),
                    buckets: cell.histogram.as_deref().map(non_empty).unwrap_or_default(),
                }
            })
        };
        Operation::ALL.into_iter().flat_map(cell_records).collect()
    }
}

fn non_empty(histogram: &Histogram) -> Vec<(u32, u64)> {
    let counts = (0..).zip(histogram).map(|(bucket, cell)| (bucket, cell.load(Relaxed)));
    counts.filter(|&(_, count)| count > 0).collect()
}
