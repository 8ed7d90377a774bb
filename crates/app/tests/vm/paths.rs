//! One namespace, two controllers: joined by the kernel, by the device mapper, or not at all.

use crate::disks::Disk;
use crate::machine;
use crate::tools::{DeviceSetup, Driver, ext4, run};
use testkit::{Holder, or_skip};

const FLAG: &str = "--destroy=eui.5254000000000001";
const ELSEWHERE: &str = "another path to the same disk";

#[test]
fn joined_paths_are_one_disk() {
    let place = machine!();
    let disk = Disk::shared(1, 1).remove(0).blank();
    let listed = place.diskspd("devices").run();
    listed.expect_status(0);
    let row = |name: &str| {
        let row = listed.stdout.lines().find(|line| line.starts_with(&format!("{name} ")));
        row.unwrap_or_else(|| panic!("{name} is not listed\n{listed}")).to_owned()
    };
    assert!(row(&disk.name).contains("nvme multipath") && row(&disk.name).contains("eui.5254000000000001"), "{listed}");
    // nvme0n1 by its controllers is nvme0c0n1 and nvme0c1n1.
    let used_by = format!("nvme multipath {}", disk.name);
    let paths = listed.stdout.lines().filter(|line| line.contains("nvme path") && line.ends_with(&used_by));
    assert_eq!(paths.count(), 2, "{listed}");
    place.write_to(&[FLAG], &disk.path).expect_status(0);
}

#[test]
fn another_path_that_is_in_use_forbids_this_one() {
    let place = machine!();
    let _apart = or_skip!(Driver::with(&place, "nvme_core", "multipath=N"));
    let paths = Disk::shared(1, 2);
    let [this, other] = [&paths[0], &paths[1]].map(|path| path.clone().blank());
    let both = |parts: &[&str]| {
        place.write_refused(&[FLAG], &this.path, &this.path, parts);
    };
    let holder = Holder::open(&place, &other.path);
    both(&["in use", &format!("open in process {}", holder.id()), &other.name, ELSEWHERE]);
    drop(holder);
    or_skip!(ext4(&place, &other.path));
    let mounted = or_skip!(DeviceSetup::mounted(&place, &other.path));
    both(&["in use", "mounted at", &other.name, ELSEWHERE]);
    drop(mounted);
    let table = format!("dmsetup create row --table '0 8192 linear {} 0'", other.path.display());
    let mapped = or_skip!(DeviceSetup::by(&place, &table, "dmsetup remove row"));
    both(&["in use", "part of dm-0", &other.name, ELSEWHERE]);
    drop(mapped);
    // The second namespace is different storage.
    let holder = Holder::open(&place, &Disk::shared(2, 2)[0].path);
    place.write_to(&[FLAG], &this.path).expect_status(0);
    drop(holder);
}

#[test]
fn a_run_by_another_path_forbids_this_one() {
    let place = machine!();
    let _apart = or_skip!(Driver::with(&place, "nvme_core", "multipath=N"));
    let paths = Disk::shared(1, 2);
    let program = place.diskspd("-d30 -W0 -v -b4K -w100 -g10i").arg(FLAG).arg(&paths[1].path);
    let mut running = program.start();
    running.wait_for_stderr("starting measurements");
    let second = place.write_to(&[FLAG], &paths[0].path);
    second.expect_status(3).expect_stderr(&["in use", &format!("process {}", running.id()), ELSEWHERE]);
    running.interrupt();
    running.finish().expect_status(0);
    place.write_to(&[FLAG], &paths[0].path).expect_status(0);
}

#[test]
fn paths_below_the_device_mapper_s_multipath() {
    let place = machine!();
    let _apart = or_skip!(Driver::with(&place, "nvme_core", "multipath=N"));
    let paths = Disk::shared(1, 2);
    let [first, second] = [&paths[0], &paths[1]].map(|path| path.clone().blank());
    let (left, right) = (first.path.display(), second.path.display());
    or_skip!(run(&place, "modprobe dm_round_robin"));
    let table = format!("0 16384 multipath 0 0 1 1 round-robin 0 2 1 {left} 1000 {right} 1000");
    let make = format!("dmsetup create row --uuid mpath-row --table '{table}'");
    let _joined = or_skip!(DeviceSetup::by(&place, &make, "dmsetup remove row"));
    let joined = Disk::named("dm-0");
    for path in [&first, &second] {
        place.write_refused(&[FLAG], &path.path, &path.path, &["in use", "part of dm-0 (multipath)"]);
    }
    assert_eq!(joined.flag(&place), "--destroy=mpath-row");
    place.write_to(&["--destroy=mpath-row"], &joined.path).expect_status(0);
    // A device mounted above is in use below.
    or_skip!(ext4(&place, &joined.path));
    let _mounted = or_skip!(DeviceSetup::mounted(&place, &joined.path));
    place.write_refused(&["--destroy=mpath-row"], &joined.path, &joined.path, &["in use", "mounted at"]);
}
