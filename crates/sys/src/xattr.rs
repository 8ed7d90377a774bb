//! Extended attributes of open files.

use rustix::fs::XattrFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io;

/// The maximum length of a value that is read.
pub const VALUE_BYTES_MAX: usize = 256;

/// The value of attribute `name`; `None` if the file has none of that name.
///
/// Fails with kind [`io::ErrorKind::Unsupported`] where the file system has no such attributes,
/// and with `ERANGE` if the value is longer than [`VALUE_BYTES_MAX`].
pub fn get(file: &File, name: &str) -> io::Result<Option<Vec<u8>>> {
    let mut value = [0; VALUE_BYTES_MAX];
    match rustix::fs::fgetxattr(file, name, &mut value) {
        Ok(length) => Ok(Some(value[..length].to_vec())),
        Err(Errno::NODATA) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sets attribute `name` to `value`, whether it exists or not.
///
/// Fails with kind [`io::ErrorKind::Unsupported`] where the file system has no such attributes.
pub fn set(file: &File, name: &str, value: &[u8]) -> io::Result<()> {
    Ok(rustix::fs::fsetxattr(file, name, value, XattrFlags::empty())?)
}

/// Removes attribute `name`, if it is there.
pub fn remove(file: &File, name: &str) -> io::Result<()> {
    match rustix::fs::fremovexattr(file, name) {
        Ok(()) | Err(Errno::NODATA) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "user.diskspd-test";

    #[test]
    fn values_come_back_as_they_were_set() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        match get(&file, NAME) {
            Ok(value) => assert_eq!(value, None),
            Err(error) => testkit::skip!("no extended attributes here: {error}"),
        }
        set(&file, NAME, b"one").expect("set");
        set(&file, NAME, b"two").expect("set again");
        assert_eq!(get(&file, NAME).expect("an answer").as_deref(), Some(&b"two"[..]));
        remove(&file, NAME).expect("removed");
        remove(&file, NAME).expect("nothing to remove");
        assert_eq!(get(&file, NAME).expect("an answer"), None);
    }

    #[test]
    fn an_overlong_value_is_an_error() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        if set(&file, NAME, &[b'x'; VALUE_BYTES_MAX + 1]).is_err() {
            testkit::skip!("no extended attributes here");
        }
        let error = get(&file, NAME).expect_err("too long");
        assert_eq!(error.raw_os_error(), Some(Errno::RANGE.raw_os_error()));
    }

    #[test]
    fn proc_has_no_user_attributes() {
        let file = File::open("/proc/self/status").expect("proc is mounted");
        assert_eq!(get(&file, NAME).expect_err("not supported").kind(), io::ErrorKind::Unsupported);
    }
}
