//! Machines and containers with tight limits: a run continues and reports the restrictions, or reports why it cannot
//! run.

use std::fs;
use testkit::{
    Argument, Cgroup, Denied, Finished, Mounted, Program, Report, Workplace, io_uring, is_root, nobody_can_run,
    or_skip, skip, tool, workplace,
};

/// The beginning of the report's note on a pause of the process.
const PAUSED: &str = "NOTE: the process did not run for ";

/// The text of a report without results.
const NOTHING: &str = "The test failed before the measurements began. No results are displayed.";

/// Operations of `io_uring_register`, and a flag of `io_uring_enter` (`include/uapi/linux/io_uring.h`).
const REGISTER_BUFFERS: u64 = 0;
const REGISTER_FILES: u64 = 2;
const EXT_ARG: u64 = 1 << 3;

const EPERM: u32 = 1;
const EINVAL: u32 = 22;
const ENOSYS: u32 = 38;
const EAGAIN: u32 = 11;

/// `io_setup`.
const IO_SETUP: i64 = if cfg!(target_arch = "x86_64") { 206 } else { 0 };

/// A complete run in which these system calls return an error.
fn run_without(program: Program, denied: &[Denied], errno: u32) -> Result<Finished, String> {
    Ok(program.start_without(denied, errno)?.finish())
}

/// All of `io_uring`, as Docker's default profile denies it.
const NO_IO_URING: [Denied; 3] =
    [Denied::always(io_uring::SETUP), Denied::always(io_uring::ENTER), Denied::always(io_uring::REGISTER)];

/// `io_uring_register` with this operation.
const fn registration(operation: u64) -> Denied {
    let mask = u32::MAX as u64;
    Denied { call: io_uring::REGISTER, only: Some(Argument { number: 1, mask, value: operation }) }
}

/// The program, started by a shell script.
fn after(place: &Workplace, script: &str) -> Program {
    let script = format!("{script}; exec \"$0\" \"$@\"");
    place.tool("sh").arg("-c").arg(script).arg(place.program())
}

/// Refused before anything was touched: prints the reasons, and nothing else.
fn impossible(run: &Finished, parts: &[&str]) {
    run.expect_status(1).expect_stderr(parts);
    assert_eq!(run.stdout, "", "{run}");
}

/// Started, and ended by an error before anything was measured.
fn failed(run: &Finished, parts: &[&str]) {
    run.expect_status(1).expect_stderr(parts).expect_stderr(&["Error generating I/O requests"]);
    run.expect_stdout(&[NOTHING]);
}

// Shows faults: io_uring_setup answers EPERM or ENOSYS (seccomp, sysctl, old kernel)
#[test]
fn without_io_uring_aio_takes_its_place_and_the_result_says_why() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    for (errno, answer) in [(EPERM, "EPERM"), (ENOSYS, "ENOSYS")] {
        for words in ["-o8 -t2", "-o8 -w50", "-o8 -g8192"] {
            let program = place.short_run("-b4K").args(words).arg("a.dat");
            let run = or_skip!(run_without(program, &NO_IO_URING, errno));
            run.expect_status(0).expect_stdout(&["using Linux AIO", "NOTE: Linux AIO is used instead of io_uring:"]);
            run.expect_stdout(&[&format!("io_uring_setup returned {answer}"), "seccomp filter of a container"]);
            assert!(Report::parse(&run.stdout).total.sum.ios > 0, "{run}");
        }
        // One outstanding I/O needs neither.
        let run = or_skip!(run_without(place.short_run("-b4K -o1 -t2 a.dat"), &NO_IO_URING, errno));
        run.expect_status(0);
        assert!(!run.stdout.contains("NOTE: Linux AIO"), "{run}");
        // An engine named explicitly is not replaced.
        for words in ["-o8 -u", "-o8 --engine io_uring"] {
            let program = place.short_run("-b4K").args(words).arg("a.dat");
            impossible(&or_skip!(run_without(program, &NO_IO_URING, errno)), &["io_uring was requested", answer]);
        }
    }
}

