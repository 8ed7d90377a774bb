//! `--live-json` and `--metrics`: live results for programs.

use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Instant;
use testkit::{Running, Workplace, or_skip, tool, workplace};

const LOAD: &str = "-c4M -b4K -r -w30 -t2 -o4 -g2000i --live-interval=100";

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).expect("it is text");
    assert!(text.ends_with('\n'), "the last line is whole");
    text.lines().map(|line| serde_json::from_str(line).expect("each line is one document")).collect()
}

/// The lines of one kind.
fn of_kind<'a>(lines: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter(move |line| line["kind"] == kind)
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

// Shows switches: --live-json=<file|fd:n|unix:path>
#[test]
fn the_intervals_of_a_measurement_add_up_to_its_result() {
    let place = workplace!();
    let run = place.diskspd(&format!("{LOAD} -d1 -W1 -C1 --live-json live.jsonl --json r.json a.dat b.dat")).run();
    run.expect_status(0);
    let lines = lines(&place.content("live.jsonl"));
    let begin = &lines[0];
    assert_eq!((&begin["kind"], &begin["schema"]), (&"begin".into(), &"diskspd-live".into()));
    assert_eq!(begin["plan"]["time_spans"][0]["targets"].as_array().map(Vec::len), Some(2));
    let last = lines.last().expect("a last line");
    let document: Value = place.json("r.json");
    assert_eq!(last["result"], document, "the last line is the result");
    // So a stream is equivalent to the result.
    let of_result = place.diskspd("report r.json").run();
    assert_eq!(place.diskspd("report live.jsonl").run().stdout, of_result.expect_status(0).stdout);
    let text = String::from_utf8(place.content("live.jsonl")).expect("it is text");
    let all_but_last = text.trim_end().rsplit_once('\n').expect("there are lines").0;
    place.file("cut.jsonl", all_but_last.as_bytes());
    place.diskspd("report cut.jsonl").run().expect_status(1).expect_stderr(&["its run did not come to its end"]);
    let measured = &document["time_spans"][0]["measured"];
    let intervals: Vec<&Value> = of_kind(&lines, "interval").collect();
    assert_eq!(
        intervals.iter().map(|line| count(&line["number"])).collect::<Vec<_>>(),
        (1..=intervals.len() as u64).collect::<Vec<_>>()
    );
    let of_phase =
        |phase: &str| -> Vec<&Value> { intervals.iter().copied().filter(|line| line["phase"] == phase).collect() };
    let (warm_up, measurement) = (of_phase("warm_up"), of_phase("measurement"));
    assert!(!warm_up.is_empty() && warm_up[0]["interval"]["total"]["read"]["latency"].is_null());
    for (direction, field) in [("read", "ios"), ("write", "bytes"), ("total", "ios")] {
        let sum: u64 = measurement.iter().map(|line| count(&line["interval"]["total"][direction][field])).sum();
        assert_eq!(sum, count(&measured["total"][direction][field]), "{direction} {field}");
        let by_target: u64 = measurement
            .iter()
            .flat_map(|line| line["interval"]["targets"].as_array().expect("targets"))
            .map(|load| count(&load[direction][field]))
            .sum();
        assert_eq!(by_target, sum, "{direction} {field} by target");
    }
    let end = measurement.last().expect("there is a last interval");
    assert_eq!((count(&end["elapsed_ns"]), count(&end["left_ns"])), (count(&measured["elapsed_ns"]), 0));
    // The percentiles so far are those of the result, in wider buckets.
    let so_far = &end["so_far"]["total"]["total"]["latency"];
    let percentiles = measured["total_latency"]["total"]["percentiles"].as_array().expect("percentiles");
    for (name, rank) in [("p50_ns", 500_000_000), ("p99_ns", 990_000_000), ("max_ns", 1_000_000_000)] {
        let exact = percentiles.iter().find(|at| at["rank_ppb"] == rank).expect("the rank");
        let (exact, live) = (count(&exact["value_ns"]) as f64, count(&so_far[name]) as f64);
        assert!((live - exact).abs() <= exact / 100.0 + 8.0, "{name}: {live} against {exact}");
    }
}

