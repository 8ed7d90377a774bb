//! Errors of a device during a run are in the result, from the kernel's log.

use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::thread;
use std::time::Duration;
use testkit::{KernelLog, LoopDevice, Mounted, Workplace, or_skip, skip, workplace};

/// The notes on faults in the kernel's log.
fn faults(place: &Workplace) -> Vec<Value> {
    let document: Value = place.json("r.json");
    let notes = document["notes"].as_array().expect("a list of notes").clone();
    notes.into_iter().filter(|note| note["note"] == "device_faults_logged").collect()
}

#[test]
fn a_device_that_fails_is_named_with_what_the_kernel_says_of_it() {
    let place = workplace!();
    let log = or_skip!(KernelLog::from_now());
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "4M"));
    let (device, image) = or_skip!(LoopDevice::failing(&memory));
    let words = format!("-d60 -W0 -w100 -b64K -Su -o2 -L --json r.json --xml r.xml --destroy={}", image.display());
    let run_once = || {
        let run = place.diskspd(&words).arg(&device.path).run();
        run.expect_status(1);
        (log.has_io_error(&device.name()), run)
    };
    let (mut is_logged, mut run) = run_once();
    // Other programs may have exhausted the number of messages that the kernel logs in 5 s.
    for _ in 0..3 {
        if !is_logged {
            thread::sleep(Duration::from_secs(6));
            (is_logged, run) = run_once();
        }
    }
    if !is_logged {
        skip!("the kernel's log has no error of {} here", device.name());
    }
    let faults = faults(&place);
    let [fault] = faults.as_slice() else { panic!("{faults:?}\n{run}") };
    let name = device.name();
    assert_eq!((&fault["device"], &fault["fault"]), (&name.as_str().into(), &"io_error".into()));
    assert!(fault["count"].as_u64() >= Some(1), "{fault}");
    let first = fault["first"].as_str().unwrap_or_default();
    assert!(first.contains(&format!("error, dev {name}, sector ")), "{first}");
    run.expect_stdout(&[&format!("NOTE: {name} had I/O errors during the run: "), first]);
    let xml = String::from_utf8(place.content("r.xml")).expect("it is text");
    assert!(xml.contains(&format!("<RunNote>{name} had I/O errors")), "{xml}");
    // It is also listed beside the slowest I/Os, if they were within a second of it.
    let slowest = place.diskspd("report r.json --slowest").run();
    slowest.expect_status(0);
    // A row begins with its time; long messages continue on the next lines.
    let mut said: Vec<(&str, String)> = Vec::new();
    let table =
        slowest.stdout.split_once("Kernel messages within 1 s of the slowest I/Os\n").map_or("", |(_, rows)| rows);
    for line in table.lines().skip(1).take_while(|line| !line.is_empty()) {
        match (line.trim_start().split_once(" s  "), said.last_mut()) {
            (Some((at_s, message)), _) if at_s.parse::<f64>().is_ok() => said.push((at_s, message.trim().to_owned())),
            (_, Some((_, message))) => *message = format!("{message} {}", line.trim()),
            _ => {}
        }
    }
    let told: Vec<&(&str, String)> = said.iter().filter(|(_, message)| *message == first).collect();
    let document: Value = place.json("r.json");
    let elapsed_ns = document["time_spans"][0]["measured"]["elapsed_ns"].as_u64().expect("a time");
    if told.is_empty() && elapsed_ns > 1_000_000_000 {
        skip!("the write that failed took long, until {elapsed_ns} ns after the first began");
    }
    let [(at_s, _), ..] = told.as_slice() else { panic!("nothing of '{first}'\n{slowest}") };
    // The clock of the log is not adjusted as CLOCK_MONOTONIC is: it can be milliseconds behind the start.
    assert!(at_s.trim().parse::<f64>().is_ok_and(|at_s| (-1.0..3.0).contains(&at_s)), "{slowest}");
}

#[test]
fn what_programs_write_to_the_log_is_not_the_kernels_word() {
    let place = workplace!();
    let Ok(mut log) = File::options().write(true).open("/dev/kmsg") else { skip!("the log cannot be written to") };
    let image = place.sparse("own.img", 8 << 20).expect("a sparse file");
    let device = or_skip!(LoopDevice::over(&place, &image));
    let mut running = place.diskspd("-d2 -W0 -v --json r.json").arg(&device.path).start();
    running.wait_for_stderr("starting measurements");
    let message = format!("I/O error, dev {}, sector 8 (written by a test of diskspd)", device.name());
    log.write_all(message.as_bytes()).expect("it takes it");
    running.finish().expect_status(0);
    assert_eq!(faults(&place), Vec::<Value>::new());
}
