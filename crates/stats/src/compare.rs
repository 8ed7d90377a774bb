//! Two sets of runs of the same load: the figures that differ, and the chance of such a difference.
//!
//! Differences are ratios: the logarithms of the figures are compared, so that twice as fast and half as fast are
//! equally far. Several runs of a side show their scatter themselves; a single one has the confidence interval of its
//! own time series, which does not include differences from run to run: a difference must be larger than that, too.

mod apart;

use crate::headline::headline;
use crate::sample::{moments, student};
use crate::{metrics, own_limits};
use model::confidence::Interval;
use model::headline::Headline;
use model::metric::{self, Metric, MetricName, Scope, ScopedMetric};
use model::result::{LoadLoop, Measured, RunResult};
use model::units::UnixTime;
use statrs::distribution::ContinuousCDF;

/// Differences within this many percent are none, if their interval lies within it too.
pub const EQUAL_PERCENT: f64 = 5.0;
/// How often equal loads may differ in any figure.
const ALARMS: f64 = 0.05;
/// Standard errors in half of a 95 % interval, and degrees of freedom behind one: 20 to 39 batches, some of which
/// depend on each other.
const INTERVAL_STANDARD_ERRORS: f64 = 2.1;
const INTERVAL_DEGREES_OF_FREEDOM: f64 = 19.0;

/// Standard deviation of the logarithm of a figure from run to run that is assumed for a single run: that of runs on
/// two levels 8 % apart, as a published guide has them. Differences of single runs below 12 % are not distinguished
/// from that.
pub(crate) const FROM_RUN_TO_RUN: f64 = 0.04;

/// One figure of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The metric.
    pub figure: Metric,
    /// The I/Os that it is about.
    pub scope: Scope,
    /// Of the first side: the geometric mean of its runs.
    pub first: f64,
    /// Of the second.
    pub second: f64,
    /// By how much the second differs, in percent of the first.
    pub percent: f64,
    /// Its 95 % interval; `None` if the scatter of a side is unknown.
    pub interval: Option<(f64, f64)>,
    /// Meaning of the difference.
    pub verdict: ComparisonVerdict,
    /// The basis of the verdict.
    pub basis: Basis,
}

/// The basis of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The interval.
    Test,
    /// One run a side: their ranges over time are far apart.
    Course,
    /// One run a side: the interval excludes 0, but runs of the same load may differ as much. The verdict is
    /// [`ComparisonVerdict::CannotTell`].
    OneRun,
}

/// Meaning of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonVerdict {
    /// The second side is better, and that is not chance.
    Better,
    /// It is worse, and that is not chance.
    Worse,
    /// If there is a difference, it is less than 5 %.
    NoDifference,
    /// The same, and both sides reached a limit of their own (`-g`, `--rate`, `-i` and `-j`): no result about the
    /// storage.
    LimitedByRate,
    /// The runs cannot show a difference or rule one out.
    CannotTell,
}

/// The scopes that the application waits for in the runs of a side.
pub fn waited_for(runs: &[RunResult]) -> Vec<Scope> {
    let span = runs.first().and_then(|run| run.profile.time_spans.first());
    span.map_or_else(|| vec![Scope::All], Scope::waited_for)
}

/// The figures that are compared: latencies are those that the application waits for. Where these are not the same on
/// both sides, only reads with reads and writes with writes.
fn compared(first: &[RunResult], second: &[RunResult], more: &[ScopedMetric]) -> Vec<ScopedMetric> {
    let scopes = waited_for(first);
    let scopes = if scopes == waited_for(second) { scopes } else { vec![Scope::Read, Scope::Write] };
    let mut compared = metric::scoped(&Headline::METRICS, &scopes);
    compared.extend(more.iter().filter(|of| !compared.contains(of)).copied().collect::<Vec<_>>());
    compared
}

/// Figures that both sides have, of the first timespan of each result.
///
/// Each of seven figures at 95 % would differ by chance in one comparison of four: their levels are those of Holm (A simple
/// sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979). I/Os and bytes per second
/// are one figure where all blocks are alike, and count once.
pub fn compare(first: &[RunResult], second: &[RunResult]) -> Vec<Difference> {
    compare_with(first, second, &[])
}

