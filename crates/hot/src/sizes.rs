//! I/Os of several sizes: size and offset of the next one.
//!
//! The size is drawn before the offset, from the same random number. Nothing divides per I/O.

use crate::rng::{self, Rng};
use crate::stream::{Range, Ranges, percent_threshold};
use model::operation::{ByOperation, Operation};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Shares of the sizes, by operation.
#[derive(Clone, Debug)]
pub struct SizeTable {
    /// The size of each hundredth of the random numbers.
    shares: ByOperation<[u8; ENTRIES]>,
}

/// Sizes are drawn in percent.
const PERCENT: usize = 100;

/// Of a table of [`PERCENT`] entries: a power of two, so that no index needs a check.
const ENTRIES: usize = PERCENT.next_power_of_two();

impl SizeTable {
    /// The percentages of an operation add up to 100; there are none if it is never drawn.
    pub fn new(percents: impl Fn(Operation) -> Vec<u32>) -> Self {
        let shares = ByOperation::new(|operation| {
            let percents = percents(operation);
            let sizes =
                (0_u8..).zip(&percents).flat_map(|(size, &percent)| std::iter::repeat_n(size, percent as usize));
            let mut shares = [0; ENTRIES];
            for (share, size) in shares.iter_mut().zip(sizes) {
                *share = size;
            }
            shares
        });
        Self { shares }
    }

    /// The index of the size of the next I/O with this operation, and the rest of 64 random bits: as random as they
    /// were, in steps of 100 / 2^64.
    #[inline]
    fn draw(&self, operation: Operation, bits: u64) -> (u8, u64) {
        let product = u128::from(bits) * PERCENT as u128;
        (self.shares[operation][(product >> 64) as usize % ENTRIES], product as u64)
    }
}

/// Offsets that I/Os of one size may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The size.
    pub bytes: u32,
    /// Distance between random offsets.
    pub alignment: u64,
    /// Number of random offsets, at least 1.
    pub positions: u64,
    /// Weighted ranges of random offsets; empty = uniform.
    pub ranges: Vec<Range>,
}

#[derive(Debug)]
struct Place {
    bytes: u32,
    alignment: u64,
    positions: u64,
    ranges: Option<Ranges>,
}

/// An I/O of one of several sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizedNext {
    /// Index of its size.
    pub size: u8,
    /// Its size in bytes.
    pub length: u32,
    /// Absolute offset in bytes.
    pub offset: u64,
}

/// A source of sizes and offsets, owned by one thread.
#[derive(Debug)]
pub struct SizedStream {
    table: SizeTable,
    base: u64,
    /// Bytes of the area; no size is larger.
    size: u64,
    /// The largest size in bytes.
    largest: u64,
    /// By size.
    places: Box<[Place]>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Sequential { next: u64 },
    Interlocked { next: Arc<AtomicU64> },
    Random { is_uniform: bool },
    Mixed { jump_below: u64, next: u64 },
}

/// The order of the offsets of a [`SizedStream`].
#[derive(Clone, Debug)]
pub enum Walk {
    /// Each begins where the one before ended; at the end of the area it wraps around.
    Sequential,
    /// The same for several threads together.
    Interlocked(Arc<AtomicU64>),
    /// At random.
    Random,
    /// Random jumps in this percentage of I/Os, sequential runs between them.
    Mixed(u32),
}

impl SizedStream {
    /// A stream in `size` bytes from `base` on.
    pub fn new(base: u64, size: u64, places: &[Places], table: SizeTable, walk: Walk) -> Self {
        let place = |places: &Places| Place {
            bytes: places.bytes,
            alignment: places.alignment,
            positions: places.positions,
            ranges: Ranges::new(&places.ranges),
        };
        let kind = match walk {
            Walk::Sequential => Kind::Sequential { next: 0 },
            Walk::Interlocked(next) => Kind::Interlocked { next },
            Walk::Random => Kind::Random { is_uniform: places.iter().all(|places| places.ranges.is_empty()) },
            Walk::Mixed(percent) => Kind::Mixed { jump_below: percent_threshold(percent), next: u64::MAX },
        };
        let largest = places.iter().map(|place| u64::from(place.bytes)).max().unwrap_or(0);
        Self { table, base, size, largest, places: places.iter().map(place).collect(), kind }
    }

    /// The size with this index, in bytes.
    #[inline]
    pub fn bytes(&self, size: u8) -> u32 {
        self.places[usize::from(size)].bytes
    }

