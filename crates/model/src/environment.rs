//! Environment of a run, for reports: the system, and the storage below each target.
//!
//! Nothing here decides anything about a run. `None` means unknown: the kernel does not report it, or not to this
//! process.

use crate::block_device::{BlockDevice, DeviceKind, DeviceNumber};
use crate::kernel_counters::ZFS_CACHE;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The system, as far as [`crate::facts::SystemFacts`] does not say it already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// As `uname -r` says.
    pub kernel_release: Option<String>,
    /// As `uname -v` says: number and time of the build.
    pub kernel_version: Option<String>,
    /// The distribution's full name (`PRETTY_NAME` of os-release).
    pub distribution: Option<String>,
    /// Hardware or hypervisor that the system runs on.
    pub hypervisor: Option<Hypervisor>,
    /// Total memory managed by the kernel, in bytes.
    pub memory_bytes: Option<u64>,
    /// Limits of the cgroups that this process is in, the innermost first.
    pub cgroup_limits: Vec<CgroupLimit>,
}

impl Environment {
    /// The hypervisor of a virtual machine; `None` on hardware, or if it is unknown.
    pub fn virtual_machine(&self) -> Option<&Hypervisor> {
        self.hypervisor.as_ref().filter(|hypervisor| **hypervisor != Hypervisor::None)
    }
}

/// Hardware or hypervisor that a system runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Hypervisor {
    /// Hardware: no hypervisor.
    None,
    /// A hypervisor without a known name.
    Unnamed,
    /// A hypervisor, or the cloud that runs it.
    Named(String),
}

impl Hypervisor {
    /// In words: `none`, `unnamed` or the name.
    pub fn words(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Unnamed => "unnamed",
            Self::Named(name) => name,
        }
    }
}

/// One limit of one cgroup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CgroupLimit {
    /// The cgroup, from the top of the hierarchy as this process sees it: `/user.slice/job`.
    #[serde(with = "crate::path::One")]
    pub cgroup: PathBuf,
    /// The kernel's file with this limit: `io.max`, `cpu.cfs_quota_us`.
    pub file: String,
    /// The limited resource, and the limit.
    pub limit: Limit,
}

/// A resource that a cgroup limits, and the limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// CPU time: all CPUs together may use the quota once per period.
    Cpu {
        /// CPU time per period, in microseconds.
        quota_us: u64,
        /// Length of the period, in microseconds.
        period_us: u64,
    },
    /// Memory, cached files included.
    Memory {
        /// In bytes.
        bytes: u64,
        /// False if usage above the limit is throttled and reclaimed, not refused.
        is_hard: bool,
    },
    /// Rates of I/O on one device.
    Io {
        /// The device.
        device: CgroupDevice,
        /// The rates.
        rates: IoRates,
    },
    /// Share of I/O relative to sibling cgroups; the default weight is 100 (500 for the old `blkio.weight`).
    IoWeight {
        /// The device; `None` = all devices without a weight of their own.
        device: Option<CgroupDevice>,
        /// The weight.
        weight: u64,
    },
    /// Target latency of I/O on one device; other cgroups are throttled to meet it.
    IoLatency {
        /// The device.
        device: CgroupDevice,
        /// Wanted latency, in microseconds.
        target_us: u64,
    },
}

/// A device that a cgroup limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CgroupDevice {
    /// Its number.
    pub number: DeviceNumber,
    /// Its name, if it still exists.
    pub name: Option<String>,
}

/// Rates of I/O; `None` = no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoRates {
    /// Bytes read per second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<u64>,
    /// Reads per second.
    pub read_ios_per_s: Option<u64>,
    /// Writes per second.
    pub write_ios_per_s: Option<u64>,
}

/// The storage below a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetEnvironment {
    /// The mount that a file's path leads into; `None` for a block device.
    pub mount: Option<MountedFileSystem>,
    /// Where its data goes.
    pub backing: Backing,
}

/// The devices that targets stand on, and those below, by the kernel's names.
pub fn device_names(environments: &BTreeMap<PathBuf, TargetEnvironment>) -> BTreeSet<String> {
    let devices = environments.values().flat_map(TargetEnvironment::devices).flat_map(BlockDevice::walk);
    devices.map(|device| device.name.clone()).collect()
}

/// Those of them with a request queue: partitions have none of their own.
pub fn queue_device_names(environments: &BTreeMap<PathBuf, TargetEnvironment>) -> BTreeSet<String> {
    let devices = environments.values().flat_map(TargetEnvironment::devices).flat_map(BlockDevice::walk);
    let has_queue = devices.filter(|device| !matches!(device.kind, DeviceKind::Partition { .. }));
    has_queue.map(|device| device.name.clone()).collect()
}

