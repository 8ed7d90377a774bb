//! The online CPUs: cores, sockets, NUMA nodes, and the affinity of this process.

use crate::root::{CPU_DIRECTORY, Root, cpu_directory};
use crate::{caches, classes, syntax};
use model::topology::{Cpu, Topology};
use std::collections::BTreeMap;

const NODE_DIRECTORY: &str = "/sys/devices/system/node";

/// Reads the topology. Where the kernel reports none, one thread per core, one socket and one node are assumed.
pub(crate) fn topology(root: &Root) -> Topology {
    let online = online(root);
    let possible = root.cpu_list(format!("{CPU_DIRECTORY}/possible")).unwrap_or_default();
    let highest = online.iter().chain(&possible).max().copied().unwrap_or(0);
    let cores = cores(root, &online);
    let sockets = sockets(root, &online);
    let nodes = nodes(root);
    let classes = classes::rank(root, &online, &cores);
    let allowed = allowed(root);
    let cpus = online
        .iter()
        .enumerate()
        .map(|(index, &id)| Cpu {
            id,
            core: cores[index],
            socket: sockets[index],
            node: nodes.get(&id).copied().unwrap_or(0),
            class: classes[index],
            allowed: allowed.as_ref().is_none_or(|allowed| allowed.binary_search(&id).is_ok()),
        })
        .collect();
    Topology { cpus, possible_cpus: highest + 1, caches: caches::read(root, &online) }
}

/// The online CPUs, ascending, never empty: from /sys, else (a container without it) from /proc/stat, else the affinity
/// mask of this process, else CPU 0.
fn online(root: &Root) -> Vec<u32> {
    let listed = root.cpu_list(format!("{CPU_DIRECTORY}/online"));
    let sources = [listed, in_proc_stat(root), allowed(root)];
    sources.into_iter().flatten().find(|cpus| !cpus.is_empty()).unwrap_or_else(|| vec![0])
}

fn in_proc_stat(root: &Root) -> Option<Vec<u32>> {
    let text = root.text("/proc/stat")?;
    let numbers = text.lines().filter_map(|line| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok());
    let mut cpus: Vec<u32> = numbers.filter(|cpu| *cpu < syntax::CPUS_MAX).collect();
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// The affinity mask of this process; `None` if it cannot be read. The process's first thread still has the initial
/// mask of the process.
fn allowed(root: &Root) -> Option<Vec<u32>> {
    syntax::cpu_list(syntax::labelled(&root.text("/proc/self/status")?, "Cpus_allowed_list")?)
}

fn package(root: &Root, cpu: u32) -> i64 {
    // -1 where the firmware does not report it.
    root.word(format!("{}/topology/physical_package_id", cpu_directory(cpu)))
        .and_then(|id| id.parse().ok())
        .unwrap_or(0)
}

/// The core of each online CPU, numbered in order of each core's lowest CPU.
fn cores(root: &Root, online: &[u32]) -> Vec<u32> {
    let mut keys: Vec<(i64, u32)> = Vec::new();
    let mut numbers = BTreeMap::new();
    for &cpu in online {
        let topology = format!("{}/topology", cpu_directory(cpu));
        // The second name is that of kernels before 5.3.
        let siblings = ["core_cpus_list", "thread_siblings_list"]
            .iter()
            .find_map(|name| root.cpu_list(format!("{topology}/{name}")))
            .unwrap_or_default();
        let lowest = siblings.first().map_or(cpu, |first| cpu.min(*first));
        keys.push((package(root, cpu), lowest));
    }
    keys.iter()
        .map(|key| {
            let next = numbers.len() as u32;
            *numbers.entry(*key).or_insert(next)
        })
        .collect()
}

/// The socket of each online CPU, renumbered from 0 in order of the kernel's ids.
fn sockets(root: &Root, online: &[u32]) -> Vec<u32> {
    let packages: Vec<i64> = online.iter().map(|cpu| package(root, *cpu)).collect();
    let mut distinct = packages.clone();
    distinct.sort_unstable();
    distinct.dedup();
    // Every package is in the list that was made from them.
    packages.iter().map(|package| distinct.binary_search(package).unwrap_or(0) as u32).collect()
}

/// The node of each CPU; nodes with memory only are left out.
pub(crate) fn nodes(root: &Root) -> BTreeMap<u32, u32> {
    let mut nodes = BTreeMap::new();
    for node in root.numbered(NODE_DIRECTORY, "node") {
        let cpus = root.cpu_list(format!("{NODE_DIRECTORY}/node{node}/cpulist")).unwrap_or_default();
        nodes.extend(cpus.into_iter().map(|cpu| (cpu, node)));
    }
    nodes
}
