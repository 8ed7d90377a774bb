//! The parts of fio's JSON that are read. All others are skipped, so that memory is bounded by what is used.

use crate::number;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Options of a job by name, as texts.
pub(super) type Options = BTreeMap<String, String>;

/// A whole document.
#[derive(Deserialize)]
pub(super) struct Document {
    #[serde(rename = "fio version")]
    pub(super) version: String,
    /// When it was printed, in seconds and in milliseconds since 1970.
    #[serde(default)]
    pub(super) timestamp: Number,
    #[serde(default)]
    pub(super) timestamp_ms: Number,
    #[serde(rename = "global options")]
    pub(super) global: Option<Options>,
    #[serde(default)]
    pub(super) jobs: Vec<Job>,
    /// In place of jobs, of a run on other hosts (`--client`).
    #[serde(default)]
    pub(super) client_stats: Vec<Job>,
}

/// The names by which a document is known.
#[derive(Deserialize)]
pub(super) struct Head {
    /// Of this program's documents.
    pub(super) schema: Option<IgnoredAny>,
    #[serde(rename = "fio version")]
    pub(super) version: Option<IgnoredAny>,
    pub(super) jobs: Option<IgnoredAny>,
    pub(super) client_stats: Option<IgnoredAny>,
}

/// A job, or all jobs of a group (`group_reporting`).
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
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
    /// Of `--client`.
    pub(super) hostname: Option<String>,
}

/// Reads, writes, trims or syncs of a job.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
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
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(super) struct Latency {
    pub(super) min: Number,
    pub(super) max: Number,
    pub(super) mean: Number,
    pub(super) stddev: Number,
    #[serde(rename = "N")]
    pub(super) samples: Number,
    /// Ranks in parts per billion.
    pub(super) percentile: Ranks,
    /// Values in nanoseconds with counts (`json+`); numbers of bins before version 3.
    pub(super) bins: Bins,
}

/// A number that is not negative; unknown if it is null or beyond what a run can have.
#[derive(Clone, Copy, Default)]
pub(super) struct Number {
    pub(super) whole: Option<u64>,
    pub(super) real: Option<f64>,
}

/// Above this, numbers of JSON are no longer exact: 2^53.
const EXACT_MAX: u64 = 1 << 53;

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_unit<E>(self) -> Result<Number, E> {
        Ok(Number::default())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
        let whole = Some(value).filter(|value| *value <= EXACT_MAX);
        Ok(Number { whole, real: whole.map(|value| value as f64) })
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
        u64::try_from(value).map_or_else(|_| Ok(Number::default()), |value| self.visit_u64(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
        let real = Some(value).filter(|value| (0.0..=EXACT_MAX as f64).contains(value));
        Ok(Number { whole: real.filter(|real| real.fract() == 0.0).map(|real| real as u64), real })
    }
}

/// Percentiles: ranks in parts per billion and values.
#[derive(Default)]
pub(super) struct Ranks(pub(super) Vec<(u64, u64)>);

/// Values of bins and counts.
#[derive(Default)]
pub(super) struct Bins(pub(super) Vec<(u64, u64)>);

impl<'de> Deserialize<'de> for Ranks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Pairs(|key| number::rank_ppb(key).ok())).map(Self)
    }
}

impl<'de> Deserialize<'de> for Bins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Pairs(|key| number::whole(key).ok().filter(|ns| *ns <= EXACT_MAX))).map(Self)
    }
}

/// An object of numbers with numbers as keys, which this reads; others are left out.
struct Pairs(fn(&str) -> Option<u64>);

impl<'de> Visitor<'de> for Pairs {
    type Value = Vec<(u64, u64)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of numbers")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some((key, value)) = map.next_entry::<Cow<'_, str>, Number>()? {
            pairs.extend((self.0)(&key).zip(value.whole));
        }
        Ok(pairs)
    }
}
