//! Power saving of processors, and distances of memory nodes.

use crate::root::{Root, cpu_directory};
use model::check::{IdleState, ProcessorState};
use model::topology::Topology;
use std::collections::BTreeMap;

const NODES: &str = "/sys/devices/system/node";

/// Reads the state of the CPUs in the affinity mask of this process.
pub fn processor_state(root: &Root, topology: &Topology) -> ProcessorState {
    let allowed = || topology.cpus.iter().filter(|cpu| cpu.allowed);
    let mut governors = BTreeMap::new();
    for cpu in allowed() {
        if let Some(governor) = root.word(format!("{}/cpufreq/scaling_governor", cpu_directory(cpu.id))) {
            *governors.entry(governor).or_insert(0) += 1;
        }
    }
    ProcessorState {
        governors,
        idle_states: allowed().next().map(|cpu| idle_states(root, cpu.id)).unwrap_or_default(),
        may_hold_latency: sys::file::may_write(&root.path(sys::cpu_latency::DOOR)).is_ok(),
        node_distances: node_distances(root),
    }
}

fn idle_states(root: &Root, cpu: u32) -> Vec<IdleState> {
    let folder = format!("{}/cpuidle", cpu_directory(cpu));
    let state = |number: u32| {
        let at = |file: &str| format!("{folder}/state{number}/{file}");
        let is_on = root.switch(at("disable")) != Some(true);
        let state = IdleState { exit_latency_us: root.number(at("latency"))?, name: root.word(at("name"))? };
        is_on.then_some(state)
    };
    root.numbered(&folder, "state").into_iter().filter_map(state).collect()
}

/// Each node's file has its distances to all nodes, in the order of their numbers.
fn node_distances(root: &Root) -> BTreeMap<u32, BTreeMap<u32, u32>> {
    let nodes = root.numbered(NODES, "node");
    let of_node = |node: &u32| {
        let text = root.text(format!("{NODES}/node{node}/distance"))?;
        let distances: Vec<u32> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let is_whole = distances.len() == nodes.len();
        is_whole.then(|| (*node, nodes.iter().copied().zip(distances).collect()))
    };
    nodes.iter().filter_map(of_node).collect()
}
