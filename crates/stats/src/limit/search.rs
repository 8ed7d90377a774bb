//! Which rate to run next, and when the search has its answer.

use super::monotone::isotonic;
use super::noise;
use super::{Observation, USED_MIN, used};
use crate::sample::{mean, student};
use model::limit::LimitFound;
use statrs::distribution::ContinuousCDF;

/// Rates are this far apart at most before runs confirm the answer.
const CLOSE: f64 = 1.25;
/// Points between the crossing and each of the two rates that confirm it: with rates 2 % apart the two are 12 % apart.
const ASIDE: usize = 3;
/// Runs at the end of a search without an answer that find out if the rate matters at all: at these shares of the rate.
const EXPLORE: usize = 6;
const EXPLORED_SHARES: [f64; 2] = [0.6, 0.36];
/// Points within this factor of the crossing show where it is.
const NEAR: f64 = 1.2;
/// Points beyond this logarithm of the used share do not show the slope.
const FAR: f64 = 2.5;
/// Confirming runs at each of the two: at least, and at most before the place is checked again.
const CONFIRM_MIN: usize = 3;
const CONFIRM_MAX: usize = 8;
/// One-sided significance of each look at the confirming runs; there are up to six.
const SIGNIFICANCE: f64 = 0.02;
/// Probes of a search, at most.
const PROBES_MAX: u32 = 16;
/// Runs of a search, at most.
pub const RUNS_MAX: u32 = 48;

/// Next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchStep {
    /// A short run at the rate of this index.
    Probe(usize),
    /// A run of the full length.
    Confirm(usize),
    /// It has ended.
    End(LimitFound),
}

/// A search among rising rates.
///
/// Probes close in on the rate at which a monotone fit of the used share of the limit crosses it. Then confirming runs
/// at a rate below and one above are pooled until both lie on their sides by more than chance (Student's t on the
/// logarithm, with the scatter of the runs at both rates). All runs of a point count, so that one that was disturbed is
/// outvoted by those that follow.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    rates: &'a [f64],
    observations: Vec<Observation>,
    /// The points that are being confirmed.
    pair: Option<Pair>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    holds: Option<usize>,
    fails: Option<usize>,
    /// Confirming runs of it so far at each of the two, since it was chosen.
    runs: (usize, usize),
}

/// Where a pooled figure lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Below,
    Above,
    Unclear,
}

impl<'a> Search<'a> {
    /// A search among these rates, which ascend and are within the capacity of the target; at least one.
    pub fn new(rates: &'a [f64]) -> Self {
        Self { rates, observations: Vec::new(), pair: None }
    }

    /// Adds a run that was made.
    pub fn observe(&mut self, observation: Observation) {
        if let (true, Some(pair)) = (observation.is_confirming, &mut self.pair) {
            pair.runs.0 += usize::from(pair.holds == Some(observation.point));
            pair.runs.1 += usize::from(pair.fails == Some(observation.point));
        }
        self.observations.push(observation);
    }

    /// The next run, or the end of the search.
    pub fn due(&mut self) -> SearchStep {
        if self.observations.len() as u32 >= RUNS_MAX {
            return self.end(false);
        }
        if let Some(pair) = self.pair {
            if let Some(next) = self.confirm(pair) {
                return self.unless_exploring(next);
            }
            self.pair = None;
        }
        let probes = self.observations.iter().filter(|run| !run.is_confirming).count() as u32;
        match self.place() {
            Place::Probe(point) if probes < PROBES_MAX => SearchStep::Probe(point),
            Place::Probe(point) | Place::At(point) => {
                let pair = self.pair_around(point);
                self.pair = Some(pair);
                let point = pair.holds.or(pair.fails).unwrap_or(0);
                self.unless_exploring(SearchStep::Confirm(point))
            }
        }
    }

    /// The last runs of a search that has no answer yet are at much lower rates.
    fn unless_exploring(&self, next: SearchStep) -> SearchStep {
        let left = RUNS_MAX as usize - self.observations.len();
        match (next, self.pair) {
            (SearchStep::Confirm(_), Some(Pair { holds: Some(holds), fails: Some(_), .. })) if left <= EXPLORE => {
                SearchStep::Probe(self.index_of(self.rates[holds] * EXPLORED_SHARES[left % 2]))
            }
            (next, _) => next,
        }
    }

