//! The machine.

use super::number::mask;
use super::writer::Writer;
use crate::system::scheme_id;
use model::affinity::{AffinityEntry, compact};
use model::facts::SystemFacts;
use model::limits::CPUS_PER_GROUP;
use model::result::Tool;
use model::topology::{Cache, CacheKind, Cpu, Topology};
use model::units::UnixTime;
use report::words::time::{known, utc};
use std::collections::BTreeMap;
use std::io;

pub(super) fn element(xml: &mut Writer<'_>, system: &SystemFacts, tool: &Tool, started_at: UnixTime) -> io::Result<()> {
    xml.inside("System", &[], |xml| {
        xml.element("ComputerName", &system.computer_name)?;
        xml.element("ProcessorName", known(system.processor_name.as_deref()))?;
        xml.inside("Tool", &[], |xml| self::tool(xml, tool))?;
        xml.element("RunTime", utc(started_at))?;
        let scheme = known(system.power_scheme.as_deref());
        let (name, guid) = scheme_id(scheme).unwrap_or((scheme, ""));
        xml.empty("PowerScheme", &[("Name", &name), ("Guid", &guid)])?;
        if system.page_size_bytes > 0 {
            xml.element("PageSize", system.page_size_bytes)?;
        }
        topology(xml, &system.topology)
    })
}

/// Readers choose the dialect by the version, so it is that of the document, whichever program measured.
fn tool(xml: &mut Writer<'_>, tool: &Tool) -> io::Result<()> {
    let ours = Tool::default();
    xml.element("Version", &ours.version)?;
    xml.element("VersionDate", &ours.version_date)?;
    if let Some(implementation) = tool.implementation.as_ref().or(ours.implementation.as_ref()) {
        xml.empty("Implementation", &[("Name", &implementation.name), ("Version", &implementation.version)])?;
    }
    if tool.implementation.is_none() {
        xml.empty("Source", &[("Version", &tool.version), ("VersionDate", &tool.version_date)])?;
    }
    Ok(())
}

fn topology(xml: &mut Writer<'_>, topology: &Topology) -> io::Result<()> {
    xml.inside("ProcessorTopology", &[("Heterogeneous", &(topology.highest_class() > 0))], |xml| {
        let last_group = u16::try_from(topology.group_count().saturating_sub(1)).unwrap_or(u16::MAX);
        for group in 0..=last_group {
            let active = topology.online_mask(group);
            xml.empty(
                "Group",
                &[
                    ("Group", &group),
                    ("MaximumProcessors", &topology.group_maximum(group)),
                    ("ActiveProcessors", &active.count_ones()),
                    ("ActiveProcessorMask", &mask(active)),
                ],
            )?;
        }
        parts(xml, "Node", topology, |cpu| cpu.node)?;
        parts(xml, "Socket", topology, |cpu| cpu.socket)?;
        cores(xml, topology)?;
        topology.caches.iter().try_for_each(|cache| self::cache(xml, cache))
    })
}

/// Nodes or sockets, ascending, each with its CPUs by group.
fn parts(xml: &mut Writer<'_>, name: &str, topology: &Topology, number: fn(&Cpu) -> u32) -> io::Result<()> {
    let mut parts: BTreeMap<u32, Vec<(u16, u32)>> = BTreeMap::new();
    for cpu in &topology.cpus {
        parts.entry(number(cpu)).or_default().push((cpu.group(), cpu.number()));
    }
    for (number, cpus) in parts {
        xml.inside(name, &[(name, &number)], |xml| masks(xml, &compact(cpus)))?;
    }
    Ok(())
}

/// One element for each group and its CPUs.
pub(super) fn masks(xml: &mut Writer<'_>, entries: &[AffinityEntry]) -> io::Result<()> {
    for entry in entries {
        xml.empty("Group", &[("Group", &entry.group), ("Mask", &mask(entry.mask))])?;
    }
    Ok(())
}

/// Numbered inside each group.
fn cores(xml: &mut Writer<'_>, topology: &Topology) -> io::Result<()> {
    let cores = topology.cores();
    for in_group in cores.chunk_by(|a, b| a.entry.group == b.entry.group) {
        for (number, core) in in_group.iter().enumerate() {
            xml.empty(
                "Core",
                &[
                    ("Group", &core.entry.group),
                    ("Core", &number),
                    ("Mask", &mask(core.entry.mask)),
                    ("EfficiencyClass", &core.class),
                ],
            )?;
        }
    }
    Ok(())
}

fn cache(xml: &mut Writer<'_>, cache: &Cache) -> io::Result<()> {
    let kind = match cache.kind {
        CacheKind::Unified => "Unified",
        CacheKind::Instruction => "Instruction",
        CacheKind::Data => "Data",
    };
    xml.inside(
        "Cache",
        &[
            ("Level", &cache.level),
            ("Associativity", &cache.associativity),
            ("LineSize", &cache.line_bytes),
            ("CacheSize", &cache.size_bytes),
            ("Type", &kind),
        ],
        |xml| {
            let cpus = cache.cpus.iter().map(|cpu| ((cpu / CPUS_PER_GROUP) as u16, cpu % CPUS_PER_GROUP));
            masks(xml, &compact(cpus))
        },
    )
}
