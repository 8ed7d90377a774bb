//! Compares a unit that was read with the expected content of its place.

use crate::generation::Generation;
use crate::map::State;
use crate::run_number;
use crate::unit::{self, Header, Mark, SECTOR_BYTES, UnitSize};
use model::corruption::CorruptionClass as Class;

/// Identity of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the run.
    pub run: u64,
    /// Number of the target in its run.
    pub target: u32,
    /// Number of the unit on its target.
    pub unit: u64,
}

impl Place {
    /// True if the unit of a header belongs here.
    pub fn is_of(&self, header: &Header) -> bool {
        (header.run, header.target, header.unit) == (self.run, self.target, self.unit)
    }
}

/// Expected content of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The state in the map.
    State(State),
    /// Itself: only its place is known, and that it may be a unit of the run.
    Itself,
}

/// Result of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The expected content.
    Right,
    /// No verdict is possible.
    NotCheckable,
    /// No write explains it. [`classify`](crate::classify::classify) may find a better class with further reads.
    Wrong(Class),
    /// Only the unit itself is known, and it is the result of a write in flight when its run was killed or the power
    /// was cut.
    Unfinished,
}

/// Compares a unit with what is expected at its place. Units that were written at `read_us` (microseconds since the
/// run began) or later, when the read began, are not checkable; `u64::MAX` if nothing was written during the read.
///
/// # Panics
///
/// If the unit is shorter than a sector.
#[inline]
pub fn check_unit(bytes: &[u8], place: &Place, expected: Expected, read_us: u64) -> Verdict {
    // The usual case, with the least work.
    if let Expected::State(State::Written(number)) = expected
        && let Some(header) = Header::read(bytes)
        && place.is_of(&header)
        && header.generation.number() == number
        && usize::from(header.unit_bytes) == bytes.len()
        && unit::is_intact(bytes)
    {
        return Verdict::Right;
    }
    check_any(bytes, place, expected, read_us)
}

#[inline(never)]
fn check_any(bytes: &[u8], place: &Place, expected: Expected, read_us: u64) -> Verdict {
    let intact = Header::read(bytes).filter(|_| unit::is_intact(bytes));
    // Data written during the read may be present or not, and in part.
    if latest_us(bytes, place, intact.as_ref()).is_some_and(|written_us| written_us >= read_us) {
        return Verdict::NotCheckable;
    }
    let is_here = intact.as_ref().is_some_and(|header| is_here(header, place, bytes));
    let is_of_run = intact.as_ref().is_some_and(|header| header.run == place.run);
    let is_of_target = intact.as_ref().is_some_and(|header| header.target == place.target);
    let is_of_earlier = is_of_earlier_run(bytes, place);
    match expected {
        Expected::State(State::Written(number)) => match intact {
            Some(header) if is_here && header.generation.number() == number => Verdict::Right,
            Some(_) if is_here => Verdict::Wrong(Class::Lost),
            Some(_) if is_of_run => Verdict::Wrong(Class::Misdirected),
            Some(header) => Verdict::Wrong(class_of_other_run(&header, place)),
            None => Verdict::Wrong(damage(bytes, place).unwrap_or_else(|| strange(bytes, place, is_of_earlier))),
        },
        Expected::State(State::Zeros) => match intact {
            _ if is_zero(bytes) => Verdict::Right,
            Some(_) if is_of_run && !is_here => Verdict::Wrong(Class::Misdirected),
            Some(header) => Verdict::Wrong(class_of_other_run(&header, place)),
            None => Verdict::Wrong(among_zeros(bytes, is_of_earlier)),
        },
        Expected::State(State::Discarded) if is_here || is_zero(bytes) => Verdict::Right,
        // No other place of this target can have left it; another target may be the same storage under another name.
        Expected::State(State::Unknown) if is_of_run && !is_here && is_of_target => Verdict::Wrong(Class::Misdirected),
        Expected::Itself if is_here => Verdict::Right,
        Expected::Itself if is_of_run => Verdict::Wrong(Class::Misdirected),
        Expected::Itself if intact.is_none() && says_here(bytes, place) == IDENTITY => {
            damage(bytes, place).map_or(Verdict::NotCheckable, Verdict::Wrong)
        }
        Expected::State(State::Discarded | State::Unknown) | Expected::Itself => Verdict::NotCheckable,
    }
}

fn is_here(header: &Header, place: &Place, bytes: &[u8]) -> bool {
    place.is_of(header) && usize::from(header.unit_bytes) == bytes.len()
}

pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// Time of the latest write that left anything in a unit, as far as it can be determined.
fn latest_us(bytes: &[u8], place: &Place, intact: Option<&Header>) -> Option<u64> {
    let header = intact.copied().filter(|header| header.run == place.run);
    header.map(|header| header.generation.time_us()).max(marked_us(bytes, place))
}

/// Time of the latest write to which further sectors of a unit belong.
pub(crate) fn marked_us(bytes: &[u8], place: &Place) -> Option<u64> {
    generations(bytes, place).map(Generation::time_us).max()
}

/// Number of identifying fields in the first sector.
const IDENTITY: usize = 4;

/// Number of these fields that match the place, whether the sector is intact or not.
fn says_here(bytes: &[u8], place: &Place) -> usize {
    let header = Header::read_anyway(bytes);
    let says = [
        Header::read(bytes).is_some(),
        header.run == place.run,
        header.target == place.target,
        header.unit == place.unit,
    ];
    says.into_iter().filter(|&says| says).count()
}

/// The writes to this place to which sectors belong, without the first sector.
fn generations(bytes: &[u8], place: &Place) -> impl Iterator<Item = Generation> {
    marks(bytes, place, None).filter_map(|mark| match mark {
        Mark::Of(generation) => Some(generation),
        Mark::Damaged | Mark::None => None,
    })
}

pub(crate) fn marks(bytes: &[u8], place: &Place, wanted: Option<Generation>) -> impl Iterator<Item = Mark> {
    let key = unit::key(place.run, place.target, place.unit);
    let sectors = (1..).zip(bytes[SECTOR_BYTES..].chunks_exact(SECTOR_BYTES));
    sectors.map(move |(sector, bytes)| unit::mark(bytes, key, sector, wanted))
}

/// Origin of the sectors of a unit that is not intact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mixture {
    /// All belong to one write to this place; bytes in them changed.
    OneWrite,
    /// Some belong to a write to this place, others to another write, or to none.
    Several {
        /// The oldest of these writes, in microseconds since the run began.
        oldest_us: Option<u64>,
        /// All sectors that belong to no write to this place are zero.
        is_zero_elsewhere: bool,
        /// There are no such sectors.
        is_ours_only: bool,
    },
    /// None belongs to a write to this place.
    Nothing,
}

/// Determines the origin of the sectors of a unit that is not intact.
pub(crate) fn mixture(bytes: &[u8], place: &Place) -> Mixture {
    let header = Header::read(bytes).filter(|header| place.is_of(header));
    let written = header.map(|header| header.generation);
    let first = written.map_or(Mark::None, Mark::Of);
    let sectors: Vec<Mark> = std::iter::once(first).chain(marks(bytes, place, written)).collect();
    if sectors.iter().all(|mark| *mark == Mark::None) {
        return Mixture::Nothing;
    }
    let of_one = |mark: &Mark| *mark == Mark::Damaged || Some(*mark) == written.map(Mark::Of);
    if sectors.iter().all(of_one) {
        return Mixture::OneWrite;
    }
    let times = sectors.iter().filter_map(|mark| match mark {
        Mark::Of(generation) => Some(generation.time_us()),
        Mark::Damaged | Mark::None => None,
    });
    let elsewhere = || sectors.iter().zip(bytes.chunks_exact(SECTOR_BYTES)).filter(|(mark, _)| **mark == Mark::None);
    Mixture::Several {
        oldest_us: times.min(),
        is_zero_elsewhere: elsewhere().all(|(_, sector)| is_zero(sector)),
        is_ours_only: elsewhere().next().is_none(),
    }
}

/// The class of a unit that is not intact and has sectors of this place; `None` if it has none.
pub(crate) fn damage(bytes: &[u8], place: &Place) -> Option<Class> {
    if is_header_rotten(bytes, place) {
        return Some(Class::Rot);
    }
    // One of the four fields may have changed. Another run of the same target has three of them, but not the same
    // write.
    let is_near = says_here(bytes, place) >= IDENTITY - 1;
    let marked = generations(bytes, place).next();
    let is_same_write = |header: &Header| header.run == place.run || Some(header.generation) == marked;
    let header = Some(Header::read_anyway(bytes)).filter(|header| is_near && is_same_write(header));
    let written = header.map(|header| header.generation);
    let wanted = written.or(marked);
    let is_ours = |mark: &Mark| *mark != Mark::None;
    let first = if header.is_some() { Mark::Damaged } else { Mark::None };
    let sectors: Vec<Mark> = std::iter::once(first).chain(marks(bytes, place, wanted)).collect();
    let ours = sectors.iter().filter(|mark| is_ours(mark)).count();
    if ours == 0 {
        return None;
    }
    if generations(bytes, place).chain(written).any(|generation| Some(generation) != wanted) {
        return Some(Class::Torn);
    }
    // Other data at one end is the result of an incomplete write; in the middle it is damage.
    let changes = sectors.windows(2).filter(|pair| is_ours(&pair[0]) != is_ours(&pair[1])).count();
    Some(if ours < sectors.len() && changes == 1 { Class::Torn } else { Class::Rot })
}

