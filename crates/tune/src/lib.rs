//! Many runs instead of one, against any [`Runner`]: sweeps over options.
//!
//! The next run follows from the design and from the results, never from a clock, so a sweep that was
//! interrupted continues as if it had not been.

mod design;
mod limit;
mod runner;
mod schedule;
mod sweep;

pub use design::{Design, PlannedPoint};
pub use runner::{RunFailure, Runner};
pub use schedule::Step;
pub use sweep::{Ending, SweepObserver, sweep};
