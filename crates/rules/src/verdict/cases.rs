//! Results for the tests of rules: a sound one, in which each test breaks one thing.

use super::{RuleContext, VerdictRule};
use model::block_device::{BlockDevice, DeviceKind};
use model::ending::Ending;
use model::engine_kind::EngineKind;
use model::environment::{Backing, MountedFileSystem, TargetEnvironment};
use model::facts::{RegularFacts, TargetFacts, TargetKind};
use model::figures::{Directions, Figures};
use model::kernel_counters::DeviceCounters;
use model::plan::{
    Area, Assignment, EnginePlan, Expected, OpenPlan, Pattern, Plan, Preparation, TargetPlan, TimeSpanPlan, WorkerPlan,
    WorkerTarget,
};
use model::profile::{Profile, Target, TimeSpan};
use model::result::{Measured, Row, RunResult, TimeSpanResult};
use model::targets_found::TargetsFound;

/// The one target.
pub(crate) const PATH: &str = "a.dat";
/// Reads of it.
pub(crate) const IOS: u64 = 100_000;
/// Bytes of each.
const BLOCK_BYTES: u64 = 8192;
const SECONDS: u32 = 100;
/// Bytes that were read.
pub(crate) const BYTES: u64 = IOS * BLOCK_BYTES;

fn area(base_bytes: u64, size_bytes: u64) -> Area {
    Area { base_bytes, size_bytes, alignment_bytes: BLOCK_BYTES, positions: size_bytes / BLOCK_BYTES }
}

/// One thread that reads all of the target at random.
fn plan() -> TimeSpanPlan {
    let target = TargetPlan {
        path: PATH.into(),
        stream: None,
        size_bytes: 1 << 30,
        preparation: Preparation::Keep,
        expect: Expected::Prepared,
        open: OpenPlan { read: true, ..OpenPlan::default() },
        write_source: None,
        shared_run: None,
    };
    let work = WorkerTarget {
        slots: 8,
        block_bytes: BLOCK_BYTES,
        pattern: Pattern::Random { area: area(0, 1 << 30), ranges: Vec::new(), skew: None },
        ..WorkerTarget::example(area(0, 1 << 30))
    };
    let engine = EnginePlan { kind: EngineKind::IoUring, reason: "".into(), ring: None, completions_max: None };
    let worker = WorkerPlan {
        thread: 0,
        cpu: Some(0),
        engine,
        targets: vec![work],
        assignment: Assignment::Fixed,
        slots: 8,
        seed: 0,
        stream: 0,
        randomize_writes: false,
    };
    TimeSpanPlan { targets: vec![target], workers: vec![worker], ..TimeSpanPlan::default() }
}

/// A result of one timespan.
pub(crate) struct CaseResult {
    pub(crate) result: RunResult,
}

impl CaseResult {
    /// 100 s of reads, without findings.
    pub(crate) fn sound() -> Self {
        let ios_per_s = IOS as f64 / f64::from(SECONDS);
        let bytes = IOS * BLOCK_BYTES;
        let bytes_per_s = bytes as f64 / f64::from(SECONDS);
        let figures = Figures { ios: IOS, bytes, iops: ios_per_s, bytes_per_s, ..Figures::default() };
        let directions = Directions { read: figures, write: Figures::default(), total: figures };
        let row = Row { path: PATH.into(), target_size_bytes: 1 << 30, figures: directions, ..Row::default() };
        let measured = Measured {
            elapsed_ns: u64::from(SECONDS) * 1_000_000_000,
            thread_count: 1,
            rows: vec![row],
            total: directions,
            ..Measured::default()
        };
        let span = TimeSpan { duration_s: SECONDS, targets: vec![Target::new(PATH)], ..TimeSpan::default() };
        let span_result =
            TimeSpanResult { outcome: Ending::Completed, measured: Some(measured), ..TimeSpanResult::default() };
        let profile = Profile { time_spans: vec![span], ..Profile::default() };
        let kind = TargetKind::Regular(RegularFacts { size_bytes: 1 << 30, ..RegularFacts::default() });
        let result = RunResult {
            profile,
            plan: Some(Plan { time_spans: vec![plan()], ..Plan::default() }),
            targets: TargetsFound { facts: [(PATH.into(), TargetFacts::new(kind))].into(), ..TargetsFound::default() },
            time_spans: vec![span_result],
            ..RunResult::default()
        };
        let mut built = Self { result };
        built.stands_on("ext4");
        built
    }

