//! `diskspd monitor --histogram`: latencies as the block layer sees them, by programs in the kernel.

use serde_json::Value;
use testkit::{Mounted, Program, Running, Workplace, or_skip, skip, tool, workplace};

/// I/Os of the load being observed.
const IOS: u64 = 20_000;

/// The monitor where tracefs is mounted, in a separate mount namespace.
fn monitor(place: &Workplace, words: &str) -> Result<Program, String> {
    let unshare = tool("unshare")?;
    let mount = "mount -t tracefs tracefs /sys/kernel/tracing";
    let probe =
        place.tool(&unshare).args("-m sh -c").arg(format!("{mount} && test -e /sys/kernel/tracing/events/block")).run();
    if probe.code() != Some(0) {
        return Err(format!("tracefs cannot be mounted, or has no block events: {}", probe.stderr.trim()));
    }
    let program = place.program().display();
    Ok(place.tool(&unshare).args("-m sh -c").arg(format!("{mount} && exec {program} monitor {words}")))
}

/// True once its programs are attached to both tracepoints.
fn is_attached(monitor: &Running) -> bool {
    let entries = std::fs::read_dir(format!("/proc/{}/fd", monitor.id())).into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.filter(|link| link.to_string_lossy().contains("perf_event")).count() == 2
}

/// Requests of the lines of a table: reads and writes of each bucket.
fn rows(table: &str) -> Vec<(u64, u64)> {
    let row = |line: &str| {
        let words: Vec<&str> = line
            .split_whitespace()
            .filter(|word| !word.starts_with(['█', '▏', '▎', '▍', '▌', '▋', '▊', '▉']))
            .collect();
        // Two times with their units, then the counts.
        match words[..] {
            [_, _, _, _, reads, writes] => Some((reads.parse().ok()?, writes.parse().ok()?)),
            _ => None,
        }
    };
    table.lines().filter_map(row).collect()
}

#[test]
fn every_request_of_a_direct_run_is_counted_once() {
    let place = workplace!();
    let (mounted, target) = or_skip!(Mounted::ext4_with_file(&place));
    let device = mounted.device.as_ref().expect("it is on a loop device");
    let words = format!("{} --histogram", device.path.display());
    let mut monitor = or_skip!(monitor(&place, &words)).start();
    monitor.wait_until("programs at the tracepoints, or an end", |monitor| {
        is_attached(monitor) || monitor.stderr().contains("ERROR")
    });
    if !is_attached(&monitor) {
        skip!("{}", monitor.stderr().trim());
    }
    let load = format!("-d60 -W0 -C0 -b4K -r -o4 -w30 -Su -L --max-ios={IOS} --json r.json");
    place.diskspd(&load).arg(&target).run().expect_status(0);
    monitor.interrupt();
    let run = monitor.finish();
    run.expect_status(0);
    assert!(run.stdout.starts_with(&format!("{}, ", device.name())), "{run}");
    let counted = rows(&run.stdout);
    let document: Value = place.json("r.json");
    let total = &document["time_spans"][0]["measured"]["total"];
    let sums = counted.iter().fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    for (what, counted) in [("read", sums.0), ("write", sums.1)] {
        let ours = total[what]["ios"].as_u64().expect("a count");
        // The file system itself writes a little; two reads of one place may be in flight at once.
        assert!(counted.abs_diff(ours) <= 20 + ours / 100, "{what}: {counted} requests, {ours} I/Os");
    }
    assert!(run.stdout.contains("\n  reads: p50 <= ") && run.stdout.contains("\n  writes: p50 <= "), "{run}");
}

#[test]
fn what_is_missing_is_said() {
    let place = workplace!();
    let unshare = or_skip!(tool("unshare"));
    // A user namespace may not mount the kernel's file systems or attach programs.
    let probe = place.tool(&unshare).args("-r true").run();
    if probe.code() != Some(0) {
        skip!("no user namespaces: {}", probe.stderr.trim());
    }
    let run = place.tool(&unshare).args("-r").arg(place.program()).args("monitor --histogram -n1").run();
    run.expect_status(1).expect_stderr(&["ERROR: --histogram: "]);
    assert!(run.stderr.contains("tracefs") || run.stderr.contains("eBPF"), "{run}");
}

#[test]
fn it_is_a_table_of_its_own() {
    let place = workplace!();
    for words in ["--csv", "--jsonl", "--record r", "-o f.csv", "-c \\PhysicalDisk(*)\\%"] {
        let run = place.diskspd("monitor --histogram").args(words).run();
        run.expect_status(3);
    }
}
