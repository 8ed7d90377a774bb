//! Corrupt units and the evidence on them: for `diskspd verify` with a map, without one, and after a cut.

use host::Root;
use model::corruption::CorruptionClass;
use model::kernel_log::KernelMessage;
use model::placement::DevicePlace;
use model::verification::NearMessage;
use report::CorruptUnitText;
use serde::Serialize;
use stats::verification::near_messages;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Maximum number of corrupt units kept per target.
const KEPT_MAX: usize = 100;

/// A corrupt unit, with the details that its comparison gives.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CorruptUnit<D> {
    pub(crate) offset_bytes: u64,
    pub(crate) class: CorruptionClass,
    #[serde(flatten)]
    pub(crate) details: D,
    /// Its first 64 bytes in hexadecimal.
    pub(crate) first_bytes: String,
    /// True if a second read returned the expected contents.
    pub(crate) second_read_is_right: Option<bool>,
    pub(crate) error: Option<String>,
    /// Its places on the devices below the target; empty = unknown.
    pub(crate) places: Vec<DevicePlace>,
    /// Kernel messages within 5 s of the read, the nearest 5, in chronological order.
    pub(crate) kernel_messages: Vec<NearMessage>,
    #[serde(skip)]
    pub(crate) unit_bytes: u64,
    /// Time of its read, by `CLOCK_MONOTONIC`.
    #[serde(skip)]
    pub(crate) read_at_ns: u64,
}

impl<D> CorruptUnit<D> {
    /// A unit that was read just now.
    pub(crate) fn new(offset_bytes: u64, bytes: &[u8], class: CorruptionClass, details: D) -> Self {
        Self {
            offset_bytes,
            class,
            details,
            first_bytes: verify::unit::first_bytes(bytes),
            second_read_is_right: None,
            error: None,
            places: Vec::new(),
            kernel_messages: Vec::new(),
            unit_bytes: bytes.len() as u64,
            read_at_ns: sys::clock::monotonic_ns(),
        }
    }

    /// A unit of which the reason is known, but no byte.
    pub(crate) fn without_bytes(
        offset_bytes: u64,
        unit_bytes: u64,
        class: CorruptionClass,
        reason: String,
        details: D,
    ) -> Self {
        Self { unit_bytes, error: Some(reason), ..Self::new(offset_bytes, &[], class, details) }
    }

    /// Its text, with the name and value of its expected contents, and its header.
    pub(crate) fn text_with(
        &self,
        expected: Option<(&'static str, String)>,
        found: Option<String>,
    ) -> CorruptUnitText<'_> {
        let second_read = |is_right| if is_right { "the right data" } else { "still wrong" };
        CorruptUnitText {
            class: self.class,
            offset_bytes: self.offset_bytes,
            place: String::new(),
            error: self.error.as_deref(),
            expected,
            found,
            first_bytes: Some(&self.first_bytes),
            second_read: self.second_read_is_right.map(second_read),
            places: &self.places,
            kernel_messages: &self.kernel_messages,
        }
    }
}

/// Adds a unit to those kept, in order of their offsets, if it is among the first [`KEPT_MAX`].
pub(crate) fn keep<D>(units: &mut Vec<CorruptUnit<D>>, unit: CorruptUnit<D>) {
    let at = units.partition_point(|kept| kept.offset_bytes <= unit.offset_bytes);
    if at < KEPT_MAX {
        units.insert(at, unit);
        units.truncate(KEPT_MAX);
    }
}

/// Adds the places of the units on the devices below, and the kernel messages near their reads.
pub(crate) fn add_evidence<'a, D: 'a>(
    root: &Root,
    messages: &[KernelMessage],
    targets: impl Iterator<Item = (&'a Path, &'a mut [CorruptUnit<D>])>,
) {
    let wrong: Vec<(&Path, &mut [CorruptUnit<D>])> = targets.filter(|(_, units)| !units.is_empty()).collect();
    if wrong.is_empty() {
        return;
    }
    let paths: Vec<PathBuf> = wrong.iter().map(|(path, _)| path.to_path_buf()).collect();
    let environments = host::target_environment(root, &paths);
    for (path, units) in wrong {
        let range = |unit: &CorruptUnit<D>| unit.offset_bytes..unit.offset_bytes + unit.unit_bytes;
        let pieces: Vec<Range<u64>> = units.iter().map(range).collect();
        let places = environments.get(path).map(|found| host::device_places(root, path, found, &pieces));
        for (unit, places) in units.iter_mut().zip(places.unwrap_or_default()) {
            unit.places = places;
        }
        for unit in units {
            unit.kernel_messages = near_messages(unit.read_at_ns, messages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_units_are_kept_in_order_whatever_order_they_come_in() {
        let mut units = Vec::new();
        for number in (0..150_u64).map(|number| number * 7 % 150) {
            keep(&mut units, CorruptUnit::new(number * 4096, &[], CorruptionClass::Rot, ()));
        }
        let offsets: Vec<u64> = units.iter().map(|unit| unit.offset_bytes / 4096).collect();
        assert_eq!(offsets, (0..KEPT_MAX as u64).collect::<Vec<_>>());
    }
}
