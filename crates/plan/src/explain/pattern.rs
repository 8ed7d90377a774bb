//! Offsets, rates and content in words.

use crate::words;
use hot::rate_curve::Curve;
use hot::skew::{HOTTEST_PERCENT, Law, hottest};
use model::operation::{ByOperation, Operation};
use model::plan::{Area, Content, Pace, Pattern, RateCurve, WorkerTarget};
use model::profile::{RateProcess, Rotation, Skew};
use model::units::counted;

/// Positions of the I/Os of a thread, without its own start.
pub(super) fn pattern(target: &WorkerTarget) -> String {
    let between = |area: &Area| {
        let end = area.base_bytes + area.size_bytes;
        format!("in [{}, {})", words::offset(area.base_bytes), words::exact(end))
    };
    let step = |area: &Area| words::exact(area.alignment_bytes);
    let (area, text) = match &target.pattern {
        Pattern::Sequential { area, .. } => (area, format!("sequential, stride {}", step(area))),
        Pattern::Append { area, rotation } => (area, appended(area, *rotation)),
        Pattern::Parallel { area, .. } => {
            (area, format!("sequential, separate position for each request, stride {}", step(area)))
        }
        Pattern::Interlocked { area, .. } => {
            (area, format!("sequential, one position shared by all threads, stride {}", step(area)))
        }
        Pattern::Recorded { area } => {
            return format!(
                "at the offsets of the trace, up to {}, {}",
                words::exact(target.block_bytes),
                between(area)
            );
        }
        Pattern::Random { area, .. } => (area, format!("random, multiples of {}", step(area))),
        Pattern::Mixed { area, random_percent, .. } => {
            (area, format!("{random_percent}% random, the rest sequential, stride {}", step(area)))
        }
    };
    match &target.sizes {
        None => format!("{text}, {}: {}", between(area), counted(area.positions, "position")),
        Some(_) => format!("{}, {}", sized(target), between(area)),
    }
}

/// Growth of a file, and the action when it is full.
fn appended(area: &Area, rotation: Rotation) -> String {
    let size = words::exact(area.size_bytes);
    match rotation {
        Rotation::Truncate => format!("at the end of the file, which is truncated when it is {size} long"),
        Rotation::Preallocate => {
            format!("at the end of the file, which is truncated and reserved again once {size} have been written to it")
        }
        Rotation::Recycle => format!("one after the other; after {size}, starting over at the beginning of the file"),
    }
}

/// Sequence of I/Os of several sizes.
fn sized(target: &WorkerTarget) -> String {
    let own = target.sizes.iter().flat_map(|sizes| &sizes.sizes).all(|size| size.alignment_bytes == size.bytes);
    let aligned = |area: &Area| {
        if own {
            "multiples of the I/O size".to_owned()
        } else {
            format!("multiples of {}", words::exact(area.alignment_bytes))
        }
    };
    match &target.pattern {
        Pattern::Sequential { .. } | Pattern::Parallel { .. } => "sequential".to_owned(),
        Pattern::Append { area, rotation } => appended(area, *rotation),
        Pattern::Interlocked { .. } => "sequential, one position shared by all threads".to_owned(),
        Pattern::Recorded { .. } => "at the offsets of the trace".to_owned(),
        Pattern::Random { area, .. } => format!("random, {}", aligned(area)),
        Pattern::Mixed { area, random_percent, .. } => {
            format!("{random_percent}% random at {}, the rest sequential", aligned(area))
        }
    }
}

/// The sizes, a line for each kind of I/O.
pub(super) fn sizes(target: &WorkerTarget) -> Vec<String> {
    let Some(sizes) = &target.sizes else { return Vec::new() };
    let size_list = |operation: Operation| {
        let drawn = sizes.sizes.iter().filter(|size| size.percent_of(operation) > 0);
        let each = drawn.map(|size| format!("{} {}%", words::exact(size.bytes), size.percent_of(operation)));
        let mean = sizes.mean_bytes(operation);
        format!("sizes of {}: {}; {mean:.0} bytes on average", operation.plural(), each.collect::<Vec<_>>().join(", "))
    };
    Operation::ALL.into_iter().filter(|&operation| target.does(operation)).map(size_list).collect()
}

