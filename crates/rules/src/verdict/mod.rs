//! Conditions that invalidate or bias the results: rules over a result, one file for each subject.
//!
//! A rule uses the result alone, so that it can be tested on any. It is silent if its facts are incomplete: a false
//! alarm costs more trust than a missed one.

mod caches;
#[cfg(test)]
mod cases;
mod causes;
mod changes;
mod clock;
mod content;
mod cpu;
mod cpu_speed;
mod data;
mod faults;
mod fleet;
mod footprint;
mod host_cache;
mod imported;
mod io_workers;
mod limits;
mod loop_cache;
mod medium;
mod others;
mod percentiles;
mod placement;
mod replay;
mod requests;
mod shares;
mod stack;
mod steadiness;

pub use causes::{CAUSES, Cause, Condition};

use crate::rule::{self, Observation, Rule, RuleSet};
use model::by_path::ByPath;
use model::engine_kind::EngineKind;
use model::environment::TargetEnvironment;
use model::finding::Source;
use model::ledger::Ledger;
use model::note::Note;
use model::placement::Placement;
use model::plan::{Pace, TargetPlan, TargetWork, TimeSpanPlan, WorkerPlan, WorkerTarget};
use model::profile::TimeSpan;
use model::result::{Measured, Row, RunResult, TimeSpanResult};
use model::verdict::Verdict;
use requests::MissingDepth;
use stack::DeviceIo;
use stats::ledger::LedgerSources;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::Path;

/// An influence on a headline figure that is worth a warning.
const WORTH_A_WARNING: f64 = 0.02;

/// Time in seconds by which the kernel's counters may be off: they are not read at the exact start and end of the
/// measurement.
const SLACK_S: f64 = 0.05;

/// The rules of every subject, in the order of documentation and findings.
const SUBJECTS: &[&[VerdictRule]] = &[
    data::RULES,
    caches::RULES,
    content::RULES,
    medium::RULES,
    faults::RULES,
    fleet::RULES,
    clock::RULES,
    cpu::RULES,
    cpu_speed::RULES,
    others::RULES,
    io_workers::RULES,
    placement::RULES,
    limits::RULES,
    requests::RULES,
    shares::RULES,
    footprint::RULES,
    host_cache::RULES,
    steadiness::RULES,
    changes::RULES,
    percentiles::RULES,
    replay::RULES,
    imported::RULES,
];

/// A rule of the verdict.
pub type VerdictRule = Rule<VerdictRules>;

/// The set of rules of the verdict.
#[derive(Debug)]
pub struct VerdictRules;

impl RuleSet for VerdictRules {
    const SOURCE: Source = Source::Verdict;
    type Context<'a> = RuleContext<'a>;
    type Documentation = &'static str;
}

/// Every rule.
pub fn rules() -> impl Iterator<Item = &'static VerdictRule> {
    SUBJECTS.iter().copied().flatten()
}

/// A timespan that was measured, and the result that it is part of.
pub struct RuleContext<'a> {
    result: &'a RunResult,
    /// Number of the timespan, from 0.
    index: usize,
    span: &'a TimeSpan,
    plan: Option<&'a TimeSpanPlan>,
    span_result: &'a TimeSpanResult,
    measured: &'a Measured,
    work: TargetWork<'a>,
    /// Targets that an earlier timespan wrote to.
    written_before: BTreeSet<&'a Path>,
    /// By target.
    environments: OnceCell<Vec<Option<&'a TargetEnvironment>>>,
    unwritten: OnceCell<BTreeSet<&'a Path>>,
    devices: OnceCell<Vec<DeviceIo<'a>>>,
    missing_depth: OnceCell<Option<(MissingDepth, Observation)>>,
    ledger: OnceCell<Option<Ledger>>,
}

impl<'a> RuleContext<'a> {
    fn new(result: &'a RunResult, index: usize) -> Option<Self> {
        let span_result = result.time_spans.get(index)?;
        let plan = result.plan.as_ref().and_then(|plan| plan.time_spans.get(index));
        let earlier = result.time_spans.iter().take(index).filter_map(|span_result| span_result.measured.as_ref());
        let written = earlier.flat_map(|measured| &measured.rows).filter(|row| row.figures.write.ios > 0);
        Some(Self {
            result,
            index,
            span: result.profile.time_spans.get(index)?,
            plan,
            span_result,
            measured: span_result.measured.as_ref()?,
            work: plan.map(TimeSpanPlan::target_work).unwrap_or_default(),
            written_before: written.map(|row| row.path.as_path()).collect(),
            environments: OnceCell::new(),
            unwritten: OnceCell::new(),
            devices: OnceCell::new(),
            missing_depth: OnceCell::new(),
            ledger: OnceCell::new(),
        })
    }

