//! The work of one thread on one target: its stream, mix, pace, content and free requests.

use crate::allowance::writes_media;
use crate::replaying::Replaying;
use crate::saturation::Saturation;
use engine::{Engine, Op, SlotId};
use hot::clock::Clock;
use hot::fill;
use hot::mix::Mix;
use hot::pace::Pacer;
use hot::rate_curve::Curve;
use hot::reducible::{Reducible, Sample};
use hot::replay::{Feed, Request};
use hot::rng::Rng;
use hot::sizes::{Places, SizeTable, SizedStream, Walk};
use hot::skew::Skewed;
use hot::slots::{FreeSlots, Slot};
use hot::stream::{Grid, OffsetStream, Range};
use hot::weighted::Weighted;
use model::operation::{ByOperation, Operation};
use model::plan::{
    Area, Assignment, Content, Pace, Pattern, SizePlan, SizesPlan, WeightedRange, WorkerPlan, WorkerTarget,
};
use model::profile::{FlushCall, IoPriority};
use model::rw_flags::RwFlags;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use sys::thread::io_priority;

const NS_PER_MS: u64 = 1_000_000;

/// One target of one worker.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) stream: OffsetStream,
    pub(crate) mix: Mix,
    pub(crate) pacer: Pacer,
    pub(crate) saturation: Saturation,
    /// Bytes of an I/O; the most with several sizes.
    pub(crate) block: u32,
    /// Offsets and sizes, drawn in place of offsets from `stream`; `None` = all I/Os have one size.
    pub(crate) sizes: Option<SizedStream>,
    /// The requests of a trace, in place of all that is drawn; `None` = I/Os are generated.
    pub(crate) replaying: Option<Box<Replaying>>,
    /// The engine's number of the open target.
    pub(crate) file: u32,
    /// Its requests are numbered from here: 0 where requests belong to no target.
    pub(crate) first_slot: u32,
    pub(crate) free: FreeSlots,
    /// An I/O takes more than a draw of its offset and operation: a size, a limit, a flush, or what is not prepared.
    pub(crate) is_special: bool,
    /// On the list of targets with free requests.
    pub(crate) is_ready: bool,
    /// Its file is begun anew when it is full.
    pub(crate) rotates: bool,
    /// New content for every write; `None` = it stays.
    pub(crate) refill: Option<Refill>,
    /// Any operation counts as one that writes in [`Allowance`](crate::allowance::Allowance).
    pub(crate) writes_media: bool,
    /// The kernel's I/O priority value of its operations; 0 = that of the thread.
    pub(crate) priority: u16,
    /// Flags of its reads and writes.
    rw_flags: ByOperation<RwFlags>,
    buffers: Buffers,
    /// See [`is_prepared`](Self::is_prepared).
    prepared: ByOperation<bool>,
    /// That is so for all that its requests may do.
    is_all_prepared: bool,
}

/// How the content of a write is made.
#[derive(Debug)]
pub(crate) enum Refill {
    /// Random bytes.
    Random,
    /// Data that reduces, and a sample of it.
    Reducible(Box<Reducible>, Box<Sample>),
}

/// Where a target's buffers lie: one region, read half first, then one write block per request
/// unless writes come from a shared source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    /// The engine's number of the region.
    pub(crate) region: u32,
    /// Offset of the write half.
    pub(crate) write_half: u64,
    pub(crate) source: Option<Source>,
}

/// A `-Z<size>` source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// The engine's number of the region.
    pub(crate) region: u32,
    /// Number of pieces that a write can start at.
    pub(crate) pieces: u64,
    /// Distance between them.
    pub(crate) step: u64,
}

impl Work {
    /// How much the operation of a request transfers that began last, unless it is one of a trace.
    #[inline]
    pub(crate) fn length(&self, slot: &Slot) -> u32 {
        self.sizes.as_ref().map_or(self.block, |sizes| sizes.bytes(slot.size))
    }

    /// The same, of any request.
    pub(crate) fn length_of_any(&self, id: SlotId, slot: &Slot) -> u32 {
        match &self.replaying {
            Some(replaying) => replaying.length(id - self.first_slot),
            None => self.length(slot),
        }
    }

