//! Distinct bytes of a trace: a bitmap of granules, which become larger when it would take too much memory.

use serde::Serialize;
use std::collections::HashMap;

/// Bytes of a granule at first.
const GRANULE_BYTES: u64 = 4096;
/// Bits by which granules become larger.
const COARSER: u32 = 2;
/// Granules of a chunk: 8 KiB of bits.
const CHUNK_GRANULES: u64 = 64 * CHUNK_WORDS as u64;
const CHUNK_WORDS: usize = 1024;
/// Chunks at most: 64 MiB.
const CHUNKS_MAX: usize = 8192;

/// Distinct bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Footprint {
    /// Bytes of all granules that a request touches: an upper bound.
    pub bytes: u64,
    /// Bytes of a granule.
    pub granule_bytes: u64,
}

/// Granules that were touched, by device.
#[derive(Debug, Default)]
pub(super) struct FootprintMap {
    chunks: HashMap<(u32, u64), Box<[u64; CHUNK_WORDS]>>,
    /// Bits by which granules are larger than at first.
    shift: u32,
}

impl FootprintMap {
    pub(super) fn add(&mut self, device: u32, offset: u64, length: u64) {
        let granule = |shift: u32, byte: u64| (byte / GRANULE_BYTES) >> shift;
        let last = offset.saturating_add(length.max(1) - 1);
        // Long discards touch many granules.
        while granule(self.shift, last) - granule(self.shift, offset) > CHUNK_GRANULES * CHUNKS_MAX as u64 / 16 {
            self.coarsen();
        }
        self.set(device, granule(self.shift, offset), granule(self.shift, last));
        while self.chunks.len() > CHUNKS_MAX {
            self.coarsen();
        }
    }

    /// Sets the bits of a range of granules, chunk by chunk.
    fn set(&mut self, device: u32, first: u64, last: u64) {
        for chunk in first / CHUNK_GRANULES..=last / CHUNK_GRANULES {
            let words = self.chunks.entry((device, chunk)).or_insert_with(|| Box::new([0; CHUNK_WORDS]));
            let begin = chunk * CHUNK_GRANULES;
            let (from, to) = (first.max(begin) - begin, last.min(begin + CHUNK_GRANULES - 1) - begin);
            let (from_word, to_word) = ((from / 64) as usize, (to / 64) as usize);
            let (head, tail) = (u64::MAX << (from % 64), u64::MAX >> (63 - to % 64));
            if from_word == to_word {
                words[from_word] |= head & tail;
            } else {
                words[from_word] |= head;
                words[from_word + 1..to_word].fill(u64::MAX);
                words[to_word] |= tail;
            }
        }
    }

    /// Four granules become one, four chunks one.
    fn coarsen(&mut self) {
        self.shift += COARSER;
        for ((device, chunk), words) in std::mem::take(&mut self.chunks) {
            let coarse = self.chunks.entry((device, chunk >> COARSER)).or_insert_with(|| Box::new([0; CHUNK_WORDS]));
            let first = (chunk & 3) as usize * CHUNK_WORDS / 4;
            for (word, &bits) in words.iter().enumerate().filter(|&(_, &bits)| bits != 0) {
                let folded = (0..16).filter(|nibble| bits >> (4 * nibble) & 0xF != 0).map(|nibble| 1_u64 << nibble);
                coarse[first + word / 4] |= folded.sum::<u64>() << (word % 4 * 16);
            }
        }
    }

    pub(super) fn finish(self) -> Footprint {
        let granules: u64 =
            self.chunks.values().flat_map(|chunk| chunk.iter()).map(|bits| u64::from(bits.count_ones())).sum();
        let granule_bytes = GRANULE_BYTES << self.shift;
        Footprint { bytes: granules.saturating_mul(granule_bytes), granule_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_once_and_granules_grow() {
        let mut map = FootprintMap::default();
        for _ in 0..3 {
            map.add(0, 1 << 40, 8192);
            map.add(1, 1 << 40, 1);
            map.add(0, (1 << 40) + 6000, 100);
        }
        assert_eq!(FootprintMap::finish(map), Footprint { bytes: 3 * 4096, granule_bytes: 4096 });
        let mut map = FootprintMap::default();
        // One request per chunk of 256 MiB: too many chunks.
        for number in 0..20_000 {
            map.add(0, number << 28, 4096);
        }
        assert_eq!(map.finish(), Footprint { bytes: 20_000 * 16_384, granule_bytes: 16_384 });
        let mut map = FootprintMap::default();
        map.add(0, 0, u64::MAX);
        assert!(map.finish().bytes >= 1 << 63);
    }
}
