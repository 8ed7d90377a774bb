//! Reads one target with several threads and checks its contents.

use super::report::{Comparison, CorruptUnit, ExpectedUnit, FoundUnit, Progress, TargetReport};
use crate::target_reading::{in_chunks, parts_to_read, read};
use host::DirectReader;
use indicatif::ProgressBar;
use model::corruption::{CorruptionClass as Class, is_unreadable};
use model::units::counted;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use verify::alone::check_alone;
use verify::check::{Expected, Place, Verdict, check_unit};
use verify::classify::{self, AROUND_BYTES, Evidence};
use verify::later::{Piece, Recorded, WrongUnit};
use verify::map::State;
use verify::saved::{SavedStates, SavedTarget};
use verify::unit::{HEADER_BYTES, Header, SECTOR_BYTES, UNIT_BYTES_MAX, UnitSize, is_intact};

/// Size of the smaller reads after a larger one failed, in bytes.
const BLOCK_BYTES: u64 = 4096;

/// Reference for the contents of the units.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expectation<'a> {
    /// Each unit's own header.
    Alone,
    /// The saved map of a run.
    Map { run: u64, target: u32, unit: UnitSize, is_exact: bool, states: &'a SavedStates },
}

impl<'a> Expectation<'a> {
    /// The map of a target; `None` if its unit size is invalid.
    pub(super) fn of_run(run: u64, saved: &SavedTarget, states: &'a SavedStates) -> Option<Self> {
        let unit = UnitSize::new(saved.unit_bytes.into())?;
        Some(Self::Map { run, target: saved.target, unit, is_exact: saved.is_exact, states })
    }
}

/// A target to be read back.
#[derive(Debug)]
pub(super) struct ReadBack<'a> {
    pub(super) path: PathBuf,
    pub(super) size_bytes: u64,
    /// Tags of its persistent names; none = unknown.
    pub(super) tags: Vec<u64>,
    /// Offset of the first read: a multiple of every unit size.
    pub(super) from_bytes: u64,
    pub(super) expectation: Expectation<'a>,
    /// True if it is known to be the target of the run.
    pub(super) is_certain: bool,
    /// Time from the saving of the map to the last change of the file.
    pub(super) changed_after_ns: Option<u64>,
}

