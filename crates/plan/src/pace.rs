//! Pace of I/Os: `-g`, `-i`, `-j`, `--rate`.

use model::plan::{Pace, RateCurve};
use model::profile::{OfferedRate, RateProcess, Target, Throughput, TimeSpan};

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// One of the rows (threads times their targets) that share the rate of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Index, from 0.
    pub(crate) row: u32,
    pub(crate) rows: u32,
}

/// The pace of one thread on one target.
///
/// A rate is kept as an exact fraction of nanoseconds per I/O, where `DiskSpd` rounds an IOPS
/// limit down to whole bytes per millisecond (and to none at all, if it is small).
pub(crate) fn pace(time_span: &TimeSpan, target: &Target, share: Share) -> Pace {
    if let Some(replay) = &time_span.replay {
        return Pace::Recorded { closed: replay.closed };
    }
    if let Some(rate) = time_span.rate_iops {
        return open_loop(time_span, rate, share);
    }
    match target.throughput {
        Throughput::BytesPerMs(rate) if rate > 0 => {
            // Both factors are below 2^32 in a valid profile.
            every(target.largest_io_bytes().saturating_mul(NS_PER_MS), u64::from(rate))
        }
        Throughput::Iops(rate) if rate > 0 => every(NS_PER_S, u64::from(rate)),
        _ => time_span
            .burst_on(target)
            .map_or(Pace::Unlimited, |(ios, pause_ms)| Pace::Burst { ios, pause_ns: u64::from(pause_ms) * NS_PER_MS }),
    }
}

/// True if the target has both a rate and bursts: the rate is used.
pub(crate) fn ignores_bursts(target: &Target) -> bool {
    target.throughput != Throughput::Unlimited && (target.burst_ios.is_some() || target.think_time_ms.is_some())
}

/// Of all intended starts, one every 1 / `rate` seconds, a row makes every `rows`-th: so rows, and with them threads,
/// are out of phase. The first is due one such distance after the start of load.
fn open_loop(time_span: &TimeSpan, rate: OfferedRate, Share { row, rows }: Share) -> Pace {
    let process = time_span.rate_process.unwrap_or_default();
    let before_ns = u64::from(time_span.warm_up_s) * NS_PER_S;
    let over_ns = u64::from(time_span.duration_s.max(1)) * NS_PER_S;
    let varying = |curve| Pace::Varying {
        curve,
        first: row.saturating_add(1),
        every: rows,
        is_poisson: process == RateProcess::Poisson,
    };
    // Both factors are below 2^32.
    let interval_numerator = u64::from(rows).saturating_mul(NS_PER_S);
    match (rate, process) {
        (OfferedRate::Ramp { from_iops, to_iops }, _) => {
            let (from_iops, to_iops) = (from_iops.max(1), to_iops.max(1));
            varying(RateCurve::Ramp { from_iops, to_iops, before_ns, over_ns })
        }
        (OfferedRate::Steady(iops), RateProcess::Bursts(bursts)) => {
            varying(RateCurve::Bursts { iops: iops.max(1), bursts, before_ns })
        }
        (OfferedRate::Steady(iops), RateProcess::Constant | RateProcess::Trace) => Pace::Rate {
            first_numerator: (u64::from(row) + 1).saturating_mul(NS_PER_S),
            interval_numerator,
            denominator: u64::from(iops.max(1)),
        },
        (OfferedRate::Steady(iops), RateProcess::Poisson) => {
            Pace::Poisson { mean_numerator: interval_numerator, mean_denominator: u64::from(iops.max(1)) }
        }
    }
}

