//! Reads one target with several threads and compares it with the history of the run.

use super::lost_unit::{Loss, LostUnit};
use crate::corrupt_unit::keep;
use crate::target_reading::{ChunkFindings, in_chunks, parts_to_read, read};
use host::DirectReader;
use indicatif::ProgressBar;
use model::corruption::CorruptionClass as Class;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use verify::check::Place;
use verify::classify;
use verify::history::{AfterCut, TargetHistory, UnitContent};
use verify::later::{LaterRuns, Piece, Recorded, WrongUnit};
use verify::unit::{HEADER_BYTES, Header, is_intact};

/// A target, and its history from the logs.
#[derive(Debug)]
pub(super) struct Target<'a> {
    pub(super) path: PathBuf,
    pub(super) size_bytes: u64,
    /// Tags of its persistent names; none = unknown.
    pub(super) tags: Vec<u64>,
    pub(super) history: &'a TargetHistory,
    /// True if it is known to be the target of the run.
    pub(super) is_certain: bool,
}

/// Findings so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) read_bytes: u64,
    pub(super) right: u64,
    pub(super) unflushed: u64,
    pub(super) torn: u64,
    pub(super) unchecked: u64,
    /// Units that lack durable contents because of later runs.
    pub(super) later_units: u64,
    later: LaterRuns,
    pub(super) by_class: BTreeMap<Class, u64>,
    pub(super) first: Vec<LostUnit>,
    /// The largest ticket of an existing unit.
    pub(super) latest: Option<u64>,
    /// True if a unit is of a later write than those in the logs.
    pub(super) is_ahead: bool,
    /// Units with a header of the run.
    pub(super) found_units: u64,
}

/// A target that was read to its end, or until a signal.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) progress: Progress,
    pub(super) planned_bytes: u64,
    pub(super) past_page_cache: bool,
}

impl ChunkFindings for Progress {
    fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    fn merge(&mut self, other: Self) {
        self.read_bytes += other.read_bytes;
        self.right += other.right;
        self.unflushed += other.unflushed;
        self.torn += other.torn;
        self.unchecked += other.unchecked;
        self.later_units += other.later_units;
        self.later.merge(other.later);
        for (class, units) in other.by_class {
            *self.by_class.entry(class).or_default() += units;
        }
        self.latest = self.latest.max(other.latest);
        self.is_ahead |= other.is_ahead;
        self.found_units += other.found_units;
        other.first.into_iter().for_each(|unit| keep(&mut self.first, unit));
    }
}

impl Progress {
    /// Excludes losses that later runs explain.
    fn absolve_changed(&mut self) {
        let Some(later) = std::mem::take(&mut self.later).finish() else { return };
        for (class, units) in later.by_class(&self.by_class) {
            self.absolve(class, units);
        }
        self.first.retain(|unit| later.is_wrong_still(unit.offset_bytes, unit.class, &self.by_class));
    }

    fn absolve(&mut self, class: Class, units: u64) {
        let all = self.by_class.remove(&class).unwrap_or(0);
        if all > units {
            self.by_class.insert(class, all - units);
        }
        self.later_units += units.min(all);
    }

    fn wrong(&mut self, unit: LostUnit) {
        *self.by_class.entry(unit.class).or_default() += 1;
        keep(&mut self.first, unit);
    }
}

