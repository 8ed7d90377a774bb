//! Offsets, rates and content in words.

use crate::words;
use hot::skew::{HOTTEST_PERCENT, Law, hottest};
use model::operation::Operation;
use model::plan::{Area, Content, Pace, Pattern, WorkerTarget};
use model::profile::Skew;

/// Where the I/Os of a thread fall, without its own start.
pub(super) fn pattern(target: &WorkerTarget) -> String {
    let between = |area: &Area| {
        let end = area.base_bytes + area.size_bytes;
        format!("in [{}, {})", words::offset(area.base_bytes), words::exact(end))
    };
    let step = |area: &Area| words::exact(area.alignment_bytes);
    let (area, text) = match &target.pattern {
        Pattern::Sequential { area, .. } => (area, format!("sequential, stride {}", step(area))),
        Pattern::Parallel { area, .. } => {
            (area, format!("sequential, separate position for each request, stride {}", step(area)))
        }
        Pattern::Interlocked { area, .. } => {
            (area, format!("sequential, one position shared by all threads, stride {}", step(area)))
        }
        Pattern::Random { area, .. } => (area, format!("random, multiples of {}", step(area))),
        Pattern::Mixed { area, random_percent, .. } => {
            (area, format!("{random_percent}% random, the rest sequential, stride {}", step(area)))
        }
    };
    format!("{text}, {}: {}", between(area), words::count(area.positions, "position"))
}

/// The thread's own first offset, if its pattern has one.
pub(super) const fn start_bytes(pattern: &Pattern) -> Option<u64> {
    match pattern {
        Pattern::Sequential { start_bytes, .. } | Pattern::Parallel { start_bytes, .. } => Some(*start_bytes),
        Pattern::Interlocked { .. } | Pattern::Random { .. } | Pattern::Mixed { .. } => None,
    }
}

/// The same pattern with its start at 0: what threads that differ in nothing else share.
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

/// The law and what it means here.
fn skew(skew: Skew, positions: u64) -> String {
    let law = Law::from(skew);
    let share = |percent| {
        let share = law.share_of_hottest(hottest(percent, positions), positions) * 100.0;
        format!("{share:.1}% on the hottest {percent}%")
    };
    let shares = words::list(&HOTTEST_PERCENT.map(share));
    format!("random I/Os skewed by {}:{}, {}: {shares}", skew.law.option(), skew.parameter, skew.placement())
}

/// Reads, writes and what is written.
pub(super) fn mix(target: &WorkerTarget) -> String {
    let content = match target.content {
        Content::Ramp => "bytes 00..FF repeating",
        Content::Zero => "zeros",
        Content::RandomEach => "new random bytes each time",
        Content::Source => "segments of the write source buffer",
    };
    let shares = target.shares();
    if target.changes_without_data() {
        // Of all I/Os, which -w is not.
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

/// The pace that threads share which take turns in an open loop.
pub(super) const fn without_phase(pace: Pace) -> Pace {
    match pace {
        Pace::Rate { interval_numerator, denominator, .. } => {
            Pace::Rate { first_numerator: 0, interval_numerator, denominator }
        }
        _ => pace,
    }
}

/// The rate, if there is one.
pub(super) fn pace(pace: &Pace) -> Option<String> {
    match pace {
        Pace::Unlimited => None,
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
        Pace::Burst { ios, pause_ns } => Some(format!(
            "bursts of {} per thread, {} ms apart",
            words::count(u64::from(*ios), "I/O"),
            pause_ns / 1_000_000
        )),
    }
}
