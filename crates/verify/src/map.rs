//! Expected content of each unit of a target, and the units being changed: 16 bits each, shared by all threads.

use crate::generation::{NUMBER_MAX, Number};
use model::verification::ExpectedContent;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Expected content of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Unknown: never written by this run, or by a write that failed.
    Unknown,
    /// The write with this number.
    Written(Number),
    /// Zeros.
    Zeros,
    /// Discarded on a device: zeros, the previous data, or anything.
    Discarded,
}

impl From<State> for ExpectedContent {
    fn from(state: State) -> Self {
        match state {
            State::Written(number) => Self::Write(number),
            State::Zeros => Self::Zeros,
            State::Unknown | State::Discarded => Self::Unknown,
        }
    }
}

/// A change is under way.
const CLAIMED: u16 = 1 << 15;
const DISCARDED: u16 = 0x7FFF;
const ZEROS: u16 = 0x7FFE;

impl State {
    const fn bits(self) -> u16 {
        match self {
            Self::Unknown => 0,
            Self::Written(number) => number,
            Self::Zeros => ZEROS,
            Self::Discarded => DISCARDED,
        }
    }

    pub(crate) const fn from_bits(bits: u16) -> Self {
        match bits & !CLAIMED {
            0 => Self::Unknown,
            ZEROS => Self::Zeros,
            DISCARDED => Self::Discarded,
            number => Self::Written(number),
        }
    }
}

/// A unit's entry at one moment, to be compared with a later one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapEntry(u16);

impl MapEntry {
    /// The expected content; `None` = the unit is being changed.
    pub const fn state(self) -> Option<State> {
        if self.0 & CLAIMED == 0 { Some(State::from_bits(self.0)) } else { None }
    }
}

/// The map of one target.
///
/// With fewer entries than units, units share entries: it still shows that a unit may have changed, but not its
/// expected content.
#[derive(Debug)]
pub struct GenerationMap {
    /// Four entries in each.
    cells: Box<[AtomicU64]>,
    units: u64,
    /// Unit to entry.
    mask: u64,
    /// No unit is checkable any more: a shared entry cannot represent the change of one of its units.
    is_blind: AtomicBool,
}

const LANES: u64 = 4;

/// The minimum number of entries of a shared map: the units of the largest I/O fit.
const SHARED_ENTRIES_MIN: u64 = 1 << 20;

impl GenerationMap {
    /// Memory that a map with an entry for each unit takes, if all are written.
    pub const fn bytes(units: u64) -> u64 {
        units.div_ceil(LANES) * 8
    }

    /// Cells of the map of this number of units within `bytes`: one entry for each unit, or the largest power of two
    /// that fits.
    pub fn cell_count(units: u64, bytes: u64) -> usize {
        if Self::bytes(units) <= bytes {
            return (Self::bytes(units) / 8) as usize;
        }
        let entries = (bytes / 2).max(SHARED_ENTRIES_MIN);
        ((1u64 << entries.ilog2()).min(units.next_power_of_two()) / LANES) as usize
    }

    /// A map of this number of units in these cells, all 0; see [`cell_count`](Self::cell_count).
    pub fn new(cells: Box<[AtomicU64]>, units: u64) -> Self {
        let entries = cells.len() as u64 * LANES;
        let mask = if entries >= units { u64::MAX } else { (1u64 << entries.max(1).ilog2()) - 1 };
        Self { cells, units, mask, is_blind: AtomicBool::new(false) }
    }

    /// Number of units.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// True if each unit has an entry of its own.
    pub fn is_exact(&self) -> bool {
        self.mask == u64::MAX
    }

    /// True if no unit is checkable.
    pub fn is_blind(&self) -> bool {
        self.is_blind.load(Ordering::Relaxed)
    }

    #[inline]
    fn place(&self, unit: u64) -> (&AtomicU64, u32) {
        let entry = unit & self.mask;
        (&self.cells[(entry / LANES) as usize], (entry % LANES) as u32 * 16)
    }

    /// The entry of a unit now. If it is noted before and after an I/O, is equal and not being changed, the unit did
    /// not change meanwhile.
    #[inline]
    pub fn note(&self, unit: u64) -> MapEntry {
        let (cell, shift) = self.place(unit);
        MapEntry((cell.load(Ordering::SeqCst) >> shift) as u16)
    }

    /// Claims these units for one change; false, and none is claimed, if another change has any of them.
    #[inline]
    pub fn claim(&self, units: Range<u64>) -> bool {
        for unit in units.clone() {
            let (cell, shift) = self.place(unit);
            let claimed = u64::from(CLAIMED) << shift;
            if cell.fetch_or(claimed, Ordering::SeqCst) & claimed != 0 {
                for unit in units.start..unit {
                    let (cell, shift) = self.place(unit);
                    cell.fetch_and(!(u64::from(CLAIMED) << shift), Ordering::SeqCst);
                }
                return false;
            }
        }
        true
    }

