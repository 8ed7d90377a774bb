//! The drawing order of a chart.

/// A part of a chart that is drawn in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// The horizontal axis.
    AcrossAxis,
    /// The vertical axis.
    UpAxis,
    /// Names of the axes, and the marks of the right one.
    Units,
    /// One series.
    Series(usize),
    /// Markers, and names of series.
    Names,
    /// The chart's title.
    Title,
}
