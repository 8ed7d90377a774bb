//! Streams alone and together.

use crate::preset_rows::median;
use crate::ranks::{P50_PPB, P99_PPB, P999_PPB};
use model::interference::{Interference, StreamHeadline, StreamInRun, StreamInterference};
use model::profile::StreamName;
use model::result::{Measured, StreamFigures};
use model::sweep::{Sweep, Visit};

/// The figures of each stream of a run.
pub fn streams(measured: &Measured) -> Vec<StreamInRun> {
    let headline = |StreamFigures { name, figures, latency, .. }: &StreamFigures| {
        let at = |rank_ppb| Some(latency.total.as_ref()?.at(rank_ppb)? as f64);
        let figures = StreamHeadline {
            iops: figures.total.iops,
            bytes_per_s: figures.total.bytes_per_s,
            mean_ns: figures.total.latency.map(|latency| latency.mean_ns),
            p50_ns: at(P50_PPB),
            p99_ns: at(P99_PPB),
            p999_ns: at(P999_PPB),
        };
        StreamInRun { name: name.clone(), figures }
    };
    measured.streams.iter().map(headline).collect()
}

/// The rounds of a sweep over streams. The last point is that of all streams, each other one that of a stream alone.
struct Rounds<'a> {
    sweep: &'a Sweep,
    /// The point of all together.
    together: usize,
    /// Those that are complete, ascending.
    complete: Vec<u32>,
}

impl<'a> Rounds<'a> {
    /// `None` before the first complete round.
    fn from_sweep(sweep: &'a Sweep) -> Option<Self> {
        let together = sweep.points.len().checked_sub(1)?;
        let last = sweep.visits.iter().map(|visit| visit.run).max()?;
        let mut rounds = Self { sweep, together, complete: Vec::new() };
        let is_complete = |round: &u32| (0..=together).all(|point| rounds.run_of(point, *round).is_some());
        rounds.complete = (0..=last).filter(is_complete).collect();
        (!rounds.complete.is_empty()).then_some(rounds)
    }

    fn run_of(&self, point: usize, round: u32) -> Option<&'a Visit> {
        let is_it = |visit: &&Visit| (visit.point, visit.run) == (point, round) && visit.headline().is_some();
        self.sweep.visits.iter().find(is_it)
    }

    /// The point of a stream alone.
    fn alone_of(&self, name: &StreamName) -> Option<usize> {
        let first = *self.complete.first()?;
        (0..self.together).find(|point| {
            let streams = self.run_of(*point, first).map(|visit| &visit.streams[..]).unwrap_or_default();
            streams.iter().any(|stream| stream.name == *name)
        })
    }

    /// The figures of a stream in a run.
    fn figures(&self, point: usize, round: u32, name: &StreamName) -> Option<StreamHeadline> {
        let found = self.run_of(point, round)?.streams.iter().find(|stream| stream.name == *name)?;
        Some(found.figures)
    }

    /// Its figures in all complete rounds.
    fn all_figures(&self, point: usize, name: &StreamName) -> Vec<StreamHeadline> {
        self.complete.iter().filter_map(|round| self.figures(point, *round, name)).collect()
    }
}

fn ratio(together: f64, alone: f64) -> Option<f64> {
    (alone > 0.0).then(|| together / alone)
}

/// I/Os per second together, in percent of those alone.
fn share_percent(alone: &StreamHeadline, together: &StreamHeadline) -> Option<f64> {
    ratio(together.iops, alone.iops).map(|share| share * 100.0)
}

/// The 99th percentile together divided by that alone.
fn p99_factor(alone: &StreamHeadline, together: &StreamHeadline) -> Option<f64> {
    together.p99_ns.zip(alone.p99_ns).and_then(|(together, alone)| ratio(together, alone))
}

/// The mean latency together divided by that alone; `None` if one of them is unknown.
pub fn mean_factor(alone: &StreamHeadline, together: &StreamHeadline) -> Option<f64> {
    together.mean_ns.zip(alone.mean_ns).and_then(|(together, alone)| ratio(together, alone))
}

/// Result of the complete rounds; `None` before the first of them.
pub fn answer(sweep: &Sweep) -> Option<Interference> {
    let rounds = Rounds::from_sweep(sweep)?;
    let stream_interference = |name: &StreamName| {
        let alone = medians(&rounds.all_figures(rounds.alone_of(name)?, name))?;
        let together = medians(&rounds.all_figures(rounds.together, name))?;
        Some(StreamInterference {
            name: name.clone(),
            alone,
            together,
            iops_share_percent: share_percent(&alone, &together),
            p99_factor: p99_factor(&alone, &together),
        })
    };
    let first = *rounds.complete.first()?;
    let names = rounds.run_of(rounds.together, first)?.streams.iter().map(|stream| &stream.name);
    Some(Interference {
        rounds: rounds.complete.len() as u32,
        streams: names.filter_map(stream_interference).collect(),
    })
}

/// The lowest and the highest figure of a stream in single rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// I/Os per second together, in percent of those alone in the same round.
    pub iops_share_percent: Option<(f64, f64)>,
    /// Mean latency together divided by that alone in the same round.
    pub mean_factor: Option<(f64, f64)>,
    /// 99th percentile together divided by that alone in the same round.
    pub p99_factor: Option<(f64, f64)>,
}

