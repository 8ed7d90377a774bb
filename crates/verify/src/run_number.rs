//! Numbers of runs: start time and a random part.
//!
//! The upper 44 bits are milliseconds since 1970, the lower 20 are random. So the data on a target shows which of two
//! runs is the later one, if the clocks of their machines agree.

const RANDOM_BITS: u32 = 20;

/// The number of a run that begins `started_ms` milliseconds after 1970.
pub const fn number(started_ms: u64, random: u64) -> u64 {
    started_ms << RANDOM_BITS | random & ((1 << RANDOM_BITS) - 1)
}

/// Start time of a run, in milliseconds since 1970.
pub const fn started_ms(run: u64) -> u64 {
    run >> RANDOM_BITS
}

/// True if `run` began after `other`.
pub const fn is_later(run: u64, other: u64) -> bool {
    started_ms(run) > started_ms(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_ordered_by_their_start() {
        let (first, second) = (number(1_764_000_000_000, u64::MAX), number(1_764_000_000_001, 0));
        assert!(is_later(second, first) && !is_later(first, second) && !is_later(first, first));
        assert_eq!((started_ms(first), first & 0xF_FFFF), (1_764_000_000_000, 0xF_FFFF));
    }
}
