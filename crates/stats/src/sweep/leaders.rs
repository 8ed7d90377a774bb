//! Settings with the most throughput, as far as the noise of the runs distinguishes them.

use super::advice::{Scale, best_of};
use super::{basis, runs_on};
use crate::sample::{deviations, mean, student, sum_of_squares};
use model::headline::Headline;
use model::sweep::{Sweep, Visit};
use statrs::distribution::ContinuousCDF;

/// The points with the most throughput.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaders {
    /// It has more than every other by more than noise.
    One(usize),
    /// They differ by no more than the noise of their runs; the first has the most. At least two.
    Several(Vec<usize>),
    /// It has the most, but no point was run several times, so the noise is unknown.
    Single(usize),
}

impl Leaders {
    /// The point with the most throughput.
    pub fn first(&self) -> usize {
        match self {
            Self::One(point) | Self::Single(point) => *point,
            Self::Several(points) => points[0],
        }
    }
}

/// How often noise alone may make one of equal settings the best of a sweep, at most. A procedure has several such answers: all
/// of `volume-baseline` together are to be wrong in fewer than 5 %.
const FALSE_BEST: f64 = 0.02;

/// Runs of a point, as logarithms of the throughput.
struct Sample {
    point: usize,
    logarithms: Vec<f64>,
}

/// The points of these with the most throughput; `None` if none has figures.
///
/// The best is compared with every other by Student's t with the pooled scatter of all runs, two-sided. If all are
/// equal, the best differs from the second in at most 2 % of the sweeps, however many points there are: two equal ones far
/// above the others are the worst case (Gutmann and Maymin, "Is the selected population the best?", Annals of Statistics 15,
/// 1987). The series of block sizes of a sweep, each with an answer, share these 2 %.
pub fn leaders(sweep: &Sweep, points: &[usize]) -> Option<Leaders> {
    let best = best_of(sweep, points)?;
    let samples = samples(sweep, points);
    if samples.len() < 2 {
        return Some(Leaders::One(best));
    }
    let freedom = samples.iter().map(|sample| sample.logarithms.len() - 1).sum::<usize>() as f64;
    if freedom < 1.0 {
        return Some(Leaders::Single(best));
    }
    let squares = |sample: &Sample| sum_of_squares(&deviations(&sample.logarithms));
    let noise = (samples.iter().map(squares).sum::<f64>() / freedom).sqrt();
    let of_best = samples.iter().find(|sample| sample.point == best)?;
    let answers = sweep.block_sizes.len().max(1) as f64;
    let standard_errors = student(freedom).inverse_cdf(1.0 - FALSE_BEST / answers / 2.0);
    let is_equal = |other: &&Sample| {
        let counts = [of_best, other].map(|sample| 1.0 / sample.logarithms.len() as f64);
        let difference = mean(&of_best.logarithms) - mean(&other.logarithms);
        difference <= standard_errors * noise * (counts[0] + counts[1]).sqrt()
    };
    let others = samples.iter().filter(|sample| sample.point != best).filter(is_equal);
    let several: Vec<usize> = std::iter::once(best).chain(others.map(|sample| sample.point)).collect();
    Some(if several.len() == 1 { Leaders::One(best) } else { Leaders::Several(several) })
}

fn samples(sweep: &Sweep, points: &[usize]) -> Vec<Sample> {
    let (basis, scale) = (basis(sweep, points), Scale::from_points(sweep, points));
    let logarithm = |figures: &Headline| Some(scale.throughput(figures)).filter(|rate| *rate > 0.0).map(f64::ln);
    let sample = |point: &usize| {
        let runs = runs_on(sweep, *point, basis).into_iter().filter_map(Visit::headline);
        let logarithms: Vec<f64> = runs.filter_map(logarithm).collect();
        (!logarithms.is_empty()).then_some(Sample { point: *point, logarithms })
    };
    points.iter().filter_map(sample).collect()
}
