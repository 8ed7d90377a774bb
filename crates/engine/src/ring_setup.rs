//! Making a ring, with as many of the newer set-up flags as the kernel knows.

use io_uring::IoUring;
use std::io;
use std::time::Duration;

/// How long the kernel's submission thread looks for work before it sleeps.
const SUBMISSION_POLL_IDLE_MS: u32 = 1000;

/// Most entries of a submission queue (`IORING_MAX_ENTRIES` in `io_uring/io_uring.c`).
pub(crate) const ENTRIES_MAX: u32 = 32_768;

/// How a ring is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSettings {
    /// A kernel thread takes submissions (`SQPOLL`).
    pub submission_polling: bool,
    /// Completions are polled for at the device (`IOPOLL`).
    pub completion_polling: bool,
    /// Completions arrive with the next system call only, which costs least (`DEFER_TASKRUN`);
    /// without it they arrive by themselves.
    pub deferred_completions: bool,
}

/// Entries of the submission queue and of the completion queue for this many requests.
fn entries(slots: u32) -> (u32, u32) {
    (slots.clamp(1, ENTRIES_MAX), slots.saturating_mul(2).clamp(2, 131_072).next_power_of_two())
}

/// Bytes of a ring for this many requests that count as locked memory, where rings do (Linux before 5.12 and since
/// 6.14).
pub fn locked_bytes(slots: u32) -> u64 {
    /// `struct io_rings`, a number of 4 bytes for each submission, 16 bytes for each completion and 64 for each entry.
    const HEAD_BYTES: u64 = 320;
    let (submissions, completions) = entries(slots);
    let (submissions, completions) = (u64::from(submissions.next_power_of_two()), u64::from(completions));
    let page = sys::limits::page_size_bytes();
    (HEAD_BYTES + 4 * submissions + 16 * completions).next_multiple_of(page) + (64 * submissions).next_multiple_of(page)
}

/// Makes a ring, leaving out flags that the kernel does not know, newest first. The kernel releases the locked memory of
/// a ring some time after it was closed, so that one is tried again where there is none.
pub(crate) fn build(slots: u32, settings: RingSettings) -> io::Result<(IoUring, Option<&'static str>)> {
    const RETRIES: u32 = 50;
    let mut retries = 0..RETRIES;
    loop {
        match build_once(slots, settings) {
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory && retries.next().is_some() => {
                std::thread::sleep(Duration::from_millis(10));
            }
            made => return made,
        }
    }
}

fn build_once(slots: u32, settings: RingSettings) -> io::Result<(IoUring, Option<&'static str>)> {
    let (entries, completions) = entries(slots);
    downwards(settings, |flags| {
        let mut builder = IoUring::builder();
        builder.setup_clamp().setup_cqsize(completions);
        if settings.completion_polling {
            builder.setup_iopoll();
        }
        if settings.submission_polling {
            builder.setup_sqpoll(SUBMISSION_POLL_IDLE_MS);
        }
        if flags.coop_taskrun {
            builder.setup_coop_taskrun();
        }
        if flags.single_issuer {
            builder.setup_single_issuer();
        }
        if flags.defer_taskrun {
            builder.setup_defer_taskrun();
        }
        if flags.no_sqarray {
            builder.setup_no_sqarray();
        }
        builder.build(entries)
    })
}

/// Set-up flags that not every kernel knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NewerFlags {
    /// Linux 5.19.
    coop_taskrun: bool,
    /// Linux 6.0.
    single_issuer: bool,
    /// Linux 6.1.
    defer_taskrun: bool,
    /// Linux 6.6.
    no_sqarray: bool,
}

