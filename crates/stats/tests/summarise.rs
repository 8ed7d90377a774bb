//! From a record to a result.

#![allow(clippy::float_cmp, reason = "the figures compared are exact")]

use model::affinity::compact;
use model::engine_kind::EngineKind;
use model::facts::SystemFacts;
use model::figures::LatencyDistribution;
use model::note::Note;
use model::plan::{
    Area, Assignment, EffectiveDistribution, EffectiveRange, EnginePlan, Expected, Intervals, OpenPlan, Plan,
    Preparation, TargetPlan, TimeSpanPlan, WorkerPlan, WorkerTarget,
};
use model::profile::{Profile, RateProcess, Target, TimeSpan};
use model::record::{
    CpuTimes, DirectionRecord, IntervalRecord, OpenLoopRecord, Outcome, Record, RowRecord, Tally, ThreadRecord,
    TimeSpanRecord, TimesRecord, WaitCounts,
};
use model::result::{DistributionUser, LoadLoop, Measured, RunResult, ThreadSubmissions};
use model::topology::{Cpu, Topology};
use model::units::UnixTime;
use stats::{Input, RunContext, summarise};
use std::path::PathBuf;

const SECOND_NS: u64 = 1_000_000_000;

/// One timespan of a run.
struct Case {
    span: TimeSpan,
    plan: TimeSpanPlan,
    record: TimeSpanRecord,
}

fn target_plan(path: &str) -> TargetPlan {
    TargetPlan {
        path: PathBuf::from(path),
        stream: None,
        size_bytes: 9 << 40,
        preparation: Preparation::Keep,
        expect: Expected::Character,
        open: OpenPlan::default(),
        write_source: None,
        shared_run: None,
    }
}

fn served(target: usize) -> WorkerTarget {
    let area = Area { base_bytes: 0, size_bytes: 9 << 40, alignment_bytes: 4096, positions: 9 << 28 };
    WorkerTarget { target, write_percent: 50, ..WorkerTarget::example(area) }
}

fn worker(thread: u32, targets: Vec<WorkerTarget>) -> WorkerPlan {
    WorkerPlan {
        thread,
        cpu: None,
        engine: EnginePlan { kind: EngineKind::IoUring, reason: "a test".into(), ring: None, completions_max: None },
        targets,
        assignment: Assignment::Fixed,
        slots: 1,
        seed: 0,
        stream: thread,
        randomize_writes: false,
    }
}

/// Every latency was `latency_ns`, so buckets and moments follow from the count.
fn ios(count: u64, latency_ns: u64) -> DirectionRecord {
    DirectionRecord {
        tally: Tally {
            count,
            sum_ns: u128::from(count) * u128::from(latency_ns),
            sum_squares_ns2: count as f64 * (latency_ns as f64).powi(2),
            min_ns: latency_ns,
            max_ns: latency_ns,
        },
        bytes: count * 4096,
        buckets: if count > 0 { vec![(hot::buckets::index(latency_ns) as u32, count)] } else { Vec::new() },
    }
}

fn row(thread: u32, target: usize, read: DirectionRecord, write: DirectionRecord) -> RowRecord {
    RowRecord { thread, target, read, write, ..RowRecord::default() }
}

/// Two threads, each with a target of its own, measured for 2.5 of 2 planned seconds with `-L`.
fn two_threads() -> Case {
    let targets = ["b", "a"].map(Target::new).to_vec();
    let span = TimeSpan { duration_s: 2, measure_latency: true, targets, ..TimeSpan::default() };
    let plan = TimeSpanPlan {
        duration_ns: 2 * SECOND_NS,
        measure_latency: true,
        targets: vec![target_plan("b"), target_plan("a")],
        workers: vec![worker(0, vec![served(0)]), worker(1, vec![served(1)])],
        buffer_separation_bytes: 16 << 20,
        ..TimeSpanPlan::default()
    };
    let record = TimeSpanRecord {
        outcome: Outcome::Completed,
        elapsed_ns: 2_500_000_000,
        rows: vec![row(0, 0, ios(100, 1000), ios(50, 2000)), row(1, 1, ios(300, 5000), ios(0, 0))],
        threads: [0, 1].map(|thread| ThreadRecord { thread, submits: 25, ..ThreadRecord::default() }).to_vec(),
        cpus: vec![CpuTimes { cpu: 0, user: 1, kernel: 1, idle: 2, steal: 0 }],
        ..TimeSpanRecord::default()
    };
    Case { span, plan, record }
}

