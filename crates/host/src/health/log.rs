//! The kernel's log, from a given time on.

use crate::root::Root;
use model::kernel_log::KernelMessage;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

/// The kernel's messages, one record per read.
const KMSG: &str = "/dev/kmsg";

/// No record is longer (`PRINTK_MESSAGE_MAX`); with less, a read of a longer one would fail.
const RECORD_BYTES_MAX: usize = 8192;

/// The maximum number of records: a flood is not read to its end.
const RECORDS_MAX: usize = 100_000;

/// The log, with the position up to which it was read.
#[derive(Debug)]
pub(super) struct KernelLog {
    file: File,
    /// Time of the last read, in nanoseconds of `CLOCK_MONOTONIC`.
    looked_at_ns: u64,
    /// Number of records read.
    records: usize,
}

impl KernelLog {
    /// Seeks to the end. `None` if there is no log, or this process may not read it
    /// (`kernel.dmesg_restrict`).
    pub(super) fn open(root: &Root, now_ns: u64) -> Option<Self> {
        let mut file = sys::file::open_to_look(&root.path(KMSG)).ok()?;
        file.seek(SeekFrom::End(0)).ok()?;
        Some(Self { file, looked_at_ns: now_ns, records: 0 })
    }

    /// The kernel's own messages since the last read; `now_ns` is the time in nanoseconds of `CLOCK_MONOTONIC`. Each
    /// message has the times of the two reads around it as its limits.
    ///
    /// Their stamps are those of a clock that runs like `CLOCK_MONOTONIC`, but is never adjusted: in weeks they drift
    /// apart by seconds. A message is not older than the last read and not younger than this one.
    pub(super) fn new_messages(&mut self, now_ns: u64) -> Vec<KernelMessage> {
        let looked_at_ns = std::mem::replace(&mut self.looked_at_ns, now_ns).min(now_ns);
        let mut text = Vec::new();
        let mut record = [0; RECORD_BYTES_MAX];
        while self.records < RECORDS_MAX {
            match self.file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => {
                    text.extend_from_slice(&record[..length]);
                    self.records += 1;
                }
                // Records were overwritten before they were read; the next read continues after them.
                Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) => {}
                Err(_) => break,
            }
        }
        let text = String::from_utf8_lossy(&text);
        let logged = text.lines().filter_map(message).map(|(stamp_ns, text)| KernelMessage {
            at_ns: stamp_ns.clamp(looked_at_ns, now_ns).cast_signed(),
            text: text.to_owned(),
        });
        logged.collect()
    }
}

/// Stamp in nanoseconds and message of a record `priority,number,microseconds,flags;message`. Priorities from 8 on are
/// those of programs that write to the log, and lines that begin with a blank contain properties.
fn message(line: &str) -> Option<(u64, &str)> {
    let (head, message) = line.split_once(';')?;
    let mut fields = head.split(',');
    let priority: u32 = fields.next()?.parse().ok()?;
    let stamp_us: u64 = fields.nth(1)?.parse().ok()?;
    (priority < 8).then_some((stamp_us.saturating_mul(1000), message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_the_kernel_is_listened_to() {
        assert_eq!(
            message("3,489,3369921249,-;I/O error, dev sda; again"),
            Some((3_369_921_249_000, "I/O error, dev sda; again"))
        );
        assert_eq!(message("12,490,3369921250,-;I/O error, dev sda"), None);
        for line in [" SUBSYSTEM=block", " DEVICE=b8:0;x", "", "x,1,2,-;y", "3,1;y", "3,1,x,-;y", "no record"] {
            assert_eq!(message(line), None, "{line:?}");
        }
    }

    #[test]
    fn what_was_there_before_is_old() {
        let directory = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(directory.path().join("dev")).expect("a new folder");
        let path = directory.path().join("dev/kmsg");
        std::fs::write(&path, "6,1,2,-;old\n").expect("a new file");
        let mut log = KernelLog::open(&Root::recorded(directory.path()), 1_500_000).expect("it is there");
        let mut new_messages = |now_ns| {
            let messages = log.new_messages(now_ns);
            messages.into_iter().map(|message| (message.at_ns, message.text)).collect::<Vec<_>>()
        };
        assert_eq!(new_messages(2_000_000), []);
        let mut file = File::options().append(true).open(path).expect("it is there");
        file.write_all(b"6,2,1900,-;early\n6,3,2345,-;new\n SUBSYSTEM=block\n4,4,9999,-;late\n").expect("it takes it");
        let expected = [(2_000_000, "early"), (2_345_000, "new"), (3_000_000, "late")];
        assert_eq!(new_messages(3_000_000), expected.map(|(at_ns, text)| (at_ns, text.to_owned())));
        assert_eq!(new_messages(4_000_000), []);
        assert!(KernelLog::open(&Root::recorded("/nonexistent"), 0).is_none());
    }
}
