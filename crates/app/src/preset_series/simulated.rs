//! The answers of the baseline on a simulated volume with known behaviour, and on one where no setting matters. Virtual
//! time, fixed seeds.

use super::*;
use cli::preset::{BUILTIN, Machine};
use hot::rng::Rng;
use model::figures::{Directions, Figures, LatencyDistribution, LatencyFigures};
use model::profile::Profile;
use model::result::{LoadLoop, Measured, RunResult, TimeSpanResult};
use model::sweep::{Saturation, Sweep, Visit};
use std::collections::BTreeMap;
use tune::{Ending, RunFailure, Runner, Step, SweepObserver};

const BASELINES: u64 = 100;
/// Servers of the volume: from this depth on all are busy.
const SERVERS: u32 = 8;
const SERVICE_NS: f64 = 1e6;
const BYTES_PER_NS: f64 = 0.2;
const MEASURED_NS: f64 = 1e9;
/// Standard deviation of the throughput of equal runs.
const NOISE: f64 = 0.02;
/// Tolerance of a plateau around the capacity of its load, as a fraction.
const CAPACITY_OFF_BY: f64 = 0.05;
/// Number of threads at which the volume is fastest.
const BEST_THREADS: u32 = 4;
/// Runs until the volume's write cache is full.
const RUNS_AT_PEAK: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    /// Servers with exponential service times; a single file, thread counts other than the best, writes and large
    /// blocks take longer.
    Servers,
    /// Every load has the same throughput in bytes.
    Flat,
}

struct Load {
    depth: u32,
    threads: u32,
    files: usize,
    write_percent: u32,
    block_bytes: f64,
}

impl Load {
    fn from_profile(profile: &Profile) -> Self {
        let targets = &profile.time_spans[0].targets;
        Self {
            depth: targets.iter().map(|target| target.threads * target.outstanding).sum(),
            threads: targets.iter().map(|target| target.threads).sum(),
            files: targets.len(),
            write_percent: targets[0].write_percent,
            block_bytes: targets[0].block_size.get() as f64,
        }
    }

    /// Mean service time of an I/O.
    fn service_ns(&self) -> f64 {
        let of_files = if self.files == 1 { 1.2 } else { 1.0 };
        let of_threads = if self.threads == BEST_THREADS { 1.0 } else { 1.15 };
        let of_writes = 1.0 + f64::from(self.write_percent) / 100.0;
        (SERVICE_NS + self.block_bytes / BYTES_PER_NS) * of_files * of_threads * of_writes
    }

    fn capacity_iops(&self) -> f64 {
        f64::from(SERVERS) / self.service_ns() * 1e9
    }
}

/// IOPS of a volume where no setting matters.
fn flat_iops(load: &Load) -> f64 {
    8000.0 * 4096.0 / load.block_bytes
}

struct Volume {
    law: Law,
    rng: Rng,
    runs: usize,
    /// True if its write cache fills up.
    has_cache: bool,
}

impl Volume {
    fn exponential(&mut self) -> f64 {
        -((self.rng.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64).ln()
    }

    /// The sum of twelve is nearly normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.rng.below(1 << 32) as f64 / (1_u64 << 32) as f64).sum::<f64>() - 6.0
    }

    /// In a closed loop a busy server receives its next I/O when the previous one completes.
    fn completed(&mut self, load: &Load) -> f64 {
        let mut completed = 0;
        for _ in 0..SERVERS.min(load.depth) {
            let mut now_ns = load.service_ns() * self.exponential();
            while now_ns <= MEASURED_NS {
                completed += 1;
                now_ns += load.service_ns() * self.exponential();
            }
        }
        f64::from(completed)
    }
}

impl Runner for Volume {
    fn prepare(&mut self, _: usize, _: &Profile) -> Result<(), RunFailure> {
        Ok(())
    }

    fn run(&mut self, _: usize, profile: &Profile) -> Result<RunResult, RunFailure> {
        let load = Load::from_profile(profile);
        let of_law = match self.law {
            Law::Servers => self.completed(&load) / MEASURED_NS * 1e9,
            Law::Flat => flat_iops(&load),
        };
        self.runs += 1;
        let of_cache = if self.has_cache && self.runs > RUNS_AT_PEAK { 0.7 } else { 1.0 };
        let iops = of_law * of_cache * (NOISE * self.normal()).exp();
        let mean_ns = f64::from(load.depth) / iops * 1e9;
        let latency = Some(LatencyFigures { mean_ns, ..LatencyFigures::default() });
        let total = Figures { iops, bytes_per_s: iops * load.block_bytes, latency, ..Figures::default() };
        let measured = Measured {
            total: Directions { total, ..Directions::default() },
            total_latency: Some(Directions::<Option<LatencyDistribution>>::default()),
            load_loop: Some(LoadLoop::Closed { depth: load.depth }),
            thread_count: load.threads,
            ..Measured::default()
        };
        let span_result = TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() };
        Ok(RunResult { time_spans: vec![span_result], ..RunResult::default() })
    }
}

struct Ignored;

impl SweepObserver for Ignored {
    fn before(&mut self, _: &Step, _: usize, _: usize) -> Result<(), RunFailure> {
        Ok(())
    }

