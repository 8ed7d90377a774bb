//! Throughput and latency over depth, with the efficient and the saturation depth.

use super::{latencies, line, values};
use crate::answer::sentence;
use crate::axis::Axis;
use crate::chart::{Chart, Marker, Marks, RightAxis, Series};
use crate::engines::{self, PointEngines};
use crate::quantity::Quantity;
use crate::role::Role;
use model::headline::Headline;
use model::metric::{Metric, Scope, ScopedMetric};
use model::sweep::{DepthEstimate, DepthSeries, Knee, Saturation, Setting, Sweep};
use model::units::mib;
use std::collections::BTreeSet;

/// Lines of a chart; more could not be distinguished.
const LINES_MAX: usize = 8;

/// Series of depths that have a chart of their own.
const ALONE_MAX: usize = 4;

/// Throughput and latency of each series over the same depths; if there are several, preceded by charts of all lines.
pub(crate) fn over_depth(sweep: &Sweep) -> Vec<Chart> {
    let lines: Vec<Line> = sweep.depths.iter().flat_map(|series| lines_of(sweep, series)).collect();
    let together = (lines.len() > 1).then(|| {
        let charts = [throughput_of_each(sweep, &lines), bytes_of_each(sweep, &lines), latency_of_each(sweep, &lines)];
        let caption = of_all(sweep, &lines);
        charts.map(|chart| chart.map(|chart| Chart { caption: caption.clone(), ..chart }))
    });
    let alone = sweep.depths.iter().take(ALONE_MAX).map(|series| both(sweep, series));
    together.into_iter().flatten().chain(alone).flatten().collect()
}

/// Points that differ only in their depth.
struct Line {
    /// The settings that they share, as typed.
    name: String,
    /// By depth.
    points: Vec<usize>,
}

/// One line for each value of the other options that set the depth: points of the same depth, such as `-t1 -o2` and
/// `-t2 -o1`, are on different lines.
fn lines_of(sweep: &Sweep, series: &DepthSeries) -> Vec<Line> {
    let whole = || Line { name: Setting::typed_all(&series.settings), points: series.points.clone() };
    let settings = |point: usize| sweep.points[point].settings.iter().filter(|setting| setting.is_depth());
    let values = |setting: &Setting| {
        let of_option = |point: &usize| settings(*point).find(|other| other.name == setting.name).map(|s| &s.value);
        series.points.iter().filter_map(of_option).collect::<BTreeSet<_>>().len()
    };
    let first = series.points.first().map(|point| settings(*point).collect::<Vec<_>>()).unwrap_or_default();
    let varied: Vec<&Setting> = first.into_iter().filter(|setting| values(setting) > 1).collect();
    // The option with the most values is on the axis; on a tie, -o.
    let across = varied.iter().max_by_key(|setting| (values(setting), matches!(setting.name.as_str(), "o" | "O")));
    let Some(across) = across.filter(|_| varied.len() > 1) else { return vec![whole()] };
    let mut lines: Vec<Line> = Vec::new();
    let mut given = series.points.clone();
    given.sort_unstable();
    for point in given {
        let is_named =
            |setting: &&Setting| setting.name != across.name && varied.iter().any(|varied| varied.name == setting.name);
        let beside: Vec<Setting> = settings(point).filter(is_named).cloned().collect();
        let name = Setting::typed_all(&[&series.settings[..], &beside[..]].concat());
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { name, points: vec![point] }),
        }
    }
    // Options that vary together, such as -t and -o in pairs, have no lines of their own.
    if lines.len() * 2 > series.points.len() {
        return vec![whole()];
    }
    for line in &mut lines {
        line.points.sort_by_key(|point| stats::sweep::figures(sweep, *point).and_then(|figures| figures.depth));
    }
    lines
}

