//! Threads, CPUs, open flags and times, observed from outside while the program runs, and in the report.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};
use testkit::{
    Mounted, OpenMode, Report, Running, Snapshot, Workplace, nobody_can_run, or_skip, skip, tool, workplace,
};

fn place() -> Workplace {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    place.create_file("b.dat", "-c1M");
    place
}

/// A run that has begun to measure.
fn measuring(place: &Workplace, words: &str) -> Running {
    let mut run = place.diskspd("-d600 -W0 -v").args(words).start();
    run.wait_for_stderr("starting measurements");
    run
}

/// CPUs that this process may use, like `0-1`.
fn own_cpus() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("our own status");
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list of CPUs");
    line.trim().to_owned()
}

/// The numbers in a list like `0-2,5`.
fn numbers(cpus: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse::<u32>().expect("a CPU")..=last.parse().expect("a CPU")
    };
    cpus.split(',').flat_map(range).collect()
}

// Shows switches: -t<count>
// Shows switches: -F<count>
#[test]
fn there_are_as_many_threads_as_asked_for() {
    let place = place();
    for (words, threads, rows) in [
        ("-b4K a.dat", 1, 1),
        ("-t3 -si -b4K a.dat", 3, 3),
        ("-t2 -b4K -r a.dat b.dat", 4, 4),
        ("-F3 -b4K -r a.dat b.dat", 3, 6),
        ("-F2 -O4 -b4K -r a.dat b.dat", 2, 4),
        ("-t2 -o1 -b4K -r a.dat", 2, 2),
    ] {
        let run = measuring(&place, words);
        let names: Vec<String> = run.threads().into_iter().map(|(name, _)| name).collect();
        let run = run.end();
        let workers: BTreeSet<&String> = names.iter().filter(|name| name.starts_with("worker ")).collect();
        let expected: BTreeSet<String> = (0..threads).map(|number| format!("worker {number}")).collect();
        assert!(workers.into_iter().eq(&expected), "{words}: {names:?}");
        run.expect_stdout(&[&format!("thread count:\t\t{threads}\n")]);
        assert_eq!(Report::parse(&run.stdout).total.rows.len(), rows, "{run}");
    }
}

// Shows switches: -a[g<group>,]<cpu>[-<cpu>],...
// Shows switches: -n
#[test]
fn threads_run_on_the_cpus_that_were_named() {
    let place = place();
    let cpus = numbers(&own_cpus());
    let of_workers = |words: &str| -> Vec<String> {
        let run = measuring(&place, words);
        let threads = run.threads();
        run.end();
        threads.into_iter().filter(|(name, _)| name.starts_with("worker ")).map(|(_, cpus)| cpus).collect()
    };
    // Round robin over all CPUs that may be used, in DiskSpd's order.
    let expected: Vec<String> = (0..3).map(|thread| cpus[thread % cpus.len()].to_string()).collect();
    let groups: BTreeSet<u32> = cpus.iter().map(|cpu| cpu / 64).collect();
    let all: Vec<String> = groups.iter().map(|group| format!("-ag{group}")).collect();
    let mut found = of_workers(&format!("-t3 -si -b4K {} a.dat", all.join(" ")));
    found.sort();
    let mut sorted = expected;
    sorted.sort();
    assert_eq!(found, sorted);
    assert_eq!(of_workers("-t2 -n -si -b4K a.dat"), [own_cpus(), own_cpus()]);
    let last = cpus.last().expect("a CPU");
    if *last > 63 {
        skip!("CPU {last} is in another group; lists with groups are tested on their own");
    }
    assert_eq!(of_workers(&format!("-t2 -a{last} -si -b4K a.dat")), [last.to_string(), last.to_string()]);
    assert_eq!(of_workers(&format!("-t2 -ag0,{last} -si -o1 -b4K a.dat")), [last.to_string(), last.to_string()]);
}

