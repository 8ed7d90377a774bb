//! How full the loop keeps the queue of a device.

use super::pacing::{S, US, paced};
use super::simulated::{Law, Service, SimulatedEngine};
use super::{StepClock, context};
use crate::phase::Phases;
use crate::setup;
use crate::spread::Spread;
use crate::worker::Iteration;
use engine::null::NullEngine;
use model::plan::Pace;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Duration of a read of the clock: less than an I/O.
const STEP_NS: u64 = 200;

/// How long a device is looked at.
const MEASURED_NS: u64 = S / 20;

/// Mean I/Os outstanding.
struct Depth {
    at_device: f64,
    /// By Little's law: the rate times the mean latency.
    by_latency: f64,
}

/// The depth with I/Os handed over as `spread` says.
fn depth(slots: u32, service: Service, spread: Spread) -> Depth {
    let context = context(paced(Pace::Unlimited, slots, MEASURED_NS));
    let clock = StepClock { now_ns: AtomicU64::new(0), step_ns: STEP_NS };
    let plan = &context.plan.workers[0];
    let (regions, layout) = setup::lay_out(&context, plan).expect("a few KiB of buffers").split();
    let engine = SimulatedEngine::new(&clock, service, NullEngine::new(plan.slots, regions));
    let mut worker = setup::assemble(&context, plan, &layout, engine, &clock);
    worker.spread = spread;
    worker.start(Phases::new(&context.plan, 0));
    while worker.iterate().expect("nothing fails here") == Iteration::GoOn {}
    let at_device = worker.engine.mean_depth(clock.now_ns.load(Relaxed));
    worker.drain();
    let row = context.recorder.row_records().remove(0);
    let latencies_ns = row.read.tally.sum_ns + row.write.tally.sum_ns;
    Depth { at_device, by_latency: latencies_ns as f64 / MEASURED_NS as f64 }
}

fn device(servers: usize, law: Law) -> Service {
    Service { servers: Some(servers), answers_bursts: true, ..Service::parallel(law) }
}

#[test]
fn a_device_that_answers_in_bursts_sees_nine_tenths_of_the_depth() {
    for servers in [1, 4] {
        for slots in [8, 16, 32, 128] {
            for law in [Law::Fixed { ns: 10 * US }, Law::Exponential { mean_ns: 10 * US }] {
                let (all, part) = (Spread::off(), Spread::of_depth(slots));
                let spread = depth(slots, device(servers, law), part).at_device;
                assert!(spread >= 0.9 * f64::from(slots), "{spread} of {slots}, {servers} servers, {law:?}");
                // All at once makes a convoy, which the same device shows.
                let convoy = depth(slots, device(servers, law), all).at_device;
                assert!(convoy < 0.8 * f64::from(slots), "{convoy} of {slots}, {servers} servers, {law:?}");
            }
        }
    }
}

#[test]
fn the_rate_times_the_mean_latency_is_the_depth() {
    for slots in [2, 8, 32, 128] {
        for answers_bursts in [false, true] {
            for spread in [Spread::off(), Spread::of_depth(slots)] {
                let service = Service { answers_bursts, ..device(4, Law::Exponential { mean_ns: 10 * US }) };
                let found = depth(slots, service, spread).by_latency;
                let share = found / f64::from(slots);
                // But for those under way at the start and the end, a thousand times shorter.
                assert!((share - 1.0).abs() < 0.01, "{found} of {slots}, bursts: {answers_bursts}, {spread:?}");
            }
        }
    }
}

#[test]
fn what_completes_inside_the_submission_is_handed_over_at_once() {
    let slots = 32;
    let context = context(paced(Pace::Unlimited, slots, S / 1000));
    let clock = StepClock { now_ns: AtomicU64::new(0), step_ns: STEP_NS };
    let plan = &context.plan.workers[0];
    let (regions, layout) = setup::lay_out(&context, plan).expect("a few KiB of buffers").split();
    let at_once = Service::parallel(Law::Fixed { ns: 0 });
    let engine = SimulatedEngine::new(&clock, at_once, NullEngine::new(slots, regions));
    let mut worker = setup::assemble(&context, plan, &layout, engine, &clock);
    worker.spread = Spread::of_depth(slots);
    worker.start(Phases::new(&context.plan, 0));
    let mut turns = 0;
    while worker.iterate().expect("nothing fails here") == Iteration::GoOn {
        turns += 1;
    }
    assert_eq!(context.recorder.completed.get(), turns * u64::from(slots));
}