/// The class of an intact unit of another run. Nothing in a run explains the data of a later one.
pub(crate) fn class_of_other_run(header: &Header, place: &Place) -> Class {
    if run_number::is_later(header.run, place.run) { Class::Foreign } else { Class::Lost }
}

/// True if a unit of another run that did not begin later is present, whole or in part.
pub(crate) fn is_of_earlier_run(bytes: &[u8], place: &Place) -> bool {
    let Some(offset) = place.unit.checked_mul(bytes.len() as u64) else { return false };
    let is_at = |at: usize| {
        let rest = &bytes[at..];
        let is_other = |header: &Header| header.run != place.run && !run_number::is_later(header.run, place.run);
        let Some(header) = Header::read(rest).filter(is_other) else { return false };
        let Some(size) = UnitSize::new(header.unit_bytes.into()) else { return false };
        let is_at_its_place = header.unit.checked_mul(size.bytes()) == Some(offset + at as u64);
        let is_whole = || rest.get(..size.bytes() as usize).is_some_and(unit::is_intact);
        let is_ours = || at == 0 && is_header_rotten(bytes, place);
        is_at_its_place && !is_ours() || is_whole()
    };
    (0..bytes.len()).step_by(SECTOR_BYTES).any(is_at)
}

/// True if one or two bits of its header are the only fault of a unit of this place.
pub(crate) fn is_header_rotten(bytes: &[u8], place: &Place) -> bool {
    // Each bit changes at most one of the four fields.
    says_here(bytes, place) + 2 >= IDENTITY
        && unit::repaired_headers(bytes).iter().any(|header| {
            let written = header.generation;
            is_here(header, place, bytes) && marks(bytes, place, None).all(|mark| mark == Mark::Of(written))
        })
}

/// The class of a unit that has no sector of its place.
pub(crate) fn strange(bytes: &[u8], place: &Place, is_of_earlier: bool) -> Class {
    let is_of_run = |sector: &[u8]| Header::read(sector).is_some_and(|header| header.run == place.run);
    if is_zero(bytes) {
        Class::Zeros
    } else if bytes.chunks_exact(SECTOR_BYTES).any(is_of_run) {
        Class::Misdirected
    } else if is_of_earlier {
        Class::Lost
    } else {
        Class::Foreign
    }
}

