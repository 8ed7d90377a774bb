//! The load of this program that comes closest to a trace, and what it keeps of it.

use crate::event::Action;
use crate::summary::arrivals::Bursts;
use crate::summary::{Sizes, Summary};
use model::limits::{BLOCK_SIZE_BYTES_MAX, OUTSTANDING_MAX, SIZES_MAX};
use model::operation::{Operation, Shares};
use model::profile::{FlushCall, RateBursts, RateProcess, SizeMix, Skew, SkewLaw};
use model::units::Millionths;
use serde::Serialize;
use std::collections::BTreeMap;

/// A load on one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// `-B`: first byte.
    pub base_offset: u64,
    /// Bytes from there on.
    pub target_bytes: u64,
    /// `-rs`: percent of the requests that are random.
    pub random_percent: u32,
    /// `-r`: alignment of random offsets; `None` = that of the size of each request.
    pub alignment: Option<u64>,
    /// `--skew`.
    pub skew: Option<Skew>,
    /// `-w`, `--discard`, `--write-zeroes`.
    pub shares: Shares,
    /// `--read-sizes`; `None` without reads.
    pub read_sizes: Option<SizeMix>,
    /// `--write-sizes`; `None` without writes.
    pub write_sizes: Option<SizeMix>,
    /// `--sizes`, of discards and write-zeroes; `None` without them.
    pub sizes: Option<SizeMix>,
    /// Times of issue.
    pub pace: Pace,
    /// `--fsync-every` or `--fdatasync-every`, in writes.
    pub flush_after_writes: Option<(u32, FlushCall)>,
}

/// Times of issue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// `-o`: a closed loop with this many outstanding requests.
    Depth(u32),
    /// `--rate`: an open loop.
    Rate {
        /// Requests per second.
        iops: u32,
        /// `--rate-process`.
        process: RateProcess,
        /// `-o`: requests outstanding at most.
        outstanding: u32,
    },
    /// `-i` and `-j`: bursts as fast as possible.
    Bursts {
        /// Requests of a burst.
        ios: u32,
        /// Pause after it.
        pause_ms: u32,
        /// `-o`.
        outstanding: u32,
    },
}

/// A property of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// Shares of reads, writes, discards and write-zeroes.
    Mix,
    /// Sizes per operation.
    Sizes,
    /// Flushes.
    Flushes,
    /// Share of random requests.
    Sequence,
    /// Popularity of offsets.
    Skew,
    /// Range of offsets.
    WorkingSet,
    /// Rate or depth.
    Rate,
    /// Times between issues.
    Arrivals,
    /// Which request follows which.
    Order,
    /// Devices.
    Devices,
    /// Processes.
    Processes,
}

/// Share of a property that a load keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The load has it.
    Kept,
    /// The load has it in part.
    Approximated,
    /// The load does not have it.
    Lost,
}

/// Outcome of a property, and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// The property.
    pub property: Property,
    /// The outcome.
    pub outcome: Outcome,
    /// The reason.
    pub why: &'static str,
}

/// The closest load.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The load.
    pub load: Load,
    /// A row for each property.
    pub rows: Vec<Row>,
}

impl Fit {
    /// The closest load to a trace; `None` if the trace has no request but flushes.
    pub fn new(summary: &Summary) -> Option<Self> {
        let mut rows = Vec::new();
        let mut keep = |property, (outcome, why)| rows.push(Row { property, outcome, why });
        if summary.operations() == 0 {
            return None;
        }
        keep(Property::Mix, (Outcome::Kept, "shares in whole percent"));
        let random_percent = 100 - summary.sequential_percent().round() as u32;
        let (skew, skew_row) = skew(summary, random_percent);
        let (sizes, row) = sizes(summary);
        let ((sizes, row), (skew, skew_row)) = sizes_or_skew(summary, (sizes, row), (skew, skew_row));
        keep(Property::Sizes, row);
        let [read_sizes, write_sizes, other_sizes] = sizes;
        let (flush_after_writes, row) = flushes(summary);
        keep(Property::Flushes, row);
        keep(Property::Sequence, (Outcome::Kept, "sequential runs begin at a random offset"));
        keep(Property::Skew, skew_row);
        let (range, row) = working_set(summary);
        keep(Property::WorkingSet, row);
        let (pace, rate, arrivals) = pace(summary);
        keep(Property::Rate, rate);
        keep(Property::Arrivals, arrivals);
        keep(Property::Order, (Outcome::Lost, "kind, size and offset are drawn independently of earlier requests"));
        let used = summary.devices.iter().filter(|device| device.volume.requests > 0).count();
        keep(Property::Devices, kept_if(used <= 1, Outcome::Lost, "one device", "all devices are one target"));
        let used = summary.processes.iter().filter(|process| process.volume.requests > 0).count();
        keep(Property::Processes, kept_if(used <= 1, Outcome::Lost, "one process", "all processes are one load"));
        let load = Load {
            base_offset: range.0,
            target_bytes: range.1,
            random_percent,
            alignment: (!summary.popularity.is_aligned_to_size).then_some(summary.popularity.common_alignment),
            skew,
            shares: shares(summary),
            read_sizes,
            write_sizes,
            sizes: other_sizes,
            pace,
            flush_after_writes,
        };
        Some(Self { load, rows })
    }
}

