//! Block devices and the devices below each of them.
//!
//! `None` means that the kernel does not report it, or that the device has no such property.

use serde::{Deserialize, Serialize};

/// Major and minor number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceNumber {
    /// Of the driver.
    pub major: u32,
    /// Of the device among those of the driver.
    pub minor: u32,
}

/// A block device and the devices below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockDevice {
    /// The kernel's name, without `/dev/`: `nvme0n1p2`, `dm-0`.
    pub name: String,
    /// `None` for devices that have no node, such as single paths of native `NVMe` multipath.
    pub number: Option<DeviceNumber>,
    /// The kind of device.
    pub kind: DeviceKind,
    /// Its role in the device above, if members have roles: `in_sync`, `spare` (md), `backing`, `cache` (bcache),
    /// `optimized`, `non-optimized` (`NVMe` paths).
    pub role: Option<String>,
    /// Its size in bytes.
    pub size_bytes: Option<u64>,
    /// True if its medium is removable.
    pub removable: Option<bool>,
    /// True if the kernel refuses writes to the device.
    pub read_only: Option<bool>,
    /// The identity of the hardware.
    pub identity: Identity,
    /// Its request queue. Partitions have none of their own.
    pub queue: Queue,
    /// How it is attached. Known for hardware (and virtual hardware) only.
    pub connection: Connection,
    /// The devices that it consists of; none for hardware.
    pub below: Vec<BlockDevice>,
}

impl BlockDevice {
    /// This device and all below it, each before those it stands on. A device that carries several others appears once
    /// for each of them.
    pub fn walk(&self) -> Vec<&Self> {
        let mut all = vec![self];
        for device in &self.below {
            all.extend(device.walk());
        }
        all
    }

    /// True if it stands on no other device. Paths of `NVMe` are parts of a disk.
    pub fn is_disk(&self) -> bool {
        self.below.is_empty() || matches!(self.kind, DeviceKind::NvmeMultipath { .. })
    }

    /// The type of its media, for a device that stands on no other one, as far as the kernel reports it.
    pub fn media_type(&self) -> MediaType {
        match &self.kind {
            DeviceKind::Zram { .. } => MediaType::Zram,
            DeviceKind::Ram => MediaType::Memory,
            DeviceKind::Loop { file_system: Some(name), .. } if matches!(name.as_str(), "tmpfs" | "ramfs") => {
                MediaType::Memory
            }
            DeviceKind::Network => MediaType::Network,
            DeviceKind::Disk | DeviceKind::NvmeMultipath { .. } | DeviceKind::NvmePath { .. } => self.disk_media_type(),
            _ => MediaType::Unknown,
        }
    }

    /// How it is attached comes first: hypervisors and arrays report any volume as rotational or not.
    fn disk_media_type(&self) -> MediaType {
        match &self.connection.transport {
            Some(Transport::Virtio | Transport::Vmbus | Transport::Xen) => MediaType::Virtual,
            Some(Transport::Iscsi | Transport::FibreChannel | Transport::NvmeOver(_)) => MediaType::Network,
            _ if self.identity.is_virtual() => MediaType::Virtual,
            Some(Transport::Nvdimm) => MediaType::Memory,
            Some(Transport::Nvme) => MediaType::Nvme,
            _ => match self.queue.rotational {
                Some(true) => MediaType::Hdd,
                Some(false) => MediaType::Ssd,
                None => MediaType::Unknown,
            },
        }
    }

    /// The disks that it stands on in the end, each once, in the order of the walk. The paths of a native `NVMe`
    /// multipath are one disk; those of a dm multipath are disks, as in the kernel.
    pub fn disks(&self) -> Vec<&Self> {
        let mut disks: Vec<&Self> = Vec::new();
        for device in self.walk() {
            let is_disk = matches!(device.kind, DeviceKind::Disk | DeviceKind::NvmeMultipath { .. });
            if is_disk && !disks.iter().any(|known| known.name == device.name) {
                disks.push(device);
            }
        }
        disks
    }
}

