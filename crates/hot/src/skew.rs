//! Popularity that falls with rank: which position a skewed load touches next.
//!
//! Ranks from 0 are grouped into strata: the hottest have one each, the others lie in groups that grow in proportion to
//! their rank. A draw chooses a stratum by an alias table, a rank inside it uniformly, and keeps it with the probability
//! `weight(rank) / weight(first rank of the stratum)`: exact for any law that does not rise. Almost every draw is below
//! the smallest such probability of its stratum and is kept without computing it; fewer than one in a hundred is not
//! kept and drawn again. Sizes of tables do not depend on the number of positions.
//!
//! All mathematics is that of the crate `libm`, which gives the same bits on every machine, unlike the C libraries.

use crate::counters::Counter;
use crate::rng::Rng;
use crate::scatter::Scatter;
use crate::weighted::Weighted;
use model::profile::{Skew, SkewLaw};
use std::sync::Arc;

/// How much hotter a rank is than those after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// The rank `k`, from 1, has the weight `k^-exponent`.
    Zipf {
        /// Above 0.
        exponent: f64,
    },
    /// The hottest `k` of `n` positions together have the share `(k/n)^exponent`.
    Pareto {
        /// Above 0 and below 1.
        exponent: f64,
    },
}

impl From<Skew> for Law {
    fn from(Skew { law, parameter, .. }: Skew) -> Self {
        match law {
            SkewLaw::Zipf => Self::Zipf { exponent: parameter.value() },
            SkewLaw::Pareto => Self::pareto(parameter.value()),
        }
    }
}

impl Law {
    /// The law by which the hottest `share` of the positions, above 0 and below 0.5, receives `1 - share` of the I/Os,
    /// and the hottest `share` of these again.
    pub fn pareto(share: f64) -> Self {
        Self::Pareto { exponent: libm::log1p(-share) / libm::log(share) }
    }

    /// In proportion to the probability of a rank from 0.
    fn weight(self, rank: u64) -> f64 {
        let k = (rank + 1) as f64;
        match self {
            Self::Zipf { exponent } => libm::pow(k, -exponent),
            // k^e - (k-1)^e, which would lose all its digits at high ranks.
            Self::Pareto { exponent } => libm::pow(k, exponent) * -libm::expm1(exponent * libm::log1p(-1.0 / k)),
        }
    }

    /// The weight of the hottest `count` ranks together.
    fn weight_of_hottest(self, count: u64) -> f64 {
        match self {
            Self::Pareto { exponent } => libm::pow(count as f64, exponent),
            Self::Zipf { exponent } => {
                let summed = count.min(SUMMED);
                let head: f64 = (0..summed).rev().map(|rank| self.weight(rank)).sum();
                head + if count > summed { powers(exponent, summed as f64, count as f64) } else { 0.0 }
            }
        }
    }

    /// The share of the I/Os that the hottest `count` of `positions` receive.
    pub fn share_of_hottest(self, count: u64, positions: u64) -> f64 {
        match self {
            Self::Pareto { exponent } => libm::pow(count as f64 / positions.max(1) as f64, exponent),
            Self::Zipf { .. } => self.weight_of_hottest(count) / self.weight_of_hottest(positions.max(1)),
        }
    }
}

/// Ranks whose weights are added one by one.
const SUMMED: u64 = 1024;

/// The sum of `k^-s` over the integers above `from` up to `to`, by the formula of Euler and Maclaurin: the next term is
/// below 10^-18 of the sum from 1024 on.
fn powers(s: f64, from: f64, to: f64) -> f64 {
    let log_ratio = libm::log(to / from);
    let exponent = (1.0 - s) * log_ratio;
    // (to^(1-s) - from^(1-s)) / (1-s), and its limit at s = 1.
    let quotient = if exponent == 0.0 { 1.0 } else { libm::expm1(exponent) / exponent };
    let integral = libm::pow(from, 1.0 - s) * log_ratio * quotient;
    let corrections = |x: f64| {
        let value = libm::pow(x, -s);
        let third = s * (s + 1.0) * (s + 2.0) * value / (x * x * x);
        value / 2.0 - s * value / x / 12.0 + third / 720.0
    };
    integral + corrections(to) - corrections(from)
}

/// Ranks that have a stratum of their own.
const SINGLE: u64 = 2048;
/// Most strata behind these, without those that [`HOTTEST_PERCENT`] adds.
const GROUPS: u64 = 2040;
/// Strata at most.
pub const STRATA_MAX: usize = 4096;

/// Percent of the positions whose share of the I/Os is known exactly: strata end there.
pub const HOTTEST_PERCENT: [u64; 3] = [1, 10, 20];

/// Number of positions in the hottest `percent`: at least one, rounded up.
pub fn hottest(percent: u64, positions: u64) -> u64 {
    (u128::from(positions) * u128::from(percent)).div_ceil(100) as u64
}

