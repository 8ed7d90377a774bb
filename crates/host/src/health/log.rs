//! The kernel's log, from some moment on.

use crate::root::Root;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

/// Where the kernel gives out its messages, one record per read.
const KMSG: &str = "/dev/kmsg";

/// No record is longer (`PRINTK_MESSAGE_MAX`); with less, a read of a longer one would fail.
const RECORD_BYTES_MAX: usize = 8192;

/// A flood is not read to its end.
const RECORDS_MAX: usize = 100_000;

/// The log, at the place up to which it was read.
#[derive(Debug)]
pub(super) struct KernelLog {
    file: File,
}

impl KernelLog {
    /// Goes to the end. `None` if there is no log, or it is not for this process
    /// (`kernel.dmesg_restrict`).
    pub(super) fn open(root: &Root) -> Option<Self> {
        let mut file = sys::file::open_to_look(&root.path(KMSG)).ok()?;
        file.seek(SeekFrom::End(0)).ok()?;
        Some(Self { file })
    }

    /// The kernel's own messages since the last look.
    pub(super) fn new_messages(&mut self) -> Vec<String> {
        let mut text = Vec::new();
        let mut record = [0; RECORD_BYTES_MAX];
        for _ in 0..RECORDS_MAX {
            match self.file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => text.extend_from_slice(&record[..length]),
                // Records were overwritten before they were read; the next read begins behind them.
                Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) => {}
                Err(_) => break,
            }
        }
        String::from_utf8_lossy(&text).lines().filter_map(message).map(str::to_owned).collect()
    }
}

/// The message of a record `priority,number,time,flags;message`. Priorities from 8 on are those of
/// programs that write to the log, and lines that begin with a blank hold properties.
fn message(line: &str) -> Option<&str> {
    let (head, message) = line.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    (priority < 8).then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_the_kernel_is_listened_to() {
        assert_eq!(message("3,489,3369921249,-;I/O error, dev sda; again"), Some("I/O error, dev sda; again"));
        assert_eq!(message("12,490,3369921250,-;I/O error, dev sda"), None);
        for line in [" SUBSYSTEM=block", " DEVICE=b8:0;x", "", "x,1,2,-;y", "no record"] {
            assert_eq!(message(line), None, "{line:?}");
        }
    }

    #[test]
    fn what_was_there_before_is_old() {
        let directory = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(directory.path().join("dev")).expect("a new folder");
        let path = directory.path().join("dev/kmsg");
        std::fs::write(&path, "6,1,2,-;old\n").expect("a new file");
        let mut log = KernelLog::open(&Root::recorded(directory.path())).expect("it is there");
        assert_eq!(log.new_messages(), Vec::<String>::new());
        let mut file = File::options().append(true).open(path).expect("it is there");
        file.write_all(b"6,2,3,-;new\n SUBSYSTEM=block\n4,3,4,-;newer\n").expect("it takes it");
        assert_eq!(log.new_messages(), ["new", "newer"]);
        assert_eq!(log.new_messages(), Vec::<String>::new());
        assert!(KernelLog::open(&Root::recorded("/nonexistent")).is_none());
    }
}
