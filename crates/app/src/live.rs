//! Live output of a run: a screen for people, a stream of lines and metrics for programs.
//!
//! The control thread of the run only passes on its counts. Rates, lines and pictures are made in a separate thread,
//! and what that cannot keep up with is dropped.

mod live_thread;
mod sinks;
mod view;

#[cfg(feature = "fleet")]
pub(crate) use live_thread::{LiveEvent, LiveThread};
pub(crate) use sinks::{CheckedStream, LiveSinks};
#[cfg(feature = "fleet")]
pub(crate) use view::live_thread;
pub(crate) use view::{LiveView, RunDescription, dropped, end};
