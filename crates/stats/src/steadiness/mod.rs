//! Steadiness of a run from its start to its end.
//!
//! A change counts if it is both large and significant: some difference is in every series, and a plain test of its
//! slope finds half of all series with dependent neighbours uneven (see the tests). So every test here takes its error
//! from batch means, with the remaining dependence on top.

mod brief;
mod change;
mod gaps;
mod levels;
pub(crate) mod pelt;
mod spectrum;
mod stalls;
mod trend;

pub(crate) use gaps::gaps;

use crate::sample::mean;
use model::change::{BriefChange, Level, PeriodicStalls};
use model::confidence::Steadiness;
use model::record::SlowIo;
use std::ops::Range;

/// Half a minute in cells of 100 ms: a shorter run may hold a single burst, which no test can distinguish from a
/// change.
const CELLS_MIN: usize = 300;

/// Cells that are averaged before anything else: MSER-5's five.
pub(crate) const FOLD: usize = 5;

/// Chance of a false alarm.
const SIGNIFICANCE: f64 = 0.001;

/// Five tests are made (levels, beginning, approach, line, end): for each the chance is a fifth.
const SIGNIFICANCE_EACH: f64 = SIGNIFICANCE / 5.0;

/// A drift from here on is large: its share of the mean.
const DRIFT_MIN: f64 = 0.05;

/// A cut is large if it is longer than this share of the run ...
const CUT_MIN: f64 = 0.10;

/// ... and moves the mean by this share.
const SHIFT_MIN: f64 = 0.02;

/// Judges a series of means over [`FOLD`] cells, in the order of time; `None` if it is too short.
pub(crate) fn judge(values: &[f64]) -> Option<Steadiness> {
    if values.len() < CELLS_MIN / FOLD || mean(values) <= 0.0 {
        return None;
    }
    if let Some(levels) = levels::levels(values).filter(|levels| !is_warm_up(levels)) {
        return Some(Steadiness::Levels { levels });
    }
    if let Some(beginning) = change::at_the_beginning(values) {
        return Some(Steadiness::ShortWarmUp { cut: beginning.share, shift: beginning.shift });
    }
    if let Some(trend) = trend::judge(values) {
        return Some(trend);
    }
    // A fall that comes late, as of a drive whose cache is full, is no line, but a drift nevertheless: the
    // same test from the end.
    let reversed: Vec<f64> = values.iter().rev().copied().collect();
    if let Some(end) = change::at_the_beginning(&reversed) {
        return Some(Steadiness::Drift { change: end.step });
    }
    Some(Steadiness::Steady)
}

/// True of a slow beginning: caches fill, CPUs speed up.
fn is_warm_up(levels: &[Level]) -> bool {
    matches!(levels, [first, second] if first.mean < second.mean && first.length <= 0.5)
}

/// The short parts that move the mean of the I/Os, and the cells that they hold.
pub(crate) fn brief_changes(ios: &[f64], cell_ns: u64) -> Vec<(Range<usize>, BriefChange)> {
    if ios.len() < CELLS_MIN { Vec::new() } else { brief::changes(ios, cell_ns) }
}

/// Data that [periodic stalls](PeriodicStalls) are sought in.
pub(crate) struct StallSources<'a> {
    /// I/Os of each cell.
    pub(crate) ios: &'a [f64],
    pub(crate) cell_ns: u64,
    pub(crate) slowest: &'a [SlowIo],
    /// `None` = not measured.
    pub(crate) latency_mean_ns: Option<f64>,
}

