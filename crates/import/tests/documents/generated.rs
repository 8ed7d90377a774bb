//! Results of fictitious runs: random records, summarised like those of real runs.

use model::affinity::compact;
use model::corruption::CorruptionClass;
use model::engine_kind::EngineKind;
use model::expectation::{Ceiling, CeilingUnit, Expectation};
use model::facts::SystemFacts;
use model::finding::{Finding, Severity, Source};
use model::kernel_counters::{DeviceCounters, RequestCounters, RpcCounters, ShareCounters, TransferCounters};
use model::kernel_events::{EventClass, EventCount, EventKind, IoLevel, IoStack, KernelEvent, KernelEvents};
use model::note::Note;
use model::operation::Operation;
use model::packed_counts::PackedCounts;
use model::plan::{
    EffectiveDistribution, EffectiveRange, Expected, Intervals, OpenPlan, Plan, Preparation, TargetPlan, TimeSpanPlan,
};
use model::profile::{
    FlushCall, IoRing, OfferedRate, Profile, RateProcess, ResultFormat, StreamName, Target, TimeSpan,
};
use model::record::{
    CellCounts, CounterReading, CpuTimes, DirectionRecord, FlushRecord, IntervalRecord, OpenLoopRecord,
    OperationRecord, Outcome, Record, RowRecord, SectionCounts, SectionRecord, SeriesCell, SeriesRecord, Tally,
    ThreadRecord, TimeSpanRecord, TimesRecord, WaitCounts, WrittenSample,
};
use model::result::{DistributionUse, DistributionUser, RunResult};
use model::topology::{Cache, CacheKind, Cpu, Topology};
use model::units::{Bytes, UnixTime};
use model::verdict::Verdict;
use model::verification::{CorruptUnits, VerificationFigures};
use proptest::prelude::*;
use std::collections::BTreeMap;

const NAMES: [&str; 4] = ["a.dat", "dir/b & <c> \"d\".dat", "C:\\x | y (8).dat", "größe.bin"];

/// One I/O of a row.
#[derive(Clone, Copy, Debug)]
struct Io {
    latency_ns: u64,
    is_write: bool,
    interval: u64,
}

/// The parameters of a timespan.
#[derive(Clone, Debug)]
struct Span {
    threads: u32,
    targets: usize,
    is_pool: bool,
    measures_latency: bool,
    interval_ms: Option<u32>,
    has_ring: bool,
    has_distribution: bool,
    outcome: u8,
    elapsed_ns: u64,
    rows: Vec<Vec<Io>>,
    ticks: Vec<(u64, u64, u64)>,
    waits: [u64; 8],
}

fn io() -> impl Strategy<Value = Io> {
    (1u64..20_000_000_000, any::<bool>(), 0u64..4).prop_map(|(latency_ns, is_write, interval)| Io {
        latency_ns,
        is_write,
        interval,
    })
}

fn span() -> impl Strategy<Value = Span> {
    let shape = (
        1u32..4,
        1usize..4,
        any::<bool>(),
        any::<bool>(),
        prop::option::of(prop::sample::select(&[250, 500, 1000][..])),
    );
    let more = (any::<bool>(), any::<bool>(), 0u8..6, 1_000_000_000u64..4_000_000_000);
    let data = (
        prop::collection::vec(prop::collection::vec(io(), 0..12), 9),
        prop::collection::vec((0u64..100, 0u64..100, 0u64..100), 6),
        prop::array::uniform8(0u64..1000),
    );
    (shape, more, data).prop_map(|(shape, more, data)| Span {
        threads: shape.0,
        targets: shape.1,
        is_pool: shape.2,
        measures_latency: shape.3,
        interval_ms: shape.4,
        has_ring: more.0,
        has_distribution: more.1,
        outcome: more.2,
        elapsed_ns: more.3,
        rows: data.0,
        ticks: data.1,
        waits: data.2,
    })
}

/// A result of one or two timespans.
pub(crate) fn result() -> impl Strategy<Value = RunResult> {
    (prop::collection::vec(span(), 1..3), 0u8..4, any::<bool>(), any::<bool>())
        .prop_map(|(spans, machine, verbose_stats, has_notes)| summarised(&spans, machine, verbose_stats, has_notes))
}

