//! Where a worker counts: cells that it alone writes and any thread may read.
//!
//! The cells outlive the worker, so that the result can be read even while an I/O that the kernel
//! never gives back keeps the worker waiting.

use crate::interval_layout::{IntervalLayout, Position};
use crate::latency_cells::{LENGTH_BIT, LatencyCells, TAG_BITS, TAG_MASK};
use crate::row::{OpenLoopCells, Row};
use crate::sections::{SectionCells, SectionPart};
use crate::seq_lock::SeqLock;
use crate::skew::{SkewCells, SkewTables};
use crate::times::{Times, tally};
use hot::buckets::Buckets;
use hot::counters::{self, Counter, TallyCells, TallyValues};
use hot::slowest::Slowest;
use model::limits::{COMMIT_WRITES_MAX, SLOWEST_IOS, TARGETS_MAX};
use model::live::{LivePhase, LiveRow, LiveTally};
use model::operation::{ByOperation, Operation};
use model::plan::{TimeSpanPlan, WorkerPlan};
use model::record::{CellCounts, CpuWait, FlushRecord, RowRecord, SlowIo, StampSamples, ThreadRecord, WaitCounts};
use std::sync::{Arc, OnceLock};

/// Everything that one worker counts.
#[derive(Debug)]
pub struct Recorder {
    thread: u32,
    throttled: bool,
    /// One per target of the worker.
    pub rows: Box<[Row]>,
    /// Set by the worker once the cells hold measured I/Os only.
    pub measuring: Counter,
    layout: Arc<IntervalLayout>,
    place: PlaceCells,
    turns: SeqLock,
    /// `-L` or `-D`.
    pub(crate) latencies: Option<LatencyCells>,
    /// Completions in all phases.
    pub completed: Counter,
    /// Operations that the kernel has not completed.
    pub in_flight: Counter,
    /// Submissions while measuring.
    pub submits: Counter,
    /// How the worker waited.
    pub waits: Waits,
    /// How it got the CPU; set when it has ended.
    cpu_wait: OnceLock<CpuWait>,
    /// When its worker began to submit, by `CLOCK_MONOTONIC`.
    started_ns: OnceLock<u64>,
    stamps: Option<StampCells>,
    /// Flushes while measuring (`--fdatasync-every`, `--fsync-every`).
    pub(crate) flushes: Option<FlushTimes>,
    /// Rotations of files while measuring (`--append`); `None` if none are rotated.
    pub(crate) rotations: Option<TallyCells>,
}

/// Latencies of flushes and of commits, which are writes until the flush after them has ended, and the writes flushed.
#[derive(Debug)]
pub(crate) struct FlushTimes {
    flushes: Times,
    /// `None` if a flush covers too many writes to time each.
    commits: Option<Times>,
    /// Writes that they covered.
    covered: Counter,
    /// Writes that ended since the latest of them.
    unflushed: Counter,
}

impl FlushTimes {
    fn new(after_writes: u32) -> Self {
        Self {
            flushes: Times::new(),
            commits: (after_writes <= COMMIT_WRITES_MAX).then(Times::new),
            covered: Counter::default(),
            unflushed: Counter::default(),
        }
    }

    /// A flush of this many writes ended, which took so long.
    pub(crate) fn record(&self, writes: u64, flush_ns: u64) {
        self.flushes.record(flush_ns);
        self.covered.add(writes);
        self.unflushed.set(0);
    }

    /// A write became durable `commit_ns` after its start.
    pub(crate) fn commit(&self, commit_ns: u64) {
        if let Some(commits) = &self.commits {
            commits.record(commit_ns);
        }
    }

    fn to_record(&self) -> FlushRecord {
        FlushRecord {
            times: self.flushes.to_record(),
            covered_writes: self.covered.get(),
            unflushed_writes: self.unflushed.get(),
        }
    }
}

/// Where in the measurement the worker is.
#[derive(Debug, Default)]
struct PlaceCells {
    cell: Counter,
    interval: Counter,
    section: Counter,
}

/// `-L` in a closed loop: times of a sample of I/Os before and after their submission.
#[derive(Debug)]
struct StampCells {
    wait: Times,
    submission: Times,
}

/// How a worker waited, over the whole run.
#[derive(Debug, Default)]
pub struct Waits {
    /// Waits for a completion or a permitted start.
    pub throttle_wait: Counter,
    /// Sleeps until a permitted start.
    pub throttle_sleep: Counter,
    /// Waits, of both kinds, by the number of completions they brought.
    pub wait_completions: [Counter; 8],
    /// The same for looks without waiting.
    pub lookaside_completions: [Counter; 8],
}

