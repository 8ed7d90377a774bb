//! Traces of loads of this program, made by its own generators.

#![allow(dead_code, reason = "each test uses a part")]

use hot::pace::Pacer;
use hot::rate_curve::Curve;
use hot::rng::Rng;
use hot::scatter::Scatter;
use hot::sizes::{Places, SizeTable, SizedStream, Walk};
use hot::skew::{Law, Skewed, Strata};
use model::operation::Operation;
use model::plan::RateCurve;
use model::profile::RateProcess;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use trace::event::{Action, Event, Flags};
use trace::summary::{Summarizer, Summary};

/// A load on one target.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) bytes: u64,
    /// Bytes and percent.
    pub(crate) sizes: Vec<(u32, u32)>,
    pub(crate) write_percent: u64,
    pub(crate) random_percent: u32,
    /// `--skew=zipf:`; needs one size.
    pub(crate) zipf: Option<f64>,
    /// `--rate` and `--rate-process`.
    pub(crate) rate: Option<(u32, &'static str)>,
    /// `-i`, `-j` in nanoseconds.
    pub(crate) burst: Option<(u32, u64)>,
    /// Without rate or bursts: always this many requests in flight.
    pub(crate) depth: u64,
    pub(crate) latency_ns: u64,
    pub(crate) seed: u64,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            bytes: 1 << 30,
            sizes: vec![(4096, 100)],
            write_percent: 0,
            random_percent: 100,
            zipf: None,
            rate: None,
            burst: None,
            depth: 4,
            latency_ns: 80_000,
            seed: 7,
        }
    }
}

impl Load {
    pub(crate) fn mixed_sizes() -> Self {
        Self { sizes: vec![(4096, 60), (8192, 30), (65_536, 10)], ..Self::default() }
    }
}

/// The first requests of a load.
pub(crate) fn events(load: &Load, requests: u64) -> Vec<Event> {
    let mut rng = Rng::new(load.seed);
    let mut next_range = ranges(load);
    let mut pacer = pacer(load);
    pacer.start(0);
    let mut now_ns = 0;
    let mut completions_ns = BinaryHeap::new();
    let request = |number: u64| {
        let (offset, length) = next_range(&mut rng);
        let write = rng.below(100) < load.write_percent;
        if load.rate.is_some() || load.burst.is_some() {
            // A thread needs 2 µs to issue a request.
            now_ns = pacer.due_ns().max(if load.burst.is_some() { now_ns + 2_000 } else { 0 });
            pacer.charge(now_ns);
        } else if number >= load.depth {
            // A closed loop: the next request starts when one completes.
            now_ns = completions_ns.pop().map_or(0, |Reverse(completion_ns)| completion_ns);
        }
        // Half of the latency more or less.
        let latency_ns = load.latency_ns / 2 + rng.below(load.latency_ns);
        completions_ns.push(Reverse(now_ns + latency_ns));
        Event {
            issue_ns: now_ns,
            latency_ns: Some(latency_ns),
            device: 0,
            process: 0,
            offset,
            length,
            action: Action::Operation(if write { Operation::Write } else { Operation::Read }),
            flags: Flags::default(),
        }
    };
    (0..requests).map(request).collect()
}

/// Draws offset and length.
type Draw = Box<dyn FnMut(&mut Rng) -> (u64, u64)>;

fn ranges(load: &Load) -> Draw {
    if let Some(exponent) = load.zipf {
        let length = u64::from(load.sizes[0].0);
        let positions = load.bytes / length;
        let strata = Strata::new(Law::Zipf { exponent }, positions).expect("a law");
        let drawn = strata.sizes().map(|_| hot::counters::Counter::default()).collect();
        let mut skewed = Skewed::new(Arc::new(strata), Some(Scatter::new(positions, load.seed)), drawn);
        return Box::new(move |rng| (skewed.draw(rng) * length, length));
    }
    let place = |&(bytes, _): &(u32, u32)| Places {
        bytes,
        alignment: u64::from(bytes),
        positions: load.bytes / u64::from(bytes),
        ranges: Vec::new(),
    };
    let places: Vec<Places> = load.sizes.iter().map(place).collect();
    let table = SizeTable::new(|_| load.sizes.iter().map(|&(_, percent)| percent).collect());
    let walk = match load.random_percent {
        100 => Walk::Random,
        0 => Walk::Sequential,
        percent => Walk::Mixed(percent),
    };
    let mut stream = SizedStream::new(0, load.bytes, &places, table, walk);
    Box::new(move |rng| {
        let continues = stream.continues(rng);
        let next = stream.next(Operation::Read, continues, rng);
        (next.offset, u64::from(next.length))
    })
}

fn pacer(load: &Load) -> Pacer {
    if let Some((ios, pause_ns)) = load.burst {
        return Pacer::burst(ios, pause_ns);
    }
    let Some((iops, process)) = load.rate else { return Pacer::Unlimited };
    match RateProcess::parse(process).expect("a process") {
        RateProcess::Constant => Pacer::throughput(1_000_000_000, u64::from(iops)),
        RateProcess::Poisson => Pacer::poisson(1_000_000_000, u64::from(iops), Rng::new(load.seed + 1)),
        RateProcess::Bursts(bursts) => {
            Pacer::varying(Curve::new(RateCurve::Bursts { iops, bursts, before_ns: 0 }), 1, 1, None)
        }
        RateProcess::Trace => unreachable!("these loads are no replays"),
    }
}

pub(crate) fn summarize(events: &[Event]) -> Summary {
    let mut summarizer = Summarizer::default();
    for event in events {
        summarizer.add(event);
    }
    summarizer.finish()
}
