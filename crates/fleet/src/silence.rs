//! The heartbeat timeout of agents and controllers.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Timeout after which a peer without heartbeats is lost: 10 s. Copies share it.
#[derive(Clone, Debug)]
pub struct Silence(Arc<AtomicU64>);

impl Default for Silence {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(10_000_000_000)))
    }
}

impl Silence {
    /// Sets another duration from now on: tests do not wait for the default.
    pub fn set(&self, duration: Duration) {
        self.0.store(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// In seconds, as in `10 s`.
impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.ns() as f64 / 1e9)
    }
}