fn summarised(spans: &[Span], machine: u8, verbose_stats: bool, has_notes: bool) -> RunResult {
    let system = system(machine);
    let profile = Profile {
        time_spans: spans.iter().map(time_span).collect(),
        verbose_stats,
        result_format: ResultFormat::Xml,
        ..Profile::default()
    };
    let cpus: Vec<(u16, u32)> = system.topology.cpus.iter().rev().map(|cpu| (cpu.group(), cpu.number())).collect();
    let plan = Plan {
        time_spans: spans.iter().map(|span| plan(span, &cpus)).collect(),
        notes: if has_notes { vec![Note::Verbatim { text: "a note & more".to_owned() }] } else { Vec::new() },
        ..Plan::default()
    };
    let record = Record {
        started_at: UnixTime(1_741_944_413_000_000_000),
        time_spans: spans.iter().map(|span| self::record(span, &system)).collect(),
        ..Record::default()
    };
    let command_line = "diskspd -d1 \"a b\" <c>".to_owned();
    let context = stats::RunContext { command_line, ..stats::RunContext::default() };
    let plan = Some(&plan);
    let mut result =
        stats::summarise(stats::Input { context, profile: &profile, system: &system, plan, record: &record });
    // Plans are in no other document.
    result.plan = None;
    for (span, span_result) in spans.iter().zip(&mut result.time_spans) {
        let kind = if span.has_ring || !span.is_pool { EngineKind::IoUring } else { EngineKind::Synchronous };
        span_result.engines = vec![kind; span.targets];
        span_result.kernel_events =
            (span.waits[4] % 2 == 0 && span_result.measured.is_some()).then(|| kernel_events(span));
        let Some(measured) = &mut span_result.measured else { continue };
        span_result.verdict = (span.outcome > 0).then(|| verdict(span));
        span_result.expectation = span.waits[4].is_multiple_of(3).then(|| expectation(span));
        span_result.requirements = requirements(span);
        if span.has_distribution {
            measured.distributions = vec![distribution(span)];
            measured.rows.iter_mut().filter(|row| row.target == 0).for_each(|row| row.distribution = Some(0));
        }
    }
    result
}

fn system(machine: u8) -> SystemFacts {
    let cpu = |id, core, socket, node, class| Cpu { id, core, socket, node, class, allowed: true };
    let cpus: Vec<Cpu> = match machine {
        0 => (0..2).map(|id| cpu(id, id, 0, 0, 0)).collect(),
        1 => (0..4).map(|id| cpu(id, id / 2, 0, 0, 0)).collect(),
        2 => vec![cpu(0, 0, 0, 0, 1), cpu(1, 0, 0, 0, 1), cpu(2, 1, 0, 0, 0), cpu(3, 2, 0, 0, 0)],
        _ => [0, 1, 2, 64, 65, 66].map(|id| cpu(id, id / 64 * 3 + id % 64, id / 64, id / 64, 0)).to_vec(),
    };
    let cache =
        |level, kind, cpus| Cache { level, kind, size_bytes: 48 << 10, line_bytes: 64, associativity: 12, cpus };
    let mut caches: Vec<Cache> = cpus.iter().map(|cpu| cache(1, CacheKind::Data, vec![cpu.id])).collect();
    caches.push(cache(3, CacheKind::Unified, cpus.iter().map(|cpu| cpu.id).collect()));
    SystemFacts {
        computer_name: "bench <01>".to_owned(),
        processor_name: Some("Example & Sons 4".to_owned()),
        power_scheme: (machine > 0).then(|| "performance".to_owned()),
        page_size_bytes: 4096,
        topology: Topology { possible_cpus: cpus.last().map_or(0, |cpu| cpu.id + 1), cpus, caches },
        ..SystemFacts::default()
    }
}

