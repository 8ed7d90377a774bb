//! The kernel: its release, privileges and limits of this process, and `io_uring` support.

use crate::root::Root;
use crate::syntax::labelled;
use model::facts::Availability;
use std::io;

const ENOSYS: i32 = 38;
const EPERM: i32 = 1;
const ENOMEM: i32 = 12;
/// `CAP_IPC_LOCK`.
const CAPABILITY_IPC_LOCK: u32 = 14;

/// Host name.
pub fn computer_name(root: &Root) -> String {
    root.word("/proc/sys/kernel/hostname").or_else(|| root.word("/etc/hostname")).unwrap_or_default()
}

/// Boot ID of the machine; empty if unknown.
pub fn boot_id(root: &Root) -> String {
    root.word("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// The output of `uname -r`.
pub(crate) fn release(root: &Root) -> String {
    root.word("/proc/sys/kernel/osrelease").unwrap_or_default()
}

/// The kernel's clock source; empty if unknown.
pub fn clock_source(root: &Root) -> String {
    root.word("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_default()
}

/// True if the kernel keeps time with the CPU's counter, and the processor guarantees it a constant rate, also in sleep
/// states: on x86-64 by flags, on ARM64 by its architecture.
pub fn trusts_cpu_counter(root: &Root) -> bool {
    sys::machine_clock::COUNTER_SOURCE.is_some_and(|name| name == clock_source(root)) && has_constant_rate(root)
}

#[cfg(target_arch = "x86_64")]
fn has_constant_rate(root: &Root) -> bool {
    let processors = root.text("/proc/cpuinfo").unwrap_or_default();
    let flags = processors.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    ["constant_tsc", "nonstop_tsc"].iter().all(|wanted| flags.split_ascii_whitespace().any(|flag| flag == *wanted))
}

#[cfg(not(target_arch = "x86_64"))]
fn has_constant_rate(_root: &Root) -> bool {
    true
}

/// True if limits on locked memory do not apply to this process. Capabilities in a user namespace of its own do not
/// count: the kernel checks those of the initial one.
pub(crate) fn locks_any_memory(root: &Root) -> bool {
    let status = root.text("/proc/self/status").unwrap_or_default();
    let effective = labelled(&status, "CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    let first_namespace = root.text("/proc/self/uid_map").is_none_or(|map| {
        let words: Vec<&str> = map.split_whitespace().collect();
        words == ["0", "0", "4294967295"]
    });
    first_namespace && effective >> CAPABILITY_IPC_LOCK & 1 == 1
}

/// Interprets the result of creating a ring.
pub(crate) fn io_uring(root: &Root, outcome: io::Result<()>) -> Availability {
    match outcome {
        Ok(()) => Availability::Available,
        Err(error) => Availability::Unavailable { cause: cause(root, &error) },
    }
}

/// Interprets the result of creating a context of Linux AIO.
pub(crate) fn linux_aio(outcome: io::Result<()>) -> Availability {
    match outcome {
        Ok(()) => Availability::Available,
        // The system-wide limit is reached at this moment.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Availability::Available,
        Err(error) => Availability::Unavailable { cause: format!("io_setup: {error}") },
    }
}

fn cause(root: &Root, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(ENOSYS) if is_filtered(root) => {
            "io_uring_setup returned ENOSYS: the seccomp filter of a container or service blocks it, or the kernel is \
             older than 5.1 or built without it"
                .to_owned()
        }
        Some(ENOSYS) => {
            "io_uring_setup returned ENOSYS: the kernel is older than 5.1 or built without CONFIG_IO_URING".to_owned()
        }
        Some(EPERM) => format!("io_uring_setup returned EPERM: {}", who_forbids(root)),
        Some(ENOMEM) => {
            "io_uring_setup returned ENOMEM: rings count as locked memory (Linux before 5.12 and since 6.14), of which \
             all processes of a user share one limit; raise it with ulimit -l"
                .to_owned()
        }
        _ => format!("io_uring_setup failed: {error}"),
    }
}

fn who_forbids(root: &Root) -> &'static str {
    match root.number("/proc/sys/kernel/io_uring_disabled") {
        Some(2) => {
            "kernel.io_uring_disabled is 2, which disables it for everyone; sysctl kernel.io_uring_disabled=0 enables \
             it"
        }
        Some(1) => {
            "kernel.io_uring_disabled is 1, which disables it for processes without CAP_SYS_ADMIN outside the group \
             kernel.io_uring_group; sysctl kernel.io_uring_disabled=0 enables it"
        }
        _ if is_filtered(root) => {
            "the seccomp filter of a container or service blocks it (Docker's default profile does); use a profile \
             that allows the io_uring_* system calls"
        }
        _ => "a security module blocks it",
    }
}

/// True if this process runs under a seccomp filter.
fn is_filtered(root: &Root) -> bool {
    labelled(&root.text("/proc/self/status").unwrap_or_default(), "Seccomp") == Some("2")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn cause_of(errno: i32, sysctl: Option<&str>, seccomp: &str) -> String {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir_all(directory.path().join("proc/sys/kernel")).expect("made");
        fs::create_dir_all(directory.path().join("proc/self")).expect("made");
        fs::write(directory.path().join("proc/self/status"), format!("Seccomp:\t{seccomp}\n")).expect("written");
        if let Some(value) = sysctl {
            fs::write(directory.path().join("proc/sys/kernel/io_uring_disabled"), value).expect("written");
        }
        let outcome = io_uring(&Root::recorded(directory.path()), Err(io::Error::from_raw_os_error(errno)));
        let Availability::Unavailable { cause } = outcome else { panic!("available in spite of an error") };
        cause
    }

    #[test]
    fn a_refusal_names_its_likely_cause() {
        for (errno, sysctl, seccomp, words) in [
            (ENOSYS, None, "0", "without CONFIG_IO_URING"),
            (ENOSYS, None, "2", "seccomp filter"),
            (EPERM, Some("2\n"), "2", "kernel.io_uring_disabled is 2"),
            (EPERM, Some("1\n"), "0", "kernel.io_uring_disabled is 1"),
            (EPERM, Some("0\n"), "2", "seccomp filter"),
            (EPERM, None, "0", "security module"),
            (ENOMEM, None, "0", "ulimit -l"),
            (24, None, "0", "os error 24"),
        ] {
            let cause = cause_of(errno, sysctl, seccomp);
            assert!(cause.contains(words), "{errno}, {sysctl:?}, {seccomp}: {cause}");
            assert!(!cause.ends_with('.') && !cause.contains("  "), "{cause}");
        }
    }

    #[test]
    fn a_ring_that_was_made_is_available() {
        assert_eq!(io_uring(&Root::machine(), Ok(())), Availability::Available);
    }

    #[test]
    fn linux_aio_is_missing_if_the_call_is_and_not_if_its_limit_is_reached() {
        let with = |errno| linux_aio(Err(io::Error::from_raw_os_error(errno)));
        assert!(matches!(with(ENOSYS), Availability::Unavailable { cause } if cause.starts_with("io_setup: ")));
        assert_eq!(with(11), Availability::Available);
    }
}
