//! `--compress`, `--dedupe`: written data that storage can reduce.

use crate::units::Millionths;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Data that storage can compress and deduplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reduction {
    /// `--compress`: size before compression divided by the size after it.
    #[serde(rename = "compress_ratio_millionths")]
    pub compress_ratio: Millionths,
    /// `--dedupe`: percent of the blocks that are repeated.
    pub dedupe_percent: u32,
}

/// The largest ratio that is read.
const RATIO_READ_MAX: Millionths = Millionths(100 * Millionths::ONE.0);

impl Reduction {
    /// Blocks are compressed and repeated by this many bytes.
    pub const BLOCK_BYTES: u64 = 4096;

    /// The largest ratio: beyond it zstd, LZ4 and gzip differ by more than 5 % from the requested one, as they take 3
    /// to 20 bytes for the zeros of a block.
    pub const RATIO_MAX: Millionths = Millionths(15 * Millionths::ONE.0);

    /// The largest ratio with `--verify`, whose headers and marks do not compress.
    pub const RATIO_MAX_VERIFIED: Millionths = Millionths(4 * Millionths::ONE.0);

    /// Writes must be multiples of this number of bytes for the ratio to hold: smaller ones have fewer random bytes
    /// than compressors take for the zeros.
    pub fn write_multiple_bytes(self) -> u64 {
        match self.compress_ratio.0 / Millionths::ONE.0 {
            0..=1 => 1,
            2..=3 => 512,
            _ => Self::BLOCK_BYTES,
        }
    }

    /// Data that is neither compressible nor repeated.
    pub const NONE: Self = Self { compress_ratio: Millionths::ONE, dedupe_percent: 0 };

    /// Parses the ratio of `--compress`: `2`, `1.5`. Earlier versions took up to 100; their results and marks stay
    /// readable, and a load with such a ratio is refused when it is checked.
    pub fn parse_ratio(text: &str) -> Result<Millionths, String> {
        let ratio = Millionths::parse(text).filter(|ratio| (Millionths::ONE..=RATIO_READ_MAX).contains(ratio));
        ratio.ok_or_else(|| {
            format!("'{text}' is not a compression ratio (expected: a number from 1 to 15 with at most six decimals)")
        })
    }

    /// True if data can be made with this ratio.
    pub fn admits(ratio: Millionths) -> bool {
        (Millionths::ONE..=Self::RATIO_MAX).contains(&ratio)
    }

    /// Parses the form that [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (ratio, percent) = text.strip_prefix("compress:")?.split_once(",dedupe:")?;
        let compress_ratio = Self::parse_ratio(ratio).ok()?;
        let dedupe_percent = percent.parse().ok().filter(|percent| *percent <= 100)?;
        Some(Self { compress_ratio, dedupe_percent })
    }
}

impl fmt::Display for Reduction {
    /// In the mark of a file: `compress:2.5,dedupe:30`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "compress:{},dedupe:{}", self.compress_ratio, self.dedupe_percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_ratio_is_refused_and_those_of_earlier_versions_are_read() {
        for (text, ratio) in [("1", 1_000_000), ("2.0", 2_000_000), ("1.5", 1_500_000), ("100", 100_000_000)] {
            assert_eq!(Reduction::parse_ratio(text), Ok(Millionths(ratio)));
        }
        for text in ["", "0", "0.99", "100.000001", "5000", "-2", "2:1", "2,5", "x"] {
            let message = Reduction::parse_ratio(text).unwrap_err();
            assert!(message.contains(&format!("'{text}'")) && message.contains("1 to 15"), "{message}");
        }
    }

    #[test]
    fn what_is_written_into_a_mark_is_read_again() {
        for (compress_ratio, dedupe_percent) in [(1_000_000, 100), (2_500_000, 0), (15_000_000, 30)] {
            let reduction = Reduction { compress_ratio: Millionths(compress_ratio), dedupe_percent };
            assert_eq!(Reduction::parse(&reduction.to_string()), Some(reduction));
            let json = serde_json::to_string(&reduction).unwrap();
            assert_eq!(serde_json::from_str::<Reduction>(&json).unwrap(), reduction, "{json}");
        }
        for text in ["", "compress:2", "compress:2,dedupe:101", "compress:200,dedupe:1", "dedupe:1"] {
            assert_eq!(Reduction::parse(text), None, "{text}");
        }
    }
}
