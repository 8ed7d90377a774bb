//! Performance counters by the names that Windows gives them.

use crate::counter_object::CounterObject;
use crate::system_counter::{SystemCounter, counters_of};
use std::fmt;

impl CounterObject {
    /// Its counters, in the order of columns.
    pub fn counters(self) -> Vec<NamedCounter> {
        if self.is_disk() {
            Counter::ALL.map(NamedCounter::Disk).to_vec()
        } else {
            counters_of(self).map(NamedCounter::System).collect()
        }
    }

    /// A counter as typeperf writes it; `instance` may be a pattern.
    pub fn path(self, instance: &str, counter: NamedCounter) -> String {
        let (object, counter) = (self.name(), counter.name());
        if self.has_instances() {
            format!("\\{object}({instance})\\{counter}")
        } else {
            format!("\\{object}\\{counter}")
        }
    }
}

/// A counter of a disk or of the system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NamedCounter {
    Disk(Counter),
    System(&'static SystemCounter),
}

impl NamedCounter {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disk(counter) => counter.name(),
            Self::System(counter) => counter.name,
        }
    }
}

/// Start of the first cell of typeperf's comma-separated values.
pub const TYPEPERF_TITLE: &str = "(PDH-CSV 4.0)";

/// A counter of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    ReadsPerSecond,
    WritesPerSecond,
    TransfersPerSecond,
    ReadBytesPerSecond,
    WriteBytesPerSecond,
    BytesPerSecond,
    SecondsPerRead,
    SecondsPerWrite,
    SecondsPerTransfer,
    BytesPerRead,
    BytesPerWrite,
    BytesPerTransfer,
    QueueLength,
    ReadQueueLength,
    WriteQueueLength,
    CurrentQueueLength,
    DiskTimePercent,
    ReadTimePercent,
    WriteTimePercent,
    IdleTimePercent,
}

impl Counter {
    /// All, in the order of columns.
    pub const ALL: [Self; 20] = [
        Self::ReadsPerSecond,
        Self::WritesPerSecond,
        Self::TransfersPerSecond,
        Self::ReadBytesPerSecond,
        Self::WriteBytesPerSecond,
        Self::BytesPerSecond,
        Self::SecondsPerRead,
        Self::SecondsPerWrite,
        Self::SecondsPerTransfer,
        Self::BytesPerRead,
        Self::BytesPerWrite,
        Self::BytesPerTransfer,
        Self::QueueLength,
        Self::ReadQueueLength,
        Self::WriteQueueLength,
        Self::CurrentQueueLength,
        Self::DiskTimePercent,
        Self::ReadTimePercent,
        Self::WriteTimePercent,
        Self::IdleTimePercent,
    ];

    /// The counters that are shown if none is requested.
    pub const USUAL: [Self; 10] = [
        Self::ReadsPerSecond,
        Self::WritesPerSecond,
        Self::ReadBytesPerSecond,
        Self::WriteBytesPerSecond,
        Self::SecondsPerRead,
        Self::SecondsPerWrite,
        Self::SecondsPerTransfer,
        Self::QueueLength,
        Self::CurrentQueueLength,
        Self::IdleTimePercent,
    ];

    /// Its name on Windows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadsPerSecond => "Disk Reads/sec",
            Self::WritesPerSecond => "Disk Writes/sec",
            Self::TransfersPerSecond => "Disk Transfers/sec",
            Self::ReadBytesPerSecond => "Disk Read Bytes/sec",
            Self::WriteBytesPerSecond => "Disk Write Bytes/sec",
            Self::BytesPerSecond => "Disk Bytes/sec",
            Self::SecondsPerRead => "Avg. Disk sec/Read",
            Self::SecondsPerWrite => "Avg. Disk sec/Write",
            Self::SecondsPerTransfer => "Avg. Disk sec/Transfer",
            Self::BytesPerRead => "Avg. Disk Bytes/Read",
            Self::BytesPerWrite => "Avg. Disk Bytes/Write",
            Self::BytesPerTransfer => "Avg. Disk Bytes/Transfer",
            Self::QueueLength => "Avg. Disk Queue Length",
            Self::ReadQueueLength => "Avg. Disk Read Queue Length",
            Self::WriteQueueLength => "Avg. Disk Write Queue Length",
            Self::CurrentQueueLength => "Current Disk Queue Length",
            Self::DiskTimePercent => "% Disk Time",
            Self::ReadTimePercent => "% Disk Read Time",
            Self::WriteTimePercent => "% Disk Write Time",
            Self::IdleTimePercent => "% Idle Time",
        }
    }
}

/// Requested counters: `\LogicalDisk(dm-*)\Avg. Disk sec/Read`. Every part but the object may hold `*` for any
/// characters, and case does not matter.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterPattern {
    /// The object that has them.
    pub object: CounterObject,
    /// The instances: names, and [`TOTAL_INSTANCE`](crate::counter_object::TOTAL_INSTANCE); of disks also a mount point
    /// or file.
    pub instance: String,
    /// The counters, at least one, in the order of columns.
    pub counters: Vec<NamedCounter>,
}

impl CounterPattern {
    /// True if the pattern covers the instance with this name.
    pub fn takes_instance(&self, name: &str) -> bool {
        matches(&self.instance, name)
    }

    /// True if the name of the instance is without a `*`.
    pub fn names_one_instance(&self) -> bool {
        !self.instance.contains('*')
    }
}

impl fmt::Display for CounterPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\\{}({})", self.object.name(), self.instance)
    }
}

/// True if `pattern`, in which `*` stands for any characters, covers all of `text`, whatever their case.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    // Each part as early as possible leaves the most for those after it; the last one must end the text.
    for part in parts {
        if let Some(between) = last.replace(part) {
            match rest.find(between) {
                Some(at) => rest = &rest[at + between.len()..],
                None => return false,
            }
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text) in [
            ("*", ""),
            ("*", "sda"),
            ("sda", "SDA"),
            ("nvme*", "nvme0n1"),
            ("*n1", "nvme0n1n1"),
            ("n*0*1", "nvme0n1"),
            ("avg*/read", "Avg. Disk sec/Read"),
            ("**", "x"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("", "x"), ("sda", "sda1"), ("*1", "sda"), ("a*a", "a"), ("n*x*1", "nvme0n1")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn every_counter_has_a_name_of_its_own() {
        for object in CounterObject::ALL {
            let mut names: Vec<&str> = object.counters().into_iter().map(NamedCounter::name).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert!(count > 0 && names.len() == count, "{object:?}");
        }
    }
}
