//! A measurement in few enough numbers to look at: what charts are made of.

mod density;
mod heat;
mod stalls;
mod timeline;

pub use density::{Bin, density};
pub use heat::{HeatCell, LatencyHeat, latency_heat};
pub use stalls::{Stall, stalls};
pub use timeline::{Moment, percentiles_over_time, timeline};
