//! Sweeps against a device that is a formula: sixteen servers, 100 µs each.

use super::*;
use crate::PlannedPoint;
use model::figures::{Directions, Figures};
use model::finding::{Finding, Severity, Source};
use model::metric::{Metric, Scope};
use model::profile::{StreamName, Target, TimeSpan};
use model::result::{LoadLoop, Measured, StreamFigures, TimeSpanResult};
use model::sweep::{Order, Point, Saturation, Setting};
use model::verdict::Verdict;

/// Results by formula; the n-th run may fail or be disturbed.
#[derive(Default)]
struct Formula {
    prepared: Vec<String>,
    runs: Vec<(u32, u32)>,
    seeds: Vec<u32>,
    fails_at: Option<usize>,
    interrupted_at: Option<usize>,
    halved_at: Option<usize>,
    /// Other programs use the device.
    disturbed_at: Option<usize>,
}

impl Runner for Formula {
    fn prepare(&mut self, _: usize, profile: &Profile) -> Result<(), RunFailure> {
        self.prepared.push(profile.time_spans[0].targets[0].path.display().to_string());
        Ok(())
    }

    fn run(&mut self, _: usize, profile: &Profile) -> Result<RunResult, RunFailure> {
        let span = &profile.time_spans[0];
        let depth = span.targets[0].outstanding;
        let now = Some(self.runs.len());
        let verdict = (now == self.disturbed_at).then(other_io);
        self.runs.push((depth, span.duration_s));
        self.seeds.push(span.random_seed);
        if now == self.fails_at {
            return Err(RunFailure::Failed(vec!["the device is gone".to_owned()]));
        }
        if now == self.interrupted_at {
            return Err(RunFailure::Interrupted);
        }
        let iops = f64::from(depth.min(16)) * 10_000.0 / if now == self.halved_at { 2.0 } else { 1.0 };
        let total = Directions { total: Figures { iops, ..Figures::default() }, ..Directions::default() };
        // Streams share the device evenly.
        let each = Figures { iops: iops / span.streams().len().max(1) as f64, ..Figures::default() };
        let stream = |(name, targets): (&StreamName, Vec<usize>)| StreamFigures {
            name: name.clone(),
            targets,
            figures: Directions { total: each, ..Directions::default() },
            latency: Directions::default(),
        };
        let streams = span.streams().into_iter().map(stream).collect();
        let load_loop = Some(LoadLoop::Closed { depth });
        let measured = Measured { total, load_loop, streams, ..Measured::default() };
        let span_result = TimeSpanResult { measured: Some(measured), verdict, ..TimeSpanResult::default() };
        Ok(RunResult { time_spans: vec![span_result], ..RunResult::default() })
    }
}

fn other_io() -> Verdict {
    let finding = Finding {
        name: "other-io".to_owned(),
        severity: Severity::Warn,
        subject: String::new(),
        figure: String::new(),
        value: None,
        advice: String::new(),
        basis: String::new(),
        source: Source::Verdict,
    };
    Verdict { findings: vec![finding] }
}

/// Records its calls.
#[derive(Default)]
pub(super) struct Notebook {
    before: Vec<(usize, usize)>,
    kept: usize,
    visited: usize,
    judged: usize,
    is_full: bool,
}

impl SweepObserver for Notebook {
    fn before(&mut self, _: &Step, done: usize, known: usize) -> Result<(), RunFailure> {
        self.before.push((done, known));
        Ok(())
    }

    fn keep(&mut self, _: &Step, _: RunResult) -> Result<String, String> {
        self.kept += 1;
        if self.is_full { Err("no space".to_owned()) } else { Ok(format!("{}.json", self.kept)) }
    }

    fn visited(&mut self, visit: &Visit, sweep: &Sweep) -> Result<(), String> {
        assert_eq!(sweep.visits.last(), Some(visit));
        self.visited += 1;
        Ok(())
    }

    fn judged(&mut self, _: &Sweep) -> Result<(), String> {
        self.judged += 1;
        Ok(())
    }
}

pub(super) fn design(depths: u32) -> Design {
    let point = |depth: u32| {
        let setting = Setting { name: "o".to_owned(), value: depth.to_string() };
        let target = Target { outstanding: depth, ..Target::new("a.dat") };
        let span = TimeSpan { targets: vec![target], duration_s: 60, ..TimeSpan::default() };
        let profile = Profile { time_spans: vec![span], ..Profile::default() };
        PlannedPoint { point: Point { settings: vec![setting] }, profile }
    };
    Design { points: (1..=depths).map(point).collect(), runs: 1, ..Design::default() }
}

pub(super) fn empty(design: &Design) -> Sweep {
    Sweep { points: design.points.iter().map(|planned| planned.point.clone()).collect(), ..Sweep::default() }
}

fn run(design: &Design, runner: &mut Formula) -> (Sweep, Ending, Notebook) {
    let (mut found, mut notebook) = (empty(design), Notebook::default());
    let ending = sweep(design, &mut found, runner, &mut notebook);
    (found, ending, notebook)
}

