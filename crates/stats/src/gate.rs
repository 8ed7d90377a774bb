//! A new run against its history: the answer of a gate in a pipeline.
//!
//! The history is cut into levels (change points by PELT, on logarithms). The reference is the best level: a slow drift, or a
//! change for the worse that passed unseen, does not become normal by itself. The new runs, and the last of the history
//! together with them, are compared with the reference (Student's t with the scatter of the reference). Fewer than three runs
//! decide only about differences beyond what single runs of one load may differ by ([`FROM_RUN_TO_RUN`]); smaller ones ask
//! for more runs.

use crate::compare::FROM_RUN_TO_RUN;
use crate::sample::{mean, moments, student, sum_of_squares};
use crate::steadiness::pelt::{Costs, change_points};
use model::metric::MetricName;
use statrs::distribution::ContinuousCDF;

/// Earlier runs that a judgement needs; also the shortest level.
pub const EARLIER_MIN: usize = 5;
/// Changes below this are never reported as worse.
pub const MARGIN: f64 = 0.02;
/// One run alone decides about changes from here on: one run of twenty may be slower by half of that.
pub const AT_ONCE: f64 = 0.2;

/// Sum of the levels of all tests of a gate. An unchanged load fails less often, below 5 %: most gates end with their first
/// run (see the tests).
const ALARMS: f64 = 0.06;
/// A metric whose change has a smaller chance than this, and is at least this large, needs another run.
const SUSPICION: f64 = 0.2;
const SUSPICION_MIN: f64 = 0.015;
/// After the last run, a smaller chance than this is not reported as "not worse".
const DOUBT: f64 = 0.03;
/// Runs with which the scatter of the history alone counts.
const RUNS_FOR_SMALL: usize = 3;
/// Runs of the history that are tested together with the new ones.
const LOOKS_BACK: [usize; 7] = [0, 1, 2, 4, 8, 16, 32];
/// Share of the false alarms that comparisons of the new runs alone may make.
const SHARE_OF_NEW: f64 = 0.75;
/// Least scatter of a history: percentiles come in steps.
const SCATTER_MIN: f64 = 0.005;
/// Penalty of a change point in variances and logarithms of the number of runs.
const PENALTY: f64 = 4.0;
/// Runs that are worth advising.
const ADVISED_MAX: f64 = 100.0;

/// One metric of the accepted history, oldest first, and of the new runs. All values are above 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The metric.
    pub figure: MetricName,
    /// Of earlier runs.
    pub earlier: Vec<f64>,
    /// Of the runs of this gate.
    pub new: Vec<f64>,
}

/// The answer of a gate.
#[derive(Clone, Debug, PartialEq)]
pub enum GateVerdict {
    /// Nothing to compare with: the number of earlier runs is too small.
    NotEnough,
    /// No metric is worse.
    NotWorse,
    /// At least one is worse, and that is not chance.
    Worse,
    /// One may be worse. `runs` more would decide it, if that is known.
    CannotTell {
        /// Runs of the load.
        runs: Option<u32>,
    },
}

/// A metric against its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The metric.
    pub figure: MetricName,
    /// Geometric mean of the reference.
    pub reference: f64,
    /// Geometric mean of the runs since the change, or of the new runs.
    pub now: f64,
    /// From `reference` to `now`, in percent.
    pub percent: f64,
    /// Index of the first run of the new level among earlier and new runs; `None` without a change.
    pub since: Option<usize>,
    /// True if it is worse.
    pub is_worse: bool,
    /// True if it is better.
    pub is_better: bool,
}

/// The answer, and the metrics that it follows from.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The answer.
    pub verdict: GateVerdict,
    /// One for each metric with enough history.
    pub changes: Vec<Change>,
    /// True if another run may change the answer.
    pub wants_run: bool,
}

