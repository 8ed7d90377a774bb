//! Keeps CPUs out of idle states with a long wake-up latency.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// The kernel's interface: it applies the limit for as long as the file stays open (`PM QoS`,
/// `Documentation/power/pm_qos_interface.rst`).
pub const DOOR: &str = "/dev/cpu_dma_latency";

/// A latency limit of 0 for every CPU; withdrawn when it is dropped.
#[derive(Debug)]
pub struct LatencyHold {
    _door: File,
}

impl LatencyHold {
    /// Requests a latency of 0 microseconds. Needs write permission for [`DOOR`], root's by default.
    pub fn acquire() -> io::Result<Self> {
        let mut door = OpenOptions::new().write(true).open(DOOR)?;
        door.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self { _door: door })
    }
}
