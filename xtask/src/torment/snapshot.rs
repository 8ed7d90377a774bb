//! All bytes of a case, by inode and device rather than by name.

use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file or device that holds bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Node {
    /// An inode: number of its file system, and its own.
    File(u64, u64),
    /// A block device, by its number.
    Device(u64),
}

impl Node {
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
        if metadata.file_type().is_block_device() {
            Self::Device(metadata.rdev())
        } else {
            Self::File(metadata.dev(), metadata.ino())
        }
    }

    /// The node at a name.
    pub(super) fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::from_metadata)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// A name and its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) node: Node,
    pub(super) size: u64,
    mode: u32,
    modified: (i64, i64),
    /// Destination of a symbolic link.
    link: Option<PathBuf>,
    /// The attribute that diskspd sets.
    mark: Option<Vec<u8>>,
}

impl Entry {
    /// The same with the number of another file.
    pub(super) fn with_node(&self, node: Node) -> Self {
        Self { node, ..self.clone() }
    }

    /// The differences of the file itself, besides its bytes.
    pub(super) fn difference(&self, after: &Self) -> Option<String> {
        if self.kind != after.kind {
            return Some(format!("was a {:?} and is a {:?}", self.kind, after.kind));
        }
        if self.link != after.link {
            return Some(format!("led to {:?} and leads to {:?}", self.link, after.link));
        }
        if self.mode != after.mode {
            return Some(format!("had mode {:o} and has {:o}", self.mode, after.mode));
        }
        if self.kind != Kind::File {
            return None;
        }
        if self.node != after.node {
            return Some("is another file".to_owned());
        }
        if self.size != after.size {
            return Some(format!("had {} bytes and has {}", self.size, after.size));
        }
        if self.mark != after.mark {
            let text = |mark: &Option<Vec<u8>>| {
                mark.as_ref().map_or("none".to_owned(), |mark| String::from_utf8_lossy(mark).into_owned())
            };
            return Some(format!("had attribute user.diskspd {} and has {}", text(&self.mark), text(&after.mark)));
        }
        (self.modified != after.modified).then(|| "has another time of modification".to_owned())
    }
}

/// All names in a directory, including mounts in it, by their path below it. The directory itself is "".
pub(super) fn names(folder: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut found = BTreeMap::new();
    walk(folder, Path::new(""), &mut found);
    found
}

fn walk(folder: &Path, below: &Path, found: &mut BTreeMap<PathBuf, Entry>) {
    let path = folder.join(below);
    let Ok(metadata) = fs::symlink_metadata(&path) else { return };
    let kind = match metadata.file_type() {
        kind if kind.is_symlink() => Kind::Link,
        kind if kind.is_dir() => Kind::Folder,
        kind if kind.is_file() => Kind::File,
        _ => Kind::Other,
    };
    let link = if kind == Kind::Link { fs::read_link(&path).ok() } else { None };
    let mark = if kind == Kind::File { mark(&path) } else { None };
    let (mode, modified) = (metadata.mode(), (metadata.mtime(), metadata.mtime_nsec()));
    let entry = Entry { kind, node: Node::from_metadata(&metadata), size: metadata.len(), mode, modified, link, mark };
    found.insert(below.to_owned(), entry);
    // Overlays keep only their own files in the directory after workdir=.
    let is_somebodys = below.extension().is_none_or(|extension| extension != "work");
    if kind == Kind::Folder && is_somebodys {
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            walk(folder, &below.join(entry.file_name()), found);
        }
    }
}

fn mark(path: &Path) -> Option<Vec<u8>> {
    let mut value = [0; 512];
    let length = rustix::fs::getxattr(path, "user.diskspd", &mut value[..]).ok()?;
    Some(value[..length].to_vec())
}

/// Names and bytes at one moment.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) names: BTreeMap<PathBuf, Entry>,
    /// Contents of everything readable, including deleted files.
    pub(super) bytes: BTreeMap<Node, Vec<u8>>,
    /// Names for nodes that are not among the names.
    pub(super) labels: BTreeMap<Node, String>,
}

impl Snapshot {
    /// Takes a snapshot of a directory, of devices (the upper ones first, as theirs are flushed into the lower ones),
    /// and of files that are only reachable in another way.
    pub(super) fn take(folder: &Path, devices: &[PathBuf], others: &[PathBuf]) -> io::Result<Self> {
        let mut snapshot = Self::default();
        for device in devices {
            let Some(node) = Node::at(device) else { continue };
            snapshot.bytes.insert(node, device_bytes(device)?);
            snapshot.labels.insert(node, device.display().to_string());
        }
        snapshot.names = names(folder);
        let files = snapshot.names.iter().filter(|(_, entry)| entry.kind == Kind::File);
        for (path, entry) in files {
            snapshot.bytes.entry(entry.node).or_insert_with(|| file_bytes(&folder.join(path)));
            snapshot.labels.entry(entry.node).or_insert_with(|| path.display().to_string());
        }
        for path in others {
            // Pipes and devices held open by a process have no bytes.
            let Some(metadata) = fs::metadata(path).ok().filter(Metadata::is_file) else { continue };
            let node = Node::from_metadata(&metadata);
            snapshot.bytes.entry(node).or_insert_with(|| file_bytes(path));
            let name = || fs::read_link(path).unwrap_or_default().display().to_string();
            snapshot.labels.entry(node).or_insert_with(name);
        }
        Ok(snapshot)
    }
}

/// The readable contents; an error in place of the bytes is compared like them.
fn file_bytes(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| format!("cannot be read: {error}").into_bytes())
}

/// Reads past the device's cache, which does not see writes to the storage below.
fn device_bytes(device: &Path) -> io::Result<Vec<u8>> {
    const ALIGNMENT: usize = 4096;
    const CHUNK: usize = 1 << 20;
    // The file below it may have been truncated; its rest is readable.
    let _ = File::open(device)?.sync_all();
    let file = File::options().read(true).custom_flags(OFlags::DIRECT.bits().cast_signed()).open(device)?;
    let mut buffer = vec![0; CHUNK + ALIGNMENT];
    let start = buffer.as_ptr().align_offset(ALIGNMENT);
    let mut bytes = Vec::new();
    loop {
        let Ok(length @ 1..) = file.read_at(&mut buffer[start..start + CHUNK], bytes.len() as u64) else {
            return Ok(bytes);
        };
        bytes.extend_from_slice(&buffer[start..start + length]);
    }
}

/// Position and number of differences between two contents.
pub(super) fn difference(before: &[u8], after: &[u8]) -> Option<String> {
    if before == after {
        return None;
    }
    if before.len() != after.len() {
        return Some(format!("had {} bytes and has {}", before.len(), after.len()));
    }
    let mut offsets = before.iter().zip(after).enumerate().filter(|(_, (a, b))| a != b).map(|(offset, _)| offset);
    let first = offsets.next()?;
    let (count, last) = offsets.fold((1_usize, first), |(count, _), offset| (count + 1, offset));
    Some(format!("{count} bytes changed between offsets {first} and {last}"))
}
