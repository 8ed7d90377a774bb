//! How long a thread could have run and did not.

use std::fs;

/// Nanoseconds that the calling thread waited for a CPU since it was started; `None` where the kernel
/// does not count them.
pub(crate) fn since_start_ns() -> Option<u64> {
    parse(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// Nanoseconds on a CPU, nanoseconds waiting for one, and number of turns
/// (Documentation/scheduler/sched-stats.rst).
fn parse(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(parse("583604 1889037 3\n"), Some(1_889_037));
        assert_eq!(parse("583604\n"), None);
        assert_eq!(parse(""), None);
    }
}
