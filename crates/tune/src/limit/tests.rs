//! Against a queue that is a formula: the response time is service / (1 - rate / capacity), with noise.

use crate::runner::{RunFailure, Runner};
use crate::{Design, Ending, PlannedPoint, Step, SweepObserver, sweep};
use hot::rng::Rng;
use model::figures::{Directions, Figures, LatencyDistribution, LatencyFigures};
use model::limit::{Limit, LimitSample};
use model::metric::{Metric, Scope};
use model::profile::{Profile, TimeSpan};
use model::result::{LoadLoop, Measured, OpenLoop, RunResult, TimeSpanResult};
use model::sweep::{Point, Setting, Sweep, Visit};

const CAPACITY_IOPS: f64 = 10_000.0;
const SERVICE_NS: f64 = 100_000.0;

struct Queue {
    rng: Rng,
    /// Standard deviation of a run's response time, relative to it, approximately.
    noise: f64,
    runs: u32,
    fails: bool,
    is_slow: bool,
    lengths_s: Vec<u32>,
}

impl Queue {
    fn new(seed: u64, noise: f64) -> Self {
        Self { rng: Rng::new(seed), noise, runs: 0, fails: false, is_slow: false, lengths_s: Vec::new() }
    }
}

fn closed(iops: f64) -> RunResult {
    let total = Figures { iops, ..Figures::default() };
    let measured = Measured { total: Directions { total, ..Directions::default() }, ..Measured::default() };
    let span_result = TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() };
    RunResult { time_spans: vec![span_result], ..RunResult::default() }
}

impl Runner for Queue {
    fn prepare(&mut self, _: usize, _: &Profile) -> Result<(), RunFailure> {
        Ok(())
    }

    fn run(&mut self, _: usize, profile: &Profile) -> Result<RunResult, RunFailure> {
        self.runs += 1;
        if self.fails {
            return Err(RunFailure::Failed(vec!["the device is gone".to_owned()]));
        }
        let Some(rate) = profile.time_spans[0].rate_iops else {
            return Ok(closed(if self.is_slow { 50.0 } else { CAPACITY_IOPS }));
        };
        self.lengths_s.push(profile.time_spans[0].duration_s);
        let rate = rate.mean_iops();
        let spread: f64 = (0..12).map(|_| self.rng.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0;
        let used = (rate / CAPACITY_IOPS).min(0.999);
        let mean_ns = SERVICE_NS / (1.0 - used) * (spread * self.noise).exp();
        let figures = LatencyFigures { mean_ns, ..LatencyFigures::default() };
        let response = LatencyDistribution { figures, ..LatencyDistribution::default() };
        let open = OpenLoop {
            intended_starts: (rate * 30.0) as u64,
            response_time: Directions { total: Some(response), ..Directions::default() },
            ..OpenLoop::default()
        };
        let total = Figures { iops: rate.min(CAPACITY_IOPS), ..Figures::default() };
        let measured = Measured {
            total: Directions { total, ..Directions::default() },
            load_loop: Some(LoadLoop::Open(Box::new(open))),
            ..Measured::default()
        };
        let span_result = TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() };
        Ok(RunResult { time_spans: vec![span_result], ..RunResult::default() })
    }
}

struct Nobody;