/// Number of ranks in each stratum, the hottest first: the same for every law.
pub fn stratum_sizes(positions: u64) -> Vec<u64> {
    let positions = positions.max(1);
    let firsts = firsts(positions, SINGLE, GROUPS);
    let ends = firsts.iter().skip(1).copied().chain([positions]);
    firsts.iter().zip(ends).map(|(first, end)| end - first).collect()
}

/// The table of a law over a number of positions.
#[derive(Debug, PartialEq)]
pub struct Strata {
    law: Law,
    table: Weighted,
    groups: Box<[Stratum]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Stratum {
    /// Its first rank, the hottest.
    first: u64,
    /// Number of ranks.
    count: u64,
    /// A fraction of 2^64 up to which every rank is kept.
    keeps_up_to: u64,
    /// Of its first rank.
    weight: f64,
}

impl Strata {
    /// The table over `positions`, at least 1; `None` if the law has parameters that it may not have.
    pub fn new(law: Law, positions: u64) -> Option<Self> {
        Self::with(law, positions, SINGLE, GROUPS)
    }

    fn with(law: Law, positions: u64, single: u64, groups: u64) -> Option<Self> {
        let positions = positions.max(1);
        let firsts = firsts(positions, single, groups);
        let ends = firsts.iter().skip(1).copied().chain([positions]);
        let strata: Box<[Stratum]> =
            firsts.iter().zip(ends).map(|(&first, end)| Stratum::new(law, first, end - first)).collect();
        // The probability of a stratum if none of its draws were refused.
        let bounds: Vec<f64> = strata.iter().map(|stratum| stratum.count as f64 * stratum.weight).collect();
        let sum: f64 = bounds.iter().sum();
        let weights: Vec<u64> = bounds.iter().map(|bound| libm::round(bound / sum * WHOLE) as u64).collect();
        Some(Self { law, table: Weighted::new(&weights)?, groups: strata })
    }

    /// A stratum and a rank in it.
    #[inline]
    fn draw(&self, rng: &mut Rng) -> (usize, u64) {
        loop {
            let index = self.table.draw(rng);
            let stratum = &self.groups[index];
            // Uniform in the stratum; what is left of the draw decides whether it is kept. Its steps are `count` / 2^64.
            let product = u128::from(rng.next_u64()) * u128::from(stratum.count);
            let (rank, fraction) = (stratum.first + (product >> 64) as u64, product as u64);
            if fraction <= stratum.keeps_up_to || self.keeps(stratum, rank, fraction) {
                return (index, rank);
            }
        }
    }

    /// Decides by the law itself.
    #[cold]
    fn keeps(&self, stratum: &Stratum, rank: u64, fraction: u64) -> bool {
        fraction as f64 * stratum.weight < self.law.weight(rank) * TWO_TO_64
    }

    /// Number of ranks in each stratum, the hottest first.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().map(|stratum| stratum.count)
    }
}

/// The sum of integer weights, nearly.
const WHOLE: f64 = (1_u64 << 62) as f64;
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

impl Stratum {
    fn new(law: Law, first: u64, count: u64) -> Self {
        let weight = law.weight(first);
        let least = law.weight(first + count - 1) / weight;
        // A little less, so that rounding never keeps a rank too often.
        let keeps_up_to = if count == 1 { u64::MAX } else { (least * (1.0 - 1e-12) * TWO_TO_64) as u64 };
        Self { first, count, keeps_up_to, weight }
    }
}

/// First ranks of all strata, ascending.
fn firsts(positions: u64, single: u64, groups: u64) -> Vec<u64> {
    if positions <= single + groups {
        return (0..positions).collect();
    }
    let mut firsts: Vec<u64> = (0..single).collect();
    let ratio = libm::exp(libm::log(positions as f64 / single as f64) / groups as f64);
    let mut next = single;
    while next < positions {
        firsts.push(next);
        next = (next + 1).max(libm::ceil(next as f64 * ratio) as u64);
    }
    firsts.extend(HOTTEST_PERCENT.map(|percent| hottest(percent, positions)));
    firsts.sort_unstable();
    firsts.dedup();
    firsts
}

/// A source of skewed positions, owned by one thread.
#[derive(Clone, Debug)]
pub struct Skewed {
    strata: Arc<Strata>,
    /// `None` = the hottest position is the first, and so on.
    scatter: Option<Scatter>,
    /// Draws of each stratum, which others may read.
    drawn: Arc<[Counter]>,
}

impl Skewed {
    /// Draws from `strata`; counts in `drawn`, one counter for each stratum.
    pub fn new(strata: Arc<Strata>, scatter: Option<Scatter>, drawn: Arc<[Counter]>) -> Self {
        Self { strata, scatter, drawn }
    }

    /// The next position.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let (stratum, rank) = self.strata.draw(rng);
        self.drawn[stratum].add(1);
        match &self.scatter {
            Some(scatter) => scatter.position(rank),
            None => rank,
        }
    }
}

#[cfg(test)]
mod tests;
