//! The environment of a result, and the command that repeats it.

use super::block::{Block, Fact, Section};
use super::foreign_text::{text, text_of_path};
use super::quantity::{size, spaced};
use crate::words::time::{known, utc};
use model::block_device::BlockDevice;
use model::environment::{Backing, Environment, Hypervisor, MountedFileSystem, TargetEnvironment};
use model::profile::ResultFormat;
use model::result::{RunResult, Tool};
use model::units::counted;
use std::path::Path;

/// Machine and time, on a line.
pub(crate) fn subtitle(result: &RunResult) -> String {
    place_time_tool(result, None).join(" · ")
}

/// The same for several runs of which this is one.
pub(crate) fn subtitle_of_runs(example: &RunResult) -> String {
    place_time_tool(example, Some(format!("one of the runs started {}", utc(example.started_at)))).join(" · ")
}

/// Machine, time and program; `started` is the time if it is not that of the result.
pub(crate) fn place_time_tool(result: &RunResult, started: Option<String>) -> [String; 3] {
    let started = started.unwrap_or_else(|| utc(result.started_at));
    [text(known(Some(&result.system.computer_name))), started, tool(&result.tool)]
}

/// The machine, its storage and the program.
pub(crate) fn environment(result: &RunResult) -> Section {
    Section::of_details("Environment", vec![Block::Facts { facts: facts(result) }])
}

/// Known facts of the machine, its storage and the program.
pub(crate) fn facts(result: &RunResult) -> Vec<Fact> {
    let mut facts = machine(result);
    for (path, environment) in &result.targets.environments {
        facts.extend(target(path, result, environment));
    }
    facts
}

/// The command that repeats the run.
pub(crate) fn command(result: &RunResult) -> Section {
    if result.command_line.trim().is_empty() {
        return profile(result);
    }
    let words = text(&result.command_line);
    let hint = if result.tool.implementation.is_none() {
        "What the file says that was typed. The load in the heading is read from the settings that DiskSpd printed into the \
         file, which are those of the run."
            .to_owned()
    } else if result.command_line.split(' ').any(|word| word.starts_with("-X")) {
        "The XML profile (-X) is also in the JSON result.".to_owned()
    } else {
        String::new()
    };
    Section::new("Command line", vec![Block::Command { words, hint }])
}

/// In place of a command line that a result of another program does not have.
fn profile(result: &RunResult) -> Section {
    let words = settings::xml::write_profile(&result.profile, ResultFormat::Text);
    let hint = "The result does not come from a command line of this program. To repeat the load, save this profile \
                as load.xml, adapt its paths, and run diskspd -Xload.xml.";
    Section::new("Profile", vec![Block::Command { words, hint: hint.to_owned() }])
}

fn tool(tool: &Tool) -> String {
    match &tool.implementation {
        Some(implementation) => text(&format!("{} {}", implementation.name, implementation.version)),
        None => text(&format!("DiskSpd {}", tool.version)),
    }
}

fn fact(name: &'static str, value: String) -> Fact {
    Fact { name, value }
}

/// Known facts of a machine.
pub(crate) struct Machine<'a> {
    pub(crate) computer: &'a str,
    pub(crate) processor: Option<&'a str>,
    pub(crate) cpus: Option<String>,
    pub(crate) environment: Option<&'a Environment>,
    /// Used if the environment lacks it.
    pub(crate) kernel_release: Option<&'a str>,
    pub(crate) power: Option<&'a str>,
    pub(crate) tool: String,
}

fn machine(result: &RunResult) -> Vec<Fact> {
    let system = &result.system;
    let topology = &system.topology;
    let cpus = [(topology.cpus.len(), "CPU"), (topology.core_count(), "core"), (topology.socket_count(), "socket")];
    let cpus = cpus.map(|(count, noun)| counted(count, noun)).join(", ");
    of_machine(&Machine {
        computer: &system.computer_name,
        processor: system.processor_name.as_deref(),
        cpus: (!topology.cpus.is_empty()).then_some(cpus),
        environment: result.environment.as_ref(),
        kernel_release: Some(&system.kernel_release),
        power: system.power_scheme.as_deref(),
        tool: tool(&result.tool),
    })
}

