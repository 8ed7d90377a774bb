//! The kernel's counters of page faults, network traffic, processes and threads.

use crate::root::Root;
use crate::syntax::words_behind_name;
use model::machine_counters::{FaultCounters, MachineCounters, NetworkCounters, TaskCounters};

/// Reads these counters.
pub fn machine_counters(root: &Root) -> MachineCounters {
    let text = |path: &str| root.text(path);
    MachineCounters {
        page_faults: text("/proc/vmstat").and_then(|text| page_faults(&text)),
        own_page_faults: text("/proc/self/stat").and_then(|text| own_page_faults(&text)),
        network: text("/proc/net/snmp")
            .and_then(|text| network(&text, &root.text("/proc/net/snmp6").unwrap_or_default())),
        tasks: text("/proc/stat").zip(text("/proc/loadavg")).and_then(|(stat, load)| tasks(&stat, &load)),
    }
}

/// Lines of a name, a blank and a number. One counter has all faults, another the hard ones.
fn page_faults(vmstat: &str) -> Option<FaultCounters> {
    let value = |name: &str| named(vmstat, name)?.parse::<u64>().ok();
    let (all, hard) = (value("pgfault")?, value("pgmajfault")?);
    Some(FaultCounters { soft: all.saturating_sub(hard), hard })
}

/// The text after `name` on the line that begins with it.
fn named<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(char::is_whitespace)).map(str::trim)
}

/// The 10th and 12th word of `/proc/PID/stat`.
fn own_page_faults(stat: &str) -> Option<FaultCounters> {
    let mut words = words_behind_name(stat)?.skip(7);
    let soft = words.next()?.parse().ok()?;
    Some(FaultCounters { soft, hard: words.nth(1)?.parse().ok()? })
}

/// TCP's counters are those of both versions of IP, UDP's are in a file for each.
fn network(snmp: &str, snmp6: &str) -> Option<NetworkCounters> {
    let tcp = |name: &str| column(snmp, "Tcp:", name);
    let udp = |name: &str| {
        let of_6 = named(snmp6, &format!("Udp6{name}")).and_then(|value| value.parse().ok());
        Some(column(snmp, "Udp:", name)?.saturating_add(of_6.unwrap_or(0)))
    };
    Some(NetworkCounters {
        tcp_accepted: tcp("PassiveOpens")?,
        tcp_connected: tcp("ActiveOpens")?,
        tcp_retransmitted: tcp("RetransSegs")?,
        tcp_sent: tcp("OutSegs")?,
        tcp_received: tcp("InSegs")?,
        udp_sent: udp("OutDatagrams")?,
        udp_received: udp("InDatagrams")?,
    })
}

/// Of two lines that begin with `protocol`, the first has names and the second values.
fn column(snmp: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix(protocol));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|one| one == name)?;
    values.split_whitespace().nth(place)?.parse().ok()
}

/// `processes` counts every process and thread since boot; the fourth word of the load has the current number, after a
/// slash.
fn tasks(stat: &str, load: &str) -> Option<TaskCounters> {
    let started: u64 = named(stat, "processes")?.parse().ok()?;
    let (_, existing) = load.split_whitespace().nth(3)?.split_once('/')?;
    let existing: u64 = existing.parse().ok()?;
    Some(TaskCounters { started, ended: started.saturating_sub(existing) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SNMP: &str = "\
Ip: Forwarding DefaultTTL\nIp: 2 64\n\
Tcp: RtoAlgorithm ActiveOpens PassiveOpens AttemptFails InSegs OutSegs RetransSegs\n\
Tcp: 1 27 3 0 8306 6512 4\n\
Udp: InDatagrams NoPorts OutDatagrams\n\
Udp: 54 0 55\n\
UdpLite: InDatagrams NoPorts OutDatagrams\n\
UdpLite: 900 0 900\n";

    #[test]
    fn faults_are_of_all_processes_and_of_this_one() {
        let vmstat = "pgfree 7\npgfault 46272932\npgmajfault 1823\npgmajfaulty 9\n";
        assert_eq!(page_faults(vmstat), Some(FaultCounters { soft: 46_271_109, hard: 1823 }));
        let stat = "15146 (a) b (c) R 15138 15138 6002 0 -1 4194304 99 0 12 0 0 0\n";
        assert_eq!(own_page_faults(stat), Some(FaultCounters { soft: 99, hard: 12 }));
    }

    #[test]
    fn the_network_is_both_versions_of_ip() {
        let expected = NetworkCounters {
            tcp_accepted: 3,
            tcp_connected: 27,
            tcp_retransmitted: 4,
            tcp_sent: 6512,
            tcp_received: 8306,
            udp_sent: 60,
            udp_received: 56,
        };
        assert_eq!(network(SNMP, "Udp6InDatagrams  \t2\nUdp6OutDatagrams \t5\n"), Some(expected));
        let without_6 = NetworkCounters { udp_sent: 55, udp_received: 54, ..expected };
        assert_eq!(network(SNMP, ""), Some(without_6));
        assert_eq!(network("Tcp: ActiveOpens\nTcp: 1\n", ""), None);
    }

    #[test]
    fn what_was_started_and_is_gone_has_ended() {
        let found = tasks("cpu 1 2\nprocesses 47606\nprocs_running 1\n", "4.03 4.65 3.11 5/132 15144\n");
        assert_eq!(found, Some(TaskCounters { started: 47_606, ended: 47_474 }));
        assert_eq!(tasks("processes 1\n", "0 0 0"), None);
    }

    #[test]
    fn this_machine_tells_them() {
        let before = machine_counters(&Root::machine());
        let pages = vec![1u8; 8 << 20];
        let after = machine_counters(&Root::machine());
        // A running process has had some.
        if before.own_page_faults.is_some_and(|faults| faults.soft == 0) {
            testkit::skip!("this kernel or its emulation does not count page faults");
        }
        assert_eq!(pages.iter().map(|&byte| usize::from(byte)).sum::<usize>(), 8 << 20);
        let faults = after.since(&before).own_page_faults.expect("every kernel counts them");
        assert!(faults.soft > 0, "{faults:?}");
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(a in "\\PC*", b in "\\PC*") {
            let _ = (page_faults(&a), own_page_faults(&a), network(&a, &b), tasks(&a, &b));
            let _ = network(&format!("Tcp: {a}\nTcp: {b}\nUdp: {a}\nUdp: {b}"), &a);
        }
    }
}
