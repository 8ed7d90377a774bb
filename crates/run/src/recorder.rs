//! Where a worker counts: cells that it alone writes and any thread may read.
//!
//! The cells outlive the worker, so that the result can be read even while an I/O that the kernel
//! never gives back keeps the worker waiting.

use hot::buckets::{BUCKET_COUNT, Buckets};
use hot::counters::{self, Counter, TALLY_CELLS, TallyCells, TallyValues};
use model::plan::{Intervals, TimeSpanPlan, WorkerPlan};
use model::record::{DirectionRecord, IntervalRecord, RowRecord, Tally, ThreadRecord, WaitCounts};
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
    /// Completions in all phases.
    pub completed: Counter,
    /// Operations that the kernel has not given back.
    pub in_flight: Counter,
    /// Submissions while measuring.
    pub submits: Counter,
    /// How the worker waited.
    pub waits: Waits,
}

/// One thread's work on one target.
#[derive(Debug)]
pub struct Row {
    target: usize,
    /// Reads.
    pub read: Direction,
    /// Writes.
    pub write: Direction,
    intervals: Option<IntervalCells>,
    /// Transfers shorter than the block.
    pub short_transfers: Counter,
}

/// Reads or writes of one row.
#[derive(Debug)]
pub struct Direction {
    /// Count and latencies.
    pub tally: TallyCells,
    /// Bytes transferred.
    pub bytes: Counter,
    buckets: Option<Buckets>,
}

/// `-D`: two tallies per interval, in memory that is touched as the run goes on.
#[derive(Debug)]
struct IntervalCells {
    cells: Box<[AtomicU64]>,
}

/// Cells of one interval: reads, then writes.
const INTERVAL_CELLS: usize = 2 * TALLY_CELLS;

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
        let direction = || Direction {
            tally: TallyCells::default(),
            bytes: Counter::default(),
            buckets: plan.measure_latency.then(|| Buckets::new(untouched_cells(BUCKET_COUNT))),
        };
        let row = |target: usize| Row {
            target,
            read: direction(),
            write: direction(),
            intervals: plan.intervals.map(IntervalCells::new),
            short_transfers: Counter::default(),
        };
        let waits_for_completions = worker.engine.kind != model::plan::EngineKind::Synchronous;
        let limited = worker.targets.iter().any(|target| target.pace != model::plan::Pace::Unlimited);
        Self {
            thread: worker.thread,
            throttled: limited && waits_for_completions,
            rows: worker.targets.iter().map(|target| row(target.target)).collect(),
            measuring: Counter::default(),
            completed: Counter::default(),
            in_flight: Counter::default(),
            submits: Counter::default(),
            waits: Waits::default(),
        }
    }

    /// Forgets the I/Os of the warm-up; only the worker may.
    pub fn start_measuring(&self) {
        for row in &self.rows {
            for direction in [&row.read, &row.write] {
                direction.tally.reset();
                direction.bytes.set(0);
            }
        }
        self.submits.set(0);
        self.measuring.set(1);
    }

    /// The rows as they are now; empty ones if the worker has not reached the measurement.
    pub fn row_records(&self) -> Vec<RowRecord> {
        let measured = self.measuring.get() == 1;
        let record = |row: &Row| {
            let (thread, target) = (self.thread, row.target);
            if !measured {
                return RowRecord { thread, target, ..RowRecord::default() };
            }
            let intervals = row.intervals.as_ref().map(IntervalCells::records).unwrap_or_default();
            RowRecord { thread, target, read: row.read.to_record(), write: row.write.to_record(), intervals }
        };
        self.rows.iter().map(record).collect()
    }

    /// The thread's own counters as they are now.
    pub fn thread_record(&self) -> ThreadRecord {
        ThreadRecord {
            thread: self.thread,
            throttled: self.throttled,
            submits: if self.measuring.get() == 1 { self.submits.get() } else { 0 },
            waits: self.waits.counts(),
        }
    }
}

impl Row {
    /// Index of the target in the timespan.
    pub fn target(&self) -> usize {
        self.target
    }

    /// Counts a measured I/O into its interval, if there are intervals.
    #[inline]
    pub fn record_interval(&self, interval: usize, write: bool, latency_ns: u64) {
        if let Some(intervals) = &self.intervals {
            intervals.record(interval, write, latency_ns);
        }
    }
}

impl Direction {
    /// Counts an I/O; its latency goes into the buckets only while measuring.
    #[inline]
    pub fn record(&self, bytes: u64, latency_ns: u64, measuring: bool) {
        self.tally.record(latency_ns);
        self.bytes.add(bytes);
        if let (true, Some(buckets)) = (measuring, &self.buckets) {
            buckets.record(latency_ns);
        }
    }

    fn to_record(&self) -> DirectionRecord {
        DirectionRecord {
            tally: tally(self.tally.values()),
            bytes: self.bytes.get(),
            buckets: self.buckets.as_ref().map(Buckets::non_empty).unwrap_or_default(),
        }
    }
}

impl IntervalCells {
    fn new(intervals: Intervals) -> Self {
        // The plan refused counts that do not fit (limits::INTERVALS_MAX).
        let count = usize::try_from(intervals.count).unwrap_or(usize::MAX);
        Self { cells: untouched_cells(count.saturating_mul(INTERVAL_CELLS)) }
    }

    #[inline]
    fn record(&self, interval: usize, write: bool, latency_ns: u64) {
        let first = interval * INTERVAL_CELLS + usize::from(write) * TALLY_CELLS;
        if let Some(cells) = self.cells.get(first..first + TALLY_CELLS) {
            counters::record(cells, latency_ns);
        }
    }

    fn records(&self) -> Vec<IntervalRecord> {
        let record = |(index, cells): (usize, &[AtomicU64])| IntervalRecord {
            index: index as u64,
            read: tally(counters::values(&cells[..TALLY_CELLS])),
            write: tally(counters::values(&cells[TALLY_CELLS..])),
        };
        let intervals = self.cells.chunks_exact(INTERVAL_CELLS).enumerate().map(record);
        intervals.filter(|interval| interval.read.count + interval.write.count > 0).collect()
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

fn tally(values: TallyValues) -> Tally {
    Tally {
        count: values.count,
        sum_ns: u128::from(values.sum_ns),
        sum_squares_ns2: values.sum_squares_ns2,
        min_ns: values.min_ns,
        max_ns: values.max_ns,
    }
}
