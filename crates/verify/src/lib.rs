//! Data verification: each unit of written data identifies itself, and a map has the expected content of each place.
//!
//! Pure: bytes and numbers in, verdicts out. A unit counts as damaged only if nothing else explains its content; a unit
//! in doubt is not checkable.

pub mod alone;
pub mod check;
pub mod classify;
pub mod coverage;
pub mod generation;
pub mod history;
pub mod later;
pub mod log;
pub mod map;
pub mod run_number;
pub mod saved;
pub mod target;
pub mod unit;
pub mod unit_ranges;
