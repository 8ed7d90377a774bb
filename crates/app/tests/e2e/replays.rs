//! `trace replay`: requests that reach the kernel, compared with those of the trace; refusals; memory.

use model::operation::Operation;
use model::profile::FlushCall;
use serde_json::Value;
use std::fs;
use std::path::Path;
use testkit::{LoopDevice, Workplace, is_root, or_skip, skip, workplace};
use trace::event::{Action, Event, Flags, Names};
use trace::format::{Header, Writer};

const READ: Action = Action::Operation(Operation::Read);
const WRITE: Action = Action::Operation(Operation::Write);
const DISCARD: Action = Action::Operation(Operation::Discard);
const FLUSH: Action = Action::Flush(FlushCall::Fsync);

fn request(issue_us: u64, offset: u64, length: u64, action: Action) -> Event {
    Event {
        issue_ns: issue_us * 1000,
        latency_ns: Some(70_000),
        device: 0,
        process: 0,
        offset,
        length,
        action,
        flags: Flags::default(),
    }
}

/// Writes a trace of one device.
fn record(path: &Path, requests: impl IntoIterator<Item = Event>) {
    let mut names = Names::default();
    names.intern_device("sda");
    names.intern_process(1, "app");
    let file = std::io::BufWriter::new(fs::File::create(path).expect("the folder is ours"));
    let mut writer = Writer::new(file, &Header::default()).expect("there is room");
    for request in requests {
        writer.push(&request, &names).expect("requests are in order");
    }
    writer.finish(&names).expect("there is room");
}

/// Reads and writes of several sizes, with flushes between them, inside 1 MiB.
fn mixed() -> Vec<Event> {
    let request = |number: u64| match number % 10 {
        9 => request(number * 20, 0, 0, FLUSH),
        kind => {
            let length = 512 << (number % 5);
            let offset = number * 7919 % 2000 * 512;
            request(number * 20, offset, length, if kind < 4 { WRITE } else { READ })
        }
    };
    (0..200).map(request).collect()
}

/// Offset, length and effect of the calls on a file: reads, writes and flushes.
fn calls(place: &Workplace, words: &str, name: &str) -> Result<Vec<(&'static str, u64, u64)>, String> {
    let text = place.system_calls(
        "-y -s 0 -e trace=pread64,pwrite64,pwritev2,fsync,fdatasync,fallocate",
        &format!("trace replay {words}"),
    )?;
    // Of one thread each call is on one line, or, if another thread runs meanwhile, on two.
    let mut unfinished: Vec<(String, String)> = Vec::new();
    let mut whole = Vec::new();
    for line in text.lines() {
        // Numbers of threads are padded.
        let (thread, call) =
            line.split_once(' ').map(|(thread, call)| (thread, call.trim())).expect("a thread and a call");
        if let Some(begin) = call.strip_suffix(" <unfinished ...>") {
            unfinished.push((thread.to_owned(), begin.to_owned()));
        } else if let Some((_, end)) = call.split_once(" resumed>") {
            let at = unfinished.iter().position(|(other, _)| other == thread).expect("it began");
            whole.push(unfinished.swap_remove(at).1 + end);
        } else {
            whole.push(call.to_owned());
        }
    }
    let on_file = |call: &&String| call.contains(&format!("/{name}>"));
    Ok(whole.iter().filter(on_file).filter_map(|call| effect(call)).collect())
}

fn effect(call: &str) -> Option<(&'static str, u64, u64)> {
    let (name, rest) = call.split_once('(')?;
    let (arguments, _) = rest.rsplit_once(')')?;
    let numbers: Vec<u64> = arguments.split(", ").filter_map(|word| word.trim().parse().ok()).collect();
    let [.., length, offset] = numbers[..] else {
        return ["fsync", "fdatasync"].into_iter().find(|flush| *flush == name).map(|name| (name, 0, 0));
    };
    match name {
        "pread64" => Some(("read", offset, length)),
        "pwrite64" => Some(("write", offset, length)),
        "fallocate" => Some(("discard", length, offset)),
        _ => None,
    }
}

