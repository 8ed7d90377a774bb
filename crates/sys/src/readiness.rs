//! Waiting until something can be read or written, without doing so.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// What a wait found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// There is something to read.
    Readable,
    /// The time is over, or a signal came.
    Nothing,
    /// The other side is gone; what it left behind may still be read.
    HungUp,
}

/// Waits until `source` can be read, at most `timeout`. A signal ends the wait early.
///
/// # Errors
///
/// What the kernel says of the descriptor.
pub fn readable(source: impl AsFd, timeout: Duration) -> io::Result<Readiness> {
    let timeout = timespec(timeout);
    let mut watched = [PollFd::new(&source, PollFlags::IN)];
    match poll(&mut watched, Some(&timeout)) {
        Err(Errno::INTR) => return Ok(Readiness::Nothing),
        outcome => outcome?,
    };
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
/// What the kernel says of the descriptor.
pub fn writable(sink: impl AsFd, timeout: Duration) -> io::Result<()> {
    match poll(&mut [PollFd::new(&sink, PollFlags::OUT)], Some(&timespec(timeout))) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn timespec(timeout: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX), tv_nsec: timeout.subsec_nanos().into() }
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
        assert_eq!(readable(&reader, now).unwrap(), Readiness::Readable);
        drop(writer);
        assert_eq!(readable(&reader, now).unwrap(), Readiness::HungUp);
    }
}
