//! Discards, write-zeroes and flushes: requests to the kernel, contents of the disk afterwards, and the results.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use testkit::{LoopDevice, Mounted, Snapshot, Workplace, or_skip, skip, workplace};

const MIB: u64 = 1 << 20;
const BLOCK: u64 = 4096;

/// I/Os and bytes that a run counted.
fn counted(span_result: &Value, operation: &str) -> (u64, u64) {
    let measured = &span_result["measured"];
    let ios_and_bytes = |figures: &Value| {
        (figures["ios"].as_u64().expect("a number"), figures["bytes"].as_u64().expect("a number of bytes"))
    };
    match operation {
        "read" | "write" => ios_and_bytes(&measured["total"][operation]),
        _ => {
            let list = measured["operations"].as_array().expect("a list");
            list.iter().find(|one| one["operation"] == operation).map_or((0, 0), |one| ios_and_bytes(&one["figures"]))
        }
    }
}

/// One call that strace saw.
#[derive(Debug, PartialEq)]
struct Call {
    /// `FALLOC_FL_...`, or the name of a call without a mode.
    what: String,
    offset: u64,
    length: u64,
}

/// `fallocate(3</path>, MODE, offset, length) = 0`, in the output of strace -f.
fn fallocates(text: &str) -> Vec<Call> {
    let call = |line: &str| {
        let arguments = line.split_once(" fallocate(")?.1.split([')', '<']).collect::<Vec<_>>();
        // Without `</path>`; a call interrupted by another thread's ends with `<unfinished ...>`.
        let arguments = arguments.get(1)?.split_once('>')?.1.trim_end();
        let mut parts = arguments.split(", ").skip(1);
        let mut next = || parts.next().expect("an argument");
        let (what, offset, length) = (next().to_owned(), next(), next());
        let number = |text: &str| text.parse().expect("a number");
        Some(Call { what, offset: number(offset), length: number(length) })
    };
    text.lines().filter_map(call).collect()
}

const PUNCH: &str = "FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE";
const ZERO: &str = "FALLOC_FL_KEEP_SIZE|FALLOC_FL_ZERO_RANGE";

/// The file system here may not support holes, or the temporary directory be on tmpfs, which cannot zero.
fn can(place: &Workplace, words: &str) -> Result<(), String> {
    place.create_file("probe.dat", "-c64K");
    let run = place.diskspd("-d60 -W0 -b4K -o1 --max-ios=1").args(words).arg("probe.dat").run();
    if run.code() == Some(0) { Ok(()) } else { Err(format!("{words} cannot be done here: {}", run.stderr.trim())) }
}

// Shows switches: --discard=<percent>
// Shows switches: --write-zeroes=<percent>
#[test]
fn the_kernel_is_asked_for_what_the_results_count() {
    let place = workplace!();
    or_skip!(can(&place, "--discard=50 --write-zeroes=50"));
    place.create_file("a.dat", "-c1M");
    let words = "-d600 -W0 -b4K -o1 -r -w50 --discard=20 --write-zeroes=30 --max-ios=2000 --json r.json a.dat";
    let text = or_skip!(place.system_calls("-y -e trace=fallocate,pread64,pwrite64", words));
    let span_result = place.span_result("r.json");
    let calls: Vec<Call> =
        fallocates(&text).into_iter().filter(|call| call.what == PUNCH || call.what == ZERO).collect();
    assert!(
        calls.iter().all(|call| call.length == BLOCK && call.offset % BLOCK == 0 && call.offset < MIB),
        "{calls:?}"
    );
    let count_calls = |what: &str| calls.iter().filter(|call| call.what == what).count() as u64;
    let lines = |name: &str| text.lines().filter(|line| line.contains(name) && line.contains("/a.dat>")).count() as u64;
    let seen = [lines(" pread64("), lines(" pwrite64("), count_calls(PUNCH), count_calls(ZERO)];
    let told = ["read", "write", "discard", "write_zeroes"].map(|operation| counted(&span_result, operation));
    assert_eq!(seen.map(|ios| (ios, ios * BLOCK)), told);
    assert_eq!(seen.iter().sum::<u64>(), 2000);
    // Five standard deviations around the shares: -w is a share of the remainder.
    for (ios, percent) in seen.into_iter().zip([25.0, 25.0, 20.0, 30.0]) {
        let (mean, deviation) = (20.0 * percent, (2000.0_f64 * percent / 100.0 * (1.0 - percent / 100.0)).sqrt());
        assert!((ios as f64 - mean).abs() < 5.0 * deviation, "{seen:?}");
    }
}