/// The same with more figures, those of limits.
pub fn compare_with(first: &[RunResult], second: &[RunResult], more: &[ScopedMetric]) -> Vec<Difference> {
    let sides = |figure| {
        let mut change = Change::between(&Side::from_runs(figure, first)?, &Side::from_runs(figure, second)?);
        change.are_apart = (first.len() == 1 || second.len() == 1) && apart::are_apart(figure, first, second);
        Some((figure, change))
    };
    let known: Vec<(ScopedMetric, Change)> = compared(first, second, more).into_iter().filter_map(sides).collect();
    let levels = levels(&known);
    let mut differences: Vec<Difference> =
        known.iter().zip(levels).map(|((figure, change), level)| change.difference(*figure, level)).collect();
    if first.iter().chain(second).all(own_limits::is_run_rate_limited) {
        let is_equal_rate =
            |found: &&mut Difference| found.figure.is_more_better() && found.verdict == ComparisonVerdict::NoDifference;
        differences.iter_mut().filter(is_equal_rate).for_each(|found| found.verdict = ComparisonVerdict::LimitedByRate);
    }
    differences
}

/// Figures that some results have and [`compare`] leaves out, because others have none or 0: a run that stalled has no
/// IOPS that a ratio could be made of.
pub fn left_out(first: &[RunResult], second: &[RunResult]) -> Vec<ScopedMetric> {
    let has = |run: &RunResult, figure| value(run, figure).is_some_and(|value| value > 0.0);
    let is_left_out = |figure: &ScopedMetric| {
        let mut have = first.iter().chain(second).map(|run| has(run, *figure));
        have.clone().any(|has| has) && !have.all(|has| has)
    };
    compared(first, second, &[]).into_iter().filter(is_left_out).collect()
}

/// The value of a figure in the first timespan of a run.
fn value(run: &RunResult, (scope, metric): ScopedMetric) -> Option<f64> {
    let span = run.profile.time_spans.first();
    // The commit of a write that nothing makes durable is not the write.
    let is_known = scope == Scope::All || span.is_some_and(|span| scope.is_in(span));
    metrics::value(&MetricName { stream: None, scope, metric }, run.time_spans.first().filter(|_| is_known)?)
}

/// Results without a completed I/O.
pub fn without_ios(runs: &[RunResult]) -> usize {
    let is_empty =
        |run: &&RunResult| run.time_spans.first().and_then(headline).is_some_and(|headline| headline.iops <= 0.0);
    runs.iter().filter(is_empty).count()
}

