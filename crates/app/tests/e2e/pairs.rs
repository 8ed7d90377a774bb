//! `diskspd ab`: two sides in pairs, their comparison, and the exit status.

use serde_json::Value;
use std::fs;
use testkit::{Workplace, or_skip, workplace};

const SCHEMA: &str = include_str!("../../../../docs/formats/diskspd-sweep.schema.json");

/// An ab.json, which must conform to the schema.
fn document(place: &Workplace, name: &str) -> Value {
    let document: Value = place.json(name);
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    if let Err(fault) = jsonschema::validate(&schema, &document) {
        panic!("{name} at {}: {fault}", fault.instance_path());
    }
    document
}

/// Sides in the order in which they were run, pair by pair.
fn order(document: &Value) -> Vec<(u64, u64)> {
    let visits = document["visits"].as_array().expect("visits");
    visits
        .iter()
        .map(|visit| (visit["run"].as_u64().expect("a pair"), visit["point"].as_u64().expect("a side")))
        .collect()
}

/// The null engine reaches any rate: the sides differ by exactly the requested amount.
const LOAD: &str = "-- -c1M -d1 -W0 -b4K -r --engine=null a.dat";

/// Every series used to begin its pairs with the same sides, which a drift or a pattern of the device may favour.
#[test]
fn each_series_draws_the_order_of_its_pairs() {
    let place = workplace!();
    let order_in = |folder: &str| {
        let words = format!("ab --pairs 12 --dir {folder} -- -c1M -d1 -W0 -b4K --max-ios=4 --engine=null a.dat");
        let run = place.diskspd(&words).run();
        assert!(matches!(run.status.code(), Some(0 | 6)), "{run}");
        let found = document(&place, &format!("{folder}/ab.json"));
        assert!(found["order_seed"].is_u64(), "{}", found["order_seed"]);
        order(&found)
    };
    let orders = ["d", "e", "f"].map(order_in);
    assert!(orders.iter().all(|order| order.len() == 24), "{orders:?}");
    // Three series of twelve pairs are equal once in 16 million.
    assert!(orders[0] != orders[1] || orders[1] != orders[2], "{orders:?}");
}

#[test]
fn a_difference_is_found_and_limits_are_heeded() {
    let place = workplace!();
    let sides = "ab --a --rate=1000 --b --rate=2000 --pairs 4";
    let run = place.diskspd(&format!("{sides} --dir d --fail-if iops>+30% {LOAD}")).run();
    or_skip!(kept_the_rates(&run.stdout, [1000.0, 2000.0]));
    run.expect_status(4).expect_stderr(&["4 pairs of runs: 8 s", "--fail-if 'iops>+30%': condition met", "results: d"]);
    run.expect_narrow().expect_stdout(&["Pair 1 A, ", "Pair 4 B, ", "better"]);
    run.expect_told(&[
        "Answer A: --rate=1000 and B: --rate=2000: B is better in IOPS",
        "Measured 4 pairs of runs of A ",
    ]);
    let found = document(&place, "d/ab.json");
    let iops = &found["ab"]["figures"][0];
    assert_eq!((iops["figure"].as_str(), iops["verdict"].as_str()), (Some("iops"), Some("better")), "{iops}");
    let order = order(&found);
    for (pair, sides) in (0..).zip(order.chunks(2)) {
        assert!(sides.iter().all(|(run, _)| *run == pair) && sides[0].1 + sides[1].1 == 1, "{order:?}");
    }
    // Each pair has its own seed, both runs of a pair the same.
    let seed = |name: &str| {
        let result: Value = place.json(name);
        assert!(result["command_line"].as_str().expect("words").contains("000 -c1M"), "{}", result["command_line"]);
        result["profile"]["time_spans"][0]["random_seed"].as_u64().expect("a seed")
    };
    let seeds: Vec<u64> = found["visits"]
        .as_array()
        .expect("visits")
        .iter()
        .map(|visit| seed(&format!("d/{}", visit["outcome"]["measured"]["file"].as_str().expect("a name"))))
        .collect();
    assert!(seeds.chunks(2).all(|pair| pair[0] == pair[1]) && seeds[1] != seeds[2], "{seeds:?}");

    let run = place.diskspd("report d --output page.html").run();
    run.expect_status(0);
    let again = place.diskspd(&format!("{sides} --dir d {LOAD}")).run();
    again.expect_status(3).expect_stderr(&["--dir 'd' already holds an ab; --resume d continues it"]);
}

