//! The processors, from several parts of a report: counts in the system block, places in the CPU table, caches by CPU
//! lists.

use crate::{CPUS_MAX, number};
use model::affinity::AffinityEntry;
use model::limits::{CPUS_PER_GROUP, GROUP_MAX};
use model::topology::{Cache, CacheKind, Cpu, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// All data in the text about the processors.
#[derive(Default)]
pub(super) struct Machine {
    pub(super) counts: Counts,
    /// From the first CPU table.
    pub(super) places: Vec<Place>,
    pub(super) caches: Vec<CacheRow>,
}

/// Numbers of the system block; 0 = unknown.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) cpus: u32,
    pub(super) cores: u32,
    pub(super) groups: u32,
    pub(super) nodes: u32,
    pub(super) sockets: u32,
    pub(super) is_heterogeneous: bool,
}

/// The place of a CPU. Columns with the same value for all CPUs are missing.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) socket: Option<u32>,
    pub(super) node: Option<u32>,
    pub(super) group: Option<u32>,
    pub(super) core: Option<u32>,
    pub(super) class: Option<u32>,
    /// Number in the group.
    pub(super) number: u32,
}

/// A line of the cache table: one cache, or several equal ones.
pub(super) struct CacheRow {
    pub(super) level: u32,
    pub(super) kind: CacheKind,
    pub(super) size_bytes: u64,
    pub(super) line_bytes: u32,
    pub(super) associativity: u32,
    /// List of all CPUs, or of all groups.
    pub(super) cpus: String,
    /// "cpu", "core" or "group" if there is one cache for each.
    pub(super) users: String,
}

impl Place {
    /// The kernel's number, if such a CPU can exist.
    pub(super) fn id(self) -> Option<u32> {
        self.group.unwrap_or(0).checked_mul(CPUS_PER_GROUP)?.checked_add(self.number)
    }
}

impl Machine {
    pub(super) fn topology(&self) -> Topology {
        let cpus = if self.places.is_empty() { self.counted_cpus() } else { self.placed_cpus() };
        let last = cpus.last().map_or(0, |cpu| cpu.id.saturating_add(1));
        let first_of_last_group = self.counts.groups.min(1 << 16).saturating_sub(1) * CPUS_PER_GROUP;
        let possible_cpus = if self.counts.groups > 1 { last.max(first_of_last_group + 1) } else { last };
        let mut topology = Topology { cpus, possible_cpus, caches: Vec::new() };
        topology.caches = self.caches.iter().flat_map(|row| caches(row, &topology)).take(CPUS_MAX).collect();
        topology
    }

    fn placed_cpus(&self) -> Vec<Cpu> {
        let mut cores: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut cpus: BTreeMap<u32, Cpu> = BTreeMap::new();
        for place in self.places.iter().take(CPUS_MAX) {
            let Some(id) = place.id() else { continue };
            let next = cores.len() as u32;
            let core = place.core.map_or(id, |core| *cores.entry((place.group.unwrap_or(0), core)).or_insert(next));
            let (socket, node) = (place.socket.unwrap_or(0), place.node.unwrap_or(0));
            cpus.insert(id, Cpu { id, core, socket, node, class: place.class.unwrap_or(0), allowed: true });
        }
        cpus.into_values().collect()
    }

    /// CPUs from the counts alone, without a table: they are spread evenly.
    fn counted_cpus(&self) -> Vec<Cpu> {
        let Counts { cpus: count, cores, groups, nodes, sockets, is_heterogeneous } = self.counts;
        let count = count.min(CPUS_MAX as u32);
        let part = |cpu: u32, parts: u32| (u64::from(cpu) * u64::from(parts.max(1)) / u64::from(count.max(1))) as u32;
        let per_group = count.div_ceil(groups.max(1)).max(1);
        (0..count)
            .map(|cpu| Cpu {
                id: if groups > 1 { cpu / per_group * CPUS_PER_GROUP + cpu % per_group } else { cpu },
                core: part(cpu, cores),
                socket: part(cpu, sockets),
                node: part(cpu, nodes),
                class: u32::from(is_heterogeneous && cpu == 0),
                allowed: true,
            })
            .collect()
    }
}

/// The caches that a line represents. An invalid list represents none.
fn caches(row: &CacheRow, topology: &Topology) -> Vec<Cache> {
    let cache = |cpus: Vec<u32>| Cache {
        level: row.level,
        kind: row.kind,
        size_bytes: row.size_bytes,
        line_bytes: row.line_bytes,
        associativity: row.associativity,
        cpus,
    };
    let Ok(entries) = cpu_list(&row.cpus) else { return Vec::new() };
    let is_listed = |cpu: &&Cpu| match row.users.as_str() {
        // The list is of groups: `0-1`.
        "group" => entries.iter().any(|entry| cpu.group() < 64 && entry.mask >> cpu.group() & 1 == 1),
        _ => entries.iter().any(|entry| entry.group == cpu.group() && entry.mask >> cpu.number() & 1 == 1),
    };
    let mut members: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for cpu in topology.cpus.iter().filter(is_listed) {
        let member = match row.users.as_str() {
            "group" => u32::from(cpu.group()),
            "core" => cpu.core,
            "cpu" => cpu.id,
            _ => 0,
        };
        members.entry(member).or_default().insert(cpu.id);
    }
    let mut caches: Vec<Cache> = members.into_values().map(|cpus| cache(cpus.into_iter().collect())).collect();
    caches.sort_by_key(|cache| cache.cpus.first().copied());
    caches
}

/// `3 1-2`, `*`, `0/0-3,5 1/*`: masks in order.
pub(super) fn cpu_list(text: &str) -> Result<Vec<AffinityEntry>, String> {
    text.split_whitespace().map(entry).collect()
}

fn entry(text: &str) -> Result<AffinityEntry, String> {
    let wrong = || format!("'{}' is not a list of CPUs", number::shown(text));
    let (group, cpus) = text.split_once('/').unwrap_or(("0", text));
    let group: u32 = number::whole(group)?;
    if group > GROUP_MAX {
        return Err(wrong());
    }
    let group = group as u16;
    if cpus == "*" {
        return Ok(AffinityEntry::whole_group(group));
    }
    let mut mask = 0;
    for range in cpus.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (number::whole(first)?, number::whole(last)?);
        if last >= CPUS_PER_GROUP || first > last {
            return Err(wrong());
        }
        mask |= (first..=last).fold(0u64, |mask, cpu| mask | 1 << cpu);
    }
    Ok(AffinityEntry { group, mask })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::affinity::{compact, list_text};

    #[test]
    fn lists_of_cpus_read_as_they_print() {
        for (entries, several) in [
            (compact([(0, 3), (0, 1), (0, 2)]), false),
            (compact([(0, 0), (0, 2), (0, 63), (1, 0)]), true),
            (vec![AffinityEntry::whole_group(1)], true),
        ] {
            assert_eq!(cpu_list(&list_text(&entries, several)), Ok(entries));
        }
        for text in ["64", "3-1", "65536/0", "a", "1-", "0/"] {
            assert!(cpu_list(text).is_err(), "{text}");
        }
    }
}
