//! Content that storage can compress and deduplicate (`--compress`, `--dedupe`).
//!
//! A block of 4 KiB begins with random bytes, which no algorithm makes smaller; the rest is zeros, which any makes
//! nearly vanish. The random bytes are a window into a table, each word changed by a number of 64 random bits: this
//! copies at the speed of memory, and no two blocks are alike unless their numbers are. A block that is to be repeated
//! has one of a few numbers, which are the same for every thread, target and run.

use crate::rng::Rng;
use model::profile::Reduction;

/// Bytes of a block.
const BLOCK_BYTES: usize = Reduction::BLOCK_BYTES as usize;

/// Words of the table that a window may begin at; a power of two, 64 KiB.
const WINDOWS: usize = 1 << 13;

/// Number of different blocks that are repeated: few, so that even short runs repeat them, and more than the window of
/// a compressor holds.
pub const REPEATED_BLOCKS: u64 = 256;

/// Bytes that zstd and LZ4 need for the zeros of a piece, between the two: LZ4 needs another byte for each 255 zeros.
const OVERHEAD_BYTES: f64 = 2.0;
const BYTES_PER_OVERHEAD_BYTE: f64 = 400.0;

/// The seed of the table and of the repeated blocks.
const SEED: u64 = 0x7265_6475_6365;

/// Bytes of writes that a [`Sample`] keeps: two pieces to compress.
pub const SAMPLE_BYTES: usize = 256 << 10;

/// Blocks that a [`Sample`] can compare: 64 MiB of writes.
pub const SAMPLE_BLOCKS: usize = 1 << 14;

/// Makes the content of writes.
#[derive(Clone, Debug)]
pub struct Reducible {
    table: Box<[u64]>,
    /// Fraction of a block that remains after compression.
    share: f64,
    dedupe_percent: u64,
    repeated: Box<[u64]>,
}

impl Reducible {
    /// Content with this reduction.
    pub fn new(reduction: Reduction) -> Self {
        let mut rng = Rng::new(SEED);
        let mut draws = |count: usize| (0..count).map(|_| rng.next_u64()).collect();
        Self {
            table: draws(WINDOWS + BLOCK_BYTES / 8),
            share: 1.0 / reduction.compress_ratio.value(),
            dedupe_percent: u64::from(reduction.dedupe_percent),
            repeated: draws(REPEATED_BLOCKS as usize),
        }
    }

    /// Fills a block, or a shorter piece of a write.
    #[inline]
    pub fn fill(&self, block: &mut [u8], rng: &mut Rng) {
        let is_repeated = self.dedupe_percent > 0 && rng.below(100) < self.dedupe_percent;
        let number = if is_repeated { self.repeated[rng.below(REPEATED_BLOCKS) as usize] } else { rng.next_u64() };
        let (random, zeros) = block.split_at_mut(self.random_bytes(block.len()));
        zeros.fill(0);
        let window = &self.table[(number >> 32) as usize % WINDOWS..];
        let mut words = random.chunks_exact_mut(8);
        for (word, entry) in (&mut words).zip(window) {
            word.copy_from_slice(&(entry ^ number).to_le_bytes());
        }
        let tail = words.into_remainder();
        let length = tail.len();
        tail.copy_from_slice(&number.to_le_bytes()[..length]);
    }

    /// Number of random bytes in a piece of `bytes` bytes.
    fn random_bytes(&self, bytes: usize) -> usize {
        if self.share >= 1.0 {
            return bytes;
        }
        let overhead = OVERHEAD_BYTES + bytes as f64 / BYTES_PER_OVERHEAD_BYTE;
        let random = (bytes as f64 * self.share - overhead).round() as usize;
        // Enough of them to distinguish blocks.
        random.max(16).min(bytes)
    }
}

/// The beginning of the written data, to measure its reduction.
#[derive(Clone, Debug)]
pub struct Sample {
    bytes: Vec<u8>,
    block_hashes: Vec<u64>,
}

impl Default for Sample {
    fn default() -> Self {
        Self { bytes: Vec::with_capacity(SAMPLE_BYTES), block_hashes: Vec::with_capacity(SAMPLE_BLOCKS) }
    }
}

impl Sample {
    /// True if there is room for more.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.block_hashes.len() < SAMPLE_BLOCKS
    }

    /// Adds a block, or a shorter piece of a write, as far as there is room.
    pub fn take(&mut self, block: &[u8]) {
        let room = SAMPLE_BYTES - self.bytes.len();
        self.bytes.extend_from_slice(&block[..block.len().min(room)]);
        if block.len() == BLOCK_BYTES && self.has_room() {
            self.block_hashes.push(hash(block));
        }
    }

    /// The bytes, and the hashes of whole blocks.
    pub fn into_parts(self) -> (Vec<u8>, Vec<u64>) {
        (self.bytes, self.block_hashes)
    }
}

