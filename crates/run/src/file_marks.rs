//! Marks of files that this program made: that a run writes to them, or that nothing has since.

use model::device_guard::FileIdentity;
use model::facts::{FileStamp, Fill};
use model::mark::{self, Mark, MarkState, MarkedFileState};
use std::fs::File;
use std::io;
use std::path::Path;
use sys::file_identity::{self, FileState};

/// Gives a file whose data is flushed a time of its last change that no other write gives, and a mark that says so.
///
/// File systems without extended attributes keep no mark, and their files keep their times.
pub(crate) fn close(file: &File, content: Fill) -> io::Result<FileStamp> {
    if sys::xattr::get(file, mark::ATTRIBUTE).is_err_and(|error| error.kind() == io::ErrorKind::Unsupported) {
        return stamp(file);
    }
    file_identity::set_modified(file, past_time())?;
    // As the file system keeps it.
    let stamp = stamp(file)?;
    let FileStamp { size_bytes, modified_ns, .. } = stamp;
    let identity = file_identity::lasting_identity(file)?;
    set_mark(file, &Mark { state: MarkState::Closed, size_bytes, fill: content, modified_ns, file: identity })?;
    Ok(stamp)
}

/// Marks a file that this run is about to write from start to end.
pub(crate) fn mark_as_open(file: &File, size_bytes: u64, content: Fill) -> io::Result<()> {
    let identity = file_identity::lasting_identity(file)?;
    set_mark(file, &Mark { state: MarkState::Open, size_bytes, fill: content, modified_ns: 0, file: identity })
}

/// The mark of a file, if it proves that the file holds nobody's data; `None` if not.
pub(crate) fn own_mark(file: &File) -> io::Result<Option<Mark>> {
    let value = match sys::xattr::get(file, mark::ATTRIBUTE) {
        Ok(Some(value)) => value,
        Ok(None) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(None),
        Err(error) => return Err(error),
    };
    let identity = file_identity::lasting_identity(file)?;
    let FileState { size_bytes, modified_ns, .. } = file_identity::state(file)?;
    Ok(Mark::fitting(&value, MarkedFileState { size_bytes, modified_ns, file: &identity }).ok())
}

/// True if a run began to make this very file and did not end.
pub(crate) fn is_left_open(file: &File) -> io::Result<bool> {
    let value = sys::xattr::get(file, mark::ATTRIBUTE)?;
    let mark = value.and_then(|value| String::from_utf8(value).ok()).and_then(|text| text.parse::<Mark>().ok());
    let identity = file_identity::lasting_identity(file)?;
    Ok(mark.is_some_and(|mark| mark.state == MarkState::Open && mark.file == identity))
}

/// Marks a file; file systems without such attributes keep none.
pub(crate) fn set_mark(file: &File, mark: &Mark) -> io::Result<()> {
    match sys::xattr::set(file, mark::ATTRIBUTE, mark.to_string().as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
        _ => Ok(()),
    }
}

/// The file as it is now.
pub(crate) fn stamp(file: &File) -> io::Result<FileStamp> {
    let FileState { device, inode, size_bytes, modified_ns, .. } = file_identity::state(file)?;
    Ok(FileStamp { identity: FileIdentity { device, inode }, size_bytes, modified_ns })
}

/// A random time between those years.
fn past_time() -> i64 {
    let seconds = mark::MODIFIED_SECONDS;
    let span_ns = (seconds.end - seconds.start).unsigned_abs() * 1_000_000_000;
    seconds.start * 1_000_000_000 + (sys::new_file::random() % span_ns).cast_signed()
}

pub(crate) fn cannot_mark(path: &Path, error: &io::Error) -> String {
    format!("cannot mark '{}' as being written to: {error}", path.display())
}
