//! Options that determine how I/O is issued, as the kernel sees them: system calls by strace, memory, mappings and
//! priorities in `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use testkit::{Finished, HugePages, Report, Running, Workplace, or_skip, tool, workplace};

fn place() -> Workplace {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    place
}

/// A run that has begun to measure.
fn measuring(place: &Workplace, words: &str) -> Running {
    let mut run = place.briefly("-b4K").args(words).start();
    run.wait_for_stderr("starting measurements");
    run
}

/// Calls of these kinds, with all of their arguments, in a run of at most this many I/Os.
fn calls(place: &Workplace, kinds: &str, ios: u32, words: &str) -> Result<Vec<String>, String> {
    let line = format!("-d600 -W0 -b4K --max-ios={ios} {words} a.dat");
    let text = place.system_calls(&format!("-s 4096 -e trace={kinds}"), &line)?;
    // After the thread's ID.
    Ok(text.lines().filter_map(|line| Some(line.split_once(' ')?.1.trim_start().to_owned())).collect())
}

/// The arguments of the calls with this name.
fn arguments_of(calls: &[String], name: &str) -> Vec<Vec<String>> {
    let begin = format!("{name}(");
    let arguments = calls.iter().filter_map(|call| call.strip_prefix(&begin));
    arguments.map(|text| text.split(", ").map(|word| word.trim_end_matches(')').to_owned()).collect()).collect()
}

/// The numbers after this field in all submitting calls of Linux AIO, in order.
fn submitted(calls: &[String], field: &str) -> Vec<u64> {
    let submits = calls.iter().filter(|call| call.starts_with("io_submit("));
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).expect("a hexadecimal number"),
        None => text.parse().expect("a number"),
    };
    let value = |text: &str| number(text.split([',', '}']).next().unwrap_or_default());
    let field = format!("{field}=");
    submits.flat_map(|call| call.split(&field).skip(1).map(value).collect::<Vec<_>>()).collect()
}

// Shows switches: --engine=<io_uring|aio|sync|mmap|null>
#[test]
fn the_engine_is_the_one_that_was_named() {
    let place = place();
    let kinds = "pread64,io_submit,io_uring_enter";
    for (words, expected) in [
        ("--engine sync -o3", Some("pread64")),
        ("--engine aio -o1", Some("io_submit")),
        ("--engine io_uring -o1", Some("io_uring_enter")),
        ("--engine mmap -Sm -o3", None),
        ("--engine null -o3", None),
    ] {
        if words.contains("io_uring") {
            or_skip!(rings(&place));
        }
        let calls = or_skip!(calls(&place, kinds, 100, words));
        for kind in kinds.split(',') {
            // Libraries are read, and rings set up, with a few calls before the run.
            let is_used = arguments_of(&calls, kind).len() >= 50;
            assert_eq!(is_used, Some(kind) == expected, "{words}: {calls:?}");
        }
    }
}

// Shows switches: --sqpoll
#[test]
fn a_kernel_thread_submits_with_sqpoll() {
    let place = place();
    or_skip!(rings(&place));
    let polls = |calls: &[String]| calls.iter().any(|call| call.contains("IORING_SETUP_SQPOLL"));
    assert!(polls(&or_skip!(calls(&place, "io_uring_setup", 100, "-o4 --sqpoll"))));
    assert!(!polls(&or_skip!(calls(&place, "io_uring_setup", 100, "-o4"))));
}

/// The end of a run with a submitting kernel thread, or the reason why there is no such thread here.
fn with_sqpoll(place: &Workplace, words: &str) -> Result<Finished, String> {
    let run = place.diskspd("-d1 -W0 -b8K -w50 -r --sqpoll --overwrite").args(words).arg("a.dat").run();
    if run.stderr.contains("cannot set up io_uring") {
        return Err(format!("no --sqpoll here: {}", run.stderr.trim()));
    }
    Ok(run)
}

