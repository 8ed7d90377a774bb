//! Stacks of block devices down to the disks, on recorded machines.

#[allow(dead_code)]
mod support;

use model::block_device::{BlockDevice, DeviceKind, MapperMaker, Transport, WriteCache};
use model::environment::{Backing, TargetEnvironment};
use std::path::PathBuf;
use support::Machine;
use support::outline::of_devices;
use support::recorded::{scsi_disk, two_nvme_disks};

fn environment(machine: &Machine, path: &str) -> TargetEnvironment {
    let path = PathBuf::from(path);
    host::target_environment(&machine.root(), std::slice::from_ref(&path)).remove(&path).expect("asked for")
}

fn outline(machine: &Machine, path: &str) -> Vec<String> {
    of_devices(environment(machine, path).devices())
}

fn disk(machine: &Machine, path: &str) -> BlockDevice {
    let environment = environment(machine, path);
    let disks = environment.disks();
    disks.first().map(|disk| (*disk).clone()).expect("stands on a disk")
}

#[test]
fn an_nvme_disk_is_described_in_full() {
    let machine = Machine::new(&two_nvme_disks());
    let environment = environment(&machine, "/dev/nvme1n1p2");
    assert_eq!(environment.mount, None);
    assert_eq!(of_devices(environment.devices()), ["nvme1n1p2 partition", "  nvme1n1 disk"]);
    let partition = environment.devices()[0].clone();
    assert_eq!(partition.kind, DeviceKind::Partition { number: Some(2) });
    assert_eq!(partition.size_bytes, Some(7_501_472_432 * 512));
    let disk = &partition.below[0];
    assert_eq!(disk.number.map(|number| (number.major, number.minor)), Some((259, 3)));
    assert_eq!(disk.size_bytes, Some(7_501_476_528 * 512));
    assert_eq!((disk.removable, disk.read_only), (Some(false), Some(false)));
    assert_eq!(disk.identity.model.as_deref(), Some("EXAMPLE SSD 3.84TB"));
    assert_eq!(disk.identity.serial.as_deref(), Some("S001"));
    assert_eq!(disk.identity.firmware.as_deref(), Some("FW12"));
    assert_eq!(disk.identity.wwid.as_deref(), Some("eui.0000000000000002"));
    assert_eq!(disk.identity.vendor, None);
    assert_eq!(disk.queue.rotational, Some(false));
    assert_eq!(disk.queue.scheduler.as_deref(), Some("none"));
    assert_eq!((disk.queue.request_count_max, disk.queue.device_depth), (Some(1023), Some(1024)));
    assert_eq!(disk.queue.hardware_queue_count, Some(3));
    assert_eq!((disk.queue.write_cache, disk.queue.fua), (Some(WriteCache::WriteBack), Some(true)));
    assert_eq!((disk.queue.logical_sector_bytes, disk.queue.physical_sector_bytes), (Some(512), Some(4096)));
    assert_eq!(disk.queue.write_throttle_latency_us, Some(2000));
    assert_eq!(disk.queue.io_bytes_max, Some(128 << 10));
    assert_eq!(disk.queue.discard_bytes_max, Some(2_199_023_255_040));
    assert_eq!(disk.queue.zoned, None);
    assert_eq!(disk.connection.transport, Some(Transport::Nvme));
    assert_eq!(disk.connection.numa_node, Some(1));
    let link = disk.connection.pcie.clone().expect("a link");
    assert_eq!(link.address, "0000:02:00.0");
    assert_eq!((link.megatransfers_per_s, link.megatransfers_per_s_max), (Some(8000), Some(16_000)));
    assert_eq!((link.lanes, link.lanes_max), (Some(2), Some(4)));
}

#[test]
fn a_link_that_is_down_has_no_lanes() {
    let machine = Machine::new(&two_nvme_disks());
    for (width, lanes) in [("0", None), ("63", None), ("255", None), ("16", Some(16)), ("x16", None)] {
        machine.write("@nvme0n1/../../../current_link_width", width);
        machine.write("@nvme0n1/../../../current_link_speed", "Unknown");
        let link = disk(&machine, "/dev/nvme0n1").connection.pcie.expect("a link");
        assert_eq!((link.lanes, link.megatransfers_per_s), (lanes, None), "{width}");
        assert_eq!((link.lanes_max, link.megatransfers_per_s_max), (Some(4), Some(16_000)));
    }
}