fn saturation(sweep: &Sweep) -> u32 {
    match sweep.depths[0].knee.as_ref().unwrap().saturation {
        Saturation::At { depth, .. } => depth.depth,
        Saturation::StillRising { .. } => panic!("{:?}", sweep.depths),
    }
}

#[test]
fn every_point_is_run_once_and_the_knee_is_where_the_servers_are_busy() {
    let mut runner = Formula::default();
    let (found, ending, notebook) = run(&design(32), &mut runner);
    assert_eq!(ending, Ending::Complete);
    assert_eq!(runner.runs, (1..=32).map(|depth| (depth, 60)).collect::<Vec<_>>());
    assert_eq!(runner.prepared, ["a.dat"], "targets are prepared once");
    assert_eq!((notebook.kept, notebook.visited, notebook.judged), (32, 32, 1));
    assert_eq!(notebook.before[31], (31, 32));
    assert_eq!(saturation(&found), 16);
    assert_eq!(found.depths[0].knee.as_ref().unwrap().efficient.depth, 16);
}

#[test]
fn every_run_has_a_seed_of_its_own_also_after_an_interruption() {
    let mut design = Design { runs: 2, ..design(3) };
    design.points.iter_mut().for_each(|planned| planned.profile.time_spans[0].random_seed = u32::MAX - 2);
    let (max, mut first) = (u32::MAX, Formula { interrupted_at: Some(4), ..Formula::default() });
    let (mut found, ..) = run(&design, &mut first);
    assert_eq!(first.seeds, [max - 2, max - 1, max, 0, 1]);
    let mut rest = Formula::default();
    sweep(&design, &mut found, &mut rest, &mut Notebook::default());
    assert_eq!(rest.seeds, [1, 2]);
}

#[test]
fn targets_are_prepared_again_where_the_axis_changes_them() {
    let mut design = design(4);
    design.points[2].profile.time_spans[0].targets[0].path = "b.dat".into();
    let mut runner = Formula::default();
    run(&design, &mut runner);
    assert_eq!(runner.prepared, ["a.dat", "b.dat", "a.dat"]);
}

#[test]
fn a_point_off_the_curve_is_run_twice_more() {
    let mut runner = Formula { halved_at: Some(9), ..Formula::default() };
    let (found, ..) = run(&design(24), &mut runner);
    assert_eq!(runner.runs[24..], [(10, 60), (10, 60)]);
    let again = found.visits.iter().filter(|visit| visit.purpose == Purpose::Again).count();
    assert_eq!((again, stats::sweep::figures(&found, 9).unwrap().iops), (2, 100_000.0));
}

#[test]
fn a_disturbed_point_is_run_twice_more_and_its_neighbours_are_not() {
    let mut runner = Formula { disturbed_at: Some(9), ..Formula::default() };
    let (found, ..) = run(&design(24), &mut runner);
    assert_eq!(runner.runs[24..], [(10, 60), (10, 60)]);
    assert!(stats::sweep::figures(&found, 9).unwrap().warnings.is_empty(), "the disturbed run no longer counts");
    // Repeats of one load are not run again.
    let mut runner = Formula { disturbed_at: Some(1), ..Formula::default() };
    run(&Design { runs: 3, ..design(1) }, &mut runner);
    assert_eq!(runner.runs.len(), 3);
}

#[test]
fn an_open_range_goes_on_until_throughput_no_longer_grows() {
    let mut runner = Formula::default();
    let (found, ending, _) = run(&Design { extent: Extent::UntilFlat, runs: 2, ..design(500) }, &mut runner);
    assert_eq!((ending, runner.runs.len()), (Ending::Complete, 64), "two runs of 32 points");
    assert_eq!(saturation(&found), 16);
}

#[test]
fn repeats_go_on_until_a_figure_is_sure_or_the_limit_is_reached() {
    let until = |share| Extent::UntilSure { scope: Scope::All, figure: Metric::Iops, share };
    let repeat = |share, runner: &mut Formula| {
        let (found, ..) = run(&Design { extent: until(share), runs: 64, ..design(1) }, runner);
        found.visits.len()
    };
    assert_eq!(repeat(0.01, &mut Formula::default()), 8, "a formula has no scatter");
    let mut noisy = Formula { halved_at: Some(3), ..Formula::default() };
    assert_eq!(repeat(0.05, &mut noisy), 32, "one run of half the rate, among 8, 16 and 32");
    let mut noisy = Formula { halved_at: Some(3), ..Formula::default() };
    assert_eq!(repeat(0.001, &mut noisy), 64, "the limit");
}

#[test]
fn what_matters_of_a_quick_look_is_confirmed_at_length() {
    let mut runner = Formula::default();
    let design = Design { probe_s: Some(5), confirm_s: Some(300), ..design(32) };
    run(&design, &mut runner);
    assert!(runner.runs[..32].iter().all(|(_, seconds)| *seconds == 5));
    assert_eq!(runner.runs[32..], [(16, 300)], "both depths, and the first of the plateau, which no later one beats");
    assert_eq!(design.load_s(), 32 * (5 + 5), "a warm-up of 5 s and the probe");
}