// Shows switches: --sqpoll
#[test]
fn a_kernel_thread_that_submits_is_waited_for_at_the_end_and_with_a_rate() {
    let place = place();
    or_skip!(rings(&place));
    // At the end, at each pause between starts, and with batches.
    for words in ["-o8 -t3", "-o8 -t3 -g1000i", "-o8 -t2 -u4 -g1000i", "-o8 -t3 --verify"] {
        // A busy machine may give a run no time in one second; it is retried.
        let mut ios = 0;
        for _ in 0..5 {
            let run = or_skip!(with_sqpoll(&place, words));
            run.expect_status(0);
            assert!(!run.stderr.contains("panicked") && !run.stderr.contains("ERROR"), "{words}: {run}");
            ios = Report::parse(&run.stdout).total.sum.ios;
            if ios > 0 {
                break;
            }
        }
        assert!(ios > 0, "{words}");
    }
}

// Shows switches: --cold
#[test]
fn cached_pages_are_dropped_with_cold() {
    let place = place();
    let drops = |calls: &[String]| calls.iter().any(|call| call.contains("POSIX_FADV_DONTNEED"));
    assert!(drops(&or_skip!(calls(&place, "fadvise64", 100, "--cold"))));
    assert!(!drops(&or_skip!(calls(&place, "fadvise64", 100, ""))));
}

// Shows switches: -o<count>
// Shows switches: -x
#[test]
fn completion_routines_are_linux_aio_with_all_requests_outstanding() {
    let place = place();
    let kinds = "io_setup,io_submit,io_uring_enter";
    for requests in [2, 7] {
        let calls = or_skip!(calls(&place, kinds, 100, &format!("-x -o{requests}")));
        let submits = arguments_of(&calls, "io_submit");
        assert!(!submits.is_empty() && arguments_of(&calls, "io_uring_enter").is_empty(), "{calls:?}");
        assert_eq!(submits[0][1], requests.to_string(), "the first call submits all\n{calls:?}");
    }
    let without = or_skip!(calls(&place, kinds, 100, "-o4"));
    assert!(arguments_of(&without, "io_submit").is_empty(), "{without:?}");
}

// Shows switches: -u[n][<batch>[p]]
#[test]
fn a_ring_submits_in_batches_of_the_size_asked_for() {
    let place = place();
    or_skip!(rings(&place));
    for (words, batch) in [("-u4 -o8", "4"), ("-u -o8", "2"), ("-u50p -o8", "4"), ("-un8 -o8", "8"), ("-u1 -o3", "1")] {
        let calls = or_skip!(calls(&place, "io_uring_enter", 400, words));
        // Near the limit of I/Os a batch may be smaller, and a call that only waits has none.
        let sizes: Vec<String> =
            arguments_of(&calls, "io_uring_enter").into_iter().map(|mut call| call.swap_remove(1)).collect();
        assert!(sizes.len() > 20 && sizes[..20].iter().all(|size| size == batch), "{words}: {sizes:?}");
    }
}

// Shows switches: -u[n][<batch>[p]]
#[test]
fn buffers_of_a_ring_are_registered_unless_n_is_given() {
    let place = place();
    or_skip!(rings(&place));
    for (words, registers) in [("-u4 -o8", true), ("-un4 -o8", false), ("-un -o8", false), ("-o8", true)] {
        let calls = or_skip!(calls(&place, "io_uring_register", 100, words));
        let has = |what: &str| calls.iter().any(|call| call.contains(what));
        assert!(has("IORING_REGISTER_FILES"), "{words}: {calls:?}");
        assert_eq!(has("IORING_REGISTER_BUFFERS"), registers, "{words}: {calls:?}");
    }
}

/// The error if there are no rings here.
fn rings(place: &Workplace) -> Result<(), String> {
    let run = place.diskspd("--plan -u -o2 a.dat").run();
    if run.code() == Some(0) { Ok(()) } else { Err(format!("no io_uring here: {}", run.stderr.trim())) }
}

