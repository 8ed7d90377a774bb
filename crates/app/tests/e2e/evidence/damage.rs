//! Damage to the bytes of a file, and the documented promise about it.

use std::collections::BTreeSet;
use testkit::Random;

const SECTOR_BYTES: usize = 512;
/// docs/integrity.md: each unit begins with a header.
const MAGIC: &[u8] = b"DSKSPDV1";
const HEADER_BYTES: usize = 64;

/// The documented promise about a kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// It is reported as corrupt.
    Found,
    /// It is not proof of corruption, but the outcome must not be good.
    NotGood,
}

impl Promise {
    pub(super) fn statuses(self) -> &'static [i32] {
        match self {
            Self::Found => &[5],
            Self::NotGood => &[5, 6],
        }
    }
}

/// Name, promise, and all bytes of the damaged file.
pub(super) type Damage = (&'static str, Promise, Vec<u8>);

/// A file of a run that ended normally, and possible contents of misdirected writes to it.
#[derive(Clone, Debug)]
pub(super) struct Materials {
    pub(super) content: Vec<u8>,
    /// Offsets of headers that the last run wrote, in steps of a sector.
    pub(super) is_of_run: BTreeSet<usize>,
    /// The same file before the run.
    pub(super) earlier: Option<Vec<u8>>,
    /// Another file of the same run.
    pub(super) sibling: Option<Vec<u8>>,
    /// A file of another run.
    pub(super) other: Vec<u8>,
    pub(super) other_is_later: bool,
    /// Unit size of the run.
    pub(super) unit_bytes: usize,
    /// True if it was written through a mapping, so that units may be torn anywhere.
    pub(super) is_mapped: bool,
}

fn has_header(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(MAGIC))
}

impl Materials {
    /// Offsets of units that the last run wrote.
    pub(super) fn units_that_differ(earlier: Option<&[u8]>, content: &[u8]) -> BTreeSet<usize> {
        let headers = (0..content.len()).step_by(SECTOR_BYTES).filter(|&at| has_header(content, at));
        let is_new = |at: usize| {
            let header = at..at + HEADER_BYTES;
            earlier.is_none_or(|earlier| earlier.get(header.clone()) != Some(&content[header]))
        };
        headers.filter(|&at| is_new(at)).collect()
    }

    /// The distance of headers in a file that is full of units.
    pub(super) fn smallest_unit(&self) -> usize {
        let headers: Vec<usize> = self.is_of_run.iter().copied().collect();
        headers.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(self.content.len())
    }

    pub(super) fn units(&self) -> Vec<usize> {
        let end = self.content.len();
        self.is_of_run.iter().copied().filter(|at| at + self.unit_bytes <= end).collect()
    }

    fn unit(&self, at: usize) -> &[u8] {
        &self.content[at..at + self.unit_bytes]
    }

    /// A unit of another file: its place there and its bytes.
    fn unit_of(bytes: &[u8], random: &mut Random) -> Option<(usize, Vec<u8>)> {
        let headers: Vec<usize> = (0..bytes.len()).step_by(SECTOR_BYTES).filter(|&at| has_header(bytes, at)).collect();
        let at = *headers.get(random.below(headers.len().max(1) as u64) as usize)?;
        let end = headers.iter().copied().find(|&next| next > at).unwrap_or(bytes.len());
        Some((at, bytes[at..end.min(at + 4096)].to_vec()))
    }

    fn with(&self, at: usize, bytes: &[u8]) -> Vec<u8> {
        let mut content = self.content.clone();
        let end = content.len().min(at + bytes.len());
        content[at..end].copy_from_slice(&bytes[..end - at]);
        content
    }

    /// Flips some bits of a part of a unit.
    fn flip(&self, at: usize, part: std::ops::Range<usize>, bits: u64, random: &mut Random) -> Vec<u8> {
        let mut content = self.content.clone();
        for _ in 0..bits {
            let byte = at + part.start + random.below(part.len() as u64) as usize;
            content[byte] ^= 1 << random.below(8);
        }
        content
    }

    /// Damage that a map finds.
    pub(super) fn damage_with_map(&self, random: &mut Random) -> Option<Damage> {
        let units = self.units();
        let at = *units.get(random.below(units.len().max(1) as u64) as usize)?;
        let another = *units.get(random.below(units.len() as u64) as usize)?;
        let unit_bytes = self.unit_bytes;
        let damaged = match random.below(15) {
            0 => ("rot in a header", self.flip(at, 0..HEADER_BYTES, 1, random)),
            1 => ("two bits of a header", self.flip(at, 0..HEADER_BYTES, 2, random)),
            2 => ("rot in a unit", self.flip(at, HEADER_BYTES..unit_bytes, 1, random)),
            3 => {
                let bits = 1 + random.below(100);
                ("many bits of a unit", self.flip(at, 0..unit_bytes, bits, random))
            }
            4 => ("duplicated", self.with(at, self.unit(another))),
            5 => {
                let mut content = self.with(at, self.unit(another));
                content[another..another + unit_bytes].copy_from_slice(self.unit(at));
                ("exchanged", content)
            }
            6 => ("zeros", self.with(at, &vec![0; unit_bytes])),
            7 => {
                let sector = at + random.below((unit_bytes / SECTOR_BYTES) as u64) as usize * SECTOR_BYTES;
                ("a sector of zeros", self.with(sector, &[0; SECTOR_BYTES]))
            }
            8 => ("foreign data", self.with(at, &noise(unit_bytes, random))),
            9 => ("lost", self.with(at, self.earlier.as_ref()?.get(at..at + unit_bytes)?)),
            10 => {
                let sectors = 1 + random.below((unit_bytes / SECTOR_BYTES) as u64) as usize;
                let from = at + (sectors - 1) * SECTOR_BYTES;
                ("torn", self.with(from, self.earlier.as_ref()?.get(from..at + unit_bytes)?))
            }
            11 => {
                ("a unit of another file of the run", self.with(at, self.sibling.as_ref()?.get(at..at + unit_bytes)?))
            }
            12 => ("the whole file as it was before", self.earlier.clone().filter(|_| !units.is_empty())?),
            13 => return self.of_other_run(at, another, random),
            _ => ("cut short", self.content[..at + random.below(unit_bytes as u64) as usize].to_vec()),
        };
        self.found(damaged, Promise::Found)
    }