#[test]
fn kernel_threads_of_io_uring_may_use_all_cpus_or_those_of_the_user() {
    let place = workplace!();
    // Writes to a tmpfs always wait, so that kernel threads carry them out.
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "16M"));
    let target = memory.path.join("t");
    // A kernel thread begins with the CPU of its creator, for a moment.
    let cpus_of = |words: &str, expected: &str| -> Result<BTreeSet<String>, String> {
        let words = format!("-c8M -b4K -o8 -r -w100 -d600 -W0 -v {words}");
        let mut run = place.diskspd(&words).arg(&target).start();
        run.wait_for_stderr("starting measurements");
        let begin = Instant::now();
        let mut found = BTreeSet::new();
        while !found.iter().eq([expected]) && begin.elapsed() < Duration::from_secs(10) {
            let threads = run.threads().into_iter();
            found = threads.filter(|(name, _)| name.starts_with("iou-wrk")).map(|(_, cpus)| cpus).collect();
        }
        run.end();
        if found.is_empty() { Err("io_uring passes nothing to kernel threads here".into()) } else { Ok(found) }
    };
    let (all, last) = (own_cpus(), *numbers(&own_cpus()).last().expect("a CPU"));
    let on_last = format!("-ag{},{}", last / 64, last % 64);
    for (words, expected) in [("", &all), ("-n", &all), (&on_last, &last.to_string())] {
        assert_eq!(or_skip!(cpus_of(words, expected)), BTreeSet::from([expected.clone()]), "{words}");
    }
}

#[test]
fn the_first_thread_runs_where_the_disk_interrupts() {
    let place = place();
    let plan = place.diskspd("--plan -t2 -b4K a.dat").run();
    let first = plan.stdout.lines().find(|line| line.ends_with(", where the first thread runs"));
    let Some(cpu) = first.and_then(|line| line.split(", CPU ").nth(1)?.split(',').next()) else {
        skip!("the build is on no disk whose queues interrupt one CPU that may be used");
    };
    let run = measuring(&place, "-t2 -si -b4K a.dat");
    let threads = run.threads();
    let finished = run.end();
    assert!(threads.contains(&("worker 0".to_owned(), cpu.to_owned())), "{threads:?}");
    let used = finished.stdout.lines().find(|line| line.starts_with("effective affinity ")).expect("bound threads");
    assert!(used.contains(&format!(": {cpu}")) || used.contains("group/cpu"), "{used}");
}

// Shows switches: -a<cspPeE>
// Shows switches: -ac
// Shows switches: -as
// Shows switches: -ap
// Shows switches: -aP
// Shows switches: -ae
// Shows switches: -aE
// Shows switches: -aup
#[test]
fn an_order_of_cpus_uses_each_once_and_cores_first_with_c() {
    let place = place();
    let cpus = numbers(&own_cpus());
    if cpus.len() > 64 {
        skip!("a thread for each of {} CPUs is too much for a test", cpus.len());
    }
    let threads = cpus.len();
    // Siblings have the same list.
    let core = |cpu: u32| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        std::fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string())
    };
    let cores = cpus.iter().map(|cpu| core(*cpu)).collect::<BTreeSet<String>>().len();
    for words in ["-ac", "-as", "-ap", "-aP", "-ae", "-aE", "-aup", "-acs"] {
        let run = measuring(&place, &format!("-t{threads} -si -b4K {words} a.dat"));
        let mut workers = run.threads();
        run.end();
        workers.retain(|(name, _)| name.starts_with("worker "));
        workers.sort_by_key(|(name, _)| name["worker ".len()..].parse::<u32>().expect("a number"));
        let order: Vec<u32> = workers.iter().map(|(_, cpu)| cpu.parse().expect("one CPU")).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, cpus, "{words}");
        if words.contains('c') {
            let first: BTreeSet<String> = order[..cores].iter().map(|cpu| core(*cpu)).collect();
            assert_eq!(first.len(), cores, "{words}: {order:?}");
        }
    }
}

