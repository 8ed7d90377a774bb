//! Repeats of offsets: how many offsets were requested how often, and their alignment.
//!
//! Requests of the most frequent size are counted: with several sizes, offsets that are multiples of all of them would look
//! popular. Only the first [`SIZES`] sizes are considered.
//!
//! Offsets are counted exactly up to [`POSITIONS_MAX`]. Beyond, those that are requested often are still counted, and of
//! the others a random sample (Waldspurger et al., "Efficient MRC Construction with SHARDS", FAST 2015).

use hot::rng::mix;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Offsets that are counted at most.
const POSITIONS_MAX: usize = 1 << 19;

/// Sizes that are counted separately.
const SIZES: usize = 32;

/// Offsets of a size that may be aligned otherwise, in parts of all.
const MISALIGNED_SHARE: f64 = 0.01;

/// Larger alignments are chance, or an offset of 0.
const ALIGNMENT_BITS_MAX: u32 = 30;

/// Repeats of offsets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Popularity {
    /// The most frequent size of these requests, in bytes.
    pub length: u64,
    /// Requests of this size.
    pub requests: u64,
    /// Largest power of two of which 99 % of their offsets are multiples.
    pub alignment: u64,
    /// The same of all sizes together.
    pub common_alignment: u64,
    /// True if the offsets of each size are multiples of it.
    pub is_aligned_to_size: bool,
    /// Number of offsets by the number of their requests; estimated if `sampled_share` is below 1.
    #[serde(skip)]
    pub positions: BTreeMap<u32, f64>,
    /// Share of the offsets that were counted, without those that are requested often.
    pub sampled_share: f64,
}

impl Popularity {
    /// Number of different offsets.
    pub fn distinct(&self) -> f64 {
        self.positions.values().sum()
    }

    /// Number of ordered choices of `size` requests for the same offset.
    pub fn coincidences(&self, size: u32) -> f64 {
        let choices = |count: u32| (0..size).map(|taken| f64::from(count) - f64::from(taken)).product::<f64>();
        self.positions.iter().filter(|&(&count, _)| count >= size).map(|(&count, number)| number * choices(count)).sum()
    }
}

/// Requests for an offset.
#[derive(Debug, Default)]
struct Count {
    requests: u32,
    /// Index of their size.
    size: u32,
}

/// Requests of a size.
#[derive(Debug)]
struct Size {
    length: u64,
    requests: u64,
    /// By trailing zeros of their offset.
    trailing_zeros: BTreeMap<u32, u64>,
}

impl Size {
    fn alignment(&self) -> u64 {
        let mut below = 0;
        let is_enough = |&(_, count): &(&u32, &u64)| {
            below += count;
            below as f64 > MISALIGNED_SHARE * self.requests as f64
        };
        1 << self.trailing_zeros.iter().find(is_enough).map_or(0, |(&zeros, _)| zeros.min(ALIGNMENT_BITS_MAX))
    }
}

#[derive(Debug, Default)]
pub(super) struct PopularityCounter {
    /// By the hash of the offset, of which other offsets have the same with negligible probability.
    counts: HashMap<u64, Count>,
    sizes: Vec<Size>,
    /// Offsets whose hash has this many zeros at its end are the sample.
    sample_zeros: u32,
    requests: u64,
}

impl PopularityCounter {
    pub(super) fn add(&mut self, device: u32, offset: u64, length: u64) {
        let Some(size) = self.size_index(length) else { return };
        self.requests += 1;
        self.sizes[size].requests += 1;
        *self.sizes[size].trailing_zeros.entry(offset.trailing_zeros()).or_default() += 1;
        let hash = hash(device << 8 | size as u32, offset);
        if self.is_sampled(hash) {
            let count = self.counts.entry(hash).or_insert(Count { requests: 0, size: size as u32 });
            count.requests = count.requests.saturating_add(1);
        } else if let Some(count) = self.counts.get_mut(&hash) {
            count.requests = count.requests.saturating_add(1);
        }
        while self.counts.len() > POSITIONS_MAX {
            self.sample_zeros += 1;
            self.drop_others();
        }
    }

    fn size_index(&mut self, length: u64) -> Option<usize> {
        let known = self.sizes.iter().position(|size| size.length == length);
        known.or_else(|| {
            (self.sizes.len() < SIZES).then(|| {
                self.sizes.push(Size { length, requests: 0, trailing_zeros: BTreeMap::new() });
                self.sizes.len() - 1
            })
        })
    }

    fn is_sampled(&self, hash: u64) -> bool {
        hash.trailing_zeros() >= self.sample_zeros
    }

    /// Requests from which on an offset is counted although it is not in the sample.
    fn often(&self) -> u32 {
        u32::try_from(8 * self.requests / POSITIONS_MAX as u64).unwrap_or(u32::MAX).max(16)
    }

    fn drop_others(&mut self) {
        let (often, zeros) = (self.often(), self.sample_zeros);
        self.counts.retain(|hash, count| count.requests >= often || hash.trailing_zeros() >= zeros);
    }

    pub(super) fn finish(mut self) -> Popularity {
        if self.sample_zeros > 0 {
            self.drop_others();
        }
        let sampled_share = 0.5_f64.powf(f64::from(self.sample_zeros));
        let often = if self.sample_zeros > 0 { self.often() } else { 0 };
        let main = (0..self.sizes.len()).max_by_key(|&size| self.sizes[size].requests).unwrap_or(0);
        let mut positions = BTreeMap::new();
        for count in self.counts.into_values().filter(|count| count.size as usize == main) {
            *positions.entry(count.requests).or_default() +=
                if count.requests >= often { 1.0 } else { 1.0 / sampled_share };
        }
        let frequent = |size: &&Size| size.requests as f64 > MISALIGNED_SHARE * self.requests as f64;
        Popularity {
            length: self.sizes.get(main).map_or(0, |size| size.length),
            requests: self.sizes.get(main).map_or(0, |size| size.requests),
            alignment: self.sizes.get(main).map_or(1, Size::alignment),
            common_alignment: self.sizes.iter().filter(frequent).map(Size::alignment).min().unwrap_or(1),
            is_aligned_to_size: self.sizes.iter().all(|size| size.alignment().is_multiple_of(size.length.max(1))),
            positions,
            sampled_share,
        }
    }
}

/// A hash of the device and size, and of the offset.
fn hash(device_and_size: u32, offset: u64) -> u64 {
    mix(offset ^ (u64::from(device_and_size).wrapping_mul(0x9E37_79B9_7F4A_7C15)).rotate_left(17))
}