    pub(crate) fn span_result(&mut self) -> &mut TimeSpanResult {
        &mut self.result.time_spans[0]
    }

    pub(crate) fn plan(&mut self) -> &mut TimeSpanPlan {
        &mut self.result.plan.as_mut().expect("there is a plan").time_spans[0]
    }

    /// The work of the one thread on the one target.
    pub(crate) fn work(&mut self) -> &mut WorkerTarget {
        &mut self.plan().workers[0].targets[0]
    }

    /// Sets the used part of the target.
    pub(crate) fn use_bytes(&mut self, base_bytes: u64, size_bytes: u64) {
        self.work().pattern = Pattern::Random { area: area(base_bytes, size_bytes), ranges: Vec::new(), skew: None };
    }

    pub(crate) fn facts(&mut self) -> &mut RegularFacts {
        let facts = self.result.targets.facts.values_mut().next().expect("one target");
        let TargetKind::Regular(facts) = &mut facts.kind else { panic!("it is a file") };
        facts
    }

    /// Puts the target on this file system, on a partition of a disk.
    pub(crate) fn stands_on(&mut self, file_system: &str) {
        let disk = BlockDevice { name: "sda".to_owned(), kind: DeviceKind::Disk, ..BlockDevice::default() };
        let kind = DeviceKind::Partition { number: Some(1) };
        let partition = BlockDevice { name: "sda1".to_owned(), kind, below: vec![disk], ..BlockDevice::default() };
        let mount = MountedFileSystem { file_system: file_system.to_owned(), ..MountedFileSystem::default() };
        let environment = TargetEnvironment { mount: Some(mount), backing: Backing::Devices(vec![partition]) };
        self.result.targets.environments.insert(PATH.into(), environment);
    }

    /// The counters of a device at the end; they were 0 when the measurement began.
    pub(crate) fn counted(&mut self, device: &str) -> &mut DeviceCounters {
        let [_, after] = self.around(device);
        after
    }

    /// The counters of a device when the measurement began, and at the end.
    pub(crate) fn around(&mut self, device: &str) -> [&mut DeviceCounters; 2] {
        let around = self.span_result().kernel_counters.get_or_insert_default();
        [&mut around.before, &mut around.after].map(|counters| counters.devices.entry(device.to_owned()).or_default())
    }

    pub(crate) fn measured(&mut self) -> &mut Measured {
        self.span_result().measured.as_mut().expect("it was measured")
    }

    /// The findings of one subject's rules, a line each.
    pub(crate) fn found(&self, rules: &[VerdictRule]) -> Vec<String> {
        self.found_in(0, rules)
    }

    /// The same for a timespan, from 0.
    pub(crate) fn found_in(&self, index: usize, rules: &[VerdictRule]) -> Vec<String> {
        let mut result = self.result.clone();
        let span = result.profile.time_spans[0].clone();
        let plan = result.plan.as_mut().expect("there is a plan");
        let planned = plan.time_spans[0].clone();
        result.profile.time_spans.resize(index + 1, span);
        plan.time_spans.resize(index + 1, planned);
        let context = RuleContext::new(&result, index).expect("it was measured");
        let line = |finding: model::finding::Finding| {
            assert!(super::rules().any(|rule| rule.name == finding.name), "{} is on no list", finding.name);
            format!("{} {}: {}", finding.severity, finding.name, finding.figure)
        };
        crate::rule::evaluate(rules, &context).into_iter().map(line).collect()
    }
}
