//! Storage below file systems, on recorded machines.

#[allow(dead_code)]
mod support;

use model::block_device::{BlockDevice, DeviceNumber};
use model::environment::{Backing, TargetEnvironment, ZfsDataset};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use support::Machine;
use support::nvlist::{List, Value, packed};
use support::outline::{of_devices, of_members};
use support::recorded::two_nvme_disks;

fn environment(machine: &Machine, path: &str) -> TargetEnvironment {
    let path = PathBuf::from(path);
    host::target_environment(&machine.root(), std::slice::from_ref(&path)).remove(&path).expect("asked for")
}

fn mounts(lines: &[&str]) -> String {
    format!("\nproc/self/mountinfo = {}\n", lines.join("\\n"))
}

const ROOT: &str = "20 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw";

#[test]
fn a_btrfs_stands_on_all_its_devices() {
    let btrfs = "sys/fs/btrfs/features/mixed_groups = 1
        sys/fs/btrfs/aaaa/devices/nvme1n1p1 -> @nvme1n1p1
        sys/fs/btrfs/bbbb/devices/nvme1n1p2 -> @nvme1n1p2
        sys/fs/btrfs/bbbb/devices/nvme0n1p2 -> @nvme0n1p2
        srv/file = x";
    let mount = "30 20 0:45 /@srv /srv rw,noatime - btrfs /dev/nvme1n1p2 rw,compress=zstd:3,subvol=/@srv";
    let machine = Machine::new(&[two_nvme_disks(), btrfs.to_owned(), mounts(&[ROOT, mount])].concat());
    let found = environment(&machine, "/srv/file");
    let expected = ["nvme0n1p2 partition", "  nvme0n1 disk", "nvme1n1p2 partition", "  nvme1n1 disk"];
    assert_eq!(of_devices(found.devices()), expected);
    let mount = found.mount.expect("mounted");
    assert_eq!(mount.directory, Path::new("/@srv"));
    assert_eq!(mount.file_system_options, ["rw", "compress=zstd:3", "subvol=/@srv"]);
}

#[test]
fn a_btrfs_that_the_kernel_does_not_describe_stands_on_what_is_mounted() {
    let mount = "30 20 0:45 / /srv rw - btrfs /dev/nvme1n1p2 rw";
    let machine = Machine::new(&[two_nvme_disks(), mounts(&[ROOT, mount])].concat());
    let found = environment(&machine, "/srv/new");
    assert_eq!(of_devices(found.devices()), ["nvme1n1p2 partition", "  nvme1n1 disk"]);
}

#[test]
fn a_bcachefs_names_all_its_devices() {
    let mount = "30 20 0:45 / /srv rw - bcachefs /dev/nvme0n1p2:/dev/nvme1n1p2 rw";
    let machine = Machine::new(&[two_nvme_disks(), mounts(&[ROOT, mount])].concat());
    let names: Vec<String> = environment(&machine, "/srv/f").devices().iter().map(|d| d.name.clone()).collect();
    assert_eq!(names, ["nvme0n1p2", "nvme1n1p2"]);
}

fn vdev(kind: &'static str, path: &'static str) -> List {
    vec![("type", Value::Text(kind)), ("whole_disk", Value::Number(0)), ("path", Value::Text(path))]
}

fn group(kind: &'static str, others: List, children: Vec<List>) -> List {
    let mut list = vec![("type", Value::Text(kind)), ("ashift", Value::Number(12))];
    list.extend(others);
    list.push(("children", Value::Lists(children)));
    list
}

/// Two pools; the second has one of everything.
fn zpool_cache() -> Vec<u8> {
    let other = group("root", vec![], vec![vdev("disk", "/dev/nvme0n1p1")]);
    let data = group(
        "raidz",
        vec![("nparity", Value::Number(2))],
        vec![vdev("disk", "/dev/disk/by-id/example-0-part2"), vdev("disk", "/dev/gone"), vdev("file", "/srv/file")],
    );
    let log = group("mirror", vec![("is_log", Value::Number(1))], vec![vdev("disk", "/dev/nvme1n1p1")]);
    let mut special = vdev("disk", "/dev/nvme1n1p2");
    special.push(("alloc_bias", Value::Text("special")));
    let mut tree = group("root", vec![("create_txg", Value::Number(4))], vec![data, log, special]);
    tree.push(("l2cache", Value::Lists(vec![vdev("disk", "/dev/nvme1n1p2")])));
    tree.push(("spares", Value::Lists(vec![vdev("disk", "/dev/nvme1n1")])));
    let pool = |name: &'static str, tree: List| {
        vec![("version", Value::Number(5000)), ("name", Value::Text(name)), ("vdev_tree", Value::List(tree))]
    };
    packed(&vec![
        ("rpool", Value::List(pool("rpool", other))),
        ("ignored", Value::Boolean),
        ("tank", Value::List(pool("tank", tree))),
    ])
}

