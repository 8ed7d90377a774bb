//! Levels: parts of a run that are flat and differ from each other, as of a token bucket that runs empty.

use super::pelt::{Costs, change_points};
use super::{CUT_MIN, SIGNIFICANCE_EACH, trend};
use crate::confidence::batch_means::{BatchMean, two_sided_chance};
use crate::sample::{mean, moments};
use model::change::Level;

/// A step is large from here on: its share of the mean of the whole run.
const STEP_MIN: f64 = 0.10;
/// Levels that are sought at most: more are no levels but the nature of the load.
const LEVELS_MAX: usize = 4;
/// A step is clear if it is this many standard deviations of the level that scatters most: bursts that come and go
/// differ by less.
const CLEAR: f64 = 3.0;
/// A level is flat if the line through it changes by at most this share of the smallest step.
const FLAT: f64 = 0.5;
/// Values that are used at most; neighbours are averaged until there are so few.
const VALUES_MAX: usize = 600;
/// The best of many cuts looks more significant than one that was fixed beforehand (Bonferroni; as for a beginning).
const PLACES: f64 = 20.0;
/// Number of times that penalties are halved, from the scatter of the whole series on.
const PENALTIES: i32 = 12;

/// The levels of a series, at least two; `None` if it has no such parts.
///
/// PELT is run for falling penalties, which gives more and more parts (Haynes, Eckley and Fearnhead, Computationally
/// efficient changepoint detection for a range of penalties, JCGS 26, 2017). The most parts count of which each step is
/// large, clear and significant and each part is flat.
pub(super) fn levels(values: &[f64]) -> Option<Vec<Level>> {
    let folded = folded(values);
    let costs = Costs::from_values(&folded);
    let shortest = ((folded.len() as f64 * CUT_MIN).ceil() as usize).max(2);
    let mut found = None;
    let mut tried = Vec::new();
    for halvings in 1..=PENALTIES {
        let cuts = change_points(&costs, costs.whole() * 0.5f64.powi(halvings), shortest);
        if cuts.len() >= LEVELS_MAX {
            break;
        }
        if cuts.is_empty() || cuts == tried {
            continue;
        }
        if are_levels(&parts(&folded, &cuts), mean(&folded)) {
            found = Some(cuts.clone());
        }
        tried = cuts;
    }
    let whole = mean(&folded);
    let level = |part: &&[f64]| Level { length: part.len() as f64 / folded.len() as f64, mean: mean(part) / whole };
    Some(parts(&folded, &found?).iter().map(level).collect())
}

fn folded(values: &[f64]) -> Vec<f64> {
    values.chunks_exact(values.len().div_ceil(VALUES_MAX).max(1)).map(mean).collect()
}

fn parts<'a>(values: &'a [f64], cuts: &[usize]) -> Vec<&'a [f64]> {
    let ends = cuts.iter().copied().chain([values.len()]);
    let mut begin = 0;
    ends.map(|end| &values[std::mem::replace(&mut begin, end)..end]).collect()
}

/// True if each step is large, clear and significant, and each part is flat.
fn are_levels(parts: &[&[f64]], whole: f64) -> bool {
    let steps: Vec<f64> = parts.windows(2).map(|pair| mean(pair[1]) - mean(pair[0])).collect();
    let smallest = steps.iter().map(|step| step.abs()).fold(f64::INFINITY, f64::min);
    if smallest < STEP_MIN * whole || parts.iter().any(|part| trend::change(part).abs() > FLAT * smallest) {
        return false;
    }
    // The scatter is that of all parts around their own means.
    let around: Vec<f64> = parts.iter().flat_map(|part| part.iter().map(|value| value - mean(part))).collect();
    let scatter = parts.iter().map(|part| moments(part).1).fold(0.0, f64::max);
    let Some(error) = BatchMean::from_values(&around).filter(|_| smallest >= CLEAR * scatter) else { return false };
    let variance = error.std_error * error.std_error * around.len() as f64;
    let is_significant = |pair: &[&[f64]]| {
        let count = |part: &[f64]| part.len() as f64;
        let error_of_step = (variance * (1.0 / count(pair[0]) + 1.0 / count(pair[1]))).sqrt();
        let standard_errors = (mean(pair[1]) - mean(pair[0])) / error_of_step.max(f64::MIN_POSITIVE);
        // Each mean that was fitted costs one.
        let degrees_of_freedom = error.degrees_of_freedom + 1.0 - parts.len() as f64;
        two_sided_chance(standard_errors, degrees_of_freedom) < SIGNIFICANCE_EACH / PLACES
    };
    parts.windows(2).all(is_significant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::normal;
    use hot::rng::Rng;

    fn noisy(level: f64, deviation: f64, count: usize, rng: &mut Rng) -> Vec<f64> {
        (0..count).map(|_| level + deviation * normal(rng)).collect()
    }

    #[test]
    fn a_bucket_that_runs_empty_has_two_levels() {
        let mut rng = Rng::new(1);
        let values = [noisy(100.0, 5.0, 84, &mut rng), noisy(50.0, 5.0, 36, &mut rng)].concat();
        let found = levels(&values).expect("two levels");
        let lengths: Vec<f64> = found.iter().map(|level| level.length).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!((lengths[0] - 0.7).abs() < 0.01 && (found[0].mean / found[1].mean - 2.0).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn there_and_back_are_three_levels() {
        let mut rng = Rng::new(2);
        let part = |level, count, rng: &mut Rng| noisy(level, 3.0, count, rng);
        let values = [part(100.0, 40, &mut rng), part(60.0, 40, &mut rng), part(100.0, 40, &mut rng)].concat();
        assert_eq!(levels(&values).map(|found| found.len()), Some(3));
    }

    #[test]
    fn slopes_and_small_steps_have_no_levels() {
        let mut rng = Rng::new(3);
        let ramp: Vec<f64> = (0..120).map(|at| 100.0 - f64::from(at) * 0.5 + normal(&mut rng)).collect();
        assert_eq!(levels(&ramp), None);
        let fading: Vec<f64> = (0..120).map(|at| 100.0 + 100.0 * (-f64::from(at) / 12.0).exp()).collect();
        assert_eq!(levels(&fading), None);
        let small = [noisy(100.0, 0.5, 60, &mut rng), noisy(93.0, 0.5, 60, &mut rng)].concat();
        assert_eq!(levels(&small), None, "7 % is no level");
    }

    #[test]
    fn hours_are_folded() {
        let mut rng = Rng::new(4);
        let values = [noisy(100.0, 5.0, 20_000, &mut rng), noisy(50.0, 5.0, 20_000, &mut rng)].concat();
        assert_eq!(levels(&values).map(|found| found.len()), Some(2));
    }
}
