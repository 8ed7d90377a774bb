//! Creating files: reserving blocks, direct writes, and dropping their cached pages.

use rustix::fs::{Advice, FallocateFlags, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// Reserves blocks for `bytes` bytes and sets the length; where the file system cannot reserve,
/// sets the length alone.
///
/// # Errors
///
/// `ENOSPC` and `EFBIG` above all.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(bytes),
        Err(error) => Err(error.into()),
    }
}

/// Reserves blocks for `bytes` bytes and sets the length.
///
/// # Errors
///
/// `EOPNOTSUPP` where the file system cannot reserve, `ENOSPC` and `EFBIG` above all.
pub fn reserve(file: impl AsFd, bytes: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes)?)
}

/// Truncates a file to 0 bytes.
///
/// # Errors
///
/// Those of `ftruncate`.
pub fn empty(file: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::ftruncate(file, 0)?)
}

/// Switches direct I/O on or off for everything that shares this open file.
///
/// # Errors
///
/// `EINVAL` where the file system has no direct I/O.
pub fn set_direct(file: &File, direct: bool) -> io::Result<()> {
    let mut flags = rustix::fs::fcntl_getfl(file)?;
    flags.set(OFlags::DIRECT, direct);
    Ok(rustix::fs::fcntl_setfl(file, flags)?)
}

/// Asks the kernel to drop the file's clean pages from its cache.
///
/// # Errors
///
/// Those of `posix_fadvise`.
pub fn drop_cached(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, Advice::DontNeed)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Mapping;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn blocks_are_there_and_direct_writes_reach_them() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        allocate(&file, 1 << 20).expect("1 MiB is free");
        let status = file.metadata().expect("our own file");
        assert_eq!((status.len(), status.blocks() >= 2048), (1 << 20, true));
        let mut memory = Mapping::new(8192, 0).expect("8 KiB fit");
        memory.fill(0, 8192, |part, _| part.fill(7));
        if set_direct(&file, true).is_err() {
            testkit::skip!("no direct I/O here");
        }
        memory.write_to(&file, 4096, 4096, 8192).expect("aligned");
        assert!(memory.write_to(&file, 0, 100, 0).is_err(), "an unaligned direct write");
        set_direct(&file, false).expect("off again");
        memory.write_to(&file, 0, 100, 0).expect("through the cache");
        let mut back = [0; 2];
        file.read_exact_at(&mut back, 12_287).expect("inside the file");
        assert_eq!(back, [7, 0]);
        drop_cached(&file).expect("advice");
    }
}
