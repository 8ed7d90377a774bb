//! Full-screen views in a terminal: of a run, and of block devices.

mod look;
pub mod monitor;
pub mod run;
pub mod terminal;
