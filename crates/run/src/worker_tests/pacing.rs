//! `-g` and `--rate` on the test's clock: how many I/Os start, when, and what their times hold.

use super::simulated::{Law, Service, SimulatedEngine};
use super::{StepClock, context, plan_of, target};
use crate::phase::Phases;
use crate::setup::{self, Context};
use crate::worker::{Iteration, Worker};
use engine::null::NullEngine;
use model::engine_kind::EngineKind;
use model::plan::{Assignment, Intervals, Pace, RateCurve, RingPlan, TimeSpanPlan};
use model::profile::RateProcess;
use model::record::{OpenLoopRecord, RowRecord};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(super) const US: u64 = 1_000;
pub(super) const MS: u64 = 1_000_000;
pub(super) const S: u64 = 1_000_000_000;

/// A warm-up of 1 ms, `duration_ns`, a cool-down of 1 ms; one target with `slots` requests.
pub(super) fn paced(pace: Pace, slots: u32, duration_ns: u64) -> TimeSpanPlan {
    let mut paced = target(0, slots);
    paced.pace = pace;
    TimeSpanPlan { duration_ns, intervals: None, ..plan_of(vec![paced], Assignment::Fixed, slots) }
}

pub(super) const fn rate(iops: u64) -> Pace {
    Pace::Rate { first_numerator: S, interval_numerator: S, denominator: iops }
}

/// A device that serves everything at once.
pub(super) fn parallel(ns: u64) -> Service {
    Service::parallel(Law::Fixed { ns })
}

/// The row of a run over a device; each look at the clock takes `step_ns`.
pub(super) fn run(context: &Context, service: Service, step_ns: u64) -> RowRecord {
    run_skipping(context, service, step_ns, |_| 0)
}