// Shows faults: Neither io_uring nor Linux AIO is available
#[test]
fn without_io_uring_and_aio_several_requests_are_refused_before_anything_is_created() {
    let place = workplace!();
    let both = [&NO_IO_URING[..], &[Denied::always(IO_SETUP)]].concat();
    let run = or_skip!(run_without(place.short_run("-b4K -o8 -c1M -w50 a.dat"), &both, ENOSYS));
    impossible(
        &run,
        &["need io_uring or Linux AIO, and neither is available: io_uring_setup returned ENOSYS", "io_setup"],
    );
    assert!(!place.path("a.dat").exists());
    let run = or_skip!(run_without(place.short_run("-b4K -o8 -c1M --engine=aio a.dat"), &both, ENOSYS));
    impossible(&run, &["Linux AIO was requested (--engine) but is not available"]);
    or_skip!(run_without(place.short_run("-b4K -o1 -t2 -c1M -w50 a.dat"), &both, ENOSYS)).expect_status(0);
}

// Shows faults: Files cannot be registered, or a ring can be created but not used
#[test]
fn a_ring_that_may_be_made_but_not_used_is_an_error() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let program = || place.diskspd("-d2 -W0 -b4K -o8 a.dat");
    let run = or_skip!(run_without(program(), &[Denied::always(io_uring::ENTER)], EPERM));
    run.expect_status(1).expect_stderr(&["io_uring failed: Operation not permitted (errno 1)"]);
    let run = or_skip!(run_without(program(), &[registration(REGISTER_FILES)], EINVAL));
    failed(&run, &["thread 0: cannot set up io_uring: "]);
}

// Shows faults: Buffers cannot be registered
#[test]
fn buffers_that_cannot_be_registered_are_used_all_the_same() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    for errno in [EINVAL, EPERM] {
        let program = place.short_run("-b4K -o8 -w30 a.dat");
        let run = or_skip!(run_without(program, &[registration(REGISTER_BUFFERS)], errno));
        run.expect_status(0).expect_stdout(&["using io_uring", "NOTE: I/O buffers are not registered with io_uring:"]);
        let report = Report::parse(&run.stdout);
        assert!(report.read.sum.ios > 0 && report.write.sum.ios > 0, "{run}");
    }
}

/// Threads used to register their buffers while others had no ring yet, which then had no memory left: one of three
/// such runs ended with "Cannot allocate memory".
// Shows faults: Rings and buffers exceed the limit on locked memory
#[test]
fn rings_come_before_buffers_where_little_memory_may_be_locked() {
    let place = workplace!();
    let nobody = or_skip!(nobody_can_run(&place));
    let prlimit = or_skip!(tool("prlimit"));
    let path = place.file("roots.dat", &vec![1; 1 << 20]);
    let run = |words: &str| {
        let limited = place.tool(&prlimit).args("--memlock=8388608:8388608").args(&nobody).arg(place.program());
        limited.args("-d600 -W0 -w0 -r --engine=io_uring").args(words).arg(&path).run()
    };
    for _ in 0..3 {
        for (threads, block) in [(64, "64K"), (512, "8K")] {
            let ios = 20 * threads;
            let run = run(&format!("-t{threads} -o8 -b{block} --max-ios={ios}"));
            run.expect_status(0);
            let notes: Vec<&str> = run.stdout.lines().filter(|line| line.contains("not registered")).collect();
            let [note] = notes[..] else { panic!("one note: {run}") };
            for part in [
                &format!("of {threads} threads are not registered with io_uring: rings and buffers need ")[..],
                "MiB of locked memory, and all processes of this user together may lock 8MiB; raise the limit with ulimit -l ",
            ] {
                assert!(note.contains(part), "{note}");
            }
        }
    }
    // Rings count as locked memory before Linux 5.12 and since 6.14.
    let too_many = run("-t300 -o400 -b512 --max-ios=9");
    if too_many.code() != Some(0) {
        too_many.expect_status(1).expect_stderr(&["the rings of 300 threads may need ", "(ulimit -l)"]);
    }
}

