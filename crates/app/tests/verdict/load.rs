//! Load other than intended, because of limits, other programs and the path to the device.

use super::{document, found, inside, is_found, with_cpus};
use std::path::PathBuf;
use std::time::Duration;
use testkit::{Cgroup, Faulty, LoopDevice, Service, Workplace, or_skip, skip, workplace};

/// A loop device over a written file of this many MiB, on its own disk or one below it, or the reason why the kernel's
/// counters cannot be compared there.
fn written_device(place: &Workplace, mib: usize) -> Result<LoopDevice<'_>, String> {
    place.direct_io()?;
    let image = place.file("own.img", &vec![1; mib << 20]);
    let device = LoopDevice::over(place, &image)?;
    place.diskspd("-d1 -W0 -Su --max-ios=1 --json r.json").arg(&device.path).run().expect_status(0);
    let below = &document(place)["targets"][0]["environment"]["backing"]["devices"][0]["below"];
    if below[0]["kind"] != "disk" && below[0]["below"][0]["kind"] != "disk" {
        return Err(format!("the file system of the build is on no single disk: {below}"));
    }
    Ok(device)
}

// Shows verdict: split-ios
#[test]
fn ios_that_the_kernel_cuts_up_are_noted() {
    let place = workplace!();
    let device = or_skip!(written_device(&place, 16));
    let queue = PathBuf::from("/sys/block").join(device.name()).join("queue/max_sectors_kb");
    if std::fs::write(&queue, "256").is_err() {
        skip!("the largest request of the device cannot be set");
    }
    let run = place.diskspd("-d2 -W0 -b1M -o2 -Su --json r.json").arg(&device.path).run();
    run.expect_status(0);
    let finding = found(&place, &run, "split-ios");
    assert!(finding["value"].as_f64().is_some_and(|requests| (3.9..4.5).contains(&requests)), "{finding}");
    place.diskspd("-d2 -W0 -b64K -o2 -Su --json r.json").arg(&device.path).run().expect_status(0);
    assert!(!is_found(&place, "split-ios"));
}

// Shows verdict: rate-limited
#[test]
fn a_load_that_reaches_a_limit_of_its_own_says_so() {
    let place = workplace!();
    let run = |words: &str| {
        let words = format!("-c1M -d2 -W0 -b4K -r --engine=null {words} --json r.json a.dat");
        let run = place.diskspd(&words).run();
        run.expect_status(0);
        run
    };
    for (words, option) in [("-g200i", "-g"), ("-t2 -g800", "-g"), ("--rate=200", "--rate"), ("-i10 -j50", "-i, -j")] {
        // A stalled machine may have kept a run from it.
        let last = (0..5).map(|_| run(words)).find(|_| is_found(&place, "rate-limited"));
        let finding = found(&place, &last.unwrap_or_else(|| run(words)), "rate-limited");
        let figure = finding["figure"].as_str().expect("words");
        assert!(figure.ends_with(&format!("of its own limit ({option})")), "{figure}");
        assert_eq!(finding["severity"], "note");
    }
    // These rates are unreachable.
    for words in ["-g4000000000i", "--rate=4000000000", ""] {
        run(words);
        assert!(!is_found(&place, "rate-limited"), "{words}");
    }
    run("--strict -g200i");
}

// Shows verdict: shallow-queue
#[test]
fn a_queue_that_does_not_fill_is_told() {
    let _cpus = with_cpus();
    let place = workplace!();
    let device = or_skip!(written_device(&place, 64));
    let queue = PathBuf::from("/sys/block").join(device.name()).join("queue/nr_requests");
    if std::fs::write(&queue, "4").is_err() {
        skip!("the number of requests of the device cannot be set");
    }
    // Large blocks, so that the threads have hardly anything to compute.
    let words = "-d2 -W0 -r -b256K -o32 -Su --json r.json";
    let run = place.diskspd(words).arg(&device.path).favoured().run();
    run.expect_status(0);
    // If the CPU is shared with other machines, that is reported and nothing else is blamed.
    let taken = ["steal", "cpu-contention", "cpu-limited"];
    if let Some(name) = taken.iter().find(|name| is_found(&place, name)) {
        assert!(!is_found(&place, "shallow-queue") && !is_found(&place, "device-depth"), "{name}\n{run}");
        skip!("others may have kept the depth down: {name}");
    }
    let finding = found(&place, &run, "shallow-queue");
    assert!(finding["value"].as_f64().is_some_and(|depth| depth < 6.0), "{finding}");
    let figure = format!("{}'s mean depth was ", device.name());
    assert!(finding["figure"].as_str().is_some_and(|sentence| sentence.starts_with(&figure)), "{finding}");
    // A program without CPU time cannot fill a queue either, and must not blame the device.
    let group = or_skip!(Cgroup::of_cpu(5));
    inside(&place, &group).args("-d2 -W0 -r -b4K -o32 -Su --json r.json").arg(&device.path).run().expect_status(0);
    assert!(is_found(&place, "cpu-limited"));
    assert!(!is_found(&place, "shallow-queue") && !is_found(&place, "device-depth"), "one cause");
}

