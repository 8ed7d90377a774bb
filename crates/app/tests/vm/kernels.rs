//! Features that kernels differ in, and what becomes of a load without them. Each test reports how the feature was seen
//! as a row of docs/kernels.md, which is the expectation: `cargo xtask vm-test --part kernels` compares them.

use crate::disks::Disk;
use crate::machine;
use crate::tools::{DeviceSetup, Driver, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use testkit::{Argument, Denied, Finished, Mounted, Program, Workplace, io_uring, or_skip, skip};

/// Reports how a feature was seen.
fn seen(feature: &str, how: impl Into<String>) {
    println!("\n@@ seen {feature}: {}", how.into());
}

/// Notes that a kernel can be the reason of.
const NOTES: [&str; 7] = [
    "buffers_not_registered",
    "buffers_beyond_lock_limit",
    "engine_fallback",
    "alignment_assumed",
    "openers_searched_in_proc",
    "durability_unknown",
    "option_without_effect",
];

/// The first error of a program that failed; `None` if it did not.
fn error(place: &Workplace, run: &Finished) -> Option<String> {
    if run.code() == Some(0) {
        return None;
    }
    let folder = format!("{}/", place.folder().display());
    let line = run.stderr.lines().find_map(|line| line.strip_prefix("ERROR: "));
    let line = line.unwrap_or_else(|| panic!("it failed without an error: {run}"));
    // Debian's number of a build changes with each of its updates.
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a version");
    let series: Vec<&str> = release.trim().split('.').take(2).collect();
    let line = line.replace(&folder, "").replace(release.trim(), &series.join("."));
    Some(format!("status {}: {line}", run.code().unwrap_or(-1)))
}

/// Options of every load. They come before its target.
const LOAD: &str = "-d60 -W0 --json=r.json --replace-output";

/// The engine of a load and the notes on it, or its error.
fn load(place: &Workplace, program: Program) -> String {
    went(place, &program.run())
}

fn went(place: &Workplace, run: &Finished) -> String {
    error(place, run).unwrap_or_else(|| engines_and(place, &NOTES))
}

/// The engines of the last load, and these notes.
fn engines_and(place: &Workplace, notes: &[&str]) -> String {
    let document: Value = place.json("r.json");
    let span = &document["time_spans"][0];
    let engines = span["engines"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let all = [&document["notes"], &document["plan"]["notes"], &span["notes"]]
        .into_iter()
        .filter_map(Value::as_array)
        .flatten();
    let these = all.filter(|note| notes.iter().any(|name| note["note"] == *name));
    let messages = these.filter_map(|note| note["message"].as_str());
    let folder = format!("{}/", place.folder().display());
    engines.chain(messages).map(|text| text.replace(&folder, "")).collect::<Vec<_>>().join("; ")
}

/// A load of some reads and writes on a file of its own.
fn on_file(place: &Workplace, words: &str) -> String {
    load(place, place.diskspd(LOAD).args("-c1M -b4K -r -w50 --max-ios=64").args(words).arg("a.dat"))
}

/// The same under a filter of system calls.
fn on_file_without(place: &Workplace, words: &str, denied: &[Denied], errno: u32) -> Result<String, String> {
    let program = place.diskspd(LOAD).args("-c1M -b4K -r -w50 --max-ios=64").args(words);
    Ok(went(place, &program.arg("a.dat").start_without(denied, errno)?.finish()))
}

/// A result's value by its path, such as `/targets/0/facts`, of the last load.
fn value(place: &Workplace, path: &str) -> Value {
    place.json::<Value>("r.json").pointer(path).cloned().unwrap_or(Value::Null)
}

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;
const NO_IO_URING: [Denied; 3] =
    [Denied::always(io_uring::SETUP), Denied::always(io_uring::ENTER), Denied::always(io_uring::REGISTER)];
const STATX: i64 = 332;
const IO_SETUP: i64 = 206;
const OPENAT2: i64 = 437;

const fn registration(operation: u64) -> Denied {
    Denied { call: io_uring::REGISTER, only: Some(Argument { number: 1, mask: u32::MAX as u64, value: operation }) }
}

#[test]
fn engines() {
    let place = machine!();
    seen("engine, -Su -o1", on_file(&place, "-Su -o1"));
    seen("engine, -Su -o8", on_file(&place, "-Su -o8"));
    seen("io_uring set-up", engines_and(&place, &["ring_flags_reduced"]));
    seen("engine, -o8 through the page cache", on_file(&place, "-o8"));
    for engine in ["io_uring", "aio", "sync"] {
        seen(&format!("--engine={engine} -o8"), on_file(&place, &format!("-Su -o8 --engine={engine}")));
    }
    seen("-Sm (mapped)", on_file(&place, "-Sm"));
    seen("--sqpoll", on_file(&place, "-Su -o8 --sqpoll"));
    seen("io_uring set-up, --sqpoll", engines_and(&place, &["ring_flags_reduced"]));
    seen("-u", on_file(&place, "-Su -o8 -u"));
    fs::write("/proc/sys/vm/nr_hugepages", "8").expect("root may");
    seen("-l", on_file(&place, "-Su -o8 -l"));
    fs::write("/proc/sys/vm/nr_hugepages", "0").expect("root may");
}

#[test]
fn io_uring_forbidden_by_a_filter() {
    let place = machine!();
    let without = |words: &str, errno| on_file_without(&place, words, &NO_IO_URING, errno);
    seen("io_uring filtered (EPERM)", or_skip!(without("-Su -o8", EPERM)));
    seen("io_uring filtered (ENOSYS)", or_skip!(without("-Su -o8", ENOSYS)));
    seen("io_uring filtered, --engine=io_uring", or_skip!(without("-Su -o8 --engine=io_uring", EPERM)));
    let both = [&NO_IO_URING[..], &[Denied::always(IO_SETUP)]].concat();
    seen("io_uring and Linux AIO filtered", or_skip!(on_file_without(&place, "-Su -o8", &both, ENOSYS)));
    let buffers = [registration(0)];
    seen("registered buffers filtered", or_skip!(on_file_without(&place, "-Su -o8", &buffers, EPERM)));
}

#[test]
fn io_uring_forbidden_by_sysctl() {
    let place = machine!();
    let switch = Path::new("/proc/sys/kernel/io_uring_disabled");
    if !switch.exists() {
        seen("kernel.io_uring_disabled=2", "no such sysctl");
        return;
    }
    fs::write(switch, "2").expect("root may");
    let outcomes = ["-Su -o8", "-Su -o8 --engine=io_uring"].map(|words| on_file(&place, words));
    fs::write(switch, "0").expect("root may");
    seen("kernel.io_uring_disabled=2", &outcomes[0]);
    seen("kernel.io_uring_disabled=2, --engine=io_uring", &outcomes[1]);
}

#[test]
fn little_memory_may_be_locked() {
    let place = machine!();
    fs::set_permissions(place.folder(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("our own");
    let script = "ulimit -l 64; exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$0\" \"$@\"";
    let as_nobody = |words: &str| {
        let program = place.tool("sh").arg("-c").arg(script).arg(place.program());
        load(&place, program.args(LOAD).args("-c1M -b4K -r -w50 --max-ios=64").args(words).arg("b.dat"))
    };
    seen("ulimit -l 64, -o8", as_nobody("-Su -o8"));
    seen("ulimit -l 64, -b64K -o32", as_nobody("-Su -b64K -o32"));
}

#[test]
fn alignment_of_direct_io() {
    let place = machine!();
    let read_alignment = |name: &str| {
        // The alignment of a file that is not there yet is that of its directory's file system.
        place.create_file(name, "-c1M");
        let outcome = load(&place, place.diskspd(LOAD).args("-b4K -r --max-ios=8 -Su").arg(name));
        let direct = value(&place, "/targets/0/facts/kind/regular/direct_io");
        if outcome.starts_with("status") { outcome } else { direct.to_string().replace('"', "") }
    };
    seen("direct I/O, ext4", read_alignment("ext4.dat"));
    let _memory = or_skip!(Mounted::tmpfs(&place, "memory", "8M"));
    seen("direct I/O, tmpfs", read_alignment("memory/a.dat"));
    for (name, call) in [("statx", STATX), ("openat2", OPENAT2)] {
        let filtered = on_file_without(&place, "-Su -o8", &[Denied::always(call)], ENOSYS);
        seen(&format!("{name} filtered (ENOSYS)"), or_skip!(filtered));
        fs::remove_file(place.path("a.dat")).expect("it was created");
    }
    let odd = place.diskspd("-c1M -d1 -W0 -b520 -Su a.dat").run();
    seen("-Su -b520", error(&place, &odd).unwrap_or_else(|| "no error".to_owned()));
}

#[test]
fn flags_of_ios() {
    let place = machine!();
    seen("--dontcache, ext4", on_file(&place, "-o4 --dontcache"));
    seen("--atomic, ext4 on virtio", on_file(&place, "-Su --atomic"));
    let disk = Disk::plain(0).blank();
    let flag = disk.flag(&place);
    let on_disk = |words: &str| {
        let program = place.diskspd(LOAD).args("-r -o4 --max-ios=64").arg(&flag).args(words);
        load(&place, program.arg(&disk.path)).replace(&disk.path.display().to_string(), "nvme")
    };
    seen("--atomic -b512, NVMe", on_disk("-b512 -w100 -Su --atomic"));
    for more in ["-un1", "--engine=sync"] {
        seen(&format!("--atomic -b512 {more}, NVMe"), on_disk(&format!("-b512 -w100 -Su --atomic {more}")));
    }
    seen("--discard, NVMe", on_disk("-b64K -w50 -Su --discard=50"));
    seen("--discard, NVMe, --engine=sync", on_disk("-b64K -w50 -Su --discard=50 --engine=sync"));
    seen("--write-zeroes, NVMe", on_disk("-b64K -w50 -Su --write-zeroes=50"));
    seen("--iopoll, NVMe without poll queues", on_disk("-b4K -Su --iopoll"));
    seen("-Sh, NVMe", on_disk("-b4K -w100 -Sh"));
    seen("--discard, file", on_file(&place, "-Su -o4 --discard=50 --overwrite"));
    seen("--write-zeroes, file", on_file(&place, "-Su -o4 --write-zeroes=50"));
    seen(
        "--append",
        load(&place, place.diskspd(LOAD).args("-b4K -w100 --max-ios=64 --append=1M --fdatasync-every=1 log")),
    );
    seen("--cold", on_file(&place, "--cold"));
    seen("-I1", on_file(&place, "-Su -o8 -I1"));
}

#[test]
fn polled_completions() {
    let place = machine!();
    let _polled = or_skip!(Driver::with(&place, "nvme", "poll_queues=2"));
    let disk = Disk::plain(0).blank();
    seen(
        "--iopoll, NVMe with poll queues",
        load(&place, place.diskspd(LOAD).args("-r -o4 -b4K -Su --iopoll --max-ios=64").arg(&disk.path)),
    );
}

/// "yes" if a value of the kernel's counters is in the result.
fn is_there(value: &Value) -> &'static str {
    if value.is_null() { "no" } else { "yes" }
}

#[test]
fn counters() {
    let place = machine!();
    let outcome = on_file(&place, "-w100 -o1");
    assert!(outcome.starts_with("sync"), "{outcome}");
    let counters = value(&place, "/time_spans/0/kernel_counters/after");
    let device = counters["devices"].as_object().and_then(|devices| devices.values().next()).expect("a disk");
    seen("counters of flushes", is_there(&device["flush"]));
    seen("counters of discards", is_there(&device["discard"]));
    seen("counter of CPU throttling", is_there(&counters["cpu_limit"]));
    seen("dirty pages of the target (cachestat)", is_there(&counters["dirty_of_targets"]));
    let shown = place.diskspd("monitor vda -n1 -i100ms --jsonl").run();
    shown.expect_status(0);
    let line: Value = shown.stdout.lines().rev().find_map(|line| serde_json::from_str(line).ok()).expect("JSON lines");
    let device = &line["devices"]["vda"];
    seen("monitor, flushes and discards", format!("{}, {}", is_there(&device["flush"]), is_there(&device["discard"])));
}

#[test]
fn bpf() {
    let place = machine!();
    let _traced = DeviceSetup::by(&place, "mount -t tracefs none /sys/kernel/tracing", "umount /sys/kernel/tracing");
    let shown = place.diskspd("monitor --histogram -n1 -i100ms vda").run();
    seen("monitor --histogram", error(&place, &shown).unwrap_or_else(|| "yes".to_owned()));
    let events =
        place.diskspd("-c1M -b4K -w100 -Su -d60 -W0 --max-ios=64 -eDISK_IO --json=r.json --replace-output a.dat").run();
    let outcome =
        error(&place, &events).unwrap_or_else(|| is_there(&place.span_result("r.json")["kernel_events"]).to_owned());
    seen("-eDISK_IO", outcome);
}

/// The row of a check: its result and what was found.
fn checked(stdout: &str, check: &str) -> Option<String> {
    let row = stdout.lines().find(|line| line.split_whitespace().nth(1) == Some(check))?;
    row.split_whitespace().next().map(str::to_owned)
}

#[test]
fn checks_and_devices() {
    let place = machine!();
    place.create_file("a.dat", "-c1M");
    let checks = place.diskspd("check a.dat").run();
    let unknown: Vec<&str> = checks
        .stdout
        .lines()
        .filter(|line| line.starts_with("unknown "))
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    seen("check, unknown", unknown.join(", "));
    let disk = Disk::plain(0);
    let checks = place.diskspd("check").arg(&disk.path).run();
    let smart = checked(&checks.stdout, "smart").unwrap_or_else(|| panic!("no such check: {checks}"));
    seen("check, health log of NVMe", smart);
    let listed = place.diskspd("devices --json").run();
    listed.expect_status(0);
    let devices: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let paths = place.diskspd("devices").run().stdout.lines().filter(|line| line.contains("nvme path")).count();
    seen("devices, disks and NVMe paths", format!("{}, {paths}", devices.as_array().map_or(0, Vec::len)));
}

#[test]
fn verification_and_signals() {
    let place = machine!();
    let verified = on_file(&place, "-Su -o8 --verify");
    let read = place.diskspd("verify a.dat").run();
    seen("--verify, then verify", error(&place, &read).unwrap_or(verified));
    let disk = Disk::plain(0).blank();
    let mut running =
        place.diskspd("-v -d600 -W0 -b4K -r -o8 -Su --json=r.json --replace-output").arg(&disk.path).start();
    running.wait_for_stderr("starting measurements");
    running.wait_for_ios();
    running.interrupt();
    let ended = running.finish();
    let ios = value(&place, "/time_spans/0/measured/total/total/ios").as_u64().unwrap_or(0);
    seen(
        "Ctrl+C",
        format!("status {}, {}", ended.code().unwrap_or(-1), if ios > 0 { "partial results" } else { "no results" }),
    );
}

#[test]
fn control_groups() {
    let place = machine!();
    place.create_file("a.dat", "-c1M");
    let top = "/sys/fs/cgroup";
    let inside = |folder: &str, words: &str| {
        let script = format!("echo $$ > {folder}/cgroup.procs && exec \"$0\" \"$@\"");
        place.tool("sh").arg("-c").arg(script).arg(place.program()).args(words)
    };
    let limits = |folder: &str| {
        let shown = inside(folder, "check a.dat").run();
        let found = checked(&shown.stdout, "cgroup-limits").unwrap_or_else(|| panic!("no such check: {shown}"));
        let outcome = load(&place, inside(folder, LOAD).args("-c1M -b4K -r -w50 --max-ios=64 -Su -o8 a.dat"));
        let left = is_there(&value(&place, "/system/memory/cgroup_left_bytes"));
        let throttled = is_there(&value(&place, "/time_spans/0/kernel_counters/after/cpu_limit"));
        format!("check cgroup-limits: {found}; memory limit: {left}; CPU limit: {throttled}; {outcome}")
    };
    {
        let _unified =
            or_skip!(DeviceSetup::by(&place, &format!("mount -t cgroup2 none {top}"), &format!("umount {top}")));
        let own = format!("{top}/row");
        let make = format!(
            "echo '+cpu +memory' > {top}/cgroup.subtree_control && mkdir {own} && echo '150000 100000' > {own}/cpu.max \
             && echo 256M > {own}/memory.max"
        );
        let unmake = format!("rmdir {own} && echo '-cpu -memory' > {top}/cgroup.subtree_control");
        let _group = or_skip!(DeviceSetup::by(&place, &make, &unmake));
        seen("cgroup v2, limits of CPU and memory", limits(&own));
    }
    // As systemd mounted it, with a hierarchy for each controller.
    let mount = format!("mount -t tmpfs none {top} && mkdir {top}/cpu && mount -t cgroup -o cpu none {top}/cpu");
    let feature = "cgroup v1, limit of CPU";
    if place.tool("sh").arg("-c").arg(&mount).run().code() != Some(0) {
        or_skip!(run(&place, &format!("umount {top}")));
        seen(feature, "no such controller");
        return;
    }
    let own = format!("{top}/cpu/row");
    let make = format!("mkdir {own} && echo 150000 > {own}/cpu.cfs_quota_us");
    let _mounted = or_skip!(DeviceSetup::by(&place, "true", &format!("umount {top}/cpu && umount {top}")));
    let _group = or_skip!(DeviceSetup::by(&place, &make, &format!("rmdir {own}")));
    seen(feature, limits(&own));
}

#[test]
fn version() {
    let place = machine!();
    let shown = place.diskspd("--version").run();
    shown.expect_status(0);
    let features = shown.stdout.lines().filter_map(|line| line.trim().split_once(": "));
    let features = features.filter(|(name, _)| ["io_uring", "Linux AIO"].contains(name));
    let features: Vec<String> = features.map(|(name, has)| format!("{name} {has}")).collect();
    if features.is_empty() {
        skip!("this kernel has neither");
    }
    seen("--version", features.join(", "));
}