/// Stalls that recur at regular intervals.
pub(crate) fn periodic_stalls(sources: &StallSources<'_>) -> Option<PeriodicStalls> {
    let StallSources { ios, cell_ns, slowest, latency_mean_ns } = *sources;
    let elapsed_ns = ios.len() as f64 * cell_ns as f64;
    if ios.len() < CELLS_MIN {
        return None;
    }
    let of_slowest = || stalls::of_slowest(slowest, latency_mean_ns?, elapsed_ns);
    stalls::of_cells(ios, cell_ns).or_else(|| spectrum::stalls(ios, cell_ns)).or_else(of_slowest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Source, coverage_percent};
    use hot::rng::Rng;

    const MINUTE: usize = 600;

    /// A minute of a source, made unsteady by a factor that depends on the time from 0 to 1.
    fn minute(source: Source, rng: &mut Rng, factor: impl Fn(f64) -> f64) -> Vec<f64> {
        let cells = source.series(MINUTE, rng).into_iter().enumerate();
        let cells: Vec<f64> = cells.map(|(index, value)| value * factor(index as f64 / MINUTE as f64)).collect();
        cells.chunks_exact(FOLD).map(mean).collect()
    }

    fn is_fall(steadiness: &Steadiness) -> bool {
        matches!(steadiness, Steadiness::Levels { levels } if levels.len() == 2 && levels[0].mean > levels[1].mean)
    }

    fn percent_of(source: Source, factor: impl Fn(f64) -> f64, is: impl Fn(&Steadiness) -> bool) -> f64 {
        coverage_percent(400, |rng| is(&judge(&minute(source, rng, &factor)).expect("a minute")))
    }

    fn is_drift(steadiness: &Steadiness) -> bool {
        matches!(steadiness, Steadiness::Drift { .. })
    }

    fn is_short_warm_up(steadiness: &Steadiness) -> bool {
        matches!(steadiness, Steadiness::ShortWarmUp { .. })
    }

    #[test]
    fn what_is_alike_from_start_to_end_raises_no_alarm() {
        for source in Source::STATIONARY {
            let alarms = coverage_percent(2500, |rng| judge(&minute(source, rng, |_| 1.0)) != Some(Steadiness::Steady));
            assert!(alarms <= 0.7, "{source:?}: {alarms} % false alarms");
        }
    }

    /// Why the plain test does not suffice: at 5 % it should raise 5 alarms in 100.
    #[test]
    fn a_plain_test_of_the_slope_raises_alarms_on_half_of_what_is_steady() {
        let alarms = coverage_percent(400, |rng| {
            let values = Source::AUTOREGRESSIVE_90.series(MINUTE, rng);
            trend::plain_standard_errors(&values) > 1.96
        });
        assert!(alarms > 40.0, "{alarms} %");
    }

    #[test]
    fn a_drift_is_seen() {
        let rising = |time: f64| 0.85 + 0.3 * time;
        let percent = percent_of(Source::AUTOREGRESSIVE_50, rising, is_drift);
        assert!(percent > 90.0, "{percent} %");
        // The rate falls to 70 % when 7 tenths, or 85 hundredths, of the run are over.
        for end in [0.7, 0.85] {
            let falling = |time: f64| if time < end { 1.0 } else { 0.7 };
            let is_found = |steadiness: &Steadiness| is_fall(steadiness) || is_drift(steadiness);
            assert!(percent_of(Source::AUTOREGRESSIVE_50, falling, is_found) > 85.0, "{end}");
            assert!(percent_of(Source::AUTOREGRESSIVE_50, falling, is_fall) > 80.0, "{end}");
        }
    }

    #[test]
    fn a_warm_up_is_seen() {
        let slow_fifth = |time: f64| if time < 0.2 { 0.5 } else { 1.0 };
        assert!(percent_of(Source::AUTOREGRESSIVE_50, slow_fifth, is_short_warm_up) > 90.0);
        let fast_fifth = |time: f64| if time < 0.2 { 1.5 } else { 1.0 };
        assert!(percent_of(Source::AUTOREGRESSIVE_50, fast_fifth, is_fall) > 90.0);
        // Twice as fast at first, then nearer and nearer to the rate that stays.
        let fading = |time: f64| 1.0 + (-time / 0.1).exp();
        assert!(percent_of(Source::INDEPENDENT, fading, is_short_warm_up) > 50.0);
        assert!(percent_of(Source::AUTOREGRESSIVE_50, fading, is_short_warm_up) > 60.0);
    }

    #[test]
    fn what_is_significant_but_small_is_no_finding() {
        // Without noise everything is significant.
        let values = |factor: fn(f64) -> f64| -> Vec<f64> {
            (0..120).map(|index| factor(f64::from(index) / 120.0) + f64::from(index % 2) * 1e-6).collect()
        };
        assert_eq!(judge(&values(|time| 1.0 + 0.04 * time)), Some(Steadiness::Steady), "a drift of 4 %");
        assert!(
            matches!(judge(&values(|time| 1.0 + 0.08 * time)), Some(Steadiness::Drift { change }) if (change - 0.077).abs() < 0.002)
        );
        assert_eq!(judge(&values(|time| if time < 0.05 { 1.5 } else { 1.0 })), Some(Steadiness::Steady), "20th");
        assert_eq!(judge(&values(|time| if time < 0.2 { 1.05 } else { 1.0 })), Some(Steadiness::Steady), "1 %");
        let Some(Steadiness::ShortWarmUp { cut, shift }) = judge(&values(|time| if time < 0.2 { 0.5 } else { 1.0 }))
        else {
            panic!("a fifth that is half as fast")
        };
        assert!((cut - 0.2).abs() < 0.01 && (shift - 0.1 / 0.9).abs() < 0.01, "{cut} {shift}");
    }

    #[test]
    fn half_a_minute_is_needed() {
        assert_eq!(judge(&[1.0; CELLS_MIN / FOLD - 1]), None);
        assert_eq!(judge(&[1.0; CELLS_MIN / FOLD]), Some(Steadiness::Steady));
        assert_eq!(judge(&[0.0; CELLS_MIN / FOLD]), None, "nothing happened");
    }
}
