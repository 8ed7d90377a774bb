//! The time series of a measurement, as kept in its result and reported later.

use serde_json::Value;
use std::time::Duration;
use testkit::{Faulty, Workplace, or_skip, workplace};

/// A run with `--json r.json`, and its measurement, which must have enough data: a busy machine may give a run too
/// little time in two seconds, so it is retried.
fn run_with_enough(place: &Workplace, words: &str, is_enough: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..5 {
        place.diskspd(&format!("{words} --json r.json a.dat")).run().expect_status(0);
        let measured = place.measured("r.json");
        if is_enough(&measured) {
            return measured;
        }
    }
    panic!("{words}: too few I/Os in five runs");
}

/// True if there are I/Os of each direction in each interval.
fn has_ios_everywhere(measured: &Value) -> bool {
    let has_ios = |interval: &Value, direction: &str| interval[direction]["ios"].as_u64() > Some(0);
    items(&measured["intervals"]).iter().all(|interval| has_ios(interval, "read") && has_ios(interval, "write"))
}

fn sum(numbers: &Value) -> u64 {
    numbers.as_array().expect("a list").iter().filter_map(Value::as_u64).sum()
}

fn items(list: &Value) -> &[Value] {
    list.as_array().expect("a list")
}

/// The cells of a line of the table that `diskspd report` prints of a part.
fn cells(text: &str, label: &str) -> [String; 3] {
    let line = text.lines().find(|line| line.split('|').next().map(str::trim) == Some(label));
    let line = line.unwrap_or_else(|| panic!("no line {label} in {text}"));
    let cells: Vec<String> = line.split('|').skip(1).map(|cell| cell.trim().to_owned()).collect();
    cells.try_into().expect("three columns")
}

fn number(cell: &str) -> u64 {
    cell.parse().expect("a number")
}

#[test]
fn every_run_has_a_series_of_all_its_ios() {
    let place = workplace!();
    let words = "-c1M -d2 -W0 -b4K -r -w30 -o4 -t2 -g1000i";
    for (latencies, sections) in [("", 0), ("-L", 20), ("-D500", 4), ("-D500 -L", 4)] {
        let has_enough = |measured: &Value| measured["total"]["total"]["ios"].as_u64() > Some(1000);
        let measured = run_with_enough(&place, &format!("{latencies} {words}"), has_enough);
        let series = &measured["series"];
        assert_eq!(series["width_ns"], 100_000_000, "{latencies}");
        for direction in ["read", "write"] {
            let counts = &series[direction];
            let total = &measured["total"][direction];
            assert_eq!(items(&counts["ios"]).len(), 20, "{latencies} {direction}");
            assert_eq!(Some(sum(&counts["ios"])), total["ios"].as_u64(), "{latencies} {direction}");
            assert_eq!(Some(sum(&counts["bytes"])), total["bytes"].as_u64(), "{latencies} {direction}");
            let latency_cells = if latencies.is_empty() { 0 } else { 20 };
            assert_eq!(items(&counts["latency_sum_ns"]).len(), latency_cells, "{latencies} {direction}");
            assert_eq!(items(&measured["sections"]).len(), sections, "{latencies}");
            if sections > 0 {
                let ios = items(&measured["sections"]).iter().filter_map(|section| section[direction]["ios"].as_u64());
                assert_eq!(Some(ios.sum()), total["ios"].as_u64(), "{latencies} {direction}");
            }
        }
        let slowest = items(&measured["slowest"]);
        assert_eq!(slowest.len(), if latencies.is_empty() { 0 } else { 100 }, "{latencies}");
        let latencies_ns: Vec<u64> = slowest.iter().filter_map(|io| io["latency_ns"].as_u64()).collect();
        assert!(latencies_ns.iter().rev().is_sorted(), "{latencies_ns:?}");
    }
}

#[test]
fn figures_of_a_part_are_those_of_its_intervals() {
    let place = workplace!();
    let measured = run_with_enough(&place, "-c1M -d2 -W0 -b4K -r -w30 -o4 -L -D250", has_ios_everywhere);
    let run = place.diskspd("report r.json --from 0.5s --to 1500ms --percentile 99.9 --percentile 30").run();
    run.expect_status(0);
    assert!(run.stdout.starts_with("From 0.5 s to 1.5 s of the measurement:\n"), "{}", run.stdout);
    let part = &items(&measured["intervals"])[2..6];
    for (column, direction) in ["read", "write", "total"].into_iter().enumerate() {
        let ios: u64 = part.iter().filter_map(|interval| interval[direction]["ios"].as_u64()).sum();
        assert_eq!(number(&cells(&run.stdout, "I/Os")[column]), ios, "{direction}");
        assert_eq!(number(&cells(&run.stdout, "bytes")[column]), ios * 4096, "{direction}");
        assert_eq!(cells(&run.stdout, "I/O per s")[column], format!("{ios}.00"), "a second");
        let extremes_ns = part.iter().filter_map(|interval| interval[direction]["latency"]["max_ns"].as_u64());
        let max_ms = format!("{:.3}", extremes_ns.max().expect("there are I/Os") as f64 / 1e6);
        assert_eq!(cells(&run.stdout, "max (ms)")[column], max_ms, "{direction}");
    }
    let lines: Vec<&str> =
        run.stdout.lines().filter_map(|line| line.split_once('|')).map(|cells| cells.0.trim()).collect();
    let expected = ["", "bytes", "I/Os", "MiB/s", "I/O per s", "mean (ms)", "min (ms)", "30%", "3-nines", "max (ms)"];
    assert_eq!(lines, expected);
}

