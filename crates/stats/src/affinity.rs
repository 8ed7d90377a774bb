//! Core types that were used together.

use model::affinity::{AffinityEntry, compact};
use model::limits::CPUS_PER_GROUP;
use model::result::MixedCores;
use model::topology::Topology;

/// The CPUs used of the highest class and of all others, if there are both.
pub fn mixed_cores(effective: &[AffinityEntry], topology: &Topology) -> Option<MixedCores> {
    let highest = topology.highest_class();
    let class =
        |group: u16, number: u32| topology.cpu(u32::from(group) * CPUS_PER_GROUP + number).map_or(0, |cpu| cpu.class);
    let used = effective.iter().flat_map(|entry| entry.cpus().map(|number| (entry.group, number)));
    let (performance, efficiency): (Vec<_>, Vec<_>) =
        used.partition(|&(group, number)| class(group, number) == highest);
    if highest == 0 || performance.is_empty() || efficiency.is_empty() {
        return None;
    }
    Some(MixedCores { performance: compact(performance), efficiency: compact(efficiency) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::topology::Cpu;

    fn machine(classes: &[u32]) -> Topology {
        let cpu = |(id, &class)| Cpu { id, core: id, socket: 0, node: 0, class, allowed: true };
        let cpus = (0u32..).zip(classes).map(cpu).collect();
        Topology { cpus, possible_cpus: classes.len() as u32, caches: Vec::new() }
    }

    #[test]
    fn both_kinds_in_effective_order() {
        let mixed = mixed_cores(&compact([(0, 3), (0, 1), (0, 0), (0, 2)]), &machine(&[1, 1, 0, 0]));
        let expected = MixedCores { performance: compact([(0, 1), (0, 0)]), efficiency: compact([(0, 3), (0, 2)]) };
        assert_eq!(mixed, Some(expected));
    }

    #[test]
    fn every_class_below_the_highest_counts_as_efficiency() {
        let mixed = mixed_cores(&compact([(0, 0), (0, 1), (0, 2)]), &machine(&[0, 1, 2])).expect("mixed");
        assert_eq!(mixed.efficiency, compact([(0, 0), (0, 1)]));
    }

    #[test]
    fn one_kind_is_not_mixed() {
        assert_eq!(mixed_cores(&compact([(0, 0), (0, 1)]), &machine(&[1, 1, 0, 0])), None);
        assert_eq!(mixed_cores(&compact([(0, 2), (0, 3)]), &machine(&[1, 1, 0, 0])), None);
        assert_eq!(mixed_cores(&compact([(0, 0), (0, 1)]), &machine(&[0, 0])), None);
    }
}
