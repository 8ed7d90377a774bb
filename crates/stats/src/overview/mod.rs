//! A measurement in a small number of values: the data of charts.

mod density;
mod heat;
mod stalls;
mod timeline;

pub use density::{Bin, density};
pub use heat::{HeatCell, LatencyHeat, latency_heat};
pub use stalls::{Stall, stalls};
pub use timeline::{Moment, percentiles_over_time, timeline};
