//! `--near-device`: each thread on a CPU of the NUMA node that its targets' disks are attached to.

use crate::findings::Findings;
use model::facts::Facts;
use model::note::Note;
use model::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Assigns CPUs, those of each set of nodes round robin in the order of `-a`.
#[derive(Debug)]
pub(crate) struct NearDevice<'a> {
    facts: &'a Facts,
    cpus: &'a [u32],
    handed_out: BTreeMap<BTreeSet<u32>, usize>,
}

impl<'a> NearDevice<'a> {
    /// With these CPUs, which must not be empty.
    pub(crate) fn new(facts: &'a Facts, cpus: &'a [u32]) -> Self {
        Self { facts, cpus, handed_out: BTreeMap::new() }
    }

    /// The CPU of the next thread with these targets. If no node is known, or none of its CPUs is allowed, it is any
    /// CPU, with a note.
    pub(crate) fn next<'t>(&mut self, targets: impl Iterator<Item = &'t Path>, findings: &mut Findings) -> u32 {
        let mut nodes = BTreeSet::new();
        for path in targets {
            let mut known =
                self.facts.disks.get(path).into_iter().flatten().filter_map(|disk| disk.numa_node).peekable();
            if known.peek().is_none() {
                no_effect(findings, format!("the NUMA node of '{}' is not known", path.display()));
            }
            nodes.extend(known);
        }
        let near = on_nodes(self.cpus, &nodes, &self.facts.system.topology);
        if near.is_empty() && !nodes.is_empty() {
            let list = nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            no_effect(findings, format!("this process may not use any CPU of NUMA node {list}"));
        }
        let cpus = if near.is_empty() { self.cpus } else { &near };
        let turn = self.handed_out.entry(nodes).or_default();
        *turn += 1;
        cpus[(*turn - 1) % cpus.len()]
    }
}

fn no_effect(findings: &mut Findings, reason: String) {
    findings.note(Note::OptionWithoutEffect { option: "--near-device".to_owned(), reason });
}

fn on_nodes(cpus: &[u32], nodes: &BTreeSet<u32>, topology: &Topology) -> Vec<u32> {
    let is_near = |cpu: &u32| topology.cpu(*cpu).is_some_and(|cpu| nodes.contains(&cpu.node));
    cpus.iter().copied().filter(is_near).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::facts::DiskFacts;
    use model::plan::Plan;
    use model::topology::Cpu;

    /// Eight CPUs, even ones on node 0, odd ones on node 1.
    fn facts() -> Facts {
        let cpus = (0..8).map(|id| Cpu { id, core: id, socket: 0, node: id % 2, class: 0, allowed: true }).collect();
        let nodes = [("a", vec![0]), ("b", vec![1]), ("both", vec![0, 1]), ("far", vec![7]), ("none", vec![])];
        let mut facts = Facts::default();
        facts.system.topology = Topology { cpus, possible_cpus: 8, caches: Vec::new() };
        let disk = |node| DiskFacts { numa_node: Some(node), ..DiskFacts::default() };
        facts.disks =
            nodes.into_iter().map(|(path, nodes)| (path.into(), nodes.into_iter().map(disk).collect())).collect();
        facts
    }

    fn cpus_for(threads: &[&[&str]]) -> (Vec<u32>, Vec<String>) {
        let facts = facts();
        let order = [0, 1, 2, 3, 4, 5, 6, 7];
        let mut near = NearDevice::new(&facts, &order);
        let mut findings = Findings::default();
        let mut next = |paths: &&[&str]| near.next(paths.iter().map(Path::new), &mut findings);
        let cpus = threads.iter().map(&mut next).collect();
        let notes = findings.into_result(|notes| Plan { notes, ..Plan::default() }).expect("nothing is refused").notes;
        (cpus, notes.iter().map(Note::to_string).collect())
    }

    #[test]
    fn each_thread_runs_on_the_node_of_its_own_disk() {
        let (cpus, notes) = cpus_for(&[&["a"], &["b"], &["a"], &["b"], &["a"], &["both"]]);
        assert_eq!(cpus, [0, 1, 2, 3, 4, 0]);
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn what_is_not_known_is_said_and_leaves_all_cpus() {
        let (cpus, notes) = cpus_for(&[&["none"], &["none"], &["far"]]);
        assert_eq!(cpus, [0, 1, 0]);
        assert_eq!(
            notes,
            [
                "--near-device has no effect: the NUMA node of 'none' is not known",
                "--near-device has no effect: this process may not use any CPU of NUMA node 7"
            ]
        );
    }
}
