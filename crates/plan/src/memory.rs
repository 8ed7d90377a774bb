//! Memory of a timespan, by kind, computed before any of it is allocated.

use crate::findings::{Findings, RefusalKind};
use hot::counters::TallyCells;
use hot::reducible::{SAMPLE_BLOCKS, SAMPLE_BYTES};
use hot::replay::FEED_BYTES;
use hot::slots::Slot;
use model::facts::SystemFacts;
use model::kernel_counters::DeviceCounters;
use model::limits::{
    MEMORY_PERCENT_MAX, PREPARED_BYTES, ROW_BYTES, SECTION_QUEUE_WORDS, SECTIONS_MAX, SECTIONS_WITHOUT_INTERVALS,
    SERIES_CELLS_MAX, SERIES_WIDTH_NS, SLOWEST_IOS, UNCOMMITTED_BYTES, uncommitted_max,
};
use model::operation::Operation;
use model::plan::{Content, Intervals, MemoryPlan, TargetPlan, WorkerPlan, WorkerTarget};
use model::profile::BufferSeparation;
use model::record::{CounterReading, IntervalRecord, SectionCounts, SeriesCell};
use model::units::Bytes;

/// Kinds of memory with further details in `--plan`.
pub(crate) const BUFFERS: &str = "I/O buffers";
/// See [`BUFFERS`].
pub(crate) const LATENCY_BUCKETS: &str = "latency buckets";

/// Stack, recorder and other memory that a thread touches.
const THREAD_BYTES: u64 = 64 << 10;

/// Memory of a thread per request: the entry prepared by the engine, its state, and its number in the free list.
const REQUEST_BYTES: u64 = PREPARED_BYTES + (size_of::<Slot>() + size_of::<u32>()) as u64;

/// Memory of the kernel per entry of a ring, rounded up to a power of two: the entry and its number, and two
/// completions.
const RING_ENTRY_BYTES: u64 = 64 + 4 + 2 * 16;

/// Memory of one row in an interval of `-D`: its counters, and its record at the end.
const INTERVAL_BYTES: u64 = (Operation::COUNT * size_of::<TallyCells>() + size_of::<IntervalRecord>()) as u64;

/// Memory of a cell of the series: three words of counters for each operation, and its record at the end.
const SERIES_CELL_BYTES: u64 = (Operation::COUNT * 3 * 8 + size_of::<SeriesCell>()) as u64;

/// Memory of a skewed target in each thread: its table, which threads may share, and two counters per stratum.
const SKEW_BYTES: u64 = 69 * hot::skew::STRATA_MAX as u64;

/// Memory of a target with reducible data in each thread: its table, and the sample of written data.
const REDUCIBLE_BYTES: u64 = (72 << 10) + (SAMPLE_BYTES + 8 * SAMPLE_BLOCKS) as u64;

/// Touched memory of a table of latency buckets. Latencies of one target and direction lie within a few powers of two,
/// each of which is two pages of the table.
const TOUCHED_BUCKET_BYTES: u64 = 64 << 10;

/// Alignment of I/O buffers so that no two share a cache line of page-directory entries; 0 = none.
pub(crate) fn separation_bytes(separation: BufferSeparation, system: &SystemFacts) -> u64 {
    match separation {
        BufferSeparation::SystemDefault => 0,
        BufferSeparation::ThreadOptimized => system.buffer_separation_bytes(),
    }
}

/// A thread's tables of its section (the last is that of response times), their queue and its slowest I/Os: four words
/// each.
const SECTION_BYTES: u64 =
    8 * ((Operation::TRANSFERS.len() + 1) * hot::buckets::COARSE_COUNT + SECTION_QUEUE_WORDS + 4 * SLOWEST_IOS) as u64;

/// Buckets that the latencies of one direction touch in a section, two bytes each
/// (`model::packed_counts`): latencies over a few powers of two.
const SECTION_BUCKETS: u64 = 700;

/// Memory of the control thread for a section of all threads: reads and writes.
const SECTION_SUM_BYTES: u64 = 2 * (size_of::<SectionCounts>() as u64 + 2 * SECTION_BUCKETS);

