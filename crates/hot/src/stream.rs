//! Offset of the next I/O.
//!
//! Offsets come out absolute, base included. No pattern divides per I/O: sequences compare and
//! wrap, random positions are drawn by multiplication.

use crate::rng::Rng;
use crate::skew::Skewed;
use crate::weighted::Weighted;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The grid of offsets that a pattern uses, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Added to every offset.
    pub base: u64,
    /// Largest offset, relative to base, at which a block still fits.
    pub last: u64,
    /// Distance between offsets.
    pub alignment: u64,
    /// Number of offsets, at least 1.
    pub positions: u64,
}

/// A range of positions for random I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Share of the I/Os.
    pub weight: u32,
    /// Offset of the first position, relative to base.
    pub start: u64,
    /// Number of positions.
    pub positions: u64,
}

/// An offset, and its relation to the one before (a mixed load keeps its operation while it continues).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Absolute offset in bytes.
    pub offset: u64,
    /// True for the sequential part of a mixed pattern.
    pub continues: bool,
}

/// A source of offsets, owned by one thread.
#[derive(Debug)]
pub struct OffsetStream {
    grid: Grid,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Sequential { next: u64, wrap: u64 },
    Interlocked { counter: Arc<AtomicU64>, lap: u64 },
    Parallel { next: Box<[u64]>, wrap: u64 },
    Uniform,
    Ranges(Ranges),
    Skewed(Skewed),
    Mixed { jumps: Jumps, jump_below: u64, next: u64 },
}

/// Where the random offsets of a mixed pattern fall.
#[derive(Debug)]
enum Jumps {
    Uniform,
    Ranges(Ranges),
    Skewed(Skewed),
}

impl Jumps {
    #[inline]
    fn draw(&mut self, grid: &Grid, rng: &mut Rng) -> u64 {
        match self {
            Self::Uniform => uniform(rng, grid.positions, grid.alignment),
            Self::Ranges(ranges) => ranges.draw(rng, grid.alignment),
            Self::Skewed(skewed) => skewed.draw(rng) * grid.alignment,
        }
    }
}

/// Weighted ranges of positions.
#[derive(Debug)]
pub(crate) struct Ranges {
    table: Weighted,
    ranges: Box<[Range]>,
}

impl Ranges {
    pub(crate) fn new(ranges: &[Range]) -> Option<Self> {
        let weights: Vec<u64> = ranges.iter().map(|range| u64::from(range.weight)).collect();
        Some(Self { table: Weighted::new(&weights)?, ranges: ranges.into() })
    }

    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng, alignment: u64) -> u64 {
        let range = &self.ranges[self.table.draw(rng)];
        range.start + rng.below(range.positions) * alignment
    }
}

impl OffsetStream {
    /// Each call advances by one alignment; past the end it wraps to `start` modulo the alignment.
    pub fn sequential(grid: Grid, start: u64) -> Self {
        Self { grid, kind: Kind::Sequential { next: start, wrap: start % grid.alignment } }
    }

    /// Offsets claimed from a counter that other threads claim from too.
    pub fn interlocked(grid: Grid, counter: Arc<AtomicU64>) -> Self {
        Self { grid, kind: Kind::Interlocked { counter, lap: 0 } }
    }

    /// Each of `requests` requests advances on its own from `start`.
    pub fn parallel(grid: Grid, start: u64, requests: usize) -> Self {
        let next = vec![start; requests].into_boxed_slice();
        Self { grid, kind: Kind::Parallel { next, wrap: start % grid.alignment } }
    }

    /// Random: uniform over the grid, or over `ranges` by weight if there are any.
    pub fn random(grid: Grid, ranges: &[Range]) -> Self {
        let kind = Ranges::new(ranges).map_or(Kind::Uniform, Kind::Ranges);
        Self { grid, kind }
    }

