//! The kernel's log, read beside the program under test.

use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// The messages logged from some moment on.
#[derive(Debug)]
pub struct KernelLog {
    file: OwnedFd,
}

impl KernelLog {
    /// Messages from now on; the error is the reason if this process cannot read them.
    pub fn from_now() -> Result<Self, String> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/kmsg", flags, Mode::empty());
        let file = file.map_err(|error| format!("the kernel's log is not for this process: {error}"))?;
        rustix::fs::seek(&file, SeekFrom::End(0))
            .map_err(|error| format!("the kernel's log is not for this process: {error}"))?;
        Ok(Self { file })
    }

    /// True if an I/O error of a device, like `loop0`, was logged since the last call. The kernel writes at most 10 of
    /// these messages in 5 s, for all devices of the machine together, so there may be none although I/Os failed.
    pub fn has_io_error(&self, device: &str) -> bool {
        let wanted = format!("error, dev {device}, sector ");
        let (mut record, mut found) = ([0; 8192], false);
        loop {
            match rustix::io::read(&self.file, &mut record) {
                Ok(0) => return found,
                Ok(length) => found |= String::from_utf8_lossy(&record[..length]).contains(&wanted),
                // A record that was overwritten in the meantime.
                Err(Errno::PIPE | Errno::INTR) => {}
                Err(_) => return found,
            }
        }
    }
}
