//! Streams alone and together.

use crate::headline::{P50_PPB, P99_PPB, P999_PPB};
use crate::preset_rows::median;
use model::interference::{Interference, StreamHeadline, StreamInRun, StreamInterference};
use model::profile::StreamName;
use model::result::{Measured, StreamFigures};
use model::sweep::{Sweep, Visit};

/// The figures of each stream of a run.
pub fn streams(measured: &Measured) -> Vec<StreamInRun> {
    let of = |StreamFigures { name, figures, latency, .. }: &StreamFigures| {
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
    measured.streams.iter().map(of).collect()
}

/// What the complete rounds say. The last point is that of all streams, each other one that of a stream alone. `None`
/// before the first complete round.
pub fn answer(sweep: &Sweep) -> Option<Interference> {
    let together = sweep.points.len().checked_sub(1)?;
    let run_of = |point: usize, round: u32| -> Option<&Visit> {
        let is_it = |visit: &&Visit| (visit.point, visit.run) == (point, round) && visit.headline().is_some();
        sweep.visits.iter().find(is_it)
    };
    let is_complete = |round: &u32| (0..=together).all(|point| run_of(point, *round).is_some());
    let last = sweep.visits.iter().map(|visit| visit.run).max()?;
    let rounds: Vec<u32> = (0..=last).filter(is_complete).collect();
    let first = *rounds.first()?;
    let median_of = |point: usize, name: &StreamName| {
        let figures = |round: &u32| {
            let found = run_of(point, *round)?.streams.iter().find(|stream| stream.name == *name)?;
            Some(found.figures)
        };
        medians(&rounds.iter().filter_map(figures).collect::<Vec<_>>())
    };
    let alone_of = |name: &StreamName| {
        (0..together).find(|point| {
            let streams = run_of(*point, first).map(|visit| &visit.streams[..]).unwrap_or_default();
            streams.iter().any(|stream| stream.name == *name)
        })
    };
    let of = |name: &StreamName| {
        let (alone, together) = (median_of(alone_of(name)?, name)?, median_of(together, name)?);
        let ratio = |together: f64, alone: f64| (alone > 0.0).then(|| together / alone);
        Some(StreamInterference {
            name: name.clone(),
            alone,
            together,
            iops_share_percent: ratio(together.iops, alone.iops).map(|share| share * 100.0),
            p99_factor: together.p99_ns.zip(alone.p99_ns).and_then(|(together, alone)| ratio(together, alone)),
        })
    };
    let names = run_of(together, first)?.streams.iter().map(|stream| &stream.name);
    Some(Interference { rounds: rounds.len() as u32, streams: names.filter_map(of).collect() })
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
        // One that was interrupted says nothing.
        visits.push(visit(0, 3, vec![stream("a", 1.0, 1e9)]));
        let found = answer(&sweep(visits)).expect("complete rounds");
        let [a, b] = &found.streams[..] else { panic!("{found:?}") };
        assert_eq!((found.rounds, a.name.as_str(), b.name.as_str()), (3, "a", "b"));
        assert_eq!((a.alone.iops, a.together.iops), (1000.0, 550.0));
        assert!((a.iops_share_percent.expect("known") - 55.0).abs() < 1e-9);
        assert!((a.p99_factor.expect("known") - 4.4).abs() < 1e-9);
        assert!((b.iops_share_percent.expect("known") - 90.0).abs() < 1e-9);
        assert_eq!(b.p99_factor, Some(2.0));
        assert_eq!(a.alone.mean_ns, None);
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
