//! The study behind the figures of docs/measurement.md: how often 95 % intervals hold the true value, and how often
//! they are withheld. `cargo test -p stats --lib confidence::study -- --ignored --nocapture` runs it.

use super::interval::{Estimate, of_mean};
use crate::sample::mean;
use crate::simulation::{Source, uniform};
use hot::rng::Rng;
use model::confidence::Interval;

/// Of 100 runs.
#[derive(Clone, Copy, Debug)]
struct Shares {
    /// Intervals that hold the true value, among those that are reported.
    held: f64,
    /// Intervals that are withheld.
    withheld: f64,
}

/// Runs of a series whose true mean is known, each with `values` cells of 100 ms.
fn shares(runs: u32, truth: f64, mut series: impl FnMut(&mut Rng) -> Vec<f64>) -> Shares {
    let mut rng = Rng::new(21);
    let (mut held, mut withheld) = (0u32, 0u32);
    for _ in 0..runs {
        let values = series(&mut rng);
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match of_mean(mean(&values), &values, Interval { low, high }, 0.1) {
            Estimate::Withheld(_) => withheld += 1,
            Estimate::Known(found) => {
                assert!(low <= found.low && found.low <= found.high && found.high <= high, "{found:?}");
                held += u32::from(found.low <= truth && truth <= found.high);
            }
        }
    }
    Shares {
        held: f64::from(held) / f64::from(runs - withheld) * 100.0,
        withheld: f64::from(withheld) / f64::from(runs) * 100.0,
    }
}

/// Counts of a Poisson process (Knuth).
fn poisson(mean: f64, rng: &mut Rng) -> f64 {
    let (limit, mut product, mut count) = ((-mean).exp(), uniform(rng), 0.0);
    while product > limit {
        product *= uniform(rng);
        count += 1.0;
    }
    count
}

/// Independent values that carry the same information as a series with this correlation.
fn effective(cells: usize, correlation: f64) -> f64 {
    cells as f64 * (1.0 - correlation) / (1.0 + correlation)
}

/// Requirements of all intervals; `give_percent` is for the chance in few runs.
fn study(runs: u32, cell_counts: &[usize], give_percent: f64) {
    println!("| series | cells of 100 ms | effective | interval holds the truth | withheld |\n|---|---|---|---|---|");
    let check = |name: &str, cells: usize, effective: f64, found: Shares| {
        println!("| {name} | {cells} | {effective:.1} | {:.1} % | {:.1} % |", found.held, found.withheld);
        if effective >= 20.0 {
            let held = 93.0 - give_percent..=97.0 + give_percent;
            assert!(held.contains(&found.held), "{name}, {cells} cells: {found:?}");
        }
        if effective < 4.0 {
            assert!(found.withheld >= 90.0, "{name}, {cells} cells: {found:?}");
        }
        if effective as usize == cells {
            assert!(found.withheld <= 5.0 + give_percent, "{name}, {cells} cells: {found:?}");
        }
    };
    for &cells in cell_counts {
        let found = shares(runs, 20.0, |rng| (0..cells).map(|_| poisson(20.0, rng)).collect());
        check("Poisson, 200 I/Os per s", cells, cells as f64, found);
    }
    for correlation in [0.0, 0.5, 0.9, 0.95, 0.99] {
        let source = Source::Autoregressive { correlation };
        for &cells in cell_counts {
            let found = shares(runs, source.mean(), |rng| source.series(cells, rng));
            check(&format!("AR(1) {correlation}"), cells, effective(cells, correlation), found);
        }
    }
}

#[test]
#[ignore = "a study of minutes"]
fn intervals_hold_the_truth_or_are_withheld() {
    study(20_000, &[50, 100, 300, 600, 3000], 0.0);
}

#[test]
fn intervals_hold_the_truth_or_are_withheld_in_short() {
    study(400, &[50, 100, 600], 5.0);
}
