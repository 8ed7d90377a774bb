//! The report as read by scripts in the field: lines by their beginning, cells by `|`.

use crate::support::{cpu, hybrid_machine, machine, measured, mix_run, report, usage};
use model::note::Note;
use model::result::RunResult;
use model::topology::Cpu;

/// The values that a sweep script extracts from a report.
#[derive(Debug, PartialEq)]
struct ParsedFigures {
    bytes: u64,
    ios: u64,
    mib_per_s: f64,
    iops: f64,
    avg_lat_ms: f64,
    cpu: [f64; 4],
    percentile_99_total_ms: f64,
}

fn first_line<'a>(text: &'a str, beginning: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(beginning)).unwrap_or_else(|| panic!("no line begins with {beginning}"))
}

fn number<T: std::str::FromStr>(cell: &str) -> T {
    let digits = cell.trim().trim_start_matches("total:").trim_end_matches('%').trim();
    digits.parse().unwrap_or_else(|_| panic!("{cell:?} is no number"))
}

fn take(text: &str) -> ParsedFigures {
    let total: Vec<&str> = first_line(text, "total:").split('|').collect();
    let average: Vec<&str> = first_line(text, "avg.").split('|').collect();
    assert!(average[1..].iter().all(|cell| cell.ends_with('%')));
    let percentile: Vec<&str> = text
        .lines()
        .map(|line| line.split('|').collect::<Vec<_>>())
        .find(|cells| cells[0].trim() == "99th")
        .expect("there is a row for the 99th percentile");
    ParsedFigures {
        bytes: number(total[0]),
        ios: number(total[1]),
        mib_per_s: number(total[2]),
        iops: number(total[3]),
        avg_lat_ms: number(total[4]),
        cpu: [1, 2, 3, 4].map(|column| number(average[column])),
        percentile_99_total_ms: number(percentile[3]),
    }
}

/// The example on a machine, with all possible text around the tables.
fn example_on(system: model::facts::SystemFacts) -> RunResult {
    let mut result = mix_run();
    let ids: Vec<u32> = system.topology.cpus.iter().map(|cpu| cpu.id).collect();
    measured(&mut result).cpus = ids.into_iter().map(|id| usage(id, 14.65, 3.25, 11.40, 85.35)).collect();
    result.system = system;
    result.notes = vec![Note::CpuStolen { percent_hundredths: 1 }];
    result.time_spans[0].errors = vec!["total: 1 | 2 | 3\ntotal: 4 | 5".to_owned()];
    result
}

#[test]
fn the_same_columns_on_every_kind_of_machine() {
    let smt = machine((0..8).map(|id| cpu(id, id / 2)).collect());
    let sockets = machine((0..8).map(|id| Cpu { socket: id / 4, node: id / 4, ..cpu(id, id) }).collect());
    let groups = machine([0, 1, 64, 65].map(|id| Cpu { socket: id / 64, ..cpu(id, id / 2) }).to_vec());
    let plain = machine((0..4).map(|id| cpu(id, id)).collect());
    for system in [plain, smt, sockets, groups, hybrid_machine()] {
        assert_eq!(
            take(&report(&example_on(system))),
            ParsedFigures {
                bytes: 728_735_744,
                ios: 88_957,
                mib_per_s: 69.41,
                iops: 8884.15,
                avg_lat_ms: 0.888,
                cpu: [14.65, 3.25, 11.40, 85.35],
                percentile_99_total_ms: 2.262,
            }
        );
    }
}

#[test]
fn bars_of_the_average_stand_under_those_of_the_rows() {
    for system in [machine((0..8).map(|id| cpu(id, id / 2)).collect()), hybrid_machine()] {
        let text = report(&example_on(system));
        let lines: Vec<&str> = text.lines().collect();
        let average = lines.iter().position(|line| line.starts_with("avg.")).expect("there is an average");
        let (row, average) = (lines[average - 2], lines[average]);
        assert_eq!(row.len(), average.len());
        for (column, _) in average.match_indices('|') {
            assert_eq!(row.as_bytes()[column], b'|');
        }
    }
}

#[test]
fn sections_are_found_by_their_titles() {
    let text = report(&mix_run());
    let at = |title: &str| {
        let mut lines = text.lines().enumerate().filter(|(_, line)| line.starts_with(title));
        lines.next().unwrap_or_else(|| panic!("no section {title}")).0
    };
    let titles = [
        "Command Line: diskspd -c1G",
        "Input parameters:",
        "System information:",
        "Results for timespan 1:",
        "Total IO",
        "Read IO",
        "Write IO",
        "Total latency distribution:",
    ];
    assert!(titles.map(at).is_sorted());
    let totals: Vec<&str> = text.lines().filter(|line| line.starts_with("total:")).collect();
    assert_eq!(totals.len(), 3, "one each for total, read and write");
}

#[test]
fn target_lines_are_keys_and_values() {
    let text = report(&mix_run());
    let value = |key: &str| {
        let lines = text.lines().filter(|line| line.starts_with("      "));
        let mut values = lines.filter_map(|line| line.trim().split_once(": ")).filter(|(name, _)| *name == key);
        values.next().unwrap_or_else(|| panic!("no key {key}")).1.to_owned()
    };
    assert_eq!(value("block size"), "8KiB");
    assert_eq!(value("number of outstanding I/O operations per thread"), "4");
    assert_eq!(value("threads per file"), "2");
    let input = &text[text.find("Input parameters:").expect("it is there")..];
    let input = &input[..input.find("System information:").expect("it is there")];
    assert!(!input.contains('\t'), "2.3 has no tabs here");
}
