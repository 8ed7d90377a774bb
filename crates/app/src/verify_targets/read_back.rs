//! Reads one target with several threads and checks what is there.

use super::report::{CorruptUnit, ExpectedUnit, FoundUnit, Progress, TargetReport};
use indicatif::ProgressBar;
use model::corruption::CorruptionClass as Class;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use verify::alone::check_alone;
use verify::check::{Expected, Place, Verdict, check_unit};
use verify::classify::{self, AROUND_BYTES, Evidence};
use verify::saved::{SavedStates, SavedTarget};
use verify::unit::{HEADER_BYTES, Header, SECTOR_BYTES, UNIT_BYTES_MAX, UnitSize, first_bytes, is_intact};

/// What a thread reads at a time.
const CHUNK_BYTES: u64 = 1 << 20;

/// A multiple of every sector size.
const ALIGNMENT_BYTES: u64 = 4096;

/// More threads make no disk faster.
const THREADS_MAX: usize = 16;

/// What units are compared with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expectation<'a> {
    /// Themselves.
    Alone,
    /// The saved map of a run.
    Map { run: u64, target: u32, unit: UnitSize, is_exact: bool, states: &'a SavedStates },
}

impl<'a> Expectation<'a> {
    /// The map of a target; `None` if its unit is not one.
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
    pub(super) expectation: Expectation<'a>,
}

