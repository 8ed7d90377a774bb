//! I/Os of several sizes: which one the next has, and where it falls.
//!
//! The size is drawn before the offset. Nothing divides per I/O.

use crate::rng::Rng;
use crate::stream::{Range, Ranges, percent_threshold};
use crate::weighted::Weighted;
use model::operation::{ByOperation, Operation};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Which sizes there are, and how often each operation has them.
#[derive(Clone, Debug)]
pub struct SizeTable {
    bytes: Box<[u32]>,
    draws: ByOperation<Option<Weighted>>,
}

impl SizeTable {
    /// `bytes`, of which each operation has those with a weight; none if it is never drawn.
    pub fn new(bytes: &[u32], weights: impl Fn(Operation) -> Vec<u64>) -> Self {
        let draws = ByOperation::new(|operation| Weighted::new(&weights(operation)));
        Self { bytes: bytes.into(), draws }
    }

    /// The index of the size of the next I/O that does this.
    #[inline]
    pub fn draw(&self, operation: Operation, rng: &mut Rng) -> u8 {
        self.draws[operation].as_ref().map_or(0, |draws| draws.draw(rng) as u8)
    }

    /// A size in bytes.
    #[inline]
    pub fn bytes(&self, index: u8) -> u32 {
        self.bytes[usize::from(index)]
    }

    /// All of them.
    pub fn all(&self) -> &[u32] {
        &self.bytes
    }
}

/// Where I/Os of one size may fall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The size.
    pub bytes: u64,
    /// Distance between random offsets.
    pub alignment: u64,
    /// Number of random offsets, at least 1.
    pub positions: u64,
    /// Weighted ranges of random offsets; empty = uniform.
    pub ranges: Vec<Range>,
}

#[derive(Debug)]
struct Place {
    bytes: u64,
    alignment: u64,
    positions: u64,
    ranges: Option<Ranges>,
}

/// A source of offsets for I/Os whose size is known, owned by one thread.
#[derive(Debug)]
pub struct SizedStream {
    base: u64,
    /// Bytes of the area, which every size fits into.
    size: u64,
    /// By size.
    places: Box<[Place]>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Sequential { next: u64 },
    Interlocked { next: Arc<AtomicU64> },
    Random,
    Mixed { jump_below: u64, next: u64 },
}

/// How the offsets of a [`SizedStream`] follow each other.
#[derive(Clone, Debug)]
pub enum Walk {
    /// Each begins where the one before ended; at the end of the area, back to its beginning.
    Sequential,
    /// The same for several threads together.
    Interlocked(Arc<AtomicU64>),
    /// At random.
    Random,
    /// Random jumps in so many percent, sequential runs between them.
    Mixed(u32),
}

impl SizedStream {
    /// A stream in `size` bytes from `base` on.
    pub fn new(base: u64, size: u64, places: &[Places], walk: Walk) -> Self {
        let place = |places: &Places| Place {
            bytes: places.bytes,
            alignment: places.alignment,
            positions: places.positions,
            ranges: Ranges::new(&places.ranges),
        };
        let kind = match walk {
            Walk::Sequential => Kind::Sequential { next: 0 },
            Walk::Interlocked(next) => Kind::Interlocked { next },
            Walk::Random => Kind::Random,
            Walk::Mixed(percent) => Kind::Mixed { jump_below: percent_threshold(percent), next: u64::MAX },
        };
        Self { base, size, places: places.iter().map(place).collect(), kind }
    }

    /// True if the next I/O goes on from the one before in a mixed load; decided before its size is drawn.
    #[inline]
    pub fn continues(&self, rng: &mut Rng) -> bool {
        match self.kind {
            // The first run begins at random.
            Kind::Mixed { jump_below, next } => next < u64::MAX && (rng.next_u64() >> 32) >= jump_below,
            _ => false,
        }
    }

    /// The offset of the next I/O, of the size with this index.
    #[inline]
    pub fn next(&mut self, size: u8, continues: bool, rng: &mut Rng) -> u64 {
        let place = &self.places[usize::from(size)];
        let relative = match &mut self.kind {
            Kind::Random => place.random(rng),
            Kind::Sequential { next } => follow(next, place.bytes, self.size),
            Kind::Mixed { next, .. } => {
                if !continues {
                    *next = place.random(rng);
                }
                follow(next, place.bytes, self.size)
            }
            Kind::Interlocked { next } => {
                let mut seen = next.load(Relaxed);
                loop {
                    let mut after = seen;
                    let offset = follow(&mut after, place.bytes, self.size);
                    match next.compare_exchange_weak(seen, after, Relaxed, Relaxed) {
                        Ok(_) => break offset,
                        Err(other) => seen = other,
                    }
                }
            }
        };
        self.base + relative
    }
}

impl Place {
    #[inline]
    fn random(&self, rng: &mut Rng) -> u64 {
        match &self.ranges {
            Some(ranges) => ranges.draw(rng, self.alignment),
            None => rng.below(self.positions) * self.alignment,
        }
    }
}

