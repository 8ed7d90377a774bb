//! CPUs, cores, sockets, nodes, classes and caches of recorded machines.

#[allow(dead_code)]
mod support;

use model::topology::{Cache, CacheKind, Topology};
use support::Machine;

fn topology(table: &str) -> Topology {
    host::system(&Machine::new(table).root()).topology
}

/// One line per CPU: id core socket node class, and `-` if it may not be used.
fn cpus(topology: &Topology) -> Vec<String> {
    let line = |cpu: &model::topology::Cpu| {
        let mark = if cpu.allowed { "" } else { " -" };
        format!("{} {} {} {} {}{mark}", cpu.id, cpu.core, cpu.socket, cpu.node, cpu.class)
    };
    topology.cpus.iter().map(line).collect()
}

fn classes(topology: &Topology) -> Vec<u32> {
    topology.cpus.iter().map(|cpu| cpu.class).collect()
}

#[test]
fn a_virtual_machine_that_tells_little() {
    let topology = topology(
        "sys/devices/system/cpu/online = 0-1
         sys/devices/system/cpu/possible = 0-1
         cpu[0-1]/topology/physical_package_id = 0
         cpu[0-1]/topology/core_cpus_list = {}
         sys/devices/system/node/node0/cpulist = 0-1
         proc/self/status = Name:\tdiskspd\\nCpus_allowed:\t3\\nCpus_allowed_list:\t0-1",
    );
    assert_eq!(cpus(&topology), ["0 0 0 0 0", "1 1 0 0 0"]);
    assert_eq!(topology.possible_cpus, 2);
    assert!(topology.caches.is_empty());
    assert!(!topology.has_smt());
}

#[test]
fn siblings_may_be_neighbours_or_lie_apart() {
    let adjacent = topology(
        "sys/devices/system/cpu/online = 0-3
         cpu[0,1]/topology/core_cpus_list = 0-1
         cpu[2,3]/topology/core_cpus_list = 2-3",
    );
    assert_eq!(cpus(&adjacent), ["0 0 0 0 0", "1 0 0 0 0", "2 1 0 0 0", "3 1 0 0 0"]);
    let split = topology(
        "sys/devices/system/cpu/online = 0-3
         cpu[0,2]/topology/thread_siblings_list = 0,2
         cpu[1,3]/topology/thread_siblings_list = 1,3",
    );
    assert_eq!(cpus(&split), ["0 0 0 0 0", "1 1 0 0 0", "2 0 0 0 0", "3 1 0 0 0"]);
    assert!(split.has_smt());
}

#[test]
fn two_sockets_and_two_nodes_and_a_node_of_memory_alone() {
    let topology = topology(
        "sys/devices/system/cpu/online = 0-3
         cpu[0,2]/topology/physical_package_id = 36
         cpu[1,3]/topology/physical_package_id = 1
         cpu[0-3]/topology/core_cpus_list = {}
         sys/devices/system/node/node0/cpulist = 0,2
         sys/devices/system/node/node1/cpulist =
         sys/devices/system/node/node2/cpulist = 1,3",
    );
    // Sockets ascend by the kernel's id, so that package 1 is socket 0; nodes keep their numbers.
    assert_eq!(cpus(&topology), ["0 0 1 0 0", "1 1 0 2 0", "2 2 1 0 0", "3 3 0 2 0"]);
    assert_eq!((topology.socket_count(), topology.node_count()), (2, 2));
}

#[test]
fn equal_sibling_lists_in_two_packages_are_two_cores() {
    let topology = topology(
        "sys/devices/system/cpu/online = 0-1
         cpu[0-1]/topology/core_cpus_list = 0
         cpu[0-1]/topology/physical_package_id = {}",
    );
    assert_eq!(topology.core_count(), 2);
}

#[test]
fn a_hybrid_processor_names_its_core_types() {
    let table = "sys/devices/system/cpu/online = 0-5
         cpu[0-1]/topology/core_cpus_list = 0-1
         cpu[2-5]/topology/core_cpus_list = {}
         cpu[0-5]/cpufreq/cpuinfo_max_freq = 3000000
         sys/devices/cpu_core/cpus = 0-1
         sys/devices/cpu_atom/cpus = 2-5";
    assert_eq!(classes(&topology(table)), [1, 1, 0, 0, 0, 0]);
    let machine = Machine::new(table);
    machine.write("sys/devices/cpu_atom/cpus", "2-3");
    machine.write("sys/devices/cpu_lowpower/cpus", "4-5");
    assert_eq!(classes(&host::system(&machine.root()).topology), [2, 2, 1, 1, 0, 0]);
}

