//! An axis for the drawing library.

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use report::axis::Axis;
use std::ops::Range;

/// Places between two ends; marks are drawn without the library.
pub(super) struct Ruler {
    ends: (f64, f64),
}

impl Ruler {
    pub(super) fn new(axis: &Axis) -> Self {
        Self { ends: axis.ends() }
    }
}

impl Ranged for Ruler {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (low, high): (i32, i32)) -> i32 {
        let (from, to) = self.ends;
        low + ((place - from) / (to - from) * f64::from(high - low)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        Vec::new()
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}
