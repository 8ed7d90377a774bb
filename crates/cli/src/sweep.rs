//! The points of a sweep: a command line and its varied options become a list of labelled profiles.

mod axis;
mod points;

pub(crate) use axis::Axis;
pub use points::PlannedPoint;
pub(crate) use points::{Side, Variation, points, sides, streams};
