//! The table of block devices and the kernel's counters, on recorded machines and on this one.

#[allow(dead_code)]
mod support;

use model::block_device::{DeviceRow, DeviceUse};
use model::kernel_counters::FlushCounters;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use support::Machine;
use support::nvlist::{Value, packed};
use support::recorded::{scsi_disk, two_nvme_disks};

fn busy_machine() -> Machine {
    let machine = Machine::new(
        &[
            two_nvme_disks(),
            scsi_disk("sdb", "8:16", "pci0000:00/ata1/host0/target0:0:0", "0:0:0:0"),
            scsi_disk("sda", "8:0", "pci0000:00/ata2/host1/target1:0:0", "1:0:0:0"),
            "block md0 9:0 virtual/block/md0
             block dm-10 253:10 virtual/block/dm-10
             block dm-9 253:9 virtual/block/dm-9
             block zram0 252:0 virtual/block/zram0
             block loop0 7:0 virtual/block/loop0
             block nvme7c0n1 - pci0000:00/0000:00:07.0/nvme/nvme7/nvme7c0n1
             block nvme7n1 259:9 virtual/nvme-subsystem/nvme-subsys7/nvme7n1
             @md0/md/level = raid1
             @md0/md/uuid = 01234567-89ab-cdef-0123-456789abcdef
             @md0/slaves/nvme0n1p1 -> @nvme0n1p1
             @nvme0n1p1/holders/md0 -> @md0
             @md0/holders/dm-9 -> @dm-9
             @md0/holders/dm-10 -> @dm-10
             @dm-9/dm/name = vg-a
             @dm-9/dm/uuid = LVM-a
             @dm-10/dm/name = vg-b\\040c
             @dm-10/dm/uuid = LVM-b
             @loop0/size = 0
             @nvme7c0n1/device -> ../../nvme7
             @sdb/bcache/set -> /sys/fs/bcache/cccc
             sys/fs/bcache/cccc/cache0 -> @sdb/bcache
             sys/fs/btrfs/aaaa/devices/nvme1n1p1 -> @nvme1n1p1
             sys/fs/btrfs/aaaa/devices/nvme1n1p2 -> @nvme1n1p2
             proc/swaps = Filename Type Size Used Priority\\n/dev/zram0 partition 4194300 0 100\\n/swapfile file 1 0 -2
             proc/self/mountinfo = 20 1 253:9 / / rw - ext4 /dev/mapper/vg-a rw\\n21 20 253:9 /srv /a\\040b rw - ext4 /dev/mapper/vg-a rw\\n22 20 0:50 / /btrfs rw - btrfs /dev/nvme1n1p2 rw\\n23 20 0:50 /@ /btrfs\\040too rw - btrfs /dev/nvme1n1p1 rw\\n24 20 253:9 /srv /a\\040b rw - ext4 /dev/mapper/vg-a rw"
                .to_owned(),
        ]
        .concat(),
    );
    let disk = vec![("type", Value::Text("disk")), ("path", Value::Text("/dev/sda"))];
    let tree = vec![("type", Value::Text("root")), ("children", Value::Lists(vec![disk]))];
    let pool = vec![("vdev_tree", Value::List(tree))];
    machine.write_bytes("etc/zfs/zpool.cache", &packed(&vec![("tank", Value::List(pool))]));
    machine
}

fn row(name: &str) -> DeviceRow {
    let rows = host::devices(&busy_machine().root());
    rows.into_iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no row of {name}"))
}

fn used_by(name: &str) -> Vec<String> {
    let word = |used: &DeviceUse| match used {
        DeviceUse::Device { name, kind } => format!("{name} {kind}"),
        DeviceUse::Swap => "swap".to_owned(),
        DeviceUse::ZfsPool { pool } => format!("pool {pool}"),
        DeviceUse::Btrfs { uuid } => format!("btrfs {uuid}"),
        DeviceUse::BcacheSet { uuid } => format!("bcache {uuid}"),
    };
    row(name).used_by.iter().map(word).collect()
}

