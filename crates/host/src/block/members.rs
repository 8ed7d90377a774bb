//! The direct members of a block device.

use super::place;
use crate::root::Root;
use crate::syntax::in_natural_order;
use model::block_device::DeviceKind;
use std::path::Path;

/// A device below another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) role: Option<String>,
}

/// The members of the device at `directory`, a real one. The file of a loop device is not followed.
pub(crate) fn list(root: &Root, name: &str, kind: &DeviceKind, directory: &Path) -> Vec<Member> {
    match kind {
        DeviceKind::Partition { .. } => {
            let disk = directory.parent().and_then(place::name);
            disk.map(|name| Member { name, role: None }).into_iter().collect()
        }
        DeviceKind::NvmeMultipath { .. } => nvme_paths(root, name, directory),
        DeviceKind::Raid(_) => with_roles(slaves(root, directory), |name| {
            root.word(directory.join(format!("md/dev-{}/state", name.replace('/', "!"))))
        }),
        DeviceKind::Bcache { .. } => bcache(root, directory),
        _ => with_roles(slaves(root, directory), |_| None),
    }
}

fn with_roles(names: Vec<String>, role: impl Fn(&str) -> Option<String>) -> Vec<Member> {
    names.into_iter().map(|name| Member { role: role(&name), name }).collect()
}

/// The devices that the kernel links as slaves.
fn slaves(root: &Root, directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        root.names(directory.join("slaves")).iter().map(|entry| entry.replace('!', "/")).collect();
    in_natural_order(&mut names);
    names
}

/// The devices that the kernel links as holders of the device at `directory`.
pub(crate) fn holders(root: &Root, directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        root.names(directory.join("holders")).iter().map(|entry| entry.replace('!', "/")).collect();
    in_natural_order(&mut names);
    names
}

/// The cached device, then its caches.
fn bcache(root: &Root, directory: &Path) -> Vec<Member> {
    let own = directory.join("bcache");
    // The link leads to a directory within that of the backing device.
    let backing = root.real(&own).and_then(|place| place::name(place.parent()?));
    let mut names = slaves(root, directory);
    if names.is_empty() {
        names.extend(backing.filter(|name| place::directory(root, name).is_some()));
    }
    let mut members = with_roles(names, |_| Some("backing".to_owned()));
    let set = own.join("cache");
    let caches = root.numbered(&set, "cache").into_iter().filter_map(|number| {
        let name = place::name(root.real(set.join(format!("cache{number}")))?.parent()?)?;
        Some(Member { name, role: Some("cache".to_owned()) })
    });
    members.extend(caches);
    members
}

/// The UUID of the cache set to which the device at `directory` belongs as a cache.
pub(crate) fn bcache_set(root: &Root, directory: &Path) -> Option<String> {
    place::name(&root.real(directory.join("bcache/set"))?)
}

/// The paths to a namespace. Since Linux 6.15 they are linked; before, they are found by name.
fn nvme_paths(root: &Root, name: &str, directory: &Path) -> Vec<Member> {
    let mut names = root.names(directory.join("multipath"));
    if names.is_empty() {
        names = place::all(root).into_iter().filter(|path| nvme_head_of_path(path).as_deref() == Some(name)).collect();
    }
    in_natural_order(&mut names);
    with_roles(names, |path| root.word(place::directory(root, path)?.join("ana_state")))
}

/// The namespace of a path: `nvme0n2` for `nvme0c1n2`, which is the path by the controller 1 of the subsystem 0. `None`
/// if the name is not that of a path.
pub(crate) fn nvme_head_of_path(name: &str) -> Option<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    let is_path = is_number(subsystem) && is_number(controller) && is_number(namespace);
    is_path.then(|| format!("nvme{subsystem}n{namespace}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_paths_tell_the_namespace() {
        assert_eq!(nvme_head_of_path("nvme0c1n2").as_deref(), Some("nvme0n2"));
        assert_eq!(nvme_head_of_path("nvme10c0n1").as_deref(), Some("nvme10n1"));
        for other in ["nvme0n1", "nvme0n1p2", "nvme0c1n2p1", "nvmec1n2", "nvme0c1", "sdc1n2", "nvme0cn", ""] {
            assert_eq!(nvme_head_of_path(other), None, "{other}");
        }
    }
}
