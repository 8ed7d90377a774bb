//! The tool's results against the block layer's statistics of a device used by nothing else: counts and bytes to a
//! thousandth, and latencies never below the block layer's.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use testkit::{Mounted, Workplace, or_skip, skip, workplace};

/// So many that the unknown rest weighs little against a thousandth: requests in flight at an end, and the file
/// system's own.
const IOS: u64 = 100_000;

/// Requests of one kind.
#[derive(Clone, Copy, Debug)]
struct Requests {
    count: u64,
    bytes: u64,
    time_ms: u64,
}

impl Requests {
    /// Reads, then writes, since `before`.
    fn since(before: [Self; 2], after: [Self; 2]) -> [Self; 2] {
        [0, 1].map(|kind| Self {
            count: after[kind].count - before[kind].count,
            bytes: after[kind].bytes - before[kind].bytes,
            time_ms: after[kind].time_ms - before[kind].time_ms,
        })
    }

    fn mean_us(self) -> f64 {
        self.time_ms as f64 * 1e3 / self.count as f64
    }
}

/// A file on a separate ext4.
struct Alone<'a> {
    place: &'a Workplace,
    mounted: Mounted<'a>,
    file: PathBuf,
}

impl<'a> Alone<'a> {
    fn new(place: &'a Workplace) -> Result<Self, String> {
        let (mounted, file) = Mounted::ext4_with_file(place)?;
        Ok(Self { place, mounted, file })
    }

    /// Reads, then writes, since the device was made.
    fn counted(&self) -> [Requests; 2] {
        let name = self.mounted.device.as_ref().expect("it is on a loop device").name();
        let text = fs::read_to_string(Path::new("/sys/block").join(name).join("stat")).expect("statistics");
        let fields: Vec<u64> = text.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        [0, 4].map(|at| Requests { count: fields[at], bytes: fields[at + 2] * 512, time_ms: fields[at + 3] })
    }

    /// Results of a run, reads and writes, and the device's counts in the meantime.
    fn measure(&self, words: &str) -> ([Value; 2], [Requests; 2]) {
        let before = self.counted();
        let run = self.place.diskspd("-d60 -W0 -C0 -b4K -r -Su -L --json r.json").args(words).arg(&self.file).run();
        let counted = Requests::since(before, self.counted());
        run.expect_status(0);
        let document: Value = self.place.json("r.json");
        let total = &document["time_spans"][0]["measured"]["total"];
        ([total["read"].clone(), total["write"].clone()], counted)
    }
}

fn mean_us(figures: &Value) -> f64 {
    figures["latency"]["mean_ns"].as_f64().expect("a mean") / 1e3
}

#[test]
fn counts_and_bytes_agree_to_a_thousandth_and_no_latency_is_below_the_devices() {
    let place = workplace!();
    let alone = or_skip!(Alone::new(&place));
    for (load, kind) in [("-o8 -t2", 0), ("-o1 --engine=sync -t4", 0), ("-o8 -w100", 1)] {
        let (figures, counted) = alone.measure(&format!("{load} --max-ios={IOS}"));
        let ios = figures[kind]["ios"].as_u64().expect("a count");
        if ios < IOS {
            skip!("this device makes only {ios} I/Os in a minute");
        }
        for (what, ours, theirs) in [
            ("I/Os", ios, counted[kind].count),
            ("bytes", figures[kind]["bytes"].as_u64().unwrap_or(0), counted[kind].bytes),
        ] {
            assert!(ours.abs_diff(theirs) * 1000 <= theirs, "{load}: {ours} {what}, the device counted {theirs}");
        }
        // The few requests of the journal wait for flushes, and would weigh in the mean of writes.
        if kind == 0 {
            let (ours, theirs) = (mean_us(&figures[0]), counted[0].mean_us());
            assert!(ours >= theirs, "{load}: {ours} µs, at the device {theirs} µs");
        }
    }
}
