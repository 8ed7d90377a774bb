//! Stalls that come back after the same time: a quota, a timer, a commit.
//!
//! Stalls of a part of a second are seen in the series: gaps between them that hardly vary. Shorter ones are seen in the
//! slowest I/Os, of which a result holds but some: all their times lie at the same phase of the period, which the
//! Rayleigh periodogram of the times shows (Brazier, Confidence intervals from the Rayleigh test, MNRAS 268, 1994).

use super::brief::{UsualLevel, ranges};
use crate::sample::{mean, moments};
use model::change::PeriodicStalls;
use model::record::SlowIo;
use std::cmp::Reverse;
use std::f64::consts::TAU;

/// Stalls that a period needs in the series ...
const STALLS_MIN: usize = 8;
/// ... with gaps that vary by this share at most: eight stalls at random times do so once in 20,000 times.
const GAP_VARIATION_MAX: f64 = 0.15;
/// Stalls that the slowest I/Os must show.
const SLOW_STALLS_MIN: usize = 16;
/// A slow I/O is a stall if it took this many times the mean ...
const SLOW_FACTOR: f64 = 3.0;
/// ... and this long.
const STALL_MIN_NS: f64 = 2e6;
/// The shortest period that is sought in slow I/Os.
const PERIOD_MIN_NS: f64 = 20e6;
/// Most frequencies that are tested: in a long run short periods are not sought.
const FREQUENCIES_MAX: f64 = 50_000.0;
/// Most slow I/Os that are used, the slowest.
const SLOW_MAX: usize = 200;
/// The longest, as a share of the measurement.
const PERIOD_MAX_SHARE: f64 = 1.0 / 16.0;
/// Chance that stalls at random times seem to have a period.
const SIGNIFICANCE: f64 = 1e-4;
/// How much of the largest power a longer period needs to be taken instead: half a period has as much power.
const LONGER_SHARE: f64 = 0.8;
/// Mean share of the stalls that are in phase.
const IN_PHASE_MIN: f64 = 0.5;

/// Seen in the I/Os of each cell.
pub(super) fn of_cells(ios: &[f64], cell_ns: u64) -> Option<PeriodicStalls> {
    let usual = UsualLevel::from_cells(ios)?;
    let stalls = ranges(ios, |cell| usual.is_below(cell));
    if stalls.len() < STALLS_MIN {
        return None;
    }
    let gaps: Vec<f64> = stalls.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64).collect();
    let (gap, deviation) = moments(&gaps);
    // A cell counts as stalled as far as it lacks I/Os; stalls begin and end in the cells beside those that stand out.
    let length = |&(begin, end): &(usize, usize)| {
        let cells = &ios[begin.saturating_sub(1)..ios.len().min(end + 1)];
        cells.iter().map(|cell| 1.0 - cell / usual.median).sum()
    };
    let lengths: Vec<f64> = stalls.iter().map(length).collect();
    (deviation <= GAP_VARIATION_MAX * gap).then(|| PeriodicStalls {
        period_ns: (gap * cell_ns as f64) as u64,
        length_ns: (mean(&lengths) * cell_ns as f64) as u64,
        count: stalls.len() as u32,
    })
}

