//! Threads to CPUs: `-a` in every form.

use crate::findings::{Findings, RefusalKind};
use model::affinity::{self, AffinityEntry};
use model::limits::CPUS_PER_GROUP;
use model::profile::{Affinity, EfficiencyOrder, GroupSpan, Profile, Traversal};
use model::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};

/// A CPU in the order in which threads take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    cpu: u32,
    group: u16,
    class: u32,
    /// Index of this CPU among the CPUs of its physical core.
    pass: usize,
}

/// The CPUs that threads take, round robin; `None` = threads are not bound, or after a refusal.
pub(crate) fn cpu_order(affinity: &Affinity, topology: &Topology, findings: &mut Findings) -> Option<Vec<u32>> {
    if affinity.disabled {
        return None;
    }
    let mut sound = true;
    for &entry in &affinity.listed {
        if let Err(message) = check(entry, topology) {
            findings.refuse(RefusalKind::Invalid, message);
            sound = false;
        }
    }
    if !sound {
        return None;
    }
    let cpus = ordered(affinity, topology);
    if cpus.is_empty() {
        findings.refuse(RefusalKind::Impossible, "this process may not run on any online CPU; -n runs threads unbound");
        return None;
    }
    Some(cpus)
}

/// Errors in the CPUs that a profile lists, on this machine: one message per entry. For callers that report these with
/// other errors of the profile; [`crate::plan`] finds them too.
pub fn check_affinity(profile: &Profile, topology: &Topology) -> Vec<String> {
    let several = profile.time_spans.len() > 1;
    let mut findings = Findings::default();
    for (index, time_span) in profile.time_spans.iter().enumerate() {
        findings.enter(several.then_some(index + 1));
        // Also with -n, which excludes a list: all errors are reported at once.
        let faults = time_span.affinity.listed.iter().filter_map(|&entry| check(entry, topology).err());
        faults.for_each(|message| findings.refuse(RefusalKind::Invalid, message));
    }
    findings.into_messages(RefusalKind::Invalid)
}

/// The CPUs of the first round of threads as in reports: compacted.
pub(crate) fn effective(cpus: impl Iterator<Item = u32>) -> Vec<AffinityEntry> {
    affinity::compact(cpus.map(split))
}

/// These CPUs, ascending and compacted.
pub(crate) fn sorted(cpus: &[u32]) -> Vec<AffinityEntry> {
    let cpus: BTreeSet<u32> = cpus.iter().copied().collect();
    effective(cpus.into_iter())
}

const fn split(cpu: u32) -> (u16, u32) {
    ((cpu / CPUS_PER_GROUP) as u16, cpu % CPUS_PER_GROUP)
}

/// The error in one listed entry on this machine.
fn check(entry: AffinityEntry, topology: &Topology) -> Result<(), String> {
    let group = entry.group;
    let groups = topology.group_count();
    if u32::from(group) >= groups {
        return Err(format!(
            "-a names processor group {group}, but the last group of this machine is {} (group = CPU number / 64)",
            groups.saturating_sub(1)
        ));
    }
    let online = topology.online_mask(group);
    let allowed = topology.allowed_mask(group);
    if entry.is_whole_group() {
        return match (online, allowed) {
            (0, _) => Err(format!("-ag{group}: no CPU of processor group {group} is online")),
            (_, 0) => Err(format!("-ag{group}: this process may not use any CPU of processor group {group}")),
            _ => Ok(()),
        };
    }
    let mut wrong = Vec::new();
    if entry.mask & !online != 0 {
        let cpus = affinity::ranges_text(entry.mask & !online);
        wrong.push(format!("{cpus} not online (online: {online:#x})"));
    }
    if entry.mask & online & !allowed != 0 {
        let cpus = affinity::ranges_text(entry.mask & online & !allowed);
        wrong.push(format!("{cpus} outside the CPU affinity mask or cpuset of this process (allowed: {allowed:#x})"));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!(
        "-a: mask {:#x} of processor group {group} includes CPUs that cannot be used: {}",
        entry.mask,
        wrong.join("; ")
    ))
}

