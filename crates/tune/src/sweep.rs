//! A sweep, run by run.

use crate::design::Design;
use crate::runner::{RunFailure, Runner};
use crate::schedule::{self, Step};
use model::headline::Headline;
use model::metric::{Scope, ScopedMetric};
use model::profile::Profile;
use model::result::RunResult;
use model::sweep::{Extent, Purpose, SteadyState, Sweep, Visit, VisitOutcome};
use stats::steady_state::{WINDOW, Window};

/// The caller's part of a sweep: waits between runs, stores results, informs the user.
pub trait SweepObserver {
    /// A run is about to begin; `done` runs were made and `known` are planned so far.
    fn before(&mut self, step: &Step, done: usize, known: usize) -> Result<(), RunFailure>;
    /// Stores a result; returns the name of its file, or why it could not be stored.
    fn keep(&mut self, step: &Step, result: RunResult) -> Result<String, String>;
    /// A run was made, and is the last of the sweep's visits; the error is why it could not be stored.
    fn visited(&mut self, visit: &Visit, sweep: &Sweep) -> Result<(), String>;
    /// All runs were made and evaluated together.
    fn judged(&mut self, sweep: &Sweep) -> Result<(), String>;
}

/// How a sweep ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// All runs were made; some may have failed.
    Complete,
    /// The user ended it.
    Interrupted,
    /// Its results could not be stored.
    Lost(String),
    /// The target has too few completions in the longest run of a search to judge any rate.
    TooSlow {
        /// I/Os per second without a rate.
        capacity_iops: f64,
        /// Length in seconds that a run would need.
        needed_s: f64,
    },
}

/// Makes the missing runs of a sweep: all of a new one, the rest of one that was interrupted. Runs that failed before
/// are repeated.
pub fn sweep(design: &Design, sweep: &mut Sweep, runner: &mut dyn Runner, observer: &mut dyn SweepObserver) -> Ending {
    sweep.visits.retain(|visit| visit.headline().is_some());
    let mut course = SweepProgress { design, sweep, runner, observer, prepared: None, tried: Vec::new() };
    match course.all() {
        Ok(()) => Ending::Complete,
        Err(ending) => ending,
    }
}

pub(crate) struct SweepProgress<'a> {
    pub(crate) design: &'a Design,
    pub(crate) sweep: &'a mut Sweep,
    runner: &'a mut dyn Runner,
    observer: &'a mut dyn SweepObserver,
    /// The profile whose targets are prepared.
    prepared: Option<Profile>,
    /// Runs that were made, or tried, now or before.
    tried: Vec<Step>,
}

