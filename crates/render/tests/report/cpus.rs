//! The CPU table, effective affinity and the note on mixed core types.

use crate::support::{cpu, machine, measured, mix_run, part, report, usage};
use model::affinity::{AffinityEntry, compact};
use model::facts::SystemFacts;
use model::result::{CpuUsage, MixedCores};
use model::topology::Cpu;

/// The CPU table of the example run on another machine.
fn table(system: SystemFacts, cpus: Vec<CpuUsage>, average: CpuUsage) -> String {
    let text = report_on(system, cpus, average);
    let start = text.find("effective affinity").expect("it is printed");
    let table = text[start..].split_once("\n\n").expect("an empty line follows").1;
    table[..table.find("\n\nTotal IO").expect("the tables follow")].to_owned()
}

fn report_on(system: SystemFacts, cpus: Vec<CpuUsage>, average: CpuUsage) -> String {
    let mut result = mix_run();
    result.system = system;
    measured(&mut result).cpus = cpus;
    measured(&mut result).cpu_average = average;
    report(&result)
}

#[test]
fn two_sockets_with_smt() {
    let cpus = (0..8).map(|id| Cpu { socket: id / 4, node: id / 4, ..cpu(id, id / 2) }).collect();
    let usages = vec![
        usage(0, 11.50, 3.10, 8.40, 88.50),
        usage(1, 0.60, 0.20, 0.40, 99.40),
        usage(2, 10.90, 2.90, 8.00, 89.10),
        usage(3, 0.20, 0.00, 0.20, 99.80),
        usage(4, 1.20, 0.40, 0.80, 98.80),
        usage(5, 0.20, 0.00, 0.20, 99.80),
        usage(6, 0.60, 0.20, 0.40, 99.40),
        usage(7, 0.00, 0.00, 0.00, 100.00),
    ];
    insta::assert_snapshot!(table(machine(cpus), usages, usage(0, 3.15, 0.85, 2.30, 96.85)), @r"
    Socket | Node | Core | CPU |  Usage |  User  | Kernel |  Idle
    ---------------------------------------------------------------
          0|     0|     0|    0|  11.50%|   3.10%|   8.40%|  88.50%
          0|     0|     0|    1|   0.60%|   0.20%|   0.40%|  99.40%
          0|     0|     1|    2|  10.90%|   2.90%|   8.00%|  89.10%
          0|     0|     1|    3|   0.20%|   0.00%|   0.20%|  99.80%
          1|     1|     2|    4|   1.20%|   0.40%|   0.80%|  98.80%
          1|     1|     2|    5|   0.20%|   0.00%|   0.20%|  99.80%
          1|     1|     3|    6|   0.60%|   0.20%|   0.40%|  99.40%
          1|     1|     3|    7|   0.00%|   0.00%|   0.00%| 100.00%
    ---------------------------------------------------------------
    avg.                       |   3.15%|   0.85%|   2.30%|  96.85%
    ");
}

#[test]
fn smt_and_two_classes() {
    let cpus = [(0, 0, 1), (1, 0, 1), (2, 1, 0), (3, 2, 0)].map(|(id, core, class)| Cpu { class, ..cpu(id, core) });
    let usages = vec![
        usage(0, 30.00, 10.00, 20.00, 70.00),
        usage(1, 3.00, 1.00, 2.00, 97.00),
        usage(2, 1.00, 0.50, 0.50, 99.00),
        usage(3, 0.25, 0.00, 0.25, 99.75),
    ];
    insta::assert_snapshot!(table(machine(cpus.to_vec()), usages, usage(0, 8.56, 2.88, 5.69, 91.44)), @r"
    Core | Class | CPU |  Usage |  User  | Kernel |  Idle
    -------------------------------------------------------
        0|     1P|    0|  30.00%|  10.00%|  20.00%|  70.00%
        0|     1P|    1|   3.00%|   1.00%|   2.00%|  97.00%
        1|     0 |    2|   1.00%|   0.50%|   0.50%|  99.00%
        2|     0 |    3|   0.25%|   0.00%|   0.25%|  99.75%
    -------------------------------------------------------
    avg.               |   8.56%|   2.88%|   5.69%|  91.44%
    ");
}

#[test]
fn all_columns_and_a_cpu_that_came_online_later() {
    let cpus =
        vec![Cpu { class: 1, ..cpu(0, 0) }, Cpu { class: 1, ..cpu(1, 0) }, Cpu { socket: 1, node: 1, ..cpu(65, 9) }];
    let usages = vec![usage(0, 3.0, 1.0, 2.0, 97.0), usage(65, 3.0, 1.0, 2.0, 97.0), usage(66, 0.0, 0.0, 0.0, 100.0)];
    insta::assert_snapshot!(table(machine(cpus), usages, usage(0, 3.0, 1.0, 2.0, 97.0)), @r"
    Socket | Node | Group | Core | Class | CPU |  Usage |  User  | Kernel |  Idle
    -------------------------------------------------------------------------------
          0|     0|      0|     0|     1P|    0|   3.00%|   1.00%|   2.00%|  97.00%
          1|     1|      1|     0|     0 |    1|   3.00%|   1.00%|   2.00%|  97.00%
          -|     -|      1|     -|     - |    2|   0.00%|   0.00%|   0.00%| 100.00%
    -------------------------------------------------------------------------------
    avg.                                       |   3.00%|   1.00%|   2.00%|  97.00%
    ");
}

#[test]
fn without_cpu_times_the_table_is_empty_but_there() {
    insta::assert_snapshot!(table(machine(vec![cpu(0, 0)]), Vec::new(), CpuUsage::default()), @r"
    CPU |  Usage |  User  | Kernel |  Idle
    ----------------------------------------
    ----------------------------------------
    avg.|   0.00%|   0.00%|   0.00%|   0.00%
    ");
}

/// From the thread count to the CPU table.
fn affinity_block(groups: u32, effective: Option<Vec<AffinityEntry>>, mixed: Option<MixedCores>) -> String {
    let mut result = mix_run();
    result.system.topology.possible_cpus = groups * 64;
    measured(&mut result).effective_affinity = effective;
    measured(&mut result).mixed_cores = mixed;
    let text = report(&result);
    let block = part(&text, "thread count:", "Total IO");
    block[..block.find("CPU |").expect("the CPU table follows")].replace('\t', " ")
}

#[test]
fn effective_affinity_in_one_group_and_in_several() {
    let listed = compact([(0, 0), (0, 2), (0, 3), (0, 1)]);
    assert_eq!(affinity_block(1, Some(listed), None), "thread count:  2\n\neffective affinity (cpu): 0,2-3 1\n\n");
    let two_groups = compact([(0, 0), (0, 2), (1, 0), (1, 2), (0, 1)]);
    assert_eq!(
        affinity_block(2, Some(two_groups), None),
        "thread count:  2\n\neffective affinity (group/cpu): 0/0,2 1/0,2 0/1\n\nGroup | "
    );
    assert_eq!(affinity_block(1, None, None), "thread count:  2\n\n", "nothing with -n");
}

#[test]
fn mixed_core_types_are_noted() {
    let mixed = || Some(MixedCores { performance: compact([(0, 0), (0, 1)]), efficiency: compact([(0, 2), (0, 3)]) });
    let effective = || Some(compact([(0, 0), (0, 1), (0, 2), (0, 3)]));
    insta::assert_snapshot!(affinity_block(1, effective(), mixed()), @r"
    thread count:  2

    effective affinity (cpu): 0-3

    NOTE: thread assignment spans different core types (P-core and E-core).
          Performance results may reflect mixed core capabilities.
          P-core cpus: 0-1
          E-core cpus: 2-3
    ");
    assert!(affinity_block(2, effective(), mixed()).contains("      E-core cpus: 0/2-3\n\n"));
}