/// Type of the media that a disk keeps its data on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MediaType {
    /// Flash that is attached by `NVMe`.
    Nvme,
    /// Other flash: the kernel reports the disk as not rotational.
    Ssd,
    /// A hard disk: the kernel reports it as rotational.
    Hdd,
    /// Compressed memory.
    Zram,
    /// Memory, also persistent memory.
    Memory,
    /// A disk of an array or a server, of unknown media.
    Network,
    /// A disk of a hypervisor or a cloud, of unknown media.
    Virtual,
    /// The kernel does not report it.
    #[default]
    Unknown,
}

impl MediaType {
    /// One word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nvme => "nvme",
            Self::Ssd => "ssd",
            Self::Hdd => "hdd",
            Self::Zram => "zram",
            Self::Memory => "memory",
            Self::Network => "network",
            Self::Virtual => "virtual",
            Self::Unknown => "unknown",
        }
    }

    /// True if the media may be of any type.
    pub const fn is_opaque(self) -> bool {
        matches!(self, Self::Network | Self::Virtual | Self::Unknown)
    }
}

/// Kind of a block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// None of the following; the device may have no hardware at all.
    #[default]
    Other,
    /// A whole disk, physical or provided by a hypervisor.
    Disk,
    /// A partition of the one device below it.
    Partition {
        /// Its number in the partition table.
        number: Option<u32>,
    },
    /// A device of the device mapper: LVM, encryption, multipath and others.
    Mapper {
        /// The software that created it, from the prefix of its UUID.
        maker: Option<MapperMaker>,
        /// Its name: the file in /dev/mapper.
        name: Option<String>,
        /// Its UUID, with the prefix of that software.
        uuid: Option<String>,
    },
    /// A software RAID (md).
    Raid(Raid),
    /// A file that is used as a disk.
    Loop {
        /// The file; `None` if the loop device is free.
        file: Option<String>,
        /// Offset in the file at which the device begins.
        offset_bytes: Option<u64>,
        /// True if it bypasses the page cache when it reads and writes the file.
        direct: Option<bool>,
        /// The file system that the file is on: `ext4`, `tmpfs` ...
        #[serde(default)]
        file_system: Option<String>,
    },
    /// A disk with a cache on another one (bcache).
    Bcache {
        /// `writethrough`, `writeback`, `writearound` or `none`.
        cache_mode: Option<String>,
        /// `no cache`, `clean`, `dirty` or `inconsistent`.
        state: Option<String>,
    },
    /// Compressed memory.
    Zram {
        /// The compression in use.
        algorithm: Option<String>,
    },
    /// Memory.
    Ram,
    /// A namespace of an `NVMe` subsystem, which the kernel accesses through the paths below it.
    NvmeMultipath {
        /// How a path is chosen: `numa`, `round-robin` or `queue-depth`.
        policy: Option<String>,
        /// Name of the subsystem (NQN).
        subsystem: Option<String>,
    },
    /// One path to a namespace.
    NvmePath {
        /// The controller: `nvme1`.
        controller: Option<String>,
        /// `live`, `connecting` ...
        state: Option<String>,
        /// Address of the controller: of PCI or of a network.
        address: Option<String>,
    },
    /// A volume in a ZFS pool. The kernel does not report which pool.
    ZfsVolume,
    /// A network disk: nbd, rbd, drbd.
    Network,
    /// An optical drive.
    Optical,
}

impl DeviceKind {
    /// One or two words for tables: `disk`, `partition`, `lvm`, `raid1`, `multipath` ...
    pub fn word(&self) -> String {
        let word = match self {
            Self::Other => "other",
            Self::Disk => "disk",
            Self::Partition { .. } => "partition",
            Self::Mapper { maker, .. } => maker.as_ref().map_or("dm", MapperMaker::word),
            Self::Raid(raid) => return raid.level.clone().unwrap_or_else(|| "md".to_owned()),
            Self::Loop { .. } => "loop",
            Self::Bcache { .. } => "bcache",
            Self::Zram { .. } => "zram",
            Self::Ram => "ram",
            Self::NvmeMultipath { .. } => "nvme multipath",
            Self::NvmePath { .. } => "nvme path",
            Self::ZfsVolume => "zfs volume",
            Self::Network => "network",
            Self::Optical => "optical",
        };
        word.to_owned()
    }
}

