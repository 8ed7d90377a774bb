//! Threads on the CPUs of the disk's interrupts: docs/decisions/0014-placement.md.

use model::block_device::only_interrupt_cpu;
use model::facts::Facts;
use model::profile::{Affinity, EfficiencyOrder, GroupSpan, TimeSpan, Traversal};
use std::collections::BTreeMap;
use std::path::Path;

/// The interrupt CPUs of the queues of each disk below these targets, if known, by its name.
pub(crate) fn disks<'a>(targets: impl Iterator<Item = &'a Path>, facts: &'a Facts) -> BTreeMap<&'a str, &'a [u32]> {
    let disks = targets.filter_map(|path| facts.disks.get(path)).flatten();
    let known = disks.filter(|disk| !disk.interrupt_cpus.is_empty());
    known.map(|disk| (disk.name.as_str(), disk.interrupt_cpus.as_slice())).collect()
}

/// The order in which threads take CPUs, beginning with the CPU that all known disks interrupt, unless the user named
/// CPUs or an order. Performance cores still come before others.
pub(crate) fn first(mut order: Vec<u32>, time_span: &TimeSpan, facts: &Facts) -> Vec<u32> {
    let class = |cpu| facts.system.topology.cpu(cpu).map(|cpu| cpu.class);
    let cpu = if is_default(&time_span.affinity) { interrupted(time_span, facts) } else { None };
    if let Some(at) = order.iter().position(|place| Some(*place) == cpu)
        && class(order[at]) == class(order[0])
    {
        order[..=at].rotate_right(1);
    }
    order
}

/// The CPU that all known disks of a timespan interrupt.
fn interrupted(time_span: &TimeSpan, facts: &Facts) -> Option<u32> {
    let targets = time_span.targets.iter().map(|target| target.path.as_path());
    let cpus = disks(targets, facts).into_values().flatten().copied().collect::<Vec<_>>();
    only_interrupt_cpu(&cpus)
}

/// True if the user named no CPUs and no other order. A profile in XML always names an order.
fn is_default(affinity: &Affinity) -> bool {
    let Affinity { disabled: _, traversal, group_span, efficiency, listed } = affinity;
    listed.is_empty()
        && traversal.unwrap_or_default() == Traversal::default()
        && group_span.unwrap_or_default() == GroupSpan::default()
        && efficiency.unwrap_or_default() == EfficiencyOrder::default()
}

#[cfg(test)]
mod tests {
    use crate::fixture::{facts, planned, profile, span, target, theirs};
    use model::affinity::AffinityEntry;
    use model::facts::{DiskFacts, Facts, TargetKind};
    use model::profile::{EfficiencyOrder, TimeSpan, Traversal};

    /// Four CPUs; the files are on disks whose queues interrupt these CPUs.
    fn machine(disks: &[(&str, &[u32])]) -> Facts {
        let file = |(path, _): &(&'static str, _)| (*path, TargetKind::Regular(theirs(1, 1 << 30)));
        let mut facts = facts([("a", 0), ("b", 0), ("c", 0)].iter().map(file));
        for (path, cpus) in disks {
            let disk =
                DiskFacts { name: format!("disk of {path}"), interrupt_cpus: cpus.to_vec(), ..DiskFacts::default() };
            facts.disks.entry(path.into()).or_default().push(disk);
        }
        facts
    }

    /// The CPUs of two threads for each target.
    fn cpus(change: impl FnOnce(&mut TimeSpan), facts: &Facts, paths: &[&str]) -> Vec<Option<u32>> {
        let mut time_span = span(paths.iter().map(|path| target(path, |target| target.threads = 2)));
        change(&mut time_span);
        let plan = planned(&profile(time_span), facts);
        plan.time_spans[0].workers.iter().map(|worker| worker.cpu).collect()
    }

    fn default_cpus(disks: &[(&str, &[u32])], paths: &[&str]) -> Vec<u32> {
        cpus(|_| {}, &machine(disks), paths).into_iter().flatten().collect()
    }

    #[test]
    fn the_cpu_that_the_disk_interrupts_comes_first() {
        assert_eq!(default_cpus(&[("a", &[2])], &["a"]), [2, 0]);
        assert_eq!(default_cpus(&[("a", &[2])], &["a", "b"]), [2, 0, 1, 3], "b's disk is not known");
        assert_eq!(default_cpus(&[("a", &[1]), ("b", &[1])], &["a", "b"]), [1, 0, 2, 3]);
        assert_eq!(default_cpus(&[("a", &[3, 3])], &["a"]), [3, 0]);
        assert_eq!(default_cpus(&[("a", &[0])], &["a"]), [0, 1]);
    }

    #[test]
    fn without_one_cpu_that_all_agree_on_the_order_stays() {
        let machines: [&[(&str, &[u32])]; 4] =
            [&[("a", &[1, 2])], &[("a", &[1]), ("b", &[2])], &[("a", &[9])], &[("a", &[])]];
        for disks in machines {
            assert_eq!(default_cpus(disks, &["a", "b"]), [0, 1, 2, 3], "{disks:?}");
        }
    }

    #[test]
    fn what_the_user_says_of_cpus_holds() {
        let facts = machine(&[("a", &[2])]);
        let on = |change: fn(&mut TimeSpan)| cpus(change, &facts, &["a"]);
        let group = |span: &mut TimeSpan| span.affinity.listed.push(AffinityEntry::whole_group(0));
        assert_eq!(on(group), [Some(0), Some(1)]);
        assert_eq!(on(|span| span.affinity.traversal = Some(Traversal::CoreAware)), [Some(0), Some(1)]);
        assert_eq!(on(|span| span.affinity.disabled = true), [None, None]);
        // The default as written in profiles.
        let choose_cpus = |span: &mut TimeSpan| {
            span.affinity.traversal = Some(Traversal::Cpu);
            span.affinity.efficiency = Some(EfficiencyOrder::PerformanceFirst);
        };
        assert_eq!(on(choose_cpus), [Some(2), Some(0)]);
    }

    #[test]
    fn cpus_that_may_not_be_used_and_efficiency_cores_do_not_come_first() {
        let mut facts = machine(&[("a", &[2])]);
        facts.system.topology.cpus[2].allowed = false;
        assert_eq!(cpus(|_| {}, &facts, &["a"]), [Some(0), Some(1)]);
        facts.system.topology.cpus[2].allowed = true;
        for performance in [0, 1] {
            facts.system.topology.cpus[performance].class = 1;
        }
        assert_eq!(cpus(|_| {}, &facts, &["a"]), [Some(0), Some(1)]);
    }
}
