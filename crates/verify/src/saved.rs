//! The map of a run, saved so that its targets can be verified later.
//!
//! A file of little-endian numbers: the 8 bytes `DSKSPDM2`; run (8); length (4) and bytes of the boot ID of the machine;
//! number of targets (4); and for each target its number in the run (4), length of its path (4), path, number of its
//! lasting names (4), length (4) and bytes of each, device number (8) and inode (8) of a file (device 0 and device
//! number of a block device), size in bytes (8), size of a unit in bytes (4), 1 if each unit has an entry of its own,
//! else 0 (4), number of its units (8), and pieces of its map: first unit (8), number of entries (4), entries (2 each).
//! A piece without entries ends them. Units that no piece names are unknown. The file ends with the CRC-32C of all
//! before (4). A file that is torn has another checksum, or none.

use crate::map::{GenerationMap, State};
use crate::unit::UNITS_MAX;
use crate::unit::UnitSize;
use crate::unit_ranges::UnitRanges;
use crc32c::crc32c_append;
use std::io::{self, Read, Write};

/// Name of the file in the directory of `--journal`.
pub const FILE_NAME: &str = "map";

const MAGIC: &[u8; 8] = b"DSKSPDM2";
/// Of maps without boot ID and lasting names.
const MAGIC_1: &[u8; 8] = b"DSKSPDM1";
const PIECE_ENTRIES: u64 = 1 << 16;

/// Unknown units in a row that end a piece: the head of the next piece takes less.
const GAP_UNITS: u64 = 8;

/// A path is never longer.
const PATH_BYTES_MAX: u32 = 1 << 16;

/// A target of a saved map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedTarget {
    /// Number of the target in its run.
    pub target: u32,
    /// The path that its units were written through, in the bytes of the file system.
    pub path: Vec<u8>,
    /// Its lasting names, the best first; none = unknown.
    pub names: Vec<String>,
    /// Of a file: its file system's device and its inode. Of a block device: 0 and the device.
    pub identity: (u64, u64),
    /// Size in bytes.
    pub size_bytes: u64,
    /// Size of a unit in bytes.
    pub unit_bytes: u32,
    /// False if the map was too large for the memory: units can only be compared with themselves.
    pub is_exact: bool,
}

/// Saved maps of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedMap {
    /// Number of the run, which its units name.
    pub run: u64,
    /// Boot ID of the machine; empty = unknown.
    pub boot: String,
    /// The targets.
    pub targets: Vec<(SavedTarget, SavedStates)>,
}

/// Expected content of the units of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedStates {
    /// Units that may be known.
    ranges: UnitRanges,
    /// Entries of these units.
    entries: Vec<u16>,
    units: u64,
}

impl SavedStates {
    /// Expected content of a unit.
    pub fn state(&self, unit: u64) -> State {
        let entry = self.ranges.place(unit).and_then(|place| self.entries.get(place));
        entry.map_or(State::Unknown, |&bits| State::from_bits(bits))
    }

    /// Number of units of the target.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Units that may be known; all others are unknown.
    pub fn ranges(&self) -> &UnitRanges {
        &self.ranges
    }

    /// Number of known units.
    pub fn known(&self) -> u64 {
        self.entries.iter().filter(|&&bits| State::from_bits(bits) != State::Unknown).count() as u64
    }

    /// Adds a piece of the map; false if it does not follow the others, or there is no memory.
    fn push(&mut self, first: u64, piece: &[u8]) -> bool {
        let entries = piece.chunks_exact(2).map(|entry| u16::from_le_bytes([entry[0], entry[1]]));
        let end = first.checked_add(entries.len() as u64).filter(|&end| end <= self.units);
        let Some(end) = end.filter(|_| self.ranges.end().is_none_or(|last| last <= first)) else { return false };
        if self.entries.try_reserve(entries.len()).is_err() {
            return false;
        }
        self.entries.extend(entries);
        self.ranges.push(first..end);
        true
    }
}

