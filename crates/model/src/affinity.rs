//! Lists of CPUs as `DiskSpd` keeps them: entries of one group and a 64-bit mask.

use crate::limits::CPUS_PER_GROUP;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// CPUs of one group, ascending; a mask of 0 means every active CPU of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AffinityEntry {
    /// Processor group: kernel CPU number / 64.
    pub group: u16,
    /// One bit per CPU of the group.
    pub mask: u64,
}

impl AffinityEntry {
    /// The whole of `group`.
    pub const fn whole_group(group: u16) -> Self {
        Self { group, mask: 0 }
    }

    /// True if this entry stands for every active CPU of its group.
    pub const fn is_whole_group(self) -> bool {
        self.mask == 0
    }

    /// The CPU numbers inside the group, ascending.
    pub fn cpus(self) -> impl Iterator<Item = u32> {
        (0..CPUS_PER_GROUP).filter(move |cpu| self.mask >> cpu & 1 == 1)
    }
}

/// The kernel's numbers of the CPUs in a list without whole groups, in its order.
pub fn cpus(entries: &[AffinityEntry]) -> impl Iterator<Item = u32> {
    entries.iter().flat_map(|entry| entry.cpus().map(|cpu| u32::from(entry.group) * CPUS_PER_GROUP + cpu))
}

/// Adds one CPU (`cpu` below 64) to a list.
///
/// It joins the last entry only if that is of the same group, not a whole group, and holds only
/// smaller CPU numbers; so reading the entries in order, lowest bit first, gives the list back.
pub fn push_cpu(entries: &mut Vec<AffinityEntry>, group: u16, cpu: u32) {
    debug_assert!(cpu < CPUS_PER_GROUP);
    if let Some(last) = entries.last_mut()
        && last.group == group
        && !last.is_whole_group()
        && last.mask >> cpu == 0
    {
        last.mask |= 1 << cpu;
        return;
    }
    entries.push(AffinityEntry { group, mask: 1 << cpu });
}

/// The compact form of a list of (group, CPU) in order.
pub fn compact(cpus: impl IntoIterator<Item = (u16, u32)>) -> Vec<AffinityEntry> {
    let mut entries = Vec::new();
    for (group, cpu) in cpus {
        push_cpu(&mut entries, group, cpu);
    }
    entries
}

/// A mask as ranges: `0-3,7`; runs of two print as `a-b` like longer ones.
pub fn ranges_text(mask: u64) -> String {
    let mut text = String::new();
    let mut cpu = 0;
    while cpu < CPUS_PER_GROUP {
        if mask >> cpu & 1 == 0 {
            cpu += 1;
            continue;
        }
        let first = cpu;
        while cpu < CPUS_PER_GROUP && mask >> cpu & 1 == 1 {
            cpu += 1;
        }
        let separator = if text.is_empty() { "" } else { "," };
        let last = cpu - 1;
        // Writing to a String cannot fail.
        let _ =
            if first == last { write!(text, "{separator}{first}") } else { write!(text, "{separator}{first}-{last}") };
    }
    text
}

/// A list as `DiskSpd` prints it: entries separated by a blank, `*` for a whole group, with
/// `group/` before each entry where the machine has several groups.
pub fn list_text(entries: &[AffinityEntry], several_groups: bool) -> String {
    let items: Vec<String> = entries
        .iter()
        .map(|entry| {
            let cpus = if entry.is_whole_group() { "*".to_owned() } else { ranges_text(entry.mask) };
            if several_groups { format!("{}/{cpus}", entry.group) } else { cpus }
        })
        .collect();
    items.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(list: &[(u16, u32)]) -> Vec<(u16, u64)> {
        compact(list.iter().copied()).into_iter().map(|e| (e.group, e.mask)).collect()
    }

    #[test]
    fn a_cpu_joins_the_last_entry_only_when_it_ascends_in_the_same_group() {
        assert_eq!(masks(&[(0, 0), (0, 1), (0, 2)]), [(0, 7)]);
        assert_eq!(masks(&[(0, 5), (0, 3)]), [(0, 0x20), (0, 8)]);
        assert_eq!(masks(&[(0, 1), (0, 0), (0, 3), (0, 2)]), [(0, 2), (0, 9), (0, 4)]);
        assert_eq!(masks(&[(0, 0), (0, 0)]), [(0, 1), (0, 1)]);
        assert_eq!(masks(&[(0, 63), (1, 0)]), [(0, 1 << 63), (1, 1)]);
    }

    #[test]
    fn nothing_joins_a_whole_group() {
        let mut entries = vec![AffinityEntry::whole_group(0)];
        push_cpu(&mut entries, 0, 1);
        assert_eq!(entries.len(), 2);
    }

    #[test]
    fn lists_print_as_ranges() {
        assert_eq!(list_text(&compact([(0, 3), (0, 1), (0, 2)]), false), "3 1-2");
        assert_eq!(list_text(&[AffinityEntry::whole_group(1)], true), "1/*");
        assert_eq!(list_text(&compact([(0, 0), (0, 2), (1, 0), (1, 2)]), true), "0/0,2 1/0,2");
        assert_eq!(ranges_text(u64::MAX), "0-63");
    }
}
