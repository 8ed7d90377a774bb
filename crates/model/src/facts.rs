//! Facts about the machine: read once by `host`, then plain data.

use crate::device_guard::{DeviceGuard, FileIdentity};
use crate::profile::Reduction;
use crate::rw_flags::RwFlags;
use crate::topology::Topology;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// All facts about this machine that planning and reports need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The machine itself.
    pub system: SystemFacts,
    /// Each distinct target path of the profile, as the user wrote it.
    pub targets: BTreeMap<PathBuf, TargetFacts>,
    /// The disks below each target, as far as the kernel reports them.
    pub disks: BTreeMap<PathBuf, Vec<DiskFacts>>,
}

/// A disk below a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskFacts {
    /// The kernel's name, without `/dev/`.
    pub name: String,
    /// The NUMA node that it is attached to, if known.
    pub numa_node: Option<u32>,
    /// The CPU that each of its hardware queues interrupts; empty = unknown.
    pub interrupt_cpus: Vec<u32>,
}

/// The facts that a plan needs about a target path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetQuestion {
    /// The path, as the user wrote it.
    pub path: PathBuf,
    /// True if any I/O of the profile writes to it.
    pub writes: bool,
    /// Largest size and the fill that the profile would create it with.
    pub creates: Option<(Bytes, Fill)>,
    /// True if it is opened past the cache (`-Su`), so that its alignment matters.
    pub direct: bool,
    /// Flags that I/Os of the profile have (`--dontcache`).
    pub rw_flags: RwFlags,
    /// True if several hosts use the file together (`--shared`): processes of this same program that have it open are no
    /// users.
    pub shared: bool,
    /// The run of several hosts whose first host may have marked the file as open for all of them.
    pub shared_run: Option<String>,
}

/// The machine without its targets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemFacts {
    /// Host name.
    pub computer_name: String,
    /// Name of the first CPU, blanks collapsed.
    pub processor_name: Option<String>,
    /// Name of the frequency governor or platform profile.
    pub power_scheme: Option<String>,
    /// Bytes per page.
    pub page_size_bytes: u64,
    /// CPUs and caches.
    pub topology: Topology,
    /// Kernel release, as in `uname -r`.
    pub kernel_release: String,
    /// The CPU writes cache lines back on request (`-Nn`, `-Ni`).
    #[serde(default)]
    pub cache_line_write_back: bool,
    /// Availability of `io_uring`.
    pub io_uring: Availability,
    /// Availability of Linux AIO.
    #[serde(default)]
    pub linux_aio: Availability,
    /// Memory that a run may use, and limits on it.
    pub memory: Memory,
    /// Descriptors this process may open (`RLIMIT_NOFILE`, raised to its hard limit).
    pub open_files_max: u64,
}

impl SystemFacts {
    /// The alignment that gives every I/O buffer a cache line of page-directory entries of its
    /// own (`-bsp`), in bytes: 16 MiB with pages of 4 KiB and cache lines of 64 bytes.
    pub fn buffer_separation_bytes(&self) -> u64 {
        const ENTRY_BYTES: u64 = 8;
        let page_bytes = if self.page_size_bytes > 0 { self.page_size_bytes } else { 4096 };
        let largest_line = self.topology.caches.iter().map(|cache| cache.line_bytes).max().unwrap_or(0);
        let line_bytes = if largest_line > 0 { u64::from(largest_line) } else { 64 };
        // Bytes that one page of page-table entries maps.
        let reach_bytes = (page_bytes / ENTRY_BYTES).saturating_mul(page_bytes);
        (line_bytes / ENTRY_BYTES).saturating_mul(reach_bytes)
    }
}

/// Availability of an asynchronous I/O interface of the kernel to this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// It is available.
    #[default]
    Available,
    /// It is not.
    Unavailable {
        /// The kernel's answer and the likely cause, as a sentence without a full stop.
        cause: String,
    },
}

/// Memory limits in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Memory available without swapping, according to the kernel (`MemAvailable`).
    pub available_bytes: u64,
    /// Memory left below the tightest limit of this process's cgroups.
    pub cgroup_left_bytes: Option<u64>,
    /// `RLIMIT_MEMLOCK`; `None` = unlimited, or we may lock any amount.
    pub lock_limit_bytes: Option<u64>,
}

