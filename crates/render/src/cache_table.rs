//! The caches, equal ones in one row.

use model::affinity::{AffinityEntry, list_text};
use model::limits::CPUS_PER_GROUP;
use model::topology::{Cache, CacheKind, Topology};
use model::units::Bytes;
use report::numbers::ranges;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Level at which the CPUs of a cache match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Group,
    Core,
    Cpu,
    Other,
}

/// Caches of one class and geometry.
struct Row<'a> {
    first: &'a Cache,
    class: Class,
    /// CPUs of all members, by group.
    masks: BTreeMap<u16, u64>,
    members: usize,
}

/// The table with the empty lines and the heading before it; empty without caches.
pub(crate) fn block(out: &mut dyn Write, topology: &Topology) -> io::Result<()> {
    if topology.caches.is_empty() {
        return Ok(());
    }
    let several_groups = topology.group_count() > 1;
    let (cpus, dashes) = if several_groups { ("Group/CPU", 59) } else { ("CPU", 55) };
    writeln!(out, "\n  cache information:\n")?;
    writeln!(out, "    Cache |   Size   | Line  | Assoc  | {cpus}")?;
    writeln!(out, "    {}", "-".repeat(dashes))?;
    for row in rows(topology, several_groups) {
        let Cache { size_bytes, line_bytes, .. } = *row.first;
        writeln!(
            out,
            "    {:<5} | {:>8} | {:>5} | {:>6} | {}",
            name(row.first),
            known_bytes(size_bytes),
            known_bytes(u64::from(line_bytes)),
            associativity(row.first.associativity),
            users(&row, several_groups)
        )?;
    }
    Ok(())
}

/// Rows are in the order of their first members.
fn rows(topology: &Topology, several_groups: bool) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for cache in &topology.caches {
        let masks = masks(cache);
        let class = classify(&masks, topology, several_groups);
        let alike =
            |row: &&mut Row<'_>| class != Class::Other && row.class == class && geometry(row.first) == geometry(cache);
        if let Some(row) = rows.iter_mut().find(alike) {
            for (group, mask) in masks {
                *row.masks.entry(group).or_default() |= mask;
            }
            row.members += 1;
        } else {
            rows.push(Row { first: cache, class, masks, members: 1 });
        }
    }
    rows
}

fn masks(cache: &Cache) -> BTreeMap<u16, u64> {
    let mut masks = BTreeMap::new();
    for cpu in &cache.cpus {
        *masks.entry((cpu / CPUS_PER_GROUP) as u16).or_default() |= 1 << (cpu % CPUS_PER_GROUP);
    }
    masks
}

fn classify(masks: &BTreeMap<u16, u64>, topology: &Topology, several_groups: bool) -> Class {
    let mut parts = masks.iter();
    let (Some((&group, &mask)), None) = (parts.next(), parts.next()) else { return Class::Other };
    if several_groups && mask == topology.online_mask(group) {
        Class::Group
    } else if mask.is_power_of_two() {
        Class::Cpu
    } else if topology.cores().iter().any(|core| core.entry == AffinityEntry { group, mask }) {
        Class::Core
    } else {
        Class::Other
    }
}

fn geometry(cache: &Cache) -> (u32, CacheKind, u64, u32, u32) {
    (cache.level, cache.kind, cache.size_bytes, cache.line_bytes, cache.associativity)
}

fn name(cache: &Cache) -> String {
    let kind = match cache.kind {
        CacheKind::Unified => "",
        CacheKind::Instruction => "i",
        CacheKind::Data => "d",
    };
    format!("L{}{kind}", cache.level)
}

/// 0 means unknown.
fn known_bytes(bytes: u64) -> String {
    if bytes == 0 { "-".to_owned() } else { Bytes(bytes).to_string() }
}

fn associativity(ways: u32) -> String {
    match ways {
        0 => "-".to_owned(),
        255 => "full".to_owned(),
        ways => format!("{ways}-way"),
    }
}

fn users(row: &Row<'_>, several_groups: bool) -> String {
    let cpus = || {
        let entries: Vec<AffinityEntry> =
            row.masks.iter().map(|(&group, &mask)| AffinityEntry { group, mask }).collect();
        list_text(&entries, several_groups)
    };
    if row.members == 1 {
        return cpus();
    }
    match row.class {
        Class::Group => {
            let groups: Vec<u32> = row.masks.keys().map(|&group| u32::from(group)).collect();
            format!("{} (per group)", ranges(&groups))
        }
        Class::Core => format!("{} (per core)", cpus()),
        Class::Cpu => format!("{} (per cpu)", cpus()),
        Class::Other => cpus(),
    }
}
