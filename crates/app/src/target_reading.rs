//! The common part of all modes of `diskspd verify`: opens a target, reads it with several threads, and prints a
//! report.

use crate::console_observer;
use crate::output::{print, write_json};
use crate::status::{Status, fail, printed, refuse_with};
use engine::target::identify;
use host::{DirectReader, Root};
use indicatif::{ProgressBar, ProgressDrawTarget};
use model::verification::Outcome;
use render::Detail;
use report::Report;
use serde::Serialize;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Seek as _, SeekFrom};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use verify::saved::SavedTarget;
use verify::unit::UNIT_BYTES_MAX;

/// Size of a thread's read.
const CHUNK_BYTES: u64 = 1 << 20;

/// The longest read: a unit that begins in a chunk may end in the next.
const READ_BYTES_MAX: usize = CHUNK_BYTES as usize + UNIT_BYTES_MAX;

/// More threads do not make a disk faster.
const THREADS_MAX: usize = 16;

/// A file or block device to be read.
#[derive(Debug)]
pub(crate) struct OpenedTarget {
    pub(crate) metadata: Metadata,
    /// Device and inode numbers, as in a saved map.
    pub(crate) identity: (u64, u64),
    /// Its persistent names, the best first; none = unknown.
    pub(crate) names: Vec<String>,
    pub(crate) size_bytes: u64,
}

/// The note on a target that was identified by its path only and has no unit of the run.
pub(crate) const OTHER_TARGET: &str =
    "no unit of the run is on it, and nothing tells whether it is the target of the run: it may be another one";

/// The note on a target that was read through the page cache.
pub(crate) const THROUGH_CACHE: &str = "read through the page cache, because the file system has no direct I/O";

/// The outcome of a verification with such a target and no corruption.
pub(crate) const OTHER_TARGET_OUTCOME: &str = "unknown: no unit of the run is on a target that may be another one";

/// The reason why a target cannot be verified.
pub(crate) enum Refusal {
    /// It cannot be read.
    Missing(String),
    /// The target is not in the journal.
    NotInJournal(String),
}

impl Refusal {
    /// The journal is for other targets.
    pub(crate) fn of_other_run(path: &Path) -> Self {
        Self::NotInJournal(format!("the run of --journal did not verify '{}'", path.display()))
    }

    /// Prints the reason and returns the exit status.
    pub(crate) fn print_reason(&self) -> Status {
        match self {
            Self::Missing(reason) => fail(reason),
            Self::NotInJournal(reason) => refuse_with(reason),
        }
    }
}

/// Reads the facts about a target.
pub(crate) fn open(path: &Path) -> Result<OpenedTarget, Refusal> {
    let missing = |error: io::Error| Refusal::Missing(format!("cannot open '{}': {error}", path.display()));
    let metadata = path.metadata().map_err(missing)?;
    if !metadata.is_file() && !metadata.file_type().is_block_device() {
        return Err(Refusal::Missing(format!("'{}' is neither a file nor a block device", path.display())));
    }
    let mut file = File::open(path).map_err(missing)?;
    let identity = identify(&file).map_err(missing)?.numbers();
    // The size of a block device is not in its metadata.
    let size_bytes = file.seek(SeekFrom::End(0)).map_err(missing)?;
    let names = host::lasting_names(&Root::machine(), &file);
    Ok(OpenedTarget { metadata, identity, names, size_bytes })
}

/// The journal's entry for a target, and true if the match is certain. Files and devices are identified by their
/// persistent names; where these are unknown, by path, or by numbers that others may have after a restart.
///
/// # Errors
///
/// If it is not in the journal, or another target is at the path of one.
pub(crate) fn find_saved<'a, T>(
    targets: &'a [T],
    saved: impl Fn(&T) -> &SavedTarget,
    path: &Path,
    opened: &OpenedTarget,
    boot: &str,
) -> Result<(&'a T, bool), Refusal> {
    let is_here = |target: &&T| is_same_path(&saved(target).path, path);
    let by_path = targets.iter().find(is_here);
    let named: Vec<&T> = targets.iter().filter(|target| is_same(&saved(target).names, &opened.names)).collect();
    match (named.as_slice(), by_path) {
        ([only], _) => return Ok((*only, true)),
        ([], Some(other)) if !opened.names.is_empty() && !saved(other).names.is_empty() => {
            return Err(Refusal::NotInJournal(format!(
                "'{}' is another target than in the run (--journal): this is {}, the run wrote to {}; give the path at which \
                 that is now",
                path.display(),
                opened.names[0],
                saved(other).names[0]
            )));
        }
        ([], _) => {}
        (several, _) => {
            let here = several.iter().copied().find(is_here);
            return here.map(|target| (target, true)).ok_or_else(|| Refusal::of_other_run(path));
        }
    }
    let has_numbers = |target: &&T| saved(target).identity == opened.identity;
    let is_unnamed = |target: &&T| opened.names.is_empty() || saved(target).names.is_empty();
    let found = by_path.or_else(|| targets.iter().find(|target| has_numbers(target) && is_unnamed(target)));
    let is_same_start = !boot.is_empty() && boot == host::boot_id(&Root::machine());
    found.map(|target| (target, is_same_start && has_numbers(&target))).ok_or_else(|| Refusal::of_other_run(path))
}