impl Memory {
    /// Memory that a run can use, in bytes.
    pub fn free_bytes(&self) -> u64 {
        self.cgroup_left_bytes.map_or(self.available_bytes, |left| left.min(self.available_bytes))
    }
}

/// A target path and the file at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetFacts {
    /// The path with symbolic links resolved, if there are any.
    #[serde(with = "crate::path")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::path::Written>"))]
    pub resolved: Option<PathBuf>,
    /// The kind of file at the path.
    pub kind: TargetKind,
    /// Flags that the profile sets on reads and writes and that the kernel refuses: the bits of its `RWF_*`.
    #[serde(default)]
    pub refused_flags: RwFlags,
    /// Sizes of atomic writes; `None` = it has none, or the profile does not ask for them.
    #[serde(default)]
    pub atomic_writes: Option<AtomicWrites>,
}

/// Sizes of writes that a target makes as a whole or not at all: powers of two, at multiples of themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AtomicWrites {
    /// The smallest, in bytes.
    pub min_bytes: u32,
    /// The largest, in bytes.
    pub max_bytes: u32,
}

impl TargetFacts {
    /// Facts of a path without symbolic links.
    pub const fn new(kind: TargetKind) -> Self {
        Self { resolved: None, kind, refused_flags: RwFlags::NONE, atomic_writes: None }
    }
}

/// The kind of file at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// Nothing.
    Missing(MissingFacts),
    /// A regular file.
    Regular(RegularFacts),
    /// A block device.
    Block(BlockFacts),
    /// A character device.
    Character(CharacterDevice),
    /// Not usable as a target.
    Unusable {
        /// "a directory", "a FIFO" ...
        what: Cow<'static, str>,
    },
    /// It could not be inspected.
    Inaccessible {
        /// The kernel's reason.
        reason: String,
    },
}

impl TargetKind {
    /// True if completions of its I/O can be polled for (`--iopoll`); `None` = not reported.
    pub fn completion_polling(&self) -> Option<bool> {
        match self {
            Self::Missing(missing) => missing.file_system.completion_polling,
            Self::Regular(file) => file.file_system.completion_polling,
            Self::Block(device) => device.completion_polling,
            Self::Character(_) => Some(false),
            Self::Unusable { .. } | Self::Inaccessible { .. } => None,
        }
    }
}

/// Where a new file would go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingFacts {
    /// The nearest directory above that exists.
    #[serde(with = "crate::path::One")]
    pub existing_parent: PathBuf,
    /// Device number of that directory: files of one device share its free space.
    pub device: u64,
    /// False if directories between it and the file are missing.
    pub parent_exists: bool,
    /// Why this user may not create anything in that directory.
    #[serde(default)]
    pub not_writable: Option<String>,
    /// Where the file system of missing directories is mounted; `None` if none are missing, or it is unknown.
    #[serde(default, with = "crate::path")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::path::Written>"))]
    pub mount_point: Option<PathBuf>,
    /// Alignment that new files there will need for direct I/O.
    pub direct_io: DirectIo,
    /// Its file system.
    pub file_system: FileSystem,
}

impl MissingFacts {
    /// The directory that is created with the file at `place`, a path without symbolic links, above disks of these names;
    /// `None` if it exists.
    pub fn new_directory<'a>(&self, place: &Path, disks: impl Iterator<Item = &'a str>) -> Option<NewDirectory> {
        (!self.parent_exists).then(|| NewDirectory {
            path: place.parent().unwrap_or(place).to_owned(),
            file_system: self.file_system.name.clone(),
            disks: disks.map(str::to_owned).collect(),
            mount_point: self.mount_point.clone(),
        })
    }
}

/// A directory that is created with a new file, with those above it that are missing: often what was to be measured is not
/// mounted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewDirectory {
    /// The directory.
    #[serde(with = "crate::path::One")]
    pub path: PathBuf,
    /// Name of the file system that it is created on.
    pub file_system: String,
    /// Names of the disks below that, without `/dev/`.
    pub disks: Vec<String>,
    /// Where the file system is mounted; `None` = unknown.
    #[serde(with = "crate::path")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::path::Written>"))]
    pub mount_point: Option<PathBuf>,
}

