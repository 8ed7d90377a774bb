//! What a written device stands on: through loop devices, down to files and disks.
//!
//! md, the device mapper, bcache and zram claim their members, so nobody else has those. The loop
//! driver claims nothing: whatever it stands on may be in use by others all the same.

use super::users::{self, Scope};
use super::{claim, disk_sequence, mapped, node, shares_blocks};
use crate::block::members;
use crate::block::place;
use crate::loops::{self, Attached};
use crate::openers;
use crate::root::Root;
use model::block_device::{DeviceKind, DeviceRow};
use model::device_guard::{Claim, DeviceBelow, LoopBacking};
use model::facts::FileIdentity;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All that is below a device, as far as others may use it.
#[derive(Debug, Default)]
pub(super) struct Chain<'a> {
    links: Vec<Link<'a>>,
    /// The loop devices in it, which are no other users of what they stand on.
    pub(super) own_loops: Vec<String>,
}

#[derive(Debug)]
struct Link<'a> {
    /// How the written device comes to it, itself the last.
    subject: Subject,
    kind: LinkKind<'a>,
}

#[derive(Debug)]
enum LinkKind<'a> {
    /// A device behind a loop device: nothing keeps others from it.
    Backing(&'a DeviceRow),
    /// A loop device that the one above it has claimed, or whose partition that is.
    Member(&'a DeviceRow),
    /// A regular file behind a loop device.
    File(PathBuf, FileIdentity),
    /// Something that cannot be looked at, and why.
    Unknown(String),
}

/// Like "its backing device /dev/loop1", or further down "its backing device /dev/loop1 stands on
/// /dev/loop0".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Subject(Vec<String>);

impl Subject {
    fn step(&self, role: &str, name: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(if steps.is_empty() { format!("{role} {name}") } else { format!("stands on {name}") });
        Self(steps)
    }

    /// A sentence about the last of the steps.
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

/// What the guard of the written device learns from what is below it.
#[derive(Debug, Default)]
pub(super) struct Below {
    pub(super) users: Vec<String>,
    pub(super) shares_blocks: Option<String>,
    pub(super) devices: Vec<DeviceBelow>,
}

impl<'a> Chain<'a> {
    /// Follows `row` down.
    pub(super) fn of(root: &Root, row: &'a DeviceRow, rows: &'a [DeviceRow], loops: &[Attached]) -> Self {
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
                        kind: LinkKind::Unknown("is not described in /sys".to_owned()),
                    }),
                },
                (_, None, Some(file)) => self.links.push(Link {
                    subject: subject.step("its backing file", &format!("'{}'", device.file.display())),
                    kind: LinkKind::File(device.file.clone(), file),
                }),
                (backing, None, None) => {
                    let reason = backing.as_ref().err().map_or("", String::as_str);
                    let unknown = LinkKind::Unknown(format!("stands on something that cannot be determined: {reason}"));
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
        for member in members::of(root, &row.name, &row.kind, &directory) {
            let Some(lower) = rows.iter().find(|row| row.name == member.name) else { continue };
            let is_loop = matches!(lower.kind, DeviceKind::Loop { .. });
            let subject = subject.step(role, &format!("/dev/{}", lower.name));
            go(self, subject, lower, is_loop.then_some(LinkKind::Member(lower)));
        }
    }

    /// Looks at everything below.
    pub(super) fn look(&self, scope: &Scope<'_>) -> Below {
        let mut below = Below::default();
        for link in &self.links {
            match &link.kind {
                LinkKind::Backing(row) => self.look_at_device(scope, &link.subject, row, &mut below),
                LinkKind::Member(row) => below.devices.extend(kept(scope, row, false)),
                LinkKind::File(path, file) => below.users.extend(self.users_of_file(scope, &link.subject, path, *file)),
                LinkKind::Unknown(reason) => below.users.push(link.subject.says(reason)),
            }
        }
        below
    }

    /// The whole guard of a block device.
    fn look_at_device(&self, scope: &Scope<'_>, subject: &Subject, row: &DeviceRow, below: &mut Below) {
        // Asked while no descriptor of ours is open, which the device mapper would count.
        let mapped = mapped(row);
        let found = users::of(scope, row);
        let users_before = below.users.len();
        below.users.extend(found.iter().map(|user| subject.says(&format!("is {user}"))));
        if let Some(Ok(mapped)) = &mapped {
            let is_own = |device: &&Attached| self.own_loops.contains(&device.name) && device.device() == row.number;
            let own = scope.loops.iter().filter(is_own).count() as u32;
            if mapped.open_count > own {
                let others = mapped.open_count - own;
                below.users.push(subject.says(&format!("has {others} other openers as the device mapper counts")));
            }
        }
        match claim(&node(row)) {
            Claim::Granted | Claim::NotAsked => {}
            Claim::Busy if below.users.len() > users_before => {}
            Claim::Busy => below.users.push(subject.says("is in exclusive use")),
            Claim::Failed { reason } => below.users.push(subject.says(&format!("cannot be claimed: {reason}"))),
        }
        if below.shares_blocks.is_none() {
            below.shares_blocks = mapped.and_then(|answer| shares_blocks(&answer)).map(|phrase| subject.says(&phrase));
        }
        match kept(scope, row, true) {
            Some(device) => below.devices.push(device),
            None => below.users.push(subject.says("has no device number")),
        }
    }

    /// The guard of files. No lease can tell: the loop device itself has the file open.
    fn users_of_file(&self, scope: &Scope<'_>, subject: &Subject, path: &Path, file: FileIdentity) -> Option<String> {
        let mut found = openers::search(scope.root, &[(path.to_owned(), file)], &self.own_loops);
        let mut who = found.users.remove(&file).unwrap_or_default();
        who.extend(openers::standard_streams(&found.own_descriptors.remove(&file).unwrap_or_default()));
        if who.is_empty() {
            who.append(&mut found.unidentified);
            if found.hidden_processes > 0 {
                who.push(format!(
                    "perhaps one of {} processes of other users, which only root can look into",
                    found.hidden_processes
                ));
            }
        }
        (!who.is_empty()).then(|| subject.says(&format!("is in use ({})", who.join(", "))))
    }
}

/// What the loop device stands on; `None` if it is no loop device.
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

/// Loop devices that perhaps stand on anything, as a phrase.
pub(super) fn unasked(loops: &[Attached], own: &[String]) -> Option<String> {
    let others = loops.iter().filter(|device| !own.contains(&device.name));
    loops::unasked(others).map(|phrase| format!("perhaps the backing device of {phrase}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_tells_the_whole_way() {
        let one = Subject::default().step("its backing device", "/dev/loop2");
        assert_eq!(one.says("is active swap"), "its backing device /dev/loop2 is active swap");
        let two = one.step("its backing device", "/dev/loop1");
        assert_eq!(two.says("is x"), "its backing device /dev/loop2 stands on /dev/loop1, which is x");
        let three = two.step("its backing file", "'/a'");
        assert_eq!(
            three.says("is x"),
            "its backing device /dev/loop2 stands on /dev/loop1, which stands on '/a', which is x"
        );
        assert_eq!(Subject::default().says("is x"), "it is x");
    }
}
