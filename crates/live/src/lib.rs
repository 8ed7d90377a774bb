//! What is seen while it goes on: counters of devices, figures of a run, and the streams and sockets on
//! which programs read them.
//!
//! Nothing here delays a run: lines that a reader does not take in time are dropped, counted and reported.

#[cfg(feature = "ebpf")]
pub mod block_latency;
pub mod choice;
mod counter_value;
pub mod metrics;
#[cfg(feature = "screens")]
pub mod screen;
pub mod stream;
#[cfg(test)]
mod testing;
pub mod ticks;
pub mod watch;
pub mod watch_lines;
