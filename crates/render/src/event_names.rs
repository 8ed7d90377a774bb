//! Names of kernel events: `DiskSpd`'s where it has the same event.

use model::kernel_events::{EventKind, KernelEvent};

/// The title of a class in the text report.
pub(crate) const fn title(class: EventKind) -> &'static str {
    match class {
        EventKind::DiskIo => "Disk I/O",
        EventKind::MemoryPageFaults => "Memory Page Faults",
        EventKind::MemoryHardFaults => "Memory Hard Faults",
        EventKind::Network => "Network",
        EventKind::Process => "Process",
        EventKind::Thread => "Thread",
    }
}

/// The element of a class; `None` for the one whose counters have no parent element.
pub(crate) const fn class_element(class: EventKind) -> Option<&'static str> {
    match class {
        EventKind::DiskIo => Some("DiskIO"),
        EventKind::MemoryPageFaults => Some("MemoryPageFaults"),
        EventKind::MemoryHardFaults => None,
        EventKind::Network => Some("Network"),
        EventKind::Process => Some("Process"),
        EventKind::Thread => Some("Thread"),
    }
}

/// The name of a counter in the text report, and its element.
pub(crate) const fn counter(event: KernelEvent) -> (&'static str, &'static str) {
    match event {
        KernelEvent::Read => ("Read", "Read"),
        KernelEvent::Write => ("Write", "Write"),
        KernelEvent::HardPageFault => ("Hard page fault", "HardPageFault"),
        KernelEvent::SoftPageFault => ("Soft page fault", "SoftPageFault"),
        KernelEvent::OwnHardPageFault => ("Hard page fault of diskspd", "OwnHardPageFault"),
        KernelEvent::OwnSoftPageFault => ("Soft page fault of diskspd", "OwnSoftPageFault"),
        KernelEvent::Accept => ("Accept", "Accept"),
        KernelEvent::Connect => ("Connect", "Connect"),
        KernelEvent::Retransmit => ("Retransmit", "Retransmit"),
        KernelEvent::TcpSend => ("TCP/IP Send", "TCPIPSend"),
        KernelEvent::TcpReceive => ("TCP/IP Receive", "TCPIPReceive"),
        KernelEvent::UdpSend => ("UDP/IP Send", "UDPIPSend"),
        KernelEvent::UdpReceive => ("UDP/IP Receive", "UDPIPReceive"),
        KernelEvent::Start => ("Start", "Start"),
        KernelEvent::End => ("End", "End"),
    }
}