#[test]
fn commits_and_responses_are_measured_while_a_run_goes_on() {
    let place = workplace!();
    let load = "-c4M -b4K -r -w50 -t2 -o2 -d2 -W0 --fdatasync-every=1 --live-interval=100";
    for (scope, words) in [("commit", ""), ("response", "--rate=100")] {
        let words = format!("{load} {words} --live-json live.jsonl --json r.json a.dat");
        place.diskspd(&words).run().expect_status(0);
        let lines = lines(&place.content("live.jsonl"));
        let last = of_kind(&lines, "interval").last().expect("an interval");
        let [all, write] = [scope, "write"].map(|of| &last["so_far"]["total"][of]);
        let in_result = &place.json::<Value>("r.json")["time_spans"][0]["metrics"];
        let [live_ns, result_ns] =
            [&all["mean_ns"], &in_result[format!("{scope}.mean")]].map(|ns| ns.as_f64().unwrap_or_default());
        let ratio = live_ns / result_ns;
        assert!((0.5..2.0).contains(&ratio), "{scope}: {live_ns} of {result_ns}: {in_result}");
        let above = if scope == "commit" { write["latency_mean_ns"].as_f64().expect("writes") } else { 0.0 };
        assert!(live_ns > above && all["latency"]["p99_ns"].is_u64(), "{all}, the write alone {write}");
    }
}

#[test]
fn each_line_is_of_the_published_form() {
    let place = workplace!();
    place.diskspd(&format!("{LOAD} -d1 -W0 --live-json live.jsonl a.dat")).run().expect_status(0);
    let schema = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/diskspd-live.schema.json"));
    let schema: Value = serde_json::from_slice(&std::fs::read(schema).expect("the schema")).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    for line in lines(&place.content("live.jsonl")) {
        let errors: Vec<String> = validator.iter_errors(&line).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {:?}", line["kind"], &errors[..errors.len().min(3)]);
    }
}

#[test]
fn a_run_that_is_stopped_ends_its_stream_too() {
    let place = workplace!();
    let mut run = place.diskspd(&format!("{LOAD} -d60 -W0 --live-json live.jsonl a.dat")).start();
    let stream = place.path("live.jsonl");
    let has_intervals = |text: String| text.lines().filter(|line| line.contains("\"interval\"")).count() >= 2;
    run.wait_until("two intervals", |_| std::fs::read_to_string(&stream).is_ok_and(has_intervals));
    run.interrupt();
    run.finish().expect_status(0);
    let lines = lines(&place.content("live.jsonl"));
    let result = &lines.last().expect("a last line")["result"]["time_spans"][0];
    let sum: u64 = of_kind(&lines, "interval").map(|line| count(&line["interval"]["total"]["total"]["ios"])).sum();
    assert_eq!(sum, count(&result["measured"]["total"]["total"]["ios"]));
}

#[test]
fn a_socket_gets_the_lines_and_a_dead_reader_costs_nothing_but_a_warning() {
    let place = workplace!();
    let path = place.path("reader.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let words = format!("{LOAD} -d1 -W0 --live-json=unix:{} a.dat", path.display());
    let reader = std::thread::spawn({
        let listener = listener.try_clone().expect("a copy");
        move || {
            let (mut stream, _) = listener.accept().expect("the run connects");
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).map(|_| bytes)
        }
    });
    place.diskspd(&words).run().expect_status(0);
    let lines = lines(&reader.join().expect("it reads").expect("it is served"));
    assert_eq!(lines.last().map(|line| &line["kind"]), Some(&"result".into()));
    // Now one that disconnects at once.
    let quitter = std::thread::spawn(move || listener.accept().map(drop));
    let mut run = place.diskspd(&words.replace("-d1 ", "-d600 -v ")).start();
    quitter.join().expect("it accepts").expect("it is connected to");
    run.wait_for_stderr("starting measurements");
    // Its output at the end has no reader.
    run.interrupt();
    let run = run.finish();
    run.expect_status(0).expect_stderr(&["WARNING: --live-json: ", "Broken pipe"]);
    assert!(run.stdout.contains("Total IO"), "the report is there");
}

#[test]
fn a_reader_that_does_not_read_loses_lines_and_is_told_how_many() {
    let place = workplace!();
    // Opened for both, so that there is a reader, which never reads.
    let _reader = or_skip!(place.small_fifo("fifo"));
    // At most 64 lines wait for the reader; the FIFO holds none as long as those of many targets. A busy machine may
    // miss half of the 200 intervals.
    let words = "-c64K -b4K -o1 -F2 -d20 -W0 -g100i --live-interval=100 --engine=null --live-json fifo --json r.json";
    let run = place.diskspd(words).args("a b c d e f g h").run();
    run.expect_status(0).expect_stderr(&[
        "WARNING: --live-json: ",
        "dropped ",
        "the reader did not read the remaining lines",
    ]);
    let document: Value = place.json("r.json");
    assert!(document["notes"].to_string().contains("live_lines_dropped"), "{}", document["notes"]);
}

