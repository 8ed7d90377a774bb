//! Choosing among weighted entries in constant time: Walker's alias method, in the form of Vose.

use crate::rng::Rng;
use std::hint::select_unpredictable;

/// A table of alternatives; a draw costs one random number, one multiplication and one compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighted {
    cells: Box<[Cell]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    /// The entry itself is taken if the draw's fraction is below this.
    threshold: u64,
    alias: u32,
}

impl Weighted {
    /// A table over `weights`; entries of weight 0 are never chosen. `None` if all are 0.
    pub fn new(weights: &[u64]) -> Option<Self> {
        let count = weights.len() as u128;
        let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        if sum == 0 {
            return None;
        }
        // Scaled so that the mean entry is `sum`: those below give their gap to one above.
        let mut shares: Vec<u128> = weights.iter().map(|&weight| u128::from(weight) * count).collect();
        let mut small: Vec<usize> = Vec::new();
        let mut large: Vec<usize> = Vec::new();
        for (entry, &share) in shares.iter().enumerate() {
            if share < sum { small.push(entry) } else { large.push(entry) }
        }
        let mut cells = vec![Cell { threshold: u64::MAX, alias: 0 }; weights.len()];
        for (entry, cell) in cells.iter_mut().enumerate() {
            cell.alias = entry as u32;
        }
        while let (Some(&under), Some(&over)) = (small.last(), large.last()) {
            small.pop();
            cells[under] = Cell { threshold: fraction(shares[under], sum), alias: over as u32 };
            shares[over] -= sum - shares[under];
            if shares[over] < sum {
                large.pop();
                small.push(over);
            }
        }
        Some(Self { cells: cells.into_boxed_slice() })
    }

    /// The index of an entry, with probability in proportion to its weight.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> usize {
        self.cells().pick(rng.next_u64())
    }

    /// Its cells, which a loop keeps in registers.
    #[inline]
    pub(crate) fn cells(&self) -> Cells<'_> {
        Cells(&self.cells)
    }
}

/// The cells of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<'a>(&'a [Cell]);

impl Cells<'_> {
    /// The entry that belongs to 64 random bits. An entry has intervals of them: at most one in each cell.
    #[inline]
    pub(crate) fn pick(self, bits: u64) -> usize {
        let product = u128::from(bits) * self.0.len() as u128;
        let index = (product >> 64) as usize;
        let cell = self.0[index];
        // A branch on random bits would be predicted wrong half of the time.
        select_unpredictable((product as u64) < cell.threshold, index, cell.alias as usize)
    }
}

/// `part / whole` as a fraction of 2^64, for `part < whole`.
fn fraction(part: u128, whole: u128) -> u64 {
    // 2^64 × part would overflow only above 2^64; weights are far below.
    match part.checked_mul(1 << 64) {
        Some(product) => (product / whole) as u64,
        None => ((part / (whole >> 64).max(1)).min(u128::from(u64::MAX))) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_weights() {
        const DRAWS: u64 = 1_000_000;
        let weights = [10u64, 0, 70, 15, 5];
        let table = Weighted::new(&weights).expect("weights are not all zero");
        let mut rng = Rng::new(1);
        let mut seen = [0u64; 5];
        for _ in 0..DRAWS {
            seen[table.draw(&mut rng)] += 1;
        }
        assert_eq!(seen[1], 0);
        for (count, weight) in seen.iter().zip(weights) {
            let expected = (DRAWS * weight / 100) as f64;
            // Five standard deviations of a binomial count.
            assert!((*count as f64 - expected).abs() <= 5.0 * (expected + 1.0).sqrt(), "{seen:?}");
        }
    }

    #[test]
    fn one_entry_is_always_chosen_and_no_weight_is_refused() {
        let table = Weighted::new(&[3]).expect("one weight");
        let mut rng = Rng::new(9);
        assert!((0..1000).all(|_| table.draw(&mut rng) == 0));
        assert_eq!(Weighted::new(&[0, 0]), None);
        assert_eq!(Weighted::new(&[]), None);
    }
}