/// The counters of a device or share in one reading, with its name; shares have a similar size.
const STORAGE_COUNTER_BYTES: u64 = 64 + size_of::<DeviceCounters>() as u64;

/// The measured data, and the length of the measurement.
pub(crate) struct Measured {
    pub(crate) duration_ns: u64,
    /// `-D`
    pub(crate) intervals: Option<Intervals>,
    /// `-L`
    pub(crate) latency: bool,
    /// Response times over a rising or falling rate.
    pub(crate) ramp: bool,
    /// `--fdatasync-every`, `--fsync-every`: writes between flushes.
    pub(crate) flush_after_writes: Option<u32>,
    /// Disks below the targets.
    pub(crate) disks: usize,
}

impl Measured {
    /// The series of counts, which all threads share.
    fn series_bytes(&self) -> u64 {
        let cells = self.duration_ns.div_ceil(SERIES_WIDTH_NS).min(SERIES_CELLS_MAX);
        cells * SERIES_CELL_BYTES
    }

    /// The sections of all threads together.
    fn section_sums_bytes(&self) -> u64 {
        let count = match self.intervals {
            Some(intervals) => intervals.count.min(SECTIONS_MAX),
            None if self.latency || self.ramp => SECTIONS_WITHOUT_INTERVALS,
            None => 0,
        };
        count * SECTION_SUM_BYTES
    }

    /// The readings of the storage counters; those of CPU times alone are small. A disk may have another device stacked
    /// on it; shares are not known yet.
    fn storage_bytes(&self) -> u64 {
        if !self.latency && self.intervals.is_none() {
            return 0;
        }
        let counted = (2 * self.disks).max(1);
        let readings = Intervals::of_counters(self.duration_ns, self.intervals, counted);
        // Plus one at the start.
        (readings.count + 1) * (size_of::<CounterReading>() as u64 + counted as u64 * STORAGE_COUNTER_BYTES)
    }

    /// Memory of one thread for its current section.
    fn section_bytes(&self) -> u64 {
        if self.latency || self.ramp || self.intervals.is_some() { SECTION_BYTES } else { 0 }
    }
}

/// Adds up the memory of the threads of a timespan.
pub(crate) fn plan(workers: &[WorkerPlan], targets: &[TargetPlan], measured: &Measured, page_bytes: u64) -> MemoryPlan {
    let interval_count = measured.intervals.map_or(0, |intervals| intervals.count);
    let shared = measured.series_bytes() + measured.section_sums_bytes() + measured.storage_bytes();
    let mut memory = MemoryPlan { intervals: shared, ..MemoryPlan::default() };
    let page_bytes = page_bytes.max(1);
    for worker in workers {
        let slots = u64::from(worker.slots);
        let requests = slots * REQUEST_BYTES + slots.next_power_of_two() * RING_ENTRY_BYTES;
        let rows = worker.targets.len() as u64 * ROW_BYTES;
        let feeds = worker.targets.iter().filter(|target| target.is_recorded()).count() as u64 * FEED_BYTES;
        memory.threads = memory.threads.saturating_add(THREAD_BYTES + requests + rows + feeds);
        memory.intervals = memory.intervals.saturating_add(measured.section_bytes());
        if measured.section_bytes() > 0 && worker.targets.iter().any(WorkerTarget::changes_without_data) {
            let tables = Operation::WITHOUT_DATA.len() * hot::buckets::COARSE_COUNT;
            memory.intervals = memory.intervals.saturating_add(8 * tables as u64);
        }
        if measured.latency && worker.times_submissions() {
            memory.latency_buckets += 2 * hot::buckets::TABLE_BYTES;
        }
        if let Some(after_writes) = measured.flush_after_writes {
            // Flushes, and commits.
            memory.latency_buckets += 2 * hot::buckets::TABLE_BYTES;
            memory.threads += uncommitted_max(after_writes, worker.slots) * UNCOMMITTED_BYTES;
        }
        for target in &worker.targets {
            memory.buffers = memory.buffers.saturating_add(buffer_bytes(target, page_bytes));
            let intervals = interval_count.saturating_mul(INTERVAL_BYTES);
            memory.intervals = memory.intervals.saturating_add(intervals);
            if let Some(sizes) = &target.sizes {
                let tables = operations(target) * sizes.sizes.len() as u64;
                let bytes = tables * 8 * hot::buckets::COARSE_COUNT as u64;
                memory.intervals = memory.intervals.saturating_add(if measured.latency { bytes } else { 0 });
            }
            // Service times with -L, response times in an open loop.
            let tables = u64::from(measured.latency) + u64::from(target.pace.is_open_loop());
            memory.latency_buckets += tables * operations(target) * hot::buckets::TABLE_BYTES;
            if matches!(target.content, Content::Reducible(_)) {
                memory.threads = memory.threads.saturating_add(REDUCIBLE_BYTES);
            }
            if target.pattern.skew().is_some() {
                memory.threads = memory.threads.saturating_add(SKEW_BYTES);
            }
        }
    }
    let sources = targets.iter().filter_map(|target| target.write_source.as_ref());
    memory.write_sources = sources.map(|source| source.size_bytes).fold(0, u64::saturating_add);
    memory
}

