//! Combined results of runs of the same load.

mod levels;
mod order;

pub use levels::TwoLevels;
pub use order::{Dependence, Trend};

use crate::sample::{moments, student};
use levels::two_levels;
use model::finding::Severity;
use model::headline::Headline;
use model::metric::{Metric, Scope, ScopedMetric};
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF};

/// Differences below this share of the mean are not reported.
const SHARE_MIN: f64 = 0.02;
/// The first run differs if the others would have such a one among them this seldom.
const FIRST_RUN_SIGNIFICANCE: f64 = 0.005;
/// Runs before `--until` is judged for the first time; then at every doubling.
pub const FIRST_CHECKPOINT: u32 = 8;

/// One figure of all runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Its 95 % interval, from order statistics; `None` with fewer than six runs, and where neighbouring runs are so
    /// alike that they are as good as fewer than six.
    pub interval: Option<(f64, f64)>,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Standard deviation in percent of the mean.
    pub deviation_percent: f64,
}

/// Everything about runs of the same load.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeats {
    /// I/Os per second.
    pub iops: Spread,
    /// MiB per second.
    pub mib_per_s: Spread,
    /// Mean and 99th percentile, in nanoseconds, of the latency that the application waits for; those that all of them
    /// have.
    pub latencies: Vec<(ScopedMetric, Spread)>,
    /// CPU usage in percent.
    pub cpu_percent: Spread,
    /// The I/Os per second rise or fall from run to run.
    pub trend: Option<Trend>,
    /// The I/Os per second of neighbouring runs are alike, but there is no trend.
    pub dependence: Option<Dependence>,
    /// The I/Os per second sit on two levels.
    pub levels: Option<TwoLevels>,
    /// Difference of the first run's I/Os per second from the mean of the others, in percent of it, if that cannot be
    /// scatter.
    pub first_run_percent: Option<f64>,
    /// True if every run has a warning: the intervals are of the scatter of the runs, which does not show the cause of
    /// the warnings.
    pub is_doubtful: bool,
}

/// Figures of the runs, in the order in which they were made; `None` without any.
pub fn repeats(runs: &[&Headline]) -> Option<Repeats> {
    let is_doubtful = is_doubtful(runs.iter().copied());
    let all = |metric: ScopedMetric| {
        let values: Option<Vec<f64>> = runs.iter().map(|run| run.scoped_value(metric)).collect();
        spread(&values?)
    };
    let latencies = Headline::scoped_metrics(&[Metric::Mean, Metric::P99], runs.iter().copied());
    let iops: Vec<f64> = runs.iter().map(|run| run.iops).collect();
    let (trend, levels) = match (order::trend(&iops), two_levels(&iops)) {
        // One cause: that which leaves less scatter.
        (Some(trend), Some(levels)) if trend.scatter_share < levels.scatter_share => (Some(trend), None),
        (Some(_), Some(levels)) => (None, Some(levels)),
        found => found,
    };
    Some(Repeats {
        dependence: if trend.is_none() { order::dependence(&iops) } else { None },
        trend,
        levels,
        iops: spread(&iops)?,
        mib_per_s: all((Scope::All, Metric::MibPerS))?,
        latencies: latencies.into_iter().filter_map(|metric| Some((metric, all(metric)?))).collect(),
        cpu_percent: all((Scope::All, Metric::Cpu))?,
        first_run_percent: first_run(&iops),
        is_doubtful,
    })
}

/// True if there are runs and every one has a warning.
pub fn is_doubtful<'a>(runs: impl IntoIterator<Item = &'a Headline>) -> bool {
    let mut runs = runs.into_iter().peekable();
    runs.peek().is_some() && runs.all(|run| run.severity >= Some(Severity::Warn))
}

/// `None` without values, which are in the order in which they were measured.
fn spread(values: &[f64]) -> Option<Spread> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let (mean, deviation) = moments(values);
    let middle = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) };
    let dependence = order::dependence(values);
    let ranks = match &dependence {
        Some(found) => order::median_ranks_of_dependent(sorted.len(), found.independent_runs),
        None => median_ranks(sorted.len()),
    };
    let interval = ranks.map(|(low, high)| (sorted[low], sorted[high]));
    Some(Spread { mean, median, interval, min, max, deviation_percent: deviation / mean * 100.0 })
}

/// Runs that the 95 % interval of a median needs: of fewer, even the lowest and the highest hold it less often.
pub const RUNS_FOR_INTERVAL: u32 = 6;

