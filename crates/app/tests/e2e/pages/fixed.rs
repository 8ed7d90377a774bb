//! Synthetic results, so that their presentation does not depend on the measurements of a busy machine. A short run
//! gives the frame: profile, targets, environment. All values that pages draw are replaced, from a seed: latencies and
//! rates of any magnitude, equal, close together or far apart.

use crate::rate_search;
use model::course::{CpuCourse, Section, SectionFigures, Series, SeriesCounts};
use model::figures::{LatencyDistribution, LatencyFigures, Percentile};
use model::packed_counts::PackedCounts;
use model::record::SlowIo;
use model::result::{CpuUsage, Measured, RunResult};
use model::storage_course::{DeviceCourse, DeviceFigures, DeviceRequests, DeviceStep};
use serde_json::Value;
use std::fs;
use std::sync::OnceLock;
use testkit::Workplace;

/// The load of these results.
pub(crate) const LOAD: &str = "-c1M -d60 -W0 -b4K -r -w30 -t2 -o4 -L -D100 --max-ios=5000 --json frame.json a.dat";

/// Values typical of a disk: reads of 200 µs and writes of 1 ms over two seconds.
pub(crate) const USUAL: u64 = 0;

/// Sections of the time with different latencies, and the reads, and writes, in each.
const SECTIONS: u64 = 20;
const IOS_OF_SECTION: u64 = 20_000;

/// Writes such a result to a file of the workplace.
pub(crate) fn result(place: &Workplace, name: &str, seed: u64) {
    let mut text = Vec::new();
    render::json::write(&random(place, seed), |_| None, &mut text).expect("memory takes all");
    place.file(name, &text);
}

/// Writes the directory `limit` of a search for the highest rate into a workplace. Its confirmation depends on luck, so
/// it is set here.
pub(crate) fn search(place: &Workplace) {
    let search = rate_search::shared_search(place);
    let folder = place.path("limit");
    fs::create_dir(&folder).expect("our own folder");
    for (name, content) in &search.files {
        fs::write(folder.join(name), content).expect("the file fits");
    }
    let mut sweep = search.sweep();
    // A search misled by a busy machine may end at a rate without a run, or with only one: this one has two at its
    // answer, and one at another rate.
    let has_run = |visit: &&Value| visit["purpose"] != "capacity" && visit["outcome"]["measured"].is_object();
    let holds = sweep["limit"]["holds"].clone();
    let visits = sweep["visits"].as_array_mut().expect("a list");
    let measured = || visits.iter().filter(has_run);
    let at_answer = measured().rfind(|visit| visit["point"] == holds);
    let run = at_answer.or_else(|| measured().next()).expect("a run").clone();
    let point = run["point"].as_u64().expect("a number");
    let other = if point == 0 { 1 } else { point - 1 };
    let number = visits.len();
    for place in [point, other] {
        let mut visit = run.clone();
        (visit["point"], visit["run"]) = (place.into(), number.into());
        visits.push(visit);
    }
    sweep["limit"]["holds"] = point.into();
    sweep["limit"]["noise"] = Value::Null;
    sweep["limit"]["is_confirmed"] = true.into();
    place.file("limit/sweep.json", sweep.to_string().as_bytes());
}

/// A result by its seed.
fn random(place: &Workplace, seed: u64) -> RunResult {
    static FRAME: OnceLock<String> = OnceLock::new();
    let frame = FRAME.get_or_init(|| {
        place.diskspd(LOAD).run().expect_status(0);
        String::from_utf8(place.content("frame.json")).expect("text")
    });
    let mut result: RunResult = serde_json::from_str(frame).expect("it is a result");
    let measured = result.time_spans[0].measured.as_mut().expect("it was measured");
    Figures::from_seed(seed).replace(measured);
    result
}

/// Numbers from a seed.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        // Of splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.share()
    }

    fn one_of(&mut self, values: &[f64]) -> f64 {
        values[((self.share() * values.len() as f64) as usize).min(values.len() - 1)]
    }
}

/// Contents of a result.
struct Figures {
    random: Random,
    /// Of reads and of writes.
    latency_ns: [f64; 2],
    /// Decades that most latencies lie within.
    spread: f64,
    /// I/Os per second of reads and of writes.
    rates: [f64; 2],
    /// Share that rates differ by.
    unrest: f64,
    width_ns: u64,
    parts: usize,
    cpus: usize,
    devices: usize,
}

