//! `--rate` and `--rate-process`, and `-g`: what a run with a schedule of its own tells.

use serde_json::Value;
use testkit::{Metronome, TracedIo, Workplace, or_skip, workplace};

/// The JSON of the last run.
fn document(place: &Workplace) -> Value {
    serde_json::from_slice(&place.content("r.json")).expect("it is JSON")
}

/// The measured part of the JSON of a run of a second. A busy machine may give it no time in that; it gets other chances.
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

// Shows switches: --rate=<iops>[..<iops>]
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
            .diskspd(&format!("-c1M -d60 -W0 -b4K -r -L --max-ios=1000 {words} --json r.json --xml r.xml a.dat"))
            .run();
        run.expect_status(0);
        let summary = &document(&place)["time_spans"][0]["summary"];
        for direction in ["read", "total"] {
            let figure = |name: &str| summary[direction][name].as_f64().unwrap_or_else(|| panic!("{name}: {summary}"));
            let expected = figure("iops") * figure("mean_ns") / 1e9;
            assert!((figure("outstanding") - expected).abs() <= expected * 1e-9, "{words} {direction}: {summary}");
        }
        let line =
            format!("\naverage outstanding:    {:.2}\n", summary["total"]["outstanding"].as_f64().expect("a mean"));
        assert!(run.stdout.contains(&line), "{line}: {}", run.stdout);
        place.diskspd("report r.xml").run().expect_status(0).expect_stdout(&["\naverage outstanding: "]);
    }
}

