//! Faults between two moments, from a recorded tree.

use host::{HealthWatch, Root};
use std::fs;
use std::io::Write;
use std::path::Path;

const SDA: &str = "sys/devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sda";
const NVME: &str = "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
const RAID: &str = "sys/devices/virtual/block/md0";

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a tree");
    fs::write(path, text).expect("a file");
}

fn tree() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a folder");
    let root = directory.path();
    for (name, device, number) in [("sda", SDA, "8:0"), ("nvme0n1", NVME, "259:0"), ("md0", RAID, "9:0")] {
        write(root, &format!("{device}/dev"), number);
        fs::create_dir_all(root.join("sys/class/block")).expect("a tree");
        let link = root.join("sys/class/block").join(name);
        std::os::unix::fs::symlink(format!("../../../{device}"), link).expect("a link");
    }
    write(root, &format!("{SDA}/device/iotmo_cnt"), "0x2\n");
    write(root, &format!("{RAID}/md/dev-sdb1/errors"), "0\n");
    write(root, "dev/kmsg", "3,1,1,-;I/O error, dev sda, sector 8 op 0x0:(READ)\n");
    directory
}

fn read_notes(mut watch: HealthWatch<'_>) -> Vec<String> {
    watch.read_messages(1);
    watch.notes().iter().map(ToString::to_string).collect()
}

#[test]
fn trouble_is_told_by_device_and_kind_and_old_trouble_is_not() {
    let directory = tree();
    let root = Root::recorded(directory.path());
    let quiet = HealthWatch::begin(&root, ["sda", "nvme0n1", "md0"], 0);
    assert_eq!(read_notes(quiet), Vec::<String>::new());
    let watch = HealthWatch::begin(&root, ["sda", "nvme0n1", "md0"], 0);
    let mut log = fs::File::options().append(true).open(directory.path().join("dev/kmsg")).expect("it is there");
    log.write_all(
        b"3,2,1,-;ata3.00: exception Emask 0x0 SAct 0x80 SErr 0x0 action 0x6 frozen\n\
          6,3,1,-;ata3: hard resetting link\n\
          3,4,1,-;blk_update_request: critical medium error, dev sda, sector 8\n SUBSYSTEM=block\n DEVICE=b8:0\n\
          3,5,1,-;blk_update_request: critical medium error, dev sda, sector 16\n\
          4,6,1,-;nvme nvme0: I/O 26 QID 3 timeout, aborting\n\
          3,7,1,-;I/O error, dev sdz, sector 8\n\
          12,8,1,-;I/O error, dev sda, sector 24\n\
          2,9,1,-;md/raid1:md0: Disk failure on sdb1, disabling device.\n",
    )
    .expect("it takes it");
    write(directory.path(), &format!("{SDA}/device/iotmo_cnt"), "0x12\n");
    write(directory.path(), &format!("{RAID}/md/dev-sdb1/errors"), "3\n");
    assert_eq!(
        read_notes(watch),
        [
            "sda had timeouts during the run: 1 in the kernel log, first: ata3.00: exception Emask 0x0 SAct 0x80 SErr \
             0x0 action 0x6 frozen",
            "sda had resets during the run: 1 in the kernel log, first: ata3: hard resetting link",
            "sda had media errors during the run: 2 in the kernel log, first: blk_update_request: critical \
             medium error, dev sda, sector 8",
            "sda recorded errors during the run: device/iotmo_cnt rose by 16",
            "nvme0n1 had timeouts during the run: 1 in the kernel log, first: nvme nvme0: I/O 26 QID 3 timeout, \
             aborting",
            "md0 had device or path losses during the run: 1 in the kernel log, first: md/raid1:md0: \
             Disk failure on sdb1, disabling device.",
            "md0 recorded errors during the run: md/dev-sdb1/errors rose by 3",
        ]
    );
}

#[test]
fn without_a_log_counters_are_told() {
    let directory = tree();
    fs::remove_file(directory.path().join("dev/kmsg")).expect("it is there");
    let root = Root::recorded(directory.path());
    let watch = HealthWatch::begin(&root, ["sda", "nothing"], 0);
    write(directory.path(), &format!("{SDA}/device/iotmo_cnt"), "0x3\n");
    assert_eq!(read_notes(watch), ["sda recorded errors during the run: device/iotmo_cnt rose by 1"]);
}