/// A subsystem of two controllers with one namespace, which has a partition.
const NVME_MULTIPATH: &str = "
    block nvme0n1 259:1 virtual/nvme-subsystem/nvme-subsys0/nvme0n1
    block nvme0n1p1 259:2 virtual/nvme-subsystem/nvme-subsys0/nvme0n1/nvme0n1p1
    block nvme0c0n1 - pci0000:00/0000:00:02.0/0000:03:00.0/nvme/nvme0/nvme0c0n1
    block nvme0c1n1 - virtual/nvme-fabrics/ctl/nvme1/nvme0c1n1
    block nvme1n1 259:3 pci0000:00/0000:00:03.0/0000:04:00.0/nvme/nvme2/nvme1n1
    @nvme0n1/device -> ../../nvme-subsys0
    @nvme0n1/size = 1000
    @nvme0n1/wwid = uuid.01234567-89ab-cdef-0123-456789abcdef
    @nvme0n1/../model = EXAMPLE Dual Port
    @nvme0n1/../serial = S7
    @nvme0n1/../iopolicy = round-robin
    @nvme0n1/../subsysnqn = nqn.2014-08.org.example:subsystem
    @nvme0n1p1/partition = 1
    @nvme0c0n1/device -> ../../nvme0
    @nvme0c0n1/ana_state = optimized
    @nvme0c0n1/../transport = pcie
    @nvme0c0n1/../state = live
    @nvme0c0n1/../address = 0000:03:00.0
    @nvme0c0n1/../../../numa_node = 0
    @nvme0c0n1/../../../current_link_speed = 16.0 GT/s PCIe
    @nvme0c1n1/device -> ../../nvme1
    @nvme0c1n1/ana_state = non-optimized
    @nvme0c1n1/../transport = tcp
    @nvme0c1n1/../state = connecting
    @nvme0c1n1/../address = traddr=192.0.2.7,trsvcid=4420
    @nvme0c1n1/../numa_node = -1
    @nvme1n1/device -> ../../nvme2
    @nvme1n1/../transport = pcie";

const NVME_MULTIPATH_OUTLINE: [&str; 4] = [
    "nvme0n1p1 partition",
    "  nvme0n1 nvme multipath",
    "    nvme0c0n1 nvme path (optimized)",
    "    nvme0c1n1 nvme path (non-optimized)",
];

#[test]
fn native_nvme_multipath_is_found_by_the_names_of_its_paths() {
    let machine = Machine::new(NVME_MULTIPATH);
    assert_eq!(outline(&machine, "/dev/nvme0n1p1"), NVME_MULTIPATH_OUTLINE);
    let head = disk(&machine, "/dev/nvme0n1p1");
    assert_eq!(head.identity.model.as_deref(), Some("EXAMPLE Dual Port"));
    assert_eq!(head.identity.wwid.as_deref(), Some("uuid.01234567-89ab-cdef-0123-456789abcdef"));
    let expected = DeviceKind::NvmeMultipath {
        policy: Some("round-robin".to_owned()),
        subsystem: Some("nqn.2014-08.org.example:subsystem".to_owned()),
    };
    assert_eq!(head.kind, expected);
    // The paths have nothing in common, so the connection of the whole is empty.
    assert_eq!(head.connection, model::block_device::Connection::default());
    let [first, second] = &head.below[..] else { panic!("two paths") };
    assert_eq!(first.number, None);
    assert_eq!(first.connection.numa_node, Some(0));
    assert_eq!(first.connection.pcie.as_ref().and_then(|link| link.megatransfers_per_s), Some(16_000));
    let expected = DeviceKind::NvmePath {
        controller: Some("nvme1".to_owned()),
        state: Some("connecting".to_owned()),
        address: Some("traddr=192.0.2.7,trsvcid=4420".to_owned()),
    };
    assert_eq!(second.kind, expected);
    assert_eq!(second.connection.transport, Some(Transport::NvmeOver("tcp".to_owned())));
    assert_eq!((second.connection.numa_node, second.connection.pcie.clone()), (None, None));
}

