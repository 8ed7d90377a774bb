//! A unit: the smallest piece of a target that is written and checked as a whole.
//!
//! It begins with a header of [`HEADER_BYTES`] bytes, little-endian:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | `DSKSPDV1` |
//! | 8 | 8 | run, see [`run_number`](crate::run_number) |
//! | 16 | 8 | number of the unit on its target: offset / size of a unit |
//! | 24 | 8 | generation: time of the write in microseconds since the run began, times 2^15, plus its number |
//! | 32 | 8 | number of the write among all changes of the run: its ticket |
//! | 40 | 4 | target |
//! | 44 | 4 | thread |
//! | 48 | 4 | units of the same I/O before this one |
//! | 52 | 4 | units of the I/O |
//! | 56 | 2 | size of a unit in bytes |
//! | 58 | 2 | bits of [`Traits`]: 1 = mapped, 2 = refilled, 4 = erases to zeros, 8 = to anything; 16 = with tag and count |
//! | 60 | 4 | CRC-32C of the unit without these 4 bytes |
//! | 64 | 8 | tag of the target, see [`tag`]; 0 = unknown |
//! | 72 | 8 | count of units of the target that the run had written then, this I/O included; 0 = unknown |
//!
//! Units of earlier versions have only the first of the bits, and random bytes from offset 64 on.
//!
//! Each further sector of 512 bytes begins with a mark of 16 bytes: the generation, and a hash of run, target, unit,
//! sector and generation. It identifies the write of a sector where a unit is torn. All other bytes are random.

use crate::generation::Generation;
use crc32c::crc32c_append;
use hot::rng::{Rng, mix};
use model::verification::UnitWrite;
use std::fmt::Write as _;

/// Bits of the number of a unit in a log of writes.
pub(crate) const UNIT_BITS: u32 = 44;

/// Units that a target can have.
pub const UNITS_MAX: u64 = 1 << UNIT_BITS;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 80;

/// The unit of atomicity of storage.
pub const SECTOR_BYTES: usize = 512;

/// The largest unit.
pub const UNIT_BYTES_MAX: usize = 4096;

const MARK_BYTES: usize = 16;
const MAGIC: u64 = u64::from_le_bytes(*b"DSKSPDV1");
const IS_EXTENDED: u16 = 16;
const CRC_AT: usize = 60;
const CRC_END: usize = 64;

/// Bytes of a unit in reports.
const SHOWN_BYTES: usize = 64;

/// Size of a unit: a power of two from 512 to 4096 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitSize(u32);

impl UnitSize {
    /// The largest size that divides all of these sizes and offsets; `None` if none does.
    pub fn dividing(places: impl IntoIterator<Item = u64>) -> Option<Self> {
        let bits = places.into_iter().fold(UNIT_BYTES_MAX as u64, |bits, place| bits | place);
        let bytes = 1u64 << bits.trailing_zeros();
        Self::new(bytes)
    }

    /// The unit of this size, if it is valid.
    pub fn new(bytes: u64) -> Option<Self> {
        let fits = bytes.is_power_of_two() && (SECTOR_BYTES as u64..=UNIT_BYTES_MAX as u64).contains(&bytes);
        fits.then_some(Self(bytes as u32))
    }

    /// In bytes.
    pub const fn bytes(self) -> u64 {
        self.0 as u64
    }

    /// The number of the unit at this offset, or the number of units in this number of bytes.
    pub const fn count(self, bytes: u64) -> u64 {
        bytes >> self.0.trailing_zeros()
    }
}

/// Data after a run's discards, write-zeroes and truncations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Erases {
    /// It makes none.
    #[default]
    Never,
    /// Zeros.
    ToZeros,
    /// Anything: discarded data on a device.
    ToAnything,
}

/// Properties of the target that the run stores in each unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// From [`tag`]; 0 = unknown.
    pub tag: u64,
    /// Written through a mapping: a process that is killed may stop within a sector.
    pub is_mapped: bool,
    /// The run created the file, or replaced an existing one.
    pub is_refilled: bool,
    /// Data after its discards, write-zeroes and truncations.
    pub erases: Erases,
}

impl Traits {
    fn bits(self) -> u16 {
        let erases = match self.erases {
            Erases::Never => 0,
            Erases::ToZeros => 4,
            Erases::ToAnything => 8,
        };
        u16::from(self.is_mapped) | u16::from(self.is_refilled) << 1 | erases
    }