/// Error if a run of a pair did not reach the rate of its side: another program had the CPUs.
pub(crate) fn kept_the_rates(stdout: &str, rates: [f64; 2]) -> Result<(), String> {
    for line in stdout.lines().filter_map(|line| line.strip_prefix("Pair ")) {
        let mut words = line.split(", ");
        let asked = rates[usize::from(words.next().is_some_and(|run| run.ends_with(" B")))];
        let reached = words.next().and_then(|rate| rate.strip_suffix(" iops")).expect("a rate");
        if reached.parse::<f64>().expect("a rate") < 0.985 * asked {
            return Err(format!("others leave so little of the CPUs that {asked} I/Os per second are too many"));
        }
    }
    Ok(())
}

#[test]
fn sides_that_are_alike_show_the_noise_floor() {
    let place = workplace!();
    let run = place
        .diskspd("ab --pairs 3 --margin 20% --fail-if iops<-50% -- -c1M -d1 -W0 -b4K -r --rate=200 --engine=null a.dat")
        .run();
    or_skip!(kept_the_rates(&run.stdout, [200.0, 200.0]));
    assert!(!run.stdout.contains("equivalent"), "both sides reached their rate: {}", run.stdout);
    run.expect_status(0).expect_told(&[
        "imited by the",
        "rate-limited",
        "The smallest difference that this number of pairs detects with 90 % probability: ",
        "these pairs show the noise floor",
    ]);
    // Without -L there is no percentile.
    let run = place.diskspd("ab --pairs 3 --fail-if p99>+5% -- -c1M -d1 -W0 -b4K -r -g1000i --engine=null a.dat").run();
    run.expect_status(6).expect_stderr(&["--fail-if 'p99>+5%' cannot be judged: the sides have no p99 in common"]);
}

/// All pairs used to be run, and to fail, before the failed command ended them.
#[test]
fn pairs_end_at_the_first_command_that_fails() {
    let place = workplace!();
    let words = "ab --pairs 5 --dir d --before-a true --before-b false -- -c1M -d1 -W0 -b4K --engine=null a.dat";
    let run = place.diskspd(words).run();
    run.expect_status(1).expect_stdout(&["failed: --before-b 'false': exit status: 1"]);
    assert!(!run.stdout.contains("Pair 2 "), "{run}");
}

#[test]
fn commands_of_the_sides_are_run_and_stopped_pairs_go_on() {
    let place = workplace!();
    let mut running = place
        .diskspd("ab --pairs 3 --margin 20% --rest 600s --before-a")
        .arg("echo 0 >> log")
        .arg("--before-b")
        .arg("echo 1 >> log")
        .args("--dir d -- -c1M -d1 -W0 -b4K -r -g200i --engine=null a.dat")
        .start();
    running.wait_for_stdout("Pair 1 ");
    running.interrupt();
    let run = running.finish();
    let first = kept_the_rates(&run.stdout, [200.0, 200.0]);
    run.expect_status(130).expect_stderr(&["stopped; continue with diskspd ab --resume d"]);
    assert!(!run.stdout.contains("limited by"), "{}", run.stdout);
    let text = String::from_utf8(place.content("d/ab.json")).expect("text");
    // Shortened, as the rest would take ten minutes.
    place.file("d/ab.json", text.replace("600s", "1ms").as_bytes());
    let refused = place.diskspd("ab --resume d").run();
    refused.expect_status(3).expect_stderr(&["'echo 0 >> log'", "'echo 1 >> log'", "--run-commands"]);
    let run = place.diskspd("ab --resume d --run-commands").run();
    or_skip!(first.and_then(|()| kept_the_rates(&run.stdout, [200.0, 200.0])));
    run.expect_status(0).expect_stderr(&["already done: 1 run"]);
    run.expect_told(&["A (after echo 0 >> log)", "imited by the"]);
    let found = document(&place, "d/ab.json");
    let ran: Vec<String> = order(&found).iter().map(|(_, side)| side.to_string()).collect();
    let log = fs::read_to_string(place.path("log")).expect("it is there");
    assert_eq!(log.lines().collect::<Vec<_>>(), ran, "the order of the runs is kept");
}
