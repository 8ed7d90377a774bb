//! Full-screen views in a terminal: of a run, and of what block devices do.

mod look;
pub mod monitor;
pub mod run;
pub mod terminal;
mod words;
