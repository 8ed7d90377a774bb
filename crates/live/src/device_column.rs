//! The columns of the table: their names, widths, importance and values.

use crate::words;
use model::device_interval::{DeviceRates, RequestRates};
use model::units;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// The device's name.
    Device,
    /// Reads per second.
    Reads,
    /// Writes per second.
    Writes,
    /// MiB read per second.
    ReadMib,
    /// MiB written per second.
    WriteMib,
    /// Mean latency of reads.
    ReadLatency,
    /// Mean latency of writes.
    WriteLatency,
    /// Mean number of requests in flight.
    Queue,
    /// Percent of the time with any request in flight.
    Busy,
    /// Reads and writes per second that were merged into others.
    Merges,
    /// Discards per second.
    Discards,
    /// Flushes per second.
    Flushes,
}

impl Column {
    /// All, in the order of the table.
    pub(crate) const ALL: [Self; 12] = [
        Self::Device,
        Self::Reads,
        Self::Writes,
        Self::ReadMib,
        Self::WriteMib,
        Self::ReadLatency,
        Self::WriteLatency,
        Self::Queue,
        Self::Busy,
        Self::Merges,
        Self::Discards,
        Self::Flushes,
    ];

    /// The same by importance; the last ones are dropped first.
    const BY_IMPORTANCE: [Self; 12] = [
        Self::Device,
        Self::Reads,
        Self::Writes,
        Self::ReadLatency,
        Self::WriteLatency,
        Self::Busy,
        Self::ReadMib,
        Self::WriteMib,
        Self::Queue,
        Self::Merges,
        Self::Flushes,
        Self::Discards,
    ];

    /// Its heading.
    pub(crate) const fn heading(self) -> &'static str {
        match self {
            Self::Device => "Device",
            Self::Reads => "r/s",
            Self::Writes => "w/s",
            Self::ReadMib => "rMiB/s",
            Self::WriteMib => "wMiB/s",
            Self::ReadLatency => "r ms",
            Self::WriteLatency => "w ms",
            Self::Queue => "queue",
            Self::Busy => "busy%",
            Self::Merges => "merg/s",
            Self::Discards => "disc/s",
            Self::Flushes => "flsh/s",
        }
    }

    /// Its width in characters without the blank before it. That of the device is the minimum.
    pub(crate) const fn width(self) -> u16 {
        match self {
            Self::Device => 12,
            Self::Busy => 6,
            Self::Reads | Self::Writes | Self::ReadLatency | Self::WriteLatency => 8,
            _ => 7,
        }
    }

    /// Those that fit into `width`, in the order of the table; the device always does.
    pub(crate) fn fitting(width: u16) -> Vec<Self> {
        let mut left = width;
        let mut chosen = Vec::new();
        for column in Self::BY_IMPORTANCE {
            let needed = column.width() + 1;
            if column != Self::Device && needed > left {
                break;
            }
            left = left.saturating_sub(needed);
            chosen.push(column);
        }
        Self::ALL.into_iter().filter(|column| chosen.contains(column)).collect()
    }

    /// The value shown and sorted by; `None` if there is none.
    pub(crate) fn value(self, rates: &DeviceRates) -> Option<f64> {
        let mib = |requests: &RequestRates| units::mib(requests.bytes_per_s);
        match self {
            Self::Device => None,
            Self::Reads => Some(rates.read.per_s),
            Self::Writes => Some(rates.write.per_s),
            Self::ReadMib => Some(mib(&rates.read)),
            Self::WriteMib => Some(mib(&rates.write)),
            Self::ReadLatency => Some(rates.read.latency_ns? / 1e6),
            Self::WriteLatency => Some(rates.write.latency_ns? / 1e6),
            Self::Queue => Some(rates.queue_length),
            Self::Busy => Some(rates.busy_percent),
            Self::Merges => Some(rates.read.merged_per_s + rates.write.merged_per_s),
            Self::Discards => Some(rates.discard?.per_s),
            Self::Flushes => Some(rates.flush?.per_s),
        }
    }

    /// The value as text.
    pub(crate) fn cell(self, rates: Option<&DeviceRates>) -> String {
        let Some(value) = rates.and_then(|rates| self.value(rates)) else { return "-".to_owned() };
        match self {
            Self::ReadLatency | Self::WriteLatency => words::milliseconds(value),
            Self::Queue => words::with_two_decimals(value),
            Self::Busy => format!("{value:.1}"),
            _ => words::amount(value),
        }
    }

    #[cfg(feature = "screens")]
    pub(crate) fn next(self) -> Self {
        self.neighbour(1)
    }

    #[cfg(feature = "screens")]
    pub(crate) fn before(self) -> Self {
        self.neighbour(Self::ALL.len() - 1)
    }

    #[cfg(feature = "screens")]
    fn neighbour(self, steps: usize) -> Self {
        let index = Self::ALL.iter().position(|column| *column == self).unwrap_or(0);
        Self::ALL[(index + steps) % Self::ALL.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_given_up_by_importance() {
        assert_eq!(Column::fitting(200), Column::ALL);
        assert_eq!(Column::fitting(0), [Column::Device]);
        assert_eq!(Column::fitting(31), [Column::Device, Column::Reads, Column::Writes]);
        let at_80 = Column::fitting(80);
        assert!(at_80.contains(&Column::Queue) && at_80.contains(&Column::ReadLatency), "{at_80:?}");
    }
}