#[test]
fn native_nvme_multipath_is_found_by_links_where_the_kernel_has_them() {
    let links = "@nvme0n1/multipath/nvme0c0n1 -> @nvme0c0n1
                 @nvme0n1/multipath/nvme0c1n1 -> @nvme0c1n1";
    let machine = Machine::new(&format!("{NVME_MULTIPATH}\n{links}"));
    assert_eq!(outline(&machine, "/dev/nvme0n1p1"), NVME_MULTIPATH_OUTLINE);
}

#[test]
fn one_path_of_nvme_lends_the_namespace_its_link() {
    let single: Vec<&str> = NVME_MULTIPATH.lines().filter(|line| !line.contains("nvme0c1n1")).collect();
    let head = disk(&Machine::new(&single.join("\n")), "/dev/nvme0n1");
    assert_eq!(head.connection.transport, Some(Transport::Nvme));
    assert_eq!(head.connection.numa_node, Some(0));
    assert_eq!(head.connection.pcie.map(|link| link.address).as_deref(), Some("0000:03:00.0"));
}

#[test]
fn dm_multipath_over_fibre_channel() {
    let adapter =
        |host: u32| format!("pci0000:00/0000:00:05.0/0000:05:00.{host}/host{host}/rport-{host}:0-0/target{host}:0:0");
    let table = [
        scsi_disk("sda", "8:0", &adapter(1), "1:0:0:1"),
        scsi_disk("sdb", "8:16", &adapter(2), "2:0:0:1"),
        "block dm-0 253:0 virtual/block/dm-0
         block dm-1 253:1 virtual/block/dm-1
         @dm-0/dm/name = mpatha
         @dm-0/dm/uuid = mpath-3600000000000000000000e0000010001
         @dm-0/slaves/sdb -> @sdb
         @dm-0/slaves/sda -> @sda
         @dm-1/dm/name = mpatha1
         @dm-1/dm/uuid = part1-mpath-3600000000000000000000e0000010001
         @dm-1/slaves/dm-0 -> @dm-0
         dev/disk/by-id/dm-name-mpatha1 -> ../../dm-1"
            .to_owned(),
    ]
    .concat();
    let machine = Machine::new(&table);
    let expected = ["dm-1 partition", "  dm-0 multipath", "    sda disk", "    sdb disk"];
    // By the name in /dev/mapper, and by a link to a node.
    assert_eq!(outline(&machine, "/dev/mapper/mpatha1"), expected);
    assert_eq!(outline(&machine, "/dev/disk/by-id/dm-name-mpatha1"), expected);
    let sda = disk(&machine, "/dev/mapper/mpatha");
    assert_eq!(sda.identity.vendor.as_deref(), Some("EXAMPLE"));
    assert_eq!(sda.identity.model.as_deref(), Some("Array LUN"));
    assert_eq!(sda.identity.wwid.as_deref(), Some("naa.600000000000000000000e0000010001"));
    assert_eq!(sda.connection.transport, Some(Transport::FibreChannel));
    assert_eq!(sda.queue.device_depth, Some(64));
    assert_eq!(sda.queue.scheduler.as_deref(), Some("mq-deadline"));
}

