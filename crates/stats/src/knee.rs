//! Which depth to use: the knee of throughput over depth.
//!
//! * *Efficient*: the depth with the most throughput per latency, Kleinrock's power (L. Kleinrock,
//!   "Power and deterministic rules of thumb for probabilistic problems in computer communications",
//!   ICC 1979). In a closed loop the mean latency is depth / throughput (Little's law), so the power is
//!   throughput² / depth: latencies that were printed with a slip do not matter.
//! * *Saturation*: the smallest depth within 5 % of the plateau, less the noise of its runs. It is not below the
//!   efficient depth, and no larger depth has more throughput at less latency. The plateau is the mean of the upper
//!   third of the depths, if throughput no longer grows there.
//!
//! Both are read off a curve that rises to one peak and falls after it, fitted to the measured points;
//! the intervals come from a bootstrap of the points' own scatter around their neighbours.

mod curve;
mod growth;
mod scatter;

use crate::sample::mean;
use curve::Curve;
use growth::Growth;
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
/// How often noise alone may look like growth: 5 %, with a margin for noise that is not normal.
const FALSE_ALARMS: f64 = 0.04;
/// Noise lowers the curve before its peak: at most this share of the plateau is allowed for it.
const NOISE_MAX: f64 = 0.1;
/// Curves of the bootstrap.
const REPLICATES: usize = 500;
/// Seed of the bootstrap: the same points give the same intervals.
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
    let runs = by_depth(samples);
    if runs.len() < DEPTHS_MIN {
        return None;
    }
    let depths: Vec<u32> = runs.keys().copied().collect();
    // Deviations are those of logarithms.
    let factors: Vec<f64> = scatter::scatter(&runs).into_iter().map(f64::exp).collect();
    let curve = Curve::through(&depths, runs.into_values().collect());
    let (efficient, saturation) = find(&curve);
    let mut rng = Rng::new(SEED);
    let mut again = (Vec::with_capacity(REPLICATES), Vec::with_capacity(REPLICATES));
    for _ in 0..REPLICATES {
        let replicate = Curve::through(&depths, scatter::redraw(&curve, &factors, &mut rng));
        let (efficient, saturation) = find(&replicate);
        again.0.push(efficient);
        again.1.extend(saturation.map(|(depth, _)| depth));
    }
    let edges = (curve.depths[0], curve.depths[curve.depths.len() - 1]);
    Some(Knee {
        efficient: estimate(efficient, again.0, edges),
        saturation: match saturation {
            Some((depth, plateau_iops)) => Saturation::At { depth: estimate(depth, again.1, edges), plateau_iops },
            None => Saturation::StillRising { doubling_percent: (Growth::of_tail(&curve).slope.exp2() - 1.0) * 100.0 },
        },
    })
}

/// True if throughput still grows in the upper third of the depths, as in [`Saturation::StillRising`]; false with fewer
/// than [`DEPTHS_MIN`] depths.
pub(crate) fn still_rises(samples: &[DepthSample]) -> bool {
    let runs = by_depth(samples);
    let depths: Vec<u32> = runs.keys().copied().collect();
    runs.len() >= DEPTHS_MIN && Growth::of_tail(&Curve::through(&depths, runs.into_values().collect())).is_rising()
}

/// The runs of each depth, in I/Os per second.
fn by_depth(samples: &[DepthSample]) -> BTreeMap<u32, Vec<f64>> {
    let mut runs = BTreeMap::<u32, Vec<f64>>::new();
    for sample in samples.iter().filter(|sample| sample.depth > 0 && sample.iops > 0.0) {
        runs.entry(sample.depth).or_default().push(sample.iops);
    }
    runs
}

/// The efficient depth, and the saturation depth with the height of the plateau, if there is one.
fn find(curve: &Curve<'_>) -> (u32, Option<(u32, f64)>) {
    let growth = Growth::of_tail(curve);
    let peak = curve.points().map(|(_, iops)| iops).fold(0.0, f64::max);
    let plateau = match (growth.is_rising(), growth.is_falling()) {
        (true, _) => None,
        // Too much depth does harm: the peak is the highest throughput.
        (_, true) => Some(peak),
        _ => Some(mean(&curve.measured[curve.tail()..])),
    };
    let efficient = efficient(curve, plateau.map_or(peak, |plateau| plateau / PLATEAU_SHARE));
    let saturation =
        plateau.map(|plateau| (curve.depths[saturation(curve, efficient, plateau, growth.noise)], plateau));
    (curve.depths[efficient], saturation)
}

/// The place of the depth with the largest power; throughput above `highest` is noise.
fn efficient(curve: &Curve<'_>, highest: f64) -> usize {
    let power = |(depth, iops): (u32, f64)| iops.min(highest).powi(2) / f64::from(depth);
    let powers = curve.points().map(power).enumerate();
    powers.reduce(|best, next| if next.1 > best.1 { next } else { best }).map_or(0, |(place, _)| place)
}

/// The place of the smallest depth near the plateau, from the efficient one on, that no larger one beats; `noise` is the
/// standard deviation of a run's logarithm.
fn saturation(curve: &Curve<'_>, efficient: usize, plateau: f64, noise: f64) -> usize {
    let is_near = |place: usize| {
        let allowed = (noise / (curve.runs[place].len() as f64).sqrt()).min(NOISE_MAX);
        curve.fitted[place] >= PLATEAU_SHARE * (1.0 - allowed) * plateau
    };
    let places = efficient..curve.depths.len();
    let first = places.clone().find(|place| is_near(*place) && !curve.is_beaten(*place));
    // The highest is beaten by none.
    let highest = || places.max_by(|a, b| curve.measured[*a].total_cmp(&curve.measured[*b]));
    first.or_else(highest).unwrap_or(efficient)
}

/// A depth with the range that holds 95 % of the depths of the bootstrap.
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
mod study;
#[cfg(test)]
mod tests;
