//! Where a worker counts: cells that it alone writes and any thread may read.
//!
//! The cells outlive the worker, so that the result can be read even while an I/O that the kernel
//! never gives back keeps the worker waiting.

use crate::open_loop::OpenLoopCells;
use crate::times::Times;
use hot::buckets::{BUCKET_COUNT, Buckets};
use hot::counters::{self, Counter, TALLY_CELLS, TallyCells, TallyValues};
use model::plan::{TimeSpanPlan, WorkerPlan, WorkerTarget};
use model::record::{DirectionRecord, IntervalRecord, RowRecord, StampSamples, Tally, ThreadRecord, WaitCounts};
use std::sync::atomic::AtomicU64;
use sys::mapping::untouched_cells;

/// Everything that one worker counts.
#[derive(Debug)]
pub struct Recorder {
    thread: u32,
    throttled: bool,
    /// One per target of the worker.
    pub rows: Box<[Row]>,
    /// Set by the worker once the cells hold measured I/Os only.
    pub measuring: Counter,
    /// First cell of the interval that I/Os are counted in; 0 = none.
    interval_cell: Counter,
    /// Completions in all phases.
    pub completed: Counter,
    /// Operations that the kernel has not given back.
    pub in_flight: Counter,
    /// Submissions while measuring.
    pub submits: Counter,
    /// How the worker waited.
    pub waits: Waits,
    stamps: Option<StampCells>,
}

/// `-L` in a closed loop: the same I/Os timed in two ways.
#[derive(Debug)]
struct StampCells {
    slot: Times,
    submission: Times,
}

/// One thread's work on one target.
#[derive(Debug)]
pub struct Row {
    target: usize,
    block_bytes: u64,
    /// Pages of [`PAGE_CELLS`] cells, reads before writes: the first sums up, the others are the
    /// intervals of `-D`. Each I/O is counted on one page; an interval is added to the sum when it is
    /// over.
    cells: Box<[AtomicU64]>,
    /// `-L`: reads, then writes.
    buckets: [Option<Buckets>; 2],
    /// Transfers shorter than the block: reads, then writes.
    short: [Short; 2],
    /// `None` in a closed loop.
    pub(crate) open_loop: Option<OpenLoopCells>,
}

/// Transfers shorter than the block.
#[derive(Debug, Default)]
struct Short {
    transfers: Counter,
    /// What they lack.
    missing_bytes: Counter,
}

/// Cells of one page: reads, then writes.
const PAGE_CELLS: usize = 2 * TALLY_CELLS;

/// Which page I/Os are counted on, and whether their latencies go into the buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    first_cell: usize,
    measured: bool,
}

impl Page {
    /// The sum: before the measurement, or without intervals.
    pub const fn sum(measured: bool) -> Self {
        Self { first_cell: 0, measured }
    }

    /// True for the measurement's pages.
    pub const fn is_measured(self) -> bool {
        self.measured
    }

    /// An interval of the measurement, from 0.
    pub const fn interval(index: usize) -> Self {
        Self { first_cell: (index + 1) * PAGE_CELLS, measured: true }
    }
}

/// How a worker waited, over the whole run.
#[derive(Debug, Default)]
pub struct Waits {
    /// Waits for a completion.
    pub wait: Counter,
    /// Waits for a completion or a permitted start.
    pub throttle_wait: Counter,
    /// Sleeps until a permitted start.
    pub throttle_sleep: Counter,
    /// Looks without waiting.
    pub lookaside: Counter,
    /// Waits by the number of completions they brought.
    pub wait_completions: [Counter; 8],
    /// The same for looks.
    pub lookaside_completions: [Counter; 8],
}

impl Recorder {
    /// Cells for one worker.
    pub fn new(plan: &TimeSpanPlan, worker: &WorkerPlan) -> Self {
        let waits_for_completions = worker.engine.kind != model::plan::EngineKind::Synchronous;
        let limited = worker.targets.iter().any(|target| target.pace != model::plan::Pace::Unlimited);
        Self {
            thread: worker.thread,
            throttled: limited && waits_for_completions,
            rows: worker.targets.iter().map(|target| Row::new(plan, target)).collect(),
            measuring: Counter::default(),
            interval_cell: Counter::default(),
            completed: Counter::default(),
            in_flight: Counter::default(),
            submits: Counter::default(),
            waits: Waits::default(),
            stamps: (plan.measure_latency && worker.times_submissions())
                .then(|| StampCells { slot: Times::new(), submission: Times::new() }),
        }
    }

