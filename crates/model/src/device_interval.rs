//! Activity of block devices in an interval.

use crate::block_device::DeviceNumber;
use crate::environment::Environment;
use crate::kernel_counters::DeviceCounters;
use crate::system_counter::{SystemFigures, SystemReading};
use crate::units::UnixTime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counters of all devices, read at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceReading {
    /// Time of the reading by a monotonic clock, in nanoseconds since some moment.
    pub monotonic_ns: u64,
    /// Time of the reading by the wall clock.
    pub at: UnixTime,
    /// Counters of each device, by the kernel's name.
    pub devices: BTreeMap<String, CountedDevice>,
    /// The kernel's values of processors, memory, network, shares and caches.
    pub system: SystemReading,
}

/// A device and its counters. A device that replaces another may have its name or its number, but seldom both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedDevice {
    /// Its number.
    pub number: DeviceNumber,
    /// Its counters since it was found.
    pub counters: DeviceCounters,
}

/// An interval, with the rates of the devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceInterval {
    /// Its number, from 1. Numbers that are missing are those of intervals that could not be read in time.
    pub number: u64,
    /// When it ended, in nanoseconds since 1970 in UTC.
    pub ended_at_unix_ns: i64,
    /// When it ended, in nanoseconds since the first reading.
    pub end_ns: u64,
    /// How long it was, as measured, in nanoseconds.
    pub interval_ns: u64,
    /// Rates of each device, by the kernel's name. Devices that appeared or disappeared during the interval, or whose
    /// counters went backwards, are missing.
    pub devices: BTreeMap<String, DeviceRates>,
    /// Counters of processors, memory, network interfaces, shares and caches, in `docs/monitor.md`: by object, instance
    /// and name. Empty in older recordings. `_Total` is all instances of an object, and the only one of memory.
    #[serde(default)]
    pub system: SystemFigures,
}

/// Activity of a device in an interval, as the kernel counted it.
///
/// A mean of nothing is `None`. Rates are per second of the interval as it was measured. The kernel reports sums of
/// times in whole milliseconds, so a mean is good to a millisecond by the number of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceRates {
    /// Reads.
    pub read: RequestRates,
    /// Writes.
    pub write: RequestRates,
    /// Discards; `None` before Linux 4.18.
    pub discard: Option<RequestRates>,
    /// Flushes; `None` before Linux 5.5.
    pub flush: Option<FlushRates>,
    /// Mean time of reads and writes together, in nanoseconds.
    pub latency_ns: Option<f64>,
    /// Mean number of requests in flight.
    pub queue_length: f64,
    /// Requests in flight at the end of the interval.
    pub in_flight_count: u64,
    /// Part of the interval with at least one request in flight, in percent.
    pub busy_percent: f64,
}

/// Requests of one kind that a device completed in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestRates {
    /// How many were completed.
    pub count: u64,
    /// How many were merged into others before they were passed on.
    pub merged_count: u64,
    /// Bytes transferred or discarded.
    pub bytes: u64,
    /// Sum of the times that they took, in milliseconds.
    pub time_ms: u64,
    /// Completed per second.
    pub per_s: f64,
    /// Merged per second.
    pub merged_per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean size, in bytes.
    pub size_bytes: Option<f64>,
    /// Mean time, in nanoseconds.
    pub latency_ns: Option<f64>,
    /// Mean number of these requests in flight: the sum of their times divided by the interval.
    pub queue_length: f64,
}

/// Flushes that a device completed in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlushRates {
    /// How many were completed.
    pub count: u64,
    /// Sum of the times that they took, in milliseconds.
    pub time_ms: u64,
    /// Completed per second.
    pub per_s: f64,
    /// Mean time, in nanoseconds.
    pub latency_ns: Option<f64>,
}

/// A line of a recording or of `--jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WatchLine {
    /// The first line of a recording.
    Begin(WatchBegin),
    /// An interval.
    Interval(DeviceInterval),
    /// The last line of a recording that was ended, not cut off.
    End(WatchEnd),
}

/// Value of `schema` in every recording.
pub const WATCH_SCHEMA: &str = "diskspd-monitor";

/// Version of the recordings that are written, and the newest that is read.
pub const WATCH_SCHEMA_VERSION: u32 = 1;

/// The first line of a recording: what was watched, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchBegin {
    /// Always `diskspd-monitor`.
    pub schema: String,
    /// Version of it: 1.
    pub schema_version: u32,
    /// Version of the program.
    pub tool_version: String,
    /// Name of the machine.
    pub host: String,
    /// When the first reading was taken, in nanoseconds since 1970 in UTC.
    pub started_at_unix_ns: i64,
    /// The interval that was asked for, in nanoseconds.
    pub interval_ns: u64,
    /// The chosen devices that were present at the start. More may appear later.
    pub devices: Vec<WatchedDevice>,
    /// The machine; null in older recordings.
    #[serde(default)]
    pub machine: Option<Box<WatchedMachine>>,
}

/// The machine of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedMachine {
    /// Name of the processor.
    pub processor_name: Option<String>,
    /// Online CPUs.
    pub cpu_count: u32,
    /// The system.
    pub environment: Environment,
}

/// A device of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedDevice {
    /// The kernel's name.
    pub name: String,
    /// The kind of device, in one word.
    pub kind: String,
    /// Its name in the device mapper, if it has one, as for an LVM volume.
    pub mapped_name: Option<String>,
    /// Vendor and model.
    pub model: Option<String>,
    /// Its size in bytes.
    pub size_bytes: Option<u64>,
    /// How it is connected, in one word; null if that is not known, and in older recordings.
    #[serde(default)]
    pub transport: Option<String>,
    /// The I/O scheduler in use; null in older recordings.
    #[serde(default)]
    pub scheduler: Option<String>,
    /// True if the kernel reports it as rotational; null in older recordings.
    #[serde(default)]
    pub rotational: Option<bool>,
}

/// The last line of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchEnd {
    /// Reported intervals.
    pub interval_count: u64,
    /// Intervals that could not be read in time; their counts are in the interval after them.
    pub missed_count: u64,
}

/// A recording of a monitor.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Its first line.
    pub begin: WatchBegin,
    /// Its intervals, in order.
    pub intervals: Vec<DeviceInterval>,
    /// Its last line; `None` if it was cut off.
    pub end: Option<WatchEnd>,
}
