//! One worker's work on one target, as it counts it.

use crate::replay_cells::ReplayCells;
use crate::size_cells::SizeCells;
use crate::skew::{SkewCells, SkewTables};
use crate::times::{Times, tally};
use crate::work::Work;
use hot::buckets::Buckets;
use hot::counters::{self, Counter, TALLY_CELLS, TallyCells, TallyValues};
use hot::reducible::Sample;
use hot::slots::Slot;
use model::live::LiveTally;
use model::operation::{ByOperation, Operation};
use model::plan::{TimeSpanPlan, WorkerTarget};
use model::record::{DirectionRecord, IntervalRecord, OpenLoopRecord, OperationRecord, SizeRecord, WrittenSample};
use model::replay::REQUEST_BYTES_MAX;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use sys::mapping::{untouched_cells, untouched_table};

/// One thread's work on one target.
///
/// I/Os are counted in `current`. When their part of the measurement is over it is added to the sum and
/// to the interval, so that an I/O is counted once, however many things it belongs to.
#[derive(Debug)]
pub struct Row {
    target: usize,
    block_bytes: u64,
    /// Of the part that the worker is in; with several sizes, each size has its own instead.
    current: ByOperation<TallyCells>,
    /// All parts before.
    sum: ByOperation<TallyCells>,
    /// The intervals of `-D`, [`INTERVAL_CELLS`] each, as far as they are over.
    intervals: Box<[AtomicU64]>,
    /// `-L`: of what the plan does.
    buckets: ByOperation<Option<Buckets>>,
    /// Transfers shorter than the block.
    short: ByOperation<Short>,
    /// The kinds that the plan has of those that transfer no data.
    others: ByOperation<bool>,
    /// `None` = all I/Os have one size.
    pub(crate) sizes: Option<SizeCells>,
    /// `None` in a closed loop.
    pub(crate) open_loop: Option<OpenLoopCells>,
    /// `None` unless the requests of a trace are issued.
    pub(crate) replay: Option<Box<ReplayCells>>,
    /// `None` without `--skew`.
    pub(crate) skew: Option<SkewCells>,
    /// The beginning of what was written, when the worker has ended.
    written: OnceLock<WrittenSample>,
}

/// Transfers shorter than the block.
#[derive(Debug, Default)]
struct Short {
    transfers: Counter,
    /// Bytes that they lack.
    missing_bytes: Counter,
    /// How much of that was in parts that are over.
    missing_before: Counter,
}

// The plan of memory counts with these sizes.
const _: () = assert!(size_of::<Row>() + size_of::<Work>() <= model::limits::ROW_BYTES as usize);

/// Cells of one interval, operation by operation.
const INTERVAL_CELLS: usize = Operation::COUNT * TALLY_CELLS;

impl Row {
    pub(crate) fn new(plan: &TimeSpanPlan, target: &WorkerTarget, tables: &SkewTables) -> Self {
        // The plan refused counts that do not fit (limits::INTERVALS_MAX).
        let intervals = usize::try_from(plan.intervals.map_or(0, |intervals| intervals.count)).unwrap_or(usize::MAX);
        let buckets =
            |operation| (plan.measure_latency && target.does(operation)).then(|| Buckets::new(untouched_table()));
        Self {
            target: target.target,
            block_bytes: if target.is_recorded() { REQUEST_BYTES_MAX } else { target.block_bytes },
            current: ByOperation::default(),
            sum: ByOperation::default(),
            intervals: untouched_cells(intervals.saturating_mul(INTERVAL_CELLS)),
            buckets: ByOperation::new(buckets),
            short: ByOperation::default(),
            others: ByOperation::new(|operation| !operation.transfers_data() && target.does(operation)),
            sizes: target.sizes.as_ref().map(|sizes| SizeCells::new(sizes, target, plan.measure_latency)),
            open_loop: target.pace.is_open_loop().then(OpenLoopCells::new),
            replay: target.is_recorded().then(|| Box::new(ReplayCells::new())),
            skew: SkewCells::new(target, tables),
            written: OnceLock::new(),
        }
    }

    /// Counts of operations that transfer no data, of each kind that the plan has.
    pub(crate) fn other_records(&self) -> Vec<OperationRecord> {
        let done = Operation::WITHOUT_DATA.into_iter().filter(|&operation| self.others[operation]);
        done.map(|operation| OperationRecord { operation, record: self.direction_record(operation) }).collect()
    }