    /// Touches the memory that nearly every run uses; only the worker may. Threads with more targets
    /// than a few would touch more than they use.
    pub fn touch(&self) {
        const TARGETS_MAX: usize = 8;
        if self.rows.len() <= TARGETS_MAX {
            let tables = self.rows.iter().flat_map(|row| &row.buckets).flatten();
            tables.for_each(Buckets::touch);
            let sampled = self.stamps.iter().flat_map(|stamps| [&stamps.slot, &stamps.submission]);
            sampled.for_each(Times::touch);
        }
    }

    /// Forgets the I/Os of the warm-up; only the worker may.
    pub fn start_measuring(&self) {
        for row in &self.rows {
            row.forget();
        }
        self.submits.set(0);
        self.measuring.set(1);
    }

    /// I/Os are counted on another page from now on; what is on the one of an interval that is over is
    /// added to the sum. Only the worker may.
    pub fn turn_page(&self, from: Page, to: Page) {
        for row in self.rows.iter().filter(|_| from.first_cell > 0) {
            row.add_to_sum(from.first_cell);
        }
        self.interval_cell.set(to.first_cell as u64);
    }

    /// The rows as they are now; empty ones if the worker has not reached the measurement.
    pub fn row_records(&self) -> Vec<RowRecord> {
        let measured = self.measuring.get() == 1;
        let record = |row: &Row| {
            let (thread, target) = (self.thread, row.target);
            if !measured {
                return RowRecord { thread, target, ..RowRecord::default() };
            }
            let intervals = row.intervals();
            let [read, write] = [false, true].map(|write| self.direction_record(row, write));
            let open_loop = row.open_loop.as_ref().map(OpenLoopCells::record);
            RowRecord { thread, target, read, write, intervals, open_loop }
        };
        self.rows.iter().map(record).collect()
    }

    /// One row's reads or writes, those of the current interval included.
    fn direction_record(&self, row: &Row, write: bool) -> DirectionRecord {
        let values = self.values(row, write);
        DirectionRecord {
            tally: tally(values),
            bytes: row.bytes(values, write),
            buckets: row.buckets[usize::from(write)].as_ref().map(Buckets::non_empty).unwrap_or_default(),
        }
    }

    fn values(&self, row: &Row, write: bool) -> TallyValues {
        let sum = row.values(0, write);
        match usize::try_from(self.interval_cell.get()) {
            Ok(0) | Err(_) => sum,
            Ok(cell) => sum.and(row.values(cell, write)),
        }
    }

    /// I/Os, bytes and the sum of latencies in nanoseconds, of all rows now. Of the measurement only, if
    /// so wanted: nothing then, as long as the worker has not forgotten the warm-up.
    pub fn totals(&self, of_measurement: bool) -> (u64, u64, u64) {
        let mut totals = (0, 0, 0u64);
        if of_measurement && self.measuring.get() == 0 {
            return totals;
        }
        for (row, write) in self.rows.iter().flat_map(|row| [(row, false), (row, true)]) {
            let values = self.values(row, write);
            totals.0 += values.count;
            totals.1 += row.bytes(values, write);
            totals.2 = totals.2.wrapping_add(values.sum_ns);
        }
        totals
    }

    /// The thread's own counters as they are now.
    pub fn thread_record(&self) -> ThreadRecord {
        ThreadRecord {
            thread: self.thread,
            throttled: self.throttled,
            submits: if self.measuring.get() == 1 { self.submits.get() } else { 0 },
            waits: self.waits.counts(),
            stamp_samples: self.stamps.as_ref().map(|stamps| StampSamples {
                slot: stamps.slot.to_record(),
                submission: stamps.submission.to_record(),
            }),
        }
    }

    /// True if some I/Os are to be timed in two ways.
    pub fn times_submissions(&self) -> bool {
        self.stamps.is_some()
    }

    /// A measured I/O timed in both ways.
    pub fn record_stamps(&self, slot_ns: u64, submission_ns: u64) {
        if let Some(stamps) = &self.stamps {
            stamps.slot.record(slot_ns);
            stamps.submission.record(submission_ns);
        }
    }
}

