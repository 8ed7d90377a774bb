//! Pieces of a file, mapped from one layer to the next.

use crate::syntax::device_number;
use model::block_device::DeviceNumber;
use std::ops::Range;
use sys::device_mapper::MappedTarget;

/// The unit of the device mapper and of /sys.
pub(super) const SECTOR_BYTES: u64 = 512;

/// A piece of a file, and its address in the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileExtent {
    /// Offset in the file.
    pub offset_bytes: u64,
    /// Its length.
    pub length_bytes: u64,
    /// Offset on the device, or in the address space of a file system on several; `None` = not allocated yet.
    pub place_bytes: Option<u64>,
    /// The device has its bytes in another form, and another number of them: their place is that of the first.
    pub is_encoded: bool,
}

/// A part of the file on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) bytes: u64,
    /// Their ranges there; `None` = unknown.
    pub(super) ranges: Option<Vec<Range<u64>>>,
    /// True if their number assumes an even spread over stripes.
    pub(super) is_even: bool,
}

impl Part {
    /// The same bytes, shifted by an offset.
    pub(super) fn moved(&self, offset_bytes: u64) -> Self {
        let moved =
            |range: &Range<u64>| range.start.saturating_add(offset_bytes)..range.end.saturating_add(offset_bytes);
        Self { ranges: self.ranges.as_ref().map(|ranges| ranges.iter().map(moved).collect()), ..self.clone() }
    }

    /// The same bytes, at an unknown place.
    pub(super) fn anywhere(self) -> Self {
        Self { ranges: None, ..self }
    }

    /// The share of one of `count` members in a spread of this number of copies.
    pub(super) fn evenly(self, copies: u64, count: u64) -> Self {
        let bytes = u128::from(self.bytes) * u128::from(copies) / u128::from(count.max(1));
        Self { bytes: u64::try_from(bytes).unwrap_or(u64::MAX), ranges: None, is_even: count > 1 }
    }

    /// Adds bytes; if their range is unknown, the place of all becomes unknown.
    pub(super) fn add(&mut self, bytes: u64, range: Option<Range<u64>>) {
        self.bytes = self.bytes.saturating_add(bytes);
        match (&mut self.ranges, range) {
            (Some(ranges), Some(range)) => ranges.push(range),
            (ranges, range) => {
                self.is_even |= range.is_none();
                *ranges = None;
            }
        }
    }
}

/// The intersection of two ranges, if any.
fn common(a: &Range<u64>, b: &Range<u64>) -> Option<Range<u64>> {
    let range = a.start.max(b.start)..a.end.min(b.end);
    (range.start < range.end).then_some(range)
}

/// Ranges in order: a file may have a million extents, and a file system tens of thousands of chunks.
pub(super) struct Sorted {
    ranges: Vec<Range<u64>>,
    /// The length of the longest: the ranges of a file may overlap, as it may share extents with itself.
    longest: u64,
}

impl Sorted {
    pub(super) fn new(ranges: &[Range<u64>]) -> Self {
        let mut ranges = ranges.to_vec();
        ranges.sort_by_key(|range| range.start);
        let longest = ranges.iter().map(|range| range.end.saturating_sub(range.start)).max().unwrap_or(0);
        Self { ranges, longest }
    }

    /// Their intersections with another range.
    pub(super) fn within<'a>(&'a self, other: &'a Range<u64>) -> impl Iterator<Item = Range<u64>> + use<'a> {
        let first = self.ranges.partition_point(|range| range.start.saturating_add(self.longest) <= other.start);
        let end = self.ranges.partition_point(|range| range.start < other.end);
        self.ranges[first..end.max(first)].iter().filter_map(move |range| common(range, other))
    }
}

/// Total bytes of ranges.
pub(super) fn bytes_in(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().fold(0, |sum, range| sum.saturating_add(range.end.saturating_sub(range.start)))
}

/// Bytes of extents that are on a device in another form.
pub(super) fn encoded_bytes(extents: &[FileExtent]) -> u64 {
    let encoded = extents.iter().filter(|extent| extent.is_encoded && extent.place_bytes.is_some());
    encoded.fold(0, |sum, extent| sum.saturating_add(extent.length_bytes))
}