#[test]
fn lvm_on_raid10_of_four_nvme_partitions() {
    let table = [
        two_nvme_disks(),
        "block md127 9:127 virtual/block/md127
         block dm-3 253:3 virtual/block/dm-3
         @dm-3/dm/name = vg0-data
         @dm-3/dm/uuid = LVM-6mvyJ2mDmhbGdUXl3ZGd4RPx8Ab3JfLq
         @dm-3/slaves/md127 -> @md127
         @md127/md/level = raid10
         @md127/md/array_state = active
         @md127/md/raid_disks = 4
         @md127/md/degraded = 1
         @md127/md/chunk_size = 524288
         @md127/md/sync_action = recover
         @md127/md/dev-nvme0n1p1/state = in_sync
         @md127/md/dev-nvme0n1p2/state = in_sync
         @md127/md/dev-nvme1n1p1/state = in_sync
         @md127/md/dev-nvme1n1p2/state = spare
         @md127/slaves/nvme0n1p1 -> @nvme0n1p1
         @md127/slaves/nvme0n1p2 -> @nvme0n1p2
         @md127/slaves/nvme1n1p1 -> @nvme1n1p1
         @md127/slaves/nvme1n1p2 -> @nvme1n1p2
         srv/data/test.dat = x
         proc/self/mountinfo = 20 1 253:9 / / rw - ext4 /dev/mapper/vg0-root rw\\n30 20 253:3 / /srv/data rw,noatime - xfs /dev/mapper/vg0-data rw,attr2,logbufs=8"
            .to_owned(),
    ]
    .concat();
    let machine = Machine::new(&table);
    let found = environment(&machine, "/srv/data/test.dat");
    let expected = [
        "dm-3 lvm",
        "  md127 raid10",
        "    nvme0n1p1 partition (in_sync)",
        "      nvme0n1 disk",
        "    nvme0n1p2 partition (in_sync)",
        "      nvme0n1 disk",
        "    nvme1n1p1 partition (in_sync)",
        "      nvme1n1 disk",
        "    nvme1n1p2 partition (spare)",
        "      nvme1n1 disk",
    ];
    assert_eq!(of_devices(found.devices()), expected);
    assert_eq!(found.disks().iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>(), ["nvme0n1", "nvme1n1"]);
    let mount = found.mount.clone().expect("a file");
    assert_eq!((mount.file_system.as_str(), mount.source.as_str()), ("xfs", "/dev/mapper/vg0-data"));
    assert_eq!(mount.point, PathBuf::from("/srv/data"));
    assert_eq!(mount.mount_options, ["rw", "noatime"]);
    assert_eq!(mount.file_system_options, ["rw", "attr2", "logbufs=8"]);
    let volume = &found.devices()[0].clone();
    let expected = DeviceKind::Mapper {
        maker: Some(MapperMaker::Lvm),
        name: Some("vg0-data".to_owned()),
        uuid: Some("LVM-6mvyJ2mDmhbGdUXl3ZGd4RPx8Ab3JfLq".to_owned()),
    };
    assert_eq!(volume.kind, expected);
    let DeviceKind::Raid(raid) = &volume.below[0].kind else { panic!("a RAID") };
    assert_eq!((raid.disk_count, raid.missing_count, raid.chunk_bytes), (Some(4), Some(1), Some(512 << 10)));
    assert_eq!((raid.state.as_deref(), raid.activity.as_deref()), (Some("active"), Some("recover")));
}

#[test]
fn bcache_has_a_backing_disk_and_caches() {
    let table = [
        two_nvme_disks(),
        scsi_disk("sda", "8:0", "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0", "2:0:0:0"),
        "block bcache0 252:0 virtual/block/bcache0
         @bcache0/size = 1953525152
         @bcache0/bcache -> @sda/bcache
         @bcache0/slaves/sda -> @sda
         @sda/bcache/cache_mode = writethrough [writeback] writearound none
         @sda/bcache/state = dirty
         @sda/bcache/cache -> /sys/fs/bcache/11111111-2222-3333-4444-555555555555
         sys/fs/bcache/11111111-2222-3333-4444-555555555555/cache0 -> @nvme0n1p1/bcache
         @nvme0n1p1/bcache/set -> /sys/fs/bcache/11111111-2222-3333-4444-555555555555"
            .to_owned(),
    ]
    .concat();
    let machine = Machine::new(&table);
    let expected = ["bcache0 bcache", "  sda disk (backing)", "  nvme0n1p1 partition (cache)", "    nvme0n1 disk"];
    assert_eq!(outline(&machine, "/dev/bcache0"), expected);
    let found = environment(&machine, "/dev/bcache0");
    let kind = DeviceKind::Bcache { cache_mode: Some("writeback".to_owned()), state: Some("dirty".to_owned()) };
    assert_eq!(found.devices()[0].kind, kind);
    assert_eq!(found.devices()[0].below[0].connection.transport, Some(Transport::Sata));
}