    /// A misdirected write of a load to another file. If that began later, it might have written here.
    fn of_other_run(&self, at: usize, another: usize, random: &mut Random) -> Option<Damage> {
        let (home, unit) = if random.below(2) == 0 {
            let headers = Self::unit_of(&self.other, random)?;
            (headers.0, headers.1)
        } else {
            (at, self.other.get(at..at + self.unit_bytes)?.to_vec())
        };
        let content = self.with(at, &unit);
        if self.other_is_later && another != at && random.below(2) == 0 {
            // It withdraws no finding elsewhere.
            let mut both = content;
            both[another + self.unit_bytes - 1] ^= 1;
            return self.found(("a unit of a later load elsewhere, and rot", both), Promise::Found);
        }
        let promise = if self.other_is_later { Promise::NotGood } else { Promise::Found };
        let name = if home == at { "a unit of a load elsewhere, at its offset" } else { "a unit of a load elsewhere" };
        self.found((name, content), promise)
    }

    /// Damage in a file filled by runs, as far as units themselves reveal it.
    pub(super) fn damage_alone(&self, random: &mut Random) -> Option<Damage> {
        let units = self.units();
        let at = *units.get(random.below(units.len().max(1) as u64) as usize)?;
        let another = *units.get(random.below(units.len() as u64) as usize)?;
        let unit_bytes = self.unit_bytes;
        let end_of_first = SECTOR_BYTES.min(unit_bytes);
        let in_sectors = if self.is_mapped { Promise::NotGood } else { Promise::Found };
        let (damaged, promise) = match random.below(10) {
            0 => (("rot in a header", self.flip(at, 0..HEADER_BYTES, 1, random)), Promise::NotGood),
            1 => (("rot behind a header", self.flip(at, HEADER_BYTES..end_of_first, 1, random)), in_sectors),
            2 if unit_bytes > SECTOR_BYTES => {
                (("rot in a later sector", self.flip(at, SECTOR_BYTES..unit_bytes, 1, random)), Promise::NotGood)
            }
            2 | 3 => (("duplicated", self.with(at, self.unit(another))), Promise::Found),
            4 => {
                let mut content = self.with(at, self.unit(another));
                content[another..another + unit_bytes].copy_from_slice(self.unit(at));
                (("exchanged", content), Promise::Found)
            }
            5 => {
                let bytes = (1 + random.below(8) as usize) * unit_bytes;
                (("zeros", self.with(at, &vec![0; bytes])), Promise::NotGood)
            }
            6 => (("foreign data", self.with(at, &noise(unit_bytes, random))), Promise::NotGood),
            7 => {
                let (home, unit) = Self::unit_of(&self.other, random)?;
                // At its own offset, it looks like one of this file.
                if home == at {
                    return None;
                }
                (("a unit of a load elsewhere", self.with(at, &unit)), Promise::NotGood)
            }
            8 => {
                let sector = at + random.below((unit_bytes / SECTOR_BYTES) as u64) as usize * SECTOR_BYTES;
                (("a sector of zeros", self.with(sector, &[0; SECTOR_BYTES])), Promise::NotGood)
            }
            _ => {
                let bits = 2 + random.below(100);
                (("many bits of a unit", self.flip(at, 0..unit_bytes, bits, random)), Promise::NotGood)
            }
        };
        self.found(damaged, promise)
    }

    /// The same damage to this number of units.
    pub(super) fn damage_many(&self, random: &mut Random, wanted: usize) -> Option<Damage> {
        let mut units = self.units();
        let mut content = self.content.clone();
        let (kind, bit) = (random.below(3), random.below((self.unit_bytes as u64 - 64) * 8) as usize);
        for _ in 0..wanted {
            let at = units.swap_remove(random.below(units.len() as u64) as usize);
            let unit = &mut content[at..at + self.unit_bytes];
            match kind {
                0 => unit[HEADER_BYTES + bit / 8] ^= 1 << (bit % 8),
                1 => unit.fill(0),
                _ => unit.copy_from_slice(&noise(self.unit_bytes, random)),
            }
        }
        let name = ["killed, then rot", "killed, then zeros", "killed, then foreign data"][kind as usize];
        self.found((name, content), Promise::Found)
    }

    /// `None` if nothing has changed.
    fn found(&self, (name, bytes): (&'static str, Vec<u8>), promise: Promise) -> Option<Damage> {
        (bytes != self.content).then_some((name, promise, bytes))
    }
}

fn noise(bytes: usize, random: &mut Random) -> Vec<u8> {
    (0..bytes).map(|_| random.below(256) as u8).collect()
}
