//! Live output of a run: a screen for people, a stream of lines and metrics for programs.
//!
//! The control thread of the run only passes on what it counted. Figures, lines and pictures are made in a thread
//! of their own, and what that cannot keep up with is left out.

mod live_thread;
mod sinks;
mod view;

pub(crate) use sinks::{CheckedStream, LiveSinks};
pub(crate) use view::{LiveView, Naming, dropped, end};
