//! Workers over the null engine on a clock that the test owns: every turn is in its hands.

// Shows faults: The time of day is set

mod course;
mod depth;
mod pacing;
mod read_along;
mod simulated;
mod truth;

use crate::interval_layout::IntervalLayout;
use crate::phase::{Phases, Stop};
use crate::prepare::Ready;
use crate::recorder::Recorder;
use crate::setup::{self, Context};
use crate::skew::SkewTables;
use crate::worker::{Iteration, Sampling, Worker};
use engine::null::NullEngine;
use engine::sync::SyncEngine;
use hot::clock::Clock;
use hot::rng::Rng;
use hot::slots::Slot;
use model::engine_kind::EngineKind;
use model::operation::Operation;
use model::plan::{Area, Assignment, EnginePlan, Intervals, Pace, Pattern, TimeSpanPlan, WorkerPlan, WorkerTarget};
use model::profile::Skew;
use model::record::RowRecord;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const BLOCK: u64 = 4096;

/// Each look takes `step_ns`.
struct StepClock {
    now_ns: AtomicU64,
    step_ns: u64,
}

impl Clock for &StepClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.fetch_add(self.step_ns, Relaxed)
    }
}

pub(crate) fn target(index: usize, slots: u32) -> WorkerTarget {
    let area = Area { base_bytes: 0, size_bytes: BLOCK * 1000, alignment_bytes: BLOCK, positions: 1000 };
    WorkerTarget {
        target: index,
        slots,
        block_bytes: BLOCK,
        pattern: Pattern::Random { area, ranges: Vec::new(), skew: None },
        write_percent: 30,
        ..WorkerTarget::example(area)
    }
}

pub(crate) fn plan_of(targets: Vec<WorkerTarget>, assignment: Assignment, slots: u32) -> TimeSpanPlan {
    let worker = WorkerPlan {
        thread: 0,
        cpu: None,
        engine: EnginePlan { kind: EngineKind::Null, reason: "a test".into(), ring: None, completions_max: None },
        targets,
        assignment,
        slots,
        seed: 1,
        stream: 0,
        randomize_writes: false,
    };
    TimeSpanPlan {
        warm_up_ns: 1_000_000,
        duration_ns: 10_000_000,
        cool_down_ns: 1_000_000,
        measure_latency: true,
        intervals: Some(Intervals { width_ns: 1_000_000, count: 10 }),
        workers: vec![worker],
        ..TimeSpanPlan::default()
    }
}

fn context(plan: TimeSpanPlan) -> Context {
    let (layout, tables) = (Arc::new(IntervalLayout::new(&plan)), SkewTables::new(&plan));
    let recorder = Arc::new(Recorder::new(&plan, &plan.workers[0], &layout, &tables));
    let targets = plan.workers[0].targets.iter().map(|target| target.target + 1).max().unwrap_or(0);
    let rng = Rng::stream(plan.workers[0].seed, plan.workers[0].stream);
    Context {
        plan: Arc::new(plan),
        ready: Arc::new(Ready::untouched(targets)),
        recorder,
        stop: Arc::new(Stop::default()),
        rng,
        budget: None,
        feed: None,
        verification: None,
        tracer: None,
    }
}

fn worker<'a>(context: &Context, clock: &'a StepClock) -> Worker<NullEngine, &'a StepClock> {
    let plan = &context.plan.workers[0];
    let (regions, layout) = setup::lay_out(context, plan).expect("a few KiB of buffers").split();
    let mut worker = setup::assemble(context, plan, &layout, NullEngine::new(plan.slots, regions), clock);
    // One look at the clock per turn.
    worker.sampling = Sampling::new(false);
    worker.start(Phases::new(&context.plan, 0));
    worker
}

fn run_to_the_end(context: &Context, step_ns: u64) -> (Vec<RowRecord>, u64) {
    let clock = StepClock { now_ns: AtomicU64::new(0), step_ns };
    let mut worker = worker(context, &clock);
    let mut turns = 0;
    while worker.iterate().expect("nothing fails here") == Iteration::GoOn {
        turns += 1;
    }
    assert_eq!(worker.drain(), 0);
    (context.recorder.row_records(), turns)
}

