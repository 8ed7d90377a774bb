//! The few figures of a timespan by which runs are compared.

use crate::ranks::{P50_PPB, P90_PPB, P99_PPB, P999_PPB};
use crate::{metrics, own_limits};
use model::engine_kind::EngineKind;
use model::figures::{Directions, Figures, LatencyDistribution, Summary};
use model::finding::{Finding, Severity};
use model::headline::{Headline, ScopedLatency};
use model::limit::Limit;
use model::metric::{Metric, MetricName, Scope};
use model::profile::TimeSpan;
use model::result::{LoadLoop, RunResult, TimeSpanResult};
use model::verdict::Verdict;

/// The main figures; `None` if the timespan has none.
pub fn summary(result: &TimeSpanResult) -> Option<Directions<Summary>> {
    let measured = result.measured.as_ref()?;
    let summarize = |figures: &Figures, latencies: Option<&LatencyDistribution>| {
        let rank = |rank_ppb| latencies?.at(rank_ppb);
        Summary {
            iops: figures.iops,
            bytes_per_s: figures.bytes_per_s,
            mean_ns: figures.latency.map(|latency| latency.mean_ns),
            outstanding: figures.latency.map(|latency| figures.iops * latency.mean_ns / 1e9),
            p50_ns: rank(P50_PPB),
            p90_ns: rank(P90_PPB),
            p99_ns: rank(P99_PPB),
            p999_ns: rank(P999_PPB),
            max_ns: figures.latency.and_then(|latency| latency.max_ns),
        }
    };
    let latencies = measured.total_latency.as_ref();
    let mut total = summarize(&measured.total.total, latencies.and_then(|latencies| latencies.total.as_ref()));
    // Operations without data occupy requests too.
    for figures in measured.operations.iter().map(|of| &of.figures) {
        let Some(latency) = figures.latency else { continue };
        total.outstanding = Some(total.outstanding.unwrap_or(0.0) + figures.iops * latency.mean_ns / 1e9);
    }
    Some(Directions {
        read: summarize(&measured.total.read, latencies.and_then(|latencies| latencies.read.as_ref())),
        write: summarize(&measured.total.write, latencies.and_then(|latencies| latencies.write.as_ref())),
        total,
    })
}

/// Puts the main figures into a result.
pub fn summarise(span: Option<&TimeSpan>, result: &mut TimeSpanResult) {
    result.summary = summary(result);
    result.metrics = span.map(|span| metrics::all(span, result)).unwrap_or_default();
}

/// The headline of the first timespan of a run, with the latencies that the application waits for and those that are
/// limited; `None` if it has no figures.
pub fn run_headline(result: &RunResult, limits: &[Limit]) -> Option<Headline> {
    time_span_headline(result, 0, limits)
}

/// The headline of a timespan by its index.
pub fn time_span_headline(result: &RunResult, index: usize, limits: &[Limit]) -> Option<Headline> {
    let span_result = result.time_spans.get(index)?;
    let mut scopes = result.profile.time_spans.get(index).map(Scope::waited_for).unwrap_or_default();
    for limit in limits.iter().filter(|limit| limit.figure.needs_latency()) {
        if !scopes.contains(&limit.scope) {
            scopes.push(limit.scope);
        }
    }
    let latency = |scope: &Scope| {
        let value = |metric| metrics::value(&MetricName { stream: None, scope: *scope, metric }, span_result);
        ScopedLatency {
            scope: *scope,
            mean_ns: value(Metric::Mean),
            p50_ns: value(Metric::P50),
            p99_ns: value(Metric::P99),
            p999_ns: value(Metric::P999),
        }
    };
    let waited_for = scopes.iter().filter(|scope| **scope != Scope::All).map(latency).collect();
    let is_rate_limited = own_limits::is_run_rate_limited(result);
    Some(Headline { waited_for, is_rate_limited, ..headline(span_result)? })
}

/// The headline of a timespan; `None` if it has no figures.
pub fn headline(span_result: &TimeSpanResult) -> Option<Headline> {
    let measured = span_result.measured.as_ref()?;
    let Figures { ios, iops, bytes_per_s, latency, .. } = measured.total.total;
    let latencies = measured.total_latency.as_ref().and_then(|latencies| latencies.total.as_ref());
    let (depth, response) = match &measured.load_loop {
        Some(LoadLoop::Closed { depth }) => (Some(*depth), None),
        Some(LoadLoop::Open(open)) => (Some(open.depth), open.response_time.total.as_ref()),
        None => (None, None),
    };
    let rank = |latencies: Option<&LatencyDistribution>, rank_ppb| latencies?.at(rank_ppb);
    let verdict = span_result.verdict.as_ref();
    let ([warnings, warning_figures, warning_advice], warning_values) =
        verdict.map(|verdict| named(verdict, WARNINGS)).unwrap_or_default();
    let ([notes, note_figures, note_advice], note_values) =
        verdict.map(|verdict| named(verdict, NOTES)).unwrap_or_default();
    let writes = measured.total.write.ios;
    Some(Headline {
        ios,
        iops,
        write_share: if ios == 0 { 0.0 } else { writes as f64 / ios as f64 },
        bytes_per_s,
        mean_ns: latency.map(|latency| latency.mean_ns),
        p50_ns: rank(latencies, P50_PPB),
        p99_ns: rank(latencies, P99_PPB),
        p999_ns: rank(latencies, P999_PPB),
        response_mean_ns: response.map(|response| response.figures.mean_ns),
        response_p50_ns: rank(response, P50_PPB),
        response_p99_ns: rank(response, P99_PPB),
        response_p999_ns: rank(response, P999_PPB),
        waited_for: Vec::new(),
        is_rate_limited: false,
        cpu_percent: measured.cpu_average.usage_percent,
        io_cpu_percent: metrics::value(&MetricName::bare(Metric::IoCpu), span_result),
        threads: measured.thread_count,
        depth,
        engines: EngineKind::ALL.into_iter().filter(|engine| span_result.engines.contains(engine)).collect(),
        severity: verdict.and_then(Verdict::severity),
        warnings,
        warning_figures,
        warning_advice,
        warning_values,
        notes,
        note_figures,
        note_advice,
        note_values,
    })
}

const WARNINGS: fn(Severity) -> bool = |severity| severity >= Severity::Warn;
const NOTES: fn(Severity) -> bool = |severity| severity == Severity::Note;

/// Names, figures and advice of the findings of some severities, and their values; of findings of one name, the first.
fn named(verdict: &Verdict, is_wanted: fn(Severity) -> bool) -> ([Vec<String>; 3], Vec<Option<f64>>) {
    let mut found: Vec<&Finding> = verdict.findings.iter().filter(|finding| is_wanted(finding.severity)).collect();
    found.dedup_by_key(|finding| &finding.name);
    let each = |of: fn(&Finding) -> &String| found.iter().map(|finding| of(finding).clone()).collect();
    let words = [each(|finding| &finding.name), each(|finding| &finding.figure), each(|finding| &finding.advice)];
    (words, found.iter().map(|finding| finding.value).collect())
}