fn time_span(span: &Span) -> TimeSpan {
    let target = |index: usize| Target {
        block_size: Bytes::from_kib(4),
        random_percent: 100,
        create_size: Some(Bytes::from_mib(8)),
        stream: (!span.is_pool).then(|| StreamName::parse(["a", "b-1"][index % 2]).expect("a name")),
        dedupe_percent: has_reduction(span).then_some(span.waits[0] as u32 % 101),
        ..Target::new(NAMES[index])
    };
    TimeSpan {
        duration_s: 3,
        thread_count: if span.is_pool { span.threads } else { 0 },
        request_count: if span.is_pool { 4 } else { 0 },
        measure_latency: span.measures_latency,
        calculate_iops_std_dev: span.interval_ms.is_some(),
        rate_iops: rate_iops(span).map(|iops| offered(iops, span)),
        flush_after_writes: flush_after_writes(span),
        rate_process: rate_iops(span).filter(|rate| rate.is_multiple_of(2000)).map(|_| process(span)),
        interval_ms: span.interval_ms.unwrap_or(1000),
        io_ring: span.has_ring.then(IoRing::default),
        targets: (0..span.targets).map(target).collect(),
        ..TimeSpan::default()
    }
}

fn plan(span: &Span, cpus: &[(u16, u32)]) -> TimeSpanPlan {
    let target = |index: usize| TargetPlan {
        path: NAMES[index].into(),
        stream: None,
        size_bytes: 8 << 20,
        preparation: Preparation::Keep,
        expect: Expected::Character,
        open: OpenPlan::default(),
        write_source: None,
        shared_run: None,
    };
    TimeSpanPlan {
        duration_ns: 3_000_000_000,
        measure_latency: span.measures_latency,
        intervals: span.interval_ms.map(|ms| Intervals { width_ns: u64::from(ms) * 1_000_000, count: 4 }),
        targets: (0..span.targets).map(target).collect(),
        flush_after_writes: flush_after_writes(span),
        flush_call: if span.has_ring { FlushCall::Fsync } else { FlushCall::Fdatasync },
        effective_affinity: Some(compact(cpus.iter().copied().take(span.threads as usize + 1))),
        buffer_separation_bytes: 16 << 20,
        ..TimeSpanPlan::default()
    }
}

fn record(span: &Span, system: &SystemFacts) -> TimeSpanRecord {
    let (outcome, elapsed_ns) = match span.outcome {
        0 => (Outcome::NotRun, 0),
        1 => (Outcome::Failed { errors: vec!["cannot open 'a & b': no such file".to_owned()] }, 0),
        2 => (Outcome::Failed { errors: vec!["thread 1: reading failed".to_owned()] }, span.elapsed_ns),
        _ => (Outcome::Completed, span.elapsed_ns),
    };
    let pairs = (0..span.threads).flat_map(|thread| (0..span.targets).map(move |target| (thread, target)));
    let with_moments = span.measures_latency || span.interval_ms.is_some();
    let row = |((thread, target), ios): ((u32, usize), &Vec<Io>)| RowRecord {
        thread,
        target,
        read: direction(ios, false, with_moments, span.measures_latency),
        write: direction(ios, true, with_moments, span.measures_latency),
        others: flush_after_writes(span)
            .map(|_| others(ios, with_moments, span.measures_latency))
            .into_iter()
            .collect(),
        sizes: Vec::new(),
        intervals: if span.interval_ms.is_some() { intervals(ios) } else { Vec::new() },
        open_loop: rate_iops(span).map(|_| open_loop(ios, span.waits)),
        replay: None,
        skew_draws: Vec::new(),
        written: written(span),
    };
    let thread = |thread| ThreadRecord {
        started_ns: None,
        cpu_wait: None,
        stamp_samples: None,
        flushes: flush_after_writes(span).map(|_| FlushRecord {
            times: flushes(&span.rows),
            covered_writes: span.waits[0],
            unflushed_writes: span.waits[1],
        }),
        commits: flush_after_writes(span).map(|_| flushes(&span.rows)),
        rotations: flush_after_writes(span).map(|_| flushes(&span.rows).tally),
        slowest: Vec::new(),
        thread,
        throttled: thread == 0 && span.waits[1] > 0,
        submits: span.waits[0],
        waits: WaitCounts {
            wait: span.waits[2],
            throttle_wait: if thread == 0 { span.waits[1] } else { 0 },
            throttle_sleep: 0,
            lookaside: if with_moments { span.waits[3] } else { 0 },
            wait_completions: span.waits,
            lookaside_completions: if with_moments { span.waits } else { [0; 8] },
        },
    };
    let ticks = system.topology.cpus.iter().zip(&span.ticks);
    TimeSpanRecord {
        outcome,
        elapsed_ns,
        rows: pairs.zip(&span.rows).map(row).collect(),
        threads: (0..span.threads).map(thread).collect(),
        cpus: ticks
            .map(|(cpu, &(user, kernel, idle))| CpuTimes { cpu: cpu.id, user, kernel, idle, steal: 0 })
            .collect(),
        series: series(span.waits),
        sections: sections(span.waits),
        readings: readings(span.waits),
        verification: verification(span.waits),
        ..TimeSpanRecord::default()
    }
}

