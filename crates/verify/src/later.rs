//! Later runs as the reason why a target does not match the record of a run.
//!
//! An intact unit proves that a later run wrote to a target if it is at the place named in its header and has the
//! target's tag. Such a run explains its own units, whole or in part, and the results of its discards, write-zeroes and
//! creation of the file. It explains nothing else: a unit of another target is a misdirected write, and a header with a
//! wrong checksum proves nothing.

use crate::check::{self, Place};
use crate::generation::{Generation, Number};
use crate::run_number::is_later;
use crate::unit::{self, Erases, Header, Mark, SECTOR_BYTES, UNIT_BYTES_MAX, UnitSize};
use model::corruption::CorruptionClass as Class;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of pieces that are kept of a target until all of it was read.
const KEPT_MAX: usize = 4096;

/// The bytes around a unit: from one multiple of the largest unit to the next, so that no unit at its place begins
/// before them; less at the end of the target.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    bytes: &'a [u8],
    offset: u64,
}

impl<'a> Piece<'a> {
    /// The piece that contains the byte at offset `at`, clipped to `bytes`, which begin at `offset` of the target.
    pub fn around(at: u64, bytes: &'a [u8], offset: u64) -> Self {
        let aligned = at - at % UNIT_BYTES_MAX as u64;
        let first = aligned.max(offset);
        let rest = bytes.get((first - offset) as usize..).unwrap_or_default();
        let length = UNIT_BYTES_MAX - (first - aligned) as usize;
        Self { bytes: &rest[..rest.len().min(length)], offset: first }
    }

    /// The header in a sector of the piece if it names this place and this target, or an unknown target.
    fn header_here(&self, at: usize, tags: &[u64]) -> Option<Header> {
        let header = self.bytes.get(at..at + SECTOR_BYTES).and_then(Header::read)?;
        let size = UnitSize::new(header.unit_bytes.into())?.bytes();
        let is_here = header.unit.checked_mul(size) == Some(self.offset + at as u64);
        (is_here && is_same_target(header.traits.tag, tags)).then_some(header)
    }

    fn is_intact(&self, at: usize, header: &Header) -> bool {
        self.bytes.get(at..at + usize::from(header.unit_bytes)).is_some_and(unit::is_intact)
    }
}

/// True if a unit's tag is among those of the target, or one of them is unknown.
fn is_same_target(tag: u64, tags: &[u64]) -> bool {
    tag == 0 || tags.is_empty() || tags.contains(&tag)
}

/// Sectors that match the record, in a unit that does not.
#[derive(Clone, Copy, Debug)]
pub enum Recorded {
    /// Those of the write with this number.
    Write(Number),
    /// Those of writes from this time on, in microseconds since the run began.
    WritesSince(u64),
    /// Zeros.
    Zeros,
}

impl Recorded {
    fn has(self, generation: Generation) -> bool {
        match self {
            Self::Write(number) => generation.number() == number,
            Self::WritesSince(time_us) => generation.time_us() >= time_us,
            Self::Zeros => false,
        }
    }
}

/// A unit that does not match the record of its run.
#[derive(Clone, Copy, Debug)]
pub struct WrongUnit<'a> {
    /// The bytes around it.
    pub piece: Piece<'a>,
    /// Its place in the record.
    pub place: Place,
    /// Its size.
    pub unit: UnitSize,
    /// The recorded content.
    pub recorded: Recorded,
}

/// Origin of a sector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Record,
    LaterRun,
    Nobody,
}

#[derive(Clone, Debug, Default)]
struct LaterRun {
    /// Targets of the run and sizes of units: several are one target under other names.
    writers: BTreeSet<(u32, u16)>,
    is_refilled: bool,
    erases: Erases,
}

/// A unit that no later run explained when it was read.
#[derive(Clone, Debug)]
struct UnexplainedUnit {
    bytes: Box<[u8]>,
    offset: u64,
    place: Place,
    unit: UnitSize,
    recorded: Recorded,
    class: Class,
}

/// The later runs on a target, and units that may be explained by runs found later.
#[derive(Clone, Debug, Default)]
pub struct LaterRuns {
    /// Tags of the lasting names of the target being read; empty = unknown.
    tags: Vec<u64>,
    runs: BTreeMap<u64, LaterRun>,
    /// Units with data of later runs.
    units: u64,
    kept: Vec<UnexplainedUnit>,
    /// Units that are not kept because there are too many.
    not_kept: BTreeMap<Class, u64>,
}

/// Wrong units that later runs explain, once all was read.
#[derive(Clone, Debug, Default)]
pub struct ExplainedUnits {
    /// The latest of these runs.
    pub run: u64,
    /// Units with data of later runs.
    pub units: u64,
    /// Offsets and classes of single units.
    pub single: Vec<(u64, Class)>,
    /// Numbers of further units, by class.
    pub more: BTreeMap<Class, u64>,
    /// Later runs explain all zeros.
    pub has_zeros: bool,
}

