//! The system block and its cache table.

use crate::support::{cache, cpu, hybrid_machine, machine, plain_machine, system};
use model::facts::SystemFacts;
use model::topology::CacheKind::{Data, Instruction, Unified};
use model::topology::{Cache, Cpu};

#[test]
fn a_hybrid_machine() {
    let text = system(&hybrid_machine());
    assert!(text.starts_with("System information:\n\n"), "no empty line before it");
    insta::assert_snapshot!(text, @r"
    System information:

      computer name:        lab-7
      processor name:       Example Hybrid 4
      start time:           2025/03/14 09:26:53 UTC
      active power scheme:  performance
      page size:            4KiB

      cpu count:            4
      core count:           3
      group count:          1
      node count:           1
      socket count:         1
      heterogeneous cores:  y

      cache information:

        Cache |   Size   | Line  | Assoc  | CPU
        -------------------------------------------------------
        L1d   |    48KiB |   64B | 12-way | 0-1
        L1i   |    32KiB |   64B |  8-way | 0-1
        L2    |  1.25MiB |   64B | 10-way | 0-1
        L1d   |    32KiB |   64B |  8-way | 2-3 (per cpu)
        L1i   |    64KiB |   64B |  8-way | 2-3 (per cpu)
        L2    |     2MiB |   64B | 16-way | 2-3
        L3    |    12MiB |   64B | 12-way | 0-3
    ");
}

/// The rows of a machine's cache table.
fn rows(system_facts: &SystemFacts) -> String {
    let text = system(system_facts);
    text.split_once("--\n").expect("there is a table").1.to_owned()
}

/// Two groups, each with four cores of two hardware threads and one last-level cache.
fn two_groups() -> SystemFacts {
    let ids: Vec<u32> = (0..8).chain(64..72).collect();
    let mut facts = machine(ids.iter().map(|&id| Cpu { socket: id / 64, ..cpu(id, id / 2) }).collect());
    facts.topology.possible_cpus = 128;
    for first in ids.iter().copied().filter(|id| id % 2 == 0) {
        let pair = [first, first + 1];
        let caches = &mut facts.topology.caches;
        caches.push(cache(1, Data, 32 << 10, 8, &pair));
        caches.push(cache(1, Instruction, 32 << 10, 8, &pair));
        caches.push(cache(2, Unified, 1_310_720, 20, &pair));
        if first % 64 == 0 {
            let group: Vec<u32> = (first..first + 8).collect();
            caches.push(cache(3, Unified, 16 << 20, 16, &group));
        }
    }
    facts
}

#[test]
fn two_groups_combine_per_core_and_per_group() {
    let text = system(&two_groups());
    insta::assert_snapshot!(text[text.find("  cache information").expect("there are caches")..].to_owned(), @r"
      cache information:

        Cache |   Size   | Line  | Assoc  | Group/CPU
        -----------------------------------------------------------
        L1d   |    32KiB |   64B |  8-way | 0/0-7 1/0-7 (per core)
        L1i   |    32KiB |   64B |  8-way | 0/0-7 1/0-7 (per core)
        L2    |  1.25MiB |   64B | 20-way | 0/0-7 1/0-7 (per core)
        L3    |    16MiB |   64B | 16-way | 0-1 (per group)
    ");
}

#[test]
fn no_caches_leave_no_heading() {
    assert!(system(&plain_machine()).ends_with("  heterogeneous cores:  n\n"));
}

#[test]
fn one_cache_prints_its_own_cpus() {
    let mut facts = plain_machine();
    facts.topology.caches = vec![cache(1, Data, 32 << 10, 8, &[2])];
    assert_eq!(rows(&facts), "    L1d   |    32KiB |   64B |  8-way | 2\n");
}

#[test]
fn different_geometry_does_not_combine() {
    let mut facts = plain_machine();
    facts.topology.caches = vec![
        cache(1, Data, 32 << 10, 8, &[0]),
        cache(1, Data, 48 << 10, 8, &[1]),
        cache(1, Data, 32 << 10, 8, &[2]),
        Cache { line_bytes: 128, ..cache(1, Data, 32 << 10, 8, &[3]) },
    ];
    insta::assert_snapshot!(rows(&facts), @r"
        L1d   |    32KiB |   64B |  8-way | 0,2 (per cpu)
        L1d   |    48KiB |   64B |  8-way | 1
        L1d   |    32KiB |  128B |  8-way | 3
    ");
}

#[test]
fn clusters_of_cores_never_combine() {
    let mut facts = plain_machine();
    facts.topology.caches = vec![cache(2, Unified, 2 << 20, 16, &[0, 1]), cache(2, Unified, 2 << 20, 16, &[2, 3])];
    insta::assert_snapshot!(rows(&facts), @r"
        L2    |     2MiB |   64B | 16-way | 0-1
        L2    |     2MiB |   64B | 16-way | 2-3
    ");
}

#[test]
fn a_core_that_is_its_whole_group_counts_as_the_group() {
    let mut facts = machine([0, 1, 64, 65].map(|id| cpu(id, id / 64)).to_vec());
    facts.topology.caches = vec![cache(2, Unified, 1 << 20, 16, &[0, 1]), cache(2, Unified, 1 << 20, 16, &[64, 65])];
    assert_eq!(rows(&facts), "    L2    |     1MiB |   64B | 16-way | 0-1 (per group)\n");
}

#[test]
fn a_cache_across_groups_and_what_is_not_known() {
    let mut facts = machine([0, 1, 64, 65].map(|id| cpu(id, id)).to_vec());
    facts.topology.caches = vec![
        Cache { associativity: 255, ..cache(3, Unified, 1 << 20, 16, &[1, 64]) },
        Cache { line_bytes: 0, associativity: 0, ..cache(3, Unified, 0, 0, &[65]) },
    ];
    insta::assert_snapshot!(rows(&facts), @r"
        L3    |     1MiB |   64B |   full | 0/1 1/0
        L3    |        - |     - |      - | 1/1
    ");
}
