//! Combined results of runs.

#![allow(clippy::float_cmp, reason = "the figures compared are copied, not computed")]

use super::*;
use crate::simulation::{coverage_percent, normal};
use hot::rng::Rng;
use model::finding::Severity;
use model::sweep::{Point, VisitOutcome};

/// A sweep of `name=1..` with one run each.
fn sweep(name: &str, iops: &[f64]) -> Sweep {
    let setting = |value: usize| Setting { name: name.to_owned(), value: value.to_string() };
    let mut sweep = Sweep {
        points: (1..=iops.len()).map(|value| Point { settings: vec![setting(value)] }).collect(),
        ..Sweep::default()
    };
    for (point, iops) in iops.iter().enumerate() {
        visit(&mut sweep, point, Purpose::Measure, *iops);
    }
    sweep
}

fn visit(sweep: &mut Sweep, point: usize, purpose: Purpose, iops: f64) {
    let headline = Headline { iops, bytes_per_s: iops, depth: Some(point as u32 + 1), ..Headline::default() };
    sweep.visits.push(measured(point, purpose, headline));
}

fn measured(point: usize, purpose: Purpose, headline: Headline) -> Visit {
    let outcome = VisitOutcome::Measured { file: String::new(), headline };
    Visit { point, run: 0, purpose, outcome, limit: None, sustained_iops: None, streams: Vec::new() }
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
    assert_eq!(points_to_repeat(&sweep("o", &good)), [0_usize; 0]);
    let mut bad = good.clone();
    bad[9] *= 0.8;
    bad[20] *= 1.1;
    assert_eq!(points_to_repeat(&sweep("o", &bad)), [9, 20]);
    assert_eq!(points_to_repeat(&sweep("b", &bad)), [0_usize; 0], "block sizes have no curve");
    assert_eq!(points_to_repeat(&sweep("o", &[1.0, 9.0, 2.0])), [0_usize; 0], "three points have no curve");
}

