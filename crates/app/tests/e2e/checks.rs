//! `diskspd check`: its findings on real files and devices, which it does not change.

use model::check::Workload;
use serde_json::Value;
use std::fs::{File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use testkit::{Finished, LoopDevice, Mounted, Workplace, is_root, or_skip, workplace};

/// The findings of one check, from the file that `--json c.json` wrote.
fn findings(place: &Workplace, check: &str) -> Vec<Value> {
    let document: Value = place.json("c.json");
    let findings = document["findings"].as_array().expect("a list of findings").clone();
    findings.into_iter().filter(|finding| finding["check"] == check).collect()
}

/// Its lines, each as its first two words, and the number of lines.
fn has_row(run: &Finished, outcome: &str, check: &str) -> bool {
    run.stdout.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(outcome) && words.next() == Some(check)
    })
}

// Shows check: target
// Shows check: space
#[test]
fn a_file_is_checked_and_what_fails_is_the_exit_status() {
    let place = workplace!();
    let file = place.create_file("a.dat", "-c1M");
    let before = std::fs::metadata(&file).expect("a file").modified().expect("a time");
    let run = place.diskspd("check a.dat --json c.json").run();
    run.expect_status(0);
    assert!(has_row(&run, "pass", "target") && has_row(&run, "pass", "space"), "{run}");
    assert_eq!(findings(&place, "target")[0]["subject"], "a.dat");
    // All checks but those for SQL Server have an outcome.
    for rule in rules::check::rules(Workload::Sql) {
        let is_for_sql = rules::check::rules_of(Workload::Sql).iter().any(|other| other.name == rule.name);
        assert_eq!(findings(&place, rule.name).is_empty(), is_for_sql, "{}", rule.name);
    }
    assert_eq!(std::fs::metadata(&file).expect("a file").modified().expect("a time"), before);
    for words in ["check -c900000T -t8 a.dat", "check -- -c900000T -t8 a.dat"] {
        let run = place.diskspd(words).run();
        run.expect_status(4)
            .expect_told(&["no space for 'a.dat'"])
            .expect_stdout(&["What to do:\n  fail space of targets: "]);
    }
    place.diskspd("check nowhere.dat").run().expect_status(4).expect_told(&["it does not exist"]);
    place.diskspd("check -c1M nowhere.dat").run().expect_status(0);
    assert!(!Path::new(&place.path("nowhere.dat")).exists());
    place.diskspd("check a.dat --json a.dat").run().expect_status(3).expect_stderr(&["a target of this check"]);
    place.diskspd("check").run().expect_status(3).expect_stderr(&["no target given"]);
}

// Shows check: sql-file-system
#[test]
fn what_sql_server_asks_is_asked_on_request() {
    let place = workplace!();
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "4M"));
    File::create(memory.path.join("a.dat")).expect("a file");
    let run = place.diskspd("check --for sql --json c.json memory/a.dat").run();
    run.expect_status(4).expect_narrow().expect_told(&["tmpfs; SQL Server supports only XFS and ext4"]);
    for check in ["fua", "read-ahead", "sector-size"] {
        assert_eq!(findings(&place, check)[0]["outcome"], "unknown", "{check}");
    }
    assert_eq!(findings(&place, "access-times")[0]["outcome"], "warn");
}

// Shows check: file-system-errors
#[test]
fn a_file_system_on_a_loop_device_is_looked_into() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::ext4(&place, "disk", 16 << 20));
    File::create(mounted.path.join("a.dat")).expect("a file");
    let run = place.diskspd("check -c1M --for sql --json c.json disk/a.dat").run();
    assert_eq!(findings(&place, "file-system-errors")[0]["outcome"], "pass", "{run}");
    assert_eq!(findings(&place, "sql-file-system")[0]["outcome"], "pass", "{run}");
    assert_eq!(findings(&place, "copy-on-write")[0]["found"], "ext4 writes in place, uncompressed");
    or_skip!(mounted.remount("ro"));
    let run = place.diskspd("check disk/a.dat").run();
    run.expect_status(0).expect_narrow().expect_told(&["mounted read-only"]);
    place.diskspd("check -c1M disk/b.dat").run().expect_status(4).expect_told(&["mounted read-only"]);
}

// Shows check: timers
#[test]
fn scheduled_jobs_are_those_in_the_time_of_the_load() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let timer = |unit: &str, in_s: u64| {
        format!(r#"{{"next":{},"unit":"{unit}.timer","activates":"{unit}.service"}}"#, (now + in_s) * 1_000_000)
    };
    let list = [timer("restic-home", 2 * 3600 + 1800), timer("restic-log", 6 * 3600)].join(",");
    let systemctl = place.file("systemctl", format!("#!/bin/sh\necho '[{list}]'\n").as_bytes());
    std::fs::set_permissions(&systemctl, Permissions::from_mode(0o755)).expect("its owner may");
    let path = format!("{}:/usr/bin:/bin", place.folder().display());
    let outcome = |words: &str| {
        let run = place.diskspd(&format!("check --json c.json {words} a.dat")).env("PATH", &path).run();
        run.expect_status(0).expect_narrow();
        // The machine's own cron has others.
        let about = |finding: &&Value| finding["found"].as_str().is_some_and(|found| found.contains("restic-home"));
        findings(&place, "timers").iter().find(about).map(|finding| finding["outcome"].clone())
    };
    assert_ne!(outcome(""), Some("warn".into()));
    assert_eq!(outcome("--for-duration 3h"), Some("warn".into()));
    assert_eq!(outcome("-d10800"), Some("warn".into()));
    assert_ne!(outcome("-d10800 --for-duration 2h"), Some("warn".into()));
}

