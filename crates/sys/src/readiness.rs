//! Waiting until a descriptor can be read or written, without I/O.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Data is available.
    Readable,
    /// The timeout expired, or a signal arrived.
    Nothing,
    /// The other side has closed; remaining data may still be read.
    HungUp,
}

/// Waits until `source` can be read, at most `timeout`. A signal ends the wait early.
///
/// # Errors
///
/// The kernel's, for the descriptor.
pub fn readable(source: impl AsFd, timeout: Duration) -> io::Result<Readiness> {
    let mut watched = [PollFd::new(&source, PollFlags::IN)];
    wait(&mut watched, timeout)?;
    let found = watched[0].revents();
    Ok(if found.contains(PollFlags::IN) && !found.contains(PollFlags::HUP) {
        Readiness::Readable
    } else if found.is_empty() {
        Readiness::Nothing
    } else {
        Readiness::HungUp
    })
}

/// Waits until `sink` takes more bytes or its reader is gone, at most `timeout`. A signal ends the wait early.
///
/// # Errors
///
/// The kernel's, for the descriptor.
pub fn writable(sink: impl AsFd, timeout: Duration) -> io::Result<()> {
    wait(&mut [PollFd::new(&sink, PollFlags::OUT)], timeout)
}

/// True if `sink` accepts bytes at once: a pipe at least `PIPE_BUF` of them, 4096 on Linux (`pipe_poll` in
/// `fs/pipe.c`). True also if it cannot be polled.
pub fn is_writable(sink: impl AsFd) -> bool {
    let mut watched = [PollFd::new(&sink, PollFlags::OUT)];
    wait(&mut watched, Duration::ZERO).is_err() || !watched[0].revents().is_empty()
}

/// Waits for any of these; a signal ends the wait early.
fn wait(watched: &mut [PollFd<'_>], timeout: Duration) -> io::Result<()> {
    let seconds = i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX);
    let timeout = Timespec { tv_sec: seconds, tv_nsec: timeout.subsec_nanos().into() };
    match poll(watched, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_pipe_is_empty_then_full_then_gone() {
        let (reader, mut writer) = io::pipe().unwrap();
        let now = Duration::ZERO;
        assert_eq!(readable(&reader, now).unwrap(), Readiness::Nothing);
        writable(&writer, Duration::MAX).unwrap();
        writer.write_all(b"x").unwrap();
        assert!(is_writable(&writer));
        assert_eq!(readable(&reader, now).unwrap(), Readiness::Readable);
        while is_writable(&writer) {
            writer.write_all(&[0; 4096]).unwrap();
        }
        drop(writer);
        assert_eq!(readable(&reader, now).unwrap(), Readiness::HungUp);
    }
}
