//! I/Os of several sizes: requests to the kernel, sizes drawn and sizes reported are the same.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use testkit::{Snapshot, TracedIo, or_skip, workplace};

const MIB: u64 = 1 << 20;
const KIB: u64 = 1 << 10;

/// I/Os by kind and size in a result.
fn ios_by_size(measured: &Value) -> BTreeMap<(String, u64), u64> {
    let list = measured["sizes"].as_array().expect("a list");
    let number = |value: &Value| value.as_u64().expect("a number");
    let kind_size_and_ios = |one: &Value| {
        let kind = one["operation"].as_str().expect("a word").to_owned();
        ((kind, number(&one["size_bytes"])), number(&one["figures"]["ios"]))
    };
    list.iter().map(kind_size_and_ios).collect()
}

/// The same, according to strace.
fn seen(ios: &[TracedIo]) -> BTreeMap<(String, u64), u64> {
    let mut seen = BTreeMap::new();
    for io in ios {
        *seen.entry((if io.write { "write" } else { "read" }.to_owned(), io.length)).or_default() += 1;
    }
    seen
}

/// Five standard deviations of a binomial count around its share.
fn is_share(count: u64, of: u64, percent: f64) -> bool {
    let (mean, share) = (of as f64 * percent / 100.0, percent / 100.0);
    (count as f64 - mean).abs() < 5.0 * (of as f64 * share * (1.0 - share)).sqrt()
}

// Shows switches: --sizes=<size>/<percent>:...
#[test]
fn sizes_and_offsets_are_those_that_were_drawn_and_told() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let words = "-d600 -W0 -o1 -r -w30 -L --sizes=4K/50:12K/30:64K/20 --max-ios=3000 --json r.json --text r.txt a.dat";
    let ios = or_skip!(place.traced(words));
    let measured = place.measured("r.json");
    let (seen, told) = (seen(&ios), ios_by_size(&measured));
    assert_eq!((seen.clone(), ios.len()), (told, 3000));
    for io in &ios {
        assert!(io.offset % io.length == 0 && io.offset + io.length <= MIB, "{io:?}");
    }
    for (bytes, percent) in [(4 * KIB, 50.0), (12 * KIB, 30.0), (64 * KIB, 20.0)] {
        let count = ios.iter().filter(|io| io.length == bytes).count() as u64;
        assert!(is_share(count, 3000, percent), "{seen:?}");
    }
    let bytes: u64 = ios.iter().map(|io| io.length).sum();
    assert_eq!(measured["total"]["total"]["bytes"], bytes);
    let report = String::from_utf8(place.content("r.txt")).expect("a text");
    let row = report.lines().find(|line| line.trim_start().starts_with("write") && line.contains(" 64 KiB "));
    let cells: Vec<&str> = row.expect("a row of large writes").split_whitespace().collect();
    let count = seen[&("write".to_owned(), 64 * KIB)].to_string();
    assert!(cells[5..7].contains(&&*count), "{count}: {report}");
    assert!(report.contains("sizes: 4K/50:12K/30:64K/20"), "{report}");
}

// Shows switches: --read-sizes=<size>/<percent>:...
// Shows switches: --write-sizes=<size>/<percent>:...
#[test]
fn reads_and_writes_have_sizes_of_their_own_and_b_is_a_unit() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let run = |words: &str| -> Result<Vec<(String, u64)>, String> {
        let words = format!("-d600 -W0 -o1 -r -w50 --max-ios=300 --json r.json {words} a.dat");
        let seen = seen(&place.traced(&words)?);
        assert_eq!(seen, ios_by_size(&place.measured("r.json")), "{words}");
        Ok(seen.into_keys().collect())
    };
    let size_in_kib = |kind: &str, kib: u64| (kind.to_owned(), kib * KIB);
    let found = or_skip!(run("--read-sizes=8K/90:32K/10 --write-sizes=16K/100"));
    assert_eq!(found, [size_in_kib("read", 8), size_in_kib("read", 32), size_in_kib("write", 16)]);
    let found = or_skip!(run("-b4K --write-sizes=2b/50:3b/50"));
    assert_eq!(found, [size_in_kib("read", 4), size_in_kib("write", 8), size_in_kib("write", 12)]);
    let found = or_skip!(run("--sizes=4K/50:8K/50 --read-sizes=64K/100"));
    assert_eq!(found, [size_in_kib("read", 64), size_in_kib("write", 4), size_in_kib("write", 8)]);
}

