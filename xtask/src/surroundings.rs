//! Locations on the machine that a task runs on.

use std::path::{Path, PathBuf};

/// Cargo's target directory for the workspace at `root`.
pub(crate) fn target_directory(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// The path of an installed program.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let administrators = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut paths = std::env::split_paths(&folders).chain(administrators).map(|folder| folder.join(name));
    paths.find(|path| path.is_file())
}
