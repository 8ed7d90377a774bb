//! The highest rate that meets limits, in words.

use crate::numbers::ms;
use model::limit::LimitFound;
use model::metric::{Metric, MetricUnit};
use model::sweep::Sweep;
use std::io::{self, Write};

/// What was found and at which runs.
pub fn answer(sweep: &Sweep, found: &LimitFound, out: &mut dyn Write) -> io::Result<()> {
    let limits: Vec<String> = found
        .limits
        .iter()
        .map(|limit| format!("{} <= {}", words(limit.figure), value(limit.figure, limit.at_most)))
        .collect();
    let limits = limits.join(" and ");
    let Some(holds) = found.holds else {
        writeln!(out, "no rate meets {limits}")?;
        return found.fails.map_or(Ok(()), |fails| at(sweep, found, fails, out));
    };
    writeln!(out, "highest rate that meets {limits}: {} I/Os per s", rate(sweep, holds))?;
    at(sweep, found, holds, out)?;
    match found.fails {
        Some(fails) => at(sweep, found, fails, out)?,
        None => writeln!(out, "  the search ended at this rate; higher rates may also meet the limits")?,
    }
    if !found.is_confirmed {
        writeln!(
            out,
            "  not confirmed: repeated runs at the same rate met the limits in some cases and missed them in others; \
             treat this rate as an estimate"
        )?;
    }
    Ok(())
}

/// The limited figures at a rate.
fn at(sweep: &Sweep, found: &LimitFound, point: usize, out: &mut dyn Write) -> io::Result<()> {
    let Some(headline) = stats::sweep::figures(sweep, point) else { return Ok(()) };
    let figures = found.limits.iter().map(|limit| limit.figure);
    let figures = figures.filter_map(|of| Some(format!("{} {}", words(of), value(of, headline.response_value(of)?))));
    let figures: Vec<String> = figures.collect();
    writeln!(out, "  at {}: {:.2} I/Os per s, {}", rate(sweep, point), headline.iops, figures.join(", "))
}

fn rate(sweep: &Sweep, point: usize) -> &str {
    let settings = sweep.points.get(point).map_or(&[][..], |point| &point.settings[..]);
    settings.first().map_or("?", |setting| &setting.value)
}

fn words(metric: Metric) -> &'static str {
    match metric {
        Metric::Iops => "throughput in I/O per s",
        Metric::MibPerS => "throughput in MiB/s",
        Metric::Mean => "mean response time",
        Metric::P50 => "median response time",
        Metric::P90 => "90th percentile of the response time",
        Metric::P99 => "99th percentile of the response time",
        Metric::P999 => "99.9th percentile of the response time",
        Metric::Max => "highest response time",
        Metric::Cpu => "CPU usage",
    }
}

/// With its unit.
fn value(metric: Metric, value: f64) -> String {
    match metric.unit() {
        MetricUnit::Nanoseconds => format!("{:.3} ms", ms(value)),
        MetricUnit::Percent => format!("{value:.2} %"),
        MetricUnit::IosPerSecond | MetricUnit::MibPerSecond => format!("{value:.2}"),
    }
}
