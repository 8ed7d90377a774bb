//! Performance counters of processors, memory, network interfaces, shares and caches: each declared once, with its
//! Windows name and how it follows from two readings of the kernel's values.

use crate::counter_object::CounterObject;
use std::collections::BTreeMap;

/// Values of one instance as the kernel has them, by the kernel's names.
pub type KernelValues = BTreeMap<&'static str, u64>;

/// Values of all instances of all objects.
pub type SystemReading = BTreeMap<CounterObject, BTreeMap<String, KernelValues>>;

/// Counters of an interval: of each object, of each instance, by name.
pub type SystemFigures = BTreeMap<String, BTreeMap<String, BTreeMap<String, f64>>>;

/// A counter of the system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SystemCounter {
    pub object: CounterObject,
    /// Its name on Windows, or one in that form where Windows has none.
    pub name: &'static str,
    pub rule: Rule,
    /// True if it is written when no counter is requested.
    pub is_usual: bool,
}

/// How a counter follows from two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The sum of these values at the end, times a factor.
    Level(&'static [&'static str], f64),
    /// The growth of the sum of these values per second.
    Rate(&'static [&'static str]),
    /// The growth of the first values as a percentage of that of the second ones.
    Percent(&'static [&'static str], &'static [&'static str]),
    /// The growth of a time in milliseconds, divided by that of a count: in seconds.
    MeanSeconds(&'static str, &'static str),
}

impl Rule {
    /// The kernel's values that it needs.
    pub fn values(self) -> impl Iterator<Item = &'static str> {
        let (first, second): (&[&str], &[&str]) = match self {
            Self::Level(values, _) | Self::Rate(values) => (values, &[]),
            Self::Percent(part, whole) => (part, whole),
            Self::MeanSeconds(..) => (&[], &[]),
        };
        let mean = if let Self::MeanSeconds(time, count) = self { vec![time, count] } else { Vec::new() };
        first.iter().chain(second).copied().chain(mean)
    }

    /// For documentation.
    pub fn describe(self) -> String {
        let sum = |values: &[&str]| values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" + ");
        match self {
            Self::Level(values, factor) if (factor - 1.0).abs() < f64::EPSILON => sum(values),
            Self::Level(values, factor) if factor > 1.0 => format!("{} x {factor}", sum(values)),
            Self::Level(values, factor) => format!("{} / {}", sum(values), 1.0 / factor),
            Self::Rate(values) => format!("growth of {} per second", sum(values)),
            Self::Percent(part, whole) => format!("100 x growth of {} / growth of {}", sum(part), sum(whole)),
            Self::MeanSeconds(time, count) => format!("growth of `{time}` (ms) / growth of `{count}`, in seconds"),
        }
    }
}

const fn usual(object: CounterObject, name: &'static str, rule: Rule) -> SystemCounter {
    SystemCounter { object, name, rule, is_usual: true }
}

const fn other(object: CounterObject, name: &'static str, rule: Rule) -> SystemCounter {
    SystemCounter { object, name, rule, is_usual: false }
}

use CounterObject::{Memory, NetworkInterface, NfsClientShares, Processor, SmbClientShares, StorageCache};
use Rule::{Level, MeanSeconds, Percent, Rate};

/// Guest times are inside `user` and `nice` already.
const ALL_TIMES: &[&str] = &["user", "nice", "system", "irq", "softirq", "steal", "idle", "iowait"];