#[test]
fn discards_leave_holes_and_write_zeroes_do_not_with_every_engine() {
    let place = workplace!();
    or_skip!(can(&place, "--discard=50 --write-zeroes=50"));
    for engine in ["--engine=sync -o1", "--engine=io_uring -o4", "--engine=io_uring -o1 -u"] {
        let path = place.create_file("a.dat", "-c1M --recreate");
        let before = fs::metadata(&path).expect("the file").blocks();
        assert!(before * 512 >= MIB, "a created file is allocated");
        for (option, operation) in [("--write-zeroes=100", "write_zeroes"), ("--discard=100", "discard")] {
            let words = format!("-d600 -W0 -b64K -s {engine} {option} --max-ios=32 --json r.json");
            place.diskspd(&words).arg(&path).run().expect_status(0);
            assert_eq!(counted(&place.span_result("r.json"), operation), (32, 32 * 64 * 1024), "{words}");
            let metadata = fs::metadata(&path).expect("the file");
            let content = fs::read(&path).expect("the file");
            assert!(metadata.len() == MIB && content.iter().all(|&byte| byte == 0), "{words}: {}", metadata.len());
            let is_hole = metadata.blocks() * 512 < MIB / 2;
            assert_eq!(is_hole, operation == "discard", "{words}: {} blocks", metadata.blocks());
        }
    }
}

#[test]
fn only_the_ranges_that_were_counted_change() {
    let place = workplace!();
    or_skip!(can(&place, "--discard=100"));
    let path = place.create_file("a.dat", "-c1M");
    place
        .diskspd("-d600 -W0 -b4K -B64K:64K -s -o1 --discard=100 --max-ios=4 --json r.json a.dat")
        .run()
        .expect_status(0);
    let content = fs::read(&path).expect("the file");
    let (first, last) = (64 * 1024, 64 * 1024 + 4 * 4096);
    let ramp = |at: usize| (at % 256) as u8;
    for (at, byte) in content.iter().enumerate() {
        let expected = if (first..last).contains(&at) { 0 } else { ramp(at) };
        assert_eq!(*byte, expected, "at {at}");
    }
    // Discarded ranges no longer have the content that the mark names: -c recreates the file.
    place.create_file("a.dat", "-c1M");
    assert!(fs::read(&path).expect("the file").iter().enumerate().all(|(at, byte)| *byte == ramp(at)));
}

// Shows data-safety: a range of a file or block device, discarded or zeroed
#[test]
fn other_peoples_files_need_the_permission_of_writes() {
    let place = workplace!();
    let path = place.somebodys("theirs.dat");
    for (words, harm) in [
        ("-w0 -b4K --discard=10", "Discarding (--discard) would destroy"),
        ("-w0 -b4K --write-zeroes=100", "Writing zeroes (--write-zeroes) would destroy"),
        ("-w1 -b4K --discard=10", "Writing (-w) would destroy"),
        ("-c128K --discard=1", "-c would replace"),
    ] {
        place.refused(words, &path, &["may hold data that diskspd did not write", harm, "--overwrite"]);
    }
    let profile = place.diskspd("-d1 -W0 -Rpxml -b4K --discard=10 *1").run();
    profile.expect_status(0).expect_stdout(&["<Linux>", "<Discard>10</Discard>"]);
    fs::write(place.path("p.xml"), &profile.stdout).expect("a small file");
    let before = Snapshot::take(&path);
    place.diskspd("-Xp.xml").arg(&path).run().expect_status(3).expect_stderr(&["--overwrite"]);
    assert_eq!(Snapshot::take(&path), before);
}

#[test]
fn what_cannot_be_is_refused_and_touches_nothing() {
    let place = workplace!();
    let path = place.create_file("a.dat", "-c64K");
    for (words, parts) in [
        ("--discard=60 --write-zeroes=50", &["--discard=60", "--write-zeroes=50", "110%", "at most 100%"][..]),
        ("--discard=101", &["--discard", "101", "0 to 100"]),
        ("--discard=ten", &["--discard", "ten", "whole number"]),
        ("--discard=10 --engine=aio", &["--discard", "Linux AIO", "--engine=io_uring"]),
        ("--write-zeroes=10 -x", &["--write-zeroes", "-x", "--engine=sync"]),
        ("--discard=10 -Sm", &["--discard", "-Sm"]),
        ("--write-zeroes=1 --iopoll -Su", &["--write-zeroes", "--iopoll"]),
        ("-w50 --fsync-every=8 --fdatasync-every=8", &["--fdatasync-every", "--fsync-every", "one of them"]),
        ("-w0 --fsync-every=8", &["--fsync-every needs writes"]),
    ] {
        let before = Snapshot::take(&path);
        let run = place.short_run("-b4K").args(words).arg(&path).run();
        run.expect_status(3).expect_stderr(parts);
        assert_eq!((Snapshot::take(&path), &*run.stdout), (before, ""), "{words}");
    }
}

