//! How far the figures of a real run may be off, in every form of its result.

use serde_json::Value;
use testkit::{Finished, Workplace, workplace};

fn lines(text: &str) -> Vec<String> {
    text.lines().filter(|line| line.starts_with("95 % confidence")).map(str::to_owned).collect()
}

/// A run with all forms of its result, and what its JSON has of confidence.
fn run(place: &Workplace, words: &str) -> (Finished, Value) {
    let run = place.diskspd("-c1M -W0 -b4K -r -o2 -v --json r.json --xml r.xml").args(words).args("a.dat").run();
    run.expect_status(0);
    let document: Value = place.json("r.json");
    (run, document["time_spans"][0]["measured"]["confidence"].clone())
}

#[test]
fn every_form_of_a_result_tells_the_same() {
    let place = workplace!();
    // Random starts, so that no two parts of the run are alike.
    let (run, confidence) = run(&place, "-d5 -w30 -L --rate=1000 --rate-process=poisson");
    let mut ranks_of_all = Vec::new();
    for direction in ["read", "write", "total"] {
        let widths = &confidence[direction];
        for figure in ["iops", "bytes_per_s", "latency_mean_ns"] {
            // A busy machine may make an interval impossible; then there is a reason, not always with a remedy.
            let is_known = widths[figure].as_f64().is_some_and(|width| width > 0.0);
            assert!(is_known || widths["withheld"].is_object(), "{direction} {figure}: {widths}");
        }
        // Blocks are all alike.
        let ratio = widths["bytes_per_s"].as_f64().zip(widths["iops"].as_f64()).map(|(bytes, ios)| bytes / ios);
        assert!(ratio.is_none_or(|ratio| (ratio - 4096.0).abs() < 1e-4), "{widths}");
        let ranks: Vec<u64> = widths["percentiles"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|one| one["rank_ppb"].as_u64())
            .collect();
        assert!(!ranks.contains(&999_900_000), "{widths}");
        ranks_of_all.push(ranks);
    }
    let told = lines(&run.stdout);
    assert!(told.len() >= 3 && told[0].starts_with("95 % confidence, all: "), "{run}");
    let has_mean = confidence["total"]["latency_mean_interval_ns"].is_object();
    assert_eq!(told[0].contains(" mean latency "), has_mean, "{run}");
    // A line of percentiles, if there are any.
    let of_total = &ranks_of_all[2];
    assert!(of_total.is_empty() || told[1].contains("none at or above the 3-nines (too few I/Os)"), "{run}");
    for (rank_ppb, name) in [(500_000_000, "50th "), (950_000_000, "95th ")] {
        assert_eq!(told[1].contains(name), of_total.contains(&rank_ppb), "{name} {run}");
    }
    for file in ["r.json", "r.xml"] {
        let read = place.diskspd("report").args(file).run();
        read.expect_status(0);
        assert_eq!(lines(&read.stdout), told, "{file}");
    }
}

#[test]
fn without_latencies_rates_have_intervals() {
    let place = workplace!();
    let (run, confidence) = run(&place, "-d5");
    assert!(confidence["write"].is_null() && confidence["total"]["latency_mean_ns"].is_null(), "{confidence}");
    assert_eq!(lines(&run.stdout).len(), 1, "{run}");
}
