//! I/Os start on the schedule of `--rate`, `--rate-process` and `-g`.

use serde_json::Value;
use testkit::{Metronome, Report, TracedIo, Workplace, or_skip, workplace};

/// The JSON of the last run.
fn document(place: &Workplace) -> Value {
    place.json("r.json")
}

fn text(place: &Workplace, name: &str) -> String {
    String::from_utf8(place.content(name)).expect("it is UTF-8")
}

/// I/Os per second of a run with a limit, and the tolerance of half a percent or one I/O.
fn rate_of(place: &Workplace, words: &str, expected: f64) -> (f64, f64) {
    let run = place.diskspd("-d2 -W0 -b4K").args(words).args("a.dat").run();
    let report = Report::parse(&run.expect_status(0).stdout);
    (report.total.sum.ios_per_s, (expected * 0.005).max(1.0 / report.seconds))
}

// Shows switches: -g(<bytes/ms>|<count>i|<size>/s)
#[test]
fn limits_of_rate_are_kept() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    for (words, expected) in [
        ("-g500i -o2", 500.0),
        ("-g500i -o1", 500.0),
        ("-g3i -o1", 3.0),
        // 4096 bytes a millisecond are a block each; by thread and target.
        ("-g4096 -o8", 1000.0),
        ("-g250i -t2 -si", 500.0),
    ] {
        // The best of a few runs: a machine that stalls at the very end of one loses I/Os.
        let mut rates = Vec::new();
        let metronome = Metronome::start();
        let is_close = (0..8).any(|_| {
            let (rate, allowed) = rate_of(&place, words, expected);
            rates.push(rate);
            (rate - expected).abs() <= allowed
        });
        let had_time = metronome.verdict();
        if !is_close {
            or_skip!(had_time);
        }
        assert!(is_close, "{words}: {expected} I/Os per second wanted, {rates:?} made");
    }
}

// Shows switches: -g(<bytes/ms>|<count>i|<size>/s)
#[test]
fn limits_of_rate_are_not_exceeded() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    // Gaps too short to sleep in are spun; a busy machine may do fewer I/Os, but never more.
    for (words, limit) in
        [("-g20000i -o4", 20_000.0), ("-g20000i -o1", 20_000.0), ("-g4096000 -o1 -t2 -si", 2_000_000.0)]
    {
        let (rate, allowed) = rate_of(&place, words, limit);
        assert!(rate <= limit + allowed, "{words}: {rate} I/Os per second, limit {limit}");
    }
}

/// Median delay of the starts of a traced run in microseconds, relative to the earliest: `due_us` gives the intended
/// time of each after the load began. A busy machine delays some of them, but not half.
fn median_lateness_us(ios: &[TracedIo], due_us: impl Fn(f64) -> f64) -> f64 {
    let mut offsets: Vec<f64> =
        ios.iter().enumerate().map(|(index, io)| io.at_us as f64 - due_us(index as f64 + 1.0)).collect();
    offsets.sort_by(f64::total_cmp);
    offsets[offsets.len() / 2] - offsets[0]
}

/// Traces a run whose starts follow a schedule: as many I/Os as intended, and half of them no later than this. Strace
/// slows each of them down, so a busy machine may not keep up; then the reason is returned.
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
        // Intended I/Os were issued, or are reported as missing.
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

// Shows switches: --rate=<rate>[..<rate>]
#[test]
fn a_ramp_starts_ios_faster_and_faster() {
    let place = workplace!();
    place.file("a.dat", &vec![0; 1 << 20]);
    // 50 t + 50 t^2 I/Os are due by t seconds.
    let due_us = |number: f64| ((0.25 + number / 50.0).sqrt() - 0.5) * 1e6;
    let words = "-d4 -W0 -o1 -b4K -r -v --rate=50..450 --json r.json --text r.txt --xml r.xml a.dat";
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
    assert!(row.contains(" 4.00 s ") && row.contains(" 440 "), "{row}");
    place.diskspd("report --output again.json r.xml").run().expect_status(0);
    let again: Value = place.json("again.json");
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
