//! See the crate's head.
