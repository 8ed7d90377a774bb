//! The cgroups that this process is in.

use crate::mounts::Mount;
use crate::root::Root;
use std::path::{Component, Path, PathBuf};

/// The two designs of cgroups, which a system may have side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// One hierarchy for each controller or few of them.
    One,
    /// One hierarchy for all.
    Two,
}

/// A hierarchy, and our way through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    pub(crate) version: Version,
    /// Names of the controllers, with commas between; of version 1 only.
    controllers: String,
    /// Our cgroup, and those above it as far as they can be seen.
    pub(crate) groups: Vec<Group>,
}

impl Hierarchy {
    /// Whether this hierarchy of version 1 has a controller.
    pub(crate) fn has(&self, controller: &str) -> bool {
        has(&self.controllers, controller)
    }
}

/// A cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Its place in the hierarchy, from the top that can be seen.
    pub(crate) path: PathBuf,
    /// Where its files are.
    pub(crate) directory: PathBuf,
}

fn has(list: &str, word: &str) -> bool {
    list.split(',').any(|other| other == word)
}

/// All hierarchies that are mounted where this process can see them.
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

/// The cgroup at `path` and those above it, as far as they can be seen through `mount`.
fn groups(mount: &Mount, path: &Path) -> Vec<Group> {
    // In a container the path may be that of the host, of which only a part is mounted; one that
    // leads out of the mount is no help at all.
    let relative = path.strip_prefix(&mount.root).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    let is_below = relative.components().all(|component| matches!(component, Component::Normal(_)));
    let relative = if is_below { relative } else { Path::new("") };
    let group = |part: &Path| Group { path: Path::new("/").join(part), directory: mount.point.join(part) };
    relative.ancestors().map(group).collect()
}
