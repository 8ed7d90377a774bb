//! The requests of a load, made by the generators that run it, without any I/O.

use crate::event::{Action, Event, Flags};
use crate::fit::{Load, Pace};
use hot::counters::Counter;
use hot::mix::Mix;
use hot::pace::Pacer;
use hot::rate_curve::Curve;
use hot::rng::Rng;
use hot::scatter::Scatter;
use hot::sizes::{Places, SizeTable, SizedStream, Walk};
use hot::skew::{Law, Skewed, Strata};
use hot::stream::{Grid, OffsetStream};
use model::operation::Operation;
use model::plan::RateCurve;
use model::profile::{RateProcess, SizeMix, SkewLaw};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The requests of a load, without an end. Each takes half of the mean latency to one and a half of it, at random.
#[derive(Debug)]
pub struct Requests {
    rng: Rng,
    mix: Mix,
    offsets: Offsets,
    pacer: Pacer,
    is_burst: bool,
    outstanding: usize,
    mean_latency_ns: u64,
    now_ns: u64,
    completions_ns: BinaryHeap<Reverse<u64>>,
    flush_after: Option<(u32, Action)>,
    unflushed: u32,
}

#[derive(Debug)]
enum Offsets {
    OfOneSize(OffsetStream, u64),
    Sized(Box<SizedStream>),
}

/// Time that a thread needs to issue a request of a burst.
const ISSUE_NS: u64 = 2_000;

/// The seed of the random numbers.
const SEED: u64 = 7;

impl Requests {
    /// The requests of a load on a target on which each takes `mean_latency_ns` on average.
    pub fn new(load: &Load, mean_latency_ns: u64) -> Self {
        let mut rng = Rng::new(SEED);
        let (mut pacer, outstanding) = match load.pace {
            Pace::Depth(depth) => (Pacer::Unlimited, depth),
            Pace::Bursts { ios, pause_ms, outstanding } => {
                (Pacer::burst(ios, u64::from(pause_ms) * 1_000_000), outstanding)
            }
            Pace::Rate { iops, process, outstanding } => (
                match process {
                    RateProcess::Constant | RateProcess::Trace => Pacer::throughput(1_000_000_000, iops.into()),
                    RateProcess::Poisson => Pacer::poisson(1_000_000_000, iops.into(), Rng::new(SEED + 1)),
                    RateProcess::Bursts(bursts) => {
                        Pacer::varying(Curve::new(RateCurve::Bursts { iops, bursts, before_ns: 0 }), 1, 1, None)
                    }
                },
                outstanding,
            ),
        };
        pacer.start(0);
        Self {
            mix: Mix::new(load.shares, &mut rng),
            offsets: Offsets::new(load, &mut rng),
            rng,
            pacer,
            is_burst: matches!(load.pace, Pace::Bursts { .. }),
            outstanding: outstanding.max(1) as usize,
            mean_latency_ns,
            now_ns: 0,
            completions_ns: BinaryHeap::new(),
            flush_after: load.flush_after_writes.map(|(writes, call)| (writes, Action::Flush(call))),
            unflushed: 0,
        }
    }

    /// When the next request is issued: when it is due and one of those in flight has completed.
    fn issue(&mut self) {
        let busy_ns = if self.is_burst { self.now_ns.saturating_add(ISSUE_NS) } else { self.now_ns };
        self.now_ns = self.pacer.due_ns().max(busy_ns);
        while let Some(&Reverse(completion_ns)) = self.completions_ns.peek()
            && (completion_ns <= self.now_ns || self.completions_ns.len() == self.outstanding)
        {
            self.now_ns = self.now_ns.max(completion_ns);
            self.completions_ns.pop();
        }
        self.pacer.charge(self.now_ns);
    }

    fn event(&mut self, action: Action, offset: u64, length: u64) -> Event {
        let latency_ns = (self.mean_latency_ns / 2).saturating_add(self.rng.below(self.mean_latency_ns.max(1)));
        if action.operation().is_some() {
            self.completions_ns.push(Reverse(self.now_ns.saturating_add(latency_ns)));
        }
        let (device, process, flags) = (0, 0, Flags::default());
        Event { issue_ns: self.now_ns, latency_ns: Some(latency_ns), device, process, offset, length, action, flags }
    }
}