#[test]
fn all_devices_are_listed_and_partitions_follow_their_disk() {
    let names: Vec<String> = host::devices(&busy_machine().root()).into_iter().map(|row| row.name).collect();
    let expected = [
        "dm-9",
        "dm-10",
        "loop0",
        "md0",
        "nvme0n1",
        "nvme0n1p1",
        "nvme0n1p2",
        "nvme1n1",
        "nvme1n1p1",
        "nvme1n1p2",
        "nvme7c0n1",
        "nvme7n1",
        "sda",
        "sdb",
        "zram0",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_row_tells_what_tells_devices_apart() {
    let disk = row("nvme0n1");
    assert_eq!(disk.kind.word(), "disk");
    assert_eq!(disk.size_bytes, Some(7_501_476_528 * 512));
    assert_eq!(disk.model.as_deref(), Some("EXAMPLE SSD 3.84TB"));
    assert_eq!(disk.identity.as_deref(), Some("eui.0000000000000001"));
    let partition = row("nvme0n1p1");
    assert_eq!((partition.kind.word().as_str(), partition.model), ("partition", None));
    // The queue of a partition is that of its disk.
    assert_eq!((partition.rotational, partition.scheduler.as_deref()), (Some(false), Some("none")));
    assert_eq!(row("sda").model.as_deref(), Some("EXAMPLE Array LUN"));
    assert_eq!(row("sda").rotational, Some(true));
    assert_eq!(row("md0").identity.as_deref(), Some("01234567-89ab-cdef-0123-456789abcdef"));
    assert_eq!(row("dm-9").identity.as_deref(), Some("vg-a"));
    assert_eq!((row("loop0").size_bytes, row("loop0").identity), (Some(0), None));
}

#[test]
fn mount_points_are_all_listed_once_and_read_as_they_are() {
    assert_eq!(row("dm-9").mounted, [Path::new("/"), Path::new("/a b")]);
    let both = [PathBuf::from("/btrfs"), PathBuf::from("/btrfs too")];
    assert_eq!(row("nvme1n1p1").mounted, both);
    assert_eq!(row("nvme1n1p2").mounted, both);
    assert_eq!(row("nvme1n1").mounted, [] as [PathBuf; 0]);
}

#[test]
fn users_are_found_wherever_they_are_listed() {
    assert_eq!(used_by("nvme0n1p1"), ["md0 raid1"]);
    assert_eq!(used_by("md0"), ["dm-10 lvm", "dm-9 lvm"]);
    assert_eq!(used_by("zram0"), ["swap"]);
    assert_eq!(used_by("sda"), ["pool tank"]);
    assert_eq!(used_by("sdb"), ["bcache cccc"]);
    assert_eq!(used_by("nvme1n1p2"), ["btrfs aaaa"]);
    assert_eq!(used_by("nvme7c0n1"), ["nvme7n1 nvme multipath"]);
    assert_eq!(used_by("nvme0n1"), [] as [&str; 0]);
}

#[test]
fn counters_are_read_of_the_devices_that_keep_them() {
    let machine = busy_machine();
    machine.write(
        "proc/self/io",
        "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7",
    );
    let counters = host::io_counters(&machine.root(), ["nvme0n1", "sda", "no-such-device"]);
    assert_eq!(counters.devices.keys().collect::<Vec<_>>(), ["nvme0n1"]);
    let disk = &counters.devices["nvme0n1"];
    assert_eq!((disk.read.count, disk.read.bytes, disk.write.count, disk.write.bytes), (10, 40_960, 20, 81_920));
    assert_eq!(disk.flush, Some(FlushCounters::default()));
    assert_eq!(counters.process.map(|process| process.storage_write_bytes), Some(6));
    assert_eq!(host::io_counters(&Machine::new("x = 1").root(), []).process, None);
}

/// Any machine must be readable without an error.
#[test]
fn this_machine_can_be_described() {
    let root = host::Root::machine();
    let rows = host::devices(&root);
    let paths: Vec<PathBuf> = rows.iter().map(|row| PathBuf::from(format!("/dev/{}", row.name))).collect();
    let others = ["/", "/proc/self/mem", "/dev/null", "/dev/stdin", "/dev/shm/x", "/no/such/place", "relative", ""];
    let paths: Vec<PathBuf> = paths.into_iter().chain(others.map(PathBuf::from)).collect();
    let targets = host::target_environment(&root, &paths);
    assert_eq!(targets.len(), paths.len());
    let _ = host::environment(&root);
    let _ = host::io_counters(&root, rows.iter().map(|row| row.name.as_str()));
}

/// Files that are read, to be filled with random content.
const READ: [&str; 24] = [
    "proc/self/mountinfo",
    "proc/self/cgroup",
    "proc/self/io",
    "proc/swaps",
    "proc/meminfo",
    "proc/cpuinfo",
    "etc/os-release",
    "etc/zfs/zpool.cache",
    "@sda/dev",
    "@sda/size",
    "@sda/ro",
    "@sda/stat",
    "@sda/queue/scheduler",
    "@sda/queue/nr_requests",
    "@sda/queue/write_cache",
    "@sda/queue/max_sectors_kb",
    "@sda/../../vpd_pg80",
    "@md0/md/level",
    "@md0/md/raid_disks",
    "@dm-9/dm/name",
    "@dm-9/dm/uuid",
    "@nvme0n1p1/partition",
    "@nvme0n1/../../../current_link_speed",
    "@nvme0n1/../../../numa_node",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn garbage_makes_nothing_panic(
        fills in proptest::collection::vec(
            (proptest::sample::select(&READ[..]), prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..80),
                "[0-9]{0,30}".prop_map(String::into_bytes),
                "([0-9:/ -]{0,6}[ \n]){0,20}".prop_map(String::into_bytes),
            ]),
            1..8,
        ),
    ) {
        let machine = busy_machine();
        for (path, content) in &fills {
            machine.write_bytes(path, content);
        }
        let root = machine.root();
        let rows = host::devices(&root);
        prop_assert_eq!(rows.len(), 15);
        let _ = host::environment(&root);
        let _ = host::io_counters(&root, rows.iter().map(|row| row.name.as_str()));
        let paths: Vec<PathBuf> = rows.iter().map(|row| PathBuf::from(format!("/dev/{}", row.name))).collect();
        let found = host::target_environment(&root, &paths);
        prop_assert!(found.values().all(|target| target.devices().len() <= 1));
    }
}

