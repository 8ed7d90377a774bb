//! How often the knee is right: simulated sweeps of a known law, with log-normal noise between runs.

use super::*;
use crate::simulation::{coverage_percent, normal};

/// Throughput of k servers in a closed loop over the depth, as a share of all of them: all are busy from depth k on.
fn servers(count: u32) -> impl Fn(f64) -> f64 {
    let count = f64::from(count);
    move |depth: f64| depth.min(count) / count
}

/// Throughput does not depend on the depth.
fn flat(_: f64) -> f64 {
    1.0
}

/// Depths 1, 2, 3 ...
fn linear(count: u32) -> Vec<u32> {
    (1..=count).collect()
}

/// Depths 1, 2, 4 ...
fn doubling(count: u32) -> Vec<u32> {
    (0..count).map(|power| 1 << power).collect()
}

/// One run of each depth of a law: `noise` is the standard deviation of the logarithm.
fn measure(depths: &[u32], law: impl Fn(f64) -> f64, noise: f64, rng: &mut Rng) -> Vec<f64> {
    depths.iter().map(|depth| law(f64::from(*depth)) * (noise * normal(rng)).exp()).collect()
}

/// The efficient and the saturation depth, without their intervals.
fn find_depths(depths: &[u32], measured: &[f64]) -> (u32, Option<u32>) {
    let runs = measured.iter().map(|iops| vec![*iops]).collect();
    let (efficient, saturation) = find(&Curve::through(depths, runs));
    (efficient, saturation.map(|(depth, _)| depth))
}

/// True if both depths are at most one sweep point from the right one.
fn is_near(depths: &[u32], right: u32, (efficient, saturation): (u32, Option<u32>)) -> bool {
    let place = |depth: u32| depths.iter().position(|known| *known == depth);
    let is_near = |depth| place(depth).zip(place(right)).is_some_and(|(found, right)| found.abs_diff(right) <= 1);
    is_near(efficient) && saturation.is_some_and(is_near)
}

/// True if the saturation depth lies below the efficient one, or a larger depth has more throughput at less latency.
fn is_contradictory(depths: &[u32], measured: &[f64], (efficient, saturation): (u32, Option<u32>)) -> bool {
    let Some(saturation) = saturation else { return false };
    let place = depths.iter().position(|depth| *depth == saturation).expect("a depth of the sweep");
    let latency = |place: usize| f64::from(depths[place]) / measured[place];
    let is_beaten =
        (place + 1..depths.len()).any(|later| measured[later] >= measured[place] && latency(later) <= latency(place));
    saturation < efficient || is_beaten
}

const NOISES: [f64; 3] = [0.01, 0.02, 0.05];

#[test]
fn a_flat_curve_seldom_seems_to_rise() {
    for depths in [linear(5), linear(16), doubling(5), doubling(7)] {
        for noise in NOISES {
            let rises = |rng: &mut Rng| find_depths(&depths, &measure(&depths, flat, noise, rng)).1.is_none();
            let percent = coverage_percent(2000, rises);
            assert!(percent <= 5.0, "{depths:?} with noise of {noise}: {percent:.1} %");
        }
    }
}

#[test]
fn the_knee_is_at_most_one_point_from_the_servers() {
    for count in [2, 4, 8] {
        for depths in [linear(3 * count + 6), doubling(4 + count.ilog2())] {
            for noise in NOISES {
                let is_near = |rng: &mut Rng| {
                    is_near(&depths, count, find_depths(&depths, &measure(&depths, servers(count), noise, rng)))
                };
                let percent = coverage_percent(2000, is_near);
                assert!(percent >= 90.0, "{count} servers, {depths:?} with noise of {noise}: {percent:.1} %");
            }
        }
    }
}

#[test]
fn saturation_contradicts_neither_the_efficient_depth_nor_a_larger_one() {
    let depths = linear(12);
    let percent = coverage_percent(2000, |rng| {
        let measured: Vec<f64> = depths.iter().map(|_| (1 + rng.below(30)) as f64).collect();
        is_contradictory(&depths, &measured, find_depths(&depths, &measured))
    });
    assert!(percent <= 0.0, "{percent} % of random tables");
    // Measured: depth 3 with half the throughput of depth 4, and more latency.
    let measured = [38_115.0, 80_210.0, 61_742.0, 115_544.0, 117_020.0, 116_410.0, 118_300.0, 117_700.0];
    let found = find_depths(&linear(8), &measured);
    assert!(!is_contradictory(&linear(8), &measured, found) && found.1 == Some(4), "{found:?}");
}

#[test]
#[ignore = "study: prints the figures of docs/measurement.md"]
fn print_the_rates() {
    let shapes = [("1..5", linear(5)), ("1..16", linear(16)), ("1..16*2", doubling(5)), ("1..64*2", doubling(7))];
    for noise in NOISES {
        for (name, depths) in &shapes {
            let percent =
                coverage_percent(20_000, |rng| find_depths(depths, &measure(depths, flat, noise, rng)).1.is_none());
            println!("flat o={name} noise {noise}: still rises {percent:.1} %");
        }
        for count in [2, 4, 8] {
            for (name, depths) in [("1..3k+6", linear(3 * count + 6)), ("1..8k*2", doubling(4 + count.ilog2()))] {
                let right = |rng: &mut Rng| {
                    is_near(&depths, count, find_depths(&depths, &measure(&depths, servers(count), noise, rng)))
                };
                let near = coverage_percent(5000, right);
                let contradictory = coverage_percent(5000, |rng| {
                    let mut measured = measure(&depths, servers(count), noise, rng);
                    // One run is disturbed.
                    let at = rng.below(measured.len() as u64) as usize;
                    measured[at] *= 0.5;
                    is_contradictory(&depths, &measured, find_depths(&depths, &measured))
                });
                println!("k={count} o={name} noise {noise}: near {near:.1} %, contradictory {contradictory:.1} %");
            }
        }
        for (name, depths) in &shapes {
            let rising = |rng: &mut Rng| find_depths(depths, &measure(depths, f64::sqrt, noise, rng)).1.is_none();
            let percent = coverage_percent(5000, rising);
            println!("sqrt o={name} noise {noise}: still rises {percent:.1} %");
        }
    }
}
