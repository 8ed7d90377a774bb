//! The parts of fio's JSON that are read. All others are skipped, so that memory is bounded by the used parts.

use crate::number;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Options of a job by name.
pub(super) type Options = BTreeMap<String, Text>;

/// The value of an option. Not all are texts: the options of a host include its port.
#[derive(Deserialize, PartialEq)]
#[serde(untagged)]
pub(super) enum Text {
    Text(String),
    Other(IgnoredAny),
}

/// Options of all jobs; for several hosts (`--client`, from 3.39 on), those of each.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Global {
    All(Options),
    Each(Vec<Options>),
}

/// A whole document.
#[derive(Deserialize)]
pub(super) struct Document {
    #[serde(rename = "fio version")]
    pub(super) version: String,
    /// Print time, in seconds and in milliseconds since 1970.
    #[serde(default)]
    pub(super) timestamp: Number,
    #[serde(default)]
    pub(super) timestamp_ms: Number,
    #[serde(rename = "global options")]
    pub(super) global: Option<Global>,
    #[serde(default)]
    pub(super) jobs: Vec<Job>,
    /// Used in place of jobs for a run on other hosts (`--client`).
    #[serde(default)]
    pub(super) client_stats: Vec<Job>,
}

/// The names by which a document is recognised.
#[derive(Deserialize)]
pub(super) struct Head {
    /// Present in this program's documents.
    pub(super) schema: Option<IgnoredAny>,
    #[serde(rename = "fio version")]
    pub(super) version: Option<IgnoredAny>,
    pub(super) jobs: Option<IgnoredAny>,
    pub(super) client_stats: Option<IgnoredAny>,
}

/// A job, or all jobs of a group (`group_reporting`).
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Job {
    pub(super) jobname: String,
    pub(super) groupid: Number,
    /// Milliseconds since 1970.
    #[serde(rename = "job_start")]
    pub(super) started_ms: Number,
    /// An error number of the kernel; 0 = none.
    pub(super) error: Number,
    /// Seconds since fio began.
    pub(super) elapsed: Number,
    #[serde(rename = "job options")]
    pub(super) options: Option<Options>,
    pub(super) read: Direction,
    pub(super) write: Direction,
    pub(super) trim: Direction,
    pub(super) sync: Direction,
    /// All directions together (`unified_rw_reporting`).
    pub(super) mixed: Option<Direction>,
    /// Percent of one CPU.
    pub(super) usr_cpu: Number,
    pub(super) sys_cpu: Number,
    /// Host of `--client`.
    pub(super) hostname: Option<String>,
}

/// Reads, writes, trims or syncs of a job.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Direction {
    pub(super) io_bytes: Number,
    pub(super) io_kbytes: Number,
    pub(super) bw_bytes: Number,
    /// KiB per second.
    pub(super) bw: Number,
    pub(super) iops: Number,
    /// Milliseconds.
    pub(super) runtime: Number,
    pub(super) total_ios: Number,
    pub(super) short_ios: Number,
    pub(super) drop_ios: Number,
    pub(super) clat_ns: Option<Latency>,
    pub(super) lat_ns: Option<Latency>,
    /// In microseconds, before version 3.
    pub(super) clat: Option<Latency>,
    pub(super) lat: Option<Latency>,
}

/// Latencies in nanoseconds or microseconds.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Latency {
    pub(super) min: Number,
    pub(super) max: Number,
    pub(super) mean: Number,
    pub(super) stddev: Number,
    #[serde(rename = "N")]
    pub(super) samples: Number,
    /// Ranks in parts per billion.
    pub(super) percentile: Pairs<true>,
    /// Values in nanoseconds with counts (`json+`); numbers of bins before version 3.
    pub(super) bins: Pairs<false>,
}

/// A non-negative number; unknown if it is null or too large for a run.
#[derive(Clone, Copy, Default)]
pub(super) struct Number {
    pub(super) whole: Option<u64>,
    pub(super) real: Option<f64>,
}

/// 2^53, above which numbers of JSON are not exact.
const EXACT_MAX: u64 = 1 << 53;

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Option::<serde_json::Number>::deserialize(deserializer)?;
        let real = number.as_ref().and_then(serde_json::Number::as_f64);
        let real = real.filter(|real| (0.0..=EXACT_MAX as f64).contains(real));
        let whole = number.and_then(|number| number.as_u64()).filter(|whole| *whole <= EXACT_MAX);
        Ok(Self { whole: whole.or(real.filter(|real| real.fract() == 0.0).map(|real| real as u64)), real })
    }
}

/// Pairs of numbers of an object; others are skipped. With `RANKS`, keys are percentages, read as parts per billion.
#[derive(Default)]
pub(super) struct Pairs<const RANKS: bool>(pub(super) Vec<(u64, u64)>);

impl<'de, const RANKS: bool> Deserialize<'de> for Pairs<RANKS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self::default())
    }
}

impl<'de, const RANKS: bool> Visitor<'de> for Pairs<RANKS> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of numbers")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some((key, value)) = map.next_entry::<Cow<'_, str>, Number>()? {
            let key = if RANKS { number::rank_ppb(&key).ok() } else { number::whole(&key).ok() };
            self.0.extend(key.filter(|key| *key <= EXACT_MAX).zip(value.whole));
        }
        Ok(self)
    }
}
