//! Availability of `io_uring` to this process.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Creates the smallest possible ring and closes it again.
pub fn probe() -> io::Result<()> {
    // struct io_uring_params is 120 bytes long; all zeros request no feature at all.
    let mut parameters = [0_u64; 15];
    // SAFETY: the kernel reads and writes the 120 bytes of the array behind the pointer and
    // nothing else; any bit pattern is valid in it.
    let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1_u32, parameters.as_mut_ptr()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so this is a descriptor that nobody else owns.
    drop(unsafe { OwnedFd::from_raw_fd(fd as i32) });
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_ring_is_closed_again() {
        let count = || std::fs::read_dir("/proc/self/fd").expect("proc is mounted").count();
        if let Err(error) = super::probe() {
            testkit::skip!("no io_uring here: {error}");
        }
        let before = count();
        for _ in 0..64 {
            super::probe().expect("works again");
        }
        // Other tests of this process open files meanwhile, though not as many.
        assert!(count() < before + 60);
    }
}
