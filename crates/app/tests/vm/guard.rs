//! Users and contents of a disk: partitions, md, the device mapper, LUKS, LVM, swap.

use crate::disks::Disk;
use crate::machine;
use crate::tools::{DeviceSetup, ext4, run};
use testkit::{Holder, Snapshot, Workplace, or_skip};

/// Checks that the disk is refused with its own flag, for these reasons.
fn in_use(place: &Workplace, disk: &Disk, flag: &str, reasons: &[&str]) {
    let reasons = [&["in use", "even with --destroy"], reasons].concat();
    place.write_refused(&[flag], &disk.path, &disk.path, &reasons);
}

/// Checks that the disk is refused without a flag, and that the refusal prints the flag and these contents.
fn holds(place: &Workplace, disk: &Disk, flag: &str, what: &str) {
    let holds = format!("its contents: {what}");
    let run = place.write_refused(&[], &disk.path, &disk.path, &[&holds, flag]);
    assert!(!run.stderr.contains("in use"), "{run}");
}

/// A table with two partitions.
fn partitioned(place: &Workplace, disk: &Disk) -> Result<[Disk; 2], String> {
    let script = r"label: gpt\n,2M\n,2M\n";
    run(place, "sfdisk --version")?;
    run(place, &format!("printf '{script}' | sfdisk --quiet --wipe always {}", disk.path.display()))?;
    Ok([disk.partition(1), disk.partition(2)])
}

// Shows switches: --destroy=<id>
#[test]
fn a_mounted_disk() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let flag = disk.flag(&place);
    or_skip!(ext4(&place, &disk.path));
    holds(&place, &disk, &flag, "an ext2, ext3 or ext4 file system");
    let mounted = or_skip!(DeviceSetup::mounted(&place, &disk.path));
    let point = format!("mounted at '{}'", place.path("mounted").display());
    in_use(&place, &disk, &flag, &[&point]);
    drop(mounted);
    place.write_to(&[&flag], &disk.path).expect_status(0);
}

#[test]
fn a_partitioned_disk_and_its_partitions() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let flag = disk.flag(&place);
    let [first, second] = or_skip!(partitioned(&place, &disk));
    holds(&place, &disk, &flag, "a GPT partition table");
    let flag_of_second = format!("{flag}-part2");
    holds(&place, &second, &flag_of_second, "the sampled blocks contain only zeros or diskspd's fill pattern");
    or_skip!(ext4(&place, &first.path));
    let mounted = or_skip!(DeviceSetup::mounted(&place, &first.path));
    in_use(&place, &disk, &flag, &["mounted at", &first.name, "one of its partitions"]);
    in_use(&place, &first, &format!("{flag}-part1"), &["mounted at"]);
    // The disk's flag does not permit a partition, nor one partition's another.
    for wrong in [&flag, &format!("{flag}-part1")] {
        place.write_refused(&[wrong], &second.path, &second.path, &[&flag_of_second]);
    }
    // A neighbour of a mounted partition may be used, and only it is written to.
    let before = Snapshot::take(&first.path).checksum;
    place.write_to(&[&flag_of_second], &second.path).expect_status(0);
    assert_eq!(Snapshot::take(&first.path).checksum, before);
    holds(&place, &second, &flag_of_second, "the sampled blocks contain only zeros or diskspd's fill pattern");
    drop(mounted);
    let holder = Holder::open(&place, &second.path);
    in_use(&place, &disk, &flag, &[&format!("open in process {}", holder.id()), &second.name]);
    drop(holder);
    place.write_to(&[&flag], &disk.path).expect_status(0);
}

#[test]
fn swap() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let flag = disk.flag(&place);
    let path = disk.path.display();
    or_skip!(run(&place, &format!("mkswap {path}")));
    holds(&place, &disk, &flag, "swap space");
    let swap = or_skip!(DeviceSetup::by(&place, &format!("swapon {path}"), &format!("swapoff {path}")));
    in_use(&place, &disk, &flag, &["active swap"]);
    drop(swap);
    let [first, _] = or_skip!(partitioned(&place, &disk));
    let path = first.path.display();
    or_skip!(run(&place, &format!("mkswap {path}")));
    let _swap = or_skip!(DeviceSetup::by(&place, &format!("swapon {path}"), &format!("swapoff {path}")));
    in_use(&place, &disk, &flag, &["active swap", "one of its partitions"]);
}

#[test]
fn members_of_a_raid() {
    let place = machine!();
    for metadata in ["0.90", "1.0", "1.1", "1.2"] {
        let disks = [Disk::plain(0).blank(), Disk::plain(1).blank()];
        let flags = disks.each_ref().map(|disk| disk.flag(&place));
        let make = format!(
            "mdadm --create /dev/md0 --quiet --run --assume-clean --level=1 --raid-devices=2 --metadata={metadata} {} {}",
            disks[0].path.display(),
            disks[1].path.display()
        );
        let raid = or_skip!(DeviceSetup::by(&place, &make, "mdadm --quiet --stop /dev/md0"));
        for (disk, flag) in disks.iter().zip(&flags) {
            in_use(&place, disk, flag, &["part of md0 (raid1)"]);
        }
        drop(raid);
        for (disk, flag) in disks.iter().zip(&flags) {
            holds(&place, disk, flag, "a member of a Linux software RAID (md)");
        }
    }
    place.write_to(&[&Disk::plain(1).flag(&place)], &Disk::plain(1).path).expect_status(0);
}

