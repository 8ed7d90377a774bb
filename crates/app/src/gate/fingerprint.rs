//! Properties that runs must share to be comparable: nothing that changes without a change of the configuration.

use model::fleet::HostSystem;
use model::result::RunResult;
use settings::difference::load_settings;
use std::collections::{BTreeMap, BTreeSet};

/// The load, the class of the machine and of the devices, and versions; names, serial numbers and free space are not
/// included.
pub(super) fn fingerprint(result: &RunResult) -> BTreeMap<String, String> {
    let environment = result.environment.as_ref();
    let of_hosts = result.fleet.iter().flat_map(|fleet| &fleet.hosts).filter_map(|host| host.system.clone());
    let own = result.fleet.is_none().then(|| HostSystem::from(&result.system));
    let systems: Vec<HostSystem> = of_hosts.chain(own).collect();
    let listed = |of: fn(&HostSystem) -> String| {
        systems.iter().map(of).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("; ")
    };
    let cpus = listed(|of| format!("{}, {} CPUs", of.processor_name.as_deref().unwrap_or("unknown"), of.cpu_count));
    let kernels = listed(|of| major_minor(&of.kernel_release));
    let memory = environment.and_then(|of| of.memory_bytes).map_or(0, |bytes| (bytes as f64 / GIB).round() as u64);
    let hypervisor = environment.and_then(|of| of.hypervisor.as_ref()).map_or("unknown", |of| of.words());
    let program = result.tool.implementation.as_ref().map_or(&result.tool.version, |of| &of.version);
    let parts = [
        (LOAD, load_settings(&result.profile).join(" ")),
        ("CPU", cpus),
        ("memory", format!("{memory} GiB")),
        ("kernel", kernels),
        ("hypervisor", hypervisor.to_owned()),
        ("storage", storage(result)),
        ("diskspd", major_minor(program)),
    ];
    parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The name of the part with the load.
const LOAD: &str = "load";
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

/// The parts that differ: `kernel 6.1 -> 6.8`; of a load, the settings that differ.
pub(super) fn differences(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> String {
    let of_old = |name: &String| old.get(name).map_or("unknown", String::as_str);
    let differing = new.iter().filter(|(name, value)| of_old(name) != *value);
    let part = |(name, value): (&String, &String)| {
        let only = |of: &str, other: &str| {
            let is_shared = |word: &&str| *name == LOAD && other.split(' ').any(|shared| shared == *word);
            of.split(' ').filter(|word| !is_shared(word)).collect::<Vec<_>>().join(" ")
        };
        format!("{name} {} -> {}", only(of_old(name), value), only(value, of_old(name)))
    };
    differing.map(part).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fleet::{Fleet, FleetHost};

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
        let load = |words: &str| BTreeMap::from([("load".to_owned(), words.to_owned())]);
        assert_eq!(differences(&load("-b4K -o1 -t1"), &load("-b8K -o1 -t1 -r")), "load -b4K -> -b8K -r");
    }

    #[test]
    fn each_host_counts() {
        let host = |cpu_count| FleetHost {
            system: Some(HostSystem { kernel_release: "6.1.0".to_owned(), cpu_count, ..HostSystem::default() }),
            ..FleetHost::default()
        };
        let result = |hosts| RunResult { fleet: Some(Fleet { hosts, ..Fleet::default() }), ..RunResult::default() };
        let found = fingerprint(&result(vec![host(4), host(8), host(4)]));
        assert_eq!((&*found["CPU"], &*found["kernel"]), ("unknown, 4 CPUs; unknown, 8 CPUs", "6.1"));
    }
}