/// Read half and write half, as far as they are used, in whole pages; and the page of page-table entries of a separated
/// buffer.
fn buffer_bytes(target: &WorkerTarget, page_bytes: u64) -> u64 {
    let half = target.block_bytes.saturating_mul(u64::from(target.slots));
    // Writes may use the source instead of a buffer.
    let own_writes = target.does(Operation::Write) && target.content != Content::Source;
    let halves = u64::from(target.does(Operation::Read)) + u64::from(own_writes);
    let pages = half.saturating_mul(halves).div_ceil(page_bytes);
    pages.saturating_add(1).saturating_mul(page_bytes)
}

/// Number of kinds of I/O of a target.
fn operations(target: &WorkerTarget) -> u64 {
    Operation::ALL.into_iter().filter(|&operation| target.does(operation)).count() as u64
}

/// Refuses a timespan that would exhaust the memory of the machine.
pub(crate) fn check(memory: &MemoryPlan, system: &SystemFacts, findings: &mut Findings) {
    let free = system.memory.free_bytes();
    // Buckets are mapped but mostly untouched; counting all of them would refuse valid runs.
    let touched_buckets = memory.latency_buckets / hot::buckets::TABLE_BYTES * TOUCHED_BUCKET_BYTES;
    let expected = MemoryPlan { latency_buckets: touched_buckets, ..*memory };
    let most = (u128::from(free) * u128::from(MEMORY_PERCENT_MAX) / 100) as u64;
    if expected.total() <= most {
        return;
    }
    let kinds: Vec<String> = kinds(&expected).map(|(name, bytes)| format!("{name} {}", Bytes(bytes))).collect();
    findings.refuse(
        RefusalKind::Impossible,
        format!(
            "{} of memory needed ({}); {} is available, of which {MEMORY_PERCENT_MAX}% may be used. Lower -o, -b, -t or -F, \
             or -Z<size>",
            Bytes(expected.total()),
            kinds.join(", "),
            Bytes(free)
        ),
    );
}