/// The same; after each turn time goes on to `next_ns`, if that is later.
pub(super) fn run_skipping(
    context: &Context,
    service: Service,
    step_ns: u64,
    next_ns: impl Fn(&Worker<SimulatedEngine<'_>, &StepClock>) -> u64,
) -> RowRecord {
    let clock = StepClock { now_ns: AtomicU64::new(0), step_ns };
    let plan = &context.plan.workers[0];
    let (regions, layout) = setup::lay_out(context, plan).expect("a few KiB of buffers").split();
    let engine = SimulatedEngine::new(&clock, service, NullEngine::new(plan.slots, regions));
    let mut worker = setup::assemble(context, plan, &layout, engine, &clock);
    worker.start(Phases::new(&context.plan, 0));
    while worker.iterate().expect("nothing fails here") == Iteration::GoOn {
        clock.now_ns.fetch_max(next_ns(&worker), Relaxed);
    }
    worker.drain();
    context.recorder.row_records().remove(0)
}

pub(super) fn open_loop(row: &RowRecord) -> &OpenLoopRecord {
    row.open_loop.as_ref().expect("the row is of an open loop")
}

fn intended(open: &OpenLoopRecord) -> u64 {
    open.lateness.count + open.backlog
}

pub(super) fn ios(row: &RowRecord) -> u64 {
    row.read.tally.count + row.write.tally.count
}

#[test]
fn a_limit_is_kept_from_one_io_per_second_to_half_a_million() {
    for iops in [1, 2, 3, 7, 10, 99, 1000, 4096, 33_333, 100_000, 250_000, 499_999, 500_000] {
        let expected = (60 * iops).min(1000);
        let limit = Pace::Throughput { interval_numerator: S, interval_denominator: iops };
        // As long as `expected` I/Os take.
        let context = context(paced(limit, 64, expected * S / iops));
        let service_ns = 20 * US;
        let step_ns = S / iops / 50;
        let row = run(&context, parallel(service_ns), step_ns);
        assert!(ios(&row).abs_diff(expected) <= 1 + expected / 200, "{} of {expected} at {iops}/s", ios(&row));
        // A turn looks at the clock twice. What it slept until a start is in no I/O's time.
        let longest_ns = row.read.tally.max_ns.max(row.write.tally.max_ns);
        assert!(longest_ns <= service_ns + 4 * step_ns, "{longest_ns} at {iops}/s");
        assert_eq!(row.open_loop, None);
    }
}

#[test]
fn every_intended_start_is_made_up_to_four_fifths_of_the_ceiling() {
    for slots in [1, 32] {
        // The null engine's ceiling on this clock: all requests once per turn of two looks.
        let step_ns = 100;
        let ceiling = u64::from(slots) * S / (2 * step_ns);
        for percent in [1, 10, 50, 80] {
            let iops = ceiling * percent / 100;
            for pace in [rate(iops), Pace::Poisson { mean_numerator: S, mean_denominator: iops }] {
                let context = context(paced(pace, slots, 5 * MS));
                let row = run(&context, parallel(0), step_ns);
                let open = open_loop(&row);
                let expected = iops / 200;
                let spread = if pace == rate(iops) { 1 } else { 4 * expected.isqrt() };
                assert!(intended(open).abs_diff(expected) <= spread, "{} of {expected}, {pace:?}", intended(open));
                // Only what was due since the last turn is not made.
                let due_in_a_turn = iops * 2 * step_ns / S;
                let burst = if pace == rate(iops) { 0 } else { 4 + 4 * due_in_a_turn.isqrt() };
                assert!(open.backlog <= 1 + due_in_a_turn + burst, "{open:?}");
                assert!(ios(&row).abs_diff(open.lateness.count) <= u64::from(slots), "{row:?}");
            }
        }
    }
}

#[test]
fn starts_are_on_time_if_the_depth_allows() {
    let context = context(paced(rate(10_000), 32, 100 * MS));
    let row = run(&context, parallel(2 * MS), 1000);
    let open = open_loop(&row);
    assert_eq!((intended(open), open.backlog, open.delayed_by_depth), (1000, 0, 0));
    assert!(open.lateness.max_ns <= 4000, "{}", open.lateness.max_ns);
    // Nothing was waited for, so both times are the same but for that.
    let service = [row.read.tally.max_ns, row.write.tally.max_ns];
    let response = [open.read.tally.max_ns, open.write.tally.max_ns];
    for (service, response) in service.into_iter().zip(response) {
        assert!((service..=service + 4000).contains(&response), "{response} against {service}");
    }
}

#[test]
fn a_stall_is_in_the_response_time_of_all_that_were_meant_to_start_in_it() {
    let context = context(paced(rate(100_000), 4, 100 * MS));
    let stall = Service { stall_ns: 50 * MS..60 * MS, ..parallel(10 * US) };
    let row = run(&context, stall, 200);
    let open = open_loop(&row);
    assert_eq!((intended(open), open.backlog), (10_000, 0));
    // Four were out when it began; the other 996 of the 10 ms were due and had no request. These are
    // served at 400,000 per second, four times as fast as more become due: a third again waits.
    assert!(open.delayed_by_depth.abs_diff(1329) <= 20, "{}", open.delayed_by_depth);
    let buckets = |buckets: &[(u32, u64)]| -> u64 {
        let above_5_ms = hot::buckets::index(5 * MS) as u32;
        buckets.iter().filter(|&&(index, _)| index >= above_5_ms).map(|&(_, count)| count).sum()
    };
    assert_eq!(buckets(&row.read.buckets) + buckets(&row.write.buckets), 4, "service times hide the stall");
    let slow = buckets(&open.read.buckets) + buckets(&open.write.buckets);
    // The one due t after the beginning ends t / 4 after the end: 10 ms - 3/4 t are 5 ms or more for
    // two thirds of the stall.
    assert!(slow.abs_diff(667) <= 20, "{slow} of the 1000 took 5 ms or more");
    assert_eq!(open.read.tally.count + open.write.tally.count, ios(&row));
}

#[test]
fn what_a_device_cannot_keep_up_with_is_the_backlog() {
    // 5,000 per second are served, 10,000 are meant to be.
    let context = context(paced(rate(10_000), 8, S));
    let row = run(&context, Service { servers: Some(1), ..parallel(200 * US) }, 1000);
    let open = open_loop(&row);
    assert_eq!(intended(open), 10_000, "nothing is skipped");
    assert!(ios(&row).abs_diff(5000) <= 10, "{}", ios(&row));
    assert!(open.backlog.abs_diff(5000) <= 20, "{}", open.backlog);
    assert!(open.lateness.count - open.delayed_by_depth <= 20, "{open:?}");
    // The last to complete was meant to start half a second before.
    assert!(open.lateness.max_ns.abs_diff(500 * MS) <= 3 * MS, "{}", open.lateness.max_ns);
    assert!(row.read.tally.max_ns <= 9 * 200 * US, "service time knows nothing of it");
}

#[test]
fn a_stop_ends_what_is_intended() {
    let context = context(paced(rate(10_000), 8, S));
    context.stop.request(101 * MS);
    let open = run(&context, parallel(10 * US), 1000).open_loop.expect("the row is of an open loop");
    assert_eq!((intended(&open), open.backlog), (1000, 0));
}

#[test]
fn batches_keep_the_schedule_too() {
    let mut plan = paced(rate(100_000), 8, 100 * MS);
    plan.workers[0].engine.kind = EngineKind::IoUring;
    plan.workers[0].engine.ring = Some(RingPlan { batch: Some(4), ..RingPlan::default() });
    let row = run(&context(plan), parallel(20 * US), 500);
    let open = open_loop(&row);
    assert_eq!(intended(open), 10_000);
    assert!(open.backlog <= 1, "{}", open.backlog);
}

#[test]
fn random_starts_allocate_nothing() {
    let mut plan = paced(Pace::Poisson { mean_numerator: 500, mean_denominator: 1 }, 8, S);
    plan.duration_ns = u64::MAX / 2;
    let context = context(plan);
    let clock = StepClock { now_ns: AtomicU64::new(0), step_ns: 1000 };
    let mut worker = super::worker(&context, &clock);
    let allocations = allocation_counter::measure(|| {
        while context.recorder.completed.get() < 100_000 {
            worker.iterate().expect("nothing fails here");
        }
    });
    assert_eq!(allocations.count_total, 0);
}

#[test]
fn ios_of_many_turns_are_timed_from_their_submission_too() {
    // One server: each turn brings one completion, and an I/O waits for 128 of them.
    let context = context(plan_of(vec![target(0, 128)], Assignment::Fixed, 128));
    run(&context, Service { servers: Some(1), ..parallel(1000) }, 10);
    let samples = context.recorder.thread_record(0).stamp_samples.expect("latencies are recorded in a closed loop");
    let submission = samples.submission.tally;
    assert!(submission.count > 10 && submission.min_ns > 100_000, "{submission:?}");
}

/// I/Os completed by interval of `width_ns` of a measurement with this pace, over a device that takes no time.
fn completed_by_interval(pace: Pace, duration_ns: u64, width_ns: u64) -> Vec<u64> {
    let mut plan = paced(pace, 64, duration_ns);
    plan.intervals = Some(Intervals { width_ns, count: duration_ns / width_ns });
    let row = run(&context(plan), parallel(0), 500);
    let open = open_loop(&row);
    // One may be due in the last turn.
    assert!(open.delayed_by_depth == 0 && open.backlog <= 1, "{open:?}");
    let mut counts = vec![0; (duration_ns / width_ns) as usize];
    for interval in &row.intervals {
        counts[interval.index as usize] = interval.read.count + interval.write.count;
    }
    counts
}

#[test]
fn a_ramp_starts_as_many_ios_in_each_interval_as_its_rate_means() {
    // The warm-up of `paced` takes 1 ms.
    let (from_iops, to_iops) = (10_000, 90_000);
    for (from_iops, to_iops) in [(from_iops, to_iops), (to_iops, from_iops)] {
        let curve = RateCurve::Ramp { from_iops, to_iops, before_ns: MS, over_ns: 200 * MS };
        let pace = Pace::Varying { curve, first: 1, every: 1, is_poisson: false };
        let counts = completed_by_interval(pace, 200 * MS, 10 * MS);
        for (index, count) in counts.iter().enumerate() {
            let middle = (index as f64 + 0.5) / 20.0;
            let expected = (f64::from(from_iops) + middle * (f64::from(to_iops) - f64::from(from_iops))) * 0.01;
            // One more or less at each end.
            assert!((*count as f64 - expected).abs() <= 2.0, "interval {index}: {count} for {expected}");
        }
        assert!(counts.iter().sum::<u64>().abs_diff(10_000) <= 2, "{counts:?}");
    }
}

#[test]
fn bursts_start_as_many_ios_as_their_rate_means_and_keep_the_mean() {
    let Ok(RateProcess::Bursts(bursts)) = RateProcess::parse("bursts:10ms,30ms,3") else {
        panic!("these are possible")
    };
    let curve = RateCurve::Bursts { iops: 20_000, bursts, before_ns: MS };
    let counts =
        completed_by_interval(Pace::Varying { curve, first: 1, every: 1, is_poisson: false }, 200 * MS, 10 * MS);
    for (index, count) in counts.iter().enumerate() {
        // 60,000 per second in a burst; the other 200 of 800 I/Os in the 30 ms that follow.
        let expected = if index % 4 == 0 { 600.0 } else { 200.0 / 3.0 };
        assert!((*count as f64 - expected).abs() <= 2.0, "interval {index}: {count} for {expected}");
    }
    assert!(counts.iter().sum::<u64>().abs_diff(4000) <= 2, "{counts:?}");
}

#[test]
fn rows_share_a_ramp() {
    let curve = RateCurve::Ramp { from_iops: 10_000, to_iops: 90_000, before_ns: MS, over_ns: 100 * MS };
    let of_row = |first| {
        let pace = Pace::Varying { curve, first, every: 4, is_poisson: false };
        completed_by_interval(pace, 100 * MS, 10 * MS)
    };
    let rows: Vec<Vec<u64>> = (1..=4).map(of_row).collect();
    for index in 0..10 {
        let sum: u64 = rows.iter().map(|row| row[index]).sum();
        let expected = 100 + 80 * index as u64 + 40;
        assert!(sum.abs_diff(expected) <= 5, "interval {index}: {sum} for {expected}");
    }
}