// Shows verdict: submission-limited
#[test]
fn a_queue_that_this_program_does_not_fill_is_its_own_fault() {
    let _cpus = with_cpus();
    let place = workplace!();
    let device = or_skip!(written_device(&place, 64));
    // A batch of all requests: none is submitted before the last one has completed.
    let words = "-d2 -W0 -r -b256K -o8 -u8 -Su --json r.json";
    let run = place.diskspd(words).arg(&device.path).favoured().run();
    if run.stderr.contains("io_uring") {
        skip!("this kernel allows no rings");
    }
    run.expect_status(0);
    let others = ["steal", "cpu-contention", "cpu-limited", "process-paused", "io-workers"];
    if let Some(name) = others.iter().find(|name| is_found(&place, name)) {
        skip!("others may have kept the depth down: {name}");
    }
    let span = &document(&place)["time_spans"][0];
    let counted = |when: &str| span["kernel_counters"][when]["devices"][device.name()]["queue_time_ms"].as_f64();
    let queue_time_ms = counted("after").zip(counted("before")).map(|(after, before)| after - before);
    let elapsed_ms = span["measured"]["elapsed_ns"].as_f64().expect("a time") / 1e6;
    let depth = queue_time_ms.expect("counters of the device") / elapsed_ms;
    if !(1.05..6.75).contains(&depth) {
        skip!("the device was given a depth of {depth} all the same");
    }
    let finding = found(&place, &run, "submission-limited");
    assert!(finding["value"].as_f64().is_some_and(|value| (value - depth).abs() < 0.1), "{finding}");
    assert!(!is_found(&place, "device-depth") && !is_found(&place, "shallow-queue"), "one is blamed");
}

// Shows verdict: other-io
#[test]
fn io_of_others_on_the_device_is_warned_of() {
    let place = workplace!();
    let device = or_skip!(written_device(&place, 16));
    let other = "echo busy; while :; do dd if=\"$1\" of=/dev/null bs=1M iflag=direct 2>/dev/null; done";
    let mut other = place.tool("sh").arg("-c").arg(other).arg("sh").arg(&device.path).start();
    other.wait_for_stdout("busy");
    let run = place.diskspd("-d2 -W0 -r -b4K -o1 -Su --json r.json").arg(&device.path).run();
    run.expect_status(0);
    let finding = found(&place, &run, "other-io");
    assert!(finding["figure"].as_str().is_some_and(|figure| figure.contains(&device.name())), "{finding}");
}

// Shows verdict: io-limited
#[test]
fn a_limit_of_io_is_warned_of() {
    let place = workplace!();
    let device = or_skip!(written_device(&place, 16));
    let group = or_skip!(Cgroup::of_reads(&device.path, 200));
    let run = inside(&place, &group).args("-d2 -W1 -r -b4K -o4 -Su --json r.json").arg(&device.path).favoured().run();
    run.expect_status(0);
    let iops = document(&place)["time_spans"][0]["measured"]["total"]["total"]["iops"].as_f64().expect("a rate");
    if iops < 190.0 {
        skip!("others leave so little of the CPUs that the limit is not reached");
    }
    assert!(!is_found(&place, "shallow-queue") && !is_found(&place, "device-depth"), "one cause");
    let finding = found(&place, &run, "io-limited");
    assert!(finding["value"].as_f64().is_some_and(|percent| (90.0..120.0).contains(&percent)), "{finding}");
}

// Shows verdict: depth-limited
// Shows verdict: starts-not-made
#[test]
fn starts_that_come_late_or_never_are_warned_of() {
    let _cpus = with_cpus();
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let run = place.diskspd("-d1 -W0 -r -b4K -o1 --rate=20000000 --json r.json a.dat").run();
    run.expect_status(0);
    found(&place, &run, "starts-not-made");
    assert!(!is_found(&place, "depth-limited"), "one cause");
    // A rate that the target sustains on average, but not at each moment.
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    faulty.serve(Service::InTurn(Duration::from_millis(1), Duration::from_millis(1)));
    let run = place
        .diskspd("-d3 -W1 -r -b4K -o1 -Su --rate=500 --rate-process=poisson --json r.json")
        .arg(&faulty.file)
        .favoured()
        .run();
    run.expect_status(0);
    if let Some(name) = ["starts-not-made", "cpu-contention", "steal"].iter().find(|name| is_found(&place, name)) {
        skip!("this machine is too slow for half the rate of the file system: {name}");
    }
    found(&place, &run, "depth-limited");
}

// Shows verdict: unfinished-ios
#[test]
fn latencies_without_those_of_the_last_ios_are_warned_of() {
    let _cpus = with_cpus();
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    // Four complete, and four more are outstanding at the end.
    faulty.serve(Service::Each(Duration::from_millis(600)));
    let run = || {
        let run = place.diskspd("-d1 -W0 -r -b4K -o4 -Su -L --json r.json").arg(&faulty.file).run();
        run.expect_status(0);
        run
    };
    // On a busy machine the first four may take longer than a second; it is retried.
    let mut run_once = run();
    for _ in 0..4 {
        if is_found(&place, "unfinished-ios") {
            break;
        }
        run_once = run();
    }
    let finding = found(&place, &run_once, "unfinished-ios");
    assert!(finding["value"].as_f64().is_some_and(|percent| (20.0..60.0).contains(&percent)), "{finding}");
    let run = place.diskspd("-d3 -W1 -r -b4K -o4 -Su -L --json r.json").arg(&faulty.file).run();
    run.expect_status(0);
    assert!(!is_found(&place, "unfinished-ios"), "the warm-up's I/Os complete in the measurement");
}

// Shows verdict: fits-in-memory
#[test]
fn buffered_targets_that_fit_in_memory_are_noted() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    // Written through, so that nothing is left in memory, and nothing is read from it.
    let run = place.diskspd("-d1 -W0 -b4K -w100 -Sw --json r.json a.dat").run();
    run.expect_status(0);
    if document(&place)["targets"][0]["environment"]["backing"]["devices"].is_null() {
        skip!("the file system of the build is on no device that can be seen");
    }
    assert_eq!(found(&place, &run, "fits-in-memory")["value"], 1_048_576.0);
}