    /// The call, if the operation of a request is a flush, of a trace.
    #[inline]
    pub(crate) fn flush_call(&self, id: SlotId) -> Option<FlushCall> {
        self.replaying.as_ref()?.flush_call(id - self.first_slot)
    }

    /// Hands a request of a trace to the engine, with its content; gives when that was made, if it was.
    pub(crate) fn stage_recorded<E: Engine, C: Clock>(
        &mut self,
        engine: &mut E,
        clock: &C,
        rng: &mut Rng,
        id: SlotId,
        request: &Request,
    ) -> Option<u64> {
        let Request { offset, length, action, is_durable, .. } = *request;
        let operation = action.operation()?;
        let mut op = Op { offset, length, ..self.op(id - self.first_slot, operation, rng) };
        if is_durable {
            op.rw_flags |= RwFlags::DURABLE;
        }
        let is_filled = operation == Operation::Write && self.fill(engine, rng, &op);
        engine.stage(id, &op);
        // Making the content is not part of the I/O.
        is_filled.then(|| clock.now_ns())
    }

    /// Makes new content for a write; false if it stays.
    pub(crate) fn fill<E: Engine>(&mut self, engine: &mut E, rng: &mut Rng, op: &Op) -> bool {
        match &mut self.refill {
            None => return false,
            Some(Refill::Random) => engine.fill(op, |part, _| fill::random(part, rng)),
            Some(Refill::Reducible(content, sample)) if sample.has_room() => engine.fill(op, |part, _| {
                content.fill(part, rng);
                sample.take(part);
            }),
            Some(Refill::Reducible(content, _)) => engine.fill(op, |part, _| content.fill(part, rng)),
        };
        true
    }

    /// True if its file must be begun anew before the next I/O.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.rotates && !self.sizes.as_ref().map_or_else(|| self.stream.has_room(), SizedStream::has_room)
    }

    /// Its next I/O is at the start of its file.
    pub(crate) fn rewind(&mut self) {
        match &mut self.sizes {
            Some(sizes) => sizes.rewind(),
            None => self.stream.rewind(),
        }
    }

    /// True if the requests' operations of this kind are the same each time but for the offset.
    #[inline]
    pub(crate) fn is_prepared(&self, operation: Operation) -> bool {
        self.prepared[operation]
    }

    /// True if that is so for all that its requests may do.
    #[inline]
    pub(crate) fn is_all_prepared(&self) -> bool {
        self.is_all_prepared
    }

    /// The operation of this kind that a request repeats, at offset 0, if it does.
    pub(crate) fn repeated(&self, request: u32, operation: Operation) -> Option<Op> {
        let placed = if operation == Operation::Write { self.buffers.write_half } else { 0 };
        let at = placed + u64::from(request) * u64::from(self.block);
        self.is_prepared(operation).then(|| self.op_at(operation, (self.buffers.region, at)))
    }

    /// An operation of a request at offset 0.
    pub(crate) fn op(&self, request: u32, operation: Operation, rng: &mut Rng) -> Op {
        self.op_at(operation, self.buffer(request, operation, rng))
    }

    fn op_at(&self, operation: Operation, (region, region_offset): (u32, u64)) -> Op {
        Op {
            operation,
            file: self.file,
            region,
            region_offset,
            offset: 0,
            length: self.block,
            priority: self.priority,
            rw_flags: self.rw_flags[operation],
        }
    }

    /// Where the bytes of an I/O go to or come from: region and offset.
    fn buffer(&self, request: u32, operation: Operation, rng: &mut Rng) -> (u32, u64) {
        let at = u64::from(request) * u64::from(self.block);
        match (operation, self.buffers.source) {
            (Operation::Read | Operation::Discard | Operation::WriteZeroes, _) => (self.buffers.region, at),
            (Operation::Write, None) => (self.buffers.region, self.buffers.write_half + at),
            (Operation::Write, Some(source)) => (source.region, rng.below(source.pieces) * source.step),
        }
    }
}

/// How a free request finds its target.
#[derive(Debug)]
pub(crate) enum Assigner {
    /// Each request has its own; the list holds targets with free requests, each once.
    Fixed { ready: Vec<u32> },
    /// Drawn for each I/O.
    Weighted { free: FreeSlots, table: Weighted },
}

