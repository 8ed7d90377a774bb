//! Locations of files on devices, on recorded machines with tables and extents of their own.

#[allow(dead_code)]
mod support;

use host::{BtrfsChunks, FileExtent, PlacementSource};
use model::block_device::DeviceNumber;
use model::placement::Placement;
use std::io;
use std::path::{Path, PathBuf};
use support::Machine;
use support::recorded::{scsi_disk, two_nvme_disks};
use sys::btrfs::{Chunk, ChunkLayout};
use sys::device_mapper::MappedTarget;

const MIB: u64 = 1 << 20;

/// Fake answers of the kernel of a recorded machine.
#[derive(Default)]
struct Recorded {
    /// By the last name of a path: offset in the file, length, and offset on the device.
    extents: Vec<(&'static str, u64, u64, u64)>,
    tables: Vec<(DeviceNumber, MappedTarget)>,
    chunks: Vec<Chunk>,
    names: Vec<(u64, String)>,
    is_root: bool,
    /// All extents are compressed.
    compresses: bool,
}

impl PlacementSource for Recorded {
    fn extents(&self, path: &Path) -> io::Result<Vec<FileExtent>> {
        let of_file = self.extents.iter().filter(|(name, ..)| path.ends_with(name));
        let extent = |&(_, offset_bytes, length_bytes, place): &(_, u64, u64, u64)| FileExtent {
            offset_bytes,
            length_bytes,
            place_bytes: Some(place),
            is_encoded: self.compresses,
        };
        let found: Vec<FileExtent> = of_file.map(extent).collect();
        if found.is_empty() { Err(io::ErrorKind::Unsupported.into()) } else { Ok(found) }
    }

