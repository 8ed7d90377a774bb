//! CPU time that the run did not get, or exhausted.

use super::{document, findings, found, inside, is_found, with_cpus};
use std::time::Duration;
use testkit::{Cgroup, Faulty, Mounted, Service, or_skip, skip, workplace};

// Shows verdict: io-workers
#[test]
fn ios_that_would_wait_go_to_kernel_threads() {
    let _cpus = with_cpus();
    let place = workplace!();
    // Writes to a tmpfs always wait.
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "16M"));
    let words = "-c8M -b4K -o8 -r -w30 -W0 -d1 --json r.json";
    let target = memory.path.join("t");
    let passed_on = || {
        // A kernel thread is not seen before it has had a CPU.
        for _ in 0..5 {
            let run = place.diskspd(words).arg(&target).favoured().run();
            run.expect_status(0);
            if is_found(&place, "io-workers") || !is_found(&place, "cpu-contention") {
                return Ok(found(&place, &run, "io-workers"));
            }
        }
        Err("the machine is too busy for kernel threads to be seen")
    };
    let finding = or_skip!(passed_on());
    // I/O to memory costs only CPU time; on a busy machine these threads get less of it. With one thread and eight
    // outstanding I/Os, 16 % of the thread's time are 2 % of that of the I/Os.
    let figure = finding["figure"].as_str().expect("a text");
    let share = figure.split_once("used a CPU for ").and_then(|(_, rest)| rest.split_once(" %")).expect(figure).0;
    let share_percent: f64 = share.parse().expect("a number");
    if (share_percent - 16.0).abs() > 0.1 {
        let expected = if share_percent > 16.0 { "warn" } else { "note" };
        assert_eq!(finding["severity"], expected, "{finding}");
    }
    assert!(finding["value"].as_f64().is_some_and(|threads| threads >= 1.0), "{finding}");
    place.diskspd(words).arg("--engine=sync").arg(&target).run().expect_status(0);
    assert!(!is_found(&place, "io-workers"));
    // A slow disk costs little: the threads only wait.
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    faulty.serve(Service::InTurn(Duration::from_millis(10), Duration::from_millis(10)));
    place.diskspd("-d2 -W0 -b4K -o8 -r -w30 --overwrite --json r.json").arg(&faulty.file).run().expect_status(0);
    let findings = findings(&place);
    let finding = findings.iter().find(|finding| finding["name"] == "io-workers");
    assert!(finding.is_none_or(|finding| finding["severity"] == "note"), "{findings:#?}");
}

// Shows verdict: interrupt-cpu
#[test]
fn threads_away_from_the_interrupts_are_noted() {
    let place = workplace!();
    or_skip!(place.direct_io());
    place.create_file("a.dat", "-c1M");
    let words = "-d1 -W0 -b4K -r -o2 -Su --json r.json";
    place.diskspd(words).arg("a.dat").run().expect_status(0);
    let document = document(&place);
    let mut disk = &document["targets"][0]["environment"]["backing"]["devices"][0];
    while let Some(below) = disk["below"].get(0) {
        disk = below;
    }
    let interrupted: Vec<u64> = disk["queue"]["interrupt_cpus"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(serde_json::Value::as_u64)
        .collect();
    let allowed = document["system"]["topology"]["cpus"].as_array().expect("CPUs").clone();
    let mut allowed = allowed.iter().filter(|cpu| cpu["allowed"] == true).filter_map(|cpu| cpu["id"].as_u64());
    let Some(other) = allowed.find(|cpu| !interrupted.contains(cpu) && *cpu < 64) else {
        skip!("the process may use no CPU that the disk does not interrupt");
    };
    if interrupted.len() != 1 {
        skip!("the build is on no disk of one queue that interrupts a known CPU: {disk}");
    }
    assert!(!is_found(&place, "interrupt-cpu"), "it is used first");
    let run = place.diskspd(words).arg(format!("-a{other}")).arg("a.dat").run();
    run.expect_status(0);
    assert_eq!(found(&place, &run, "interrupt-cpu")["value"], interrupted[0] as f64);
    place.diskspd(words).args("-n a.dat").run().expect_status(0);
    assert!(!is_found(&place, "interrupt-cpu"));
}

// Shows verdict: cpu-limited
#[test]
fn a_limit_of_cpu_time_is_warned_of() {
    let _cpus = with_cpus();
    let place = workplace!();
    let group = or_skip!(Cgroup::of_cpu(20));
    place.create_file("a.dat", "-c1M");
    let run = inside(&place, &group).args("-d2 -W0 -b4K -o1 --json r.json a.dat").run();
    run.expect_status(0);
    if !is_found(&place, "cpu-limited") && is_found(&place, "cpu-contention") {
        skip!("others leave so little of the CPUs that the limit is not reached");
    }
    let finding = found(&place, &run, "cpu-limited");
    assert_eq!(finding["severity"], "warn");
    assert!(finding["value"].as_f64().is_some_and(|seconds| seconds > 0.0), "{finding}");
}

// Shows verdict: cpu-bound
#[test]
fn threads_that_never_wait_are_warned_of() {
    let _cpus = with_cpus();
    let place = workplace!();
    // Memory completes I/Os at once, so a thread that copies from it never waits.
    let run = place.diskspd("-d3 -W0 -b4K -o1 -f1M -n --json r.json /dev/zero").favoured().run();
    run.expect_status(0);
    if ["steal", "cpu-limited", "cpu-contention"].iter().any(|name| is_found(&place, name)) {
        skip!("the CPU is not this machine's alone");
    }
    let finding = found(&place, &run, "cpu-bound");
    assert_eq!(finding["severity"], "warn");
    assert!(finding["value"].as_f64().is_some_and(|percent| percent > 95.0), "{finding}");
    // One that waits for its schedule does not.
    place.diskspd("-d1 -W0 -b4K -o1 -g10i -f1M -n --json r.json /dev/zero").run().expect_status(0);
    assert!(!is_found(&place, "cpu-bound"));
}