// Shows switches: -oc<count>
#[test]
fn no_more_completions_are_taken_at_once_than_asked_for() {
    let place = place();
    // Each call submits again the number of I/Os reaped since the previous one.
    let engines = [("aio", "io_submit"), ("io_uring", "io_uring_enter")];
    let cases = [("-oc1", 1), ("-oc3", 3), ("", 8)].map(|case| engines.map(|engine| (engine, case)));
    for ((engine, call), (words, most)) in cases.into_iter().flatten() {
        if engine == "io_uring" {
            or_skip!(rings(&place));
        }
        let calls = or_skip!(calls(&place, call, 200, &format!("--engine {engine} -o8 {words}")));
        let sizes: Vec<u32> =
            arguments_of(&calls, call).iter().map(|call| call[1].parse().expect("a number")).collect();
        assert!(sizes.len() > 20 && sizes[0] == 8, "{words}: {sizes:?}");
        assert_eq!(sizes[1..].iter().max(), Some(&most), "{words}: {sizes:?}");
    }
}

// Shows switches: -p
#[test]
fn each_outstanding_io_has_its_own_sequence_with_p_and_shares_one_without() {
    let place = place();
    let of_requests = |words: &str| -> Result<BTreeMap<u64, Vec<u64>>, String> {
        let calls = calls(&place, "io_submit", 60, &format!("--engine aio -o3 {words}"))?;
        let mut requests: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (request, offset) in submitted(&calls, "aio_data").into_iter().zip(submitted(&calls, "aio_offset")) {
            requests.entry(request).or_default().push(offset);
        }
        Ok(requests)
    };
    let own = or_skip!(of_requests("-p"));
    assert_eq!(own.len(), 3);
    for offsets in own.values() {
        assert!(
            offsets.len() > 3 && offsets.iter().copied().eq((0..offsets.len() as u64).map(|n| n * 4096)),
            "{own:?}"
        );
    }
    let shared = or_skip!(of_requests(""));
    let mut offsets: Vec<u64> = shared.into_values().flatten().collect();
    offsets.sort_unstable();
    assert!(offsets.iter().copied().eq((0..offsets.len() as u64).map(|n| n * 4096)), "{offsets:?}");
}

/// Range mapped by one page of page-table entries, with the smallest page size: two buffers never share it.
const APART: u64 = 2 << 20;

// Shows switches: -bs(n|p)
#[test]
fn buffers_are_apart_or_where_the_allocator_puts_them() {
    let place = place();
    let first_buffers = |words: &str| -> Result<BTreeSet<u64>, String> {
        // A thread that gets no time from a busy machine in one second has no I/O; it is retried.
        let mut found = BTreeSet::new();
        for _ in 0..5 {
            let line = format!("-d1 -W0 -b4K -o2 -t2 -si --engine aio -i2 -j100 {words} a.dat");
            let text = place.system_calls("-s 4096 -e trace=io_submit", &line)?;
            let calls: Vec<String> =
                text.lines().filter_map(|l| Some(l.split_once(' ')?.1.trim_start().to_owned())).collect();
            let all = submitted(&calls, "aio_buf").into_iter().zip(submitted(&calls, "aio_data"));
            found = all.filter(|(_, request)| *request == 0).map(|(address, _)| address).collect();
            if found.len() > 1 {
                break;
            }
        }
        Ok(found)
    };
    for words in ["", "-bsp"] {
        let buffers = or_skip!(first_buffers(words));
        assert_eq!(buffers.len(), 2, "one for each thread");
        assert!(buffers.iter().all(|address| address % APART == 0), "{words}: {buffers:x?}");
    }
    let near = or_skip!(first_buffers("-bsn"));
    assert!(near.len() == 2 && !near.iter().all(|address| address % APART == 0), "{near:x?}");
    assert!(near.iter().all(|address| address % 512 == 0), "{near:x?}");
}