#[test]
fn a_raid_is_written_to_by_its_uuid() {
    let place = machine!();
    let disks = [Disk::plain(0).blank(), Disk::plain(1).blank()];
    let make = format!(
        "mdadm --create /dev/md0 --quiet --run --assume-clean --level=0 --raid-devices=2 --metadata=1.2 {} {}",
        disks[0].path.display(),
        disks[1].path.display()
    );
    let _raid = or_skip!(DeviceSetup::by(&place, &make, "mdadm --quiet --stop /dev/md0"));
    let raid = Disk::named("md0");
    let uuid = raid.file("md/uuid").expect("the kernel tells");
    let flag = format!("--destroy={uuid}");
    assert_eq!(raid.flag(&place), flag);
    place.write_refused(&["--destroy=md0"], &raid.path, &raid.path, &["md0 is a kernel name, which can change"]);
    place.write_to(&[&flag], &raid.path).expect_status(0).expect_stdout(&["is overwritten", &flag]);
    or_skip!(ext4(&place, &raid.path));
    let _mounted = or_skip!(DeviceSetup::mounted(&place, &raid.path));
    in_use(&place, &raid, &flag, &["mounted at"]);
    in_use(&place, &disks[0], &disks[0].flag(&place), &["part of md0 (raid0)"]);
}

#[test]
fn what_the_device_mapper_holds() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let flag = disk.flag(&place);
    let make = format!("dmsetup create row --table '0 8192 linear {} 0'", disk.path.display());
    let _mapped = or_skip!(DeviceSetup::by(&place, &make, "dmsetup remove row"));
    let mapped = Disk::named("dm-0");
    in_use(&place, &disk, &flag, &["part of dm-0 (dm)"]);
    let name = mapped.flag(&place);
    assert_eq!(name, "--destroy=row", "without a UUID, the name that it was given");
    let holder = Holder::open(&place, &mapped.path);
    in_use(
        &place,
        &mapped,
        &name,
        &["the device mapper reports an open count of 1", &format!("process {}", holder.id())],
    );
    drop(holder);
    place.write_to(&[&name], &mapped.path).expect_status(0);
}

#[test]
fn snapshots_and_thin_volumes() {
    let place = machine!();
    let disks = [Disk::plain(0).blank(), Disk::plain(1).blank()];
    let [origin, store] = disks.each_ref().map(|disk| disk.path.display().to_string());
    let remove = "dmsetup remove row";
    for (kind, table) in [
        ("snapshot-origin", format!("0 8192 snapshot-origin {origin}")),
        ("snapshot", format!("0 8192 snapshot {origin} {store} P 8")),
    ] {
        let _mapped = or_skip!(DeviceSetup::by(&place, &format!("dmsetup create row --table '{table}'"), remove));
        let mapped = Disk::named("dm-0");
        place.write_refused(&["--destroy=row"], &mapped.path, &mapped.path, &["must not be written to", kind]);
    }
    // The first blocks of the pool's metadata are zeros: it creates them again.
    let _store = Disk::plain(1).blank();
    let pool = format!("dmsetup create pool --table '0 8192 thin-pool {store} {origin} 128 0'");
    let _pool = or_skip!(DeviceSetup::by(&place, &pool, "dmsetup remove pool"));
    or_skip!(run(&place, "dmsetup message pool 0 'create_thin 0'"));
    let _mapped = or_skip!(DeviceSetup::by(&place, "dmsetup create row --table '0 4096 thin /dev/dm-0 0'", remove));
    let thin = Disk::named("dm-1");
    place.write_refused(&["--destroy=row"], &thin.path, &thin.path, &["must not be written to", "thin"]);
}

#[test]
fn luks() {
    let place = machine!();
    for version in ["luks1", "luks2 --luks2-metadata-size 16k --luks2-keyslots-size 512k"] {
        let disk = Disk::plain(0).blank();
        let flag = disk.flag(&place);
        let path = disk.path.display();
        let key = place.file("key", b"a key of a test");
        let key = key.display();
        let quick = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
        or_skip!(run(&place, &format!("cryptsetup luksFormat --batch-mode {quick} --type {version} {path} {key}")));
        holds(&place, &disk, &flag, "LUKS encryption");
        let open = format!("cryptsetup open --key-file {key} {path} row");
        let opened = or_skip!(DeviceSetup::by(&place, &open, "cryptsetup close row"));
        in_use(&place, &disk, &flag, &["part of dm-0 (crypt)"]);
        let mapped = Disk::named("dm-0");
        let uuid = mapped.file("dm/uuid").expect("cryptsetup gives it one");
        assert!(uuid.starts_with("CRYPT-LUKS"), "{uuid}");
        assert_eq!(mapped.flag(&place), format!("--destroy={uuid}"));
        place.write_to(&[&format!("--destroy={uuid}")], &mapped.path).expect_status(0);
        drop(opened);
        holds(&place, &disk, &flag, "LUKS encryption");
    }
}

#[test]
fn lvm() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let flag = disk.flag(&place);
    let path = disk.path.display();
    or_skip!(run(&place, &format!("lvm pvcreate --quiet --yes {path}")));
    holds(&place, &disk, &flag, "an LVM physical volume");
    or_skip!(run(&place, &format!("lvm vgcreate --quiet --physicalextentsize 1M group {path}")));
    let make = "lvm lvcreate --quiet --yes --zero n --wipesignatures n --extents 2 --name volume group";
    let _volume = or_skip!(DeviceSetup::by(&place, make, "lvm vgchange --quiet --activate n group"));
    in_use(&place, &disk, &flag, &["part of dm-0 (lvm)"]);
    let volume = Disk::named("dm-0");
    let uuid = volume.file("dm/uuid").expect("LVM gives it one");
    assert!(uuid.starts_with("LVM-"), "{uuid}");
    place.write_refused(&[], &volume.path, &volume.path, &[&format!("--destroy={uuid}")]);
    place.write_to(&["--destroy=group-volume"], &volume.path).expect_status(0);
    place.write_to(&[&format!("--destroy={uuid}")], &volume.path).expect_status(0);
}