/// The reason why a file is not the saved map of a run.
#[derive(Debug)]
pub enum ReadError {
    /// It cannot be read.
    Io(io::Error),
    /// It is something else.
    Foreign,
    /// It is incomplete or damaged.
    Torn,
    /// It contains an impossible number.
    Impossible(String),
}

/// Checks the number of units in a journal for a target of these sizes.
///
/// # Errors
///
/// [`ReadError::Impossible`].
pub(crate) fn check_units(unit_bytes: u32, units: u64) -> Result<(), ReadError> {
    if UnitSize::new(unit_bytes.into()).is_none() {
        return Err(ReadError::Impossible(format!("units of {unit_bytes} bytes")));
    }
    if units > UNITS_MAX {
        return Err(ReadError::Impossible(format!("a target of {units} units (at most {UNITS_MAX})")));
    }
    Ok(())
}

/// The maximum memory of the saved map in a file of this length: its pieces, in lists that grow.
pub const fn memory_bytes(file_bytes: u64) -> u64 {
    file_bytes.saturating_mul(2)
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Torn } else { Self::Io(error) }
    }
}

/// Bytes that [`is_saved_map`] needs.
pub const HEAD_BYTES: usize = MAGIC.len();

/// True if these are the first bytes of a saved map.
pub fn is_saved_map(head: &[u8]) -> bool {
    head.starts_with(MAGIC) || head.starts_with(MAGIC_1)
}

/// Saves the maps of a run.
///
/// # Errors
///
/// Those of `file`.
pub fn write(file: &mut impl Write, run: u64, boot: &str, targets: &[(SavedTarget, &GenerationMap)]) -> io::Result<()> {
    let mut file = Summed { file, crc: 0 };
    file.write_all(MAGIC)?;
    file.write_all(&run.to_le_bytes())?;
    file.write_text(boot.as_bytes())?;
    file.write_all(&(targets.len() as u32).to_le_bytes())?;
    for (target, map) in targets {
        file.write_all(&target.target.to_le_bytes())?;
        file.write_text(&target.path)?;
        file.write_all(&(target.names.len() as u32).to_le_bytes())?;
        target.names.iter().try_for_each(|name| file.write_text(name.as_bytes()))?;
        for number in [target.identity.0, target.identity.1, target.size_bytes] {
            file.write_all(&number.to_le_bytes())?;
        }
        file.write_all(&target.unit_bytes.to_le_bytes())?;
        file.write_all(&u32::from(target.is_exact).to_le_bytes())?;
        file.write_all(&map.units().to_le_bytes())?;
        let mut entries = Vec::new();
        // Entries that units share are known for none of them.
        let mut next = map.next_known(0).filter(|_| target.is_exact);
        while let Some(first) = next {
            let mut end = first + 1;
            next = map.next_known(end);
            while let Some(unit) = next.filter(|unit| unit - end < GAP_UNITS && unit - first < PIECE_ENTRIES) {
                end = unit + 1;
                next = map.next_known(end);
            }
            entries.clear();
            entries.extend((first..end).flat_map(|unit| map.saved(unit).to_le_bytes()));
            file.write_all(&first.to_le_bytes())?;
            file.write_all(&((end - first) as u32).to_le_bytes())?;
            file.write_all(&entries)?;
        }
        file.write_all(&[0; 12])?;
    }
    let crc = file.crc;
    file.write_all(&crc.to_le_bytes())
}

