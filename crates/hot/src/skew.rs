//! Popularity that falls with rank: the next position of a skewed load.
//!
//! Ranks from 0 are grouped into strata: the hottest have one each, the others lie in groups that grow in proportion to
//! their rank. A draw chooses a stratum by an alias table, a rank inside it uniformly, and keeps it with the probability
//! `weight(rank) / weight(first rank of the stratum)`: exact for any law that does not rise. Almost every draw is below
//! the smallest such probability of its stratum and is kept without computing it; fewer than one in a hundred is not
//! kept and drawn again. Sizes of tables do not depend on the number of positions.
//!
//! One random number is enough for all of it: the numbers that choose a stratum are intervals, and multiples of the
//! golden ratio spread an interval evenly over all 64 bits (Weyl's theorem). Each rank gets its share of the 2^64 numbers
//! up to some dozens, as it would with rounding.
//!
//! All mathematics is that of the crate `libm`, which gives the same bits on every machine, unlike the C libraries.

use crate::counters::Counter;
use crate::rng::Rng;
use crate::scatter::Scatter;
use crate::weighted::{Cells, Weighted};
use model::profile::{Skew, SkewLaw};
use std::sync::Arc;

/// Distribution of popularity over ranks.
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
    /// The table over `positions`, at least 1; `None` if a parameter of the law is out of range.
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

    /// Parts of the table that draws need.
    #[inline]
    fn draws(&self) -> Draws<'_> {
        Draws { law: self.law, cells: self.table.cells(), groups: &self.groups }
    }

    /// A stratum and a rank in it.
    #[cfg(test)]
    fn draw(&self, rng: &mut Rng) -> (usize, u64) {
        self.draws().next(rng)
    }

    /// Number of ranks in each stratum, the hottest first.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().map(|stratum| stratum.count)
    }
}

/// Parts of a table that a loop keeps in registers.
#[derive(Clone, Copy)]
struct Draws<'a> {
    law: Law,
    cells: Cells<'a>,
    groups: &'a [Stratum],
}

impl Draws<'_> {
    /// A stratum and a rank in it.
    #[inline]
    fn next(self, rng: &mut Rng) -> (usize, u64) {
        loop {
            let bits = rng.next_u64();
            let index = self.cells.pick(bits);
            let stratum = &self.groups[index];
            // Uniform in the stratum; the rest of the draw decides whether it is kept. Its steps are `count` / 2^64.
            let product = u128::from(bits.wrapping_mul(GOLDEN)) * u128::from(stratum.count);
            let (rank, fraction) = (stratum.first + (product >> 64) as u64, product as u64);
            if fraction <= stratum.keeps_up_to || keeps(self.law, stratum, rank, fraction) {
                return (index, rank);
            }
        }
    }
}

/// Decides by the law itself whether a rank is kept.
#[cold]
fn keeps(law: Law, stratum: &Stratum, rank: u64, fraction: u64) -> bool {
    fraction as f64 * stratum.weight < law.weight(rank) * TWO_TO_64
}

/// 2^64 divided by the golden ratio: of all numbers, its multiples are spread most evenly (Knuth, volume 3, 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

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

/// A source of skewed positions, owned by one thread. It draws ahead: a loop over many keeps in registers what a call
/// for each would load.
#[derive(Clone, Debug)]
pub struct Skewed {
    strata: Arc<Strata>,
    /// `None` = the hottest position is the first, and so on.
    scattered: Option<Scattered>,
    /// Used draws of each stratum; other threads may read them.
    drawn: Arc<[Counter]>,
    ahead: Box<[Draw; AHEAD]>,
    /// Index of the first draw that was not used.
    next: usize,
}

/// A position that was drawn.
#[derive(Clone, Copy, Debug, Default)]
struct Draw {
    position: u64,
    stratum: usize,
}

/// Draws made at once.
const AHEAD: usize = 64;

/// The permutation from ranks to positions.
#[derive(Clone, Debug)]
struct Scattered {
    scatter: Scatter,
    /// Positions of the hottest ranks, which are drawn often: a table look-up is cheaper than the permutation.
    hottest: Box<[u64]>,
}

impl Scattered {
    fn new(scatter: Scatter) -> Self {
        let hottest = (0..SINGLE.min(scatter.positions())).map(|rank| scatter.position(rank)).collect();
        Self { scatter, hottest }
    }

    #[inline]
    fn position(&self, rank: u64) -> u64 {
        self.hottest.get(rank as usize).copied().unwrap_or_else(|| self.scatter.position(rank))
    }
}

impl Skewed {
    /// Draws from `strata`; counts in `drawn`, one counter for each stratum.
    pub fn new(strata: Arc<Strata>, scatter: Option<Scatter>, drawn: Arc<[Counter]>) -> Self {
        let ahead = Box::new([Draw::default(); AHEAD]);
        Self { strata, scattered: scatter.map(Scattered::new), drawn, ahead, next: AHEAD }
    }

    /// The next position.
    #[inline]
    pub fn draw(&mut self, rng: &mut Rng) -> u64 {
        self.draw_many(1, rng).next().unwrap_or_default()
    }

    /// The next positions: at least one, at most `most`, which is not 0.
    #[inline]
    pub fn draw_many(&mut self, most: usize, rng: &mut Rng) -> impl ExactSizeIterator<Item = u64> {
        if self.next == AHEAD {
            self.fill(rng);
        }
        let (first, drawn) = (self.next, &*self.drawn);
        self.next = AHEAD.min(first + most);
        self.ahead[first..self.next].iter().map(|draw| {
            drawn[draw.stratum].add(1);
            draw.position
        })
    }

    #[inline(never)]
    fn fill(&mut self, rng: &mut Rng) {
        let (draws, mut numbers) = (self.strata.draws(), rng.clone());
        for draw in &mut *self.ahead {
            let (stratum, position) = draws.next(&mut numbers);
            *draw = Draw { position, stratum };
        }
        *rng = numbers;
        if let Some(scattered) = &self.scattered {
            for draw in &mut *self.ahead {
                draw.position = scattered.position(draw.position);
            }
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests;
