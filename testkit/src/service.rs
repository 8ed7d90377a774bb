//! Service times of I/Os for a simulated file system.

use crate::random::Random;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Service times of I/Os.
#[derive(Clone, Copy, Debug)]
pub enum Service {
    /// Each takes this long, regardless of the queue depth.
    Each(Duration),
    /// One after the other, each uniformly distributed between these: a disk with one head, or a volume with a cap.
    InTurn(Duration, Duration),
    /// Reads of an offset that was read before take the second time, all others the first, regardless of the queue
    /// depth.
    Cached(Duration, Duration),
    /// One after the other, each takes a fixed time plus that of its bytes at a rate: a volume with a cap.
    ByLength {
        /// Fixed time of each.
        each: Duration,
        /// Rate of the bytes.
        bytes_per_s: u64,
    },
}

/// A service and its state.
#[derive(Debug)]
pub(crate) struct ServiceClock {
    service: Service,
    /// Completion time of the last I/O that is served one after the other.
    free: Instant,
    random: Random,
    seen: BTreeSet<u64>,
}

impl ServiceClock {
    pub(crate) fn new(service: Service) -> Self {
        Self { service, free: Instant::now(), random: Random::new(1), seen: BTreeSet::new() }
    }

    /// Completion time of an I/O of this length at this offset, which arrives at `now`.
    pub(crate) fn answer_at(&mut self, offset: u64, bytes: u32, now: Instant) -> Instant {
        match self.service {
            Service::Each(time) => now + time,
            Service::InTurn(shortest, longest) => {
                let share = (self.random.draw() >> 40) as f64 / f64::from(1 << 24);
                self.free = self.free.max(now) + shortest + longest.saturating_sub(shortest).mul_f64(share);
                self.free
            }
            Service::ByLength { each, bytes_per_s } => {
                let transfer = Duration::from_secs_f64(f64::from(bytes) / bytes_per_s as f64);
                self.free = self.free.max(now) + each + transfer;
                self.free
            }
            Service::Cached(first, again) => now + if self.seen.insert(offset) { first } else { again },
        }
    }
}
