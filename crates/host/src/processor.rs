//! The processor: its name, frequency governor, CPU frequencies, and counts of thermal throttling.

use crate::root::{Root, cpu_directory};
use crate::syntax::labelled;
use model::kernel_counters::CpuCounters;

/// The maximum number of CPUs that are read: some kernels take 10 ms for the frequency of an idle one.
const CPUS_MAX: usize = 16;

/// Implementer, part and name of widespread arm64 cores, which carry no name string.
const ARM_PARTS: [(u32, u32, &str); 31] = [
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd04, "Cortex-A35"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd44, "Cortex-X1"),
    (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4a, "Neoverse-E1"),
    (0x41, 0xd4b, "Cortex-A78C"),
    (0x41, 0xd4d, "Cortex-A715"),
    (0x41, 0xd4e, "Cortex-X3"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd80, "Cortex-A520"),
    (0x41, 0xd81, "Cortex-A720"),
    (0x41, 0xd82, "Cortex-X4"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x43, 0x0af, "ThunderX2"),
    (0x48, 0xd01, "Kunpeng-920"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
];

/// The processor's name, blanks collapsed.
///
/// x86 and others report it; arm64 reports numbers, which are translated, else the board's name is used, else the
/// numbers themselves.
pub(crate) fn name(root: &Root) -> Option<String> {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    ["model name", "cpu model"]
        .iter()
        .find_map(|label| labelled(&cpuinfo, label))
        .map(str::to_owned)
        .or_else(|| arm_name(&cpuinfo))
        .or_else(|| root.word("/proc/device-tree/model"))
        .or_else(|| arm_numbers(&cpuinfo))
        .map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|name| !name.is_empty())
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn arm_name(cpuinfo: &str) -> Option<String> {
    let implementer = hexadecimal(labelled(cpuinfo, "CPU implementer")?)?;
    let part = hexadecimal(labelled(cpuinfo, "CPU part")?)?;
    let found = ARM_PARTS.iter().find(|entry| entry.0 == implementer && entry.1 == part)?;
    Some(found.2.to_owned())
}

fn arm_numbers(cpuinfo: &str) -> Option<String> {
    let implementer = labelled(cpuinfo, "CPU implementer")?;
    let part = labelled(cpuinfo, "CPU part")?;
    Some(format!("CPU implementer {implementer} part {part}"))
}

/// The frequency governor of `first_cpu`, else the platform profile.
pub(crate) fn power_scheme(root: &Root, first_cpu: u32) -> Option<String> {
    root.word(format!("{}/cpufreq/scaling_governor", cpu_directory(first_cpu)))
        .or_else(|| root.word("/sys/firmware/acpi/platform_profile"))
}

/// Reads the counters of `cpus`, of the first of them if they are many. CPUs without any are left out.
pub fn cpu_counters(root: &Root, cpus: impl IntoIterator<Item = u32>) -> Vec<CpuCounters> {
    let counters = |cpu: u32| {
        let number = |file: &str| root.number(format!("{}/{file}", cpu_directory(cpu)));
        let found = CpuCounters {
            cpu,
            clock_khz: number("cpufreq/scaling_cur_freq"),
            core_throttled_count: number("thermal_throttle/core_throttle_count"),
            package_throttled_count: number("thermal_throttle/package_throttle_count"),
        };
        (found != CpuCounters { cpu, ..CpuCounters::default() }).then_some(found)
    };
    cpus.into_iter().take(CPUS_MAX).filter_map(counters).collect()
}
