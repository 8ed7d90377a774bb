//! The verdict of real runs: each rule that can be provoked here is, once.

use serde_json::Value;
use std::fs::{self, File};
use std::time::Duration;
use testkit::{Cgroup, Faulty, Finished, LoopDevice, Mounted, Workplace, or_skip, skip, tool, workplace};

/// What the report says where nothing is worse than a note.
const SOUND: &str = "Verdict: nothing found that would make these figures wrong\n";

/// The findings of the first timespan of `r.json`.
fn findings(place: &Workplace) -> Vec<Value> {
    let document: Value = serde_json::from_slice(&place.content("r.json")).expect("it is JSON");
    document["time_spans"][0]["verdict"]["findings"].as_array().expect("a verdict").clone()
}

/// The finding of this name in `r.json`.
fn found(place: &Workplace, run: &Finished, name: &str) -> Value {
    let findings = findings(place);
    let finding = findings.iter().find(|finding| finding["name"] == name).cloned();
    finding.unwrap_or_else(|| panic!("no finding '{name}' in {findings:#?}\n{run}"))
}

/// True if there is a finding of this name in `r.json`.
fn is_found(place: &Workplace, name: &str) -> bool {
    findings(place).iter().any(|finding| finding["name"] == name)
}

#[test]
fn it_ends_every_form_of_a_result() {
    let place = workplace!();
    place.made("a.dat", "-c1M");
    let run = place.diskspd("-d1 -W0 -b4K -g1 --json r.json --xml r.xml a.dat").run();
    run.expect_status(0);
    let (_, block) = run.stdout.split_once("\nVerdict: ").unwrap_or_else(|| panic!("no verdict\n{run}"));
    assert!(block.lines().skip(1).all(|line| line.starts_with("  ")), "it is the end\n{run}");
    let finding = found(&place, &run, "short-run");
    assert_eq!(finding["severity"], "note");
    assert!(finding["value"].as_f64().is_some_and(|seconds| (0.9..10.0).contains(&seconds)), "{finding}");
    let figure = finding["figure"].as_str().expect("a sentence");
    assert!(block.contains(&format!("  NOTE    short-run: {figure}\n          measure for a minute")), "{run}");
    let xml = String::from_utf8(place.content("r.xml")).expect("it is text");
    assert!(xml.contains("<Finding Name=\"short-run\" Severity=\"NOTE\" Value="), "{xml}");
    let behind = xml.split_once("</Verdict>").expect("a verdict").1;
    let tags: Vec<&str> = behind.split_whitespace().collect();
    assert_eq!(tags[..2], ["</Linux>", "</TimeSpan>"], "it is the last of all");
    // What was saved is read back as it was.
    let text = run.stdout.split_once("\nResults for").expect("results").1;
    for file in ["r.json", "r.xml"] {
        let again = place.diskspd("report").arg(file).run();
        assert_eq!(again.stdout.split_once("\nVerdict: ").map(|parts| parts.1), Some(block), "{file}\n{text}");
    }
}

#[test]
fn an_error_makes_it_invalid_and_stays_a_failure() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "faulty"));
    let mut run = place.diskspd("-d30 -W0 -b4K -o1 -v --strict --json r.json").arg(&faulty.file).start();
    run.wait_for_stderr("starting measurements");
    faulty.fail_blocks(4096, 5);
    let run = run.finish();
    run.expect_status(1).expect_stdout(&["\nVerdict: INVALID\n"]);
    let finding = found(&place, &run, "io-errors");
    assert_eq!((&finding["severity"], &finding["value"]), (&"invalid".into(), &1.0.into()));
    assert!(finding["figure"].as_str().is_some_and(|figure| figure.contains("Input/output error")), "{finding}");
}

#[test]
fn strict_turns_invalid_figures_into_status_4() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "faulty"));
    for (strict, status) in [("", 0), ("--strict", 4)] {
        let words = format!("-d2 -W0 -b4K -o1 -v --json r.json {strict}");
        let mut run = place.diskspd(&words).arg(&faulty.file).start();
        run.wait_for_stderr("starting measurements");
        let before = faulty.answered();
        run.wait_until("some I/O", |_| faulty.answered() > before + 100);
        faulty.hold();
        run.wait_for_stdout("\nVerdict: INVALID\n");
        faulty.release();
        let run = run.finish();
        run.expect_status(status);
        let finding = found(&place, &run, "lost-ios");
        assert_eq!((&finding["severity"], &finding["value"]), (&"invalid".into(), &1.0.into()));
    }
    // Nothing is wrong with this one.
    place.made("a.dat", "-c1M");
    place.diskspd("-d1 -W0 -b4K --strict a.dat").run().expect_status(0);
}