    fn table(&self, number: DeviceNumber) -> io::Result<Vec<MappedTarget>> {
        if !self.is_root {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(self.tables.iter().filter(|(known, _)| *known == number).map(|(_, target)| target.clone()).collect())
    }

    fn chunks(&self, _: &Path) -> io::Result<BtrfsChunks> {
        if self.is_root {
            Ok((self.chunks.clone(), self.names.clone()))
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
}

fn placement(machine: &Machine, path: &str, source: &Recorded) -> Placement {
    let path = PathBuf::from(path);
    let environment =
        host::target_environment(&machine.root(), std::slice::from_ref(&path)).remove(&path).expect("one");
    host::placement_from(&machine.root(), source, &path, &environment).expect("it stands on devices")
}

fn shares(placement: &Placement) -> Vec<(&str, u64, bool, bool)> {
    placement.shares.iter().map(|share| (share.device.as_str(), share.bytes, share.is_even, share.is_disk)).collect()
}

fn linear(
    number: (u32, u32),
    start_sectors: u64,
    length_sectors: u64,
    parameters: &str,
) -> (DeviceNumber, MappedTarget) {
    let target =
        MappedTarget { start_sectors, length_sectors, kind: "linear".to_owned(), parameters: parameters.to_owned() };
    (DeviceNumber { major: number.0, minor: number.1 }, target)
}

/// A volume over a partition of each of two disks.
fn volume() -> Machine {
    let table = "block dm-3 253:3 virtual/block/dm-3
         @dm-3/dm/name = vg0-data
         @dm-3/slaves/nvme0n1p2 -> @nvme0n1p2
         @dm-3/slaves/nvme1n1p1 -> @nvme1n1p1
         @nvme0n1p2/start = 2048
         @nvme1n1p1/start = 34
         srv/data/test.dat = x
         proc/self/mountinfo = 30 20 253:3 / /srv/data rw,noatime - xfs /dev/mapper/vg0-data rw";
    Machine::new(&[two_nvme_disks(), table.to_owned()].concat())
}

#[test]
fn a_file_on_a_volume_over_two_disks_has_bytes_on_both() {
    let machine = volume();
    let mut source = Recorded {
        extents: vec![("test.dat", 0, 3 * MIB, 6 * MIB), ("test.dat", 3 * MIB, MIB, 20 * MIB)],
        // The first 8 MiB are on one disk.
        tables: vec![linear((253, 3), 0, 16_384, "259:2 4096"), linear((253, 3), 16_384, 1 << 20, "259:4 0")],
        is_root: true,
        ..Recorded::default()
    };
    let found = placement(&machine, "/srv/data/test.dat", &source);
    assert_eq!((found.placed_bytes, found.extents, found.unknown.len()), (4 * MIB, 2, 0));
    let expected = [
        ("dm-3", 4 * MIB, false, false),
        ("nvme0n1p2", 2 * MIB, false, false),
        ("nvme0n1", 2 * MIB, false, true),
        ("nvme1n1p1", 2 * MIB, false, false),
        ("nvme1n1", 2 * MIB, false, true),
    ];
    assert_eq!(shares(&found), expected);
    assert_eq!(found.encoded_bytes, 0);
    let environment = host::target_environment(&machine.root(), &["/srv/data/test.dat".into()]);
    let places = |piece: std::ops::Range<u64>| -> Vec<(String, u64)> {
        let path = Path::new("/srv/data/test.dat");
        let found = host::device_places_from(&machine.root(), &source, path, true, &environment[path], &[piece]);
        found.concat().into_iter().map(|place| (place.device, place.offset_bytes)).collect()
    };
    let near = [("dm-3", 7 * MIB), ("nvme0n1p2", 9 * MIB), ("nvme0n1", 10 * MIB)];
    assert_eq!(places(MIB..MIB + 4096), near.map(|(device, offset)| (device.to_owned(), offset)));
    let far = [("dm-3", 20 * MIB + 512), ("nvme1n1p1", 12 * MIB + 512), ("nvme1n1", 12 * MIB + 512 + 34 * 512)];
    assert_eq!(places(3 * MIB + 512..3 * MIB + 1024), far.map(|(device, offset)| (device.to_owned(), offset)));
    assert_eq!(places(4 * MIB..5 * MIB), []);
    source.compresses = true;
    let compressed = placement(&machine, "/srv/data/test.dat", &source);
    assert_eq!((compressed.encoded_bytes, compressed.placed_bytes), (4 * MIB, 4 * MIB));
    source.is_root = false;
    source.compresses = false;
    let found = placement(&machine, "/srv/data/test.dat", &source);
    assert_eq!(shares(&found), [("dm-3", 4 * MIB, false, false)]);
    assert_eq!(found.words(), "below dm-3 unknown (needs root) (4MiB in 2 extents)");
}

#[test]
fn a_file_that_lists_no_extents_is_unknown() {
    let found = placement(&volume(), "/srv/data/test.dat", &Recorded::default());
    assert_eq!(found.words(), "unknown (the file system does not report extents)");
}

#[test]
fn a_loop_device_is_followed_through_its_file_at_its_offset() {
    let table = "block loop3 7:3 virtual/block/loop3
         @loop3/loop/backing_file = /srv/images/disk.img
         @loop3/loop/offset = 1048576
         srv/images/disk.img = x
         mnt/file = x
         @nvme0n1p2/start = 2048
         proc/self/mountinfo = 20 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\\n21 20 7:3 / /mnt rw - xfs /dev/loop3 rw";
    let machine = Machine::new(&[two_nvme_disks(), table.to_owned()].concat());
    let source = Recorded {
        // Of 4 MiB in the loop device the file has 3: the first is a hole.
        extents: vec![("file", 0, 4 * MIB, 0), ("disk.img", 2 * MIB, 8 * MIB, 100 * MIB)],
        ..Recorded::default()
    };
    let found = placement(&machine, "/mnt/file", &source);
    let expected =
        [("loop3", 4 * MIB, false, false), ("nvme0n1p2", 3 * MIB, false, false), ("nvme0n1", 3 * MIB, false, true)];
    assert_eq!(shares(&found), expected);
    assert_eq!(found.unknown[0].words(), "below loop3 unknown (not allocated in its backing file)");
}

#[test]
fn a_raid_spreads_evenly_and_mirrors_hold_all() {
    let raid = |level: &str, roles: [&str; 3]| {
        let state = |index: usize, name: &str| format!("@md127/md/dev-{name}/state = {}\n", roles[index]);
        let table = format!(
            "block md127 9:127 virtual/block/md127
             @md127/md/level = {level}
             @md127/slaves/nvme0n1p1 -> @nvme0n1p1
             @md127/slaves/nvme0n1p2 -> @nvme0n1p2
             @md127/slaves/nvme1n1p1 -> @nvme1n1p1
             {}{}{}
             data/file = x
             proc/self/mountinfo = 20 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\\n21 20 9:127 / /data rw - ext4 /dev/md127 rw",
            state(0, "nvme0n1p1"),
            state(1, "nvme0n1p2"),
            state(2, "nvme1n1p1"),
        );
        let machine = Machine::new(&[two_nvme_disks(), table].concat());
        let source = Recorded { extents: vec![("file", 0, 6 * MIB, 0)], ..Recorded::default() };
        let found = placement(&machine, "/data/file", &source);
        let share_on = |name: &str| {
            found.shares.iter().find(|share| share.device == name).map(|share| (share.bytes, share.is_even))
        };
        [share_on("nvme0n1"), share_on("nvme1n1")]
    };
    let synced = ["in_sync"; 3];
    assert_eq!(raid("raid5", synced), [Some((4 * MIB, true)), Some((2 * MIB, true))]);
    // Two near copies, as is usual.
    assert_eq!(raid("raid10", synced), [Some((8 * MIB, true)), Some((4 * MIB, true))]);
    assert_eq!(raid("raid1", ["in_sync", "spare", "in_sync"]), [Some((6 * MIB, false)), Some((6 * MIB, false))]);
}

#[test]
fn btrfs_of_two_devices_is_followed_through_its_chunks() {
    let table = "fs/x = x
         sys/fs/btrfs/0000-1/devices/nvme0n1p1 -> @nvme0n1p1
         sys/fs/btrfs/0000-1/devices/nvme1n1p1 -> @nvme1n1p1
         data/file = x
         proc/self/mountinfo = 21 20 0:40 / /data rw - btrfs /dev/nvme0n1p1 rw";
    let machine = Machine::new(&[two_nvme_disks(), table.to_owned()].concat());
    let chunk = |start: u64, layout, stripes: &[(u64, u64)]| Chunk {
        start_bytes: start * MIB,
        length_bytes: 64 * MIB,
        layout,
        stripes: stripes.to_vec(),
    };
    let mut source = Recorded {
        extents: vec![("file", 0, 8 * MIB, 60 * MIB), ("file", 8 * MIB, 2 * MIB, 128 * MIB)],
        chunks: vec![
            chunk(0, ChunkLayout::Copies, &[(1, MIB)]),
            chunk(64, ChunkLayout::Copies, &[(2, MIB), (2, 90 * MIB)]),
            chunk(128, ChunkLayout::Spread { copies: 1 }, &[(1, 0), (2, 0)]),
        ],
        names: vec![(1, "nvme0n1p1".to_owned()), (2, "nvme1n1p1".to_owned())],
        is_root: true,
        ..Recorded::default()
    };
    let found = placement(&machine, "/data/file", &source);
    let share_on =
        |name: &str| found.shares.iter().find(|share| share.device == name).map(|share| (share.bytes, share.is_even));
    assert_eq!([share_on("nvme0n1"), share_on("nvme1n1")], [Some((5 * MIB, true)), Some((5 * MIB, true))]);
    source.is_root = false;
    let found = placement(&machine, "/data/file", &source);
    assert_eq!(found.words(), "unknown (needs root) (10MiB in 2 extents)");
}

/// A hard disk, a volume on it whose cache is a partition of an `NVMe` disk, and a file.
fn cached_volume(table: &str) -> Machine {
    let disk = scsi_disk("sda", "8:0", "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0", "2:0:0:0");
    let common = "data/file = x
         proc/self/mountinfo = 21 20 252:0 / /data rw - ext4 /dev/cached rw
         ";
    Machine::new(&[two_nvme_disks(), disk, common.to_owned(), table.to_owned()].concat())
}

/// Bytes on each type of media.
fn media(found: &Placement) -> Vec<(&'static str, u64)> {
    found.bytes_by_media().into_iter().map(|(media, bytes)| (media.word(), bytes)).collect()
}

#[test]
fn an_lvm_cache_keeps_a_file_on_its_origin_and_may_hold_copies() {
    let table = "block dm-5 252:0 virtual/block/dm-5
         block dm-2 252:2 virtual/block/dm-2
         block dm-3 252:3 virtual/block/dm-3
         block dm-4 252:4 virtual/block/dm-4
         @dm-5/dm/name = vg0-data
         @dm-5/slaves/dm-2 -> @dm-2
         @dm-5/slaves/dm-3 -> @dm-3
         @dm-5/slaves/dm-4 -> @dm-4
         @dm-2/slaves/nvme0n1p1 -> @nvme0n1p1
         @dm-3/slaves/nvme0n1p1 -> @nvme0n1p1
         @dm-4/slaves/sda -> @sda";
    let machine = cached_volume(table);
    let target = |kind: &str, parameters: &str| {
        let (number, target) = linear((252, 0), 0, 1 << 20, parameters);
        (number, MappedTarget { kind: kind.to_owned(), ..target })
    };
    let extents = || vec![("file", 0, 4 * MIB, MIB)];
    for (kind, parameters) in
        [("cache", "252:2 252:3 252:4 128 2 metadata2 writethrough smq 0"), ("writecache", "s 252:4 252:3 4096 0")]
    {
        let tables = vec![target(kind, parameters), linear((252, 4), 0, 1 << 20, "8:0 2048")];
        let source = Recorded { extents: extents(), tables, is_root: true, ..Recorded::default() };
        let found = placement(&machine, "/data/file", &source);
        assert_eq!(media(&found), [("hdd", 4 * MIB)], "{kind}");
        let disks: Vec<&str> = found.shares.iter().map(|share| share.device.as_str()).collect();
        assert_eq!(disks, ["dm-5", "dm-4", "sda"], "{kind}");
        assert_eq!(found.unknown[0].words(), "below dm-5 unknown (its cache may hold copies)");
    }
    let unread = placement(&machine, "/data/file", &Recorded { extents: extents(), ..Recorded::default() });
    assert_eq!(media(&unread), []);
    assert_eq!(unread.words(), "below dm-5 unknown (needs root) (4MiB in 1 extent)");
}

#[test]
fn a_bcache_keeps_a_file_on_its_backing_disk() {
    let table = "block bcache0 252:0 virtual/block/bcache0
         @bcache0/bcache -> @sda/bcache
         @bcache0/slaves/sda -> @sda
         @sda/bcache/cache_mode = [writeback]
         @sda/bcache/cache -> /sys/fs/bcache/11111111-2222-3333-4444-555555555555
         sys/fs/bcache/11111111-2222-3333-4444-555555555555/cache0 -> @nvme0n1p1/bcache
         @nvme0n1p1/bcache/set -> /sys/fs/bcache/11111111-2222-3333-4444-555555555555";
    let source = Recorded { extents: vec![("file", 0, 4 * MIB, MIB)], ..Recorded::default() };
    let found = placement(&cached_volume(table), "/data/file", &source);
    assert_eq!(media(&found), [("hdd", 4 * MIB)]);
    assert_eq!(found.unknown[0].words(), "below bcache0 unknown (its cache may hold copies)");
}

#[test]
fn a_volume_over_unlike_disks_has_bytes_on_each_type_of_media() {
    let table = "block dm-5 252:0 virtual/block/dm-5
         @dm-5/dm/name = vg0-data
         @dm-5/slaves/nvme0n1p1 -> @nvme0n1p1
         @dm-5/slaves/sda -> @sda
         @nvme0n1p1/start = 2048";
    let machine = cached_volume(table);
    let source = Recorded {
        extents: vec![("file", 0, 4 * MIB, 6 * MIB)],
        // The first 8 MiB are on flash.
        tables: vec![linear((252, 0), 0, 16_384, "259:1 0"), linear((252, 0), 16_384, 1 << 20, "8:0 0")],
        is_root: true,
        ..Recorded::default()
    };
    assert_eq!(media(&placement(&machine, "/data/file", &source)), [("nvme", 2 * MIB), ("hdd", 2 * MIB)]);
}