#[test]
fn skewed_draws_are_counted_while_measuring_only() {
    let mut skewed = target(0, 8);
    let Pattern::Random { skew, .. } = &mut skewed.pattern else { panic!("not random") };
    *skew = Skew::parse("zipf:1.2,contiguous").ok();
    let context = context(plan_of(vec![skewed], Assignment::Fixed, 8));
    let (rows, _) = run_to_the_end(&context, 100);
    let [row] = rows.as_slice() else { panic!("one thread, one target") };
    // 1,000 positions have a stratum each; what was in flight at both ends is the same number.
    assert_eq!(row.skew_draws.len(), 1000);
    let drawn: u64 = row.skew_draws.iter().sum();
    assert_eq!(drawn, row.read.tally.count + row.write.tally.count);
    assert!(row.skew_draws[0] > 2 * row.skew_draws[1]);
    let share = row.skew_draws[0] as f64 / drawn as f64;
    let law = hot::skew::Law::Zipf { exponent: 1.2 }.share_of_hottest(1, 1000);
    assert!((share - law).abs() < 0.005, "{share} {law}");
}

// Shows switches: -W<seconds>
#[test]
fn only_what_completes_inside_the_measurement_is_counted() {
    let context = context(plan_of(vec![target(0, 8)], Assignment::Fixed, 8));
    let (rows, turns) = run_to_the_end(&context, 100);
    // One look at the clock per turn, eight I/Os per turn; 12 ms in all, 10 of them measured.
    assert_eq!(turns, 120_000);
    let row = &rows[0];
    let ios = row.read.tally.count + row.write.tally.count;
    assert_eq!(ios, 8 * 100_000);
    assert_eq!(row.read.bytes, row.read.tally.count * BLOCK);
    assert_eq!(row.intervals.len(), 10);
    for interval in &row.intervals {
        assert_eq!(interval.read.count + interval.write.count, 80_000, "interval {}", interval.index);
    }
    let bucketed: u64 = [&row.read, &row.write].iter().flat_map(|d| &d.buckets).map(|&(_, count)| count).sum();
    assert_eq!(bucketed, ios);
    assert_eq!((row.read.tally.min_ns, row.read.tally.max_ns), (100, 100));
    let share = row.write.tally.count as f64 / ios as f64;
    assert!((share - 0.30).abs() < 0.005, "{share}");
    assert_eq!(context.recorder.thread_record(0).submits, 100_000, "those of the cool-down do not count");
}

/// The I/Os of each interval that synchronous calls on a device which answers at once made.
fn synchronous_ios(context: &Context, step_ns: u64) -> Vec<u64> {
    let clock = StepClock { now_ns: AtomicU64::new(0), step_ns };
    let plan = &context.plan.workers[0];
    let (regions, layout) = setup::lay_out(context, plan).expect("a few KiB of buffers").split();
    let zero = File::options().read(true).write(true).open("/dev/zero").expect("every machine has it");
    let engine = SyncEngine::new(&clock, plan.slots, vec![zero.into()], regions);
    let mut worker = setup::assemble(context, plan, &layout, engine, &clock);
    worker.start(Phases::new(&context.plan, 0));
    while worker.iterate().expect("nothing fails here") == Iteration::GoOn {}
    let row = &context.recorder.row_records()[0];
    let intervals: Vec<u64> = row.intervals.iter().map(|one| one.read.count + one.write.count).collect();
    assert_eq!(row.read.tally.count + row.write.tally.count, intervals.iter().sum::<u64>());
    assert_eq!(row.read.tally.max_ns.max(row.write.tally.max_ns), step_ns);
    intervals
}

#[test]
fn operations_with_stamps_of_their_own_count_where_these_say() {
    let context = context(plan_of(vec![target(0, 8)], Assignment::Fixed, 8));
    // One ends each 20 µs; the measurement begins with the second of a batch of eight.
    assert_eq!(synchronous_ios(&context, 10_000), [50; 10]);
}

#[test]
fn ios_in_a_row_count_where_their_stamps_say_and_end_with_the_run() {
    // One ends each 200 ns or 2 µs: a row ends by its number of I/Os, or by its time.
    for (step_ns, each) in [(100, 5000), (1000, 500)] {
        for write_percent in [0, 100] {
            let alike = WorkerTarget { write_percent, ..target(0, 1) };
            let whole = context(plan_of(vec![alike.clone()], Assignment::Fixed, 1));
            assert_eq!(synchronous_ios(&whole, step_ns), [each; 10]);
            let record = whole.recorder.thread_record(0);
            assert_eq!(record.submits, each * 10);
            assert!(record.waits.wait_completions[1] >= each * 10, "{:?}", record.waits);
            let stopped = context(plan_of(vec![alike], Assignment::Fixed, 1));
            stopped.stop.request(4_000_000);
            assert_eq!(synchronous_ios(&stopped, step_ns), [each; 3]);
        }
    }
}