// Shows switches: -a[g<group>,]<cpu>[-<cpu>],...
#[test]
fn cpus_that_do_not_exist_are_refused() {
    let place = place();
    let run = place.diskspd("-d1 -W0 -ag900,0 -n a.dat").run();
    run.expect_status(3).expect_stderr(&["group 900", "-n"]);
    assert_eq!(run.stdout, "");
}

// Shows switches: -t<count>
// Shows switches: -w[<percent>]
// Shows switches: -S[bhmruwyY]
// Shows switches: -Sb
// Shows switches: -Su
// Shows switches: -Sw
// Shows switches: -Sh
// Shows switches: -h
#[test]
fn targets_are_open_as_the_caching_options_say() {
    let place = place();
    let read_only = OpenMode { read: true, write: false, direct: false, data_sync: false };
    let both = OpenMode { write: true, ..read_only };
    for (words, mode) in [
        ("-b4K", read_only),
        ("-w0", read_only),
        ("-b4K -w50", both),
        ("-b4K -w100", OpenMode { read: false, ..both }),
        ("-Sb", read_only),
        ("-Sw -w50", OpenMode { data_sync: true, ..both }),
        ("-S", OpenMode { direct: true, ..read_only }),
        ("-Su -w50", OpenMode { direct: true, ..both }),
        ("-Sh -w50", OpenMode { direct: true, data_sync: true, ..both }),
        ("-h -w50", OpenMode { direct: true, data_sync: true, ..both }),
        ("-Suw -w100 -o1", OpenMode { direct: true, data_sync: true, read: false, write: true }),
    ] {
        if mode.direct {
            or_skip!(place.direct_io());
        }
        // As many as there are threads: each has its own.
        let run = measuring(&place, &format!("-t2 -r -o4 {words} a.dat"));
        let modes = run.descriptors_of(&place.path("a.dat"));
        run.end();
        assert_eq!(modes, [mode, mode], "{words}");
    }
}

/// Opens of a target by the program: the flags shown by strace, and true if it succeeded.
fn opens_of<'a>(calls: &'a str, name: &str) -> Vec<(&'a str, bool)> {
    let name = format!("/{name}\", ");
    let lines = calls.lines().filter_map(|line| line.split_once(&name));
    // The checks beforehand open targets that may be FIFOs.
    let opens = lines.map(|(_, rest)| rest).filter(|rest| !rest.contains("O_NONBLOCK") && !rest.contains("O_PATH"));
    // A line of another thread may come between the call and its result, which is then in a line without a name.
    let of_call = |rest: &'a str| {
        let finished = rest.split_once(") = ").map(|(flags, result)| (flags, !result.starts_with('-')));
        finished.or_else(|| Some((rest.strip_suffix(" <unfinished ...>")?, true)))
    };
    opens.filter_map(of_call).collect()
}

/// Sets an old access time, so that the next reader would change it, and returns it.
fn with_old_access_time(path: &Path) -> SystemTime {
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(500_000_000);
    let times = std::fs::FileTimes::new().set_accessed(long_ago);
    std::fs::File::open(path).and_then(|file| file.set_times(times)).expect("our own file");
    long_ago
}

