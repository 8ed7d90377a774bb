//! Users of a device, its disk, its partitions, or the same disk by another path.
//!
//! The kernel decides by refusing a claim; this explains it, and finds users without a claim.

use super::device::{disk_of, identities, node};
use crate::loops::Attached;
use crate::open_files::{self, OpenFile, UninspectedFiles};
use crate::root::Root;
use crate::syntax::labelled;
use crate::{exports, mounts};
use model::block_device::{DeviceKind, DeviceRow, DeviceUse};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The maximum number of stacked loop devices that are listed.
const ABOVE_MAX: usize = 8;

/// The namespace in which all processes are visible: `PROC_PID_INIT_INO` of `linux/proc_ns.h`.
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Scope of the search for users of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    pub(super) root: &'a Root,
    pub(super) rows: &'a [DeviceRow],
    pub(super) loops: &'a [Attached],
    /// Loop devices through which the device is written to: they do not count as other users.
    pub(super) own_loops: &'a [String],
}

impl Scope<'_> {
    fn is_own(&self, name: &str) -> bool {
        self.own_loops.iter().any(|own| own == name)
    }
}

/// Relation of a device to the inspected one.
struct Relative<'a> {
    row: &'a DeviceRow,
    /// "" for itself, else " (…)".
    remark: String,
    is_same_disk: bool,
}

/// Users of a device.
#[derive(Debug, Default)]
pub(super) struct Users {
    /// Phrases, one for each use.
    pub(super) phrases: Vec<String>,
    /// Processes that may use it but cannot be inspected, as phrases.
    pub(super) unseen: Vec<String>,
}

pub(super) fn find(scope: &Scope<'_>, row: &DeviceRow) -> Users {
    let relatives = relatives(scope, row);
    let mut users: Vec<String> = relatives.iter().flat_map(listed).collect();
    users.extend(relatives.iter().filter(|relative| relative.is_same_disk).filter_map(claimed));
    let numbers: BTreeMap<(u32, u32), &str> = relatives
        .iter()
        .filter_map(|relative| Some((relative.row.number?, relative.remark.as_str())))
        .map(|(number, remark)| ((number.major, number.minor), remark))
        .collect();
    for relative in &relatives {
        let above = above(scope, relative.row, 0);
        users.extend(above.into_iter().map(|phrase| format!("{phrase}{}", relative.remark)));
    }
    users.extend(served(scope.root, &numbers));
    let names = relatives
        .iter()
        .filter_map(|relative| Some((node(relative.row).file_name()?.to_owned(), relative.remark.as_str())));
    let mut processes = Processes::new(scope.root, &numbers, names.collect()).search();
    users.append(&mut processes.phrases);
    users.dedup();
    Users { phrases: users, unseen: processes.unseen }
}

fn relatives<'a>(scope: &Scope<'a>, row: &'a DeviceRow) -> Vec<Relative<'a>> {
    let Scope { root, rows, .. } = *scope;
    let mut relatives = vec![Relative { row, remark: String::new(), is_same_disk: false }];
    let disk = disk_of(root, row);
    let own = identities(root, row, rows);
    // A single path has no node, and can only be used by its multipath disk.
    let is_path = |other: &DeviceRow| matches!(other.kind, DeviceKind::NvmePath { .. });
    for other in rows.iter().filter(|other| other.name != row.name && other.size_bytes != Some(0) && !is_path(other)) {
        let other_disk = disk_of(root, other);
        let remark = if disk.as_deref() == Some(&other.name) {
            "its disk"
        } else if other_disk.as_deref() == Some(&row.name) {
            "one of its partitions"
        } else if match same_loop_backing(
            scope,
            disk.as_deref().unwrap_or(&row.name),
            other_disk.as_deref().unwrap_or(&other.name),
        ) {
            Some(is_same) => is_same,
            None => own.first().is_some_and(|identity| {
                let others = identities(root, other, rows);
                // A partition of another path to it begins with the disk's name.
                others.first().is_some_and(|name| name == identity || name.starts_with(&format!("{identity}-part")))
            }),
        } {
            relatives.push(Relative {
                row: other,
                remark: format!(" ({}, another path to the same disk)", other.name),
                is_same_disk: true,
            });
            continue;
        } else {
            continue;
        };
        relatives.push(Relative { row: other, remark: format!(" ({}, {remark})", other.name), is_same_disk: false });
    }
    relatives
}

