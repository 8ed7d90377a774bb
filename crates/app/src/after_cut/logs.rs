//! The logs of a run that was cut off or failed.

use host::Root;
use model::units::{Bytes, counted, pluralized};
use run::journal;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};
use sys::folder::Folder;
use sys::word_log::SEGMENT_BYTES;
use verify::history::History;
use verify::log::{
    Change, Entry, Flush, HEAD_BYTES, Kind, LogReader, RUN_FILE_NAME, RUN_HEAD_BYTES, RunFile, is_log_name, log_name,
    run_of_head,
};
use verify::saved::{FILE_NAME, ReadError};

/// Size of a read in bytes.
const PIECE_BYTES: usize = 1 << 20;

/// The logs of a run, parsed.
#[derive(Debug)]
pub(crate) struct Logs {
    folder: PathBuf,
    threads: u32,
    pub(super) history: History,
    /// Logs whose last records may be missing, and the reasons.
    pub(super) early: Vec<String>,
    /// True if the machine was restarted since.
    pub(super) is_other_boot: bool,
    /// Boot ID of the machine during the run; empty = unknown.
    pub(super) boot: String,
}

/// A change that must be visible in a unit, and how it became durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Durable {
    pub(super) change: Change,
    pub(super) thread: u32,
    /// The count when it had completed.
    pub(super) count: u64,
    /// The first flush after it, and the thread that made it; `None` = it was written through.
    pub(super) flush: Option<(Flush, u32)>,
}

/// Maximum share of free memory for the units, in percent: as for the buffers of a run.
const MEMORY_PERCENT_MAX: u64 = 90;

/// Maximum number of reasons listed individually.
const REASONS_MAX: usize = 20;

/// Size limit of a file `run`: more than a run with a very large number of targets needs.
const RUN_FILE_BYTES_MAX: u64 = 1 << 30;

/// Bytes of memory that may be used for a journal. A refusal is better than the kernel's OOM killer.
pub(crate) fn memory_bytes_max() -> u64 {
    host::free_memory_bytes(&Root::machine()) / 100 * MEMORY_PERCENT_MAX
}

/// The error if a journal needs more memory than allowed; `per_unit` explains the amount.
pub(crate) fn too_little_memory(what: &str, bytes: u64, per_unit: &str, bytes_max: u64) -> String {
    format!(
        "{what} (--journal) need up to {} of memory, {per_unit}; {} may be used, which is {MEMORY_PERCENT_MAX}% of what is \
         available: verify on a machine with more memory, or without --journal",
        Bytes(bytes),
        Bytes(bytes_max)
    )
}