#[test]
fn a_device_that_fails_makes_it_invalid() {
    let place = workplace!();
    if File::open("/dev/kmsg").is_err() {
        skip!("the kernel's log is not for this process");
    }
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "4M"));
    let (device, image) = or_skip!(LoopDevice::failing(&memory));
    let words = format!("-d2 -W0 -w100 -b64K -Su -o2 --json r.json --destroy={}", image.display());
    let run = place.diskspd(&words).arg(&device.path).run();
    run.expect_status(1).expect_stdout(&["\nVerdict: INVALID\n"]);
    let finding = found(&place, &run, "device-faults");
    assert!(finding["figure"].as_str().is_some_and(|figure| figure.starts_with(&device.name())), "{finding}");
}

#[test]
fn ios_that_would_wait_go_to_kernel_threads() {
    let place = workplace!();
    // A tmpfs takes no write without waiting.
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "16M"));
    let words = "-c8M -b4K -o8 -r -w30 -W0 -d1 --json r.json";
    let target = memory.path.join("t");
    let run = place.diskspd(words).arg(&target).run();
    run.expect_status(0);
    let finding = found(&place, &run, "io-workers");
    assert!(finding["value"].as_f64().is_some_and(|threads| threads >= 1.0), "{finding}");
    place.diskspd(words).arg("--engine=sync").arg(&target).run().expect_status(0);
    assert!(!is_found(&place, "io-workers"));
}

#[test]
fn a_pause_is_warned_of() {
    let place = workplace!();
    place.made("a.dat", "-c1M");
    let mut run = place.diskspd("-d4 -W0 -b4K -g1 -v --json r.json a.dat").start();
    run.wait_for_stderr("starting measurements");
    std::thread::sleep(Duration::from_millis(300));
    run.pause();
    std::thread::sleep(Duration::from_millis(2500));
    run.go_on();
    let run = run.finish();
    run.expect_status(0);
    let finding = found(&place, &run, "process-paused");
    assert_eq!(finding["severity"], "warn");
    assert!(finding["value"].as_f64().is_some_and(|seconds| seconds > 1.0), "{finding}");
}

#[test]
fn a_run_that_is_stopped_says_so() {
    let place = workplace!();
    place.made("a.dat", "-c1M");
    let mut run = place.diskspd("-d30 -W0 -b4K -g1 -v --json r.json a.dat").start();
    run.wait_for_stderr("starting measurements");
    std::thread::sleep(Duration::from_millis(200));
    let run = run.end();
    assert_eq!(found(&place, &run, "ended-early")["severity"], "note");
}

#[test]
fn percentiles_of_few_ios_are_named() {
    let place = workplace!();
    place.made("a.dat", "-c1M");
    let run = place.diskspd("-d1 -W0 -b4K -o1 -L --max-ios=500 --json r.json a.dat").run();
    run.expect_status(0);
    assert_eq!(found(&place, &run, "weak-percentiles")["figure"], "weak from the 99th of 500 reads");
    // Without -L there are none.
    place.diskspd("-d1 -W0 -b4K -o1 --max-ios=500 --json r.json a.dat").run().expect_status(0);
    assert!(!is_found(&place, "weak-percentiles"));
}

#[test]
fn an_ordinary_run_has_nothing_invalid() {
    let place = workplace!();
    let run = place.diskspd("-d2 -W1 -c16M -r -b8K -t2 -o8 -w30 -Sh -L -D --strict --json r.json testfile.dat").run();
    if run.stderr.contains("direct I/O") {
        skip!("the file system of the build refuses O_DIRECT");
    }
    run.expect_status(0);
    assert!(findings(&place).iter().all(|finding| finding["severity"] != "invalid"), "{run}");
    assert!(run.stdout.contains("\nVerdict: WARN\n") || run.stdout.contains(SOUND), "{run}");
}

#[test]
fn a_sparse_file_makes_it_invalid_and_a_written_one_does_not() {
    let place = workplace!();
    place.sparse("sparse.dat", 8 << 20).expect("a sparse file");
    let run = place.diskspd("-d1 -W0 -r -b4K --json r.json sparse.dat").run();
    run.expect_status(0).expect_stdout(&["\nVerdict: INVALID\n"]);
    let finding = found(&place, &run, "unwritten-target");
    assert_eq!((&finding["severity"], &finding["value"]), (&"invalid".into(), &100.0.into()));
    assert_eq!(finding["figure"], "100.0 % of what is used of 'sparse.dat' was never written");
    // Only what is used of it counts.
    place.file("half.dat", &vec![1; 4 << 20]);
    File::options().write(true).open(place.path("half.dat")).and_then(|file| file.set_len(8 << 20)).expect("longer");
    let run = place.diskspd("-d1 -W0 -r -b4K --json r.json half.dat").run();
    assert_eq!(found(&place, &run, "unwritten-target")["value"], 50.0, "{run}");
    place.diskspd("-d1 -W0 -r -b4K -f4M --json r.json half.dat").run().expect_status(0);
    assert!(!is_found(&place, "unwritten-target"));
    // So it is with a file that somebody wrote just now, and with one that the run makes.
    place.file("written.dat", &vec![1; 8 << 20]);
    for words in ["written.dat", "-c8M made.dat"] {
        place.diskspd("-d1 -W0 -r -b4K --json r.json").args(words).run().expect_status(0);
        assert!(!is_found(&place, "unwritten-target"), "{words}");
    }
}