#[test]
fn sequential_ios_follow_each_other_without_gaps() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    for words in ["", "-si -t2"] {
        let words = format!("-d600 -W0 -o1 -B64K:512K --sizes=4K/50:12K/30:64K/20 --max-ios=500 {words} a.dat");
        let mut ios = or_skip!(place.traced(&words));
        if words.contains("-si") {
            // Two threads may not begin in the order of their claims: between wraps all of it is read once.
            assert!(ios.iter().all(|io| io.offset >= 64 * KIB && io.offset + io.length <= 576 * KIB));
            continue;
        }
        let mut at = 64 * KIB;
        for io in ios.drain(..) {
            let expected = if at + io.length > 576 * KIB { 64 * KIB } else { at };
            assert_eq!(io.offset, expected, "{io:?}");
            at = expected + io.length;
        }
    }
}

#[test]
fn a_seed_gives_the_same_ios() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let run = |words: &str| -> Result<Vec<(bool, u64, u64)>, String> {
        let ios = place.traced(&format!("-d600 -W0 -o1 -w40 --sizes=4K/70:16K/30 --max-ios=300 {words} a.dat"))?;
        Ok(ios.iter().map(|io| (io.write, io.offset, io.length)).collect())
    };
    for words in ["-r", "-rs50 -r4K", "-r -rdpct90/10"] {
        let first = or_skip!(run(&format!("{words} -z7")));
        assert_eq!(or_skip!(run(&format!("{words} -z7"))), first, "{words}");
        assert_ne!(or_skip!(run(&format!("{words} -z8"))), first, "{words}");
    }
    let aligned = or_skip!(run("-r4K -z7"));
    assert!(aligned.iter().all(|(_, offset, length)| offset % 4096 == 0 && offset + length <= MIB));
    assert!(aligned.iter().any(|(_, offset, length)| offset % length != 0), "-r4K aligns in place of the size");
}

#[test]
fn every_engine_writes_as_much_as_it_says() {
    let place = workplace!();
    for engine in ["--engine=sync -o1", "--engine=io_uring -o8", "--engine=io_uring -o8 -u", "--engine=aio -o4", "-Sm"]
    {
        let path = place.create_file("a.dat", "-c1M --recreate");
        let words = format!("-d600 -W0 -w100 -Z --sizes=1K/50:3K/50 --max-ios=100 --json r.json {engine}");
        place.diskspd(&words).arg(&path).run().expect_status(0);
        let measured = place.measured("r.json");
        let bytes = measured["total"]["write"]["bytes"].as_u64().expect("a number");
        let counted: u64 = ios_by_size(&measured).into_iter().map(|((_, size), ios)| size * ios).sum();
        assert_eq!((counted, measured["total"]["write"]["ios"].as_u64()), (bytes, Some(100)), "{words}");
        // Zeros from the beginning on, one I/O after the other, followed by the ramp.
        let content = fs::read(&path).expect("the file");
        let (zeros, ramp) = content.split_at(bytes as usize);
        assert!(zeros.iter().all(|&byte| byte == 0), "{words}");
        assert!(ramp.iter().zip(0..).all(|(&byte, at)| byte == ((bytes + at) % 256) as u8), "{words}");
    }
}

#[test]
fn a_limit_in_bytes_counts_the_bytes_that_were_drawn() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    // 1 MiB/s, of which the first I/O is due at once.
    let words = "-d2 -W0 -o1 -r -g1049 --sizes=4K/90:64K/10 --json r.json a.dat";
    // Paced by the largest size, it would be a sixth; a busy machine may not reach more, either.
    let mut said = String::new();
    let has_enough = (0..5).any(|_| {
        said = place.diskspd(words).run().expect_status(0).stdout.clone();
        let measured = place.measured("r.json");
        let bytes = measured["total"]["total"]["bytes"].as_u64().expect("a number");
        let elapsed_ns = measured["elapsed_ns"].as_u64().expect("a number");
        let limit = u128::from(elapsed_ns) * 1049 / 1_000_000 + 64 * 1024;
        assert!(u128::from(bytes) <= limit, "{bytes} of {limit}");
        u128::from(bytes) > limit / 3
    });
    if !has_enough && said.contains("NOTE: the process did not run for ") {
        testkit::skip!("the machine is too busy: the process stood still in each of five runs");
    }
    assert!(has_enough, "less than a third of the rate in each of five runs");
}

