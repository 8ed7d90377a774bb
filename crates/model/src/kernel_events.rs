//! Kernel events counted over a measurement (`-e`).

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Counts of kernel events, in `DiskSpd`'s classes, and I/O at each level of storage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelEvents {
    /// The requested classes that exist on Linux, in `DiskSpd`'s order.
    pub classes: Vec<EventClass>,
    /// `-eDISK_IO`: one per set of devices below targets.
    pub stacks: Vec<IoStack>,
}

/// One class and its counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventClass {
    /// The class of events.
    pub class: EventKind,
    /// Where the counts come from, in words.
    pub source: String,
    /// The counters, in `DiskSpd`'s order.
    pub counters: Vec<EventCount>,
}

/// A class of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// `-eDISK_IO`
    DiskIo,
    /// `-eMEMORY_PAGE_FAULTS`
    MemoryPageFaults,
    /// `-eMEMORY_HARD_FAULTS`, without page faults.
    MemoryHardFaults,
    /// `-eNETWORK`
    Network,
    /// `-ePROCESS`
    Process,
    /// `-eTHREAD`
    Thread,
}

impl EventKind {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::DiskIo, Self::MemoryPageFaults, Self::MemoryHardFaults, Self::Network, Self::Process, Self::Thread];
}

/// A counter and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventCount {
    /// The counted event.
    pub event: KernelEvent,
    /// How often it happened.
    pub count: u64,
}

/// An event that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KernelEvent {
    /// A read request that a device completed.
    Read,
    /// A write request that a device completed.
    Write,
    /// A page fault that waited for storage.
    HardPageFault,
    /// A page fault that did not wait for storage.
    SoftPageFault,
    /// A page fault of this program that waited for storage.
    OwnHardPageFault,
    /// A page fault of this program that did not wait for storage.
    OwnSoftPageFault,
    /// A TCP connection that another host opened.
    Accept,
    /// A TCP connection that this host opened.
    Connect,
    /// A TCP segment that was retransmitted.
    Retransmit,
    /// A TCP segment that was sent.
    TcpSend,
    /// A TCP segment that was received.
    TcpReceive,
    /// A UDP datagram that was sent.
    UdpSend,
    /// A UDP datagram that was received.
    UdpReceive,
    /// A process or thread that began.
    Start,
    /// A process or thread that ended.
    End,
}

impl KernelEvent {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Read,
        Self::Write,
        Self::HardPageFault,
        Self::SoftPageFault,
        Self::OwnHardPageFault,
        Self::OwnSoftPageFault,
        Self::Accept,
        Self::Connect,
        Self::Retransmit,
        Self::TcpSend,
        Self::TcpReceive,
        Self::UdpSend,
        Self::UdpReceive,
        Self::Start,
        Self::End,
    ];
}

/// I/O to some targets, from this program down to the disks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoStack {
    /// The targets, in byte order.
    #[serde(with = "crate::path::Several")]
    pub targets: Vec<PathBuf>,
    /// This program first, then each device before those below it.
    pub levels: Vec<IoLevel>,
}

/// I/O at one level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoLevel {
    /// The kernel's name of the device; `None` = this program.
    pub device: Option<String>,
    /// How many levels below this program.
    pub depth: u32,
    /// Reads that were completed there.
    pub read: LevelFigures,
    /// Writes that were completed there.
    pub write: LevelFigures,
}

/// I/O of one direction at one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelFigures {
    /// I/Os of this program, or requests that a device completed, whoever made them. The kernel
    /// counts flushes without data as writes.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean latency in nanoseconds: of this program as in its other figures, of a device from the
    /// making of a request to its completion. `None` without I/O.
    pub latency_mean_ns: Option<f64>,
}

/// In documents: `DiskSpd`'s names where it has the same event.
impl EventKind {
    /// The title of the class in the text report.
    pub const fn title(self) -> &'static str {
        match self {
            Self::DiskIo => "Disk I/O",
            Self::MemoryPageFaults => "Memory Page Faults",
            Self::MemoryHardFaults => "Memory Hard Faults",
            Self::Network => "Network",
            Self::Process => "Process",
            Self::Thread => "Thread",
        }
    }

    /// The XML element of the class; `None` for the one whose counters have no parent element.
    pub const fn element(self) -> Option<&'static str> {
        match self {
            Self::DiskIo => Some("DiskIO"),
            Self::MemoryPageFaults => Some("MemoryPageFaults"),
            Self::MemoryHardFaults => None,
            Self::Network => Some("Network"),
            Self::Process => Some("Process"),
            Self::Thread => Some("Thread"),
        }
    }
}

/// The same of counters.
impl KernelEvent {
    /// The name of the counter in the text report, and its XML element.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Read => ("Read", "Read"),
            Self::Write => ("Write", "Write"),
            Self::HardPageFault => ("Hard page fault", "HardPageFault"),
            Self::SoftPageFault => ("Soft page fault", "SoftPageFault"),
            Self::OwnHardPageFault => ("Hard page fault in diskspd", "OwnHardPageFault"),
            Self::OwnSoftPageFault => ("Soft page fault in diskspd", "OwnSoftPageFault"),
            Self::Accept => ("Accept", "Accept"),
            Self::Connect => ("Connect", "Connect"),
            Self::Retransmit => ("Retransmit", "Retransmit"),
            Self::TcpSend => ("TCP/IP Send", "TCPIPSend"),
            Self::TcpReceive => ("TCP/IP Receive", "TCPIPReceive"),
            Self::UdpSend => ("UDP/IP Send", "UDPIPSend"),
            Self::UdpReceive => ("UDP/IP Receive", "UDPIPReceive"),
            Self::Start => ("Start", "Start"),
            Self::End => ("End", "End"),
        }
    }
}
