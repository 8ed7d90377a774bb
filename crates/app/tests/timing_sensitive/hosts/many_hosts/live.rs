//! `--live`, `--live-json` and `--metrics` with `--on`.

use super::{Fleet, PATIENCE};
use crate::hosts::server::{run_in_time, start_in_time};
use serde_json::Value;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use testkit::{or_skip, tool, workplace};

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).expect("it is text");
    text.lines().map(|line| serde_json::from_str(line).expect("each line is one document")).collect()
}

#[test]
fn live_lines_show_all_hosts_and_add_up_to_the_result() {
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1", "h2"]));
    let words = "-c1M -b4K -r -w50 -d2 -W1 --live-interval=250 --live-json live.jsonl --json r.json";
    let of_phase =
        |lines: &[Value], phase: &str| lines.iter().filter(|line| line["phase"] == phase).cloned().collect::<Vec<_>>();
    let run = || {
        run_in_time(|| fleet.load("h1,h2", words)).expect_status(0);
        lines(&fleet.place.content("live.jsonl"))
    };
    // A busy machine may show nothing of a warm-up of one second; it is retried.
    let is_shown = |lines: &Vec<Value>| {
        let measurement = of_phase(lines, "measurement");
        let has_ios = measurement.first().is_some_and(|line| line["interval"]["total"]["total"]["ios"] != 0);
        !of_phase(lines, "warm_up").is_empty() && measurement.len() > 1 && has_ios
    };
    let lines = (0..4).map(|_| run()).find(is_shown).unwrap_or_else(run);
    let (begin, last) = (&lines[0], lines.last().expect("a last line"));
    assert_eq!((&begin["hosts"], &begin["plan"]), (&serde_json::json!(["h1", "h2"]), &Value::Null));
    let result = fleet.result("r.json");
    assert_eq!(last["result"], result, "the last line is the result");
    let (warm_up, measurement) = (of_phase(&lines, "warm_up"), of_phase(&lines, "measurement"));
    assert!(!warm_up.is_empty() && measurement.len() > 1, "{} and {}", warm_up.len(), measurement.len());
    let measured = &result["time_spans"][0]["measured"];
    let count = |value: &Value| value.as_u64().expect("a count");
    let sum = |of: &dyn Fn(&Value) -> u64| measurement.iter().map(|line| of(&line["interval"])).sum::<u64>();
    for direction in ["read", "write"] {
        let all = sum(&|interval| count(&interval["total"][direction]["ios"]));
        assert_eq!(all, count(&measured["total"][direction]["ios"]), "{direction}");
        let rows = measured["rows"].as_array().expect("a list");
        for (host, row) in rows.iter().enumerate() {
            let of_host = sum(&|interval| count(&interval["hosts"][host][direction]["bytes"]));
            assert_eq!(of_host, count(&row["figures"][direction]["bytes"]), "{direction}, {}", row["path"]);
        }
    }
    assert!(measurement[0]["interval"]["total"]["total"]["latency"]["p99_ns"].is_u64(), "{}", measurement[0]);
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/diskspd-live.schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema).expect("the schema")).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    for line in &lines {
        let errors: Vec<String> = validator.iter_errors(line).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {:?}", line["kind"], &errors[..errors.len().min(3)]);
    }
}

#[test]
fn a_reader_of_live_lines_that_does_not_read_keeps_no_host_waiting() {
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1"]));
    let _reader = or_skip!(fleet.place.small_fifo("fifo"));
    // The FIFO does not even hold the first line.
    let words = "-c1M -b4K -r -d60 --max-ios=1000 -W0 --live-interval=100 --live-json fifo --json r.json";
    let run = run_in_time(|| fleet.load("h1", words));
    run.expect_status(0).expect_stderr(&["WARNING: --live-json: ", "the reader did not read the remaining lines"]);
    let result = fleet.result("r.json");
    assert_eq!(result["time_spans"][0]["outcome"], "completed");
    assert_eq!(result["time_spans"][0]["measured"]["total"]["total"]["ios"], 1000);
}

#[test]
fn metrics_have_a_target_for_each_host() {
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1", "h2"]));
    let words = "-c1M -b4K -r -w50 -g200i -d600 -W0 --live-interval=250 --metrics=0";
    let load = || fleet.load("h1,h2", words).limit(PATIENCE * 3);
    let mut run = start_in_time(load, |run| fleet.is_under_way(run, &["h1", "h2"]));
    run.wait_for_stderr("/metrics\n");
    let stderr = run.stderr();
    let address =
        stderr.split("http://").nth(1).and_then(|text| text.split('/').next()).expect("an address").to_owned();
    let is_counted = |page: &str, host: &str| {
        let name = format!("diskspd_io_latency_seconds_count{{target=\"{host}\",direction=\"read\"}} ");
        let count = page.lines().find_map(|line| line.strip_prefix(&name)?.trim().parse::<f64>().ok());
        count.is_some_and(|count| count > 0.0)
    };
    run.wait_until("I/Os of both hosts", |_| {
        let mut client = TcpStream::connect(&address).expect("it listens");
        write!(client, "GET /metrics HTTP/1.1\r\n\r\n").expect("it reads");
        let mut page = String::new();
        client.read_to_string(&mut page).expect("it answers");
        ["h1", "h2"].iter().all(|host| is_counted(&page, host))
    });
    run.interrupt();
    run.finish().expect_status(0);
}

#[test]
#[cfg_attr(not(feature = "screens"), ignore = "needs the feature screens")]
fn the_screen_shows_the_hosts() {
    testkit::unless_paused(show_the_hosts);
}

fn show_the_hosts() {
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1", "h2"]));
    or_skip!(tool("script"));
    let (program, target) = (fleet.place.program().display(), fleet.place.path("room-{host}/t.dat"));
    let load = "--key=fleet.key --live --live-interval=250 -c1M -b4K -r -g100i -d600 -W0";
    let on = format!("--on={}/h1,h2", fleet.url());
    // It ends when the test has seen all expected output.
    let command = format!(
        "stty cols 80 rows 30; {program} {on} {load} {} >report.txt & until test -e seen || ! kill -0 $!; do sleep 0.1; done; \
         kill -TERM $!; wait $!",
        target.display()
    );
    let script = fleet.place.tool("script").env("TERM", "xterm").args("-q -e -f -c").arg(command).arg("screen.txt");
    let mut run = script.limit(PATIENCE * 2).start();
    let screen = || {
        fs::read(fleet.place.path("screen.txt"))
            .map_or_else(|_| String::new(), |text| String::from_utf8_lossy(&text).into_owned())
    };
    let parts = ["measuring", "Host", "h1", "h2", "p99.9"];
    run.wait_until("the screen", |_| parts.iter().all(|part| screen().contains(part)));
    fleet.place.file("seen", b"");
    run.finish().expect_status(0);
    let screen = screen();
    let (_, shown) = screen.split_once("\u{1b}[?1049h").expect("another screen is taken");
    let (shown, _) = shown.split_once("\u{1b}[?1049l").expect("the screen is given back");
    for part in parts {
        assert!(shown.contains(part), "no '{part}' in {shown:?}");
    }
    assert!(String::from_utf8_lossy(&fleet.place.content("report.txt")).contains("Total IO"));
}