impl ExplainedUnits {
    /// Number of explained units of each class, out of `counted` wrong ones.
    pub fn by_class(&self, counted: &BTreeMap<Class, u64>) -> BTreeMap<Class, u64> {
        let mut explained = self.more.clone();
        for (_, class) in &self.single {
            *explained.entry(*class).or_default() += 1;
        }
        // Zeros are neither among the single units nor among the further ones.
        let zeros = counted.get(&Class::Zeros).filter(|_| self.has_zeros);
        explained.extend(zeros.map(|units| (Class::Zeros, *units)));
        explained
    }

    /// True if a reported unit stays wrong; `left` are the numbers of those that do. Individual further units are not
    /// known, except in a class of which none is left.
    pub fn is_wrong_still(&self, offset: u64, class: Class, left: &BTreeMap<Class, u64>) -> bool {
        left.contains_key(&class) && self.single.iter().all(|(explained, _)| *explained != offset)
    }
}

impl LaterRuns {
    /// Empty, on a target whose names have these tags.
    pub fn new(tags: &[u64]) -> Self {
        Self { tags: tags.to_vec(), ..Self::default() }
    }

    /// Adds the runs of another part of the same target.
    pub fn merge(&mut self, other: Self) {
        if self.tags.is_empty() {
            self.tags = other.tags;
        }
        for (run, found) in other.runs {
            let sum = self.runs.entry(run).or_default();
            sum.writers.extend(found.writers);
            sum.is_refilled |= found.is_refilled;
            sum.erases = sum.erases.max(found.erases);
        }
        self.units += other.units;
        for kept in other.kept {
            self.keep_piece(kept);
        }
        for (class, units) in other.not_kept {
            *self.not_kept.entry(class).or_default() += units;
        }
    }

    /// Notes the later runs that have intact units among the sectors of a unit, whether it matches its record or not;
    /// true if there are any.
    pub fn note(&mut self, wrong: &WrongUnit<'_>) -> bool {
        let WrongUnit { piece, place, .. } = wrong;
        let sectors = wrong.sectors();
        let mut is_any = false;
        for at in (0..sectors.end).step_by(SECTOR_BYTES) {
            let of_later = |header: &Header| is_later(header.run, place.run);
            let Some(header) = piece.header_here(at, &self.tags).filter(of_later) else { continue };
            if at + usize::from(header.unit_bytes) <= sectors.start || !piece.is_intact(at, &header) {
                continue;
            }
            is_any = true;
            let run = self.runs.entry(header.run).or_default();
            run.writers.insert((header.target, header.unit_bytes));
            run.is_refilled |= header.traits.is_refilled;
            run.erases = run.erases.max(header.traits.erases);
        }
        self.units += u64::from(is_any);
        is_any
    }

    /// True if later runs known by now explain all faults of a unit of this class.
    pub fn explain(&self, wrong: &WrongUnit<'_>, class: Class) -> bool {
        if self.runs.is_empty() {
            return false;
        }
        let owners: Vec<Owner> = wrong.sectors().step_by(SECTOR_BYTES).map(|at| self.owner(wrong, at, class)).collect();
        owners.contains(&Owner::LaterRun) && !owners.contains(&Owner::Nobody)
    }

    fn owner(&self, wrong: &WrongUnit<'_>, at: usize, class: Class) -> Owner {
        let WrongUnit { piece, place, recorded, .. } = wrong;
        let Some(sector) = piece.bytes.get(at..at + SECTOR_BYTES) else { return Owner::Nobody };
        let of_header = |first: usize| {
            let Some(header) = piece.header_here(first, &self.tags) else { return false };
            if !self.runs.contains_key(&header.run) || first + usize::from(header.unit_bytes) <= at {
                return false;
            }
            let key = unit::key(header.run, header.target, header.unit);
            let number = ((at - first) / SECTOR_BYTES) as u64;
            first == at || matches!(unit::mark(sector, key, number, None), Mark::Of(_))
        };
        let is_zero = check::is_zero(sector);
        if (0..=at).step_by(SECTOR_BYTES).any(of_header) || self.has_mark(piece.offset + at as u64, sector) {
            return Owner::LaterRun;
        }
        let number = ((at - wrong.sectors().start) / SECTOR_BYTES) as u64;
        let generation = if number == 0 {
            Header::read(sector).filter(|header| place.is_of(header)).map(|header| header.generation)
        } else {
            match unit::mark(sector, unit::key(place.run, place.target, place.unit), number, None) {
                Mark::Of(generation) => Some(generation),
                Mark::Damaged | Mark::None => None,
            }
        };
        let is_recorded = generation.is_some_and(|generation| recorded.has(generation))
            || is_zero && matches!(recorded, Recorded::Zeros);
        if is_recorded {
            return Owner::Record;
        }
        let has = |does: fn(&LaterRun) -> bool| self.runs.values().any(does);
        let is_left = is_zero && self.leaves_zeros()
            || has(|run| run.erases == Erases::ToAnything)
            || matches!(class, Class::Foreign | Class::Zeros) && has(|run| run.is_refilled);
        if is_left { Owner::LaterRun } else { Owner::Nobody }
    }