fn expected(requests: &[Event]) -> Vec<(&'static str, u64, u64)> {
    let to_request = |event: &Event| match event.action {
        READ => ("read", event.offset, event.length),
        WRITE => ("write", event.offset, event.length),
        Action::Flush(call) => (call.name(), 0, 0),
        Action::Operation(_) => ("discard", event.offset, event.length),
    };
    requests.iter().map(to_request).collect()
}

fn replay(place: &Workplace) -> Value {
    place.json::<Value>("r.json")["time_spans"][0]["measured"]["replay"].clone()
}

#[test]
fn every_request_of_the_trace_reaches_the_file_in_its_order() {
    let place = workplace!();
    place.create_file("a.dat", "-c2M");
    let requests = mixed();
    record(&place.path("t.iotrace"), requests.clone());
    for words in ["--closed", ""] {
        let line = format!("t.iotrace {words} --engine=sync --json r.json a.dat");
        let found = or_skip!(calls(&place, &line, "a.dat"));
        // Files that are written to are flushed when they are closed, too.
        assert!(found.len() >= requests.len(), "{words}: {} calls", found.len());
        assert_eq!(found[..requests.len()], expected(&requests), "{words}");
        let figures = replay(&place);
        assert_eq!([&figures["planned"], &figures["issued"]], [200, 200], "{words}: {figures}");
        assert_eq!(figures["flush_latency"]["count"], 20, "{words}: {figures}");
        assert_eq!(figures["lateness"].is_null(), words == "--closed", "{words}: {figures}");
    }
}

#[test]
fn every_engine_and_number_of_threads_does_all_requests() {
    let place = workplace!();
    place.create_file("a.dat", "-c2M");
    let requests = mixed();
    record(&place.path("t.iotrace"), requests.clone());
    let sum = |action: Action| {
        let of = requests.iter().filter(|request| request.action == action);
        of.fold((0, 0), |(count, bytes), request| (count + 1, bytes + request.length))
    };
    for words in ["--engine=null", "--engine=sync", "--engine=aio", "--engine=io_uring", "--engine=io_uring -o1"] {
        for more in ["--threads 1", "--threads 3", "--threads 2 --closed"] {
            let run = place.diskspd(&format!("trace replay t.iotrace {more} {words} --json r.json a.dat")).run();
            if run.stderr.contains("io_uring was requested") {
                continue;
            }
            run.expect_status(0);
            let document: Value = place.json("r.json");
            let measured = &document["time_spans"][0]["measured"];
            for (direction, action) in [("read", READ), ("write", WRITE)] {
                let total = &measured["total"][direction];
                let found = (total["ios"].as_u64(), total["bytes"].as_u64());
                let (count, bytes) = sum(action);
                assert_eq!(found, (Some(count), Some(bytes)), "{words} {more}: {direction}");
            }
            assert_eq!(measured["replay"]["issued"], 200, "{words} {more}");
            assert_eq!(measured["replay"]["flush_latency"]["count"], 20, "{words} {more}");
            let slowest = measured["slowest"].as_array().expect("-L keeps them");
            let is_of_trace = |io: &Value| {
                requests
                    .iter()
                    .any(|request| io["offset_bytes"] == request.offset && io["size_bytes"] == request.length)
            };
            assert!(slowest.iter().all(is_of_trace), "{words} {more}: {slowest:?}");
        }
    }
}

#[test]
fn recorded_and_replayed_latencies_stand_side_by_side() {
    let place = workplace!();
    place.create_file("a.dat", "-c2M");
    record(&place.path("t.iotrace"), mixed());
    let run = place.diskspd("trace replay t.iotrace --json r.json a.dat").run();
    run.expect_status(0).expect_stdout(&[
        "Replay of t.iotrace: recorded and replayed latency",
        "recorded",
        "replayed",
        "Lateness of the requests",
    ]);
    let tables = run.stdout.split_once("Replay of ").map_or("", |(_, after)| after);
    assert!(tables.lines().take(14).all(|line| line.chars().count() <= 80), "{tables}");
    let open = &place.json::<Value>("r.json")["time_spans"][0]["measured"]["load_loop"]["open"];
    assert_eq!([&open["process"], &open["intended_starts"]], [&Value::from("trace"), &Value::from(200)], "{open}");
}

