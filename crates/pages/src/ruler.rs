//! An axis as the drawing library knows it.

use super::axis::{Axis, Tick};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// Places between two ends, with marks that are chosen already.
pub(super) struct Ruler {
    ends: (f64, f64),
    ticks: Vec<Tick>,
}

impl Ruler {
    pub(super) fn of(axis: &Axis, ticks: &[Tick]) -> Self {
        Self { ends: axis.ends(), ticks: ticks.to_vec() }
    }
}

impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (low, high): (i32, i32)) -> i32 {
        let (from, to) = self.ends;
        low + ((place - from) / (to - from) * f64::from(high - low)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.iter().map(|tick| tick.place).collect() }
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format(place: &f64) -> String {
        place.to_string()
    }

    fn format_ext(&self, place: &f64) -> String {
        let near = |tick: &&Tick| (tick.place - place).abs() < 1e-9;
        self.ticks.iter().find(near).map(|tick| tick.text.clone()).unwrap_or_default()
    }
}
