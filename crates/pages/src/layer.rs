//! In which order a chart is drawn.

/// A part of a chart that is drawn at a time.
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
    /// Places that matter, and names of series.
    Names,
    /// The chart's title.
    Title,
}
