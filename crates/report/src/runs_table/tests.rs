use super::*;
use crate::{Block, Subject};
use model::finding::Severity;
use model::metric::{Metric, Scope};
use std::collections::BTreeSet;

/// A table of runs with these cells: block size, depth, host, IOPS, and the severity of its verdict.
fn table(runs: &[(f64, f64, &str, f64, Option<Severity>)]) -> RunsTable {
    let mut table = RunsTable::new(None);
    for (index, (block_bytes, depth, host, iops, severity)) in runs.iter().enumerate() {
        let headline = Headline { ios: 1, iops: *iops, severity: *severity, ..Headline::default() };
        table.add_headline(&RunSource { name: format!("d/run-{index}.json"), ..RunSource::default() }, &headline);
        let cells = [
            ("block_bytes", Cell::Number(*block_bytes)),
            ("depth", Cell::Number(*depth)),
            ("total_depth", Cell::Number(depth * 2.0)),
            ("host", Cell::text(host)),
        ];
        for (name, cell) in cells {
            let column = table.index(name);
            table.rows[index].cells[column] = cell;
        }
    }
    table
}

/// The sentences of the answer.
fn answer(table: &RunsTable) -> String {
    let report = Subject::Runs { name: "runs", table }.report(|_| None);
    let answers = report.lead.iter().filter_map(|block| match block {
        Block::Answers { answers } => answers.first(),
        _ => None,
    });
    let lines =
        answers.flat_map(|answer| std::iter::once(answer.headline().to_owned()).chain(answer.sentences().to_vec()));
    lines.collect::<Vec<_>>().join(" ")
}

fn names(table: &RunsTable) -> Vec<String> {
    table.dimensions().iter().map(|dimension| table.name_of_dimension(dimension)).collect()
}

const K: f64 = 1024.0;

#[test]
fn every_column_has_a_name_of_its_own_and_every_metric_a_column() {
    let columns = columns();
    let names: BTreeSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names.len(), columns.len());
    let is_plain = |name: &&str| name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    assert!(names.iter().all(is_plain), "{names:?}");
    assert!(columns.iter().all(|column| !column.meaning.is_empty() && !column.heading.is_empty()));
    for (scope, metric, name) in [
        (Scope::All, Metric::Iops, "iops"),
        (Scope::All, Metric::MibPerS, "mib_per_s"),
        (Scope::All, Metric::P999, "latency_p99_9_ns"),
        (Scope::All, Metric::Cpu, "cpu_percent"),
        (Scope::Write, Metric::MibPerS, "write_mib_per_s"),
        (Scope::WriteZeroes, Metric::Max, "write_zeroes_max_ns"),
        (Scope::Flush, Metric::Iops, "flush_iops"),
        (Scope::Commit, Metric::P99, "commit_p99_ns"),
        (Scope::ReadResponse, Metric::Mean, "response_read_mean_ns"),
    ] {
        assert_eq!(columns::name_of_metric(scope, metric), name);
    }
    for scope in Scope::ALL {
        for metric in Metric::ALL.into_iter().filter(|metric| scope.has(*metric)) {
            assert!(names.contains(columns::name_of_metric(scope, metric).as_str()), "{scope:?} {metric:?}");
        }
    }
}

#[test]
fn runs_that_differ_in_one_setting_are_a_curve() {
    let table = table(&[
        (4.0 * K, 8.0, "a", 800.0, None),
        (4.0 * K, 1.0, "a", 100.0, None),
        (4.0 * K, 2.0, "a", 190.0, None),
        (4.0 * K, 2.0, "a", 210.0, None),
        (4.0 * K, 2.0, "a", 200.0, None),
    ]);
    assert_eq!(names(&table), ["depth (with total_depth)"]);
    let curve = table.curve().expect("one setting differs");
    assert_eq!(RunsTable::numbers_of(&curve.across), Some(vec![1.0, 2.0, 8.0]));
    assert!(curve.beside.is_none());
    assert_eq!(curve.figures[0].column, "iops");
    assert_eq!(curve.figures[0].lines, [[Some(100.0), Some(200.0), Some(800.0)]]);
    assert_eq!(answer(&table), "Most IOPS with -o8: 800 (run-0.json)");
}

