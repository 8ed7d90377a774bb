//! Tables of I/Os by stream, by size, of those that transfer no data, and of rotations of logs.

use crate::block::{Column, Table};
use crate::foreign_text::{text, text_of_path};
use crate::quantity::{Quantity, grouped, latency, size};
use model::figures::{Figures, LatencyDistribution, OperationFigures, RotationFigures, SizeFigures};
use model::result::{Measured, StreamFigures, TimeSpanResult};
use model::units::{counted, mib, percent_rounded_down};
use model::verification::{CorruptUnit, CorruptUnits, NearMessage, places_words};

const P50_PPB: u64 = 500_000_000;
const P99_PPB: u64 = 990_000_000;

/// By kind and size; `None` if all I/Os have one size.
pub(crate) fn sizes(measured: &Measured) -> Option<Table> {
    let row = |of: &SizeFigures| {
        let SizeFigures { operation, size_bytes, drawn_percent, figures, p50_ns, p99_ns, .. } = of;
        let mut cells = vec![operation.name().to_owned(), size(*size_bytes), format!("{drawn_percent:.2} %")];
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
        note: "Percentages are of all I/Os of the same kind.".to_owned(),
        ..Table::default()
    })
}

/// By stream and kind; `None` without streams.
pub(crate) fn streams(measured: &Measured) -> Option<Table> {
    let row = |name: &str, kind: &str, figures: &Figures, latency: Option<&LatencyDistribution>| {
        let at = |rank_ppb| latency.and_then(|latency| latency.at(rank_ppb));
        let mut cells = vec![name.to_owned(), kind.to_owned()];
        cells.extend(rates(figures));
        cells.extend(times(figures, at(P50_PPB), at(P99_PPB)));
        cells
    };
    let rows_of = |StreamFigures { name, figures, latency, .. }: &StreamFigures| {
        let kinds =
            [("reads", &figures.read, latency.read.as_ref()), ("writes", &figures.write, latency.write.as_ref())];
        let mut rows: Vec<Vec<String>> = kinds
            .into_iter()
            .filter(|(_, figures, _)| figures.ios > 0)
            .map(|(kind, figures, latency)| row(name.as_str(), kind, figures, latency))
            .collect();
        if rows.len() != 1 {
            rows.push(row(name.as_str(), "total", &figures.total, latency.total.as_ref()));
        }
        rows
    };
    let rows: Vec<Vec<String>> = measured.streams.iter().flat_map(rows_of).collect();
    (!rows.is_empty()).then(|| Table {
        heading: "Streams".to_owned(),
        label: "Streams",
        columns: [Column::text("stream"), Column::text("kind")].into_iter().chain(figure_columns()).collect(),
        rows,
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
        note: "These I/Os are in no other table or chart; MiB/s counts the bytes discarded or zeroed.".to_owned(),
        ..Table::default()
    })
}

/// Rotations of the files that threads append to; `None` if no file was to be rotated.
pub(crate) fn rotations(measured: &Measured) -> Option<Table> {
    let RotationFigures { count, total_ns, max_ns, time_percent } = measured.rotations?;
    let longest = max_ns.map_or_else(|| "-".to_owned(), |ns| latency(ns as f64));
    let cells = [grouped(count as f64), latency(total_ns as f64), longest, format!("{time_percent:.2} %")];
    Some(Table {
        heading: "Log rotations".to_owned(),
        columns: ["rotations", "total", "maximum", "of the threads' time"].map(Column::number).into(),
        rows: vec![cells.to_vec()],
        note: "Latencies do not include the time spent rotating log files.".to_owned(),
        ..Table::default()
    })
}