fn run(cases: Vec<Case>) -> RunResult {
    run_on(cases, &SystemFacts::default(), false)
}

fn run_on(cases: Vec<Case>, system: &SystemFacts, verbose_stats: bool) -> RunResult {
    let mut profile = Profile { verbose_stats, ..Profile::default() };
    let mut plan = Plan::default();
    let mut record = Record { started_at: UnixTime(7), ..Record::default() };
    for case in cases {
        profile.time_spans.push(case.span);
        plan.time_spans.push(case.plan);
        record.time_spans.push(case.record);
    }
    let context = RunContext { command_line: "diskspd b a".to_owned(), ..RunContext::default() };
    summarise(Input { context, profile: &profile, system, plan: Some(&plan), record: &record })
}

fn measure(case: Case) -> Measured {
    run(vec![case]).time_spans.remove(0).measured.expect("it was measured")
}

#[test]
fn rows_and_totals() {
    let result = run(vec![two_threads()]);
    assert_eq!((result.command_line.as_str(), result.started_at), ("diskspd b a", UnixTime(7)));
    let measured = result.time_spans[0].measured.as_ref().expect("it was measured");
    let totals = result.totals.expect("it was measured");
    assert_eq!(totals.elapsed_ns, measured.elapsed_ns);
    let [sum, own] = [totals.figures.total, measured.total.total];
    assert_eq!((sum.ios, sum.iops, sum.bytes_per_s), (own.ios, own.iops, own.bytes_per_s));
    assert_eq!(sum.latency.map(|latency| latency.max_ns), own.latency.map(|latency| latency.max_ns));
    assert_eq!(result.totals_of_several(), None);
    let span = &result.time_spans[0];
    assert_eq!(span.engines, [EngineKind::IoUring; 2]);
    assert_eq!(span.buffer_separation_bytes, 16 << 20);
    let measured = span.measured.as_ref().expect("it was measured");
    assert_eq!(measured.thread_count, 2);
    assert_eq!(measured.rows[1].path, PathBuf::from("a"));
    assert_eq!(measured.rows[1].target_size_bytes, 9 << 40);
    let first = measured.rows[0].figures.total;
    assert_eq!((first.ios, first.bytes, first.iops), (150, 150 * 4096, 60.0), "over the real 2.5 s");
    let total = measured.total;
    assert_eq!((total.read.ios, total.write.ios, total.total.ios), (400, 50, 450));
    // Merged, not the mean of the rows: (300 x 5000 + 100 x 1000) / 400.
    assert_eq!(total.read.latency.expect("there were reads").mean_ns, 4000.0);
    assert_eq!(measured.rows[1].figures.write.latency, None);
    assert_eq!(total.total.iops_std_dev, None, "no -D");
}

#[test]
fn latencies_per_path_in_target_order() {
    let measured = measure(two_threads());
    let paths: Vec<_> = measured.target_latencies.iter().map(|of| of.path.to_str().expect("ASCII")).collect();
    assert_eq!(paths, ["b", "a"]);
    let all = measured.total_latency.expect("-L was given");
    assert_eq!(all.total.expect("there were I/Os").count, 450);
    let a = &measured.target_latencies[1].latency;
    assert_eq!(a.write, None);
    assert_eq!(a.read.as_ref().expect("there were reads").figures.max_ns, Some(5000));
}

#[test]
fn targets_of_one_path_share_a_table_and_one_path_has_none() {
    let mut case = two_threads();
    case.plan.targets[1].path = PathBuf::from("b");
    assert!(measure(case).target_latencies.is_empty());

    let mut case = two_threads();
    case.plan.targets.push(target_plan("b"));
    case.record.rows.push(row(2, 2, ios(11, 1000), ios(0, 0)));
    let measured = measure(case);
    assert_eq!(measured.target_latencies.len(), 2);
    assert_eq!(measured.target_latencies[0].latency.read.as_ref().expect("there were reads").count, 111);
}

#[test]
fn without_latency_only_volumes_are_known() {
    let mut case = two_threads();
    case.span.measure_latency = false;
    case.plan.measure_latency = false;
    let measured = measure(case);
    assert_eq!(measured.total.read.latency, None);
    assert_eq!((measured.total_latency, measured.target_latencies), (None, Vec::new()));
    assert!(!measured.is_latency_run);
}

