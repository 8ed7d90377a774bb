//! Laws of how long I/Os take, for a file system that keeps to them.

use crate::random::Random;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long I/Os take.
#[derive(Clone, Copy, Debug)]
pub enum Service {
    /// Each so long, however many there are at a time.
    Each(Duration),
    /// One after the other, each between these, all values as likely: a disk with one head, or a volume with a cap.
    InTurn(Duration, Duration),
    /// Reads of a place that was read before take the second time, all others the first, however many there are.
    Cached(Duration, Duration),
    /// One after the other, each this long and as long as its bytes take at this rate: a volume with a cap.
    ByLength {
        /// Time that each takes, however short.
        each: Duration,
        /// Rate of the bytes.
        bytes_per_s: u64,
    },
}

/// A law, and what it depends on.
#[derive(Debug)]
pub(crate) struct ServiceClock {
    service: Service,
    /// When the last I/O of those that are served one after the other is done.
    free: Instant,
    random: Random,
    seen: BTreeSet<u64>,
}

impl ServiceClock {
    pub(crate) fn new(service: Service) -> Self {
        Self { service, free: Instant::now(), random: Random::new(1), seen: BTreeSet::new() }
    }

    /// When an I/O of so many bytes at this offset, which comes now, is to be answered.
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
