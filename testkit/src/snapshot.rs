//! Detects whether a file was changed.

use crate::process::no_child;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Everything of a file that a run could change. If two are equal, it was not written to between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its inode number.
    pub inode: u64,
    /// Its length.
    pub size_bytes: u64,
    /// Time of the last change of its content, in nanoseconds.
    pub modified_ns: i128,
    /// Checksum of its whole content.
    pub checksum: u64,
}

impl Snapshot {
    /// A snapshot of the file at `path`, through symbolic links.
    pub fn take(path: impl AsRef<Path>) -> Self {
        let _no_child = no_child();
        let metadata = fs::metadata(&path).expect("the file is there");
        let content = fs::read(&path).expect("the file can be read");
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        Self {
            inode: metadata.ino(),
            size_bytes: metadata.len(),
            modified_ns: i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
            checksum: hasher.finish(),
        }
    }
}
