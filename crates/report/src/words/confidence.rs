//! Confidence intervals, and reasons why there are none.

use model::confidence::{HalfWidths, Interval, Withheld};
use model::figures::Figures;
use model::result::Measured;

/// The reason why no figure has an interval.
pub const FEW_SAMPLES: &str = "the run has fewer than 10 full intervals of 100 ms";

/// Of the I/Os per second; files of earlier versions have half its width.
pub fn of_iops(figures: &Figures, intervals: &HalfWidths) -> Option<Interval> {
    intervals.iops_interval.or_else(|| Some(Interval::around(figures.iops, intervals.iops?)))
}

/// Of the bytes per second.
pub fn of_bytes(figures: &Figures, intervals: &HalfWidths) -> Option<Interval> {
    let earlier = || Some(Interval::around(figures.bytes_per_s, intervals.bytes_per_s?));
    intervals.bytes_per_s_interval.or_else(earlier)
}

/// Of the mean latency in nanoseconds.
pub fn of_mean_latency(figures: &Figures, intervals: &HalfWidths) -> Option<Interval> {
    let earlier = || Some(Interval::around(figures.latency?.mean_ns, intervals.latency_mean_ns?));
    intervals.latency_mean_interval_ns.or_else(earlier)
}

/// The reason why a figure of all I/Os has no interval, if known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WithoutInterval {
    /// A reason without further details.
    Reason(&'static str),
    /// The run is too short for the correlation time of its samples.
    Withheld {
        /// `samples are correlated over about 2 s`
        why: String,
        /// The remedy, if known: `measure for 150 s or longer`.
        remedy: Option<String>,
    },
}

impl WithoutInterval {
    pub fn why(self) -> String {
        match self {
            Self::Reason(reason) => reason.to_owned(),
            Self::Withheld { why, .. } => why,
        }
    }
}

/// For a rate, the mean latency, or the percentile of a rank; `ios` is their number of I/Os.
pub fn without_interval(measured: &Measured, rank_ppb: Option<u64>, ios: u64) -> Option<WithoutInterval> {
    let Some(total) = measured.confidence.as_ref()?.total.as_ref() else {
        return Some(WithoutInterval::Reason(FEW_SAMPLES));
    };
    if rank_ppb.is_some_and(|rank_ppb| stats::is_weak(ios, rank_ppb)) {
        return Some(WithoutInterval::Reason("too few I/Os"));
    }
    let withheld = total.withheld.as_ref()?;
    let why = why(withheld, measured.elapsed_ns as f64 / 1e9);
    Some(WithoutInterval::Withheld { why, remedy: remedy(measured) })
}

pub fn why(withheld: &Withheld, elapsed_s: f64) -> String {
    match withheld.dependence_s {
        Some(dependence_s) if dependence_s >= 1.0 => format!("samples are correlated over about {dependence_s:.0} s"),
        Some(dependence_s) => format!("samples are correlated over about {dependence_s:.1} s"),
        None => format!("how long samples are correlated is not determined in {elapsed_s:.0} s"),
    }
}

/// The remedy for missing intervals, if known.
pub fn remedy(measured: &Measured) -> Option<String> {
    stats::missing_intervals_s(measured).map(longer)
}

/// Of a length in seconds.
pub fn longer(length_s: f64) -> String {
    format!("measure for {length_s:.0} s or longer")
}
