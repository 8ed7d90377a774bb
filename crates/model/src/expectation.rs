//! What somebody says that storage can do (`--expect`), and how near a run came to it.
//!
//! Bytes per second here are decimal where they are shown (MB/s), as makers and clouds tell theirs.

use crate::verdict::Finding;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was said. `None` = nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    /// How the drives are put together; alone, or striped if there are several, if nothing was said.
    pub raid: Option<RaidLevel>,
    /// How many drives.
    pub drives: Option<u32>,
    /// Of one drive, reading in sequence.
    pub drive_read_bytes_per_s: Option<u64>,
    /// Of one drive, writing in sequence.
    pub drive_write_bytes_per_s: Option<u64>,
    /// Of one drive, small random I/Os per second.
    pub drive_iops: Option<u64>,
    /// What the hypervisor or cloud allows a virtual machine or volume.
    pub vm_iops: Option<u64>,
    /// The same in bytes.
    pub vm_bytes_per_s: Option<u64>,
    /// Of the adapter, each way.
    pub hba_bytes_per_s: Option<u64>,
}

/// How drives are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaidLevel {
    /// Stripes.
    Zero,
    /// Every drive holds a copy of all.
    One,
    /// Stripes with one parity.
    Five,
    /// Stripes with two parities.
    Six,
    /// Stripes over pairs of copies.
    Ten,
}

impl RaidLevel {
    /// All.
    pub const ALL: [Self; 5] = [Self::Zero, Self::One, Self::Five, Self::Six, Self::Ten];

    /// As it is typed.
    pub const fn number(self) -> u32 {
        match self {
            Self::Zero => 0,
            Self::One => 1,
            Self::Five => 5,
            Self::Six => 6,
            Self::Ten => 10,
        }
    }

    /// The fewest drives that make one.
    pub const fn drives_min(self) -> u32 {
        match self {
            Self::Zero => 1,
            Self::One => 2,
            Self::Five => 3,
            Self::Six | Self::Ten => 4,
        }
    }
}

/// How near a timespan came to what was said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expectation {
    /// Every ceiling that follows from what was said and applies to reads, writes or both, as the load has
    /// them.
    pub ceilings: Vec<Ceiling>,
    /// Name of the one that leaves the least room.
    pub binding: String,
    /// What is remarkable about it.
    pub findings: Vec<Finding>,
}

/// A rate that should not be exceeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ceiling {
    /// Lower-case words joined by hyphens. It never changes.
    pub name: String,
    /// What is counted.
    pub unit: CeilingUnit,
    /// The ceiling.
    pub limit: f64,
    /// What the run reached of the same.
    pub reached: f64,
    /// That as a share, in percent.
    pub share_percent: f64,
    /// True if it rests on the rule of thumb for small random writes to a RAID.
    pub is_estimate: bool,
}

/// What a ceiling counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CeilingUnit {
    /// I/Os per second.
    IosPerSecond,
    /// Bytes per second.
    BytesPerSecond,
}

impl CeilingUnit {
    /// All.
    pub const ALL: [Self; 2] = [Self::IosPerSecond, Self::BytesPerSecond];

    /// The words of reports.
    pub const fn words(self) -> &'static str {
        match self {
            Self::IosPerSecond => "I/O per s",
            Self::BytesPerSecond => "MB/s",
        }
    }

    /// The word in XML.
    pub const fn xml(self) -> &'static str {
        match self {
            Self::IosPerSecond => "IosPerSecond",
            Self::BytesPerSecond => "BytesPerSecond",
        }
    }

    /// How many of what is counted are one of the unit in reports.
    pub const fn scale(self) -> f64 {
        match self {
            Self::IosPerSecond => 1.0,
            Self::BytesPerSecond => 1e6,
        }
    }
}

impl fmt::Display for CeilingUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