#[test]
fn requests_beyond_the_target_are_folded_or_scaled_and_counted() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let requests: Vec<Event> = (0..64).map(|number| request(number, number << 20, 8192, READ)).collect();
    record(&place.path("t.iotrace"), requests);
    let offsets = |words: &str| -> Result<Vec<u64>, String> {
        let line = format!("t.iotrace --closed --engine=sync --json r.json {words} a.dat");
        Ok(calls(&place, &line, "a.dat")?.into_iter().map(|(_, offset, _)| offset).collect())
    };
    let folded = or_skip!(offsets(""));
    assert_eq!(folded.len(), 64);
    assert!(folded.iter().all(|offset| offset % 8192 == 0 && offset + 8192 <= 1 << 20), "{folded:?}");
    assert_eq!(replay(&place)["changes"]["folded"], 63);
    let scaled = or_skip!(offsets("--scale-offsets"));
    assert!(scaled.is_sorted() && scaled.iter().all(|offset| offset + 8192 <= 1 << 20), "{scaled:?}");
    assert!(scaled[32].abs_diff(1 << 19) < 16_384, "{scaled:?}");
    assert_eq!(replay(&place)["changes"]["scaled"], 63);
    let run = place.diskspd("trace replay t.iotrace --closed a.dat").run();
    run.expect_status(0).expect_stdout(&["63 requests", "moved inside it", "replay-changed"]);
}

#[test]
fn discards_are_issued_only_if_they_are_asked_for() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let requests = [request(0, 0, 4096, READ), request(1, 8192, 4096, DISCARD), request(2, 4096, 4096, WRITE)];
    record(&place.path("t.iotrace"), requests);
    let found = or_skip!(calls(&place, "t.iotrace --closed --engine=sync --json r.json a.dat", "a.dat"));
    assert!(found.iter().all(|(effect, ..)| *effect != "discard"), "{found:?}");
    assert_eq!(replay(&place)["changes"]["discards_left_out"], 1);
    let run = place.diskspd("trace replay t.iotrace --closed --discards --json r.json --engine=sync a.dat").run();
    if run.stderr.contains("does not support") {
        skip!("the file system cannot discard");
    }
    run.expect_status(0);
    let found = or_skip!(calls(&place, "t.iotrace --closed --discards --engine=sync --json r.json a.dat", "a.dat"));
    assert_eq!(found[1], ("discard", 8192, 4096), "{found:?}");
    assert_eq!(replay(&place)["changes"]["discards_left_out"], 0);
}

#[test]
fn durable_writes_of_the_trace_are_durable_and_flushes_before_writes_are_issued() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let durable = Flags::FUA.with(Flags::PREFLUSH, true);
    record(&place.path("t.iotrace"), [Event { flags: durable, ..request(0, 4096, 4096, WRITE) }]);
    let line = "trace replay t.iotrace --closed --engine=sync --json r.json a.dat";
    let text = or_skip!(place.system_calls("-y -s 0 -e trace=pwritev2,fsync", line));
    let at = |call: &str| text.lines().position(|line| line.contains(call) && line.contains("/a.dat>"));
    let (flush, write) = (at("fsync(").expect("a flush"), at("pwritev2(").expect("a write"));
    let line = text.lines().nth(write).expect("it was found");
    assert!(flush < write && (line.contains("RWF_DSYNC") || line.contains(" 0x2 ")), "{text}");
    assert_eq!(replay(&place)["changes"]["flushes_before_writes"], 1);
}

