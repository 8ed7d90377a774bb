//! Pseudo-random numbers that are the same in each run of a test.

/// A linear congruential generator (Knuth, MMIX); its low bits have short periods.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers that follow from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    /// The next number below `limit`, which is below 2^31.
    pub const fn below(&mut self, limit: u64) -> u64 {
        (self.draw() >> 33) % limit
    }
}
