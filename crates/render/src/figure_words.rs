//! Headline figures as words.

use crate::numbers::ms;
use model::headline::{Figure, Headline};

/// The name of a figure in tables, with its unit.
pub fn label(figure: Figure) -> &'static str {
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

/// A figure as a cell of a table; `-` if it was not measured.
pub(crate) fn cell(figure: Figure, headline: &Headline) -> String {
    figure.of(headline).map_or_else(|| "-".to_owned(), |value| shown_figure(figure, value, 3))
}

/// A value in that unit; latencies in milliseconds with `decimals` decimals.
pub(crate) fn shown_figure(figure: Figure, value: f64, decimals: usize) -> String {
    match figure {
        Figure::Iops | Figure::MibPerS | Figure::Cpu => format!("{value:.2}"),
        Figure::MeanLatency | Figure::P50 | Figure::P99 | Figure::P999 => format!("{:.decimals$}", ms(value)),
    }
}
