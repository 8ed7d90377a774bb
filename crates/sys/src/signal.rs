//! Signal dispositions that this process inherited.

use std::io;

/// True if a signal is ignored, as `nohup` arranges before it starts a program.
///
/// # Errors
///
/// `EINVAL` if there is no such signal.
pub fn is_ignored(signal: i32) -> io::Result<bool> {
    // SAFETY: the kernel fills the whole structure, which is plain data, and changes nothing because
    // no new action is given.
    let (result, action) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &raw mut action), action)
    };
    if result == 0 { Ok(action.sa_sigaction == libc::SIG_IGN) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_answer_is_told() {
        // Rust ignores SIGPIPE in every program, and SIGWINCH has its default action.
        assert!(is_ignored(libc::SIGPIPE).expect("a signal"));
        assert!(!is_ignored(libc::SIGWINCH).expect("a signal"));
        assert!(is_ignored(4711).is_err());
    }
}
