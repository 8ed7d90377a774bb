//! Random numbers that nobody needs to repeat.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Another one each time, from the keys that the operating system gives to hash tables.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