    /// The next run of a pair, or the end; `None` if the answer is elsewhere.
    fn confirm(&mut self, pair: Pair) -> Option<SearchStep> {
        let sides = [pair.holds, pair.fails].map(|point| point.map(|point| self.side(point, pair)));
        let is_enough = pair.holds.is_none_or(|_| pair.runs.0 >= CONFIRM_MIN)
            && pair.fails.is_none_or(|_| pair.runs.1 >= CONFIRM_MIN);
        let is_on_their_sides =
            sides[0].is_none_or(|side| side == Side::Below) && sides[1].is_none_or(|side| side == Side::Above);
        if is_enough && is_on_their_sides {
            return Some(self.end(true));
        }
        if sides[0] == Some(Side::Above) || sides[1] == Some(Side::Below) {
            return None;
        }
        // All runs together may have moved the crossing out of the pair.
        if pair.runs.0 == pair.runs.1 && pair.runs.0 > 0 && pair.runs.0 < CONFIRM_MIN {
            let is_within = |holding| {
                pair.holds.is_none_or(|holds| holding > holds) && pair.fails.is_none_or(|fails| holding <= fails)
            };
            if !matches!(self.place(), Place::At(holding) if is_within(holding)) {
                return None;
            }
        }
        // The one with fewer runs; the order of the two alternates, so that slow changes cancel out.
        let runs = pair.runs;
        let first = match (pair.holds, pair.fails) {
            (Some(holds), Some(fails)) => {
                let is_turned = runs.0.min(runs.1) % 2 == 1;
                match runs.0.cmp(&runs.1) {
                    std::cmp::Ordering::Greater => fails,
                    std::cmp::Ordering::Equal if is_turned => fails,
                    std::cmp::Ordering::Less | std::cmp::Ordering::Equal => holds,
                }
            }
            (holds, fails) => holds.or(fails)?,
        };
        (runs.0.max(runs.1) < CONFIRM_MAX || runs.0 != runs.1 && pair.holds.is_some() && pair.fails.is_some())
            .then_some(SearchStep::Confirm(first))
    }

    fn end(&self, is_confirmed: bool) -> SearchStep {
        let pair = self.pair.unwrap_or_else(|| {
            let (Place::Probe(point) | Place::At(point)) = self.place();
            self.pair_around(point)
        });
        let noise = if is_confirmed { None } else { noise::range(&self.observations, self.rates) };
        SearchStep::End(LimitFound {
            holds: pair.holds,
            fails: pair.fails,
            is_confirmed,
            noise,
            ..LimitFound::default()
        })
    }

    /// Two rates around the crossing, whose index counts the rates that hold.
    fn pair_around(&self, holding: usize) -> Pair {
        let last = self.rates.len() - 1;
        let holds = if holding > last { Some(last) } else { holding.checked_sub(ASIDE) };
        let fails = (holding <= last).then(|| (holding + ASIDE).min(last));
        // At the lower end no rate holds.
        let fails = if holds.is_none() { Some(holding.min(last)) } else { fails.filter(|fails| Some(*fails) > holds) };
        Pair { holds, fails, runs: (0, 0) }
    }

    /// All runs of each point that was tried: its index, their used share of the limit, and their weight.
    fn pooled(&self) -> Vec<(usize, f64, f64)> {
        let mut points: Vec<usize> = self.observations.iter().map(|run| run.point).collect();
        points.sort_unstable();
        points.dedup();
        let pool = |point: usize| {
            let runs = || self.observations.iter().filter(move |run| run.point == point);
            let weight: f64 = runs().map(|run| run.sample.intended_starts.max(1) as f64).sum();
            let used: f64 = runs().map(|run| used(&run.sample) * run.sample.intended_starts.max(1) as f64).sum();
            // A second, so that rates weigh alike.
            (point, (used / weight).max(USED_MIN).ln(), weight / self.rates[point])
        };
        points.into_iter().map(pool).collect()
    }

