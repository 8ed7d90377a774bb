//! Charts as data: what is shown, without how large or in which format.

use super::axis::Axis;
use super::palette::Role;

/// A chart.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// The name for `--chart`, unique within a page.
    pub(crate) name: &'static str,
    /// Its heading.
    pub(crate) title: String,
    /// How to read it, in a sentence or two; may be empty.
    pub(crate) caption: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// A second vertical axis, on the right.
    pub(crate) right: Option<RightAxis>,
    pub(crate) series: Vec<Series>,
    /// Places on the x axis that matter.
    pub(crate) markers: Vec<Marker>,
}

impl Chart {
    /// The vertical axis of a series, by its index.
    pub(crate) fn axis_of(&self, series: usize) -> &Axis {
        self.right.as_ref().filter(|right| series >= right.first_series).map_or(&self.y, |right| &right.axis)
    }
}

/// An axis with a scale of its own.
#[derive(Clone, Debug)]
pub(crate) struct RightAxis {
    pub(crate) axis: Axis,
    /// Index of the first series on it; those before are on the left one.
    pub(crate) first_series: usize,
}

/// Marks that belong together, under one name.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) marks: Marks,
}

/// Values of x and y.
pub(crate) type Points = Vec<(f64, f64)>;

/// How values are drawn.
#[derive(Clone, Debug)]
pub(crate) enum Marks {
    /// A line; NaN for y breaks it. Its name is shown at its end.
    Line(Points),
    /// A line, and a dot for each value.
    DottedLine(Points),
    /// The area below a line. Its name is shown at its peak.
    Area(Points),
    /// Dots.
    Dots(Points),
    /// Dots, each with a line from where it began; those that overlap are seen through each other.
    Events(Vec<Event>),
    /// Rectangles.
    Cells(Vec<Cell>),
    /// Horizontal intervals around dots.
    Intervals(Vec<Interval>),
}

impl Marks {
    /// The name of their form in attributes of a page.
    pub(crate) const fn name(&self) -> &'static str {
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
pub(crate) struct Cell {
    /// From and to.
    pub(crate) x: (f64, f64),
    /// From and to.
    pub(crate) y: (f64, f64),
    /// The number that it shows.
    pub(crate) value: f64,
    /// How much colour it has, from 0 to 1.
    pub(crate) strength: f64,
    /// What is written in it; may be empty.
    pub(crate) label: String,
    /// The text shown for it.
    pub(crate) text: String,
}

/// Something that took time.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) began: f64,
    pub(crate) ended: f64,
    pub(crate) y: f64,
    /// The text shown for it after the time.
    pub(crate) text: String,
}

/// A value with its interval.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    pub(crate) at: f64,
    /// `None` = unknown.
    pub(crate) bounds: Option<(f64, f64)>,
    pub(crate) y: f64,
    pub(crate) role: Role,
    /// The text shown for it.
    pub(crate) text: String,
}

/// A place on the x axis.
#[derive(Clone, Debug)]
pub(crate) struct Marker {
    pub(crate) x: f64,
    /// The range that it may lie in.
    pub(crate) bounds: (f64, f64),
    pub(crate) role: Role,
    pub(crate) label: String,
}

impl Marker {
    /// True if its range is drawn.
    pub(crate) fn has_band(&self) -> bool {
        self.bounds.1 > self.bounds.0
    }
}