// Shows switches: --atime
#[test]
fn every_engine_leaves_access_times_alone() {
    let place = workplace!();
    let path = place.file("theirs.dat", &vec![1; 1 << 20]);
    let accessed = || std::fs::metadata(&path).and_then(|file| file.accessed()).expect("an access time");
    let long_ago = with_old_access_time(&path);
    for words in ["-o1", "-o4 --engine=io_uring", "-o4 --engine=aio", "-Sm", "-o4 -F2"] {
        let line = format!("-d600 -W0 -b4K -r --max-ios=50 {words} {}", path.display());
        let calls = or_skip!(place.system_calls("-e trace=open,openat", &line));
        let opens = opens_of(&calls, "theirs.dat");
        let wanted = |(flags, worked): &(&str, bool)| flags.contains("O_NOATIME") && *worked;
        assert!(!opens.is_empty() && opens.iter().all(wanted), "{words}: {opens:?}");
        assert_eq!(accessed(), long_ago, "{words}");
    }
    let line = format!("-d600 -W0 -b4K -r -o1 --max-ios=50 --atime {}", path.display());
    let calls = or_skip!(place.system_calls("-e trace=open,openat", &line));
    let opens = opens_of(&calls, "theirs.dat");
    assert!(!opens.is_empty() && opens.iter().all(|(flags, _)| !flags.contains("O_NOATIME")), "{opens:?}");
    if accessed() == long_ago {
        skip!("the file system of the build keeps no access times; only the flag was seen");
    }
}

// Checks before a run also read contents: the writer of a file, and the cache below it.
#[test]
fn checks_leave_access_times_alone() {
    let place = workplace!();
    or_skip!(place.direct_io());
    let path = place.file("theirs.dat", &vec![1; 40 << 20]);
    let accessed = || std::fs::metadata(&path).and_then(|file| file.accessed()).expect("an access time");
    let long_ago = with_old_access_time(&path);
    for words in ["--probe-host-cache -Su -r", "-w100 --overwrite --plan", "-w100 --overwrite"] {
        let line = format!("-d600 -W0 -b4K -o1 --max-ios=50 {words} {}", path.display());
        let calls = or_skip!(place.system_calls("-e trace=open,openat", &line));
        let reads = |line: &&str| line.contains("/theirs.dat\", O_RDONLY") && !line.contains("O_PATH");
        let opens: Vec<&str> = calls.lines().filter(reads).collect();
        assert!(!opens.is_empty() && opens.iter().all(|line| line.contains("O_NOATIME")), "{words}: {opens:?}");
        assert_eq!(accessed(), long_ago, "{words}");
    }
}

#[test]
fn a_refused_target_keeps_its_access_time() {
    let place = workplace!();
    let path = place.file("job.fio", b"[global]\nbs=4k\nrw=randread\n");
    let long_ago = with_old_access_time(&path);
    place.diskspd("-w100 job.fio").run().expect_status(3).expect_stderr(&["is a job file of fio"]);
    assert_eq!(std::fs::metadata(&path).and_then(|file| file.accessed()).expect("an access time"), long_ago);
}

#[test]
fn a_file_of_another_user_is_opened_as_far_as_allowed() {
    let place = workplace!();
    let nobody = or_skip!(nobody_can_run(&place));
    let strace = or_skip!(tool("strace"));
    let path = place.file("roots.dat", &vec![1; 1 << 20]);
    let output = place.path("strace.out");
    let run = place.tool(strace).args("-f -e trace=open,openat -o").arg(&output).args(&nobody);
    run.arg(place.program()).args("-d1 -W0 -b4K -r -o4").arg(&path).run().expect_status(0);
    let calls = String::from_utf8(place.content("strace.out")).expect("strace's output is text");
    let opens = opens_of(&calls, "roots.dat");
    let has_flag: Vec<(bool, bool)> =
        opens.iter().map(|(flags, worked)| (flags.contains("O_NOATIME"), *worked)).collect();
    assert_eq!(has_flag, [(true, false), (false, true)], "{opens:?}");
}

// Shows switches: -f<rst>
// Shows switches: -fr
// Shows switches: -fs
// Shows switches: -ft
#[test]
fn hints_are_passed_on() {
    let place = place();
    for (words, advice) in [("-fr", "POSIX_FADV_RANDOM"), ("-fs", "POSIX_FADV_SEQUENTIAL")] {
        let calls =
            or_skip!(place.system_calls("-e trace=fadvise64", &format!("-d600 -W0 -o1 --max-ios=9 {words} a.dat")));
        assert!(calls.contains(advice), "{words}: {calls}");
    }
    let calls = or_skip!(place.system_calls("-e trace=fadvise64", "-d600 -W0 -o1 --max-ios=9 -ft a.dat"));
    assert!(!calls.contains("POSIX_FADV_RANDOM") && !calls.contains("POSIX_FADV_SEQUENTIAL"), "{calls}");
}

