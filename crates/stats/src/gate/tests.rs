//! How often gates are wrong, in simulated pipelines. The constants were chosen with other seeds than these.

use super::*;
use crate::simulation::{normal, uniform};
use hot::rng::Rng;
use model::metric::Metric;

const FIGURES: [Metric; 3] = [Metric::Iops, Metric::Mean, Metric::P99];
/// Runs that a gate makes at most.
const RUNS: usize = 3;
/// Histories of each simulation.
const HISTORIES: usize = 1000;

/// How runs of an unchanged load differ.
#[derive(Clone, Copy, Debug)]
enum Noise {
    Normal(f64),
    /// Each run is slower by a tenth with a chance of 1 in 20.
    Outliers(f64),
    /// Each run is on one of two levels 8 % apart.
    TwoLevels(f64),
}

impl Noise {
    /// Logarithm by which a run is slower in each metric.
    fn draw(self, rng: &mut Rng) -> [f64; 3] {
        let (deviation, common) = match self {
            Self::Normal(deviation) => (deviation, 0.0),
            Self::Outliers(deviation) => (deviation, if uniform(rng) < 0.05 { 0.1f64.ln_1p() } else { 0.0 }),
            Self::TwoLevels(deviation) => (deviation, if uniform(rng) < 0.5 { 0.08f64.ln_1p() } else { 0.0 }),
        };
        [(); 3].map(|()| common + deviation * normal(rng))
    }
}

/// A folder of results of one fingerprint.
#[derive(Default)]
struct Pipeline {
    /// Of each metric: values of the accepted runs.
    earlier: [Vec<f64>; 3],
}

impl Pipeline {
    fn after(count: usize, noise: Noise, rng: &mut Rng) -> Self {
        let mut pipeline = Self::default();
        (0..count).for_each(|_| pipeline.keep(&[values([0.0; 3], noise, rng)]));
        pipeline
    }

    fn keep(&mut self, runs: &[[f64; 3]]) {
        for (metric, earlier) in self.earlier.iter_mut().enumerate() {
            earlier.extend(runs.iter().map(|run| run[metric]));
        }
    }

    /// One gate whose load is slower by a logarithm in each metric; the number of runs that it made.
    fn gate(&mut self, slower: [f64; 3], noise: Noise, rng: &mut Rng) -> (Judgement, usize) {
        let mut runs: Vec<[f64; 3]> = Vec::new();
        loop {
            runs.push(values(slower, noise, rng));
            let series: Vec<Series> = (0..3)
                .map(|metric| Series {
                    figure: MetricName::bare(FIGURES[metric]),
                    earlier: self.earlier[metric].clone(),
                    new: runs.iter().map(|run| run[metric]).collect(),
                })
                .collect();
            let found = judge(&series);
            if !found.wants_run || runs.len() == RUNS {
                if found.verdict != GateVerdict::Worse {
                    self.keep(&runs);
                }
                return (found, runs.len());
            }
        }
    }
}

/// Values of the three metrics of a run.
fn values(slower: [f64; 3], noise: Noise, rng: &mut Rng) -> [f64; 3] {
    let drawn = noise.draw(rng);
    let at = |metric: usize| slower[metric] + drawn[metric];
    [10_000.0 * (-at(0)).exp(), 3.2e6 * at(1).exp(), 9.1e6 * at(2).exp()]
}

fn share(count: usize) -> f64 {
    count as f64 * 100.0 / HISTORIES as f64
}

/// Gates on unchanged loads: failures and undecided ones in percent, and runs for each.
fn unchanged(earlier: usize, noise: Noise) -> (f64, f64, f64) {
    let mut rng = Rng::new(941);
    let (mut alarms, mut doubts, mut runs) = (0, 0, 0);
    for _ in 0..HISTORIES {
        let (found, made) = Pipeline::after(earlier, noise, &mut rng).gate([0.0; 3], noise, &mut rng);
        runs += made;
        alarms += usize::from(found.verdict == GateVerdict::Worse);
        doubts += usize::from(matches!(found.verdict, GateVerdict::CannotTell { .. }));
    }
    (share(alarms), share(doubts), runs as f64 / HISTORIES as f64)
}