#[test]
fn deviations_of_rows_and_of_the_merged_intervals() {
    let mut case = two_threads();
    case.span.calculate_iops_std_dev = true;
    case.plan.intervals = Some(Intervals { width_ns: SECOND_NS, count: 2 });
    let interval = |index, reads| IntervalRecord { index, read: ios(reads, 1000).tally, write: Tally::default() };
    // The third second was not planned: it does not count.
    case.record.rows[0].intervals = vec![interval(0, 70), interval(1, 30), interval(2, 1)];
    case.record.rows[1].intervals = vec![interval(0, 30), interval(1, 70)];
    let measured = measure(case);
    assert!(measured.is_latency_run);
    assert_eq!(measured.rows[0].figures.read.iops_std_dev, Some(20.0));
    assert_eq!(measured.rows[0].figures.write.iops_std_dev, Some(0.0));
    assert_eq!(measured.total.read.iops_std_dev, Some(0.0), "the threads complement each other");
    assert_eq!(measured.rows[0].intervals.iter().map(|cell| cell.read.ios).collect::<Vec<_>>(), [70, 30]);
}

#[test]
fn nothing_measured_has_no_figures() {
    for (outcome, elapsed_ns) in [
        (Outcome::NotRun, 0),
        (Outcome::Stopped, 0),
        (Outcome::Failed { errors: vec!["broken".to_owned()] }, 0),
        (Outcome::NotRun, 5),
    ] {
        let mut case = two_threads();
        let failed = matches!(outcome, Outcome::Failed { .. });
        case.record.outcome = outcome;
        case.record.elapsed_ns = elapsed_ns;
        case.record.cpus.clear();
        let span = run(vec![case]).time_spans.remove(0);
        assert_eq!(span.measured, None);
        assert_eq!(span.errors.len(), usize::from(failed));
        assert!(span.notes.is_empty(), "no CPU times are missed where nothing was measured");
    }
}

#[test]
fn only_what_ended_early_is_partial() {
    let failed = || Outcome::Failed { errors: vec!["broken".to_owned()] };
    for (outcome, elapsed_ns, expected) in [
        (Outcome::Completed, 2 * SECOND_NS, false),
        (Outcome::Stopped, SECOND_NS, true),
        (failed(), SECOND_NS, true),
        (failed(), 2 * SECOND_NS, false),
    ] {
        let mut case = two_threads();
        case.record.outcome = outcome;
        case.record.elapsed_ns = elapsed_ns;
        assert_eq!(measure(case).is_partial, expected);
    }
}

#[test]
fn totals_sum_what_was_measured() {
    let mut stopped = two_threads();
    stopped.record.elapsed_ns = 500_000_000;
    let mut not_run = two_threads();
    not_run.record = TimeSpanRecord::default();
    let totals = run(vec![two_threads(), stopped, not_run]).totals.expect("there are several timespans");
    assert_eq!(totals.elapsed_ns, 3 * SECOND_NS);
    assert_eq!((totals.figures.read.ios, totals.figures.write.ios, totals.figures.total.ios), (800, 100, 900));
    assert_eq!(totals.figures.total.iops, 300.0);
    assert_eq!(totals.figures.total.bytes, 900 * 4096);
}

#[test]
fn totals_of_nothing_are_zero_not_a_division_by_zero() {
    let not_run = || Case { record: TimeSpanRecord::default(), ..two_threads() };
    let totals = run(vec![not_run(), not_run()]).totals.expect("there are several timespans");
    assert_eq!(totals.elapsed_ns, 0);
    assert_eq!((totals.figures.total.iops, totals.figures.total.bytes_per_s), (0.0, 0.0));
}

#[test]
fn a_record_that_ends_early_leaves_timespans_not_run() {
    let profile = Profile { time_spans: vec![two_threads().span, two_threads().span], ..Profile::default() };
    let (system, plan, record) = (SystemFacts::default(), Plan::default(), Record::default());
    let context = RunContext::default();
    let result = summarise(Input { context, profile: &profile, system: &system, plan: Some(&plan), record: &record });
    assert_eq!(result.time_spans.len(), 2);
    assert!(result.time_spans.iter().all(|span| span.measured.is_none()));
}

