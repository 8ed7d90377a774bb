//! The report on `-Sw` matches the device's own counters, read here independently.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{Call, Faulty, LoopDevice, Mounted, Service, Workplace, or_skip, workplace};

const MIB: u64 = 1 << 20;

/// A note of a run, and the device's counters from before the run to after it.
struct FlushObservation {
    note: Value,
    flushes: u64,
    stdout: String,
}

impl FlushObservation {
    fn number(&self, name: &str) -> u64 {
        self.note[name].as_u64().unwrap_or_else(|| panic!("{name}: {}", self.note))
    }

    /// The values of the note must lie between the run's own counts and ours, which cover a longer time.
    fn expect(&self, how: &[&str]) {
        assert!(how.iter().any(|how| self.note["how"] == *how), "{}", self.note);
        let (writes, flushes) = (self.number("write_count"), self.number("flush_count"));
        assert!(writes > 0, "{}", self.note);
        assert!(flushes <= self.flushes, "{flushes} of {}", self.flushes);
        assert!(self.flushes * 100 <= flushes * 110 + 5000, "{flushes} of {}", self.flushes);
        assert!(!self.stdout.contains("disabled, writethrough"), "{}", self.stdout);
    }
}

/// Flushes that a device has completed: the 16th number of its statistics.
fn flush_count(device: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/sys/block/{device}/stat")).ok()?;
    text.split_whitespace().nth(15)?.parse().ok()
}

/// Writes for two seconds, and returns the note on one device.
fn write(place: &Workplace, words: &str, target: &Path, device: &str) -> Result<FlushObservation, String> {
    let before = flush_count(device).ok_or("this kernel counts no flushes")?;
    let words = format!("-d2 -W0 -C0 -b4K -w100 -r --json r.json --xml r.xml {words}");
    let run = place.diskspd(&words).arg(target).run();
    run.expect_status(0);
    let flushes = flush_count(device).ok_or("the device is gone")? - before;
    let document: Value = place.json("r.json");
    let notes = document["time_spans"][0]["notes"].as_array().expect("a list of notes");
    let is_ours = |note: &&Value| note["note"] == "writes_made_durable" && note["device"] == device;
    let note = notes.iter().find(is_ours).unwrap_or_else(|| panic!("no note on {device}: {notes:?}")).clone();
    let sentence = format!("write-through on {device}: ");
    run.expect_stdout(&[&format!("NOTE: {sentence}"), "asking for durable writes (O_DSYNC), writethrough on"]);
    let xml = String::from_utf8(place.content("r.xml")).expect("it is text");
    assert!(xml.contains(&format!("<Note>{sentence}")), "{xml}");
    Ok(FlushObservation { note, flushes, stdout: run.stdout })
}

/// Sets the kernel's assumption about the device's cache.
fn set_cache(device: &str, cache: &str) -> Result<(), String> {
    fs::write(format!("/sys/block/{device}/queue/write_cache"), cache).map_err(|error| error.to_string())
}

fn blank(place: &Workplace) -> Result<(PathBuf, LoopDevice<'_>), String> {
    let image = place.sparse("own.img", 32 * MIB).expect("a sparse file");
    let device = LoopDevice::over(place, &image)?;
    Ok((image, device))
}

// Shows switches: -Sw
#[test]
fn writes_to_a_device_are_flushed_once_and_by_the_synchronous_engine_twice() {
    let place = workplace!();
    let (image, device) = or_skip!(blank(&place));
    or_skip!(set_cache(&device.name(), "write back"));
    let destroy = format!("--destroy={}", image.display());
    let seen = |words: &str| write(&place, &format!("{destroy} {words}"), &device.path, &device.name());
    or_skip!(seen("-Suw -o1")).expect(&["flush_per_write"]);
    let twice = or_skip!(seen("-Suw -o1 --engine sync"));
    twice.expect(&["several_flushes_per_write"]);
    assert!(twice.number("flush_count") * 10 > twice.number("write_count") * 18, "{}", twice.note);
}