#[test]
fn runs_that_differ_in_two_settings_are_a_grid() {
    let table = table(&[
        (4.0 * K, 1.0, "a", 100.0, None),
        (4.0 * K, 8.0, "a", 800.0, None),
        (64.0 * K, 8.0, "a", 90.0, None),
        (4.0 * K, 16.0, "a", 900.0, None),
    ]);
    let curve = table.curve().expect("two settings differ");
    assert_eq!(RunsTable::numbers_of(&curve.across), Some(vec![1.0, 8.0, 16.0]));
    assert_eq!(curve.beside.map(|beside| beside.values), Some(vec![Cell::Number(4.0 * K), Cell::Number(64.0 * K)]));
    let expected = [[Some(100.0), Some(800.0), Some(900.0)], [None, Some(90.0), None]];
    assert_eq!(curve.figures[0].lines, expected);
    assert!(answer(&table).starts_with("Most IOPS with -b4K -o16: 900 (run-3.json)"), "{}", answer(&table));
    let charts: Vec<&str> =
        report::charts(&table, table.curve().as_ref()).iter().flatten().map(|chart| chart.name).collect();
    assert_eq!(charts, ["table-throughput", "table-mib", "table-grid"]);
}

#[test]
fn hosts_and_invalid_runs_are_named_and_not_ranked() {
    let invalid = Some(Severity::Invalid);
    let alone = table(&[
        (4.0 * K, 1.0, "a", 100.0, None),
        (4.0 * K, 8.0, "a", 9000.0, invalid),
        (4.0 * K, 2.0, "a", 150.0, None),
    ]);
    assert_eq!(answer(&alone), "Most IOPS with -o2: 150 (run-2.json) Not ranked, INVALID: 1 run (run-1.json).");
    let curve = alone.curve().expect("depth differs");
    assert_eq!(RunsTable::numbers_of(&curve.across), Some(vec![1.0, 2.0]));
    let hosts = table(&[(4.0 * K, 1.0, "a", 100.0, None), (4.0 * K, 8.0, "b", 9000.0, None)]);
    assert_eq!(answer(&hosts), "2 hosts (a, b), not ranked");
    // One depth for each host: the differing setting is one dimension, named with the other.
    assert_eq!(names(&hosts), ["depth (with total_depth, host)"]);
    let none = table(&[(4.0 * K, 1.0, "a", 1.0, invalid)]);
    assert!(answer(&none).starts_with("None has valid figures"), "{}", answer(&none));
}

#[test]
fn text_in_cells_is_printable_and_not_too_long() {
    assert_eq!(Cell::text(""), Cell::Empty);
    assert_eq!(Cell::text("a\x1b[31mb"), Cell::Text("a\\x1b[31mb".to_owned()));
    let Cell::Text(long) = Cell::text(&"\u{1f4a9}".repeat(20_000)) else { panic!("it is text") };
    assert_eq!(long.encode_utf16().count(), 32_766, "no character is cut");
    assert_eq!([Cell::number(Some(f64::NAN)), Cell::number(None)], [Cell::Empty, Cell::Empty]);
    assert_eq!(Cell::Number(0.1).plain(), "0.1");
}

#[test]
fn figures_of_an_ssd_share_out_writes_as_often_as_they_are_made() {
    let mut table = RunsTable::new(Some(DeviceCount { ssds: 8, copies: 3 }));
    let headline = Headline {
        ios: 1,
        iops: 1000.0,
        write_share: 0.25,
        depth: Some(32),
        bytes_per_s: 8.0 * 1024.0 * 1024.0,
        ..Headline::default()
    };
    table.add_headline(&RunSource::default(), &headline);
    let number = |name| table.cell(&table.rows()[0], name).as_number();
    assert_eq!([number("ssds"), number("copies"), number("amplification")], [Some(8.0), Some(3.0), Some(1.5)]);
    assert_eq!(
        [number("depth_per_ssd"), number("iops_per_ssd"), number("mib_per_s_per_ssd")],
        [Some(6.0), Some(187.5), Some(1.5)]
    );
}
