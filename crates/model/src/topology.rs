//! Processors as `DiskSpd` describes them: groups, nodes, sockets, cores, classes, caches.
//!
//! Linux has no processor groups: group = kernel CPU number / 64, number in the group = the
//! remainder, so that most machines have the one group that users expect.

use crate::affinity::AffinityEntry;
use crate::limits::CPUS_PER_GROUP;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The processors that are online, in ascending order of kernel number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Topology {
    /// Online CPUs, ascending.
    pub cpus: Vec<Cpu>,
    /// One past the highest CPU number that the kernel could ever bring online.
    pub possible_cpus: u32,
    /// Caches in system order (lowest CPU, then index).
    pub caches: Vec<Cache>,
}

/// One online logical processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// The kernel's number.
    pub id: u32,
    /// Physical core: an identity shared by its hardware threads, whatever their groups.
    pub core: u32,
    /// Socket, renumbered from 0.
    pub socket: u32,
    /// NUMA node.
    pub node: u32,
    /// Efficiency class: higher = more performance; 0 everywhere on uniform machines.
    pub class: u32,
    /// In the affinity mask that the process was started with.
    pub allowed: bool,
}

impl Cpu {
    /// Processor group.
    pub const fn group(&self) -> u16 {
        (self.id / CPUS_PER_GROUP) as u16
    }

    /// Number inside the group.
    pub const fn number(&self) -> u32 {
        self.id % CPUS_PER_GROUP
    }

    const fn bit(&self) -> u64 {
        1 << self.number()
    }
}

/// A CPU cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// 1, 2, 3 ...
    pub level: u32,
    /// Its content.
    pub kind: CacheKind,
    /// 0 = unknown.
    pub size_bytes: u64,
    /// 0 = unknown.
    pub line_bytes: u32,
    /// Ways; 255 = fully associative.
    pub associativity: u32,
    /// Kernel numbers of the CPUs that share it, ascending.
    pub cpus: Vec<u32>,
}

/// Content of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Data and instructions.
    Unified,
    /// Instructions.
    Instruction,
    /// Data.
    Data,
}

impl Topology {
    /// Number of processor groups.
    pub fn group_count(&self) -> u32 {
        self.possible_cpus.max(1).div_ceil(CPUS_PER_GROUP)
    }

    /// CPUs that group `group` could ever have.
    pub fn group_maximum(&self, group: u16) -> u32 {
        self.possible_cpus.saturating_sub(u32::from(group) * CPUS_PER_GROUP).min(CPUS_PER_GROUP)
    }

    /// Online CPUs of a group as a mask.
    pub fn online_mask(&self, group: u16) -> u64 {
        self.cpus.iter().filter(|cpu| cpu.group() == group).fold(0, |mask, cpu| mask | cpu.bit())
    }

    /// Online and allowed CPUs of a group as a mask.
    pub fn allowed_mask(&self, group: u16) -> u64 {
        self.cpus.iter().filter(|cpu| cpu.group() == group && cpu.allowed).fold(0, |mask, cpu| mask | cpu.bit())
    }

    /// The online CPU with this kernel number.
    pub fn cpu(&self, id: u32) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.id == id)
    }

    /// Number of physical cores.
    pub fn core_count(&self) -> usize {
        self.distinct(|cpu| cpu.core)
    }

    /// Number of sockets.
    pub fn socket_count(&self) -> usize {
        self.distinct(|cpu| cpu.socket)
    }

    /// Number of NUMA nodes.
    pub fn node_count(&self) -> usize {
        self.distinct(|cpu| cpu.node)
    }

    fn distinct(&self, key: impl Fn(&Cpu) -> u32) -> usize {
        self.cpus.iter().map(key).collect::<BTreeSet<_>>().len()
    }

    /// True if any core has more than one hardware thread online.
    pub fn has_smt(&self) -> bool {
        self.core_count() < self.cpus.len()
    }

    /// The highest efficiency class; above 0 the machine is heterogeneous.
    pub fn highest_class(&self) -> u32 {
        self.cpus.iter().map(|cpu| cpu.class).max().unwrap_or(0)
    }

    /// Core number inside the CPU's group, in order of each core's lowest CPU.
    pub fn core_number(&self, cpu: &Cpu) -> u32 {
        let mut seen = Vec::new();
        for other in self.cpus.iter().filter(|other| other.group() == cpu.group()) {
            if !seen.contains(&other.core) {
                if other.core == cpu.core {
                    return seen.len() as u32;
                }
                seen.push(other.core);
            }
        }
        seen.len() as u32
    }

    /// One entry per group, core and class: the part of each physical core inside each group,
    /// in order of group, then lowest CPU.
    pub fn cores(&self) -> Vec<CoreInGroup> {
        let mut cores: Vec<CoreInGroup> = Vec::new();
        for cpu in &self.cpus {
            match cores.iter_mut().find(|core| core.core == cpu.core && core.entry.group == cpu.group()) {
                Some(core) => core.entry.mask |= cpu.bit(),
                None => cores.push(CoreInGroup {
                    core: cpu.core,
                    class: cpu.class,
                    entry: AffinityEntry { group: cpu.group(), mask: cpu.bit() },
                }),
            }
        }
        cores
    }
}

/// A physical core, as far as it lies inside one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreInGroup {
    /// The core's identity ([`Cpu::core`]).
    pub core: u32,
    /// Its efficiency class.
    pub class: u32,
    /// Its CPUs.
    pub entry: AffinityEntry,
}