#[test]
fn a_cache_that_is_not_volatile_needs_no_flush_and_the_report_says_so() {
    let place = workplace!();
    let (image, device) = or_skip!(blank(&place));
    or_skip!(set_cache(&device.name(), "write through"));
    let words = format!("-Suw -o4 --destroy={}", image.display());
    let seen = or_skip!(write(&place, &words, &device.path, &device.name()));
    seen.expect(&["not_volatile"]);
    assert!(seen.flushes * 1000 < seen.number("write_count"), "{} flushes: {}", seen.flushes, seen.note);
}

// Shows switches: --fdatasync-every=<writes>
#[test]
fn a_flush_follows_so_many_writes_and_is_counted_as_itself() {
    let place = workplace!();
    let (image, device) = or_skip!(blank(&place));
    or_skip!(set_cache(&device.name(), "write back"));
    for (words, each) in [("-o1 --fdatasync-every=4", 4), ("-o1 --engine sync --fdatasync-every=1", 1)] {
        let before = or_skip!(flush_count(&device.name()).ok_or("this kernel counts no flushes"));
        let run = place.diskspd("-d60 -W0 -C0 -b4K -w100 -r -Su --max-ios=400 --json r.json").args(words);
        run.arg(format!("--destroy={}", image.display())).arg(&device.path).run().expect_status(0);
        let seen = flush_count(&device.name()).expect("it is there") - before;
        let document: Value = place.json("r.json");
        let measured = &document["time_spans"][0]["measured"];
        let flushes = measured["flushes"]["count"].as_u64().expect("a number");
        let writes = measured["total"]["write"]["ios"].as_u64().expect("a number");
        assert!(flushes > 0 && flushes.abs_diff(writes / each) <= 1, "{flushes} flushes of {writes} writes");
        // Our flushes are among those that the device counted; closing it and other activity adds a few.
        assert!((flushes..=flushes + 20).contains(&seen), "{flushes} of {seen}");
        assert!(measured["flushes"]["latency"]["mean_ns"].as_f64().expect("a number") > 0.0);
    }
    for (words, expected) in [
        ("-w0 --fdatasync-every=4", "the load is read-only"),
        ("-w100 -u --fdatasync-every=4", "cannot be used with -u"),
        ("-w100 -Sm --fdatasync-every=4", "flush them with -N"),
    ] {
        let run = place.diskspd("-d1 -W0 -c1M").args(words).arg("b.dat").run();
        run.expect_status(3).expect_stderr(&[expected]);
    }
}

/// At more than one outstanding I/O, flushes once covered all writes in flight: 31.5 instead of the requested one at
/// `-o32`.
// Shows switches: --fdatasync-every=<writes>
// Shows switches: --fsync-every=<writes>
#[test]
fn a_flush_covers_as_many_writes_as_it_should_and_nothing_is_outstanding_meanwhile() {
    let place = workplace!();
    let disk = or_skip!(Faulty::mounted(&place, "disk"));
    disk.serve(Service::Each(Duration::from_millis(2)));
    disk.flush_takes(Duration::ZERO);
    for (words, every) in [
        ("-o32 -w100 -r --fdatasync-every=1", 1),
        ("-o8 -w100 -si --fsync-every=5", 5),
        ("-o16 -w60 -r --fdatasync-every=3", 3),
        ("-o8 -w60 -r --fdatasync-every=16 --engine=aio", 16),
        ("-o4 -w60 -r --sizes=4K/50:8K/50 --fdatasync-every=2", 2),
        ("-o8 -w60 -r --rate=2000 --fdatasync-every=3", 3),
        ("-o4 -w60 -r --engine=sync --fdatasync-every=3", 3),
    ] {
        disk.take_calls();
        let options = "-d600 -W0 -C0 -t1 -b4K -Su -L --overwrite --max-ios=200 --json r.json";
        let run = place.diskspd(&format!("{options} {words}")).arg(&disk.file).run();
        run.expect_status(0);
        let measured = &place.span_result("r.json")["measured"];
        let flushes = &measured["flushes"];
        let writes = measured["total"]["write"]["ios"].as_u64().expect("a number");
        let count = flushes["count"].as_u64().expect("a number");
        assert_eq!(count, writes / every, "{words}: {flushes}");
        assert_eq!(flushes["writes_per_flush"], every as f64, "{words}: {flushes}");
        assert_eq!(flushes["unflushed_writes"], writes % every, "{words}: {flushes}");
        let calls = disk.take_calls();
        let groups: Vec<&[Call]> = calls.split_inclusive(|call| matches!(call, Call::Flush { .. })).collect();
        for group in &groups[..count as usize] {
            assert_eq!(
                group.iter().filter(|call| matches!(call, Call::Write(_))).count() as u64,
                every,
                "{words}: {group:?}"
            );
            assert_eq!(group.last(), Some(&Call::Flush { outstanding: 0 }), "{words}: {group:?}");
        }
        let goes_on = |group: &&&[Call]| matches!(group, [.., Call::Read(_), Call::Flush { .. }]);
        assert_eq!(groups.iter().filter(goes_on).count() > 0, !words.contains("-w100"), "{words}: {calls:?}");
    }
}