impl Target<'_> {
    /// Reads all of the range that the run could write to, or until `interrupted`.
    pub(super) fn read(&self, ends_early: bool, interrupted: &AtomicBool, bar: &ProgressBar) -> io::Result<Read> {
        let history = self.history;
        let planned_bytes = super::offset(history, history.units());
        let unit_bytes = history.unit().bytes();
        let range = 0..planned_bytes.min(self.size_bytes);
        let known = history.changed().from(0).map(|units| units.start * unit_bytes..units.end * unit_bytes);
        let parts = parts_to_read(&self.path, range.clone(), known);
        let chunk = |reader: &mut DirectReader, range| self.chunk(reader, range, ends_early);
        let reading = in_chunks(&self.path, &range, &parts, interrupted, bar, chunk)?;
        let mut progress: Progress = reading.found;
        progress.read_bytes += reading.skipped_bytes;
        progress.unchecked += reading.skipped_bytes / unit_bytes;
        if reading.next >= range.end {
            self.beyond_end(range.end, planned_bytes, ends_early, &mut progress)?;
        }
        progress.absolve_changed();
        Ok(Read { progress, planned_bytes, past_page_cache: reading.past_page_cache })
    }

    /// Checks the units beyond the end of a file that became shorter: missing data reads as zeros.
    fn beyond_end(
        &self,
        size_bytes: u64,
        planned_bytes: u64,
        ends_early: bool,
        progress: &mut Progress,
    ) -> io::Result<()> {
        let unit_bytes = self.history.unit().bytes();
        let first = size_bytes.div_ceil(unit_bytes);
        let mut reader = DirectReader::where_possible(&self.path, unit_bytes as usize)?;
        let zeros = vec![0; unit_bytes as usize];
        let mut unknown = self.history.units() - first;
        for unit in self.history.changed().from(first).flatten() {
            let at = unit * unit_bytes;
            self.unit(&mut reader, at, (&zeros, Piece::around(at, &zeros, at)), ends_early, progress);
            unknown -= 1;
        }
        progress.unchecked += unknown;
        progress.read_bytes += planned_bytes - size_bytes;
        Ok(())
    }

    fn chunk(&self, reader: &mut DirectReader, range: Range<u64>, ends_early: bool) -> Progress {
        let (read_bytes, later) = (range.end - range.start, LaterRuns::new(&self.tags));
        let mut progress = Progress { read_bytes, later, ..Progress::default() };
        let unit_bytes = self.history.unit().bytes();
        let whole = read(reader, range.start, range.end - range.start).ok();
        for at in range.clone().step_by(unit_bytes as usize) {
            let length = unit_bytes.min(range.end - at);
            let bytes = match &whole {
                Some(bytes) => Ok(bytes[(at - range.start) as usize..][..length as usize].to_vec()),
                None => read(reader, at, length),
            };
            match bytes {
                Ok(mut bytes) => {
                    // A file may end within a unit.
                    bytes.resize(unit_bytes as usize, 0);
                    // Without the bytes around it, a unit cannot be part of a larger one.
                    let piece = whole
                        .as_ref()
                        .map_or(Piece::around(at, &bytes, at), |whole| Piece::around(at, whole, range.start));
                    self.unit(reader, at, (&bytes, piece), ends_early, &mut progress);
                }
                Err(error) => {
                    let (class, loss) = (Class::Unreadable, Loss::default());
                    progress.wrong(LostUnit::without_bytes(at, unit_bytes, class, error.to_string(), loss));
                }
            }
        }
        progress
    }

    fn unit(
        &self,
        reader: &mut DirectReader,
        at: u64,
        (bytes, piece): (&[u8], Piece<'_>),
        ends_early: bool,
        progress: &mut Progress,
    ) {
        let (history, unit) = (self.history, self.history.unit().count(at));
        let place = Place { run: history.run(), target: history.logged.target.target, unit };
        let header = Header::read(bytes);
        progress.found_units += u64::from(header.is_some_and(|header| header.run == place.run));
        if let Some(header) = header.filter(|header| place.is_of(header) && is_intact(bytes)) {
            progress.latest = progress.latest.max(Some(header.sequence));
        }
        progress.is_ahead |= history.is_ahead(unit, bytes);
        let known = history.unit_history(unit);
        let recorded = known.durable.map_or(Recorded::WritesSince(0), |(durable, time_us)| match durable.left {
            UnitContent::Data => Recorded::WritesSince(time_us),
            UnitContent::Zeros | UnitContent::Anything => Recorded::Zeros,
        });
        let wrong = WrongUnit { piece, place, unit: history.unit(), recorded };
        let said = history.check(unit, bytes, ends_early);
        if said != AfterCut::Right {
            progress.later.note(&wrong);
        }
        let class = match said {
            AfterCut::Right => return progress.right += 1,
            AfterCut::Unflushed => return progress.unflushed += 1,
            AfterCut::Torn => return progress.torn += 1,
            AfterCut::NotCheckable => return progress.unchecked += 1,
            AfterCut::Wrong(class) if progress.later.explain(&wrong, class) => return progress.later_units += 1,
            AfterCut::Wrong(class) => class,
        };
        let again = read(reader, at, bytes.len() as u64).ok();
        let is_right_now = again.map(|again| !matches!(history.check(unit, &again, ends_early), AfterCut::Wrong(_)));
        let home = classify::home(bytes)
            .filter(|home| (home.run, home.target) == (place.run, place.target))
            .and_then(|home| read(reader, home.unit.checked_mul(bytes.len() as u64)?, bytes.len() as u64).ok());
        let is_cut_short = at + bytes.len() as u64 > self.size_bytes;
        let class = match class {
            // The file ends within it.
            Class::Rot | Class::Torn if is_cut_short => Class::Zeros,
            Class::Lost if is_right_now == Some(true) => Class::Stale,
            Class::Misdirected if home.as_deref() == Some(bytes) => Class::Duplicated,
            class => class,
        };
        progress.later.keep(&wrong, class);
        let header = bytes.get(..HEADER_BYTES).and_then(Header::read);
        let loss = Loss {
            found: header.map(|header| header.as_write()),
            found_run: header.map(|header| format!("{:016x}", header.run)),
            is_intact: header.map(|_| is_intact(bytes)),
            is_beyond_end: is_cut_short,
            durable_ticket: known.durable.map(|(point, _)| point.ticket),
            durable: None,
        };
        let second_read_is_right = is_right_now;
        progress.wrong(LostUnit { second_read_is_right, ..LostUnit::new(at, bytes, class, loss) });
    }
}