impl SweepProgress<'_> {
    fn all(&mut self) -> Result<(), Ending> {
        if !self.design.limits.is_empty() {
            self.search(&self.design.limits)?;
            return self.observer.judged(self.sweep).map_err(Ending::Lost);
        }
        if self.design.precondition.is_some() {
            self.take(&[Step { point: 0, run: 0, purpose: Purpose::Precondition }])?;
        }
        self.take(&schedule::first_runs(self.design))?;
        self.take(&schedule::again(self.design, self.sweep))?;
        self.take(&schedule::confirmations(self.design, self.sweep))?;
        stats::sweep::conclude(self.sweep);
        if self.design.extent == Extent::UntilSteady {
            self.sweep.steady_state = self.steady_state();
        }
        self.observer.judged(self.sweep).map_err(Ending::Lost)
    }

    /// Number of runs of a point that were made or tried for this purpose.
    pub(crate) fn tried_before(&self, point: usize, purpose: Purpose) -> u32 {
        self.tried.iter().filter(|step| (step.point, step.purpose) == (point, purpose)).count() as u32
    }

    pub(crate) fn take(&mut self, steps: &[Step]) -> Result<(), Ending> {
        for (index, step) in steps.iter().enumerate() {
            if step.purpose == self.design.first_purpose() && self.is_enough(step.run) {
                return Ok(());
            }
            let known = self.tried.len() + steps.len() - index;
            let is_made = self.sweep.visits.iter().any(|visit| Step::from_visit(visit) == *step);
            if !is_made {
                let visit = self.visit(step, known)?;
                self.sweep.visits.push(visit.clone());
                self.judge();
                self.observer.visited(&visit, self.sweep).map_err(Ending::Lost)?;
            }
            self.tried.push(*step);
        }
        Ok(())
    }

    /// Evaluates the pairs or rounds so far: an interruption must not lose the result.
    fn judge(&mut self) {
        match self.design.extent {
            Extent::Pairs { is_fixed, margin } => {
                self.sweep.ab = stats::ab::answer(&self.sweep.pairs(), &looks(is_fixed, self.design.runs), margin);
            }
            Extent::Streams => self.sweep.interference = stats::interference::answer(self.sweep),
            Extent::Whole | Extent::UntilFlat | Extent::UntilSure { .. } | Extent::UntilSteady => {}
        }
    }

    /// True if the next first run, which is the `run`-th of its point, need not be made.
    fn is_enough(&self, run: u32) -> bool {
        match self.design.extent {
            Extent::Whole | Extent::Streams => false,
            Extent::UntilSteady => run > 0 && Window::last_of(&self.rounds()).is_some_and(|window| window.is_steady()),
            Extent::Pairs { is_fixed, margin } => {
                let looks = looks(is_fixed, self.design.runs);
                let pairs = self.sweep.pairs();
                let count = pairs.len().min(run as usize);
                looks.contains(&run)
                    && stats::ab::answer(&pairs[..count], &looks, margin).is_some_and(|found| found.is_decided())
            }
            Extent::UntilFlat => run == 0 && stats::sweep::is_flat(self.sweep),
            Extent::UntilSure { scope, figure, share } => {
                let looks = stats::repeats::checkpoints(self.design.runs);
                let is_sure = |metric: ScopedMetric| {
                    let values: Option<Vec<f64>> = self.sweep.measured().map(|run| run.scoped_value(metric)).collect();
                    values.is_some_and(|values| stats::repeats::is_sure(&values, share, looks))
                };
                let metrics = match scope {
                    Scope::All => Headline::scoped_metrics(&[figure], self.sweep.measured()),
                    scope => vec![(scope, figure)],
                };
                stats::repeats::is_checkpoint(run) && !metrics.is_empty() && metrics.into_iter().all(is_sure)
            }
        }
    }

    /// I/Os per second of all rounds.
    fn rounds(&self) -> Vec<f64> {
        self.sweep.measured().map(|headline| headline.iops).collect()
    }

    /// Steady state of the last rounds; `None` if there are too few.
    fn steady_state(&self) -> Option<SteadyState> {
        let rounds = self.rounds();
        let window = Window::last_of(&rounds)?;
        let last = rounds.len() as u32;
        Some(SteadyState {
            is_reached: window.is_steady(),
            rounds: (last + 1 - WINDOW as u32, last),
            mean_iops: window.mean,
            range_percent: window.range_percent,
            rise_percent: window.rise_percent,
            missing: self.design.not_as_snia.clone(),
        })
    }

    fn visit(&mut self, step: &Step, known: usize) -> Result<Visit, Ending> {
        let (mut limit, mut sustained_iops, mut streams) = (None, None, Vec::new());
        let outcome = match self.run(step, known) {
            Ok(result) => match stats::run_headline(&result, &self.design.limits) {
                Some(headline) => {
                    let span_result = result.time_spans.first();
                    limit = span_result.and_then(|span| stats::limit::sample(span, &self.design.limits));
                    if step.purpose == Purpose::Capacity {
                        sustained_iops = span_result.and_then(stats::limit::sustained_iops);
                    }
                    let measured = span_result.and_then(|span| span.measured.as_ref());
                    streams = measured.map(stats::interference::streams).unwrap_or_default();
                    let file = self.observer.keep(step, result).map_err(Ending::Lost)?;
                    VisitOutcome::Measured { file, headline }
                }
                None => VisitOutcome::Failed { reasons: vec!["nothing was measured".to_owned()] },
            },
            Err(RunFailure::Interrupted) => return Err(Ending::Interrupted),
            Err(RunFailure::Failed(reasons)) => VisitOutcome::Failed { reasons },
        };
        Ok(Visit { point: step.point, run: step.run, purpose: step.purpose, outcome, limit, sustained_iops, streams })
    }

    fn run(&mut self, step: &Step, known: usize) -> Result<RunResult, RunFailure> {
        let number = match self.design.extent {
            // The runs of a pair or round draw the same numbers, so that they differ in less.
            Extent::Pairs { .. } | Extent::Streams => step.run as usize,
            _ => self.tried.len(),
        };
        let profile = seeded(self.design.profile(step.point, step.purpose), number);
        let (point, standing) = match self.design.extent {
            // All together have the targets of each.
            Extent::Streams => {
                let all = self.design.points.len().saturating_sub(1);
                (all, self.design.profile(all, step.purpose))
            }
            _ => (step.point, profile.clone()),
        };
        if !self.prepared.as_ref().is_some_and(|prepared| same_targets(prepared, &standing)) {
            self.runner.prepare(point, &standing)?;
            self.prepared = Some(standing);
        }
        self.observer.before(step, self.tried.len(), known)?;
        self.runner.run(step.point, &profile)
    }
}

impl Step {
    pub(crate) fn from_visit(visit: &Visit) -> Self {
        Self { point: visit.point, run: visit.run, purpose: visit.purpose }
    }
}

/// Numbers of pairs after which the difference is tested.
pub(crate) fn looks(is_fixed: bool, pairs_max: u32) -> Vec<u32> {
    if is_fixed { vec![pairs_max] } else { stats::ab::LOOKS.to_vec() }
}

/// The profile with the seed of a run of a series: its own, so that runs do not repeat the same random offsets and
/// arrivals, which would hide how much results vary. `number` counts the runs from 0.
fn seeded(mut profile: Profile, number: usize) -> Profile {
    for span in &mut profile.time_spans {
        span.random_seed = span.random_seed.wrapping_add(number as u32);
    }
    profile
}

/// True if the targets of one profile can be used for the other.
fn same_targets(one: &Profile, other: &Profile) -> bool {
    let targets = |profile: &Profile| {
        let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
        targets.map(|target| (target.path.clone(), target.create_size)).collect::<Vec<_>>()
    };
    targets(one) == targets(other)
}

#[cfg(test)]
mod knee_study;
#[cfg(test)]
mod tests;