/// What verification found; `None` without `--verify`.
pub(crate) fn verification(span_result: &TimeSpanResult) -> Option<Table> {
    let found = span_result.verification.as_ref()?;
    let unchecked =
        found.unchecked_percent.map(|percent| format!(" ({} %)", percent_rounded_down(percent, 2))).unwrap_or_default();
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("units checked", grouped(found.checked_units as f64)),
        row("units not checkable", format!("{}{unchecked}", grouped(found.unchecked_units as f64))),
        row("I/Os that waited for another I/O on the same units", grouped(found.waiting_ios as f64)),
        row("failed reads (not in rates and latencies)", grouped(found.unreadable_ios as f64)),
        row("corrupt units", grouped(found.corrupt_units() as f64)),
    ];
    let class = |class: &CorruptUnits| {
        row(&format!("{}: {}", class.class.name(), class.class.words()), grouped(class.units as f64))
    };
    rows.extend(found.corrupt.iter().map(class));
    Some(Table {
        heading: format!("Data verification, units of {} bytes (experimental)", found.unit_bytes),
        label: "Data verification",
        columns: vec![Column::text(""), Column::number("count")],
        rows,
        note: "Units that this run did not write, or that changed during the read, are not checkable.".to_owned(),
    })
}

/// The corrupt units one by one; `None` if there are none.
pub(crate) fn corrupt_units(span_result: &TimeSpanResult) -> Option<Table> {
    let found = span_result.verification.as_ref()?;
    let row = |unit: &CorruptUnit| {
        let messages: Vec<String> = unit.kernel_messages.iter().map(NearMessage::words).collect();
        vec![
            unit.class.name().to_owned(),
            unit.offset_bytes.to_string(),
            format!("{:.3} s", unit.at_ns as f64 / 1e9),
            unit.found.as_ref().map(|header| header.write.words(None)).unwrap_or_default(),
            unit.second_read.map(|second| second.words().to_owned()).unwrap_or_default(),
            places_words(&unit.places),
            text(messages.join("; ").as_bytes()),
            text_of_path(&unit.path),
        ]
    };
    let rows: Vec<Vec<String>> = found.first.iter().map(row).collect();
    (!rows.is_empty()).then(|| Table {
        heading: format!("The first {}", counted(rows.len(), "corrupt unit")),
        label: "Corrupt units",
        columns: vec![
            Column::text("class"),
            Column::number("offset"),
            Column::number("read at"),
            Column::text("its header"),
            Column::text("read again"),
            Column::text("bytes on the devices below"),
            Column::text("kernel messages"),
            Column::text("file"),
        ],
        rows,
        note: "First 64 bytes and expected writes are in the JSON result.".to_owned(),
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
    use model::figures::{Directions, LatencyFigures};
    use model::operation::Operation;
    use model::profile::StreamName;

    #[test]
    fn each_stream_has_a_row_for_each_kind() {
        let volume = |ios| Figures { ios, ..Figures::default() };
        let stream = |name: &str, read, write| StreamFigures {
            name: StreamName::parse(name).expect("a name"),
            targets: Vec::new(),
            figures: Directions { read: volume(read), write: volume(write), total: volume(read + write) },
            latency: Directions::default(),
        };
        let measured = Measured { streams: vec![stream("a", 2, 3), stream("b", 4, 0)], ..Measured::default() };
        let table = streams(&measured).expect("there is one");
        let starts: Vec<String> = table.rows.iter().map(|row| row[..3].join(" ")).collect();
        assert_eq!(starts, ["a reads 2", "a writes 3", "a total 5", "b reads 4"]);
        assert_eq!(table.rows[0].len(), table.columns.len());
        assert!(streams(&Measured::default()).is_none());
    }

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
            rotations: Some(RotationFigures {
                count: 3,
                total_ns: 4_500_000,
                max_ns: Some(2_000_000),
                time_percent: 0.125,
            }),
            ..Measured::default()
        };
        let table = sizes(&measured).expect("there is one");
        assert_eq!(table.rows[0][..4], ["discard", "4 KiB", "100.00 %", "7"].map(str::to_owned));
        assert_eq!((table.rows[0].len(), &*table.rows[0][7]), (table.columns.len(), "-"));
        let table = without_data(&measured).expect("there is one");
        assert_eq!((table.rows[0].len(), &*table.rows[0][0]), (table.columns.len(), "discard"));
        let table = rotations(&measured).expect("there is one");
        assert_eq!(table.rows, [["3", "4.5 ms", "2 ms", "0.12 %"].map(str::to_owned)]);
        assert_eq!(table.columns.len(), 4);
        assert!(rotations(&Measured::default()).is_none());
        assert!(sizes(&Measured::default()).is_none() && without_data(&Measured::default()).is_none());
    }
}
