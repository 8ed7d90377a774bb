//! The clock of the I/O loop.

/// A monotonic clock in nanoseconds from an arbitrary origin. Production reads the machine's,
/// tests pass one that they set.
pub trait Clock {
    /// Nanoseconds since the clock's origin.
    fn now_ns(&self) -> u64;
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now_ns(&self) -> u64 {
        (**self).now_ns()
    }
}
