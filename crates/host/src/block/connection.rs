//! Attachment of a block device: derived from its parent devices.

use crate::root::Root;
use model::block_device::{Connection, PcieLink, Transport};
use std::path::Path;

/// The connection of the hardware at `directory`, a real one.
pub(crate) fn read(root: &Root, name: &str, directory: &Path) -> Connection {
    // The device behind a path of NVMe multipath is the same directory; that of a namespace is not always above it.
    let place = root.real(directory.join("device")).unwrap_or_else(|| directory.to_owned());
    let nearest = |file: &str| place.ancestors().find_map(|above| root.word(above.join(file)));
    Connection {
        transport: transport(root, name, directory, &place),
        // -1 where there are no nodes, or it is unknown.
        numa_node: nearest("numa_node").and_then(|node| node.parse().ok()),
        pcie: pcie(root, &place),
    }
}

fn transport(root: &Root, name: &str, directory: &Path, place: &Path) -> Option<Transport> {
    if name.starts_with("nvme") {
        return match root.word(directory.join("device/transport"))?.as_str() {
            "pcie" => Some(Transport::Nvme),
            network => Some(Transport::NvmeOver(network.to_owned())),
        };
    }
    if name.starts_with("mmcblk") {
        return Some(Transport::Mmc);
    }
    if name.starts_with("pmem") {
        return Some(Transport::Nvdimm);
    }
    let parts: Vec<&str> = place.iter().filter_map(|part| part.to_str()).collect();
    // A directory on the path, by the prefix of its name before a number.
    let passes = |start: &str| {
        let follows = |part: &&str| part.strip_prefix(start).and_then(|rest| rest.bytes().next());
        parts.iter().any(|part| follows(part).is_some_and(|byte| byte.is_ascii_digit()))
    };
    let passes_vmbus = || parts.iter().any(|part| part.to_ascii_lowercase().starts_with("vmbus")) || passes("MSFT");
    let found = [
        (passes("usb"), Transport::Usb),
        (passes("session"), Transport::Iscsi),
        (passes("rport-"), Transport::FibreChannel),
        (passes("end_device-"), Transport::Sas),
        (passes("ata"), Transport::Sata),
        (passes("virtio"), Transport::Virtio),
        (passes("vbd-"), Transport::Xen),
        (passes_vmbus(), Transport::Vmbus),
        (passes("host"), Transport::Scsi),
    ];
    found.into_iter().find(|(is_it, _)| *is_it).map(|(_, transport)| transport)
}

/// The link of the nearest parent PCI device that has one.
fn pcie(root: &Root, place: &Path) -> Option<PcieLink> {
    let device = place.ancestors().find(|above| root.exists(above.join("current_link_speed")))?;
    let speed = |file: &str| megatransfers(&root.word(device.join(file))?);
    // Missing lanes are reported as 0 or, where all bits are set, as 63 or 255.
    let lanes = |file: &str| root.small_number(device.join(file)).filter(|lanes| (1..63).contains(lanes));
    Some(PcieLink {
        address: device.file_name()?.to_str()?.to_owned(),
        megatransfers_per_s: speed("current_link_speed"),
        megatransfers_per_s_max: speed("max_link_speed"),
        lanes: lanes("current_link_width"),
        lanes_max: lanes("max_link_width"),
    })
}

/// `16.0 GT/s PCIe` is 16000; `Unknown` is unknown.
fn megatransfers(text: &str) -> Option<u32> {
    let (number, _) = text.split_once(" GT/s")?;
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let digit = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u32>().ok())?;
    let tenths = (tenths.len() == 1).then(|| digit(tenths))??;
    digit(whole)?.checked_mul(1000)?.checked_add(tenths * 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn speeds_of_all_generations() {
        for (text, speed) in [
            ("2.5 GT/s PCIe", Some(2500)),
            ("5.0 GT/s", Some(5000)),
            ("8.0 GT/s PCIe", Some(8000)),
            ("32.0 GT/s PCIe", Some(32_000)),
            ("64 GT/s", Some(64_000)),
            ("Unknown", None),
            ("Unknown speed", None),
            (" GT/s", None),
            ("-5.0 GT/s", None),
            ("5.00 GT/s", None),
            ("99999999999 GT/s", None),
        ] {
            assert_eq!(megatransfers(text), speed, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*", number in "[0-9.]{0,12}") {
            let _ = (megatransfers(&text), megatransfers(&format!("{number} GT/s")));
        }
    }
}