impl ReadBack<'_> {
    /// The same, read from an offset on.
    pub(super) fn from(self, from_bytes: u64) -> Self {
        Self { from_bytes: from_bytes.min(self.size_bytes), ..self }
    }

    /// Number of bytes to be read.
    pub(super) fn wanted_bytes(&self) -> u64 {
        self.size_bytes - self.from_bytes
    }

    /// Reads all of it, or until `interrupted`.
    pub(super) fn read(&self, interrupted: &AtomicBool, bar: &ProgressBar) -> io::Result<TargetReport> {
        let range = self.from_bytes..self.size_bytes;
        let parts = match self.expectation {
            Expectation::Alone => vec![range.clone()],
            Expectation::Map { unit, states, .. } => {
                let bytes = |units: Range<u64>| units.start * unit.bytes()..units.end * unit.bytes();
                parts_to_read(&self.path, range.clone(), states.ranges().from(0).map(bytes))
            }
        };
        let chunk = |reader: &mut DirectReader, chunk| self.chunk(reader, chunk);
        let mut reading = in_chunks(&self.path, &range, &parts, interrupted, bar, chunk)?;
        if let Expectation::Map { unit, .. } = self.expectation {
            reading.found.skip(reading.skipped_bytes, unit.count(reading.skipped_bytes));
        }
        self.beyond_end(&mut reading.found);
        let (known, units, unit_bytes, run, with_map) = match self.expectation {
            Expectation::Alone => (None, None, None, None, false),
            Expectation::Map { run, unit, is_exact, states, .. } => {
                let known = is_exact.then(|| states.known());
                (known, Some(states.units()), Some(unit.bytes()), Some(format!("{run:016x}")), is_exact)
            }
        };
        if !self.is_certain {
            reading.found.absolve_other_target();
        }
        let is_whole = self.from_bytes == 0 && reading.next >= self.size_bytes;
        let gaps = reading.found.coverage.gaps(is_whole);
        let mut report = TargetReport::new(self.path.clone(), self.size_bytes, reading.found);
        (report.known_units, report.units, report.unit_bytes, report.run) = (known, units, unit_bytes, run);
        report.resume_bytes = Some(reading.next).filter(|&next| next < self.size_bytes);
        report.from_bytes = self.from_bytes;
        (report.missing_units, report.unknown_bytes) = (gaps.missing_units, gaps.unknown_bytes);
        (report.compared_with_map, report.past_page_cache) = (with_map, reading.past_page_cache);
        report.changed_after_ns = self.changed_after_ns;
        Ok(report)
    }

    /// Checks the units beyond the end of a target that is too short: missing data reads as zeros.
    fn beyond_end(&self, progress: &mut Progress) {
        let Expectation::Map { run, target, unit, is_exact: true, states } = self.expectation else { return };
        let zeros = vec![0; unit.bytes() as usize];
        let first = unit.count(self.size_bytes);
        let mut unknown = states.units().saturating_sub(first);
        for number in states.ranges().from(first).flatten() {
            unknown -= 1;
            let (place, state) = (Place { run, target, unit: number }, states.state(number));
            let verdict = check_unit(&zeros, &place, Expected::State(state), u64::MAX);
            progress.count(verdict, 0);
            let Verdict::Wrong(class) = verdict else { continue };
            let offset = number * unit.bytes();
            let reason = format!("the target ends before it, after {}", counted(self.size_bytes, "byte"));
            let details = Comparison { expected: ExpectedUnit::Content(state.into()), found: None };
            progress.wrong(CorruptUnit::without_bytes(offset, unit.bytes(), class, reason, details));
        }
        progress.skip(0, unknown);
    }

    /// Checks the units that begin in one chunk.
    fn chunk(&self, reader: &mut DirectReader, Range { start: offset, end }: Range<u64>) -> Progress {
        let mut progress = Progress::of_read(end - offset, &self.tags);
        // A misplaced unit may begin in one chunk and end in the next.
        let wanted = self.size_bytes.min(end + UNIT_BYTES_MAX as u64) - offset;
        if let Ok(bytes) = read(reader, offset, wanted) {
            self.check(reader, offset, end, &bytes, &mut progress);
            return progress;
        }
        // Find the blocks of it that cannot be read.
        progress.failed_reads += 1;
        for block in (offset..end).step_by(BLOCK_BYTES as usize) {
            let block_end = end.min(block + BLOCK_BYTES);
            match read(reader, block, block_end - block) {
                Ok(bytes) => self.check(reader, block, block_end, &bytes, &mut progress),
                Err(error) if error.raw_os_error().is_some_and(is_unreadable) => {
                    self.unreadable(block, block_end, &error, &mut progress);
                }
                // The target became shorter, or this machine could not read it: that is not an error in its data.
                Err(error) => progress.not_read(block_end - block, &error),
            }
        }
        progress
    }

    fn check(&self, reader: &mut DirectReader, offset: u64, end: u64, bytes: &[u8], progress: &mut Progress) {
        match self.expectation {
            Expectation::Alone => {
                let mut at = offset;
                while at < end {
                    let rest = bytes.get((at - offset) as usize..).unwrap_or_default();
                    let sector = &rest[..rest.len().min(SECTOR_BYTES)];
                    let Some((header, verdict)) = check_alone(rest, at) else {
                        progress.coverage.note_rest(sector);
                        at += SECTOR_BYTES as u64;
                        continue;
                    };
                    progress.found_units += 1;
                    progress.count(verdict, header.unit_bytes.into());
                    let unit = &rest[..usize::from(header.unit_bytes)];
                    match verdict {
                        Verdict::Right => {
                            progress.at_its_place(header.run);
                            progress.coverage.note_unit(&header);
                        }
                        Verdict::Unfinished => {
                            progress.unfinished(self.corrupt(at, Class::Torn, ExpectedUnit::Itself, unit, None));
                        }
                        Verdict::Wrong(class) => {
                            let (home, bytes) = (header.unit.saturating_mul(unit.len() as u64), unit.len());
                            let is_double = class == Class::Misdirected
                                && reader.read_range(home, bytes).is_ok_and(|home| home == unit);
                            let class = if is_double { Class::Duplicated } else { class };
                            if matches!(class, Class::Misdirected | Class::Duplicated) {
                                progress.elsewhere(header.run, class);
                            }
                            let again = read(reader, at, unit.len() as u64).ok();
                            let is_right =
                                |again: &[u8]| check_alone(again, at).is_some_and(|(_, now)| now == Verdict::Right);
                            let is_right_now = again.as_deref().map(is_right);
                            progress.wrong(self.corrupt(at, class, ExpectedUnit::Itself, unit, is_right_now));
                        }
                        Verdict::NotCheckable => {}
                    }
                    // Another unit may begin in the rest of one that was overwritten.
                    let step = if verdict == Verdict::NotCheckable { sector } else { unit };
                    if verdict != Verdict::Right {
                        progress.coverage.note_rest(step);
                    }
                    at += step.len() as u64;
                }
            }
            Expectation::Map { unit, .. } => {
                let units = (offset..end).step_by(unit.bytes() as usize);
                for (at, of_unit) in units.zip(bytes.chunks_exact(unit.bytes() as usize)) {
                    self.check_with_map(reader, at, (of_unit, Piece::around(at, bytes, offset)), progress);
                }
            }
        }
    }

    fn check_with_map(
        &self,
        reader: &mut DirectReader,
        at: u64,
        (bytes, piece): (&[u8], Piece<'_>),
        progress: &mut Progress,
    ) {
        let Expectation::Map { run, target, unit, is_exact, states } = self.expectation else { return };
        let place = Place { run, target, unit: unit.count(at) };
        let state = states.state(place.unit);
        let header = Header::read(bytes);
        progress.found_units += u64::from(header.is_some_and(|header| header.run == run));
        let (expected, verdict) = if is_exact {
            let expected = Expected::State(state);
            (expected, check_unit(bytes, &place, expected, u64::MAX))
        } else {
            let of_run = check_alone(bytes, at).filter(|(header, _)| header.run == run);
            (Expected::Itself, of_run.map_or(Verdict::NotCheckable, |(_, verdict)| verdict))
        };
        let recorded = match state {
            State::Written(number) => Recorded::Write(number),
            State::Zeros | State::Unknown | State::Discarded => Recorded::Zeros,
        };
        let wrong = WrongUnit { piece, place, unit, recorded };
        let is_later = verdict != Verdict::Right && progress.later.note(&wrong);
        let class = match verdict {
            Verdict::Wrong(class) if is_exact && progress.later.explain(&wrong, class) => return progress.differs(),
            Verdict::NotCheckable if is_later && !is_exact => return progress.differs(),
            Verdict::Wrong(class) => class,
            Verdict::Unfinished => {
                progress.count(verdict, unit.bytes());
                return progress.unfinished(self.corrupt(at, Class::Torn, ExpectedUnit::Itself, bytes, None));
            }
            Verdict::Right | Verdict::NotCheckable => return progress.count(verdict, unit.bytes()),
        };
        progress.count(verdict, unit.bytes());
        let again = read(reader, at, unit.bytes()).ok();
        let home = classify::home(bytes)
            .filter(|home| (home.run, home.target) == (run, target))
            .and_then(|home| read(reader, home.unit.checked_mul(unit.bytes())?, unit.bytes()).ok());
        let around_offset = at.saturating_sub(AROUND_BYTES);
        let around_bytes = self.size_bytes.min(at + AROUND_BYTES) - around_offset;
        let around = read(reader, around_offset, around_bytes).unwrap_or_default();
        let around: Vec<&[u8]> = around.chunks_exact(unit.bytes() as usize).collect();
        let evidence = Evidence { again: again.as_deref(), home: home.as_deref(), around: &around, around_offset };
        let class = classify::classify(bytes, &place, expected, class, evidence);
        let is_right_now =
            again.as_deref().map(|again| check_unit(again, &place, expected, u64::MAX) == Verdict::Right);
        let expected = match expected {
            Expected::Itself => ExpectedUnit::Itself,
            Expected::State(state) => ExpectedUnit::Content(state.into()),
        };
        if is_exact {
            progress.later.keep(&wrong, class);
        }
        progress.wrong(self.corrupt(at, class, expected, bytes, is_right_now));
    }

    fn unreadable(&self, offset: u64, end: u64, error: &io::Error, progress: &mut Progress) {
        let unit_bytes = match self.expectation {
            Expectation::Alone => end - offset,
            Expectation::Map { unit, .. } => unit.bytes(),
        };
        for at in (offset..end).step_by(unit_bytes as usize) {
            let verdict = Verdict::Wrong(Class::Unreadable);
            progress.count(verdict, unit_bytes);
            let details = Comparison { expected: ExpectedUnit::Itself, found: None };
            let (class, reason) = (Class::Unreadable, error.to_string());
            progress.wrong(CorruptUnit::without_bytes(at, unit_bytes, class, reason, details));
        }
    }

    fn corrupt(
        &self,
        offset: u64,
        class: Class,
        expected: ExpectedUnit,
        bytes: &[u8],
        second_read_is_right: Option<bool>,
    ) -> CorruptUnit {
        let run = match self.expectation {
            Expectation::Alone => None,
            Expectation::Map { run, .. } => Some(run),
        };
        let header = bytes.get(..HEADER_BYTES).and_then(Header::read);
        let found = header.map(|header| FoundUnit::from_header(&header, is_intact(bytes), run));
        let details = Comparison { expected, found };
        CorruptUnit { second_read_is_right, ..CorruptUnit::new(offset, bytes, class, details) }
    }
}
