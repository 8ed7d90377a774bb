//! The order of runs, and the runs that come next.

use crate::design::Design;
use hot::rng::Rng;
use model::sweep::{Extent, Order, Purpose, Sweep};

/// Further runs of a point that was disturbed or is an outlier: with the first one they have a median.
const RUNS_AGAIN: u32 = 2;

/// One run that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index of the point.
    pub point: usize,
    /// Number of the run among those of the point with this purpose, from 0.
    pub run: u32,
    /// Purpose of the run.
    pub purpose: Purpose,
}

/// Every point's first runs, in the order requested.
pub(crate) fn first_runs(design: &Design) -> Vec<Step> {
    let purpose = design.first_purpose();
    let mut points: Vec<usize> = (0..design.points.len()).collect();
    let mut rng = Rng::new(design.seed);
    let mut steps = Vec::new();
    if design.extent == Extent::UntilFlat {
        // All runs of a point come before it is known whether there is another.
        return points
            .iter()
            .flat_map(|&point| (0..design.runs).map(move |run| Step { point, run, purpose }))
            .collect();
    }
    if matches!(design.extent, Extent::Pairs { .. }) {
        let pair = |run| {
            shuffle(&mut points, &mut rng);
            points.iter().map(|&point| Step { point, run, purpose }).collect::<Vec<_>>()
        };
        return (0..design.runs).flat_map(pair).collect();
    }
    for run in 0..design.runs {
        match design.order {
            Order::Random => shuffle(&mut points, &mut rng),
            Order::Abba if run > 0 => points.reverse(),
            Order::Abba | Order::Given => {}
        }
        steps.extend(points.iter().map(|&point| Step { point, run, purpose }));
    }
    steps
}

/// The Fisher-Yates shuffle.
fn shuffle(points: &mut [usize], rng: &mut Rng) {
    for last in (1..points.len()).rev() {
        points.swap(last, rng.below(last as u64 + 1) as usize);
    }
}

/// One more run of the points that were disturbed or are outliers. Repeats of one load have none.
pub(crate) fn again(design: &Design, sweep: &Sweep) -> Vec<Step> {
    if !matches!(design.extent, Extent::Whole | Extent::UntilFlat) || design.points.len() < 2 {
        return Vec::new();
    }
    let step = |point| (0..RUNS_AGAIN).map(move |run| Step { point, run, purpose: Purpose::Again });
    stats::sweep::points_to_repeat(sweep).into_iter().flat_map(step).collect()
}

/// Full runs of the points that matter, after probes.
pub(crate) fn confirmations(design: &Design, sweep: &Sweep) -> Vec<Step> {
    if design.probe_s.is_none() {
        return Vec::new();
    }
    let step = |point| Step { point, run: 0, purpose: Purpose::Confirm };
    stats::sweep::points_that_matter(sweep).into_iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::PlannedPoint;

    fn order(order: Order, runs: u32) -> Vec<usize> {
        let design = Design { points: vec![PlannedPoint::default(); 5], order, runs, seed: 1, ..Design::default() };
        first_runs(&design).iter().map(|step| step.point).collect()
    }

    #[test]
    fn points_come_in_the_order_asked_for() {
        assert_eq!(order(Order::Given, 2), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
        assert_eq!(order(Order::Abba, 3), [0, 1, 2, 3, 4, 4, 3, 2, 1, 0, 0, 1, 2, 3, 4]);
        let shuffled = order(Order::Random, 2);
        assert_eq!(shuffled, order(Order::Random, 2), "the same seed gives the same order");
        assert_ne!(shuffled[..5], shuffled[5..], "each round is shuffled");
        let extent = Extent::Pairs { is_fixed: true, margin: 0.02 };
        let design =
            Design { points: vec![PlannedPoint::default(); 2], extent, runs: 20, seed: 1, ..Design::default() };
        let steps = first_runs(&design);
        let firsts = steps.chunks(2).filter(|pair| pair[0].point == 0 && pair[1].point == 1).count();
        let seconds = steps.chunks(2).filter(|pair| pair[0].point == 1 && pair[1].point == 0).count();
        assert!(firsts + seconds == 20 && (5..=15).contains(&firsts), "{firsts} of 20 begin with A");
        assert!(steps.chunks(2).all(|pair| pair[0].run == pair[1].run));
        for round in shuffled.chunks(5) {
            let mut round = round.to_vec();
            round.sort_unstable();
            assert_eq!(round, [0, 1, 2, 3, 4]);
        }
    }
}