/// Software that created a device of the device mapper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MapperMaker {
    /// The logical volume manager (LVM).
    Lvm,
    /// dm-crypt: LUKS and its kind.
    Crypt,
    /// The multipath daemon.
    Multipath,
    /// kpartx: a partition of another device of the mapper.
    Partition,
    /// Another one, by its own name in lower case: `vdo`, `stratis`, `dmraid` ...
    Other(String),
}

impl MapperMaker {
    /// One word.
    pub fn word(&self) -> &str {
        match self {
            Self::Lvm => "lvm",
            Self::Crypt => "crypt",
            Self::Multipath => "multipath",
            Self::Partition => "partition",
            Self::Other(word) => word,
        }
    }
}

/// A software RAID.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Raid {
    /// `raid0`, `raid1`, `raid10`, `raid5`, `linear`, `container` ...
    pub level: Option<String>,
    /// `clean`, `active`, `readonly` ...
    pub state: Option<String>,
    /// Number of devices that a complete array has.
    pub disk_count: Option<u32>,
    /// How many of these are missing.
    pub missing_count: Option<u32>,
    /// Stripe unit: bytes on one device before the next device follows; 0 for levels without stripes.
    pub chunk_bytes: Option<u64>,
    /// Background activity: `idle`, `resync`, `recover`, `check` ...
    pub activity: Option<String>,
}

/// Which piece of hardware a device is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Identity {
    /// Vendor. `NVMe` disks have it in the model.
    pub vendor: Option<String>,
    /// Model name.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Revision of its firmware.
    pub firmware: Option<String>,
    /// Its globally unique name, with the kind of name as a prefix: `eui.`, `nvme.`, `naa.`, `uuid.`, `t10.`.
    pub wwid: Option<String>,
}

impl Identity {
    /// True if the vendor and model are those of a disk of a hypervisor or a cloud.
    pub fn is_virtual(&self) -> bool {
        let words =
            [&self.vendor, &self.model].map(|word| word.as_deref().unwrap_or_default()).join(" ").to_lowercase();
        ["qemu", "vmware", "vbox", "virtual disk", "elastic block store", "persistentdisk"]
            .iter()
            .any(|known| words.contains(known))
    }
}

/// How the kernel passes requests to a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queue {
    /// True if the kernel reports it as rotational.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use: `none`, `mq-deadline`, `bfq`, `kyber`.
    pub scheduler: Option<String>,
    /// Requests that the kernel queues (`nr_requests`).
    pub request_count_max: Option<u64>,
    /// Queue depth of the device itself (SCSI, `NVMe`).
    pub device_depth: Option<u64>,
    /// Number of hardware queues.
    pub hardware_queue_count: Option<u32>,
    /// For each of these queues, the CPU that handles its completion interrupts; empty = unknown.
    #[serde(default)]
    pub interrupt_cpus: Vec<u32>,
    /// Mode of the device's write cache: written data may stay in it, or not.
    pub write_cache: Option<WriteCache>,
    /// True if single writes can bypass that cache (FUA).
    pub fua: Option<bool>,
    /// The smallest unit that can be addressed.
    pub logical_sector_bytes: Option<u32>,
    /// The smallest unit that can be written without reading first.
    pub physical_sector_bytes: Option<u32>,
    /// Smallest size without a penalty.
    pub io_bytes_min: Option<u64>,
    /// Preferred size of streaming I/O; 0 = none.
    pub io_bytes_optimal: Option<u64>,
    /// Above this I/Os are split.
    pub io_bytes_max: Option<u64>,
    /// Read-ahead of buffered reads.
    pub read_ahead_bytes: Option<u64>,
    /// Read latency in microseconds above which the kernel throttles buffered writes (wbt); 0 = it does not.
    pub write_throttle_latency_us: Option<u64>,
    /// Largest discard (TRIM); 0 = none is passed on.
    pub discard_bytes_max: Option<u64>,
    /// Unit of discards; 0 = none.
    pub discard_granularity_bytes: Option<u64>,
    /// Largest range that the device itself writes zeros to; 0 = it cannot.
    pub write_zeroes_bytes_max: Option<u64>,
    /// `none`, `host-aware` or `host-managed`.
    pub zoned: Option<String>,
}

