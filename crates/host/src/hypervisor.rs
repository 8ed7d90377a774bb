//! What the system runs on: hardware, or which hypervisor.

use crate::root::Root;
use crate::syntax::labelled;
use model::environment::Hypervisor;

/// Prefixes of firmware strings and the hypervisors that they identify.
const FIRMWARE: [(&str, &str); 17] = [
    ("KVM", "KVM"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google", "Google Compute Engine"),
    ("QEMU", "QEMU"),
    ("VMware", "VMware"),
    ("VMW", "VMware"),
    ("innotek GmbH", "VirtualBox"),
    ("VirtualBox", "VirtualBox"),
    ("Xen", "Xen"),
    ("Bochs", "Bochs"),
    ("Parallels", "Parallels"),
    ("BHYVE", "bhyve"),
    ("Virtual Machine", "Hyper-V"),
    ("Hyper-V", "Hyper-V"),
    ("Apple Virtualization", "Apple Virtualization"),
    ("OpenStack", "OpenStack"),
    ("Alibaba Cloud", "Alibaba Cloud"),
];

/// Where firmware says it, the most telling first.
const FIRMWARE_FILES: [&str; 4] = ["product_name", "sys_vendor", "board_vendor", "bios_vendor"];

/// Beginnings of names of clocks that only a hypervisor offers, and whose they are.
const CLOCKS: [(&str, &str); 4] =
    [("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen"), ("vmware", "VMware")];

const CLOCK_FILE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// Queries the best source first; `None` if unknown.
pub(crate) fn of(root: &Root) -> Option<Hypervisor> {
    let flagged = is_flagged(root);
    if let Some(name) = announced(root) {
        return Some(Hypervisor::Named(name));
    }
    // Some clouds rent out bare machines whose firmware says the same as that of virtual ones.
    if flagged == Some(false) {
        return Some(Hypervisor::None);
    }
    let name = match (firmware(root), clock(root)) {
        // QEMU makes the machine; the clock tells what makes it run.
        (Some("QEMU"), Some(clock)) => Some(clock),
        (firmware, clock) => firmware.or(clock),
    };
    let named = name.map(|name| Hypervisor::Named(name.to_owned()));
    named.or_else(|| flagged.map(|_| Hypervisor::Unnamed))
}

/// Whether the processor says that it is not a real one; only x86 does.
fn is_flagged(root: &Root) -> Option<bool> {
    let cpuinfo = root.text("/proc/cpuinfo")?;
    Some(labelled(&cpuinfo, "flags")?.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// What a hypervisor says by an interface of its own.
fn announced(root: &Root) -> Option<String> {
    let xen = root.word("/sys/hypervisor/type").map(|kind| if kind == "xen" { "Xen".to_owned() } else { kind });
    xen.or_else(|| {
        let compatible = root.word("/proc/device-tree/hypervisor/compatible")?;
        let name = match compatible.split('\0').next()? {
            "linux,kvm" => "KVM",
            "vmware" => "VMware",
            name if name.starts_with("xen") => "Xen",
            name => name,
        };
        Some(name.to_owned())
    })
}

fn firmware(root: &Root) -> Option<&'static str> {
    let says = |file: &&str| root.word(format!("/sys/class/dmi/id/{file}"));
    let whose = |text: String| FIRMWARE.iter().find(|(start, _)| text.starts_with(start)).map(|(_, name)| *name);
    FIRMWARE_FILES.iter().filter_map(says).find_map(whose)
}

fn clock(root: &Root) -> Option<&'static str> {
    let clocks = root.text(CLOCK_FILE)?;
    let whose = |clock: &str| CLOCKS.iter().find(|(start, _)| clock.starts_with(start)).map(|(_, name)| *name);
    clocks.split_whitespace().find_map(whose)
}