#[test]
fn the_whole_measurement_has_the_percentiles_of_the_report() {
    let place = workplace!();
    let measured = run_with_enough(&place, "-c1M -d2 -W0 -b4K -r -o4 -L", |measured| {
        measured["total"]["total"]["ios"].as_u64() > Some(5000)
    });
    let part = place.diskspd("report r.json --from 0").run();
    part.expect_status(0);
    let distribution = &measured["total_latency"]["read"]["percentiles"];
    for (label, rank_ppb) in [("50th", 500_000_000u64), ("99th", 990_000_000), ("3-nines", 999_000_000)] {
        let exact = items(distribution).iter().find(|percentile| percentile["rank_ppb"] == rank_ppb);
        let exact_ns = exact.and_then(|percentile| percentile["value_ns"].as_u64()).expect("it is there") as f64;
        let told_ns = cells(&part.stdout, label)[0].parse::<f64>().expect("a number") * 1e6;
        // Both are upper edges of buckets, and the text has three decimals of a millisecond.
        assert!((told_ns - exact_ns).abs() <= exact_ns * 0.009 + 510.0, "{label}: {told_ns} for {exact_ns}");
    }
}

#[test]
fn what_is_not_kept_cannot_be_asked_for() {
    let place = workplace!();
    place.diskspd("-c1M -d1 -W0 -b4K --json plain.json a.dat").run().expect_status(0);
    place.diskspd("-d1 -W0 -b4K -D --json r.json a.dat").run().expect_status(0);
    for (words, status, expected) in [
        ("plain.json --from 0", 1, "the result has no latencies over time"),
        ("plain.json --slowest", 1, "the result has no list of slowest I/Os"),
        ("r.json --from 1s", 1, "the selected range is outside the measurement, which lasted 1 s"),
        ("r.json --to 1001ms", 1, "the selected range is outside the measurement, which lasted 1 s"),
        ("r.json --from 1s --to 1s", 3, "--to must be later than --from"),
    ] {
        let run = place.diskspd(&format!("report {words}")).run();
        run.expect_status(status);
        assert!(run.stderr.contains(expected), "{words}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{words}");
    }
}

#[test]
fn the_slowest_io_is_that_of_the_slow_place() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "faulty"));
    let slow = 37 * 65_536;
    faulty.slow_down(slow, Duration::from_secs(2));
    // Once over the 16 MiB file, 256 blocks.
    let words = "-d600 -W0 -b64K -si -t1 -o2 --engine=io_uring --max-ios=256 -L --json r.json";
    let measured = || {
        place.diskspd(words).arg(&faulty.file).run().expect_status(0);
        place.measured("r.json")
    };
    // A machine that stalls for more than two seconds makes another I/O the slowest.
    let is_it = |measured: &Value| measured["slowest"][0]["offset_bytes"] == slow;
    let measured = (0..4).map(|_| measured()).find(is_it).unwrap_or_else(measured);
    let slowest = &measured["slowest"][0];
    assert_eq!((&slowest["offset_bytes"], &slowest["size_bytes"]), (&Value::from(slow), &Value::from(65_536)));
    assert_eq!((&slowest["is_write"], &slowest["thread"], &slowest["target"]), (&false.into(), &0.into(), &0.into()));
    assert!(slowest["latency_ns"].as_u64() >= Some(2_000_000_000), "{slowest}");
    let run = place.diskspd("report r.json --slowest").run();
    run.expect_status(0);
    // Headings and long paths are wrapped.
    let first = run.stdout.lines().find(|line| line.contains("  read  ")).expect("an I/O");
    assert!(first.contains("  2,424,832  65,536  "), "{}", run.stdout);
    let name = faulty.file.file_name().expect("a name").to_string_lossy();
    assert!(slow == 2_424_832 && run.stdout.lines().any(|line| line.ends_with(&*name)), "{}", run.stdout);
}