#[test]
fn the_report_tells_which_loop_it_was() {
    let place = workplace!();
    let run = place.diskspd("-c1M -d1 -W0 -b4K -r -t2 -o4 --json r.json --xml r.xml a.dat").run();
    run.expect_status(0);
    assert!(run.stdout.contains("\nclosed loop, depth 8\n"), "{}", run.stdout);
    assert!(!run.stdout.contains("Response time"), "{}", run.stdout);
    assert!(text(&place, "r.xml").contains("<ClosedLoop Depth=\"8\"/>"));
    // Little's law needs latencies.
    assert!(!run.stdout.contains("\naverage outstanding:"), "{}", run.stdout);
    assert!(document(&place)["time_spans"][0]["summary"]["total"]["outstanding"].is_null());

    // More than any machine starts one at a time.
    let words = "-d1 -W0 -b4K -r -t1 -o1 --engine=null --rate=1000000000 --xml r.xml --csv r.csv --json r.json a.dat";
    let run = place.diskspd(words).run();
    run.expect_status(0);
    for line in [
        "\nResponse time distribution (intended start to completion):\n",
        "\nopen loop, 1000000000 I/Os per s (constant), depth 1\n",
        "\nintended starts:        999999999\n",
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

/// When so many I/Os of a traced run were intended, in microseconds after the load began, against when they began: the
/// median of how late they were, compared with the earliest. A busy machine delays some of them, but not half.
fn median_lateness_us(ios: &[TracedIo], due_us: impl Fn(f64) -> f64) -> f64 {
    let mut offsets: Vec<f64> =
        ios.iter().enumerate().map(|(index, io)| io.at_us as f64 - due_us(index as f64 + 1.0)).collect();
    offsets.sort_by(f64::total_cmp);
    offsets[offsets.len() / 2] - offsets[0]
}

/// Traces a run whose starts keep to a schedule: as many I/Os as intended, and half of them no later than this. Strace makes
/// each of them slow, so that a busy machine cannot keep up; then there is none, and the reason.
fn traced_in_time(
    place: &Workplace,
    words: &str,
    most_us: f64,
    due_us: impl Fn(f64) -> f64,
) -> Result<Vec<TracedIo>, String> {
    let metronome = Metronome::start();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let ios = place.traced(words)?;
        let open = document(place)["time_spans"][0]["measured"]["load_loop"]["open"].clone();
        let [intended, backlog] = ["intended_starts", "backlog"].map(|name| open[name].as_u64().expect("a count"));
        // What was intended was made, or is told to be missing.
        assert!((ios.len() as u64 + backlog).abs_diff(intended) <= 2, "{} I/Os: {open}", ios.len());
        let lateness_us = median_lateness_us(&ios, &due_us);
        if backlog <= 2 && lateness_us < most_us {
            return Ok(ios);
        }
        seen.push((backlog, lateness_us));
    }
    metronome.verdict()?;
    panic!("{words}: not made, and how late, in microseconds: {seen:?}");
}

// Shows switches: --rate=<iops>[..<iops>]
#[test]
fn a_ramp_starts_ios_faster_and_faster() {
    let place = workplace!();
    place.file("a.dat", &vec![0; 1 << 20]);
    // 50 t + 50 t^2 I/Os are due by t seconds.
    let due_us = |number: f64| ((0.25 + number / 50.0).sqrt() - 0.5) * 1e6;
    let words = "-d4 -W0 -o1 -b4K -r --rate=50..450 --json r.json --text r.txt --xml r.xml a.dat";
    // At an even rate half of them would be 500 ms off.
    let ios = or_skip!(traced_in_time(&place, words, 150_000.0, due_us));
    assert!(ios.len().abs_diff(1000) <= 4, "{}", ios.len());
    let open = document(&place)["time_spans"][0]["measured"]["load_loop"]["open"].clone();
    assert_eq!(open["rate_iops"], serde_json::json!({"from_iops": 50, "to_iops": 450}));
    let intended = open["intended_starts"].as_u64().expect("a count");
    assert!((999..=1000).contains(&intended), "{intended}");
    let parts = open["ramp"].as_array().expect("a list").clone();
    assert_eq!(parts.len(), 20, "without -L too");
    let figure = |part: &Value, name: &str| part[name].as_f64().unwrap_or_else(|| panic!("{name}: {part}"));
    for (index, part) in parts.iter().enumerate() {
        let middle_s = 0.2 * index as f64 + 0.1;
        assert!((figure(part, "offered_iops") - 50.0 - 100.0 * middle_s).abs() < 1e-6, "{part}");
        if !part["response_mean_ns"].is_null() {
            assert!(figure(part, "response_p99_ns") * 1.01 >= figure(part, "response_mean_ns") / 100.0, "{part}");
        }
    }
    let completed: f64 = parts.iter().map(|part| figure(part, "iops") * 0.2).sum();
    assert!((completed - intended as f64).abs() < 5.0, "{completed} of {intended}");
    let report = text(&place, "r.txt");
    assert!(report.contains("open loop, 50..450 I/Os per s (constant), depth 1"), "{report}");
    let row = report.lines().find(|line| line.trim_start().starts_with("3.80")).unwrap_or_else(|| panic!("{report}"));
    assert!(row.contains(" 4.00 ") && row.contains(" 440.00 "), "{row}");
    place.diskspd("report --output again.json r.xml").run().expect_status(0);
    let again: Value = serde_json::from_slice(&place.content("again.json")).expect("it is JSON");
    let again = &again["time_spans"][0]["measured"]["load_loop"]["open"];
    assert_eq!((&again["rate_iops"], again["ramp"].as_array().map(Vec::len)), (&open["rate_iops"], Some(20)));
    place.diskspd("report --output r.html r.json").run().expect_status(0);
    let page = text(&place, "r.html");
    assert!(page.contains("Response time by offered rate") && page.contains("open loop from 50 to 450"));
}

// Shows switches: --rate-process=<constant|poisson|bursts:<on>,<off>,<factor>>
#[test]
fn bursts_come_when_they_are_meant_to() {
    let place = workplace!();
    place.file("a.dat", &vec![0; 1 << 20]);
    let process = "--rate=200 --rate-process=bursts:200ms,800ms,4";
    // 160 I/Os in the 200 ms of a burst, 40 in the 800 ms after it.
    let due_us = |number: f64| {
        let (cycle, inside) = ((number / 200.0).floor(), number % 200.0);
        let inside_us = if inside < 160.0 { inside / 160.0 * 2e5 } else { 2e5 + (inside - 160.0) / 40.0 * 8e5 };
        cycle * 1e6 + inside_us
    };
    let words = format!("-d4 -W0 -o1 -b4K -r {process} --json r.json a.dat");
    // At an even rate half of them would be more than 300 ms off.
    let ios = or_skip!(traced_in_time(&place, &words, 100_000.0, due_us));
    assert!(ios.len().abs_diff(800) <= 4, "{}", ios.len());
    let open = document(&place)["time_spans"][0]["measured"]["load_loop"]["open"].clone();
    let bursts = serde_json::json!({"on_ns": 200_000_000, "off_ns": 800_000_000, "factor_millionths": 4_000_000});
    assert_eq!((&open["process"]["bursts"], &open["rate_iops"]), (&bursts, &Value::from(200)));
    assert_eq!(open["ramp"], serde_json::json!([]));
    let run = place.diskspd(&format!("-b4K -r {process} --plan a.dat")).run();
    run.expect_status(0).expect_stdout(&[
        "open loop: 200 I/Os per second on average, 800.00 in bursts and 50.00 between them (bursts:200ms,800ms,4)",
    ]);
    let run = place.diskspd("-b4K -r -t2 --rate=100..2000 --rate-process=poisson --plan a.dat").run();
    run.expect_status(0).expect_stdout(&[
        "open loop: from 100 to 2000 I/Os per second over the measurement, all threads together, as a Poisson process",
    ]);
    let run = place.diskspd(&format!("-b4K -r {process} -Rpxml a.dat")).run();
    run.expect_status(0).expect_stdout(&["<Rate>200</Rate>", "<RateProcess>bursts:200ms,800ms,4</RateProcess>"]);
    for (words, message) in [
        ("--rate=200 --rate-process=bursts:200ms,800ms,5.1", "the factor 5.1 is not possible"),
        ("--rate=200 --rate-process=bursts:200ms,800ms,1", "it must be above 1 and at most 5"),
        ("--rate=200 --rate-process=bursts:200,800,2", "'200,800,2' does not describe bursts"),
        ("--rate=1..200 --rate-process=bursts:1s,1s,2", "--rate=1..200 cannot be used with --rate-process=bursts"),
    ] {
        let run = place.diskspd(&format!("-c1M -d1 {words} new.dat")).run();
        run.expect_status(3);
        assert!(run.stderr.contains(message), "{words}: {}", run.stderr);
        assert!(!place.path("new.dat").exists(), "{words}");
    }
}
