//! CPUs of the threads, and of the disk's interrupts.

use super::{RuleContext, VerdictRule, stack};
use crate::rule::Observation;
use model::affinity::{AffinityEntry, list_text};
use model::block_device::{BlockDevice, only_interrupt_cpu};
use model::finding::Severity;
use model::limits::CPUS_PER_GROUP;
use model::plan::WorkerPlan;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULES: &[VerdictRule] = &[VerdictRule {
    name: "interrupt-cpu",
    severity: Severity::Note,
    unit: "CPU number",
    computed_from: "the CPU that handles the interrupts of all queues of a disk (actions and effective_affinity_list \
                    of the adapter's interrupts in /sys and /proc/irq, before the run). Reported if there is only one \
                    such CPU, this process may use it, and all threads with targets on the disk are bound to other \
                    CPUs. Only for I/O that bypasses the page cache, and for devices to which `other-io` applies. [Why](decisions/0014-placement.md)",
    advice: "compare with a run bound to that CPU (-a), and with an unbound one (-n): a completion handled on another CPU \
             reaches the thread later",
    evaluate: |context| {
        disks(context).into_values().filter_map(|(disk, targets)| elsewhere(context, disk, &targets)).collect()
    },
}];

/// The disks of the run's I/O past the page cache, by name, and the targets on each.
fn disks<'a>(context: &RuleContext<'a>) -> BTreeMap<&'a str, (&'a BlockDevice, BTreeSet<usize>)> {
    let mut disks = BTreeMap::new();
    for row in context.measured.rows.iter().filter(|row| context.meant_the_device(row)) {
        let Some(disk) = stack::chain(context, row.target).and_then(|chain| chain.last().copied()) else { continue };
        disks.entry(disk.name.as_str()).or_insert_with(|| (disk, BTreeSet::new())).1.insert(row.target);
    }
    disks
}

/// No thread on one of the targets ran on the CPU of their disk's interrupts, although it might have.
fn elsewhere(context: &RuleContext<'_>, disk: &BlockDevice, targets: &BTreeSet<usize>) -> Option<Observation> {
    let cpu = only_interrupt_cpu(&disk.queue.interrupt_cpus)?;
    let may_run_there = context.result.system.topology.cpu(cpu).is_some_and(|cpu| cpu.allowed);
    let serves = |worker: &&WorkerPlan| worker.targets.iter().any(|work| targets.contains(&work.target));
    let is_bound_elsewhere = |worker: &WorkerPlan| worker.cpu.is_some_and(|own| own != cpu);
    let is_elsewhere = context.plan?.workers.iter().filter(serves).all(is_bound_elsewhere);
    let entry = AffinityEntry { group: (cpu / CPUS_PER_GROUP) as u16, mask: 1 << (cpu % CPUS_PER_GROUP) };
    let listed = match entry.group {
        0 => list_text(&[entry], false),
        group => format!("g{group},{}", list_text(&[entry], false)),
    };
    let figure = format!(
        "{} sends its interrupts to CPU {cpu}, on which no thread ran; -a{listed} or -n may be faster",
        disk.name
    );
    (may_run_there && is_elsewhere).then(|| Observation::new(figure, f64::from(cpu)).with_subject(&disk.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{CaseResult, PATH};
    use model::environment::Backing;
    use model::topology::Cpu;
    use std::path::Path;

    /// A thread on CPU 0 that reads past the cache from a disk whose queues interrupt these.
    fn interrupting(cpus: &[u32]) -> CaseResult {
        let mut built = CaseResult::sound();
        built.plan().targets[0].open.direct = true;
        let environment = built.result.targets.environments.get_mut(Path::new(PATH)).expect("the target");
        let Backing::Devices(devices) = &mut environment.backing else { panic!("a partition") };
        devices[0].below[0].queue.interrupt_cpus = cpus.to_vec();
        built.result.system.topology.cpus =
            [0, 1, 70].map(|id| Cpu { id, core: id, socket: 0, node: 0, class: 0, allowed: true }).into();
        built
    }

    #[test]
    fn threads_that_run_elsewhere_are_noted() {
        assert_eq!(
            interrupting(&[1]).found(RULES),
            ["NOTE interrupt-cpu: sda sends its interrupts to CPU 1, on which no thread ran; -a1 or -n may be faster"]
        );
        assert!(interrupting(&[70, 70]).found(RULES)[0].ends_with("-ag1,6 or -n may be faster"));
    }

    #[test]
    fn where_another_placement_is_not_known_to_help_it_is_silent() {
        let known: [&[u32]; 4] = [&[0], &[0, 1], &[], &[9]];
        for cpus in known {
            assert_eq!(interrupting(cpus).found(RULES), [""; 0], "{cpus:?}");
        }
        let mut unbound = interrupting(&[1]);
        unbound.plan().workers[0].cpu = None;
        assert_eq!(unbound.found(RULES), [""; 0]);
        let mut buffered = interrupting(&[1]);
        buffered.plan().targets[0].open.direct = false;
        assert_eq!(buffered.found(RULES), [""; 0]);
        let mut forbidden = interrupting(&[1]);
        forbidden.result.system.topology.cpus[1].allowed = false;
        assert_eq!(forbidden.found(RULES), [""; 0]);
    }
}