fn made_fifo(path: &Path) -> Result<(), String> {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    made.map_err(|error| error.to_string())?.success().then_some(()).ok_or_else(|| "mkfifo failed".to_owned())
}

#[test]
#[cfg_attr(not(feature = "screens"), ignore = "needs the feature screens")]
fn what_lines_cannot_go_to_is_refused_before_anything_is_made() {
    let place = workplace!();
    place.file("target.dat", &[1; 8192]);
    or_skip!(made_fifo(&place.path("fifo")));
    for (to, expected) in [
        ("target.dat", "the file is a target of this run"),
        ("r.json", "the file is a result file of this run"),
        ("missing/live.jsonl", "the directory 'missing'"),
        ("fd:77", "fd:77': Bad file descriptor"),
    ] {
        let run = place.diskspd(&format!("-d1 -W0 --json r.json --live-json {to} -c1M new.dat target.dat")).run();
        run.expect_status(3).expect_stderr(&[expected]);
        assert!(!place.path("new.dat").exists(), "{to}: nothing is made");
        assert_eq!(place.content("target.dat"), [1; 8192], "{to}");
    }
    for (to, reason) in [("fifo", "No such device or address"), ("unix:nobody.sock", "No such file")] {
        let run = place.diskspd(&format!("-d1 -W0 --live-json {to} -c1M new.dat")).run();
        run.expect_status(1).expect_stderr(&[&format!("cannot write to --live-json '{to}': {reason}")]);
        assert!(!place.path("new.dat").exists(), "{to}: nothing is made");
    }
    place.diskspd("--live -d1 -W0 -c1M new.dat").run().expect_status(3).expect_stderr(&["stderr to be a terminal"]);
}

// Shows switches: --live-interval=<ms>
#[test]
fn intervals_are_as_long_as_they_were_asked_to_be() {
    let place = workplace!();
    let begun = Instant::now();
    let mut run = place.diskspd("-c1M -b4K -d600 -W0 --live-interval=250 --live-json live.jsonl a.dat").start();
    run.wait_until("intervals", |_| {
        let text = std::fs::read_to_string(place.path("live.jsonl")).unwrap_or_default();
        text.lines().filter(|line| line.contains("\"interval\"")).count() > 3
    });
    run.end().expect_status(0);
    let most = begun.elapsed().as_millis() / 250 + 1;
    let lines = lines(&place.content("live.jsonl"));
    assert_eq!(lines[0]["interval_ns"], 250_000_000);
    let of_measurement = of_kind(&lines, "interval").filter(|line| line["left_ns"] != 0).count();
    // A busy machine may miss some; each interval ends at or after its time.
    assert!(of_measurement >= 3 && of_measurement as u128 <= most, "{of_measurement} of {most}");
    // The last one, which the signal ended, is not included.
    let ends = of_kind(&lines, "interval").take(3).map(|line| count(&line["elapsed_ns"]));
    for (end, times) in ends.zip(1..) {
        assert!(end >= times * 250_000_000, "the {times}. interval ended after {end} ns");
    }
}

// Shows switches: --live
#[test]
#[cfg_attr(not(feature = "screens"), ignore = "needs the feature screens")]
fn the_screen_shows_the_run_and_gives_the_terminal_back() {
    let place = workplace!();
    or_skip!(tool("script"));
    // In a separate terminal, whose output goes to a file.
    let program = place.program().display();
    // It ends when the test has seen all expected output.
    let command = format!(
        "stty cols 80 rows 24; {program} --live -c4M -b4K -o4 -d600 -W0 --live-interval=200 a.dat >report.txt & \
         until test -e seen; do sleep 0.1; done; kill -TERM $!; wait $!"
    );
    let mut run = place.tool("script").env("TERM", "xterm").args("-q -e -f -c").arg(command).arg("screen.txt").start();
    let screen = || String::from_utf8_lossy(&std::fs::read(place.path("screen.txt")).unwrap_or_default()).into_owned();
    // Unchanged blanks are not sent again, so only words can be searched for.
    let parts = ["measuring", "I/Os", "p99.9", "CPU", "threads"];
    run.wait_until("the screen", |_| parts.iter().all(|part| screen().contains(part)));
    place.file("seen", b"");
    run.finish().expect_status(0);
    let screen = screen();
    let (enter, leave) = ("\u{1b}[?1049h", "\u{1b}[?1049l");
    let (_, shown) = screen.split_once(enter).expect("another screen is taken");
    let (shown, _) = shown.split_once(leave).expect("the screen is given back");
    for part in parts {
        assert!(shown.contains(part), "no '{part}' in {shown:?}");
    }
    assert!(String::from_utf8_lossy(&place.content("report.txt")).contains("Total IO"));
}

