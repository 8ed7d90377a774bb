//! One target of a verified run: encoding of its units, and their expected content.
//!
//! The caller must keep an order of I/O: units are claimed before the time of a change is taken and released after it
//! completed; entries are noted after the time of a read was taken and before it is submitted, and compared after it
//! completed.

use crate::check::{Expected, Place, Verdict, check_unit};
use crate::generation::{self, Generation};
use crate::map::{GenerationMap, MapEntry, State};
use crate::unit::{self, Erases, Header, Pool, Traits, UnitSize};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// A target.
#[derive(Debug)]
pub struct VerifiedTarget {
    /// Number of the run, drawn for each.
    pub run: u64,
    /// Number of the target in its run.
    pub target: u32,
    /// Size of its units.
    pub unit: UnitSize,
    /// Their expected content.
    pub map: GenerationMap,
    /// Discarded data reads as zeros, as in a file.
    pub discards_to_zeros: bool,
    /// In the headers of its units.
    pub traits: Traits,
    /// Shared by all threads.
    pub counters: TargetCounters,
}

/// Changes of a target by the threads of a run so far.
#[derive(Debug, Default)]
pub struct TargetCounters {
    /// Units that the run has begun to write, each counted once.
    written_units: AtomicU64,
    /// Time at which the latest change that was no write and ended began, in microseconds since the run began.
    erased_us: AtomicU64,
}

/// A write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteIo {
    /// Its first unit.
    pub first: u64,
    /// Number of its units.
    pub length: u32,
    /// Thread that makes it.
    pub thread: u32,
    /// Number of the change among all of the run, taken after its units were claimed: later changes of a unit have
    /// larger ones.
    pub sequence: u64,
    /// Microseconds since the run began, taken after its units were claimed.
    pub time_us: u64,
    /// From [`VerifiedTarget::claim_write`].
    pub written_units: u64,
}

/// Result of a change of claimed units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The data of a write.
    Written,
    /// Zeros.
    Zeroed,
    /// Discarded data.
    Discarded,
    /// It failed, was short, or was cancelled: part of it may be present.
    Failed,
}

impl VerifiedTarget {
    /// The units of a range of bytes that begins and ends at unit boundaries.
    #[inline]
    pub fn units(&self, offset: u64, length: u64) -> Range<u64> {
        self.unit.count(offset)..self.unit.count(offset + length)
    }

    /// The place of a unit.
    pub fn place(&self, unit: u64) -> Place {
        Place { run: self.run, target: self.target, unit }
    }

    /// Claims these units for one write; returns the units that the run has begun to write so far, these included, 0 if
    /// that is not known. `None` if another change has any of them.
    #[inline]
    pub fn claim_write(&self, units: Range<u64>) -> Option<u64> {
        if !self.map.claim(units.clone()) {
            return None;
        }
        // Shared entries do not distinguish units; erased units can no longer be counted.
        if !self.map.is_exact() || self.traits.erases != Erases::Never {
            return Some(0);
        }
        let new = units.filter(|&unit| self.map.state(unit) == State::Unknown).count() as u64;
        let written = &self.counters.written_units;
        Some(if new == 0 { written.load(Relaxed) } else { written.fetch_add(new, Relaxed) + new })
    }

    /// The number of a write to a claimed unit.
    #[inline]
    fn number(&self, unit: u64, time_us: u64) -> generation::Number {
        match self.map.state(unit) {
            State::Written(number) => generation::next(number),
            State::Unknown | State::Zeros | State::Discarded => generation::first(time_us),
        }
    }

    fn header(&self, unit: u64, io: &WriteIo) -> Header {
        Header {
            run: self.run,
            target: self.target,
            unit,
            generation: Generation::new(self.number(unit, io.time_us), io.time_us),
            thread: io.thread,
            sequence: io.sequence,
            distance: (unit - io.first) as u32,
            length: io.length,
            unit_bytes: self.unit.bytes() as u16,
            traits: self.traits,
            written_units: io.written_units,
            is_extended: true,
        }
    }

    /// Encodes units, the first of which has this number, for a write that claimed them; with a `pool` all of their
    /// bytes, else those that identify them.
    #[inline]
    pub fn make(&self, units: &mut [u8], first: u64, io: &WriteIo, pool: Option<&Pool>) {
        for (unit, bytes) in (first..).zip(units.chunks_exact_mut(self.unit.bytes() as usize)) {
            let header = self.header(unit, io);
            match pool {
                Some(pool) => pool.write(bytes, &header),
                None => unit::seal(bytes, &header),
            }
        }
    }

    /// Ends a change of units that were claimed.
    #[inline]
    pub fn finish(&self, io: &WriteIo, change: Change) {
        if change != Change::Written {
            // Before the map is updated: a thread that sees the old state of the unit sees this, too.
            self.counters.erased_us.fetch_max(io.time_us, SeqCst);
        }
        for unit in io.first..io.first + u64::from(io.length) {
            let state = match change {
                Change::Written => State::Written(self.number(unit, io.time_us)),
                Change::Zeroed => State::Zeros,
                Change::Discarded if self.discards_to_zeros => State::Zeros,
                Change::Discarded => State::Discarded,
                Change::Failed => State::Unknown,
            };
            self.map.release(unit, state);
        }
    }

    /// Expected content of a unit during a read: `None` if it may have changed meanwhile.
    #[inline]
    pub fn expected(&self, unit: u64, noted: MapEntry) -> Option<Expected> {
        let state = noted.state().filter(|_| self.map.note(unit) == noted)?;
        match (self.map.is_exact(), state) {
            (true, state) => Some(Expected::State(state)),
            (false, State::Written(_)) if !self.map.is_blind() => Some(Expected::Itself),
            // The run did not write there, or too much is unknown.
            (false, _) => None,
        }
    }

    /// The verdict on a unit with this expected content, returned by a read that began at `read_us`.
    #[inline]
    pub fn compare(&self, unit: u64, bytes: &[u8], expected: Expected, read_us: u64) -> Verdict {
        match check_unit(bytes, &self.place(unit), expected, read_us) {
            // Zeros look like the zeros before them, whatever was there in between.
            Verdict::Wrong(_)
                if matches!(expected, Expected::State(State::Zeros))
                    && self.counters.erased_us.load(SeqCst) >= read_us =>
            {
                Verdict::NotCheckable
            }
            verdict => verdict,
        }
    }

    /// Checks a unit returned by a read that began at `read_us`, with its entry noted before.
    #[inline]
    pub fn check(&self, unit: u64, bytes: &[u8], noted: MapEntry, read_us: u64) -> Verdict {
        self.expected(unit, noted)
            .map_or(Verdict::NotCheckable, |expected| self.compare(unit, bytes, expected, read_us))
    }
}
