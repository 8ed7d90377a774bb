//! The monotonic clock, and sleeping until a point on it.

use rustix::time::{ClockId, Timespec};
use std::io;

/// `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Resolution of `CLOCK_MONOTONIC` as reported by the kernel, in nanoseconds: one, or a tick of the scheduler on a
/// kernel without high-resolution timers.
pub fn monotonic_step_ns() -> u64 {
    let step = rustix::time::clock_getres(ClockId::Monotonic);
    step.tv_sec as u64 * 1_000_000_000 + step.tv_nsec as u64
}

/// Sleeps until `CLOCK_MONOTONIC` reads `until_ns`, or a signal arrives; at once if it has passed.
pub fn sleep_until_ns(until_ns: u64) {
    let until = timespec(until_ns);
    // The only errors are EINTR, which the caller expects, and EINVAL, which a valid time excludes.
    let _ = rustix::thread::clock_nanosleep_absolute(rustix::thread::ClockId::Monotonic, &until);
}

/// Makes this thread's sleeps end within a nanosecond of their time instead of the usual 50 µs.
pub fn use_exact_sleeps() -> io::Result<()> {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours.
    if unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Milliseconds since boot, suspended time included.
pub fn milliseconds_since_boot() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Nanoseconds since the Unix epoch.
pub fn realtime_ns() -> i128 {
    let now = rustix::time::clock_gettime(ClockId::Realtime);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000).cast_signed(), tv_nsec: (ns % 1_000_000_000).cast_signed() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_ends_no_earlier_than_asked() {
        let until = monotonic_ns() + 2_000_000;
        sleep_until_ns(until);
        assert!(monotonic_ns() >= until);
    }

    #[test]
    fn slack_can_be_set() {
        use_exact_sleeps().expect("the kernel knows PR_SET_TIMERSLACK since 2.6.28");
    }
}
