//! Confidence intervals of the figures of a timespan, and their steadiness.

use crate::change::{BriefChange, CompletionGap, Level, PeriodicStalls};
use serde::{Deserialize, Serialize};

/// The 95 % confidence intervals of the figures of one direction: if the same run went on forever, 95 of 100 such
/// intervals would contain its final figure. They do not cover differences from one run to the next. A figure without
/// an interval was not measured, or its interval was withheld.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HalfWidths {
    /// Half the width of the interval of the I/Os per second.
    pub iops: Option<f64>,
    /// Half the width of the interval of the bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Half the width of the interval of the mean latency in nanoseconds.
    pub latency_mean_ns: Option<f64>,
    /// Intervals of the percentiles that the report shows, ascending. Percentiles with fewer than ten I/Os beyond them
    /// have none.
    pub percentiles: Vec<PercentileHalfWidth>,
    /// I/Os per second; files of earlier versions have only half widths.
    #[serde(default)]
    pub iops_interval: Option<Interval>,
    /// Bytes per second.
    #[serde(default)]
    pub bytes_per_s_interval: Option<Interval>,
    /// Mean latency in nanoseconds.
    #[serde(default)]
    pub latency_mean_interval_ns: Option<Interval>,
    /// Why some figures have no interval, although they were measured.
    #[serde(default)]
    pub withheld: Option<Withheld>,
}

/// A confidence interval. It is computed on the logarithm of the figure, so its ends need not be equally far from
/// it, and lies between the smallest and the largest value that was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Half its width.
    pub fn half_width(self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The interval in another unit.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { low: self.low * factor, high: self.high * factor }
    }

    /// The interval of a figure in a file of an earlier version.
    pub fn around(figure: f64, half_width: f64) -> Self {
        Self { low: (figure - half_width).max(0.0), high: figure + half_width }
    }
}

/// Length in seconds from which a run shows the long-term behaviour of a device.
pub const LASTING_S: f64 = 60.0;

/// Why a figure of a run has no confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Withheld {
    /// Values depend on each other for about this long, in seconds; `None` = not determined, as the run is too short.
    pub dependence_s: Option<f64>,
    /// A run of this length in seconds would probably have an interval: at most an hour; `None` = not estimated.
    pub measure_s: Option<f64>,
}

/// The interval of a percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PercentileHalfWidth {
    /// Rank in parts per billion.
    pub rank_ppb: u64,
    /// Half its width in nanoseconds.
    pub half_width_ns: f64,
    /// Its ends in nanoseconds; files of earlier versions have only the half width.
    #[serde(default)]
    pub interval_ns: Option<Interval>,
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
    /// Parts of less than a tenth of the measurement whose I/Os per second move the mean by 2 % or more, or which lack 40 %
    /// of the I/Os of a second, in the order of time. The steadiness of both figures is judged without them.
    #[serde(default)]
    pub brief_changes: Vec<BriefChange>,
    /// Stalls that recur at regular intervals; `None` = there are none, or this is unknown.
    #[serde(default)]
    pub periodic_stalls: Option<PeriodicStalls>,
    /// Parts of half a second or more (at the start, a second) in which no I/O completed although the rest of the
    /// measurement leads to expect 20 or more (ten in a second or longer), in the order of time.
    #[serde(default)]
    pub completion_gaps: Vec<CompletionGap>,
}

/// Stability of a figure from the start of the measurement to its end.
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