    fn keep(&mut self, _: &Step, _: RunResult) -> Result<String, String> {
        Ok(String::new())
    }

    fn visited(&mut self, _: &Visit, _: &Sweep) -> Result<(), String> {
        Ok(())
    }

    fn judged(&mut self, _: &Sweep) -> Result<(), String> {
        Ok(())
    }
}

/// A machine with as many CPUs as the best number of threads.
const MACHINE: Machine = Machine { cpus: 4, sockets: 1, nodes: 1 };

/// The series of the preset, by the name of their directory without its number.
fn series() -> Vec<PlannedSeries> {
    let builtin = BUILTIN.iter().find(|builtin| builtin.name == "volume-baseline").expect("a preset of the program");
    let words = ["-c1G", "t.dat"].map(str::to_owned).to_vec();
    let request = PresetRequest { name: builtin.name.to_owned(), words, ..PresetRequest::default() };
    planned_series(&builtin.preset().expect("a preset"), &request, MACHINE, &[], &SystemEnv).expect("a load")
}

struct SeriesAnswer {
    /// Name of its series.
    name: String,
    headlines: Vec<String>,
    sweep: Sweep,
    /// The loads of its points.
    loads: Vec<Load>,
}

/// Runs and judges a series as `preset run` does.
fn answered(planned: &PlannedSeries, law: Law, seed: u64) -> SeriesAnswer {
    let request = planned.request().expect("a new series");
    let design = sweep::design(request, Some(seed as u32));
    let points = request.points.iter().map(|planned| planned.point.clone()).collect();
    let mut found = Sweep { words: request.words.clone(), points, ..Sweep::default() };
    let name = planned.name[3..].to_owned();
    let rng = Rng::new(seed << 8 | u64::from(planned.name.as_bytes()[1]));
    let mut volume = Volume { law, rng, runs: 0, has_cache: law == Law::Servers && name == "sustained" };
    assert_eq!(tune::sweep(&design, &mut found, &mut volume, &mut Ignored), Ending::Complete);
    found.findings = rules::runs::findings(&found);
    let report = Subject::Series { kind: planned.kind, name: "d", sweep: &found, example: None }.report(meaning);
    let headlines = report.answers().map(|answer| answer.headline().to_owned()).collect();
    let loads = request.points.iter().map(|planned| Load::from_profile(&planned.request.profile)).collect();
    SeriesAnswer { name, headlines, sweep: found, loads }
}

impl SeriesAnswer {
    /// True if every series of depths is best, and saturated, at this one; `capacity_iops` is the capacity of its load.
    fn has_knee_at(&self, depth: u32, capacity_iops: fn(&Load) -> f64) -> bool {
        self.headlines.iter().all(|headline| headline.contains(&format!(" at depth {depth} (-o{depth})")))
            && self.sweep.depths.iter().all(|series| {
                let capacity_iops = capacity_iops(&self.loads[series.points[0]]);
                matches!(
                    series.knee.as_ref().map(|knee| knee.saturation),
                    Some(Saturation::At { depth: found, plateau_iops })
                        if found.depth == depth && (plateau_iops / capacity_iops - 1.0).abs() < CAPACITY_OFF_BY
                )
            })
    }

    fn names(&self, setting: &str) -> bool {
        self.headlines.iter().all(|headline| headline.contains(setting))
    }

    /// True if the answer matches the model of the servers.
    fn finds_the_law(&self) -> bool {
        match self.name.as_str() {
            "files" => self.names("--files=") && !self.names("--files=1"),
            "depth" | "mix" => self.has_knee_at(SERVERS, Load::capacity_iops),
            "balance" => self.names(&format!("-t{BEST_THREADS} ")),
            "sequential" => self.names("-b1M"),
            "sustained" => self.sweep.findings.iter().any(|finding| finding.name == "two-levels"),
            other => panic!("series '{other}' has no law"),
        }
    }

    /// True if it names a best setting where there is none.
    fn has_false_best(&self) -> bool {
        match self.name.as_str() {
            // One I/O at a time is enough.
            "depth" | "mix" => !self.has_knee_at(1, flat_iops),
            "sustained" => false,
            _ => !self.headlines.iter().all(|headline| headline.contains("the noise")),
        }
    }
}

#[test]
fn the_baseline_finds_capacity_knee_and_balance() {
    let mut right = BTreeMap::<String, usize>::new();
    for planned in &series() {
        for seed in 0..BASELINES {
            let found = answered(planned, Law::Servers, seed);
            *right.entry(found.name.clone()).or_default() += usize::from(found.finds_the_law());
        }
    }
    assert!(right.len() == 6 && right.values().all(|right| *right >= 95), "right of {BASELINES}: {right:?}");
}

#[test]
fn the_baseline_names_no_best_of_equal_settings() {
    let series = series();
    let is_false = |seed: &u64| series.iter().any(|planned| answered(planned, Law::Flat, *seed).has_false_best());
    let wrong = (0..BASELINES).filter(is_false).count();
    assert!(wrong <= 5, "{wrong} of {BASELINES} name a best setting");
}
