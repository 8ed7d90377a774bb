//! Random numbers that need not be reproducible.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A different number each time, from the operating system's keys of hash tables.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