/// The one CPU that all queues of a disk interrupt, from the CPU of each queue; `None` if there are several, or it is
/// unknown.
pub fn only_interrupt_cpu(interrupt_cpus: &[u32]) -> Option<u32> {
    let (first, others) = interrupt_cpus.split_first()?;
    others.iter().all(|cpu| cpu == first).then_some(*first)
}

/// Mode of a device's write cache: written data may stay in it, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WriteCache {
    /// It may: only a flush or FUA makes data durable.
    WriteBack,
    /// It does not, or the cache is non-volatile.
    WriteThrough,
}

impl WriteCache {
    /// In the kernel's words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::WriteBack => "write back",
            Self::WriteThrough => "write through",
        }
    }
}

/// How a device is attached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Connection {
    /// By what.
    pub transport: Option<Transport>,
    /// NUMA node of its adapter.
    pub numa_node: Option<u32>,
    /// The PCI Express link of the device or its adapter.
    pub pcie: Option<PcieLink>,
}

/// By what a device is attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// `NVMe` on PCI Express.
    Nvme,
    /// `NVMe` over a network; the kernel's word for it: `tcp`, `rdma`, `fc`, `loop`.
    NvmeOver(String),
    /// Serial ATA, or its parallel ancestor.
    Sata,
    /// Serial-attached SCSI.
    Sas,
    /// SCSI over TCP.
    Iscsi,
    /// Fibre Channel.
    FibreChannel,
    /// USB.
    Usb,
    /// virtio, as a disk or as a SCSI adapter.
    Virtio,
    /// The bus of Hyper-V.
    Vmbus,
    /// The bus of Xen.
    Xen,
    /// A memory card (SD, eMMC).
    Mmc,
    /// Persistent memory.
    Nvdimm,
    /// Another kind of SCSI adapter.
    Scsi,
}

impl Transport {
    /// One word.
    pub fn word(&self) -> String {
        let word = match self {
            Self::Nvme => "nvme",
            Self::NvmeOver(network) => return format!("nvme-{network}"),
            Self::Sata => "sata",
            Self::Sas => "sas",
            Self::Iscsi => "iscsi",
            Self::FibreChannel => "fc",
            Self::Usb => "usb",
            Self::Virtio => "virtio",
            Self::Vmbus => "vmbus",
            Self::Xen => "xen",
            Self::Mmc => "mmc",
            Self::Nvdimm => "nvdimm",
            Self::Scsi => "scsi",
        };
        word.to_owned()
    }
}

/// A PCI Express link: a current value below its maximum is a bottleneck worth knowing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PcieLink {
    /// Address of the PCI device: `0000:01:00.0`.
    pub address: String,
    /// Speed of a lane in million transfers per second: 16000 = 16 GT/s (generation 4).
    pub megatransfers_per_s: Option<u32>,
    /// The maximum of the device.
    pub megatransfers_per_s_max: Option<u32>,
    /// Lanes.
    pub lanes: Option<u32>,
    /// The maximum of the device.
    pub lanes_max: Option<u32>,
}

/// One line of the table of block devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceRow {
    /// The kernel's name.
    pub name: String,
    /// `None` for devices without a node.
    pub number: Option<DeviceNumber>,
    /// Its size in bytes; 0 for drives without a medium and free loop devices.
    pub size_bytes: Option<u64>,
    /// Vendor and model.
    pub model: Option<String>,
    /// Its identity: wwid, else serial number, else the name or UUID that its maker (LVM, md) gave it, else the file of
    /// a loop device.
    pub identity: Option<String>,
    /// The kind of device.
    pub kind: DeviceKind,
    /// How it is connected; of the disk, for a partition.
    pub transport: Option<Transport>,
    /// As the kernel takes it; of the disk, for a partition.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use; of the disk, for a partition.
    pub scheduler: Option<String>,
    /// Every place where its file system is mounted, in the order of mounting.
    #[serde(with = "crate::path::Several")]
    pub mounted: Vec<std::path::PathBuf>,
    /// Other users of it.
    pub used_by: Vec<DeviceUse>,
}

