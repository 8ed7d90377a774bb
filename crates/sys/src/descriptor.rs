//! Inherited descriptors, and descriptor tables.

use rustix::fs::OFlags;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

/// Duplicates an inherited descriptor.
///
/// # Errors
///
/// If the program was started without it (`EBADF`), or it is not open for writing.
pub fn duplicate_for_writing(number: u32) -> io::Result<OwnedFd> {
    let number = libc::c_int::try_from(number).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    // SAFETY: fcntl takes integers and knows whether the descriptor exists.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFL) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    if flags & libc::O_ACCMODE == libc::O_RDONLY {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the descriptor is open read-only"));
    }
    // SAFETY: as above; the result is a new descriptor, or -1.
    let duplicate = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if duplicate < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created it, so nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(duplicate) })
}

/// True if writes through a descriptor are appended to its file.
///
/// # Errors
///
/// If it is not open.
pub fn appends(descriptor: impl AsFd) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(descriptor)?.contains(OFlags::APPEND))
}

/// True if two threads, of any processes, share one table of descriptors.
///
/// # Errors
///
/// If the kernel has no `kcmp` (`ENOSYS`), this process may not inspect them (`EPERM`), or one has ended (`ESRCH`).
pub fn are_shared(one: u32, other: u32) -> io::Result<bool> {
    /// `KCMP_FILES` of linux/kcmp.h.
    const KCMP_FILES: libc::c_int = 2;
    // SAFETY: this kind of kcmp takes integers only, and changes nothing.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0, 0) };
    if order < 0 { Err(io::Error::last_os_error()) } else { Ok(order == 0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_duplicate_writes_to_the_same_end() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let number = writer.as_raw_fd().cast_unsigned();
        let mut duplicate = File::from(duplicate_for_writing(number).expect("it is open"));
        drop(writer);
        duplicate.write_all(b"x").expect("it has room");
        drop(duplicate);
        let mut read = String::new();
        reader.read_to_string(&mut read).expect("it ends");
        assert_eq!(read, "x");
        let refused = duplicate_for_writing(reader.as_raw_fd().cast_unsigned());
        assert_eq!(refused.expect_err("it is for reading").kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn appending_is_a_matter_of_how_it_was_opened() {
        let named = tempfile::NamedTempFile::new().expect("a temporary file");
        for is_appending in [false, true] {
            let file = File::options().write(true).append(is_appending).open(named.path()).expect("it is there");
            assert_eq!(appends(&file).expect("it is open"), is_appending);
        }
    }

    #[test]
    fn what_is_not_open_is_no_descriptor() {
        for number in [999_999, u32::MAX] {
            assert_eq!(duplicate_for_writing(number).expect_err("nothing").raw_os_error(), Some(libc::EBADF));
        }
    }

    #[test]
    fn threads_share_their_descriptors_and_processes_do_not() {
        let thread = || rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            tell.send(thread()).expect("it is awaited");
            ended.recv().ok();
        });
        let other_id = told.recv().expect("it runs");
        // Without kcmp in the kernel, there is nothing to test.
        if let Ok(is_shared) = are_shared(thread(), other_id) {
            assert!(is_shared);
            assert!(!are_shared(thread(), std::os::unix::process::parent_id()).is_ok_and(|is_shared| is_shared));
        }
        drop(end);
        other.join().expect("it ends");
    }
}