impl Recorder {
    /// Cells for one worker.
    pub fn new(plan: &TimeSpanPlan, worker: &WorkerPlan, layout: &Arc<IntervalLayout>, tables: &SkewTables) -> Self {
        let waits_for_completions = worker.engine.kind != model::engine_kind::EngineKind::Synchronous;
        let limited = worker.targets.iter().any(|target| target.pace != model::plan::Pace::Unlimited);
        let is_open_loop = worker.targets.iter().any(|target| target.pace.is_open_loop());
        Self {
            thread: worker.thread,
            throttled: limited && waits_for_completions,
            rows: worker.targets.iter().map(|target| Row::new(plan, target, tables)).collect(),
            measuring: Counter::default(),
            place: PlaceCells::default(),
            turns: SeqLock::default(),
            latencies: layout.sections().map(|_| LatencyCells {
                sections: SectionCells::new(is_open_loop),
                slowest: Slowest::new(SLOWEST_IOS),
            }),
            layout: Arc::clone(layout),
            completed: Counter::default(),
            in_flight: Counter::default(),
            submits: Counter::default(),
            waits: Waits::default(),
            cpu_wait: OnceLock::new(),
            started_ns: OnceLock::new(),
            flushes: plan.flush_after_writes.map(FlushTimes::new),
            rotations: worker
                .targets
                .iter()
                .any(|target| target.pattern.empties_file().is_some())
                .then(TallyCells::default),
            stamps: (plan.measure_latency && worker.times_submissions())
                .then(|| StampCells { wait: Times::new(), submission: Times::new() }),
        }
    }

    /// Counts the response time of a measured I/O; none in a closed loop.
    #[inline]
    pub(crate) fn respond(&self, row: &Row, operation: Operation, response_ns: u64) {
        let Some(cells) = &row.open_loop else { return };
        cells.respond(operation, response_ns);
        // Their intervals are those of the reported response times, of reads and writes.
        if operation.transfers_data()
            && let Some(latencies) = &self.latencies
        {
            latencies.sections.respond(response_ns);
        }
    }

    /// Touches the memory that nearly every run uses; only the worker may. Threads with more targets
    /// than a few would touch more than they use.
    pub fn touch(&self) {
        const TARGETS_MAX: usize = 8;
        if self.rows.len() <= TARGETS_MAX {
            self.rows.iter().flat_map(Row::buckets).for_each(Buckets::touch);
            let sampled = self.stamps.iter().flat_map(|stamps| [&stamps.wait, &stamps.submission]);
            sampled.for_each(Times::touch);
        }
        if let Some(latencies) = &self.latencies {
            latencies.sections.touch();
        }
    }

    /// The measurement begins; I/Os of the warm-up are forgotten. Gives when the next part of it begins, in
    /// nanoseconds since its start. Only the worker may.
    pub(crate) fn start_measuring(&self, at_ns: u64) -> u64 {
        self.turns.begin();
        for row in &self.rows {
            row.forget();
        }
        self.submits.set(0);
        if let Some(latencies) = &self.latencies {
            latencies.slowest.open();
        }
        let next_ns = self.carry_over(at_ns);
        self.measuring.set(1);
        self.turns.end();
        next_ns
    }

    /// I/Os are counted in another part of the measurement from now on. Gives when the next one begins, in
    /// nanoseconds since its start. Only the worker may.
    pub(crate) fn advance(&self, at_ns: u64) -> u64 {
        self.turns.begin();
        let next_ns = self.carry_over(at_ns);
        self.turns.end();
        next_ns
    }

    /// The measurement is over; what starts from now on does not count. Only the worker may.
    pub(crate) fn end_measuring(&self) {
        self.rows.iter().filter_map(|row| row.skew.as_ref()).for_each(SkewCells::end);
    }

    /// Adds what is current to the sums, and goes to the part of `at_ns`.
    fn carry_over(&self, at_ns: u64) -> u64 {
        let from = self.place();
        let (place, next_ns) = self.layout.find(at_ns);
        let counts = ByOperation::new(|operation| {
            let (values, bytes) = self.current(operation);
            if let Some(latencies) = &self.latencies {
                latencies.sections.add(operation, values, bytes);
            }
            for row in &self.rows {
                row.close(operation, from.interval);
            }
            CellCounts { ios: values.count, bytes, latency_sum_ns: values.sum_ns }
        });
        self.layout.add(from.cell, counts);
        if let Some(latencies) = self.latencies.as_ref().filter(|_| place.section != from.section) {
            latencies.sections.begin_section(place.section);
        }
        self.place.cell.set(place.cell);
        self.place.interval.set(place.interval);
        self.place.section.set(place.section);
        next_ns
    }