    /// The worker writes nothing more.
    pub(crate) fn keep_sample(&self, sample: Sample) {
        let (bytes, block_hashes) = sample.into_parts();
        // A worker ends once.
        let _ = self.written.set(WrittenSample { bytes, block_hashes });
    }

    /// The beginning of what was written, of data that reduces.
    pub(crate) fn written(&self) -> Option<WrittenSample> {
        self.written.get().cloned()
    }

    /// Index of the target in the timespan.
    pub fn target(&self) -> usize {
        self.target
    }

    /// Size of its I/Os, of the one with this index if there are several.
    pub(crate) fn size_bytes(&self, index: usize) -> u64 {
        self.sizes.as_ref().map_or(self.block_bytes, |sizes| sizes.size_bytes(index))
    }

    /// Counts by kind and size.
    pub(crate) fn size_records(&self) -> Vec<SizeRecord> {
        self.sizes.as_ref().map(SizeCells::records).unwrap_or_default()
    }

    /// Where I/Os are counted now, if all have one size.
    #[inline]
    pub(crate) fn tally(&self, operation: Operation) -> &TallyCells {
        &self.current[operation]
    }

    /// `-L`: where their latencies are.
    #[inline]
    pub(crate) fn buckets_of(&self, operation: Operation) -> Option<&Buckets> {
        self.buckets[operation].as_ref()
    }

    /// The I/O that is being counted transferred only this many bytes of its length.
    #[cold]
    pub(crate) fn record_short(&self, slot: &Slot, length: u32, transferred: u32) {
        let short = &self.short[slot.operation];
        let missing_bytes = u64::from(length.saturating_sub(transferred));
        short.transfers.add(1);
        short.missing_bytes.add(missing_bytes);
        if let Some(sizes) = &self.sizes {
            sizes.cell(slot).missing_bytes.add(missing_bytes);
        }
    }

    /// The I/O that is being counted is a request of a trace with this length: bytes are counted as what it lacks of the
    /// largest.
    pub(crate) fn record_length(&self, operation: Operation, length: u32) {
        self.short[operation].missing_bytes.add(REQUEST_BYTES_MAX.saturating_sub(length.into()));
    }

    /// Transfers shorter than the block, of the measurement once it has begun.
    pub fn short_transfers(&self) -> u64 {
        self.short.iter().map(|short| short.transfers.get()).sum()
    }

