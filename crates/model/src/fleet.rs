//! Several hosts that carry out one load together (`--on`).

use crate::ending::Ending;
use crate::facts::SystemFacts;
use crate::headline::Headline;
use crate::host_timing::HostTiming;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// Difference of two machines' monotonic clocks, measured by exchanges of messages before and after a load.
///
/// Of each group of exchanges the one with the shortest round trip counts: its message was in the agent's hands
/// somewhere within the round trip, so the difference is known to half of it, whatever delayed the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockOffset {
    /// The host's clock minus the controller's, in nanoseconds, when the measurement began.
    pub offset_ns: i64,
    /// The true difference is at most this far from it, in nanoseconds.
    pub uncertainty_ns: u64,
    /// How much faster the host's clock runs, in parts per billion; null = measured only once.
    pub drift_ppb: Option<i64>,
    /// The shortest round trip, in nanoseconds.
    pub round_trip_ns: u64,
}

/// The hosts of one load and what is known of each. Times are on the common axis, which is the controller's monotonic
/// clock: the time of a host's clock minus its offset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fleet {
    /// When the load was to start on all hosts (warm-up included), in nanoseconds of the controller's monotonic clock.
    pub planned_start_ns: i64,
    /// Time from the first host's start to the last one's, in nanoseconds; null = fewer than two hosts report theirs.
    pub start_skew_ns: Option<u64>,
    /// When the first host ended its measurement, in nanoseconds after the planned start; null = unknown.
    pub first_done_ns: Option<i64>,
    /// When the last one did.
    pub last_done_ns: Option<i64>,
    /// In the order of their numbers, those that failed or were lost included.
    pub hosts: Vec<FleetHost>,
    /// One per timespan.
    pub time_spans: Vec<FleetTimeSpan>,
}

impl Fleet {
    /// The names of all hosts, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.hosts.iter().map(|host| host.name.as_str())
    }

    /// Hosts that were lost or failed before they had a result.
    pub fn without_result(&self) -> impl Iterator<Item = &FleetHost> {
        self.hosts.iter().filter(|host| host.ending != HostEnding::Finished)
    }
}

/// Most hosts that a sentence names.
const NAMES_MAX: usize = 8;

/// `h1, h2`; of more than eight the first: `h1, …, h8 and 14 more`.
pub fn few_names(hosts: &[&str]) -> String {
    let named = hosts.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
    match hosts.len().saturating_sub(NAMES_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// A host of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetHost {
    /// Its name in the fleet, which stands before its paths: `h1:/mnt/data/h1.dat`.
    pub name: String,
    /// Its number in the load, from 0.
    pub index: usize,
    /// How its part of the load ended.
    pub ending: HostEnding,
    /// Its machine; null = it sent no result.
    pub system: Option<HostSystem>,
    /// Boot ID of its kernel: agents on one machine have the same; empty = unknown.
    #[serde(default)]
    pub boot_id: String,
    /// How its clock differs from the controller's.
    pub clock: ClockOffset,
    /// When it did what in the first timespan, by its own clock; null = it sent no result.
    pub timing: Option<HostTiming>,
    /// When the last of its threads began to submit I/Os, in nanoseconds after the planned start; negative = before it;
    /// null = unknown.
    pub start_late_ns: Option<i64>,
    /// The same, after the first host's start: its skew.
    pub start_skew_ns: Option<u64>,
    /// When it ended its measurement, in nanoseconds after the planned start; null = unknown.
    pub done_ns: Option<i64>,
}

/// How a host's part of a load ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HostEnding {
    /// It sent a result, which may be that of a run that failed or was stopped.
    #[default]
    Finished,
    /// It has no result.
    Failed {
        /// Why, one message each.
        reasons: Vec<String>,
    },
    /// It no longer answered.
    Lost {
        /// The reason, as far as it is known.
        reason: String,
    },
}

/// A host's machine in a few words; its own result has the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostSystem {
    /// The machine's own name.
    pub computer_name: String,
    /// Version of its kernel.
    pub kernel_release: String,
    /// Its processor; null = unknown.
    pub processor_name: Option<String>,
    /// Online CPUs.
    pub cpu_count: usize,
}

impl From<&SystemFacts> for HostSystem {
    fn from(system: &SystemFacts) -> Self {
        Self {
            computer_name: system.computer_name.clone(),
            kernel_release: system.kernel_release.clone(),
            processor_name: system.processor_name.clone(),
            cpu_count: system.topology.cpus.len(),
        }
    }
}

/// One timespan of a load of several hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetTimeSpan {
    /// The time in which all hosts with a result measured; null = there was none.
    pub window: Option<CommonWindow>,
    /// The hosts that sent a result, in the order of their numbers.
    pub hosts: Vec<HostTimeSpan>,
}

/// The time in which all hosts measured: from the start of the last host's measurement to the first end of one. The
/// rates of all hosts together, and all times since the start of the measurement, are those of this window; counts of
/// I/Os and latencies are of everything that any host measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommonWindow {
    /// Where it begins, in nanoseconds after the planned start, warm-up included; null = unknown.
    pub start_ns: Option<i64>,
    /// Its length in nanoseconds.
    pub length_ns: u64,
    /// Each end may be off by this, in nanoseconds, because the clocks are not known better; null = unknown: the
    /// measurements are taken to have begun together.
    pub uncertainty_ns: Option<u64>,
    /// I/Os that all hosts completed in it. Each host counts per 100 ms; of a part of 100 ms it has its share.
    pub ios: f64,
    /// Bytes that they transferred.
    pub bytes: f64,
    /// The I/Os per second may be off by this, because of the clocks and of the parts of 100 ms: if no part of 100 ms has
    /// more than twice the I/Os per second of the whole.
    pub iops_uncertainty: f64,
}

/// Results of one host in a timespan, by its own measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostTimeSpan {
    /// Its name.
    pub host: String,
    /// How it ended there.
    pub outcome: Ending,
    /// How long it measured, in nanoseconds; 0 = it did not.
    pub elapsed_ns: u64,
    /// When its measurement began, in nanoseconds after the start of the common window: never positive if there is one;
    /// null = unknown.
    pub begins_ns: Option<i64>,
    /// Reads measured.
    pub read_ios: u64,
    /// Writes measured.
    pub write_ios: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Its main figures; null = it did not measure.
    pub headline: Option<Headline>,
    /// Conditions that invalidate or bias its results; null = it has none.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::verdict::WrittenVerdict<'_>>"))]
    pub verdict: Option<Verdict>,
    /// Notes on its results.
    pub notes: Vec<String>,
    /// Its I/Os over time.
    pub series: HostSeries,
}

/// I/Os that a host completed in equal parts of its measurement, at most 300; a last part that was not reached whole is
/// left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostSeries {
    /// Width of a part in nanoseconds; 0 = none.
    pub width_ns: u64,
    /// Reads and writes of each part.
    pub ios: Vec<u64>,
}
