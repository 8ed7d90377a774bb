//! Where the I/Os of a thread on a target fall.

use crate::profile::{Rotation, Skew};
use serde::{Deserialize, Serialize};

/// The area of a target that is used, and its grid of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Area {
    /// Added to every offset.
    pub base_bytes: u64,
    /// Bytes from base to end (S in the specification).
    pub size_bytes: u64,
    /// Distance between possible offsets (A).
    pub alignment_bytes: u64,
    /// Number of offsets at which a whole block fits, at least 1 (SA / A).
    pub positions: u64,
}

/// Where I/Os fall.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Each thread has its own sequential position, which all its requests share.
    Sequential {
        /// The area.
        area: Area,
        /// First offset, relative to base.
        start_bytes: u64,
    },
    /// Each I/O at the end of a file that one thread alone writes to (`--append`).
    Append {
        /// The area: the file when it is full.
        area: Area,
        /// The action when the file is full.
        rotation: Rotation,
    },
    /// All threads of the target claim offsets from one counter.
    Interlocked {
        /// The area.
        area: Area,
        /// Index of the counter in the timespan.
        counter: usize,
    },
    /// Each request has its own sequential position.
    Parallel {
        /// The area.
        area: Area,
        /// First offset, relative to base.
        start_bytes: u64,
    },
    /// Those of a trace (`trace replay`).
    Recorded {
        /// The area; its alignment is the one that the target needs.
        area: Area,
    },
    /// Uniform, or by ranges.
    Random {
        /// The area.
        area: Area,
        /// Weighted ranges in positions; empty = uniform over the area.
        ranges: Vec<WeightedRange>,
        /// Uneven over the positions of the area; then there are no ranges.
        #[serde(default)]
        skew: Option<Skew>,
    },
    /// Random offsets, with sequential I/Os in between.
    Mixed {
        /// The area.
        area: Area,
        /// As in `Random`, for the random offsets.
        ranges: Vec<WeightedRange>,
        /// As in `Random`.
        #[serde(default)]
        skew: Option<Skew>,
        /// Probability of a random offset, in percent, 1..=99.
        random_percent: u32,
    },
}

impl Pattern {
    /// The area of the target that is used.
    pub const fn area(&self) -> &Area {
        match self {
            Self::Sequential { area, .. }
            | Self::Append { area, .. }
            | Self::Interlocked { area, .. }
            | Self::Parallel { area, .. }
            | Self::Recorded { area }
            | Self::Random { area, .. }
            | Self::Mixed { area, .. } => area,
        }
    }

    /// The skew of its random offsets.
    pub const fn skew(&self) -> Option<Skew> {
        match self {
            Self::Random { skew, .. } | Self::Mixed { skew, .. } => *skew,
            Self::Sequential { .. }
            | Self::Append { .. }
            | Self::Interlocked { .. }
            | Self::Parallel { .. }
            | Self::Recorded { .. } => None,
        }
    }

    /// How its file is rotated, if it appends to one that is emptied when it is full.
    pub fn empties_file(&self) -> Option<Rotation> {
        match self {
            Self::Append { rotation, .. } => Some(*rotation).filter(|rotation| rotation.empties_file()),
            _ => None,
        }
    }
}

/// A range of positions that receives a share of the random I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WeightedRange {
    /// Its share; shares need not add up to 100.
    pub weight: u32,
    /// Offset of its first position in bytes, relative to base; a range that does not start on
    /// the grid keeps its own phase.
    pub start_bytes: u64,
    /// Number of positions, each one alignment further.
    pub positions: u64,
}

/// The effective distribution as the report shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectiveDistribution {
    /// Sum of the shares; below 100 the list was truncated and shares are relative to it.
    #[serde(rename = "io_span_percent")]
    pub io_span: u32,
    /// In order, holes left out.
    pub ranges: Vec<EffectiveRange>,
}

/// One range of an effective distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectiveRange {
    /// Position on the percent axis.
    #[serde(rename = "io_start_percent")]
    pub io_start: u32,
    /// Share of the I/Os.
    pub io_percent: u32,
    /// Bytes relative to base.
    pub start_bytes: u64,
    /// Length in bytes.
    pub length_bytes: u64,
}
