//! Figures as comma-separated values.

use crate::captured::{TEXT, XML, read};
use crate::generated;
use crate::written;
use csv::{Reader, StringRecord};
use model::figures::Figures;
use model::result::RunResult;
use model::units::mib;
use proptest::prelude::*;

struct Table {
    titles: StringRecord,
    lines: Vec<StringRecord>,
}

impl Table {
    fn from_result(result: &RunResult) -> Self {
        let text = written(|out| render::csv(result, out));
        let mut reader = Reader::from_reader(text.as_bytes());
        let titles = reader.headers().expect("there is a header").clone();
        Self { titles, lines: reader.records().map(|line| line.expect("every line has every column")).collect() }
    }

    fn cell<'a>(&self, line: &'a StringRecord, title: &str) -> &'a str {
        let column = self.titles.iter().position(|other| other == title).unwrap_or_else(|| panic!("no column {title}"));
        &line[column]
    }

    fn of_scope(&self, scope: &str) -> Vec<&StringRecord> {
        self.lines.iter().filter(|line| self.cell(line, "scope") == scope).collect()
    }

    fn number<T: std::str::FromStr>(&self, line: &StringRecord, title: &str) -> Option<T> {
        self.cell(line, title).parse().ok()
    }

    fn holds(&self, line: &StringRecord, direction: &str, figures: &Figures) -> bool {
        self.cell(line, "direction") == direction
            && self.number(line, "bytes") == Some(figures.bytes)
            && self.number(line, "ios") == Some(figures.ios)
            && self.number(line, "iops") == Some(figures.iops)
            && self.number(line, "mib_per_s") == Some(mib(figures.bytes_per_s))
            && self.number(line, "iops_std_dev") == figures.iops_std_dev
            && self.number(line, "latency_mean_ns") == figures.latency.map(|latency| latency.mean_ns)
            && self.number(line, "latency_max_ns") == figures.latency.and_then(|latency| latency.max_ns)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn it_has_every_figure_to_the_last_digit(result in generated::result()) {
        let table = Table::from_result(&result);
        let measured = || result.time_spans.iter().filter_map(|span| span.measured.as_ref());
        let rows: Vec<_> = measured().flat_map(|measured| &measured.rows).collect();
        let threads = table.of_scope("thread");
        prop_assert_eq!(threads.len(), 3 * rows.len());
        for (lines, row) in threads.chunks(3).zip(rows) {
            prop_assert!(table.holds(lines[0], "read", &row.figures.read));
            prop_assert!(table.holds(lines[1], "write", &row.figures.write));
            prop_assert!(table.holds(lines[2], "total", &row.figures.total));
            prop_assert_eq!(table.cell(lines[0], "target"), row.path.to_str().expect("the names are UTF-8"));
            prop_assert_eq!(table.number(lines[2], "thread"), Some(row.thread));
        }
        let spans = table.of_scope("timespan");
        prop_assert_eq!(spans.len(), 3 * measured().count());
        for (lines, measured) in spans.chunks(3).zip(measured()) {
            prop_assert!(table.holds(lines[2], "total", &measured.total.total));
            let median = measured.total_latency.as_ref().and_then(|all| all.total.as_ref()).map(|all| all.percentiles[50].value_ns);
            prop_assert_eq!(table.number(lines[2], "latency_p50_ns"), median);
        }
        let others: Vec<_> = measured().flat_map(|measured| &measured.operations).collect();
        let lines = table.of_scope("operation");
        prop_assert_eq!(lines.len(), others.len());
        for (line, of) in lines.into_iter().zip(others) {
            prop_assert!(table.holds(line, "discard", &of.figures));
            let median = of.latency.as_ref().map(|all| all.percentiles[50].value_ns);
            prop_assert_eq!(table.number(line, "latency_p50_ns"), median);
        }
        prop_assert_eq!(table.of_scope("run").len(), if result.time_spans.len() > 1 { 3 } else { 0 });
    }
}