    /// The plan of a target.
    fn target(&self, index: usize) -> Option<&'a TargetPlan> {
        self.plan?.targets.get(index)
    }

    /// The storage below a target, if known. Paths are compared once for all rules.
    fn environment(&self, target: usize) -> Option<&'a TargetEnvironment> {
        let result = self.result;
        let all = self.environments.get_or_init(|| {
            let environments = ByPath::new(&result.targets.environments);
            self.span.targets.iter().map(|target| environments.get(&target.path)).collect()
        });
        all.get(target).copied().flatten()
    }

    /// The location of the bytes of a target after the run, if known.
    fn placement(&self, path: &Path) -> Option<&'a Placement> {
        self.result.targets.placements.get(path)
    }

    /// Targets that were largely never written.
    fn unwritten(&self) -> &BTreeSet<&'a Path> {
        self.unwritten.get_or_init(|| data::unwritten_paths(self))
    }

    /// The devices at which requests of the run wait, if they are certain: see [`stack::by_device`].
    fn devices(&self) -> &[DeviceIo<'a>] {
        self.devices.get_or_init(|| stack::by_device(self))
    }

    /// The missing depth of a device, and the reason; three rules report it.
    fn missing_depth(&self) -> Option<&(MissingDepth, Observation)> {
        self.missing_depth.get_or_init(|| requests::missing_depth(self)).as_ref()
    }

    /// Requested bytes and bytes that reached storage.
    fn ledger(&self) -> Option<&Ledger> {
        // Results of earlier versions have none.
        let build = || {
            let sources = LedgerSources {
                span_result: self.span_result,
                plan: self.plan?,
                environments: &self.result.targets.environments,
                uncompressed: &stats::ledger::uncompressed(&self.result.profile, &self.result.targets),
                kernel_release: &self.result.system.kernel_release,
            };
            stats::ledger::ledger(&sources)
        };
        let ledger = || self.span_result.ledger.clone().or_else(build);
        self.ledger.get_or_init(ledger).as_ref()
    }

    /// The notes of the timespan and those of the whole run.
    fn notes(&self) -> impl Iterator<Item = &Note> {
        self.span_result.notes.iter().chain(&self.result.notes)
    }

    /// The observations from the notes.
    fn noted(&self, observe: impl Fn(&Note) -> Option<Observation>) -> Vec<Observation> {
        self.notes().filter_map(observe).collect()
    }

    /// True if no thread pauses or has a rate; `None` without a plan.
    fn is_unpaced(&self) -> Option<bool> {
        let mut works = self.plan?.workers.iter().flat_map(|worker| &worker.targets);
        Some(works.all(|work| work.pace == Pace::Unlimited))
    }

    /// True unless the target has the null engine.
    fn reaches_kernel(&self, target: usize) -> bool {
        self.span_result.engines.get(target) != Some(&EngineKind::Null)
    }

    /// Bytes of these targets that may be outstanding at a time: submitted by this run, but counted only on completion.
    fn outstanding_bytes(&self, targets: &BTreeSet<usize>) -> u64 {
        let of_worker = |worker: &WorkerPlan| {
            let works: Vec<&WorkerTarget> =
                worker.targets.iter().filter(|work| targets.contains(&work.target)).collect();
            let own = works.iter().map(|work| u64::from(work.slots).saturating_mul(work.block_bytes));
            // With weights, targets share the requests of their thread.
            let largest = works.iter().map(|work| work.block_bytes).max().unwrap_or_default();
            own.fold(0, u64::saturating_add).min(u64::from(worker.slots).saturating_mul(largest))
        };
        self.plan.into_iter().flat_map(|plan| &plan.workers).map(of_worker).fold(0, u64::saturating_add)
    }

    /// True if all I/O of the row bypasses the page cache, on existing data.
    fn meant_the_device(&self, row: &Row) -> bool {
        let is_direct = self.target(row.target).is_some_and(|target| target.open.direct);
        let is_mapped = self.work.workers_on(row.target).any(|work| work.mapped.is_some());
        is_direct && !is_mapped && self.reaches_kernel(row.target) && !self.unwritten().contains(row.path.as_path())
    }

    /// Inaccuracy of shares of the kernel's counters that is not worth a warning.
    fn slack(&self) -> f64 {
        WORTH_A_WARNING + SLACK_S / self.elapsed_s()
    }

    fn elapsed_s(&self) -> f64 {
        self.measured.elapsed_ns as f64 / 1e9
    }
}

/// Sets the verdict of each timespan with figures.
pub fn judge(result: &mut RunResult) {
    let verdicts: Vec<Option<Verdict>> = (0..result.time_spans.len()).map(|index| verdict(result, index)).collect();
    for (span_result, verdict) in result.time_spans.iter_mut().zip(verdicts) {
        span_result.verdict = verdict;
    }
}

/// The verdict on one timespan; `None` if there are no figures.
fn verdict(result: &RunResult, index: usize) -> Option<Verdict> {
    let context = RuleContext::new(result, index)?;
    let mut findings = causes::without_explained(rule::evaluate(rules(), &context));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Some(Verdict { findings })
}

#[cfg(test)]
mod tests {
    use super::cases::CaseResult;
    use super::*;
    use model::finding::Severity;

    #[test]
    fn a_sound_result_has_an_empty_verdict() {
        let mut result = CaseResult::sound().result;
        judge(&mut result);
        assert_eq!(result.time_spans[0].verdict, Some(Verdict::default()));
    }

    #[test]
    fn the_gravest_come_first() {
        let mut built = CaseResult::sound();
        built.measured().elapsed_ns = 1_000_000_000;
        built.span_result().notes =
            vec![Note::CpuStolen { percent_hundredths: 900 }, Note::ClocksDisagree { deviation_ns: 1 << 30 }];
        judge(&mut built.result);
        let verdict = built.result.time_spans[0].verdict.clone().expect("there are figures");
        let names: Vec<&str> = verdict.findings.iter().map(|finding| finding.name.as_str()).collect();
        assert_eq!(names, ["wrong-clock", "steal", "short-run"]);
        assert_eq!(verdict.severity(), Some(Severity::Invalid));
    }

    #[test]
    fn without_figures_there_is_nothing_to_judge() {
        let mut built = CaseResult::sound();
        built.span_result().measured = None;
        judge(&mut built.result);
        assert_eq!(built.result.time_spans[0].verdict, None);
    }

    #[test]
    fn names_are_stable_words_and_told_apart() {
        let names: BTreeSet<&str> = rules().map(|rule| rule.name).collect();
        assert_eq!(names.len(), rules().count());
        for rule in rules() {
            assert!(rule.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", rule.name);
            assert!(!rule.advice.is_empty() && !rule.advice.ends_with('.'), "{}", rule.name);
        }
    }
}