impl Figures {
    fn from_seed(seed: u64) -> Self {
        let mut random = Random(seed);
        if seed == USUAL {
            let (latency_ns, rates) = ([200e3, 1e6], [7000.0, 3000.0]);
            let (width_ns, parts, cpus, devices) = (100_000_000, 20, 2, 1);
            return Self { random, latency_ns, spread: 0.2, rates, unrest: 0.1, width_ns, parts, cpus, devices };
        }
        let read_ns = 10f64.powf(random.between(2.0, 10.0));
        let write_ns = read_ns * random.one_of(&[1.0, 1.0001, 1.05, 1.5, 10.0, 1000.0]);
        let read = 10f64.powf(random.between(0.0, 6.5));
        let write = read * random.one_of(&[1.0, 1.001, 0.5, 0.01]);
        Self {
            latency_ns: [read_ns, write_ns],
            spread: random.one_of(&[0.0, 0.01, 0.1, 0.3, 1.0]),
            rates: [read, write],
            unrest: random.one_of(&[0.0, 0.001, 0.1, 1.0]),
            width_ns: random.one_of(&[1e8, 1e9, 6e10, 1_234_567_890.0]) as u64,
            parts: random.one_of(&[2.0, 10.0, 40.0]) as usize,
            cpus: random.one_of(&[1.0, 2.0, 9.0, 64.0, 300.0]) as usize,
            devices: random.one_of(&[0.0, 1.0, 4.0]) as usize,
            random,
        }
    }

    fn replace(mut self, measured: &mut Measured) {
        let end_ns = self.width_ns * self.parts as u64;
        measured.elapsed_ns = end_ns;
        measured.rows.clear();
        measured.intervals.clear();
        measured.confidence = None;
        let sides = [0, 1].map(|side| self.latencies(side, SECTIONS * IOS_OF_SECTION));
        let both: Vec<(u64, u64)> = sides.iter().flatten().copied().collect();
        if let Some(latency) = &mut measured.total_latency {
            for (kept, ios) in [&mut latency.read, &mut latency.write].into_iter().zip(&sides) {
                distribute(kept.as_mut().expect("it has latencies"), ios);
            }
            distribute(latency.total.as_mut().expect("it has latencies"), &both);
        }
        let total = &mut measured.total;
        for (figures, ios) in [(&mut total.read, &sides[0]), (&mut total.write, &sides[1]), (&mut total.total, &both)] {
            figures.ios = ios.iter().map(|(_, count)| count).sum();
            figures.bytes = figures.ios * 4096;
            figures.iops = figures.ios as f64 / (end_ns as f64 / 1e9);
            figures.bytes_per_s = figures.iops * 4096.0;
            figures.latency = Some(moments(ios));
        }
        let [read, write] = [0, 1].map(|side| self.series(side));
        measured.series = Series { width_ns: self.width_ns, read, write };
        let ends: Vec<u64> = (0..=SECTIONS).map(|section| end_ns * section / SECTIONS).collect();
        measured.sections = ends.windows(2).map(|ends| self.section(ends[0], ends[1])).collect();
        measured.slowest = (0..100).map(|_| self.slow_io(end_ns)).collect();
        measured.slowest.sort_by_key(|io| std::cmp::Reverse(io.latency_ns));
        let cpu = |random: &mut Random, cpu: usize| {
            let (user_percent, kernel_percent) = (random.one_of(&[0.0, 50.0, 20.1]), random.one_of(&[0.0, 50.0, 20.0]));
            let usage_percent = user_percent + kernel_percent;
            CpuUsage {
                cpu: cpu as u32,
                usage_percent,
                user_percent,
                kernel_percent,
                idle_percent: 100.0 - usage_percent,
            }
        };
        measured.cpus = (0..self.cpus).map(|number| cpu(&mut self.random, number)).collect();
        let steal = self.random.one_of(&[0.0, 0.01, 33.0]);
        let user: Vec<f64> = (0..10).map(|_| self.random.one_of(&[0.0, 33.0, 20.0])).collect();
        measured.cpu_course = CpuCourse {
            end_ns: (1..=10).map(|part| end_ns * part / 10).collect(),
            kernel_percent: user.iter().rev().copied().collect(),
            user_percent: user,
            steal_percent: vec![steal; 10],
        };
        measured.devices = (0..self.devices).map(|number| self.device(number, end_ns)).collect();
    }

    /// A latency of reads (0) or writes (1), in nanoseconds.
    fn latency_ns(&mut self, side: usize) -> u64 {
        let sum: f64 = (0..4).map(|_| self.random.between(-1.0, 1.0)).sum();
        (self.latency_ns[side] * 10f64.powf(sum * self.spread)).clamp(1.0, 3e12) as u64
    }

    /// About this number of I/Os: their latencies, ascending, and how many have each.
    fn latencies(&mut self, side: usize, ios: u64) -> Vec<(u64, u64)> {
        let mut found: Vec<(u64, u64)> = (0..200).map(|_| (self.latency_ns(side), ios / 200)).collect();
        found.sort_unstable();
        found
    }

