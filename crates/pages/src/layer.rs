//! In which order a chart is drawn.

/// What is drawn at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// The horizontal axis.
    AcrossAxis,
    /// The vertical axis.
    UpAxis,
    /// What is on the axes, and the marks of the right one.
    Units,
    /// One series.
    Series(usize),
    /// Places that matter, and names of series.
    Names,
    /// The chart's title.
    Title,
}
