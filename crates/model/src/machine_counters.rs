//! The kernel's own counters of what is not I/O, read before and after a measurement (`-e`).
//!
//! Each is `None` where the kernel does not report it.

use serde::{Deserialize, Serialize};

/// Counters of the machine at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineCounters {
    /// Of all processes.
    pub page_faults: Option<FaultCounters>,
    /// Of this process.
    pub own_page_faults: Option<FaultCounters>,
    /// Of this network namespace.
    pub network: Option<NetworkCounters>,
    /// Of processes and threads, which Linux counts together.
    pub tasks: Option<TaskCounters>,
}

impl MachineCounters {
    /// Counts since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let faults = |now: Option<FaultCounters>, then: Option<FaultCounters>| {
            now.zip(then).map(|(now, then)| FaultCounters {
                soft: now.soft.saturating_sub(then.soft),
                hard: now.hard.saturating_sub(then.hard),
            })
        };
        Self {
            page_faults: faults(self.page_faults, before.page_faults),
            own_page_faults: faults(self.own_page_faults, before.own_page_faults),
            network: self.network.zip(before.network).map(|(now, then)| now.since(&then)),
            tasks: self.tasks.zip(before.tasks).map(|(now, then)| now.since(&then)),
        }
    }
}

/// Page faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultCounters {
    /// Those that did not wait for storage.
    pub soft: u64,
    /// Those that did.
    pub hard: u64,
}

/// TCP and UDP, of both versions of IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkCounters {
    /// TCP connections that other hosts opened (`PassiveOpens`).
    pub tcp_accepted: u64,
    /// TCP connections that this host opened (`ActiveOpens`).
    pub tcp_connected: u64,
    /// TCP segments retransmitted (`RetransSegs`).
    pub tcp_retransmitted: u64,
    /// TCP segments sent, without retransmissions (`OutSegs`).
    pub tcp_sent: u64,
    /// TCP segments received (`InSegs`).
    pub tcp_received: u64,
    /// UDP datagrams sent (`OutDatagrams`).
    pub udp_sent: u64,
    /// UDP datagrams received (`InDatagrams`).
    pub udp_received: u64,
}

impl NetworkCounters {
    fn since(&self, before: &Self) -> Self {
        Self {
            tcp_accepted: self.tcp_accepted.saturating_sub(before.tcp_accepted),
            tcp_connected: self.tcp_connected.saturating_sub(before.tcp_connected),
            tcp_retransmitted: self.tcp_retransmitted.saturating_sub(before.tcp_retransmitted),
            tcp_sent: self.tcp_sent.saturating_sub(before.tcp_sent),
            tcp_received: self.tcp_received.saturating_sub(before.tcp_received),
            udp_sent: self.udp_sent.saturating_sub(before.udp_sent),
            udp_received: self.udp_received.saturating_sub(before.udp_received),
        }
    }
}

/// Processes and threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskCounters {
    /// How many were started.
    pub started: u64,
    /// Number that ended: those that were started and no longer exist.
    pub ended: u64,
}

impl TaskCounters {
    fn since(&self, before: &Self) -> Self {
        Self { started: self.started.saturating_sub(before.started), ended: self.ended.saturating_sub(before.ended) }
    }
}