impl Logs {
    /// The logs in the directory of a run; `None` = there are none, or the run ended normally and its map is more
    /// complete.
    ///
    /// # Errors
    ///
    /// A sentence for the user.
    pub(crate) fn find(folder: &Path) -> Result<Option<Self>, String> {
        let path = folder.join(RUN_FILE_NAME);
        let error = |error: io::Error| format!("cannot read '{}' (--journal): {error}", path.display());
        let mut bytes = Vec::new();
        match sys::file::open_to_look(&path) {
            Ok(file) if !file.metadata().map_err(error)?.is_file() => {
                return Err(format!("'{}' (--journal) is no file", path.display()));
            }
            Ok(file) => _ = file.take(RUN_FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(error)?,
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => return without_run(folder),
            Err(other) => return Err(error(other)),
        }
        let held = Folder::open(folder).map_err(error)?;
        if journal::is_in_use(&held).map_err(error)? {
            let folder = folder.display();
            return Err(format!(
                "the run that logs to '{folder}' (--journal) is still under way: wait until it has ended"
            ));
        }
        let run = RunFile::from_bytes(&bytes).map_err(|reason| unusable(&path, &reason))?;
        if run_of_map(folder) == Some(run.run) {
            return Ok(None);
        }
        Self::read(folder, &run, held.mount()).map(Some)
    }

    fn read(folder: &Path, run: &RunFile, mount: Option<u64>) -> Result<Self, String> {
        let memory_bytes_max = memory_bytes_max();
        let history = History::new(run.run, &run.targets, memory_bytes_max)
            .ok_or_else(|| format!("'{}' (--journal) names no valid targets", folder.join(RUN_FILE_NAME).display()))?;
        let boot = host::boot_id(&Root::machine());
        let is_other_boot = run.boot.is_empty() || boot != run.boot;
        let (threads, folder) = (run.threads, folder.to_owned());
        let mut logs = Self { folder, threads, history, early: Vec::new(), is_other_boot, boot: run.boot.clone() };
        logs.history.ends_early = is_other_boot;
        if !is_other_boot && run.mount != 0 && mount.is_some_and(|mount| mount != run.mount) {
            logs.lacks_records(
                "the logs were written through another mount: what was logged last may not have reached them",
            );
        }
        for thread in 0..threads {
            let Some(mut log) = logs.log(thread)? else { continue };
            logs.history.take_flushes(|| log.next_entry()).map_err(|error| logs.unreadable(thread, &error))?;
            logs.history.take_tickets(log.tickets());
            if log.ended_early() {
                logs.ends_early(thread, "has invalid records");
            }
        }
        let missing = logs.history.missing(threads);
        if missing > 0 {
            let (changes, flushes) = (counted(missing, "change"), pluralized(missing, "flush"));
            logs.lacks_records(&format!("the logs lack {changes} or {flushes} before the last one"));
        }
        logs.history.begin_changes().map_err(|bytes| {
            let per_unit = "40 bytes for each unit that was written and 16 for each range of them";
            too_little_memory("the logs", bytes, per_unit, memory_bytes_max)
        })?;
        for thread in 0..threads {
            let Some(mut log) = logs.log(thread)? else { continue };
            logs.history.take_changes(|| log.next_entry()).map_err(|error| logs.unreadable(thread, &error))?;
        }
        Ok(logs)
    }

    fn unreadable(&self, thread: u32, error: &io::Error) -> String {
        format!("cannot read '{}' (--journal): {error}", self.folder.join(log_name(thread)).display())
    }

    fn ends_early(&mut self, thread: u32, reason: &str) {
        self.lacks_records(&format!("{} {reason}", log_name(thread)));
    }

    fn lacks_records(&mut self, reason: &str) {
        self.history.ends_early = true;
        let is_listed = self.early.len() < REASONS_MAX;
        if is_listed && !self.early.iter().any(|known| known == reason) {
            self.early.push(reason.to_owned());
        }
    }

    /// Records that the targets have changes that the logs lack.
    pub(super) fn are_behind(&mut self) {
        self.lacks_records("the targets have later changes than the logs");
    }

    /// The log of a thread; `None` = it does not exist.
    fn log(&mut self, thread: u32) -> Result<Option<LogReader<BufReader<File>>>, String> {
        let file = match File::open(self.folder.join(log_name(thread))) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.ends_early(thread, "is missing");
                return Ok(None);
            }
            Err(error) => return Err(self.unreadable(thread, &error)),
        };
        let length = file.metadata().map_err(|error| self.unreadable(thread, &error))?.len();
        if !length.saturating_sub(HEAD_BYTES).is_multiple_of(SEGMENT_BYTES) || length <= HEAD_BYTES {
            self.ends_early(thread, "was cut short");
        }
        let file = BufReader::with_capacity(PIECE_BYTES, file);
        let log = LogReader::new(file, self.history.run, thread).map_err(|error| self.unreadable(thread, &error))?;
        Ok(Some(log))
    }

    /// The evidence that the changes with these tickets became durable. Logs that are no longer readable contribute
    /// nothing.
    pub(super) fn durable(&mut self, tickets: impl Iterator<Item = u64>) -> BTreeMap<u64, Durable> {
        let wanted: Vec<u64> = tickets.collect();
        let mut found = BTreeMap::new();
        self.each_entry(|thread, entry| {
            if let Entry::Completed(change, count) = entry
                && wanted.contains(&change.ticket)
            {
                found.insert(change.ticket, Durable { change, thread, count, flush: None });
            }
        });
        self.each_entry(|thread, entry| {
            let Entry::Flushed(flush) = entry else { return };
            for durable in found.values_mut() {
                let covers = flush.target == durable.change.target && flush.ticket >= durable.count;
                let is_first = durable.flush.is_none_or(|(known, _)| flush.ticket < known.ticket);
                if covers && is_first && durable.change.kind != Kind::WriteThrough {
                    durable.flush = Some((flush, thread));
                }
            }
        });
        found
    }

    fn each_entry(&mut self, mut each: impl FnMut(u32, Entry)) {
        for thread in 0..self.threads {
            let Ok(Some(mut log)) = self.log(thread) else { continue };
            while let Ok(Some(entry)) = log.next_entry() {
                each(thread, entry);
            }
        }
    }
}

/// The error for a file of a journal that cannot be used.
pub(crate) fn unusable(path: &Path, reason: &ReadError) -> String {
    let path = path.display();
    match reason {
        ReadError::Io(error) => format!("cannot read '{path}' (--journal): {error}"),
        ReadError::Foreign => format!("'{path}' (--journal) is not the map of a run with --verify"),
        ReadError::Torn => format!("'{path}' (--journal) is incomplete or damaged: verify without --journal"),
        ReadError::Impossible(what) => {
            format!("'{path}' (--journal) is not of a run: it names {what}; verify without --journal")
        }
    }
}

/// The logs left by a run that was killed while it removed them, after its map was saved, or none. Any other log is
/// useless without the file that identifies its run.
fn without_run(folder: &Path) -> Result<Option<Logs>, String> {
    let error = |error: io::Error| format!("cannot read '{}' (--journal): {error}", folder.display());
    let map = run_of_map(folder);
    for entry in folder.read_dir().into_iter().flatten() {
        let name = entry.map_err(error)?.file_name();
        if !name.to_str().is_some_and(is_log_name) {
            continue;
        }
        let log = folder.join(&name);
        let mut head = Vec::new();
        sys::file::open_to_look(&log)
            .and_then(|file| file.take(RUN_HEAD_BYTES).read_to_end(&mut head))
            .map_err(error)?;
        if map.is_none() || run_of_head(&head) != map {
            return Err(format!(
                "'{}' (--journal) has no '{RUN_FILE_NAME}' beside it: the load was killed before it began, or the file was \
                 removed; verify without --journal",
                log.display()
            ));
        }
    }
    Ok(None)
}

/// The number of the run whose map was saved.
fn run_of_map(folder: &Path) -> Option<u64> {
    let mut head = [0; 16];
    File::open(folder.join(FILE_NAME)).and_then(|mut file| file.read_exact(&mut head)).ok()?;
    let (magic, run) = head.split_first_chunk::<8>()?;
    verify::saved::is_saved_map(magic).then(|| run.try_into().ok().map(u64::from_le_bytes))?
}
