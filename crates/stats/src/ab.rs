//! Two sides in interleaved pairs of runs.
//!
//! Runs one after the other differ by drift: of the device, of its temperature, of other load. In a pair both sides are
//! run close together, in random order, and only the difference within the pair counts (paired t-test on the logarithms;
//! Box, Hunter & Hunter, Statistics for Experimenters, 3.2).
//!
//! A look after each few pairs that stops at the first difference finds one by chance sooner or later. The 5 % of false
//! alarms are therefore spent over the looks (Lan & `DeMets`, Discrete sequential boundaries for clinical trials,
//! Biometrika 70, 1983, with the spending function of O'Brien and Fleming), and within each look shared between the
//! figures (Holm, A simple sequentially rejective multiple test procedure, 1979). The share of a look is used as its
//! level, a union bound: slightly conservative, and valid for t-tests of a few pairs.
//!
//! Equivalence is two one-sided tests (Schuirmann, 1987) with the same spending.

use crate::sample::{mean, moments, student};
use model::ab::{AbAnswer, AbFigure, AbVerdict};
use model::headline::Headline;
use model::metric::{Metric, ScopedMetric};
use statrs::distribution::{ContinuousCDF, Normal};

/// Pairs after which the figures are tested, unless their number is given.
pub const LOOKS: [u32; 4] = [6, 10, 14, 20];
/// The figures that are judged.
pub const JUDGED: [Metric; 3] = [Metric::Iops, Metric::Mean, Metric::P99];
/// False alarms over all looks and figures.
const ALARMS: f64 = 0.05;
/// How often the smallest detectable difference would be found.
const POWER: f64 = 0.9;

/// Result of the pairs; `looks` ascend. `None` before the first look.
pub fn answer(pairs: &[(&Headline, &Headline)], looks: &[u32], margin: f64) -> Option<AbAnswer> {
    let reached: Vec<(usize, f64)> = levels(looks).into_iter().filter(|(count, _)| *count <= pairs.len()).collect();
    let &(_, last_level) = reached.last()?;
    let judged = Headline::scoped_metrics(&JUDGED, pairs.iter().flat_map(|(a, b)| [*a, *b]));
    let known: Vec<(ScopedMetric, Vec<f64>)> =
        judged.into_iter().filter_map(|figure| Some((figure, differences(pairs, figure)?))).collect();
    let mut rejected: Vec<Option<Rejection>> = vec![None; known.len()];
    for &(count, level) in &reached {
        reject(&known, count, level, &mut rejected);
    }
    let is_equivalent = |differences: &[f64]| {
        reached.iter().any(|&(count, level)| {
            let PairedDifference { mean, error, freedom } = PairedDifference::from_differences(&differences[..count]);
            mean.abs() + error * student(freedom).inverse_cdf(1.0 - level) <= margin.ln_1p()
        })
    };
    let is_rate_limited = pairs.iter().all(|(a, b)| a.is_rate_limited && b.is_rate_limited);
    let figures = known.iter().zip(&rejected).map(|(((scope, figure), differences), rejected)| {
        let undecided = Rejection { count: pairs.len(), level: last_level / known.len() as f64 };
        // What was found at an early look keeps the pairs of that look: those that follow are made for other figures, and
        // their interval at that look's level may contain 0.
        let Rejection { count, level } = rejected.unwrap_or(undecided);
        let paired = PairedDifference::from_differences(&differences[..count]);
        let half = paired.error * paired.standard_errors(level);
        let side = |of: fn(&(&Headline, &Headline)) -> Headline| {
            let values = pairs[..count].iter().filter_map(|pair| of(pair).scoped_value((*scope, *figure)));
            mean(&values.map(f64::ln).collect::<Vec<_>>()).exp()
        };
        let is_within_margin = is_equivalent(differences);
        AbFigure {
            figure: *figure,
            scope: *scope,
            a: side(|pair| pair.0.clone()),
            b: side(|pair| pair.1.clone()),
            percent: percent(paired.mean),
            low_percent: percent(paired.mean - half),
            high_percent: percent(paired.mean + half),
            verdict: match rejected {
                Some(_) if (paired.mean > 0.0) == figure.is_more_better() => AbVerdict::Better,
                Some(_) => AbVerdict::Worse,
                None if is_within_margin && is_rate_limited && figure.is_more_better() => AbVerdict::LimitedByRate,
                None if is_within_margin => AbVerdict::Equivalent,
                None => AbVerdict::CannotTell,
            },
            is_within_margin,
            detectable_percent: percent(PairedDifference::from_differences(differences).detectable(undecided.level)),
            decided_after: rejected.map(|rejected| rejected.count as u32).filter(|count| *count < pairs.len() as u32),
        }
    });
    let cpu = |of: fn(&(&Headline, &Headline)) -> f64| mean(&pairs.iter().map(of).collect::<Vec<_>>());
    Some(AbAnswer {
        pairs: pairs.len() as u32,
        looks: looks.to_vec(),
        margin,
        figures: figures.collect(),
        cpu_percent: (cpu(|pair| pair.0.cpu_percent), cpu(|pair| pair.1.cpu_percent)),
    })
}