/// The caption of charts of all lines: those that are not drawn, and the engines where they differ.
fn of_all(sweep: &Sweep, lines: &[Line]) -> String {
    let left_out = lines.len().checked_sub(LINES_MAX).filter(|left_out| *left_out > 0);
    let left_out = left_out.map(|_| format!("The first {LINES_MAX} of {} lines.", lines.len()));
    let points: Vec<usize> = lines.iter().flat_map(|line| &line.points).copied().collect();
    left_out.into_iter().chain(engines_of(sweep, &points)).collect::<Vec<_>>().join(" ")
}

/// The engines of points, if they differ: a step in a line may be a change of engine.
fn engines_of(sweep: &Sweep, points: &[usize]) -> Option<String> {
    match engines::of_points(sweep, points) {
        PointEngines::Mixed(words) => Some(sentence(&words)),
        PointEngines::Same(_) | PointEngines::Unknown => None,
    }
}

/// One line for each setting of the other options; `None` without figures.
fn throughput_of_each(sweep: &Sweep, lines: &[Line]) -> Option<Chart> {
    let lines = of_each(sweep, lines, &[(Scope::All, Metric::Iops)]);
    let y = Axis::from_zero("IOPS", Quantity::Iops, values(&lines).map(|(_, y)| y));
    chart("depth-throughput", "IOPS by queue depth".to_owned(), lines, y)
}

/// The same in MiB/s; `None` where all block sizes are the same.
fn bytes_of_each(sweep: &Sweep, lines: &[Line]) -> Option<Chart> {
    if !stats::sweep::compared(sweep).by_bytes {
        return None;
    }
    let lines = of_each(sweep, lines, &[(Scope::All, Metric::MibPerS)]);
    let y = Axis::from_zero("MiB/s", Quantity::MibPerS, values(&lines).map(|(_, y)| y));
    chart("depth-mib", "MiB/s by queue depth".to_owned(), lines, y)
}

/// The same for the latency that the application waits for; `None` if latencies were not measured.
fn latency_of_each(sweep: &Sweep, lines: &[Line]) -> Option<Chart> {
    let metrics = Headline::scoped_metrics(&[Metric::Mean], sweep.measured());
    let lines = of_each(sweep, lines, &metrics);
    let y = Axis::log("latency", Quantity::LatencyNs, values(&lines).map(|(_, y)| y));
    chart("depth-latency", "Mean latency by queue depth".to_owned(), lines, y)
}

/// A line for each metric of each of the first lines.
fn of_each(sweep: &Sweep, lines: &[Line], metrics: &[ScopedMetric]) -> Vec<Series> {
    let lines = lines.iter().take(LINES_MAX);
    let each = lines.flat_map(|line| metrics.iter().map(move |metric| (line, *metric))).enumerate();
    let lines = each.map(|(index, (of, metric))| {
        line(&metric.0.label(&of.name), Role::of_line(index), figures_of(sweep, &of.points, metric))
    });
    lines.flatten().collect()
}

