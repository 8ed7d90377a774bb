//! What the command line's meaning depends on beside its words.

use cli::Environment;
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
}
