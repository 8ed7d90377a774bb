//! From a worker's plan to a worker: bound to its CPU, its targets open, its buffers filled.
//!
//! Everything a worker will need is made here, before the start signal; the loop makes nothing.

use crate::allowance::{Allowance, Budget};
use crate::interval_cursor::IntervalCursor;
use crate::io_trace::Tracer;
use crate::phase::{Phases, Stop};
use crate::prepare::Ready;
use crate::recorder::Recorder;
use crate::shape::Submission;
use crate::spread::Spread;
use crate::verification::Verification;
use crate::work::{self, Assigner, Buffers, Source};
use crate::worker::{Sampling, Worker};
use engine::Engine;
use engine::buffers::Region;
use engine::mapped::MappedTarget;
use engine::target::{self, Opened};
use hot::clock::Clock;
use hot::fill;
use hot::replay::Feed;
use hot::rng::Rng;
use hot::slots::Slot;
use model::operation::Operation;
use model::plan::{Content, Expected, MappedPlan, TargetPlan, TimeSpanPlan, WorkerPlan, WorkerTarget};
use model::profile::FlushMode;
use model::units::counted;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use sys::file_mapping::{FileMapping, Persist};
use sys::mapping::Mapping;

/// Objects outside of a worker that it needs.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) plan: Arc<TimeSpanPlan>,
    pub(crate) ready: Arc<Ready>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) stop: Arc<Stop>,
    /// Where the thread's random numbers begin.
    pub(crate) rng: Rng,
    /// `None` = nothing is limited.
    pub(crate) budget: Option<Arc<Budget>>,
    /// The requests of a trace for the thread; `None` = I/Os are generated.
    pub(crate) feed: Option<Arc<Feed>>,
    /// `--verify`.
    pub(crate) verification: Option<Arc<Verification>>,
    /// `--trace`.
    pub(crate) tracer: Option<Tracer>,
}

/// The targets of a worker, open, in the order of its plan.
pub(crate) fn open_targets(context: &Context, worker: &WorkerPlan) -> Result<Vec<OwnedFd>, String> {
    worker.targets.iter().map(|target| open_target(context, target.target)).collect()
}

fn open_target(context: &Context, index: usize) -> Result<OwnedFd, String> {
    let plan = &context.plan.targets[index];
    let name = plan.path.display();
    let guarded = context.ready.guarded(&plan.expect).filter(|_| plan.open.write);
    if plan.open.write && matches!(plan.expect, Expected::Block { .. }) && guarded.is_none() {
        return Err(format!("'{name}' is no longer reserved for this run; nothing was written to it"));
    }
    let file = target::open(guarded.as_deref().unwrap_or(&plan.path), &plan.open)
        .map_err(|error| format!("cannot open '{name}': {error}"))?;
    let opened = target::identify(&file).map_err(|error| format!("cannot check '{name}': {error}"))?;
    if is_expected(&context.ready, plan, opened) {
        Ok(file)
    } else {
        Err(format!("'{name}' changed after the check; nothing was written to it"))
    }
}