    /// Ends the change of a claimed unit, with its new expected content.
    #[inline]
    pub fn release(&self, unit: u64, state: State) {
        if !self.is_exact() && matches!(state, State::Unknown | State::Discarded) {
            self.is_blind.store(true, Ordering::SeqCst);
        }
        let (cell, shift) = self.place(unit);
        // No other thread changes the entry of a claimed unit.
        let old = (cell.load(Ordering::Relaxed) >> shift) as u16;
        cell.fetch_xor(u64::from(old ^ state.bits()) << shift, Ordering::SeqCst);
    }

    /// Expected content of a unit, whether it is being changed or not.
    #[inline]
    pub fn state(&self, unit: u64) -> State {
        State::from_bits(self.note(unit).0)
    }

    /// Sets all units to unknown: the target was emptied with no I/O in flight.
    pub fn forget(&self) {
        for cell in self.cells.iter().filter(|cell| cell.load(Ordering::Relaxed) != 0) {
            cell.store(0, Ordering::SeqCst);
        }
    }

    /// The entry in a saved map: units being changed are unknown.
    pub(crate) fn saved(&self, unit: u64) -> u16 {
        self.note(unit).state().unwrap_or(State::Unknown).bits()
    }

    /// The first unit from this one on that is not unknown; for exact maps.
    pub(crate) fn next_known(&self, unit: u64) -> Option<u64> {
        let cells = self.cells.get((unit / LANES) as usize..)?;
        // Most of a large target may never have been written.
        let used = (unit / LANES..).zip(cells).filter(|(_, cell)| cell.load(Ordering::Relaxed) != 0);
        let mut units = used.flat_map(|(number, _)| number * LANES..(number + 1) * LANES);
        units.find(|&known| (unit..self.units).contains(&known) && self.saved(known) != 0)
    }
}

const _: () = assert!(NUMBER_MAX < ZEROS);

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;

    pub(crate) fn map(units: u64, bytes: u64) -> GenerationMap {
        let cells = (0..GenerationMap::cell_count(units, bytes)).map(|_| AtomicU64::new(0)).collect();
        GenerationMap::new(cells, units)
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::map;
    use super::*;

    #[test]
    fn a_claim_is_of_all_units_or_none() {
        let map = map(100, u64::MAX);
        assert!(map.claim(10..14));
        assert!(!map.claim(5..11));
        assert_eq!(map.note(10).state(), None);
        (5..10).for_each(|unit| assert_eq!(map.note(unit).state(), Some(State::Unknown)));
        (10..14).for_each(|unit| map.release(unit, State::Written(7)));
        assert!(map.claim(5..11));
        assert_eq!(map.state(10), State::Written(7));
        assert_eq!(map.note(11).state(), Some(State::Written(7)));
    }

    #[test]
    fn neighbours_stay_as_they_are() {
        let map = map(9, u64::MAX);
        let states = [State::Unknown, State::Written(NUMBER_MAX), State::Zeros, State::Discarded, State::Written(1)];
        for (unit, state) in (0..).zip(states) {
            assert!(map.claim(unit..unit + 1));
            map.release(unit, state);
        }
        for (unit, state) in (0..).zip(states) {
            assert_eq!(map.state(unit), state);
        }
        map.forget();
        assert_eq!(map.state(4), State::Unknown);
    }

    #[test]
    fn threads_never_share_a_unit() {
        let map = map(64, u64::MAX);
        let held: Vec<AtomicBool> = (0..64).map(|_| AtomicBool::new(false)).collect();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (map, held) = (&map, &held);
                scope.spawn(move || {
                    let mut rng = hot::rng::Rng::new(thread);
                    for _ in 0..20_000 {
                        let first = rng.below(60);
                        let units = first..first + 1 + rng.below(4);
                        if !map.claim(units.clone()) {
                            continue;
                        }
                        for unit in units.clone() {
                            assert!(!held[unit as usize].swap(true, Ordering::SeqCst), "unit {unit} has two owners");
                        }
                        for unit in units {
                            held[unit as usize].store(false, Ordering::SeqCst);
                            map.release(unit, State::Written(1));
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_map_that_is_too_small_is_shared() {
        let units = 1 << 24;
        let shared = map(units, 1 << 22);
        assert!(!shared.is_exact() && map(1000, u64::MAX).is_exact());
        assert!(shared.claim(5..6));
        assert_eq!(shared.note((1 << 21) + 5).state(), None);
        shared.release(5, State::Written(3));
        assert!(!shared.is_blind());
        assert!(shared.claim(6..7));
        shared.release(6, State::Unknown);
        assert!(shared.is_blind());
    }
}
