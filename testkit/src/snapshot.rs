//! Whether a file was touched.

use crate::process::no_child;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// All of a file that a run could change. Two that are equal were not written to between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Which file it is.
    pub inode: u64,
    /// Its length.
    pub size_bytes: u64,
    /// When its content last changed, in nanoseconds.
    pub modified_ns: i128,
    /// Of its whole content.
    pub checksum: u64,
}

impl Snapshot {
    /// Of the file at `path`, through symbolic links.
    pub fn of(path: impl AsRef<Path>) -> Self {
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
