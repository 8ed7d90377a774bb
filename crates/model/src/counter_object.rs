//! Objects of performance counters, by the names that Windows gives them.

/// The subject of performance counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CounterObject {
    /// Devices without a device below them: disks.
    PhysicalDisk,
    /// Devices on other devices and files: partitions, volumes, RAIDs, loop devices.
    LogicalDisk,
    /// CPUs by number.
    Processor,
    /// The same CPUs as `NODE,CPU`.
    ProcessorInformation,
    Memory,
    NetworkInterface,
    SmbClientShares,
    NfsClientShares,
    /// bcache and dm-cache devices, and ZFS's cache in memory.
    StorageCache,
}

impl CounterObject {
    pub const ALL: [Self; 9] = [
        Self::PhysicalDisk,
        Self::LogicalDisk,
        Self::Processor,
        Self::ProcessorInformation,
        Self::Memory,
        Self::NetworkInterface,
        Self::SmbClientShares,
        Self::NfsClientShares,
        Self::StorageCache,
    ];

    /// Its name on Windows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PhysicalDisk => "PhysicalDisk",
            Self::LogicalDisk => "LogicalDisk",
            Self::Processor => "Processor",
            Self::ProcessorInformation => "Processor Information",
            Self::Memory => "Memory",
            Self::NetworkInterface => "Network Interface",
            Self::SmbClientShares => "SMB Client Shares",
            Self::NfsClientShares => "NFS Client Shares",
            Self::StorageCache => "Storage Cache",
        }
    }

    /// Where the kernel has it, and its instances.
    pub const fn source(self) -> (&'static str, &'static str) {
        match self {
            Self::PhysicalDisk | Self::LogicalDisk => ("/proc/diskstats", "devices"),
            Self::Processor => ("/proc/stat", "numbers of CPUs"),
            Self::ProcessorInformation => ("/proc/stat", "NUMA node and number of the CPU: `0,3`"),
            Self::Memory => ("/proc/meminfo, /proc/vmstat", "none"),
            Self::NetworkInterface => ("/proc/net/dev, /sys/class/net/*/speed", "interfaces"),
            Self::SmbClientShares => ("/proc/fs/cifs/Stats", "shares: `\\server\\share`"),
            Self::NfsClientShares => ("/proc/self/mountstats", "mount points"),
            Self::StorageCache => {
                ("bcache/stats_total, device mapper status, ZFS arcstats", "bcache and dm-cache devices, `ZFS ARC`")
            }
        }
    }

    pub const fn is_disk(self) -> bool {
        matches!(self, Self::PhysicalDisk | Self::LogicalDisk)
    }

    /// False of memory: there is one.
    pub const fn has_instances(self) -> bool {
        !matches!(self, Self::Memory)
    }

    /// True of the instances that are shown if none is requested: processors and memory as a whole, each of others.
    pub fn is_usual_instance(self, name: &str) -> bool {
        let is_one = self == Self::Processor || !self.has_instances();
        self != Self::ProcessorInformation && is_one == (name == TOTAL_INSTANCE)
    }
}

/// The instance that stands for all of an object together.
pub const TOTAL_INSTANCE: &str = "_Total";