#[test]
fn short_transfers_of_the_warm_up_are_forgotten() {
    let context = context(plan_of(vec![target(0, 1)], Assignment::Fixed, 1));
    let row = &context.recorder.rows[0];
    let slot = |operation| Slot { operation, ..Slot::default() };
    row.record_short(&slot(Operation::Read), 4096, 4000);
    assert_eq!(row.short_transfers(), 1);
    context.recorder.start_measuring(0);
    assert_eq!(row.short_transfers(), 0);
    row.record_short(&slot(Operation::Write), 4096, 4000);
    assert_eq!(row.short_transfers(), 1);
}

#[test]
fn totals_of_the_measurement_hold_no_warm_up() {
    let context = context(plan_of(vec![target(0, 1)], Assignment::Fixed, 1));
    let clock = StepClock { now_ns: AtomicU64::new(0), step_ns: 100_000 };
    let mut worker = worker(&context, &clock);
    while clock.now_ns.load(Relaxed) < 1_000_000 {
        assert_eq!(worker.iterate(), Ok(Iteration::GoOn));
    }
    assert_eq!(context.recorder.totals(true), (0, 0, 0));
    assert_eq!(context.recorder.totals(false).0, 9);
    assert_eq!(worker.iterate(), Ok(Iteration::GoOn));
    assert_eq!(context.recorder.totals(true), (1, BLOCK, 100_000));
}

#[test]
fn a_stop_ends_the_measurement_at_once() {
    let context = context(plan_of(vec![target(0, 1)], Assignment::Fixed, 1));
    context.stop.request(4_000_000);
    let (rows, _) = run_to_the_end(&context, 1000);
    let ios = rows[0].read.tally.count + rows[0].write.tally.count;
    assert_eq!(ios, 3000);
}

#[test]
fn a_stop_during_the_warm_up_leaves_nothing() {
    let context = context(plan_of(vec![target(0, 1)], Assignment::Fixed, 1));
    context.stop.request(500_000);
    let (rows, turns) = run_to_the_end(&context, 1000);
    assert!(turns > 0);
    assert_eq!(rows[0].read.tally.count + rows[0].write.tally.count, 0);
}

#[test]
fn requests_without_a_target_follow_the_weights() {
    let (mut light, mut heavy) = (target(0, 16), target(1, 16));
    (light.weight, heavy.weight) = (10, 30);
    let context = context(plan_of(vec![light, heavy], Assignment::Weighted, 16));
    let (rows, _) = run_to_the_end(&context, 1000);
    let counts: Vec<u64> = rows.iter().map(|row| row.read.tally.count + row.write.tally.count).collect();
    let share = counts[1] as f64 / (counts[0] + counts[1]) as f64;
    assert!((share - 0.75).abs() < 0.01, "{counts:?}");
}

#[test]
fn requests_with_a_target_stay_with_it() {
    let context = context(plan_of(vec![target(0, 1), target(1, 3)], Assignment::Fixed, 4));
    let (rows, _) = run_to_the_end(&context, 1000);
    let counts: Vec<u64> = rows.iter().map(|row| row.read.tally.count + row.write.tally.count).collect();
    assert_eq!(counts, [10_000, 30_000]);
}

#[test]
fn a_paced_target_keeps_its_rate_beside_an_unpaced_one() {
    let mut paced = target(0, 4);
    paced.pace = Pace::Throughput { interval_numerator: 100_000, interval_denominator: 3 };
    let context = context(plan_of(vec![paced, target(1, 1)], Assignment::Fixed, 5));
    let (rows, _) = run_to_the_end(&context, 500);
    let counts: Vec<u64> = rows.iter().map(|row| row.read.tally.count + row.write.tally.count).collect();
    assert!(counts[0].abs_diff(300) <= 1, "{counts:?}");
    assert!(counts[1] > 1000, "{counts:?}");
}

