//! How far the figures of a timespan may be off, and whether they were the same all the time.

use crate::change::{BriefChange, Level, PeriodicStalls};
use serde::{Deserialize, Serialize};

/// Half the widths of the 95 % confidence intervals around the figures of one direction: did the same run
/// go on for ever, 95 of 100 such intervals would hold the figure that it comes to. They know nothing of
/// what differs from one run to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HalfWidths {
    /// Of the I/Os per second.
    pub iops: f64,
    /// Of the bytes per second.
    pub bytes_per_s: f64,
    /// Of the mean latency in nanoseconds; `None` = latencies were not measured.
    pub latency_mean_ns: Option<f64>,
    /// Of the percentiles that the report shows, ascending. Those that fewer than ten I/Os lie beyond have
    /// none; nor has any, if there are fewer than ten sections or one of them has fewer than ten I/Os.
    pub percentiles: Vec<PercentileHalfWidth>,
}

/// Half the width of the interval around a percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PercentileHalfWidth {
    /// Rank in parts per billion.
    pub rank_ppb: u64,
    /// In nanoseconds.
    pub half_width_ns: f64,
}

/// Which figures were steady.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureSteadiness {
    /// The I/Os per second; `None` = measured for less than half a minute.
    pub iops: Option<Steadiness>,
    /// The mean latency; `None` = measured for less than half a minute, not measured, or half a second passed without
    /// I/Os.
    pub latency_mean: Option<Steadiness>,
    /// Parts of less than a tenth of the measurement whose I/Os per second move the mean by 2 % or more, in the order
    /// of time. The steadiness of both figures is judged without them.
    #[serde(default)]
    pub brief_changes: Vec<BriefChange>,
    /// Stalls that come back after the same time; `None` = there are none, or it cannot be told.
    #[serde(default)]
    pub periodic_stalls: Option<PeriodicStalls>,
}

/// Whether a figure was the same from the start of the measurement to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Steadiness {
    /// Nothing was found that is both large and significant.
    Steady,
    /// The beginning differed from the rest.
    ShortWarmUp {
        /// The fraction of the measurement to leave out at the beginning, from 0 to 1.
        cut: f64,
        /// By what fraction this would change the mean.
        shift: f64,
    },
    /// It rose or fell.
    Drift {
        /// By what fraction of the mean.
        change: f64,
    },
    /// It stayed at one level, then at another.
    Levels {
        /// In the order of time, at least two; together they are the whole measurement.
        levels: Vec<Level>,
    },
}
