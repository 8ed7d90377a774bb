//! Kernel messages that report device faults.

use model::kernel_log::DeviceFault;

/// Words of such messages, all of a row in one message; the first matching row is used. They are those of the block
/// layer, of SCSI and its adapters, of ATA, `NVMe`, USB, md and the device mapper, from Linux 3 to 6.
const ROWS: &[(&[&str], DeviceFault)] = &[
    (&["critical medium error, dev "], DeviceFault::MediaError),
    (&["Unrecovered Read Error"], DeviceFault::MediaError),
    (&["Error (sct 0x2 /"], DeviceFault::MediaError),
    (&["error: { UNC"], DeviceFault::MediaError),
    (&["timeout error, dev "], DeviceFault::Timeout),
    (&["I/O ", " timeout, aborting"], DeviceFault::Timeout),
    (&["I/O ", " timeout, reset controller"], DeviceFault::Timeout),
    (&["I/O ", " timeout, disable controller"], DeviceFault::Timeout),
    (&["I/O ", " timeout, completion polled"], DeviceFault::Timeout),
    (&["attempting task abort"], DeviceFault::Timeout),
    (&["timing out command"], DeviceFault::Timeout),
    (&["qc timeout"], DeviceFault::Timeout),
    (&["exception Emask", "frozen"], DeviceFault::Timeout),
    (&["Timeout waiting for hardware"], DeviceFault::Timeout),
    (&["controller is down; will reset"], DeviceFault::Reset),
    (&["resetting controller"], DeviceFault::Reset),
    (&["aborting reset"], DeviceFault::Reset),
    (&["device reset occurred"], DeviceFault::Reset),
    (&["attempting device reset"], DeviceFault::Reset),
    (&["attempting target reset"], DeviceFault::Reset),
    (&["attempting bus reset"], DeviceFault::Reset),
    (&["attempting host reset"], DeviceFault::Reset),
    (&["megasas: RESET"], DeviceFault::Reset),
    (&["hard resetting link"], DeviceFault::Reset),
    (&["soft resetting link"], DeviceFault::Reset),
    (&["usb ", ": reset ", " USB device"], DeviceFault::Reset),
    (&["multipath: ", "Failing path "], DeviceFault::Dropped),
    (&["Disk failure on "], DeviceFault::Dropped),
    (&["rejecting I/O to offline device"], DeviceFault::Dropped),
    (&["Device offlined"], DeviceFault::Dropped),
    (&["Removing after probe failure"], DeviceFault::Dropped),
    (&["blocked FC remote port time out"], DeviceFault::Dropped),
    (&["session recovery timed out"], DeviceFault::Dropped),
    (&["ata", ".00: disable"], DeviceFault::Dropped),
    (&["exception Emask"], DeviceFault::IoError),
    (&["I/O Error (sct "], DeviceFault::IoError),
    (&[" error, dev "], DeviceFault::IoError),
    (&["I/O error on dev"], DeviceFault::IoError),
];

/// The fault reported by a message; `None` = none, or not of a device.
pub(super) fn fault(message: &str) -> Option<DeviceFault> {
    let fits = |(words, _): &&(&[&str], DeviceFault)| words.iter().all(|word| message.contains(word));
    ROWS.iter().find(fits).map(|(_, fault)| *fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use DeviceFault::{Dropped, IoError, MediaError, Reset, Timeout};

    /// From logs of machines with faults.
    const RECORDED: &[(&str, DeviceFault)] = &[
        (
            "nvme nvme0: I/O tag 641 (c281) opcode 0x1 (I/O Cmd) QID 8 timeout, aborting req_op:WRITE(1) size:4096",
            Timeout,
        ),
        ("nvme nvme0: I/O tag 641 (c281) opcode 0x1 (I/O Cmd) QID 8 timeout, reset controller", Timeout),
        ("nvme nvme0: I/O 26 QID 3 timeout, aborting", Timeout),
        ("nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10", Reset),
        ("nvme nvme0: Device not ready; aborting reset, CSTS=0x1", Reset),
        ("nvme nvme0: Removing after probe failure status: -19", Dropped),
        ("nvme0c0n1: I/O Cmd(0x1) @ LBA 218630656, 256 blocks, I/O Error (sct 0x0 / sc 0x4) DNR", IoError),
        ("nvme0n1: Read(0x2) @ LBA 2048, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81) MORE DNR", MediaError),
        ("I/O error, dev nvme0c0n1, sector 218630656 op 0x1:(WRITE) flags 0x2008800 phys_seg 17 prio class 0", IoError),
        ("blk_update_request: I/O error, dev sda, sector 1953519872", IoError),
        (
            "blk_update_request: critical medium error, dev sdc, sector 5860532880 op 0x0:(READ) flags 0x80700",
            MediaError,
        ),
        ("print_req_error: critical target error, dev sdb, sector 8", IoError),
        ("critical space allocation error, dev loop0, sector 50560 op 0x1:(WRITE) flags 0xa08800 phys_seg 16", IoError),
        ("timeout error, dev sdd, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", Timeout),
        ("Buffer I/O error on dev loop0, logical block 260, lost async page write", IoError),
        ("Buffer I/O error on device sda1, logical block 0", IoError),
        ("sd 4:0:1:0: attempting task abort! scmd(ffff880204baee80)", Timeout),
        ("sd 2:2:0:0: [sda] megasas: RESET cmd=28 retries=0", Reset),
        ("sd 6:0:3:0: Power-on or device reset occurred", Reset),
        ("sd 6:0:3:0: rejecting I/O to offline device", Dropped),
        ("ata5.00: exception Emask 0x0 SAct 0x80 SErr 0x0 action 0x6 frozen", Timeout),
        ("ata3.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x0", IoError),
        ("ata3.00: error: { UNC }", MediaError),
        ("ata5: hard resetting link", Reset),
        ("ata5.00: disable device", Dropped),
        ("usb 2-1: reset SuperSpeed USB device number 3 using xhci_hcd", Reset),
        ("device-mapper: multipath: 253:3: Failing path 8:48.", Dropped),
        ("device-mapper: multipath: Failing path 8:48.", Dropped),
        ("md/raid1:md0: Disk failure on sdb1, disabling device.", Dropped),
        (" rport-5:0-1: blocked FC remote port time out: removing target and saving binding", Dropped),
    ];

    #[test]
    fn trouble_is_recognised() {
        for (message, expected) in RECORDED {
            assert_eq!(fault(message), Some(*expected), "{message}");
        }
    }

    #[test]
    fn every_row_is_reachable() {
        for (words, expected) in ROWS {
            assert_eq!(fault(&words.concat()), Some(*expected), "{words:?}");
        }
    }

    #[test]
    fn other_messages_are_not() {
        for message in [
            "EXT4-fs (loop0): mounted filesystem ea8268a2 r/w with ordered data mode. Quota mode: none.",
            "loop0: detected capacity change from 0 to 131072",
            "nvme nvme0: 8/0/0 default/read/poll queues",
            "ata5: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
            "sd 2:0:0:0: [sda] Attached SCSI disk",
            "blk_print_req_error: 12 callbacks suppressed",
            "TCP: request_sock_TCP: Possible SYN flooding",
            "",
        ] {
            assert_eq!(fault(message), None, "{message}");
        }
    }
}
