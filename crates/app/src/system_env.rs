//! The program's invocation, and the environment on which the meaning of a command line depends.

use crate::text_file;
use cli::Environment;
use model::limits::PROFILE_BYTES_MAX;
use model::printable::command_line;
use std::ffi::OsString;
use std::path::Path;

/// The environment of this machine, read when needed.
pub(crate) struct SystemEnv;

impl Environment for SystemEnv {
    fn milliseconds_since_boot(&self) -> u32 {
        // A seed has 32 bits.
        sys::clock::milliseconds_since_boot() as u32
    }

    fn file_exists(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok()
    }

    fn text_file(&self, path: &Path) -> Result<String, String> {
        let bytes = text_file::read(path).map_err(|error| error.to_string())?;
        text_file::text(bytes)
    }

    fn small_file(&self, path: &Path) -> Option<Vec<u8>> {
        // Reading a pipe may never end. And it may be a target, whose access time must not change.
        let is_small = path.metadata().is_ok_and(|file| file.is_file() && file.len() <= PROFILE_BYTES_MAX as u64);
        is_small.then(|| sys::file::open_to_look(path).and_then(text_file::content).ok()).flatten()
    }
}

/// The program's invocation.
pub(crate) struct Invocation {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
}

impl Invocation {
    /// The arguments as they would be typed, program name first, as reports show them.
    pub(crate) fn command_line(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        command_line(words.iter().map(AsRef::as_ref))
    }
}
