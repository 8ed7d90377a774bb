//! Dirty pages of a file in the page cache.

use crate::limits::page_size_bytes;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// `cachestat`, since Linux 6.5: the same number on every supported architecture.
const CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range`.
#[repr(C)]
struct Part {
    offset_bytes: u64,
    /// 0 = to the end.
    length_bytes: u64,
}

/// `struct cachestat`: pages.
#[repr(C)]
#[derive(Default)]
struct Pages {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Bytes of a file in the page cache that are not on storage yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unwritten {
    /// Waiting to be written.
    pub dirty_bytes: u64,
    /// Being written.
    pub writeback_bytes: u64,
}

/// Bytes of a part of `file` that are not on storage yet. `ENOSYS` before Linux 6.5, `EPERM` for files of others,
/// `EOPNOTSUPP` for huge pages.
pub fn unwritten(file: &File, part: &Range<u64>) -> io::Result<Unwritten> {
    let range = Part { offset_bytes: part.start, length_bytes: part.end.saturating_sub(part.start) };
    let mut pages = Pages::default();
    // SAFETY: the call reads one `cachestat_range` and writes one `cachestat`, which `Part` and `Pages` are in
    // layout, and keeps neither pointer.
    let result = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut pages, 0) };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    let bytes = |pages: u64| pages.saturating_mul(page_size_bytes());
    Ok(Unwritten { dirty_bytes: bytes(pages.dirty), writeback_bytes: bytes(pages.writeback) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_was_synced_is_written_and_what_was_not_may_wait() {
        // In the folder of the build, which is on storage.
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        file.write_all(&vec![1; 1 << 20]).expect("it takes it");
        // Not available on older kernels.
        let Ok(before) = unwritten(&file, &(0..1 << 20)) else { return };
        assert!(before.dirty_bytes + before.writeback_bytes <= 1 << 20, "{before:?}");
        file.sync_all().expect("it is stored");
        assert_eq!(unwritten(&file, &(0..1 << 20)).expect("an answer"), Unwritten::default());
        file.write_all(&vec![1; 1 << 16]).expect("it takes it");
        let part = |part| unwritten(&file, &part).expect("an answer").dirty_bytes;
        assert_eq!(part(0..1 << 20), 0, "what was synced is not dirty");
        assert!(part(1 << 20..2 << 20) <= 1 << 16);
    }
}