impl Assigner {
    pub(crate) fn new(plan: &WorkerPlan) -> Self {
        let weights: Vec<u64> = plan.targets.iter().map(|target| u64::from(target.weight)).collect();
        match (&plan.assignment, Weighted::new(&weights)) {
            (Assignment::Weighted, Some(table)) => Self::Weighted { free: FreeSlots::new(0, plan.slots), table },
            _ => Self::Fixed { ready: (0..plan.targets.len() as u32).collect() },
        }
    }

    pub(crate) fn is_weighted(&self) -> bool {
        matches!(self, Self::Weighted { .. })
    }
}

/// A target as a worker's plan describes it, ready to run; `own_slots` are the requests that belong
/// to it, none if they belong to no target.
pub(crate) fn new(
    plan: &WorkerTarget,
    file: u32,
    own_slots: std::ops::Range<u32>,
    buffers: Buffers,
    (counters, skew, feed): (&[Arc<AtomicU64>], Option<Skewed>, Option<Arc<Feed>>),
    rng: &mut Rng,
) -> Work {
    let own = !own_slots.is_empty();
    let refill = match plan.content {
        Content::RandomEach => Some(Refill::Random),
        Content::Reducible(reduction) => Some(Refill::Reducible(Box::new(Reducible::new(reduction)), Box::default())),
        Content::Ramp | Content::Zero | Content::Source | Content::Verified => None,
    };
    let prepared = ByOperation::new(|operation| {
        let is_alike = match operation {
            Operation::Read | Operation::WriteZeroes => true,
            Operation::Write => refill.is_none() && buffers.source.is_none(),
            // Engines may have to build it anew each time.
            Operation::Discard => false,
        };
        own && plan.does(operation) && is_alike
    });
    Work {
        stream: stream(plan, counters, skew, rng),
        mix: Mix::new(plan.shares(), rng),
        pacer: pacer(plan, rng),
        saturation: Saturation::default(),
        // The plan refuses blocks above limits::BLOCK_SIZE_BYTES_MAX.
        block: u32::try_from(plan.block_bytes).unwrap_or(u32::MAX),
        sizes: plan.sizes.as_ref().map(|sizes| self::sizes(plan, sizes, counters)),
        replaying: replaying(plan, feed),
        file,
        first_slot: own_slots.start,
        free: FreeSlots::new(own_slots.start, own_slots.end - own_slots.start),
        is_special: true, // until it starts
        is_ready: true,
        rotates: plan.pattern.empties_file().is_some(),
        refill,
        writes_media: Operation::ALL.into_iter().any(|operation| writes_media(operation) && plan.does(operation)),
        priority: priority(plan.priority),
        rw_flags: ByOperation::new(|operation| plan.rw_flags.for_operation(operation)),
        buffers,
        is_all_prepared: Operation::ALL.iter().all(|&operation| prepared[operation] || !plan.does(operation)),
        prepared,
    }
}

fn replaying(plan: &WorkerTarget, feed: Option<Arc<Feed>>) -> Option<Box<Replaying>> {
    let Pace::Recorded { closed } = plan.pace else { return None };
    Some(Box::new(Replaying::new(feed?, closed, plan.slots)))
}

/// The I/O priority of a target as passed to the kernel; 0 = inherit.
pub(crate) const fn priority(priority: IoPriority) -> u16 {
    match priority {
        IoPriority::VeryLow => io_priority::IDLE,
        IoPriority::Low => io_priority::LOW,
        IoPriority::Normal => 0,
    }
}

fn bytes_of(sizes: &SizesPlan) -> Vec<u32> {
    sizes.sizes.iter().map(|size| u32::try_from(size.bytes).unwrap_or(u32::MAX)).collect()
}