/// True if two loop devices have the same backing; `None` if either is not a loop device.
fn same_loop_backing(scope: &Scope<'_>, one: &str, other: &str) -> Option<bool> {
    let find = |name: &str| scope.loops.iter().find(|device| device.name == name);
    let (one, other) = (find(one)?, find(other)?);
    let is_own_chain = scope.is_own(&one.name) && scope.is_own(&other.name);
    let is_same = match (one.device(), other.device()) {
        (None, None) => one.file_identity().is_some() && one.file_identity() == other.file_identity(),
        (one, other) => one == other,
    };
    Some(one.name != other.name && is_same && !is_own_chain)
}

/// Loop devices backed by this one, with their uses.
fn above(scope: &Scope<'_>, row: &DeviceRow, depth: usize) -> Vec<String> {
    let over = |device: &&Attached| device.device().is_some() && device.device() == row.number;
    let mut phrases = Vec::new();
    for device in scope.loops.iter().filter(over).filter(|device| !scope.is_own(&device.name)) {
        let upper = scope.rows.iter().find(|row| row.name == device.name);
        let mut uses = Vec::new();
        for row in upper
            .into_iter()
            .chain(scope.rows.iter().filter(|other| disk_of(scope.root, other).as_deref() == Some(&device.name)))
        {
            let remark = if row.name == device.name { String::new() } else { format!(" ({})", row.name) };
            uses.extend(listed(&Relative { row, remark, is_same_disk: false }));
            if depth < ABOVE_MAX {
                uses.extend(above(scope, row, depth + 1));
            }
        }
        let uses = if uses.is_empty() { String::new() } else { format!(", which is {}", uses.join(" and ")) };
        phrases.push(format!("the backing device of /dev/{}{uses}", device.name));
    }
    phrases
}

/// Users by exports of the kernel itself.
fn served(root: &Root, numbers: &BTreeMap<(u32, u32), &str>) -> Vec<String> {
    let phrase = |export: exports::Export| {
        let metadata = fs::metadata(root.path(&export.path)).ok()?;
        let number = sys::file::major_minor(metadata.rdev());
        let remark = metadata.file_type().is_block_device().then(|| numbers.get(&number))??;
        Some(format!("open in {}{remark}", export.phrase))
    };
    exports::all(root).into_iter().filter_map(phrase).collect()
}

/// Users in the tables of mounts, swap and holders.
fn listed(relative: &Relative<'_>) -> Vec<String> {
    let Relative { row, remark, .. } = relative;
    let mounted = row.mounted.iter().map(|point| format!("mounted at '{}'{remark}", point.display()));
    let used = row.used_by.iter().map(|usage| match usage {
        DeviceUse::Device { name, kind } => format!("part of {name} ({kind}){remark}"),
        DeviceUse::Swap => format!("active swap{remark}"),
        DeviceUse::ZfsPool { pool } => format!("part of the ZFS pool '{pool}'{remark}"),
        DeviceUse::Btrfs { uuid } => format!("part of the btrfs file system {uuid}{remark}"),
        DeviceUse::BcacheSet { uuid } => format!("part of the bcache set {uuid}{remark}"),
    });
    mounted.chain(used).collect()
}

/// A user by another name of the same storage, which a claim on this one does not cover.
fn claimed(relative: &Relative<'_>) -> Option<String> {
    let is_busy =
        sys::block::claim(&node(relative.row)).is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy);
    is_busy.then(|| format!("in exclusive use{}", relative.remark))
}

/// Search in all processes.
struct Processes<'a> {
    root: &'a Root,
    /// Devices by number, each with its remark.
    numbers: &'a BTreeMap<(u32, u32), &'a str>,
    /// The same by the name of their node.
    names: BTreeMap<OsString, &'a str>,
    own_mounts: Option<PathBuf>,
}

