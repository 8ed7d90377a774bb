//! How the program was called, and what the command line's meaning depends on beside its words.

use crate::profile_file;
use cli::Environment;
use model::limits::PROFILE_BYTES_MAX;
use model::printable::command_line;
use std::ffi::OsString;
use std::path::Path;

/// This machine, now.
pub(crate) struct SystemEnv;

impl Environment for SystemEnv {
    fn milliseconds_since_boot(&self) -> u32 {
        // The low 32 bits are what a seed holds.
        sys::clock::milliseconds_since_boot() as u32
    }

    fn file_exists(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok()
    }

    fn text_file(&self, path: &Path) -> Result<String, String> {
        let bytes = profile_file::read(path).map_err(|error| error.to_string())?;
        profile_file::text(bytes)
    }

    fn small_file(&self, path: &Path) -> Option<Vec<u8>> {
        // Reading a pipe may never end. And it may be a target, whose access time stays.
        let is_small = path.metadata().is_ok_and(|file| file.is_file() && file.len() <= PROFILE_BYTES_MAX as u64);
        is_small.then(|| sys::file::open_to_look(path).and_then(profile_file::content).ok()).flatten()
    }
}

/// How the program was called.
pub(crate) struct Invocation {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
}

impl Invocation {
    /// The words as they would be typed, program name first, as reports show them.
    pub(crate) fn command_line(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        command_line(words.iter().map(AsRef::as_ref))
    }
}
