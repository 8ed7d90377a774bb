//! Curves with a knee known from theory, and published sweeps.

use super::*;
use crate::simulation::normal;

fn samples(depths: impl IntoIterator<Item = u32>, iops: impl Fn(f64) -> f64) -> Vec<DepthSample> {
    depths.into_iter().map(|depth| DepthSample { depth, iops: iops(f64::from(depth)) }).collect()
}

fn saturation_of(knee: &Knee) -> DepthEstimate {
    match knee.saturation {
        Saturation::At { depth, .. } => depth,
        Saturation::StillRising { .. } => panic!("there is a plateau: {knee:?}"),
    }
}

#[test]
fn sixteen_servers_are_busy_at_sixteen() {
    // 100 µs each: the power is n below 16 and falls as 1/n above.
    let knee = knee(&samples(1..=32, |depth| depth.min(16.0) * 10_000.0)).unwrap();
    assert_eq!(knee.efficient.depth, 16);
    assert_eq!(saturation_of(&knee).depth, 16);
    let Saturation::At { plateau_iops, .. } = knee.saturation else { panic!() };
    assert!((plateau_iops - 160_000.0).abs() < 1.0);
}

#[test]
fn a_balanced_network_is_most_efficient_one_below_its_stations() {
    // Nine equal exponential stations: X(n) = n / (n + 8) / s (Lazowska et al., Quantitative System
    // Performance, 1984, chapter 5); the power n / (n + 8)² is largest at 8.
    let knee = knee(&samples(1..=32, |depth| depth / (depth + 8.0) * 50_000.0)).unwrap();
    assert_eq!(knee.efficient.depth, 8);
    assert!(matches!(knee.saturation, Saturation::StillRising { doubling_percent } if doubling_percent > 10.0));
}

#[test]
fn too_much_depth_may_do_harm() {
    let knee = knee(&samples(1..=40, |depth| if depth <= 10.0 { depth } else { 10.0 - (depth - 10.0) / 6.0 })).unwrap();
    assert_eq!((knee.efficient.depth, saturation_of(&knee).depth), (10, 10));
}

#[test]
fn noise_widens_the_interval_and_moves_the_depth_little() {
    let mut rng = Rng::new(7);
    let mut noisy = |level: f64| {
        let mut samples = samples(1..=32, |depth| depth.min(16.0) * 10_000.0);
        for sample in &mut samples {
            sample.iops *= 1.0 + level * normal(&mut rng);
        }
        knee(&samples).unwrap()
    };
    let (quiet, loud) = (noisy(0.002), noisy(0.05));
    let width = |depth: DepthEstimate| depth.high - depth.low;
    assert!((15..=17).contains(&saturation_of(&quiet).depth), "{quiet:?}");
    assert!((13..=20).contains(&saturation_of(&loud).depth), "{loud:?}");
    assert!(width(loud.efficient) > width(quiet.efficient), "{quiet:?} {loud:?}");
    for depth in [quiet.efficient, saturation_of(&quiet), loud.efficient, saturation_of(&loud)] {
        assert!(depth.low <= depth.depth && depth.depth <= depth.high);
    }
}

#[test]
fn a_handful_of_points_has_no_knee() {
    assert_eq!(knee(&samples([1, 2, 4, 8], |depth| depth)), None);
    assert_eq!(knee(&samples([4; 20], |_| 1.0)), None);
    assert!(knee(&samples([1, 2, 4, 8, 16], |depth| depth)).is_some());
    assert_eq!(knee(&samples([0, 1, 2, 4, 8], |_| 0.0)), None);
}

/// Depth and IOPS of the sweep under this heading.
fn published(heading: &str) -> Vec<DepthSample> {
    let page = include_str!("../../tests/published/sweeps.md");
    let (_, behind) = page.split_once(&format!("## {heading}")).expect("there is such a sweep");
    let section = behind.split("\n## ").next().unwrap_or_default();
    let sample = |line: &str| {
        let cells: Vec<f64> = line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
        let [threads, outstanding, iops, ..] = cells[..] else { return None };
        Some(DepthSample { depth: (threads * outstanding) as u32, iops })
    };
    section.lines().filter_map(sample).collect()
}

/// The depths found beside the one that the author chose by eye.
#[test]
fn published_sweeps_have_their_authors_choice_between_the_two_depths() {
    let found = |heading| {
        let knee = knee(&published(heading)).unwrap();
        let saturation = match knee.saturation {
            Saturation::At { depth, .. } => Some(depth.depth),
            Saturation::StillRising { .. } => None,
        };
        (knee.efficient.depth, saturation)
    };
    // 6 by eye: 158 of 170 MB/s, "beyond that little more throughput".
    assert_eq!(found("Hard disks, sequential 512 KiB reads, 1 thread"), (6, Some(7)));
    // "Around 10".
    assert_eq!(found("Hard disks, random 8 KiB reads, 1 thread"), (10, Some(10)));
    // Printed up to 12 per thread and still rising there; the author's 16 per thread is of a longer
    // series, which is not printed.
    assert_eq!(found("Tiered space of 8 SSDs (2-way mirror), random 8 KiB, 30 % writes, 8 threads"), (24, None));
    // 31 by eye is the highest single point. 21 gives 95 % of the plateau, less its noise, at three quarters of its latency.
    assert_eq!(found("The same space, sequential 512 KiB reads, 1 thread"), (12, Some(21)));
    // 15 by eye, one above. A single write reaches three quarters of the plateau, so every further one costs more
    // latency than it brings throughput: the smallest depth tried is the most efficient.
    assert_eq!(found("The same space, sequential 512 KiB writes, 1 thread"), (4, Some(14)));
}
