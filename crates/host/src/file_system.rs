//! File systems: their names, those that are no storage, and their requirements for direct I/O.

use crate::mounts;
use crate::root::Root;
use model::facts::{DirectIo, FileSystem};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use sys::direct_io::Statement;
use sys::file::FileSystemStat;

/// Magic numbers of file systems that store files.
const STORAGE: [(u64, &str); 29] = [
    (0xEF53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683E, "btrfs"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58F6, "ramfs"),
    (0x794C_7630, "overlay"),
    (0x6969, "nfs"),
    (0xFF53_4D42, "cifs"),
    (0xFE53_4D42, "smb3"),
    (0x6573_5546, "fuse"),
    (0xF2F5_2010, "f2fs"),
    (0x2FC1_2FC1, "zfs"),
    (0x4D44, "vfat"),
    (0x2011_BAB0, "exfat"),
    (0x7366_746E, "ntfs3"),
    (0x00C3_6400, "ceph"),
    (0x0102_1997, "9p"),
    (0xCA45_1A4E, "bcachefs"),
    (0x0116_1970, "gfs2"),
    (0x7461_636F, "ocfs2"),
    (0x0BD0_0BD0, "lustre"),
    (0xE0F5_E1E2, "erofs"),
    (0x7371_7368, "squashfs"),
    (0x9660, "iso9660"),
    (0x1501_3346, "udf"),
    (0xF15F, "ecryptfs"),
    (0x3434, "nilfs2"),
    (0x3153_464A, "jfs"),
    (0x482B, "hfsplus"),
];

/// Magic numbers of pseudo file systems, whose files are interfaces of the kernel.
const PSEUDO: [(u64, &str); 25] = [
    (0x9FA0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x0027_E0EB, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x7363_6673, "securityfs"),
    (0x6265_6570, "configfs"),
    (0x6165_676C, "pstore"),
    (0xCAFE_4A11, "bpf"),
    (0xDE5E_81E4, "efivarfs"),
    (0x1CD1, "devpts"),
    (0x1980_0202, "mqueue"),
    (0x9584_58F6, "hugetlbfs"),
    (0x4249_4E4D, "binfmt_misc"),
    (0x6759_6969, "rpc_pipefs"),
    (0x6E73_6673, "nsfs"),
    (0xF97C_FF8C, "selinuxfs"),
    (0x4341_5D53, "smackfs"),
    (0x6573_5543, "fusectl"),
    (0x0187, "autofs"),
    (0x0765_5821, "resctrl"),
    (0x534F_434B, "sockfs"),
    (0x5049_5045, "pipefs"),
    (0x0904_1934, "anon_inodefs"),
];

/// Pseudo file systems without a magic number of their own: devtmpfs has that of tmpfs.
const PSEUDO_BY_NAME: [&str; 2] = ["devtmpfs", "nfsd"];

/// The file systems of a run's targets. Thousands of targets are on few devices, so each is described once.
#[derive(Debug)]
pub(crate) struct FileSystems<'a> {
    root: &'a Root,
    /// By device and magic number, as first described; free space and permissions are read each time.
    known: BTreeMap<(u64, u64), FileSystem>,
}

impl<'a> FileSystems<'a> {
    pub(crate) fn new(root: &'a Root) -> Self {
        Self { root, known: BTreeMap::new() }
    }

    /// The file system on `device` with the kernel's `stat`.
    pub(crate) fn describe(&mut self, device: u64, stat: FileSystemStat) -> FileSystem {
        let known = self.known.entry((device, stat.magic)).or_insert_with(|| describe(self.root, device, stat));
        FileSystem { free_bytes: stat.free_bytes, read_only: stat.read_only, ..known.clone() }
    }
}