    /// The parts of the measurement.
    #[cfg(test)]
    pub(crate) fn layout(&self) -> &IntervalLayout {
        &self.layout
    }

    fn place(&self) -> Position {
        let PlaceCells { cell, interval, section } = &self.place;
        Position { cell: cell.get(), interval: interval.get(), section: section.get() }
    }

    /// I/Os of all rows in the part that the worker is in, and their bytes.
    fn current(&self, operation: Operation) -> (TallyValues, u64) {
        let row_totals = |row: &Row| row.current(operation);
        let add = |(values, bytes): (TallyValues, u64), (more, more_bytes)| (values.merge(more), bytes + more_bytes);
        self.rows.iter().map(row_totals).fold((TallyValues::default(), 0), add)
    }

    /// The oldest section that the worker has closed. Only the control thread may.
    pub(crate) fn take_section(&self) -> Option<SectionPart> {
        self.latencies.as_ref()?.sections.take()
    }

    /// The section that the worker is in, complete once it counts no more.
    pub(crate) fn unclosed_section(&self) -> Option<SectionPart> {
        let sections = &self.latencies.as_ref().filter(|_| self.measuring.get() == 1)?.sections;
        let mut part = sections.unclosed();
        for (side, operation) in part.sides.0.iter_mut().zip(Operation::ALL) {
            let (values, bytes) = self.current(operation);
            side.tally.merge(&tally(values));
            side.bytes += bytes;
        }
        Some(part)
    }

    /// Counts of the cell that the worker is in.
    pub(crate) fn unclosed_cell(&self) -> Option<(u64, ByOperation<CellCounts>)> {
        let counts = |operation| {
            let (values, bytes) = self.current(operation);
            CellCounts { ios: values.count, bytes, latency_sum_ns: values.sum_ns }
        };
        (self.measuring.get() == 1).then(|| (self.place.cell.get(), ByOperation::new(counts)))
    }

    /// The rows as they are now; empty ones if the worker has not reached the measurement.
    pub fn row_records(&self) -> Vec<RowRecord> {
        let measured = self.measuring.get() == 1;
        let record = |row: &Row| {
            let (thread, target) = (self.thread, row.target());
            if !measured {
                return RowRecord { thread, target, ..RowRecord::default() };
            }
            let intervals = row.interval_records(self.place.interval.get());
            let [read, write] = Operation::TRANSFERS.map(|operation| row.direction_record(operation));
            let open_loop = row.open_loop.as_ref().map(OpenLoopCells::record);
            let replay = row.replay.as_ref().map(|cells| cells.to_record());
            let others = row.other_records();
            let sizes = row.size_records();
            let skew_draws = row.skew.as_ref().map(SkewCells::draws).unwrap_or_default();
            let written = row.written();
            RowRecord { thread, target, read, write, others, sizes, intervals, open_loop, replay, skew_draws, written }
        };
        self.rows.iter().map(record).collect()
    }

    /// I/Os, bytes and the sum of latencies in nanoseconds, of all rows now. Of the measurement only, if
    /// so wanted: nothing then, as long as the worker has not forgotten the warm-up.
    pub fn totals(&self, of_measurement: bool) -> (u64, u64, u64) {
        let mut totals = (0, 0, 0u64);
        if of_measurement && self.measuring.get() == 0 {
            return totals;
        }
        for (row, operation) in self.rows.iter().flat_map(|row| Operation::ALL.map(|operation| (row, operation))) {
            let (ios, bytes, latency_sum_ns) = row.totals(operation);
            totals = (totals.0 + ios, totals.1 + bytes, totals.2.wrapping_add(latency_sum_ns));
        }
        totals
    }

    /// Counts of a phase up to now, row by row: none of a measurement, as long as the worker has
    /// not forgotten the warm-up.
    pub(crate) fn live(&self, phase: LivePhase) -> Vec<LiveRow> {
        self.turns.between(|| {
            let counts = (phase == LivePhase::Measurement) == (self.measuring.get() == 1);
            // Nothing else is counted in the warm-up.
            let is_measured = counts && phase == LivePhase::Measurement;
            let row = |row: &Row| {
                let live = |operation| if counts { row.live(operation) } else { LiveTally::default() };
                let [read, write] = Operation::TRANSFERS.map(live);
                let response = row.open_loop.as_ref().filter(|_| is_measured).map(OpenLoopCells::live);
                LiveRow {
                    thread: self.thread,
                    target: row.target(),
                    read,
                    write,
                    commit: LiveTally::default(),
                    response: response.unwrap_or_default(),
                }
            };
            let mut rows: Vec<LiveRow> = self.rows.iter().map(row).collect();
            let commits = self.flushes.as_ref().and_then(|flushes| flushes.commits.as_ref());
            if let Some((commits, first)) = commits.filter(|_| is_measured).zip(rows.first_mut()) {
                first.commit = commits.live();
            }
            rows
        })
    }

