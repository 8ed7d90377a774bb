//! A fixed permutation of positions that looks random: the popular ranks of a skewed load lie anywhere on the target.
//!
//! A Feistel network over a grid of at least as many cells as there are positions. The low half of a number takes all
//! values of its bits, the high half as many values as the positions need, so fewer than one cell in the square root of
//! the positions lies outside; a result outside is permuted again until it is inside (cycle walking). Each round adds
//! to one half a function of the other, which is a bijection for any function. The highest bits of a product are added,
//! each of which depends on all bits of its factors; where it is the second product of two, neighbours are
//! uncorrelated. The last round has one product, by the golden ratio: multiples of a random key may lie close together,
//! those of the golden ratio never do (Knuth, The Art of Computer Programming, volume 3, 6.4).

use crate::rng;

/// A permutation of `0..positions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scatter {
    positions: u64,
    low_bits: u32,
    low_mask: u64,
    /// Number of values of the high half.
    high: u64,
    /// Combined with the low half by XOR before the first round: 0 would stay 0.
    start: u64,
    /// Odd: the first two are factors.
    keys: [u64; ROUNDS],
}

/// Number of rounds: with two, neighbours stay correlated. The hottest ranks are in the low half, so it is mixed in
/// first.
const ROUNDS: usize = 3;

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The first multiplier of splitmix64.
const MULTIPLY: u64 = 0xBF58_476D_1CE4_E5B9;

impl Scatter {
    /// The permutation of a number of positions, at least 1, that belongs to a seed.
    pub fn new(positions: u64, seed: u64) -> Self {
        let positions = positions.max(1);
        let bits = u64::BITS - (positions - 1).leading_zeros();
        let low_bits = bits.div_ceil(2).max(1);
        let mut keys = rng::Rng::new(seed);
        let low_mask = (1 << low_bits) - 1;
        Self {
            positions,
            low_bits,
            low_mask,
            start: keys.next_u64() & low_mask,
            high: ((positions - 1) >> low_bits) + 1,
            keys: std::array::from_fn(|_| keys.next_u64() | 1),
        }
    }

    /// Number of positions.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// Position of `rank`, which is below the number of positions.
    #[inline]
    pub fn position(&self, rank: u64) -> u64 {
        let mut at = rank;
        loop {
            at = self.permute(at);
            if at < self.positions {
                return at;
            }
        }
    }

    /// One pass of the network over the grid.
    #[inline]
    fn permute(&self, at: u64) -> u64 {
        let [first, second, third] = self.keys;
        let (low, high) = (at & self.low_mask ^ self.start, at >> self.low_bits);
        let high = self.add(high, mixed(low, first));
        let low = low ^ (mixed(high, second) >> (u64::BITS - self.low_bits));
        let high = self.add(high, low.wrapping_mul(GOLDEN).wrapping_add(third));
        high << self.low_bits | low
    }

    /// Adds bits, scaled to the values of the high half.
    #[inline]
    fn add(&self, high: u64, bits: u64) -> u64 {
        // At most 2^32 values: the sum does not overflow.
        let sum = high + rng::scale(bits, self.high);
        sum.checked_sub(self.high).unwrap_or(sum)
    }
}

/// Bits of a half and a key, the highest of which depend on all.
#[inline]
fn mixed(half: u64, key: u64) -> u64 {
    let product = half.wrapping_mul(key);
    (product ^ (product >> 32)).wrapping_mul(MULTIPLY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// True if every position is taken once.
    fn is_permutation(positions: u64, seed: u64) -> bool {
        let scatter = Scatter::new(positions, seed);
        let mut taken = vec![false; positions as usize];
        (0..positions).all(|rank| !std::mem::replace(&mut taken[scatter.position(rank) as usize], true))
    }

    #[test]
    fn every_small_number_of_positions_is_permuted() {
        assert!((1..=1200).all(|positions| is_permutation(positions, positions ^ 0x5eed)));
    }

    #[test]
    fn numbers_around_powers_of_two_and_squares_are_permuted() {
        for positions in [1 << 16, (1 << 16) - 1, (1 << 16) + 1, 1 << 17, (1 << 17) + 1, 99_999, 123_456] {
            assert!(is_permutation(positions, 3), "{positions}");
        }
    }

    proptest! {
        /// On large targets the ranks of a window and some others are distinct and inside.
        #[test]
        fn positions_of_large_targets_are_distinct(positions in 1_u64 << 20..1 << 63, seed: u64, from: u64) {
            let scatter = Scatter::new(positions, seed);
            let ranks = (0..2000).map(|step| from.wrapping_add(step) % positions).chain(0..2000);
            let ranks: HashSet<u64> = ranks.collect();
            let places: HashSet<u64> = ranks.iter().map(|&rank| scatter.position(rank)).collect();
            prop_assert_eq!(places.len(), ranks.len());
            prop_assert!(places.iter().all(|&place| place < positions));
        }
    }

    /// Chi-square of counts that should be equal.
    fn chi_square(counts: &[u64]) -> f64 {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
    }

    /// The hottest ranks, their distances from their neighbours and their order inside small pieces are spread evenly.
    #[test]
    fn the_hottest_ranks_are_spread_evenly() {
        const RANKS: u64 = 8192;
        // The 99.999 % quantile of chi-square with 63 degrees of freedom.
        const LIMIT: f64 = 124.0;
        // Pieces of the smallest hold some 30 ranks, as chi-square needs.
        for (positions, seeds) in [
            (1 << 16, 100),
            (1 << 18, 100),
            (1 << 20, 30),
            ((1 << 20) + 1, 8),
            (3_000_017, 8),
            (1 << 28, 8),
            ((1 << 40) - 7, 8),
        ] {
            for seed in 0..seeds {
                let scatter = Scatter::new(positions, seed);
                let places: Vec<u64> = (0..RANKS.min(positions / 32)).map(|rank| scatter.position(rank)).collect();
                let bin = |value: u64| (u128::from(value) * 64 / u128::from(positions)) as usize;
                let (mut where_, mut apart, mut low) = ([0; 64], [0; 64], [0; 64]);
                for pair in places.windows(2) {
                    where_[bin(pair[0])] += 1;
                    apart[bin((pair[1] + positions - pair[0]) % positions)] += 1;
                    low[(pair[0] % 64) as usize] += 1;
                }
                for (what, counts) in [("places", where_), ("distances", apart), ("low bits", low)] {
                    let found = chi_square(&counts);
                    assert!(found < LIMIT, "{positions}, seed {seed}: {what} {found:.0}");
                    // Not a lattice either, which would be far too even.
                    assert!(found > 20.0, "{positions}, seed {seed}: {what} {found:.0}");
                }
            }
        }
    }

    #[test]
    fn a_seed_has_one_permutation() {
        let first = |seed| Scatter::new(1_000_000, seed).position(0);
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
        // The same on every machine.
        assert_eq!(
            [0, 1, 2, 999_999].map(|rank| Scatter::new(1_000_000, 0).position(rank)),
            [165_861, 372_080, 124_324, 297_832]
        );
    }
}