/// Reads a map saved by [`write()`].
///
/// # Errors
///
/// If it is something else, incomplete, or cannot be read.
pub fn read(file: &mut impl Read) -> Result<SavedMap, ReadError> {
    let mut file = Summed { file, crc: 0 };
    let magic = file.take::<8>()?;
    if !is_saved_map(&magic) {
        return Err(ReadError::Foreign);
    }
    let has_names = &magic == MAGIC;
    let run = file.word()?;
    let boot = if has_names { file.text()? } else { String::new() };
    let count = file.half()?;
    let mut saved = SavedMap { run, boot, targets: Vec::new() };
    for _ in 0..count {
        let target = file.half()?;
        let path = file.bytes()?;
        let mut names = Vec::new();
        let name_count = if has_names { file.half()? } else { 0 };
        for _ in 0..name_count {
            names.push(file.text()?);
        }
        let identity = (file.word()?, file.word()?);
        let (size_bytes, unit_bytes, is_exact, units) = (file.word()?, file.half()?, file.half()? == 1, file.word()?);
        check_units(unit_bytes, units)?;
        let mut states = SavedStates { units, ..SavedStates::default() };
        let mut bytes = Vec::new();
        loop {
            let (first, count) = (file.word()?, file.half()?);
            if count == 0 {
                break;
            }
            if u64::from(count) > PIECE_ENTRIES {
                return Err(ReadError::Torn);
            }
            bytes.clear();
            file.take_bytes(u64::from(count) * 2, &mut bytes)?;
            if !states.push(first, &bytes) {
                return Err(ReadError::Torn);
            }
        }
        saved.targets.push((SavedTarget { target, path, names, identity, size_bytes, unit_bytes, is_exact }, states));
    }
    let crc = file.crc;
    if file.half()? == crc { Ok(saved) } else { Err(ReadError::Torn) }
}

/// A file with the checksum of the bytes written or read so far.
struct Summed<'a, F> {
    file: &'a mut F,
    crc: u32,
}

impl<F: Write> Summed<'_, F> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc = crc32c_append(self.crc, bytes);
        self.file.write_all(bytes)
    }

    fn write_text(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(&(bytes.len() as u32).to_le_bytes())?;
        self.write_all(bytes)
    }
}