#[test]
fn a_loop_device_on_ext4_on_a_partition() {
    let table = [
        two_nvme_disks(),
        "block loop3 7:3 virtual/block/loop3
         @loop3/loop/backing_file = /srv/images/disk.img
         @loop3/loop/offset = 1048576
         @loop3/loop/dio = 1
         srv/images/disk.img = x
         mnt/file = x
         proc/self/mountinfo = 20 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\\n21 20 7:3 / /mnt rw - xfs /dev/loop3 rw"
            .to_owned(),
    ]
    .concat();
    let machine = Machine::new(&table);
    let expected = ["loop3 loop", "  nvme0n1p2 partition", "    nvme0n1 disk"];
    assert_eq!(outline(&machine, "/dev/loop3"), expected);
    assert_eq!(outline(&machine, "/mnt/file"), expected);
    assert_eq!(outline(&machine, "/mnt/new/file/that/is/missing"), expected);
    let kind = DeviceKind::Loop {
        file: Some("/srv/images/disk.img".to_owned()),
        offset_bytes: Some(1 << 20),
        direct: Some(true),
        file_system: Some("ext4".to_owned()),
    };
    assert_eq!(environment(&machine, "/dev/loop3").devices()[0].kind, kind);
}

#[test]
fn a_loop_device_on_its_own_file_system_ends() {
    let machine = Machine::new(
        "block loop0 7:0 virtual/block/loop0
         @loop0/loop/backing_file = /mnt/disk.img
         mnt/disk.img = x
         proc/self/mountinfo = 20 1 7:0 / / rw - ext4 /dev/loop0 rw",
    );
    assert_eq!(outline(&machine, "/mnt/disk.img"), ["loop0 loop"]);
}

#[test]
fn a_virtio_disk_of_a_machine_that_tells_little() {
    let machine = Machine::new(
        "block vda 254:0 pci0000:00/0000:00:02.0/virtio1/block/vda
         @vda/device -> ../../../virtio1
         @vda/serial = overlayblk
         @vda/size = 2048
         @vda/../../vendor = 0x1af4
         @vda/../../../numa_node = -1
         @vda/queue/rotational = 1
         @vda/queue/scheduler = none [mq-deadline] kyber bfq
         @vda/queue/write_cache = write through
         @vda/queue/fua = 0
         srv/file = x
         proc/self/mountinfo = 27 1 254:0 / / rw,relatime - ext4 /dev/root rw,discard",
    );
    assert_eq!(outline(&machine, "/srv/file"), ["vda disk"]);
    let disk = disk(&machine, "/srv/file");
    assert_eq!(disk.connection.transport, Some(Transport::Virtio));
    assert_eq!((disk.connection.numa_node, disk.connection.pcie.clone()), (None, None));
    assert_eq!(disk.identity.serial.as_deref(), Some("overlayblk"));
    assert_eq!((disk.identity.vendor, disk.identity.model), (None, None));
    assert_eq!(disk.queue.write_cache, Some(WriteCache::WriteThrough));
    assert_eq!(disk.queue.fua, Some(false));
}

#[test]
fn memory_that_looks_like_a_disk() {
    let machine = Machine::new(
        "block zram0 253:0 virtual/block/zram0
         @zram0/comp_algorithm = lzo [zstd] lz4
         @zram0/disksize = 4294967296
         block ram0 1:0 virtual/block/ram0
         block zd16 230:16 virtual/block/zd16
         block odd 240:0 virtual/block/odd",
    );
    let kind = |name: &str| environment(&machine, &format!("/dev/{name}")).devices()[0].kind.clone();
    assert_eq!(kind("zram0"), DeviceKind::Zram { algorithm: Some("zstd".to_owned()) });
    assert_eq!(kind("ram0"), DeviceKind::Ram);
    assert_eq!(kind("zd16"), DeviceKind::ZfsVolume);
    assert_eq!(kind("odd"), DeviceKind::Other);
}

