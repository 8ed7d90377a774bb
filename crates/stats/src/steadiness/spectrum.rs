//! Stalls that single cells hardly show, because their I/Os scatter as much, but that come back after the same time: the
//! spectrum of the series has a peak there, and the mean period has a dip.

use crate::sample::mean;
use model::change::PeriodicStalls;
use std::f64::consts::{LN_2, TAU};

/// The shortest period, in cells: shorter ones have no shape.
const PERIOD_MIN: usize = 4;
/// Periods that a series needs.
const PERIODS_MIN: usize = 16;
/// Independent frequencies on which the noise around a frequency is estimated.
const NEIGHBOURS: usize = 48;
/// Chance that some frequency of a series without a period reaches the limit, if the noise is known ...
const SIGNIFICANCE: f64 = 1e-4;
/// ... and what the limit is multiplied by, as it is an estimate.
const NOISE_FACTOR: f64 = 1.5;
/// How much of the largest power a longer period needs to be taken instead: multiples of a frequency have less.
const LONGER_SHARE: f64 = 0.35;
/// How much of the usual rate is left in the deepest part of the mean period, at most: half of the part is stalled, and
/// a tenth is for noise.
const DIP_MAX: f64 = 0.6;
/// A part of the mean period is usual if it is this far up from the lowest to the highest.
const USUAL_MIN: f64 = 0.75;
/// Parts of the mean period at most.
const PARTS_MAX: usize = 64;

/// Seen in the spectrum of the I/Os of each cell.
pub(super) fn stalls(ios: &[f64], cell_ns: u64) -> Option<PeriodicStalls> {
    let mean = mean(ios);
    let centred: Vec<f64> = ios.iter().map(|cell| cell - mean).collect();
    let period = period(&centred)?;
    let stalled = dip(ios, period)?;
    Some(PeriodicStalls {
        period_ns: (period * cell_ns as f64) as u64,
        length_ns: (stalled * period * cell_ns as f64) as u64,
        count: (ios.len() as f64 / period) as u32,
    })
}

/// The period of a series, in cells.
fn period(centred: &[f64]) -> Option<f64> {
    let count = centred.len();
    let powers = powers(centred);
    // Frequencies per independent one, as zeros are added.
    let each = 2 * powers.len() / count;
    let (first, end) = (PERIODS_MIN * each, 2 * powers.len() / PERIOD_MIN);
    let ratios = over_noise(&powers, NEIGHBOURS * each);
    let searched = ratios.get(first..end)?;
    let largest = searched.iter().copied().fold(0.0, f64::max);
    let limit = NOISE_FACTOR * (searched.len() as f64 / each as f64 / SIGNIFICANCE).ln();
    if largest < limit {
        return None;
    }
    let begin = first + searched.iter().position(|ratio| *ratio >= (LONGER_SHARE * largest).max(limit))?;
    let peak = (begin..end.min(begin + 2 * each)).max_by(|&a, &b| ratios[a].total_cmp(&ratios[b]))?;
    // Sixteenths of a step: the phase of the last period shall be that of the first.
    let frequencies = (0..=32).map(|step| (peak as f64 + f64::from(step - 16) / 16.0) / (2 * powers.len()) as f64);
    let best = frequencies.max_by(|a, b| power(centred, *a).total_cmp(&power(centred, *b)))?;
    Some(1.0 / best)
}

/// How many times each power is as large as the noise around it: 1 on average in a series without a period, whatever
/// dependence its neighbours have (the median of exponentially distributed powers is the natural logarithm of 2 times
/// their mean; Bloomfield, Fourier Analysis of Time Series, 2000).
fn over_noise(powers: &[f64], width: usize) -> Vec<f64> {
    let step = (width / 4).max(1);
    let mut ratios = Vec::with_capacity(powers.len());
    for begin in (0..powers.len()).step_by(step) {
        let around = begin.saturating_sub((width - step) / 2)..powers.len().min(begin + step + (width - step) / 2);
        let mut sorted = powers[around].to_vec();
        let middle = sorted.len() / 2;
        let noise = *sorted.select_nth_unstable_by(middle, f64::total_cmp).1 / LN_2;
        let part = &powers[begin..powers.len().min(begin + step)];
        ratios.extend(part.iter().map(|power| power / noise.max(f64::MIN_POSITIVE)));
    }
    ratios
}

