//! Names of a disk that permit writing to it: its WWIDs and its serial number.

use crate::disks::Disk;
use crate::machine;
use crate::tools::{DeviceSetup, run};
use testkit::{Workplace, or_skip};

/// Checks that the first of these is offered, each of them permits writing, and no other name does.
fn is_known_by(place: &Workplace, disk: &Disk, names: &[&str]) {
    let flag = |name: &str| format!("--destroy={name}");
    assert_eq!(disk.flag(place), flag(names[0]));
    let path = disk.path.display().to_string();
    let wrong = [&disk.name, &path, &format!("{}x", names[0]), &names[0][1..]].map(flag);
    let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
    place.write_refused(&wrong, &disk.path, &disk.path, &[&flag(names[0])]);
    for name in names {
        let run = place.write_to(&[&flag(name)], &disk.path);
        run.expect_status(0).expect_stdout(&["is overwritten", &flag(name)]);
    }
}

#[test]
fn nvme_by_what_the_controller_says_and_by_serial_number_and_namespace() {
    let place = machine!();
    let disk = Disk::plain(1).blank();
    let wwid = disk.file("wwid").expect("the kernel makes one");
    assert!(wwid.starts_with("nvme.1b36-"), "{wwid}");
    is_known_by(&place, &disk, &[&wwid, "PLAIN1-n1"]);
    place.write_refused(&["--destroy=PLAIN1"], &disk.path, &disk.path, &["--destroy="]);
}

#[test]
fn nvme_by_eui_and_uuid() {
    let place = machine!();
    let [by_eui] = &Disk::shared(1, 1)[..] else { unreachable!("one was asked for") };
    is_known_by(&place, &by_eui.clone().blank(), &["eui.5254000000000001", "5254000000000001", "SHARED-n1"]);
    let [by_uuid] = &Disk::shared(2, 1)[..] else { unreachable!("one was asked for") };
    let uuid = "uuid.5e1f0000-0000-4000-8000-000000000002";
    is_known_by(&place, &by_uuid.clone().blank(), &[uuid, "SHARED-n2"]);
    // The neighbour's name is not enough.
    place.write_refused(&["--destroy=SHARED-n1"], &by_uuid.path, &by_uuid.path, &[uuid]);
}

#[test]
fn scsi_by_its_world_wide_name_and_serial_number() {
    let place = machine!();
    is_known_by(&place, &Disk::scsi().blank(), &["naa.5000c50000000001", "SCSI0"]);
}

/// Exports the file at `$1` to this machine over TCP.
const EXPORT: &str = r#"
set -e
cd /sys/kernel/config/nvmet
mkdir subsystems/row ports/1 subsystems/row/namespaces/1
echo 1 > subsystems/row/attr_allow_any_host
echo ROW > subsystems/row/attr_serial
echo "$1" > subsystems/row/namespaces/1/device_path
echo 52540000-0000-0000-0000-00000000000a > subsystems/row/namespaces/1/device_nguid
echo 5e1f0000-0000-4000-8000-00000000000a > subsystems/row/namespaces/1/device_uuid
echo 1 > subsystems/row/namespaces/1/enable
echo tcp > ports/1/addr_trtype
echo ipv4 > ports/1/addr_adrfam
echo 127.0.0.1 > ports/1/addr_traddr
echo 4420 > ports/1/addr_trsvcid
ln -s "$PWD/subsystems/row" ports/1/subsystems/row
echo transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=row > /dev/nvme-fabrics
"#;

const UNEXPORT: &str = r#"
for controller in /sys/class/nvme-fabrics/ctl/nvme*; do echo 1 > "$controller/delete_controller"; done
cd /sys/kernel/config/nvmet
rm ports/1/subsystems/row
rmdir ports/1
rmdir subsystems/row/namespaces/1 subsystems/row
"#;

#[test]
fn nvme_over_a_network_by_nguid_with_a_word_on_other_hosts() {
    let place = machine!();
    or_skip!(run(&place, "modprobe nvmet_tcp && modprobe nvme_tcp"));
    or_skip!(run(&place, "mount | grep -q configfs || mount -t configfs none /sys/kernel/config"));
    let image = place.sparse("exported.img", 8 << 20).expect("a sparse file");
    let export = place.file("export", EXPORT.as_bytes());
    let unexport = place.file("unexport", UNEXPORT.as_bytes());
    let (export, unexport) = (export.display(), unexport.display());
    let _exported =
        or_skip!(DeviceSetup::by(&place, &format!("sh {export} {}", image.display()), &format!("sh {unexport}")));
    let uuid = "uuid.5e1f0000-0000-4000-8000-00000000000a";
    let disk = Disk::with_wwid(uuid);
    place.write_refused(&[], &disk.path, &disk.path, &["use by other hosts over NVMe over tcp cannot be detected"]);
    is_known_by(&place, &disk, &[uuid, "5254000000000000000000000000000a", "ROW-n1"]);
}

#[test]
fn a_scratch_disk_by_its_name_in_the_world() {
    let place = machine!();
    let disk = Disk::shared(1, 1).remove(0).blank();
    let list = "mkdir -p /etc/diskspd && echo eui.5254000000000001 > /etc/diskspd/scratch";
    let _listed = or_skip!(DeviceSetup::by(&place, list, "rm /etc/diskspd/scratch"));
    place.write_to(&[], &disk.path).expect_status(0).expect_stdout(&["allowed by /etc/diskspd/scratch"]);
    let other = Disk::shared(2, 1).remove(0).blank();
    place.write_refused(&[], &other.path, &other.path, &["--destroy=uuid."]);
    or_skip!(run(&place, &format!("mkswap {}", disk.path.display())));
    place.write_refused(&[], &disk.path, &disk.path, &["swap space", "allows writes only to empty disks"]);
}