impl TargetEnvironment {
    /// True if a cache with this name, as in counters of caches, is below it.
    pub fn stands_on_cache(&self, cache: &str) -> bool {
        let mut devices = self.devices().into_iter().flat_map(BlockDevice::walk);
        match cache {
            ZFS_CACHE => {
                let is_volume = |device: &BlockDevice| device.kind == DeviceKind::ZfsVolume;
                matches!(self.backing, Backing::Zfs(_)) || devices.any(is_volume)
            }
            name => devices.any(|device| device.name == name),
        }
    }

    /// The block devices directly below it.
    pub fn devices(&self) -> Vec<&BlockDevice> {
        self.backing.devices()
    }

    /// The disks that it stands on in the end, each once.
    pub fn disks(&self) -> Vec<&BlockDevice> {
        let mut disks: Vec<&BlockDevice> = Vec::new();
        for disk in self.devices().into_iter().flat_map(BlockDevice::disks) {
            if !disks.iter().any(|known| known.name == disk.name) {
                disks.push(disk);
            }
        }
        disks
    }
}

/// A mounted file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MountedFileSystem {
    /// `ext4`, `xfs`, `fuse.sshfs` ...
    pub file_system: String,
    /// The mounted source: a device, `server:/export`, `pool/dataset` ...; often just a word for file systems without a
    /// device.
    pub source: String,
    /// Which directory of the file system is mounted: `/`, or that of a bind mount or subvolume.
    #[serde(with = "crate::path::One")]
    pub directory: PathBuf,
    /// The mount point.
    #[serde(with = "crate::path::One")]
    pub point: PathBuf,
    /// Options of the mount: `rw`, `noatime` ...
    pub mount_options: Vec<String>,
    /// Options of the file system: `data=ordered`, `compress=zstd:3` ...
    pub file_system_options: Vec<String>,
}

/// File systems that keep files in memory ([`Backing::Memory`]).
pub const MEMORY_FILE_SYSTEMS: [&str; 5] = ["tmpfs", "ramfs", "devtmpfs", "rootfs", "hugetlbfs"];

/// Where the data of a target goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Backing {
    /// Unknown.
    #[default]
    Unknown,
    /// Block devices: the target itself, or those of its file system.
    Devices(Vec<BlockDevice>),
    /// Memory, and swap.
    Memory,
    /// Another machine, or the host of this virtual one.
    Remote {
        /// As the mount names it: `server:/export`, `//server/share`.
        address: String,
    },
    /// A process that serves the file system (FUSE).
    Process,
    /// A ZFS dataset.
    Zfs(ZfsDataset),
    /// Directories stacked by overlayfs.
    Overlay {
        /// The directory that is written to; `None` for a read-only overlay.
        #[serde(with = "crate::path")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<crate::path::Written>"))]
        upper: Option<PathBuf>,
        /// The directories that unmodified files are read from, the topmost first.
        #[serde(with = "crate::path::Several")]
        lower: Vec<PathBuf>,
        /// The file system of the upper directory (or the topmost lower one): `ext4`, `xfs` ...
        #[serde(default)]
        file_system: Option<String>,
        /// Storage below the upper directory (or the topmost lower one). Unknown in most containers, which do not see
        /// these directories.
        on: Box<Backing>,
    },
}

impl Backing {
    /// The block devices that it consists of, whatever is between.
    pub fn devices(&self) -> Vec<&BlockDevice> {
        match self {
            Self::Devices(devices) => devices.iter().collect(),
            Self::Zfs(dataset) => dataset.members.iter().flatten().flat_map(ZfsMember::devices).collect(),
            Self::Overlay { on, .. } => on.devices(),
            Self::Unknown | Self::Memory | Self::Remote { .. } | Self::Process => Vec::new(),
        }
    }
}

/// A ZFS dataset and its pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZfsDataset {
    /// `tank/data`.
    pub dataset: String,
    /// `tank`.
    pub pool: String,
    /// `ONLINE`, `DEGRADED` ...
    pub pool_state: Option<String>,
    /// Devices of the pool; `None` if its configuration cannot be read.
    pub members: Option<Vec<ZfsMember>>,
}

/// A device of a ZFS pool (vdev), or a group of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZfsMember {
    /// `disk`, `file`, `mirror`, `raidz2`, `draid1` ...
    pub kind: String,
    /// Its role, if not data: `log`, `cache`, `spare`, `special`, `dedup`.
    pub role: Option<String>,
    /// Its path, as recorded by the pool.
    #[serde(with = "crate::path")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::path::Written>"))]
    pub path: Option<PathBuf>,
    /// The block device at that path.
    pub device: Option<BlockDevice>,
    /// The members of a group.
    pub members: Vec<ZfsMember>,
}

impl ZfsMember {
    /// The block devices in it.
    pub fn devices(&self) -> Vec<&BlockDevice> {
        self.device.iter().chain(self.members.iter().flat_map(Self::devices)).collect()
    }
}