/// Expands, tags and sorts the source list.
fn ordered(affinity: &Affinity, topology: &Topology) -> Vec<u32> {
    let mut turns: BTreeMap<u32, usize> = BTreeMap::new();
    let mut places: Vec<Place> = Vec::new();
    for cpu in source(affinity, topology).iter().filter_map(|&id| topology.cpu(id)) {
        let pass = match affinity.traversal.unwrap_or_default() {
            Traversal::Cpu => 0,
            Traversal::CoreAware => {
                let turn = turns.entry(cpu.core).or_default();
                *turn += 1;
                *turn - 1
            }
        };
        places.push(Place { cpu: cpu.id, group: cpu.group(), class: cpu.class, pass });
    }
    let span = affinity.group_span.unwrap_or_default();
    let efficiency = affinity.efficiency.unwrap_or_default();
    // The sort is stable, so equal keys keep the order of the source list.
    places.sort_by_key(|place| sort_key(*place, span, efficiency));
    places.into_iter().map(|place| place.cpu).collect()
}

/// CPUs as listed, or all allowed ones.
fn source(affinity: &Affinity, topology: &Topology) -> Vec<u32> {
    if affinity.listed.is_empty() {
        return topology.cpus.iter().filter(|cpu| cpu.allowed).map(|cpu| cpu.id).collect();
    }
    let expand = |entry: &AffinityEntry| {
        let mask = if entry.is_whole_group() { topology.allowed_mask(entry.group) } else { entry.mask };
        let first = u32::from(entry.group) * CPUS_PER_GROUP;
        AffinityEntry { group: entry.group, mask }.cpus().map(move |cpu| first + cpu).collect::<Vec<_>>()
    };
    affinity.listed.iter().flat_map(expand).collect()
}