// Shows data-safety: a file or block device, by the requests of a trace
#[test]
fn a_replay_writes_only_to_what_a_load_may_write_to() {
    let place = workplace!();
    let foreign = place.file("letters.txt", &vec![7; 1 << 20]);
    record(&place.path("t.iotrace"), mixed());
    let run = place.diskspd("trace replay t.iotrace letters.txt").run();
    run.expect_status(3).expect_stderr(&["letters.txt", "--overwrite"]);
    assert!(fs::read(&foreign).expect("it is there").iter().all(|byte| *byte == 7));
    // Reads alone are no harm.
    record(&place.path("reads.iotrace"), mixed().into_iter().filter(|request| request.action == READ));
    place.diskspd("trace replay reads.iotrace --closed letters.txt").run().expect_status(0);
    assert!(fs::read(&foreign).expect("it is there").iter().all(|byte| *byte == 7));
    if !is_root() {
        skip!("loop devices need root");
    }
    let image = place.file("disk.img", &vec![9; 4 << 20]);
    let device = or_skip!(LoopDevice::over(&place, &image));
    let run = place.diskspd("trace replay t.iotrace --closed").arg(&device.path).run();
    run.expect_status(3).expect_stderr(&["--destroy"]);
    assert!(fs::read(&image).expect("it is there").iter().all(|byte| *byte == 9));
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let place = workplace!();
    place.create_file("a.dat", "-c64K");
    record(&place.path("t.iotrace"), mixed());
    record(&place.path("empty.iotrace"), []);
    record(&place.path("large.iotrace"), [request(0, 0, 1 << 20, READ)]);
    place.file("words.txt", b"these are words");
    for (words, expected) in [
        ("empty.iotrace a.dat", "'empty.iotrace' has no requests to replay"),
        ("words.txt a.dat", "not a trace"),
        ("missing.iotrace a.dat", "missing.iotrace"),
        ("- a.dat", "instead of a trace"),
        ("t.iotrace -b4K a.dat", "-b cannot be used with trace replay"),
        ("t.iotrace a.dat b.dat", "a trace is replayed on one target"),
        ("t.iotrace --rate=5 a.dat", "--rate cannot be used with trace replay"),
        ("large.iotrace a.dat", "is too small for a block of"),
    ] {
        let run = place.diskspd(&format!("trace replay {words}")).run();
        assert_ne!(run.code(), Some(0), "{words}: {run}");
        run.expect_stderr(&[expected]);
    }
}

#[test]
fn a_replay_that_is_cut_short_says_how_many_requests_are_missing() {
    let place = workplace!();
    place.create_file("a.dat", "-c2M");
    // An hour of requests, of which the first second is replayed.
    record(&place.path("t.iotrace"), (0..3600).map(|second| request(second * 1_000_000, 0, 4096, READ)));
    place.diskspd("trace replay t.iotrace -d1 --json r.json a.dat").run().expect_status(0);
    let figures = replay(&place);
    assert_eq!(figures["planned"], 3600, "{figures}");
    let issued = figures["issued"].as_u64().expect("a count");
    assert!((1..=2).contains(&issued), "{figures}");
    let document: Value = place.json("r.json");
    let findings = document["time_spans"][0]["verdict"]["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|finding| finding["name"] == "replay-incomplete"), "{findings:?}");
}

#[test]
fn memory_does_not_grow_with_the_trace() {
    let place = workplace!();
    place.create_file("a.dat", "-c2M");
    let peak_bytes = |requests: u64| {
        let make_request = |number: u64| request(number, number * 7919 % 500 * 4096, 4096, READ);
        record(&place.path("t.iotrace"), (0..requests).map(make_request));
        let run = place.diskspd("trace replay t.iotrace --closed --engine=null --json r.json a.dat").run_counted();
        run.expect_status(0);
        assert_eq!(replay(&place)["issued"], requests);
        run.kernel_io.expect("the kernel accounts for it").peak_bytes
    };
    // More than the reader keeps, and five times as many: 800,000 requests are 45 MB in memory.
    let (short, long) = (peak_bytes(200_000), peak_bytes(1_000_000));
    assert!(long < short + (16 << 20), "{short} and {long} bytes");
}