impl ReadBack<'_> {
    /// Reads all of it, or until `interrupted`.
    pub(super) fn read(&self, interrupted: &AtomicBool, bar: &ProgressBar) -> io::Result<TargetReport> {
        let threads = std::thread::available_parallelism().map_or(2, |cpus| cpus.get() * 2).min(THREADS_MAX);
        let readers = (0..threads).map(|_| Reader::of(&self.path)).collect::<io::Result<Vec<_>>>()?;
        let past_cache = readers.iter().all(|reader| reader.past_cache);
        let next = AtomicU64::new(0);
        let sum = Mutex::new(Progress::default());
        std::thread::scope(|scope| {
            for mut reader in readers {
                let (next, sum) = (&next, &sum);
                scope.spawn(move || {
                    while !interrupted.load(Relaxed) {
                        let offset = next.fetch_add(CHUNK_BYTES, Relaxed);
                        if offset >= self.size_bytes {
                            break;
                        }
                        let found = self.chunk(&mut reader, offset);
                        bar.inc(found.read_bytes);
                        sum.lock().unwrap_or_else(PoisonError::into_inner).merge(found);
                    }
                });
            }
        });
        let progress = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (known, units, unit_bytes, run, with_map) = match self.expectation {
            Expectation::Alone => (None, None, None, None, false),
            Expectation::Map { run, unit, is_exact, states, .. } => {
                let known = is_exact.then(|| states.known());
                (known, Some(states.units()), Some(unit.bytes()), Some(format!("{run:016x}")), is_exact)
            }
        };
        let mut report = TargetReport::new(self.path.clone(), self.size_bytes, progress);
        (report.known_units, report.units, report.unit_bytes, report.run) = (known, units, unit_bytes, run);
        (report.compared_with_map, report.past_page_cache) = (with_map, past_cache);
        Ok(report)
    }

    /// Checks the units that begin in one chunk.
    fn chunk(&self, reader: &mut Reader, offset: u64) -> Progress {
        let end = self.size_bytes.min(offset + CHUNK_BYTES);
        let mut progress = Progress::of_read(end - offset);
        // A unit that is out of place may begin in one chunk and end in the next.
        let wanted = self.size_bytes.min(end + UNIT_BYTES_MAX as u64) - offset;
        if let Ok(bytes) = reader.read(offset, wanted) {
            self.check(reader, offset, end, &bytes, &mut progress);
            return progress;
        }
        // Which of its blocks cannot be read?
        progress.failed_reads += 1;
        for block in (offset..end).step_by(ALIGNMENT_BYTES as usize) {
            let block_end = end.min(block + ALIGNMENT_BYTES);
            match reader.read(block, block_end - block) {
                Ok(bytes) => self.check(reader, block, block_end, &bytes, &mut progress),
                Err(error) => self.unreadable(block, block_end, &error, &mut progress),
            }
        }
        progress
    }

    fn check(&self, reader: &mut Reader, offset: u64, end: u64, bytes: &[u8], progress: &mut Progress) {
        match self.expectation {
            Expectation::Alone => {
                let mut at = offset;
                while at < end {
                    let rest = bytes.get((at - offset) as usize..).unwrap_or_default();
                    let Some((header, verdict)) = check_alone(rest, at) else {
                        at += SECTOR_BYTES as u64;
                        continue;
                    };
                    progress.found_units += 1;
                    progress.count(verdict, header.unit_bytes.into());
                    let unit = &rest[..usize::from(header.unit_bytes)];
                    if let Verdict::Wrong(class) = verdict {
                        let home = header.unit.saturating_mul(header.unit_bytes.into());
                        let is_double = class == Class::Misdirected
                            && reader.read(home, header.unit_bytes.into()).is_ok_and(|home| home == unit);
                        let class = if is_double { Class::Duplicated } else { class };
                        progress.wrong(self.corrupt(at, class, ExpectedUnit::Itself, unit, None));
                    }
                    // Another unit may begin in what is left of one that was written over.
                    let step = if verdict == Verdict::NotCheckable { SECTOR_BYTES as u64 } else { unit.len() as u64 };
                    at += step;
                }
            }
            Expectation::Map { unit, .. } => {
                let units = (offset..end).step_by(unit.bytes() as usize);
                for (at, bytes) in units.zip(bytes.chunks_exact(unit.bytes() as usize)) {
                    self.check_with_map(reader, at, bytes, progress);
                }
            }
        }
    }

    fn check_with_map(&self, reader: &mut Reader, at: u64, bytes: &[u8], progress: &mut Progress) {
        let Expectation::Map { run, target, unit, is_exact, states } = self.expectation else { return };
        let place = Place { run, target, unit: unit.count(at) };
        let state = states.state(place.unit);
        let expected = if is_exact {
            Expected::State(state)
        } else if check_alone(bytes, at)
            .is_some_and(|(header, verdict)| header.run == run && verdict != Verdict::NotCheckable)
        {
            Expected::Itself
        } else {
            return progress.count(Verdict::NotCheckable, unit.bytes());
        };
        let has_header = Header::read(bytes).is_some_and(|header| header.run == run);
        progress.found_units += u64::from(has_header);
        let verdict = check_unit(bytes, &place, expected, u64::MAX);
        progress.count(verdict, unit.bytes());
        let Verdict::Wrong(class) = verdict else { return };
        let again = reader.read(at, unit.bytes()).ok();
        let home = classify::home(bytes)
            .filter(|home| (home.run, home.target) == (run, target))
            .and_then(|home| reader.read(home.unit.checked_mul(unit.bytes())?, unit.bytes()).ok());
        let first = at.saturating_sub(AROUND_BYTES);
        let around = reader.read(first, self.size_bytes.min(at + AROUND_BYTES) - first).unwrap_or_default();
        let around: Vec<&[u8]> = around.chunks_exact(unit.bytes() as usize).collect();
        let evidence = Evidence { again: again.as_deref(), home: home.as_deref(), around: &around };
        let class = classify::classify(bytes, &place, expected, class, evidence);
        let is_right_now =
            again.as_deref().map(|again| check_unit(again, &place, expected, u64::MAX) == Verdict::Right);
        let expected = match expected {
            Expected::Itself => ExpectedUnit::Itself,
            Expected::State(state) => ExpectedUnit::Content(state.into()),
        };
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
            let mut unit = self.corrupt(at, Class::Unreadable, ExpectedUnit::Itself, &[], None);
            unit.error = Some(error.to_string());
            progress.wrong(unit);
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
        let first_bytes = first_bytes(bytes);
        let found = header.map(|header| FoundUnit::of(&header, is_intact(bytes), run));
        CorruptUnit { offset_bytes: offset, class, expected, found, first_bytes, second_read_is_right, error: None }
    }
}

/// Reads a target, past the page cache where that is possible.
#[derive(Debug)]
struct Reader {
    file: File,
    past_cache: bool,
    memory: Vec<u8>,
}

impl Reader {
    fn of(path: &Path) -> io::Result<Self> {
        let (file, past_cache) = match sys::block::open_past_cache(path) {
            Ok(file) => (file, true),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => (File::open(path)?, false),
            Err(error) => return Err(error),
        };
        let bytes = CHUNK_BYTES + UNIT_BYTES_MAX as u64 + 3 * ALIGNMENT_BYTES;
        Ok(Self { file, past_cache, memory: vec![0; bytes as usize] })
    }

    /// The bytes of a range that lies within the target.
    fn read(&mut self, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
        let first = offset / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
        let wanted = (offset - first + bytes) as usize;
        let start = self.memory.as_ptr().align_offset(ALIGNMENT_BYTES as usize);
        let length = wanted.next_multiple_of(ALIGNMENT_BYTES as usize);
        let block = self.memory.get_mut(start..start + length).ok_or(io::ErrorKind::InvalidInput)?;
        let mut got = 0;
        while got < wanted {
            match self.file.read_at(&mut block[got..], first + got as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => got += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(block[(offset - first) as usize..wanted].to_vec())
    }
}
