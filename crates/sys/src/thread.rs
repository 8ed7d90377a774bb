//! Kernel threads of this process: binding to a CPU, and interrupting a system call.

use std::io;

/// Binds the calling thread to one CPU.
pub fn bind_to_cpu(cpu: u32) -> io::Result<()> {
    bind_to_cpus(0, [cpu])
}

/// Lets a thread of this process, by its number, run on these CPUs only; 0 = the calling thread.
pub fn bind_to_cpus(thread: u32, cpus: impl IntoIterator<Item = u32>) -> io::Result<()> {
    let set = cpu_set(cpus);
    // SAFETY: the set is as long as the call says; without any CPU the kernel refuses it.
    let result = unsafe { libc::sched_setaffinity(thread.cast_signed(), size_of_val(&set), &raw const set) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// These CPUs as the C library's set, without those that it has no room for.
pub fn cpu_set(cpus: impl IntoIterator<Item = u32>) -> libc::cpu_set_t {
    // SAFETY: it is an array of integers, for which zeros are valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for cpu in cpus.into_iter().map(|cpu| cpu as usize).filter(|cpu| *cpu < libc::CPU_SETSIZE as usize) {
        // SAFETY: the number is within the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    set
}

/// I/O priority values of the kernel (`IOPRIO_PRIO_VALUE` in `include/uapi/linux/ioprio.h`).
pub mod io_priority {
    /// Best effort, the lowest of its eight levels.
    pub const LOW: u16 = 2 << 13 | 7;
    /// Idle: only when no other process uses the device.
    pub const IDLE: u16 = 3 << 13;
}

/// Sets the I/O priority of the calling thread.
pub fn set_io_priority(value: u16) -> io::Result<()> {
    const WHO_PROCESS: libc::c_int = 1;
    // SAFETY: ioprio_set takes three integers; 0 means the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, libc::c_int::from(value)) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's number of the calling thread.
pub fn current_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// The signal that interrupts a worker's wait. It is ignored by default, so that it is harmless to a process that
/// receives it by mistake.
const WAKE_SIGNAL: libc::c_int = libc::SIGURG;

extern "C" fn on_wake(_: libc::c_int) {}

/// Makes [`wake`] interrupt the blocking system call of its thread. Once per process is enough.
pub fn prepare_wake() -> io::Result<()> {
    // SAFETY: the handler does nothing, so it is safe at any point of any thread; the structure is
    // fully initialised (zero mask and flags: without SA_RESTART, so that system calls return).
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_wake as *const () as libc::sighandler_t;
        libc::sigaction(WAKE_SIGNAL, &raw const action, std::ptr::null_mut())
    };
    if installed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Interrupts the blocking system call of a thread of this process; it returns `EINTR`. No effect if the thread has
/// ended.
pub fn wake(thread_id: i32) {
    // SAFETY: tgkill takes three integers. A stale thread id of this process is answered ESRCH.
    unsafe {
        libc::syscall(libc::SYS_tgkill, libc::getpid(), thread_id, WAKE_SIGNAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::CpuSet;
    use std::sync::mpsc;

    #[test]
    fn a_woken_thread_leaves_its_sleep() {
        prepare_wake().expect("a handler can be installed");
        let (send, receive) = mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            send.send(current_id()).expect("the test waits");
            // Without the wake this would outlast the test run.
            crate::clock::sleep_until_ns(crate::clock::monotonic_ns() + 600_000_000_000);
        });
        let id = receive.recv().expect("the thread sends its number");
        while !sleeper.is_finished() {
            wake(id);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    #[test]
    fn binding_shows_in_the_kernels_view() {
        std::thread::spawn(|| {
            let allowed = rustix::thread::sched_getaffinity(None).expect("our own mask");
            let cpu = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).expect("at least one CPU");
            bind_to_cpu(cpu as u32).expect("an allowed CPU");
            let status = std::fs::read_to_string("/proc/thread-self/status").expect("our own status");
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(str::trim);
            assert_eq!(line, Some(cpu.to_string().as_str()));
        })
        .join()
        .expect("the thread's assertions hold");
        assert!(bind_to_cpu(u32::MAX).is_err());
    }
}
