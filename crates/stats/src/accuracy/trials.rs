//! How often changes within a run are found, and how often a steady run is reported to have one: the figures of
//! docs/measurement.md. `cargo test -p stats --lib accuracy::trials -- --ignored --nocapture` prints them.

use super::Accuracy;
use crate::simulation::{Server, Source, coverage_percent, uniform};
use hot::rng::Rng;
use model::confidence::{FigureSteadiness, Steadiness};
use model::record::{CellCounts, SeriesCell, SeriesRecord, SlowIo, TimeSpanRecord};
use std::cmp::Reverse;

const CELL_S: f64 = 0.1;
/// Slow I/Os that a thread keeps.
const KEPT: usize = 100;

/// Judges I/Os as the run with `-L`, or without it, would.
fn judge(ios: &[(f64, f64)], seconds: usize, measures_latency: bool) -> FigureSteadiness {
    let mut cells = vec![SeriesCell::default(); seconds * 10];
    for &(end, latency) in ios {
        let cell = &mut cells[(end / CELL_S) as usize].read;
        cell.ios += 1;
        cell.latency_sum_ns += (latency * 1e9) as u64;
    }
    let slow = |&(end, latency): &(f64, f64)| SlowIo {
        ended_at_ns: (end * 1e9) as u64,
        latency_ns: (latency * 1e9) as u64,
        ..SlowIo::default()
    };
    let mut slowest: Vec<SlowIo> = if measures_latency { ios.iter().map(slow).collect() } else { Vec::new() };
    slowest.sort_by_key(|io| Reverse(io.latency_ns));
    slowest.truncate(KEPT);
    judge_cells(cells, measures_latency, &slowest)
}

fn judge_cells(cells: Vec<SeriesCell>, measures_latency: bool, slowest: &[SlowIo]) -> FigureSteadiness {
    let series = SeriesRecord { width_ns: (CELL_S * 1e9) as u64, cells };
    let record = TimeSpanRecord { series, ..TimeSpanRecord::default() };
    Accuracy::new(&record, measures_latency).steadiness(slowest)
}

fn is_unsteady(found: &FigureSteadiness) -> bool {
    [&found.iops, &found.latency_mean].into_iter().flatten().any(|figure| *figure != Steadiness::Steady)
}

fn is_any(found: &FigureSteadiness) -> bool {
    is_unsteady(found)
        || !found.brief_changes.is_empty()
        || found.periodic_stalls.is_some()
        || !found.completion_gaps.is_empty()
}

fn never(_: f64) -> Option<f64> {
    None
}

fn approach(runs: u32, seconds: usize, constant_s: f64, measures_latency: bool) -> f64 {
    let rate = |time: f64| 198.0 - 98.0 * (-time / constant_s).exp();
    coverage_percent(runs, |rng| {
        let ios = Server { seconds, rate: &rate, stalled_until: &never }.ios(rng);
        is_unsteady(&judge(&ios, seconds, measures_latency))
    })
}

fn drift(runs: u32, seconds: usize, usual: f64, change: f64, measures_latency: bool) -> f64 {
    let rate = |time: f64| usual * (1.0 + change * (time / seconds as f64 - 0.5));
    coverage_percent(runs, |rng| {
        let ios = Server { seconds, rate: &rate, stalled_until: &never }.ios(rng);
        is_unsteady(&judge(&ios, seconds, measures_latency))
    })
}

/// Stalls of 120 ms in each second, found with their period and length.
fn periodic(runs: u32, seconds: usize, usual: f64, measures_latency: bool) -> f64 {
    coverage_percent(runs, |rng| {
        let begin = uniform(rng);
        let stalled_until = |time: f64| {
            let into = (time - begin).rem_euclid(1.0);
            (into < 0.12).then_some(time - into + 0.12)
        };
        let ios = Server { seconds, rate: &|_| usual, stalled_until: &stalled_until }.ios(rng);
        let found = judge(&ios, seconds, measures_latency).periodic_stalls;
        found.is_some_and(|found| {
            (0.98..1.02).contains(&(found.period_ns as f64 / 1e9))
                && (0.08..0.16).contains(&(found.length_ns as f64 / 1e9))
        })
    })
}

/// A part of the run in which the device does this share of its rate.
fn slow_part(runs: u32, seconds: usize, usual: f64, length_s: f64, share: f64) -> f64 {
    coverage_percent(runs, |rng| {
        let begin = 2.0 + uniform(rng) * (seconds as f64 - 4.0 - length_s);
        let is_slow = |time: f64| (begin..begin + length_s).contains(&time);
        let stalled_until = |time: f64| (share == 0.0 && is_slow(time)).then_some(begin + length_s);
        let rate = |time: f64| if share > 0.0 && is_slow(time) { usual * share } else { usual };
        let found = judge(&Server { seconds, rate: &rate, stalled_until: &stalled_until }.ios(rng), seconds, false);
        let at = |start_ns: u64, end_ns: u64| {
            (start_ns as f64 / 1e9 - begin).abs() <= 0.5 && (end_ns as f64 / 1e9 - begin - length_s).abs() <= 0.5
        };
        found.completion_gaps.iter().any(|gap| at(gap.start_ns, gap.end_ns))
            || found.brief_changes.iter().any(|change| at(change.start_ns, change.end_ns))
    })
}