#[test]
fn submissions_are_always_counted_and_waits_where_asked_for() {
    assert_eq!(measure(two_threads()).waits, []);

    let mut case = two_threads();
    case.record.threads[1].throttled = true;
    case.record.threads[1].waits = WaitCounts { wait: 3, ..WaitCounts::default() };
    let result = run_on(vec![case], &SystemFacts::default(), true);
    let measured = result.time_spans[0].measured.as_ref().expect("it was measured");
    let submissions = measured.submissions.as_ref().expect("they are counted");
    assert_eq!(submissions.threads, [0, 1].map(|thread| ThreadSubmissions { thread, count: 25, per_s: 10.0 }));
    assert_eq!(submissions.total_per_s, 20.0);
    assert_eq!((measured.waits[1].throttled, measured.waits[1].counts.wait), (true, 3));
}

#[test]
fn pools_tell_their_threads_and_requests() {
    let mut case = two_threads();
    case.span.thread_count = 5;
    assert_eq!(measure(case).request_count, None);
    let mut case = two_threads();
    case.span.thread_count = 5;
    case.span.request_count = 16;
    let measured = measure(case);
    assert_eq!((measured.thread_count, measured.request_count), (5, Some(16)));
}

#[test]
fn placement_and_mixed_cores() {
    let class = |id: u32| u32::from(id < 2);
    let cpus = (0..4).map(|id| Cpu { id, core: id, socket: 0, node: 0, class: class(id), allowed: true }).collect();
    let topology = Topology { cpus, possible_cpus: 4, caches: Vec::new() };
    let system = SystemFacts { topology, ..SystemFacts::default() };
    let mut case = two_threads();
    case.plan.effective_affinity = Some(compact([(0, 0), (0, 2)]));
    let result = run_on(vec![case], &system, false);
    let measured = result.time_spans[0].measured.as_ref().expect("it was measured");
    assert_eq!(measured.effective_affinity, Some(compact([(0, 0), (0, 2)])));
    assert_eq!(measured.mixed_cores.as_ref().expect("both kinds").efficiency, compact([(0, 2)]));
    let result = run_on(vec![two_threads()], &system, false);
    assert_eq!(result.time_spans[0].measured.as_ref().expect("it was measured").mixed_cores, None, "-n");
}

#[test]
fn cpu_columns_and_notes() {
    let mut case = two_threads();
    case.record.cpus[0].steal = 4;
    let span = run(vec![case]).time_spans.remove(0);
    assert_eq!(span.notes, [Note::CpuStolen { percent_hundredths: 5000 }]);
    assert_eq!(span.measured.expect("it was measured").cpu_average.usage_percent, 50.0);

    let mut case = two_threads();
    case.record.cpus.clear();
    let span = run(vec![case]).time_spans.remove(0);
    assert!(matches!(span.notes[..], [Note::CpuTimesUnknown { .. }]));
}

#[test]
fn distributions_are_grouped_by_list_and_path() {
    let list = |io_percent| {
        let range = EffectiveRange { io_start: 0, io_percent, start_bytes: 0, length_bytes: 4096 };
        Some(EffectiveDistribution { io_span: io_percent, ranges: vec![range] })
    };
    let with = |target, io_percent| WorkerTarget { effective_distribution: list(io_percent), ..served(target) };
    let mut case = two_threads();
    // "a-x" precedes "a/x" by bytes and follows it by path components.
    case.plan.targets = ["b", "a/x", "a-x"].map(target_plan).to_vec();
    case.plan.workers = vec![
        worker(0, vec![with(0, 100), with(1, 10), with(2, 10)]),
        worker(1, vec![with(0, 100), with(1, 10), served(2)]),
        worker(2, vec![with(0, 10)]),
    ];
    let distributions = measure(case).distributions;
    let shown: Vec<_> = distributions.iter().map(|list| (list.distribution.io_span, list.users.clone())).collect();
    let users = |list: &[(&str, &[u32])]| {
        let user =
            |&(path, threads): &(&str, &[u32])| DistributionUser { path: path.into(), threads: threads.to_vec() };
        list.iter().map(user).collect::<Vec<_>>()
    };
    assert_eq!(shown, [(10, users(&[("a-x", &[0]), ("a/x", &[0, 1]), ("b", &[2])])), (100, users(&[("b", &[0, 1])]))]);
}