#[test]
fn a_file_system_that_cannot_zero_is_named() {
    let place = workplace!();
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "4m"));
    let path = memory.path.join("a.dat");
    place.diskspd("-d1 -W0 -b4K -c64K --max-ios=1").arg(&path).run().expect_status(0);
    let run = place.short_run("-b4K --write-zeroes=1").arg(&path).run();
    run.expect_stderr(&["--write-zeroes cannot be used on", "tmpfs cannot zero a range of a file"]);
    assert_eq!(run.code(), Some(1));
}

// Shows switches: --fsync-every=<writes>
#[test]
fn fsync_is_called_after_every_n_writes() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let words = "-d600 -W0 -b4K -o1 -w100 -L --fsync-every=8 --max-ios=64 --json r.json --text r.txt a.dat";
    let text = or_skip!(place.system_calls("-y -e trace=fsync,fdatasync", words));
    let of_target = text.lines().filter(|line| line.contains(" fsync(") && line.contains("/a.dat>"));
    let mut calls = BTreeMap::<&str, u64>::new();
    for line in of_target {
        *calls.entry(line.split(' ').next().unwrap_or_default()).or_default() += 1;
    }
    let flushes = &place.span_result("r.json")["measured"]["flushes"];
    assert_eq!((&flushes["call"], &flushes["after_writes"]), (&"fsync".into(), &8.into()));
    let count = flushes["count"].as_u64().expect("a number");
    // The last flush may still be due when the run ends.
    assert!((7..=8).contains(&count), "{flushes}");
    // Another thread flushes the mark of the file.
    assert!(calls.values().any(|&calls| calls == count), "{count}: {calls:?}");
    let report = String::from_utf8(place.content("r.txt")).expect("a text");
    assert!(report.contains("\nfsync, after every 8 writes of a thread\n"), "{report}");
    let count = count.to_string();
    assert!(report.lines().any(|line| line.split_whitespace().take(2).eq(["fsync", &count])), "{report}");
    assert!(report.lines().any(|line| line.starts_with(" commit (write + fsync) ")), "{report}");
}

#[test]
fn reports_have_a_table_of_what_transfers_no_data() {
    let place = workplace!();
    or_skip!(can(&place, "--discard=100"));
    place.create_file("a.dat", "-c1M");
    let words = "-d600 -W0 -b4K -o1 -r -L --discard=50 --max-ios=100 --json r.json --csv r.csv --text r.txt a.dat";
    place.diskspd(words).run().expect_status(0);
    let span_result = place.span_result("r.json");
    let (ios, bytes) = counted(&span_result, "discard");
    let report = String::from_utf8(place.content("r.txt")).expect("a text");
    let row = report.lines().find(|line| line.trim_start().starts_with("discard ")).expect("a row of discards");
    let cells: Vec<String> = row.split_whitespace().map(|cell| cell.replace(',', "")).collect();
    assert!(cells[1..3].contains(&ios.to_string()), "{row}");
    assert!(cells[1] == bytes.to_string() || report.contains("not shown for lack of room: bytes"), "{report}");
    assert!(report.contains("discards: 50% of all I/Os"), "{report}");
    // DiskSpd's tables do not include them.
    let (reads, _) = counted(&span_result, "read");
    assert_eq!(reads + ios, 100);
    assert_eq!(span_result["measured"]["total"]["total"]["ios"], reads);
    let latency = &span_result["measured"]["operations"][0]["latency"];
    assert_eq!(latency["count"], ios);
    let table = String::from_utf8(place.content("r.csv")).expect("a text");
    let line = table.lines().find(|line| line.contains(",discard,")).expect("a line of discards");
    assert!(line.contains(&format!(",{bytes},{ios},")), "{line}");
}

/// Bytes that a device has discarded: the 14th number of its statistics, in sectors.
fn discarded_bytes(device: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/sys/block/{device}/stat")).ok()?;
    text.split_whitespace().nth(13)?.parse::<u64>().ok().map(|sectors| sectors * 512)
}