#[test]
fn hybrid_lists_that_leave_a_cpu_out_or_name_one_type_are_no_source() {
    let topology = topology(
        "sys/devices/system/cpu/online = 0-2
         sys/devices/cpu_core/cpus = 0
         sys/devices/cpu_atom/cpus = 1
         cpu[0-1]/cpu_capacity = 512
         cpu[2]/cpu_capacity = 1024",
    );
    assert_eq!(classes(&topology), [0, 0, 1]);
}

#[test]
fn capacities_within_ten_percent_are_one_class() {
    let big_little = topology(
        "sys/devices/system/cpu/online = 0-5
         cpu[0-3]/cpu_capacity = 446
         cpu[4]/cpu_capacity = 1024
         cpu[5]/cpu_capacity = 1000",
    );
    assert_eq!(classes(&big_little), [0, 0, 0, 0, 1, 1]);
    // Favoured cores of a uniform processor; capacity does not distinguish them, so performance is used.
    let favoured = topology(
        "sys/devices/system/cpu/online = 0-3
         cpu[0-3]/cpu_capacity = 1024
         cpu[0-2]/acpi_cppc/highest_perf = 180
         cpu[3]/acpi_cppc/highest_perf = 198",
    );
    assert_eq!(classes(&favoured), [0, 0, 0, 0]);
    let different = topology(
        "sys/devices/system/cpu/online = 0-1
         cpu[0-1]/cpu_capacity = 1024
         cpu[0]/cpufreq/cpuinfo_max_freq = 4800000
         cpu[1]/cpufreq/cpuinfo_max_freq = 3600000",
    );
    assert_eq!(classes(&different), [1, 0]);
}

#[test]
fn all_threads_of_a_core_have_its_class() {
    let topology = topology(
        "sys/devices/system/cpu/online = 0-3
         cpu[0,1]/topology/core_cpus_list = 0-1
         cpu[2,3]/topology/core_cpus_list = 2-3
         cpu[0-2]/cpu_capacity = 500
         cpu[3]/cpu_capacity = 1000",
    );
    assert_eq!(classes(&topology), [0, 0, 1, 1]);
}

#[test]
fn more_than_64_possible_cpus_are_two_groups() {
    let topology = topology(
        "sys/devices/system/cpu/online = 0-63,65-66
         sys/devices/system/cpu/possible = 0-127
         cpu[1]/topology/core_cpus_list = 1,65
         cpu[65]/topology/core_cpus_list = 1,65",
    );
    assert_eq!(topology.group_count(), 2);
    assert_eq!((topology.group_maximum(0), topology.group_maximum(1)), (64, 64));
    assert_eq!((topology.online_mask(0), topology.online_mask(1)), (u64::MAX, 0b110));
    assert_eq!(topology.cpu(65).expect("online").core, topology.cpu(1).expect("online").core);
}

#[test]
fn offline_cpus_leave_holes_and_the_affinity_mask_forbids_more() {
    let topology = topology(
        "sys/devices/system/cpu/online = 1,3-4
         sys/devices/system/cpu/possible = 0-7
         cpu[1,3-4]/topology/core_cpus_list = {}
         proc/self/status = Cpus_allowed_list:\t0-1,4-7",
    );
    assert_eq!(cpus(&topology), ["1 0 0 0 0", "3 1 0 0 0 -", "4 2 0 0 0"]);
    assert_eq!(topology.possible_cpus, 8);
    assert_eq!(topology.allowed_mask(0), 0b1_0010);
}

#[test]
fn without_sys_the_cpus_of_proc_are_taken() {
    let from_stat = topology(
        "proc/stat = cpu  1 2 3\\ncpu0 1 2 3\\ncpu2 1 2 3\\nintr 5
         proc/self/status = Cpus_allowed_list:\t0-3",
    );
    assert_eq!(cpus(&from_stat), ["0 0 0 0 0", "2 1 0 0 0"]);
    let from_mask = topology("proc/self/status = Cpus_allowed_list:\t1-2");
    assert_eq!(cpus(&from_mask), ["1 0 0 0 0", "2 1 0 0 0"]);
    assert_eq!(cpus(&topology("unrelated = 1")), ["0 0 0 0 0"]);
}

