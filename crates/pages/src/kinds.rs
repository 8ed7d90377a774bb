//! Tables of I/Os by size, and of those that transfer no data.

use crate::block::{Column, Table};
use crate::quantity::{Quantity, grouped, latency};
use model::figures::{Figures, OperationFigures, SizeFigures};
use model::result::Measured;
use model::units::{Bytes, mib};

const P50_PPB: u64 = 500_000_000;
const P99_PPB: u64 = 990_000_000;

/// By kind and size; `None` if all I/Os have one size.
pub(crate) fn sizes(measured: &Measured) -> Option<Table> {
    let row = |of: &SizeFigures| {
        let SizeFigures { operation, size_bytes, drawn_percent, figures, p50_ns, p99_ns, .. } = of;
        let mut cells =
            vec![operation.name().to_owned(), Bytes(*size_bytes).to_string(), format!("{drawn_percent:.2} %")];
        cells.extend(rates(figures));
        cells.extend(times(figures, *p50_ns, *p99_ns));
        cells
    };
    let rows: Vec<Vec<String>> = measured.sizes.iter().map(row).collect();
    let columns = [Column::text("kind"), Column::number("size"), Column::number("share")];
    (!rows.is_empty()).then(|| Table {
        heading: "I/Os by size".to_owned(),
        columns: columns.into_iter().chain(figure_columns()).collect(),
        rows,
        note: "Shares are of the I/Os of the same kind.".to_owned(),
        ..Table::default()
    })
}

/// Discards and write-zeroes; `None` if there are none.
pub(crate) fn without_data(measured: &Measured) -> Option<Table> {
    let row = |OperationFigures { operation, figures, latency }: &OperationFigures| {
        let at = |rank_ppb| latency.as_ref().and_then(|latency| latency.at(rank_ppb));
        let mut cells = vec![operation.name().to_owned()];
        cells.extend(rates(figures));
        cells.extend(times(figures, at(P50_PPB), at(P99_PPB)));
        cells
    };
    let rows: Vec<Vec<String>> = measured.operations.iter().map(row).collect();
    (!rows.is_empty()).then(|| Table {
        heading: "I/Os that transfer no data".to_owned(),
        columns: std::iter::once(Column::text("kind")).chain(figure_columns()).collect(),
        rows,
        note: "They are in no other table or chart; MiB/s is what was discarded or zeroed.".to_owned(),
        ..Table::default()
    })
}

fn figure_columns() -> impl Iterator<Item = Column> {
    ["I/Os", "IOPS", "MiB/s", "mean", "p50", "p99", "maximum"].into_iter().map(Column::number)
}

fn rates(figures: &Figures) -> [String; 3] {
    let per_s = Quantity::MibPerS.value(mib(figures.bytes_per_s)).replace(" MiB/s", "");
    [grouped(figures.ios as f64), grouped(figures.iops), per_s]
}

fn times(figures: &Figures, p50_ns: Option<u64>, p99_ns: Option<u64>) -> [String; 4] {
    let shown = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), latency);
    let whole = |ns: Option<u64>| shown(ns.map(|ns| ns as f64));
    let measured = figures.latency;
    [
        shown(measured.map(|latency| latency.mean_ns)),
        whole(p50_ns),
        whole(p99_ns),
        whole(measured.and_then(|latency| latency.max_ns)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::LatencyFigures;
    use model::operation::Operation;

    #[test]
    fn each_kind_and_size_has_a_row() {
        let latency = LatencyFigures { mean_ns: 250_000.0, max_ns: Some(2_000_000), ..LatencyFigures::default() };
        let figures =
            Figures { ios: 7, iops: 3.5, bytes_per_s: 1_048_576.0, latency: Some(latency), ..Figures::default() };
        let operation = Operation::Discard;
        let measured = Measured {
            sizes: vec![SizeFigures {
                operation,
                size_bytes: 4096,
                drawn_percent: 100.0,
                figures,
                ..SizeFigures::default()
            }],
            operations: vec![OperationFigures { operation, figures, latency: None }],
            ..Measured::default()
        };
        let table = sizes(&measured).expect("there is one");
        assert_eq!(table.rows[0][..4], ["discard", "4KiB", "100.00 %", "7"].map(str::to_owned));
        assert_eq!((table.rows[0].len(), &*table.rows[0][7]), (table.columns.len(), "-"));
        let table = without_data(&measured).expect("there is one");
        assert_eq!((table.rows[0].len(), &*table.rows[0][0]), (table.columns.len(), "discard"));
        assert!(sizes(&Measured::default()).is_none() && without_data(&Measured::default()).is_none());
    }
}