    /// The tables that are there.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = &Buckets> {
        self.buckets.iter().flatten()
    }

    /// Forgets the I/Os of the warm-up.
    pub(crate) fn forget(&self) {
        for (current, short) in self.current.iter().zip(self.short.iter()) {
            counters::set(current, TallyValues::default());
            short.transfers.set(0);
            short.missing_bytes.set(0);
        }
        self.sizes.iter().for_each(SizeCells::forget);
        if let Some(skew) = &self.skew {
            skew.forget();
        }
    }

    /// I/Os of the part that the worker is in, and their bytes.
    pub(crate) fn current(&self, operation: Operation) -> (TallyValues, u64) {
        let (values, whole) = self.current_whole(operation);
        let Short { missing_bytes, missing_before, .. } = &self.short[operation];
        let missing = missing_bytes.get().saturating_sub(missing_before.get());
        (values, whole.saturating_sub(missing))
    }

    /// The same, with the bytes of whole transfers.
    fn current_whole(&self, operation: Operation) -> (TallyValues, u64) {
        if let Some(sizes) = &self.sizes {
            return sizes.current(operation);
        }
        let values = counters::values(&self.current[operation]);
        (values, values.count.saturating_mul(self.block_bytes))
    }

    /// The part is over, and with it, or later, this interval.
    pub(crate) fn close(&self, operation: Operation, interval: u64) {
        let sum = &self.sum[operation];
        let (values, _) = self.current_whole(operation);
        if values.count == 0 {
            return;
        }
        counters::set(sum, counters::values(sum).merge(values));
        if let Some(cells) = self.interval(interval as usize, operation) {
            counters::set(cells, counters::values(cells).merge(values));
        }
        match &self.sizes {
            Some(sizes) => sizes.close(operation),
            None => counters::set(&self.current[operation], TallyValues::default()),
        }
        let short = &self.short[operation];
        short.missing_before.set(short.missing_bytes.get());
    }

    /// Count and moments up to now.
    fn values(&self, operation: Operation) -> TallyValues {
        counters::values(&self.sum[operation]).merge(self.current_whole(operation).0)
    }

    /// I/Os, bytes and the sum of latencies in nanoseconds up to now.
    pub(crate) fn totals(&self, operation: Operation) -> (u64, u64, u64) {
        let values = self.values(operation);
        (values.count, self.bytes_of(operation, values.count), values.sum_ns)
    }

    /// Bytes that this many I/Os transferred, which are all up to now.
    fn bytes_of(&self, operation: Operation, count: u64) -> u64 {
        let whole = match &self.sizes {
            Some(sizes) => sizes.whole_bytes(operation),
            None => count.saturating_mul(self.block_bytes),
        };
        whole.saturating_sub(self.short[operation].missing_bytes.get())
    }

    /// Counts up to now; in the warm-up no latency is counted by bucket.
    pub(crate) fn live(&self, operation: Operation) -> LiveTally {
        let (values, buckets) = (self.values(operation), &self.buckets[operation]);
        let filled = buckets.as_ref().filter(|_| values.count > 0);
        LiveTally {
            ios: values.count,
            bytes: self.bytes_of(operation, values.count),
            latency_sum_ns: values.sum_ns,
            latency_max_ns: values.max_ns,
            buckets: filled.map(|it| it.coarse_non_empty(values.min_ns, values.max_ns)).unwrap_or_default(),
        }
    }

    pub(crate) fn direction_record(&self, operation: Operation) -> DirectionRecord {
        let values = self.values(operation);
        DirectionRecord {
            tally: tally(values),
            bytes: self.bytes_of(operation, values.count),
            buckets: self.buckets[operation].as_ref().map(Buckets::non_empty).unwrap_or_default(),
        }
    }

    /// The intervals that are not empty; what is current belongs to that of number `current`.
    pub(crate) fn interval_records(&self, current: u64) -> Vec<IntervalRecord> {
        let record = |index: usize| {
            let [read, write] = Operation::TRANSFERS.map(|operation| {
                let closed = self.interval(index, operation).map(counters::values).unwrap_or_default();
                let values = if index as u64 == current { closed.merge(self.current(operation).0) } else { closed };
                tally(values)
            });
            IntervalRecord { index: index as u64, read, write }
        };
        let intervals = 0..self.intervals.len() / INTERVAL_CELLS;
        intervals.map(record).filter(|interval| interval.read.count + interval.write.count > 0).collect()
    }

    fn interval(&self, index: usize, operation: Operation) -> Option<&TallyCells> {
        let first = index.saturating_mul(INTERVAL_CELLS) + operation.index() * TALLY_CELLS;
        self.intervals.get(first..)?.first_chunk()
    }
}

/// Counters of one row in an open loop.
#[derive(Debug)]
pub(crate) struct OpenLoopCells {
    response: ByOperation<Times>,
    pub(crate) lateness: TallyCells,
    pub(crate) delayed_by_depth: Counter,
    pub(crate) backlog: Counter,
}

impl OpenLoopCells {
    pub(crate) fn new() -> Self {
        Self {
            response: ByOperation::new(|_| Times::new()),
            lateness: TallyCells::default(),
            delayed_by_depth: Counter::default(),
            backlog: Counter::default(),
        }
    }

    /// The response times of reads and writes up to now; a bucket that both have is there twice.
    pub(crate) fn live(&self) -> LiveTally {
        let mut all = LiveTally::default();
        for operation in Operation::TRANSFERS {
            let more = self.response[operation].live();
            all.ios += more.ios;
            all.latency_sum_ns = all.latency_sum_ns.wrapping_add(more.latency_sum_ns);
            all.latency_max_ns = all.latency_max_ns.max(more.latency_max_ns);
            all.buckets.extend(more.buckets);
        }
        all
    }

    /// Counts the response time of an I/O.
    pub(crate) fn respond(&self, operation: Operation, response_ns: u64) {
        self.response[operation].record(response_ns);
    }

    pub(crate) fn record(&self) -> OpenLoopRecord {
        let [read, write] = Operation::TRANSFERS.map(|operation| self.response[operation].to_record());
        OpenLoopRecord {
            read,
            write,
            lateness: tally(counters::values(&self.lateness)),
            delayed_by_depth: self.delayed_by_depth.get(),
            backlog: self.backlog.get(),
        }
    }
}