impl SweepObserver for Nobody {
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

fn design(at_most_ns: f64) -> (Design, Sweep) {
    let rates: Vec<u32> = (0..900).map(|n| 1.02_f64.powi(n) as u32).filter(|rate| *rate > 0).collect();
    let point = |rate: &u32| PlannedPoint {
        point: Point { settings: vec![Setting { name: "rate".to_owned(), value: rate.to_string() }] },
        profile: Profile {
            time_spans: vec![TimeSpan { rate_iops: Some((*rate).into()), duration_s: 60, ..TimeSpan::default() }],
            ..Profile::default()
        },
    };
    let limits = vec![Limit { figure: Metric::Mean, scope: Scope::Response, at_most: at_most_ns }];
    let points: Vec<PlannedPoint> = rates.iter().map(point).collect();
    let sweep = Sweep { points: points.iter().map(|planned| planned.point.clone()).collect(), ..Sweep::default() };
    (Design { points, limits, runs: 1, probe_s: Some(10), ..Design::default() }, sweep)
}

fn rate(sweep: &Sweep, point: Option<usize>) -> f64 {
    sweep.points[point.expect("a point")].settings[0].value.parse().expect("a number")
}

#[test]
fn the_highest_rate_is_found_and_confirmed_through_noise() {
    // 200 µs is where half of the capacity is used.
    for (noise, within) in [(0.0, 0.06), (0.02, 0.1), (0.05, 0.1)] {
        let mut confirmed = 0;
        for seed in 0..20 {
            let (design, mut sweep) = design(200_000.0);
            let mut queue = Queue::new(seed, noise);
            crate::sweep(&design, &mut sweep, &mut queue, &mut Nobody);
            let found = sweep.limit.clone().expect("it ends");
            assert!(queue.runs as usize <= Design::runs_of_search(), "noise {noise}, seed {seed}: {} runs", queue.runs);
            let capacity = found.capacity_iops.expect("it was measured");
            assert!((capacity - CAPACITY_IOPS).abs() < 1e-9, "{capacity}");
            if found.is_confirmed {
                confirmed += 1;
                let highest = rate(&sweep, found.holds);
                assert!((highest / 5000.0 - 1.0).abs() < within, "noise {noise}, seed {seed}: {highest}");
                assert!(rate(&sweep, found.fails) > highest && rate(&sweep, found.fails) < 1.15 * highest);
            }
        }
        assert!(confirmed >= 16, "noise {noise}: {confirmed} of 20");
    }
}

#[test]
fn a_search_that_was_interrupted_goes_on_as_if_it_had_not_been() {
    let (design, mut whole) = design(200_000.0);
    sweep(&design, &mut whole, &mut Queue::new(1, 0.0), &mut Nobody);
    let mut half = Sweep { visits: whole.visits[..5].to_vec(), limit: None, ..whole.clone() };
    let mut rest = Queue::new(1, 0.0);
    sweep(&design, &mut half, &mut rest, &mut Nobody);
    assert_eq!(half, whole);
    assert_eq!(rest.runs as usize, whole.visits.len() - 5);
}

#[test]
fn nothing_is_found_where_nothing_can_be_measured() {
    let (design, mut sweep) = design(200_000.0);
    let mut queue = Queue { fails: true, ..Queue::new(1, 0.0) };
    crate::sweep(&design, &mut sweep, &mut queue, &mut Nobody);
    assert_eq!((sweep.limit, queue.runs), (None, 1));
    assert!(sweep.visits[0].headline().is_none());
}

#[test]
fn a_limit_that_no_rate_keeps_is_told() {
    let (design, mut sweep) = design(SERVICE_NS / 2.0);
    crate::sweep(&design, &mut sweep, &mut Queue::new(1, 0.0), &mut Nobody);
    let found = sweep.limit.clone().expect("it ends");
    assert_eq!((found.holds, found.is_confirmed), (None, true));
    assert!(rate(&sweep, found.fails) < 10.0);
}

/// A percentile of a few I/Os is meaningless: runs are as long as necessary, or there are none.
#[test]
fn runs_are_long_enough_for_the_percentile_or_the_search_is_refused() {
    let (mut design, mut sweep) = design(200_000.0);
    design.limits[0].figure = Metric::P999;
    let mut queue = Queue { is_slow: true, ..Queue::new(1, 0.0) };
    let ending = crate::sweep(&design, &mut sweep, &mut queue, &mut Nobody);
    let Ending::TooSlow { capacity_iops, needed_s } = ending else { panic!("{ending:?}") };
    assert!((capacity_iops - 50.0).abs() < 1e-9 && (needed_s - 200.0).abs() < 1e-9);
    assert_eq!((&sweep.limit, queue.runs), (&None, 1));
    design.limits[0].figure = Metric::Mean;
    let mut queue = Queue { is_slow: true, ..Queue::new(1, 0.0) };
    crate::sweep(&design, &mut sweep, &mut queue, &mut Nobody);
    assert!(queue.lengths_s.iter().all(|seconds| (10..=60).contains(seconds)), "{:?}", queue.lengths_s);
    let samples = sweep.visits.iter().filter_map(|visit| visit.limit);
    assert!(samples.clone().count() > 3 && samples.clone().all(|sample: LimitSample| sample.used < 1.0));
}
