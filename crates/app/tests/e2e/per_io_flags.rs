//! Flags of single reads and writes, as visible in system calls, the page cache and refusals.

use testkit::{Snapshot, Workplace, or_skip, skip, tool, workplace};

/// Offset at which the program reads to detect whether a flag is refused.
const BEYOND_END: &str = "4611686018427387904";

/// A file of 1 MiB, where its file system has uncached buffered I/O.
fn place_with_uncached_io() -> Result<Workplace, String> {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let plan = place.diskspd("--plan --dontcache a.dat").run();
    if plan.stderr.contains("has no RWF_DONTCACHE") {
        return Err("this file system has no uncached buffered I/O".to_owned());
    }
    plan.expect_status(0).expect_stdout(&["each I/O with RWF_DONTCACHE"]);
    Ok(place)
}

// Shows switches: --dontcache
#[test]
fn each_read_and_write_has_the_flag_with_dontcache() {
    let place = or_skip!(place_with_uncached_io());
    let trace = |words: &str| {
        let line = format!("-d600 -W0 -o1 -b4K -r -w50 --max-ios=50 {words} a.dat");
        place.system_calls("-s 0 -e trace=preadv2,pwritev2", &line)
    };
    // strace knows the name since 6.14.
    let has_flag = |line: &&str| line.contains("RWF_DONTCACHE") || line.contains(" 0x80 ");
    let calls = or_skip!(trace("--dontcache"));
    let flagged: Vec<&str> = calls.lines().filter(has_flag).filter(|line| !line.contains(BEYOND_END)).collect();
    assert_eq!(flagged.len(), 50, "{calls}");
    for call in ["preadv2", "pwritev2"] {
        assert!(flagged.iter().any(|line| line.contains(call)), "{calls}");
    }
    let plain = or_skip!(trace(""));
    assert!(!plain.contains("preadv2") && !plain.contains("pwritev2"), "{plain}");
}

// Shows switches: --dontcache
#[test]
fn every_engine_leaves_nothing_in_the_page_cache_with_dontcache() {
    let place = or_skip!(place_with_uncached_io());
    let fincore = or_skip!(tool("fincore"));
    let cached_bytes = |words: &str| -> u64 {
        place.diskspd("-d600 -W0 -b4K --cold --max-ios=256").args(words).args("a.dat").run().expect_status(0);
        let found = place.tool(&fincore).args("--bytes --noheadings --output RES a.dat").run();
        found.expect_status(0).stdout.trim().parse().expect("a number of bytes")
    };
    for engine in ["-o1", "-o4 --engine=io_uring", "-o4 --engine=aio"] {
        let (kept, left) = (cached_bytes(engine), cached_bytes(&format!("{engine} --dontcache")));
        assert!(kept > 1 << 19 && left < 1 << 19, "{engine}: {kept} and {left} bytes");
    }
}

// Shows switches: --dontcache
#[test]
fn uncached_io_is_refused_where_the_file_system_has_none() {
    let folder = or_skip!(tempfile::tempdir_in("/dev/shm").map_err(|error| format!("no /dev/shm here: {error}")));
    let place = workplace!();
    let path = folder.path().join("new.dat");
    let run = place.diskspd("-d1 -W0 -c1M -w100 --dontcache").arg(&path).run();
    run.expect_status(1).expect_stderr(&["--dontcache cannot be used on", "tmpfs", "RWF_DONTCACHE", "Linux 6.14"]);
    assert!(!path.exists(), "{run}");
}

// Shows switches: --dontcache
#[test]
fn uncached_io_cannot_be_direct_or_mapped() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    for words in ["-Su", "-Sh", "-Sm"] {
        let run = place.diskspd("-d1 -W0 --dontcache").args(words).args("a.dat").run();
        run.expect_status(3).expect_stderr(&["--dontcache cannot be used with", words]);
    }
}

// Shows switches: --atomic
#[test]
fn each_write_has_the_flag_with_atomic_or_the_target_is_refused() {
    let place = workplace!();
    or_skip!(place.direct_io());
    place.create_file("a.dat", "-c1M");
    let before = Snapshot::take(place.path("a.dat"));
    let words = "-d600 -W0 -o1 -b4K -r -w50 -Su --atomic --max-ios=50 a.dat";
    let plan = place.diskspd("--plan").args(words).run();
    if plan.stderr.contains("has no atomic writes") {
        let run = place.diskspd(words).run();
        run.expect_status(1).expect_stderr(&["--atomic: 'a.dat' has no atomic writes", "Linux 6.11"]);
        assert_eq!(Snapshot::take(place.path("a.dat")), before);
        skip!("this device makes no atomic writes; only the refusal was seen");
    }
    plan.expect_status(0).expect_stdout(&["each write with RWF_ATOMIC"]);
    let calls = or_skip!(place.system_calls("-s 0 -e trace=pread64,pwrite64,preadv2,pwritev2", words));
    let flagged = |line: &&str| line.contains("RWF_ATOMIC") || line.contains(" 0x40 ");
    let flags = calls.lines().filter(flagged).count();
    assert!(flags > 0 && calls.lines().filter(flagged).all(|line| line.contains("pwritev2")), "{calls}");
    assert!(!calls.contains("pwrite64"), "{calls}");
    let large = place.diskspd("-d1 -W0 -b64M -c64M -w100 -Su --atomic b.dat").run();
    large.expect_status(3).expect_stderr(&["supports atomic writes of", "the block size (-b) is 64MiB"]);
}

// Shows switches: --atomic
#[test]
fn atomic_writes_need_direct_io_and_writes() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    for (words, error) in [
        ("-w100", "--atomic needs direct I/O; add -Su or -Sh"),
        ("-w100 -Sm", "--atomic cannot be used with -Sm"),
        ("-Su", "--atomic needs writes, but the load has none (-w)"),
    ] {
        let run = place.diskspd("-d1 -W0 -b4K --atomic").args(words).args("a.dat").run();
        run.expect_status(3).expect_stderr(&[error]);
    }
}
