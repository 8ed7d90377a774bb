//! Ranks of the percentiles that most reports show, in parts per billion.

pub const P50_PPB: u64 = 500_000_000;
pub const P90_PPB: u64 = 900_000_000;
pub const P99_PPB: u64 = 990_000_000;
pub const P999_PPB: u64 = 999_000_000;