/// Judges the new runs. All metrics have the same number of earlier and of new runs.
pub fn judge(series: &[Series]) -> Judgement {
    let earlier = series.iter().map(|of| of.earlier.len()).min().unwrap_or(0);
    if earlier < EARLIER_MIN {
        return Judgement { verdict: GateVerdict::NotEnough, changes: Vec::new(), wants_run: false };
    }
    let level = ALARMS / series.len() as f64;
    let judged: Vec<JudgedMetric> = series.iter().map(|of| JudgedMetric::from_series(of, level)).collect();
    let changes: Vec<Change> = judged.iter().map(|of| of.change.clone()).collect();
    if changes.iter().any(|change| change.is_worse) {
        return Judgement { verdict: GateVerdict::Worse, changes, wants_run: false };
    }
    let wants_run = judged.iter().any(|of| of.chance < SUSPICION && of.worsening > SUSPICION_MIN.ln_1p());
    let doubtful: Vec<&JudgedMetric> =
        judged.iter().filter(|of| of.chance < DOUBT && of.worsening > MARGIN.ln_1p()).collect();
    let verdict = if doubtful.is_empty() {
        GateVerdict::NotWorse
    } else {
        let runs = doubtful.iter().map(|of| of.runs_needed).collect::<Option<Vec<u32>>>();
        GateVerdict::CannotTell { runs: runs.and_then(|runs| runs.into_iter().max()) }
    };
    Judgement { verdict, changes, wants_run }
}

/// Where the levels of a history begin, without the first.
pub fn levels(values: &[f64]) -> Vec<usize> {
    let values: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    cuts(&values)
}

fn cuts(values: &[f64]) -> Vec<usize> {
    // Differences of neighbours do not depend on levels.
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let variance = (sum_of_squares(&steps) / 2.0 / steps.len().max(1) as f64).max(SCATTER_MIN * SCATTER_MIN);
    let penalty = PENALTY * variance * (values.len().max(2) as f64).ln();
    change_points(&Costs::from_values(values), penalty, EARLIER_MIN)
}

/// A metric, judged.
struct JudgedMetric {
    change: Change,
    /// How often chance alone makes the new runs this much worse.
    chance: f64,
    /// Logarithm by which the new runs are worse.
    worsening: f64,
    /// Runs that would decide a change of this size.
    runs_needed: Option<u32>,
}

impl JudgedMetric {
    fn from_series(series: &Series, level: f64) -> Self {
        let sign = if series.figure.metric.is_more_better() { -1.0 } else { 1.0 };
        // Above 0 is worse.
        let worsening = |value: &f64| sign * value.ln();
        let all: Vec<f64> = series.earlier.iter().chain(&series.new).map(worsening).collect();
        let count = series.earlier.len();
        let reference = reference(&all[..count]);
        let found = Shift::scan(&all, count, &reference, level);
        let new = Shift::between(&all, count, &reference);
        let shift = found.as_ref().map_or(new.worsening, |found| found.worsening);
        let at = all[reference.0..reference.1.min(found.as_ref().map_or(count, |found| found.at))].to_vec();
        let base = sign * mean(&at);
        let threshold = student(new.freedom).inverse_cdf(1.0 - level * SHARE_OF_NEW);
        let per_run = (new.worsening / (threshold * new.scatter)).powi(2) - 1.0 / at.len() as f64;
        let runs = (1.0 / per_run).ceil();
        let since = found.as_ref().map(|_| first_of_level(&all, count, &reference));
        Self {
            change: Change {
                figure: series.figure.clone(),
                reference: base.exp(),
                now: (base + sign * shift).exp(),
                percent: (sign * shift).exp_m1() * 100.0,
                since,
                is_worse: found.as_ref().is_some_and(|found| found.worsening > 0.0),
                is_better: found.as_ref().is_some_and(|found| found.worsening < 0.0),
            },
            chance: new.chance,
            worsening: new.worsening,
            runs_needed: (per_run > 0.0 && runs <= ADVISED_MAX).then_some(runs as u32),
        }
    }
}

/// Beginning and end of the best level; values above 0 are worse.
fn reference(earlier: &[f64]) -> (usize, usize) {
    let cuts = cuts(earlier);
    let edges: Vec<usize> = [0].into_iter().chain(cuts).chain([earlier.len()]).collect();
    let levels = edges.windows(2).map(|pair| (pair[0], pair[1]));
    let level = |(from, to): &(usize, usize)| mean(&earlier[*from..*to]);
    levels.min_by(|one, other| level(one).total_cmp(&level(other))).unwrap_or((0, earlier.len()))
}