// Shows switches: -o<count>
// Shows switches: -O<count>
#[test]
fn the_engine_is_the_one_for_the_number_of_requests() {
    let place = place();
    let calls_of =
        |words: &str| place.system_calls("-e trace=io_uring_setup", &format!("-d600 -W0 -b4K -r --max-ios=50 {words}"));
    // With one request per thread it is a plain system call; the sum over its targets counts. The kernel is queried
    // once beforehand for ring support.
    let asked = or_skip!(calls_of("-o1 a.dat")).matches("io_uring_setup(").count();
    for (words, rings) in [
        ("-o1 -t3 a.dat", 0),
        ("-F2 -O1 a.dat b.dat", 0),
        ("-F1 -o1 a.dat b.dat", 1),
        ("-o2 a.dat", 1),
        ("-o8 -t3 a.dat", 3),
    ] {
        let calls = or_skip!(calls_of(words));
        // If a set-up flag is unknown, it is retried without it.
        let made =
            calls.lines().filter(|line| line.contains("io_uring_setup(") && !line.contains("= -1 EINVAL")).count();
        assert_eq!(made, asked + rings, "{words}: {calls}");
    }
}

// Shows switches: -d<seconds>
// Shows switches: -W<seconds>
// Shows switches: -C<seconds>
#[test]
fn phases_take_at_least_their_time() {
    let place = place();
    let begun = Instant::now();
    let run = place.diskspd("-d1 -W1 -C1 -b4K a.dat").run();
    let all_seconds = begun.elapsed().as_secs_f64();
    let seconds = Report::parse(&run.stdout).seconds;
    assert!(all_seconds >= 3.0 && seconds >= 0.99, "{run}");
    assert!(seconds <= all_seconds - 1.99, "only the measurement counts\n{run}");
}

// Shows switches: -L
// Shows switches: -D[<milliseconds>]
// Shows switches: -vs
#[test]
fn statistics_that_were_asked_for_are_there_and_no_others() {
    let place = place();
    let optional = ["AvgLat", "IopsStdDev", "LatStdDev"];
    for (words, columns) in [
        ("", [false, false, false]),
        ("-L", [true, false, true]),
        ("-D", [false, true, false]),
        ("-D100", [false, true, false]),
        ("-L -D", [true, true, true]),
    ] {
        let run = place.diskspd("-d1 -W0 -b4K").args(words).args("a.dat").run();
        let report = Report::parse(run.expect_status(0).stdout.as_str());
        for table in [&report.total, &report.read, &report.write] {
            let found = optional.map(|column| table.titles.iter().any(|title| title == column));
            assert_eq!(found, columns, "{run}");
        }
        assert_eq!(run.stdout.contains("%-ile"), columns[0], "{run}");
        if columns[0] {
            let mean_ms: f64 = report.read.sum_of("AvgLat").and_then(|cell| cell.parse().ok()).expect("a time");
            // Two requests at a time: rate x mean latency cannot be more than that. The mean is
            // rounded to three decimals.
            assert!((mean_ms - 0.0005) / 1000.0 * report.read.sum.ios_per_s <= 2.0 * 1.01, "{run}");
        }
    }
    let run = place.diskspd("-d1 -W0 -b4K -vs a.dat").run();
    run.expect_status(0).expect_stdout(&["Wait Statistics"]);
    assert_eq!(run.stderr, "", "-vs does not imply -v");
    let run = place.diskspd("-d1 -W0 -b4K a.dat").run();
    assert!(!run.stdout.contains("Wait Statistics"), "{run}");
}