impl Iterator for Requests {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if let Some((writes, flush)) = self.flush_after
            && self.unflushed == writes
        {
            self.unflushed = 0;
            return Some(self.event(flush, 0, 0));
        }
        self.issue();
        let (operation, offset, length) = self.offsets.next(&mut self.mix, &mut self.rng);
        self.unflushed += u32::from(operation.changes_data());
        Some(self.event(Action::Operation(operation), offset, length))
    }
}

impl Offsets {
    fn new(load: &Load, rng: &mut Rng) -> Self {
        match load.only_size() {
            Some(length) => Self::OfOneSize(one_size(load, length, rng), length),
            None => Self::Sized(Box::new(sized(load))),
        }
    }

    fn next(&mut self, mix: &mut Mix, rng: &mut Rng) -> (Operation, u64, u64) {
        match self {
            Self::OfOneSize(stream, length) => {
                let next = stream.next(rng, 0);
                (mix.next(next.continues, rng), next.offset, *length)
            }
            Self::Sized(stream) => {
                let continues = stream.continues(rng);
                let operation = mix.next(continues, rng);
                let next = stream.next(operation, continues, rng);
                (operation, next.offset, next.length.into())
            }
        }
    }
}

fn one_size(load: &Load, length: u64, rng: &mut Rng) -> OffsetStream {
    let alignment = load.alignment.filter(|_| load.random_percent > 0).unwrap_or(length).max(1);
    let last = load.target_bytes.saturating_sub(length);
    let positions = last / alignment + 1;
    let grid = Grid { base: load.base_offset, last, alignment, positions };
    if load.random_percent == 0 {
        return OffsetStream::sequential(grid, 0);
    }
    let strata = load.skew.and_then(|skew| {
        let law = match skew.law {
            SkewLaw::Zipf => Law::Zipf { exponent: skew.parameter.value() },
            SkewLaw::Pareto => Law::pareto(skew.parameter.value()),
        };
        Strata::new(law, positions)
    });
    let random = strata.map_or_else(
        || OffsetStream::random(grid, &[]),
        |strata| {
            let drawn: Arc<[Counter]> = strata.sizes().map(|_| Counter::default()).collect();
            OffsetStream::skewed(grid, Skewed::new(Arc::new(strata), Some(Scatter::new(positions, SEED)), drawn))
        },
    );
    if load.random_percent < 100 { random.mixed(load.random_percent, rng) } else { random }
}

fn sized(load: &Load) -> SizedStream {
    let mixes = [&load.read_sizes, &load.write_sizes, &load.sizes];
    let mut sizes: Vec<u32> =
        mixes.into_iter().flatten().flat_map(SizeMix::shares).map(|share| share.bytes(0) as u32).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let percents = |operation| {
        let mix = match operation {
            Operation::Read => &load.read_sizes,
            Operation::Write => &load.write_sizes,
            Operation::Discard | Operation::WriteZeroes => &load.sizes,
        };
        let sum_percent = |size: &u32| {
            let shares = mix.iter().flat_map(SizeMix::shares).filter(|share| share.bytes(0) == u64::from(*size));
            shares.map(|share| share.percent).sum()
        };
        sizes.iter().map(sum_percent).collect()
    };
    let place = |&bytes: &u32| {
        let alignment = load.alignment.unwrap_or(bytes.into()).max(1);
        let positions = load.target_bytes.saturating_sub(bytes.into()) / alignment + 1;
        Places { bytes, alignment, positions, ranges: Vec::new() }
    };
    let places: Vec<Places> = sizes.iter().map(place).collect();
    let walk = match load.random_percent {
        100 => Walk::Random,
        0 => Walk::Sequential,
        percent => Walk::Mixed(percent),
    };
    SizedStream::new(load.base_offset, load.target_bytes, &places, SizeTable::new(percents), walk)
}