    fn from_bits(bits: u16, tag: u64) -> Self {
        let erases = match bits & 0b1100 {
            0 => Erases::Never,
            0b0100 => Erases::ToZeros,
            _ => Erases::ToAnything,
        };
        Self { tag, is_mapped: bits & 1 != 0, is_refilled: bits & 2 != 0, erases }
    }
}

/// The tag of a target with this identity, unique and persistent; never 0.
pub fn tag(identity: &str) -> u64 {
    identity.bytes().fold(mix(identity.len() as u64), |tag, byte| mix(tag ^ u64::from(byte)).wrapping_add(1)).max(1)
}

/// Header of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the run, drawn for each.
    pub run: u64,
    /// Number of the target in its run.
    pub target: u32,
    /// Number of the unit on its target: offset / size of a unit.
    pub unit: u64,
    /// Number and time of the write to the unit.
    pub generation: Generation,
    /// Thread that wrote it.
    pub thread: u32,
    /// Number of the write among all changes of the run: later ones to the same unit have larger numbers.
    pub sequence: u64,
    /// Units of the same I/O before this one.
    pub distance: u32,
    /// Units of the I/O.
    pub length: u32,
    /// Size of a unit in bytes.
    pub unit_bytes: u16,
    /// Of the run's target.
    pub traits: Traits,
    /// Units of the target that the run had begun to write then, those of this I/O included; 0 = unknown.
    pub written_units: u64,
    /// False: of an earlier version, which has no facts about the target as a whole.
    pub is_extended: bool,
}

impl Header {
    /// The header in the first bytes of a unit, if there is one; [`is_intact`] checks it.
    ///
    /// # Panics
    ///
    /// If the slice is shorter than a header.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        (word(bytes, 0) == MAGIC).then(|| Self::read_anyway(bytes))
    }

    /// The same even if the magic number is damaged.
    pub(crate) fn read_anyway(bytes: &[u8]) -> Self {
        let bits = (half(bytes, 56) >> 16) as u16;
        let is_extended = bits & IS_EXTENDED != 0;
        Self {
            run: word(bytes, 8),
            unit: word(bytes, 16),
            generation: Generation::from_bits(word(bytes, 24)),
            sequence: word(bytes, 32),
            target: half(bytes, 40),
            thread: half(bytes, 44),
            distance: half(bytes, 48),
            length: half(bytes, 52),
            unit_bytes: half(bytes, 56) as u16,
            traits: Traits::from_bits(bits, if is_extended { word(bytes, 64) } else { 0 }),
            written_units: if is_extended { word(bytes, 72) } else { 0 },
            is_extended,
        }
    }

    /// The units of the I/O that wrote this one.
    pub fn units_of_io(&self) -> std::ops::Range<u64> {
        let first = self.unit.saturating_sub(u64::from(self.distance));
        first..first.saturating_add(u64::from(self.length))
    }

    /// The write, for reports.
    pub fn as_write(&self) -> UnitWrite {
        let (unit_bytes, io) = (u64::from(self.unit_bytes), self.units_of_io());
        UnitWrite {
            target: self.target,
            offset_bytes: self.unit.saturating_mul(unit_bytes),
            number: self.generation.number(),
            written_ns: self.generation.time_us().saturating_mul(1000),
            thread: self.thread,
            sequence: self.sequence,
            io_offset_bytes: io.start.saturating_mul(unit_bytes),
            io_length_bytes: u64::from(self.length) * unit_bytes,
        }
    }

    fn put(&self, bytes: &mut [u8]) {
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &MAGIC.to_le_bytes());
        put(8, &self.run.to_le_bytes());
        put(16, &self.unit.to_le_bytes());
        put(24, &self.generation.bits().to_le_bytes());
        put(32, &self.sequence.to_le_bytes());
        put(40, &self.target.to_le_bytes());
        put(44, &self.thread.to_le_bytes());
        put(48, &self.distance.to_le_bytes());
        put(52, &self.length.to_le_bytes());
        put(56, &self.unit_bytes.to_le_bytes());
        put(58, &(self.traits.bits() | if self.is_extended { IS_EXTENDED } else { 0 }).to_le_bytes());
        if self.is_extended {
            put(64, &self.traits.tag.to_le_bytes());
            put(72, &self.written_units.to_le_bytes());
        }
    }
}