/// All counters, in the order of columns. Processor Information has those of Processor.
pub const SYSTEM_COUNTERS: &[SystemCounter] = &[
    usual(Processor, "% Processor Time", Percent(&["user", "nice", "system", "irq", "softirq", "steal"], ALL_TIMES)),
    other(Processor, "% User Time", Percent(&["user", "nice"], ALL_TIMES)),
    other(Processor, "% Privileged Time", Percent(&["system", "irq", "softirq"], ALL_TIMES)),
    other(Processor, "% Interrupt Time", Percent(&["irq"], ALL_TIMES)),
    other(Processor, "% DPC Time", Percent(&["softirq"], ALL_TIMES)),
    other(Processor, "% Idle Time", Percent(&["idle", "iowait"], ALL_TIMES)),
    usual(Memory, "Available Bytes", Level(&["MemAvailable"], 1.0)),
    other(Memory, "Available KBytes", Level(&["MemAvailable"], 1.0 / 1024.0)),
    other(Memory, "Available MBytes", Level(&["MemAvailable"], 1.0 / 1_048_576.0)),
    usual(Memory, "Cache Bytes", Level(&["Cached", "Buffers"], 1.0)),
    other(Memory, "Modified Page List Bytes", Level(&["Dirty", "Writeback"], 1.0)),
    other(Memory, "Committed Bytes", Level(&["Committed_AS"], 1.0)),
    other(Memory, "Commit Limit", Level(&["CommitLimit"], 1.0)),
    usual(Memory, "Pages/sec", Rate(&["pswpin", "pswpout"])),
    other(Memory, "Pages Input/sec", Rate(&["pswpin"])),
    other(Memory, "Pages Output/sec", Rate(&["pswpout"])),
    other(Memory, "Page Reads/sec", Rate(&["pgmajfault"])),
    other(Memory, "Page Faults/sec", Rate(&["pgfault"])),
    usual(NetworkInterface, "Bytes Received/sec", Rate(&["rx_bytes"])),
    usual(NetworkInterface, "Bytes Sent/sec", Rate(&["tx_bytes"])),
    other(NetworkInterface, "Bytes Total/sec", Rate(&["rx_bytes", "tx_bytes"])),
    other(NetworkInterface, "Packets Received/sec", Rate(&["rx_packets"])),
    other(NetworkInterface, "Packets Sent/sec", Rate(&["tx_packets"])),
    other(NetworkInterface, "Packets/sec", Rate(&["rx_packets", "tx_packets"])),
    other(NetworkInterface, "Packets Received Errors", Level(&["rx_errors"], 1.0)),
    other(NetworkInterface, "Packets Outbound Errors", Level(&["tx_errors"], 1.0)),
    other(NetworkInterface, "Packets Received Discarded", Level(&["rx_dropped"], 1.0)),
    other(NetworkInterface, "Packets Outbound Discarded", Level(&["tx_dropped"], 1.0)),
    other(NetworkInterface, "Current Bandwidth", Level(&["speed"], 1e6)),
    usual(SmbClientShares, "Read Bytes/sec", Rate(&["read_bytes"])),
    usual(SmbClientShares, "Write Bytes/sec", Rate(&["write_bytes"])),
    other(SmbClientShares, "Data Bytes/sec", Rate(&["read_bytes", "write_bytes"])),
    usual(SmbClientShares, "Read Requests/sec", Rate(&["reads"])),
    usual(SmbClientShares, "Write Requests/sec", Rate(&["writes"])),
    other(SmbClientShares, "Data Requests/sec", Rate(&["reads", "writes"])),
    usual(NfsClientShares, "Read Bytes/sec", Rate(&["read_bytes"])),
    usual(NfsClientShares, "Write Bytes/sec", Rate(&["write_bytes"])),
    other(NfsClientShares, "Data Bytes/sec", Rate(&["read_bytes", "write_bytes"])),
    usual(NfsClientShares, "Read Requests/sec", Rate(&["reads"])),
    usual(NfsClientShares, "Write Requests/sec", Rate(&["writes"])),
    other(NfsClientShares, "Data Requests/sec", Rate(&["reads", "writes"])),
    usual(NfsClientShares, "Avg. sec/Read", MeanSeconds("read_execute_ms", "reads")),
    usual(NfsClientShares, "Avg. sec/Write", MeanSeconds("write_execute_ms", "writes")),
    usual(StorageCache, "Cache Hit Reads/sec", Rate(&["read_hits"])),
    usual(StorageCache, "Cache Miss Reads/sec", Rate(&["read_misses"])),
    other(StorageCache, "% Cache Read Hits", Percent(&["read_hits"], &["read_hits", "read_misses"])),
];

/// The counters of an object.
pub fn counters_of(object: CounterObject) -> impl Iterator<Item = &'static SystemCounter> {
    let declared = if object == CounterObject::ProcessorInformation { Processor } else { object };
    SYSTEM_COUNTERS.iter().filter(move |counter| counter.object == declared)
}