/// Throughput on the left axis, latency on the right one, and the efficient and saturation depths; `None` without
/// figures.
fn both(sweep: &Sweep, series: &DepthSeries) -> Option<Chart> {
    let (unit, quantity, metric) = rate_of(sweep, series);
    let rates = line(unit, Role::Read, by_depth(sweep, series, (Scope::All, metric)))?;
    let latencies = latencies(sweep, |metric| by_depth(sweep, series, metric));
    let with = Setting::typed_all(&series.settings);
    let and_latency = if latencies.is_empty() { "" } else { " and latency" };
    let title = format!("{unit}{and_latency} by queue depth");
    let title = if with.is_empty() { title } else { format!("{title}, {with}") };
    let left: Vec<Series> = std::iter::once(rates).chain(plateau(sweep, series)).collect();
    let y = Axis::from_zero(unit, quantity, values(&left).map(|(_, y)| y));
    let axis = Axis::from_zero("latency", Quantity::LatencyNs, values(&latencies).map(|(_, y)| y));
    let right = (!latencies.is_empty()).then_some(RightAxis { axis, first_series: left.len() });
    let is_doubtful = stats::sweep::is_doubtful(sweep, &series.points);
    let mut caption = Vec::new();
    if right.is_some() {
        caption.push(format!("{unit} on the left axis, latencies on the right."));
    }
    if depths_of(sweep, series).len() < series.points.len() {
        caption.push("Of several points of a depth, the one with the most throughput is drawn.".to_owned());
    }
    caption.extend(engines_of(sweep, &series.points));
    let markers = series.knee.as_ref().map(|knee| markers(knee, is_doubtful)).unwrap_or_default();
    if markers.iter().any(Marker::has_band) {
        caption.push("The bands are the 95 % confidence intervals of the recommended queue depths.".to_owned());
    }
    if let Some(Knee { saturation: Saturation::At { plateau_iops, .. }, .. }) = series.knee
        && let Some((point, iops)) =
            stats::sweep::above_plateau(sweep, &series.points, plateau_iops, |figures| figures.iops)
    {
        let typed = Setting::typed_all(&sweep.points[point].settings);
        let highest = crate::words::sweep::rate_of_series(sweep, series, iops);
        caption
            .push(format!("The plateau is a mean: the highest measured point, {highest} with {typed}, is above it."));
    }
    let caption = caption.join(" ");
    let lines = left.into_iter().chain(latencies).collect();
    Some(Chart { caption, right, markers, ..chart("depth", title, lines, y)? })
}

/// Unit of throughput: MiB/s for large blocks, else IOPS.
fn rate_of(sweep: &Sweep, series: &DepthSeries) -> (&'static str, Quantity, Metric) {
    if stats::sweep::are_blocks_large(sweep, &series.points) {
        ("MiB/s", Quantity::MibPerS, Metric::MibPerS)
    } else {
        ("IOPS", Quantity::Iops, Metric::Iops)
    }
}

/// The line of the throughput plateau, from the saturation depth to the largest.
fn plateau(sweep: &Sweep, series: &DepthSeries) -> Option<Series> {
    let Saturation::At { depth, plateau_iops } = series.knee.as_ref()?.saturation else { return None };
    let from = f64::from(depth.depth);
    let depths = by_depth(sweep, series, (Scope::All, Metric::Iops)).into_iter().map(|(depth, _)| depth);
    let to = depths.reduce(f64::max).filter(|to| *to > from)?;
    let figures = series.points.iter().find_map(|point| stats::sweep::figures(sweep, *point))?;
    let height = match rate_of(sweep, series) {
        (_, Quantity::MibPerS, _) => mib(figures.bytes_per_s / figures.iops * plateau_iops),
        _ => plateau_iops,
    };
    let marks = Marks::Line(vec![(from, height), (to, height)]);
    Some(Series { name: "plateau".to_owned(), role: Role::Edge, marks })
}

fn chart(name: &'static str, title: String, series: Vec<Series>, y: Axis) -> Option<Chart> {
    let depths = || values(&series).map(|(depth, _)| depth);
    let x = depth_axis(depths().reduce(f64::min)?, depths().reduce(f64::max)?);
    Some(Chart { name, title, caption: String::new(), x, y, right: None, series, markers: Vec::new() })
}

/// Depths that are far apart double.
fn depth_axis(least: f64, most: f64) -> Axis {
    const LABEL: &str = "I/Os outstanding (depth)";
    if most >= 12.0 * least.max(1.0) {
        Axis::powers(LABEL, Quantity::Count, [least, most].into_iter())
    } else {
        let room = ((most - least) * 0.06).max(0.5);
        Axis::linear(LABEL, Quantity::Count, least - room, most + room)
    }
}

/// Of several points of a depth, the best one.
fn by_depth(sweep: &Sweep, series: &DepthSeries, metric: ScopedMetric) -> Vec<(f64, f64)> {
    let points: Vec<usize> =
        depths_of(sweep, series).into_iter().filter_map(|depth| stats::sweep::point_at(sweep, series, depth)).collect();
    figures_of(sweep, &points, metric)
}