/// The kinds in use, each with its name.
pub(crate) fn kinds(memory: &MemoryPlan) -> impl Iterator<Item = (&'static str, u64)> {
    [
        (BUFFERS, memory.buffers),
        ("write sources", memory.write_sources),
        (LATENCY_BUCKETS, memory.latency_buckets),
        ("intervals, time series and interval histograms", memory.intervals),
        ("threads", memory.threads),
        ("map of verified units", memory.verification),
    ]
    .into_iter()
    .filter(|(_, bytes)| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::facts::Memory;

    #[test]
    fn buffers_are_separated_unless_that_is_switched_off() {
        let system = SystemFacts { page_size_bytes: 4096, ..SystemFacts::default() };
        assert_eq!(separation_bytes(BufferSeparation::ThreadOptimized, &system), 16 << 20);
        assert_eq!(separation_bytes(BufferSeparation::SystemDefault, &system), 0);
    }

    #[test]
    fn the_series_grows_with_the_duration_and_sections_come_with_latencies() {
        let measured = |duration_s: u64, latency| {
            let measured = Measured {
                duration_ns: duration_s * 1_000_000_000,
                intervals: None,
                latency,
                ramp: false,
                flush_after_writes: None,
                disks: 1,
            };
            (measured.series_bytes(), measured.section_bytes())
        };
        assert_eq!(measured(60, false), (600 * 144, 0));
        assert_eq!(measured(60, true), (600 * 144, (165 << 10) + (320 << 10) + 3200));
        assert_eq!(measured(86_400, false), (262_144 * 144, 0));
    }

    #[test]
    fn sections_of_all_threads_grow_with_the_intervals() {
        let sums = |intervals: Option<u64>, latency| {
            let intervals = intervals.map(|count| Intervals { width_ns: 1, count });
            Measured { duration_ns: 1, intervals, latency, ramp: false, flush_after_writes: None, disks: 1 }
                .section_sums_bytes()
        };
        assert_eq!(sums(None, false), 0);
        assert_eq!(sums(None, true), 20 * SECTION_SUM_BYTES);
        // A day of seconds takes the memory that a test of reports measures for one.
        assert!((240 << 20..280 << 20).contains(&sums(Some(86_400), true)), "{}", sums(Some(86_400), true));
        assert_eq!(sums(Some(1 << 40), true), 200_000 * SECTION_SUM_BYTES);
    }

    #[test]
    fn readings_of_storage_counters_are_bounded() {
        let bytes = |duration_s: u64, latency, disks| {
            let duration_ns = duration_s * 1_000_000_000;
            Measured { duration_ns, intervals: None, latency, ramp: false, flush_after_writes: None, disks }
                .storage_bytes()
        };
        assert_eq!(bytes(60, false, 1), 0);
        let reading = |counted: u64| size_of::<CounterReading>() as u64 + counted * STORAGE_COUNTER_BYTES;
        assert_eq!([bytes(60, true, 0), bytes(60, true, 1)], [61 * reading(1), 61 * reading(2)]);
        assert!(bytes(1 << 24, true, 1) < 2 << 20 && bytes(1 << 24, true, 500) < 32 << 20);
    }

    #[test]
    fn the_sum_by_kind_is_refused_above_nine_tenths_of_what_is_free() {
        let gib = 1 << 30;
        let memory = MemoryPlan { buffers: 8 * gib, threads: gib, ..MemoryPlan::default() };
        let refusals = |available_bytes| {
            let memory_facts = Memory { available_bytes, ..Memory::default() };
            let system = SystemFacts { memory: memory_facts, ..SystemFacts::default() };
            let mut findings = Findings::default();
            check(&memory, &system, &mut findings);
            findings.refusals().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(refusals(10 * gib).is_empty());
        insta::assert_snapshot!(refusals(10 * gib - 2).join("\n"), @"9GiB of memory needed (I/O buffers 8GiB, threads 1GiB); 10GiB is available, of which 90% may be used. Lower -o, -b, -t or -F, or -Z<size>");
    }

    #[test]
    fn buckets_count_with_what_is_touched_of_them() {
        let tables = 1000;
        let memory = MemoryPlan { latency_buckets: tables * hot::buckets::TABLE_BYTES, ..MemoryPlan::default() };
        let facts = |available_bytes| {
            let memory = Memory { available_bytes, ..Memory::default() };
            SystemFacts { memory, ..SystemFacts::default() }
        };
        let mut findings = Findings::default();
        check(&memory, &facts(tables * TOUCHED_BUCKET_BYTES * 10 / 9 + 10), &mut findings);
        assert!(findings.refusals().is_empty());
        check(&memory, &facts(tables * TOUCHED_BUCKET_BYTES), &mut findings);
        assert_eq!(findings.refusals().len(), 1);
    }
}