/// The class of expected zeros that are not all zero.
fn among_zeros(bytes: &[u8], is_of_earlier: bool) -> Class {
    let sectors = bytes.len() / SECTOR_BYTES;
    let zero = bytes.chunks_exact(SECTOR_BYTES).filter(|sector| is_zero(sector)).count();
    let changed = bytes.iter().filter(|&&byte| byte != 0).count();
    if changed < bytes.len() / sectors / 2 {
        Class::Rot
    } else if zero > 0 {
        Class::Torn
    } else if is_of_earlier {
        Class::Lost
    } else {
        Class::Foreign
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::fixture::{RUN, header, unit};

    const PLACE: Place = Place { run: RUN, target: 3, unit: 8 };

    fn written(number: u16) -> Expected {
        Expected::State(State::Written(number))
    }

    fn check(bytes: &[u8], expected: Expected) -> Verdict {
        check_unit(bytes, &PLACE, expected, u64::MAX)
    }

    fn wrong(class: Class) -> Verdict {
        Verdict::Wrong(class)
    }

    /// The first `sectors` sectors of the write with number 6, the rest of another unit.
    fn mixed(sectors: usize, other: &[u8]) -> Vec<u8> {
        let mut bytes = unit(&header(8, 6));
        bytes[sectors * SECTOR_BYTES..].copy_from_slice(&other[sectors * SECTOR_BYTES..]);
        bytes
    }

    #[test]
    fn a_unit_that_was_written_last_is_right() {
        let bytes = unit(&header(8, 6));
        assert_eq!(check(&bytes, written(6)), Verdict::Right);
        assert_eq!(check(&bytes, Expected::Itself), Verdict::Right);
        assert_eq!(check(&bytes, Expected::State(State::Unknown)), Verdict::NotCheckable);
        assert_eq!(check(&bytes, Expected::State(State::Discarded)), Verdict::Right);
    }

    #[test]
    fn an_older_unit_is_a_lost_write() {
        let bytes = unit(&header(8, 5));
        assert_eq!(check(&bytes, written(6)), wrong(Class::Lost));
        assert_eq!(check(&bytes, Expected::State(State::Zeros)), wrong(Class::Lost));
        let earlier_run = unit(&Header { run: RUN + 1, target: 0, ..header(8, 6) });
        assert_eq!(check(&earlier_run, written(6)), wrong(Class::Lost));
    }

    /// A unit of a run that began this number of milliseconds after this one.
    fn of_other_run(milliseconds: i64, unit_bytes: u16, unit_number: u64) -> Vec<u8> {
        let run = RUN.wrapping_add_signed(milliseconds << 20);
        let header = Header { run, unit_bytes, ..header(unit_number, 6) };
        let mut bytes = vec![0; usize::from(unit_bytes)];
        crate::unit::Pool::new(run).write(&mut bytes, &header);
        bytes
    }

    #[test]
    fn data_of_an_earlier_run_is_a_lost_write_whatever_its_units() {
        for bytes in [of_other_run(-1, 4096, 8), of_other_run(-1, 4096, 9), of_other_run(-1, 512, 64).repeat(8)] {
            assert_eq!(check(&bytes, written(6)), wrong(Class::Lost));
            assert_eq!(check(&bytes, Expected::State(State::Zeros)), wrong(Class::Lost));
            assert_eq!(check(&bytes, Expected::State(State::Unknown)), Verdict::NotCheckable);
            assert_eq!(check(&bytes, Expected::Itself), Verdict::NotCheckable);
        }
        // It was torn before: its run was killed.
        let mut torn = of_other_run(-1, 4096, 8);
        torn[1024..].copy_from_slice(&of_other_run(-2, 4096, 8)[1024..]);
        assert_eq!(check(&torn, written(6)), wrong(Class::Lost));
    }

    #[test]
    fn data_of_a_later_run_is_foreign() {
        for bytes in [of_other_run(1, 4096, 8), of_other_run(1, 4096, 9)] {
            assert_eq!(check(&bytes, written(6)), wrong(Class::Foreign));
            assert_eq!(check(&bytes, Expected::State(State::Zeros)), wrong(Class::Foreign));
            assert_eq!(check(&bytes, Expected::State(State::Unknown)), Verdict::NotCheckable);
            assert_eq!(check(&bytes, Expected::State(State::Discarded)), Verdict::NotCheckable);
        }
        let mut torn = unit(&header(8, 6));
        torn[..1024].copy_from_slice(&of_other_run(1, 4096, 8)[..1024]);
        assert_eq!(
            check(&torn, written(6)),
            wrong(Class::Rot),
            "no two runs write at the same time to the microsecond"
        );
        let later = unit(&Header { run: RUN + (1 << 20), ..header(8, 7) });
        torn[..1024].copy_from_slice(&later[..1024]);
        assert_eq!(check(&torn, written(6)), wrong(Class::Torn));
    }

    #[test]
    fn what_was_written_during_the_read_is_not_checkable() {
        let bytes = unit(&header(8, 5));
        assert_eq!(check_unit(&bytes, &PLACE, written(6), 5000), Verdict::NotCheckable);
        assert_eq!(check_unit(&bytes, &PLACE, written(6), 5001), wrong(Class::Lost));
        let torn = mixed(4, &unit(&header(8, 7)));
        assert_eq!(check_unit(&torn, &PLACE, written(6), 7000), Verdict::NotCheckable);
    }

    #[test]
    fn sectors_of_two_writes_are_torn() {
        for sectors in 1..8 {
            for other in [unit(&header(8, 5)), vec![0; 4096], vec![0xA5; 4096]] {
                let new_first = mixed(sectors, &other);
                assert_eq!(check(&new_first, written(6)), wrong(Class::Torn), "{sectors}");
                let mut old_first = other.clone();
                old_first[sectors * SECTOR_BYTES..].copy_from_slice(&unit(&header(8, 6))[sectors * SECTOR_BYTES..]);
                assert_eq!(check(&old_first, written(6)), wrong(Class::Torn), "{sectors}");
            }
        }
        let inside_a_sector = {
            let (mut bytes, old) = (unit(&header(8, 6)), unit(&header(8, 5)));
            bytes[1000..].copy_from_slice(&old[1000..]);
            bytes
        };
        assert_eq!(check(&inside_a_sector, written(6)), wrong(Class::Torn));
    }

    #[test]
    fn changed_bits_are_rot_wherever_they_are() {
        let whole = unit(&header(8, 6));
        for bytes in [whole[..].to_vec(), {
            let mut small = vec![0; 512];
            crate::unit::Pool::new(RUN).write(&mut small, &Header { unit_bytes: 512, ..header(8, 6) });
            small
        }] {
            for at in 0..bytes.len() {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << (at % 8);
                assert_eq!(check(&bytes, written(6)), wrong(Class::Rot), "byte {at} of {}", bytes.len());
            }
        }
        for first in 0..512 {
            let mut bytes = whole.clone();
            for bit in [first, (first + 1 + first * 7 % 510) % 512] {
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            assert_eq!(check(&bytes, written(6)), wrong(Class::Rot), "bit {first}");
        }
        let mut sector_lost = whole;
        sector_lost[1024..1536].fill(0x5A);
        assert_eq!(check(&sector_lost, written(6)), wrong(Class::Rot));
    }

    #[test]
    fn units_of_other_places_are_misdirected() {
        for other in [header(9, 6), Header { target: 2, ..header(8, 6) }] {
            let bytes = unit(&other);
            assert_eq!(check(&bytes, written(6)), wrong(Class::Misdirected));
            assert_eq!(check(&bytes, Expected::Itself), wrong(Class::Misdirected));
            let where_unknown =
                if other.target == PLACE.target { wrong(Class::Misdirected) } else { Verdict::NotCheckable };
            assert_eq!(check(&bytes, Expected::State(State::Unknown)), where_unknown);
            assert_eq!(check(&bytes, Expected::State(State::Zeros)), wrong(Class::Misdirected));
            assert_eq!(check(&bytes, Expected::State(State::Discarded)), Verdict::NotCheckable);
        }
        let mut shifted = vec![0xA5; 4096];
        shifted[512..].copy_from_slice(&unit(&header(9, 6))[..3584]);
        assert_eq!(check(&shifted, written(6)), wrong(Class::Misdirected));
    }

    #[test]
    fn other_data_is_foreign_and_zeros_are_zeros() {
        let bytes = [0xA5; 4096];
        assert_eq!(check(&bytes, written(6)), wrong(Class::Foreign));
        assert_eq!(check(&bytes, Expected::State(State::Zeros)), wrong(Class::Foreign));
        assert_eq!(check(&bytes, Expected::State(State::Unknown)), Verdict::NotCheckable);
        assert_eq!(check(&bytes, Expected::Itself), Verdict::NotCheckable);
        assert_eq!(check(&[0; 4096], written(6)), wrong(Class::Zeros));
        assert_eq!(check(&[0; 4096], Expected::State(State::Zeros)), Verdict::Right);
        assert_eq!(check(&[0; 4096], Expected::State(State::Discarded)), Verdict::Right);
        assert_eq!(check(&[0; 4096], Expected::State(State::Unknown)), Verdict::NotCheckable);
    }

    #[test]
    fn zeros_with_a_changed_bit_are_rot_and_zeros_in_part_are_torn() {
        let mut bytes = vec![0; 4096];
        bytes[700] = 1;
        assert_eq!(check(&bytes, Expected::State(State::Zeros)), wrong(Class::Rot));
        let torn = mixed(4, &[0; 4096]);
        assert_eq!(check(&torn, Expected::State(State::Zeros)), wrong(Class::Torn));
    }

    #[test]
    fn a_unit_is_checked_against_itself_where_nothing_else_is_known() {
        let mut rot = unit(&header(8, 6));
        rot[2000] ^= 4;
        assert_eq!(check(&rot, Expected::Itself), wrong(Class::Rot));
        assert_eq!(check(&mixed(3, &unit(&header(8, 5))), Expected::Itself), wrong(Class::Torn));
        assert_eq!(check(&[0; 4096], Expected::Itself), Verdict::NotCheckable);
    }
}