#[test]
fn nothing_is_allocated_in_a_million_operations() {
    for assignment in [Assignment::Fixed, Assignment::Weighted] {
        let mut paced = target(1, 32);
        paced.pace = Pace::Throughput { interval_numerator: 1000, interval_denominator: 1 };
        let mut plan = plan_of(vec![target(0, 32), paced], assignment.clone(), 64);
        if assignment == Assignment::Weighted {
            plan.workers[0].slots = 32;
        }
        plan.duration_ns = u64::MAX / 2;
        plan.intervals = Some(Intervals { width_ns: 1_000_000, count: 100_000 });
        let context = context(plan);
        let clock = StepClock { now_ns: AtomicU64::new(0), step_ns: 1000 };
        let mut worker = worker(&context, &clock);
        let allocations = allocation_counter::measure(|| {
            while context.recorder.completed.get() < 1_000_000 {
                worker.iterate().expect("nothing fails here");
            }
        });
        assert_eq!(allocations.count_total, 0, "{assignment:?}");
    }
}

// Shows faults: The clock of the latencies stops or is slow
#[test]
fn a_clock_that_stands_still_does_not_keep_a_worker() {
    let context = context(plan_of(vec![target(0, 4)], Assignment::Fixed, 4));
    let clock = StepClock { now_ns: AtomicU64::new(2_000_000), step_ns: 0 };
    let mut worker = worker(&context, &clock);
    for _ in 0..1000 {
        assert_eq!(worker.iterate(), Ok(Iteration::GoOn));
    }
    context.stop.end();
    assert_eq!(worker.iterate(), Ok(Iteration::Over));
    let row = &context.recorder.row_records()[0];
    // What was measured by then stays: the end is no stop.
    assert_eq!(row.read.tally.count + row.write.tally.count, 4000);
}

// Shows faults: The clock of the latencies jumps ahead
#[test]
fn a_clock_that_jumps_ahead_ends_the_run_and_counts_nothing_behind_the_end() {
    let context = context(plan_of(vec![target(0, 1)], Assignment::Fixed, 1));
    let clock = StepClock { now_ns: AtomicU64::new(0), step_ns: 1000 };
    let mut worker = worker(&context, &clock);
    // The warm-up up to its last but one microsecond, and then 3 ms of the measurement.
    for _ in 0..999 + 3000 {
        assert_eq!(worker.iterate(), Ok(Iteration::GoOn));
    }
    clock.now_ns.fetch_add(3_600_000_000_000, Relaxed);
    // The one in flight comes back behind the end.
    while worker.iterate() == Ok(Iteration::GoOn) {}
    let row = &context.recorder.row_records()[0];
    let (read, write) = (row.read.tally, row.write.tally);
    assert_eq!(read.count + write.count, 3000);
    assert_eq!(read.max_ns.max(write.max_ns), 1000, "a jump in a latency");
    assert!(row.intervals.iter().all(|interval| interval.index < 4));
}

// Shows faults: The clock of the latencies goes backwards
#[test]
fn a_clock_that_goes_backwards_makes_no_latency_negative() {
    let context = context(plan_of(vec![target(0, 1)], Assignment::Fixed, 1));
    let clock = StepClock { now_ns: AtomicU64::new(5_000_000), step_ns: 1000 };
    let mut worker = worker(&context, &clock);
    for _ in 0..10 {
        worker.iterate().expect("nothing fails here");
    }
    clock.now_ns.fetch_sub(2_000_000, Relaxed);
    for _ in 0..10 {
        worker.iterate().expect("nothing fails here");
    }
    let row = &context.recorder.row_records()[0];
    let (read, write) = (row.read.tally, row.write.tally);
    assert_eq!(read.count + write.count, 20);
    assert!(read.max_ns.max(write.max_ns) <= 1000, "a step in a latency");
}

#[test]
fn one_turn_in_64_is_timed_from_its_submission_too() {
    let context = context(plan_of(vec![target(0, 8)], Assignment::Fixed, 8));
    let clock = StepClock { now_ns: AtomicU64::new(0), step_ns: 100 };
    let mut worker = worker(&context, &clock);
    worker.sampling = Sampling::new(true);
    while worker.iterate().expect("nothing fails here") == Iteration::GoOn {}
    let rows = context.recorder.row_records();
    let samples = context.recorder.thread_record(0).stamp_samples.expect("latencies are recorded in a closed loop");
    let (wait, submission) = (samples.wait.tally, samples.submission.tally);
    let measured = rows[0].read.tally.count + rows[0].write.tally.count;
    assert!(wait.count.abs_diff(measured / 64) <= 16, "{} of {measured}", wait.count);
    // Each look at the clock takes 100 ns: the stamp before the submission is one of them.
    assert_eq!((wait.min_ns, wait.max_ns), (100, 100));
    assert_eq!((submission.count, submission.min_ns, submission.max_ns), (wait.count, 100, 100));
}