/// All depths of a series, ascending.
fn depths_of(sweep: &Sweep, series: &DepthSeries) -> BTreeSet<u32> {
    let figures = series.points.iter().filter_map(|point| stats::sweep::figures(sweep, *point));
    figures.filter_map(|figures| figures.depth).collect()
}

fn figures_of(sweep: &Sweep, points: &[usize], metric: ScopedMetric) -> Vec<(f64, f64)> {
    let figures = points.iter().filter_map(|point| stats::sweep::figures(sweep, *point));
    figures.filter_map(|figures| Some((f64::from(figures.depth?), figures.scoped_value(metric)?))).collect()
}

/// Without bands if warnings make the intervals doubtful: the text then states that there are none.
fn markers(knee: &Knee, is_doubtful: bool) -> Vec<Marker> {
    let marker = |estimate: &DepthEstimate, role, name: &str| {
        let DepthEstimate { depth, low, high, .. } = *estimate;
        let (low, high) = if is_doubtful { (depth, depth) } else { (low, high) };
        let label = format!("{name}: {depth}");
        Marker { x: depth.into(), bounds: (low.into(), high.into()), role, label }
    };
    let efficient = marker(&knee.efficient, Role::Good, "efficient");
    match &knee.saturation {
        Saturation::At { depth, .. } => vec![efficient, marker(depth, Role::Edge, "saturation")],
        Saturation::StillRising { .. } => vec![efficient],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::engine_kind::EngineKind;
    use model::finding::Severity;
    use model::headline::ScopedLatency;
    use model::sweep::{Point, Purpose, Visit, VisitOutcome};

    /// A sweep over depths with these I/Os per second.
    fn sweep(rates: &[(u32, f64)], severity: Option<Severity>) -> Sweep {
        let mut sweep = Sweep::default();
        for (point, (depth, iops)) in rates.iter().enumerate() {
            let settings = vec![Setting { name: "o".to_owned(), value: depth.to_string() }];
            sweep.points.push(Point { settings });
            let mean_ns = Some(f64::from(*depth) / iops * 1e9);
            let headline =
                Headline { iops: *iops, depth: Some(*depth), threads: 1, mean_ns, severity, ..Headline::default() };
            let outcome = VisitOutcome::Measured { file: String::new(), headline };
            let purpose = Purpose::Measure;
            let streams = Vec::new();
            sweep.visits.push(Visit { point, run: 0, purpose, outcome, limit: None, sustained_iops: None, streams });
        }
        stats::sweep::conclude(&mut sweep);
        sweep
    }

    const FLAT: [(u32, f64); 8] = [
        (1, 10_000.0),
        (2, 19_000.0),
        (4, 30_000.0),
        (8, 31_000.0),
        (16, 31_900.0),
        (24, 30_700.0),
        (32, 30_900.0),
        (40, 31_100.0),
    ];

    #[test]
    fn a_plateau_below_a_measured_point_is_told() {
        let sweep = sweep(&FLAT, None);
        let charts = over_depth(&sweep);
        let [chart] = &charts[..] else { panic!("{charts:?}") };
        let highest = |name: &str| {
            let series = chart.series.iter().find(|series| series.name == name).expect("it is drawn");
            values(std::slice::from_ref(series)).map(|(_, y)| y).fold(0.0, f64::max)
        };
        assert!(highest("plateau") < highest("IOPS"), "a mean lies below the highest of its values");
        let expected = "the highest measured point, 31,900 IOPS with -o16, is above it.";
        assert!(chart.caption.ends_with(expected), "{}", chart.caption);
        assert_eq!(chart.right.as_ref().map(|right| right.first_series), Some(2), "it is a rate");
    }

    /// A single line through all points zigzagged between points of the same depth.
    #[test]
    fn two_options_of_depth_have_a_line_for_each_value_of_one() {
        let mut sweep = Sweep::default();
        for threads in [1, 2, 4] {
            for each in [1, 2, 4, 8] {
                let setting = |name: &str, value: u32| Setting { name: name.to_owned(), value: value.to_string() };
                let point = sweep.points.len();
                sweep.points.push(Point { settings: vec![setting("t", threads), setting("o", each)] });
                let depth = threads * each;
                let engines = vec![if each == 1 { EngineKind::Synchronous } else { EngineKind::IoUring }];
                let iops = f64::from(1000 * depth - 10 * threads);
                let (mean_ns, depth) = (Some(f64::from(depth) / iops * 1e9), Some(depth));
                let headline = Headline { iops, depth, threads, mean_ns, engines, ..Headline::default() };
                let outcome = VisitOutcome::Measured { file: String::new(), headline };
                let (purpose, streams) = (Purpose::Measure, Vec::new());
                sweep.visits.push(Visit {
                    point,
                    run: 0,
                    purpose,
                    outcome,
                    limit: None,
                    sustained_iops: None,
                    streams,
                });
            }
        }
        stats::sweep::conclude(&mut sweep);
        let charts = over_depth(&sweep);
        let names: Vec<&str> = charts.iter().map(|chart| chart.name).collect();
        assert_eq!(names, ["depth-throughput", "depth-latency", "depth"]);
        for chart in &charts[..2] {
            let lines: Vec<&str> = chart.series.iter().map(|line| line.name.as_str()).collect();
            assert_eq!(lines, ["-t1", "-t2", "-t4"]);
            let depths = |line: &Series| values(std::slice::from_ref(line)).map(|(x, _)| x).collect::<Vec<_>>();
            assert_eq!(depths(&chart.series[1]), [2.0, 4.0, 8.0, 16.0]);
            assert_eq!(chart.caption, "I/O by io_uring (synchronous I/O with -o1).");
        }
        let best: Vec<(f64, f64)> = values(&charts[2].series[..1]).collect();
        assert!(best.windows(2).all(|pair| pair[0].0 < pair[1].0), "a depth has one point: {best:?}");
        assert_eq!(best[2], (4.0, 3990.0), "the one with the most throughput, -t1 -o4");
        assert!(charts[2].caption.contains("Of several points of a depth"), "{}", charts[2].caption);
    }

    #[test]
    fn what_the_application_waits_for_is_drawn() {
        let mut sweep = sweep(&FLAT, None);
        for visit in &mut sweep.visits {
            let VisitOutcome::Measured { headline, .. } = &mut visit.outcome else { panic!("measured") };
            let commit = ScopedLatency {
                scope: Scope::Commit,
                mean_ns: Some(5e6),
                p50_ns: None,
                p99_ns: Some(9e6),
                p999_ns: None,
            };
            headline.waited_for = vec![commit];
        }
        let charts = over_depth(&sweep);
        let names: Vec<&str> = charts[0].series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["IOPS", "plateau", "mean (commit)", "99th (commit)"]);
        let drawn: Vec<f64> = values(&charts[0].series[2..3]).map(|(_, y)| y).collect();
        assert_eq!(drawn, [5e6; 8]);
    }

    #[test]
    fn no_band_is_drawn_where_warnings_leave_no_interval() {
        let knee = |sweep: &Sweep| {
            let mut knee = sweep.depths[0].knee.clone().expect("a knee");
            (knee.efficient.low, knee.efficient.high) = (2, 8);
            knee
        };
        let chart = |severity| {
            let mut sweep = sweep(&FLAT, severity);
            sweep.depths[0].knee = Some(knee(&sweep));
            over_depth(&sweep).remove(0)
        };
        let sure = chart(None);
        assert!(
            sure.markers.iter().any(Marker::has_band) && sure.caption.contains("The bands are"),
            "{}",
            sure.caption
        );
        let doubtful = chart(Some(Severity::Warn));
        assert!(
            !doubtful.markers.iter().any(Marker::has_band) && !doubtful.caption.contains("bands"),
            "{}",
            doubtful.caption
        );
    }
}
