//! Tables of I/Os by stream, by size, of those that transfer no data, and of rotations of logs.

use crate::block::{Block, Column, Table, dash};
use crate::corrupt_unit::CorruptUnitText;
use crate::foreign_text::text_of_path;
use crate::quantity::{grouped, latency, significant_grouped, size};
use model::figures::{Figures, LatencyDistribution, OperationFigures, RotationFigures, SizeFigures};
use model::result::{Measured, StreamFigures, TimeSpanResult};
use model::units::{mib, percent_rounded_down};
use model::verification::{CorruptUnit, CorruptUnits, SecondRead, UnitHeader};
use stats::ranks::{P50_PPB, P99_PPB, P999_PPB};

/// Ranks of the percentiles shown, in parts per billion.
const RANKS_PPB: [u64; 3] = [P50_PPB, P99_PPB, P999_PPB];

/// By kind and size; `None` if all I/Os have one size.
pub(crate) fn sizes(measured: &Measured) -> Option<Table> {
    let row = |of: &SizeFigures| {
        let SizeFigures { operation, size_bytes, drawn_percent, figures, p50_ns, p99_ns, p999_ns } = of;
        let mut cells = vec![operation.name().to_owned(), size(*size_bytes), format!("{drawn_percent:.2} %")];
        cells.extend(rates(figures));
        cells.extend(times(figures, [*p50_ns, *p99_ns, *p999_ns]));
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
        cells.extend(times(figures, RANKS_PPB.map(at)));
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
        cells.extend(times(figures, RANKS_PPB.map(at)));
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
    let longest = max_ns.map_or_else(dash, |ns| latency(ns as f64));
    let cells = [grouped(count as f64), latency(total_ns as f64), longest, format!("{time_percent:.2} %")];
    Some(Table {
        heading: "Log rotations".to_owned(),
        columns: ["rotations", "total", "maximum", "of the threads' time"].map(Column::number).into(),
        rows: vec![cells.to_vec()],
        note: "Latencies do not include the time spent rotating log files.".to_owned(),
        ..Table::default()
    })
}

/// Corrupt units that are shown one by one.
const SHOWN_MAX: usize = 10;

/// The counts of verification, then the first corrupt units; `None` without `--verify`.
pub(crate) fn verification(span_result: &TimeSpanResult) -> Option<Vec<Block>> {
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
    let against = if found.is_exact { "what was written" } else { "themselves only (place, run, checksum)" };
    let more = found.first.len().saturating_sub(SHOWN_MAX);
    let more = if more > 0 { format!(" {more} more corrupt units are in the JSON result.") } else { String::new() };
    let table = Table {
        heading: format!("Data verification, units of {} bytes (experimental)", found.unit_bytes),
        label: "Data verification",
        columns: vec![Column::text(""), Column::number("count")],
        rows,
        note: format!(
            "Units are compared with {against}. Those that this run did not write, or that changed during the read, are not \
             checkable.{more}"
        ),
    };
    let units = found.first.iter().take(SHOWN_MAX).flat_map(corrupt_unit);
    Some(std::iter::once(Block::Table(table)).chain(units).collect())
}

fn corrupt_unit(unit: &CorruptUnit) -> [Block; 2] {
    let at_s = unit.at_ns as f64 / 1e9;
    let path = text_of_path(&unit.path);
    CorruptUnitText {
        class: unit.class,
        offset_bytes: unit.offset_bytes,
        place: format!(" of '{path}', read by thread {} at {at_s:.6} s", unit.thread),
        error: None,
        expected: Some(("expected", unit.expected.words())),
        found: unit.found.as_ref().map(header_words),
        first_bytes: unit.first_bytes.get(..32).filter(|_| unit.found.is_none()),
        second_read: unit.second_read.map(SecondRead::words),
        places: &unit.places,
        kernel_messages: &unit.kernel_messages,
    }
    .blocks()
}

fn header_words(header: &UnitHeader) -> String {
    let run = if header.is_of_this_run { "" } else { ", of another run" };
    let damaged = if header.is_intact { "" } else { ", with a wrong checksum" };
    format!("{}{run}{damaged}", header.write.words(None))
}

fn figure_columns() -> impl Iterator<Item = Column> {
    let columns = ["bytes", "I/Os", "IOPS", "MiB/s", "mean", "p50", "p99", "p99.9", "maximum"];
    let spare = |name| ["bytes", "p99.9"].iter().position(|spare| *spare == name);
    columns.into_iter().map(move |name| Column { spare: spare(name), ..Column::number(name) })
}

fn rates(figures: &Figures) -> [String; 4] {
    let per_s = significant_grouped(mib(figures.bytes_per_s));
    [grouped(figures.bytes as f64), grouped(figures.ios as f64), grouped(figures.iops), per_s]
}

fn times(figures: &Figures, percentiles_ns: [Option<u64>; 3]) -> impl Iterator<Item = String> {
    let measured = figures.latency;
    let whole = percentiles_ns.into_iter().chain([measured.and_then(|latency| latency.max_ns)]);
    let mean = measured.map(|latency| latency.mean_ns);
    let shown = |ns: Option<f64>| ns.map_or_else(dash, latency);
    std::iter::once(mean).chain(whole.map(|ns| ns.map(|ns| ns as f64))).map(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::corruption::CorruptionClass;
    use model::figures::{Directions, LatencyFigures};
    use model::operation::Operation;
    use model::placement::DevicePlace;
    use model::profile::StreamName;
    use model::verification::{ExpectedContent, NearMessage, UnitWrite, VerificationFigures};

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
        let starts: Vec<String> = table.rows.iter().map(|row| [&*row[0], &row[1], &row[3]].join(" ")).collect();
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
        assert_eq!(table.rows[0][..5], ["discard", "4 KiB", "100.00 %", "0", "7"].map(str::to_owned));
        assert_eq!((table.rows[0].len(), &*table.rows[0][8]), (table.columns.len(), "-"));
        let table = without_data(&measured).expect("there is one");
        assert_eq!((table.rows[0].len(), &*table.rows[0][0]), (table.columns.len(), "discard"));
        let table = rotations(&measured).expect("there is one");
        assert_eq!(table.rows, [["3", "4.5 ms", "2 ms", "0.12 %"].map(str::to_owned)]);
        assert_eq!(table.columns.len(), 4);
        assert!(rotations(&Measured::default()).is_none());
        assert!(sizes(&Measured::default()).is_none() && without_data(&Measured::default()).is_none());
    }

    /// All text of the blocks.
    fn lines_of_blocks(figures: VerificationFigures) -> String {
        let span_result = TimeSpanResult { verification: Some(figures), ..TimeSpanResult::default() };
        let lines = verification(&span_result).expect("figures").into_iter().flat_map(|block| match block {
            Block::Table(table) => {
                table.rows.iter().map(|row| row.join(": ")).chain([table.heading, table.note]).collect::<Vec<_>>()
            }
            Block::Notes { heading, .. } => vec![heading],
            Block::Facts { facts } => facts.iter().map(|fact| format!("{}: {}", fact.name, fact.value)).collect(),
            other => panic!("{other:?}"),
        });
        lines.map(|line| line + "\n").collect()
    }

    #[test]
    fn sound_data_has_counts_only() {
        let figures = VerificationFigures {
            unit_bytes: 4096,
            is_exact: true,
            checked_units: 75,
            unchecked_units: 25,
            unchecked_percent: Some(25.0),
            ..VerificationFigures::default()
        };
        let said = lines_of_blocks(figures);
        for line in ["units checked: 75\n", "units not checkable: 25 (25.00 %)\n", "corrupt units: 0\n"] {
            assert!(said.contains(line), "{said}");
        }
        assert!(said.contains("Units are compared with what was written."), "{said}");
    }

    #[test]
    fn the_first_corrupt_units_are_described_and_the_others_counted() {
        let write = UnitWrite {
            target: 0,
            offset_bytes: 8192,
            number: 5,
            written_ns: 1_500_000_000,
            thread: 2,
            sequence: 77,
            io_offset_bytes: 8192,
            io_length_bytes: 16384,
        };
        let place =
            |device: &str, offset_bytes, is_disk| DevicePlace { device: device.to_owned(), offset_bytes, is_disk };
        let unit = CorruptUnit {
            path: "a\x1b.dat".into(),
            offset_bytes: 8192,
            class: CorruptionClass::Lost,
            at_ns: 2_000_000_000,
            thread: 1,
            expected: ExpectedContent::Write(6),
            found: Some(UnitHeader { is_intact: true, is_of_this_run: true, write }),
            first_bytes: "00".repeat(64),
            second_read: Some(SecondRead::Same),
            places: vec![place("sda1", 4096, false), place("sda", 1_052_672, true)],
            kernel_messages: vec![NearMessage { after_read_ns: -200_000_000, text: "sda: \x1bI/O error".to_owned() }],
        };
        let figures = VerificationFigures {
            corrupt: vec![CorruptUnits { class: CorruptionClass::Lost, units: 12 }],
            first: vec![unit; 12],
            ..VerificationFigures::default()
        };
        let said = lines_of_blocks(figures);
        let heading = "lost at offset 8192 of 'a\\x1b.dat', read by thread 1 at 2.000000 s\n";
        assert_eq!(said.matches(heading).count(), 10, "{said}");
        for line in [
            "lost: an acknowledged write is missing; the older data is still there: 12\n",
            "expected: write 6 to this unit\n",
            "found: write 5 to offset 8192 of target 0, made by thread 2 at 1.500000 s as I/O 77 (16384 bytes at 8192)\n",
            "read again: the same data\n",
            "on: sda1 at 4096, sda at 1052672 (bytes)\n",
            "log: kernel, 0.2 s before: sda: \\x1bI/O error\n",
            " 2 more corrupt units are in the JSON result.\n",
        ] {
            assert!(said.contains(line), "{line}{said}");
        }
    }
}