// Shows check: space
#[test]
fn a_file_system_must_hold_every_copy() {
    let place = workplace!();
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "4M"));
    File::create(memory.path.join("a.dat")).expect("a file");
    place.diskspd("check -c3M memory/a.dat").run().expect_status(0);
    let run = place.diskspd("check -c3M --copies 2 memory/a.dat").run();
    run.expect_status(4).expect_narrow().expect_told(&["no space for 'memory/a.dat' (2 copies): 6MiB needed"]);
}

// Shows check: cache-size
#[test]
fn a_file_that_fits_into_the_page_cache_below_a_loop_device_warns() {
    let place = workplace!();
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "16M"));
    let image = memory.path.join("disk.img");
    File::create(&image).and_then(|file| file.set_len(8 << 20)).expect("a sparse file");
    let device = or_skip!(LoopDevice::over(&place, &image));
    let run = place.diskspd("check --json c.json").arg(&device.path).run();
    run.expect_narrow();
    let found = findings(&place, "cache-size").swap_remove(0);
    assert_eq!(found["outcome"], "warn", "{run}");
    assert!(found["found"].as_str().is_some_and(|text| text.contains("the page cache below")), "{run}");
}

#[test]
fn the_rated_limit_that_the_load_meets_first_is_named() {
    let place = workplace!();
    let run = place.diskspd("check --expect volume-iops=3000,vm-iops=9000 -c1M -r -b4K a.dat").run();
    run.expect_status(0).expect_stdout(&["Expectation: lowest limit is the volume's 3,000 IOPS"]);
    place.file("mine.dat", b"something");
    let run = place.diskspd("check --expect volume-iops=3000 -w100 mine.dat").run();
    run.expect_stdout(&["Expectation: unknown, as the load cannot run: "]);
}

// Shows check: network
// Shows check: lun-count
#[test]
fn a_local_file_needs_no_network_and_a_database_several_luns() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    place.diskspd("check --for sql --json c.json a.dat").run().expect_narrow();
    assert_eq!(findings(&place, "network")[0]["found"], "no target is on a share or a network disk");
    assert_eq!(findings(&place, "lun-count")[0]["subject"], "a.dat");
}

// Shows check: other-io
#[test]
fn others_who_use_the_device_are_seen() {
    let place = workplace!();
    // In memory, so that no disk is below it and the loop device itself is watched.
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "16M"));
    let image = memory.path.join("disk.img");
    File::create(&image).and_then(|file| file.set_len(8 << 20)).expect("a sparse file");
    let device = or_skip!(LoopDevice::over(&place, &image));
    let quiet = place.diskspd("check --json c.json").arg(&device.path).run();
    quiet.expect_status(0);
    assert_eq!(findings(&place, "other-io")[0]["outcome"], "pass", "{quiet}");
    let ends = AtomicBool::new(false);
    let (begun, begins) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let disk = File::options().write(true).open(&device.path).expect("root may open it");
            while !ends.load(Ordering::Relaxed) {
                disk.write_all_at(&vec![7; 1 << 20], 0).expect("room");
                disk.sync_data().expect("synced");
                // Only the first signal is received.
                let _ = begun.send(());
            }
        });
        begins.recv().expect("it writes");
        let run_check = || {
            let run = place.diskspd("check --json c.json").arg(&device.path).run();
            (findings(&place, "other-io").swap_remove(0), run)
        };
        let (mut found, mut busy) = run_check();
        // A busy machine may have kept the writer from writing during the check.
        for _ in 0..10 {
            if found["outcome"] == "warn" {
                break;
            }
            (found, busy) = run_check();
        }
        ends.store(true, Ordering::Relaxed);
        busy.expect_status(0);
        assert_eq!(found["outcome"], "warn", "{busy}");
        assert_eq!(found["subject"], device.name().as_str());
    });
}

// Shows switches: --hold-latency
#[test]
fn processors_are_kept_awake_for_the_whole_run_where_that_is_allowed() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let mut run = place.diskspd("-d600 -W0 -b4K -v --hold-latency a.dat").start();
    run.wait_for_stderr("starting measurements");
    let door = Path::new("/dev/cpu_dma_latency");
    let held = run.descriptors_of(door).len();
    run.interrupt();
    let finished = run.finish();
    finished.expect_status(0);
    if held == 1 {
        finished.expect_stdout(&["NOTE: CPUs were kept out of idle states for the whole run (--hold-latency)"]);
    } else {
        assert!(!is_root() || !door.exists(), "root could have held it: {finished}");
        finished
            .expect_stdout(&["NOTE: CPUs could not be kept out of idle states (--hold-latency): /dev/cpu_dma_latency"]);
    }
}