#[test]
fn devices_discard_and_zero_with_every_engine() {
    let place = workplace!();
    for (engine, option) in [
        ("--engine=sync -o1", "--discard=100"),
        ("--engine=io_uring -o4", "--discard=100"),
        ("--engine=sync -o1", "--write-zeroes=100"),
        ("--engine=io_uring -o4", "--write-zeroes=100"),
    ] {
        let image = place.file("own.img", &vec![0xAB; MIB as usize]);
        let device = or_skip!(LoopDevice::over(&place, &image));
        let Some(before) = discarded_bytes(&device.name()) else { skip!("this kernel counts no discards") };
        let destroy = format!("--destroy={}", image.display());
        // Half of it.
        let words = format!("-d600 -W0 -b64K -f512K -s {engine} {option} --max-ios=8 --json r.json");
        let run = place.diskspd(&words).arg(&destroy).arg(&device.path).run();
        if run.stderr.contains("does not support discards") || run.stderr.contains("needs Linux 6.12") {
            skip!("{}", run.stderr.trim());
        }
        run.expect_status(0);
        let operation = if option.starts_with("--discard") { "discard" } else { "write_zeroes" };
        assert_eq!(counted(&place.span_result("r.json"), operation), (8, 8 * 64 * 1024), "{words}");
        if operation == "discard" {
            // The kernel may merge neighbours.
            assert_eq!(discarded_bytes(&device.name()), Some(before + 8 * 64 * 1024), "{words}");
        }
        expect_halves(&device.path, &words);
    }
}

#[test]
fn verified_discards_of_devices_stay_in_their_area() {
    let place = workplace!();
    let image = place.file("own.img", &vec![0xAB; MIB as usize]);
    let device = or_skip!(LoopDevice::over(&place, &image));
    let destroy = format!("--destroy={}", image.display());
    let words =
        "-d600 -W0 -b64K -f512K -r -w50 --discard=50 --engine=io_uring -o4 --verify --max-ios=200 --json r.json";
    let run = place.diskspd(words).arg(&destroy).arg(&device.path).run();
    if run.stderr.contains("does not support discards") || run.stderr.contains("needs Linux 6.12") {
        skip!("{}", run.stderr.trim());
    }
    run.expect_status(0);
    let (discards, bytes) = counted(&place.span_result("r.json"), "discard");
    assert!(discards > 0 && bytes == discards * 64 * 1024, "{discards} discards of {bytes} bytes");
    let content = fs::read(&device.path).expect("it can be read");
    assert!(content[MIB as usize / 2..].iter().all(|&byte| byte == 0xAB), "changed outside its area");
}

/// The first half of a device reads as zeros, and the second half as it was.
fn expect_halves(device: &Path, words: &str) {
    let content = fs::read(device).expect("it can be read");
    let (first, second) = content.split_at(content.len() / 2);
    assert!(first.iter().all(|&byte| byte == 0), "{words}");
    assert!(second.iter().all(|&byte| byte == 0xAB), "{words}");
}

#[test]
fn discards_of_two_devices_stay_on_their_own() {
    let place = workplace!();
    let images = ["a.img", "b.img"].map(|name| place.file(name, &vec![0xAB; 8 * MIB as usize]));
    let (first, second) =
        (or_skip!(LoopDevice::over(&place, &images[0])), or_skip!(LoopDevice::over(&place, &images[1])));
    let ranges = [2 * MIB..4 * MIB, 5 * MIB..8 * MIB];
    let span = "form = \"diskspd-job/1\"\n[[time_spans]]\nthread_count = 1\nrequest_count = 16\nduration_s = 60\nwarm_up_s = 0";
    let target = |(device, range): (&LoopDevice<'_>, &std::ops::Range<u64>)| {
        format!(
            "[[time_spans.targets]]\npath = \"{}\"\nbase_offset = {}\nmax_offset = {}\nblock_size = \"4K\"\nrandom = \
             \"4K\"\ndiscard_percent = 100\n",
            device.path.display(),
            range.start,
            range.end
        )
    };
    let targets: Vec<String> = [&first, &second].into_iter().zip(&ranges).map(target).collect();
    let job = format!("{span}\n{}", targets.join("\n"));
    place.file("job.toml", job.as_bytes());
    let destroy = images.each_ref().map(|image| format!("--destroy={}", image.display()));
    let run = place.diskspd("run job.toml --engine=io_uring --max-ios=500").args(&destroy.join(" ")).run();
    if run.stderr.contains("does not support discards") || run.stderr.contains("needs Linux 6.12") {
        skip!("{}", run.stderr.trim());
    }
    run.expect_status(0);
    for (device, range) in [&first, &second].into_iter().zip(&ranges) {
        let content = fs::read(&device.path).expect("it can be read");
        let outside = content.iter().zip(0..).filter(|(byte, at)| **byte != 0xAB && !range.contains(at)).count();
        assert_eq!(outside, 0, "{}", device.path.display());
        assert!(content.contains(&0), "nothing was discarded");
    }
}