    fn place(&self) -> Place {
        let pooled = self.pooled();
        if pooled.is_empty() {
            return Place::Probe(self.index_of(self.rates[self.rates.len() - 1] / 2.0));
        }
        let values: Vec<f64> = pooled.iter().map(|(_, used, _)| *used).collect();
        let weights: Vec<f64> = pooled.iter().map(|(.., weight)| *weight).collect();
        let fitted = isotonic(&values, &weights);
        let holding = fitted.iter().take_while(|used| **used <= 0.0).count();
        let last = self.rates.len() - 1;
        let rate = |index: usize| self.rates[pooled[index].0];
        if holding == pooled.len() {
            let highest = pooled[pooled.len() - 1].0;
            // All hold: towards the top, half of what is left at a time.
            let middle = self.index_of(f64::midpoint(self.rates[highest], self.rates[last]));
            return if highest == last { Place::At(last + 1) } else { Place::Probe(middle.max(highest + 1)) };
        }
        if holding == 0 {
            let lowest = pooled[0].0;
            return if lowest == 0 {
                Place::At(0)
            } else {
                Place::Probe(self.index_of(self.rates[lowest] / 2.0).min(lowest - 1))
            };
        }
        let (below, above) = (rate(holding - 1), rate(holding));
        let (low, high) = (fitted[holding - 1], fitted[holding]);
        // Where the line between the two crosses the limit, which is 0.
        let share = if high - low > 0.0 { -low / (high - low) } else { 0.5 };
        if above / below <= CLOSE {
            let crossing = below * (above / below).powf(share.clamp(0.0, 1.0));
            let crossing = self.crossing_near(&pooled, crossing).unwrap_or(crossing);
            return Place::At(self.rates.partition_point(|rate| *rate <= crossing));
        }
        let next = self.index_of(below * (above / below).powf(share.clamp(0.3, 0.7)));
        Place::Probe(next.clamp(pooled[holding - 1].0 + 1, pooled[holding].0 - 1))
    }

    /// Where the least-squares line through the points near a first estimate crosses the limit; `None` if they do not
    /// rise. The logarithm of the share of I/Os beyond a limit is a line over the rate for a queue (M/M/1: minus the
    /// limit times what is left of the capacity), and nearly so for others.
    fn crossing_near(&self, pooled: &[(usize, f64, f64)], crossing: f64) -> Option<f64> {
        let is_near = |rate: f64| crossing / NEAR <= rate && rate <= crossing * NEAR;
        let near: Vec<(f64, f64, f64)> = pooled
            .iter()
            .map(|&(point, used, weight)| (self.rates[point], used, weight))
            .filter(|(rate, used, _)| is_near(*rate) && used.abs() < FAR)
            .collect();
        if near.len() < 3 {
            return None;
        }
        let sum: f64 = near.iter().map(|(.., weight)| weight).sum();
        let mean_rate = near.iter().map(|(rate, _, weight)| rate * weight).sum::<f64>() / sum;
        let mean_used = near.iter().map(|(_, used, weight)| used * weight).sum::<f64>() / sum;
        let spread: f64 = near.iter().map(|(rate, _, weight)| weight * (rate - mean_rate).powi(2)).sum();
        let product = |(rate, used, weight): &(f64, f64, f64)| weight * (rate - mean_rate) * (used - mean_used);
        let slope = near.iter().map(product).sum::<f64>() / spread;
        let found = mean_rate - mean_used / slope;
        (slope > 0.0 && is_near(found)).then_some(found)
    }

    /// The index of the highest rate that does not exceed this one.
    fn index_of(&self, rate: f64) -> usize {
        self.rates.partition_point(|known| *known <= rate).saturating_sub(1)
    }

    /// Where the confirming runs at a point lie together.
    fn side(&self, point: usize, pair: Pair) -> Side {
        let shares_used = |point: usize| -> Vec<f64> {
            let runs = self.observations.iter().filter(|run| run.is_confirming && run.point == point);
            runs.map(|run| used(&run.sample)).collect()
        };
        let runs = shares_used(point);
        let both: Vec<Vec<f64>> = [pair.holds, pair.fails].into_iter().flatten().map(shares_used).collect();
        // Relative scatter of a run, from both rates.
        let (mut squares, mut freedom) = (0.0, 0.0);
        for runs in both.iter().filter(|runs| runs.len() > 1) {
            let centre = mean(runs).max(USED_MIN);
            squares += runs.iter().map(|used| (used / centre - mean(runs) / centre).powi(2)).sum::<f64>();
            freedom += runs.len() as f64 - 1.0;
        }
        if runs.len() < 2 {
            return Side::Unclear;
        }
        let error = (squares / freedom).sqrt().max(SCATTER_MIN) / (runs.len() as f64).sqrt();
        let used = mean(&runs).max(USED_MIN).ln();
        let limit = error * student(freedom).inverse_cdf(1.0 - SIGNIFICANCE);
        match used {
            used if used + limit < 0.0 => Side::Below,
            used if used - limit > 0.0 => Side::Above,
            _ => Side::Unclear,
        }
    }
}

/// Runs vary at least this much.
const SCATTER_MIN: f64 = 0.02;
enum Place {
    /// Too little is known: this point adds most.
    Probe(usize),
    /// Number of the rates that hold.
    At(usize),
}