#[test]
fn a_million_million_ios_of_nine_tebibytes() {
    let mut case = two_threads();
    let count = 1_000_000_000_000;
    case.record.elapsed_ns = 1_000_000 * SECOND_NS;
    case.record.rows =
        vec![row(0, 0, ios(count, 1_000_000), ios(count, 3_000_000)), row(1, 1, ios(count, 1_000_000), ios(0, 0))];
    let measured = measure(case);
    assert_eq!(measured.total.total.ios, 3 * count);
    assert_eq!(measured.total.total.bytes, 3 * count * 4096);
    assert_eq!(measured.total.total.iops, 3e6);
    let latency = measured.total.total.latency.expect("there were I/Os");
    assert!((latency.mean_ns - 5e6 / 3.0).abs() < 1.0);
    let total = measured.total_latency.expect("-L was given").total.expect("there were I/Os");
    assert_eq!(total.count, 3 * count);
    let at = |rank_ppb| total.percentiles.iter().find(|p| p.rank_ppb == rank_ppb).expect("one of the 108").value_ns;
    // Two thirds of the samples took 1 ms: the 66th percentile still does, the 67th does not.
    assert!(at(660_000_000).abs_diff(1_000_000) <= 1000);
    assert_eq!(at(670_000_000), 3_000_000);
}

#[test]
fn a_closed_loop_has_the_depth_of_all_its_threads() {
    let mut case = two_threads();
    case.plan.workers[0].slots = 7;
    // One after the other, however many requests there are.
    case.plan.workers[1].slots = 9;
    case.plan.workers[1].engine.kind = EngineKind::Synchronous;
    assert_eq!(measure(case).load_loop, Some(LoadLoop::Closed { depth: 8 }));
}

/// Two threads of an open loop: the second could not keep up.
fn open_loop() -> Case {
    let mut case = two_threads();
    case.span.rate_iops = Some(180.into());
    case.span.rate_process = Some(RateProcess::Poisson);
    let response = |count, ns| {
        let DirectionRecord { tally, buckets, .. } = ios(count, ns);
        TimesRecord { tally, buckets }
    };
    case.record.rows[0].open_loop = Some(OpenLoopRecord {
        read: response(100, 1500),
        write: response(50, 2000),
        lateness: ios(150, 500).tally,
        ..OpenLoopRecord::default()
    });
    case.record.rows[1].open_loop = Some(OpenLoopRecord {
        read: response(300, 9000),
        lateness: ios(250, 4000).tally,
        delayed_by_depth: 200,
        backlog: 50,
        ..OpenLoopRecord::default()
    });
    case
}

#[test]
fn an_open_loop_tells_what_became_of_its_intended_starts() {
    let mut result = run(vec![open_loop()]);
    let span_result = result.time_spans.remove(0);
    let measured = span_result.measured.expect("it was measured");
    let Some(LoadLoop::Open(open)) = measured.load_loop else { panic!("a closed loop") };
    assert_eq!((open.depth, open.rate_iops, open.process), (2, 180.into(), RateProcess::Poisson));
    assert_eq!((open.intended_starts, open.backlog, open.delayed_by_depth), (450, 50, 200));
    assert_eq!((open.lateness_mean_ns, open.lateness_max_ns), ((150.0 * 500.0 + 250.0 * 4000.0) / 400.0, 4000));
    let count_and_mean =
        |response: Option<LatencyDistribution>| response.map(|known| (known.count, known.figures.mean_ns));
    assert_eq!(count_and_mean(open.response_time.read), Some((400, 7125.0)));
    assert_eq!(count_and_mean(open.response_time.write), Some((50, 2000.0)));
    assert_eq!(count_and_mean(open.response_time.total).map(|(count, _)| count), Some(450));
    assert_eq!(measured.total.read.latency.expect("there were reads").mean_ns, 4000.0, "service time stays");
    let delayed = Note::StartsDelayedByDepth { delayed: 200, started: 400, depth: 2 };
    assert_eq!(span_result.notes, [delayed, Note::StartsNotMade { backlog: 50, intended: 450 }]);
}

#[test]
fn an_open_loop_on_time_needs_no_note() {
    let mut case = open_loop();
    case.record.rows.truncate(1);
    assert_eq!(run(vec![case]).time_spans[0].notes, []);
}