// Shows faults: The kernel's io_uring has no wait with a timeout (before 5.11)
#[test]
fn a_kernel_that_takes_no_deadlines_with_a_wait_keeps_rates_and_ends_in_time() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    // Kernels before 5.11 do not know it.
    let denied = Denied { call: io_uring::ENTER, only: Some(Argument { number: 3, mask: EXT_ARG, value: EXT_ARG }) };
    for words in ["-o4 -g400", "-o4 -u2 -g400", "-o4 -i1 -j10"] {
        let program = place.diskspd("-d2 -W0 -b4K").args(words).arg("a.dat");
        let run = or_skip!(run_without(program, &[denied], EINVAL));
        run.expect_status(0);
        let report = Report::parse(&run.stdout);
        assert!(report.seconds >= 1.99, "{run}");
        // 100 a second; or one burst each 10 ms at most.
        let (ios, most) = (report.total.sum.ios, 100.0 * report.seconds + 6.0);
        assert!(ios as f64 <= most, "{words}: {ios} I/Os\n{run}");
        // A process that is stalled for the whole time does nothing.
        assert!(ios > 0 || run.stdout.contains(PAUSED), "{words}\n{run}");
    }
}

// Shows faults: The limit of open files is low
#[test]
fn the_limit_of_open_files_is_raised_or_named() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    // The soft limit is only a default.
    let run = after(&place, "ulimit -S -n 64").args("-d1 -W0 -b4K -r -t40 -o2 a.dat").run();
    run.expect_status(0);
    // 16 threads with a target and a ring each, and the descriptors of the process itself.
    let run = after(&place, "ulimit -n 64").args("-d1 -W0 -b4K -r -t16 -o2 a.dat").run();
    run.expect_status(0);
    assert!(Report::parse(&run.stdout).total.rows.iter().all(|row| row.bytes % 4096 == 0), "{run}");
    let run = after(&place, "ulimit -n 64").args("-d1 -W0 -b4K -r -t17 -o2 a.dat").run();
    impossible(
        &run,
        &["17 threads, each opening its own targets, need 66 open files; the limit of this process is 64"],
    );
}

// Shows faults: The limit of the stack is low (ulimit -s 64)
/// The main thread used to overflow 64 KiB in all commands but the simplest.
#[test]
fn a_small_stack_is_enough_for_every_command() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let profile = place.diskspd("-Rpxml -d1 -W0 -b4K a.dat").run().stdout;
    place.file("p.xml", profile.as_bytes());
    for words in [
        "--help",
        "-d1 -W0 -b4K -t2 -L --verify --json r.json a.dat",
        "-Xp.xml",
        "report r.json --output r.html",
        "compare r.json r.json",
        "check a.dat",
        "verify a.dat",
        "preset show sql --toml",
    ] {
        let run = after(&place, "ulimit -s 64").args(words).run();
        assert!(!run.stderr.contains("overflow") && run.code().is_some_and(|code| code < 128), "{words}\n{run}");
    }
}

// Shows faults: The limit of the address space is low (ulimit -v)
#[test]
fn a_small_address_space_is_an_error() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let within = |kib: u64| after(&place, &format!("ulimit -v {kib}")).args("-d1 -W0 -b4K --plan a.dat").run();
    // The minimum that the kernel and the loader accept.
    let (mut too_little, mut enough) = (2048, 1 << 21);
    while enough - too_little > 256 {
        let kib = u64::midpoint(too_little, enough);
        let is_started = matches!(within(kib).code(), Some(0 | 1));
        *(if is_started { &mut enough } else { &mut too_little }) = kib;
    }
    let refusal = ["ERROR: the address space (ulimit -v) is limited to ", "less than 2048 KiB of it is left"];
    within(enough).expect_status(1).expect_stderr(&refusal);
    for kib in (enough..enough + 8192).step_by(1024) {
        let run = within(kib);
        assert!(run.code() == Some(0) || run.expect_status(1).stderr.contains(refusal[0]), "{kib}: {run}");
    }
}

