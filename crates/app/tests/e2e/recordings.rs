//! `trace record`: requests to a loop device, compared with the counts of the run that made them, and replayed.

use model::operation::Operation;
use serde_json::Value;
use std::fs;
use testkit::{LoopDevice, Running, Workplace, is_root, or_skip, skip, tool, workplace};
use trace::event::{Action, Event};
use trace::readers::TraceReader;

/// I/Os of the run that is recorded.
const IOS: usize = 500;

/// A recording that has begun, where tracefs is mounted: in a mount namespace of its own.
fn recording(place: &Workplace, words: &str) -> Result<Running, String> {
    if !is_root() {
        return Err("recording needs root".to_owned());
    }
    let unshare = tool("unshare")?;
    let mount = "mount -t tracefs tracefs /sys/kernel/tracing";
    let probe =
        place.tool(&unshare).args("-m sh -c").arg(format!("{mount} && test -e /sys/kernel/tracing/events/block")).run();
    if probe.code() != Some(0) {
        return Err(format!("tracefs cannot be mounted, or has no block events: {}", probe.stderr.trim()));
    }
    let program = place.program().display();
    let line = format!("{mount} && exec {program} trace record {words}");
    let mut run = place.tool(&unshare).args("-m sh -c").arg(line).start();
    run.wait_until("it records", |run| run.stderr().contains("recording requests") || run.stderr().contains("ERROR"));
    if run.stderr().contains("eBPF") {
        return Err(format!("no eBPF here: {}", run.stderr().trim()));
    }
    Ok(run)
}

/// Ends a recording; the reads and writes of the trace that have this length, in order of their offsets, or the reason that
/// some are not there.
fn recorded(place: &Workplace, run: Running, name: &str, length: Option<u64>) -> Result<Vec<Event>, String> {
    run.interrupt();
    let run = run.finish();
    run.expect_status(0);
    assert!(!run.stderr.contains("lost"), "{run}");
    let content = fs::read(place.path(name)).expect("it was written");
    let mut reader = TraceReader::new(vec![Box::new(&content[..])]).expect("it is a trace");
    let mut events: Vec<Event> = reader.by_ref().collect();
    assert_eq!(reader.account().loss_count, 0, "it has its end");
    assert!(events.is_sorted_by_key(|event| event.issue_ns));
    // Others, such as udev and the checks before a run, read from the device too.
    events.retain(|event| event.length > 0 && length.is_none_or(|length| event.length == length));
    // The kernel leaves out events that come while an eBPF program runs on the same CPU.
    if length.is_some() && (events.len() < IOS || events.iter().any(|event| event.latency_ns.is_none())) {
        return Err("the machine is too busy for all events to be seen".to_owned());
    }
    events.sort_by_key(|event| (event.offset, event.length, event.action.index()));
    Ok(events)
}

#[test]
fn the_requests_of_a_run_are_recorded_and_replayed() {
    let place = workplace!();
    let image = place.file("disk.img", &vec![0; 16 << 20]);
    let disk = or_skip!(LoopDevice::direct(&place, &image));
    let device = disk.path.display();
    let run = or_skip!(recording(&place, &format!("{device} --output t.iotrace")));
    let load =
        format!("-b8K -o1 -r -w40 -Su -W0 -d600 --max-ios={IOS} --json r.json --destroy={} {device}", image.display());
    place.diskspd(&load).run().expect_status(0);
    let events = or_skip!(recorded(&place, run, "t.iotrace", Some(8192)));
    let total = &place.json::<Value>("r.json")["time_spans"][0]["measured"]["total"];
    for (direction, operation) in [("read", Operation::Read), ("write", Operation::Write)] {
        let count = events.iter().filter(|event| event.action == Action::Operation(operation)).count() as u64;
        assert_eq!(total[direction]["ios"], count, "{direction}: {total}");
    }
    let run = or_skip!(recording(&place, &format!("{device} --output again.iotrace")));
    let replay =
        format!("trace replay t.iotrace -Su -o1 --closed --json r.json --destroy={} {device}", image.display());
    place.diskspd(&replay).run().expect_status(0);
    let again = or_skip!(recorded(&place, run, "again.iotrace", Some(8192)));
    let requests = |events: &[Event]| -> Vec<(u64, u64, usize)> {
        events.iter().map(|event| (event.offset, event.length, event.action.index())).collect()
    };
    assert_eq!(requests(&events), requests(&again));
}

#[test]
fn a_recording_of_a_process_has_its_requests_only() {
    let place = workplace!();
    let image = place.file("disk.img", &vec![0; 16 << 20]);
    let disk = or_skip!(LoopDevice::direct(&place, &image));
    let device = disk.path.display();
    let mut load = place.diskspd(&format!("-v -b4K -o2 -r -Su -W0 -d600 {device}")).start();
    load.wait_for_stderr("starting measurements");
    let other = place.diskspd(&format!("-b16K -o1 -r -Su -W0 -d600 {device}")).start();
    let pid = load.id();
    let run = or_skip!(recording(&place, &format!("--pid {pid} --output t.iotrace")));
    load.wait_for_ios();
    let events = or_skip!(recorded(&place, run, "t.iotrace", None));
    load.interrupt();
    other.interrupt();
    load.finish();
    other.finish();
    assert!(!events.is_empty() && events.iter().all(|event| event.length == 4096), "{}", events.len());
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let place = workplace!();
    for (words, expected) in [
        ("nowhere --output t.iotrace", "'nowhere' does not exist"),
        ("--pid 4194305 --output t.iotrace", "there is no process 4194305"),
    ] {
        let run = place.diskspd(&format!("trace record {words}")).run();
        assert_ne!(run.code(), Some(0), "{run}");
        run.expect_stderr(&[expected]);
        assert!(!place.path("t.iotrace").exists());
    }
    if !fs::exists("/sys/block/zram0").unwrap_or(false) {
        skip!("no zram here");
    }
    let run = place.diskspd("trace record zram0 --output t.iotrace").run();
    run.expect_status(1).expect_stderr(&["'zram0' passes I/O on without requests of its own"]);
}
