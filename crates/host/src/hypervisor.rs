//! The platform of the system: hardware, or the hypervisor.

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

/// Firmware files that name it, the most specific first.
const FIRMWARE_FILES: [&str; 4] = ["product_name", "sys_vendor", "board_vendor", "bios_vendor"];

/// Prefixes of clock sources that only a hypervisor offers, and the hypervisors.
const CLOCKS: [(&str, &str); 4] =
    [("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen"), ("vmware", "VMware")];

const CLOCK_FILE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// Queries the best source first; `None` if unknown.
pub(crate) fn detect(root: &Root) -> Option<Hypervisor> {
    let flagged = is_flagged(root);
    if let Some(name) = announced(root) {
        return Some(Hypervisor::Named(name));
    }
    // Some clouds rent out bare-metal machines whose firmware strings are those of virtual ones.
    if flagged == Some(false) {
        return Some(Hypervisor::None);
    }
    let name = match (firmware(root), clock(root)) {
        // QEMU emulates the machine; the clock source shows the accelerator.
        (Some("QEMU"), Some(clock)) => Some(clock),
        (firmware, clock) => firmware.or(clock),
    };
    let named = name.map(|name| Hypervisor::Named(name.to_owned()));
    named.or_else(|| flagged.map(|_| Hypervisor::Unnamed))
}

/// The processor's hypervisor flag; only x86 has one.
fn is_flagged(root: &Root) -> Option<bool> {
    let cpuinfo = root.text("/proc/cpuinfo")?;
    Some(labelled(&cpuinfo, "flags")?.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// The hypervisor named by an interface of its own.
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