/// The expected shares of bytes, if they do not follow from `-w` alone.
pub(super) fn expected(target: &WorkerTarget) -> Option<String> {
    let shares = target.shares();
    let done: Vec<Operation> = Operation::ALL.into_iter().filter(|&operation| shares.does(operation)).collect();
    if target.sizes.is_none() && !target.changes_without_data() {
        return None;
    }
    let bytes = |operation: Operation| shares.expected(operation) * target.mean_bytes(operation);
    let all: f64 = done.iter().map(|&operation| bytes(operation)).sum();
    let part = |&operation: &Operation| {
        let (ios, bytes) = (100.0 * shares.expected(operation), 100.0 * bytes(operation) / all);
        format!("{} {ios:.1}% of the I/Os, {bytes:.1}% of the bytes", operation.plural())
    };
    Some(format!("expected: {}", done.iter().map(part).collect::<Vec<_>>().join("; ")))
}

/// I/Os that the pace of a target allows in a time, unless it has none or it depends on completions.
fn paced_ios(target: &WorkerTarget, time_ns: u64) -> Option<f64> {
    let time_ns = time_ns as f64;
    let shares = target.shares();
    if let Some(rate) =
        target.sizes.as_ref().and_then(|sizes| sizes.bytes_per_ms).filter(|_| !target.pace.is_open_loop())
    {
        let mean = |operation: Operation| shares.expected(operation) * target.mean_bytes(operation);
        return Some(time_ns / 1e6 * f64::from(rate) / Operation::ALL.into_iter().map(mean).sum::<f64>());
    }
    match target.pace {
        Pace::Unlimited | Pace::Burst { .. } | Pace::Recorded { .. } => None,
        Pace::Throughput { interval_numerator, interval_denominator } => {
            Some(time_ns * interval_denominator as f64 / interval_numerator as f64)
        }
        Pace::Rate { interval_numerator, denominator, .. } => {
            Some(time_ns * denominator as f64 / interval_numerator as f64)
        }
        Pace::Poisson { mean_numerator, mean_denominator } => {
            Some(time_ns * mean_denominator as f64 / mean_numerator as f64)
        }
        Pace::Varying { curve, every, .. } => Some(Curve::new(curve).starts(time_ns) / f64::from(every)),
    }
}

/// Expected I/Os and bytes of each kind in a time, all threads together; `None` = they depend on the speed of the
/// targets.
pub(super) fn expected_in<'a>(
    targets: impl Iterator<Item = &'a WorkerTarget>,
    time_ns: u64,
) -> Option<ByOperation<(f64, f64)>> {
    let mut sums = ByOperation::<(f64, f64)>::default();
    for target in targets {
        let ios = paced_ios(target, time_ns)?;
        for operation in Operation::ALL {
            let ios = ios * target.shares().expected(operation);
            let sum = &mut sums[operation];
            *sum = (sum.0 + ios, sum.1 + ios * target.mean_bytes(operation));
        }
    }
    Some(sums)
}

/// The thread's own first offset, if its pattern has one.
pub(super) const fn start_bytes(pattern: &Pattern) -> Option<u64> {
    match pattern {
        Pattern::Sequential { start_bytes, .. } | Pattern::Parallel { start_bytes, .. } => Some(*start_bytes),
        Pattern::Append { .. }
        | Pattern::Interlocked { .. }
        | Pattern::Recorded { .. }
        | Pattern::Random { .. }
        | Pattern::Mixed { .. } => None,
    }
}

/// The same pattern with its start at 0, for comparing threads.
pub(super) fn without_start(pattern: &Pattern) -> Pattern {
    match pattern {
        Pattern::Sequential { area, .. } => Pattern::Sequential { area: *area, start_bytes: 0 },
        Pattern::Parallel { area, .. } => Pattern::Parallel { area: *area, start_bytes: 0 },
        other => other.clone(),
    }
}

/// The effective distribution, a line for each range; or the skew.
pub(super) fn distribution(target: &WorkerTarget) -> Vec<String> {
    if let Some(skew) = target.pattern.skew() {
        return vec![self::skew(skew, target.pattern.area().positions)];
    }
    let Some(effective) = &target.effective_distribution else { return Vec::new() };
    let range = |range: &model::plan::EffectiveRange| {
        format!(
            "{:.1}% of the random I/Os in [{}, {}), relative to the base offset",
            f64::from(range.io_percent) * 100.0 / f64::from(effective.io_span),
            words::offset(range.start_bytes),
            words::exact(range.start_bytes + range.length_bytes)
        )
    };
    effective.ranges.iter().map(range).collect()
}

/// The law and its effect for this number of positions.
fn skew(skew: Skew, positions: u64) -> String {
    let law = Law::from(skew);
    let share = |percent| {
        let share = law.share_of_hottest(hottest(percent, positions), positions) * 100.0;
        format!("{share:.1}% on the hottest {percent}%")
    };
    let shares = words::list(&HOTTEST_PERCENT.map(share));
    format!("random I/Os skewed by {}:{}, {}: {shares}", skew.law.option(), skew.parameter, skew.placement())
}

