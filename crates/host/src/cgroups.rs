//! The cgroups of this process.

use crate::mounts::Mount;
use crate::root::Root;
use std::path::{Component, Path, PathBuf};

/// The two versions of cgroups, which a system may have side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// One hierarchy for each controller or a few of them.
    One,
    /// One hierarchy for all.
    Two,
}

/// A hierarchy, and our cgroups in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    pub(crate) version: Version,
    /// Names of the controllers, separated by commas; of version 1 only.
    controllers: String,
    /// Our cgroup, and those above it as far as they are visible.
    pub(crate) groups: Vec<Group>,
}

impl Hierarchy {
    /// True if this hierarchy of version 1 has a controller.
    pub(crate) fn has(&self, controller: &str) -> bool {
        has(&self.controllers, controller)
    }
}

/// A cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Its path in the hierarchy, from the visible top.
    pub(crate) path: PathBuf,
    /// Directory of its files.
    pub(crate) directory: PathBuf,
}

fn has(list: &str, word: &str) -> bool {
    list.split(',').any(|other| other == word)
}

/// All hierarchies with a mount visible to this process.
pub(crate) fn hierarchies(root: &Root, mounts: &[Mount]) -> Vec<Hierarchy> {
    let membership = root.text("/proc/self/cgroup").unwrap_or_default();
    let hierarchy = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (version, mount) = if controllers.is_empty() {
            (Version::Two, mounts.iter().find(|mount| mount.file_system == "cgroup2"))
        } else {
            let first = controllers.split(',').next()?;
            let is_it = |mount: &&Mount| mount.file_system == "cgroup" && has(&mount.super_options, first);
            (Version::One, mounts.iter().find(is_it))
        };
        Some(Hierarchy { version, controllers: controllers.to_owned(), groups: groups(mount?, Path::new(path)) })
    };
    membership.lines().filter_map(hierarchy).collect()
}

/// The cgroup at `path` and those above it, as far as they are visible through `mount`.
fn groups(mount: &Mount, path: &Path) -> Vec<Group> {
    // In a container the path may be that of the host, of which only a part is mounted; one that leads out of the mount
    // is unusable.
    let relative = path.strip_prefix(&mount.root).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    let is_below = relative.components().all(|component| matches!(component, Component::Normal(_)));
    let relative = if is_below { relative } else { Path::new("") };
    let group = |part: &Path| Group { path: Path::new("/").join(part), directory: mount.point.join(part) };
    relative.ancestors().map(group).collect()
}