#[test]
fn caches_count_what_they_serve() {
    let machine = Machine::new(
        "block bcache0 252:0 virtual/block/bcache0
         block sdb 8:16 pci0/sdb
         @bcache0/bcache/stats_total/cache_hits = 61
         @bcache0/bcache/stats_total/cache_misses = 39
         @bcache0/bcache/stats_total/cache_bypass_hits = 3
         @bcache0/bcache/stats_total/cache_bypass_misses = 4
         @sdb/bcache/stats_total/cache_hits = 61
         @sdb/bcache/stats_total/cache_misses = 39
         proc/spl/kstat/zfs/arcstats = 13 1 0x01 147 39984 5 6\\nname                            type data\\n\
         hits                            4    9000\\ndemand_data_hits                4    800\\n\
         demand_data_iohits              4    3\\ndemand_data_misses              4    70\\n\
         prefetch_data_misses            4    6",
    );
    let caches = host::io_counters(&machine.root(), ["bcache0", "sdb"]).caches;
    let told: Vec<_> = caches.iter().map(|(name, it)| (name.as_str(), it.read_hits, it.read_misses)).collect();
    assert_eq!(told, [("ZFS ARC", 800, 76), ("bcache0", 61, 39)]);
    assert_eq!(caches.values().map(|it| it.bypassed_reads).collect::<Vec<_>>(), [None, Some(7)]);
}
