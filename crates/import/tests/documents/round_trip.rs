//! Written documents are read back: every figure, with the precision of the document.

use crate::generated;
use crate::{text, xml};
use model::confidence::{HalfWidths, Interval, PercentileHalfWidth};
use model::figures::{Directions, Figures, IntervalFigures, LatencyDistribution, LatencyFigures, RotationFigures};
use model::result::{CpuUsage, LoadLoop, Measured, OpenLoop, RampInterval, TimeSpanResult};
use model::units::mib;
use proptest::prelude::*;

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance + a.abs() * 1e-12
}

/// Milliseconds have three decimals.
fn same_ns(a: f64, b: f64) -> bool {
    near(a, b, 500.1)
}

fn same_latency(a: Option<LatencyFigures>, b: Option<LatencyFigures>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => same_ns(a.mean_ns, b.mean_ns) && same_ns(a.std_dev_ns, b.std_dev_ns),
        _ => false,
    }
}

fn same_figures(a: &Figures, b: &Figures) -> bool {
    let same_deviation = match (a.iops_std_dev, b.iops_std_dev) {
        (Some(a), Some(b)) => near(a, b, 0.000_51),
        (a, b) => a.is_none() && b.is_none(),
    };
    (a.bytes, a.ios) == (b.bytes, b.ios)
        && near(mib(a.bytes_per_s), mib(b.bytes_per_s), 1e-9)
        && near(a.iops, b.iops, 1e-9)
        && same_deviation
        && same_latency(a.latency, b.latency)
}

/// Totals are not in the document: latencies are pooled from rounded means and deviations, whose errors add up.
fn same_totals(a: &Figures, b: &Figures) -> bool {
    let counts = |of: &Figures| Figures { latency: None, ..*of };
    let mean_ns = |of: &Figures| of.latency.map(|known| known.mean_ns);
    let std_dev_ns = |of: &Figures| of.latency.map(|known| known.std_dev_ns);
    same_figures(&counts(a), &counts(b))
        && same_option(mean_ns(a), mean_ns(b), same_ns)
        && same_option(std_dev_ns(a), std_dev_ns(b), |a, b| near(a, b, 1000.1))
}

fn same_interval(a: &IntervalFigures, b: &IntervalFigures) -> bool {
    let extreme = |ns: Option<u64>| ns.map(|ns| ns as f64);
    let same_extremes = |a: LatencyFigures, b: LatencyFigures| {
        [(a.min_ns, b.min_ns), (a.max_ns, b.max_ns)].into_iter().all(|(a, b)| match (extreme(a), extreme(b)) {
            (Some(a), Some(b)) => same_ns(a, b),
            _ => false,
        })
    };
    a.ios == b.ios
        && near(a.iops, b.iops, 0.5)
        && same_latency(a.latency, b.latency)
        && Option::zip(a.latency, b.latency).is_none_or(|(a, b)| same_extremes(a, b))
}

fn same_distribution(a: Option<&LatencyDistribution>, b: Option<&LatencyDistribution>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let percentiles = a.percentiles.iter().zip(&b.percentiles);
    (a.count, a.distinct_values, a.percentiles.len()) == (b.count, b.distinct_values, b.percentiles.len())
        && same_latency(Some(a.figures), Some(b.figures))
        && same_ns(a.figures.min_ns.unwrap_or(1) as f64, b.figures.min_ns.unwrap_or(0) as f64)
        && same_ns(a.figures.max_ns.unwrap_or(1) as f64, b.figures.max_ns.unwrap_or(0) as f64)
        && percentiles
            .into_iter()
            .all(|(a, b)| a.rank_ppb == b.rank_ppb && same_ns(a.value_ns as f64, b.value_ns as f64))
}

/// The same test for reads, writes and both.
fn each<T>(a: &Directions<T>, b: &Directions<T>, same: impl Fn(&T, &T) -> bool) -> bool {
    same(&a.read, &b.read) && same(&a.write, &b.write) && same(&a.total, &b.total)
}

fn same_latencies(a: &Directions<Option<LatencyDistribution>>, b: &Directions<Option<LatencyDistribution>>) -> bool {
    each(a, b, |a, b| same_distribution(a.as_ref(), b.as_ref()))
}

