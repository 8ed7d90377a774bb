//! Counts of a replay (`trace replay`).

use crate::times::Times;
use hot::counters::Counter;
use model::record::ReplayRecord;

/// Counts of a replay.
#[derive(Debug)]
pub(crate) struct ReplayCells {
    /// Requests issued.
    pub(crate) issued: Counter,
    /// How late they were; of none in a closed replay.
    pub(crate) lateness: Times,
    flushes: Times,
    /// Requests that were late as they were not read yet.
    pub(crate) delayed_by_reading: Counter,
}

impl ReplayCells {
    pub(crate) fn new() -> Self {
        let (issued, delayed_by_reading) = (Counter::default(), Counter::default());
        Self { issued, lateness: Times::new(), flushes: Times::new(), delayed_by_reading }
    }

    /// A flush ended.
    pub(crate) fn record_flush(&self, flush_ns: u64) {
        self.flushes.record(flush_ns);
    }

    pub(crate) fn to_record(&self) -> ReplayRecord {
        ReplayRecord {
            issued: self.issued.get(),
            lateness: self.lateness.to_record(),
            flushes: self.flushes.to_record(),
            delayed_by_reading: self.delayed_by_reading.get(),
        }
    }
}
