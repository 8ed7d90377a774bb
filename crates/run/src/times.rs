//! Latencies that are kept separately from the pages of a row.

use hot::buckets::Buckets;
use hot::counters::{self, TallyCells, TallyValues};
use model::live::LiveTally;
use model::record::{Tally, TimesRecord};
use sys::mapping::untouched_table;

/// A tally and its buckets; the worker alone writes them.
#[derive(Debug)]
pub(crate) struct Times {
    tally: TallyCells,
    buckets: Buckets,
}

impl Times {
    pub(crate) fn new() -> Self {
        Self { tally: TallyCells::default(), buckets: Buckets::new(untouched_table()) }
    }

    pub(crate) fn record(&self, time_ns: u64) {
        counters::record(&self.tally, time_ns);
        self.buckets.record(time_ns);
    }

    /// See [`Buckets::touch`].
    pub(crate) fn touch(&self) {
        self.buckets.touch();
    }

    /// Counts up to now.
    pub(crate) fn live(&self) -> LiveTally {
        let values = counters::values(&self.tally);
        let is_empty = values.count == 0;
        let buckets = if is_empty { Vec::new() } else { self.buckets.coarse_non_empty(values.min_ns, values.max_ns) };
        LiveTally { ios: values.count, bytes: 0, latency_sum_ns: values.sum_ns, latency_max_ns: values.max_ns, buckets }
    }

    pub(crate) fn to_record(&self) -> TimesRecord {
        TimesRecord { tally: tally(counters::values(&self.tally)), buckets: self.buckets.non_empty() }
    }
}

/// Count and moments as they are recorded.
pub(crate) fn tally(values: TallyValues) -> Tally {
    Tally {
        count: values.count,
        sum_ns: u128::from(values.sum_ns),
        sum_squares_ns2: values.sum_squares_ns2,
        min_ns: values.min_ns,
        max_ns: values.max_ns,
    }
}