    /// Random, with positions of the grid that `skewed` draws.
    pub fn skewed(grid: Grid, skewed: Skewed) -> Self {
        Self { grid, kind: Kind::Skewed(skewed) }
    }

    /// This stream of random offsets, if it is one, in `random_percent` of the calls, and sequential runs between
    /// them. The first run starts at a random offset.
    #[must_use]
    pub fn mixed(self, random_percent: u32, rng: &mut Rng) -> Self {
        let Self { grid, kind } = self;
        let mut jumps = match kind {
            Kind::Ranges(ranges) => Jumps::Ranges(ranges),
            Kind::Skewed(skewed) => Jumps::Skewed(skewed),
            _ => Jumps::Uniform,
        };
        let next = jumps.draw(&grid, rng);
        Self { grid, kind: Kind::Mixed { jumps, jump_below: percent_threshold(random_percent), next } }
    }

    /// False if a sequential stream wraps to its start next.
    #[inline]
    pub fn has_room(&self) -> bool {
        match &self.kind {
            Kind::Sequential { next, .. } => *next <= self.grid.last,
            _ => true,
        }
    }

    /// Resets a sequential stream to its start.
    pub fn rewind(&mut self) {
        if let Kind::Sequential { next, wrap } = &mut self.kind {
            *next = *wrap;
        }
    }

    /// The draw of the offsets if they are uniform: chosen once, so that a loop keeps it in registers.
    #[inline]
    pub fn uniform(&self) -> Option<Uniform> {
        let Grid { base, alignment, positions, .. } = self.grid;
        matches!(self.kind, Kind::Uniform).then_some(Uniform { base, alignment, positions })
    }

    /// The same for offsets that are skewed.
    #[inline]
    pub fn hot(&mut self) -> Option<Hot<'_>> {
        let Grid { base, alignment, .. } = self.grid;
        match &mut self.kind {
            Kind::Skewed(skewed) => Some(Hot { base, alignment, skewed }),
            _ => None,
        }
    }

    /// The next offset for request `request` (its number inside the target).
    #[inline]
    pub fn next(&mut self, rng: &mut Rng, request: usize) -> Next {
        let grid = &self.grid;
        let mut continues = false;
        let relative = match &mut self.kind {
            Kind::Uniform => uniform(rng, grid.positions, grid.alignment),
            Kind::Sequential { next, wrap } => advance(next, *wrap, grid),
            Kind::Ranges(ranges) => ranges.draw(rng, grid.alignment),
            Kind::Skewed(skewed) => skewed.draw(rng) * grid.alignment,
            Kind::Mixed { jumps, jump_below, next } => {
                if (rng.next_u64() >> 32) < *jump_below {
                    *next = jumps.draw(grid, rng);
                } else {
                    continues = true;
                }
                advance(next, 0, grid)
            }
            Kind::Parallel { next, wrap } => advance(&mut next[request], *wrap, grid),
            Kind::Interlocked { counter, lap } => {
                let claimed = counter.fetch_add(1, Relaxed);
                if claimed - *lap >= grid.positions {
                    // Once a lap, not once an I/O.
                    *lap = claimed - claimed % grid.positions;
                }
                (claimed - *lap) * grid.alignment
            }
        };
        Next { offset: grid.base + relative, continues }
    }
}

/// Offsets that are skewed.
#[derive(Debug)]
pub struct Hot<'a> {
    base: u64,
    alignment: u64,
    skewed: &'a mut Skewed,
}

impl Hot<'_> {
    /// The next ones: at least one, at most `most`, which is not 0.
    #[inline]
    pub fn next_many(&mut self, most: usize, rng: &mut Rng) -> impl ExactSizeIterator<Item = Next> {
        let Self { base, alignment, skewed } = self;
        let (base, alignment) = (*base, *alignment);
        skewed.draw_many(most, rng).map(move |position| Next { offset: base + position * alignment, continues: false })
    }
}