impl NewDirectory {
    /// As "ext4 on vda, the root file system".
    pub fn place(&self) -> String {
        let disks = if self.disks.is_empty() { String::new() } else { format!(" on {}", self.disks.join(", ")) };
        let mount = match &self.mount_point {
            Some(point) if point == Path::new("/") => ", the root file system".to_owned(),
            Some(point) => format!(", mounted at '{}'", point.display()),
            None => String::new(),
        };
        format!("{}{disks}{mount}", self.file_system)
    }
}

impl fmt::Display for NewDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' on {}", self.path.display(), self.place())
    }
}

/// A regular file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegularFacts {
    /// Which file it is, whatever its name.
    pub identity: FileIdentity,
    /// Its length.
    pub size_bytes: u64,
    /// When its contents were last changed, in nanoseconds since 1970.
    #[serde(default)]
    pub modified_ns: i64,
    /// Bytes allocated for it: fewer than its length if it has holes.
    pub allocated_bytes: u64,
    /// Alignment that direct I/O on it needs.
    pub direct_io: DirectIo,
    /// Its file system.
    pub file_system: FileSystem,
    /// Read only if the profile writes or creates it; else [`Origin::NotAsked`].
    pub origin: Origin,
    /// Looked for only if the profile writes or creates it; else [`Openers::NotAsked`].
    pub openers: Openers,
    /// True if all its blocks are allocated and written; only examined if the run would create the file.
    pub fully_written: Option<bool>,
    /// The holes and unwritten parts, in order; only searched for if the run does not create the file.
    #[serde(default)]
    pub unwritten: Option<Vec<UnwrittenPart>>,
    /// Bytes that the device has in another form, such as compressed; searched for like `unwritten`. Null = unknown.
    #[serde(default)]
    pub encoded_bytes: Option<u64>,
    /// Bytes that share their place on the device with others (reflinks, snapshots); the same.
    #[serde(default)]
    pub shared_bytes: Option<u64>,
    /// Why this process cannot open it for writing, if it cannot.
    pub not_writable: Option<String>,
}

/// A hole in a file, or space that is allocated but unwritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnwrittenPart {
    /// Where it begins.
    pub start_bytes: u64,
    /// Its length.
    pub length_bytes: u64,
    /// Unwritten bytes in it: all of its length, except in the last part of a list that was cut short.
    pub unwritten_bytes: u64,
}

/// A file and its contents at one moment; both must still be the same just before the first write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileStamp {
    /// Which file it is.
    #[serde(flatten)]
    pub identity: FileIdentity,
    /// Its length.
    #[serde(default)]
    pub size_bytes: u64,
    /// When its contents were last changed, in nanoseconds since 1970.
    #[serde(default)]
    pub modified_ns: i64,
}

impl RegularFacts {
    /// Identity, length and modification time of the file when it was examined.
    pub const fn stamp(&self) -> FileStamp {
        FileStamp { identity: self.identity, size_bytes: self.size_bytes, modified_ns: self.modified_ns }
    }
}

/// The file system under a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSystem {
    /// `ext4`, `xfs`, `tmpfs`, ... or a hexadecimal magic number.
    pub name: String,
    /// True for proc, sysfs, devtmpfs and similar file systems, whose files are not on storage.
    pub is_pseudo: bool,
    /// Free space for this user, in bytes.
    pub free_bytes: u64,
    /// True if mounted read-only.
    pub read_only: bool,
    /// True if completions can be polled for at the device below it; `None` if there is none, or the kernel does not
    /// report it.
    #[serde(default)]
    pub completion_polling: Option<bool>,
}

/// Alignment that direct I/O (`O_DIRECT`) needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DirectIo {
    /// The kernel does not report it.
    #[default]
    Unknown,
    /// The file system refuses it.
    Unsupported,
    /// Offsets, lengths and buffers must be multiples of these.
    Aligned {
        /// Of buffer addresses, in bytes.
        memory_bytes: u32,
        /// Of offsets and lengths, in bytes.
        offset_bytes: u32,
    },
}

/// The creator of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Not checked, because nothing will be written.
    #[default]
    NotAsked,
    /// Created by diskspd, according to its mark (extended attribute `user.diskspd`), and not written to by anything
    /// else since.
    Ours {
        /// Its size.
        size_bytes: u64,
        /// Its content.
        fill: Fill,
    },
    /// The file is empty, so there is nothing to lose.
    #[serde(alias = "looks_like_ours")]
    Empty,
    /// Another, or unknown.
    Foreign {
        /// Why diskspd is not known to have created it: "it has no diskspd mark", "its diskspd mark names another file, so
        /// this file seems to be a copy" ...
        evidence: String,
    },
}

