//! From a worker's plan to a worker: bound to its CPU, its targets open, its buffers filled.
//!
//! Everything a worker will need is made here, before the start signal; the loop makes nothing.

use crate::phase::{Phases, Stop};
use crate::prepare::Ready;
use crate::recorder::Recorder;
use crate::work::{self, Assigner, Buffers, Source};
use crate::worker::{Interval, Slot, Worker};
use engine::buffers::Region;
use engine::target::{self, Opened};
use engine::{DoneBatch, Engine};
use hot::clock::Clock;
use hot::fill;
use hot::rng::Rng;
use model::plan::{Content, Expected, TimeSpanPlan, WorkerPlan, WorkerTarget};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use sys::mapping::Mapping;

/// What a worker needs from outside.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) plan: Arc<TimeSpanPlan>,
    pub(crate) ready: Arc<Ready>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) stop: Arc<Stop>,
}

/// The targets of a worker, open, in the order of its plan.
pub(crate) fn open_targets(context: &Context, worker: &WorkerPlan) -> Result<Vec<OwnedFd>, String> {
    worker.targets.iter().map(|target| open_target(context, target.target)).collect()
}

fn open_target(context: &Context, index: usize) -> Result<OwnedFd, String> {
    let plan = &context.plan.targets[index];
    let name = plan.path.display();
    let file = target::open(&plan.path, &plan.open).map_err(|error| format!("cannot open '{name}': {error}"))?;
    let opened = target::identify(&file).map_err(|error| format!("cannot look at '{name}': {error}"))?;
    if is_expected(&context.ready, plan.expect, plan.size_bytes, opened) {
        Ok(file)
    } else {
        Err(format!("'{name}' is not what it was when it was checked; nothing was written to it"))
    }
}

fn is_expected(ready: &Ready, expect: Expected, size: u64, opened: Opened) -> bool {
    match (expect, opened) {
        (Expected::Prepared, Opened::File { identity, size_bytes }) => ready.made(identity) && size_bytes == size,
        (Expected::File(wanted), Opened::File { identity, size_bytes }) => identity == wanted && size_bytes == size,
        (Expected::Block { device: wanted }, Opened::Block { device }) => wanted == device,
        (Expected::Character, Opened::Character { .. }) => true,
        _ => false,
    }
}

/// Where the buffers of a worker's targets lie, and the memory itself.
pub(crate) struct Layout {
    pub(crate) regions: Vec<Region>,
    buffers: Vec<Buffers>,
}

/// Maps, touches and fills the buffers of a worker.
pub(crate) fn lay_out(context: &Context, worker: &WorkerPlan) -> Result<Layout, String> {
    let mut layout = Layout { regions: Vec::new(), buffers: Vec::new() };
    for target in &worker.targets {
        let write_source = context.ready.write_source(target.target).filter(|_| target.content == Content::Source);
        let half = target.block_bytes * u64::from(target.slots);
        let reads = if target.write_percent < 100 { half } else { 0 };
        let writes = if target.write_percent > 0 && write_source.is_none() { half } else { 0 };
        let separation = context.plan.buffer_separation_bytes;
        let mut memory = Mapping::new(reads + writes, separation)
            .map_err(|error| format!("cannot get {} bytes of I/O buffers: {error}", reads + writes))?;
        memory.touch();
        if target.content == Content::Ramp {
            memory.fill(0, reads + writes, fill::ramp);
        }
        let region = layout.regions.len() as u32;
        layout.regions.push(Region::Own(memory));
        let source = write_source.map(|(memory, step)| {
            layout.regions.push(Region::Shared(Arc::clone(memory)));
            let pieces = (memory.len() - target.block_bytes) / step + 1;
            Source { region: region + 1, pieces, step }
        });
        layout.buffers.push(Buffers { region, write_half: reads, source });
    }
    Ok(layout)
}

/// The worker itself, over an engine that owns its targets and buffers.
pub(crate) fn assemble<E: Engine, C: Clock>(
    context: &Context,
    plan: &WorkerPlan,
    layout: &[Buffers],
    engine: E,
    clock: C,
) -> Worker<E, C> {
    let mut rng = Rng::stream(plan.seed, plan.stream);
    let assigner = Assigner::new(plan);
    let counters = context.ready.counters();
    let mut slots = vec![Slot::default(); plan.slots as usize].into_boxed_slice();
    let mut next_slot = 0;
    let mut make = |(index, (target, buffers)): (usize, (&WorkerTarget, &Buffers))| {
        let first = if assigner.is_weighted() { u32::MAX } else { next_slot };
        if !assigner.is_weighted() {
            let own = next_slot as usize..(next_slot + target.slots) as usize;
            slots[own].iter_mut().for_each(|slot| slot.work = index as u32);
            next_slot += target.slots;
        }
        work::new(target, index as u32, first, *buffers, counters, &mut rng)
    };
    let work: Box<[_]> = plan.targets.iter().zip(layout).enumerate().map(&mut make).collect();
    Worker {
        engine,
        clock,
        paced: work.iter().any(|work| work.pacer.is_limited()),
        work,
        rng,
        assigner,
        slots,
        recorder: Arc::clone(&context.recorder),
        stop: Arc::clone(&context.stop),
        phases: Phases { start_ns: 0, measure_ns: 0, cool_down_ns: 0, end_ns: 0 },
        done: DoneBatch::new(plan.slots),
        interval: Interval::of_width(context.plan.intervals.map_or(0, |intervals| intervals.width_ns)),
        measuring: false,
        now_ns: 0,
    }
}

impl Layout {
    /// Splits into what the engine takes and what the worker keeps.
    pub(crate) fn split(self) -> (Vec<Region>, Vec<Buffers>) {
        (self.regions, self.buffers)
    }
}
