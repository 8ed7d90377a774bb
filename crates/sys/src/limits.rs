//! Limits of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Bytes that this process may lock in memory (`RLIMIT_MEMLOCK`); `None` = any amount.
pub fn locked_memory_bytes() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

/// Bytes that the stack of the main thread may take (`RLIMIT_STACK`); `None` = any number.
pub fn stack_bytes() -> Option<u64> {
    getrlimit(Resource::Stack).current
}

/// Bytes of address space that this process may take (`RLIMIT_AS`); `None` = any number.
pub fn address_space_bytes() -> Option<u64> {
    getrlimit(Resource::As).current
}

/// Raises the limit of open descriptors to the hard limit, and returns the new limit; `u64::MAX` = unlimited. A refusal
/// leaves the limit unchanged.
pub fn raise_open_files() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let limit = if raised.is_ok() { maximum } else { current };
    limit.unwrap_or(u64::MAX)
}

/// Lifts the limit on locked memory, if this process may: before Linux 5.11, maps of eBPF count as such. A refusal leaves
/// the limit unchanged; the call that needs the memory then fails.
pub fn lift_lock_limit() {
    let _ = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None });
}

/// Bytes per page of memory.
pub fn page_size_bytes() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let raised = raise_open_files();
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.current, now.maximum);
        assert_eq!(raised, now.maximum.unwrap_or(u64::MAX));
    }

    #[test]
    fn pages_are_a_power_of_two() {
        assert!(page_size_bytes().is_power_of_two());
    }
}