/// A step of 5 % in these metrics: percent found by the first gate, and within three runs, however many gates make them.
fn step(earlier: usize, noise: Noise, metrics: &[usize]) -> (f64, f64) {
    let mut rng = Rng::new(942);
    let (mut at_first, mut within) = (0, 0);
    let slower = [0, 1, 2].map(|metric| if metrics.contains(&metric) { 0.05f64.ln_1p() } else { 0.0 });
    for _ in 0..HISTORIES {
        let mut pipeline = Pipeline::after(earlier, noise, &mut rng);
        let mut made = 0;
        while made < RUNS {
            let is_first = made == 0;
            let (found, runs) = pipeline.gate(slower, noise, &mut rng);
            made += runs;
            if found.verdict == GateVerdict::Worse && made <= RUNS {
                at_first += usize::from(is_first);
                within += 1;
                break;
            }
        }
    }
    (share(at_first), share(within))
}

/// Steps of 50 % in one metric that a gate finds with its first run, in percent.
fn at_once(earlier: usize, noise: Noise) -> f64 {
    let mut rng = Rng::new(943);
    let slower = [0.0, 0.0, 0.5f64.ln_1p()];
    let is_found = |rng: &mut Rng| {
        let (found, runs) = Pipeline::after(earlier, noise, rng).gate(slower, noise, rng);
        found.verdict == GateVerdict::Worse && runs == 1
    };
    share((0..HISTORIES).filter(|_| is_found(&mut rng)).count())
}

/// A drift of 0.3 % a run in one metric after unchanged runs: percent found before it is 12 %, and the mean drift at that
/// moment in percent.
fn drift(earlier: usize, noise: Noise) -> (f64, f64) {
    let mut rng = Rng::new(944);
    let (mut found_count, mut sum) = (0, 0.0);
    for _ in 0..HISTORIES {
        let mut pipeline = Pipeline::after(earlier, noise, &mut rng);
        let mut made = 0;
        let found = loop {
            let total = 1.003f64.powf(made as f64 + 1.0);
            if total >= 1.12 {
                break None;
            }
            let (found, runs) = pipeline.gate([0.0, 0.0, total.ln()], noise, &mut rng);
            made += runs;
            if found.verdict == GateVerdict::Worse {
                break Some(total);
            }
        };
        if let Some(total) = found {
            found_count += 1;
            sum += (total - 1.0) * 100.0;
        }
    }
    (share(found_count), sum / found_count as f64)
}

const QUIET: Noise = Noise::Normal(0.02);

#[test]
fn an_unchanged_load_fails_seldom() {
    for earlier in [5, 10, 20, 60] {
        let (alarms, doubts, runs) = unchanged(earlier, QUIET);
        assert!(alarms < 5.0 && doubts < 5.0 && runs < 2.0, "{earlier}: {alarms} %, {doubts} %, {runs}");
    }
    assert!(unchanged(20, Noise::Normal(0.005)).0 < 1.0);
    for noise in [Noise::Normal(0.05), Noise::TwoLevels(0.01), Noise::Outliers(0.02)] {
        let (alarms, ..) = unchanged(20, noise);
        assert!(alarms < 7.0, "{noise:?}: {alarms} %");
    }
}

#[test]
fn a_step_of_5_percent_is_found_within_three_runs() {
    let (_, all) = step(20, QUIET, &[0, 1, 2]);
    assert!(all >= 99.0, "{all} %");
    // One metric alone is harder; in a closed loop IOPS and mean latency change together.
    for (earlier, least) in [(20, 87.0), (60, 90.0)] {
        let (_, one) = step(earlier, QUIET, &[2]);
        assert!(one >= least, "{earlier}: {one} %");
    }
}

#[test]
fn a_step_of_50_percent_is_found_at_once() {
    for earlier in [5, 20, 60] {
        let percent = at_once(earlier, QUIET);
        assert!(percent >= 99.0, "{earlier}: {percent} %");
    }
}