#[test]
fn a_run_that_fails_does_not_end_the_sweep() {
    let mut runner = Formula { fails_at: Some(3), ..Formula::default() };
    let (found, ending, _) = run(&design(8), &mut runner);
    assert_eq!((ending, runner.runs.len()), (Ending::Complete, 8));
    let failed = VisitOutcome::Failed { reasons: vec!["the device is gone".to_owned()] };
    assert_eq!(found.visits[3].outcome, failed);
    assert_eq!(stats::sweep::figures(&found, 3), None);
}

#[test]
fn what_was_interrupted_goes_on_as_if_it_had_not_been() {
    for order in [Order::Given, Order::Random, Order::Abba] {
        let design = Design { order, runs: 2, seed: 3, ..design(12) };
        let (whole, ..) = run(&design, &mut Formula::default());
        let mut runner = Formula { interrupted_at: Some(7), fails_at: Some(2), ..Formula::default() };
        let (mut found, ending, _) = run(&design, &mut runner);
        assert_eq!((ending, found.visits.len()), (Ending::Interrupted, 7));
        let mut runner = Formula::default();
        let ending = sweep(&design, &mut found, &mut runner, &mut Notebook::default());
        assert_eq!((ending, runner.runs.len()), (Ending::Complete, 24 - 6), "the failed one too");
        let key = |sweep: &Sweep| {
            let mut visits: Vec<_> = sweep.visits.iter().map(|visit| (visit.point, visit.run)).collect();
            visits.sort_unstable();
            visits
        };
        assert_eq!(key(&found), key(&whole));
        assert_eq!(found.depths, whole.depths);
    }
}

#[test]
fn pairs_end_when_they_are_decided_and_say_what_they_know_when_interrupted() {
    let extent = Extent::Pairs { is_fixed: false, margin: 0.02 };
    let design = Design { extent, runs: 20, ..design(2) };
    let (found, ending, _) = run(&design, &mut Formula::default());
    let answer = found.ab.expect("an answer");
    assert_eq!((ending, found.visits.len(), answer.pairs), (Ending::Complete, 12, 6));
    assert!(answer.is_decided() && (answer.figures[0].percent - 100.0).abs() < 1e-6, "{answer:?}");
    // One run at half the speed leaves the difference undecided at the first test.
    let mut runner = Formula { halved_at: Some(3), interrupted_at: Some(15), ..Formula::default() };
    let (found, ending, _) = run(&Design { points: vec![design.points[1].clone(); 2], ..design }, &mut runner);
    let answer = found.ab.expect("what is known so far");
    assert_eq!((ending, found.visits.len(), answer.pairs), (Ending::Interrupted, 15, 7));
    assert!(!answer.is_decided(), "{answer:?}");
    assert!(runner.seeds.chunks(2).all(|pair| pair[0] == pair[pair.len() - 1]), "{:?}", runner.seeds);
}

#[test]
fn streams_run_alone_then_together_over_targets_that_are_made_once() {
    let target = |name: &str, path: &str| Target { stream: StreamName::parse(name).ok(), ..Target::new(path) };
    let point = |targets: Vec<Target>| {
        let span = TimeSpan { targets, random_seed: 7, ..TimeSpan::default() };
        PlannedPoint { point: Point::default(), profile: Profile { time_spans: vec![span], ..Profile::default() } }
    };
    let (a, b) = (target("a", "a.dat"), target("b", "b.dat"));
    let points = vec![point(vec![a.clone()]), point(vec![b.clone()]), point(vec![a, b])];
    let design = Design { points, extent: Extent::Streams, runs: 2, ..Design::default() };
    let mut runner = Formula { interrupted_at: Some(4), ..Formula::default() };
    let (mut found, ending, _) = run(&design, &mut runner);
    assert_eq!((ending, runner.seeds.clone()), (Ending::Interrupted, vec![7, 7, 7, 8, 8]));
    // The targets of all streams together were prepared, which begin with a.dat, and none after them.
    assert_eq!(runner.prepared, ["a.dat"]);
    let answer = found.interference.clone().expect("what is known so far");
    assert_eq!(answer.rounds, 1);
    for stream in &answer.streams {
        assert!((stream.iops_share_percent.expect("it did I/O") - 50.0).abs() < 1e-9, "{answer:?}");
    }
    let ending = sweep(&design, &mut found, &mut Formula::default(), &mut Notebook::default());
    let order: Vec<(u32, usize)> = found.visits.iter().map(|visit| (visit.run, visit.point)).collect();
    assert_eq!((ending, order), (Ending::Complete, vec![(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]));
    assert_eq!(found.interference.map(|found| found.rounds), Some(2));
}

#[test]
fn a_sweep_whose_results_cannot_be_kept_ends_at_once() {
    let mut runner = Formula::default();
    let design = design(8);
    let ending =
        sweep(&design, &mut empty(&design), &mut runner, &mut Notebook { is_full: true, ..Notebook::default() });
    assert_eq!((ending, runner.runs.len()), (Ending::Lost("no space".to_owned()), 1));
}