/// The first 64 bytes of a unit in hexadecimal; empty if these are fewer.
pub fn first_bytes(bytes: &[u8]) -> String {
    bytes.get(..SHOWN_BYTES).unwrap_or_default().iter().fold(String::new(), |mut text, byte| {
        // Writing to a string never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Writes header, marks and checksum over the first bytes of a unit and of its sectors; the rest of it is unchanged.
///
/// # Panics
///
/// If the unit is shorter than a sector.
pub fn seal(unit: &mut [u8], header: &Header) {
    header.put(unit);
    let key = key(header.run, header.target, header.unit);
    for (sector, bytes) in (1..).zip(unit[SECTOR_BYTES..].chunks_exact_mut(SECTOR_BYTES)) {
        bytes[..8].copy_from_slice(&header.generation.bits().to_le_bytes());
        bytes[8..MARK_BYTES].copy_from_slice(&seal_of(key, sector, header.generation).to_le_bytes());
    }
    let crc = crc(unit);
    unit[CRC_AT..CRC_END].copy_from_slice(&crc.to_le_bytes());
}

/// Headers with which the checksum of a unit is right: its own with one or two bits changed.
pub(crate) fn repaired_headers(unit: &[u8]) -> Vec<Header> {
    let wanted = half(unit, CRC_AT) ^ crc(unit);
    // A CRC is linear: each bit changes it by a value of its own, whatever the others are.
    let pass_zeros = |crc: u32, zeros: &[u8]| !crc32c_append(!crc, zeros);
    let behind = vec![0; unit.len() - HEADER_BYTES];
    let mut changes: Vec<(u32, usize)> = (0..32).map(|bit| (1 << bit, CRC_AT * 8 + bit)).collect();
    for bit in 0..8 {
        let mut change = pass_zeros(pass_zeros(0, &[1 << bit]), &behind);
        for at in (0..HEADER_BYTES).rev().filter(|at| !(CRC_AT..CRC_AT + 4).contains(at)) {
            changes.push((change, at * 8 + bit));
            change = pass_zeros(change, &[0]);
        }
    }
    changes.sort_unstable();
    let mut headers = Vec::new();
    for (index, &(change, bit)) in changes.iter().enumerate() {
        let rest = wanted ^ change;
        let second = changes[index + 1..].binary_search_by_key(&rest, |(change, _)| *change);
        let bits = match second {
            _ if rest == 0 => [bit, bit],
            Ok(found) => [bit, changes[index + 1 + found].1],
            Err(_) => continue,
        };
        let mut bytes = unit[..HEADER_BYTES].to_vec();
        bytes[bits[0] / 8] ^= 1 << (bits[0] % 8);
        if bits[1] != bits[0] {
            bytes[bits[1] / 8] ^= 1 << (bits[1] % 8);
        }
        headers.extend(Header::read(&bytes));
    }
    headers
}

/// True if the checksum of a unit is right.
#[inline]
pub fn is_intact(unit: &[u8]) -> bool {
    half(unit, CRC_AT) == crc(unit)
}

/// Origin of a sector of a unit, but the first, by its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// This write to this place.
    Of(Generation),
    /// Damaged, and otherwise of the requested write.
    Damaged,
    /// Not of this place.
    None,
}

/// The mark of sector number `sector` of a unit.
pub(crate) fn mark(sector_bytes: &[u8], key: u64, sector: u64, wanted: Option<Generation>) -> Mark {
    let (generation, seal) = (Generation::from_bits(word(sector_bytes, 0)), word(sector_bytes, 8));
    if seal == seal_of(key, sector, generation) {
        return Mark::Of(generation);
    }
    let is_near = wanted.is_some_and(|wanted| wanted == generation || seal == seal_of(key, sector, wanted));
    if is_near { Mark::Damaged } else { Mark::None }
}

/// Key of the marks of a unit at this place.
pub(crate) fn key(run: u64, target: u32, unit: u64) -> u64 {
    mix(mix(run ^ u64::from(target)).wrapping_add(unit))
}

fn seal_of(key: u64, sector: u64, generation: Generation) -> u64 {
    mix(key.wrapping_add(sector) ^ generation.bits().rotate_left(32))
}

#[inline]
fn crc(unit: &[u8]) -> u32 {
    crc32c_append(crc32c_append(0, &unit[..CRC_AT]), &unit[CRC_END..])
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[inline]
fn half(bytes: &[u8], at: usize) -> u32 {
    let mut half = [0; 4];
    half.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(half)
}

/// Random bytes that the content of units is copied from, derived from the run's number.
#[derive(Debug)]
pub struct Pool(Box<[u8]>);

/// Fits into the second level of caches beside the buffers of the I/Os.
const POOL_BYTES: usize = 256 << 10;
const POOL_STEP: usize = 64;

impl Pool {
    /// The pool of a run.
    pub fn new(run: u64) -> Self {
        let mut bytes = vec![0; POOL_BYTES + UNIT_BYTES_MAX].into_boxed_slice();
        hot::fill::random(&mut bytes, &mut Rng::new(run));
        Self(bytes)
    }

    /// Writes a whole unit.
    ///
    /// # Panics
    ///
    /// If it is shorter than a sector or longer than the largest unit.
    #[inline]
    pub fn write(&self, unit: &mut [u8], header: &Header) {
        let place = mix(header.unit ^ header.generation.bits().rotate_left(24)) as usize % (POOL_BYTES / POOL_STEP);
        let start = place * POOL_STEP;
        unit.copy_from_slice(&self.0[start..start + unit.len()]);
        seal(unit, header);
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;

    pub(crate) const RUN: u64 = 0xD15C_59D0_0000_0001;

    pub(crate) fn header(unit: u64, number: u16) -> Header {
        Header {
            run: RUN,
            target: 3,
            unit,
            generation: Generation::new(number, 1000 * u64::from(number)),
            thread: 2,
            sequence: u64::from(number) * 10,
            distance: 0,
            length: 1,
            unit_bytes: 4096,
            traits: Traits { tag: 77, ..Traits::default() },
            written_units: 5,
            is_extended: true,
        }
    }

    pub(crate) fn unit(header: &Header) -> Vec<u8> {
        let mut unit = vec![0; usize::from(header.unit_bytes)];
        Pool::new(header.run).write(&mut unit, header);
        unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_any_changed_bit_is_seen() {
        let header = Header { distance: 5, length: 16, ..fixture::header(77, 9) };
        let mut unit = fixture::unit(&header);
        assert_eq!(Header::read(&unit), Some(header));
        assert_eq!(header.units_of_io(), 72..88);
        assert!(is_intact(&unit));
        for at in (0..unit.len()).step_by(7) {
            unit[at] ^= 1 << (at % 8);
            assert!(!is_intact(&unit), "byte {at}");
            unit[at] ^= 1 << (at % 8);
        }
    }

    #[test]
    fn what_a_run_says_of_its_target_comes_back() {
        for is_mapped in [false, true] {
            for is_refilled in [false, true] {
                for erases in [Erases::Never, Erases::ToZeros, Erases::ToAnything] {
                    let traits = Traits { tag: tag("inode=7"), is_mapped, is_refilled, erases };
                    let header = Header { traits, written_units: u64::MAX, ..fixture::header(77, 9) };
                    assert_eq!(Header::read(&fixture::unit(&header)), Some(header));
                }
            }
        }
        assert!(tag("inode=7") != tag("inode=8") && tag("") != 0);
    }

    #[test]
    fn units_of_earlier_versions_are_read() {
        let traits = Traits { is_mapped: true, ..Traits::default() };
        let header = Header { traits, written_units: 0, is_extended: false, ..fixture::header(77, 9) };
        let unit = fixture::unit(&header);
        assert!(unit[58..60] == [1, 0] && is_intact(&unit));
        assert_eq!(Header::read(&unit), Some(header));
    }

    #[test]
    fn each_overwrite_changes_every_sector() {
        let (first, second) = (fixture::unit(&fixture::header(1, 1)), fixture::unit(&fixture::header(1, 2)));
        for (old, new) in first.chunks(SECTOR_BYTES).zip(second.chunks(SECTOR_BYTES)) {
            assert_ne!(old, new);
        }
    }

    #[test]
    fn units_divide_all_sizes_and_offsets() {
        let bytes = |places: &[u64]| UnitSize::dividing(places.iter().copied()).map(UnitSize::bytes);
        assert_eq!(bytes(&[8192, 65536, 0]), Some(4096));
        assert_eq!(bytes(&[8192, 512 * 3]), Some(512));
        assert_eq!(bytes(&[1 << 20, 2048]), Some(2048));
        assert_eq!(bytes(&[4097]), None);
        let unit = UnitSize::new(1024).expect("a power of two");
        assert_eq!((unit.count(4096), UnitSize::new(8192), UnitSize::new(768)), (4, None, None));
    }
}