/// The places of the wanted parts of a file, and the number of their bytes.
pub(super) fn inside(extents: &[FileExtent], wanted: &[Range<u64>]) -> (u64, Vec<Range<u64>>) {
    let mut places = Vec::new();
    for range in wanted {
        // Extents are in the order of the file.
        let first =
            extents.partition_point(|extent| extent.offset_bytes.saturating_add(extent.length_bytes) <= range.start);
        for extent in extents[first..].iter().take_while(|extent| extent.offset_bytes < range.end) {
            let end = extent.offset_bytes.saturating_add(extent.length_bytes);
            let Some(place) = extent.place_bytes else { continue };
            let Some(part) = common(range, &(extent.offset_bytes..end)) else { continue };
            let start = place.saturating_add(part.start - extent.offset_bytes);
            places.push(start..start.saturating_add(part.end - part.start));
        }
    }
    (bytes_in(&places), places)
}

/// A part mapped by a device-mapper table.
pub(super) enum Mapped {
    /// The part on each of the devices below.
    Parts(Vec<(DeviceNumber, Part)>),
    /// The table does not determine it.
    Unknown,
}

/// Maps a part through a table.
pub(super) fn mapped(table: &[MappedTarget], part: &Part) -> Mapped {
    let Some(ranges) = &part.ranges else {
        return match table {
            // Whatever its offset, it is on this device.
            [only] => match line(only).as_deref() {
                Some([(number, _)]) => Mapped::Parts(vec![(*number, part.clone())]),
                Some(many) => Mapped::Parts(even(many, part)),
                None => Mapped::Unknown,
            },
            _ => Mapped::Unknown,
        };
    };
    let mut parts: Vec<(DeviceNumber, Part)> = Vec::new();
    let mut add = |number: DeviceNumber, bytes: u64, range: Option<Range<u64>>| {
        let at = parts.iter().position(|(known, _)| *known == number).unwrap_or_else(|| {
            parts.push((number, Part { bytes: 0, ranges: Some(Vec::new()), is_even: part.is_even }));
            parts.len() - 1
        });
        parts[at].1.add(bytes, range);
    };
    let ranges = Sorted::new(ranges);
    for target in table {
        let start = target.start_sectors.saturating_mul(SECTOR_BYTES);
        let whole = start..start.saturating_add(target.length_sectors.saturating_mul(SECTOR_BYTES));
        for range in ranges.within(&whole) {
            let bytes = range.end - range.start;
            let Some(devices) = line(target) else { return Mapped::Unknown };
            match devices.as_slice() {
                [(number, offset_bytes)] => {
                    let at = offset_bytes.saturating_add(range.start - whole.start);
                    add(*number, bytes, Some(at..at.saturating_add(bytes)));
                }
                many => even(many, &Part { bytes, ranges: None, is_even: true })
                    .into_iter()
                    .for_each(|(number, part)| add(number, part.bytes, None)),
            }
        }
    }
    Mapped::Parts(parts)
}

fn even(devices: &[(DeviceNumber, u64)], part: &Part) -> Vec<(DeviceNumber, Part)> {
    devices.iter().map(|(number, _)| (*number, part.clone().evenly(1, devices.len() as u64))).collect()
}

/// The devices of a target that maps blocks one to one, each with the offset at which it begins there: several if it is
/// striped over them; `None` if it maps blocks in another way.
fn line(target: &MappedTarget) -> Option<Vec<(DeviceNumber, u64)>> {
    let words: Vec<&str> = target.parameters.split_whitespace().collect();
    let device = |at: usize| {
        let number = device_number(words.get(at)?)?;
        let sectors: u64 = words.get(at + 1)?.parse().ok()?;
        Some((number, sectors.saturating_mul(SECTOR_BYTES)))
    };
    match target.kind.as_str() {
        "linear" | "flakey" | "delay" => Some(vec![device(0)?]),
        "crypt" => Some(vec![device(3)?]),
        "striped" => {
            let count: usize = words.first()?.parse().ok()?;
            // After the number of stripes and their size.
            (0..count).map(|index| device(2 + 2 * index)).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
        }
        _ => None,
    }
}