/// The narrowest symmetric pair of order statistics between which the median lies with 95 %: the number
/// of values below it is binomial (David and Nagaraja, Order Statistics, 3rd edition, 7.1).
fn median_ranks(count: usize) -> Option<(usize, usize)> {
    let below = Binomial::new(0.5, count as u64).ok()?;
    let covers = |rank: usize| rank > 0 && 1.0 - 2.0 * below.cdf(rank as u64 - 1) >= 0.95;
    let rank = (1..=count / 2).rev().find(|&rank| covers(rank))?;
    Some((rank - 1, count - rank))
}

/// By how much the first run differs, if a further run like the others would seldom be that far off.
fn first_run(values: &[f64]) -> Option<f64> {
    let (first, others) = values.split_first()?;
    if others.len() < 3 {
        return None;
    }
    let (mean, deviation) = moments(others);
    let count = others.len() as f64;
    // A new value differs from the mean of the others by its own scatter and by that mean's.
    let limit =
        student(count - 1.0).inverse_cdf(1.0 - FIRST_RUN_SIGNIFICANCE / 2.0) * deviation * (1.0 + 1.0 / count).sqrt();
    let difference = first - mean;
    (difference.abs() > limit && difference.abs() > SHARE_MIN * mean).then(|| difference / mean * 100.0)
}

/// True if, at a checkpoint, the mean of the values is known to within `share` of it.
/// Repeated tests find a narrow interval sooner or later by chance, so each of the `looks` that there may be has its
/// part of the 5 % (Bonferroni).
pub fn is_sure(values: &[f64], share: f64, looks: u32) -> bool {
    half_width(values, looks).is_some_and(|half| half <= share * moments(values).0.abs())
}

/// Half the width of the interval of the mean that [`is_sure`] tests.
pub fn half_width(values: &[f64], looks: u32) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let (_, deviation) = moments(values);
    let count = values.len() as f64;
    Some(student(count - 1.0).inverse_cdf(1.0 - 0.025 / f64::from(looks.max(1))) * deviation / count.sqrt())
}

/// True if this number of runs is a checkpoint: 8, 16, 32 ...
pub fn is_checkpoint(runs: u32) -> bool {
    runs >= FIRST_CHECKPOINT && runs.is_power_of_two()
}

/// Number of checkpoints up to this number of runs.
pub fn checkpoints(runs_max: u32) -> u32 {
    (FIRST_CHECKPOINT..=runs_max).filter(|runs| runs.is_power_of_two()).count() as u32
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "order statistics are the values themselves")]
mod tests {
    use super::*;
    use crate::simulation::normal;
    use hot::rng::Rng;

    fn normals(seed: u64, count: usize, mean: f64, deviation: f64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        (0..count).map(|_| mean + deviation * normal(&mut rng)).collect()
    }

    /// The ten repeats that the guide prints.
    fn published() -> Vec<f64> {
        let page = include_str!("../tests/published/sweeps.md");
        let (_, section) = page.split_once("## Ten repeats").expect("they are there");
        let iops = |line: &str| line.split('|').nth(2)?.trim().parse().ok();
        section.lines().filter_map(iops).collect()
    }

    #[test]
    fn the_published_ten_runs_sit_on_two_levels() {
        let runs = published();
        assert_eq!(runs.len(), 10);
        let spread = spread(&runs).unwrap();
        assert!((spread.mean - 35_762.296).abs() < 0.01, "as printed: {}", spread.mean);
        assert_eq!((spread.min, spread.max), (33_387.45, 37_134.21));
        let levels = two_levels(&runs).expect("two levels");
        assert!(levels.scatter_share < 0.2, "{levels:?}");
        assert_eq!((levels.low.0, levels.high.0), (4, 6));
        // Geometric means, a little below 34,148.0 and 36,838.4.
        assert!((levels.low.1 - 34_148.0).abs() < 15.0 && (levels.high.1 - 36_838.4).abs() < 15.0, "{levels:?}");
        assert_eq!(first_run(&runs), None);
    }

    #[test]
    fn the_interval_of_the_median_is_that_of_the_tables() {
        let has_one = |count| median_ranks(count).is_some();
        assert_eq!((1..20).find(|count| has_one(*count)), Some(RUNS_FOR_INTERVAL as usize));
        // David and Nagaraja, table 7.1: 95 % needs six values; of ten the 2nd and the 9th.
        let ranks: Vec<_> = [5, 6, 8, 9, 10, 20].into_iter().map(median_ranks).collect();
        assert_eq!(ranks, [None, Some((0, 5)), Some((0, 7)), Some((1, 7)), Some((1, 8)), Some((5, 14))]);
    }