fn every(numerator: u64, denominator: u64) -> Pace {
    let divisor = greatest_common_divisor(numerator, denominator);
    Pace::Throughput { interval_numerator: numerator / divisor, interval_denominator: denominator / divisor }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::ThreadTarget;
    use model::units::Bytes;

    const ALONE: Share = Share { row: 0, rows: 1 };

    fn target(throughput: Throughput, block: u64) -> Target {
        let mut target = Target::new("a");
        target.throughput = throughput;
        target.block_size = Bytes(block);
        target
    }

    /// I/Os that are due within `ms` milliseconds.
    fn ios_in(pace: Pace, ms: u64) -> u64 {
        let Pace::Throughput { interval_numerator, interval_denominator } = pace else { panic!("{pace:?}") };
        (u128::from(ms) * 1_000_000 * u128::from(interval_denominator) / u128::from(interval_numerator)) as u64
    }

    #[test]
    fn both_units_of_a_rate_are_exact() {
        let time_span = TimeSpan::default();
        let pace_of = |throughput, block| pace(&time_span, &target(throughput, block), ALONE);
        // 80 bytes per millisecond at 4 KiB: 80,000 / 4096 = 19.53 I/Os per second.
        assert_eq!(ios_in(pace_of(Throughput::BytesPerMs(80), 4096), 10_000), 195);
        // 10 I/Os per second, where DiskSpd's 1310 bytes per millisecond give 9.99 at 128 KiB.
        assert_eq!(ios_in(pace_of(Throughput::Iops(10), 131_072), 1_000_000), 10_000);
        // 1 I/O per second of 512 bytes is unlimited in DiskSpd.
        assert_eq!(ios_in(pace_of(Throughput::Iops(1), 512), 5_000), 5);
        // 100,000 I/Os per second at 64 KiB wraps in DiskSpd.
        assert_eq!(ios_in(pace_of(Throughput::Iops(100_000), 65_536), 1_000), 100_000);
        assert_eq!(
            pace_of(Throughput::Iops(3), 512),
            Pace::Throughput { interval_numerator: 1_000_000_000, interval_denominator: 3 }
        );
        assert_eq!(pace_of(Throughput::BytesPerMs(0), 512), Pace::Unlimited);
    }

    #[test]
    fn the_largest_rates_and_blocks_do_not_overflow() {
        let pace = pace(&TimeSpan::default(), &target(Throughput::BytesPerMs(1), 0xFFFF_FFFE), ALONE);
        assert_eq!(pace, Pace::Throughput { interval_numerator: 0xFFFF_FFFE * 1_000_000, interval_denominator: 1 });
    }

    #[test]
    fn a_burst_is_divided_among_the_threads_of_its_target() {
        let mut target = Target::new("a");
        target.burst_ios = Some(10);
        target.think_time_ms = Some(7);
        target.threads = 4;
        let burst = |ios| Pace::Burst { ios, pause_ns: 7_000_000 };
        assert_eq!(pace(&TimeSpan::default(), &target, ALONE), burst(2));
        let pool = TimeSpan { thread_count: 20, ..TimeSpan::default() };
        assert_eq!(pace(&pool, &target, ALONE), burst(1), "a share of nothing acts like one I/O");
        target.thread_targets = vec![ThreadTarget { thread: 0, weight: 0 }, ThreadTarget { thread: 5, weight: 0 }];
        assert_eq!(pace(&pool, &target, ALONE), burst(5));
        target.throughput = Throughput::Iops(1);
        assert!(matches!(pace(&pool, &target, ALONE), Pace::Throughput { .. }));
        assert!(ignores_bursts(&target));
    }

    #[test]
    fn rows_of_an_open_loop_divide_its_rate_and_take_turns() {
        let span = TimeSpan { rate_iops: Some(OfferedRate::Steady(7)), ..TimeSpan::default() };
        let mut starts = Vec::new();
        for row in 0..3 {
            let pace = pace(&span, &target(Throughput::Unlimited, 512), Share { row, rows: 3 });
            let Pace::Rate { first_numerator, interval_numerator, denominator } = pace else { panic!("{pace:?}") };
            starts.extend((0..100).map(|k| (first_numerator + k * interval_numerator) / denominator));
        }
        starts.sort_unstable();
        let even: Vec<u64> = (1..=300).map(|k| k * NS_PER_S / 7).collect();
        assert_eq!(starts, even);
        let poisson = TimeSpan { rate_process: Some(RateProcess::Poisson), ..span };
        assert_eq!(
            pace(&poisson, &target(Throughput::Unlimited, 512), Share { row: 1, rows: 3 }),
            Pace::Poisson { mean_numerator: 3 * NS_PER_S, mean_denominator: 7 }
        );
    }

    #[test]
    fn rates_that_vary_do_so_in_the_measured_time() {
        let span = TimeSpan { warm_up_s: 3, duration_s: 20, ..TimeSpan::default() };
        let pace_of = |rate: &str, process: &str| {
            let (rate_iops, rate_process) = (OfferedRate::parse(rate).ok(), RateProcess::parse(process).ok());
            let span = TimeSpan { rate_iops, rate_process, ..span.clone() };
            pace(&span, &target(Throughput::Unlimited, 512), Share { row: 1, rows: 3 })
        };
        let (before_ns, over_ns) = (3 * NS_PER_S, 20 * NS_PER_S);
        let curve = RateCurve::Ramp { from_iops: 10, to_iops: 50, before_ns, over_ns };
        assert_eq!(pace_of("10..50", "constant"), Pace::Varying { curve, first: 2, every: 3, is_poisson: false });
        assert_eq!(pace_of("10..50", "poisson"), Pace::Varying { curve, first: 2, every: 3, is_poisson: true });
        let Ok(RateProcess::Bursts(bursts)) = RateProcess::parse("bursts:1s,2s,2") else { panic!("bursts") };
        let curve = RateCurve::Bursts { iops: 7, bursts, before_ns };
        assert_eq!(pace_of("7", "bursts:1s,2s,2"), Pace::Varying { curve, first: 2, every: 3, is_poisson: false });
    }
}