/// Offsets that are all equally likely.
#[derive(Clone, Copy, Debug)]
pub struct Uniform {
    base: u64,
    alignment: u64,
    positions: u64,
}

impl Uniform {
    /// The next offset.
    #[inline]
    pub fn next(&self, rng: &mut Rng) -> Next {
        Next { offset: self.base + uniform(rng, self.positions, self.alignment), continues: false }
    }
}

#[inline]
fn uniform(rng: &mut Rng, positions: u64, alignment: u64) -> u64 {
    rng.below(positions) * alignment
}

/// Returns `next`, or `wrap` if no block fits there, and advances it.
#[inline]
fn advance(next: &mut u64, wrap: u64, grid: &Grid) -> u64 {
    let offset = if *next > grid.last { wrap } else { *next };
    *next = offset + grid.alignment;
    offset
}

/// A 32-bit draw is below this with the given probability; 100 % is always, 0 % never.
pub(crate) const fn percent_threshold(percent: u32) -> u64 {
    ((percent as u64) << 32) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(base: u64, alignment: u64, block: u64, file: u64) -> Grid {
        let last = file - base - block;
        Grid { base, last, alignment, positions: last / alignment + 1 }
    }

    fn take(stream: &mut OffsetStream, count: usize) -> Vec<u64> {
        let mut rng = Rng::new(0);
        (0..count).map(|_| stream.next(&mut rng, 0).offset).collect()
    }

    #[test]
    fn sequential_threads_wrap_to_their_phase_not_to_their_start() {
        for (stride, alignment, block, thread, expected) in [
            (250, 500, 1000, 0, vec![0, 500, 1000, 1500, 2000, 0, 500]),
            (250, 500, 1000, 1, vec![250, 750, 1250, 1750, 250, 750]),
            (750, 500, 1000, 1, vec![750, 1250, 1750, 250, 750, 1250]),
            (500, 250, 1000, 1, vec![500, 750, 1000, 1250, 1500, 1750, 2000, 0, 250]),
        ] {
            let mut stream = OffsetStream::sequential(grid(0, alignment, block, 3000), thread * stride);
            assert_eq!(take(&mut stream, expected.len()), expected);
        }
        let mut stream = OffsetStream::sequential(grid(0, 200, 200, 3000), 500);
        assert_eq!(take(&mut stream, 15)[9..], [2300, 2500, 2700, 100, 300, 500]);
    }

    #[test]
    fn a_sequential_stream_has_room_until_no_block_fits() {
        let mut stream = OffsetStream::sequential(grid(0, 1000, 1000, 3500), 0);
        assert_eq!(take(&mut stream, 2), [0, 1000]);
        assert!(stream.has_room());
        assert_eq!(take(&mut stream, 1), [2000]);
        assert!(!stream.has_room());
        stream.rewind();
        assert!(stream.has_room());
        assert_eq!(take(&mut stream, 2), [0, 1000]);
        stream.rewind();
        assert_eq!(take(&mut stream, 1), [0]);
    }

    #[test]
    fn interlocked_threads_claim_disjoint_offsets() {
        let counter = Arc::new(AtomicU64::new(0));
        let area = grid(1000, 500, 1000, 3000);
        let mut first = OffsetStream::interlocked(area, Arc::clone(&counter));
        let mut second = OffsetStream::interlocked(area, counter);
        let mut rng = Rng::new(0);
        let order: Vec<u64> =
            [1, 1, 2, 1, 2].map(|n| if n == 1 { &mut first } else { &mut second }.next(&mut rng, 0).offset).to_vec();
        assert_eq!(order, [1000, 1500, 2000, 1000, 1500]);
    }

    #[test]
    fn an_interlocked_thread_that_slept_for_laps_finds_its_place() {
        let counter = Arc::new(AtomicU64::new(0));
        let mut stream = OffsetStream::interlocked(grid(0, 500, 1000, 3000), Arc::clone(&counter));
        counter.store(1_000_001, Relaxed);
        // Five positions: 1,000,001 mod 5 = 1.
        assert_eq!(take(&mut stream, 2), [500, 1000]);
    }

    #[test]
    fn parallel_requests_walk_alone() {
        let mut stream = OffsetStream::parallel(grid(1000, 500, 1000, 3000), 0, 2);
        let mut rng = Rng::new(0);
        let offsets: Vec<u64> = [0, 0, 1, 0, 0, 1].map(|request| stream.next(&mut rng, request).offset).to_vec();
        assert_eq!(offsets, [1000, 1500, 1000, 2000, 1000, 1500]);
    }

    #[test]
    fn random_offsets_reach_every_position_and_no_other() {
        let mut stream = OffsetStream::random(grid(1000, 500, 1000, 3000), &[]);
        let drawn = stream.uniform().expect("no ranges");
        let (mut ours, mut theirs) = (Rng::new(9), Rng::new(9));
        assert!((0..100).all(|_| drawn.next(&mut ours) == stream.next(&mut theirs, 0)));
        let mut seen = take(&mut stream, 1000);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [1000, 1500, 2000]);
    }

    #[test]
    fn ranges_receive_their_shares() {
        let ranges =
            [Range { weight: 90, start: 0, positions: 10 }, Range { weight: 10, start: 40_960, positions: 15 }];
        let mut stream = OffsetStream::random(grid(0, 4096, 4096, 102_400), &ranges);
        let offsets = take(&mut stream, 100_000);
        let low = offsets.iter().filter(|&&offset| offset < 40_960).count();
        assert!((89_500..90_500).contains(&low), "{low}");
        assert!(offsets.iter().all(|offset| offset % 4096 == 0 && *offset <= 98_304));
    }

    #[test]
    fn skewed_offsets_are_hot_positions_alone_and_between_runs() {
        use crate::skew::{Law, Strata};
        let area = grid(4096, 4096, 4096, 4096 * 1001);
        let strata = Arc::new(Strata::new(Law::Zipf { exponent: 2.0 }, 1000).expect("a law"));
        let drawn: Arc<[_]> = strata.sizes().map(|_| crate::counters::Counter::default()).collect();
        let stream = || OffsetStream::skewed(area, Skewed::new(Arc::clone(&strata), None, Arc::clone(&drawn)));
        let hot = |offsets: &[u64]| offsets.iter().filter(|&&offset| offset == 4096).count();
        let alone = take(&mut stream(), 10_000);
        // 6/π² of all.
        assert!((5_900..6_260).contains(&hot(&alone)), "{}", hot(&alone));
        assert!(alone.iter().all(|offset| offset % 4096 == 0 && (4096..=4096 * 1000).contains(offset)));
        let mut rng = Rng::new(4);
        let mixed = take(&mut stream().mixed(50, &mut rng), 10_000);
        assert!((2_800..3_300).contains(&hot(&mixed)), "{}", hot(&mixed));
        // The first offset of the mix is drawn too, and not every later one.
        let total: u64 = drawn.iter().map(crate::counters::Counter::get).sum();
        assert!((14_700..15_300).contains(&total), "{total}");
    }

    #[test]
    fn mixed_runs_have_geometric_length() {
        let area = grid(0, 4096, 4096, 4096 * 1_000_000);
        let mut rng = Rng::new(5);
        let mut stream = OffsetStream::random(area, &[]).mixed(25, &mut rng);
        let mut last = None;
        let mut jumps = 0;
        for _ in 0..100_000 {
            let next = stream.next(&mut rng, 0);
            if let (Some(last), true) = (last, next.continues) {
                assert!(next.offset == last + 4096 || next.offset == 0);
            }
            jumps += u32::from(!next.continues);
            last = Some(next.offset);
        }
        assert!((24_300..25_700).contains(&jumps), "{jumps}");
    }
}