fn describe(root: &Root, device: u64, stat: FileSystemStat) -> FileSystem {
    let numbers = sys::file::major_minor(device);
    let mounts: Vec<_> = mounts::read(root).into_iter().filter(|mount| mount.device == numbers).collect();
    let by_magic = STORAGE.iter().chain(&PSEUDO).find(|(magic, _)| *magic == stat.magic).map(|(_, name)| *name);
    let name = match (mounts.first(), by_magic) {
        (Some(mount), _) => mount.file_system.clone(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => format!("{:#x}", stat.magic),
    };
    // Containers have a plain tmpfs at /dev, where a mistyped device name would fill memory.
    let is_device_directory = mounts.iter().any(|mount| mount.point == Path::new("/dev"));
    let is_pseudo = PSEUDO.iter().any(|(magic, other)| *magic == stat.magic || *other == name)
        || PSEUDO_BY_NAME.contains(&name.as_str())
        || (name == "tmpfs" && is_device_directory);
    let completion_polling = completion_polling(root, device);
    FileSystem { name, is_pseudo, free_bytes: stat.free_bytes, read_only: stat.read_only, completion_polling }
}

/// Requirements of direct I/O on `file`, which is on `device`.
///
/// The kernel's own statement if it makes one, else whether `O_DIRECT` is accepted at all and the sector size of the
/// device below.
pub(crate) fn direct_io(root: &Root, file: &File, device: u64) -> DirectIo {
    match sys::direct_io::statement(file) {
        Ok(Statement::Impossible) => DirectIo::Unsupported,
        Ok(Statement::Aligned { memory_bytes, offset_bytes }) => DirectIo::Aligned { memory_bytes, offset_bytes },
        Ok(Statement::None) | Err(_) => match sys::direct_io::is_accepted(file) {
            Ok(false) => DirectIo::Unsupported,
            Ok(true) | Err(_) => direct_io_of_device(root, device),
        },
    }
}

/// Requirements of the block device below a file system; unknown if there is none.
pub(crate) fn direct_io_of_device(root: &Root, device: u64) -> DirectIo {
    match logical_block_bytes(root, device) {
        Some(bytes) => DirectIo::Aligned { memory_bytes: bytes, offset_bytes: bytes },
        None => DirectIo::Unknown,
    }
}

/// Logical sector size of a disk, or of the disk that a partition is part of.
pub(crate) fn logical_block_bytes(root: &Root, device: u64) -> Option<u32> {
    let size = in_queue(device, "logical_block_size").find_map(|file| root.number(file))?;
    u32::try_from(size).ok().filter(|size| size.is_power_of_two())
}

/// True if a device, or the disk of the partition, has polled queues. Kernels before 6.11 accept polled requests in any
/// case and complete them by interrupts.
pub(crate) fn completion_polling(root: &Root, device: u64) -> Option<bool> {
    in_queue(device, "io_poll").find_map(|file| root.switch(file))
}

/// The largest discard of a device, in bytes; 0 = discards are not supported.
pub(crate) fn discard_bytes_max(root: &Root, device: u64) -> Option<u64> {
    in_queue(device, "discard_max_bytes").find_map(|file| root.number(file))
}

/// True if the zones of a device take sequential writes only.
pub(crate) fn is_sequential(root: &Root, device: u64) -> bool {
    in_queue(device, "zoned").find_map(|file| root.word(file)).is_some_and(|model| model == "host-managed")
}

/// Files of a property of a disk's queue: of the disk itself or of the one that a partition is on.
fn in_queue(device: u64, property: &str) -> impl Iterator<Item = String> {
    let directory = block_directory(device);
    // File systems without a disk of their own have the major number 0, and no directory there.
    let has_directory = sys::file::major_minor(device).0 != 0;
    let queues = ["queue", "../queue"].into_iter().filter(move |_| has_directory);
    queues.map(move |queue| format!("{directory}/{queue}/{property}"))
}

/// Directory of a block device in /sys.
pub(crate) fn block_directory(device: u64) -> String {
    let (major, minor) = sys::file::major_minor(device);
    format!("/sys/dev/block/{major}:{minor}")
}
