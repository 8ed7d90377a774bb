//! Whole plans.

mod coverage;
mod explaining;
mod files;
mod threads;
