//! `diskspd monitor`: its lines, its ends, and its values against iostat's and the run's.

use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::{Finished, LoopDevice, Metronome, Mounted, Workplace, or_skip, skip, tool, workplace};

/// Duration for which both programs watch, in seconds. The load is within it, so both see all of it.
const WATCH_S: u32 = 6;

/// Permitted difference between two programs' counts of the same load, as a fraction.
const SHARE: f64 = 0.01;

/// Reads of the load, which iostat also sees.
const READS: u64 = 20_000;

/// Number of attempts on a busy machine.
const TRIES: usize = 4;

/// Runs these arguments with a short interval.
fn briefly(place: &Workplace, words: &str) -> Finished {
    place.diskspd("monitor").args(words).args("--interval=100ms").run()
}

fn has_devices() -> Result<(), String> {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
    if text.trim().is_empty() { Err("there are no block devices here".to_owned()) } else { Ok(()) }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// The cells of a line in which every cell is quoted.
fn cells(line: &str) -> Vec<&str> {
    let inside = line.strip_prefix('"').and_then(|line| line.strip_suffix('"')).expect("all cells are quoted");
    inside.split("\",\"").collect()
}

fn sum(intervals: &[Value], device: &str, of: impl Fn(&Value) -> Option<u64>) -> u64 {
    intervals.iter().filter_map(|interval| of(&interval["devices"][device])).sum()
}

#[test]
fn csv_has_typeperfs_form() {
    let place = workplace!();
    or_skip!(has_devices());
    let run = briefly(&place, "all --csv -n3");
    run.expect_status(0);
    let table: Vec<Vec<&str>> = run.stdout.lines().map(cells).collect();
    assert_eq!(table.len(), 4, "{run}");
    assert_eq!(table[0][0], "(PDH-CSV 4.0) (UTC)(0)");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    for name in &table[0][1..] {
        let rest = name.strip_prefix(&format!("\\\\{}\\", host.trim())).expect(name);
        let is_known = |object: &str| rest.starts_with(&format!("{object}(")) || rest.starts_with("Memory\\");
        let objects = ["PhysicalDisk", "LogicalDisk", "Processor", "Network Interface", "NFS Client Shares"];
        let more = ["SMB Client Shares", "Storage Cache"];
        assert!(objects.into_iter().chain(more).any(is_known), "{name}");
    }
    for line in &table[1..] {
        assert_eq!(line.len(), table[0].len());
        let (date, time) = line[0].split_once(' ').expect("date and time");
        assert_eq!((date.len(), time.len(), &time[8..9]), ("MM/DD/YYYY".len(), "HH:MM:SS.mmm".len(), "."), "{line:?}");
        for value in line[1..].iter().filter(|value| **value != " ") {
            let decimals = value.split_once('.').map(|(_, decimals)| decimals.len());
            assert!(decimals == Some(6) && value.parse::<f64>().is_ok_and(|value| value >= 0.0), "{value}");
        }
    }
}

#[test]
fn a_line_from_windows_works() {
    let place = workplace!();
    or_skip!(has_devices());
    let words = ["monitor", r"\\ANY\PhysicalDisk(*)\% Idle Time", r"\PhysicalDisk(_Total)\Disk Transfers/sec"];
    let mut program = place.diskspd("");
    for word in words {
        program = program.arg(word);
    }
    let run = program.args("-si 1 -sc 1 -o perf.csv -y -f CSV").run();
    if run.stderr.contains("nothing matches") {
        skip!("there are no disks here: {}", run.stderr);
    }
    run.expect_status(0);
    assert!(run.stdout.is_empty());
    let text = String::from_utf8(place.content("perf.csv")).expect("it is text");
    let (header, rows) = text.split_once('\n').expect("lines");
    assert!(header.ends_with("\\PhysicalDisk(_Total)\\Disk Transfers/sec\""), "{text}");
    assert_eq!((rows.lines().count(), cells(rows.trim_end()).len()), (1, cells(header).len()));
}

#[test]
fn json_lines_and_recordings_tell_the_same() {
    let place = workplace!();
    or_skip!(has_devices());
    place.file("r.jsonl", b"{\"kind\":\"begin\",\"schema\":\"diskspd-monitor\",\"old\":1}\n");
    let run = briefly(&place, "all --jsonl -n4 --record r.jsonl");
    run.expect_status(0);
    let told = lines(&run.stdout);
    let kept = lines(&String::from_utf8(place.content("r.jsonl")).expect("it is text"));
    let [begin, intervals @ .., end] = kept.as_slice() else { panic!("{kept:?}") };
    assert_eq!(intervals, told);
    assert_eq!((&begin["kind"], &begin["schema"]), (&"begin".into(), &"diskspd-monitor".into()));
    assert_eq!((&end["kind"], &end["interval_count"]), (&"end".into(), &4.into()));
    let mut end_ns = 0;
    for interval in intervals {
        assert_eq!(interval["kind"], "interval");
        end_ns += interval["interval_ns"].as_u64().expect("a time");
        assert_eq!(interval["end_ns"], end_ns, "intervals follow each other without a gap");
        // On the grid, or later where the machine was busy.
        assert!(end_ns >= interval["number"].as_u64().expect("a number") * 100_000_000);
    }
    let watched = begin["devices"].as_array().expect("a list").len();
    assert!(watched > 0 && begin["devices"][0]["kind"].is_string(), "{begin}");
}

#[test]
fn signals_end_it_well() {
    let place = workplace!();
    or_skip!(has_devices());
    for terminate in [false, true] {
        let mut running = place.diskspd("monitor all --jsonl --record r.jsonl -i 100ms").start();
        running.wait_for_stdout("\"number\":2");
        if terminate {
            running.terminate();
        } else {
            running.interrupt();
        }
        let run = running.finish();
        run.expect_status(0);
        assert!(run.stderr.is_empty(), "{run}");
        let kept = String::from_utf8(place.content("r.jsonl")).expect("it is text");
        assert!(kept.lines().last().is_some_and(|line| line.starts_with("{\"kind\":\"end\"")), "{kept}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let place = workplace!();
    or_skip!(has_devices());
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let running = place.diskspd("monitor all -i 100ms").stdout(writer).start();
    drop(reader);
    let run = running.finish();
    run.expect_status(0);
    assert!(run.stderr.is_empty(), "{run}");
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let place = workplace!();
    or_skip!(has_devices());
    for (words, parts) in [
        ("nosuchdisk", &["ERROR: no device 'nosuchdisk'; 'diskspd devices' lists"][..]),
        (
            "/proc/self/stat /dev/nosuchdisk",
            &["'/proc/self/stat' is not a block", "ERROR: no device '/dev/nosuchdisk'"],
        ),
        ("/dev/null", &["'/dev/null' is not a block device"]),
        ("-c \\PhysicalDisk(nosuchdisk)\\*", &["nothing matches \\PhysicalDisk(nosuchdisk) (available: "]),
        (
            "-c \\PhysicalDisk(*)\\Temperature",
            &["unknown counter 'Temperature'", "\\PhysicalDisk(*)\\Disk Reads/sec\n"],
        ),
        ("all -o /dev/null", &["ERROR: --output '/dev/null': it is in /dev"]),
        ("all -o a --record ./a", &["--record './a': the file is the --output file"]),
        ("all --interval=1ms", &["the interval must be at least 100ms"]),
    ] {
        let run = place.diskspd("monitor").args(words).run();
        run.expect_status(3).expect_stderr(parts);
        assert!(run.stdout.is_empty(), "{run}");
    }
    place.diskspd("monitor --help").run().expect_status(0).expect_stdout(&["Usage: diskspd monitor [DEVICE...", "-si"]);
}

#[test]
fn bytes_are_those_of_a_direct_run() {
    let place = workplace!();
    let (mounted, target) = or_skip!(Mounted::ext4_with_file(&place));
    let device = mounted.device.as_ref().expect("it is on a loop device");
    let line_count =
        || std::fs::read(place.path("m.jsonl")).map_or(0, |text| text.split(|byte| *byte == b'\n').count() - 1);
    let mut monitor = place.diskspd("monitor -o m.jsonl -i 100ms").arg(&device.path).start();
    monitor.wait_until("a first interval", |_| line_count() > 0);
    let words = format!("-d60 -W0 -C0 -b64K -r -o4 -Su --max-ios={READS} --json r.json");
    place.diskspd(&words).arg(&target).run().expect_status(0);
    let so_far = line_count();
    monitor.wait_until("an interval after the run", |_| line_count() > so_far + 1);
    monitor.end();
    let intervals = lines(&String::from_utf8(place.content("m.jsonl")).expect("it is text"));
    let document: Value = place.json("r.json");
    let ours = document["time_spans"][0]["measured"]["total"]["read"]["bytes"].as_u64().expect("bytes");
    let theirs = sum(&intervals, &device.name(), |device| device["read"]["bytes"].as_u64());
    assert!(ours.abs_diff(theirs) as f64 <= theirs as f64 * SHARE, "{ours} bytes, the device counted {theirs}");
}

/// Values for one device and one interval, as printed by both programs.
#[derive(Debug)]
struct Figures {
    reads_per_s: f64,
    writes_per_s: f64,
    read_kib_per_s: f64,
    read_ms: f64,
    queue: f64,
    util_percent: f64,
}

impl Figures {
    fn of_iostat(run: &Finished, device: &str) -> Self {
        run.expect_status(0);
        let document: Value = serde_json::from_str(&run.stdout).expect("iostat writes JSON");
        let statistics = &document["sysstat"]["hosts"][0]["statistics"][0]["disk"];
        let found = statistics.as_array().and_then(|disks| disks.iter().find(|disk| disk["disk_device"] == device));
        let disk = found.unwrap_or_else(|| panic!("iostat does not tell of {device}\n{run}"));
        let figure = |name: &str| disk[name].as_f64().unwrap_or_else(|| panic!("iostat has no {name}\n{run}"));
        Self {
            reads_per_s: figure("r/s"),
            writes_per_s: figure("w/s"),
            read_kib_per_s: figure("rkB/s"),
            read_ms: figure("r_await"),
            queue: figure("aqu-sz"),
            util_percent: figure("util"),
        }
    }

    fn of_monitor(run: &Finished, device: &str) -> Self {
        run.expect_status(0);
        let interval = lines(&run.stdout).pop().expect("an interval");
        let rates = &interval["devices"][device];
        let figure = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("a figure is missing: {rates}"));
        Self {
            reads_per_s: figure(&rates["read"]["per_s"]),
            writes_per_s: figure(&rates["write"]["per_s"]),
            read_kib_per_s: figure(&rates["read"]["bytes_per_s"]) / 1024.0,
            read_ms: figure(&rates["read"]["latency_ns"]) / 1e6,
            queue: figure(&rates["queue_length"]),
            util_percent: figure(&rates["busy_percent"]),
        }
    }

    /// Values that differ by more than a hundredth, and more than iostat's two decimals.
    fn unlike(&self, other: &Self) -> Vec<String> {
        let pairs = [
            ("reads/s", self.reads_per_s, other.reads_per_s),
            ("writes/s", self.writes_per_s, other.writes_per_s),
            ("KiB/s", self.read_kib_per_s, other.read_kib_per_s),
            ("ms a read", self.read_ms, other.read_ms),
            ("queue", self.queue, other.queue),
            ("% busy", self.util_percent, other.util_percent),
        ];
        let unlike = pairs.into_iter().filter(|(_, one, two)| (one - two).abs() > 0.011 + SHARE * one.max(*two));
        unlike.map(|(name, one, two)| format!("{name}: {one} and {two}")).collect()
    }
}

#[test]
fn iostat_tells_the_same() {
    let place = workplace!();
    or_skip!(place.direct_io());
    let iostat = or_skip!(tool("iostat"));
    let image = place.sparse("own.img", 64 << 20).expect("a sparse file");
    let device = or_skip!(LoopDevice::over(&place, &image));
    // A loop device whose file is read through the cache completes at once; holes suffice for counting.
    let mut unlike = Vec::new();
    let metronome = Metronome::start();
    for _ in 0..TRIES {
        let Some((theirs, ours)) = beside_iostat(&place, &iostat, &device) else {
            skip!("{READS} reads take longer here than both programs watch");
        };
        unlike = theirs.unlike(&ours);
        println!("iostat {theirs:?}\nmonitor {ours:?}");
        if unlike.is_empty() {
            return;
        }
    }
    or_skip!(metronome.verdict());
    panic!("{unlike:?}");
}

/// Both programs watch a whole load; `None` if it does not end within their time.
fn beside_iostat(place: &Workplace, iostat: &Path, device: &LoopDevice<'_>) -> Option<(Figures, Figures)> {
    let seconds = Duration::from_secs(u64::from(WATCH_S));
    let iostat = place.tool(iostat).args("-x -y -d -o JSON").arg(device.name()).args(&format!("{WATCH_S} 1")).start();
    let monitor = place.diskspd(&format!("monitor --jsonl -n1 -i {}s", seconds.as_secs())).arg(&device.path).start();
    std::thread::sleep(Duration::from_millis(500));
    let words = format!("-d60 -W0 -C0 -b16K -r -o8 -Su --max-ios={READS}");
    let begun = Instant::now();
    place.diskspd(&words).arg(&device.path).run().expect_status(0);
    let is_inside = begun.elapsed() < seconds / 2;
    let (theirs, ours) = (iostat.finish(), monitor.finish());
    is_inside.then(|| (Figures::of_iostat(&theirs, &device.name()), Figures::of_monitor(&ours, &device.name())))
}

/// Terminal output of a command, and its status.
fn in_a_terminal(place: &Workplace, size: &str, words: &str) -> Result<String, String> {
    let script = tool("script")?;
    // The shell that script starts has a terminal without a size.
    let line = format!("stty {size}; {words}; echo STATUS $?; stty -a");
    let run =
        place.tool(script).env("TERM", "xterm").env("SHELL", "/bin/sh").arg("-qec").arg(line).arg("/dev/null").run();
    run.expect_status(0);
    Ok(run.stdout)
}

#[test]
fn a_terminal_shows_a_table_and_is_given_back() {
    let place = workplace!();
    or_skip!(has_devices());
    let program = place.program().display().to_string();
    let ends = [
        format!("{program} monitor all -n3 -i 100ms"),
        format!(
            "(rm -f r.jsonl; {program} monitor all -i 100ms --record r.jsonl & p=$!; while ! grep -qs number r.jsonl; do sleep 0.1; done; kill $p; wait $p)"
        ),
    ];
    for words in ends {
        for size in ["cols 80 rows 24", "cols 20 rows 5", "cols 0 rows 0"] {
            let seen = or_skip!(in_a_terminal(&place, size, &words));
            let (before, after) = seen.rsplit_once("\x1b[?1049l").unwrap_or_else(|| panic!("never left: {seen:?}"));
            assert!(before.contains("\x1b[?1049h\x1b[?25l"), "{before:?}");
            assert!(size.contains(" 0") || before.contains("diskspd monitor"), "{before:?}");
            assert!(after.starts_with("\x1b[?25h") && after.contains("STATUS 0"), "{after:?}");
            let settings: Vec<&str> = after.split_whitespace().collect();
            assert!(settings.contains(&"icanon") && settings.contains(&"echo"), "{after:?}");
        }
    }
    let dumb = or_skip!(in_a_terminal(&place, "cols 80", &format!("TERM=dumb {program} monitor all -n1 -i 100ms")));
    assert!(dumb.contains("Device ") && !dumb.contains("PDH-CSV") && !dumb.contains('\x1b'), "{dumb:?}");
    let plain = format!("NO_COLOR=1 {program} monitor all -n2 -i 100ms");
    let plain = or_skip!(in_a_terminal(&place, "cols 80 rows 24", &plain));
    // 39 and 49 are the terminal's default colours.
    for colour in plain.split("\x1b[").skip(1).filter_map(|rest| rest.split_once('m').map(|(codes, _)| codes)) {
        assert!(!colour.contains("38;") && !colour.contains("48;"), "{colour}");
    }
}
