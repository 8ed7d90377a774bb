//! A descriptor inherited by the program, to which lines are written.

use super::file::{Protected, Replace, beginning, is_marked};
use super::place::Place;
use render::document::DocumentKind;
use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Seek as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use sys::file_identity::{self, FileState};

/// Character devices that discard all writes.
const SINKS: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// Duplicates the inherited descriptor with this number, if lines may be written there: to a pipe, a socket, a
/// terminal, or a file in which nothing is lost.
pub(crate) fn inherited(number: u32, replace: Replace, protected: &[Protected]) -> Result<OwnedFd, String> {
    let text = |error: io::Error| error.to_string();
    let own = File::from(sys::descriptor::duplicate_for_writing(number).map_err(text)?);
    let found = own.metadata().map_err(text)?;
    let kind = found.file_type();
    if kind.is_file() {
        check_file(&own, replace, protected)?;
    } else if kind.is_block_device() {
        return Err("it is a block device".to_owned());
    } else if kind.is_char_device() {
        let is_sink = |path: &str| fs::metadata(path).is_ok_and(|sink| sink.rdev() == found.rdev());
        if !own.is_terminal() && !SINKS.into_iter().any(is_sink) {
            return Err("it is a character device other than a terminal or /dev/null".to_owned());
        }
    } else if !kind.is_fifo() && !kind.is_socket() {
        return Err("it is not a pipe, a socket, a terminal or a file".to_owned());
    }
    Ok(own.into())
}

/// Checks that lines may be written to this open regular file.
fn check_file(file: &File, replace: Replace, protected: &[Protected]) -> Result<(), String> {
    const INSTEAD: &str = "give an empty file, or --replace-output";
    let text = |error: io::Error| error.to_string();
    let state = file_identity::state(file).map_err(text)?;
    if let Some(Protected { role, .. }) = file_of_run(&state, protected) {
        return Err(format!("the file is {role}"));
    }
    if is_marked(file) {
        return Err("the file is a target created by diskspd: give another file".to_owned());
    }
    // Messages go to standard error anyway, and may already have gone there.
    let is_stderr = file_identity::state(io::stderr()).is_ok_and(|stderr| stderr.is_same_file(&state));
    if replace.any || is_stderr || state.size_bytes == 0 {
        return Ok(());
    }
    match kind_of_contents(file) {
        Ok(Some(kind)) if kind == replace.kind && is_at_end(file, &state).map_err(text)? => Ok(()),
        Ok(Some(kind)) if kind == replace.kind => {
            Err("lines would overwrite a part of the stream in the file: append to it (>>)".to_owned())
        }
        Ok(_) => Err(format!("the file is not empty, and not {} written by diskspd: {INSTEAD}", replace.kind.name())),
        Err(error) => Err(format!("the file is not empty, and cannot be read: {error}: {INSTEAD}")),
    }
}

/// The file of the run that is the same file, under any name.
fn file_of_run<'a>(state: &FileState, protected: &'a [Protected]) -> Option<&'a Protected> {
    let is_it = |file: &&Protected| {
        let place = Place::of_target(&file.path);
        place.is_ok_and(|place| place.found.is_some_and(|found| found.is_same_file(state)))
    };
    protected.iter().find(is_it)
}

/// The error if standard output is a file of the run, which reading alone would not change.
pub(crate) fn misdirected_report(protected: &[Protected]) -> Option<String> {
    let state = file_identity::state(io::stdout()).ok().filter(|state| state.is_regular)?;
    let Protected { path, role } = file_of_run(&state, protected)?;
    Some(format!("standard output is '{}', {role}: send it to another file", path.display()))
}

/// Kind of the document in a file; the descriptor may be open for writing only.
fn kind_of_contents(file: &File) -> io::Result<Option<DocumentKind>> {
    let readable = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    Ok(DocumentKind::detect(&beginning(&readable)?))
}

/// True if writes are appended to all existing contents.
fn is_at_end(file: &File, state: &FileState) -> io::Result<bool> {
    let mut file = file;
    Ok(sys::descriptor::appends(file)? || file.stream_position()? == state.size_bytes)
}