#[test]
fn an_open_range_ends_when_twice_the_value_brings_nothing() {
    let curve = |count: usize, knee: usize| (1..=count).map(|n| n.min(knee) as f64).collect::<Vec<_>>();
    let ends_at = |knee| (1..200).find(|&count| is_flat(&sweep("o", &curve(count, knee)))).unwrap();
    assert_eq!(ends_at(1), OPEN_POINTS_MIN);
    assert_eq!(ends_at(16), 32);
    assert_eq!(ends_at(50), 96, "48 give within 5 % of what 50 do");
    assert!(!is_flat(&sweep("o", &[1.0; 4])));
    // One high run of the lower half hides the growth from the comparison of the halves.
    assert!(!is_flat(&sweep("o", &[1.0, 2.0, 10.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0])));
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

/// A table of -o and -t with figures of which many are equal.
fn random_table(rng: &mut Rng) -> Sweep {
    let setting = |name: &str, value: u32| Setting { name: name.to_owned(), value: value.to_string() };
    let has_p99 = rng.below(4) > 0;
    let mut table = Sweep::default();
    for outstanding in 1..=2 + rng.below(6) as u32 {
        for threads in 1..=1 + rng.below(3) as u32 {
            let headline = Headline {
                iops: (1 + rng.below(12)) as f64 * 100.0,
                mean_ns: Some((1 + rng.below(5)) as f64),
                p99_ns: has_p99.then(|| 1 + rng.below(6)),
                cpu_percent: rng.below(5) as f64,
                depth: Some(outstanding * threads),
                threads,
                ..Headline::default()
            };
            let point = table.points.len();
            table.points.push(Point { settings: vec![setting("o", outstanding), setting("t", threads)] });
            table.visits.push(measured(point, Purpose::Measure, headline));
        }
    }
    conclude(&mut table);
    table
}

#[test]
fn advice_is_never_beaten_by_a_row_of_its_own_table() {
    let mut rng = Rng::new(10);
    let mut advised = 0;
    for _ in 0..1000 {
        let table = random_table(&mut rng);
        let row = |point: usize| figures(&table, point).unwrap();
        // The percentile, which may rank points in another order, does not count: advice is about the mean.
        let latency = |row: &Headline| row.mean_ns.unwrap();
        let is_beaten = |point: usize| {
            let mine = row(point);
            (0..table.points.len()).map(row).any(|other| {
                let is_no_worse =
                    other.iops >= mine.iops && latency(other) <= latency(mine) && other.cpu_percent <= mine.cpu_percent;
                is_no_worse
                    && (other.iops, latency(other), other.cpu_percent) != (mine.iops, latency(mine), mine.cpu_percent)
            })
        };
        let given = table.depths.iter().filter_map(|series| series.recommended);
        let given: Vec<usize> = given.chain(best(&table)).chain(recommended(&table)).collect();
        advised += usize::from(given.len() == 3);
        assert!(!given.iter().chain(&table.front).any(|point| is_beaten(*point)), "{given:?} of {table:#?}");
        assert!((0..table.points.len()).all(|point| table.front.contains(&point) != is_beaten(point)), "{table:#?}");
    }
    assert!(advised > 500, "{advised} had a depth to use");
}

#[test]
fn of_several_points_of_a_depth_the_best_is_named() {
    let mut table = sweep("o", &[10.0, 20.0, 30.0, 31.0, 31.0, 31.0]);
    // -o1 -t3 and -o3 -t1 as of the same depth.
    table.points.push(Point { settings: vec![Setting { name: "t".into(), value: "3".into() }] });
    let headline = Headline { iops: 30.5, depth: Some(3), ..Headline::default() };
    table.visits.push(measured(6, Purpose::Measure, headline));
    for visit in &mut table.visits {
        let VisitOutcome::Measured { headline, .. } = &mut visit.outcome else { panic!() };
        headline.mean_ns = headline.depth.map(|depth| f64::from(depth) / headline.iops);
    }
    let found = depths(&table);
    assert_eq!(point_at(&table, &found[0], 3), Some(6));
    assert_eq!(found[0].recommended, Some(6));
}

#[test]
fn throughput_over_block_size_has_a_knee() {
    let size = |index: usize| 4096.0 * f64::from(1 << index);
    // 100 µs and 1 GB/s: half the rate at 100 KB; nearly all of it from 1 MB on.
    let rates = |latency_s: f64| (0..10).map(|index| 1.0 / (latency_s + size(index) / 1e9)).collect::<Vec<_>>();
    let with_bytes = |iops: &[f64]| {
        let mut table = sweep("b", iops);
        for (index, visit) in table.visits.iter_mut().enumerate() {
            let VisitOutcome::Measured { headline, .. } = &mut visit.outcome else { panic!() };
            headline.bytes_per_s = headline.iops * size(index);
            headline.mean_ns = Some(1e9 / headline.iops);
        }
        conclude(&mut table);
        table
    };
    let table = with_bytes(&rates(20e-6));
    let [series] = &table.block_sizes[..] else { panic!("{:?}", table.block_sizes) };
    let Some(BlockKnee::At { point, plateau_bytes_per_s }) = series.knee else { panic!("{series:?}") };
    assert!((6..=7).contains(&point) && (0.95e9..1e9).contains(&plateau_bytes_per_s), "{series:?}");
    assert_eq!((recommended(&table), best(&table)), (Some(point), Some(9)));
    let rising = with_bytes(&rates(5e-3));
    assert!(matches!(rising.block_sizes[0].knee, Some(BlockKnee::StillRising { .. })), "{:?}", rising.block_sizes);
    assert_eq!(with_bytes(&rates(1e-3)[..3]).block_sizes[0].knee, None);
    assert_eq!(block_sizes(&sweep("o", &[1.0; 9])), []);
}

#[test]
fn warnings_of_all_runs_make_intervals_doubtful() {
    let mut table = sweep("o", &[1.0, 2.0, 3.0]);
    let warn = |table: &mut Sweep, point: usize, names: &[&str]| {
        let VisitOutcome::Measured { headline, .. } = &mut table.visits[point].outcome else { panic!() };
        headline.severity = Some(Severity::Warn);
        headline.warnings = names.iter().map(ToString::to_string).collect();
    };
    assert!(!is_doubtful(&table, &[0, 1, 2]));
    warn(&mut table, 0, &["steal"]);
    warn(&mut table, 1, &["cpu-contention", "steal"]);
    assert!(!is_doubtful(&table, &[0, 1, 2]) && is_doubtful(&table, &[0, 1]));
}

#[test]
fn mirrored_writes_count_twice_at_the_devices() {
    // The guide's tiered space: 8 SSDs, two copies, 30 % writes: a factor of 1.3.
    let figures =
        Headline { iops: 55_232.28, bytes_per_s: 8e6, depth: Some(96), write_share: 0.3, ..Headline::default() };
    let each = per_device(&figures, DeviceCount { ssds: 8, copies: 2 });
    assert!((each.amplification - 1.3).abs() < 1e-9);
    assert!((each.depth.unwrap() - 15.6).abs() < 1e-9);
    assert!((each.iops - 8975.25).abs() < 0.01);
    assert!((each.bytes_per_s - 1.3e6).abs() < 1.0);
}

/// Random figures around those of a law, several runs of each point of -t.
fn settings(runs: u32, law: &[f64], noise: f64, rng: &mut Rng) -> Sweep {
    let mut table = sweep("t", law);
    table.visits.clear();
    for _ in 0..runs {
        for (point, iops) in law.iter().enumerate() {
            visit(&mut table, point, Purpose::Measure, iops * (noise * normal(rng)).exp());
        }
    }
    table
}

fn leaders_of(sweep: &Sweep) -> Leaders {
    leaders(sweep, &(0..sweep.points.len()).collect::<Vec<_>>()).unwrap()
}

#[test]
fn equal_settings_seldom_have_a_best_one() {
    for count in [2, 4, 8] {
        for runs in [2, 3, 5] {
            for noise in [0.01, 0.05] {
                let has_best = |rng: &mut Rng| {
                    matches!(leaders_of(&settings(runs, &vec![1e4; count], noise, rng)), Leaders::One(_))
                };
                let percent = coverage_percent(2000, has_best);
                assert!(percent <= 5.0, "{count} settings, {runs} runs, noise of {noise}: {percent} %");
            }
        }
    }
}

#[test]
fn a_setting_that_is_better_than_the_noise_is_found() {
    let is_found = |rng: &mut Rng| leaders_of(&settings(3, &[1e4, 1.1e4, 1e4, 0.9e4], 0.02, rng)) == Leaders::One(1);
    let percent = coverage_percent(1000, is_found);
    assert!(percent >= 90.0, "{percent} %");
    let single = settings(1, &[1e4, 2e4, 1e4], 0.02, &mut Rng::new(1));
    assert_eq!(leaders_of(&single), Leaders::Single(1), "one run each does not show the noise");
    let none = settings(3, &[1e4, 1e4, 2e4, 2e4], 0.02, &mut Rng::new(1));
    assert!(
        matches!(leaders_of(&none), Leaders::Several(points) if points.len() == 2 && points.iter().all(|p| *p > 1))
    );
}

#[test]
#[ignore = "study: prints the figures of docs/measurement.md"]
fn print_how_often_equal_settings_have_a_best_one() {
    for count in [2, 4, 8] {
        for runs in [1, 2, 3, 5] {
            let flat = vec![1e4; count];
            let has_best = |rng: &mut Rng| matches!(leaders_of(&settings(runs, &flat, 0.02, rng)), Leaders::One(_));
            let mut better = flat.clone();
            better[0] *= 1.1;
            let is_found = |rng: &mut Rng| leaders_of(&settings(runs, &better, 0.02, rng)) == Leaders::One(0);
            let (wrong, right) = (coverage_percent(20_000, has_best), coverage_percent(5000, is_found));
            println!(
                "{count} settings, {runs} runs each, noise 2 %: best of equal {wrong:.1} %, 10 % better found {right:.1} %"
            );
        }
    }
}

/// The grid of -t and -o of which only the product counts.
fn splits(runs: u32, noise: f64, rng: &mut Rng) -> Sweep {
    let setting = |name: &str, value: u32| Setting { name: name.to_owned(), value: value.to_string() };
    let mut table = Sweep::default();
    for threads in [1, 2, 4, 8] {
        for outstanding in [1, 2, 4, 8] {
            table.points.push(Point { settings: vec![setting("t", threads), setting("o", outstanding)] });
            let depth = threads * outstanding;
            for _ in 0..runs {
                let iops = f64::from(depth.min(8)) * (noise * normal(rng)).exp() * 1e4;
                let headline = Headline { iops, depth: Some(depth), threads, ..Headline::default() };
                table.visits.push(measured(table.points.len() - 1, Purpose::Measure, headline));
            }
        }
    }
    table
}

#[test]
fn the_knee_of_threads_times_outstanding_is_that_of_the_depth() {
    for (runs, noise) in [(1, 0.01), (1, 0.02), (3, 0.02), (3, 0.05)] {
        let is_near = |rng: &mut Rng| {
            let found = depths(&splits(runs, noise, rng));
            let knee = found[0].knee.as_ref().unwrap();
            let near = |depth: u32| (4..=16).contains(&depth);
            near(knee.efficient.depth)
                && matches!(knee.saturation, Saturation::At { depth, .. } if near(depth.depth) && depth.depth >= knee.efficient.depth)
        };
        let percent = coverage_percent(30, is_near);
        assert!(percent >= 90.0, "{runs} runs, noise of {noise}: {percent} %");
    }
}

#[test]
fn probes_are_not_compared_with_confirmed_runs() {
    // A burst that lasts as long as a probe: confirmed runs have half of the throughput.
    let probes: Vec<f64> = (1..=16).map(|n: usize| (n.min(8) * 1000) as f64).collect();
    let mut table = sweep("o", &probes);
    table.visits.iter_mut().for_each(|visit| visit.purpose = Purpose::Probe);
    conclude(&mut table);
    let (front, knee) = (table.front.clone(), table.depths[0].knee.clone());
    let matter = points_that_matter(&table);
    visit(&mut table, 7, Purpose::Confirm, 4000.0);
    assert_eq!(points_that_matter(&table), matter, "a resumed sweep confirms the same points");
    conclude(&mut table);
    assert_eq!((&table.front, &table.depths[0].knee), (&front, &knee));
    assert_eq!((iops(&table, 7), table.depths[0].recommended, best(&table)), (4000.0, Some(7), Some(7)));
}

#[test]
fn no_load_is_better_than_another() {
    let mut table = sweep("o", &[10.0, 20.0, 5.0, 8.0]);
    for (index, point) in table.points.iter_mut().enumerate() {
        let write = if index < 2 { "0" } else { "100" };
        point.settings = vec![Setting { name: "w".into(), value: write.into() }, point.settings[0].clone()];
        let VisitOutcome::Measured { headline, .. } = &mut table.visits[index].outcome else { panic!() };
        headline.mean_ns = Some(1.0);
    }
    conclude(&mut table);
    assert_eq!(loads(&table), [[0, 1], [2, 3]]);
    assert_eq!((&table.front[..], best(&table)), (&[1, 3][..], Some(1)));
}

#[test]
fn large_blocks_are_compared_by_bytes() {
    let mut table = sweep("o", &[100.0, 200.0]);
    assert!(!compared(&table).by_bytes);
    for visit in &mut table.visits {
        let VisitOutcome::Measured { headline, .. } = &mut visit.outcome else { panic!() };
        headline.bytes_per_s = headline.iops * 131_072.0;
    }
    assert!(compared(&table).by_bytes);
}

#[test]
fn disturbed_points_are_measured_again_and_not_their_neighbours() {
    let curve: Vec<f64> = (1..=24).map(|n: usize| (n.min(16) * 1000) as f64).collect();
    let mut table = sweep("o", &curve);
    let disturb = |table: &mut Sweep, point: usize, iops: f64, severity: Severity, name: &str| {
        let VisitOutcome::Measured { headline, .. } = &mut table.visits[point].outcome else { panic!() };
        (headline.iops, headline.severity, headline.warnings) = (iops, Some(severity), vec![name.to_owned()]);
    };
    disturb(&mut table, 9, 10_000.0, Severity::Warn, "steal");
    assert_eq!(points_to_repeat(&table), [0_usize; 0], "other warnings do not come and go");
    // Two of three neighbours are disturbed alike: the sound one between them looks wrong.
    disturb(&mut table, 17, 8000.0, Severity::Warn, "other-io");
    disturb(&mut table, 18, 8000.0, Severity::Warn, "cpu-contention");
    disturb(&mut table, 20, 8000.0, Severity::Invalid, "cached-io");
    disturb(&mut table, 21, 8000.0, Severity::Warn, "other-io");
    assert_eq!(points_to_repeat(&table), [17, 18, 20, 21]);
    visit(&mut table, 17, Purpose::Again, 15_000.0);
    visit(&mut table, 17, Purpose::Again, 16_000.0);
    assert_eq!(iops(&table, 17), 15_000.0, "the disturbed run no longer counts");
    assert_eq!(points_to_repeat(&table), [17, 18, 20, 21], "a resumed sweep repeats the same");
    for (point, iops) in curve.iter().enumerate() {
        disturb(&mut table, point, *iops, Severity::Invalid, "cached-io");
    }
    assert_eq!(points_to_repeat(&table), [0_usize; 0], "what all have does not pass");
}
