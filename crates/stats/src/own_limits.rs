//! Limits that a load sets itself (`-g`, `--rate`, `-i` and `-j`), and a check if they decided its I/Os per second.

use model::profile::{Target, Throughput, TimeSpan};
use model::result::{LoadLoop, Measured, RunResult};
use std::ops::RangeInclusive;

/// Share of a rate within which it counts as kept. A thread that does more catches up: the storage held it back before.
const KEPT: RangeInclusive<f64> = 0.98..=1.02;
/// The same of bursts, each of which is late by the time that it takes to issue the one before and to wake up.
const BURSTS_KEPT: RangeInclusive<f64> = 0.9..=1.02;

/// A limit that a load sets itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnLimit {
    /// The rate of an open loop.
    Rate,
    /// I/Os or bytes per second of each thread on a target.
    Throughput,
    /// Bursts and pauses.
    Bursts,
}

impl OwnLimit {
    /// The options that set it.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Rate => "--rate",
            Self::Throughput => "-g",
            Self::Bursts => "-i, -j",
        }
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReachedLimit {
    /// The limit.
    pub limit: OwnLimit,
    /// Rate as a share of the limit, at most 1: of the thread that did least.
    pub share: f64,
}

/// Of each target that was used: its own limit, if all threads on it reached it.
pub fn reached_limits(span: &TimeSpan, measured: &Measured) -> Vec<Option<ReachedLimit>> {
    let is_used = |index: usize| measured.rows.iter().any(|row| row.target == index);
    let used = span.targets.iter().enumerate().filter(|(index, _)| is_used(*index));
    match &measured.load_loop {
        Some(LoadLoop::Open(open)) => {
            let other_ios: u64 = measured.operations.iter().map(|of| of.figures.ios).sum();
            let done = measured.total.total.ios.saturating_add(other_ios) as f64;
            let share = kept_share(done, open.intended_starts as f64, 1.0, &KEPT);
            used.map(|_| Some(ReachedLimit { limit: OwnLimit::Rate, share: share? })).collect()
        }
        _ => used.map(|(index, target)| reached_limit(span, measured, index, target)).collect(),
    }
}

/// True if the load reached a limit of its own on every target: its I/Os and bytes per second show nothing of the
/// storage.
pub fn is_rate_limited(span: &TimeSpan, measured: &Measured) -> bool {
    let limits = reached_limits(span, measured);
    !limits.is_empty() && limits.iter().all(Option::is_some)
}

/// The same of the first timespan of a run.
pub(crate) fn is_run_rate_limited(run: &RunResult) -> bool {
    let measured = run.time_spans.first().and_then(|span_result| span_result.measured.as_ref());
    run.profile.time_spans.first().zip(measured).is_some_and(|(span, measured)| is_rate_limited(span, measured))
}

fn reached_limit(span: &TimeSpan, measured: &Measured, index: usize, target: &Target) -> Option<ReachedLimit> {
    let (limit, per_s, step, kept) = match target.throughput {
        Throughput::BytesPerMs(bytes @ 1..) => {
            (OwnLimit::Throughput, f64::from(bytes) * 1e3, target.largest_io_bytes() as f64, &KEPT)
        }
        Throughput::Iops(iops @ 1..) => (OwnLimit::Throughput, f64::from(iops), 1.0, &KEPT),
        _ => {
            let (ios, pause_ms) = span.burst_on(target)?;
            (OwnLimit::Bursts, f64::from(ios) * 1e3 / f64::from(pause_ms), f64::from(ios), &BURSTS_KEPT)
        }
    };
    let elapsed_s = measured.elapsed_ns as f64 / 1e9;
    let mut least = 1.0_f64;
    for row in measured.rows.iter().filter(|row| row.target == index) {
        // Hosts of one load measure for times of their own, which their rows' rates are of.
        let total = &row.figures.total;
        let is_bytes = matches!(target.throughput, Throughput::BytesPerMs(1..));
        let done_per_s = if is_bytes { total.bytes_per_s } else { total.iops };
        least = least.min(kept_share(done_per_s * elapsed_s, per_s * elapsed_s, step, kept)?);
    }
    Some(ReachedLimit { limit, share: least })
}

