//! Data verification: each unit of written data says what it is, and a map says what each place must hold.
//!
//! Pure: bytes and numbers come in, verdicts go out. A unit counts as damaged only if nothing else explains what was
//! read; whatever is in doubt is not checkable.

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
