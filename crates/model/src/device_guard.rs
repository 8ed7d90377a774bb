//! Facts about a block device that must be known before anything is written to it.

use crate::block_device::DeviceKind;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A block device that a profile writes to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceGuard {
    /// The kernel's name, without `/dev/`.
    pub name: String,
    /// The kind of device.
    pub kind: DeviceKind,
    /// Persistent IDs accepted by `--destroy`, the best first.
    pub identities: Vec<String>,
    /// Sequence number of this use of the device's name since boot; if it changes, the name refers to another device.
    pub disk_sequence: Option<u64>,
    /// Its backing, if it is a loop device.
    #[serde(default)]
    pub backing: Option<LoopBacking>,
    /// The devices below it that must not change during a run.
    #[serde(default)]
    pub below: Vec<DeviceBelow>,
    /// Users of the device, of its disk, its partitions, other paths to it, or devices below loop devices, as phrases.
    pub users: Vec<String>,
    /// Processes that may use the device without being found, as phrases.
    #[serde(default)]
    pub unseen: Vec<String>,
    /// The kernel's answer to a request for exclusive use.
    pub claim: Claim,
    /// Volumes that share blocks with this one, or the reason why this is unknown, as a phrase.
    pub shares_blocks: Option<String>,
    /// True if its zones take sequential writes only (`host-managed`).
    #[serde(default)]
    pub is_sequential: bool,
    /// Its content.
    pub content: DeviceContent,
    /// A network that other hosts may reach it by: "iSCSI".
    pub network: Option<String>,
    /// Its status in this machine's list of scratch disks.
    pub scratch: Scratch,
    /// Why this process cannot write to it, if it cannot.
    pub not_writable: Option<String>,
}

/// Backing of a loop device, as its driver reports it (`LOOP_GET_STATUS64`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopBacking {
    /// The backing file, or the node of the backing device.
    pub file: FileIdentity,
    /// Number of the backing device; `None` if the backing is a regular file.
    pub block_device: Option<u64>,
    /// Where in it the loop device begins.
    pub offset_bytes: u64,
    /// Size limit of the loop device in bytes; 0 = up to the end of the file.
    pub size_limit_bytes: u64,
}

/// A block device that a written one stands on through loop devices, or a loop device that is one of
/// its members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceBelow {
    /// Its node.
    #[serde(with = "crate::path::One")]
    pub path: PathBuf,
    /// Its device number.
    pub device: u64,
    /// Sequence number of this use of its name since boot.
    pub disk_sequence: Option<u64>,
    /// Its backing, if it is a loop device.
    pub backing: Option<LoopBacking>,
    /// True if the run claims it exclusively. Members of a device are already claimed by that device; a loop device
    /// claims nothing.
    pub claim: bool,
}

/// The kernel's answer to a request for exclusive use of a device (`O_EXCL`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Not checked.
    #[default]
    NotAsked,
    /// It was granted and released.
    Granted,
    /// A file system, swap, another device or another process is using it.
    Busy,
    /// It could not be asked.
    Failed {
        /// The kernel's reason.
        reason: String,
    },
}

/// Content of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceContent {
    /// Not examined.
    #[default]
    NotAsked,
    /// It could not be read.
    Unknown {
        /// The reason, as a clause.
        reason: String,
    },
    /// No signature, and all samples hold zeros or diskspd's own fill pattern.
    Blank,
    /// No signature, but a sample with data other than zeros and diskspd's own fill pattern.
    Unsigned {
        /// Offset in bytes from the start of the device.
        offset_bytes: u64,
    },
    /// Partition tables, file systems, volumes ... by their signatures.
    Signed {
        /// "an ext2, ext3 or ext4 file system" ...
        what: Vec<String>,
    },
}

/// Status of a device in this machine's list of scratch disks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scratch {
    /// It does not, or there is no list.
    #[default]
    NotListed,
    /// It does.
    Listed,
    /// The list cannot be trusted.
    Untrusted {
        /// Why, and what would be right.
        reason: String,
    },
}

/// Where the list of scratch disks is.
pub const SCRATCH_LIST: &str = "/etc/diskspd/scratch";

/// Which file it is, whatever its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileIdentity {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}