    #[test]
    fn the_interval_of_the_median_holds_it() {
        let held = |seed| {
            let interval = spread(&normals(seed, 15, 100.0, 10.0)).unwrap().interval;
            // A few series look as if neighbours depended on each other, and have none.
            interval.is_none_or(|(low, high)| low <= 100.0 && 100.0 <= high)
        };
        let held = (0..1000).filter(|seed| held(*seed)).count();
        assert!((945..=985).contains(&held), "{held} of 1000: order statistics give 96.5 %");
    }

    #[test]
    fn runs_that_all_have_warnings_have_an_interval_and_are_doubtful() {
        let run = |severity| Headline { iops: 100.0, mean_ns: Some(1e6), severity, ..Headline::default() };
        let interval = |runs: &[Headline]| {
            let found = repeats(&runs.iter().collect::<Vec<_>>()).expect("runs");
            let of_mean = found.latencies[0].1.interval;
            (found.is_doubtful, found.iops.interval.is_some(), of_mean.is_some())
        };
        let mut runs = vec![run(Some(Severity::Warn)); 8];
        assert_eq!(interval(&runs), (true, true, true));
        runs[3] = run(Some(Severity::Note));
        assert_eq!(interval(&runs), (false, true, true));
    }

    #[test]
    fn a_first_run_that_differs_is_told() {
        let mut runs = normals(3, 10, 1000.0, 5.0);
        assert_eq!(first_run(&runs), None);
        runs[0] = 900.0;
        let percent = first_run(&runs).expect("it differs");
        assert!((-10.5..=-9.5).contains(&percent), "{percent}");
        runs.swap(0, 5);
        assert_eq!(first_run(&runs), None, "another one that differs is not the first");
    }

    #[test]
    fn looking_often_needs_a_narrower_interval() {
        let runs = normals(1, 32, 1000.0, 10.0);
        assert!(half_width(&runs, 4).unwrap() > half_width(&runs, 1).unwrap());
        assert!(is_sure(&runs, 0.01, 4) && !is_sure(&runs, 0.001, 4));
        assert_eq!((1..40).filter(|runs| is_checkpoint(*runs)).collect::<Vec<_>>(), [8, 16, 32]);
        assert_eq!((checkpoints(64), checkpoints(63), checkpoints(7)), (4, 3, 0));
    }

    #[test]
    fn figures_that_not_all_runs_have_are_left_out() {
        let run = |iops, mean_ns| Headline { iops, mean_ns, bytes_per_s: 1.0, ..Headline::default() };
        let (one, two) = (run(10.0, Some(5.0)), run(20.0, None));
        let found = repeats(&[&one, &two]).unwrap();
        assert_eq!((found.iops.mean, found.iops.median, found.iops.interval), (15.0, 15.0, None));
        assert_eq!((found.latencies, found.levels, found.first_run_percent), (Vec::new(), None, None));
        assert_eq!(repeats(&[]), None);
    }

    #[test]
    fn a_fall_of_one_percent_per_run_is_a_trend_and_nothing_else() {
        let falling: Vec<Headline> = normals(4, 16, 0.0, 2.0)
            .into_iter()
            .enumerate()
            .map(|(run, noise)| Headline { iops: 1000.0 - 10.0 * run as f64 + noise, ..Headline::default() })
            .collect();
        let found = repeats(&falling.iter().collect::<Vec<_>>()).unwrap();
        let trend = found.trend.expect("it falls");
        assert!((-1.1..-1.0).contains(&trend.percent_per_run), "{trend:?}");
        assert_eq!((found.levels, found.dependence), (None, None), "one cause, one finding");
        assert!(found.iops.interval.is_none_or(|(low, high)| high - low > 60.0), "{:?}", found.iops);
    }

    #[test]
    fn runs_that_jump_to_another_level_have_levels_and_no_trend() {
        let levels = [normals(5, 8, 1000.0, 5.0), normals(6, 8, 800.0, 5.0)].concat();
        let runs: Vec<Headline> = levels.into_iter().map(|iops| Headline { iops, ..Headline::default() }).collect();
        let found = repeats(&runs.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((found.trend, found.levels.map(|levels| levels.low.0)), (None, Some(8)));
    }
}
