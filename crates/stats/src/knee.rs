//! Which depth to use: the knee of throughput over depth.
//!
//! * *Efficient*: the depth with the most throughput per latency, Kleinrock's power (L. Kleinrock,
//!   "Power and deterministic rules of thumb for probabilistic problems in computer communications",
//!   ICC 1979). In a closed loop the mean latency is depth / throughput (Little's law), so the power is
//!   throughput² / depth: latencies that were printed with a slip do not matter.
//! * *Saturation*: the smallest depth within 5 % of the plateau. The plateau is the mean of the upper
//!   third of the depths, if throughput no longer grows there.
//!
//! Both are read off a curve that rises to one peak and falls after it, fitted to the measured points;
//! the intervals come from a bootstrap of the points' own scatter around their neighbours.

mod curve;
mod scatter;

use crate::sample::mean;
use curve::Curve;
use hot::rng::Rng;
use model::sweep::{DepthEstimate, Knee, Saturation};
use std::collections::BTreeMap;

/// Depths needed to distinguish a curve from noise.
pub const DEPTHS_MIN: usize = 5;
/// A depth is saturated if its throughput is within this share of the plateau.
const PLATEAU_SHARE: f64 = 0.95;
/// The depths from which on the plateau is sought, as a share of the largest.
const TAIL_SHARE: f64 = 2.0 / 3.0;
/// Points that the tail has at least.
const TAIL_POINTS_MIN: usize = 3;
/// Growth of ln(throughput) over ln(depth) above which there is no plateau, unless noise alone may have
/// made it: twice the depth would still bring 7 % more.
const ELASTICITY_MAX: f64 = 0.1;
/// Curves of the bootstrap.
const REPLICATES: usize = 500;
/// Where the bootstrap begins: the same points give the same intervals.
const SEED: u64 = 0x6b6e_6565;

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepthSample {
    /// I/Os outstanding, all threads and targets together; above 0.
    pub depth: u32,
    /// I/Os per second; above 0.
    pub iops: f64,
}

/// The two depths of a series; several samples of one depth are runs of it. `None` with fewer than
/// [`DEPTHS_MIN`] depths.
pub fn knee(samples: &[DepthSample]) -> Option<Knee> {
    let mut runs = BTreeMap::<u32, Vec<f64>>::new();
    for sample in samples.iter().filter(|sample| sample.depth > 0 && sample.iops > 0.0) {
        runs.entry(sample.depth).or_default().push(sample.iops);
    }
    if runs.len() < DEPTHS_MIN {
        return None;
    }
    let depths: Vec<u32> = runs.keys().copied().collect();
    let counts: Vec<usize> = runs.values().map(Vec::len).collect();
    let curve = Curve::through(&depths, &counts, runs.values().map(|runs| mean(runs)).collect());
    let (efficient, saturation) = (efficient(&curve), saturation(&curve));
    // Deviations are those of logarithms.
    let factors: Vec<f64> = scatter::scatter(&runs).into_iter().map(f64::exp).collect();
    let mut rng = Rng::new(SEED);
    let mut again = (Vec::with_capacity(REPLICATES), Vec::with_capacity(REPLICATES));
    for _ in 0..REPLICATES {
        let replicate = Curve::through(&depths, &counts, scatter::redraw(&curve, &counts, &factors, &mut rng));
        again.0.push(self::efficient(&replicate));
        again.1.extend(self::saturation(&replicate).map(|(depth, _)| depth));
    }
    let edges = (curve.depths[0], curve.depths[curve.depths.len() - 1]);
    Some(Knee {
        efficient: estimate(efficient, again.0, edges),
        saturation: match saturation {
            Some((depth, plateau_iops)) => Saturation::At { depth: estimate(depth, again.1, edges), plateau_iops },
            None => Saturation::StillRising { doubling_percent: (elasticity(&curve).slope.exp2() - 1.0) * 100.0 },
        },
    })
}

/// The depth of the largest power.
fn efficient(curve: &Curve) -> u32 {
    let power = |(depth, iops): (u32, f64)| iops * iops / f64::from(depth);
    let best = curve.points().reduce(|best, next| if power(next) > power(best) { next } else { best });
    best.map_or(0, |(depth, _)| depth)
}

/// The smallest depth within 5 % of the plateau, and its height, if there is one.
fn saturation(curve: &Curve) -> Option<(u32, f64)> {
    let growth = elasticity(curve);
    if growth.slope > ELASTICITY_MAX && growth.slope > 2.0 * growth.standard_error {
        return None;
    }
    let tail = curve.tail();
    let plateau = if growth.slope < -ELASTICITY_MAX && growth.slope < -2.0 * growth.standard_error {
        // Too much depth does harm: the peak is what can be had.
        curve.points().map(|(_, iops)| iops).fold(0.0, f64::max)
    } else {
        mean(&curve.measured[tail..])
    };
    let first = curve.points().find(|(_, iops)| *iops >= PLATEAU_SHARE * plateau);
    first.map(|(depth, _)| (depth, plateau))
}

/// A fitted slope.
struct Growth {
    slope: f64,
    standard_error: f64,
}

/// The slope of ln(throughput) over ln(depth) in the tail, by least squares.
fn elasticity(curve: &Curve) -> Growth {
    let tail = curve.tail();
    let points: Vec<(f64, f64)> =
        curve.depths[tail..].iter().zip(&curve.measured[tail..]).map(|(d, x)| (f64::from(*d).ln(), x.ln())).collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let slope = covariance / variance;
    let residuals: f64 = points.iter().map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
    Growth { slope, standard_error: (residuals / (count - 2.0) / variance).sqrt() }
}

/// A depth with the range that holds 95 % of what the bootstrap found.
fn estimate(depth: u32, mut found: Vec<u32>, (smallest, largest): (u32, u32)) -> DepthEstimate {
    found.sort_unstable();
    let at = |share: f64| found.get((found.len() as f64 * share) as usize).copied().unwrap_or(depth);
    DepthEstimate {
        depth,
        low: at(0.025).min(depth),
        high: at(0.975).max(depth),
        is_at_edge: depth == smallest || depth == largest,
    }
}

#[cfg(test)]
mod tests;