/// The share of the mean period that is stalled, if it has a deep and narrow dip.
fn dip(ios: &[f64], period: f64) -> Option<f64> {
    let parts = (period.round() as usize).clamp(PERIOD_MIN, PARTS_MAX);
    let (mut sums, mut counts) = (vec![0.0; parts], vec![0.0; parts]);
    for (index, cell) in ios.iter().enumerate() {
        // Of the middle of the cell: its start lies on the edge of a part if the period is a multiple of cells.
        let part = (((index as f64 + 0.5) / period).fract() * parts as f64) as usize;
        sums[part.min(parts - 1)] += cell;
        counts[part.min(parts - 1)] += 1.0;
    }
    let means: Vec<f64> = sums.iter().zip(counts).map(|(sum, count): (&f64, f64)| sum / count.max(1.0)).collect();
    let lowest = means.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = means.iter().copied().fold(0.0, f64::max);
    // Parts that are stalled for a part of their length are not usual either.
    let limit = lowest + USUAL_MIN * (highest - lowest);
    let busy: Vec<f64> = means.iter().copied().filter(|mean| *mean > limit).collect();
    let usual = mean(&busy);
    (lowest <= DIP_MAX * usual && 2 * busy.len() >= parts).then(|| 1.0 - mean(&means) / usual)
}

/// The power at a frequency in cycles per value.
fn power(values: &[f64], frequency: f64) -> f64 {
    let (mut sines, mut cosines) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let (sine, cosine) = (TAU * (index as f64 * frequency).fract()).sin_cos();
        sines += value * sine;
        cosines += value * cosine;
    }
    sines * sines + cosines * cosines
}

/// The powers at the frequencies 0, 1, 2 ... cycles per twice their number: the series is continued with zeros to a
/// power of two, at least to twice its length, so that no peak lies between two frequencies.
fn powers(values: &[f64]) -> Vec<f64> {
    let size = (2 * values.len()).next_power_of_two();
    let mut numbers = vec![(0.0, 0.0); size];
    let shift = usize::BITS - size.trailing_zeros();
    for (index, value) in values.iter().enumerate() {
        numbers[index.reverse_bits() >> shift].0 = *value;
    }
    transform(&mut numbers);
    numbers[..size / 2].iter().map(|(real, imaginary)| real * real + imaginary * imaginary).collect()
}

/// The discrete Fourier transform of complex numbers in bit-reversed order (Cooley and Tukey, Mathematics of Computation
/// 19, 1965).
fn transform(numbers: &mut [(f64, f64)]) {
    let mut half = 1;
    while half < numbers.len() {
        let factors: Vec<(f64, f64)> =
            (0..half).map(|index| (-TAU * index as f64 / (2 * half) as f64).sin_cos()).collect();
        for block in numbers.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for ((low, high), (sine, cosine)) in low.iter_mut().zip(high).zip(&factors) {
                let turned = (high.0 * cosine - high.1 * sine, high.0 * sine + high.1 * cosine);
                *high = (low.0 - turned.0, low.1 - turned.1);
                *low = (low.0 + turned.0, low.1 + turned.1);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Source, coverage_percent, normal};
    use hot::rng::Rng;

    const CELL_NS: u64 = 100_000_000;

    #[test]
    fn powers_are_those_of_the_fourier_transform() {
        let mut rng = Rng::new(3);
        let values: Vec<f64> = (0..300).map(|_| normal(&mut rng)).collect();
        let powers = powers(&values);
        assert_eq!(powers.len(), 512);
        for index in [0, 1, 2, 77, 300, 511] {
            let expected = power(&values, index as f64 / 1024.0);
            assert!((powers[index] - expected).abs() < 1e-6 * expected.max(1.0), "{index}");
        }
    }

    #[test]
    fn a_dip_is_found_with_its_period_and_length_and_a_wave_is_none() {
        let mut rng = Rng::new(4);
        let mut series = |rate: &dyn Fn(f64) -> f64| -> Vec<f64> {
            (0..600).map(|cell| 20.0 * rate(f64::from(cell)) + 20.0f64.sqrt() * normal(&mut rng)).collect()
        };
        // 2 of each 17.3 cells.
        let found = stalls(&series(&|cell| if cell % 17.3 < 2.0 { 0.0 } else { 1.0 }), CELL_NS).expect("a dip");
        assert!((found.period_ns as f64 / 1.73e9 - 1.0).abs() < 0.005 && found.count == 34, "{found:?}");
        assert!((0.15..0.25).contains(&(found.length_ns as f64 / 1e9)), "{found:?}");
        assert_eq!(stalls(&series(&|cell| 1.0 + 0.3 * (TAU * cell / 17.3).sin()), CELL_NS), None);
        assert_eq!(stalls(&[0.0; 300], CELL_NS), None);
    }

    #[test]
    fn steady_series_have_none() {
        for source in Source::STATIONARY {
            let alarms =
                coverage_percent(2000, |rng| period(&crate::sample::deviations(&source.series(600, rng))).is_some());
            assert!(alarms <= 0.2, "{source:?}: {alarms} %");
        }
    }
}
