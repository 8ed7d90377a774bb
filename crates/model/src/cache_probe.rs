//! Probe for a cache below a target: reads of the same blocks at different times.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Reads past the page cache before a run (`--probe-host-cache`): blocks that were read once are read again,
/// alternating with blocks that were not. Both are read at the same time, so other load slows both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheProbe {
    /// Where the part that was read begins.
    pub start_bytes: u64,
    /// Its length.
    pub length_bytes: u64,
    /// Blocks of 4 KiB that were read twice, spread over the part; as many others were read once.
    pub blocks: u32,
    /// Bytes that were read elsewhere between the first and the second read.
    pub between_bytes: u64,
    /// Median latency of the first reads.
    pub first_p50_ns: u64,
    /// Median latency of the second reads.
    pub second_p50_ns: u64,
    /// Median latency of the other blocks, read alternately with the second reads.
    pub other_p50_ns: u64,
    /// Second reads that were faster than the read of another block just after them.
    pub faster_blocks: u32,
    /// Other blocks whose read was as fast as nine tenths of the second reads.
    pub fast_other_blocks: u32,
}

impl CacheProbe {
    /// The part.
    pub const fn range_bytes(&self) -> Range<u64> {
        self.start_bytes..self.start_bytes.saturating_add(self.length_bytes)
    }

    /// How many times faster the second read of a block was than the read of another one.
    pub fn times_faster(&self) -> f64 {
        self.other_p50_ns as f64 / self.second_p50_ns.max(1) as f64
    }
}