// Shows faults: 64 threads with 4096 requests each
#[test]
fn a_quarter_of_a_million_requests_run() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    // All of them, and the I/Os that start when one of them has completed.
    let run = place.diskspd("-d60 -W0 -b512 -r -t64 -o4096 --max-ios=300000 a.dat").run();
    run.expect_status(0);
    let report = Report::parse(&run.stdout);
    assert_eq!(report.total.rows.len(), 64);
    assert!(report.total.sum.ios > 0 && report.total.sum.bytes == report.total.sum.ios * 512, "{run}");
    // AIO has a limit for the whole machine, 65536 by default. It is not exhausted here, as other tests need requests.
    let program = place.diskspd("-d1 -W0 -b512 -r -t64 -o4096 -x a.dat");
    let run = or_skip!(run_without(program, &[Denied::always(IO_SETUP)], EAGAIN));
    failed(&run, &["cannot set up Linux AIO: ", "sysctl fs.aio-max-nr"]);
}

// Shows faults: More memory needed than 90 % of what the machine or its cgroup has free
#[test]
fn more_memory_than_there_is_is_refused_with_its_kinds() {
    let place = workplace!();
    or_skip!(place.sparse("a.dat", 4 << 30).map_err(|error| error.to_string()));
    let run = place.diskspd("-d1 -W0 -b1G -o65536 -t64 -L -D a.dat").run();
    impossible(
        &run,
        &[" of memory needed (I/O buffers 4PiB, latency buckets ", ", threads ", " is available, of which 90%"],
    );
}

// Shows faults: A memory cgroup of 64 MiB
#[test]
fn a_small_memory_cgroup_is_enough_for_the_main_job() {
    let place = workplace!();
    let group = or_skip!(Cgroup::of_memory(64 << 20));
    place.create_file("a.dat", "-c128M");
    let small = or_skip!(Mounted::tmpfs(&place, "small", "16M"));
    let inside = || after(&place, &format!("echo $$ > {} || exit 99", group.door().display()));
    for words in ["-b64K -o8 -t2 -r", "-b4K -o32 -t4 -L -D -r -w30", "-b1M -o1 -Sm"] {
        let run = inside().args("-d60 -W0 --max-ios=500").args(words).arg("a.dat").run();
        run.expect_status(0);
        assert!(Report::parse(&run.stdout).total.sum.ios > 0, "{run}");
    }
    // Its pages also count towards the group.
    let run = inside().args("-d60 -W0 -c8M -b64K -w100 -o8 --max-ios=500").arg(small.path.join("b.dat")).run();
    run.expect_status(0);
    assert!(Report::parse(&run.stdout).write.sum.ios > 0, "{run}");
    // A file larger than the group can be made.
    inside().args("-d1 -W0 -c100M -b64K -r").arg("c.dat").run().expect_status(0);
    let run = inside().args("-d1 -W0 -b1M -o128 a.dat").run();
    impossible(&run, &["of memory needed (I/O buffers 128MiB, ", " is available, of which 90%"]);
}