/// Seen in the slowest I/Os of a measurement with this mean latency and duration.
pub(super) fn of_slowest(slowest: &[SlowIo], mean_ns: f64, elapsed_ns: f64) -> Option<PeriodicStalls> {
    let is_stall = |io: &&SlowIo| io.latency_ns as f64 >= (SLOW_FACTOR * mean_ns).max(STALL_MIN_NS);
    let mut stalled: Vec<&SlowIo> = slowest.iter().filter(is_stall).collect();
    stalled.sort_by_key(|io| (Reverse(io.latency_ns), io.ended_at_ns));
    stalled.truncate(SLOW_MAX);
    // They are in the order of their length.
    let length_ns = stalled.get(stalled.len() / 2)?.latency_ns as f64;
    let times = times(&stalled, length_ns);
    let count = times.len() as f64;
    let shortest = PERIOD_MIN_NS.max(2.0 * length_ns).max(4.0 * elapsed_ns / FREQUENCIES_MAX);
    let longest = elapsed_ns * PERIOD_MAX_SHARE;
    if times.len() < SLOW_STALLS_MIN || shortest >= longest {
        return None;
    }
    // Frequencies are independent at a distance of one per measurement; a quarter of it misses no peak.
    let steps = ((1.0 / shortest - 1.0 / longest) * elapsed_ns * 4.0).ceil() as usize;
    let frequency = |step: usize| 1.0 / longest + step as f64 / (4.0 * elapsed_ns);
    let powers = powers(&times, frequency(0), 1.0 / (4.0 * elapsed_ns), steps + 1);
    let largest = powers.iter().copied().fold(0.0, f64::max);
    let limit = (steps as f64 / SIGNIFICANCE).ln();
    if largest < limit || largest < IN_PHASE_MIN * IN_PHASE_MIN * count {
        return None;
    }
    let first = powers.iter().position(|power| *power >= (LONGER_SHARE * largest).max(limit))?;
    // The peak that begins there.
    let peak = (first..powers.len().min(first + 5)).max_by(|&a, &b| powers[a].total_cmp(&powers[b]))?;
    Some(PeriodicStalls {
        period_ns: (1.0 / frequency(peak)) as u64,
        length_ns: length_ns as u64,
        count: times.len() as u32,
    })
}

/// When stalls ended: I/Os that a stall held up complete together.
fn times(stalled: &[&SlowIo], length_ns: f64) -> Vec<f64> {
    let mut ends: Vec<f64> = stalled.iter().map(|io| io.ended_at_ns as f64).collect();
    ends.sort_by(f64::total_cmp);
    let mut times: Vec<f64> = Vec::new();
    let mut last = f64::NEG_INFINITY;
    for end in ends {
        if end - last > length_ns / 2.0 {
            times.push(end);
        }
        last = end;
    }
    times
}

