//! Code that runs once per I/O, or decides what does.
//!
//! This crate imports nothing but the names of actions, operations and laws, allocates nothing once its values are built, takes
//! no lock, prints nothing and reads no clock: time is passed in as a number.

pub mod buckets;
pub mod clock;
pub mod counters;
pub mod fill;
pub mod mix;
pub mod pace;
pub mod rate_curve;
pub mod reducible;
pub mod replay;
pub mod ring;
pub mod rng;
pub mod scatter;
pub mod sizes;
pub mod skew;
pub mod slots;
pub mod slowest;
pub mod stream;
pub mod weighted;