/// With corrupt units, without, or no verification at all.
fn verification(waits: [u64; 8]) -> Option<VerificationFigures> {
    let corrupt = |units| CorruptUnits { class: CorruptionClass::ALL[waits[0] as usize % 9], units };
    waits[1].is_multiple_of(2).then(|| VerificationFigures {
        unit_bytes: 512 << (waits[2] % 4),
        is_exact: waits[3].is_multiple_of(2),
        checked_units: waits[4],
        unchecked_units: waits[5],
        waiting_ios: waits[6],
        unreadable_ios: waits[7],
        corrupt: Some(waits[7]).filter(|&units| units > 0).map(corrupt).into_iter().collect(),
        ..VerificationFigures::default()
    })
}

/// Too few cells for an interval, none, or enough; reads alone, or writes too.
fn series(waits: [u64; 8]) -> SeriesRecord {
    let counts = |ios: u64| CellCounts { ios, bytes: ios * 4096, latency_sum_ns: ios * (1_000_000 + 1000 * waits[0]) };
    let cell = |index: u64| SeriesCell {
        read: counts(1 + waits[(index % 8) as usize]),
        write: if waits[1].is_multiple_of(2) { counts(waits[(index * 3 % 8) as usize]) } else { CellCounts::default() },
    };
    SeriesRecord { width_ns: 100_000_000, cells: (0..waits[6] % 30).map(cell).collect() }
}

/// Readings of the CPUs, a disk and a share, or none.
fn readings(waits: [u64; 8]) -> Vec<CounterReading> {
    let cpus = |second: u64| CpuTimes {
        cpu: 0,
        user: second * waits[0],
        kernel: second * 7,
        idle: second * 100,
        steal: second * (waits[1] % 3),
    };
    let read = |index: u64| RequestCounters {
        count: index * waits[0],
        bytes: index * waits[0] * 4096,
        time_ms: index * waits[1],
        ..RequestCounters::default()
    };
    let rpc = |index: u64| RpcCounters {
        transmission_count: index * waits[0],
        queue_ms: index * waits[2],
        execute_ms: index * waits[3],
        ..RpcCounters::default()
    };
    let share = |index: u64| ShareCounters {
        mount_point: "/mnt/<a>".into(),
        source: "nas:/a & b".to_owned(),
        read: TransferCounters { count: index * waits[0], bytes: index * 512, rpc: Some(rpc(index)) },
        write: TransferCounters { rpc: Some(RpcCounters::default()), ..TransferCounters::default() },
    };
    let reading = |index: u64| CounterReading {
        at_ns: index * 1_000_000_000,
        cpus: (!waits[5].is_multiple_of(4)).then(|| cpus(index)),
        devices: [("sd<a>".to_owned(), DeviceCounters { read: read(index), ..DeviceCounters::default() })].into(),
        shares: vec![share(index)],
    };
    (0..waits[4] % 4).map(reading).collect()
}

/// Some percentiles have intervals, or none.
fn sections(waits: [u64; 8]) -> Vec<SectionRecord> {
    let counts = |index: u64| SectionCounts {
        histogram: PackedCounts::pack([(1000 + waits[(index % 8) as usize] as u32, 10 + waits[2]), (2500, 5)]),
        ..SectionCounts::default()
    };
    let section = |index: u64| SectionRecord {
        start_ns: index * 100_000_000,
        end_ns: (index + 1) * 100_000_000,
        read: counts(index),
        write: counts(index + 1),
        response: SectionCounts {
            tally: Tally { count: 15 + waits[2], sum_ns: 1_000_000 + u128::from(waits[3]), ..Tally::default() },
            ..counts(index)
        },
    };
    (0..waits[7] % 25).map(section).collect()
}

