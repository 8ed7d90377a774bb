//! The part of a load's latency that is spent in the RPCs of a network share.

use super::foreign_text::text;
use super::quantity::{latency, significant};
use model::metric::Metric;
use model::result::RunResult;

/// RPCs per I/O that count as one each: the requests of others and rounding make the difference.
const ONE_EACH: std::ops::RangeInclusive<f64> = 0.9..=1.1;

/// A sentence on the first timespan of a side's runs; `None` unless it was on exactly one share whose RPCs are timed.
pub(crate) fn of_latency(name: &str, results: &[RunResult]) -> Option<String> {
    let runs: Vec<Times> = results.iter().map(times).collect::<Option<_>>()?;
    let mean = |figure: fn(&Times) -> f64| runs.iter().map(figure).sum::<f64>() / runs.len() as f64;
    if runs.is_empty() {
        return None;
    }
    let per_io = mean(|run| run.rpcs_per_io);
    let others = (!ONE_EACH.contains(&per_io)).then(|| format!("; {} RPCs per I/O", significant(per_io)));
    Some(format!(
        "{}: of a mean latency of {}, an RPC takes {} to the server and back, and waits {} to be sent{}.",
        text(name),
        latency(mean(|run| run.latency_ns)),
        latency(mean(|run| run.round_trip_ns)),
        latency(mean(|run| run.queue_ns)),
        others.unwrap_or_default()
    ))
}

/// Means of a run.
struct Times {
    latency_ns: f64,
    round_trip_ns: f64,
    /// Time before an RPC is sent.
    queue_ns: f64,
    rpcs_per_io: f64,
}

fn times(result: &RunResult) -> Option<Times> {
    let span = result.time_spans.first()?;
    let headline = stats::headline(span)?;
    let [share] = &span.measured.as_ref()?.shares[..] else { return None };
    let total = &share.mean.total;
    let rpc = total.rpc?;
    Some(Times {
        latency_ns: headline.value(Metric::Mean)?,
        round_trip_ns: rpc.round_trip_mean_ns?,
        queue_ns: rpc.queue_mean_ns?,
        rpcs_per_io: total.iops / headline.iops,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::{Directions, Figures, LatencyFigures};
    use model::result::{Measured, TimeSpanResult};
    use model::storage_course::{RpcFigures, ShareCourse, ShareFigures, ShareTransfers};

    /// A run of 1000 I/Os per second of 2.5 ms, with this many RPCs.
    fn run(rpcs_per_s: f64) -> RunResult {
        let rpc = RpcFigures {
            execute_mean_ns: Some(2.2e6),
            queue_mean_ns: Some(0.3e6),
            round_trip_mean_ns: Some(1.9e6),
            retransmissions_per_s: 0.0,
        };
        let total = ShareTransfers { iops: rpcs_per_s, bytes_per_s: 0.0, rpc: Some(rpc) };
        let mean = ShareFigures { total, ..ShareFigures::default() };
        let latency = Some(LatencyFigures { mean_ns: 2.5e6, ..LatencyFigures::default() });
        let total = Figures { ios: 60_000, iops: 1000.0, latency, ..Figures::default() };
        let measured = Measured {
            total: Directions { total, ..Directions::default() },
            shares: vec![ShareCourse { mean, ..ShareCourse::default() }],
            ..Measured::default()
        };
        let time_spans = vec![TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() }];
        RunResult { time_spans, ..RunResult::default() }
    }

    #[test]
    fn a_share_splits_its_latency_and_local_storage_has_none() {
        let sentence = |runs: &[RunResult]| of_latency("nas", runs);
        let once =
            "nas: of a mean latency of 2.5 ms, an RPC takes 1.9 ms to the server and back, and waits 300 µs to be sent";
        assert_eq!(sentence(&[run(1000.0)]), Some(format!("{once}.")));
        assert_eq!(sentence(&[run(4000.0), run(4000.0)]), Some(format!("{once}; 4 RPCs per I/O.")));
        let mut local = run(1000.0);
        local.time_spans[0].measured.as_mut().expect("figures").shares.clear();
        assert_eq!(sentence(&[local.clone()]), None);
        assert_eq!(sentence(&[run(1000.0), local]), None);
        assert_eq!(sentence(&[]), None);
    }
}
