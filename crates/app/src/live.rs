//! Showing a run while it goes on: to people on a screen, to programs as a stream of lines and as metrics.
//!
//! The control thread of the run only passes on what it counted. Figures, lines and pictures are made in a thread
//! of their own, and what that cannot keep up with is left out.

mod machine_watch;
mod outlets;
mod picture;
mod teller;
mod view;

pub(crate) use outlets::{CheckedStream, Outlets};
pub(crate) use view::{LiveView, Naming, dropped, end};