/// Steady runs with a finding of any kind.
fn alarms_of_source(runs: u32, seconds: usize, source: Source) -> f64 {
    let cell = |ios: f64| {
        let ios = ios.max(0.0).round() as u64;
        SeriesCell { read: CellCounts { ios, bytes: 0, latency_sum_ns: ios * 1_000_000 }, ..SeriesCell::default() }
    };
    coverage_percent(runs, |rng| {
        is_any(&judge_cells(source.series(seconds * 10, rng).into_iter().map(cell).collect(), false, &[]))
    })
}

fn alarms_of_server(runs: u32, seconds: usize, usual: f64, measures_latency: bool) -> f64 {
    coverage_percent(runs, |rng: &mut Rng| {
        let ios = Server { seconds, rate: &|_| usual, stalled_until: &never }.ios(rng);
        is_any(&judge(&ios, seconds, measures_latency))
    })
}

/// Runs of each trial in ordinary tests.
const RUNS: u32 = 40;

#[test]
fn an_exponential_approach_is_found() {
    for (seconds, constant_s) in [(32, 4.0), (60, 10.0)] {
        let percent = approach(100, seconds, constant_s, false);
        assert!(percent >= 90.0, "{seconds} s, {constant_s} s: {percent} %");
    }
}

#[test]
fn a_drift_of_30_percent_is_found() {
    for (seconds, usual) in [(60, 200.0), (60, 400.0), (30, 400.0)] {
        for change in [-0.3, 0.3] {
            let percent = drift(RUNS, seconds, usual, change, false);
            assert!(percent >= 100.0, "{seconds} s, {usual}, {change}: {percent} %");
        }
    }
}

#[test]
fn stalls_of_120_ms_each_second_are_found() {
    for (seconds, usual) in [(30, 100.0), (30, 200.0), (60, 400.0)] {
        let percent = periodic(RUNS, seconds, usual, false);
        assert!(percent >= 90.0, "{seconds} s, {usual}: {percent} %");
    }
}

#[test]
fn a_stall_of_less_than_a_second_and_a_slow_second_are_found() {
    for (seconds, usual) in [(30, 200.0), (60, 200.0), (30, 400.0), (60, 400.0)] {
        for (length_s, share) in [(0.85, 0.0), (1.2, 0.25)] {
            let percent = slow_part(RUNS, seconds, usual, length_s, share);
            assert!(percent >= 97.0, "{length_s} s, {seconds} s, {usual}: {percent} %");
        }
    }
}

#[test]
fn steady_servers_have_no_findings() {
    for (seconds, usual) in [(30, 50.0), (60, 100.0)] {
        let alarms = alarms_of_server(200, seconds, usual, true);
        assert!(alarms <= 1.0, "{seconds} s, {usual}: {alarms} %");
    }
}

#[test]
#[ignore = "a study: takes a minute or two"]
fn study() {
    for with in [false, true] {
        println!("\nlatencies: {with}");
        for (seconds, constant_s) in [(32, 4.0), (60, 10.0)] {
            println!("approach {seconds} s, {constant_s} s: {:.1}", approach(400, seconds, constant_s, with));
        }
        for (seconds, usual) in [(30, 100.0), (60, 100.0), (30, 200.0), (60, 200.0), (30, 400.0), (60, 1000.0)] {
            let [fall, rise] = [-0.3, 0.3].map(|change| drift(400, seconds, usual, change, with));
            println!("drift {seconds} s, {usual}: {fall:.1} {rise:.1}");
        }
        for (seconds, usual) in [(30, 100.0), (30, 200.0), (60, 100.0), (60, 200.0), (60, 400.0), (60, 1000.0)] {
            println!("periodic {seconds} s, {usual}: {:.1}", periodic(200, seconds, usual, with));
        }
        for (seconds, usual) in [(30, 20.0), (30, 100.0), (60, 20.0), (60, 100.0), (60, 400.0)] {
            println!("steady {seconds} s, {usual}: {:.2}", alarms_of_server(1000, seconds, usual, with));
        }
    }
    for (seconds, usual) in [(30, 200.0), (60, 200.0), (30, 400.0), (60, 400.0)] {
        let parts = [(0.85, 0.0), (1.2, 0.25), (1.2, 0.5)];
        let found = parts.map(|(length_s, share)| slow_part(400, seconds, usual, length_s, share));
        println!("slow part {seconds} s, {usual}: {found:.1?}");
    }
    for seconds in [30, 60] {
        for source in Source::STATIONARY {
            println!("{source:?} {seconds} s: {:.2}", alarms_of_source(2000, seconds, source));
        }
    }
}
