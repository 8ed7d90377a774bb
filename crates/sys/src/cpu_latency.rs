//! Keeping CPUs from sleeping states that take long to wake from.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// The kernel's door: it heeds the wish for as long as the file stays open (`PM QoS`,
/// `Documentation/power/pm_qos_interface.rst`).
pub const DOOR: &str = "/dev/cpu_dma_latency";

/// A wish that every CPU wakes up at once; withdrawn when it is dropped.
#[derive(Debug)]
pub struct LatencyHold {
    _door: File,
}

impl LatencyHold {
    /// Asks for a latency of 0 microseconds. Needs the right to write to [`DOOR`], root's by default.
    pub fn acquire() -> io::Result<Self> {
        let mut door = OpenOptions::new().write(true).open(DOOR)?;
        door.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self { _door: door })
    }
}