#[test]
fn discards_have_the_sizes_too() {
    let place = workplace!();
    let path = place.create_file("a.dat", "-c1M");
    let run = place.diskspd("-d600 -W0 -o1 --discard=100 --sizes=4K/50:16K/50 --max-ios=20 --json r.json a.dat").run();
    if run.code() != Some(0) {
        testkit::skip!("no holes here: {}", run.stderr.trim());
    }
    let told = ios_by_size(&place.measured("r.json"));
    let bytes: u64 = told.iter().map(|((_, size), ios)| size * ios).sum();
    assert!(told.keys().all(|(kind, _)| kind == "discard") && told.values().sum::<u64>() == 20, "{told:?}");
    let content = fs::read(&path).expect("the file");
    let (zeros, ramp) = content.split_at(bytes as usize);
    assert!(zeros.iter().all(|&byte| byte == 0) && ramp[1] == 1 && ramp[255] == 255);
}

#[test]
fn what_does_not_go_together_is_refused_and_touches_nothing() {
    let place = workplace!();
    let path = place.create_file("a.dat", "-c1M");
    for (words, parts) in [
        ("--sizes=4K/60:8K/30", &["--sizes", "add up to 90"][..]),
        ("--sizes=4K", &["--sizes", "'4K' has no percentage"]),
        ("--sizes=4KB/100", &["'4KB' is not a size"]),
        ("--sizes=4K/100 -s8K", &["--sizes", "-s<stride>"]),
        ("--sizes=4K/100 -p", &["--sizes", "-p"]),
        ("--sizes=4K/100 -T64K -t2", &["--sizes", "-T"]),
        ("--sizes=4K/100 -r -rdabs50/64K", &["--sizes", "-rdabs", "-rdpct"]),
        ("--write-sizes=4K/100 -w0", &["--write-sizes needs writes"]),
        ("--read-sizes=4K/100 -w100", &["--read-sizes needs reads"]),
        ("--sizes=4K/50:64K/50 -w100 -Z32K", &["largest size (--sizes)", "65536"]),
    ] {
        let before = Snapshot::take(&path);
        let run = place.short_run("").args(words).arg(&path).run();
        run.expect_status(3).expect_stderr(parts);
        assert_eq!((Snapshot::take(&path), &*run.stdout), (before, ""), "{words}");
    }
    let before = Snapshot::take(&path);
    let run = place.short_run("-w100 --sizes=4K/50:2M/50").arg(&path).run();
    run.expect_status(1).expect_stderr(&["too small", "2MiB"]);
    assert_eq!(Snapshot::take(&path), before);
    or_skip!(place.direct_io());
    let run = place.short_run("-Su --sizes=4K/50:4100/50").arg(&path).run();
    run.expect_status(3).expect_stderr(&["direct I/O", "the size (--sizes) is 4100 bytes"]);
}

#[test]
fn profiles_and_plans_say_the_sizes() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let words = "-d1 -W0 -r -w40 --sizes=4K/75:16K/25 --discard=20";
    let profile = place.diskspd("-Rpxml").args(words).arg("a.dat").run();
    profile.expect_status(0).expect_stdout(&["<Sizes>4K/75:16K/25</Sizes>", "<Random>0</Random>"]);
    fs::write(place.path("p.xml"), &profile.stdout).expect("a small file");
    let again = place.diskspd("-Xp.xml -Rpxml").run();
    again.expect_status(0).expect_stdout(&["<Sizes>4K/75:16K/25</Sizes>", "<Random>0</Random>"]);
    // Each kind has the same sizes: 7 KiB on average.
    let plan = place.diskspd("--plan --rate=1000").args(words).arg("a.dat").run();
    plan.expect_status(0).expect_stdout(&[
        "sizes of reads: 4KiB 75%, 16KiB 25%; 7168 bytes on average",
        "random, multiples of the I/O size",
        "expected: reads 48.0% of the I/Os, 48.0% of the bytes; writes 32.0% of the I/Os",
        "reads: 480 I/Os, ",
        "writes: 320 I/Os, ",
        "discards: 200 I/Os, ",
    ]);
}

/// Linux transferred less in each I/O, and the last of them took minutes after the end of a run.
#[test]
fn no_io_is_larger_than_the_kernel_transfers() {
    let place = workplace!();
    for words in ["-b2G", "-b3G", "-b4K --sizes=4K/50:3G/50", "-b3G --engine=null"] {
        let refused = place.diskspd(&format!("-c8G -d1 -W0 {words} a.dat")).run();
        refused.expect_status(3).expect_stderr(&["2 GiB - 4 KiB (2147479552 bytes)"]);
        assert!(!place.path("a.dat").exists(), "{words}");
    }
    place.diskspd("-Rpxml -b3G a.dat").run().expect_status(0).expect_stdout(&["<BlockSize>3221225472</BlockSize>"]);
}