#[test]
fn a_captured_result_as_csv() {
    let text = written(|out| render::csv(&read(XML[2].1), out));
    let lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches(',')).collect();
    assert_eq!(
        lines[0],
        "scope,timespan,thread,target,target_size_bytes,direction,elapsed_ns,bytes,ios,mib_per_s,iops,iops_std_dev,\
         latency_mean_ns,latency_std_dev_ns,latency_min_ns,latency_max_ns,latency_p25_ns,latency_p50_ns,latency_p75_ns,\
         latency_p90_ns,latency_p95_ns,latency_p99_ns,latency_p99_9_ns,latency_p99_99_ns,latency_p99_999_ns,\
         latency_p99_9999_ns,latency_p99_99999_ns,latency_p99_999999_ns,latency_p99_9999999_ns"
    );
    insta::assert_snapshot!(lines[1..].join("\n"), @r"
    thread,1,0,test.dat,8388608,read,1000000000,3323985920,50720,3170,50720
    thread,1,0,test.dat,8388608,write,1000000000,0,0,0,0
    thread,1,0,test.dat,8388608,total,1000000000,3323985920,50720,3170,50720
    thread,1,0,test2.dat,8388608,read,1000000000,1101791232,16812,1050.75,16812
    thread,1,0,test2.dat,8388608,write,1000000000,0,0,0,0
    thread,1,0,test2.dat,8388608,total,1000000000,1101791232,16812,1050.75,16812
    thread,1,1,test.dat,8388608,read,1000000000,57540608,878,54.875,878
    thread,1,1,test.dat,8388608,write,1000000000,0,0,0,0
    thread,1,1,test.dat,8388608,total,1000000000,57540608,878,54.875,878
    timespan,1,,,,read,1000000000,4483317760,68410,4275.625,68410
    timespan,1,,,,write,1000000000,0,0,0,0
    timespan,1,,,,total,1000000000,4483317760,68410,4275.625,68410
    ");
}

#[test]
fn the_documentation_names_every_column() {
    let page = include_str!("../../../../docs/formats/csv.md");
    let titles = Table::from_result(&read(XML[2].1)).titles;
    for title in titles.iter().filter(|title| !title.starts_with("latency_p")) {
        assert!(page.contains(&format!("`{title}`")), "docs/formats/csv.md lacks {title}");
    }
}

#[test]
fn several_targets_have_lines_of_their_own_latencies() {
    let table = Table::from_result(&read(TEXT[5].1));
    let lines = table.of_scope("target");
    let maximum = |line: &&StringRecord| {
        format!(
            "{} {} {}",
            table.cell(line, "target"),
            table.cell(line, "direction"),
            table.cell(line, "latency_max_ns")
        )
    };
    assert_eq!(
        lines.iter().map(maximum).collect::<Vec<_>>()[..3],
        ["test2.dat read 955000", "test2.dat write 448000", "test2.dat total 955000",]
    );
}

#[test]
fn names_are_quoted_and_are_no_formulas() {
    let mut result = read(XML[2].1);
    result.time_spans[0].measured.as_mut().expect("it was measured").rows[0].path = "=a,\"b\"\nc".into();
    let text = written(|out| render::csv(&result, out));
    assert!(text.contains(r#"thread,1,0,"'=a,""b""\x0ac",8388608,read,"#), "{text}");
    assert_eq!(Table::from_result(&result).cell(&Table::from_result(&result).lines[0], "target"), r#"'=a,"b"\x0ac"#);
}

/// A cell without its guard against formulas in spreadsheets.
fn unguarded(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|rest| rest.starts_with(['=', '+', '-', '@'])).unwrap_or(cell)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_table_of_runs_has_the_same_cells_when_it_is_read(results in proptest::collection::vec(generated::result(), 1..4)) {
        use report::runs_table::{Cell, CellKind, RunSource, RunsTable};
        let mut table = RunsTable::new(None);
        for (index, result) in results.iter().enumerate() {
            table.add(&RunSource { name: format!("={index}\n.json"), ..RunSource::default() }, result);
        }
        let text = written(|out| render::runs_csv(&table, out));
        let header = render::runs_header() + "\n";
        prop_assert!(text.starts_with(&header));
        let mut reader = Reader::from_reader(text.as_bytes());
        let titles = reader.headers().expect("there is a header").clone();
        prop_assert!(titles.iter().eq(table.columns().iter().map(|column| column.name.as_str())));
        let lines: Vec<StringRecord> = reader.records().map(|line| line.expect("every line has every column")).collect();
        prop_assert_eq!(lines.len(), table.rows().len());
        for (line, row) in lines.iter().zip(table.rows()) {
            for ((read, cell), column) in line.iter().zip(&row.cells).zip(table.columns()) {
                match cell {
                    Cell::Empty => prop_assert_eq!(read, ""),
                    Cell::Text(text) => {
                        prop_assert_eq!(column.kind, CellKind::Text);
                        prop_assert_eq!(unguarded(read), unguarded(text));
                    }
                    Cell::Number(number) => {
                        prop_assert_eq!(column.kind, CellKind::Number);
                        prop_assert_eq!(read.parse::<f64>(), Ok(*number));
                    }
                }
            }
        }
    }
}