#[test]
fn fewer_writes_between_flushes_than_requests_are_a_note_and_the_last_group_is_printed() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let run = |words: &str| {
        let run = place.diskspd("-d600 -W0 -t1 -b4K -r -w100 -v --max-ios=103").args(words).arg("a.dat").run();
        run.expect_status(0);
        run.stdout
    };
    let several = run("-o8 --fdatasync-every=4");
    for part in [
        "NOTE: --fdatasync-every=4 limits the outstanding writes of a thread to 4 of its 8 requests (-o)",
        "\nfdatasync, after every 4 writes of a thread\n",
        "Writes per fdatasync: 4.00; writes in incomplete last groups: 3.",
    ] {
        assert!(several.contains(part), "{part}: {several}");
    }
    assert!(several.lines().any(|line| line.split_whitespace().take(2).eq(["fdatasync", "25"])), "{several}");
    let each = run("-o1 --fsync-every=1");
    assert!(each.contains("\nfsync, after each write of a thread\n") && each.contains("\n fsync "), "{each}");
    assert!(each.lines().any(|line| line.split_whitespace().take(2).eq(["fsync", "103"])), "{each}");
    assert!(each.contains("Writes per fsync: 1.00."), "{each}");
    assert!(!each.contains("limits the outstanding writes"), "{each}");
}

// Shows switches: -Sw
#[test]
fn writes_to_files_are_told_of_by_the_device_below() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::ext4(&place, "own", 64 * MIB));
    let device = mounted.device.as_ref().expect("it is on one").name();
    or_skip!(set_cache(&device, "write back"));
    let target = mounted.path.join("a.dat");
    place.briefly("-c16M").arg(&target).run_until_measuring().expect_status(0);
    place.tool("sync").run().expect_status(0);
    // If writes are slow, each also changes the file's time, which the journal makes durable separately.
    let flushed = ["flush_per_write", "several_flushes_per_write"];
    or_skip!(write(&place, "-Suw -o1", &target, &device)).expect(&flushed);
    or_skip!(write(&place, "-Sw -o1", &target, &device)).expect(&flushed);
    or_skip!(mounted.remount("nobarrier"));
    or_skip!(write(&place, "-Suw -o4", &target, &device)).expect(&["nothing"]);
}

#[test]
fn without_a_device_nothing_is_claimed() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::tmpfs(&place, "memory", "8M"));
    let run = place.diskspd("-c1M -d1 -W0 -w100 -Sw").arg(mounted.path.join("a.dat")).run();
    run.expect_status(0)
        .expect_stdout(&["cannot determine how writes were made durable: no block device is visible beneath it"]);
    let read_only = place.diskspd("-d1 -W0 -Sw").arg(mounted.path.join("a.dat")).run();
    read_only.expect_status(0);
    assert!(!read_only.stdout.contains("durable is unknown"), "{}", read_only.stdout);
}
