//! The Zipf law that explains how often offsets were requested.
//!
//! The probability that two requests have the same offset is the sum of the squared weights of all offsets. The share of
//! equal pairs estimates it without bias, whatever the order of the offsets, so that no ranking of rare offsets by
//! chance counts as skew. The exponent follows from it and the number of offsets; that number is the one of the touched
//! range unless the number of different offsets that were seen contradicts it.

use super::popularity::Popularity;
use hot::skew::Law;
use serde::Serialize;

/// Requests for the same offset, as pairs, below which nothing is estimated.
const PAIRS_MIN: f64 = 100.0;

/// Largest exponent of `--skew`.
const EXPONENT_MAX: f64 = 4.0;

/// Exponents below are uniform: `--skew` would change nothing that can be measured.
const EXPONENT_MIN: f64 = 0.05;

/// A fitted Zipf law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZipfFit {
    /// The exponent; 0 = uniform: no more repeats than chance explains.
    pub exponent: f64,
    /// Standard error of the exponent.
    pub error: f64,
    /// Number of offsets, each of which may be requested.
    pub positions: u64,
    /// The exponent that follows from the hottest offsets alone, by triples in place of pairs.
    pub exponent_of_hottest: f64,
    /// Different offsets that the law lets expect among these requests, in parts of those that were seen.
    pub distinct_ratio: f64,
}

impl ZipfFit {
    /// The law of these repeats, if at most `positions_max` offsets are possible; `None` if there are too few repeats.
    pub fn new(popularity: &Popularity, positions_max: u64) -> Option<Self> {
        let requests = popularity.requests as f64;
        let (distinct, pairs) = (popularity.distinct(), popularity.coincidences(2));
        if pairs < PAIRS_MIN || distinct < 2.0 {
            return None;
        }
        let squares = pairs / requests / (requests - 1.0);
        let cubes = popularity.coincidences(3) / requests / (requests - 1.0) / (requests - 2.0).max(1.0);
        let positions = positions(squares, distinct, requests, positions_max as f64);
        let exponent = if is_chance(squares, positions, popularity) { 0.0 } else { exponent(2, squares, positions) };
        let model = power_sum(2, exponent, positions);
        let variance = 4.0 / requests * (power_sum(3, exponent, positions) - model * model).max(0.0)
            + 2.0 * model / requests / requests;
        Some(Self {
            exponent: if exponent < EXPONENT_MIN { 0.0 } else { exponent },
            // Towards higher exponents: near 0 the sum hardly changes with the exponent.
            error: self::exponent(2, model + variance.sqrt(), positions) - exponent,
            positions: positions as u64,
            exponent_of_hottest: self::exponent(3, cubes, positions),
            distinct_ratio: expected_distinct(exponent, positions, requests) / distinct,
        })
    }

    /// True if the hottest offsets have the same law as all, and the rarest ones too.
    pub fn is_zipf(&self) -> bool {
        let difference = (self.exponent_of_hottest - self.exponent).abs();
        difference <= 0.1 * self.exponent + 3.0 * self.error + 0.05 && (self.distinct_ratio - 1.0).abs() <= 0.2
    }
}

/// True if requests that are equally likely at all positions may share offsets as often: up to three standard deviations
/// above the mean. Judged by the pairs: near 0 the exponent is about the square root of what exceeds the mean.
fn is_chance(squares: f64, positions: f64, popularity: &Popularity) -> bool {
    let deviation = (2.0 / positions / popularity.sampled_share).sqrt() / popularity.requests as f64;
    squares <= 1.0 / positions + 3.0 * deviation
}

/// The sum of the weights of all positions to the power of `power`.
fn power_sum(power: u32, exponent: f64, positions: f64) -> f64 {
    sum(exponent * f64::from(power), positions) / sum(exponent, positions).powf(f64::from(power))
}

/// The sum of `k^-exponent` over the positions.
fn sum(exponent: f64, positions: f64) -> f64 {
    1.0 / Law::Zipf { exponent }.share_of_hottest(1, positions as u64)
}

/// The exponent with this sum of powers, which grows with the exponent.
fn exponent(power: u32, target: f64, positions: f64) -> f64 {
    let (mut low, mut high) = (0.0, EXPONENT_MAX);
    for _ in 0..24 {
        let middle = f64::midpoint(low, high);
        if power_sum(power, middle, positions) < target { low = middle } else { high = middle }
    }
    low
}

/// The number of positions for which `distinct` different ones would have been seen.
fn positions(squares: f64, distinct: f64, requests: f64, most: f64) -> f64 {
    let seen = |positions: f64| expected_distinct(exponent(2, squares, positions), positions, requests);
    let most = most.max(distinct.ceil());
    // Three standard deviations, and what sampling and the approximation of sums may be off by.
    let tolerance = 3.0 * distinct.sqrt() + 0.01 * distinct;
    if seen(most) <= distinct + tolerance {
        return most;
    }
    let (mut low, mut high) = (distinct.ceil(), most);
    for _ in 0..24 {
        let middle = (low * high).sqrt();
        if seen(middle) < distinct { low = middle } else { high = middle }
    }
    low.round()
}

/// Ranks that are summed one by one.
const SINGLE_RANKS: f64 = 256.0;

/// The number of different positions among these requests: the sum of `1 - exp(-requests x weight)`.
fn expected_distinct(exponent: f64, positions: f64, requests: f64) -> f64 {
    let scale = requests / sum(exponent, positions);
    let (mut rank, mut seen) = (1.0, 0.0);
    while rank <= positions {
        let next = if rank < SINGLE_RANKS { rank + 1.0 } else { (rank * 1.02).floor().min(positions + 1.0) };
        let middle = f64::midpoint(rank, next - 1.0);
        seen += (next - rank) * -(-scale * middle.powf(-exponent)).exp_m1();
        rank = next;
    }
    seen
}