impl<F: Read> Summed<'_, F> {
    fn take<const COUNT: usize>(&mut self) -> io::Result<[u8; COUNT]> {
        let mut bytes = [0; COUNT];
        self.file.read_exact(&mut bytes)?;
        self.crc = crc32c_append(self.crc, &bytes);
        Ok(bytes)
    }

    fn word(&mut self) -> io::Result<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn half(&mut self) -> io::Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// A path or name, preceded by its length.
    fn bytes(&mut self) -> Result<Vec<u8>, ReadError> {
        let count = self.half()?;
        if count > PATH_BYTES_MAX {
            return Err(ReadError::Impossible(format!("a path of {count} bytes")));
        }
        let mut bytes = Vec::new();
        self.take_bytes(u64::from(count), &mut bytes)?;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String, ReadError> {
        String::from_utf8(self.bytes()?).map_err(|_| ReadError::Torn)
    }

    /// Reads exactly `count` bytes; memory is allocated only for those present.
    fn take_bytes(&mut self, count: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
        let got = (&mut *self.file).take(count).read_to_end(bytes)?;
        self.crc = crc32c_append(self.crc, bytes);
        if got as u64 == count { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::fixture::map;

    fn target(number: u32, is_exact: bool) -> SavedTarget {
        SavedTarget {
            target: number,
            path: b"/a/b\xFF".to_vec(),
            names: vec!["naa.1".to_owned(), "S1".to_owned()],
            identity: (8, 15),
            size_bytes: 200_000 << 12,
            unit_bytes: 4096,
            is_exact,
        }
    }

    fn set(map: &GenerationMap, unit: u64, state: State) {
        assert!(map.claim(unit..unit + 1));
        map.release(unit, state);
    }

    fn example() -> (Vec<u8>, [SavedTarget; 2]) {
        let (exact, shared) = (map(200_000, u64::MAX), map(1 << 24, 1 << 22));
        set(&exact, 5, State::Written(9));
        set(&exact, 199_999, State::Zeros);
        set(&shared, 5, State::Written(9));
        assert!(exact.claim(7..8));
        let targets = [target(0, true), target(1, false)];
        let mut bytes = Vec::new();
        write(&mut bytes, 42, "boot", &[(targets[0].clone(), &exact), (targets[1].clone(), &shared)]).expect("memory");
        (bytes, targets)
    }

    #[test]
    fn a_map_comes_back() {
        let (bytes, targets) = example();
        let saved = read(&mut bytes.as_slice()).expect("it is whole");
        assert_eq!((saved.run, saved.boot.as_str()), (42, "boot"));
        let (first, states) = &saved.targets[0];
        assert_eq!(first, &targets[0]);
        assert_eq!((states.units(), states.known()), (200_000, 2));
        assert_eq!((states.state(5), states.state(199_999)), (State::Written(9), State::Zeros));
        assert_eq!((states.state(7), states.state(1 << 40)), (State::Unknown, State::Unknown));
        let (second, states) = &saved.targets[1];
        assert_eq!((second, states.known()), (&targets[1], 0));
        // Only known units take space.
        assert!(bytes.len() < 300, "{}", bytes.len());
        assert!(states.ranges().from(0).eq([]));
    }

    #[test]
    fn each_unit_of_a_map_comes_back_whatever_gaps_it_has() {
        let units = 300_000;
        let map = map(units, u64::MAX);
        let mut rng = hot::rng::Rng::new(3);
        let mut unit = 0;
        while unit < units {
            // Also longer than a piece.
            let end = (unit + 1 + rng.below(12) * if rng.below(9) == 0 { 10_000 } else { 1 }).min(units);
            (unit..end).for_each(|unit| set(&map, unit, State::Written(1 + (unit % 1000) as u16)));
            unit = end + 1 + rng.below(20);
        }
        let mut bytes = Vec::new();
        write(&mut bytes, 42, "boot", &[(target(0, true), &map)]).expect("memory");
        let saved = read(&mut bytes.as_slice()).expect("it is whole");
        let states = &saved.targets[0].1;
        assert!(
            (0..units + 5)
                .all(|unit| states.state(unit) == if unit < units { map.state(unit) } else { State::Unknown })
        );
    }

    #[test]
    fn a_map_of_an_earlier_version_has_no_names() {
        let (bytes, targets) = example();
        let head = 8 + 8;
        let mut old =
            [&MAGIC_1[..], &bytes[8..head], &1_u32.to_le_bytes(), &bytes[head + 8 + 4..head + 8 + 12]].concat();
        old.extend(&targets[0].path);
        old.extend([8, 15, 4096].iter().flat_map(|number: &u64| number.to_le_bytes()));
        old.extend([4096, 1].iter().flat_map(|number: &u32| number.to_le_bytes()));
        old.extend(1_u64.to_le_bytes().iter().chain(&[0; 12]));
        old.extend(crc32c::crc32c(&old).to_le_bytes());
        let saved = read(&mut old.as_slice()).expect("it is whole");
        let (target, states) = &saved.targets[0];
        assert_eq!((&target.path, target.identity, states.units()), (&targets[0].path, (8, 15), 1));
        assert!(target.names.is_empty() && saved.boot.is_empty());
    }

    #[test]
    fn numbers_that_no_run_has_are_refused() {
        let (bytes, targets) = example();
        let path_at = 8 + 8 + 8 + 4 + 4;
        let units_at = path_at + 4 + targets[0].path.len() + 4 + 9 + 6 + 3 * 8 + 4 + 4;
        for (at, number) in [(path_at, 0xFFFF_FFFF_u32), (units_at + 4, 1 << 28), (units_at - 8, 77)] {
            let mut bytes = bytes.clone();
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
            let content = bytes.len() - 4;
            let crc = crc32c::crc32c(&bytes[..content]);
            bytes[content..].copy_from_slice(&crc.to_le_bytes());
            assert!(matches!(read(&mut bytes.as_slice()), Err(ReadError::Impossible(_))), "{at}");
        }
    }

    #[test]
    fn what_is_torn_changed_or_foreign_is_refused() {
        let (bytes, _) = example();
        for length in 0..bytes.len() {
            assert!(matches!(read(&mut &bytes[..length]), Err(ReadError::Torn)), "{length}");
        }
        for at in 8..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(read(&mut changed.as_slice()).is_err(), "{at}");
        }
        assert!(matches!(read(&mut &b"something else"[..]), Err(ReadError::Foreign)));
        assert!(is_saved_map(&bytes[..HEAD_BYTES]) && !is_saved_map(b"something else"));
    }
}