// Shows switches: -I(1|2|3)
// Shows switches: -I1
// Shows switches: -I2
// Shows switches: -I3
#[test]
fn priorities_are_those_of_the_threads() {
    let place = place();
    let ionice = or_skip!(tool("ionice"));
    for (words, expected) in
        [("-I1", "idle"), ("-I2 -o1", "best-effort: prio 7"), ("-I3", "none: prio 0"), ("", "none: prio 0")]
    {
        let run = measuring(&place, &format!("-t2 -si {words} a.dat"));
        let tasks = std::fs::read_dir(format!("/proc/{}/task", run.id())).expect("its threads").flatten();
        let workers = tasks.filter(|task| {
            std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("worker "))
        });
        let found: Vec<String> = workers
            .map(|task| place.tool(&ionice).args("-p").arg(task.file_name()).run().stdout.trim().to_owned())
            .collect();
        run.end();
        assert_eq!(found, [expected, expected], "{words}");
    }
}

const PRIORITIES: &str = "
<Profile><TimeSpans><TimeSpan>
  <Duration>30</Duration><Warmup>0</Warmup><ThreadCount>1</ThreadCount>
  <Targets>
    <Target><Path>a.dat</Path><BlockSize>4096</BlockSize><RequestCount>2</RequestCount><IOPriority>1</IOPriority></Target>
    <Target><Path>b.dat</Path><BlockSize>4096</BlockSize><RequestCount>2</RequestCount><IOPriority>2</IOPriority></Target>
  </Targets>
</TimeSpan></TimeSpans></Profile>
";

// Shows switches: -I(1|2|3)
#[test]
fn requests_of_one_thread_carry_the_priorities_of_their_targets() {
    let place = place();
    place.create_file("b.dat", "-c1M");
    place.file("priorities.xml", PRIORITIES.as_bytes());
    let words = "--max-ios=100 --engine aio -Xpriorities.xml";
    let text = or_skip!(place.system_calls("-y -s 4096 -e trace=io_submit,ioprio_set", words));
    assert!(!text.contains("ioprio_set"), "{text}");
    let requests: Vec<&str> = text.split("aio_lio_opcode=").skip(1).collect();
    assert!(requests.len() >= 100);
    for request in requests {
        let class = if request.contains("/a.dat>") { "IOPRIO_CLASS_IDLE, 0" } else { "IOPRIO_CLASS_BE, 7" };
        // Priorities for which strace has no names are shown as numbers.
        let number = if request.contains("/a.dat>") { "aio_reqprio=24576" } else { "aio_reqprio=16391" };
        assert!(request.contains(class) || request.contains(number), "{request}");
    }
}

// Shows switches: -Sm
#[test]
fn a_mapped_file_is_in_the_map_of_the_process_and_nothing_is_read_or_written() {
    let place = place();
    for (words, mapped) in [("-Sm", Some("r--s")), ("-Sm -w50", Some("rw-s")), ("-w50", None)] {
        let run = measuring(&place, &format!("{words} a.dat"));
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", run.id())).expect("its map");
        run.end();
        let line = maps.lines().find(|line| line.ends_with("/a.dat"));
        assert_eq!(line.and_then(|line| line.split_whitespace().nth(1)), mapped, "{words}: {maps}");
    }
    assert!(or_skip!(place.traced("-d1 -W0 -b4K -o1 -w50 -Sm -g100i a.dat")).is_empty());
}

// Shows switches: -N(v|n|i)
// Shows switches: -Nv
#[test]
fn each_mapped_write_is_followed_by_the_flush_asked_for() {
    let place = place();
    let flushes = |words: &str| calls(&place, "msync", 50, &format!("-o1 -Sm {words}"));
    let syncs = arguments_of(&or_skip!(flushes("-w100 -Nv")), "msync");
    assert!(
        syncs.len() >= 50 && syncs.iter().all(|call| call[1] == "4096" && call[2].starts_with("MS_SYNC")),
        "{syncs:?}"
    );
    let starts: BTreeSet<&String> = syncs.iter().map(|call| &call[0]).collect();
    assert!(starts.len() >= 50, "block after block: {syncs:?}");
    assert_eq!(arguments_of(&or_skip!(flushes("-w100")), "msync").len(), 0, "not without -N");
    assert_eq!(arguments_of(&or_skip!(flushes("-w0 -Nv")), "msync").len(), 0, "not after a read");
}