impl<'a> Processes<'a> {
    fn new(root: &'a Root, numbers: &'a BTreeMap<(u32, u32), &'a str>, names: BTreeMap<OsString, &'a str>) -> Self {
        let own_mounts = open_files::namespace(root, "self", "mnt");
        Self { root, numbers, names, own_mounts }
    }

    fn search(&self) -> Users {
        let own = fs::read_link(self.root.path("/proc/self")).ok();
        let mut users = Users::default();
        let (mut denied, mut busy_rings) = (0, Vec::new());
        let mut namespaces: BTreeSet<PathBuf> = self.own_mounts.iter().cloned().collect();
        for process in self.root.numbered("/proc", "") {
            let word = process.to_string();
            if own.as_deref() != Some(Path::new(&word)) {
                let unseen = self.look_at(process, &mut users);
                denied += usize::from(unseen.denied);
                busy_rings.extend(unseen.busy_ring.then(|| self.named(process)));
            }
            let namespace = open_files::namespace(self.root, &word, "mnt");
            if namespace.is_some_and(|namespace| namespaces.insert(namespace)) {
                users.phrases.extend(self.mounts_of(process));
            }
        }
        users.unseen.extend(open_files::denied(denied));
        users.unseen.extend(open_files::busy_rings(&busy_rings));
        let own = open_files::namespace(self.root, "self", "pid");
        if own.is_some_and(|namespace| namespace != Path::new(INITIAL_PID_NAMESPACE)) {
            users.unseen.push("processes outside this PID namespace are not visible".to_owned());
        }
        users
    }

    /// Adds the process if it has a device open.
    fn look_at(&self, process: u32, users: &mut Users) -> UninspectedFiles {
        let mut found = None;
        let unseen = open_files::visit(self.root, process, |file| found = found.or_else(|| self.open(process, file)));
        if let Some(remark) = found {
            users.phrases.push(format!("open in {}{remark}", self.named(process)));
        }
        unseen
    }

    /// The remark on the searched device behind an open file of a process.
    fn open(&self, process: u32, file: OpenFile<'_>) -> Option<&'a str> {
        match file {
            OpenFile::Descriptor(_, entry) => self.remark(&fs::metadata(entry).ok()?),
            OpenFile::Registered(path) => {
                let places = open_files::places(self.root, process, path);
                let found: Vec<fs::Metadata> = places.iter().filter_map(|place| fs::metadata(place).ok()).collect();
                // If neither path exists, its name is compared.
                if found.is_empty() {
                    return self.names.get(path.file_name()?).copied();
                }
                found.iter().find_map(|metadata| self.remark(metadata))
            }
        }
    }

    fn remark(&self, metadata: &fs::Metadata) -> Option<&'a str> {
        let number = sys::file::major_minor(metadata.rdev());
        metadata.file_type().is_block_device().then(|| self.numbers.get(&number).copied())?
    }

    /// Mounts that exist only in another namespace.
    fn mounts_of(&self, process: u32) -> Vec<String> {
        let mounts = mounts::of_process(self.root, &process.to_string());
        let phrase = |mount: mounts::Mount| {
            let remark = self.numbers.get(&mount.device)?;
            let place = mount.point.display();
            Some(format!("mounted at '{place}' in the mount namespace of {}{remark}", self.named(process)))
        };
        mounts.into_iter().filter_map(phrase).take(1).collect()
    }