/// The median of a figure over the runs of a side that have it; `None` if none has.
pub fn median(runs: &[RunResult], figure: ScopedMetric) -> Option<f64> {
    let mut values: Vec<f64> = runs.iter().filter_map(|run| value(run, figure)).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// True if the scatter of the runs of a side is known.
pub fn has_scatter(runs: &[RunResult], figure: ScopedMetric) -> bool {
    Side::from_runs(figure, runs).is_some_and(|side| side.scatter.is_some())
}

/// When the first run of a side and its last one started; `None` if it is unknown.
pub fn starts(runs: &[RunResult]) -> Option<(UnixTime, UnixTime)> {
    let starts = || runs.iter().map(|run| run.started_at);
    starts().min().zip(starts().max()).filter(|(from, _)| *from != UnixTime::UNKNOWN)
}

/// The level of each figure's test: the smallest chance is compared with the share of one among all figures, the next
/// with that of one among the rest, and so on until one is larger.
fn levels(known: &[(ScopedMetric, Change)]) -> Vec<f64> {
    let chances = known.iter().enumerate().filter(|(_, (figure, _))| *figure != (Scope::All, Metric::MibPerS));
    let mut chances: Vec<(usize, f64)> = chances.map(|(index, (_, change))| (index, change.chance())).collect();
    chances.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut levels = vec![ALARMS; known.len()];
    let mut left = chances.len();
    for (index, chance) in chances {
        let level = ALARMS / left as f64;
        levels[index] = level;
        if chance <= level {
            left -= 1;
        }
    }
    let place = |metric| known.iter().position(|(figure, _)| *figure == (Scope::All, metric));
    if let Some((iops, bytes)) = place(Metric::Iops).zip(place(Metric::MibPerS)) {
        levels[bytes] = levels[iops];
    }
    levels
}

/// How a figure changes between two sides, on its logarithm.
struct Change {
    first: f64,
    second: f64,
    /// Standard error and degrees of freedom; `None` if the scatter of a side is unknown.
    error: Option<(f64, f64)>,
    /// Standard deviation from run to run, of single runs.
    from_run_to_run: f64,
    /// The ranges over time of both sides are far apart.
    are_apart: bool,
}

impl Change {
    fn between(first: &Side, second: &Side) -> Self {
        // Welch and Satterthwaite.
        let error = first.scatter.zip(second.scatter).map(|(first, second)| {
            let variance = first.variance + second.variance;
            let weights =
                first.variance.powi(2) / first.degrees_of_freedom + second.variance.powi(2) / second.degrees_of_freedom;
            let degrees = if weights > 0.0 { variance.powi(2) / weights } else { first.degrees_of_freedom };
            (variance.sqrt(), degrees)
        });
        let single = f64::from(u8::from(first.is_single) + u8::from(second.is_single));
        let from_run_to_run = FROM_RUN_TO_RUN * single.sqrt();
        Self { first: first.mean, second: second.mean, error, from_run_to_run, are_apart: false }
    }

    /// How often chance alone gives such a difference, two-sided.
    fn chance(&self) -> f64 {
        let change = (self.second - self.first).abs();
        match self.error {
            Some((error, degrees)) if error > 0.0 || self.from_run_to_run > 0.0 => {
                2.0 * student(degrees).sf(change / error.hypot(self.from_run_to_run))
            }
            Some(_) if change > 0.0 => 0.0,
            _ => 1.0,
        }
    }

    fn difference(&self, (scope, figure): ScopedMetric, level: f64) -> Difference {
        let change = self.second - self.first;
        let percent = |change: f64| change.exp_m1() * 100.0;
        let bounds = self.error.map(|(error, degrees)| {
            let half = student(degrees).inverse_cdf(1.0 - level / 2.0) * error;
            (change - half, change + half)
        });
        let by_interval = bounds.map_or(ComparisonVerdict::CannotTell, |bounds| verdict(figure, bounds));
        let (verdict, basis) = match by_interval {
            ComparisonVerdict::CannotTell if self.are_apart => (direction(figure, change), Basis::Course),
            ComparisonVerdict::Better | ComparisonVerdict::Worse if self.chance() > level && !self.are_apart => {
                (ComparisonVerdict::CannotTell, Basis::OneRun)
            }
            verdict => (verdict, Basis::Test),
        };
        Difference {
            figure,
            scope,
            first: self.first.exp(),
            second: self.second.exp(),
            percent: percent(change),
            interval: bounds.map(|(low, high)| (percent(low), percent(high))),
            verdict,
            basis,
        }
    }
}

/// How many runs of the second side are on the first side too: nothing differs between a run and itself.
pub fn on_both_sides(first: &[RunResult], second: &[RunResult]) -> usize {
    let is_same = |a: &RunResult, b: &RunResult| {
        let id = |run: &RunResult| (run.started_at, run.system.computer_name.clone(), run.command_line.clone());
        a.started_at != UnixTime::UNKNOWN && id(a) == id(b) || a == b
    };
    second.iter().filter(|run| first.iter().any(|other| is_same(run, other))).count()
}

/// True if all runs of one side were made before those of the other: drift looks like a difference then.
pub fn is_in_blocks(first: &[RunResult], second: &[RunResult]) -> bool {
    let (Some((first_from, first_to)), Some((second_from, second_to))) = (starts(first), starts(second)) else {
        return false;
    };
    first_to < second_from || second_to < first_from
}

/// The result of several drives as a percentage of that number times one drive.
pub fn scaling_percent(found: &Difference, drives: u32) -> f64 {
    found.second / found.first / f64::from(drives) * 100.0
}

fn verdict(figure: Metric, (low, high): (f64, f64)) -> ComparisonVerdict {
    let equal = (EQUAL_PERCENT / 100.0).ln_1p();
    if low > 0.0 || high < 0.0 {
        return direction(figure, low);
    }
    if -equal < low && high < equal { ComparisonVerdict::NoDifference } else { ComparisonVerdict::CannotTell }
}

fn direction(figure: Metric, change: f64) -> ComparisonVerdict {
    if (change > 0.0) == figure.is_more_better() { ComparisonVerdict::Better } else { ComparisonVerdict::Worse }
}

/// Logarithms of a figure in the runs of one side.
struct Side {
    is_single: bool,
    mean: f64,
    scatter: Option<Scatter>,
}

/// How far the mean of a side may be off.
#[derive(Clone, Copy)]
struct Scatter {
    /// Of the mean.
    variance: f64,
    degrees_of_freedom: f64,
}

impl Side {
    /// `None` if a run lacks the figure, or it is 0.
    fn from_runs(figure: ScopedMetric, runs: &[RunResult]) -> Option<Self> {
        let values: Option<Vec<f64>> =
            runs.iter().map(|run| value(run, figure).filter(|value| *value > 0.0).map(f64::ln)).collect();
        let values = values.filter(|values| !values.is_empty())?;
        let (mean, deviation) = moments(&values);
        let scatter = if let [run] = runs {
            let measured = run.time_spans.first().and_then(|span_result| span_result.measured.as_ref());
            let interval = measured.and_then(|measured| interval(figure, measured));
            interval.filter(|found| found.low > 0.0).map(|found| Scatter {
                variance: ((found.high / found.low).ln() / 2.0 / INTERVAL_STANDARD_ERRORS).powi(2),
                degrees_of_freedom: INTERVAL_DEGREES_OF_FREEDOM,
            })
        } else {
            let count = values.len() as f64;
            Some(Scatter { variance: deviation.powi(2) / count, degrees_of_freedom: count - 1.0 })
        };
        Some(Self { is_single: runs.len() == 1, mean, scatter })
    }
}

/// The 95 % interval that a single run has for a figure; files of earlier versions have half its width.
fn interval((scope, figure): ScopedMetric, measured: &Measured) -> Option<Interval> {
    let latencies = measured.total_latency.as_ref();
    let (confidence, total) = (measured.confidence.as_ref(), &measured.total);
    let (found, total, latencies) = match (scope, &measured.load_loop) {
        (Scope::All, _) => (confidence?.total.as_ref(), &total.total, latencies.and_then(|of| of.total.as_ref())),
        (Scope::Read, _) => (confidence?.read.as_ref(), &total.read, latencies.and_then(|of| of.read.as_ref())),
        (Scope::Write, _) => (confidence?.write.as_ref(), &total.write, latencies.and_then(|of| of.write.as_ref())),
        (Scope::Response, Some(LoadLoop::Open(open))) => {
            (open.response_time_confidence.as_ref(), &total.total, open.response_time.total.as_ref())
        }
        _ => return None,
    };
    let found = found?;
    let around = |value: f64, half: Option<f64>| Some(Interval::around(value, half?));
    let percentile = |rank_ppb| {
        let found = found.percentiles.iter().find(|percentile| percentile.rank_ppb == rank_ppb)?;
        let value_ns = latencies?.at(rank_ppb)?;
        found.interval_ns.or_else(|| around(value_ns as f64, Some(found.half_width_ns)))
    };
    match figure {
        Metric::Iops => found.iops_interval.or_else(|| around(total.iops, found.iops)),
        // A ratio has no unit.
        Metric::MibPerS => found.bytes_per_s_interval.or_else(|| around(total.bytes_per_s, found.bytes_per_s)),
        Metric::Mean => {
            let earlier = || around(total.latency?.mean_ns, found.latency_mean_ns);
            found.latency_mean_interval_ns.or_else(earlier)
        }
        Metric::Max | Metric::Cpu | Metric::IoCpu => None,
        metric => percentile(metric.rank_ppb()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::normal;
    use hot::rng::Rng;
    use model::confidence::HalfWidths;
    use model::figures::{Directions, Figures};
    use model::result::TimeSpanResult;

    const IOPS: ScopedMetric = (Scope::All, Metric::Iops);

    fn run(iops: f64, half: Option<f64>) -> RunResult {
        let total = Directions {
            total: Figures { iops, bytes_per_s: iops * 4096.0, ..Figures::default() },
            ..Directions::default()
        };
        let widths = half.map(|half| HalfWidths { iops: Some(half), ..HalfWidths::default() });
        let confidence = widths.map(|widths| Directions { total: Some(widths), ..Directions::default() });
        let measured = Measured { total, confidence, ..Measured::default() };
        let span_result = TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() };
        RunResult { time_spans: vec![span_result], ..RunResult::default() }
    }

    fn normals(rng: &mut Rng, count: usize, mean: f64, deviation: f64) -> Vec<RunResult> {
        (0..count).map(|_| run(mean + deviation * normal(rng), None)).collect()
    }

    #[test]
    fn a_side_has_a_median_and_may_have_scatter() {
        let runs = |iops: &[f64]| iops.iter().map(|iops| run(*iops, None)).collect::<Vec<_>>();
        assert_eq!(median(&runs(&[3.0, 1.0, 2.0]), IOPS), Some(2.0));
        assert_eq!(median(&runs(&[4.0, 0.0]), IOPS), Some(2.0));
        assert_eq!((median(&runs(&[4.0]), (Scope::All, Metric::P50)), median(&[], IOPS)), (None, None));
        assert!(has_scatter(&runs(&[4.0, 5.0]), IOPS) && !has_scatter(&runs(&[4.0]), IOPS));
        assert!(has_scatter(&[run(4.0, Some(1.0))], IOPS));
    }

    fn iops(first: &[RunResult], second: &[RunResult]) -> Difference {
        compare(first, second)[0]
    }

    #[test]
    fn equal_loads_differ_by_chance_one_time_in_twenty() {
        let mut rng = Rng::new(1);
        let mut alarms = 0;
        for _ in 0..1000 {
            let (first, second) = (normals(&mut rng, 5, 1000.0, 50.0), normals(&mut rng, 7, 1000.0, 50.0));
            let found = iops(&first, &second);
            alarms += u32::from(matches!(found.verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse));
            let (low, high) = found.interval.unwrap();
            assert!(low <= found.percent && found.percent <= high);
        }
        assert!((30..=70).contains(&alarms), "{alarms} of 1000");
    }

    #[test]
    fn a_real_difference_is_found_and_its_direction_told() {
        let mut rng = Rng::new(2);
        let (slow, fast) = (normals(&mut rng, 8, 1000.0, 10.0), normals(&mut rng, 8, 1100.0, 10.0));
        let found = iops(&slow, &fast);
        assert_eq!(found.verdict, ComparisonVerdict::Better);
        assert!((8.0..12.0).contains(&found.percent), "{found:?}");
        assert_eq!(iops(&fast, &slow).verdict, ComparisonVerdict::Worse);
        assert_eq!(verdict(Metric::Mean, (0.1, 0.2)), ComparisonVerdict::Worse);
        assert_eq!(verdict(Metric::Cpu, (-0.2, -0.1)), ComparisonVerdict::Better);
    }

    #[test]
    fn narrow_intervals_around_nothing_are_no_difference_and_wide_ones_tell_nothing() {
        assert_eq!(iops(&[run(1000.0, Some(5.0))], &[run(1002.0, Some(5.0))]).verdict, ComparisonVerdict::NoDifference);
        assert_eq!(iops(&[run(1000.0, Some(90.0))], &[run(1010.0, Some(90.0))]).verdict, ComparisonVerdict::CannotTell);
        let unknown = iops(&[run(1000.0, None)], &[run(2000.0, Some(1.0))]);
        assert_eq!((unknown.verdict, unknown.interval), (ComparisonVerdict::CannotTell, None));
        assert!((unknown.percent - 100.0).abs() < 1e-9);
    }

    /// Seven figures at 95 % each would find a difference in one of four comparisons of equal loads.
    #[test]
    fn equal_loads_seldom_differ_in_any_figure() {
        let mut rng = Rng::new(4);
        let mut side = || -> Vec<RunResult> {
            let mut one = || {
                let mut result = run(1000.0 + 20.0 * normal(&mut rng), None);
                let measured = result.time_spans[0].measured.as_mut().expect("figures");
                let mean_ns = 1e6 + 2e4 * normal(&mut rng);
                measured.total.total.latency = Some(model::figures::LatencyFigures { mean_ns, ..Default::default() });
                measured.cpu_average.usage_percent = 20.0 + normal(&mut rng);
                result
            };
            (0..5).map(|_| one()).collect()
        };
        let is_different =
            |found: &Difference| matches!(found.verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse);
        let alarms = (0..1000).filter(|_| compare(&side(), &side()).iter().any(is_different)).count();
        assert!((20..=60).contains(&alarms), "{alarms} of 1000");
    }

    #[test]
    fn runs_that_take_turns_are_no_blocks() {
        let at = |time| RunResult { started_at: UnixTime(time), ..run(1.0, None) };
        assert!(is_in_blocks(&[at(1), at(2)], &[at(3), at(4)]) && is_in_blocks(&[at(3)], &[at(1)]));
        assert!(!is_in_blocks(&[at(1), at(3)], &[at(2), at(4)]) && !is_in_blocks(&[], &[at(1)]));
    }

    #[test]
    fn what_a_side_lacks_is_not_compared() {
        let figures: Vec<_> = compare(&[run(1.0, None)], &[run(2.0, None)]).iter().map(|found| found.figure).collect();
        assert_eq!(figures, [Metric::Iops, Metric::MibPerS], "no latency, no CPU time");
        assert_eq!(compare(&[RunResult::default()], &[run(1.0, None)]), []);
        assert_eq!(compare(&[], &[]), []);
    }
}
