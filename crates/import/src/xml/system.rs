//! The machine.

use super::element::Element;
use crate::number::start_time;
use crate::{CPUS_MAX, ReadError};
use model::facts::SystemFacts;
use model::limits::{CPUS_PER_GROUP, GROUP_MAX};
use model::result::{Implementation, RunResult, Tool};
use model::topology::{Cache, CacheKind, Cpu, Topology};
use model::units::UnixTime;
use std::collections::BTreeMap;

pub(super) fn read(system: Option<Element<'_, '_>>, result: &mut RunResult) -> Result<(), ReadError> {
    result.started_at = UnixTime::UNKNOWN;
    let Some(system) = system else { return Ok(()) };
    if let Some(tool) = system.child("Tool") {
        result.tool = self::tool(tool);
    }
    let run_time = system.child_text("RunTime");
    result.started_at = run_time.and_then(start_time).unwrap_or(UnixTime::UNKNOWN);
    result.system = SystemFacts {
        computer_name: system.child_text("ComputerName").unwrap_or_default().to_owned(),
        processor_name: system.known_text("ProcessorName"),
        power_scheme: system.child("PowerScheme").and_then(power_scheme),
        page_size_bytes: system.whole("PageSize")?.unwrap_or(0),
        topology: system.child("ProcessorTopology").map(topology).transpose()?.unwrap_or_default(),
        ..SystemFacts::default()
    };
    Ok(())
}

/// Name and number, as texts show them.
fn power_scheme(scheme: Element<'_, '_>) -> Option<String> {
    let name = scheme.attribute("Name").filter(|name| !name.is_empty() && *name != "<unknown>")?;
    match scheme.attribute("Guid") {
        None | Some("") => Some(name.to_owned()),
        Some(guid) => Some(format!("{name} ({guid})")),
    }
}

/// The program that measured, not the one that wrote the document, if they differ.
fn tool(tool: Element<'_, '_>) -> Tool {
    let attribute = |element: Element<'_, '_>, name| element.attribute(name).unwrap_or_default().to_owned();
    if let Some(source) = tool.child("Source") {
        let (version, version_date) = (attribute(source, "Version"), attribute(source, "VersionDate"));
        return Tool { version, version_date, implementation: None };
    }
    let implementation = tool.child("Implementation");
    Tool {
        version: tool.child_text("Version").unwrap_or_default().to_owned(),
        version_date: tool.child_text("VersionDate").unwrap_or_default().to_owned(),
        implementation: implementation
            .map(|element| Implementation { name: attribute(element, "Name"), version: attribute(element, "Version") }),
    }
}

/// The CPUs and their places, from masks: in nested groups since 2.2, in attributes before.
fn topology(topology: Element<'_, '_>) -> Result<Topology, ReadError> {
    let mut cpus: BTreeMap<u32, Cpu> = BTreeMap::new();
    let mut possible_cpus = 0;
    for group in topology.children("Group") {
        let number = group_number(group)?;
        let maximum = group.whole_attribute::<u32>("MaximumProcessors")?.unwrap_or(0).min(CPUS_PER_GROUP);
        possible_cpus = possible_cpus.max(number * CPUS_PER_GROUP + maximum);
        for id in bits(number, group.mask("ActiveProcessorMask")?.unwrap_or(0)) {
            cpus.insert(id, Cpu { id, core: id, socket: 0, node: 0, class: 0, allowed: true });
        }
        if cpus.len() > CPUS_MAX {
            return Err(group.error(format!("more than {CPUS_MAX} processors")));
        }
    }
    for (index, socket) in (0u32..).zip(topology.children("Socket")) {
        let number = socket.whole_attribute("Socket")?.unwrap_or(index);
        each(&mut cpus, socket, |cpu| cpu.socket = number)?;
    }
    for node in topology.children("Node") {
        let number = node.whole_attribute("Node")?.unwrap_or(0);
        each(&mut cpus, node, |cpu| cpu.node = number)?;
    }
    let is_core = |element: &Element<'_, '_>| matches!(element.name(), "Core" | "HyperThread");
    for (index, core) in (0u32..).zip(topology.all_children().filter(is_core)) {
        let class = core.whole_attribute("EfficiencyClass")?.unwrap_or(0);
        each(&mut cpus, core, |cpu| (cpu.core, cpu.class) = (index, class))?;
    }
    let caches = topology.children("Cache").map(cache).collect::<Result<_, _>>()?;
    let last = cpus.keys().last().map_or(0, |id| id + 1);
    Ok(Topology { cpus: cpus.into_values().collect(), possible_cpus: possible_cpus.max(last), caches })
}

/// Changes every CPU that an element or the groups inside it contain.
fn each(
    cpus: &mut BTreeMap<u32, Cpu>,
    part: Element<'_, '_>,
    mut change: impl FnMut(&mut Cpu),
) -> Result<(), ReadError> {
    for element in std::iter::once(part).chain(part.children("Group")) {
        let mask = element.mask("Mask")?.or(element.mask("Processors")?).unwrap_or(0);
        for id in bits(group_number(element)?, mask) {
            if let Some(cpu) = cpus.get_mut(&id) {
                change(cpu);
            }
        }
    }
    Ok(())
}

fn cache(cache: Element<'_, '_>) -> Result<Cache, ReadError> {
    let mut cpus = Vec::new();
    for group in cache.children("Group") {
        cpus.extend(bits(group_number(group)?, group.mask("Mask")?.unwrap_or(0)));
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(Cache {
        level: cache.whole_attribute("Level")?.unwrap_or(0),
        kind: match cache.attribute("Type") {
            Some("Data") => CacheKind::Data,
            // A trace cache contains decoded instructions.
            Some("Instruction" | "Trace") => CacheKind::Instruction,
            _ => CacheKind::Unified,
        },
        size_bytes: cache.whole_attribute("CacheSize")?.unwrap_or(0),
        line_bytes: cache.whole_attribute("LineSize")?.unwrap_or(0),
        associativity: cache.whole_attribute("Associativity")?.unwrap_or(0),
        cpus,
    })
}

pub(super) fn group_number(element: Element<'_, '_>) -> Result<u32, ReadError> {
    let number = element.whole_attribute("Group")?.unwrap_or(0);
    if number > GROUP_MAX {
        return Err(element.error(format!("processor group {number} is above {GROUP_MAX}")));
    }
    Ok(number)
}

/// The CPUs of a mask.
fn bits(group: u32, mask: u64) -> impl Iterator<Item = u32> {
    (0..CPUS_PER_GROUP).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| group * CPUS_PER_GROUP + bit)
}
