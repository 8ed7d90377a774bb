//! Availability of Linux AIO to this process.

use std::io;

/// Creates the smallest possible context and destroys it again.
pub fn probe() -> io::Result<()> {
    let (mut context, requests): (libc::c_ulong, libc::c_long) = (0, 1);
    // SAFETY: the kernel writes the context's handle, one word, behind the pointer.
    if unsafe { libc::syscall(libc::SYS_io_setup, requests, &raw mut context) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so this is a context of this function alone; no I/O is in flight in it.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn contexts_are_given_back() {
        if let Err(error) = super::probe() {
            testkit::skip!("no Linux AIO here: {error}");
        }
        // Each context is mapped into the process.
        let count = || std::fs::read_to_string("/proc/self/maps").expect("proc is mounted").matches("/[aio]").count();
        let before = count();
        for _ in 0..64 {
            super::probe().expect("works again");
        }
        assert!(count() < before + 60);
    }
}