// Shows switches: -Nn
// Shows switches: -Ni
#[test]
fn cache_lines_are_written_back_without_the_kernel_or_the_cpu_cannot() {
    let place = place();
    for words in ["-Nn", "-Ni"] {
        let plan = place.diskspd("--plan -b4K -w100 -Sm").args(words).arg("a.dat").run();
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        if plan.code() != Some(0) {
            assert!(["clflushopt", "clwb", "dcpop"].iter().all(|flag| !cpu.contains(flag)), "{plan}");
            plan.expect_stderr(&["CLWB, CLFLUSHOPT or DC CVAP"]);
            continue;
        }
        let calls =
            or_skip!(calls(&place, "msync,fsync,fdatasync,pwrite64", 256, &format!("-o1 -w100 -Z -Sm {words}")));
        let flushes: Vec<&String> = calls.iter().filter(|call| call.contains("sync(")).collect();
        // The call that closes the file at the end of the run.
        assert!(flushes.len() <= 1 && flushes.iter().all(|call| call.contains("fsync(")), "{flushes:?}");
        // All 256 blocks of the file, through the mapping.
        assert!(place.content("a.dat").iter().all(|byte| *byte == 0), "{words}");
        place.create_file("a.dat", "-c1M --recreate");
    }
}

// Shows switches: -Sr
// Shows switches: -Sy
// Shows switches: -SY
#[test]
fn what_linux_or_the_file_system_does_not_have_is_refused_or_noted() {
    let place = place();
    let refused = |words: &str, part: &str| {
        let run = place.diskspd("-d1 -W0 -b4K").args(words).arg("a.dat").run();
        run.expect_status(1).expect_stderr(&[part]);
    };
    refused("-SuY", "-SY needs full BypassIO between 'a.dat' and its device");
    let network = ["nfs", "cifs", "smb", "ceph", "9p", "afs"];
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    if !mounts
        .lines()
        .any(|line| line.split(' ').nth(2).is_some_and(|kind| network.iter().any(|n| kind.starts_with(n))))
    {
        refused("-Sr", "for a local file system, use -Su");
    }
    or_skip!(place.direct_io());
    let run = measuring(&place, "-Suy -o2 a.dat");
    let modes = run.descriptors_of(&place.path("a.dat"));
    run.end().expect_stdout(&[
        "-Sy has no effect: Linux has no file system filters to bypass; 'a.dat' is opened with O_DIRECT",
    ]);
    assert!(modes.len() == 1 && modes[0].direct, "{modes:?}");
}

// Shows switches: -l
#[test]
fn buffers_lie_in_huge_pages_or_the_run_says_how_many_are_missing() {
    let place = place();
    let mut pages = or_skip!(HugePages::as_they_are());
    if pages.free() == 0 {
        let run = place.diskspd("-d1 -W0 -b4K -l a.dat").run();
        run.expect_status(1).expect_stderr(&["huge page", "sysctl vm.nr_hugepages"]);
    }
    or_skip!(pages.add(2));
    let size_kib = pages.size_kib();
    let (huge, touched) = (format!("KernelPageSize:{size_kib:>9} kB"), format!("Private_Hugetlb:{size_kib:>8} kB"));
    // One mapping for each thread, each of one page.
    for (words, count) in [("-l", 2), ("", 0)] {
        let run = measuring(&place, &format!("-t2 -si {words} a.dat"));
        let smaps = std::fs::read_to_string(format!("/proc/{}/smaps", run.id())).expect("its map");
        run.end();
        assert_eq!(smaps.matches(&huge).count(), count, "{words}\n{smaps}");
        assert_eq!(smaps.matches(&touched).count(), count, "{words}\n{smaps}");
    }
}