/// Data that a created file is filled with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Bytes 00..FF repeating.
    #[default]
    Ramp,
    /// Zeros (`-Z`).
    Zero,
    /// Random bytes (`-Zr`, `-Z<size>`).
    Random,
    /// Data that storage can compress and deduplicate (`--compress`, `--dedupe`).
    Reducible(Reduction),
    /// Created by diskspd, and since then written to by a test with other data. No file is created with this fill.
    Mixed,
}

impl Fill {
    /// The word in the mark.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::Ramp => "ramp".into(),
            Self::Zero => "zero".into(),
            Self::Random => "random".into(),
            Self::Mixed => "mixed".into(),
            Self::Reducible(reduction) => reduction.to_string().into(),
        }
    }

    /// The fill with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let plain = [Self::Ramp, Self::Zero, Self::Random, Self::Mixed].into_iter().find(|fill| fill.name() == name);
        plain.or_else(|| Reduction::parse(name).map(Self::Reducible))
    }
}

/// Other users that have a file open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Openers {
    /// Not checked, because nothing will be written.
    #[default]
    NotAsked,
    /// No other process has it open: the kernel granted a write lease.
    None,
    /// No other process was found in /proc; a lease was not possible.
    NoneFoundInProc {
        /// Why there was no lease.
        reason: String,
    },
    /// Somebody.
    Some {
        /// Each as "process 123 (postgres)", "loop device /dev/loop0", "active swap", "a memory
        /// mapping or another mount namespace" ...
        who: Vec<String>,
    },
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockFacts {
    /// Device number of the device itself.
    pub device: u64,
    /// Its size.
    pub size_bytes: u64,
    /// Logical sector size.
    pub logical_block_bytes: u32,
    /// True if completions can be polled for, from `queue/io_poll` in /sys; `None` = not reported.
    #[serde(default)]
    pub completion_polling: Option<bool>,
    /// The largest discard that it takes, in bytes; 0 = it takes none; `None` = unknown.
    #[serde(default)]
    pub discard_bytes_max: Option<u64>,
    /// Why it cannot be opened for reading, if it cannot.
    pub not_readable: Option<String>,
    /// Looked at only if the profile writes to it.
    #[serde(default)]
    pub guard: Option<Box<DeviceGuard>>,
    /// For each range that the run reads: how much of a sample, read just before the run, held only zeros.
    #[serde(default)]
    pub zeros: Vec<ZeroSample>,
}

/// How much of a part of a block device reads as zeros. Blocks that were never written, or were discarded, mostly do,
/// and many devices return them without accessing their medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroSample {
    /// Where the part begins.
    pub start_bytes: u64,
    /// Its length.
    pub length_bytes: u64,
    /// Blocks of 4 KiB that were read, spread evenly over the part.
    pub blocks: u32,
    /// Number of these that held only zeros.
    pub zero_blocks: u32,
}

impl ZeroSample {
    /// The part.
    pub const fn range_bytes(&self) -> Range<u64> {
        self.start_bytes..self.start_bytes.saturating_add(self.length_bytes)
    }
}

/// A character device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CharacterDevice {
    /// /dev/null: writes vanish, reads end.
    Null,
    /// /dev/zero.
    Zero,
    /// Any other.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Cache, CacheKind};

    #[test]
    fn buffers_are_separated_by_page_and_cache_line() {
        for (page_kib, line_bytes, mib) in
            [(4, 64, 16), (4, 0, 16), (4, 128, 32), (4, 32, 8), (16, 64, 256), (16, 128, 512), (64, 64, 4096)]
        {
            let kind = CacheKind::Unified;
            let cache = Cache { level: 1, kind, size_bytes: 0, line_bytes, associativity: 8, cpus: vec![0] };
            let topology = Topology { caches: vec![cache], ..Topology::default() };
            let system = SystemFacts { page_size_bytes: page_kib << 10, topology, ..SystemFacts::default() };
            assert_eq!(system.buffer_separation_bytes(), mib << 20, "{page_kib} KiB, {line_bytes}");
        }
    }
}
