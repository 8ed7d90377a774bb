//! I/Os of several sizes, by kind and size.

use crate::latency::{self, coarse_upper_edge_ns, percentiles_of};
use crate::ranks::{P50_PPB, P99_PPB, P999_PPB};
use crate::rate::Volume;
use model::figures::{Figures, SizeFigures};
use model::operation::Operation;
use model::packed_counts::PackedCounts;
use model::record::{SizeRecord, Tally, TimeSpanRecord};
use std::collections::BTreeMap;

/// The figures of all rows together, by kind, then ascending by size; those that are never drawn are left out.
pub(crate) fn figures(record: &TimeSpanRecord, measures_latency: bool) -> Vec<SizeFigures> {
    let mut sums: BTreeMap<(Operation, u64), Sum> = BTreeMap::new();
    for SizeRecord { operation, size_bytes, bytes, tally, buckets } in record.rows.iter().flat_map(|row| &row.sizes) {
        let sum = sums.entry((*operation, *size_bytes)).or_default();
        sum.bytes += bytes;
        sum.tally.merge(tally);
        sum.counts = sum.counts.plus(buckets.iter().copied());
    }
    let ios = |of: Operation| sums.iter().filter(|((kind, _), _)| *kind == of).map(|(_, sum)| sum.tally.count).sum();
    let size_figures = |(&(operation, size_bytes), Sum { bytes, tally, counts }): (&(Operation, u64), &Sum)| {
        let all: u64 = ios(operation);
        let volume = Volume { bytes: *bytes, ios: tally.count };
        let latency = if measures_latency { latency::figures(tally) } else { None };
        let buckets: Vec<(u32, u64)> = counts.iter().collect();
        let at = |rank_ppb: u64| {
            let extremes = (tally.min_ns, tally.max_ns);
            percentiles_of(&buckets, coarse_upper_edge_ns, extremes, std::iter::once(rank_ppb))
                .first()
                .map(|p| p.value_ns)
        };
        let at = |rank_ppb| if buckets.is_empty() { None } else { at(rank_ppb) };
        SizeFigures {
            operation,
            size_bytes,
            drawn_percent: if all > 0 { 100.0 * tally.count as f64 / all as f64 } else { 0.0 },
            figures: Figures { latency, ..volume.figures(record.elapsed_ns) },
            p50_ns: at(P50_PPB),
            p99_ns: at(P99_PPB),
            p999_ns: at(P999_PPB),
        }
    };
    sums.iter().filter(|(_, sum)| sum.tally.count > 0).map(size_figures).collect()
}

/// I/Os of one kind and size.
#[derive(Default)]
struct Sum {
    bytes: u64,
    tally: Tally,
    counts: PackedCounts,
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::RowRecord;

    fn size(operation: Operation, size_bytes: u64, count: u64, latency_ns: u64) -> SizeRecord {
        let tally = Tally {
            count,
            sum_ns: u128::from(count * latency_ns),
            sum_squares_ns2: count as f64 * (latency_ns as f64).powi(2),
            min_ns: latency_ns,
            max_ns: latency_ns,
        };
        let bucket = hot::buckets::coarse(hot::buckets::index(latency_ns)) as u32;
        SizeRecord { operation, size_bytes, bytes: count * size_bytes, tally, buckets: vec![(bucket, count)] }
    }

    #[test]
    fn rows_add_up_by_kind_and_size() {
        let row = |sizes| RowRecord { sizes, ..RowRecord::default() };
        let rows = vec![
            row(vec![size(Operation::Read, 4096, 6, 1000), size(Operation::Write, 4096, 5, 2000)]),
            row(vec![
                size(Operation::Read, 8192, 2, 9000),
                size(Operation::Read, 4096, 2, 3000),
                size(Operation::Write, 8192, 0, 0),
            ]),
        ];
        let record = TimeSpanRecord { elapsed_ns: 2_000_000_000, rows, ..TimeSpanRecord::default() };
        let found = figures(&record, true);
        let shown: Vec<_> = found.iter().map(|of| (of.operation, of.size_bytes, of.figures.ios)).collect();
        let expected = [(Operation::Read, 4096, 8), (Operation::Read, 8192, 2), (Operation::Write, 4096, 5)];
        assert_eq!(shown, expected);
        let [small, large, _] = &found[..] else { panic!("{found:?}") };
        assert!((small.drawn_percent - 80.0).abs() < 1e-9 && (large.drawn_percent - 20.0).abs() < 1e-9);
        assert_eq!((large.figures.bytes, large.p50_ns), (16384, Some(9000)));
        assert!((small.figures.latency.expect("measured").mean_ns - 1500.0).abs() < 1e-9);
        let mut short = record.clone();
        short.rows[1].sizes[0].bytes -= 192;
        assert_eq!(figures(&short, true)[1].figures.bytes, 16192);
        assert_eq!(figures(&record, false)[0].figures.latency, None);
        assert_eq!(figures(&TimeSpanRecord::default(), true), []);
    }
}
