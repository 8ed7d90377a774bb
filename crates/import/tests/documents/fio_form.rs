//! Results written as fio's JSON are read back with the same figures.

use crate::generated;
use import::fio;
use model::figures::{Directions, Figures, LatencyDistribution, LatencyFigures};
use model::operation::Operation;
use model::result::{Measured, RunResult};
use proptest::prelude::*;
use serde_json::Value;

fn written(result: &RunResult) -> Vec<u8> {
    let mut bytes = Vec::new();
    render::fio(result, &mut bytes).expect("a vector takes everything");
    bytes
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= a.abs() * 1e-12
}

/// Extremes may be known only for the distribution.
fn same_moments(a: Option<LatencyFigures>, b: Option<LatencyFigures>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    close(a.mean_ns, b.mean_ns) && close(a.std_dev_ns, b.std_dev_ns)
}

/// Bytes per second are whole numbers in fio.
fn same_figures(a: &Figures, b: &Figures) -> bool {
    (a.bytes, a.ios) == (b.bytes, b.ios)
        && (a.bytes_per_s - b.bytes_per_s).abs() <= 0.5
        && close(a.iops, b.iops)
        && same_moments(a.latency, b.latency)
}

/// Percentiles that fio prints are equal; the others are those of its bins, which are at most 1/64 wide.
fn same_distribution(a: Option<&LatencyDistribution>, b: Option<&LatencyDistribution>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let all = a.percentiles.iter().filter(|percentile| percentile.rank_ppb > 0);
    a.count == b.count
        && (a.figures.min_ns, a.figures.max_ns) == (b.figures.min_ns, b.figures.max_ns)
        && stats::fio_form::bins(&a.buckets) == stats::fio_form::bins(&b.buckets)
        && all.into_iter().all(|percentile| {
            let is_named = stats::fio_form::RANKS_PPB.contains(&percentile.rank_ppb);
            let tolerance = if is_named { 0 } else { percentile.value_ns / 64 };
            // Above 17 s is the last bin.
            let is_over = percentile.value_ns > 17_000_000_000;
            b.at(percentile.rank_ppb).is_some_and(|value| is_over || value.abs_diff(percentile.value_ns) <= tolerance)
        })
}

fn by_job(measured: &Measured) -> Vec<(Directions<Figures>, Directions<Option<LatencyDistribution>>)> {
    if measured.streams.is_empty() {
        return vec![(measured.total, measured.total_latency.clone().unwrap_or_default())];
    }
    measured.streams.iter().map(|stream| (stream.figures, stream.latency.clone())).collect()
}

fn same(ours: &Measured, again: &Measured) {
    assert!(ours.elapsed_ns.abs_diff(again.elapsed_ns) <= 500_000 || ours.total.total.ios == 0);
    let found = by_job(again);
    for ((figures, latency), (figures_again, latency_again)) in by_job(ours).iter().zip(&found) {
        let pairs = [(&figures.read, &figures_again.read), (&figures.write, &figures_again.write)];
        assert!(pairs.into_iter().all(|(a, b)| same_figures(a, b)), "{figures:?}\n{figures_again:?}");
        assert!(
            same_distribution(latency.read.as_ref(), latency_again.read.as_ref()),
            "{latency:?}\n{latency_again:?}"
        );
        assert!(
            same_distribution(latency.write.as_ref(), latency_again.write.as_ref()),
            "{latency:?}\n{latency_again:?}"
        );
        assert_eq!((figures.total.ios, figures.total.bytes), (figures_again.total.ios, figures_again.total.bytes));
    }
    let discards = |of: &Measured| of.operations.iter().find(|of| of.operation == Operation::Discard).cloned();
    match (discards(ours).filter(|of| of.figures.ios > 0), discards(again)) {
        (Some(a), Some(b)) => {
            assert!(
                same_figures(&a.figures, &b.figures) && same_distribution(a.latency.as_ref(), b.latency.as_ref()),
                "{a:?}\n{b:?}"
            );
        }
        (a, b) => assert_eq!(a, b),
    }
    match (ours.flushes.filter(|of| of.count > 0), again.flushes) {
        (Some(a), Some(b)) => {
            assert_eq!((a.count, a.after_writes), (b.count, b.after_writes));
            assert!(same_moments(a.latency, b.latency) && (a.p50_ns, a.p99_ns) == (b.p50_ns, b.p99_ns), "{a:?}\n{b:?}");
        }
        (a, b) => assert!(a.is_none() && b.is_none(), "{a:?}\n{b:?}"),
    }
}

fn round_trip(result: &RunResult) {
    let document = written(result);
    let again = fio::read(&document).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&document)));
    assert_eq!(again.time_spans.len(), result.time_spans.len());
    for (ours, again) in result.time_spans.iter().zip(&again.time_spans) {
        let nothing = Measured::default();
        same(ours.measured.as_ref().unwrap_or(&nothing), again.measured.as_ref().expect("figures"));
        assert_eq!(ours.errors.is_empty(), again.errors.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn figures_come_back(result in generated::result()) {
        round_trip(&result);
    }
}

#[test]
fn saved_results_come_back() {
    for saved in
        [&include_bytes!("../json/version-1.json")[..], include_bytes!("../../../../fuzz/corpus/result/run.json")]
    {
        round_trip(&import::json::read(saved).expect("a result"));
    }
}

/// The members that other collectors read, with the names of fio.
#[test]
fn members_have_the_names_and_units_of_fio() {
    let saved = include_bytes!("../../../../fuzz/corpus/result/run.json");
    let result = import::json::read(saved).expect("a result");
    let document: Value = serde_json::from_slice(&written(&result)).expect("JSON");
    let theirs = include_str!("../data/fio/plus.json");
    let theirs: Value = serde_json::from_str(theirs).expect("JSON");
    let (ours, theirs) = (&document["jobs"][0], &theirs["jobs"][0]);
    for name in ["read", "write", "trim", "sync", "latency_ns", "latency_us", "latency_ms"] {
        for (member, value) in theirs[name].as_object().expect("an object") {
            let same_kind = value.is_number() == ours[name][member].is_number();
            assert!(same_kind && !ours[name][member].is_null(), "{name}.{member}: {}", ours[name][member]);
        }
    }
    let total = &result.time_spans[0].measured.as_ref().expect("figures").total;
    let busy = if total.read.ios > 0 { ("read", total.read) } else { ("write", total.write) };
    let number = |name: &str| ours[busy.0][name].as_u64().expect("a number");
    assert_eq!(number("io_kbytes"), busy.1.bytes / 1024);
    assert_eq!(number("bw"), number("bw_bytes") / 1024);
    let shares: f64 = ["latency_ns", "latency_us", "latency_ms"]
        .iter()
        .flat_map(|name| ours[name].as_object().expect("a table").values())
        .filter_map(Value::as_f64)
        .sum();
    assert!(shares.abs() < 1e-6 || (shares - 100.0).abs() < 1e-6, "{shares}");
}