/// How much the rounds differ in a stream; `None` with fewer than two complete rounds.
pub fn spread(sweep: &Sweep, name: &StreamName) -> Option<Spread> {
    let rounds = Rounds::from_sweep(sweep).filter(|rounds| rounds.complete.len() > 1)?;
    let alone_of = rounds.alone_of(name)?;
    let both =
        |round: &u32| Some((rounds.figures(alone_of, *round, name)?, rounds.figures(rounds.together, *round, name)?));
    let pairs: Vec<(StreamHeadline, StreamHeadline)> = rounds.complete.iter().filter_map(both).collect();
    let range = |of: fn(&StreamHeadline, &StreamHeadline) -> Option<f64>| {
        let values: Vec<f64> = pairs.iter().map(|(alone, together)| of(alone, together)).collect::<Option<_>>()?;
        let low = values.iter().copied().min_by(f64::total_cmp)?;
        Some((low, values.iter().copied().max_by(f64::total_cmp)?))
    };
    Some(Spread {
        iops_share_percent: range(share_percent),
        mean_factor: range(mean_factor),
        p99_factor: range(p99_factor),
    })
}

/// The median of each figure; of latencies, `None` if a run lacks it.
fn medians(runs: &[StreamHeadline]) -> Option<StreamHeadline> {
    let known = |of: fn(&StreamHeadline) -> Option<f64>| median(runs.iter().map(of).collect::<Option<_>>()?);
    Some(StreamHeadline {
        iops: known(|run| Some(run.iops))?,
        bytes_per_s: known(|run| Some(run.bytes_per_s))?,
        mean_ns: known(|run| run.mean_ns),
        p50_ns: known(|run| run.p50_ns),
        p99_ns: known(|run| run.p99_ns),
        p999_ns: known(|run| run.p999_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::headline::Headline;
    use model::sweep::{Point, Purpose, VisitOutcome};

    fn stream(name: &str, iops: f64, p99_ns: f64) -> StreamInRun {
        let figures = StreamHeadline { iops, p99_ns: Some(p99_ns), ..StreamHeadline::default() };
        StreamInRun { name: StreamName::parse(name).expect("a name"), figures }
    }

    fn visit(point: usize, run: u32, streams: Vec<StreamInRun>) -> Visit {
        let outcome = VisitOutcome::Measured { file: String::new(), headline: Headline::default() };
        Visit { point, run, purpose: Purpose::Measure, outcome, limit: None, sustained_iops: None, streams }
    }

    fn sweep(visits: Vec<Visit>) -> Sweep {
        Sweep { points: vec![Point::default(); 3], visits, ..Sweep::default() }
    }

    fn round(run: u32, [a, b, a_beside, b_beside]: [(f64, f64); 4]) -> Vec<Visit> {
        let one = |name, (iops, p99_ns): (f64, f64)| stream(name, iops, p99_ns);
        vec![
            visit(0, run, vec![one("a", a)]),
            visit(1, run, vec![one("b", b)]),
            visit(2, run, vec![one("a", a_beside), one("b", b_beside)]),
        ]
    }

    #[test]
    fn shares_and_factors_are_of_medians_over_complete_rounds() {
        let rounds = [
            [(1000.0, 100.0), (50.0, 7.0), (500.0, 400.0), (50.0, 7.0)],
            [(1200.0, 120.0), (50.0, 7.0), (550.0, 440.0), (40.0, 14.0)],
            [(800.0, 80.0), (50.0, 7.0), (600.0, 480.0), (45.0, 21.0)],
        ];
        let mut visits: Vec<Visit> = (0..).zip(rounds).flat_map(|(run, figures)| round(run, figures)).collect();
        // An interrupted round does not count.
        visits.push(visit(0, 3, vec![stream("a", 1.0, 1e9)]));
        let all = sweep(visits);
        let found = answer(&all).expect("complete rounds");
        let [a, b] = &found.streams[..] else { panic!("{found:?}") };
        assert_eq!((found.rounds, a.name.as_str(), b.name.as_str()), (3, "a", "b"));
        assert_eq!((a.alone.iops, a.together.iops), (1000.0, 550.0));
        assert!((a.iops_share_percent.expect("known") - 55.0).abs() < 1e-9);
        assert!((a.p99_factor.expect("known") - 4.4).abs() < 1e-9);
        assert!((b.iops_share_percent.expect("known") - 90.0).abs() < 1e-9);
        assert_eq!(b.p99_factor, Some(2.0));
        assert_eq!(a.alone.mean_ns, None);
        let spread_of = |name: &str| spread(&all, &StreamName::parse(name).expect("a name")).expect("three rounds");
        let rounded = |range: Option<(f64, f64)>| range.map(|(low, high)| (low.round() as i64, high.round() as i64));
        assert_eq!(rounded(spread_of("a").iops_share_percent), Some((46, 75)));
        assert_eq!(rounded(spread_of("b").iops_share_percent), Some((80, 100)));
        assert_eq!(spread_of("b").p99_factor, Some((1.0, 3.0)));
        assert_eq!(spread(&sweep(round(0, rounds[0])), &a.name), None, "one round has no spread");
    }

    #[test]
    fn there_is_no_answer_before_all_runs_of_a_round() {
        assert_eq!(answer(&sweep(Vec::new())), None);
        assert_eq!(answer(&Sweep::default()), None);
        let mut visits = round(0, [(1.0, 1.0); 4]);
        visits.pop();
        assert_eq!(answer(&sweep(visits.clone())), None);
        visits.push(visit(2, 0, vec![stream("a", 0.0, 1.0)]));
        let found = answer(&sweep(visits)).expect("one round");
        assert_eq!(found.streams[0].iops_share_percent, Some(0.0));
    }
}
