//! Charts as data: content without size or format.

use super::axis::Axis;
use super::role::Role;

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The name for `--chart`, unique within a page.
    pub name: &'static str,
    /// Its heading.
    pub title: String,
    /// Explanation of the chart, in a sentence or two; may be empty.
    pub caption: String,
    pub x: Axis,
    pub y: Axis,
    /// A second vertical axis, on the right.
    pub right: Option<RightAxis>,
    pub series: Vec<Series>,
    /// Marked places on the x axis.
    pub markers: Vec<Marker>,
}

impl Chart {
    /// The vertical axis of a series, by its index.
    pub fn axis_of(&self, series: usize) -> &Axis {
        self.right.as_ref().filter(|right| series >= right.first_series).map_or(&self.y, |right| &right.axis)
    }
}

/// An axis with a scale of its own.
#[derive(Clone, Debug)]
pub struct RightAxis {
    pub axis: Axis,
    /// Index of the first series on it; those before are on the left one.
    pub first_series: usize,
}

/// Marks that belong together, under one name.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub role: Role,
    pub marks: Marks,
}

/// Values of x and y.
pub type Points = Vec<(f64, f64)>;

/// Drawing style of values.
#[derive(Clone, Debug)]
pub enum Marks {
    /// A line; NaN for y breaks it. Its name is shown at its end.
    Line(Points),
    /// A line, and a dot for each value.
    DottedLine(Points),
    /// The area below a line. Its name is shown at its peak.
    Area(Points),
    /// Dots.
    Dots(Points),
    /// Dots, each with a line from its start; overlapping ones are translucent.
    Events(Vec<Event>),
    /// Rectangles.
    Cells(Vec<Cell>),
    /// Horizontal intervals around dots.
    Intervals(Vec<Interval>),
}

impl Marks {
    /// The name of their form in attributes of a page.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Line(_) | Self::DottedLine(_) => "line",
            Self::Area(_) => "area",
            Self::Dots(_) => "dots",
            Self::Events(_) => "events",
            Self::Cells(_) => "cells",
            Self::Intervals(_) => "intervals",
        }
    }
}

/// A rectangle.
#[derive(Clone, Debug)]
pub struct Cell {
    /// From and to.
    pub x: (f64, f64),
    /// From and to.
    pub y: (f64, f64),
    /// The number that it shows.
    pub value: f64,
    /// Colour strength, from 0 to 1.
    pub strength: f64,
    /// The text in it; may be empty.
    pub label: String,
    /// The text shown for it.
    pub text: String,
}

/// An event with a duration.
#[derive(Clone, Debug)]
pub struct Event {
    pub began: f64,
    pub ended: f64,
    pub y: f64,
    /// The text shown for it after the time.
    pub text: String,
}

/// A value with its interval.
#[derive(Clone, Debug)]
pub struct Interval {
    pub at: f64,
    /// `None` = unknown.
    pub bounds: Option<(f64, f64)>,
    pub y: f64,
    pub role: Role,
    /// The text shown for it.
    pub text: String,
}

/// A place on the x axis.
#[derive(Clone, Debug)]
pub struct Marker {
    pub x: f64,
    /// The range that it may lie in.
    pub bounds: (f64, f64),
    pub role: Role,
    pub label: String,
}

impl Marker {
    /// True if its range is drawn.
    pub fn has_band(&self) -> bool {
        self.bounds.1 > self.bounds.0
    }
}

/// A chart, or the reason for its absence.
pub type ChartResult = Result<Chart, MissingChart>;

/// A chart without data.
#[derive(Clone, Debug)]
pub struct MissingChart {
    pub title: &'static str,
    /// A sentence.
    pub reason: String,
}