    /// The draw of sizes and offsets if all offsets of a size are equally likely: chosen once, so that a loop keeps it
    /// in registers.
    #[inline]
    pub fn uniform(&self) -> Option<UniformSizes<'_>> {
        let is_uniform = matches!(self.kind, Kind::Random { is_uniform: true });
        is_uniform.then_some(UniformSizes { table: &self.table, base: self.base, places: &self.places })
    }

    /// True if the next I/O continues the one before in a mixed load; decided before its size is drawn.
    #[inline]
    pub fn continues(&self, rng: &mut Rng) -> bool {
        match self.kind {
            // The first run begins at random.
            Kind::Mixed { jump_below, next } => next < u64::MAX && (rng.next_u64() >> 32) >= jump_below,
            _ => false,
        }
    }

    /// False if a sequential stream may wrap to its start next: the largest size does not fit there.
    #[inline]
    pub fn has_room(&self) -> bool {
        match &self.kind {
            Kind::Sequential { next } => *next <= self.size - self.largest,
            _ => true,
        }
    }

    /// Resets a sequential stream to its start.
    pub fn rewind(&mut self) {
        if let Kind::Sequential { next } = &mut self.kind {
            *next = 0;
        }
    }

    /// The next I/O, with this operation.
    #[inline]
    pub fn next(&mut self, operation: Operation, continues: bool, rng: &mut Rng) -> SizedNext {
        let (size, bits) = self.table.draw(operation, rng.next_u64());
        self.next_of(size, continues, bits, rng)
    }

    /// The next I/O, of the size with this index; `bits` are random.
    #[inline]
    fn next_of(&mut self, size: u8, continues: bool, bits: u64, rng: &mut Rng) -> SizedNext {
        let place = &self.places[usize::from(size)];
        let relative = match &mut self.kind {
            Kind::Random { .. } => place.random(bits, rng),
            Kind::Sequential { next } => follow(next, place.bytes, self.size),
            Kind::Mixed { next, .. } => {
                if !continues {
                    *next = place.random(bits, rng);
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
        SizedNext { size, length: place.bytes, offset: self.base + relative }
    }
}

/// Sizes of which all offsets are equally likely.
#[derive(Clone, Copy, Debug)]
pub struct UniformSizes<'a> {
    table: &'a SizeTable,
    base: u64,
    places: &'a [Place],
}

impl UniformSizes<'_> {
    /// The next I/O, with this operation.
    #[inline]
    pub fn next(&self, operation: Operation, rng: &mut Rng) -> SizedNext {
        let (size, bits) = self.table.draw(operation, rng.next_u64());
        let Place { bytes, alignment, positions, .. } = self.places[usize::from(size)];
        SizedNext { size, length: bytes, offset: self.base + rng::scale(bits, positions) * alignment }
    }
}

impl Place {
    #[inline]
    fn random(&self, bits: u64, rng: &mut Rng) -> u64 {
        match &self.ranges {
            Some(ranges) => ranges.draw(rng, self.alignment),
            None => rng::scale(bits, self.positions) * self.alignment,
        }
    }
}