fn zfs_machine() -> Machine {
    let mount = "30 20 0:45 / /tank/data rw,xattr - zfs tank/data rw,xattr,posixacl";
    let table = "dev/disk/by-id/example-0-part2 -> ../../nvme0n1p2
                 proc/spl/kstat/zfs/tank/state = DEGRADED
                 tank/data/file = x
                 srv/file = x";
    Machine::new(&[two_nvme_disks(), table.to_owned(), mounts(&[ROOT, mount])].concat())
}

fn zfs(machine: &Machine) -> ZfsDataset {
    let Backing::Zfs(dataset) = environment(machine, "/tank/data/file").backing else { panic!("not on ZFS") };
    dataset
}

#[test]
fn a_zfs_dataset_stands_on_its_pool() {
    let machine = zfs_machine();
    machine.write_bytes("etc/zfs/zpool.cache", &zpool_cache());
    let dataset = zfs(&machine);
    assert_eq!((dataset.dataset.as_str(), dataset.pool.as_str()), ("tank/data", "tank"));
    assert_eq!(dataset.pool_state.as_deref(), Some("DEGRADED"));
    let expected = [
        "raidz2",
        "  disk nvme0n1p2",
        "  disk",
        "  file",
        "mirror (log)",
        "  disk nvme1n1p1",
        "disk (special) nvme1n1p2",
        "disk (cache) nvme1n1p2",
        "disk (spare) nvme1n1",
    ];
    assert_eq!(of_members(&dataset.members.expect("readable")), expected);
    let found = environment(&machine, "/tank/data/file");
    assert_eq!(found.disks().iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>(), ["nvme0n1", "nvme1n1"]);
    assert_eq!(found.devices()[0].below[0].identity.serial.as_deref(), Some("S000"));
}

#[test]
fn the_devices_of_a_pool_without_a_configuration_are_unknown() {
    let machine = zfs_machine();
    let dataset = zfs(&machine);
    assert_eq!((dataset.pool.as_str(), dataset.members), ("tank", None));
    assert!(environment(&machine, "/tank/data/file").disks().is_empty());
    // Truncated, invalid, and of another pool.
    let whole = zpool_cache();
    for content in [&b""[..], b"\x01", b"garbage that is no list", &whole[..whole.len() - 9]] {
        machine.write_bytes("etc/zfs/zpool.cache", content);
        assert_eq!(zfs(&machine).members, None);
    }
    machine.write_bytes("etc/zfs/zpool.cache", &packed(&vec![("other", Value::Number(1))]));
    assert_eq!(zfs(&machine).members, None);
}

#[test]
fn network_and_memory_have_no_devices() {
    let lines = [
        ROOT,
        r"30 20 0:45 / /nfs rw - nfs4 server:/export/a\040b rw,vers=4.2,addr=192.0.2.1",
        "31 20 0:46 / /cifs rw - cifs //server/share rw,vers=3.1.1,cache=strict",
        "32 20 0:47 / /shm rw - tmpfs tmpfs rw,size=1024k",
        "33 20 0:48 / /share rw - virtiofs hostshare rw",
        "34 20 0:49 / /ssh rw - fuse.sshfs user@server: rw",
        "35 20 0:6 / /dev rw - devtmpfs devtmpfs rw",
        "36 20 0:50 / /proc rw - proc proc rw",
    ];
    let machine = Machine::new(&[two_nvme_disks(), mounts(&lines)].concat());
    let remote = |address: &str| Backing::Remote { address: address.to_owned() };
    for (path, backing) in [
        ("/nfs/file", remote("server:/export/a b")),
        ("/cifs/file", remote("//server/share")),
        ("/shm/file", Backing::Memory),
        ("/share/file", remote("hostshare")),
        ("/ssh/file", Backing::Process),
        ("/dev/mistyped", Backing::Memory),
        ("/proc/self/mem", Backing::Unknown),
    ] {
        let found = environment(&machine, path);
        assert_eq!(found.backing, backing, "{path}");
        assert!(found.mount.is_some(), "{path}");
    }
    let nfs = environment(&machine, "/nfs/file").mount.expect("mounted");
    assert_eq!((nfs.file_system.as_str(), nfs.source.as_str()), ("nfs4", "server:/export/a b"));
    assert_eq!(nfs.file_system_options, ["rw", "vers=4.2", "addr=192.0.2.1"]);
}