#[test]
fn adapters_tell_the_transport() {
    let pci = "pci0000:00/0000:00:14.0";
    for (adapter, transport) in [
        (format!("{pci}/usb2/2-1/2-1:1.0/host4/target4:0:0"), Transport::Usb),
        ("platform/host5/session3/target5:0:0".to_owned(), Transport::Iscsi),
        (format!("{pci}/host0/port-0:0/end_device-0:0/target0:0:0"), Transport::Sas),
        (format!("{pci}/ata1/host0/target0:0:0"), Transport::Sata),
        (format!("{pci}/virtio2/host0/target0:0:0"), Transport::Virtio),
        ("LNXSYSTM:00/VMBUS:01/00000000-0001/host0/target0:0:0".to_owned(), Transport::Vmbus),
        (format!("{pci}/host0/target0:0:0"), Transport::Scsi),
    ] {
        let machine = Machine::new(&scsi_disk("sda", "8:0", &adapter, "0:0:0:0"));
        assert_eq!(disk(&machine, "/dev/sda").connection.transport, Some(transport), "{adapter}");
    }
}

#[test]
fn a_scsi_serial_number_is_read_from_its_page() {
    let machine = Machine::new(&scsi_disk("sda", "8:0", "pci0000:00/ata1/host0/target0:0:0", "0:0:0:0"));
    machine.write_bytes("@sda/../../vpd_pg80", b"\x00\x80\x00\x0c    Z1E2ABCD");
    assert_eq!(disk(&machine, "/dev/sda").identity.serial.as_deref(), Some("Z1E2ABCD"));
    for garbage in [&b""[..], b"\x00", b"\x00\x80\x00\xffABC", b"\x00\x83\x00\x03ABC", b"\x00\x80\x00\x02\x00\xff"] {
        machine.write_bytes("@sda/../../vpd_pg80", garbage);
        assert_eq!(disk(&machine, "/dev/sda").identity.serial, None, "{garbage:?}");
    }
}

#[test]
fn names_with_slashes_are_written_with_exclamation_marks_in_sys() {
    let machine = Machine::new(
        "block cciss!c0d0 104:0 pci0000:00/0000:00:04.0/cciss0/c0d0/block/cciss!c0d0
         block cciss!c0d0p1 104:1 pci0000:00/0000:00:04.0/cciss0/c0d0/block/cciss!c0d0/cciss!c0d0p1
         @cciss!c0d0p1/partition = 1
         @cciss!c0d0/device -> ../../../c0d0",
    );
    assert_eq!(outline(&machine, "/dev/cciss/c0d0p1"), ["cciss/c0d0p1 partition", "  cciss/c0d0 disk"]);
}

#[test]
fn circles_and_towers_end() {
    let circle = Machine::new(
        "block dm-0 253:0 virtual/block/dm-0
         block dm-1 253:1 virtual/block/dm-1
         @dm-0/dm/name = a
         @dm-1/dm/name = b
         @dm-0/slaves/dm-1 -> @dm-1
         @dm-1/slaves/dm-0 -> @dm-0
         @dm-1/slaves/dm-1 -> @dm-1",
    );
    assert_eq!(outline(&circle, "/dev/dm-0"), ["dm-0 dm", "  dm-1 dm"]);
    // Each of 30 levels has two devices, and each is on both of the next: a billion paths down.
    let mut tower = Vec::new();
    for device in (0..60).rev() {
        tower.push(format!("block dm-{device} 253:{device} virtual/block/dm-{device}"));
        let next = (device / 2 + 1) * 2;
        let below = (next..next + 2).filter(|below| *below < 60);
        tower.extend(below.map(|below| format!("@dm-{device}/slaves/dm-{below} -> @dm-{below}")));
    }
    let found = environment(&Machine::new(&tower.join("\n")), "/dev/dm-0");
    let count = found.devices()[0].walk().len();
    assert!((24..=4096).contains(&count), "{count}");
}

#[test]
fn nothing_is_known_of_a_device_that_is_not_there() {
    let machine = Machine::new("block sda 8:0 virtual/block/sda");
    for path in ["/dev/sdz", "/dev/mapper/x", "/dev/..", "/dev/", "", "/dev/disk/by-id/x", "relative/path"] {
        assert_eq!(environment(&machine, path).backing, Backing::Unknown, "{path}");
    }
}