/// Returns `next`, or 0 if no such I/O fits there, and advances it.
#[inline]
fn follow(next: &mut u64, bytes: u32, size: u64) -> u64 {
    let bytes = u64::from(bytes);
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
        let positions = (SIZE - bytes) / bytes + 1;
        Places { bytes: bytes as u32, alignment: bytes, positions, ranges: Vec::new() }
    }

    fn stream(walk: Walk) -> SizedStream {
        let table = SizeTable::new(|_| vec![50, 30, 20]);
        SizedStream::new(7 * KIB, SIZE, &[places(4 * KIB), places(12 * KIB), places(64 * KIB)], table, walk)
    }

    /// Pearson's test: 16 sizes, 10^7 draws; the bound is the 0.9999 quantile of chi-square with 15 degrees of freedom.
    #[test]
    fn sizes_are_drawn_in_their_shares() {
        const DRAWS: u64 = 10_000_000;
        let weights = vec![1, 1, 2, 3, 5, 8, 13, 10, 7, 6, 9, 4, 11, 12, 5, 3];
        assert_eq!(weights.iter().sum::<u32>(), 100);
        let table = SizeTable::new(|_| weights.clone());
        for seed in 1..=3 {
            let mut rng = Rng::new(seed);
            let mut seen = [0_u64; 16];
            for _ in 0..DRAWS {
                seen[usize::from(table.draw(Operation::Read, rng.next_u64()).0)] += 1;
            }
            let chi_square: f64 = seen
                .iter()
                .zip(&weights)
                .map(|(&count, &weight)| {
                    let expected = (DRAWS / 100 * u64::from(weight)) as f64;
                    (count as f64 - expected).powi(2) / expected
                })
                .sum();
            assert!(chi_square < 44.26, "seed {seed}: {chi_square}, {seen:?}");
        }
    }

    /// One random number gives both: 16 sizes with 16 parts of the area each, by Pearson's test; the bound is the 0.9999
    /// quantile of chi-square with 255 degrees of freedom.
    #[test]
    fn offsets_do_not_depend_on_the_size_that_was_drawn_with_them() {
        const DRAWS: u32 = 2_560_000;
        let percents: Vec<u32> = [6; 12].into_iter().chain([7; 4]).collect();
        let table = SizeTable::new(|_| percents.clone());
        let mut rng = Rng::new(6);
        let mut seen = [[0_u32; 16]; 16];
        for _ in 0..DRAWS {
            let (size, bits) = table.draw(Operation::Read, rng.next_u64());
            seen[usize::from(size)][rng::scale(bits, 16) as usize] += 1;
        }
        let part = |(counts, &percent): (&[u32; 16], &u32)| {
            let expected = f64::from(DRAWS) / 1600.0 * f64::from(percent);
            counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum::<f64>()
        };
        let chi_square: f64 = seen.iter().zip(&percents).map(part).sum();
        assert!(chi_square < 347.7, "{chi_square}");
    }

    #[test]
    fn a_sequential_stream_has_room_while_the_largest_size_fits() {
        let mut stream = stream(Walk::Sequential);
        let mut rng = Rng::new(1);
        for _ in 0..15 {
            assert!(stream.has_room());
            stream.next_of(2, false, 0, &mut rng);
        }
        assert!(stream.has_room(), "64 KiB are left");
        stream.next_of(0, false, 0, &mut rng);
        assert!(!stream.has_room(), "60 KiB are left");
        stream.rewind();
        assert_eq!((stream.has_room(), stream.next_of(2, false, 0, &mut rng).offset), (true, 7 * KIB));
    }

    #[test]
    fn operations_have_sizes_of_their_own() {
        let weights = |operation| match operation {
            Operation::Read => vec![100, 0, 0],
            Operation::Write => vec![0, 50, 50],
            _ => Vec::new(),
        };
        let table = SizeTable::new(weights);
        let mut rng = Rng::new(8);
        assert!((0..1000).all(|_| table.draw(Operation::Read, rng.next_u64()).0 == 0));
        assert!((0..1000).all(|_| table.draw(Operation::Write, rng.next_u64()).0 > 0));
    }

    #[test]
    fn random_offsets_reach_each_position_of_their_size_and_no_other() {
        let mut stream = stream(Walk::Random);
        let mut rng = Rng::new(4);
        for (size, bytes) in [(0, 4 * KIB), (1, 12 * KIB), (2, 64 * KIB)] {
            let mut seen: Vec<u64> =
                (0..10_000).map(|_| stream.next_of(size, false, rng.next_u64(), &mut rng).offset).collect();
            seen.sort_unstable();
            seen.dedup();
            let expected: Vec<u64> = (0..SIZE / bytes).map(|position| 7 * KIB + position * bytes).collect();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn uniform_draws_are_those_of_the_stream() {
        let (mut random, mut ours, mut theirs) = (stream(Walk::Random), Rng::new(9), Rng::new(9));
        for _ in 0..1000 {
            let uniform = random.uniform().expect("no ranges").next(Operation::Write, &mut ours);
            assert_eq!(uniform, random.next(Operation::Write, false, &mut theirs));
        }
        let ranges = vec![Range { weight: 1, start: 0, positions: 1 }];
        let places = [Places { ranges, ..places(4 * KIB) }];
        let table = SizeTable::new(|_| vec![100]);
        assert!(SizedStream::new(0, SIZE, &places, table, Walk::Random).uniform().is_none());
        assert!(stream(Walk::Mixed(50)).uniform().is_none());
    }

    #[test]
    fn sequential_ios_follow_each_other_and_wrap_where_the_next_does_not_fit() {
        let mut stream = stream(Walk::Sequential);
        let mut rng = Rng::new(4);
        let mut at = 0;
        for turn in 0..10_000_usize {
            let size = [2, 0, 1, 1][turn % 4];
            let bytes = u64::from(stream.bytes(size as u8));
            let expected = if at + bytes > SIZE { 0 } else { at };
            assert_eq!(stream.next_of(size as u8, false, 0, &mut rng).offset, 7 * KIB + expected);
            at = expected + bytes;
        }
    }

    #[test]
    fn interlocked_threads_share_one_position() {
        let next = Arc::new(AtomicU64::new(0));
        let (mut first, mut second) = (stream(Walk::Interlocked(Arc::clone(&next))), stream(Walk::Interlocked(next)));
        let mut rng = Rng::new(4);
        let mut at = |stream: &mut SizedStream, size| stream.next_of(size, false, 0, &mut rng).offset - 7 * KIB;
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
            let bytes = u64::from(stream.bytes(size as u8));
            let offset = stream.next_of(size as u8, continues, rng.next_u64(), &mut rng).offset - 7 * KIB;
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
