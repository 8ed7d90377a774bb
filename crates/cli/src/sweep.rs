//! `diskspd sweep`: a command line and what varies in it become a list of labelled profiles.

mod axis;
mod command;
mod points;
mod repeat;

pub use axis::Axis;
pub use command::{HELP, SweepCommand, SweepOptions, SweepRequest, parse};
pub use points::PlannedPoint;
pub use repeat::{REPEAT_HELP, parse_repeat};