/// Tries all newer flags that the settings want, then fewer and fewer as long as the kernel answers
/// `EINVAL`; gives what worked and the names of the wanted flags that were left out.
fn downwards<T>(
    settings: RingSettings,
    mut attempt: impl FnMut(NewerFlags) -> io::Result<T>,
) -> io::Result<(T, Option<&'static str>)> {
    // The kernel thread of submission polling runs the completions; the task-run flags exclude it.
    let taskrun = settings.deferred_completions && !settings.submission_polling;
    let attempts: [(Option<&str>, u8); 4] = [
        (None, 3),
        (Some("NO_SQARRAY (Linux 6.6)"), 2),
        if taskrun {
            (Some("DEFER_TASKRUN (Linux 6.1) and NO_SQARRAY"), 1)
        } else {
            (Some("SINGLE_ISSUER (Linux 6.0) and NO_SQARRAY"), 0)
        },
        (Some("COOP_TASKRUN (Linux 5.19), DEFER_TASKRUN and NO_SQARRAY"), 0),
    ];
    let mut last_error = io::Error::from_raw_os_error(libc::EINVAL);
    for (missing, level) in attempts {
        let flags = NewerFlags {
            coop_taskrun: level >= 1 && taskrun,
            single_issuer: level >= 2,
            defer_taskrun: level >= 2 && taskrun,
            no_sqarray: level >= 3,
        };
        match attempt(flags) {
            Ok(made) => return Ok((made, missing)),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last_error = error,
            Err(error) => return Err(error),
        }
    }
    Err(last_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: RingSettings =
        RingSettings { submission_polling: false, completion_polling: false, deferred_completions: true };

    /// Result of the settings on a kernel that knows these flags: the flags that worked, those that were
    /// left out, and the number of attempts.
    fn on(known: NewerFlags, settings: RingSettings) -> (NewerFlags, Option<&'static str>, u32) {
        let mut attempts = 0;
        let made = downwards(settings, |asked| {
            attempts += 1;
            let unknown = (asked.coop_taskrun && !known.coop_taskrun)
                || (asked.single_issuer && !known.single_issuer)
                || (asked.defer_taskrun && !known.defer_taskrun)
                || (asked.no_sqarray && !known.no_sqarray);
            if unknown { Err(io::Error::from_raw_os_error(libc::EINVAL)) } else { Ok(asked) }
        });
        let (flags, missing) = made.expect("a ring without any of them");
        (flags, missing, attempts)
    }

    // Shows faults: The kernel does not know newer set-up flags
    #[test]
    fn older_kernels_get_the_flags_that_they_know() {
        let v5_10 = NewerFlags::default();
        let v5_19 = NewerFlags { coop_taskrun: true, ..v5_10 };
        let v6_0 = NewerFlags { single_issuer: true, ..v5_19 };
        let v6_1 = NewerFlags { defer_taskrun: true, ..v6_0 };
        let v6_6 = NewerFlags { no_sqarray: true, ..v6_1 };
        assert_eq!(on(v6_6, EVERYTHING), (v6_6, None, 1));
        assert_eq!(on(v6_1, EVERYTHING), (v6_1, Some("NO_SQARRAY (Linux 6.6)"), 2));
        // SINGLE_ISSUER alone gains nothing.
        let without_defer = Some("DEFER_TASKRUN (Linux 6.1) and NO_SQARRAY");
        assert_eq!(on(v6_0, EVERYTHING), (v5_19, without_defer, 3));
        assert_eq!(on(v5_19, EVERYTHING), (v5_19, without_defer, 3));
        assert_eq!(on(v5_10, EVERYTHING).0, v5_10);
    }

    #[test]
    fn submission_polling_excludes_the_task_run_flags() {
        let all = NewerFlags { coop_taskrun: true, single_issuer: true, defer_taskrun: true, no_sqarray: true };
        let (flags, ..) = on(all, RingSettings { submission_polling: true, ..EVERYTHING });
        assert_eq!(flags, NewerFlags { single_issuer: true, no_sqarray: true, ..NewerFlags::default() });
    }

    #[test]
    fn only_flags_that_the_settings_want_are_named_as_missing() {
        let polled = RingSettings { submission_polling: true, ..EVERYTHING };
        let v5_10 = NewerFlags::default();
        let without_issuer = Some("SINGLE_ISSUER (Linux 6.0) and NO_SQARRAY");
        assert_eq!(on(v5_10, polled), (v5_10, without_issuer, 3));
        let batched = RingSettings { deferred_completions: false, ..EVERYTHING };
        assert_eq!(on(v5_10, batched), (v5_10, without_issuer, 3));
        assert_eq!(on(v5_10, EVERYTHING).1, Some("COOP_TASKRUN (Linux 5.19), DEFER_TASKRUN and NO_SQARRAY"));
    }

    #[test]
    fn other_errors_are_not_tried_around() {
        let mut attempts = 0;
        let result = downwards(EVERYTHING, |_| {
            attempts += 1;
            Err::<(), _>(io::Error::from_raw_os_error(libc::EPERM))
        });
        assert_eq!((result.map_err(|error| error.raw_os_error()), attempts), (Err(Some(libc::EPERM)), 1));
    }
}
