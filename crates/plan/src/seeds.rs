//! Randomness: one seed for the run, one stream of it for each thread.

use model::profile::TimeSpan;

/// Seed and stream of a thread's generator.
///
/// The generator is seeded with `-z` and jumped once per thread number, so streams never overlap;
/// `DiskSpd` seeds thread i with `seed + i`, which makes thread 1 of `-z0` thread 0 of `-z1`.
pub(crate) fn of_thread(time_span: &TimeSpan, thread: u32) -> (u64, u32) {
    (u64::from(time_span.random_seed), thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_the_seed_and_nothing_else() {
        let time_span = TimeSpan { random_seed: 7, ..TimeSpan::default() };
        assert_eq!(of_thread(&time_span, 0), (7, 0));
        assert_eq!(of_thread(&time_span, 1), (7, 1));
        let next = TimeSpan { random_seed: 8, ..TimeSpan::default() };
        assert_ne!(of_thread(&time_span, 1), of_thread(&next, 0));
    }
}