fn sizes(plan: &WorkerTarget, sizes: &SizesPlan, counters: &[Arc<AtomicU64>]) -> SizedStream {
    let percents = |operation| sizes.sizes.iter().map(|size| size.percent_of(operation)).collect();
    let places = |size: &SizePlan| Places {
        // The plan refuses blocks above limits::BLOCK_SIZE_BYTES_MAX.
        bytes: u32::try_from(size.bytes).unwrap_or(u32::MAX),
        alignment: size.alignment_bytes.max(1),
        positions: size.positions,
        ranges: ranges(&size.ranges),
    };
    let places: Vec<Places> = sizes.sizes.iter().map(places).collect();
    let (area, walk) = match &plan.pattern {
        // A profile with requests of their own positions is refused.
        Pattern::Sequential { area, .. } | Pattern::Parallel { area, .. } | Pattern::Append { area, .. } => {
            (area, Walk::Sequential)
        }
        Pattern::Interlocked { area, counter } => (area, Walk::Interlocked(Arc::clone(&counters[*counter]))),
        Pattern::Random { area, .. } | Pattern::Recorded { area } => (area, Walk::Random),
        Pattern::Mixed { area, random_percent, .. } => (area, Walk::Mixed(*random_percent)),
    };
    SizedStream::new(area.base_bytes, area.size_bytes, &places, SizeTable::new(percents), walk)
}

fn pacer(plan: &WorkerTarget, rng: &mut Rng) -> Pacer {
    if let Some((sizes, bytes_per_ms)) = plan.sizes.as_ref().and_then(|sizes| Some((sizes, sizes.bytes_per_ms?)))
        && !plan.pace.is_open_loop()
    {
        return Pacer::bytes(&bytes_of(sizes), NS_PER_MS, u64::from(bytes_per_ms));
    }
    match plan.pace {
        Pace::Unlimited | Pace::Recorded { .. } => Pacer::Unlimited,
        Pace::Throughput { interval_numerator, interval_denominator } => {
            Pacer::throughput(interval_numerator, interval_denominator)
        }
        Pace::Rate { first_numerator, interval_numerator, denominator } => {
            Pacer::schedule(first_numerator, interval_numerator, denominator)
        }
        Pace::Poisson { mean_numerator, mean_denominator } => {
            Pacer::poisson(mean_numerator, mean_denominator, Rng::new(rng.next_u64()))
        }
        Pace::Varying { curve, first, every, is_poisson } => {
            let rng = is_poisson.then(|| Rng::new(rng.next_u64()));
            Pacer::varying(Curve::new(curve), first, every, rng)
        }
        Pace::Burst { ios, pause_ns } => Pacer::burst(ios, pause_ns),
    }
}

fn stream(plan: &WorkerTarget, counters: &[Arc<AtomicU64>], skew: Option<Skewed>, rng: &mut Rng) -> OffsetStream {
    let grid = |area: &Area| Grid {
        base: area.base_bytes,
        last: area.size_bytes.saturating_sub(plan.block_bytes),
        alignment: area.alignment_bytes.max(1),
        positions: area.positions,
    };
    match &plan.pattern {
        Pattern::Sequential { area, start_bytes } => OffsetStream::sequential(grid(area), *start_bytes),
        // Of a trace, nothing is drawn.
        Pattern::Append { area, .. } | Pattern::Recorded { area } => OffsetStream::sequential(grid(area), 0),
        Pattern::Interlocked { area, counter } => {
            OffsetStream::interlocked(grid(area), Arc::clone(&counters[*counter]))
        }
        Pattern::Parallel { area, start_bytes } => {
            OffsetStream::parallel(grid(area), *start_bytes, plan.slots as usize)
        }
        Pattern::Random { area, ranges, .. } => random(grid(area), ranges, skew),
        Pattern::Mixed { area, ranges, random_percent, .. } => {
            random(grid(area), ranges, skew).mixed(*random_percent, rng)
        }
    }
}

fn random(grid: Grid, ranges: &[WeightedRange], skew: Option<Skewed>) -> OffsetStream {
    match skew {
        Some(skew) => OffsetStream::skewed(grid, skew),
        None => OffsetStream::random(grid, &self::ranges(ranges)),
    }
}

fn ranges(planned: &[WeightedRange]) -> Vec<Range> {
    let range =
        |range: &WeightedRange| Range { weight: range.weight, start: range.start_bytes, positions: range.positions };
    planned.iter().map(range).collect()
}