pub(crate) fn of_machine(machine: &Machine<'_>) -> Vec<Fact> {
    let nothing = Environment::default();
    let environment = machine.environment.unwrap_or(&nothing);
    let named = |name: &'static str, value: Option<&str>| {
        value.filter(|value| !value.is_empty()).map(|value| fact(name, text(value)))
    };
    [
        named("computer", Some(machine.computer)),
        named("processor", machine.processor),
        machine.cpus.clone().map(|cpus| fact("CPUs", cpus)),
        environment.memory_bytes.map(|bytes| fact("memory", size(bytes))),
        named("virtual machine", environment.virtual_machine().map(Hypervisor::words)),
        named("system", environment.distribution.as_deref()),
        named("kernel", environment.kernel_release.as_deref().or(machine.kernel_release)),
        named("power", machine.power),
        (!environment.cgroup_limits.is_empty()).then(|| {
            fact("limits", format!("{} set by cgroups; see the JSON result", environment.cgroup_limits.len()))
        }),
        Some(fact("measured with", machine.tool.clone())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The target, its file system and the disks below.
fn target(path: &Path, result: &RunResult, environment: &TargetEnvironment) -> Vec<Fact> {
    let measured = result.time_spans.iter().filter_map(|span| span.measured.as_ref());
    let mut rows = measured.flat_map(|measured| &measured.rows);
    let size = rows.find(|row| row.path == path).map(|row| format!(" ({})", size(row.target_size_bytes)));
    let mut facts = vec![fact("target", format!("{}{}", text_of_path(path), size.unwrap_or_default()))];
    facts.extend(environment.mount.as_ref().map(|mount| fact("\u{2003}file system", mounted(mount))));
    let place = match &environment.backing {
        Backing::Memory => Some("memory".to_owned()),
        Backing::Remote { address } => Some(format!("remote server {address}")),
        Backing::Process => Some("a process (FUSE)".to_owned()),
        Backing::Zfs(dataset) => Some(format!("ZFS, {}", dataset.dataset)),
        Backing::Unknown | Backing::Devices(_) | Backing::Overlay { .. } => None,
    };
    facts.extend(place.map(|place| fact("\u{2003}on", text(&place))));
    let is_virtual = stats::latency_band::is_virtual(result);
    facts.extend(environment.disks().into_iter().map(|disk| fact("\u{2003}disk", described(disk, is_virtual))));
    let placement = result.targets.placements.get(path);
    facts.extend(placement.map(|placement| fact("\u{2003}bytes on", text(&spaced(&placement.words())))));
    facts
}

fn mounted(mount: &MountedFileSystem) -> String {
    let options = mount.mount_options.join(",");
    text(&format!("{} from {}, {options}", mount.file_system, mount.source))
}

/// `nvme0n1, Some Model, 1.9TiB, scheduler none, the kernel reports it as not rotational`
fn described(disk: &BlockDevice, is_virtual: bool) -> String {
    let hardware = [disk.identity.vendor.as_deref(), disk.identity.model.as_deref()];
    let hardware = hardware.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let parts = [
        Some(disk.name.clone()),
        Some(hardware).filter(|hardware| !hardware.is_empty()),
        disk.size_bytes.map(size),
        disk.queue.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
        disk.queue.rotational.map(|is_rotational| rotational(is_rotational, is_virtual)),
    ];
    text(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// The kernel's report: for a virtual disk it is only a flag that the hypervisor may not set.
pub(crate) fn rotational(is_rotational: bool, is_virtual: bool) -> String {
    let not = if is_rotational { "" } else { "not " };
    if is_virtual {
        format!("the guest's kernel reports it as {not}rotational, but does not see the disks of the host")
    } else {
        format!("the kernel reports it as {not}rotational")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_kernel_that_says_whether_a_disk_is_rotational() {
        let mut disk = BlockDevice { name: "vda".to_owned(), ..BlockDevice::default() };
        assert_eq!(described(&disk, true), "vda");
        disk.queue.rotational = Some(true);
        assert_eq!(described(&disk, false), "vda, the kernel reports it as rotational");
        let guest = "vda, the guest's kernel reports it as rotational, but does not see the disks of the host";
        assert_eq!(described(&disk, true), guest);
        disk.queue.rotational = Some(false);
        assert_eq!(described(&disk, false), "vda, the kernel reports it as not rotational");
    }
}
