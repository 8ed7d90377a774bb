//! Evidence on corrupt units beside their bytes: for `diskspd verify` with a map, without one, and after a cut.

use host::Root;
use model::kernel_log::KernelMessage;
use model::placement::DevicePlace;
use model::verification::NearMessage;
use serde::Serialize;
use stats::verification::near_messages;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Evidence on a unit beside its bytes.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct UnitEvidence {
    /// Its places on the devices below the target; empty = unknown.
    pub(crate) places: Vec<DevicePlace>,
    /// Kernel messages within 5 s of the read, the nearest 5, in chronological order.
    pub(crate) kernel_messages: Vec<NearMessage>,
}

/// A corrupt unit of any report.
pub(crate) trait WrongUnit {
    /// Its bytes on the target.
    fn range(&self) -> Range<u64>;
    /// Time of its read, by `CLOCK_MONOTONIC`.
    fn read_at_ns(&self) -> u64;
    /// Evidence on it.
    fn evidence(&mut self) -> &mut UnitEvidence;
}

/// Adds the places of the units on the devices below, and the kernel messages near their reads.
pub(crate) fn add<'a, U: WrongUnit + 'a>(
    root: &Root,
    messages: &[KernelMessage],
    targets: impl Iterator<Item = (&'a Path, &'a mut [U])>,
) {
    let wrong: Vec<(&Path, &mut [U])> = targets.filter(|(_, units)| !units.is_empty()).collect();
    if wrong.is_empty() {
        return;
    }
    let paths: Vec<PathBuf> = wrong.iter().map(|(path, _)| path.to_path_buf()).collect();
    let environments = host::target_environment(root, &paths);
    for (path, units) in wrong {
        let pieces: Vec<Range<u64>> = units.iter().map(WrongUnit::range).collect();
        let places = environments.get(path).map(|found| host::device_places(root, path, found, &pieces));
        for (unit, places) in units.iter_mut().zip(places.unwrap_or_default()) {
            unit.evidence().places = places;
        }
        for unit in units {
            unit.evidence().kernel_messages = near_messages(unit.read_at_ns(), messages);
        }
    }
}

/// The outcome of a second read as text.
pub(crate) const fn second_read_words(is_right: bool) -> &'static str {
    if is_right { "the right data" } else { "still wrong" }
}