// Shows switches: -P[<count>]
#[test]
fn dots_come_after_every_so_many_ios() {
    let place = place();
    let mut seen = Vec::new();
    let are_there = (0..5).any(|_| {
        let run = place.diskspd("-d1 -W0 -b4K -g1000i -P100 a.dat").run();
        run.expect_status(0);
        let dots = run.stderr.matches('.').count() as u64;
        let expected = Report::parse(&run.stdout).total.sum.ios / 100;
        assert!(dots <= expected + 1, "{dots} dots for {expected}\n{run}");
        assert_eq!(run.stderr.trim_matches(|c| c == '.' || c == '\n'), "", "{run}");
        seen.push((dots, expected));
        // The last ones may be due between the last poll and the end, and more of them on a busy machine.
        dots > 0 && dots + 3 >= expected
    });
    assert!(are_there, "dots, and hundreds of I/Os: {seen:?}");
}

// Shows switches: -Rp[text|xml|toml]
// Shows switches: --plan
#[test]
fn showing_a_profile_or_a_plan_touches_nothing() {
    let place = place();
    let before = (Snapshot::take(place.path("a.dat")), Snapshot::take(place.path("b.dat")));
    let entries = std::fs::read_dir(place.folder()).expect("our folder").count();
    let harm = "-c2M -w100 -Zr -b4K -t2 -r --recreate --overwrite";
    for words in ["-Rp", "-Rptext", "-Rpxml", "-Rptoml", "--plan", "--plan -Su"] {
        let run = place.diskspd(words).args(harm).args("a.dat b.dat new.dat").arg(place.path("deep/new.dat")).run();
        run.expect_status(0).expect_stdout(&["a.dat", "new.dat"]);
    }
    assert_eq!((Snapshot::take(place.path("a.dat")), Snapshot::take(place.path("b.dat"))), before);
    assert_eq!(std::fs::read_dir(place.folder()).expect("our folder").count(), entries);
}

#[test]
fn a_plan_says_which_thread_cpu_range_depth_memory_and_engine_and_why() {
    let place = place();
    let cpu = numbers(&own_cpus())[0].to_string();
    let run = place.diskspd("--plan -t2 -o8 -b4K -r -B64K:128K -w30 -Z a.dat").run();
    run.expect_status(0).expect_stdout(&[
        "'a.dat', 1MiB",
        "io_uring (several requests outstanding), 8 requests each",
        "blocks of 4KiB, 30% writes of zeros",
        "[64KiB, 192KiB)",
        "Memory: ",
        &cpu,
    ]);
    let run = place.diskspd("--plan -o1 a.dat").run();
    run.expect_status(0).expect_stdout(&["one request outstanding"]);
    // Errors of a run are also errors of its plan.
    place.file("theirs.dat", &vec![1; 65_536]);
    place.diskspd("--plan -w100 theirs.dat").run().expect_status(3).expect_stderr(&["theirs.dat", "--overwrite"]);
    place.diskspd("--plan missing.dat").run().expect_stderr(&["missing.dat"]);
}

// Shows switches: --near-device
#[test]
fn near_device_runs_threads_on_a_node_or_says_that_it_is_not_known() {
    let place = workplace!();
    let path = place.create_file("t.dat", "-c64K");
    let run = place.diskspd("-d1 -W0 -b4K -t2 --near-device").arg(&path).run();
    run.expect_status(0);
    // The choice of CPUs is tested in plan, with nodes that this machine need not have.
    let not_known = run.stdout.contains("--near-device has no effect: the NUMA node of");
    let node = std::fs::read_dir("/sys/devices/system/node").is_ok_and(|entries| entries.count() > 0);
    assert!(not_known || node, "{run}");
    for words in ["-n", "-a0"] {
        let refused = place.diskspd("-d1 -W0 -b4K --near-device").args(words).arg(&path).run();
        refused.expect_status(3).expect_stderr(&["--near-device cannot be used with -n"]);
    }
}