/// Some write reducible data.
fn written(span: &Span) -> Option<WrittenSample> {
    let bytes = |waits: u64| (0..waits % 5000).map(|number| (number % 7) as u8).collect();
    has_reduction(span)
        .then(|| WrittenSample { bytes: bytes(span.waits[1]), block_hashes: vec![1, 2, span.waits[2] % 3] })
}

fn has_reduction(span: &Span) -> bool {
    span.waits[4].is_multiple_of(2)
}

/// Some timespans are an open loop.
fn rate_iops(span: &Span) -> Option<u32> {
    span.waits[5].is_multiple_of(2).then_some(span.threads * 1000)
}

/// Some rates rise or fall.
fn offered(iops: u32, span: &Span) -> OfferedRate {
    let to_iops = iops + span.waits[0] as u32 % 1000;
    if span.waits[1].is_multiple_of(2) { OfferedRate::Ramp { from_iops: iops, to_iops } } else { iops.into() }
}

/// Some starts are random, some come in bursts.
fn process(span: &Span) -> RateProcess {
    let bursts = RateProcess::parse("bursts:100ms,900ms,2.5").expect("these are possible");
    if span.waits[1] % 4 == 1 { bursts } else { RateProcess::Poisson }
}

/// Some threads flush.
fn flush_after_writes(span: &Span) -> Option<u32> {
    span.waits[6].is_multiple_of(3).then_some(8)
}

fn others(ios: &[Io], with_moments: bool, with_buckets: bool) -> OperationRecord {
    OperationRecord { operation: Operation::Discard, record: direction(ios, false, with_moments, with_buckets) }
}

fn flushes(rows: &[Vec<Io>]) -> TimesRecord {
    let DirectionRecord { tally, buckets, .. } = direction(rows.first().map_or(&[], |ios| ios), true, true, true);
    TimesRecord { tally, buckets }
}

fn open_loop(ios: &[Io], [delayed_by_depth, backlog, ..]: [u64; 8]) -> OpenLoopRecord {
    let response = |is_write| {
        let DirectionRecord { tally, buckets, .. } = direction(ios, is_write, true, true);
        TimesRecord { tally, buckets }
    };
    let lateness = tally(ios.iter(), true);
    OpenLoopRecord { read: response(false), write: response(true), lateness, delayed_by_depth, backlog }
}

fn tally<'a>(ios: impl Iterator<Item = &'a Io>, with_moments: bool) -> Tally {
    let mut tally = Tally::default();
    for Io { latency_ns, .. } in ios {
        let ns = if with_moments { *latency_ns } else { 0 };
        let square = ns as f64 * ns as f64;
        tally.merge(&Tally { count: 1, sum_ns: u128::from(ns), sum_squares_ns2: square, min_ns: ns, max_ns: ns });
    }
    tally
}

fn direction(ios: &[Io], is_write: bool, with_moments: bool, with_buckets: bool) -> DirectionRecord {
    let of_kind = || ios.iter().filter(|io| io.is_write == is_write);
    let mut buckets = BTreeMap::new();
    if with_buckets {
        of_kind().for_each(|io| *buckets.entry(hot::buckets::index(io.latency_ns) as u32).or_default() += 1);
    }
    let tally = tally(of_kind(), with_moments);
    DirectionRecord { tally, bytes: tally.count * 4096, buckets: buckets.into_iter().collect() }
}

fn intervals(ios: &[Io]) -> Vec<IntervalRecord> {
    let tally_of =
        |index, is_write| tally(ios.iter().filter(|io| (io.interval, io.is_write) == (index, is_write)), true);
    let interval = |index| IntervalRecord { index, read: tally_of(index, false), write: tally_of(index, true) };
    (0..4).map(interval).filter(|interval| interval.read.count + interval.write.count > 0).collect()
}

