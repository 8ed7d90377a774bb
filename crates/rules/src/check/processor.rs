//! Availability of processors and memory for a run.

use super::checklist::{ALL_TARGETS, Checklist, MACHINE, answers};
use super::{CheckDocumentation, CheckRule, disks};
use model::check::CheckFacts;
use model::environment::{CgroupLimit, IoRates, Limit};
use model::finding::Severity;
use model::units::Bytes;
use std::collections::BTreeSet;

pub(super) const RULES: &[CheckRule] = &[
    CheckRule {
        name: "governor",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "`scaling_governor` of the CPUs that the process may use",
            warns_if: "a governor other than `performance` is set",
            fails_if: "",
        },
        advice: "cpupower frequency-set -g performance before the run",
        evaluate: |facts| answers(facts, governors),
    },
    CheckRule {
        name: "idle-states",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "the enabled idle states",
            warns_if: "waking up from the deepest of them takes more than 10 µs (see `--hold-latency`)",
            fails_if: "",
        },
        advice: "waking a CPU from an idle state delays every I/O at low queue depths: run with --hold-latency",
        evaluate: |facts| answers(facts, idle_states),
    },
    CheckRule {
        name: "cgroup-limits",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "the cgroups of this process",
            warns_if: "a cgroup limits CPU time, memory or I/O",
            fails_if: "",
        },
        advice: "run outside that cgroup; otherwise the result measures the limit, not the device",
        evaluate: |facts| answers(facts, limits),
    },
    CheckRule {
        name: "memory",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "memory available to a run",
            warns_if: "less than 512 MiB is available",
            fails_if: "",
        },
        advice: "free some memory: if the machine swaps, the results include swapping",
        evaluate: |facts| answers(facts, memory),
    },
    CheckRule {
        name: "numa-distance",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "NUMA distances between the disk and the CPUs that the process may use",
            warns_if: "a CPU is not on the disk's NUMA node",
            fails_if: "",
        },
        advice: "run with --near-device, or pin threads to the CPUs of that node (-a)",
        evaluate: |facts| answers(facts, distance),
    },
];

/// Longer exit latencies show in the latency of a fast drive, which is 10 µs and more.
const WAKE_LATENCY_US: u64 = 10;
/// Memory for a run with a few threads and large blocks, with some reserve.
const MEMORY_BYTES: u64 = 512 << 20;
/// The kernel's distance between CPUs and memory of one node.
const NEAR: u32 = 10;

fn governors(facts: &CheckFacts, list: &mut Checklist) {
    let governors = &facts.processors.governors;
    if governors.is_empty() {
        return list.unknown(MACHINE, "no CPU frequency scaling in the kernel, as in most virtual machines");
    }
    let slow: Vec<&str> = governors.keys().map(String::as_str).filter(|name| *name != "performance").collect();
    if slow.is_empty() {
        list.pass(MACHINE, "performance");
    } else {
        let found = format!("{}: CPU frequency varies with the load", slow.join(", "));
        list.warn(MACHINE, found);
    }
}

fn idle_states(facts: &CheckFacts, list: &mut Checklist) {
    let Some(deepest) = facts.processors.idle_states.iter().max() else {
        return list.unknown(MACHINE, "no CPU idle states in the kernel, as in most virtual machines");
    };
    let found =
        format!("the deepest idle state, {}, has an exit latency of {} µs", deepest.name, deepest.exit_latency_us);
    if deepest.exit_latency_us <= WAKE_LATENCY_US {
        return list.pass(MACHINE, found);
    }
    let how = if facts.processors.may_hold_latency { "" } else { " as root" };
    let advice =
        format!("waking a CPU from an idle state delays every I/O at low queue depths: run with --hold-latency{how}");
    list.warn_with(MACHINE, found, advice);
}

fn limits(facts: &CheckFacts, list: &mut Checklist) {
    let limits: Vec<String> = facts.environment.cgroup_limits.iter().map(words).collect();
    if limits.is_empty() {
        return list.pass(MACHINE, "no cgroup limits are set");
    }
    for limit in limits {
        list.warn(MACHINE, limit);
    }
}

fn words(limit: &CgroupLimit) -> String {
    let what = match &limit.limit {
        Limit::Cpu { quota_us, period_us } => format!("{:.2} CPUs", *quota_us as f64 / *period_us as f64),
        Limit::Memory { bytes, .. } => format!("{} of memory, including page cache", Bytes(*bytes)),
        Limit::Io { device, rates } => {
            format!("{} on {}", rate_words(rates), device.name.as_deref().unwrap_or("a removed device"))
        }
        Limit::IoWeight { weight, .. } => format!("I/O weight {weight}"),
        Limit::IoLatency { target_us, .. } => {
            format!("other cgroups are throttled to meet a latency target of {target_us} µs")
        }
    };
    format!("{what} ({} of {})", limit.file, limit.cgroup.display())
}