/// The origin device of a cache table: dm-cache and dm-writecache keep each block at its offset there, and copies, or
/// newer data, on the cache.
pub(super) fn cached_origin(table: &[MappedTarget]) -> Option<DeviceNumber> {
    let [only] = table else { return None };
    let at = match only.kind.as_str() {
        // After the devices of metadata and of the cache.
        "cache" => 2,
        // After the kind of cache: persistent memory or an SSD.
        "writecache" => 1,
        _ => return None,
    };
    device_number(only.parameters.split_whitespace().nth(at)?)
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one range")]
mod tests {
    use super::*;

    const fn number(minor: u32) -> DeviceNumber {
        DeviceNumber { major: 8, minor }
    }

    fn target(start_sectors: u64, length_sectors: u64, kind: &str, parameters: &str) -> MappedTarget {
        MappedTarget { start_sectors, length_sectors, kind: kind.to_owned(), parameters: parameters.to_owned() }
    }

    fn at(ranges: &[Range<u64>]) -> Part {
        Part { bytes: bytes_in(ranges), ranges: Some(ranges.to_vec()), is_even: false }
    }

    fn parts(table: &[MappedTarget], part: &Part) -> Vec<(DeviceNumber, Part)> {
        match mapped(table, part) {
            Mapped::Parts(parts) => parts,
            Mapped::Unknown => panic!("{table:?}"),
        }
    }

    #[test]
    fn a_volume_of_two_pieces_has_bytes_on_both() {
        let table = [target(0, 8, "linear", "8:1 2048"), target(8, 8, "linear", "8:2 0")];
        let found = parts(&table, &at(&[1024..5120]));
        let start = 2048 * 512;
        assert_eq!(found, [(number(1), at(&[start + 1024..start + 4096])), (number(2), at(&[0..1024]))]);
        assert!(matches!(mapped(&table, &at(&[0..1]).anywhere()), Mapped::Unknown));
    }

    #[test]
    fn stripes_share_evenly_and_encryption_maps_one_to_one() {
        let striped = [target(0, 64, "striped", "2 8 8:1 0 8:2 0")];
        let even = |bytes| Part { bytes, ranges: None, is_even: true };
        for part in [at(std::slice::from_ref(&(0..8192))), at(std::slice::from_ref(&(0..8192))).anywhere()] {
            assert_eq!(parts(&striped, &part), [(number(1), even(4096)), (number(2), even(4096))]);
        }
        let crypt = [target(0, 64, "crypt", "aes-xts-plain64 :64:logon:x 0 8:3 32 1 allow_discards")];
        assert_eq!(
            parts(&crypt, &at(std::slice::from_ref(&(0..512)))),
            [(number(3), at(std::slice::from_ref(&(16_384..16_896))))]
        );
        for kind in ["thin", "snapshot", "cache"] {
            assert!(matches!(
                mapped(&[target(0, 64, kind, "8:1 5")], &at(std::slice::from_ref(&(0..512)))),
                Mapped::Unknown
            ));
        }
        assert!(matches!(
            mapped(&[target(0, 64, "linear", "x")], &at(std::slice::from_ref(&(0..512)))),
            Mapped::Unknown
        ));
    }

    #[test]
    fn parts_of_a_file_are_where_its_extents_are() {
        let extent = |offset_bytes, length_bytes, place_bytes| FileExtent {
            offset_bytes,
            length_bytes,
            place_bytes,
            is_encoded: false,
        };
        let extents = [extent(0, 100, Some(1000)), extent(100, 50, None), extent(200, 100, Some(5000))];
        assert_eq!(inside(&extents, std::slice::from_ref(&(0..u64::MAX))), (200, vec![1000..1100, 5000..5100]));
        assert_eq!(inside(&extents, &[50..60, 90..210]), (30, vec![1050..1060, 1090..1100, 5000..5010]));
        assert_eq!(inside(&extents, std::slice::from_ref(&(300..400))), (0, vec![]));
    }
}
