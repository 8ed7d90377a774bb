//! The devices and files below a written device, through loop devices.
//!
//! md, the device mapper, bcache and zram claim their members, so no other user has those. The loop driver claims
//! nothing: its backing may be in use by others all the same.

use super::device::{claim, disk_sequence, mapped, node, shares_blocks};
use super::users::{self, Scope};
use crate::block::members;
use crate::block::place;
use crate::loops::{self, Attached};
use crate::root::Root;
use crate::{open_files, openers};
use model::block_device::{DeviceKind, DeviceRow};
use model::device_guard::{Claim, DeviceBelow, FileIdentity, LoopBacking};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All devices and files below a device, as far as others may use them.
#[derive(Debug, Default)]
pub(super) struct Chain<'a> {
    links: Vec<Link<'a>>,
    /// The loop devices of the chain, which do not count as other users of their backing.
    pub(super) own_loops: Vec<String>,
}

#[derive(Debug)]
struct Link<'a> {
    /// The path from the written device to it, itself the last.
    subject: Subject,
    kind: LinkKind<'a>,
}

#[derive(Debug)]
enum LinkKind<'a> {
    /// A device behind a loop device: not protected from other users.
    Backing(&'a DeviceRow),
    /// A loop device claimed by the one above it, or of which that is a partition.
    Member(&'a DeviceRow),
    /// A regular file behind a loop device.
    File(PathBuf, FileIdentity),
    /// A backing that cannot be inspected, with the reason.
    Unknown(String),
}

/// Like "its backing device /dev/loop1", or further down "its backing device /dev/loop1 stands on
/// /dev/loop0".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Subject(Vec<String>);

impl Subject {
    fn step(&self, role: &str, name: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(if steps.is_empty() { format!("{role} {name}") } else { format!("is backed by {name}") });
        Self(steps)
    }

    /// A sentence about the last step.
    fn says(&self, predicate: &str) -> String {
        let mut steps = self.0.iter();
        let mut text = steps.next().map_or("it", String::as_str).to_owned();
        for (index, step) in steps.enumerate() {
            let joint = if index == 0 { " " } else { ", which " };
            text = text + joint + step;
        }
        let joint = if self.0.len() > 1 { ", which " } else { " " };
        text + joint + predicate
    }
}

/// Results of the chain for the guard of the written device.
#[derive(Debug, Default)]
pub(super) struct ChainFindings {
    pub(super) users: Vec<String>,
    /// Processes that may use it but cannot be inspected, as phrases.
    pub(super) unseen: Vec<String>,
    pub(super) shares_blocks: Option<String>,
    pub(super) devices: Vec<DeviceBelow>,
}

impl<'a> Chain<'a> {
    /// Follows `row` down.
    pub(super) fn follow(root: &Root, row: &'a DeviceRow, rows: &'a [DeviceRow], loops: &[Attached]) -> Self {
        let mut chain = Self::default();
        chain.descend(root, row, rows, loops, &Subject::default(), &mut BTreeSet::new());
        chain
    }

    fn descend(
        &mut self,
        root: &Root,
        row: &'a DeviceRow,
        rows: &'a [DeviceRow],
        loops: &[Attached],
        subject: &Subject,
        seen: &mut BTreeSet<&'a str>,
    ) {
        if !seen.insert(&row.name) {
            return;
        }
        let mut go = |chain: &mut Self, subject: Subject, lower: &'a DeviceRow, kind: Option<LinkKind<'a>>| {
            chain.links.extend(kind.map(|kind| Link { subject: subject.clone(), kind }));
            chain.descend(root, lower, rows, loops, &subject, seen);
        };
        if let DeviceKind::Loop { .. } = row.kind {
            let Some(device) = loops.iter().find(|device| device.name == row.name) else { return };
            self.own_loops.push(device.name.clone());
            match (&device.backing, device.device(), device.file_identity()) {
                (_, Some(number), _) => match rows.iter().find(|row| row.number == Some(number)) {
                    Some(lower) => {
                        let subject = subject.step("its backing device", &format!("/dev/{}", lower.name));
                        go(self, subject, lower, Some(LinkKind::Backing(lower)));
                    }
                    None => self.links.push(Link {
                        subject: subject.step("its backing device", &format!("{}:{}", number.major, number.minor)),
                        kind: LinkKind::Unknown("has no entry in /sys".to_owned()),
                    }),
                },
                (_, None, Some(file)) => self.links.push(Link {
                    subject: subject.step("its backing file", &format!("'{}'", device.file.display())),
                    kind: LinkKind::File(device.file.clone(), file),
                }),
                (backing, None, None) => {
                    let reason = backing.as_ref().err().map_or("", String::as_str);
                    let unknown = LinkKind::Unknown(format!("has an unknown backing file or device: {reason}"));
                    self.links.push(Link { subject: subject.clone(), kind: unknown });
                }
            }
            return;
        }
        // The paths to an NVMe disk have no other users than the disk.
        if matches!(row.kind, DeviceKind::NvmeMultipath { .. } | DeviceKind::NvmePath { .. }) {
            return;
        }
        let Some(directory) = place::directory(root, &row.name) else { return };
        let role = if matches!(row.kind, DeviceKind::Partition { .. }) { "its disk" } else { "its member" };
        for member in members::list(root, &row.name, &row.kind, &directory) {
            let Some(lower) = rows.iter().find(|row| row.name == member.name) else { continue };
            let is_loop = matches!(lower.kind, DeviceKind::Loop { .. });
            let subject = subject.step(role, &format!("/dev/{}", lower.name));
            go(self, subject, lower, is_loop.then_some(LinkKind::Member(lower)));
        }
    }

    /// Inspects all links.
    pub(super) fn inspect(&self, scope: &Scope<'_>) -> ChainFindings {
        let mut below = ChainFindings::default();
        for link in &self.links {
            match &link.kind {
                LinkKind::Backing(row) => self.look_at_device(scope, &link.subject, row, &mut below),
                LinkKind::Member(row) => below.devices.extend(kept(scope, row, false)),
                LinkKind::File(path, file) => self.look_at_file(scope, &link.subject, path, *file, &mut below),
                LinkKind::Unknown(reason) => below.users.push(link.subject.says(reason)),
            }
        }
        below
    }

    /// Applies the whole guard of a block device.
    fn look_at_device(&self, scope: &Scope<'_>, subject: &Subject, row: &DeviceRow, below: &mut ChainFindings) {
        // Queried while this process has no descriptor open, which the device mapper would count.
        let mapped = mapped(row);
        let found = users::find(scope, row);
        let users_before = below.users.len();
        below.users.extend(found.phrases.iter().map(|user| subject.says(&format!("is {user}"))));
        below.unseen.extend(found.unseen);
        if let Some(Ok(mapped)) = &mapped {
            let is_own = |device: &&Attached| self.own_loops.contains(&device.name) && device.device() == row.number;
            let own = scope.loops.iter().filter(is_own).count() as u32;
            if mapped.open_count > own {
                let others = mapped.open_count - own;
                below.users.push(
                    subject.says(&format!("has {others} other users, according to the device mapper's open count")),
                );
            }
        }
        match claim(&node(row)) {
            Claim::Granted | Claim::NotAsked => {}
            Claim::Busy if below.users.len() > users_before => {}
            Claim::Busy => below.users.push(subject.says("is in exclusive use")),
            Claim::Failed { reason } => {
                below.users.push(subject.says(&format!("cannot be opened exclusively: {reason}")));
            }
        }
        if below.shares_blocks.is_none() {
            below.shares_blocks = mapped.and_then(|answer| shares_blocks(&answer)).map(|phrase| subject.says(&phrase));
        }
        match kept(scope, row, true) {
            Some(device) => below.devices.push(device),
            None => below.users.push(subject.says("has no device number")),
        }
    }

    /// Applies the guard of files. A lease is no test: the loop device itself has the file open.
    fn look_at_file(
        &self,
        scope: &Scope<'_>,
        subject: &Subject,
        path: &Path,
        file: FileIdentity,
        below: &mut ChainFindings,
    ) {
        let mut found = openers::search(scope.root, &[(path.to_owned(), file)], &self.own_loops);
        let mut who = found.users.remove(&file).unwrap_or_default();
        who.extend(openers::standard_streams(&found.own_descriptors.remove(&file).unwrap_or_default()));
        if who.is_empty() {
            who.append(&mut found.unidentified);
            if found.hidden_processes > 0 {
                who.push(format!(
                    "possibly one of {} processes of other users, visible only to root",
                    found.hidden_processes
                ));
            }
        }
        if !who.is_empty() {
            below.users.push(subject.says(&format!("is in use ({})", who.join(", "))));
        }
        below.unseen.extend(open_files::busy_rings(&found.busy_rings));
    }
}

/// The backing of the loop device; `None` if it is not a loop device.
pub(super) fn backing(loops: &[Attached], row: &DeviceRow) -> Option<LoopBacking> {
    loops.iter().find(|device| device.name == row.name)?.backing.clone().ok()
}

fn kept(scope: &Scope<'_>, row: &DeviceRow, claim: bool) -> Option<DeviceBelow> {
    let number = row.number?;
    let path = node(row);
    Some(DeviceBelow {
        device: sys::file::device_number(number.major, number.minor),
        disk_sequence: disk_sequence(&path),
        backing: backing(scope.loops, row),
        path,
        claim,
    })
}

/// Loop devices with unknown backing, as a phrase.
pub(super) fn unasked(loops: &[Attached], own: &[String]) -> Option<String> {
    let others = loops.iter().filter(|device| !own.contains(&device.name));
    loops::unasked(others).map(|phrase| format!("possibly the backing device of {phrase}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::block_device::DeviceNumber;
    use std::fs;

    #[test]
    fn a_subject_tells_the_whole_way() {
        let one = Subject::default().step("its backing device", "/dev/loop2");
        assert_eq!(one.says("is active swap"), "its backing device /dev/loop2 is active swap");
        let two = one.step("its backing device", "/dev/loop1");
        assert_eq!(two.says("is x"), "its backing device /dev/loop2 is backed by /dev/loop1, which is x");
        let three = two.step("its backing file", "'/a'");
        assert_eq!(
            three.says("is x"),
            "its backing device /dev/loop2 is backed by /dev/loop1, which is backed by '/a', which is x"
        );
        assert_eq!(Subject::default().says("is x"), "it is x");
    }

    fn attached(number: u32, file: &str, backing: Result<LoopBacking, String>) -> Attached {
        Attached { name: format!("loop{number}"), file: file.into(), backing }
    }

    fn over_device(number: u32) -> LoopBacking {
        let block_device = Some(sys::file::device_number(7, number));
        LoopBacking { block_device, ..LoopBacking::default() }
    }

    fn row(name: &str, kind: DeviceKind, number: Option<(u32, u32)>) -> DeviceRow {
        let number = number.map(|(major, minor)| DeviceNumber { major, minor });
        DeviceRow { name: name.to_owned(), kind, number, size_bytes: Some(1), ..DeviceRow::default() }
    }

    fn loop_row(number: u32) -> DeviceRow {
        let kind =
            DeviceKind::Loop { file: Some("/x".to_owned()), offset_bytes: None, direct: None, file_system: None };
        row(&format!("loop{number}"), kind, Some((7, number)))
    }

    #[test]
    fn members_partitions_and_loop_devices_are_followed_down_to_files() {
        let machine = tempfile::tempdir().expect("a folder");
        let root = Root::recorded(machine.path());
        let class = machine.path().join("sys/class/block");
        for folder in ["dm-0/slaves/loop2", "dm-0/slaves/sda", "loop0", "loop1", "loop2", "loop3", "sda"] {
            fs::create_dir_all(class.join(folder)).expect("made");
        }
        let mapper = row("dm-0", DeviceKind::Mapper { maker: None, name: None, uuid: None }, Some((253, 0)));
        let rows =
            [mapper, row("sda", DeviceKind::Disk, Some((8, 0))), loop_row(0), loop_row(1), loop_row(2), loop_row(3)];
        let file = FileIdentity { device: 8, inode: 9 };
        let loops = [
            attached(0, "/a.img", Ok(LoopBacking { file, ..LoopBacking::default() })),
            attached(1, "/dev/loop0", Ok(over_device(0))),
            attached(2, "/dev/loop1", Ok(over_device(1))),
            attached(3, "/b", Err("Permission denied".to_owned())),
        ];
        let links = |row: &DeviceRow, loops: &[Attached]| -> Vec<String> {
            let chain = Chain::follow(&root, row, &rows, loops);
            let kind = |kind: &LinkKind<'_>| match kind {
                LinkKind::Backing(_) => "is a backing device".to_owned(),
                LinkKind::Member(_) => "is a member".to_owned(),
                LinkKind::File(path, _) => format!("is the file {}", path.display()),
                LinkKind::Unknown(reason) => reason.clone(),
            };
            chain.links.iter().map(|link| link.subject.says(&kind(&link.kind))).collect()
        };
        assert_eq!(
            links(&rows[0], &loops),
            [
                "its member /dev/loop2 is a member",
                "its member /dev/loop2 is backed by /dev/loop1, which is a backing device",
                "its member /dev/loop2 is backed by /dev/loop1, which is backed by /dev/loop0, which is a backing device",
                "its member /dev/loop2 is backed by /dev/loop1, which is backed by /dev/loop0, which is backed by \
                 '/a.img', which is the file /a.img",
            ]
        );
        let chain = Chain::follow(&root, &rows[0], &rows, &loops);
        assert_eq!(chain.own_loops, ["loop2", "loop1", "loop0"]);
        assert_eq!(links(&rows[1], &loops), Vec::<String>::new(), "a disk stands on nothing");
        assert_eq!(links(&rows[5], &loops), ["it has an unknown backing file or device: Permission denied"]);
        let unknown = [attached(3, "/dev/x", Ok(over_device(9)))];
        assert_eq!(links(&rows[5], &unknown), ["its backing device 7:9 has no entry in /sys"]);
        let circle = [attached(0, "/dev/loop1", Ok(over_device(1))), attached(1, "/dev/loop0", Ok(over_device(0)))];
        assert_eq!(links(&rows[2], &circle).len(), 2, "a walk in a circle ends");
        assert_eq!(
            unasked(&loops, &chain.own_loops).as_deref(),
            Some(
                "possibly the backing device of /dev/loop3, whose backing file cannot be determined: Permission \
                  denied"
            )
        );
        assert_eq!(unasked(&loops, &["loop3".to_owned()]), None);
    }

    #[test]
    fn a_file_below_is_looked_for_without_the_loop_devices_that_lead_to_it() {
        let machine = tempfile::tempdir().expect("a folder");
        let root = Root::recorded(machine.path());
        let image = machine.path().join("a.img");
        fs::write(&image, "").expect("written");
        let file = crate::overlay::identity(&fs::metadata(&image).expect("exists"));
        for number in 0..2 {
            let folder = machine.path().join(format!("sys/block/loop{number}/loop"));
            fs::create_dir_all(&folder).expect("made");
            fs::write(folder.join("backing_file"), format!("{}\n", image.display())).expect("written");
        }
        let rows = [loop_row(0)];
        let inspect = |own_loops: &[&str]| {
            let chain = Chain {
                links: vec![Link {
                    subject: Subject::default().step("its backing file", "'/a.img'"),
                    kind: LinkKind::File(image.clone(), file),
                }],
                own_loops: own_loops.iter().map(|&name| name.to_owned()).collect(),
            };
            let scope = Scope { root: &root, rows: &rows, loops: &[], own_loops: &chain.own_loops };
            chain.inspect(&scope).users
        };
        assert_eq!(inspect(&["loop0", "loop1"]), Vec::<String>::new());
        assert_eq!(inspect(&["loop0"]), ["its backing file '/a.img' is in use (loop device /dev/loop1)"]);
        fs::create_dir_all(machine.path().join("sys/block/loop4/loop")).expect("made");
        fs::write(machine.path().join("sys/block/loop4/loop/backing_file"), "/other\n").expect("written");
        let users = inspect(&["loop0", "loop1"]);
        assert!(
            users[0].contains("is in use (possibly /dev/loop4, whose backing file cannot be determined: "),
            "{users:?}"
        );
    }
}
