//! Sums of latencies.

/// Count and moments of latencies. Without `-L` and `-D` only the count is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Number of I/Os.
    pub count: u64,
    /// Sum of latencies in nanoseconds.
    pub sum_ns: u128,
    /// Sum of squared latencies in square nanoseconds.
    pub sum_squares_ns2: f64,
    /// Smallest latency in nanoseconds; meaningless if `count` is 0.
    pub min_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

impl Tally {
    /// Adds another tally.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_squares_ns2 += other.sum_squares_ns2;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}