/// The metrics served by a run that is measuring.
fn scrape(address: &str, accept: &str) -> String {
    let mut client = TcpStream::connect(address).expect("it listens");
    write!(client, "GET /metrics HTTP/1.1\r\nAccept: {accept}\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("it answers");
    answer.split_once("\r\n\r\n").expect("a body").1.to_owned()
}

fn sample(page: &str, name: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// Starts a run that serves metrics, and returns its address once it measures.
fn serving(place: &Workplace, words: &str) -> (Running, String) {
    let mut run = place.diskspd(words).start();
    run.wait_for_stderr("/metrics\n");
    let stderr = run.stderr();
    let address =
        stderr.split("http://").nth(1).and_then(|text| text.split('/').next()).expect("an address").to_owned();
    run.wait_until("measured I/Os", |_| {
        sample(&scrape(&address, "*/*"), "diskspd_io_latency_seconds_count{target=\"a.dat\",direction=\"read\"}")
            > Some(0.0)
    });
    (run, address)
}

// Shows switches: --metrics=<[address:]port>
#[test]
fn metrics_count_what_the_run_counts() {
    let place = workplace!();
    let (mut run, address) =
        serving(&place, "-c4M -b4K -r -w30 -o4 -g500i -d600 -W0 --live-interval=100 --metrics=0 --json r.json a.dat");
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let counter = |page: &str, family: &str, direction: &str| {
        let name = format!("diskspd_{family}{{target=\"a.dat\",direction=\"{direction}\"}}");
        sample(page, &name).unwrap_or_else(|| panic!("no {name} in {page}"))
    };
    // The two are read one after the other during the run: a hundred I/Os are a fifth of a second. There was no
    // warm-up, so they are otherwise equal.
    let agree = |page: &str, direction: &str| {
        let (ios, measured) =
            (counter(page, "ios_total", direction), counter(page, "io_latency_seconds_count", direction));
        assert!((counter(page, "transferred_bytes_total", direction) - ios * 4096.0).abs() < 0.5, "{page}");
        (measured - ios).abs() <= 100.0 + ios / 100.0
    };
    let page = std::cell::RefCell::new(String::new());
    run.wait_until("counts that agree", |_| {
        page.replace(scrape(&address, "application/openmetrics-text"));
        ["read", "write"].into_iter().all(|direction| agree(&page.borrow(), direction))
    });
    let page = page.into_inner();
    run.interrupt();
    run.finish().expect_status(0);
    let document: Value = place.json("r.json");
    let reads = count(&document["time_spans"][0]["measured"]["total"]["read"]["ios"]) as f64;
    assert!(counter(&page, "ios_total", "read") <= reads, "it was before the end");
    assert!(TcpStream::connect(&address).is_err(), "nobody listens any more");
}

// Shows switches: --metrics=<[address:]port>
#[test]
fn promtool_accepts_the_metrics() {
    let place = workplace!();
    or_skip!(tool("promtool"));
    let (run, address) = serving(&place, "-c4M -b4K -o1 -d600 -W0 --live-interval=100 --metrics=0 a.dat");
    let page = scrape(&address, "text/plain");
    run.end();
    let mut promtool = std::process::Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it is there");
    promtool.stdin.take().expect("a pipe").write_all(page.as_bytes()).expect("it reads");
    let output = promtool.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Every `PromQL` text of the Grafana dashboard.
fn dashboard_queries() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana/diskspd.json");
    let text = std::fs::read_to_string(path).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("it is JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().expect("every panel has queries"));
    let variables = dashboard["templating"]["list"].as_array().expect("variables").iter();
    let queries = targets.map(|target| &target["expr"]).chain(variables.map(|variable| &variable["definition"]));
    queries.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Names in a text: letters, digits and underscores.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|name| !name.is_empty())
}

/// Names of labels that a query selects or groups by.
fn labels_of(query: &str) -> BTreeSet<&str> {
    let selected = query.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let selected = selected.flat_map(|pairs| pairs.split(',')).filter_map(|pair| pair.split('=').next());
    let grouped = ["by (", "ignoring("].into_iter().flat_map(|word| query.split(word).skip(1));
    let grouped = grouped.filter_map(|rest| rest.split(')').next()).flat_map(names);
    selected.chain(grouped).collect()
}

#[test]
fn the_grafana_dashboard_shows_what_is_served_and_nothing_else() {
    let place = workplace!();
    let load = "-c4M -b4K -r -w30 -o1 -d600 -W0 --fdatasync-every=1 --live-interval=100 --metrics=0 a.dat";
    let (run, address) = serving(&place, load);
    let begun = Instant::now();
    let mut page = scrape(&address, "text/plain");
    // The latency that the application waits for, once there is one.
    while !page.contains("diskspd_latency_seconds_count{scope=\"commit\"}") {
        assert!(begun.elapsed().as_secs() < 60, "{page}");
        page = scrape(&address, "text/plain");
    }
    run.end();
    let samples: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
    let served: BTreeSet<&str> = samples.iter().filter_map(|line| names(line).next()).collect();
    let in_samples = samples.iter().filter_map(|line| line.split_once('{')?.1.split_once('}'));
    let label = |pair: &'_ str| pair.split('=').next().unwrap_or_default().to_owned();
    let mut labels: BTreeSet<String> = in_samples.flat_map(|(pairs, _)| pairs.split(',').map(label)).collect();
    // Prometheus adds the address that it scraped.
    labels.insert("instance".to_owned());
    let queries = dashboard_queries();
    let shown: BTreeSet<&str> =
        queries.iter().flat_map(|query| names(query)).filter(|name| name.starts_with("diskspd_")).collect();
    assert_eq!(shown, served, "shown by the dashboard, and served");
    for query in &queries {
        let unknown: Vec<&str> = labels_of(query).into_iter().filter(|label| !labels.contains(*label)).collect();
        assert!(unknown.is_empty(), "{query}: {unknown:?} are no labels of {labels:?}");
    }
}

#[test]
fn a_port_that_is_taken_is_told_before_anything_is_made() {
    let place = workplace!();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let run = place.diskspd(&format!("-d1 -W0 -c1M --metrics={port} a.dat")).run();
    run.expect_status(1).expect_stderr(&["cannot serve --metrics at 127.0.0.1:", "Address already in use"]);
    assert!(!place.path("a.dat").exists());
}

/// System calls of the worker between its two readings of its scheduling statistics, which it takes at its begin and
/// end.
fn calls_while_working(trace: &str) -> Vec<&str> {
    let is_look = |line: &&str| line.contains("openat(") && line.contains("schedstat");
    let worker = trace.lines().find(is_look).and_then(|line| line.split(' ').next()).expect("a worker looks");
    let of_worker = trace.lines().filter_map(|line| line.strip_prefix(worker));
    let begun = of_worker.skip_while(|line| !is_look(line)).skip(1);
    let working = begun.take_while(|line| !is_look(line)).filter(|line| !line.contains(" resumed>"));
    // The rest of the first reading.
    working.skip_while(|line| !line.contains("close(")).skip(1).collect()
}

// Shows switches: --live-json=<file|fd:n|unix:path>
#[test]
fn looking_causes_no_system_call_in_a_worker() {
    let place = workplace!();
    or_skip!(place.system_calls("-e trace=openat", "--version"));
    // The null engine makes none itself.
    let words = "-c4M -b4K -o4 -d2 -W0 --engine=null --live-json live.jsonl --metrics=0 --live-interval=100 a.dat";
    // A busy machine may not take readings in two seconds; it is retried.
    let is_looked_at = (0..5).any(|_| {
        let trace = place.system_calls("", words).expect("traced before");
        assert_eq!(calls_while_working(&trace), [""; 0]);
        of_kind(&lines(&place.content("live.jsonl")), "interval").count() > 1
    });
    assert!(is_looked_at, "it was looked at");
}
