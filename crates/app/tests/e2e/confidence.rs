//! Confidence intervals of a real run, in every form of its result.

use serde_json::Value;
use testkit::{Finished, Workplace, workplace};

/// The rows of the table of intervals; for values without any, the reason.
fn lines(text: &str) -> Vec<String> {
    let heads = ["Figures and their 95 % intervals", "No 95 % intervals: "];
    let lines = text.lines().skip_while(|line| !heads.iter().any(|head| line.starts_with(head)));
    lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// True if the words are equal and the numbers nearly so.
fn is_near(one: &str, other: &str) -> bool {
    let parts =
        |text: &str| -> Vec<String> { text.replace(',', "").split([' ', '[', ']', '-']).map(str::to_owned).collect() };
    let (one, other) = (parts(one), parts(other));
    let alike = |(one, other): (&String, &String)| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= 0.006 + one.abs() * 1e-3,
        _ => one == other,
    };
    one.len() == other.len() && one.iter().zip(&other).all(alike)
}

fn document(place: &Workplace) -> Value {
    place.json("r.json")
}

/// A run with all forms of its result, and the confidence part of its JSON.
fn run(place: &Workplace, words: &str) -> (Finished, Value) {
    let run = place.diskspd("-c1M -W0 -b4K -r -o2 -v --json r.json --xml r.xml").args(words).args("a.dat").run();
    run.expect_status(0);
    let document: Value = place.json("r.json");
    (run, document["time_spans"][0]["measured"]["confidence"].clone())
}

#[test]
fn every_form_of_a_result_tells_the_same() {
    let place = workplace!();
    // Random starts, so that no two parts of the run are equal.
    let (run, confidence) = run(&place, "-d5 -w30 -L --rate=1000 --rate-process=poisson");
    let mut ranks_of_all = Vec::new();
    for direction in ["read", "write", "total"] {
        let widths = &confidence[direction];
        for figure in ["iops", "bytes_per_s", "latency_mean_ns"] {
            // A busy machine may make an interval impossible; then there is a reason, not always with a remedy.
            let is_known = widths[figure].as_f64().is_some_and(|width| width > 0.0);
            assert!(is_known || widths["withheld"].is_object(), "{direction} {figure}: {widths}");
        }
        // Blocks are all the same size.
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
    assert!(told.len() >= 2, "{run}");
    let has_row = |name: &str| told.iter().any(|line| line.trim_start().starts_with(name));
    let has_mean = ["read", "write", "total"].iter().any(|of| confidence[of]["latency_mean_interval_ns"].is_object());
    let responses = &document(&place)["time_spans"][0]["measured"]["load_loop"]["open"]["response_time_confidence"];
    assert_eq!(has_row("mean (ms) "), has_mean || responses["latency_mean_interval_ns"].is_object(), "{run}");
    // A row for each percentile that has an interval in any direction.
    let of_responses = responses["percentiles"].as_array().into_iter().flatten();
    ranks_of_all.push(of_responses.filter_map(|one| one["rank_ppb"].as_u64()).collect());
    for (rank_ppb, name) in [(500_000_000, "50th (ms) "), (950_000_000, "95th (ms) "), (999_900_000, "4-nines (ms) ")] {
        assert_eq!(has_row(name), ranks_of_all.iter().any(|ranks| ranks.contains(&rank_ppb)), "{name} {run}");
    }
    for file in ["r.json", "r.xml"] {
        let read = place.diskspd("report").args(file).run();
        read.expect_status(0);
        let again = lines(&read.stdout);
        // XML has fewer digits.
        assert!(
            again.len() == told.len() && again.iter().zip(&told).all(|(one, other)| is_near(one, other)),
            "{file}: {read}"
        );
    }
}

#[test]
fn without_latencies_rates_have_intervals() {
    let place = workplace!();
    let (run, confidence) = run(&place, "-d5");
    assert!(confidence["write"].is_null() && confidence["total"]["latency_mean_ns"].is_null(), "{confidence}");
    let lines = lines(&run.stdout);
    assert!(!lines.is_empty() && !lines.iter().any(|line| line.contains("(ms)")), "{run}");
}