/// The power at each of `count` frequencies from `first` on, `step` apart: 1 on average where times are at random, their
/// number where all are in phase.
///
/// From one frequency to the next the phase of each time advances by the same angle: a rotation, much faster than sines.
fn powers(times: &[f64], first: f64, step: f64, count: usize) -> Vec<f64> {
    let sines = |frequency: f64| times.iter().map(move |time| (TAU * (time * frequency).fract()).sin_cos());
    let mut phases: Vec<((f64, f64), (f64, f64))> = sines(first).zip(sines(step)).collect();
    let mut next = || {
        let (mut sines, mut cosines) = (0.0, 0.0);
        for ((sine, cosine), (by_sine, by_cosine)) in &mut phases {
            sines += *sine;
            cosines += *cosine;
            (*sine, *cosine) = (*sine * *by_cosine + *cosine * *by_sine, *cosine * *by_cosine - *sine * *by_sine);
        }
        (sines * sines + cosines * cosines) / times.len() as f64
    };
    (0..count).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Source, coverage_percent, exponential, normal, uniform};
    use hot::rng::Rng;

    const CELL_NS: u64 = 100_000_000;
    const MINUTE_NS: f64 = 60e9;
    /// Slow I/Os that a result has.
    const KEPT_MAX: usize = 100;

    /// One request at a time, 200 µs each, on a device that stands still for 20 ms at the end of every 100 ms.
    fn with_a_quota(rng: &mut Rng) -> (Vec<SlowIo>, f64) {
        let (period, busy) = (100e6, 80e6);
        let (mut now, mut slowest, mut sum, mut count) = (0.0, Vec::with_capacity(2 * KEPT_MAX), 0.0, 0.0);
        while now < MINUTE_NS {
            let mut end: f64 = now + 200e3 * exponential(rng);
            if end % period > busy {
                end = (end / period).ceil() * period + 20e3 * exponential(rng);
            }
            slowest.push(slow(end, end - now));
            if slowest.len() == 2 * KEPT_MAX {
                slowest = kept(slowest);
            }
            sum += end - now;
            count += 1.0;
            now = end;
        }
        (kept(slowest), sum / count)
    }

    fn slow(end: f64, latency: f64) -> SlowIo {
        SlowIo { ended_at_ns: end as u64, latency_ns: latency as u64, ..SlowIo::default() }
    }

    fn kept(mut slowest: Vec<SlowIo>) -> Vec<SlowIo> {
        slowest.sort_by_key(|io| std::cmp::Reverse(io.latency_ns));
        slowest.truncate(KEPT_MAX);
        slowest
    }

    #[test]
    fn a_quota_has_its_period_and_length() {
        let percent = coverage_percent(50, |rng| {
            let (slowest, mean_ns) = with_a_quota(rng);
            let found = of_slowest(&slowest, mean_ns, MINUTE_NS);
            found.is_some_and(|found| {
                (99_500_000..100_500_000).contains(&found.period_ns) && (19e6..23e6).contains(&(found.length_ns as f64))
            })
        });
        assert!(percent >= 98.0, "{percent} %");
    }

    #[test]
    fn slow_ios_at_random_times_have_no_period() {
        let alarms = coverage_percent(500, |rng| {
            let slow = |_| slow(uniform(rng) * MINUTE_NS, 20e6 * (1.0 + exponential(rng)));
            let slowest: Vec<SlowIo> = (0..100).map(slow).collect();
            of_slowest(&slowest, 1e6, MINUTE_NS).is_some()
        });
        assert!(alarms <= 0.2, "{alarms} %");
    }

    #[test]
    fn powers_are_those_of_the_periodogram() {
        let mut rng = Rng::new(8);
        let times: Vec<f64> = (0..SLOW_MAX).map(|_| uniform(&mut rng) * MINUTE_NS).collect();
        let (first, step, count) = (1e-9, 0.25 / MINUTE_NS, FREQUENCIES_MAX as usize);
        let powers = powers(&times, first, step, count);
        for index in [0, 1, 100, count / 2, count - 1] {
            let phase = |time: &f64| TAU * (time * (first + index as f64 * step)).fract();
            let sum = |of: fn(f64) -> f64| times.iter().map(|time| of(phase(time))).sum::<f64>();
            let expected = (sum(f64::sin).powi(2) + sum(f64::cos).powi(2)) / times.len() as f64;
            assert!((powers[index] - expected).abs() < 1e-6, "{index}: {} for {expected}", powers[index]);
        }
    }

    #[test]
    fn stalls_of_the_series_are_found_if_they_are_regular() {
        let dips = |jitter: f64, rng: &mut Rng| {
            let mut cells: Vec<f64> = (0..600).map(|_| 1000.0 + 30.0 * normal(rng)).collect();
            for stall in 0..12 {
                let at = (10.0 + 48.0 * f64::from(stall) + jitter * normal(rng)).clamp(0.0, 596.0) as usize;
                cells[at..at + 3].fill(100.0);
            }
            cells
        };
        let mut rng = Rng::new(5);
        let found = of_cells(&dips(0.5, &mut rng), CELL_NS).expect("regular");
        assert!((4_700_000_000..4_900_000_000).contains(&found.period_ns), "{found:?}");
        assert!((250_000_000..290_000_000).contains(&found.length_ns) && found.count == 12, "{found:?}");
        assert_eq!(of_cells(&dips(40.0, &mut rng), CELL_NS), None);
    }

    #[test]
    fn steady_series_have_none() {
        for source in Source::STATIONARY {
            let alarms = coverage_percent(1000, |rng| of_cells(&source.series(600, rng), CELL_NS).is_some());
            assert!(alarms <= 1.0, "{source:?}: {alarms} %");
        }
    }
}