/// Sort key of a place, most significant part first.
fn sort_key(place: Place, span: GroupSpan, efficiency: EfficiencyOrder) -> (u64, u64, u64) {
    let group = u64::from(place.group);
    let pass = place.pass as u64;
    let ascending = u64::from(place.class);
    let descending = u64::from(u32::MAX - place.class);
    let (first, second) = match efficiency {
        EfficiencyOrder::Unordered => (pass, 0),
        EfficiencyOrder::PerformanceFirst => (pass, descending),
        EfficiencyOrder::EfficiencyFirst => (pass, ascending),
        EfficiencyOrder::FillPerformanceFirst => (descending, pass),
        EfficiencyOrder::FillEfficiencyFirst => (ascending, pass),
    };
    match span {
        GroupSpan::Fill => (group, first, second),
        GroupSpan::Span => (first, second, group),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::topology::Cpu;

    /// A machine from (group, cores); a core is its class and its CPUs in the group.
    fn machine(groups: &[&[(u32, &[u32])]]) -> Topology {
        let mut topology = Topology { possible_cpus: groups.len() as u32 * 64, ..Topology::default() };
        let mut core = 0;
        for (group, cores) in groups.iter().enumerate() {
            for (class, cpus) in *cores {
                for cpu in *cpus {
                    let id = group as u32 * 64 + cpu;
                    topology.cpus.push(Cpu { id, core, socket: 0, node: 0, class: *class, allowed: true });
                }
                core += 1;
            }
        }
        topology.cpus.sort_by_key(|cpu| cpu.id);
        topology
    }

    /// Parses switches like the command line, as far as these tests need.
    fn switches(text: &str) -> Affinity {
        let mut affinity = Affinity::default();
        for word in text.split_whitespace() {
            let rest = word.strip_prefix("-a").expect("a switch");
            match rest.as_bytes().first() {
                None => {}
                _ if rest == "up" => affinity.efficiency = Some(EfficiencyOrder::Unordered),
                Some(b'g') => affinity.listed.push(AffinityEntry::whole_group(rest[1..].parse().expect("a group"))),
                Some(b'0'..=b'9') => list(rest, &mut affinity.listed),
                Some(_) => rest.chars().for_each(|letter| modifier(letter, &mut affinity)),
            }
        }
        affinity
    }

    fn list(text: &str, listed: &mut Vec<AffinityEntry>) {
        for item in text.split(',') {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let (first, last): (u32, u32) = (first.parse().expect("a CPU"), last.parse().expect("a CPU"));
            (first..=last).for_each(|cpu| affinity::push_cpu(listed, 0, cpu));
        }
    }

    fn modifier(letter: char, affinity: &mut Affinity) {
        match letter {
            'c' => affinity.traversal = Some(Traversal::CoreAware),
            's' => affinity.group_span = Some(GroupSpan::Span),
            'p' => affinity.efficiency = Some(EfficiencyOrder::PerformanceFirst),
            'P' => affinity.efficiency = Some(EfficiencyOrder::FillPerformanceFirst),
            'e' => affinity.efficiency = Some(EfficiencyOrder::EfficiencyFirst),
            'E' => affinity.efficiency = Some(EfficiencyOrder::FillEfficiencyFirst),
            other => panic!("no modifier {other}"),
        }
    }

    fn order(topology: &Topology, text: &str) -> Vec<u32> {
        let mut findings = Findings::default();
        let order = cpu_order(&switches(text), topology, &mut findings);
        order.unwrap_or_else(|| panic!("{text}: {:?}", findings.refusals()))
    }

    /// The rows of a table: alternatives of switches, separated by commas and blanks, and the order, with `group/cpu`
    /// if there are several groups.
    fn check_rows(topology: &Topology, rows: &[(&[&str], &str)]) {
        for (alternatives, expected) in rows {
            for text in *alternatives {
                let several = topology.group_count() > 1;
                let name = |&id: &u32| if several { format!("{}/{}", id / 64, id % 64) } else { id.to_string() };
                let found: Vec<String> = order(topology, text).iter().map(name).collect();
                assert_eq!(found.join(" "), *expected, "with {text:?}");
            }
        }
    }

    fn effective_text(topology: &Topology, text: &str, threads: usize) -> String {
        affinity::list_text(&effective(order(topology, text).into_iter().take(threads)), topology.group_count() > 1)
    }

    fn t1() -> Topology {
        machine(&[&[(0, &[0, 1]), (0, &[2, 3]), (0, &[4, 5]), (0, &[6, 7])]])
    }

    fn t2() -> Topology {
        let cores: &[(u32, &[u32])] =
            &[(1, &[0, 1]), (1, &[2, 3]), (1, &[4, 5]), (0, &[6]), (0, &[7]), (0, &[8]), (0, &[9])];
        machine(&[cores])
    }

    // Shows switches: -ac
    #[test]
    fn t1_one_group_of_adjacent_siblings() {
        check_rows(
            &t1(),
            &[
                (&["", "-as", "-ae", "-aup"], "0 1 2 3 4 5 6 7"),
                (&["-ac", "-acs", "-aPc"], "0 2 4 6 1 3 5 7"),
                (&["-a3,1,2"], "3 1 2"),
                (&["-ac -a0-3"], "0 2 1 3"),
                (&["-ac -a1,0,3,2"], "1 3 0 2"),
                (&["-ac -a0,0,1"], "0 0 1"),
            ],
        );
        for (text, effective) in [
            ("", "0-7"),
            ("-ac", "0,2,4,6 1,3,5,7"),
            ("-a3,1,2", "3 1-2"),
            ("-ac -a0-3", "0,2 1,3"),
            ("-ac -a1,0,3,2", "1,3 0,2"),
            ("-ac -a0,0,1", "0 0-1"),
        ] {
            assert_eq!(effective_text(&t1(), text, 64), effective, "with {text:?}");
        }
        assert_eq!(effective_text(&t1(), "-ac", 5), "0,2,4,6 1");
    }

    #[test]
    fn t1b_one_group_of_split_siblings() {
        let topology = machine(&[&[(0, &[0, 4]), (0, &[1, 5]), (0, &[2, 6]), (0, &[3, 7])]]);
        check_rows(&topology, &[(&["", "-ac"], "0 1 2 3 4 5 6 7")]);
    }

    // Shows switches: -ap
    // Shows switches: -aup
    #[test]
    fn t2_one_hybrid_group() {
        check_rows(
            &t2(),
            &[
                (&["", "-aP", "-aup"], "0 1 2 3 4 5 6 7 8 9"),
                (&["-ac", "-acp", "-ac -aup"], "0 2 4 6 7 8 9 1 3 5"),
                (&["-ae", "-aE"], "6 7 8 9 0 1 2 3 4 5"),
                (&["-ace", "-acE"], "6 7 8 9 0 2 4 1 3 5"),
                (&["-aPc"], "0 2 4 1 3 5 6 7 8 9"),
                (&["-a6-9,0"], "0 6 7 8 9"),
                (&["-aup -a6-9,0"], "6 7 8 9 0"),
                (&["-ac -a0-3,6"], "0 2 6 1 3"),
            ],
        );
        for (text, effective) in [
            ("-ac", "0,2,4,6-9 1,3,5"),
            ("-ae", "6-9 0-5"),
            ("-ace", "6-9 0,2,4 1,3,5"),
            ("-aPc", "0,2,4 1,3,5-9"),
            ("-a6-9,0", "0,6-9"),
            ("-aup -a6-9,0", "6-9 0"),
            ("-ac -a0-3,6", "0,2,6 1,3"),
        ] {
            assert_eq!(effective_text(&t2(), text, 64), effective, "with {text:?}");
        }
    }

    // Shows switches: -ae
    #[test]
    fn t3_efficiency_cores_numbered_first() {
        let cores: &[(u32, &[u32])] =
            &[(0, &[0]), (0, &[1]), (0, &[2]), (0, &[3]), (1, &[4]), (1, &[5]), (1, &[6]), (1, &[7])];
        check_rows(
            &machine(&[cores]),
            &[(&["", "-ac", "-aP"], "4 5 6 7 0 1 2 3"), (&["-aup", "-ae", "-aE"], "0 1 2 3 4 5 6 7")],
        );
    }

    // Shows switches: -as
    #[test]
    fn t4_two_groups_of_one_class() {
        let group: &[(u32, &[u32])] = &[(0, &[0, 1]), (0, &[2, 3])];
        let topology = machine(&[group, group]);
        check_rows(
            &topology,
            &[
                (&["", "-as", "-ag1 -ag0"], "0/0 0/1 0/2 0/3 1/0 1/1 1/2 1/3"),
                (&["-ac"], "0/0 0/2 0/1 0/3 1/0 1/2 1/1 1/3"),
                (&["-acs"], "0/0 0/2 1/0 1/2 0/1 0/3 1/1 1/3"),
            ],
        );
        assert_eq!(effective_text(&topology, "", 64), "0/0-3 1/0-3");
        assert_eq!(effective_text(&topology, "-ac", 64), "0/0,2 0/1,3 1/0,2 1/1,3");
        assert_eq!(effective_text(&topology, "-acs", 64), "0/0,2 1/0,2 0/1,3 1/1,3");
    }

    // Shows switches: -a<cspPeE>
    // Shows switches: -aP
    // Shows switches: -aE
    #[test]
    fn t5_two_hybrid_groups() {
        let group: &[(u32, &[u32])] = &[(1, &[0, 1]), (1, &[2, 3]), (0, &[4]), (0, &[5])];
        check_rows(
            &machine(&[group, group]),
            &[
                (&["", "-aup", "-aP"], "0/0 0/1 0/2 0/3 0/4 0/5 1/0 1/1 1/2 1/3 1/4 1/5"),
                (&["-ae", "-aE"], "0/4 0/5 0/0 0/1 0/2 0/3 1/4 1/5 1/0 1/1 1/2 1/3"),
                (&["-as", "-asP"], "0/0 0/1 0/2 0/3 1/0 1/1 1/2 1/3 0/4 0/5 1/4 1/5"),
                (&["-ase", "-asE"], "0/4 0/5 1/4 1/5 0/0 0/1 0/2 0/3 1/0 1/1 1/2 1/3"),
                (&["-as -aup"], "0/0 0/1 0/2 0/3 0/4 0/5 1/0 1/1 1/2 1/3 1/4 1/5"),
                (&["-ac", "-ac -aup"], "0/0 0/2 0/4 0/5 0/1 0/3 1/0 1/2 1/4 1/5 1/1 1/3"),
                (&["-ace", "-acE"], "0/4 0/5 0/0 0/2 0/1 0/3 1/4 1/5 1/0 1/2 1/1 1/3"),
                (&["-aPc"], "0/0 0/2 0/1 0/3 0/4 0/5 1/0 1/2 1/1 1/3 1/4 1/5"),
                (&["-acs"], "0/0 0/2 1/0 1/2 0/4 0/5 1/4 1/5 0/1 0/3 1/1 1/3"),
                (&["-acse", "-acsE"], "0/4 0/5 1/4 1/5 0/0 0/2 1/0 1/2 0/1 0/3 1/1 1/3"),
                (&["-aPcs"], "0/0 0/2 1/0 1/2 0/1 0/3 1/1 1/3 0/4 0/5 1/4 1/5"),
                (&["-acs -aup"], "0/0 0/2 0/4 0/5 1/0 1/2 1/4 1/5 0/1 0/3 1/1 1/3"),
            ],
        );
    }

    #[test]
    fn t6_three_classes() {
        let classes = [0, 0, 0, 1, 1, 1, 1, 2];
        let cpus: Vec<[u32; 1]> = (0..8).map(|cpu| [cpu]).collect();
        let cores: Vec<(u32, &[u32])> = classes.into_iter().zip(cpus.iter().map(<[u32; 1]>::as_slice)).collect();
        let topology = machine(&[&cores]);
        check_rows(&topology, &[(&[""], "7 3 4 5 6 0 1 2"), (&["-ae", "-aup"], "0 1 2 3 4 5 6 7")]);
        assert_eq!(effective_text(&topology, "", 64), "7 3-6 0-2");
    }

    #[test]
    fn a_core_may_straddle_groups_and_take_many_turns() {
        let mut topology = machine(&[&[(0, &[0])], &[(0, &[0])]]);
        topology.cpus[1].core = topology.cpus[0].core;
        check_rows(&topology, &[(&["-acs"], "0/0 1/0")]);
        assert_eq!(order(&topology, "-ac -a0,0,0,0").len(), 4);
        let mut many = Affinity { traversal: Some(Traversal::CoreAware), ..Affinity::default() };
        (0..300).for_each(|turn| many.listed.push(AffinityEntry { group: 0, mask: 1 << (turn % 2) }));
        let sorted = cpu_order(&many, &t1(), &mut Findings::default()).expect("a list");
        assert_eq!((sorted.len(), &sorted[..4]), (300, &[0, 1, 0, 1][..]));
    }

    #[test]
    fn only_allowed_cpus_are_taken_by_default_and_from_whole_groups() {
        let mut topology = t1();
        topology.cpus[0].allowed = false;
        topology.cpus.remove(3);
        check_rows(&topology, &[(&["", "-ag0"], "1 2 4 5 6 7")]);
    }

    fn refusals(topology: &Topology, text: &str) -> Vec<String> {
        let mut findings = Findings::default();
        assert_eq!(cpu_order(&switches(text), topology, &mut findings), None);
        assert!(findings.refusals().iter().all(|refusal| refusal.kind == RefusalKind::Invalid));
        findings.refusals().iter().map(|refusal| refusal.message.clone()).collect()
    }

    #[test]
    fn what_the_machine_lacks_is_said_exactly() {
        let mut topology = t1();
        topology.cpus[0].allowed = false;
        topology.cpus.remove(3);
        insta::assert_snapshot!(refusals(&topology, "-a0-3,9 -ag1").join("\n"), @r#"
            -a: mask 0x20f of processor group 0 includes CPUs that cannot be used: 3,9 not online (online: 0xf7); 0 outside the CPU affinity mask or cpuset of this process (allowed: 0xf6)
            -a names processor group 1, but the last group of this machine is 0 (group = CPU number / 64)
            "#);
        topology.cpus.iter_mut().for_each(|cpu| cpu.allowed = false);
        insta::assert_snapshot!(refusals(&topology, "-ag0").join("\n"), @
            "-ag0: this process may not use any CPU of processor group 0");
    }

    #[test]
    fn the_lists_of_all_timespans_are_checked() {
        let span = |text| model::profile::TimeSpan { affinity: switches(text), ..Default::default() };
        let time_spans = vec![span("-ag1"), span("-a0"), span("-a9")];
        let profile = Profile { time_spans, ..Profile::default() };
        let wrong = check_affinity(&profile, &t1());
        assert_eq!(wrong.len(), 2);
        assert!(wrong[0].starts_with("timespan 1: -a names processor group 1"), "{wrong:?}");
        assert!(wrong[1].starts_with("timespan 3: -a: mask 0x200"), "{wrong:?}");
        assert!(
            check_affinity(&Profile { time_spans: vec![span("-a9")], ..profile.clone() }, &t1())[0]
                .starts_with("-a: mask")
        );
        let mut unbound = span("-a9");
        unbound.affinity.disabled = true;
        assert_eq!(check_affinity(&Profile { time_spans: vec![unbound], ..profile }, &t1()).len(), 1);
    }

    #[test]
    fn without_affinity_nothing_is_checked() {
        let mut findings = Findings::default();
        let affinity = Affinity { disabled: true, ..switches("-ag9") };
        assert_eq!(cpu_order(&affinity, &t1(), &mut findings), None);
        assert!(findings.refusals().is_empty());
    }

    #[test]
    fn a_machine_without_usable_cpus_is_refused() {
        let mut findings = Findings::default();
        assert_eq!(cpu_order(&Affinity::default(), &Topology::default(), &mut findings), None);
        assert_eq!(findings.refusals()[0].kind, RefusalKind::Impossible);
    }
}