/// True if the best name of one is among those of the other: a serial number alone may not be unique.
fn is_same(saved: &[String], found: &[String]) -> bool {
    let has = |names: &[String], best: Option<&String>| best.is_some_and(|best| names.contains(best));
    has(saved, found.first()) || has(found, saved.first())
}

/// True if a path of a journal resolves to the same file.
fn is_same_path(saved: &[u8], path: &Path) -> bool {
    let saved = Path::new(OsStr::from_bytes(saved));
    saved == path || matches!((saved.canonicalize(), path.canonicalize()), (Ok(saved), Ok(path)) if saved == path)
}

/// A progress bar for reading this many bytes, on a terminal.
pub(crate) fn progress_bar(bytes: u64) -> ProgressBar {
    let template = "verifying [{wide_bar}] {binary_bytes}/{binary_total_bytes} {rate} {eta}";
    ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr())
        .with_style(console_observer::style(template))
}

/// The findings in some chunks.
pub(crate) trait ChunkFindings: Default + Send {
    fn read_bytes(&self) -> u64;
    fn merge(&mut self, other: Self);
}

/// The findings in all chunks that were read.
pub(crate) struct Reading<F> {
    pub(crate) found: F,
    pub(crate) past_page_cache: bool,
    /// Offset of the first chunk that was not read; at or beyond the end if all were.
    pub(crate) next: u64,
    /// Bytes before that which cannot be wrong, and were not read.
    pub(crate) skipped_bytes: u64,
}

/// Data of a file in more segments than this is read including the holes between them.
const SEGMENTS_MAX: usize = 1 << 20;

/// The parts of a range of a target that hold data, or have units with known contents, in whole chunks: nothing else is
/// in the holes of a sparse file.
pub(crate) fn parts_to_read(
    path: &Path,
    range: Range<u64>,
    known: impl Iterator<Item = Range<u64>>,
) -> Vec<Range<u64>> {
    let file = sys::file::open_to_look(path).ok().filter(|file| file.metadata().is_ok_and(|found| found.is_file()));
    let segments = file.and_then(|file| sys::extents::data_segments(&file, range.end, SEGMENTS_MAX).ok());
    let Some(segments) = segments else { return vec![range] };
    let in_chunks = |part: Range<u64>| {
        let start = (part.start / CHUNK_BYTES * CHUNK_BYTES).max(range.start);
        start..part.end.checked_next_multiple_of(CHUNK_BYTES).unwrap_or(u64::MAX).min(range.end)
    };
    let (mut segments, mut known) = (segments.into_iter().map(in_chunks).peekable(), known.map(in_chunks).peekable());
    let mut parts: Vec<Range<u64>> = Vec::new();
    loop {
        let is_segment = match (segments.peek(), known.peek()) {
            (Some(segment), Some(known)) => segment.start <= known.start,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return parts,
        };
        let next = if is_segment { segments.next() } else { known.next() };
        match (next.filter(|next| !next.is_empty()), parts.last_mut()) {
            (Some(next), Some(last)) if next.start <= last.end => last.end = last.end.max(next.end),
            (Some(next), _) => parts.push(next),
            (None, _) => {}
        }
    }
}

/// The parts of a range that are read, chunk by chunk.
struct Chunks<'a> {
    parts: std::slice::Iter<'a, Range<u64>>,
    /// The rest of the current part.
    part: Range<u64>,
    skipped_bytes: u64,
}

impl<'a> Chunks<'a> {
    fn new(range: &Range<u64>, parts: &'a [Range<u64>]) -> Self {
        Self { parts: parts.iter(), part: range.start..range.start, skipped_bytes: 0 }
    }

    fn next(&mut self) -> Option<Range<u64>> {
        while self.part.is_empty() {
            let next = self.parts.next()?.clone();
            self.skipped_bytes += next.start - self.part.end;
            self.part = next;
        }
        let chunk = self.part.start..self.part.end.min(self.part.start + CHUNK_BYTES);
        self.part.start = chunk.end;
        Some(chunk)
    }