fn same_series(a: &[Directions<IntervalFigures>], b: &[Directions<IntervalFigures>]) -> bool {
    // Latency of both kinds is pooled from rounded figures.
    let same = |(a, b): (&Directions<IntervalFigures>, &Directions<IntervalFigures>)| {
        same_interval(&a.read, &b.read) && same_interval(&a.write, &b.write) && a.total.ios == b.total.ios
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

fn same_loop(a: Option<&LoadLoop>, b: Option<&LoadLoop>) -> bool {
    let (Some(LoadLoop::Open(a)), Some(LoadLoop::Open(b))) = (a, b) else { return a == b };
    let counts = |open: &OpenLoop| {
        (open.depth, open.rate_iops, open.process, open.intended_starts, open.backlog, open.delayed_by_depth)
    };
    counts(a) == counts(b)
        && same_ns(a.lateness_mean_ns, b.lateness_mean_ns)
        && same_ns(a.lateness_max_ns as f64, b.lateness_max_ns as f64)
        && a.ramp.len() == b.ramp.len()
        && a.ramp.iter().zip(&b.ramp).all(|(a, b)| same_part(a, b))
        && same_latencies(&a.response_time, &b.response_time)
        && same_half_widths(a.response_time_confidence.as_ref(), b.response_time_confidence.as_ref())
}

fn same_part(a: &RampInterval, b: &RampInterval) -> bool {
    let exact = |part: &RampInterval| (part.start_ns, part.end_ns, part.offered_iops.to_bits(), part.iops.to_bits());
    let p99_ns = |part: &RampInterval| part.response_p99_ns.map(|ns| ns as f64);
    exact(a) == exact(b)
        && same_option(a.response_mean_ns, b.response_mean_ns, same_ns)
        && same_option(p99_ns(a), p99_ns(b), same_ns)
}

fn same_half_widths(a: Option<&HalfWidths>, b: Option<&HalfWidths>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let ends = |found: Option<Interval>| (found.map(|found| found.low), found.map(|found| found.high));
    let same_interval = |a: Option<Interval>, b: Option<Interval>, same: fn(f64, f64) -> bool| {
        let ((a_low, a_high), (b_low, b_high)) = (ends(a), ends(b));
        same_option(a_low, b_low, same) && same_option(a_high, b_high, same)
    };
    let same_rank = |(a, b): (&PercentileHalfWidth, &PercentileHalfWidth)| {
        a.rank_ppb == b.rank_ppb
            && same_ns(a.half_width_ns, b.half_width_ns)
            && same_interval(a.interval_ns, b.interval_ns, same_ns)
    };
    let same_rate = |a, b| near(a, b, 0.0051);
    let same_mib = |a, b| near(mib(a), mib(b), 0.0051);
    same_option(a.iops, b.iops, same_rate)
        && same_option(a.bytes_per_s, b.bytes_per_s, same_mib)
        && same_option(a.latency_mean_ns, b.latency_mean_ns, same_ns)
        && same_interval(a.iops_interval, b.iops_interval, same_rate)
        && same_interval(a.bytes_per_s_interval, b.bytes_per_s_interval, same_mib)
        && same_interval(a.latency_mean_interval_ns, b.latency_mean_interval_ns, same_ns)
        && a.withheld.is_some() == b.withheld.is_some()
        && a.percentiles.len() == b.percentiles.len()
        && a.percentiles.iter().zip(&b.percentiles).all(same_rank)
}

fn same_option(a: Option<f64>, b: Option<f64>, same: impl Fn(f64, f64) -> bool) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same(a, b),
        (a, b) => a == b,
    }
}

fn same_rotations(a: Option<RotationFigures>, b: Option<RotationFigures>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let real = |ns: Option<u64>| ns.map(|ns| ns as f64);
    a.count == b.count
        && same_ns(a.total_ns as f64, b.total_ns as f64)
        && same_option(real(a.max_ns), real(b.max_ns), same_ns)
        && near(a.time_percent, b.time_percent, 0.0051)
}

fn check_measured(a: &Measured, b: &Measured) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.elapsed_ns, b.elapsed_ns);
    prop_assert_eq!(a.is_partial, b.is_partial);
    prop_assert!(same_rotations(a.rotations, b.rotations), "{:?} {:?}", a.rotations, b.rotations);
    prop_assert_eq!((a.thread_count, a.request_count), (b.thread_count, b.request_count));
    prop_assert_eq!(&a.effective_affinity, &b.effective_affinity);
    prop_assert_eq!(&a.mixed_cores, &b.mixed_cores);
    prop_assert_eq!(a.cpus.len(), b.cpus.len());
    let columns =
        |usage: &CpuUsage| [usage.usage_percent, usage.user_percent, usage.kernel_percent, usage.idle_percent];
    for (a, b) in a.cpus.iter().chain([&a.cpu_average]).zip(b.cpus.iter().chain([&b.cpu_average])) {
        prop_assert_eq!(a.cpu, b.cpu);
        prop_assert!(columns(a).into_iter().zip(columns(b)).all(|(a, b)| near(a, b, 0.0051)));
    }
    prop_assert_eq!(&a.distributions, &b.distributions);
    prop_assert_eq!(a.rows.len(), b.rows.len());
    for (a, b) in a.rows.iter().zip(&b.rows) {
        prop_assert_eq!((a.thread, a.target, &a.path), (b.thread, b.target, &b.path));
        prop_assert_eq!((a.target_size_bytes, a.distribution), (b.target_size_bytes, b.distribution));
        prop_assert!(each(&a.figures, &b.figures, same_figures), "{:?}\n{:?}", a.figures, b.figures);
        prop_assert!(same_series(&a.intervals, &b.intervals), "{:?}\n{:?}", a.intervals, b.intervals);
    }
    prop_assert!(each(&a.total, &b.total, same_figures), "{:?}\n{:?}", a.total, b.total);
    prop_assert!(same_series(&a.intervals, &b.intervals));
    prop_assert_eq!(a.total_latency.is_some(), b.total_latency.is_some());
    if let (Some(a), Some(b)) = (&a.total_latency, &b.total_latency) {
        prop_assert!(same_latencies(a, b));
    }
    prop_assert_eq!(a.target_latencies.len(), b.target_latencies.len());
    for (a, b) in a.target_latencies.iter().zip(&b.target_latencies) {
        prop_assert_eq!(&a.path, &b.path);
        prop_assert!(same_latencies(&a.latency, &b.latency), "{:?}\n{:?}", a, b);
    }
    prop_assert_eq!(a.streams.len(), b.streams.len());
    for (a, b) in a.streams.iter().zip(&b.streams) {
        prop_assert_eq!((&a.name, &a.targets), (&b.name, &b.targets));
        prop_assert!(each(&a.figures, &b.figures, same_figures), "{:?}\n{:?}", a.figures, b.figures);
        prop_assert!(same_latencies(&a.latency, &b.latency), "{:?}\n{:?}", a, b);
    }
    prop_assert!(same_loop(a.load_loop.as_ref(), b.load_loop.as_ref()), "{:?}\n{:?}", a.load_loop, b.load_loop);
    prop_assert_eq!(a.confidence.is_some(), b.confidence.is_some());
    if let (Some(a), Some(b)) = (&a.confidence, &b.confidence) {
        prop_assert!(each(a, b, |a, b| same_half_widths(a.as_ref(), b.as_ref())), "{:?}\n{:?}", a, b);
    }
    // They are written with -u only.
    prop_assert!(b.submissions.is_none() || a.submissions == b.submissions);
    prop_assert_eq!(&a.waits, &b.waits);
    Ok(())
}