    fn series(&mut self, side: usize) -> SeriesCounts {
        let mean = self.rates[side] * self.width_ns as f64 / 1e9;
        let ios: Vec<u64> =
            (0..self.parts).map(|_| (mean * (1.0 + self.unrest * self.random.between(-1.0, 1.0))) as u64).collect();
        let latency = self.latency_ns[side];
        SeriesCounts {
            bytes: ios.iter().map(|ios| ios * 4096).collect(),
            latency_sum_ns: ios.iter().map(|ios| (*ios as f64 * latency) as u64).collect(),
            ios,
        }
    }

    fn section(&mut self, start_ns: u64, end_ns: u64) -> Section {
        let [read, write] = [0, 1].map(|side| {
            let latencies = self.latencies(side, IOS_OF_SECTION);
            let ios = latencies.iter().map(|(_, count)| count).sum();
            let coarse = |(ns, count): (u64, u64)| (hot::buckets::coarse(hot::buckets::index(ns)) as u32, count);
            let histogram = PackedCounts::pack(merged(latencies.iter().copied().map(coarse)));
            Some(SectionFigures { ios, bytes: ios * 4096, latency: moments(&latencies), histogram })
        });
        Section { start_ns, end_ns, read, write }
    }

    fn slow_io(&mut self, end_ns: u64) -> SlowIo {
        let is_write = self.random.share() < 0.5;
        SlowIo {
            ended_at_ns: (self.random.share() * end_ns as f64) as u64,
            latency_ns: self.latency_ns(usize::from(is_write)) * 4,
            thread: u32::from(self.random.share() < 0.5),
            target: 0,
            is_write,
            operation: None,
            offset_bytes: (self.random.share() * 256.0) as u64 * 4096,
            size_bytes: 4096,
        }
    }

    fn device(&mut self, number: usize, end_ns: u64) -> DeviceCourse {
        let names = ["vda", "nvme0n1", "mpatha-a-very-long-name-of-a-device", "dm-3"];
        let step = |random: &mut Random, part: u64, iops: f64, latency_ns: f64| {
            let iops = iops * random.one_of(&[1.0, 1.01, 2.0]);
            let latency_mean_ns = Some(latency_ns * random.one_of(&[1.0, 1.01, 0.5]));
            let requests = DeviceRequests { iops, bytes_per_s: iops * 4096.0, latency_mean_ns };
            let figures = DeviceFigures {
                read: requests,
                write: requests,
                total: requests,
                queue_depth: 4.0,
                busy_percent: 50.0,
            };
            DeviceStep { start_ns: end_ns * part / 5, end_ns: end_ns * (part + 1) / 5, figures }
        };
        let (iops, latency_ns) = (self.rates[0], self.latency_ns[0]);
        let steps: Vec<DeviceStep> = (0..5).map(|part| step(&mut self.random, part, iops, latency_ns)).collect();
        let figures = steps[0].figures;
        DeviceCourse { device: names[number % 4].to_owned(), mean: figures, max: figures, steps }
    }
}

/// Counts of one bucket together.
fn merged(counts: impl Iterator<Item = (u32, u64)>) -> Vec<(u32, u64)> {
    let mut found: Vec<(u32, u64)> = Vec::new();
    for (bucket, count) in counts {
        match found.last_mut() {
            Some((last, sum)) if *last == bucket => *sum += count,
            _ => found.push((bucket, count)),
        }
    }
    found
}

fn moments(latencies: &[(u64, u64)]) -> LatencyFigures {
    let count: u64 = latencies.iter().map(|(_, count)| count).sum();
    let sum: f64 = latencies.iter().map(|(ns, count)| *ns as f64 * *count as f64).sum();
    let mean_ns = sum / count as f64;
    let ns = || latencies.iter().map(|(ns, _)| *ns);
    LatencyFigures { mean_ns, std_dev_ns: mean_ns / 4.0, min_ns: ns().min(), max_ns: ns().max() }
}

fn distribute(kept: &mut LatencyDistribution, latencies: &[(u64, u64)]) {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    kept.count = sorted.iter().map(|(_, count)| count).sum();
    kept.figures = moments(&sorted);
    kept.distinct_values = sorted.len() as u64;
    kept.buckets = merged(sorted.iter().map(|(ns, count)| (hot::buckets::index(*ns) as u32, *count)));
    for Percentile { rank_ppb, value_ns } in &mut kept.percentiles {
        let below = (*rank_ppb as f64 / 1e9 * kept.count as f64).ceil() as u64;
        let mut sum = 0;
        let found = sorted.iter().find(|(_, count)| {
            sum += count;
            sum >= below
        });
        *value_ns = found.map_or(0, |(ns, _)| *ns);
    }
}