impl Row {
    fn new(plan: &TimeSpanPlan, target: &WorkerTarget) -> Self {
        // The plan refused counts that do not fit (limits::INTERVALS_MAX).
        let intervals = usize::try_from(plan.intervals.map_or(0, |intervals| intervals.count)).unwrap_or(usize::MAX);
        let used = [target.write_percent < 100, target.write_percent > 0];
        let buckets = |used| (plan.measure_latency && used).then(|| Buckets::new(untouched_cells(BUCKET_COUNT)));
        Self {
            target: target.target,
            block_bytes: target.block_bytes,
            cells: untouched_cells(intervals.saturating_add(1).saturating_mul(PAGE_CELLS)),
            buckets: used.map(buckets),
            short: Default::default(),
            open_loop: target.pace.is_open_loop().then(OpenLoopCells::new),
        }
    }

    /// Index of the target in the timespan.
    pub fn target(&self) -> usize {
        self.target
    }

    /// Counts an I/O of a whole block.
    #[inline]
    pub fn record(&self, page: Page, write: bool, latency_ns: u64) {
        if let Some(tally) = self.tally(page.first_cell, write) {
            counters::record(tally, latency_ns);
        }
        if let (true, Some(buckets)) = (page.measured, &self.buckets[usize::from(write)]) {
            buckets.record(latency_ns);
        }
    }

    /// The I/O that is being counted lacks so many bytes of its block.
    pub fn record_short(&self, write: bool, missing_bytes: u64) {
        let short = &self.short[usize::from(write)];
        short.transfers.add(1);
        short.missing_bytes.add(missing_bytes);
    }

    /// Transfers shorter than the block, of the measurement once it has begun.
    pub fn short_transfers(&self) -> u64 {
        self.short.iter().map(|short| short.transfers.get()).sum()
    }

    fn forget(&self) {
        for write in [false, true] {
            if let Some(tally) = self.tally(0, write) {
                counters::set(tally, TallyValues::default());
            }
            let Short { transfers, missing_bytes } = &self.short[usize::from(write)];
            transfers.set(0);
            missing_bytes.set(0);
        }
    }

    fn add_to_sum(&self, first_cell: usize) {
        for write in [false, true] {
            if let Some(sum) = self.tally(0, write) {
                counters::set(sum, counters::values(sum).and(self.values(first_cell, write)));
            }
        }
    }

    #[inline]
    fn tally(&self, first_cell: usize, write: bool) -> Option<&TallyCells> {
        self.cells.get(first_cell + usize::from(write) * TALLY_CELLS..)?.first_chunk()
    }

    fn values(&self, first_cell: usize, write: bool) -> TallyValues {
        self.tally(first_cell, write).map(counters::values).unwrap_or_default()
    }

    fn bytes(&self, values: TallyValues, write: bool) -> u64 {
        let whole = values.count.saturating_mul(self.block_bytes);
        whole.saturating_sub(self.short[usize::from(write)].missing_bytes.get())
    }

    fn intervals(&self) -> Vec<IntervalRecord> {
        let record = |page: usize| IntervalRecord {
            index: page as u64 - 1,
            read: tally(self.values(page * PAGE_CELLS, false)),
            write: tally(self.values(page * PAGE_CELLS, true)),
        };
        let pages = 1..self.cells.len() / PAGE_CELLS;
        pages.map(record).filter(|interval| interval.read.count + interval.write.count > 0).collect()
    }
}

impl Waits {
    fn counts(&self) -> WaitCounts {
        WaitCounts {
            wait: self.wait.get(),
            throttle_wait: self.throttle_wait.get(),
            throttle_sleep: self.throttle_sleep.get(),
            lookaside: self.lookaside.get(),
            wait_completions: std::array::from_fn(|n| self.wait_completions[n].get()),
            lookaside_completions: std::array::from_fn(|n| self.lookaside_completions[n].get()),
        }
    }
}

pub(crate) fn tally(values: TallyValues) -> Tally {
    Tally {
        count: values.count,
        sum_ns: u128::from(values.sum_ns),
        sum_squares_ns2: values.sum_squares_ns2,
        min_ns: values.min_ns,
        max_ns: values.max_ns,
    }
}