fn is_expected(ready: &Ready, plan: &TargetPlan, opened: Opened) -> bool {
    let size = plan.opened_bytes();
    match (&plan.expect, opened) {
        (Expected::Prepared, Opened::File { identity, size_bytes }) => {
            ready.has_created(identity) && size_bytes == size
        }
        (Expected::File(wanted), Opened::File { identity, size_bytes }) => {
            identity == wanted.identity && size_bytes == size
        }
        (Expected::Block { device: wanted, .. }, Opened::Block { device }) => *wanted == device,
        // Only /dev/null and /dev/zero are written to.
        (Expected::Character, Opened::Character { device }) => {
            !plan.open.write || matches!(sys::file::major_minor(device), (1, 3 | 5))
        }
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
        let reads = if target.does(Operation::Read) { half } else { 0 };
        let writes = if target.does(Operation::Write) && write_source.is_none() { half } else { 0 };
        // Loads that transfer no data have none.
        let mut memory = buffer_memory(context, target, (reads + writes).max(1))?;
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

/// Memory for I/O buffers: huge pages if they were asked for, else pages with their own alignment.
fn buffer_memory(context: &Context, target: &WorkerTarget, bytes: u64) -> Result<Mapping, String> {
    if !target.large_pages {
        return Mapping::new(bytes, context.plan.buffer_separation_bytes)
            .map_err(|error| format!("cannot allocate {bytes} bytes of I/O buffers: {error}"));
    }
    let page = host::huge_page_bytes(&context.ready.root).ok_or("this kernel has no huge pages (-l)")?;
    Mapping::huge(bytes, page).map_err(|error| {
        format!(
            "cannot allocate {} of {page} bytes for the I/O buffers of one target (-l): {error}; reserve \
             more with sysctl vm.nr_hugepages",
            counted(bytes.div_ceil(page), "huge page")
        )
    })
}

/// The mapped targets of a worker, and what is left for the engine below them.
pub(crate) struct MappedParts {
    /// By target; `None` = not mapped.
    pub(crate) targets: Vec<Option<MappedTarget>>,
    /// By region; `None` = the engine's below.
    pub(crate) regions: Vec<Option<Region>>,
    /// The engine's regions; those that are not its own have one byte, to keep the numbers.
    pub(crate) below: Vec<Region>,
}

/// Maps the targets that are to be mapped and takes their buffers from the others.
pub(crate) fn map_targets(
    context: &Context,
    plan: &WorkerPlan,
    files: &[OwnedFd],
    regions: Vec<Region>,
    layout: &[Buffers],
) -> Result<MappedParts, String> {
    let mut parts = MappedParts { targets: Vec::new(), regions: Vec::new(), below: Vec::new() };
    for (target, file) in plan.targets.iter().zip(files) {
        parts.targets.push(target.mapped.map(|mapped| map_target(context, target, mapped, file)).transpose()?);
    }
    let is_mapped = |region: u32| {
        let used = |buffers: &Buffers| buffers.region == region || buffers.source.is_some_and(|s| s.region == region);
        layout.iter().zip(&plan.targets).any(|(buffers, target)| target.mapped.is_some() && used(buffers))
    };
    for (number, region) in regions.into_iter().enumerate() {
        if is_mapped(number as u32) {
            let place = Mapping::new(1, 0).map_err(|error| format!("cannot allocate a page of memory: {error}"))?;
            parts.below.push(Region::Own(place));
            parts.regions.push(Some(region));
        } else {
            parts.below.push(region);
            parts.regions.push(None);
        }
    }
    Ok(parts)
}

fn map_target(
    context: &Context,
    target: &WorkerTarget,
    mapped: MappedPlan,
    file: &OwnedFd,
) -> Result<MappedTarget, String> {
    let plan = &context.plan.targets[target.target];
    let memory = FileMapping::new(file, plan.size_bytes, target.does(Operation::Write))
        .map_err(|error| format!("cannot map '{}': {error}", plan.path.display()))?;
    let persist = mapped.flush.map(|flush| match flush {
        FlushMode::ViewOfFile => Persist::Pages,
        FlushMode::NonVolatileMemory => Persist::Lines,
        FlushMode::NonVolatileMemoryNoDrain => Persist::LinesWithoutWaiting,
    });
    Ok(MappedTarget { memory, non_temporal: mapped.non_temporal, persist })
}

/// The worker itself, over an engine that owns its targets and buffers.
pub(crate) fn assemble<E: Engine, C: Clock>(
    context: &Context,
    plan: &WorkerPlan,
    layout: &[Buffers],
    engine: E,
    clock: C,
) -> Worker<E, C> {
    let mut rng = context.rng.clone();
    let assigner = Assigner::new(plan);
    let counters = context.ready.counters();
    let mut slots = vec![Slot::default(); plan.slots as usize].into_boxed_slice();
    let mut next_slot = 0;
    let mut make = |(index, (target, buffers)): (usize, (&WorkerTarget, &Buffers))| {
        let own = if assigner.is_weighted() { 0..0 } else { next_slot..next_slot + target.slots };
        slots[own.start as usize..own.end as usize].iter_mut().for_each(|slot| slot.work = index as u32);
        next_slot = own.end;
        let skew = context.recorder.rows[index].skew.as_ref().map(|cells| cells.source(plan.seed));
        work::new(target, index as u32, own, *buffers, (counters, skew, context.feed.clone()), &mut rng)
    };
    let work: Box<[_]> = plan.targets.iter().zip(layout).enumerate().map(&mut make).collect();
    let open_loop = plan.targets.iter().any(|target| target.pace.is_open_loop());
    let paced = open_loop || work.iter().any(|work| work.pacer.is_limited());
    let waits_for_trace = plan.targets.iter().any(WorkerTarget::is_recorded);
    let mut worker = Worker {
        engine,
        clock,
        paced,
        stamps_starts: paced || waits_for_trace || plan.engine.ring.is_some_and(|ring| ring.submission_polling),
        waits_count: false, // until it starts
        open_loop,
        submission: Submission::new(plan, context.plan.measure_latency || context.plan.intervals.is_some()),
        allowance: context.budget.clone().map(Allowance::new),
        spread: Spread::new(plan, paced),
        is_special: true,
        is_traced: true,
        pauses: true,
        completions_max: plan.engine.completions_max.unwrap_or(u32::MAX),
        work,
        rng,
        assigner,
        slots,
        recorder: Arc::clone(&context.recorder),
        stop: Arc::clone(&context.stop),
        phases: Phases { start_ns: 0, measure_ns: 0, cool_down_ns: 0, end_ns: 0 },
        cursor: IntervalCursor::until(u64::MAX),
        sampling: Sampling::new(context.recorder.times_submissions()),
        flusher: None,
        tracer: context.tracer.clone(),
        logs: Box::default(),
        now_ns: 0,
    };
    worker.prepare();
    worker.recorder.touch();
    worker
}

impl Layout {
    /// Splits into what the engine takes and what the worker keeps.
    pub(crate) fn split(self) -> (Vec<Region>, Vec<Buffers>) {
        (self.regions, self.buffers)
    }
}