fn check_time_span(a: &TimeSpanResult, b: &TimeSpanResult) -> Result<(), TestCaseError> {
    let notes = |span: &TimeSpanResult| span.notes.iter().map(ToString::to_string).collect::<Vec<_>>();
    prop_assert_eq!((&a.errors, notes(a), &a.engines), (&b.errors, notes(b), &b.engines));
    prop_assert_eq!(a.measured.is_some(), b.measured.is_some());
    prop_assert_eq!(&a.kernel_events, &b.kernel_events);
    prop_assert_eq!(&a.verdict, &b.verdict);
    prop_assert_eq!(&a.verification, &b.verification);
    prop_assert_eq!(&a.expectation, &b.expectation);
    prop_assert_eq!(&a.requirements, &b.requirements);
    match (&a.measured, &b.measured) {
        (Some(measured), Some(read)) => {
            prop_assert_eq!(a.buffer_separation_bytes, b.buffer_separation_bytes);
            prop_assert_eq!(a.outcome, b.outcome);
            check_measured(measured, read)
        }
        _ => Ok(()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn our_xml_gives_back_every_figure(result in generated::result()) {
        let document = xml(&result);
        let read = import::read(document.as_bytes()).map_err(|error| TestCaseError::fail(format!("{error}\n{document}")))?;
        prop_assert_eq!(&read.tool, &result.tool);
        prop_assert_eq!(&read.command_line, &result.command_line);
        prop_assert_eq!(&read.system, &result.system);
        prop_assert_eq!(read.started_at, result.started_at);
        prop_assert_eq!(&read.notes, &result.notes);
        prop_assert_eq!(read.time_spans.len(), result.time_spans.len());
        prop_assert_eq!(report::words::compare::load_differences(&result, &read), Vec::<String>::new());
        for ((a, b), span) in result.time_spans.iter().zip(&read.time_spans).zip(&read.profile.time_spans) {
            check_time_span(a, b)?;
            let has_submissions = b.measured.as_ref().is_some_and(|measured| measured.submissions.is_some());
            prop_assert!(!has_submissions || span.io_ring.is_some());
        }
        prop_assert_eq!(read.totals.is_some(), result.totals.is_some());
        if let (Some(a), Some(b)) = (&result.totals, &read.totals) {
            prop_assert_eq!(a.elapsed_ns, b.elapsed_ns);
            prop_assert!(each(&a.figures, &b.figures, same_totals), "{:?}\n{:?}", a, b);
        }
        // Writing it again does not change it either.
        prop_assert_eq!(xml(&read), document);
    }

    #[test]
    fn our_text_is_known_for_what_it_is(result in generated::result()) {
        let read = import::read(text(&result).as_bytes());
        let is_ours = result.time_spans.iter().any(|span_result| span_result.measured.is_some());
        prop_assert_eq!(read == Err(import::ReadError::OwnText), is_ours);
    }

    #[test]
    fn our_text_has_rates_and_verdicts_as_it_rounds_them(result in generated::result()) {
        let text = text(&result);
        let read = import::read_rounded(text.as_bytes()).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(read.time_spans.len(), result.time_spans.len());
        for (a, b) in result.time_spans.iter().zip(&read.time_spans) {
            let Some((a, b)) = stats::headline(a).zip(stats::headline(b)) else { continue };
            prop_assert_eq!(a.ios, b.ios);
            prop_assert!((a.iops - b.iops).abs() <= 0.005 + a.iops.abs() * 1e-12, "{} {}", a.iops, b.iops);
        }
    }
}
