//! How full the loop keeps the queue of a device.

use super::pacing::{S, US, paced};
use super::simulated::{Law, Service, SimulatedEngine};
use super::{StepClock, context};
use crate::phase::Phases;
use crate::setup;
use crate::spread::Spread;
use crate::worker::Turn;
use engine::null::NullEngine;
use model::plan::Pace;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a look at the clock takes: less than an I/O.
const STEP_NS: u64 = 200;

/// The mean depth at a device over 50 ms, with I/Os handed over as `spread` says.
fn mean_depth(slots: u32, service: Service, spread: Spread) -> f64 {
    let context = context(paced(Pace::Unlimited, slots, S / 20));
    let clock = StepClock { now_ns: AtomicU64::new(0), step_ns: STEP_NS };
    let plan = &context.plan.workers[0];
    let (regions, layout) = setup::lay_out(&context, plan).expect("a few KiB of buffers").split();
    let engine = SimulatedEngine::new(&clock, service, NullEngine::new(plan.slots, regions));
    let mut worker = setup::assemble(&context, plan, &layout, engine, &clock);
    worker.spread = spread;
    worker.start(Phases::new(&context.plan, 0));
    while worker.turn().expect("nothing fails here") == Turn::GoOn {}
    let depth = worker.engine.mean_depth(clock.now_ns.load(Relaxed));
    worker.drain();
    depth
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
                let depth = mean_depth(slots, device(servers, law), part);
                assert!(depth >= 0.9 * f64::from(slots), "{depth} of {slots}, {servers} servers, {law:?}");
                // All at once makes a convoy, which the same device shows.
                let convoy = mean_depth(slots, device(servers, law), all);
                assert!(convoy < 0.8 * f64::from(slots), "{convoy} of {slots}, {servers} servers, {law:?}");
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
    while worker.turn().expect("nothing fails here") == Turn::GoOn {
        turns += 1;
    }
    assert_eq!(context.recorder.completed.get(), turns * u64::from(slots));
}