    /// True if a sector begins with a later run's mark, even if its unit's header is gone.
    fn has_mark(&self, offset: u64, sector: &[u8]) -> bool {
        let writers = self.runs.iter().flat_map(|(run, later)| later.writers.iter().map(move |writer| (*run, *writer)));
        writers.into_iter().any(|(run, (target, unit_bytes))| {
            let (unit, within) = (offset / u64::from(unit_bytes), offset % u64::from(unit_bytes));
            let key = unit::key(run, target, unit);
            within > 0 && matches!(unit::mark(sector, key, within / SECTOR_BYTES as u64, None), Mark::Of(_))
        })
    }

    fn leaves_zeros(&self) -> bool {
        self.runs.values().any(|run| run.is_refilled || run.erases != Erases::Never)
    }

    /// Keeps a unit that no later run explains so far; `class` is its reported class.
    pub fn keep(&mut self, wrong: &WrongUnit<'_>, class: Class) {
        let WrongUnit { piece, place, unit, recorded } = *wrong;
        // Zeros cannot be evaluated again.
        if matches!(class, Class::Zeros | Class::Unreadable) {
            return;
        }
        self.keep_piece(UnexplainedUnit {
            bytes: piece.bytes.into(),
            offset: piece.offset,
            place,
            unit,
            recorded,
            class,
        });
    }

    fn keep_piece(&mut self, kept: UnexplainedUnit) {
        if self.kept.len() < KEPT_MAX {
            self.kept.push(kept);
        } else {
            *self.not_kept.entry(kept.class).or_default() += 1;
        }
    }

    /// The kept units that later runs explain; `None` if there is no later run.
    pub fn finish(mut self) -> Option<ExplainedUnits> {
        let (&run, _) = self.runs.last_key_value()?;
        let mut single = Vec::new();
        for kept in std::mem::take(&mut self.kept) {
            let UnexplainedUnit { bytes, offset, place, unit, recorded, class } = &kept;
            let piece = Piece { bytes, offset: *offset };
            let wrong = WrongUnit { piece, place: *place, unit: *unit, recorded: *recorded };
            if self.explain(&wrong, *class) {
                single.push((place.unit * unit.bytes(), *class));
            }
        }
        Some(ExplainedUnits { run, units: self.units, single, has_zeros: self.leaves_zeros(), more: self.not_kept })
    }
}