/// Two classes, and a stack of two devices, one of them idle.
fn kernel_events(span: &Span) -> KernelEvents {
    let counters = |events: &[KernelEvent]| {
        events.iter().zip(span.waits).map(|(&event, count)| EventCount { event, count }).collect()
    };
    let class = |class, events| EventClass { class, source: "/proc & <more>".to_owned(), counters: counters(events) };
    let figures =
        |ios: u64, mean_ns| stats::level_figures(ios, ios * 4096, (ios > 0).then_some(mean_ns), span.elapsed_ns);
    let level = |device: Option<&str>, depth, ios| IoLevel {
        device: device.map(str::to_owned),
        depth,
        read: figures(ios, 81_000.0),
        write: figures(span.waits[7], 1_250_000.0),
    };
    let [a, b, ..] = span.waits;
    KernelEvents {
        classes: vec![
            class(EventKind::DiskIo, &[KernelEvent::Read, KernelEvent::Write]),
            class(EventKind::MemoryHardFaults, &[KernelEvent::HardPageFault, KernelEvent::OwnHardPageFault]),
            class(EventKind::Thread, &[KernelEvent::Start, KernelEvent::End]),
        ],
        stacks: vec![IoStack {
            targets: (0..span.targets).map(|index| NAMES[index].into()).collect(),
            levels: vec![level(None, 0, a), level(Some("md0"), 1, b), level(Some("nvme0n1"), 2, 0)],
        }],
    }
}

/// No finding, or one of each severity.
fn verdict(span: &Span) -> Verdict {
    let finding = |severity: Severity| Finding {
        name: format!("a-{}-rule", severity.name()),
        severity,
        subject: if severity == Severity::Warn { "c.dat & <b>".to_owned() } else { String::new() },
        figure: "12.5 % of 'a & <b>: c.dat' | is".to_owned(),
        value: span.waits[6].is_multiple_of(2).then_some(12.5),
        advice: "do \"this\": or that".to_owned(),
        basis: String::new(),
        source: Source::Verdict,
    };
    let severities: &[Severity] = if span.waits[5].is_multiple_of(2) { &[] } else { &Severity::ALL };
    Verdict { findings: severities.iter().copied().map(finding).collect() }
}

/// Both units, an estimate among them, and findings.
fn expectation(span: &Span) -> Expectation {
    let ceiling = |name: &str, unit, limit: f64, is_estimate| {
        let reached = limit * f64::from(span.threads) / 3.0;
        let share_percent = reached / limit * 100.0;
        Ceiling { name: name.to_owned(), unit, limit, reached, share_percent, is_estimate, parts: span.threads }
    };
    let ceilings = vec![
        ceiling("vm-iops", CeilingUnit::IosPerSecond, 1920.0, false),
        ceiling("small-random-writes", CeilingUnit::BytesPerSecond, 337.5e6, true),
    ];
    Expectation { ceilings, binding: "vm-iops".to_owned(), findings: from(Source::Expectation, verdict(span)) }
}

/// Findings of another source.
fn from(source: Source, verdict: Verdict) -> Vec<Finding> {
    verdict.findings.into_iter().map(|finding| Finding { source, ..finding }).collect()
}

/// None, or one with each outcome.
fn requirements(span: &Span) -> Vec<Finding> {
    let requirement = |(severity, typed, value): (Severity, &str, Option<f64>)| Finding {
        name: "requirement".to_owned(),
        severity,
        subject: typed.to_owned(),
        figure: "p99 was 12.5 ms".to_owned(),
        value,
        advice: if severity == Severity::Fail { "look at the verdict".to_owned() } else { String::new() },
        basis: if severity == Severity::Pass { "https://example.com/limits".to_owned() } else { String::new() },
        source: Source::Requirement,
    };
    let all = [
        (Severity::Pass, "iops>=5K", Some(5120.5)),
        (Severity::Fail, "p99<10ms", Some(12_500_000.0)),
        (Severity::Unknown, "max < 1s", None),
    ];
    if span.waits[3].is_multiple_of(2) { Vec::new() } else { all.map(requirement).into() }
}

/// A list with a hole, cut off after 60 percent.
fn distribution(span: &Span) -> DistributionUse {
    let range =
        |io_start, io_percent, start_bytes| EffectiveRange { io_start, io_percent, start_bytes, length_bytes: 1 << 20 };
    DistributionUse {
        distribution: EffectiveDistribution { io_span: 60, ranges: vec![range(0, 10, 0), range(10, 50, 4 << 20)] },
        users: vec![DistributionUser { path: NAMES[0].into(), threads: (0..span.threads).collect() }],
    }
}