    /// The slowest I/Os of the measurement, which began at `measure_ns`, in no order.
    fn slowest(&self, measure_ns: u64) -> Vec<SlowIo> {
        let kept = self.latencies.as_ref().map(|latencies| latencies.slowest.kept()).unwrap_or_default();
        let slow_io = |kept: hot::slowest::SlowIo| {
            // The tag that `LatencyCells::record` made.
            let row = self.rows.get((kept.tag >> (2 * TAG_BITS)) as usize & (TARGETS_MAX - 1))?;
            let operation = Operation::ALL.get((kept.tag & TAG_MASK) as usize)?;
            Some(SlowIo {
                ended_at_ns: kept.ended_ns.saturating_sub(measure_ns),
                latency_ns: kept.latency_ns,
                thread: self.thread,
                target: row.target(),
                is_write: *operation == Operation::Write,
                operation: Some(*operation),
                offset_bytes: kept.offset,
                size_bytes: match kept.tag >> LENGTH_BIT {
                    0 => row.size_bytes((kept.tag >> TAG_BITS & TAG_MASK) as usize),
                    length => length,
                },
            })
        };
        kept.into_iter().filter_map(slow_io).collect()
    }

    /// The thread's own counters as they are now; the measurement began at `measure_ns`.
    pub fn thread_record(&self, measure_ns: u64) -> ThreadRecord {
        ThreadRecord {
            thread: self.thread,
            throttled: self.throttled,
            submits: if self.measuring.get() == 1 { self.submits.get() } else { 0 },
            waits: self.waits.counts(),
            started_ns: self.started_ns.get().copied(),
            cpu_wait: self.cpu_wait.get().copied(),
            stamp_samples: self.stamps.as_ref().map(|stamps| StampSamples {
                wait: stamps.wait.to_record(),
                submission: stamps.submission.to_record(),
            }),
            flushes: self.flushes.as_ref().map(FlushTimes::to_record),
            commits: self.flushes.as_ref().and_then(|times| times.commits.as_ref()).map(Times::to_record),
            rotations: self.rotations.as_ref().map(|cells| tally(counters::values(cells))),
            slowest: self.slowest(measure_ns),
        }
    }

    /// A write ended that no flush has covered.
    pub(crate) fn count_unflushed(&self, is_measured: bool) {
        if let Some(flushes) = self.flushes.as_ref().filter(|_| is_measured) {
            flushes.unflushed.add(1);
        }
    }

    /// When the worker begins to submit.
    pub fn set_started(&self, now_ns: u64) {
        // A worker starts once.
        let _ = self.started_ns.set(now_ns);
    }

    /// How the worker got the CPU, once it has ended.
    pub fn set_cpu_wait(&self, cpu_wait: CpuWait) {
        // A worker ends once.
        let _ = self.cpu_wait.set(cpu_wait);
    }

    /// True if some I/Os are to be timed from their submission too.
    pub fn times_submissions(&self) -> bool {
        self.stamps.is_some()
    }

    /// A measured I/O was submitted `wait_ns` after its request was free, and came back `submission_ns` later.
    pub fn record_stamps(&self, wait_ns: u64, submission_ns: u64) {
        if let Some(stamps) = &self.stamps {
            stamps.wait.record(wait_ns);
            stamps.submission.record(submission_ns);
        }
    }
}

impl Waits {
    fn counts(&self) -> WaitCounts {
        let wait_completions: [u64; 8] = self.wait_completions.each_ref().map(Counter::get);
        let lookaside_completions: [u64; 8] = self.lookaside_completions.each_ref().map(Counter::get);
        let throttle_wait = self.throttle_wait.get();
        WaitCounts {
            wait: wait_completions.iter().sum::<u64>().saturating_sub(throttle_wait),
            throttle_wait,
            throttle_sleep: self.throttle_sleep.get(),
            lookaside: lookaside_completions.iter().sum(),
            wait_completions,
            lookaside_completions,
        }
    }
}