const CACHES: &str = "sys/devices/system/cpu/online = 0-3
    cpu[0-1]/topology/core_cpus_list = 0-1
    cpu[2-3]/topology/core_cpus_list = {}
    cpu[0-3]/cache/index0/level = 1
    cpu[0-3]/cache/index0/type = Data
    cpu[0-3]/cache/index0/coherency_line_size = 64
    cpu[0-1]/cache/index0/size = 48K
    cpu[2-3]/cache/index0/size = 32K
    cpu[0-1]/cache/index0/ways_of_associativity = 12
    cpu[2-3]/cache/index0/ways_of_associativity = 8
    cpu[0-1]/cache/index0/shared_cpu_list = 0-1
    cpu[2-3]/cache/index0/shared_cpu_list = {}
    cpu[0-3]/cache/index1/level = 1
    cpu[0-3]/cache/index1/type = Instruction
    cpu[0-3]/cache/index1/size = 64K
    cpu[0-3]/cache/index1/ways_of_associativity = 64
    cpu[0-3]/cache/index1/number_of_sets = 1
    cpu[0-1]/cache/index1/shared_cpu_list = 0-1
    cpu[2-3]/cache/index1/shared_cpu_list = {}
    cpu[0-3]/cache/index10/level = 3
    cpu[0-3]/cache/index10/type = Unified
    cpu[0-3]/cache/index10/size = 12M
    cpu[0-3]/cache/index10/ways_of_associativity = 300
    cpu[0-3]/cache/index10/shared_cpu_list = 0-3,6
    cpu[0-3]/cache/index2/level = 2
    cpu[0-3]/cache/index2/size = 1280K
    cpu[0-3]/cache/index2/ways_of_associativity = 10
    cpu[0-1]/cache/index2/shared_cpu_list = 0-1
    cpu[2-3]/cache/index2/shared_cpu_list = 2-3
    cpu[0-3]/cache/index4/type = Data";

#[test]
fn caches_stand_once_each_in_order_of_lowest_cpu_then_index() {
    use CacheKind::{Data, Instruction, Unified};
    let cache = |level, kind, kib: u64, line_bytes, associativity, cpus: &[u32]| Cache {
        level,
        kind,
        size_bytes: kib * 1024,
        line_bytes,
        associativity,
        cpus: cpus.to_vec(),
    };
    let expected = [
        cache(1, Data, 48, 64, 12, &[0, 1]),
        cache(1, Instruction, 64, 0, 255, &[0, 1]),
        cache(2, Unified, 1280, 0, 10, &[0, 1]),
        cache(3, Unified, 12_288, 0, 255, &[0, 1, 2, 3]),
        cache(1, Data, 32, 64, 8, &[2]),
        cache(1, Instruction, 64, 0, 255, &[2]),
        cache(2, Unified, 1280, 0, 10, &[2, 3]),
        cache(1, Data, 32, 64, 8, &[3]),
        cache(1, Instruction, 64, 0, 255, &[3]),
    ];
    assert_eq!(topology(CACHES).caches, expected);
}

#[test]
fn garbage_in_any_file_changes_no_more_than_what_it_describes() {
    let machine = Machine::new(CACHES);
    for file in [
        "online",
        "possible",
        "cpu0/topology/core_cpus_list",
        "cpu0/topology/physical_package_id",
        "cpu0/cpu_capacity",
        "cpu0/cache/index0/level",
        "cpu0/cache/index0/size",
        "cpu0/cache/index0/shared_cpu_list",
        "cpu0/cache/index0/ways_of_associativity",
        "cpu0/cache/indexx/level",
    ] {
        machine.write(&format!("sys/devices/system/cpu/{file}"), "0-\u{0}9999999999999,\u{1F4A9}-1");
    }
    for file in ["sys/devices/system/node/node99999999999/cpulist", "sys/devices/cpu_core/cpus", "proc/stat"] {
        machine.write(file, "cpu99999999999 cpu -7,,,");
    }
    machine.write("proc/self/status", "Cpus_allowed_list:\t1-2");
    let topology = host::system(&machine.root()).topology;
    assert_eq!(cpus(&topology), ["1 0 0 0 0", "2 1 0 0 0"]);
}

#[test]
fn this_machine_has_cpus_that_this_process_may_use() {
    let topology = host::system(&host::Root::machine()).topology;
    assert!(topology.cpus.iter().any(|cpu| cpu.allowed));
    assert!(topology.cpus.iter().all(|cpu| cpu.id < topology.possible_cpus));
    let parallelism = std::thread::available_parallelism().expect("known").get();
    assert!(topology.cpus.iter().filter(|cpu| cpu.allowed).count() >= parallelism);
}
