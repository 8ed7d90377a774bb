//! CPUs that handle the interrupts of a disk's queues.

use crate::root::Root;
use std::path::Path;

/// The CPU that handles the interrupt of each of the `queues` hardware queues of the disk at `directory`, a real one;
/// none if that is not known of all of them.
///
/// The adapter's interrupts are identified by the names that drivers give them, as in /proc/interrupts. Those are read
/// from /sys, which containers show too.
pub(crate) fn cpus(root: &Root, directory: &Path, queues: usize) -> Vec<u32> {
    let place = root.real(directory.join("device")).unwrap_or_else(|| directory.to_owned());
    let Some(adapter) = place.ancestors().find(|above| name(above).is_some_and(is_pci_address)) else {
        return Vec::new();
    };
    let numbers = root.numbered(adapter.join("msi_irqs"), "");
    let interrupts = match numbers.as_slice() {
        // It serves all queues of the adapter.
        [only] => vec![*only; queues],
        _ => of_queues(root, &place, &numbers),
    };
    let cpus: Option<Vec<u32>> = interrupts.iter().map(|number| cpu(root, *number)).collect();
    // Polled queues have no interrupt.
    cpus.filter(|cpus| cpus.len() == queues).unwrap_or_default()
}

/// Those of the numbers that are interrupts of queues, in the order of the queues.
fn of_queues(root: &Root, place: &Path, numbers: &[u32]) -> Vec<u32> {
    let mut found = Vec::new();
    for number in numbers {
        let actions = root.word(format!("/sys/kernel/irq/{number}/actions")).unwrap_or_default();
        found.extend(actions.split(',').find_map(|action| queue(place, action)).map(|queue| (queue, *number)));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, number)| number).collect()
}

/// The queue of the interrupt with the name `action`, if it is one of the device at `place`: `nvme0q1` (`nvme0q0` is
/// the admin queue), `virtio1-req.0`, `virtio1-request` (SCSI) or `virtio1-virtqueues` (all queues).
fn queue(place: &Path, action: &str) -> Option<u32> {
    let names = place.ancestors().filter_map(name);
    let owner = |driver: &str| names.clone().find(|name| is_numbered(name, driver));
    if let Some(controller) = owner("nvme") {
        let queue = action.strip_prefix(controller)?.strip_prefix('q')?.parse().ok()?;
        return (queue > 0).then_some(queue);
    }
    match action.strip_prefix(owner("virtio")?)? {
        "-request" | "-virtqueues" => Some(0),
        other => other.strip_prefix("-req.")?.parse().ok(),
    }
}

/// The one CPU that handles an interrupt.
fn cpu(root: &Root, number: u32) -> Option<u32> {
    root.small_number(format!("/proc/irq/{number}/effective_affinity_list"))
}

fn name(directory: &Path) -> Option<&str> {
    directory.file_name()?.to_str()
}

/// True for addresses such as `0000:00:02.0`.
fn is_pci_address(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let is_hexadecimal = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.len() == 4 && name.contains('.') && parts.iter().all(is_hexadecimal)
}

fn is_numbered(name: &str, start: &str) -> bool {
    let number = name.strip_prefix(start).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_of_pci_and_others() {
        for (text, is_it) in [
            ("0000:00:02.0", true),
            ("10000:e1:00.0", true),
            ("pci0000:00", false),
            ("0:0:0:0", false),
            ("0000:00:02.", false),
            ("0000:00:02.g", false),
        ] {
            assert_eq!(is_pci_address(text), is_it, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_name_makes_it_panic(start in "nvme0q|virtio1-req.?|\\PC*", rest in "[0-9]{0,12}|\\PC*") {
            for place in ["/sys/devices/0000:00:02.0/virtio1", "/sys/devices/0000:00:02.0/nvme/nvme0"] {
                let _ = (queue(Path::new(place), &format!("{start}{rest}")), is_pci_address(&rest));
            }
        }
    }
}
