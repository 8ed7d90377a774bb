//! The text on the points of a sweep.

use crate::Subject;
use model::headline::Headline;
use model::sweep::{Point, Purpose, SeriesKind, Setting, Sweep, Visit, VisitOutcome};

/// A run of a point with these settings: its purpose, the size of an I/O in bytes, the depth and I/Os per second.
fn add(sweep: &mut Sweep, settings: &[(&str, &str)], purpose: Purpose, (bytes, depth, iops): (f64, u32, f64)) {
    let settings = settings.iter().map(|(name, value)| Setting { name: (*name).into(), value: (*value).into() });
    let point = Point { settings: settings.collect() };
    let known = sweep.points.iter().position(|known| *known == point);
    let index = known.unwrap_or_else(|| {
        sweep.points.push(point);
        sweep.points.len() - 1
    });
    let headline = Headline {
        iops,
        bytes_per_s: iops * bytes,
        mean_ns: Some(f64::from(depth) / iops * 1e9),
        depth: Some(depth),
        threads: 1,
        ..Headline::default()
    };
    let outcome = VisitOutcome::Measured { file: String::new(), headline };
    let run = sweep.visits.iter().filter(|visit| visit.point == index).count() as u32;
    sweep.visits.push(Visit {
        point: index,
        run,
        purpose,
        outcome,
        limit: None,
        sustained_iops: None,
        streams: Vec::new(),
    });
}

fn text(mut sweep: Sweep) -> String {
    stats::sweep::conclude(&mut sweep);
    Subject::Series { kind: SeriesKind::Sweep, name: "d", sweep: &sweep, example: None }.report(|_| None).words()
}

/// Splits of depth 8 with runs of these I/Os per second.
fn splits(runs: [&[f64]; 3]) -> String {
    let mut sweep = Sweep::default();
    for ((threads, outstanding), runs) in [("1", "8"), ("2", "4"), ("4", "2")].into_iter().zip(runs) {
        for iops in runs {
            add(&mut sweep, &[("t", threads), ("o", outstanding)], Purpose::Measure, (4096.0, 8, *iops));
        }
    }
    text(sweep)
}

#[test]
fn a_setting_is_best_only_beyond_the_noise() {
    let single = splits([&[35_558.0], &[37_069.0], &[34_592.0]]);
    assert!(single.contains("Most IOPS: -t2 -o4; one run each does not show the noise (--runs)\n"), "{single}");
    let none = splits([&[35_000.0, 37_000.0], &[37_100.0, 34_900.0], &[34_800.0, 36_500.0]]);
    assert!(none.contains("Most IOPS: no setting is better than the noise (34,800 to 35,000 IOPS)\n"), "{none}");
    let some = splits([&[20_000.0, 20_100.0], &[37_100.0, 36_900.0], &[36_800.0, 37_000.0]]);
    assert!(some.contains("Most IOPS: -t2 -o4 or -t4 -o2; they differ by no more than the noise\n"), "{some}");
    let one = splits([&[20_000.0, 20_100.0], &[37_100.0, 36_900.0], &[30_000.0, 30_100.0]]);
    assert!(one.contains("Most IOPS: -t2 -o4\n"), "{one}");
}

#[test]
fn splits_of_a_depth_are_named_with_the_best() {
    let mut sweep = Sweep::default();
    for threads in [1_u32, 2, 4] {
        for outstanding in [1_u32, 2, 4, 8] {
            let (depth, settings) = (threads * outstanding, [threads.to_string(), outstanding.to_string()]);
            for noise in [0.99, 1.01] {
                let iops = f64::from(depth.min(8)) * 1e4 * noise;
                add(&mut sweep, &[("t", &settings[0]), ("o", &settings[1])], Purpose::Measure, (4096.0, depth, iops));
            }
        }
    }
    let text = text(sweep);
    assert!(text.contains("at depth 8 ("), "{text}");
    assert!(text.contains("\nSame depth: -t2 -o4; -t4 -o2: not worse by more than the noise.\n"), "{text}");
}

#[test]
fn throughput_of_large_blocks_is_in_mib() {
    let depths = |bytes: f64| {
        let mut sweep = Sweep::default();
        for depth in 1..=8_u32 {
            let iops = f64::from(depth.min(4)) * 100.0;
            add(&mut sweep, &[("o", &depth.to_string())], Purpose::Measure, (bytes, depth, iops));
        }
        text(sweep)
    };
    let large = depths(131_072.0);
    assert!(large.contains("(IOPS / mean latency): 50 MiB/s at"), "{large}");
    assert!(large.contains("beats this one in MiB/s, mean latency and CPU usage"), "{large}");
    let small = depths(131_072.0 - 512.0);
    assert!(small.contains("(IOPS / mean latency): 400 IOPS at"), "{small}");
}

#[test]
fn loads_have_fronts_of_their_own() {
    let mut sweep = Sweep::default();
    for (write, iops) in [("0", [100.0, 90.0]), ("100", [10.0, 9.0])] {
        for (threads, iops) in ["1", "2"].into_iter().zip(iops) {
            add(&mut sweep, &[("w", write), ("n", threads)], Purpose::Measure, (4096.0, 1, iops));
        }
    }
    let text = text(sweep);
    assert!(text.contains("\n0 | 1 |  | yes | ") && text.contains("\n100 | 1 |  | yes | "), "{text}");
    assert!(text.contains("\n0 | 2 |  |  | ") && text.contains("no other point of its load beats this one"), "{text}");
    assert!(!text.contains("Most IOPS"), "{text}");
}

#[test]
fn rows_of_probes_and_of_confirmed_runs_say_which_they_are() {
    let mut sweep = Sweep::default();
    for depth in 1..=6_u32 {
        let iops = f64::from(depth.min(3)) * 1000.0;
        add(&mut sweep, &[("o", &depth.to_string())], Purpose::Probe, (4096.0, depth, iops));
    }
    assert!(!text(sweep.clone()).contains(" | probe | "));
    add(&mut sweep, &[("o", "3")], Purpose::Confirm, (4096.0, 3, 1500.0));
    let text = text(sweep);
    let row = |begin: &str| text.lines().find(|line| line.trim_start().starts_with(begin)).unwrap_or_default();
    assert!(row("3 |").contains(" | confirmed | ") && row("4 |").contains(" | probe | "), "{text}");
    assert!(row("3 |").contains(" | 1,500 | ") && text.contains(" to 3,000 IOPS.\n"), "{text}");
    assert!(text.contains("\nJudged by the probes; 'confirmed' rows show the longer runs. "), "{text}");
}

#[test]
fn the_load_of_a_resumed_sweep_has_all_values() {
    let mut sweep = Sweep { load: "4 KiB random read".to_owned(), ..Sweep::default() };
    for depth in ["1", "2", "3"] {
        add(&mut sweep, &[("o", depth)], Purpose::Measure, (4096.0, 1, 1.0));
    }
    sweep.visits.truncate(1);
    let line =
        |words: &str| crate::words::load_line::of_sweep(&Sweep { words: vec![words.to_owned()], ..sweep.clone() });
    assert_eq!(line("--vary=o=1..3"), "first point: 4 KiB random read; varied: -o (1, 2, 3)");
    // An open range has no last value.
    assert_eq!(line("--vary=o=1.."), "first point: 4 KiB random read; varied: -o (1)");
    assert_eq!(line("--vary=o=1..*2"), "first point: 4 KiB random read; varied: -o (1)");
}
