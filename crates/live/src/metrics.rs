//! Metrics of a run, as `OpenMetrics` text that Prometheus reads.

mod server;
mod text;

pub use server::Server;
pub use text::{Direction, RunMetrics, TargetMetrics};