    /// The offset of the first chunk that was not taken, and the number of bytes skipped before.
    fn end(mut self, range: &Range<u64>) -> (u64, u64) {
        if self.part.is_empty() && self.parts.len() == 0 {
            self.skipped_bytes += range.end - self.part.end;
            return (range.end, self.skipped_bytes);
        }
        (self.part.start, self.skipped_bytes)
    }
}

/// Reads the parts of a range of a target in chunks, with several threads, until all are read or it is interrupted.
///
/// # Errors
///
/// If it cannot be opened.
pub(crate) fn in_chunks<F: ChunkFindings>(
    path: &Path,
    range: &Range<u64>,
    parts: &[Range<u64>],
    interrupted: &AtomicBool,
    bar: &ProgressBar,
    chunk: impl Fn(&mut DirectReader, Range<u64>) -> F + Sync,
) -> io::Result<Reading<F>> {
    let threads = std::thread::available_parallelism().map_or(2, |cpus| cpus.get() * 2).min(THREADS_MAX);
    let reader = |_| DirectReader::where_possible(path, READ_BYTES_MAX);
    let readers = (0..threads).map(reader).collect::<io::Result<Vec<_>>>()?;
    let past_page_cache = readers.iter().all(DirectReader::is_past_cache);
    let chunks = Mutex::new(Chunks::new(range, parts));
    let sum = Mutex::new(F::default());
    std::thread::scope(|scope| {
        for mut reader in readers {
            let (chunks, sum, chunk) = (&chunks, &sum, &chunk);
            scope.spawn(move || {
                let next = || chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
                // A chunk that was taken is read to its end.
                while !interrupted.load(Relaxed)
                    && let Some(range) = next()
                {
                    let found = chunk(&mut reader, range);
                    bar.inc(found.read_bytes());
                    sum.lock().unwrap_or_else(PoisonError::into_inner).merge(found);
                }
            });
        }
    });
    let found = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (next, skipped_bytes) = chunks.into_inner().unwrap_or_else(PoisonError::into_inner).end(range);
    Ok(Reading { found, past_page_cache, next, skipped_bytes })
}

/// The bytes of a range within the target.
pub(crate) fn read(reader: &mut DirectReader, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
    reader.read_range(offset, bytes as usize).map(<[u8]>::to_vec)
}

/// The exit status of a verification.
pub(crate) const fn status_of(outcome: Outcome) -> Status {
    match outcome {
        Outcome::Good => Status::Done,
        Outcome::Corrupt => Status::Corrupt,
        Outcome::Failed => Status::Failed,
        Outcome::CannotTell => Status::CannotTell,
    }
}

/// Prints a document as JSON, or its report as text; returns the status, unless it could not be printed.
pub(crate) fn print_report(
    document: &impl Serialize,
    report: impl FnOnce() -> Report,
    json: bool,
    status: Status,
) -> Status {
    let mut text = Vec::new();
    let written =
        if json { write_json(document, &mut text) } else { render::report_text(&report(), Detail::Full, &mut text) };
    printed(written.and_then(|()| print(&text)), status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_found_by_its_names_before_its_path() {
        let saved = |target: u32, path: &str, names: &[&str]| SavedTarget {
            target,
            path: path.into(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            identity: (0, target.into()),
            size_bytes: 0,
            unit_bytes: 4096,
            is_exact: true,
        };
        let targets = [saved(0, "/sda", &["naa.1", "S"]), saved(1, "/sdb", &["naa.2", "S"]), saved(2, "/vda", &[])];
        let found = |path: &str, number: u64, names: &[&str]| {
            let metadata = Path::new("/").metadata().expect("there is one");
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let opened = OpenedTarget { metadata, identity: (0, number), names, size_bytes: 0 };
            let found = find_saved(&targets, |target| target, Path::new(path), &opened, "another");
            found.map(|(target, is_certain)| (target.target, is_certain)).map_err(|refusal| match refusal {
                Refusal::Missing(reason) | Refusal::NotInJournal(reason) => reason,
            })
        };
        // Renamed disks.
        assert_eq!(
            (found("/sda", 0, &["naa.2", "S"]), found("/sdb", 1, &["naa.1", "S"])),
            (Ok((1, true)), Ok((0, true)))
        );
        assert_eq!(found("/sdz", 9, &["naa.1"]), Ok((0, true)));
        let other = found("/sda", 0, &["naa.3", "S"]).expect_err("it is another disk");
        assert!(other.contains("this is naa.3, the run wrote to naa.1"), "{other}");
        assert!(found("/sdz", 9, &["naa.3", "S"]).is_err());
        // Nothing else is known.
        assert_eq!((found("/sda", 7, &[]), found("/vda", 7, &["naa.3"])), (Ok((0, false)), Ok((2, false))));
        assert_eq!(found("/vdb", 2, &[]), Ok((2, false)));
        assert!(found("/vdb", 7, &[]).is_err());
    }
}