/// The last runs against the reference.
struct Shift {
    /// Index of the first of the last runs.
    at: usize,
    /// Logarithm; above 0 is worse.
    worsening: f64,
    /// Of one run, on its logarithm.
    scatter: f64,
    freedom: f64,
    /// How often chance alone makes them this much worse.
    chance: f64,
    /// The same if runs differ by [`FROM_RUN_TO_RUN`] at least.
    chance_of_few: f64,
}

impl Shift {
    /// The runs from `at` on against those of the reference that are before them.
    fn between(all: &[f64], at: usize, reference: &(usize, usize)) -> Self {
        let base = &all[reference.0..reference.1.min(at)];
        let last = &all[at..];
        let (level, deviation) = moments(base);
        let scatter = deviation.max(SCATTER_MIN);
        let runs = 1.0 / last.len() as f64 + 1.0 / base.len() as f64;
        let freedom = base.len() as f64 - 1.0;
        let worsening = shift(level, last);
        let chance = |scatter: f64| student(freedom).sf(worsening / (scatter * runs.sqrt()));
        Self {
            at,
            worsening,
            scatter,
            freedom,
            chance: chance(scatter),
            chance_of_few: chance(scatter.max(FROM_RUN_TO_RUN)),
        }
    }

    /// A change that is no chance, with the smallest chance of those found; `count` are earlier runs.
    fn scan(all: &[f64], count: usize, reference: &(usize, usize), level: f64) -> Option<Self> {
        let first = reference.0 + EARLIER_MIN;
        let looks: Vec<usize> =
            LOOKS_BACK.iter().filter_map(|back| count.checked_sub(*back)).filter(|at| *at >= first).collect();
        let others = level * (1.0 - SHARE_OF_NEW) / (looks.len() as f64 - 1.0).max(1.0);
        let candidate = |at: usize| {
            let shift = Self::between(all, at, reference);
            let level = if at == count { level * SHARE_OF_NEW } else { others };
            let base = &all[reference.0..reference.1.min(at)];
            // A metric that was worse and was repaired is not worse.
            let is_now = self::shift(mean(base), &all[count..]) / shift.worsening > 0.5;
            let (chance, is_large) = match all.len() - at {
                1 => (shift.chance_of_few, shift.worsening.abs() > AT_ONCE.ln_1p()),
                few if few < RUNS_FOR_SMALL => (shift.chance_of_few, is_outside(base, &all[at..])),
                _ => (shift.chance, true),
            };
            let chance = chance.min(1.0 - chance);
            let is_found = chance < level && is_large && is_now && shift.worsening.abs() > MARGIN.ln_1p();
            is_found.then_some((chance / level, shift))
        };
        looks.into_iter().filter_map(candidate).min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, shift)| shift)
    }
}

/// Index of the run with which the new level most likely began: the cut that explains most.
fn first_of_level(all: &[f64], count: usize, reference: &(usize, usize)) -> usize {
    let explained = |at: usize| {
        let (base, last) = (&all[reference.0..reference.1.min(at)], &all[at..]);
        let (before, after) = (base.len() as f64, last.len() as f64);
        (mean(last) - mean(base)).powi(2) * before * after / (before + after)
    };
    (reference.0 + EARLIER_MIN..=count)
        .max_by(|one, other| explained(*one).total_cmp(&explained(*other)))
        .unwrap_or(count)
}

/// Distance of values from a level: of their mean or their median, whichever is nearer, so that one slow run of three is
/// not a slow load.
fn shift(level: f64, values: &[f64]) -> f64 {
    let (mean, middle) = (mean(values) - level, middle(values) - level);
    match (mean > 0.0, middle > 0.0) {
        (true, true) => mean.min(middle),
        (false, false) => mean.max(middle),
        _ => 0.0,
    }
}

/// The median.
fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)])
}

/// True if all of the last runs are outside the range of the reference.
fn is_outside(base: &[f64], last: &[f64]) -> bool {
    let highest = base.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = base.iter().copied().fold(f64::INFINITY, f64::min);
    last.iter().all(|value| *value > highest) || last.iter().all(|value| *value < lowest)
}

#[cfg(test)]
mod tests;
