//! Requirements of direct I/O on an open file.

use rustix::fs::{AtFlags, OFlags, StatxFlags};
use std::fs::File;
use std::io;

/// The kernel's own statement (`STATX_DIOALIGN`, Linux 6.1 and later, by file system).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// It makes none.
    None,
    /// Direct I/O is not possible.
    Impossible,
    /// Possible with these alignments.
    Aligned {
        /// Alignment of buffer addresses, in bytes.
        memory_bytes: u32,
        /// Alignment of offsets and lengths, in bytes.
        offset_bytes: u32,
    },
}

/// The kernel's statement on `file`.
pub fn statement(file: &File) -> io::Result<Statement> {
    let answer = match rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
        Ok(answer) => answer,
        // Before Linux 4.11, or hidden by an old seccomp filter.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => return Ok(Statement::None),
        Err(error) => return Err(error.into()),
    };
    if answer.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
        return Ok(Statement::None);
    }
    if answer.stx_dio_mem_align == 0 || answer.stx_dio_offset_align == 0 {
        return Ok(Statement::Impossible);
    }
    Ok(Statement::Aligned { memory_bytes: answer.stx_dio_mem_align, offset_bytes: answer.stx_dio_offset_align })
}

/// `STATX_WRITE_ATOMIC` of `include/uapi/linux/stat.h`, since Linux 6.11.
const WRITE_ATOMIC: StatxFlags = StatxFlags::from_bits_retain(0x0001_0000);

/// The smallest and largest atomic write to `file` in bytes; `None` = not supported.
pub fn atomic_writes(file: &File) -> Option<(u32, u32)> {
    let answer = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, WRITE_ATOMIC).ok()?;
    let is_reported = answer.stx_mask & WRITE_ATOMIC.bits() != 0 && answer.stx_atomic_write_unit_max > 0;
    is_reported.then_some((answer.stx_atomic_write_unit_min, answer.stx_atomic_write_unit_max))
}

/// True if the file system accepts `O_DIRECT` for `file`; its flags are restored afterwards.
pub fn is_accepted(file: &File) -> io::Result<bool> {
    let before = rustix::fs::fcntl_getfl(file)?;
    match rustix::fs::fcntl_setfl(file, before | OFlags::DIRECT) {
        Ok(()) => {
            rustix::fs::fcntl_setfl(file, before)?;
            Ok(true)
        }
        Err(rustix::io::Errno::INVAL) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_of_alignments_holds_for_real_reads() {
        use std::os::unix::fs::{FileExt, OpenOptionsExt};
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        std::fs::write(file.path(), vec![7; 1 << 16]).expect("written");
        let Statement::Aligned { memory_bytes, offset_bytes } = statement(file.as_file()).expect("an answer") else {
            testkit::skip!("this file system tells nothing about direct I/O");
        };
        assert!(memory_bytes.is_power_of_two() && offset_bytes.is_power_of_two());
        let direct = File::options()
            .read(true)
            .custom_flags(OFlags::DIRECT.bits().cast_signed())
            .open(file.path())
            .expect("O_DIRECT is possible, says the kernel");
        let mut buffer = vec![0; 1 << 16];
        let skip = buffer.as_ptr().align_offset(memory_bytes.max(512) as usize);
        let length = offset_bytes as usize;
        let read = direct.read_at(&mut buffer[skip..skip + length], u64::from(offset_bytes)).expect("aligned read");
        assert_eq!(read, length);
    }

    #[test]
    fn trying_leaves_the_flags_alone() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        let before = rustix::fs::fcntl_getfl(&file).expect("flags");
        is_accepted(&file).expect("an answer");
        assert_eq!(rustix::fs::fcntl_getfl(&file).expect("flags"), before);
    }

    #[test]
    fn proc_accepts_no_direct_io() {
        let file = File::open("/proc/self/status").expect("proc is mounted");
        assert!(!is_accepted(&file).expect("an answer"));
    }
}