/// The rate as a share of the requested one, at most 1; `None` if it is not within `kept`, give or take one step of the
/// schedule at either end of the measurement.
fn kept_share(done: f64, asked: f64, step: f64, kept: &RangeInclusive<f64>) -> Option<f64> {
    let is_kept = done > 0.0 && done + step >= kept.start() * asked && done - step <= kept.end() * asked;
    is_kept.then(|| (done / asked).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::{Directions, Figures};
    use model::result::{OpenLoop, Row};
    use model::units::Bytes;

    /// 10 s in which each thread on each target did this many I/Os of 4 KiB per second.
    fn measured(threads: &[(usize, f64)]) -> Measured {
        let figures =
            |iops: f64| Figures { ios: (iops * 10.0) as u64, iops, bytes_per_s: iops * 4096.0, ..Figures::default() };
        let row = |&(target, iops): &(usize, f64)| Row {
            target,
            figures: Directions { total: figures(iops), ..Directions::default() },
            ..Row::default()
        };
        let total = figures(threads.iter().map(|(_, iops)| iops).sum());
        Measured {
            elapsed_ns: 10_000_000_000,
            rows: threads.iter().map(row).collect(),
            total: Directions { total, ..Directions::default() },
            ..Measured::default()
        }
    }

    fn span(targets: &[Throughput]) -> TimeSpan {
        let target = |throughput: &Throughput| Target {
            throughput: *throughput,
            block_size: Bytes(4096),
            threads: 2,
            ..Target::new("a")
        };
        TimeSpan { targets: targets.iter().map(target).collect(), ..TimeSpan::default() }
    }

    fn limits(span: &TimeSpan, threads: &[(usize, f64)]) -> Vec<Option<(OwnLimit, f64)>> {
        let found = reached_limits(span, &measured(threads));
        found.into_iter().map(|found| found.map(|found| (found.limit, (found.share * 100.0).round()))).collect()
    }

    #[test]
    fn each_thread_must_keep_the_limit_of_its_target() {
        let hundred = span(&[Throughput::Iops(100)]);
        assert_eq!(limits(&hundred, &[(0, 99.0), (0, 100.0)]), [Some((OwnLimit::Throughput, 99.0))]);
        assert_eq!(limits(&hundred, &[(0, 97.0), (0, 100.0)]), [None], "the storage was slower");
        assert_eq!(limits(&hundred, &[(0, 104.0), (0, 100.0)]), [None], "it caught up");
        assert_eq!(limits(&hundred, &[(0, 0.0)]), [None]);
        let of_bytes = span(&[Throughput::BytesPerMs(4096)]);
        assert_eq!(limits(&of_bytes, &[(0, 1000.0)]), [Some((OwnLimit::Throughput, 100.0))]);
        assert_eq!(limits(&of_bytes, &[(0, 900.0)]), [None]);
        for none in [Throughput::Unlimited, Throughput::Iops(0), Throughput::BytesPerMs(0)] {
            assert_eq!(limits(&span(&[none]), &[(0, 100.0)]), [None]);
        }
        // 1 I/O in 10 s: the next one is due at the very end.
        let slow = measured(&[(0, 0.9)]);
        assert!(is_rate_limited(&span(&[Throughput::Iops(1)]), &slow));
    }

    #[test]
    fn a_load_is_limited_if_all_its_targets_are() {
        let mixed = span(&[Throughput::Iops(100), Throughput::Unlimited]);
        assert_eq!(limits(&mixed, &[(0, 100.0), (1, 100.0)]), [Some((OwnLimit::Throughput, 100.0)), None]);
        assert!(!is_rate_limited(&mixed, &measured(&[(0, 100.0), (1, 100.0)])));
        assert!(is_rate_limited(&mixed, &measured(&[(0, 100.0)])), "the other target has no thread");
        assert!(!is_rate_limited(&mixed, &measured(&[])));
    }

    #[test]
    fn bursts_are_kept_if_pauses_take_most_of_the_time() {
        let mut bursts = span(&[Throughput::Unlimited]);
        let target = &mut bursts.targets[0];
        // Each of 2 threads issues 5 I/Os per 10 ms.
        (target.burst_ios, target.think_time_ms) = (Some(10), Some(10));
        assert_eq!(limits(&bursts, &[(0, 460.0), (0, 500.0)]), [Some((OwnLimit::Bursts, 92.0))]);
        assert_eq!(limits(&bursts, &[(0, 440.0), (0, 500.0)]), [None]);
        bursts.targets[0].throughput = Throughput::Iops(300);
        assert_eq!(limits(&bursts, &[(0, 300.0)]), [Some((OwnLimit::Throughput, 100.0))], "-g wins");
    }

    #[test]
    fn an_open_loop_keeps_its_rate_if_it_completes_what_it_intends_to_start() {
        let mut kept = measured(&[(0, 100.0), (1, 80.0)]);
        let open =
            |intended_starts| Some(LoadLoop::Open(Box::new(OpenLoop { intended_starts, ..OpenLoop::default() })));
        let two = span(&[Throughput::Iops(7), Throughput::Unlimited]);
        kept.load_loop = open(1810);
        assert!(is_rate_limited(&two, &kept), "{:?}", reached_limits(&two, &kept));
        kept.load_loop = open(2000);
        assert!(!is_rate_limited(&two, &kept));
    }
}
