//! The mount table of this process.

use crate::root::Root;
use crate::syntax::unescape;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One line of /proc/self/mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// ID of this mount.
    pub(crate) id: u32,
    /// ID of its parent mount.
    pub(crate) parent: u32,
    /// Major and minor number of the device, as `stat` shows them on most file systems.
    pub(crate) device: (u32, u32),
    /// The mounted directory of the file system.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    /// Options of this mount.
    pub(crate) options: String,
    /// `ext4`, `fuse.sshfs` ...
    pub(crate) file_system: String,
    /// The mounted device or share, in the notation of its file system.
    pub(crate) source: String,
    /// Options of the file system itself, such as cgroup controllers.
    pub(crate) super_options: String,
}

/// The mount that `path`, absolute and without symbolic links, leads into.
pub(crate) fn holding<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let is_top = |mount: &&Mount| {
        let has_parent = mounts.iter().any(|other| other.id == mount.parent && other.id != mount.id);
        mount.point == Path::new("/") && !has_parent
    };
    let Some(mut current) = mounts.iter().find(is_top) else {
        // After chroot into a plain directory the root is not in the list.
        return mounts.iter().filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| depth(mount));
    };
    // Each step follows the kernel's own: a mount on the way hides everything beyond it, even if that was mounted
    // deeper. A list with a cycle ends with its length.
    for _ in mounts {
        let is_next = |mount: &&Mount| {
            mount.parent == current.id
                && mount.id != current.id
                && mount.point.starts_with(&current.point)
                && path.starts_with(&mount.point)
        };
        let Some(next) = mounts.iter().filter(is_next).min_by_key(|mount| depth(mount)) else { break };
        current = next;
    }
    Some(current)
}

fn depth(mount: &Mount) -> usize {
    mount.point.components().count()
}

/// All mounts; invalid lines are left out.
pub(crate) fn read(root: &Root) -> Vec<Mount> {
    of_process(root, "self")
}

/// All mounts in the namespace of a process.
pub(crate) fn of_process(root: &Root, process: &str) -> Vec<Mount> {
    root.text(format!("/proc/{process}/mountinfo")).unwrap_or_default().lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Mount> {
    let path = |text: &str| PathBuf::from(OsString::from_vec(unescape(text)));
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ');
    let (id, parent) = (place.next()?.parse().ok()?, place.next()?.parse().ok()?);
    let (major, minor) = place.next()?.split_once(':')?;
    let (mount_root, point) = (place.next()?, place.next()?);
    let options = place.next().unwrap_or_default().to_owned();
    let mut kind = kind.split(' ');
    Some(Mount {
        id,
        parent,
        device: (major.parse().ok()?, minor.parse().ok()?),
        root: path(mount_root),
        point: path(point),
        options,
        file_system: kind.next().filter(|name| !name.is_empty())?.to_owned(),
        source: String::from_utf8_lossy(&unescape(kind.next().unwrap_or_default())).into_owned(),
        super_options: kind.next().unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_with_optional_fields_and_blanks_in_names() {
        let mount =
            parse(r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue");
        let expected = Mount {
            id: 36,
            parent: 35,
            device: (98, 0),
            root: "/mnt1".into(),
            point: "/mnt 2".into(),
            options: "rw,noatime".to_owned(),
            file_system: "ext3".to_owned(),
            source: "/dev/root".to_owned(),
            super_options: "rw,errors=continue".to_owned(),
        };
        assert_eq!(mount, Some(expected));
    }

    /// The file system that `path` leads into, where each mount is `id parent point name`.
    fn held(mounts: &[(u32, u32, &str, &str)], path: &str) -> Option<String> {
        let lines = mounts
            .iter()
            .map(|(id, parent, point, name)| format!("{id} {parent} 0:{id} / {point} rw - {name} none rw"));
        let mounts: Vec<Mount> = lines.filter_map(|line| parse(&line)).collect();
        holding(&mounts, Path::new(path)).map(|mount| mount.file_system.clone())
    }

    #[test]
    fn a_path_leads_into_the_mount_that_is_not_hidden() {
        let mounts = [(20, 1, "/", "a"), (21, 20, "/srv/data", "b"), (22, 20, "/srv", "c"), (23, 22, "/srv", "d")];
        assert_eq!(held(&mounts, "/srvx/f").as_deref(), Some("a"));
        // Mounted later over a directory above, c hides b; and d hides c.
        assert_eq!(held(&mounts, "/srv/data/f").as_deref(), Some("d"));
        assert_eq!(held(&mounts[..2], "/srv/data/f").as_deref(), Some("b"));
        // The first root file system is in the list of some machines, as its own parent.
        assert_eq!(held(&[(1, 1, "/", "rootfs"), (20, 1, "/", "a")], "/f").as_deref(), Some("a"));
        // No root in the list.
        assert_eq!(held(&[(21, 20, "/srv", "b"), (22, 21, "/srv/x", "c")], "/srv/x/f").as_deref(), Some("c"));
        assert_eq!(held(&[(21, 20, "/srv", "b")], "/f"), None);
        // A cycle must end.
        assert!(held(&[(1, 9, "/", "a"), (2, 1, "/", "b"), (3, 2, "/", "c"), (1, 3, "/", "d")], "/f").is_some());
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "\\PC*", words in "([0-9:/ -]{0,6} ){0,12}") {
            let _ = (parse(&line), parse(&words));
        }
    }
}
