//! `trace record`: requests to a loop device, compared with the counts of the run that made them, recorded in both ways,
//! and replayed.

use model::operation::Operation;
use serde_json::Value;
use std::fs;
use testkit::{Denied, LoopDevice, Program, Running, Workplace, is_root, or_skip, skip, tool, workplace};
use trace::event::{Action, Event};
use trace::readers::TraceReader;

/// I/Os of the run that is recorded.
const IOS: usize = 500;

/// Mounts tracefs, in a mount namespace of its own.
const MOUNT: &str = "mount -t tracefs tracefs /sys/kernel/tracing";

/// A shell that has tracefs and block events, and then this line.
fn with_tracefs(place: &Workplace, line: &str) -> Result<Program, String> {
    if !is_root() {
        return Err("recording needs root".to_owned());
    }
    let unshare = tool("unshare")?;
    let shell = |line: &str| place.tool(&unshare).args("-m sh -c").arg(format!("{MOUNT} && {line}"));
    let probe = shell("test -e /sys/kernel/tracing/events/block").run();
    if probe.code() != Some(0) {
        return Err(format!("tracefs cannot be mounted, or has no block events: {}", probe.stderr.trim()));
    }
    Ok(shell(line))
}

fn program_that_records(place: &Workplace, words: &str) -> Result<Program, String> {
    with_tracefs(place, &format!("exec {} trace record {words}", place.program().display()))
}

fn wait_for_recording(run: &mut Running) {
    run.wait_until("it records", |run| run.stderr().contains("recording requests") || run.stderr().contains("ERROR"));
}

/// A recording with eBPF programs that has begun.
fn recording(place: &Workplace, words: &str) -> Result<Running, String> {
    let mut run = program_that_records(place, words)?.start();
    wait_for_recording(&mut run);
    if run.stderr().contains("eBPF") {
        return Err(format!("no eBPF here: {}", run.stderr().trim()));
    }
    Ok(run)
}

/// A recording that has begun where no process may load eBPF programs.
fn recording_without_programs(place: &Workplace, words: &str) -> Result<Running, String> {
    const NOT_PERMITTED: u32 = 1;
    let refused = [Denied::always(BPF)];
    let mut run = program_that_records(place, words)?.start_without(&refused, NOT_PERMITTED)?;
    wait_for_recording(&mut run);
    Ok(run)
}

/// bpf(2)
#[cfg(target_arch = "x86_64")]
const BPF: i64 = 321;
#[cfg(not(target_arch = "x86_64"))]
const BPF: i64 = 280;

/// Ends a recording; its requests that read or write this many bytes, in order of their offsets, or the reason that some are
/// not there.
fn recorded(place: &Workplace, run: Running, name: &str, length: Option<u64>) -> Result<Vec<Event>, String> {
    run.interrupt();
    let run = run.finish();
    run.expect_status(0);
    let content = fs::read(place.path(name)).expect("it was written");
    let mut reader = TraceReader::new(vec![Box::new(&content[..])]).expect("it is a trace");
    let mut events: Vec<Event> = reader.by_ref().collect();
    let account = reader.account();
    assert_eq!(account.loss_count, 0, "it has its end");
    assert!(events.is_sorted_by_key(|event| event.issue_ns));
    assert_eq!(account.missed_events > 0, run.stderr.contains("lost"), "{run}");
    // Others, such as udev and the checks before a run, read from the device too.
    events.retain(|event| event.length > 0 && length.is_none_or(|length| event.length == length));
    let open = events.iter().filter(|event| event.latency_ns.is_none()).count();
    assert!(open == 0 || run.stderr.contains("without completion"), "{run}");
    if length.is_some() {
        let missing = IOS.saturating_sub(events.len()) as u64;
        if missing > 0 && account.missed_events == 0 && !counts_skipped_programs() {
            return Err("before Linux 6.7 the kernel does not count the events that it hides from programs".to_owned());
        }
        assert!(missing <= account.missed_events, "{missing} missing, {} counted", account.missed_events);
        if missing > 0 {
            return Err(format!("the machine is too busy: {} events lost", account.missed_events));
        }
    }
    events.sort_by_key(|event| (event.offset, event.length, event.action.index()));
    Ok(events)
}

/// True since Linux 6.7.
fn counts_skipped_programs() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(7))
}

/// Place, length and kind of each.
fn requests(events: &[Event]) -> Vec<(u64, u64, usize)> {
    events.iter().map(|event| (event.offset, event.length, event.action.index())).collect()
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
    assert_eq!(requests(&events), requests(&again));
}

#[test]
fn without_ebpf_the_same_requests_are_recorded() {
    let place = workplace!();
    let image = place.file("disk.img", &vec![0; 16 << 20]);
    let disk = or_skip!(LoopDevice::direct(&place, &image));
    let device = disk.path.display();
    let programs = or_skip!(recording(&place, &format!("{device} --output programs.iotrace")));
    let events = or_skip!(recording_without_programs(&place, &format!("{device} --output events.iotrace")));
    assert!(events.stderr().contains("NOTE: tracefs events are recorded: cannot attach eBPF"), "{}", events.stderr());
    let instance = format!("/sys/kernel/tracing/instances/diskspd-{}", events.id());
    let exists = || or_fail(with_tracefs(&place, &format!("test -e {instance}"))).run().code() == Some(0);
    assert!(exists(), "{instance}");
    // With a gap between any two requests: the kernel merges those of adjacent places into one.
    let load = format!("-b8K -o4 -t2 -r16K -w40 -Su -W0 -d600 --max-ios={IOS} --destroy={} {device}", image.display());
    place.diskspd(&load).run().expect_status(0);
    let events = recorded(&place, events, "events.iotrace", Some(8192));
    assert!(!exists(), "{instance}");
    let programs = recorded(&place, programs, "programs.iotrace", Some(8192));
    let (events, programs) = (or_skip!(events), or_skip!(programs));
    assert_eq!(requests(&events), requests(&programs));
    assert!(events.iter().all(|event| event.latency_ns.is_some()));
}

fn or_fail<T>(result: Result<T, String>) -> T {
    result.unwrap_or_else(|reason| panic!("{reason}"))
}

#[test]
fn a_recording_of_a_process_has_its_requests_only() {
    let place = workplace!();
    let image = place.file("disk.img", &vec![0; 16 << 20]);
    let disk = or_skip!(LoopDevice::direct(&place, &image));
    let device = disk.path.display();
    // Requests of adjacent places might be merged into one.
    let mut load = place.diskspd(&format!("-v -b4K -o2 -r8K -Su -W0 -d600 {device}")).start();
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
