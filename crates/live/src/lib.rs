//! Live views: counters of devices, results of a run so far, and the streams and sockets on which programs read them.
//!
//! Nothing here delays a run: lines that a reader does not read in time are dropped, counted and reported.

#[cfg(feature = "ebpf")]
pub mod block_latency;
#[cfg(feature = "ebpf")]
pub mod block_requests;
pub mod choice;
mod counter_value;
mod device_column;
pub mod metrics;
#[cfg(feature = "screens")]
pub mod screen;
pub mod stream;
#[cfg(test)]
mod testing;
pub mod ticks;
pub mod watch;
pub mod watch_lines;
pub mod watch_table;
mod words;