/// Reads, writes and their content.
pub(super) fn mix(target: &WorkerTarget) -> String {
    let content = match target.content {
        Content::Ramp => "bytes 00..FF repeating".to_owned(),
        Content::Zero => "zeros".to_owned(),
        Content::Verified => "units that tell their place and write, otherwise random (--verify)".to_owned(),
        Content::RandomEach => "new random bytes each time".to_owned(),
        Content::Source => "segments of the write source buffer".to_owned(),
        Content::Reducible(reduction) => words::reducible(reduction),
    };
    let shares = target.shares();
    if target.changes_without_data() {
        // Relative to all I/Os, unlike -w.
        let part = |operation: Operation| {
            let percent = format!("{:.1}", 100.0 * shares.expected(operation));
            let percent = percent.trim_end_matches(".0");
            match operation {
                Operation::Write => format!("{percent}% writes of {content}"),
                _ => format!("{percent}% {}", operation.plural()),
            }
        };
        let done = Operation::ALL.into_iter().filter(|&operation| shares.does(operation));
        return words::list(&done.map(part).collect::<Vec<_>>());
    }
    match target.write_percent {
        0 => "reads".to_owned(),
        100.. => format!("writes of {content}"),
        percent => format!("{percent}% writes of {content}"),
    }
}

/// The same pace for all threads of an open loop, which start their I/Os in turn.
pub(super) const fn without_phase(pace: Pace) -> Pace {
    match pace {
        Pace::Rate { interval_numerator, denominator, .. } => {
            Pace::Rate { first_numerator: 0, interval_numerator, denominator }
        }
        Pace::Varying { curve, every, is_poisson, .. } => Pace::Varying { curve, first: 0, every, is_poisson },
        _ => pace,
    }
}

/// A rate that varies over time.
fn varying(curve: RateCurve, is_poisson: bool) -> String {
    match curve {
        RateCurve::Ramp { from_iops, to_iops, .. } => {
            let process = if is_poisson { "as a Poisson process" } else { "evenly spaced" };
            format!(
                "open loop: from {from_iops} to {} per second over the measurement, all threads together, \
                 {process}",
                counted(to_iops, "I/O")
            )
        }
        RateCurve::Bursts { iops, bursts, .. } => {
            let (on, off) = bursts.factors();
            let rate = |factor: f64| factor * f64::from(iops);
            let process = RateProcess::Bursts(bursts);
            format!(
                "open loop: {} per second on average, {:.2} in bursts and {:.2} between them ({process}), all \
                 threads together",
                counted(iops, "I/O"),
                rate(on),
                rate(off)
            )
        }
    }
}

/// The rate, if there is one.
pub(super) fn pace(target: &WorkerTarget) -> Option<String> {
    if let Some(rate) =
        target.sizes.as_ref().and_then(|sizes| sizes.bytes_per_ms).filter(|_| !target.pace.is_open_loop())
    {
        return Some(format!("at most {} per millisecond per thread", counted(rate, "byte")));
    }
    match &target.pace {
        Pace::Unlimited => None,
        Pace::Recorded { closed: false } => Some("open loop: at the times of the trace".to_owned()),
        Pace::Recorded { closed: true } => Some("in the order of the trace, as fast as the depth allows".to_owned()),
        Pace::Throughput { interval_numerator, interval_denominator } => {
            let iops = *interval_denominator as f64 * 1e9 / *interval_numerator as f64;
            Some(format!("at most {iops:.2} I/Os per second per thread"))
        }
        Pace::Rate { interval_numerator, denominator, .. } => {
            let iops = *denominator as f64 * 1e9 / *interval_numerator as f64;
            Some(format!("open loop: {iops:.2} I/Os per second per thread, evenly spaced"))
        }
        Pace::Poisson { mean_numerator, mean_denominator } => {
            let iops = *mean_denominator as f64 * 1e9 / *mean_numerator as f64;
            Some(format!("open loop: {iops:.2} I/Os per second per thread, as a Poisson process"))
        }
        Pace::Varying { curve, is_poisson, .. } => Some(varying(*curve, *is_poisson)),
        Pace::Burst { ios, pause_ns } => {
            Some(format!("bursts of {} per thread, {} ms apart", counted(*ios, "I/O"), pause_ns / 1_000_000))
        }
    }
}
