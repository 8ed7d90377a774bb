//! Rated limits of the storage (`--expect`) and the results measured against them.
//!
//! Bytes per second are shown in decimal units (MB/s), as vendors and clouds state them.

use crate::finding::Finding;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The stated limits. `None` = not stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatedLimits {
    /// RAID level; if not stated, one drive alone or several striped.
    pub raid: Option<RaidLevel>,
    /// Number of drives.
    pub drives: Option<u32>,
    /// Sequential read throughput of one drive.
    pub drive_read_bytes_per_s: Option<u64>,
    /// Sequential write throughput of one drive.
    pub drive_write_bytes_per_s: Option<u64>,
    /// Small random I/Os per second of one drive, reads and writes alike.
    pub drive_iops: Option<u64>,
    /// Small random reads per second of one drive, where they differ from writes.
    pub drive_read_iops: Option<u64>,
    /// Small random writes per second of one drive.
    pub drive_write_iops: Option<u64>,
    /// I/Os per second that the hypervisor or cloud allows a virtual machine.
    pub vm_iops: Option<u64>,
    /// The same limit in bytes per second.
    pub vm_bytes_per_s: Option<u64>,
    /// Number of volumes that the load is striped over.
    pub volumes: Option<u32>,
    /// I/Os per second that the cloud allows one volume.
    pub volume_iops: Option<u64>,
    /// The same limit in bytes per second.
    pub volume_bytes_per_s: Option<u64>,
    /// Throughput of the adapter in each direction.
    pub hba_bytes_per_s: Option<u64>,
}

/// RAID level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaidLevel {
    /// Stripes.
    Zero,
    /// Mirror: every drive holds a full copy.
    One,
    /// Stripes with one parity.
    Five,
    /// Stripes with two parities.
    Six,
    /// Stripes over pairs of copies.
    Ten,
}

impl RaidLevel {
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

    /// The fewest drives that such an array needs.
    pub const fn drives_min(self) -> u32 {
        match self {
            Self::Zero => 1,
            Self::One => 2,
            Self::Five => 3,
            Self::Six | Self::Ten => 4,
        }
    }
}

/// Results of a timespan against the stated limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expectation {
    /// Every limit that follows from the given figures and applies to this load: to reads, to writes or to both.
    pub ceilings: Vec<Ceiling>,
    /// Name of the ceiling with the least headroom.
    pub binding: String,
    /// Findings.
    pub findings: Vec<Finding>,
}

impl Expectation {
    /// The ceiling with the least headroom.
    pub fn nearest(&self) -> Option<&Ceiling> {
        self.ceilings.iter().find(|ceiling| ceiling.name == self.binding)
    }
}

/// An upper limit on a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ceiling {
    /// Lower-case words joined by hyphens. A name never changes.
    pub name: String,
    /// Unit of the limit and of the measured value.
    pub unit: CeilingUnit,
    /// The ceiling.
    pub limit: f64,
    /// The measured value in the same unit.
    pub reached: f64,
    /// The measured value, as a percentage of the limit.
    pub share_percent: f64,
    /// True if it is based on the rule of thumb for small random writes to a RAID.
    pub is_estimate: bool,
    /// Number of volumes or drives that have the limit together.
    #[serde(default = "one")]
    pub parts: u32,
}

const fn one() -> u32 {
    1
}

/// Unit of a ceiling.
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

    /// I/Os or bytes per second in one unit of the reports.
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
