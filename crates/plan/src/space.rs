//! Free space, checked before anything is written.

use crate::findings::{Findings, RefusalKind};
use crate::words;
use model::facts::FileSystem;
use model::units::{Bytes, counted};
use std::collections::BTreeMap;

/// Space that new files need, by file system.
#[derive(Debug, Default)]
pub(crate) struct Space {
    devices: BTreeMap<u64, Device>,
}

#[derive(Debug)]
struct Device {
    file_system: String,
    free_bytes: u64,
    /// By name; a file that is created twice counts with its largest size.
    files: BTreeMap<String, u64>,
}

/// A file that would be created, or grow.
#[derive(Clone, Debug)]
pub struct NewFile<'a> {
    /// Number of the device of its file system.
    pub device: u64,
    /// Its file system.
    pub file_system: &'a FileSystem,
    /// Name in messages.
    pub name: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Bytes already allocated.
    pub allocated_bytes: u64,
}

/// A message for each file system without enough space.
pub fn shortages<'a>(files: impl IntoIterator<Item = NewFile<'a>>) -> Vec<String> {
    let mut space = Space::default();
    for NewFile { device, file_system, name, size_bytes, allocated_bytes } in files {
        space.add(device, file_system, name, size_bytes, allocated_bytes);
    }
    space.shortages().collect()
}

impl Space {
    /// Adds a file of `size_bytes`, of which `allocated_bytes` are already allocated.
    pub(crate) fn add(
        &mut self,
        device: u64,
        file_system: &FileSystem,
        name: String,
        size_bytes: u64,
        allocated_bytes: u64,
    ) {
        let entry = self.devices.entry(device).or_insert_with(|| Device {
            file_system: file_system.name.clone(),
            free_bytes: file_system.free_bytes,
            files: BTreeMap::new(),
        });
        let more = size_bytes.saturating_sub(allocated_bytes);
        let known = entry.files.entry(name).or_default();
        *known = more.max(*known);
    }

    /// Refuses files that do not fit.
    pub(crate) fn check(&self, findings: &mut Findings) {
        self.shortages().for_each(|shortage| findings.refuse_file(RefusalKind::Impossible, shortage));
    }

    fn shortages(&self) -> impl Iterator<Item = String> {
        self.devices.values().filter_map(|device| {
            let needed = device.files.values().fold(0, |sum: u64, &more| sum.saturating_add(more));
            let growing = device.files.iter().filter(|(_, more)| **more > 0);
            let names: Vec<String> = growing.map(|(name, _)| name.clone()).collect();
            (needed > device.free_bytes).then(|| {
                format!(
                    "no space for {}: {} needed, {} free on its {} file system ({} short)",
                    words::list(&names),
                    Bytes(needed),
                    Bytes(device.free_bytes),
                    device.file_system,
                    counted(needed - device.free_bytes, "byte")
                )
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusals(files: &[(u64, &str, u64, u64)], free_bytes: u64) -> Vec<String> {
        let file_system = FileSystem { name: "ext4".to_owned(), free_bytes, ..FileSystem::default() };
        let mut space = Space::default();
        for (device, name, size, allocated) in files {
            space.add(*device, &file_system, format!("'{name}'"), *size, *allocated);
        }
        let mut findings = Findings::default();
        space.check(&mut findings);
        findings.refusals().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn files_of_one_device_share_its_space() {
        let gib = 1 << 30;
        assert!(refusals(&[(1, "a", gib, 0), (1, "b", gib, 0)], 2 * gib).is_empty());
        assert!(refusals(&[(1, "a", 2 * gib, 0), (2, "b", 2 * gib, 0)], 2 * gib).is_empty());
        let refused = refusals(&[(1, "a", gib, 0), (1, "b", gib, 0)], 2 * gib - 1);
        insta::assert_snapshot!(refused.join("\n"), @"no space for 'a' and 'b': 2GiB needed, 2GiB free on its ext4 file system (1 byte short)");
    }

    #[test]
    fn a_file_that_is_replaced_gives_its_blocks_back_and_counts_once() {
        assert!(refusals(&[(1, "a", 10, 4)], 6).is_empty());
        assert_eq!(refusals(&[(1, "a", 10, 4)], 5).len(), 1);
        assert!(refusals(&[(1, "a", 10, 0), (1, "a", 8, 0)], 10).is_empty());
        assert!(refusals(&[(1, "a", 2, 4)], 0).is_empty());
        assert_eq!(refusals(&[(1, "a", u64::MAX, 0), (1, "b", u64::MAX, 0)], 9).len(), 1);
    }
}
