//! ZFS pools: devices and state, from files in /proc and /sys.

use crate::nvlist::{self, List};
use crate::root::Root;
use model::environment::ZfsMember;
use std::path::{Path, PathBuf};

/// Configurations of the pools that are imported at boot.
const CACHE: &str = "/etc/zfs/zpool.cache";
/// The maximum depth of groups: a pool has three levels.
const DEPTH_MAX: usize = 8;

/// `ONLINE`, `DEGRADED` ...
pub(crate) fn state(root: &Root, pool: &str) -> Option<String> {
    // A pool's name begins with a letter and holds no slash.
    let is_name = pool.starts_with(|c: char| c.is_ascii_alphabetic()) && !pool.contains('/');
    root.word(is_name.then(|| format!("/proc/spl/kstat/zfs/{pool}/state"))?)
}

/// Members of `pool`; `None` if its configuration cannot be read.
pub(crate) fn members(root: &Root, pool: &str) -> Option<Vec<ZfsMember>> {
    let bytes = root.bytes(CACHE)?;
    let pools = nvlist::unpack(&bytes)?;
    Some(top_members(pools.list(pool)?.list("vdev_tree")?))
}

/// All pools, and the paths of the devices in each.
pub(crate) fn all(root: &Root) -> Vec<(String, Vec<PathBuf>)> {
    let bytes = root.bytes(CACHE).unwrap_or_default();
    let pools = nvlist::unpack(&bytes).unwrap_or_default();
    let names = pools.pairs.iter().map(|(name, _)| *name);
    let paths = |name: &str| {
        let mut paths = Vec::new();
        for member in &top_members(pools.list(name)?.list("vdev_tree")?) {
            collect_paths(member, &mut paths);
        }
        Some((name.to_owned(), paths))
    };
    names.filter_map(paths).collect()
}

fn collect_paths(member: &ZfsMember, paths: &mut Vec<PathBuf>) {
    paths.extend(member.path.clone());
    for below in &member.members {
        collect_paths(below, paths);
    }
}

/// Top-level members: those for data, then caches and spares, which are listed separately.
fn top_members(tree: &List) -> Vec<ZfsMember> {
    let mut members: Vec<ZfsMember> = tree.lists("children").iter().map(|list| member(list, 0)).collect();
    for (name, role) in [("l2cache", "cache"), ("spares", "spare")] {
        let others = tree.lists(name).iter().map(|list| member(list, 0));
        members.extend(others.map(|member| ZfsMember { role: Some(role.to_owned()), ..member }));
    }
    members
}

fn member(list: &List, depth: usize) -> ZfsMember {
    let kind = list.text("type").unwrap_or_default();
    let parity = list.number("nparity").filter(|_| matches!(kind, "raidz" | "draid"));
    let is_log = list.number("is_log") == Some(1);
    let role = if is_log { Some("log") } else { list.text("alloc_bias") };
    let below = if depth < DEPTH_MAX { list.lists("children") } else { &[] };
    ZfsMember {
        kind: parity.map_or_else(|| kind.to_owned(), |parity| format!("{kind}{parity}")),
        role: role.map(str::to_owned),
        path: list.text("path").filter(|path| path.starts_with('/')).map(|path| Path::new(path).to_owned()),
        device: None,
        members: below.iter().map(|list| member(list, depth + 1)).collect(),
    }
}