fn percent(logarithm: f64) -> f64 {
    logarithm.exp_m1() * 100.0
}

/// Each look and the level that it may spend.
fn levels(looks: &[u32]) -> Vec<(usize, f64)> {
    let most = f64::from(looks.last().copied().unwrap_or(1));
    let normal = Normal::standard();
    let spent = |look: u32| 2.0 * normal.sf(normal.inverse_cdf(1.0 - ALARMS / 2.0) / (f64::from(look) / most).sqrt());
    let mut before = 0.0;
    let level = |look: &u32| {
        let all = spent(*look);
        let level = all - std::mem::replace(&mut before, all);
        (*look as usize, level)
    };
    looks.iter().map(level).collect()
}

/// After how many pairs, and at which level, a figure was found to differ.
#[derive(Clone, Copy)]
struct Rejection {
    count: usize,
    level: f64,
}

/// Holm at one look: notes figures that are rejected and were not yet.
fn reject(known: &[(ScopedMetric, Vec<f64>)], count: usize, level: f64, rejected: &mut [Option<Rejection>]) {
    let mut chances: Vec<(usize, f64)> = known
        .iter()
        .map(|(_, differences)| PairedDifference::from_differences(&differences[..count]).chance())
        .enumerate()
        .collect();
    chances.sort_by(|one, other| one.1.total_cmp(&other.1));
    for (rank, (figure, chance)) in chances.into_iter().enumerate() {
        let level = level / (known.len() - rank) as f64;
        if chance > level {
            break;
        }
        rejected[figure].get_or_insert(Rejection { count, level });
    }
}

/// Logarithms of B / A, pair by pair; `None` if a run lacks the figure.
fn differences(pairs: &[(&Headline, &Headline)], figure: ScopedMetric) -> Option<Vec<f64>> {
    let value = |run: &Headline| run.scoped_value(figure).filter(|value| *value > 0.0);
    pairs.iter().map(|(a, b)| Some((value(b)? / value(a)?).ln())).collect()
}

/// The mean difference of pairs.
struct PairedDifference {
    mean: f64,
    error: f64,
    freedom: f64,
}

impl PairedDifference {
    fn from_differences(differences: &[f64]) -> Self {
        let (mean, deviation) = moments(differences);
        let count = differences.len() as f64;
        Self { mean, error: deviation / count.sqrt(), freedom: (count - 1.0).max(1.0) }
    }

    /// Standard errors in half of an interval of this level.
    fn standard_errors(&self, level: f64) -> f64 {
        student(self.freedom).inverse_cdf(1.0 - level / 2.0)
    }

    /// The difference that another series of this number of pairs with this scatter finds with the chance [`POWER`].
    ///
    /// A difference of k standard errors is found if k s + z > t s', where s and s' are what the standard deviations of this
    /// series and of the other come out as, relative to the true one, and z is normal. Both vary with 1 / (2 freedom); with
    /// s and s' taken for 1, differences are found less often than stated.
    fn detectable(&self, level: f64) -> f64 {
        let threshold = self.standard_errors(level);
        let chance = Normal::standard().inverse_cdf(POWER);
        let variance = |size: f64| 1.0 + (size * size + threshold * threshold) / (2.0 * self.freedom);
        let size = (0..20).fold(threshold, |size, _| threshold + chance * variance(size).sqrt());
        self.error * size
    }