const OVERLAY: &str = "40 20 0:60 / /merged rw - overlay overlay rw,lowerdir=/layers/l2:/layers/l1,upperdir=/layers/up,workdir=/layers/work";

#[test]
fn an_overlay_whose_layers_can_be_seen_stands_on_them() {
    let table = "layers/up/f = x\nmerged/f = x\n";
    let layers = "39 20 259:2 / /layers rw - xfs /dev/nvme0n1p2 rw";
    let machine = Machine::new(&[two_nvme_disks(), table.to_owned(), mounts(&[ROOT, layers, OVERLAY])].concat());
    let found = environment(&machine, "/merged/f");
    assert_eq!(of_devices(found.devices()), ["nvme0n1p2 partition", "  nvme0n1 disk"]);
    let Backing::Overlay { upper, lower, .. } = found.backing else { panic!("an overlay") };
    assert_eq!(upper.as_deref(), Some(Path::new("/layers/up")));
    assert_eq!(lower, [Path::new("/layers/l2"), Path::new("/layers/l1")]);
}

#[test]
fn a_container_without_sys_knows_its_mounts_and_no_more() {
    let overlay = "100 90 0:60 / / rw - overlay overlay rw,lowerdir=/var/lib/x/l/A:/var/lib/x/l/B,upperdir=/var/lib/x/diff,workdir=/var/lib/x/work";
    let bind = "101 100 259:7 /var/lib/volumes/v /data rw - ext4 /dev/nvme0n1p7 rw";
    let root_device = "102 100 8:1 /etc/hosts /etc/hosts rw - ext4 /dev/root rw";
    let table = "data/file = x\nfile = x\netc/hosts = x\n";
    let machine = Machine::new(&[table.to_owned(), mounts(&[overlay, bind, root_device])].concat());
    let Backing::Overlay { on, .. } = environment(&machine, "/file").backing else { panic!("an overlay") };
    assert_eq!(*on, Backing::Unknown);
    let unseen = |name: &str, major, minor| {
        let number = Some(DeviceNumber { major, minor });
        Backing::Devices(vec![BlockDevice { name: name.to_owned(), number, ..BlockDevice::default() }])
    };
    assert_eq!(environment(&machine, "/data/file").backing, unseen("nvme0n1p7", 259, 7));
    assert_eq!(environment(&machine, "/etc/hosts").backing, unseen("8:1", 8, 1));
    assert!(host::devices(&machine.root()).is_empty());
    assert!(host::io_counters(&machine.root(), ["nvme0n1p7"]).devices.is_empty());
}

#[test]
fn an_overlay_on_itself_ends() {
    let overlay = "100 90 0:60 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/up";
    let machine = Machine::new(&["up/f = x".to_owned(), mounts(&[overlay])].concat());
    let Backing::Overlay { on, .. } = environment(&machine, "/up/f").backing else { panic!("an overlay") };
    assert_eq!(*on, Backing::Unknown);
}

#[test]
fn a_machine_of_which_nothing_is_known() {
    let machine = Machine::new("unrelated = 1");
    assert_eq!(environment(&machine, "/unrelated"), TargetEnvironment::default());
    assert_eq!(environment(&machine, ""), TargetEnvironment::default());
    assert!(host::target_environment(&machine.root(), &[]).is_empty());
}

#[test]
fn links_are_followed_to_where_the_data_is() {
    let table = "srv/target = x
                 home/link -> ../srv/target
                 home/new -> ../srv/missing\n";
    let srv = "30 20 259:5 / /srv rw - xfs /dev/nvme1n1p2 rw";
    let machine = Machine::new(&[two_nvme_disks(), table.to_owned(), mounts(&[ROOT, srv])].concat());
    for path in ["/home/link", "/home/new", "/home/../srv/target"] {
        assert_eq!(
            environment(&machine, path).mount.map(|mount| mount.point).as_deref(),
            Some(Path::new("/srv")),
            "{path}"
        );
    }
    assert_eq!(environment(&machine, "/home/plain").mount.map(|mount| mount.point).as_deref(), Some(Path::new("/")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn no_damage_to_a_pools_configuration_makes_it_panic(at in 0..1000_usize, byte in any::<u8>(), length in 0..2000_usize) {
        let machine = zfs_machine();
        let mut bytes = zpool_cache();
        let at = at % bytes.len();
        bytes[at] = byte;
        bytes.truncate(length);
        machine.write_bytes("etc/zfs/zpool.cache", &bytes);
        prop_assert_eq!(zfs(&machine).pool, "tank");
        let _ = host::devices(&machine.root());
    }
}
