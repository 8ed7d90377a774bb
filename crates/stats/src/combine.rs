//! Figures computed from other figures: for results read from a report, without the recorded samples.

use crate::rate::Volume;
use model::figures::{Directions, Figures, LatencyFigures};

/// Volume and rates; latency and deviation are left out.
pub fn figures(bytes: u64, ios: u64, elapsed_ns: u64) -> Figures {
    Volume { bytes, ios }.figures(elapsed_ns)
}

/// The volumes and rates of some figures together; latency and deviation are left out.
pub fn directions<'a>(
    parts: impl IntoIterator<Item = &'a Directions<Figures>>,
    elapsed_ns: u64,
) -> Directions<Figures> {
    let mut volumes = Directions::<Volume>::default();
    for part in parts {
        volumes.read.add(Volume::from_figures(&part.read));
        volumes.write.add(Volume::from_figures(&part.write));
        volumes.total.add(Volume::from_figures(&part.total));
    }
    Directions {
        read: volumes.read.figures(elapsed_ns),
        write: volumes.write.figures(elapsed_ns),
        total: volumes.total.figures(elapsed_ns),
    }
}

/// The latency of several groups of I/Os together, each with its number of I/Os; `None` without any.
///
/// Mean and deviation follow exactly from those of the groups: the mean of the squares is the
/// square of the mean plus the square of the deviation. An extreme is known if every group's is.
pub fn pooled(groups: impl IntoIterator<Item = (u64, LatencyFigures)>) -> Option<LatencyFigures> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    let (mut min_ns, mut max_ns) = (Some(u64::MAX), Some(0));
    for (ios, group) in groups.into_iter().filter(|&(ios, _)| ios > 0) {
        count += ios as f64;
        sum += ios as f64 * group.mean_ns;
        squares += ios as f64 * (group.mean_ns.powi(2) + group.std_dev_ns.powi(2));
        min_ns = Option::zip(min_ns, group.min_ns).map(|(a, b)| a.min(b));
        max_ns = Option::zip(max_ns, group.max_ns).map(|(a, b)| a.max(b));
    }
    if count == 0.0 {
        return None;
    }
    let mean_ns = sum / count;
    let variance = (squares / count - mean_ns.powi(2)).max(0.0);
    Some(LatencyFigures { mean_ns, std_dev_ns: variance.sqrt(), min_ns, max_ns })
}

/// The latency of several figures together; `None` if it is unknown for some that have I/Os, or none have.
pub fn pooled_latency(parts: impl IntoIterator<Item = Figures>) -> Option<LatencyFigures> {
    let parts = parts.into_iter().filter(|part| part.ios > 0);
    let known: Option<Vec<_>> = parts.map(|part| part.latency.map(|latency| (part.ios, latency))).collect();
    known.and_then(pooled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency;
    use model::record::Tally;
    use proptest::prelude::*;

    fn tally(values_ns: &[u64]) -> Tally {
        let mut tally = Tally::default();
        for &ns in values_ns {
            let square = ns as f64 * ns as f64;
            tally.merge(&Tally { count: 1, sum_ns: u128::from(ns), sum_squares_ns2: square, min_ns: ns, max_ns: ns });
        }
        tally
    }

    #[test]
    fn nothing_pools_to_nothing() {
        assert_eq!(pooled([]), None);
        assert_eq!(pooled([(0, LatencyFigures::default())]), None);
    }

    #[test]
    fn an_unknown_extreme_stays_unknown() {
        let known = LatencyFigures { mean_ns: 5.0, std_dev_ns: 0.0, min_ns: Some(5), max_ns: Some(5) };
        let unknown = LatencyFigures { min_ns: None, ..known };
        let both = pooled([(1, known), (1, unknown)]).expect("there are I/Os");
        assert_eq!((both.min_ns, both.max_ns), (None, Some(5)));
    }

    #[test]
    fn sums_divide_by_the_time_they_are_given() {
        let one = Directions { read: figures(4096, 1, 1), write: figures(0, 0, 1), total: figures(4096, 1, 1) };
        let both = directions([&one, &one], 2_000_000_000);
        assert_eq!((both.read.bytes, both.total.ios, both.write.ios), (8192, 2, 0));
        assert!((both.read.iops - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn groups_pool_to_what_they_are_together(groups in prop::collection::vec(prop::collection::vec(1u64..1 << 30, 0..20), 1..5)) {
            let all: Vec<u64> = groups.concat();
            let parts = groups.iter().filter_map(|group| Some((group.len() as u64, latency::figures(&tally(group))?)));
            match (pooled(parts), latency::figures(&tally(&all))) {
                (Some(pooled), Some(together)) => {
                    prop_assert!((pooled.mean_ns - together.mean_ns).abs() <= together.mean_ns * 1e-9);
                    prop_assert!((pooled.std_dev_ns - together.std_dev_ns).abs() <= together.mean_ns * 1e-5);
                    prop_assert_eq!((pooled.min_ns, pooled.max_ns), (together.min_ns, together.max_ns));
                }
                (pooled, together) => prop_assert_eq!(pooled, together),
            }
        }
    }
}
