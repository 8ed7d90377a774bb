//! Headline figures as words.

use crate::numbers::ms;
use model::headline::Figure;

/// The name of a figure in tables, with its unit.
pub(crate) fn label(figure: Figure) -> &'static str {
    match figure {
        Figure::Iops => "IOPS",
        Figure::MibPerS => "MiB/s",
        Figure::MeanLatency => "mean ms",
        Figure::P50 => "p50 ms",
        Figure::P99 => "p99 ms",
        Figure::P999 => "p99.9 ms",
        Figure::Cpu => "CPU %",
    }
}

/// A value in that unit; latencies with so many decimals of a millisecond.
pub(crate) fn shown_figure(figure: Figure, value: f64, decimals: usize) -> String {
    match figure {
        Figure::Iops | Figure::MibPerS | Figure::Cpu => format!("{value:.2}"),
        Figure::MeanLatency | Figure::P50 | Figure::P99 | Figure::P999 => format!("{:.decimals$}", ms(value)),
    }
}
