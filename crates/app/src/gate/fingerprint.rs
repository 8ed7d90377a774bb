//! What runs must have in common to be compared: nothing that changes by itself.

use model::result::RunResult;
use settings::difference::load_settings;
use std::collections::{BTreeMap, BTreeSet};

/// The load, the class of the machine and of the devices, and versions; names, serial numbers and free space are no part.
pub(super) fn fingerprint(result: &RunResult) -> BTreeMap<String, String> {
    let environment = result.environment.as_ref();
    let cpu = result.system.processor_name.as_deref().unwrap_or("unknown");
    let memory = environment.and_then(|of| of.memory_bytes).map_or(0, |bytes| (bytes as f64 / GIB).round() as u64);
    let hypervisor = environment.and_then(|of| of.hypervisor.as_ref()).map_or("unknown", |of| of.words());
    let program = result.tool.implementation.as_ref().map_or(&result.tool.version, |of| &of.version);
    let parts = [
        ("load", load_settings(&result.profile).join(" ")),
        ("CPU", format!("{cpu}, {} CPUs", result.system.topology.cpus.len())),
        ("memory", format!("{memory} GiB")),
        ("kernel", major_minor(&result.system.kernel_release)),
        ("hypervisor", hypervisor.to_owned()),
        ("storage", storage(result)),
        ("diskspd", major_minor(program)),
    ];
    parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

const GIB: f64 = (1u64 << 30) as f64;

/// `6.8` of `6.8.0-31-generic`.
fn major_minor(version: &str) -> String {
    let end = |c: char| !c.is_ascii_digit();
    version.split('.').take(2).map(|part| part.split(end).next().unwrap_or_default()).collect::<Vec<_>>().join(".")
}

/// File systems, and models and sizes of the disks below.
fn storage(result: &RunResult) -> String {
    let mut parts = BTreeSet::new();
    for environment in result.targets.environments.values() {
        parts.extend(environment.mount.iter().map(|mount| mount.file_system.clone()));
        parts.extend(environment.disks().iter().map(|disk| {
            let size = disk.size_bytes.map_or(0.0, |bytes| bytes as f64 / GIB).round();
            let [vendor, model] = [&disk.identity.vendor, &disk.identity.model].map(|of| of.as_deref().unwrap_or(""));
            format!("{vendor} {model} {size} GiB").trim_start().to_owned()
        }));
    }
    parts.into_iter().collect::<Vec<_>>().join(", ")
}

/// The parts that differ: `kernel 6.1 -> 6.8`.
pub(super) fn differences(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> String {
    let of_old = |name: &String| old.get(name).map_or("unknown", String::as_str).to_owned();
    let differing = new.iter().filter(|(name, value)| of_old(name) != **value);
    differing.map(|(name, value)| format!("{name} {} -> {value}", of_old(name))).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_or_a_patch_level_is_no_part_and_a_kernel_is() {
        let result = |release: &str, host: &str| {
            let mut result = RunResult::default();
            (result.system.kernel_release, result.system.computer_name) = (release.to_owned(), host.to_owned());
            fingerprint(&result)
        };
        let old = result("6.1.0-18-amd64", "a");
        assert_eq!(old, result("6.1.90", "b"));
        assert_eq!(differences(&old, &result("6.8.0", "a")), "kernel 6.1 -> 6.8");
    }
}