    fn named(&self, process: u32) -> String {
        let status = self.root.text(format!("/proc/{process}/status")).unwrap_or_default();
        let command = labelled(&status, "Name").map(|name| format!(" ({name})")).unwrap_or_default();
        format!("process {process}{command}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::block_device::DeviceNumber;
    use model::device_guard::LoopBacking;

    #[test]
    fn a_disk_s_own_paths_do_not_use_it_and_another_name_of_it_may() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Root::recorded(folder.path());
        let path = |number: u32| DeviceKind::NvmePath {
            controller: Some(format!("nvme{number}")),
            state: Some("live".to_owned()),
            address: None,
        };
        let above = || vec![DeviceUse::Device { name: "nvme0n1".to_owned(), kind: "nvme multipath".to_owned() }];
        let row = |name: &str, kind: DeviceKind, used_by: Vec<DeviceUse>| {
            let directory = folder.path().join("sys/class/block").join(name);
            fs::create_dir_all(directory.join("device")).expect("made");
            fs::write(directory.join("wwid"), "eui.0102\n").expect("written");
            DeviceRow { name: name.to_owned(), kind, used_by, size_bytes: Some(1), ..DeviceRow::default() }
        };
        let head = DeviceKind::NvmeMultipath { policy: None, subsystem: None };
        let rows = [
            row("nvme0c0n1", path(0), above()),
            row("nvme0c1n1", path(1), above()),
            row("nvme0n1", head, Vec::new()),
            row("nvme9n1", DeviceKind::Disk, vec![DeviceUse::Swap]),
        ];
        let scope = Scope { root: &root, rows: &rows, loops: &[], own_loops: &[] };
        let users: Vec<String> = relatives(&scope, &rows[2]).iter().flat_map(listed).collect();
        assert_eq!(users, ["active swap (nvme9n1, another path to the same disk)"]);
    }

    #[test]
    fn a_ring_that_cannot_be_read_is_noted_and_no_user() {
        let folder = tempfile::tempdir().expect("a folder");
        let process = folder.path().join("proc/7");
        for name in ["fd", "fdinfo"] {
            fs::create_dir_all(process.join(name)).expect("made");
        }
        std::os::unix::fs::symlink("anon_inode:[io_uring]", process.join("fd/5")).expect("made");
        fs::write(process.join("fdinfo/5"), "SqThread:\t-1\n").expect("written");
        fs::write(process.join("status"), "Name:\tfio\n").expect("written");
        let (root, numbers) = (Root::recorded(folder.path()), BTreeMap::new());
        let Users { phrases, unseen } = Processes::new(&root, &numbers, BTreeMap::new()).search();
        let noted = "files registered with a busy io_uring ring could not be read (process 7 (fio))";
        assert_eq!((phrases, unseen), (Vec::new(), vec![noted.to_owned()]));
    }

    #[test]
    fn what_stands_on_a_device_is_told_with_its_uses() {
        let root = Root::recorded("/nowhere");
        let row = |name: &str, major, minor, mounted: &[&str]| DeviceRow {
            name: name.to_owned(),
            number: Some(DeviceNumber { major, minor }),
            mounted: mounted.iter().map(Into::into).collect(),
            ..DeviceRow::default()
        };
        let over = |name: &str, major, minor| {
            let block_device = Some(sys::file::device_number(major, minor));
            let backing = Ok(LoopBacking { block_device, ..LoopBacking::default() });
            Attached { name: name.to_owned(), file: "/dev/x".into(), backing }
        };
        let rows = [row("sda", 8, 0, &[]), row("loop0", 7, 0, &[]), row("loop1", 7, 1, &["/mnt"])];
        let loops = [over("loop0", 8, 0), over("loop1", 7, 0), over("loop2", 8, 0)];
        let own = ["loop2".to_owned()];
        let scope = Scope { root: &root, rows: &rows, loops: &loops, own_loops: &own };
        let mounted = "the backing device of /dev/loop1, which is mounted at '/mnt'";
        assert_eq!(above(&scope, &rows[0], 0), [format!("the backing device of /dev/loop0, which is {mounted}")]);
        assert_eq!(above(&scope, &rows[1], 0), [mounted]);
        assert!(above(&scope, &rows[2], 0).is_empty());
        let circle = [over("loop0", 7, 1), over("loop1", 7, 0)];
        assert!(!above(&Scope { loops: &circle, ..scope }, &rows[1], 0).is_empty(), "a circle ends");
        // By their backing, not by the name, which all have in common here.
        let same = |one, other| same_loop_backing(&Scope { own_loops: &[], ..scope }, one, other);
        assert_eq!((same("loop0", "loop2"), same("loop0", "loop1")), (Some(true), Some(false)));
        assert_eq!((same("loop0", "sda"), same("loop0", "loop0")), (None, Some(false)));
    }
}