    /// How often chance alone gives such a difference, two-sided.
    fn chance(&self) -> f64 {
        if self.error > 0.0 {
            return 2.0 * student(self.freedom).sf((self.mean / self.error).abs());
        }
        if self.mean.abs() > 0.0 { 0.0 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{normal, uniform};
    use hot::rng::Rng;

    /// Runs of a series: `pairs` of them, B `change` faster, with scatter, a common drift and latencies to match.
    fn series(pairs: u32, change: f64, noise: f64, rng: &mut Rng) -> Vec<(Headline, Headline)> {
        let mut run = |drift: f64, factor: f64| {
            let speed = factor * (drift + noise * normal(rng)).exp();
            let tail = (2.0 * noise * normal(rng)).exp();
            Headline {
                iops: 1000.0 * speed,
                mean_ns: Some(1e6 / speed),
                p99_ns: Some((5e6 / speed * tail) as u64),
                ..Headline::default()
            }
        };
        let mut pair = |number: u32| {
            let drift = -0.01 * f64::from(number);
            // The order within a pair does not matter here: the drift between its runs is small.
            (run(drift, 1.0), run(drift, 1.0 + change))
        };
        (0..pairs).map(&mut pair).collect()
    }

    /// As in `diskspd ab`: looks, and stops when every figure is decided.
    fn decided(runs: &[(Headline, Headline)]) -> AbAnswer {
        let pairs: Vec<(&Headline, &Headline)> = runs.iter().map(|(a, b)| (a, b)).collect();
        let answers = LOOKS.iter().filter_map(|look| answer(&pairs[..*look as usize], &LOOKS, 0.02));
        let mut last = None;
        for found in answers {
            let is_decided = found.is_decided();
            last = Some(found);
            if is_decided {
                break;
            }
        }
        last.expect("there are looks")
    }

    fn is_different(figure: &AbFigure) -> bool {
        matches!(figure.verdict, AbVerdict::Better | AbVerdict::Worse)
    }

    /// Two disks of which one is twice as fast were "equivalent" at `--rate=1000`.
    #[test]
    fn iops_of_sides_that_reached_their_own_limit_are_limited_by_it() {
        let run =
            |is_rate_limited| Headline { iops: 1000.0, mean_ns: Some(1e6), is_rate_limited, ..Headline::default() };
        let verdicts = |a: bool, b: bool| -> Vec<AbVerdict> {
            let (a, b) = (run(a), run(b));
            let found = answer(&[(&a, &b); 6], &LOOKS, 0.02).expect("there was a look");
            found.figures.iter().map(|figure| figure.verdict).collect()
        };
        assert_eq!(verdicts(true, true), [AbVerdict::LimitedByRate, AbVerdict::Equivalent], "latencies may differ");
        assert_eq!(verdicts(true, false), [AbVerdict::Equivalent; 2]);
    }

    #[test]
    fn looks_spend_five_percent_together_and_little_at_first() {
        let levels = levels(&LOOKS);
        let sum: f64 = levels.iter().map(|(_, level)| level).sum();
        assert!((sum - 0.05).abs() < 1e-9 && levels[0].1 < 0.0005 && levels[3].1 > 0.025, "{levels:?}");
        assert_eq!(super::levels(&[7]).len(), 1);
        assert!((super::levels(&[7])[0].1 - 0.05).abs() < 1e-9);
    }

    /// Of a number of series: those in which a figure differs, those in which IOPS is better, those in which it is equivalent,
    /// and pairs on average.
    fn outcomes(count: u32, change: f64, noise: f64, seed: u64) -> [f64; 4] {
        let mut rng = Rng::new(seed);
        let mut sums = [0.0; 4];
        for _ in 0..count {
            let found = decided(&series(20, change, noise, &mut rng));
            let iops = found.figures[0].verdict;
            sums[0] += f64::from(found.figures.iter().any(is_different));
            sums[1] += f64::from(iops == AbVerdict::Better);
            sums[2] += f64::from(iops == AbVerdict::Equivalent);
            sums[3] += f64::from(found.pairs);
        }
        sums.map(|sum| sum / f64::from(count))
    }

    /// The figures of docs/measurement.md.
    #[test]
    #[ignore = "a study of a minute"]
    fn two_thousand_series() {
        println!("| change | noise of a run | any figure differs | IOPS better | IOPS equivalent | pairs |");
        println!("|---|---|---|---|---|---|");
        for (change, noise) in [(0.0, 0.005), (0.0, 0.02), (0.0, 0.05), (0.01, 0.02), (0.05, 0.02), (0.05, 0.05)] {
            let [differs, better, equivalent, pairs] = outcomes(2000, change, noise, 1);
            let [differs, better, equivalent] = [differs, better, equivalent].map(|share| share * 100.0);
            let (change, noise) = (change * 100.0, noise * 100.0);
            println!("| {change} % | {noise} % | {differs:.1} % | {better:.1} % | {equivalent:.1} % | {pairs:.1} |");
            assert!(change > 0.0 || differs <= 7.0, "{differs} %");
            assert!((change, noise) != (5.0, 2.0) || better >= 90.0, "{better} %");
        }
    }

    /// Law by which runs of one load differ, as the logarithm of their speed.
    #[derive(Clone, Copy, Debug)]
    enum Noise {
        Independent(f64),
        /// Each pair is slower by this.
        Drift(f64),
        /// Correlation of a run with the run before.
        Autoregressive(f64),
        /// Two levels this far apart, which change every fourth run or so.
        Levels(f64),
        /// Student's t with 3 degrees of freedom: now and then a run is far off.
        HeavyTails(f64),
        /// The second run of a pair is slower by this.
        Second(f64),
    }

    const NOISES: [Noise; 7] = [
        Noise::Independent(0.005),
        Noise::Independent(0.05),
        Noise::Drift(0.01),
        Noise::Autoregressive(0.8),
        Noise::Levels(0.08),
        Noise::HeavyTails(0.02),
        Noise::Second(0.03),
    ];

    /// A series of 20 pairs of equal sides, in random order within each pair.
    fn equal_sides(noise: Noise, rng: &mut Rng) -> Vec<(Headline, Headline)> {
        let (mut state, mut is_low) = (normal(rng), false);
        let mut speed = |index: u32, rng: &mut Rng| match noise {
            Noise::Independent(scatter) => scatter * normal(rng),
            Noise::Drift(step) => 0.01 * normal(rng) - step * f64::from(index / 2),
            Noise::Autoregressive(correlation) => {
                state = correlation * state + (1.0 - correlation * correlation).sqrt() * normal(rng);
                0.03 * state + 0.005 * normal(rng)
            }
            Noise::Levels(distance) => {
                is_low ^= uniform(rng) < 0.25;
                (if is_low { -distance } else { 0.0 }) + 0.01 * normal(rng)
            }
            Noise::HeavyTails(scatter) => {
                let squares: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
                scatter * normal(rng) / (squares / 3.0).sqrt()
            }
            Noise::Second(step) => 0.01 * normal(rng) - step * f64::from(index % 2),
        };
        let mut run = |index: u32, rng: &mut Rng| {
            let speed = speed(index, rng).exp();
            let tail = (0.03 * normal(rng)).exp();
            let p99_ns = Some((5e6 / speed * tail) as u64);
            Headline { iops: 1000.0 * speed, mean_ns: Some(1e6 / speed), p99_ns, ..Headline::default() }
        };
        let mut pair = |number: u32| {
            let (first, second) = (run(2 * number, rng), run(2 * number + 1, rng));
            if uniform(rng) < 0.5 { (first, second) } else { (second, first) }
        };
        (0..20).map(&mut pair).collect()
    }

    /// Of this number of series of equal sides: those in which a figure differs, and figures reported to differ whose
    /// interval contains 0 or lies on the other side of it.
    fn false_alarms(count: u32, noise: Noise) -> (u32, u32) {
        let mut rng = Rng::new(11);
        let (mut alarms, mut contradictions) = (0, 0);
        for _ in 0..count {
            let found = decided(&equal_sides(noise, &mut rng));
            alarms += u32::from(found.figures.iter().any(is_different));
            let contradicts = |figure: &&AbFigure| {
                let is_up = (figure.verdict == AbVerdict::Better) == figure.figure.is_more_better();
                is_different(figure) && if is_up { figure.low_percent <= 0.0 } else { figure.high_percent >= 0.0 }
            };
            contradictions += found.figures.iter().filter(contradicts).count() as u32;
        }
        (alarms, contradictions)
    }

    /// The figures of docs/measurement.md.
    #[test]
    #[ignore = "a study of a minute"]
    fn two_thousand_series_of_equal_sides() {
        println!("| noise | any figure differs | contradictions |\n|---|---|---|");
        for noise in NOISES {
            let (alarms, contradictions) = false_alarms(2000, noise);
            println!("| {noise:?} | {:.1} % | {contradictions} |", f64::from(alarms) / 20.0);
        }
    }

    #[test]
    fn equal_sides_seldom_differ_whatever_the_noise_and_no_interval_contradicts() {
        for noise in NOISES {
            let (alarms, contradictions) = false_alarms(300, noise);
            assert!(alarms <= 18 && contradictions == 0, "{noise:?}: {alarms} of 300, {contradictions}");
        }
    }

    /// Percent of series of this number of pairs that find the difference which a series of equal sides states as
    /// detectable: about 90.
    fn power(count: u32, pairs: u32) -> f64 {
        let mut rng = Rng::new(12);
        let iops_only = |series: Vec<(Headline, Headline)>| -> Vec<(Headline, Headline)> {
            let only = |run: Headline| Headline { iops: run.iops, ..Headline::default() };
            series.into_iter().map(|(a, b)| (only(a), only(b))).collect()
        };
        let mut found = 0;
        for _ in 0..count {
            let mut figure = |change: f64| {
                let runs = iops_only(series(pairs, change, 0.02, &mut rng));
                let pairs: Vec<(&Headline, &Headline)> = runs.iter().map(|(a, b)| (a, b)).collect();
                answer(&pairs, &[pairs.len() as u32], 0.02).expect("a look").figures[0]
            };
            let detectable = figure(0.0).detectable_percent / 100.0;
            found += u32::from(figure(detectable).verdict == AbVerdict::Better);
        }
        f64::from(found) / f64::from(count) * 100.0
    }

    #[test]
    fn the_detectable_difference_is_detected_as_often_as_stated() {
        for pairs in [6, 10, 20] {
            let percent = power(2000, pairs);
            println!("{pairs} pairs: {percent} %");
            assert!((88.0..=92.0).contains(&percent), "{pairs} pairs: {percent} %");
        }
    }

    #[test]
    fn equal_sides_seldom_differ() {
        let [differs, ..] = outcomes(500, 0.0, 0.02, 3);
        assert!(differs <= 0.07, "{differs}");
    }

    #[test]
    fn five_percent_are_found_within_twenty_pairs() {
        let [_, better, ..] = outcomes(200, 0.05, 0.02, 4);
        assert!(better >= 0.9, "{better}");
    }

    #[test]
    fn intervals_hold_the_difference_and_sides_that_are_alike_are_equivalent() {
        let mut rng = Rng::new(5);
        let (mut held, mut equivalent) = (0, 0);
        for _ in 0..300 {
            let found = decided(&series(20, 0.01, 0.005, &mut rng));
            let iops = found.figures[0];
            held += u32::from(iops.low_percent <= 1.0 && 1.0 <= iops.high_percent);
            equivalent += u32::from(iops.is_within_margin);
        }
        assert!(held >= 279 && equivalent >= 270, "{held} held, {equivalent} equivalent");
    }

    #[test]
    fn a_scatter_larger_than_the_difference_cannot_tell_and_says_what_could_be_seen() {
        let mut rng = Rng::new(6);
        let found = decided(&series(20, 0.01, 0.1, &mut rng));
        let iops = found.figures[0];
        assert_eq!((found.pairs, iops.verdict), (20, AbVerdict::CannotTell));
        assert!((8.0..30.0).contains(&iops.detectable_percent), "{iops:?}");
    }

    #[test]
    fn what_a_run_lacks_is_not_judged_and_few_pairs_have_no_answer() {
        let run = |iops| Headline { iops, cpu_percent: 3.0, ..Headline::default() };
        let (a, b) = (run(100.0), run(200.0));
        let found = answer(&[(&a, &b); 6], &LOOKS, 0.02).expect("a look");
        assert_eq!(found.figures.len(), 1);
        assert_eq!((found.figures[0].verdict, found.cpu_percent), (AbVerdict::Better, (3.0, 3.0)));
        assert!((found.figures[0].percent - 100.0).abs() < 1e-9);
        assert_eq!(answer(&[(&a, &b); 5], &LOOKS, 0.02), None);
        let same = answer(&[(&a, &a); 6], &LOOKS, 0.02).expect("a look");
        assert_eq!(same.figures[0].verdict, AbVerdict::Equivalent);
    }
}
