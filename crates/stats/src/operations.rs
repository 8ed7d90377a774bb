//! I/Os that transfer no data, which are neither reads nor writes.

use crate::latency::{self, MergedLatencies};
use crate::rate::Volume;
use model::figures::{Figures, OperationFigures};
use model::operation::Operation;
use model::record::{Tally, TimeSpanRecord};

/// The figures of all rows together, of each kind that any of them has.
pub(crate) fn figures(record: &TimeSpanRecord, measures_latency: bool) -> Vec<OperationFigures> {
    let operation_figures = |operation| figures_of(operation, record, measures_latency);
    Operation::WITHOUT_DATA.into_iter().filter_map(operation_figures).collect()
}

fn figures_of(operation: Operation, record: &TimeSpanRecord, measures_latency: bool) -> Option<OperationFigures> {
    let others = record.rows.iter().flat_map(|row| &row.others).filter(|other| other.operation == operation);
    let (mut volume, mut tally, mut merged, mut is_done) =
        (Volume::default(), Tally::default(), MergedLatencies::default(), false);
    for other in others {
        is_done = true;
        volume.add(Volume { bytes: other.record.bytes, ios: other.record.tally.count });
        tally.merge(&other.record.tally);
        merged.add(&other.record.tally, &other.record.buckets);
    }
    let latency = if measures_latency { latency::figures(&tally) } else { None };
    is_done.then(|| OperationFigures {
        operation,
        figures: Figures { latency, ..volume.figures(record.elapsed_ns) },
        latency: if measures_latency { merged.distribution() } else { None },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{DirectionRecord, OperationRecord, RowRecord};

    fn other(operation: Operation, count: u64, latency_ns: u64) -> OperationRecord {
        let tally = Tally {
            count,
            sum_ns: u128::from(count * latency_ns),
            sum_squares_ns2: count as f64 * (latency_ns as f64).powi(2),
            min_ns: latency_ns,
            max_ns: latency_ns,
        };
        let buckets = vec![(hot::buckets::index(latency_ns) as u32, count)];
        OperationRecord { operation, record: DirectionRecord { tally, bytes: count * 4096, buckets } }
    }

    #[test]
    fn rows_add_up_by_kind() {
        let row = |others| RowRecord { others, ..RowRecord::default() };
        let rows = vec![
            row(vec![other(Operation::Discard, 3, 1000)]),
            row(vec![other(Operation::Discard, 1, 5000), other(Operation::WriteZeroes, 0, 0)]),
        ];
        let record = TimeSpanRecord { elapsed_ns: 2_000_000_000, rows, ..TimeSpanRecord::default() };
        let found = figures(&record, true);
        let [discards, zeroes] = &found[..] else { panic!("{found:?}") };
        assert_eq!((discards.operation, discards.figures.ios, discards.figures.bytes), (Operation::Discard, 4, 16384));
        assert!((discards.figures.iops - 2.0).abs() < 1e-9);
        let latency = discards.latency.as_ref().expect("it was measured");
        assert_eq!((latency.count, latency.at(500_000_000), latency.figures.max_ns), (4, Some(1000), Some(5000)));
        assert_eq!((zeroes.operation, zeroes.figures.ios, &zeroes.latency), (Operation::WriteZeroes, 0, &None));
        assert_eq!(figures(&record, false)[0].latency, None);
        assert_eq!(figures(&TimeSpanRecord::default(), true), []);
    }
}