/// A use of a block device other than a mount.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceUse {
    /// It is part of another block device: a volume, RAID, cache, multipath.
    Device {
        /// The kernel's name of that one.
        name: String,
        /// The word for its kind.
        kind: String,
    },
    /// Active swap is on it.
    Swap,
    /// It is part of a ZFS pool.
    ZfsPool {
        /// The pool.
        pool: String,
    },
    /// A btrfs that is in use is on it, whole or in part.
    Btrfs {
        /// UUID of the file system.
        uuid: String,
    },
    /// It is part of a set of caches of bcache.
    BcacheSet {
        /// UUID of the set.
        uuid: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, kind: DeviceKind, below: Vec<BlockDevice>) -> BlockDevice {
        BlockDevice { name: name.to_owned(), kind, below, ..BlockDevice::default() }
    }

    #[test]
    fn media_follow_from_the_attachment_and_then_from_rotation() {
        let disk = |transport, model: &str, rotational| {
            let mut disk = device("d", DeviceKind::Disk, Vec::new());
            disk.connection.transport = transport;
            disk.identity.model = Some(model.to_owned());
            disk.queue.rotational = rotational;
            disk.media_type()
        };
        for (transport, model, rotational, media) in [
            (Some(Transport::Nvme), "EXAMPLE SSD", Some(false), MediaType::Nvme),
            (Some(Transport::Nvme), "Amazon Elastic Block Store", Some(false), MediaType::Virtual),
            (Some(Transport::NvmeOver("tcp".to_owned())), "", Some(false), MediaType::Network),
            (Some(Transport::Sata), "EXAMPLE HDD", Some(true), MediaType::Hdd),
            (Some(Transport::Sas), "EXAMPLE SSD", Some(false), MediaType::Ssd),
            (Some(Transport::Iscsi), "", Some(true), MediaType::Network),
            (Some(Transport::Virtio), "", Some(true), MediaType::Virtual),
            (Some(Transport::Scsi), "QEMU HARDDISK", Some(true), MediaType::Virtual),
            (None, "", None, MediaType::Unknown),
        ] {
            assert_eq!(disk(transport.clone(), model, rotational), media, "{transport:?} {model}");
        }
        let on = |file_system: &str| DeviceKind::Loop {
            file: None,
            offset_bytes: None,
            direct: None,
            file_system: Some(file_system.to_owned()),
        };
        let media = |kind| device("d", kind, Vec::new()).media_type();
        assert_eq!((media(on("tmpfs")), media(on("nfs4"))), (MediaType::Memory, MediaType::Unknown));
        assert_eq!(media(DeviceKind::Zram { algorithm: None }), MediaType::Zram);
    }

    #[test]
    fn disks_are_counted_once_and_paths_are_none() {
        let path = |name| device(name, DeviceKind::NvmePath { controller: None, state: None, address: None }, vec![]);
        let head = DeviceKind::NvmeMultipath { policy: None, subsystem: None };
        let disk = || device("nvme0n1", head.clone(), vec![path("nvme0c0n1"), path("nvme0c1n1")]);
        let part = |name| device(name, DeviceKind::Partition { number: None }, vec![disk()]);
        let sda = device("sda", DeviceKind::Disk, vec![]);
        let raid = device("md0", DeviceKind::Raid(Raid::default()), vec![part("nvme0n1p1"), sda, part("nvme0n1p2")]);
        let names = |devices: Vec<&BlockDevice>| devices.iter().map(|d| d.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(raid.disks()), ["nvme0n1", "sda"]);
        assert_eq!(raid.walk().len(), 10);
    }
}
