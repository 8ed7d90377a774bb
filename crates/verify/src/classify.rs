//! The class of a wrong unit, after further reads of the storage.

use crate::check::{Expected, Place, Verdict, check_unit};
use crate::unit::{self, HEADER_BYTES, Header, Mark, SECTOR_BYTES, UNIT_BYTES_MAX};
use model::corruption::CorruptionClass as Class;

/// Bytes read around a wrong unit, on each side: other units of the same I/O.
pub const AROUND_BYTES: u64 = 64 << 10;

/// Further reads after a unit turned out to be wrong. Each is `None` if it was not read, or may have changed meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// The same unit, read past the caches.
    pub again: Option<&'a [u8]>,
    /// The place named in the unit's header.
    pub home: Option<&'a [u8]>,
    /// Neighbouring units, those of the same I/O among them.
    pub around: &'a [&'a [u8]],
    /// Offset of the first of these on the target.
    pub around_offset: u64,
}

/// The class of a unit that [`check_unit`] found to be wrong; `found` is the data of the first read.
pub fn classify(found: &[u8], place: &Place, expected: Expected, class: Class, evidence: Evidence<'_>) -> Class {
    match class {
        Class::Lost if is_right(evidence.again, place, expected) => Class::Stale,
        Class::Lost if is_partly_there(found, place, evidence.around) => Class::Torn,
        Class::Foreign if is_within_other_unit(found, place, evidence) => Class::Lost,
        Class::Misdirected if evidence.home.is_some_and(|home| home == found) => Class::Duplicated,
        _ => class,
    }
}

fn is_right(again: Option<&[u8]>, place: &Place, expected: Expected) -> bool {
    again.is_some_and(|again| check_unit(again, place, expected, u64::MAX) == Verdict::Right)
}

/// True if a neighbouring unit was written by a later I/O that should have written this unit too.
fn is_partly_there(found: &[u8], place: &Place, around: &[&[u8]]) -> bool {
    let Some(found) = Header::read(found).filter(|header| place.is_of(header)) else { return false };
    around.iter().any(|bytes| {
        // The neighbour may be torn itself: its header is of its first sector.
        Header::read(bytes).is_some_and(|header| {
            (header.run, header.target) == (place.run, place.target)
                && header.unit != place.unit
                && header.units_of_io().contains(&place.unit)
                && header.generation.time_us() > found.generation.time_us()
        })
    })
}

/// True if a unit is part of a larger one of another run, which begins before it.
fn is_within_other_unit(found: &[u8], place: &Place, evidence: Evidence<'_>) -> bool {
    let offset = place.unit.saturating_mul(found.len() as u64);
    (1..(UNIT_BYTES_MAX / SECTOR_BYTES) as u64).any(|sector| {
        let begin = || {
            let start = offset.checked_sub(sector * SECTOR_BYTES as u64)?;
            let at = usize::try_from(start.checked_sub(evidence.around_offset)?).ok()?;
            let unit = evidence.around.get(at / found.len())?;
            let header = Header::read(unit.get(at % found.len()..).filter(|rest| rest.len() >= HEADER_BYTES)?)?;
            let is_its_place = header.unit.checked_mul(header.unit_bytes.into()) == Some(start);
            (is_its_place && header.run != place.run).then_some(header)
        };
        begin().is_some_and(|header| {
            let key = unit::key(header.run, header.target, header.unit);
            unit::mark(found, key, sector, None) == Mark::Of(header.generation)
        })
    })
}

/// The place named in the header of a misdirected unit.
pub fn home(found: &[u8]) -> Option<Place> {
    let header = Header::read(found).filter(|_| unit::is_intact(found))?;
    Some(Place { run: header.run, target: header.target, unit: header.unit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::State;
    use crate::unit::fixture::{RUN, header, unit};

    const PLACE: Place = Place { run: RUN, target: 3, unit: 8 };

    fn class(found: &[u8], evidence: Evidence<'_>) -> Class {
        let expected = Expected::State(State::Written(6));
        match check_unit(found, &PLACE, expected, u64::MAX) {
            Verdict::Wrong(class) => classify(found, &PLACE, expected, class, evidence),
            verdict => unreachable!("{verdict:?}"),
        }
    }

    #[test]
    fn older_data_that_a_second_read_does_not_see_is_stale() {
        let (old, new) = (unit(&header(8, 5)), unit(&header(8, 6)));
        assert_eq!(class(&old, Evidence { again: Some(&new), ..Evidence::default() }), Class::Stale);
        assert_eq!(class(&old, Evidence { again: Some(&old), ..Evidence::default() }), Class::Lost);
    }

    #[test]
    fn an_io_that_is_there_in_part_is_torn() {
        let old = unit(&header(8, 5));
        let beside = unit(&Header { distance: 1, length: 2, ..header(9, 6) });
        let of_another_io = unit(&header(9, 6));
        let torn = |around: &[&[u8]]| class(&old, Evidence { around, ..Evidence::default() });
        // Unit 9 is the second of two, the first of which is unit 8.
        assert_eq!(torn(&[&beside]), Class::Torn);
        let mut torn_inside = beside.clone();
        torn_inside[1024..].fill(0);
        assert_eq!(torn(&[&torn_inside]), Class::Torn);
        assert_eq!(torn(&[&of_another_io]), Class::Lost);
    }

    #[test]
    fn a_part_of_a_larger_unit_of_an_earlier_run_is_a_lost_write() {
        let large = unit(&Header { run: RUN - 1, ..header(1, 6) });
        let place = Place { run: RUN, target: 3, unit: 11 };
        let expected = Expected::State(State::Written(6));
        let found = &large[3 * SECTOR_BYTES..][..SECTOR_BYTES];
        assert_eq!(check_unit(found, &place, expected, u64::MAX), Verdict::Wrong(Class::Foreign));
        let around: Vec<&[u8]> = large.chunks(SECTOR_BYTES).collect();
        let class = |around_offset| {
            let evidence = Evidence { around: &around, around_offset, ..Evidence::default() };
            classify(found, &place, expected, Class::Foreign, evidence)
        };
        assert_eq!((class(4096), class(0)), (Class::Lost, Class::Foreign));
    }

    #[test]
    fn data_that_is_at_its_own_place_too_is_duplicated() {
        let found = unit(&header(9, 6));
        assert_eq!(home(&found), Some(Place { unit: 9, ..PLACE }));
        assert_eq!(class(&found, Evidence { home: Some(&found), ..Evidence::default() }), Class::Duplicated);
        let other = unit(&header(9, 5));
        assert_eq!(class(&found, Evidence { home: Some(&other), ..Evidence::default() }), Class::Misdirected);
    }
}