type Reason = (Outcome, &'static str);

fn kept_if(condition: bool, otherwise: Outcome, why_kept: &'static str, why_not: &'static str) -> Reason {
    if condition { (Outcome::Kept, why_kept) } else { (otherwise, why_not) }
}

fn percent(part: u64, whole: u64) -> u32 {
    (100.0 * part as f64 / whole.max(1) as f64).round() as u32
}

fn shares(summary: &Summary) -> Shares {
    let requests = |operation| summary.volume(operation).requests;
    let transfers = requests(Operation::Read) + requests(Operation::Write);
    Shares {
        discard_percent: percent(requests(Operation::Discard), summary.operations()),
        write_zeroes_percent: percent(requests(Operation::WriteZeroes), summary.operations()),
        write_percent: percent(requests(Operation::Write), transfers),
    }
}

/// Largest difference between the shares of a size in the trace and in the load, in percent of the requests.
const KEPT_PERCENT: f64 = 0.5;

/// Sizes of reads, of writes and of the others.
fn sizes(summary: &Summary) -> (Mixes, Reason) {
    let mut worst = 0.0_f64;
    let mut others = summary.sizes[Operation::Discard].clone();
    for (&size, &count) in &summary.sizes[Operation::WriteZeroes].counts {
        *others.counts.entry(size).or_default() += count;
    }
    let mixes = [&summary.sizes[Operation::Read], &summary.sizes[Operation::Write], &others].map(|sizes| {
        let (mix, moved) = size_mix(sizes)?;
        worst = worst.max(moved);
        Some(mix)
    });
    let why_not = "at most 16 sizes in whole percent; others have the nearest size";
    (mixes, kept_if(worst <= KEPT_PERCENT, Outcome::Approximated, "sizes in whole percent", why_not))
}

/// The mix of sizes, and the percentage of the requests that have another one in it.
fn size_mix(sizes: &Sizes) -> Option<(SizeMix, f64)> {
    let all: u64 = sizes.counts.values().sum();
    let mut by_count: Vec<(u64, u64)> =
        sizes.counts.iter().map(|(&size, &count)| (size.clamp(1, BLOCK_SIZE_BYTES_MAX), count)).collect();
    by_count.sort_by_key(|&(size, count)| (std::cmp::Reverse(count), size));
    let often = |&(_, count): &(u64, u64)| 200 * count >= all;
    let frequent = by_count.iter().filter(|entry| often(entry)).count().clamp(1, SIZES_MAX);
    let rare = by_count.split_off(frequent.min(by_count.len()));
    let moved: u64 = rare.iter().map(|&(_, count)| count).sum::<u64>().max(sizes.rounded);
    let distance = |a: u64, b: u64| (a as f64 / b as f64).log2().abs();
    for (size, count) in rare {
        let nearest = by_count.iter_mut().min_by(|a, b| distance(a.0, size).total_cmp(&distance(b.0, size)))?;
        nearest.1 += count;
    }
    let text: Vec<String> =
        whole_percents(&by_count, all).into_iter().map(|(size, percent)| format!("{size}/{percent}")).collect();
    Some((SizeMix::parse(&text.join(":")).ok()?, 100.0 * moved as f64 / all as f64))
}

/// Counts as percentages that add up to 100: rounded down, and the largest remainders up.
fn whole_percents(counts: &[(u64, u64)], all: u64) -> Vec<(u64, u64)> {
    let mut percents: Vec<(u64, u64, u64)> =
        counts.iter().map(|&(size, count)| (size, count * 100 / all.max(1), count * 100 % all.max(1))).collect();
    let missing = 100_u64.saturating_sub(percents.iter().map(|&(_, percent, _)| percent).sum());
    percents.sort_by_key(|&(_, _, remainder)| std::cmp::Reverse(remainder));
    percents.iter_mut().take(missing as usize).for_each(|(_, percent, _)| *percent += 1);
    percents.retain(|&(_, percent, _)| percent > 0);
    percents.sort_unstable();
    percents.into_iter().map(|(size, percent, _)| (size, percent)).collect()
}

fn flushes(summary: &Summary) -> (Option<(u32, FlushCall)>, Reason) {
    let count = |call| summary.actions[Action::Flush(call).index()].volume.requests;
    let (fsyncs, fdatasyncs) = (count(FlushCall::Fsync), count(FlushCall::Fdatasync));
    let call = if fsyncs >= fdatasyncs { FlushCall::Fsync } else { FlushCall::Fdatasync };
    match fsyncs + fdatasyncs {
        0 => (None, (Outcome::Kept, "no flushes")),
        flushes => {
            let writes = summary.volume(Operation::Write).requests as f64 / flushes as f64;
            if writes < 0.5 {
                return (None, (Outcome::Lost, "the load flushes only after writes"));
            }
            let every = (writes.round() as u32).max(1);
            (Some((every, call)), (Outcome::Approximated, "flushes after a fixed number of writes"))
        }
    }
}

fn skew(summary: &Summary, random_percent: u32) -> (Option<Skew>, Reason) {
    let Some(fit) = summary.skew.filter(|_| random_percent > 0) else {
        let why = if random_percent == 0 { "no random requests" } else { "too few repeated offsets to tell: uniform" };
        return (None, (if random_percent == 0 { Outcome::Kept } else { Outcome::Lost }, why));
    };
    if fit.exponent == 0.0 {
        return (None, (Outcome::Kept, "offsets are equally popular"));
    }
    let parameter = Millionths((fit.exponent * 1e3).round() as u32 * 1000);
    let skew = Skew { law: SkewLaw::Zipf, parameter, is_contiguous: false };
    let why_not = "the hottest offsets are more or less popular than the Zipf law of all";
    (Some(skew), kept_if(fit.is_zipf(), Outcome::Approximated, "Zipf; the hot offsets lie elsewhere", why_not))
}

/// Share of the requests of one size from which on a load has this size alone, if it can be skewed then.
const ONE_SIZE_SHARE: f64 = 0.9;

type Mixes = [Option<SizeMix>; 3];

/// The sizes and the skew of a load, which may have only one size if it is skewed.
fn sizes_or_skew(
    summary: &Summary,
    (sizes, sizes_row): (Mixes, Reason),
    (skew, skew_row): (Option<Skew>, Reason),
) -> ((Mixes, Reason), (Option<Skew>, Reason)) {
    let mut counts = BTreeMap::<u64, u64>::new();
    for (&size, &count) in summary.sizes.iter().flat_map(|sizes| &sizes.counts) {
        *counts.entry(size).or_default() += count;
    }
    let main = counts.iter().max_by_key(|&(_, &count)| count);
    let Some((&size, &count)) = main.filter(|_| skew.is_some() && counts.len() > 1) else {
        return ((sizes, sizes_row), (skew, skew_row));
    };
    if count as f64 >= ONE_SIZE_SHARE * summary.operations() as f64 {
        let only = SizeMix::parse(&format!("{}/100", size.clamp(1, BLOCK_SIZE_BYTES_MAX))).ok();
        let why = "the most frequent size alone: a load with a skew has one size";
        return ((sizes.map(|mix| mix.and(only.clone())), (Outcome::Approximated, why)), (skew, skew_row));
    }
    ((sizes, sizes_row), (None, (Outcome::Lost, "a load with several sizes has no skew")))
}

/// First byte and number of bytes.
fn working_set(summary: &Summary) -> ((u64, u64), Reason) {
    let first = summary.devices.iter().map(|device| device.first_byte).min().unwrap_or(0);
    let span = summary.span_bytes();
    // Offsets end before the last request does.
    let fitted = summary.skew.map_or(span, |fit| fit.positions.saturating_mul(summary.popularity.alignment));
    if fitted < span / 10 * 9 {
        let why = "only part of the range is in use; the load uses as many bytes without gaps";
        return ((first, fitted), (Outcome::Approximated, why));
    }
    ((first, span), (Outcome::Kept, "the touched range"))
}

/// Share of the time without outstanding requests up to which a loop is closed.
const CLOSED_IDLE: f64 = 0.01;
/// Variation of the times between issues below which a rate is constant.
const CONSTANT_VARIATION: f64 = 0.05;
/// Variation of the times between issues of random arrivals.
const POISSON_VARIATION: std::ops::Range<f64> = 0.8..1.25;
/// Index of dispersion of random arrivals.
const POISSON_DISPERSION: std::ops::Range<f64> = 0.5..2.0;

/// The pace, with the reasons for its rate and for its arrivals.
fn pace(summary: &Summary) -> (Pace, Reason, Reason) {
    let arrivals = &summary.arrivals;
    let most = summary.depth.map_or(32, |depth| depth.max.clamp(1, OUTSTANDING_MAX));
    let (outstanding, iops) = (most, (arrivals.mean_iops.round() as u32).max(1));
    if arrivals.mean_iops == 0.0 {
        let why = "the trace has no timestamps";
        return (Pace::Depth(1), (Outcome::Lost, why), (Outcome::Lost, why));
    }
    if let Some(bursts) = &arrivals.bursts
        && let Some(pace) = burst_pace(bursts, arrivals.mean_iops, outstanding)
    {
        let why_not = "bursts of mean length at mean distances";
        let reason = kept_if(bursts.cycle_variation < 0.1, Outcome::Approximated, "regular bursts", why_not);
        return (pace, (Outcome::Kept, "mean rate"), reason);
    }
    let is_constant = arrivals.variation < CONSTANT_VARIATION;
    if let Some(depth) = summary.depth
        && !is_constant
        && depth.idle <= CLOSED_IDLE
        && f64::from(depth.p99) <= 1.1 * f64::from(depth.p50)
    {
        let why = "the next request starts when one completes; the rate depends on the target";
        return (Pace::Depth(depth.p50), (Outcome::Kept, "constant depth: a closed loop"), (Outcome::Kept, why));
    }
    let is_poisson = POISSON_VARIATION.contains(&arrivals.variation)
        && arrivals
            .dispersions
            .iter()
            .filter_map(|window| window.index)
            .all(|index| POISSON_DISPERSION.contains(&index));
    let (process, reason) = if is_constant {
        (RateProcess::Constant, (Outcome::Kept, "regular"))
    } else if is_poisson {
        (RateProcess::Poisson, (Outcome::Kept, "random and independent"))
    } else {
        (RateProcess::Poisson, (Outcome::Lost, "neither regular, random nor in bursts: replaced by random arrivals"))
    };
    (Pace::Rate { iops, process, outstanding }, (Outcome::Kept, "mean rate"), reason)
}

/// Share of the requests in bursts from which nothing is issued between them.
const BURSTS_ALONE: f64 = 0.99;
/// Part of a cycle below which a burst is as fast as possible.
const AT_ONCE: f64 = 0.05;

/// A load in bursts; `None` if there is none like this.
fn burst_pace(bursts: &Bursts, mean_iops: f64, outstanding: u32) -> Option<Pace> {
    let is_alone = bursts.share >= BURSTS_ALONE;
    let pause_ms = (bursts.pause_ns / 1e6).round();
    if is_alone && bursts.on_ns < AT_ONCE * bursts.cycle_ns && pause_ms >= 1.0 {
        return Some(Pace::Bursts { ios: bursts.requests.round() as u32, pause_ms: pause_ms as u32, outstanding });
    }
    let on_ns = (bursts.on_ns / 1e3).round() as u64 * 1000;
    let off_ns = ((bursts.cycle_ns - bursts.on_ns) / 1e3).round().max(0.0) as u64 * 1000;
    let iops = if is_alone { bursts.requests * 1e9 / bursts.cycle_ns } else { mean_iops };
    let most = (on_ns + off_ns) as f64 / on_ns.max(1) as f64;
    let factor = bursts.on_iops.filter(|_| !is_alone).map_or(most, |iops| (iops / mean_iops).min(most));
    let factor = Millionths((factor * 1e6).floor() as u32);
    let process = RateProcess::Bursts(RateBursts { on_ns, off_ns, factor });
    process.fault().is_none().then_some(Pace::Rate { iops: (iops.round() as u32).max(1), process, outstanding })
}