impl WrongUnit<'_> {
    /// Its range in its piece.
    fn sectors(&self) -> std::ops::Range<usize> {
        let first = (self.place.unit * self.unit.bytes()).saturating_sub(self.piece.offset) as usize;
        first..first + self.unit.bytes() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Traits;
    use crate::unit::fixture::{RUN, header, unit};

    const LATER: u64 = RUN + (5 << 20);
    const TAG: u64 = 77;
    const PLACE: Place = Place { run: RUN, target: 3, unit: 8 };
    const OFFSET: u64 = 8 * 4096;

    fn wrong(bytes: &[u8]) -> WrongUnit<'_> {
        let unit = UnitSize::new(4096).expect("a size");
        WrongUnit { piece: Piece { bytes, offset: OFFSET }, place: PLACE, unit, recorded: Recorded::Write(6) }
    }

    fn of_later(unit_bytes: u16, number: u64, traits: Traits) -> Vec<u8> {
        unit(&Header { run: LATER, target: 0, unit_bytes, traits, ..header(number, 9) })
    }

    const TRAITS: Traits = Traits { tag: TAG, is_mapped: false, is_refilled: false, erases: Erases::Never };

    /// True if the later runs in `seen` explain `bytes`.
    fn explains(seen: &[u8], bytes: &[u8], class: Class) -> bool {
        let mut later = LaterRuns::new(&[TAG]);
        later.note(&wrong(seen));
        let at_once = later.explain(&wrong(bytes), class);
        // In the other order, the unit was read before the proof.
        let mut first = LaterRuns::new(&[TAG]);
        first.keep(&wrong(bytes), class);
        first.merge(later);
        let afterwards = first.finish().is_some_and(|found| found.single == [(OFFSET, class)]);
        assert_eq!(at_once, afterwards, "in whatever order units are read");
        at_once
    }

    #[test]
    fn a_later_run_explains_its_own_units_whole_and_in_part() {
        let whole = of_later(4096, 8, TRAITS);
        let ours = unit(&header(8, 6));
        for sectors in 1..8 {
            let (mut first, mut last) = (ours.clone(), whole.clone());
            first[..sectors * SECTOR_BYTES].copy_from_slice(&whole[..sectors * SECTOR_BYTES]);
            last[..sectors * SECTOR_BYTES].copy_from_slice(&ours[..sectors * SECTOR_BYTES]);
            assert!(explains(&whole, &first, Class::Torn) && explains(&whole, &last, Class::Torn), "{sectors}");
            // The rest is of an older write, which was lost.
            let mut older = unit(&header(8, 5));
            older[..sectors * SECTOR_BYTES].copy_from_slice(&whole[..sectors * SECTOR_BYTES]);
            assert!(!explains(&whole, &older, Class::Torn));
        }
        let mut in_part = ours;
        in_part[1024..1536].copy_from_slice(&of_later(512, 66, TRAITS));
        assert!(explains(&in_part, &in_part, Class::Rot));
        assert!(explains(&whole, &whole, Class::Foreign));
    }

    #[test]
    fn a_unit_of_another_place_or_target_or_with_a_changed_bit_explains_nothing() {
        let elsewhere = Traits { tag: TAG + 1, ..TRAITS };
        let mut rotten = of_later(4096, 8, TRAITS);
        rotten[3000] ^= 1;
        for bytes in [of_later(4096, 9, TRAITS), of_later(4096, 8, elsewhere), rotten] {
            assert!(!explains(&bytes, &bytes, Class::Foreign));
        }
        // Two bits of a unit of the record, one of them in the number of its run.
        let mut ours = unit(&header(8, 6));
        ours[13] ^= 1;
        ours[3000] ^= 1;
        assert!(!explains(&ours, &ours, Class::Torn));
        // The target's tag is not known.
        let unknown = of_later(4096, 8, Traits { tag: 0, ..TRAITS });
        assert!(explains(&unknown, &unknown, Class::Foreign));
    }

    #[test]
    fn rot_and_lost_writes_beside_a_later_run_are_its_own_no_more_than_zeros() {
        let whole = of_later(4096, 8, TRAITS);
        let mut rotten = unit(&header(8, 6));
        rotten[3000] ^= 1;
        for (bytes, class) in
            [(rotten, Class::Rot), (unit(&header(8, 5)), Class::Lost), (vec![7; 4096], Class::Foreign)]
        {
            assert!(!explains(&whole, &bytes, class), "{class:?}");
        }
        let mut half = unit(&header(8, 6));
        half[2048..].fill(0);
        assert!(!explains(&whole, &half, Class::Torn));
    }

    #[test]
    fn a_run_that_erases_or_makes_the_file_explains_what_that_leaves() {
        let erases = |erases| of_later(4096, 8, Traits { erases, ..TRAITS });
        let mut half = unit(&header(8, 6));
        half[2048..].fill(0);
        let strange = [7; 4096];
        assert!(explains(&erases(Erases::ToZeros), &half, Class::Torn));
        assert!(!explains(&erases(Erases::ToZeros), &strange, Class::Foreign));
        assert!(explains(&erases(Erases::ToAnything), &strange, Class::Foreign));
        let refilled = of_later(4096, 8, Traits { is_refilled: true, ..TRAITS });
        assert!(explains(&refilled, &strange, Class::Foreign));
        assert!(!explains(&refilled, &unit(&header(8, 5)), Class::Lost));
        for (seen, has_zeros) in [(refilled, true), (of_later(4096, 8, TRAITS), false)] {
            let mut later = LaterRuns::new(&[TAG]);
            later.note(&wrong(&seen));
            assert_eq!(later.finish().map(|found| found.has_zeros), Some(has_zeros));
        }
    }

    #[test]
    fn a_part_of_a_larger_unit_is_explained_by_the_whole_of_it() {
        let whole = of_later(4096, 8, TRAITS);
        let unit = UnitSize::new(512).expect("a size");
        let place = |number| Place { run: RUN, target: 3, unit: OFFSET / 512 + number };
        for number in 0..8 {
            let piece = Piece { bytes: &whole, offset: OFFSET };
            let wrong = WrongUnit { piece, place: place(number), unit, recorded: Recorded::Write(6) };
            let mut later = LaterRuns::new(&[TAG]);
            assert!(later.note(&wrong) && later.explain(&wrong, Class::Foreign), "{number}");
        }
    }
}
