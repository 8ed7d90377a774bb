//! Files that are read as a whole: profiles, jobs, presets.

use model::limits::PROFILE_BYTES_MAX;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads at most one byte more than the limit.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    content(File::open(path)?)
}

/// The same for an open file.
pub(crate) fn content(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(PROFILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes that [`read`] returned as text, or the error: `not valid UTF-8`.
pub(crate) fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() > PROFILE_BYTES_MAX {
        return Err(format!("larger than {PROFILE_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "not valid UTF-8".to_owned())
}
