//! The system around a run, and the storage below its targets.

use crate::block::place;
use crate::root::Root;
use crate::storage::Walk;
use crate::syntax::labelled_kib;
use crate::{cgroup_limits, cpus, distribution, hypervisor, mounts, processor, resolve};
use model::device_interval::WatchedMachine;
use model::environment::{Backing, Environment, TargetEnvironment};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Describes the system. Properties that cannot be read are unknown.
pub fn environment(root: &Root) -> Environment {
    Environment {
        kernel_release: root.word("/proc/sys/kernel/osrelease"),
        kernel_version: root.word("/proc/sys/kernel/version"),
        distribution: distribution::name(root),
        hypervisor: hypervisor::detect(root),
        memory_bytes: root.text("/proc/meminfo").and_then(|text| labelled_kib(&text, "MemTotal")),
        cgroup_limits: cgroup_limits::read(root, &mounts::read(root)),
    }
}

/// The machine for a recording of device counters.
pub fn watched_machine(root: &Root) -> WatchedMachine {
    WatchedMachine {
        processor_name: processor::name(root),
        cpu_count: u32::try_from(cpus::topology(root).cpus.len()).unwrap_or(u32::MAX),
        environment: environment(root),
    }
}

/// Describes the storage below each of `paths`, whether it exists or not. Only the kernel's own files are opened.
pub fn target_environment(root: &Root, paths: &[PathBuf]) -> BTreeMap<PathBuf, TargetEnvironment> {
    let mounts = mounts::read(root);
    let mut known = BTreeMap::new();
    paths.iter().map(|path| (path.clone(), one(&mut Walk::new(root, &mounts), &mut known, root, path))).collect()
}

/// `known`: storage already described, by mount ID. Many targets are on few mounts.
fn one(walk: &mut Walk, known: &mut BTreeMap<u32, TargetEnvironment>, root: &Root, path: &Path) -> TargetEnvironment {
    let place = resolve::on_machine(root, path);
    let file_type = fs::metadata(root.path(&place)).map(|metadata| metadata.file_type());
    if file_type.as_ref().is_ok_and(FileTypeExt::is_char_device) {
        return TargetEnvironment::default();
    }
    let is_file = file_type.is_ok_and(|kind| !kind.is_block_device());
    if !is_file && let Some(name) = place::by_path(root, &place) {
        let devices = walk.device(&name).into_iter().collect();
        return TargetEnvironment { mount: None, backing: Backing::Devices(devices) };
    }
    let Some(mount) = mounts::holding(walk.mounts(), &place) else { return TargetEnvironment::default() };
    let describe = || TargetEnvironment { mount: Some(mount.describe()), backing: walk.backing(mount) };
    known.entry(mount.id).or_insert_with(describe).clone()
}
