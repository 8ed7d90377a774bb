//! `--sizes`: I/Os of several sizes.

use crate::limits::{BLOCK_SIZE_BYTES_MAX, SIZES_MAX};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Sizes and how often each is drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SizeMix(Vec<SizeShare>);

/// One size of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeShare {
    /// The size.
    size: Size,
    /// Percent of the I/Os, at least 1.
    pub percent: u32,
}

/// A size as it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Size {
    /// In bytes.
    Bytes(u64),
    /// In units of the block size (`-b`).
    Blocks(u64),
}

impl SizeShare {
    /// In bytes, with blocks of `block_bytes`.
    pub const fn bytes(&self, block_bytes: u64) -> u64 {
        match self.size {
            Size::Bytes(bytes) => bytes,
            Size::Blocks(blocks) => blocks.saturating_mul(block_bytes),
        }
    }
}

impl SizeMix {
    /// `4K/60:8K/30:64K/10`.
    ///
    /// # Errors
    ///
    /// The fault, and the expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let shares = text.split(':').map(share).collect::<Result<Vec<_>, _>>()?;
        if shares.len() > SIZES_MAX {
            return Err(format!("'{text}' has {} sizes; at most {SIZES_MAX} are possible", shares.len()));
        }
        let sum: u64 = shares.iter().map(|share| u64::from(share.percent)).sum();
        if sum != 100 {
            return Err(format!("the percentages of '{text}' add up to {sum}; they must add up to 100"));
        }
        Ok(Self(shares))
    }

    /// In the order given.
    pub fn shares(&self) -> &[SizeShare] {
        &self.0
    }
}

const EXAMPLE: &str = "expected sizes with percentages, as in 4K/60:8K/30:64K/10";

fn share(text: &str) -> Result<SizeShare, String> {
    let (size, percent) = text.split_once('/').ok_or_else(|| format!("'{text}' has no percentage; {EXAMPLE}"))?;
    let wrong_percent = || format!("'{percent}' is not a percentage from 1 to 100; {EXAMPLE}");
    let is_digits = !percent.is_empty() && percent.bytes().all(|byte| byte.is_ascii_digit());
    let percent: u32 = percent.parse().ok().filter(|_| is_digits).ok_or_else(wrong_percent)?;
    if !(1..=100).contains(&percent) {
        return Err(wrong_percent());
    }
    let size = size_of(size).ok_or_else(|| {
        format!(
            "'{size}' is not a size from 1 to {BLOCK_SIZE_BYTES_MAX} bytes (optional units: K, M, G, and b for blocks \
             of -b)"
        )
    })?;
    Ok(SizeShare { size, percent })
}

fn size_of(text: &str) -> Option<Size> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let number: u64 = digits.parse().ok().filter(|&number| number > 0)?;
    let shift = match unit {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        // Whether it is too large is known once -b is.
        "b" | "B" => return Some(Size::Blocks(number)),
        _ => return None,
    };
    let bytes = number.checked_mul(1 << shift).filter(|&bytes| bytes <= BLOCK_SIZE_BYTES_MAX)?;
    Some(Size::Bytes(bytes))
}

impl fmt::Display for SizeMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, SizeShare { size, percent }) in self.0.iter().enumerate() {
            let colon = if index == 0 { "" } else { ":" };
            match size {
                Size::Blocks(blocks) => write!(f, "{colon}{blocks}b/{percent}")?,
                Size::Bytes(bytes) => {
                    let units = [(30, "G"), (20, "M"), (10, "K")];
                    let (shift, unit) =
                        units.into_iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift)).unwrap_or((0, ""));
                    write!(f, "{colon}{}{unit}/{percent}", bytes >> shift)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_come_back_as_they_were() {
        for text in ["4K/60:8K/30:64K/10", "512/100", "2b/50:1M/50", "1G/1:1023/99", "4K/50:4K/50"] {
            assert_eq!(SizeMix::parse(text).map(|mix| mix.to_string()), Ok(text.to_owned()));
        }
        let same = SizeMix::parse("4096/60:8k/30:65536/10").expect("it is one");
        assert_eq!(same.to_string(), "4K/60:8K/30:64K/10");
        let bytes: Vec<u64> = same.shares().iter().map(|share| share.bytes(1)).collect();
        assert_eq!(bytes, [4096, 8192, 65_536]);
        assert_eq!(SizeMix::parse("3b/100").expect("it is one").shares()[0].bytes(512), 1536);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let many: String = (0..17).map(|_| "4K/5:").collect();
        for (text, parts) in [
            ("", "'' has no percentage"),
            ("4K", "'4K' has no percentage"),
            ("4K/60:8K", "'8K' has no percentage"),
            ("4K/x", "'x' is not a percentage from 1 to 100"),
            ("4K/0:8K/100", "'0' is not a percentage"),
            ("4K/+50:8K/50", "'+50' is not a percentage"),
            ("4K/101", "'101' is not a percentage"),
            ("0/100", "'0' is not a size"),
            ("4KB/100", "'4KB' is not a size"),
            ("4T/100", "'4T' is not a size"),
            ("/100", "'' is not a size"),
            ("4K/60:8K/30", "add up to 90; they must add up to 100"),
            ("99999999999999999999/100", "is not a size"),
            (&many[..many.len() - 1], "has 17 sizes; at most 16"),
        ] {
            let message = SizeMix::parse(text).expect_err(text);
            assert!(message.contains(parts), "{text}: {message}");
        }
    }
}