fn rate_words(rates: &IoRates) -> String {
    let bytes = |rate: Option<u64>, kind| rate.map(|rate| format!("{}/s {kind}", Bytes(rate)));
    let ios = |rate: Option<u64>, kind| rate.map(|rate| format!("{rate} {kind} per second"));
    let all = [
        bytes(rates.read_bytes_per_s, "read"),
        bytes(rates.write_bytes_per_s, "written"),
        ios(rates.read_ios_per_s, "reads"),
        ios(rates.write_ios_per_s, "writes"),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn memory(facts: &CheckFacts, list: &mut Checklist) {
    let free_bytes = facts.system.memory.free_bytes();
    let found = format!("{} of memory available for a run", Bytes(free_bytes));
    if free_bytes < MEMORY_BYTES {
        list.warn(MACHINE, found);
    } else {
        list.pass(MACHINE, found);
    }
}

fn distance(facts: &CheckFacts, list: &mut Checklist) {
    let cpus = facts.system.topology.cpus.iter();
    let nodes: BTreeSet<u32> = cpus.filter(|cpu| cpu.allowed).map(|cpu| cpu.node).collect();
    if facts.system.topology.cpus.iter().all(|cpu| cpu.node == 0) {
        return list.pass(MACHINE, "one NUMA node");
    }
    let disks = disks(facts);
    if disks.is_empty() {
        return list.unknown(ALL_TARGETS, "the underlying disk is unknown");
    }
    for disk in disks {
        let Some(node) = disk.connection.numa_node else {
            list.unknown(&disk.name, "NUMA node not reported by the kernel");
            continue;
        };
        let Some(distances) = facts.processors.node_distances.get(&node) else {
            list.unknown(&disk.name, format!("the NUMA distances of node {node} cannot be read"));
            continue;
        };
        let far = nodes.iter().filter_map(|other| distances.get(other)).copied().max().unwrap_or(NEAR);
        if far > NEAR {
            let found = format!("on NUMA node {node}; some CPUs are at distance {far} (local is {NEAR})");
            list.warn(&disk.name, found);
        } else {
            list.pass(&disk.name, format!("all allowed CPUs are on its NUMA node {node}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, below, facts, outcomes};
    use model::block_device::DeviceNumber;
    use model::check::IdleState;
    use model::environment::{CgroupDevice, CgroupLimit, IoRates, Limit};
    use model::finding::Severity;
    use std::collections::BTreeMap;

    // Shows check: governor
    #[test]
    fn any_governor_but_performance_warns() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, "governor"), [Severity::Unknown]);
        facts.processors.governors = BTreeMap::from([("performance".to_owned(), 4)]);
        assert_eq!(outcomes(&facts, "governor"), [Severity::Pass]);
        facts.processors.governors.insert("schedutil".to_owned(), 1);
        assert_eq!(answers(&facts, "governor"), ["warn machine: schedutil: CPU frequency varies with the load"]);
    }

    // Shows check: idle-states
    #[test]
    fn deep_sleep_warns() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, "idle-states"), [Severity::Unknown]);
        let state = |name: &str, exit_latency_us| IdleState { exit_latency_us, name: name.to_owned() };
        facts.processors.idle_states = vec![state("POLL", 0), state("C1", 2)];
        assert_eq!(outcomes(&facts, "idle-states"), [Severity::Pass]);
        facts.processors.idle_states.push(state("C6", 133));
        assert_eq!(
            answers(&facts, "idle-states"),
            ["warn machine: the deepest idle state, C6, has an exit latency of 133 µs"]
        );
    }

    // Shows check: cgroup-limits
    #[test]
    fn every_limit_is_named() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, "cgroup-limits"), [Severity::Pass]);
        let device = CgroupDevice { number: DeviceNumber::default(), name: Some("nvme0n1".to_owned()) };
        let rates = IoRates { write_ios_per_s: Some(120), read_bytes_per_s: Some(2 << 20), ..IoRates::default() };
        let limit_in = |file: &str, limit| CgroupLimit { cgroup: "/job".into(), file: file.to_owned(), limit };
        facts.environment.cgroup_limits = vec![
            limit_in("cpu.max", Limit::Cpu { quota_us: 150_000, period_us: 100_000 }),
            limit_in("io.max", Limit::Io { device, rates }),
        ];
        assert_eq!(
            answers(&facts, "cgroup-limits"),
            [
                "warn machine: 1.50 CPUs (cpu.max of /job)",
                "warn machine: 2MiB/s read, 120 writes per second on nvme0n1 (io.max of /job)"
            ]
        );
    }

    // Shows check: memory
    #[test]
    fn little_memory_warns() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, "memory"), [Severity::Pass]);
        facts.system.memory.cgroup_left_bytes = Some(100 << 20);
        assert_eq!(answers(&facts, "memory"), ["warn machine: 100MiB of memory available for a run"]);
    }

    // Shows check: numa-distance
    #[test]
    fn cpus_far_from_the_disk_warn() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, "numa-distance"), [Severity::Pass]);
        facts.system.topology.cpus[2].node = 1;
        assert_eq!(outcomes(&facts, "numa-distance"), [Severity::Unknown]);
        below(&mut facts).connection.numa_node = Some(1);
        facts.processors.node_distances = BTreeMap::from([(1, BTreeMap::from([(0, 21), (1, 10)]))]);
        assert_eq!(
            answers(&facts, "numa-distance"),
            ["warn nvme0n1: on NUMA node 1; some CPUs are at distance 21 (local is 10)"]
        );
        for cpu in &mut facts.system.topology.cpus {
            cpu.allowed = cpu.node == 1;
        }
        assert_eq!(outcomes(&facts, "numa-distance"), [Severity::Pass]);
    }
}