/// Takes `next`, or 0 if no such I/O fits there, and moves on.
#[inline]
fn follow(next: &mut u64, bytes: u64, size: u64) -> u64 {
    let offset = if *next > size - bytes { 0 } else { *next };
    *next = offset + bytes;
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;
    const SIZE: u64 = 1 << 20;

    fn places(bytes: u64) -> Places {
        Places { bytes, alignment: bytes, positions: (SIZE - bytes) / bytes + 1, ranges: Vec::new() }
    }

    fn stream(walk: Walk) -> SizedStream {
        SizedStream::new(7 * KIB, SIZE, &[places(4 * KIB), places(12 * KIB), places(64 * KIB)], walk)
    }

    /// Pearson's test: 16 sizes, 10^7 draws; the bound is the 0.9999 quantile of chi-square with 15 degrees of freedom.
    #[test]
    fn sizes_are_drawn_in_their_shares() {
        const DRAWS: u64 = 10_000_000;
        let weights: Vec<u64> = vec![1, 1, 2, 3, 5, 8, 13, 10, 7, 6, 9, 4, 11, 12, 5, 3];
        assert_eq!(weights.iter().sum::<u64>(), 100);
        let bytes: Vec<u32> = (1..=16).map(|size| size * 512).collect();
        let table = SizeTable::new(&bytes, |_| weights.clone());
        for seed in 1..=3 {
            let mut rng = Rng::new(seed);
            let mut seen = [0_u64; 16];
            for _ in 0..DRAWS {
                seen[usize::from(table.draw(Operation::Read, &mut rng))] += 1;
            }
            let chi_square: f64 = seen
                .iter()
                .zip(&weights)
                .map(|(&count, &weight)| {
                    let expected = (DRAWS / 100 * weight) as f64;
                    (count as f64 - expected).powi(2) / expected
                })
                .sum();
            assert!(chi_square < 44.26, "seed {seed}: {chi_square}, {seen:?}");
        }
    }

    #[test]
    fn operations_have_sizes_of_their_own() {
        let weights = |operation| match operation {
            Operation::Read => vec![100, 0, 0],
            Operation::Write => vec![0, 50, 50],
            _ => Vec::new(),
        };
        let table = SizeTable::new(&[512, 4096, 8192], weights);
        let mut rng = Rng::new(8);
        assert!((0..1000).all(|_| table.bytes(table.draw(Operation::Read, &mut rng)) == 512));
        assert!((0..1000).all(|_| table.draw(Operation::Write, &mut rng) > 0));
        assert_eq!(table.all(), [512, 4096, 8192]);
    }

    #[test]
    fn random_offsets_reach_each_position_of_their_size_and_no_other() {
        let mut stream = stream(Walk::Random);
        let mut rng = Rng::new(4);
        for (size, bytes) in [(0, 4 * KIB), (1, 12 * KIB), (2, 64 * KIB)] {
            let mut seen: Vec<u64> = (0..10_000).map(|_| stream.next(size, false, &mut rng)).collect();
            seen.sort_unstable();
            seen.dedup();
            let expected: Vec<u64> = (0..SIZE / bytes).map(|position| 7 * KIB + position * bytes).collect();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn sequential_ios_follow_each_other_and_wrap_where_the_next_does_not_fit() {
        let mut stream = stream(Walk::Sequential);
        let mut rng = Rng::new(4);
        let mut at = 0;
        for turn in 0..10_000_usize {
            let size = [2, 0, 1, 1][turn % 4];
            let bytes = stream.places[size].bytes;
            let expected = if at + bytes > SIZE { 0 } else { at };
            assert_eq!(stream.next(size as u8, false, &mut rng), 7 * KIB + expected);
            at = expected + bytes;
        }
    }

    #[test]
    fn interlocked_threads_share_one_position() {
        let next = Arc::new(AtomicU64::new(0));
        let (mut first, mut second) = (stream(Walk::Interlocked(Arc::clone(&next))), stream(Walk::Interlocked(next)));
        let mut rng = Rng::new(4);
        let mut at = |stream: &mut SizedStream, size| stream.next(size, false, &mut rng) - 7 * KIB;
        assert_eq!(at(&mut first, 0), 0);
        assert_eq!(at(&mut second, 2), 4 * KIB);
        assert_eq!(at(&mut first, 1), 68 * KIB);
        assert_eq!(at(&mut second, 0), 80 * KIB);
    }

    #[test]
    fn mixed_runs_go_on_where_they_were() {
        let mut stream = stream(Walk::Mixed(25));
        let mut rng = Rng::new(5);
        let mut end = None;
        let mut jumps = 0;
        for turn in 0..100_000_usize {
            let continues = stream.continues(&mut rng);
            assert!(continues || turn > 0 || end.is_none());
            let size = turn % 3;
            let bytes = stream.places[size].bytes;
            let offset = stream.next(size as u8, continues, &mut rng) - 7 * KIB;
            if continues {
                assert!(Some(offset) == end || offset == 0);
            } else {
                assert!(offset.is_multiple_of(bytes));
            }
            jumps += u32::from(!continues);
            end = Some(offset + bytes);
            assert!(offset + bytes <= SIZE);
        }
        assert!((24_300..25_700).contains(&jumps), "{jumps}");
    }
}
