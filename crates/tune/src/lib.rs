//! Many runs instead of one, against any [`Runner`]: sweeps over options.
//!
//! What to run next follows from the design and from what was measured, never from a clock, so a sweep
//! that was interrupted goes on as if it had not been.

mod design;
mod limit;
mod runner;
mod schedule;
mod sweep;

pub use design::{Design, PlannedPoint};
pub use runner::{RunFailure, Runner};
pub use schedule::Step;
pub use sweep::{Ending, SweepObserver, sweep};
