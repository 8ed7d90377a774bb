//! `--rate` and `--rate-process`, and `-g`: results of a run with a schedule. The start times of its I/Os are tested in
//! `timing_sensitive`.

use serde_json::Value;
use testkit::{Workplace, workplace};

/// The JSON of the last run.
fn document(place: &Workplace) -> Value {
    place.json("r.json")
}

/// The measured part of the JSON of a run of a second. A busy machine may give it no time in that; it is retried.
fn measured(place: &Workplace, words: &str) -> Value {
    for _ in 0..5 {
        let run = place.diskspd(&format!("-c1M -d1 -W0 -b4K -r --json r.json {words} a.dat")).run();
        run.expect_status(0);
        let measured = document(place)["time_spans"][0]["measured"].clone();
        if measured["total"]["total"]["ios"].as_u64() > Some(0) {
            return measured;
        }
    }
    panic!("{words}: no I/Os in five runs");
}

fn text(place: &Workplace, name: &str) -> String {
    String::from_utf8(place.content(name)).expect("it is UTF-8")
}

// Shows switches: --rate=<rate>[..<rate>]
#[test]
fn every_start_of_the_schedule_is_accounted_for() {
    let place = workplace!();
    for engine in ["", "--engine=sync", "--engine=aio", "-u2", "--engine=null"] {
        let measured = measured(&place, &format!("-t2 -o4 -w30 -L --rate=3001 {engine}"));
        let open = &measured["load_loop"]["open"];
        let count = |name: &str| open[name].as_u64().expect("a count");
        // The k-th start is due k / 3001 seconds after the first: the 3001st at the end itself.
        assert_eq!(count("intended_starts"), 3000, "{engine}: {open}");
        assert_eq!((count("rate_iops"), &open["process"]), (3001, &Value::from("constant")), "{engine}");
        assert_eq!(count("depth"), if engine == "--engine=sync" { 2 } else { 8 }, "{engine}");
        let ios = measured["total"]["total"]["ios"].as_u64().expect("a count");
        assert!(ios <= 3000 - count("backlog"), "{engine}: {ios}");
        let response = &open["response_time"]["total"];
        assert_eq!(response["count"], ios, "{engine}: every I/O has both times");
        let mean_ns = |distribution: &Value| distribution["figures"]["mean_ns"].as_f64().expect("a mean");
        assert!(mean_ns(response) >= mean_ns(&measured["total_latency"]["total"]), "{engine}");
    }
}

// Shows switches: --rate-process=<constant|poisson|bursts:<on>,<off>,<factor>>
#[test]
fn random_starts_are_as_many_as_the_rate_means() {
    let place = workplace!();
    let intended = |words: &str| {
        let measured = measured(&place, &format!("-t2 -o8 --rate=5000 --rate-process=poisson {words}"));
        let open = &measured["load_loop"]["open"];
        assert_eq!(open["process"], "poisson");
        assert!(open["response_time"]["total"]["percentiles"].is_array(), "without -L too");
        open["intended_starts"].as_u64().expect("a count")
    };
    let first = intended("-z7");
    // Four standard deviations of a Poisson count.
    assert!(first.abs_diff(5000) <= 4 * 71, "{first}");
    assert_eq!(intended("-z7"), first, "the seed decides");
}

#[test]
fn the_report_tells_how_many_ios_were_outstanding() {
    let place = workplace!();
    for words in ["-t2 -o4 -w30", "-t2 -o4 --rate=2000"] {
        let run = place
            .diskspd(&format!("-c1M -d60 -W0 -b4K -r -L -v --max-ios=1000 {words} --json r.json --xml r.xml a.dat"))
            .run();
        run.expect_status(0);
        let summary = &document(&place)["time_spans"][0]["summary"];
        for direction in ["read", "total"] {
            let figure = |name: &str| summary[direction][name].as_f64().unwrap_or_else(|| panic!("{name}: {summary}"));
            let expected = figure("iops") * figure("mean_ns") / 1e9;
            assert!((figure("outstanding") - expected).abs() <= expected * 1e-9, "{words} {direction}: {summary}");
        }
        let mean = summary["total"]["outstanding"].as_f64().expect("a mean");
        // On the line of a closed loop, in the last column of an open one.
        let check_outstanding = |text: &str, tolerance: f64| {
            let loop_line = text
                .lines()
                .position(|line| line.starts_with("closed loop, depth ") || line.starts_with("open loop, "));
            let lines: Vec<&str> = text.lines().skip(loop_line.expect("a line")).take(4).collect();
            let found = lines.iter().find_map(|line| {
                line.split_whitespace().next_back().filter(|word| word.contains('.'))?.parse::<f64>().ok()
            });
            found.is_some_and(|found| (found - mean).abs() <= 0.005 + mean * tolerance)
        };
        assert!(check_outstanding(&run.stdout, 0.0), "{mean}: {}", run.stdout);
        let again = place.diskspd("report r.xml").run();
        // XML has microseconds.
        assert!(check_outstanding(&again.stdout, 0.1), "{mean}: {again}");
    }
}