/// Four sums of products side by side, each of one word in four, so that none waits for the other.
fn hash(block: &[u8]) -> u64 {
    const FACTORS: [u64; 4] =
        [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0xD6E8_FEB8_6659_FD93];
    let mut sums = FACTORS;
    for words in block.chunks_exact(32) {
        for ((sum, factor), word) in sums.iter_mut().zip(FACTORS).zip(words.chunks_exact(8)) {
            let word = word.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
            *sum = (*sum ^ word).wrapping_mul(factor).rotate_left(29);
        }
    }
    sums.into_iter().fold(0, |all, sum| (all ^ sum).wrapping_mul(FACTORS[0]).rotate_left(31))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Millionths;
    use std::collections::HashSet;

    fn blocks(compress_ratio: f64, dedupe_percent: u32, count: usize, seed: u64) -> Vec<Vec<u8>> {
        let compress_ratio = Millionths((compress_ratio * 1e6) as u32);
        let content = Reducible::new(Reduction { compress_ratio, dedupe_percent });
        let mut rng = Rng::new(seed);
        let block = |_| {
            let mut block = vec![0xAA; BLOCK_BYTES];
            content.fill(&mut block, &mut rng);
            block
        };
        (0..count).map(block).collect()
    }

    #[test]
    fn a_block_is_random_bytes_and_zeros() {
        for (ratio, random) in [(1.0, 4096), (2.0, 2036), (10.0, 397), (15.0, 261)] {
            for block in blocks(ratio, 0, 20, 1) {
                assert!(block[random..].iter().all(|&byte| byte == 0), "{ratio}");
                // By chance one in 256 random bytes is 0.
                let zeros: usize = block[..random].iter().map(|&byte| usize::from(byte == 0)).sum();
                assert!(zeros * 16 <= random + 32, "{ratio}: {zeros} zeros in {random}");
            }
        }
    }

    #[test]
    fn random_bytes_are_even() {
        let mut counts = [0_u32; 256];
        for block in blocks(1.0, 0, 1000, 7) {
            for byte in block {
                counts[usize::from(byte)] += 1;
            }
        }
        // 16,000 are expected of each, with a deviation of 126.
        assert!(counts.iter().all(|count| count.abs_diff(16_000) < 800), "{counts:?}");
    }

    #[test]
    fn only_as_many_blocks_as_asked_for_are_repeated() {
        let equal = |percent, seed| {
            let blocks = blocks(2.0, percent, 20_000, seed);
            let distinct: HashSet<&Vec<u8>> = blocks.iter().collect();
            blocks.len() - distinct.len()
        };
        assert_eq!(equal(0, 1), 0);
        // All but the first of each; 3 % are 19 deviations.
        assert!(equal(30, 2).abs_diff(6_000 - 256) < 300, "{}", equal(30, 2));
        assert_eq!(equal(100, 3), 20_000 - 256);
    }

    #[test]
    fn threads_repeat_the_same_blocks() {
        let [one, other] = [4, 5].map(|seed| blocks(3.0, 100, 5_000, seed).into_iter().collect::<HashSet<_>>());
        assert_eq!(one, other);
    }

    #[test]
    fn short_and_odd_pieces_are_filled_too() {
        for bytes in [1, 7, 17, 512, 4095] {
            let content = Reducible::new(Reduction { compress_ratio: Millionths(2_000_000), dedupe_percent: 0 });
            let mut piece = vec![0; bytes];
            content.fill(&mut piece, &mut Rng::new(3));
            assert!(bytes < 7 || piece.iter().any(|&byte| byte != 0));
        }
    }

    #[test]
    fn a_sample_keeps_the_beginning_and_tells_blocks_apart() {
        let mut sample = Sample::default();
        let blocks = blocks(1.0, 0, 100, 1);
        sample.take(&[1; 512]);
        for block in blocks.iter().chain(&blocks) {
            sample.take(block);
        }
        let (bytes, hashes) = sample.into_parts();
        assert_eq!(bytes.len(), SAMPLE_BYTES);
        assert_eq!((&bytes[..512], &bytes[512..4608]), (&[1; 512][..], &*blocks[0]));
        assert_eq!(hashes[..100], hashes[100..]);
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), 100);
        // One bit is enough.
        let mut changed = blocks[0].clone();
        changed[4095] ^= 0x80;
        assert_ne!(hash(&changed), hash(&blocks[0]));
    }
}