#[test]
fn a_drift_of_0_3_percent_a_run_is_found_before_it_is_12_percent() {
    for earlier in [5, 20] {
        let (percent, _) = drift(earlier, QUIET);
        assert!(percent >= 99.9, "{earlier}: {percent} %");
    }
}

/// IOPS near a level: 1 % more and less by turns.
fn near(level: f64, count: usize) -> Vec<f64> {
    (0..count).map(|run| level * if run % 2 == 0 { 1.01 } else { 0.99 }).collect()
}

fn judge_iops(earlier: &[Vec<f64>], new: &[f64]) -> Judgement {
    judge(&[Series { figure: MetricName::bare(FIGURES[0]), earlier: earlier.concat(), new: new.to_vec() }])
}

#[test]
fn too_little_history_is_not_judged() {
    let found = judge_iops(&[near(1000.0, 4)], &[100.0]);
    assert_eq!((found.verdict, found.wants_run), (GateVerdict::NotEnough, false));
    assert_eq!(judge(&[]).verdict, GateVerdict::NotEnough);
}

#[test]
fn an_improvement_becomes_the_reference_and_a_change_for_the_worse_does_not() {
    let faster = [near(1000.0, 10), near(1200.0, 6)];
    let found = judge_iops(&faster, &near(1000.0, 3));
    assert_eq!(found.verdict, GateVerdict::Worse, "the old level is worse than the new one");
    assert!((found.changes[0].reference / 1200.0 - 1.0).abs() < 0.01, "{found:?}");
    assert_eq!(found.changes[0].since, Some(16));
    let better = judge_iops(&[near(1000.0, 10)], &near(1200.0, 3));
    assert_eq!((better.verdict, better.changes[0].is_better), (GateVerdict::NotWorse, true));
    let slower = [near(1000.0, 10), near(900.0, 10)];
    let found = judge_iops(&slower, &near(900.0, 1));
    assert_eq!(found.verdict, GateVerdict::Worse, "ten runs of it are no reason to accept it");
    assert_eq!(found.changes[0].since, Some(10), "{found:?}");
    let repaired = judge_iops(&slower, &near(1000.0, 3));
    assert_eq!(repaired.verdict, GateVerdict::NotWorse, "{repaired:?}");
    assert_eq!(levels(&slower.concat()), [10]);
}

#[test]
fn a_doubt_says_how_many_runs_would_decide() {
    let found = judge_iops(&[near(1000.0, 20)], &[850.0]);
    assert!(found.wants_run, "one run decides about 20 % and more");
    let GateVerdict::CannotTell { runs: Some(runs) } = found.verdict else { panic!("{found:?}") };
    assert!((1..=3).contains(&runs), "{runs}");
    assert_eq!(judge_iops(&[near(1000.0, 20)], &[700.0]).verdict, GateVerdict::Worse);
    assert_eq!(judge_iops(&[near(1000.0, 20)], &[990.0]).verdict, GateVerdict::NotWorse);
    let all_alike = judge_iops(&[vec![1000.0; 8]], &[1000.0]);
    assert_eq!((all_alike.verdict, all_alike.wants_run), (GateVerdict::NotWorse, false));
}

#[test]
#[ignore = "study: prints the table of docs/measurement.md"]
fn print_the_rates() {
    for noise in
        [Noise::Normal(0.005), Noise::Normal(0.02), Noise::Normal(0.05), Noise::Outliers(0.02), Noise::TwoLevels(0.01)]
    {
        for earlier in [5, 10, 20, 60] {
            let (alarms, doubts, runs) = unchanged(earlier, noise);
            let (first, within) = step(earlier, noise, &[2]);
            let (_, all) = step(earlier, noise, &[0, 1, 2]);
            let large = at_once(earlier, noise);
            let (drifts, mean_drift) = drift(earlier, noise);
            println!(
                "| {noise:?} | {earlier} | {alarms:.1} % | {doubts:.1} % | {runs:.2} | {first:.1} % | {within:.1} % | {all:.1} % | {large:.1} % | {drifts:.1} %, at {mean_drift:.1} % |"
            );
        }
    }
}