#[test]
fn the_rate_times_the_mean_latency_is_the_depth() {
    let place = workplace!();
    // Direct I/O, which ends later, and I/O that completes during submission.
    for words in ["--engine=io_uring -Sh", "--engine=aio -Sh", "--engine=io_uring -Sb"] {
        let load = format!("-c16M -d2 -W0 -b4K -r -L -v -t2 -o32 {words} --json r.json a.dat");
        // I/Os that a busy machine delays at the end are not counted: retried.
        let run = (0..5).map(|_| place.diskspd(&load).run()).find(|run| {
            run.expect_status(0);
            let outstanding = document(&place)["time_spans"][0]["summary"]["total"]["outstanding"].as_f64();
            (62.0..64.5).contains(&outstanding.expect("a mean"))
        });
        let run = run.unwrap_or_else(|| panic!("{words}: {}", document(&place)["time_spans"][0]["summary"]["total"]));
        assert!(run.stdout.contains("\nclosed loop, depth 64; average outstanding 6"), "{}", run.stdout);
        let document = document(&place);
        let notes = document["time_spans"][0]["notes"].as_array().expect("notes");
        let note = notes.iter().find(|note| note["note"] == "in_flight").unwrap_or_else(|| panic!("{notes:?}"));
        let in_flight = note["mean_hundredths"].as_f64().expect("a mean") / 100.0;
        assert!(note["depth"] == 64 && in_flight > 0.0 && in_flight <= 64.5, "{note}");
    }
    let run = place.diskspd("-c1M -d1 -W0 -b4K -r -o4 -v -g400i --fdatasync-every=2 -w50 a.dat").run();
    run.expect_status(0).expect_stdout(&["\nclosed loop, depth at most 4 (-g, --fdatasync-every)"]);
}

#[test]
fn the_report_tells_which_loop_it_was() {
    let place = workplace!();
    let run = place.diskspd("-c1M -d1 -W0 -b4K -r -t2 -o4 -v --json r.json --xml r.xml a.dat").run();
    run.expect_status(0);
    assert!(run.stdout.contains("\nclosed loop, depth 8\n"), "{}", run.stdout);
    assert!(!run.stdout.contains("Response time"), "{}", run.stdout);
    assert!(text(&place, "r.xml").contains("<ClosedLoop Depth=\"8\"/>"));
    // Little's law needs latencies.
    assert!(!run.stdout.contains("average outstanding"), "{}", run.stdout);
    assert!(document(&place)["time_spans"][0]["summary"]["total"]["outstanding"].is_null());

    // More than any machine starts one at a time.
    let words =
        "-d1 -W0 -b4K -r -t1 -o1 -v --engine=null --rate=1000000000 --xml r.xml --csv r.csv --json r.json a.dat";
    let run = place.diskspd(words).run();
    run.expect_status(0);
    for line in [
        "\nPercentiles of response time (from the intended start to completion)\n",
        "\nopen loop, 1000000000 I/Os per s (constant), depth 1\n",
        "\n 999999999 ",
        "response times include this wait",
        "intended I/Os had not started when the measurement ended",
    ] {
        assert!(run.stdout.contains(line), "{line}\n{}", run.stdout);
    }
    let xml = text(&place, "r.xml");
    assert!(xml.contains("<OpenLoop Depth=\"1\" IntendedRate=\"1000000000\" Process=\"constant\""), "{xml}");
    assert!(xml.contains("<ResponseTime ") && xml.contains("<Rate>1000000000</Rate>"), "{xml}");
    assert!(text(&place, "r.csv").contains("\nresponse_time,1,"));
    let again = place.diskspd("report r.json").run();
    again.expect_status(0);
    assert_eq!(again.stdout, run.stdout);
}

#[test]
fn a_schedule_stands_alone() {
    let place = workplace!();
    for (words, message) in [
        ("--rate=10 -g5", "--rate and -g cannot be used together"),
        ("--rate=10 -i5 -j5", "--rate and bursts (-i, -j) cannot be used together"),
        ("--rate=10 -F2 -O4", "--rate cannot be used with -O"),
        ("--rate-process=poisson", "--rate-process needs --rate=<IOPS>"),
        ("--rate=0", "'0' is not a rate (expected: <IOPS>, or <IOPS>..<IOPS>"),
        ("--rate=5000000000", "whole number from 1 to 4294967295"),
        ("--rate=5..", "'5..' is not a rate"),
        (
            "--rate=10 --rate-process=uniform",
            "unknown value 'uniform' (expected: constant, poisson or bursts:<on>,<off>,<factor>",
        ),
    ] {
        let run = place.diskspd(&format!("-c1M -d1 {words} new.dat")).run();
        run.expect_status(3);
        assert!(run.stderr.contains(message) || run.stdout.contains(message), "{words}: {}", run.stderr);
        assert!(!place.path("new.dat").exists(), "{words}");
    }
}

#[test]
fn a_limit_is_never_exceeded() {
    let place = workplace!();
    // -g in I/Os per second, per thread: half a second of starts at most comes in half a second.
    for (iops, words) in [(7, "-o1"), (500, "-o4"), (20_000, "-o8 --engine=null"), (500_000, "-o32 --engine=null")] {
        let measured = measured(&place, &format!("-L -g{iops}i {words}"));
        let ios = measured["total"]["total"]["ios"].as_u64().expect("a count");
        assert!(ios <= iops, "{ios} at -g{iops}i");
        assert!(measured["load_loop"]["closed"].is_object());
    }
}