#[test]
fn room_that_is_only_reserved_makes_it_invalid() {
    let place = workplace!();
    let fallocate = or_skip!(tool("fallocate"));
    let reserved = place.tool(fallocate).args("-l 8M reserved.dat").run();
    if reserved.code() != Some(0) {
        skip!("this file system cannot reserve room: {reserved}");
    }
    let run = place.diskspd("-d1 -W0 -r -b4K --json r.json reserved.dat").run();
    run.expect_status(0);
    assert_eq!(found(&place, &run, "unwritten-target")["value"], 100.0, "{run}");
}

#[test]
fn first_writes_to_a_sparse_file_are_warned_of() {
    let place = workplace!();
    place.sparse("sparse.dat", 8 << 20).expect("a sparse file");
    let run = place.diskspd("-d1 -W0 -r -b4K -w100 --overwrite --json r.json sparse.dat").run();
    run.expect_status(0);
    assert_eq!(found(&place, &run, "allocating-writes")["severity"], "warn");
    assert!(!is_found(&place, "unwritten-target"));
}

#[test]
fn a_loop_device_over_a_cached_file_makes_it_invalid() {
    let place = workplace!();
    or_skip!(place.direct_io());
    let image = place.file("own.img", &vec![1; 8 << 20]);
    let device = or_skip!(LoopDevice::over(&place, &image));
    let run = place.diskspd("-d2 -W1 -r -b4K -o4 -Su --json r.json").arg(&device.path).run();
    run.expect_status(0);
    let document: Value = serde_json::from_slice(&place.content("r.json")).expect("it is JSON");
    let below = &document["targets"][0]["environment"]["backing"]["devices"][0]["below"];
    if below[0]["kind"] != "disk" && below[0]["below"][0]["kind"] != "disk" {
        skip!("the file system of the build is on no single disk: {below}");
    }
    let finding = found(&place, &run, "served-from-cache");
    assert_eq!(finding["severity"], "invalid");
    assert!(finding["value"].as_f64().is_some_and(|percent| percent > 90.0), "{finding}");
}

#[test]
fn buffered_writes_that_memory_still_holds_are_warned_of() {
    let place = workplace!();
    place.made("a.dat", "-c64M");
    let written_early = |name: &str| fs::read_to_string(name).ok().and_then(|text| text.trim().parse::<u64>().ok());
    if written_early("/proc/sys/vm/dirty_expire_centisecs").is_none_or(|centiseconds| centiseconds < 1000) {
        skip!("this machine writes dirty pages at once, or does not say when");
    }
    // Once each block: less than the kernel begins to write of its own accord.
    let run = place.diskspd("-d2 -W0 -s -b64K -w100 --max-bytes=64M --json r.json a.dat").run();
    run.expect_status(0);
    assert_eq!(found(&place, &run, "writes-in-memory")["severity"], "warn");
}

#[test]
fn a_limit_of_cpu_time_is_warned_of() {
    let place = workplace!();
    let group = or_skip!(Cgroup::of_cpu(20));
    place.made("a.dat", "-c1M");
    let script = format!("echo $$ > {}; exec \"$0\" \"$@\"", group.door().display());
    let program = place.tool("sh").arg("-c").arg(script).arg(place.program());
    let run = program.args("-d2 -W0 -b4K -o1 --json r.json a.dat").run();
    run.expect_status(0);
    let finding = found(&place, &run, "cpu-limited");
    assert_eq!(finding["severity"], "warn");
    assert!(finding["value"].as_f64().is_some_and(|seconds| seconds > 0.1), "{finding}");
}

#[test]
fn threads_that_never_wait_are_warned_of() {
    let place = workplace!();
    // Memory answers at once, so that a thread that copies from it has nothing to wait for.
    let run = place.diskspd("-d3 -W0 -b4K -o1 -f1M -n --json r.json /dev/zero").run();
    run.expect_status(0);
    if is_found(&place, "steal") || is_found(&place, "cpu-limited") {
        skip!("the CPU is not the program's alone");
    }
    let document: Value = serde_json::from_slice(&place.content("r.json")).expect("it is JSON");
    let counters = &document["time_spans"][0]["kernel_counters"];
    let computed = |moment: &str| counters[moment]["process"]["cpu_time_ms"].as_u64();
    let computed_ms = computed("after").zip(computed("before")).map(|(after, before)| after - before);
    let elapsed_ns = document["time_spans"][0]["measured"]["elapsed_ns"].as_u64().expect("a time");
    let share = computed_ms.expect("it is counted") as f64 * 1e6 / elapsed_ns as f64;
    if share < 0.96 {
        skip!("others took the CPU: it computed for {share:.2} of the time");
    }
    assert_eq!(found(&place, &run, "cpu-bound")["severity"], "warn");
}
