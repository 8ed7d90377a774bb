//! The verdict of real runs: each rule that can be provoked here is, once.

use serde_json::Value;
use std::fs::File;
use std::time::Duration;
use testkit::{Faulty, Finished, LoopDevice, Mounted, Workplace, or_skip, skip, workplace};

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
    // The device promises more than there is room for.
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "4M"));
    let image = memory.path.join("own.img");
    File::create(&image).and_then(|file| file.set_len(32 << 20)).expect("a sparse file");
    let device = or_skip!(LoopDevice::over(&place, &image));
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
    run.interrupt();
    let run = run.finish();
    run.expect_status(0);
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