// Shows faults: Threads cannot be started
#[test]
fn threads_that_cannot_be_started_are_an_error() {
    let place = workplace!();
    let group = or_skip!(Cgroup::of_threads(20));
    place.create_file("a.dat", "-c1M");
    let inside = || after(&place, &format!("echo $$ > {} || exit 99", group.door().display()));
    inside().args("-d1 -W0 -b4K -r -t10 -o1 a.dat").run().expect_status(0);
    let run = inside().args("-d1 -W0 -b4K -r -t64 -o1 a.dat").run();
    failed(&run, &["cannot start thread ", " of 64: Resource temporarily unavailable"]);
    drop(group);
    // Only the main thread, which creates no files.
    let group = or_skip!(Cgroup::of_threads(1));
    let enter = format!("echo $$ > {} || exit 99", group.door().display());
    let run = after(&place, &enter).args("-d1 -W0 -c2M new.dat").run();
    failed(&run, &["cannot write 'new.dat': cannot start a writer thread"]);
    assert!(!place.path("new.dat").exists(), "half a file is left");
    // With one additional writer instead of four it takes longer.
    drop(group);
    let group = or_skip!(Cgroup::of_threads(2));
    let enter = format!("echo $$ > {} || exit 99", group.door().display());
    let run = after(&place, &enter).args("-d1 -W0 -c2M -t1 -o1 new.dat").run();
    run.expect_status(0);
    assert_eq!(Report::parse(&run.stdout).total.rows.len(), 1);
}

// Shows faults: No /proc and no /sys
#[test]
fn without_proc_and_sys_a_run_knows_less_and_says_so() {
    let place = workplace!();
    if !is_root() {
        skip!("needs root");
    }
    let unshare = or_skip!(tool("unshare"));
    place.create_file("a.dat", "-c1M");
    let script = "mount --make-rprivate / && umount -l /sys && umount -l /proc || exit 99; exec \"$0\" \"$@\"";
    let run = place.tool(&unshare).args("-m sh -c").arg(script).arg(place.program());
    let run = run.args("-d60 -W0 -b4K -o8 -t2 -r -w30 -L --max-ios=20000 a.dat").run();
    if run.code() == Some(99) {
        skip!("/proc cannot be taken away here: {}", run.stderr.trim());
    }
    run.expect_status(0).expect_stdout(&["NOTE: CPU times are unknown: cannot read /proc/stat"]);
    let report = Report::parse(&run.stdout);
    assert!(report.read.sum.ios > 0 && report.write.sum.ios > 0, "{run}");
}

// Shows faults: A read-only root
#[test]
fn a_read_only_root_is_enough_for_the_main_job() {
    let place = workplace!();
    if !is_root() {
        skip!("needs root");
    }
    let unshare = or_skip!(tool("unshare"));
    place.create_file("a.dat", "-c1M");
    let script = "mount --make-rprivate / && mount -o remount,bind,ro / || exit 99; mkdir -p /dev/shm; \
                  mount -t tmpfs -o size=16M none scratch || exit 99; exec \"$0\" \"$@\"";
    fs::create_dir(place.path("scratch")).expect("a new folder");
    let inside = || place.tool(&unshare).args("-m sh -c").arg(script).arg(place.program());
    let run = inside().args("-d60 -W0 -b4K -o8 -t2 -r --max-ios=500 a.dat").run();
    if run.code() == Some(99) {
        skip!("the root cannot be made read-only here: {}", run.stderr.trim());
    }
    run.expect_status(0);
    assert!(Report::parse(&run.stdout).read.sum.ios > 0, "{run}");
    let run = inside().args("-d60 -W0 -c1M -b4K -o8 -w100 --max-ios=500 scratch/b.dat").run();
    run.expect_status(0);
    assert!(Report::parse(&run.stdout).write.sum.ios > 0, "{run}");
    let run = inside().args("-d1 -W0 -b4K -w100 a.dat").run();
    impossible(&run, &["a.dat", "read-only"]);
    let run = inside().args("-d1 -W0 -c1M -b4K new.dat").run();
    impossible(&run, &["new.dat", "read-only"]);
    assert!(!place.path("new.dat").exists());
    // A result that cannot be saved is reported before the run, not after it.
    let run = inside().args("-d1 -W0 -b4K --json result.json a.dat").run();
    run.expect_stderr(&["result.json", "ead-only file system"]);
    assert_ne!(run.code(), Some(0), "{run}");
}
