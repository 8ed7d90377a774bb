//! What runs say together.

#![allow(clippy::float_cmp, reason = "the figures compared are copied, not computed")]

use super::*;
use model::sweep::{Point, SWEEP_SCHEMA, SWEEP_SCHEMA_VERSION, VisitOutcome};

/// A sweep of `name=1..` with one run each.
fn sweep(name: &str, iops: &[f64]) -> Sweep {
    let setting = |value: usize| Setting { name: name.to_owned(), value: value.to_string() };
    let mut sweep = Sweep {
        schema: SWEEP_SCHEMA.to_owned(),
        schema_version: SWEEP_SCHEMA_VERSION,
        program: String::new(),
        words: Vec::new(),
        points: (1..=iops.len()).map(|value| Point { settings: vec![setting(value)] }).collect(),
        visits: Vec::new(),
        devices: None,
        depths: Vec::new(),
        limit: None,
        steady_state: None,
        ab: None,
    };
    for (point, iops) in iops.iter().enumerate() {
        visit(&mut sweep, point, Purpose::Measure, *iops);
    }
    sweep
}

fn visit(sweep: &mut Sweep, point: usize, purpose: Purpose, iops: f64) {
    let headline = Headline { iops, depth: Some(point as u32 + 1), ..Headline::default() };
    let outcome = VisitOutcome::Measured { file: String::new(), headline };
    sweep.visits.push(Visit { point, run: 0, purpose, outcome, limit: None, sustained_iops: None });
}

fn iops(sweep: &Sweep, point: usize) -> f64 {
    figures(sweep, point).unwrap().iops
}

#[test]
fn the_median_run_stands_for_a_point_unless_it_was_confirmed() {
    let mut sweep = sweep("o", &[50.0]);
    assert_eq!(iops(&sweep, 0), 50.0);
    visit(&mut sweep, 0, Purpose::Again, 90.0);
    visit(&mut sweep, 0, Purpose::Again, 80.0);
    assert_eq!(iops(&sweep, 0), 80.0);
    visit(&mut sweep, 0, Purpose::Confirm, 70.0);
    assert_eq!(iops(&sweep, 0), 70.0);
    assert_eq!(figures(&sweep, 1), None);
}

#[test]
fn a_point_off_the_curve_is_found_and_a_knee_is_none() {
    let curve = |n: usize| (n.min(16) * 1000) as f64;
    let good: Vec<f64> = (1..=24).map(curve).collect();
    assert_eq!(off_the_curve(&sweep("o", &good)), [0_usize; 0]);
    let mut bad = good.clone();
    bad[9] *= 0.8;
    bad[20] *= 1.1;
    assert_eq!(off_the_curve(&sweep("o", &bad)), [9, 20]);
    assert_eq!(off_the_curve(&sweep("b", &bad)), [0_usize; 0], "block sizes have no curve");
    assert_eq!(off_the_curve(&sweep("o", &[1.0, 9.0, 2.0])), [0_usize; 0], "three points have no curve");
}

#[test]
fn an_open_range_ends_when_twice_the_value_brings_nothing() {
    let curve = |count: usize, knee: usize| (1..=count).map(|n| n.min(knee) as f64).collect::<Vec<_>>();
    let ends_at = |knee| (1..200).find(|&count| is_flat(&sweep("o", &curve(count, knee)))).unwrap();
    assert_eq!(ends_at(1), OPEN_POINTS_MIN);
    assert_eq!(ends_at(16), 32);
    assert_eq!(ends_at(50), 96, "48 give within 5 % of what 50 do");
    assert!(!is_flat(&sweep("o", &[1.0; 4])));
}

#[test]
fn series_share_all_but_what_makes_depth() {
    let mut grid = sweep("o", &[1.0, 2.0, 3.0, 4.0]);
    for (index, point) in grid.points.iter_mut().enumerate() {
        let block = if index < 2 { "4K" } else { "8K" };
        point.settings.push(Setting { name: "b".into(), value: block.into() });
    }
    let found = depths(&grid);
    let points: Vec<&[usize]> = found.iter().map(|series| &series.points[..]).collect();
    assert_eq!(points, [&[0, 1][..], &[2, 3]]);
    assert!(found.iter().all(|series| series.settings[0].name == "b" && series.knee.is_none()));
    assert_eq!(depths(&sweep("w", &[1.0; 9])), []);
}

#[test]
fn the_points_that_matter_are_the_two_depths_and_the_best() {
    let mut curve: Vec<f64> = (1..=32).map(|n: usize| (n.min(16) * 1000) as f64).collect();
    curve[30] += 1.0;
    assert_eq!(points_that_matter(&sweep("o", &curve)), [15, 30]);
    assert_eq!(points_that_matter(&sweep("b", &[1.0, 3.0, 2.0])), [1]);
    assert_eq!(points_that_matter(&sweep("b", &[])), [0_usize; 0]);
}

#[test]
fn mirrored_writes_count_twice_at_the_devices() {
    // The guide's tiered space: 8 SSDs, two copies, 30 % writes: a factor of 1.3.
    let figures = Headline { iops: 55_232.28, depth: Some(96), write_share: 0.3, ..Headline::default() };
    let each = per_device(&figures, DeviceCount { ssds: 8, copies: 2 });
    assert!((each.amplification - 1.3).abs() < 1e-9);
    assert!((each.depth.unwrap() - 15.6).abs() < 1e-9);
    assert!((each.iops - 8975.25).abs() < 0.01);
}
