//! I/Os, devices and processes that fail.

use super::found;
use std::time::Duration;
use testkit::{Faulty, KernelLog, LoopDevice, Mounted, or_skip, skip, workplace};

// Shows verdict: io-errors
#[test]
fn an_error_makes_it_invalid_and_stays_a_failure() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "faulty"));
    let mut run = place.diskspd("-d600 -W0 -b4K -o1 -v --strict --json r.json").arg(&faulty.file).start();
    run.wait_for_stderr("starting measurements");
    faulty.fail_blocks(4096, 5);
    let run = run.finish();
    run.expect_status(1).expect_stdout(&["\nVerdict: INVALID\n"]);
    let finding = found(&place, &run, "io-errors");
    assert_eq!((&finding["severity"], &finding["value"]), (&"invalid".into(), &1.0.into()));
    assert!(finding["figure"].as_str().is_some_and(|figure| figure.contains("Input/output error")), "{finding}");
}

// Shows verdict: device-faults
#[test]
fn a_device_that_fails_makes_it_invalid() {
    let place = workplace!();
    let log = or_skip!(KernelLog::from_now());
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "4M"));
    let (device, image) = or_skip!(LoopDevice::failing(&memory));
    let words = format!("-d60 -W0 -w100 -b64K -Su -o2 --json r.json --destroy={}", image.display());
    let run_once = || {
        let run = place.diskspd(&words).arg(&device.path).run();
        run.expect_status(1).expect_stdout(&["\nVerdict: INVALID\n"]);
        (log.has_io_error(&device.name()), run)
    };
    let (mut is_logged, mut run) = run_once();
    // Other programs may have exhausted the number of messages that the kernel logs in 5 s.
    for _ in 0..3 {
        if !is_logged {
            std::thread::sleep(Duration::from_secs(6));
            (is_logged, run) = run_once();
        }
    }
    if !is_logged {
        skip!("the kernel's log has no error of {} here", device.name());
    }
    let finding = found(&place, &run, "device-faults");
    assert!(finding["figure"].as_str().is_some_and(|figure| figure.starts_with(&device.name())), "{finding}");
}

// Shows verdict: process-paused
#[test]
fn a_pause_is_warned_of() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let mut run = place.diskspd("-d600 -W0 -b4K -g100i -v --json r.json a.dat").start();
    run.wait_for_stderr("starting measurements");
    run.wait_for_ios();
    // A pause during the writing of a line is taken for a slow terminal.
    for _ in 0..3 {
        run.pause();
        std::thread::sleep(Duration::from_millis(1300));
        run.go_on();
        run.wait_for_ios();
    }
    run.interrupt();
    let run = run.finish();
    run.expect_status(0);
    let finding = found(&place, &run, "process-paused");
    assert_eq!(finding["severity"], "warn");
    assert!(finding["value"].as_f64().is_some_and(|seconds| seconds > 1.0), "{finding}");
}
