//! Files that a run writes to: compared with what was checked just before the first byte, marked as open while
//! the run writes to them, and closed at its end so that any later change by somebody else shows.

use crate::file_marks::{cannot_mark, close, is_left_open, mark_as_open, own_mark, set_mark, stamp};
use crate::shared_files;
use model::device_guard::FileIdentity;
use model::facts::{FileStamp, Fill};
use model::mark::{Mark, MarkState};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::lease::WriteLease;

/// How long an unexpected user of a file gets to go away: a program that only had a look at it.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long the kernel gets to close the files of the run's own rings, which it does in the background.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// The files that a run has made or written to, whatever their names.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles {
    by_identity: BTreeMap<FileIdentity, WrittenFile>,
    /// Files that were created, by the path in the plan.
    created: BTreeMap<PathBuf, FileIdentity>,
    /// Directories in which leftovers of killed runs were looked for.
    cleaned: BTreeSet<PathBuf>,
    /// The run of files that other hosts write to, too, by path.
    shared: BTreeMap<PathBuf, String>,
}

#[derive(Debug)]
struct WrittenFile {
    path: PathBuf,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Made by this run; it must still be so before it is written to again.
    Closed(FileStamp),
    /// This run writes to it. `content` is what it holds when the run ends well; `None` if the file was not made by
    /// this program, and bears no mark of it. `known` is what it was once it had been written from start to end, or at
    /// the end of a timespan: it must still be so before the next one writes to it. `None` while one does.
    Open { content: Option<Fill>, known: Option<FileStamp> },
    /// Other hosts write to it, too; the first of them closes it.
    Shared,
    /// Renamed or removed while this run wrote to it: stays marked as open.
    Lost,
}

impl WrittenFiles {
    /// The file that this run created at a path of the plan.
    pub(crate) fn created_at(&self, path: &Path) -> Option<FileIdentity> {
        self.created.get(path).copied()
    }

    /// All files that this run created.
    pub(crate) fn created(&self) -> BTreeSet<FileIdentity> {
        self.created.values().copied().collect()
    }

    /// Removes what killed runs have left in a directory, once.
    pub(crate) fn remove_leftovers(&mut self, folder: &Path) {
        if self.cleaned.insert(folder.to_owned()) {
            sys::new_file::remove_leftovers(folder, |file| is_left_open(file).unwrap_or(false));
        }
    }

    /// The file is still what was checked; `checked` counts for files that this run has not touched yet.
    ///
    /// # Errors
    ///
    /// A sentence that says that it was not touched.
    pub(crate) fn compare(&self, file: &File, path: &Path, checked: Option<FileStamp>) -> Result<FileStamp, String> {
        let name = path.display();
        let found = stamp(file).map_err(|error| format!("cannot check '{name}': {error}"))?;
        let expected = match self.by_identity.get(&found.identity).map(|known| known.phase) {
            Some(Phase::Open { known: None, .. } | Phase::Shared) => return Ok(found),
            Some(Phase::Open { known: Some(stamp), .. } | Phase::Closed(stamp)) => stamp,
            Some(Phase::Lost) => {
                return Err(format!(
                    "'{name}' had another name when this run had written to it; it was not touched again"
                ));
            }
            None => match checked {
                Some(checked) => checked,
                None => return Err(format!("'{name}' is no longer the file that was created; it was not touched")),
            },
        };
        if expected.identity != found.identity {
            return Err(format!("'{name}' is no longer the file that was checked; it was not touched"));
        }
        if expected != found {
            return Err(format!("'{name}' was changed by another process after the check; it was not touched"));
        }
        Ok(found)
    }

    /// As [`begin`](Self::begin) for a file that other hosts write to, too.
    pub(crate) fn begin_shared(
        &mut self,
        file: &File,
        path: &Path,
        run: &str,
        after: impl FnOnce(Fill) -> Fill,
    ) -> Result<(), String> {
        let content = after(shared_files::content(file, path, run, false)?);
        shared_files::set_content(file, path, run, content)?;
        let identity = stamp(file).map_err(|error| cannot_mark(path, &error))?.identity;
        self.by_identity.insert(identity, WrittenFile { path: path.to_owned(), phase: Phase::Shared });
        self.shared.insert(path.to_owned(), run.to_owned());
        Ok(())
    }

    /// I/Os of this run may still be on their way: files that other hosts write to, too, are not closed.
    pub(crate) fn keep_shared_open(&self) {
        self.shared.iter().for_each(|(path, run)| shared_files::keep_open(path, run));
    }

    /// Opens a file that is about to be written to for reading, if it is what was checked and nobody else has it open.
    ///
    /// # Errors
    ///
    /// As for [`compare`](Self::compare).
    pub(crate) fn open_checked(&self, path: &Path, checked: Option<FileStamp>) -> Result<File, String> {
        let look =
            sys::file::open_to_look(path).map_err(|error| format!("cannot open '{}': {error}", path.display()))?;
        self.compare(&look, path, checked)?;
        check_unused(&look, path)?;
        Ok(look)
    }

    /// Records that this run begins to write into a file, before it does. `after` tells its content afterwards from
    /// that before.
    pub(crate) fn begin(&mut self, file: &File, path: &Path, after: impl FnOnce(Fill) -> Fill) -> Result<(), String> {
        let error = |error| cannot_mark(path, &error);
        let identity = stamp(file).map_err(error)?.identity;
        if let Some(WrittenFile { phase: Phase::Open { content, known }, .. }) = self.by_identity.get_mut(&identity) {
            *content = content.map(after);
            *known = None;
            return Ok(());
        }
        let mark = own_mark(file).map_err(error)?;
        let content = mark.as_ref().map(|mark| mark.fill).map(after);
        if let Some((mark, fill)) = mark.zip(content) {
            set_mark(file, &Mark { state: MarkState::Open, fill, ..mark }).map_err(error)?;
        }
        self.by_identity
            .insert(identity, WrittenFile { path: path.to_owned(), phase: Phase::Open { content, known: None } });
        Ok(())
    }

    /// Records that this run begins to write a file that exists from start to end, before it does.
    pub(crate) fn begin_anew(
        &mut self,
        file: &File,
        path: &Path,
        size_bytes: u64,
        content: Fill,
    ) -> Result<(), String> {
        let marked = stamp(file).and_then(|stamp| {
            mark_as_open(file, size_bytes, content)?;
            Ok(stamp.identity)
        });
        let identity = marked.map_err(|error| cannot_mark(path, &error))?;
        let phase = Phase::Open { content: Some(Fill::Mixed), known: None };
        self.by_identity.insert(identity, WrittenFile { path: path.to_owned(), phase });
        Ok(())
    }

    /// Remembers what the files are that a timespan has written to, when nothing of it writes to them any more.
    pub(crate) fn end_writing(&mut self) {
        for (identity, written) in &mut self.by_identity {
            if let Phase::Open { known: known @ None, .. } = &mut written.phase {
                *known = flushed_by_name(&written.path, *identity);
                if known.is_none() {
                    written.phase = Phase::Lost;
                }
            }
        }
    }

    /// Records a file that was created at a path of the plan, and is whole and closed.
    pub(crate) fn insert(&mut self, stamp: FileStamp, path: &Path) {
        self.created_in(stamp.identity, path, Phase::Closed(stamp));
    }

    /// Records that a file that existed has been written from start to end; it stays open until the run ends.
    pub(crate) fn written_anew(&mut self, made: FileStamp, path: &Path, content: Fill) {
        self.created_in(made.identity, path, Phase::Open { content: Some(content), known: Some(made) });
    }

    fn created_in(&mut self, identity: FileIdentity, path: &Path, phase: Phase) {
        self.created.insert(path.to_owned(), identity);
        self.by_identity.insert(identity, WrittenFile { path: path.to_owned(), phase });
    }

    /// Closes what the run has written to. The reasons for which files stay marked as open, as sentences.
    pub(crate) fn close_all(&mut self) -> Vec<String> {
        let mut reasons = Vec::new();
        for (path, run) in &self.shared {
            // What this host wrote is at its place before the first host closes the file.
            if let Err(error) = sys::file::open_to_look(path).and_then(|file| file.sync_all()) {
                shared_files::keep_open(path, run);
                reasons.push(format!(
                    "cannot flush '{}', which other hosts write to, too: {error}; it stays marked as open",
                    path.display()
                ));
            }
        }
        for (identity, written) in &mut self.by_identity {
            let Phase::Open { content: Some(content), known } = written.phase else { continue };
            match close_by_name(&written.path, *identity, content, known) {
                Ok(Some(stamp)) => written.phase = Phase::Closed(stamp),
                // It was removed or renamed: it stays marked as open.
                Ok(None) => {}
                Err(reason) => reasons.push(format!(
                    "cannot clear the mark 'open for writing' of '{}': {reason}; the next run that writes to this file \
                     will need --overwrite",
                    written.path.display()
                )),
            }
        }
        reasons
    }

    /// Forgets a file that was deleted.
    pub(crate) fn remove(&mut self, identity: FileIdentity) {
        self.by_identity.remove(&identity);
        self.created.retain(|_, created| *created != identity);
    }
}

/// As [`WrittenFiles::compare`] for a file that other hosts write to, too, once all have begun (`is_unwritten` = no host
/// can have).
pub(crate) fn compare_shared(
    file: &File,
    path: &Path,
    checked: Option<FileStamp>,
    run: &str,
    is_unwritten: bool,
) -> Result<FileStamp, String> {
    let found = stamp(file).map_err(|error| format!("cannot check '{}': {error}", path.display()))?;
    if checked.is_none_or(|checked| checked.identity != found.identity || checked.size_bytes != found.size_bytes) {
        return Err(format!("'{}' is no longer the file that was checked; it was not touched", path.display()));
    }
    shared_files::content(file, path, run, is_unwritten)?;
    Ok(found)
}

/// A file that the run has written to, as it is now; `None` if it has another name.
fn by_name(path: &Path, identity: FileIdentity) -> io::Result<Option<(File, FileStamp)>> {
    let Ok(file) = sys::file::open_to_look(path) else { return Ok(None) };
    let found = stamp(&file)?;
    Ok((found.identity == identity).then_some((file, found)))
}

/// State of a file once its data is flushed: a server may change its time only then. `None` if it has another name.
fn flushed_by_name(path: &Path, identity: FileIdentity) -> Option<FileStamp> {
    let (file, _) = by_name(path, identity).ok()??;
    // Where it fails, the close at the end of the run says so.
    let _ = file.sync_all();
    stamp(&file).ok()
}

fn close_by_name(
    path: &Path,
    identity: FileIdentity,
    content: Fill,
    known: Option<FileStamp>,
) -> Result<Option<FileStamp>, String> {
    let Some((file, found)) = by_name(path, identity).map_err(|error| error.to_string())? else { return Ok(None) };
    if known.is_some_and(|known| known != found) {
        return Err("another process has changed the file".to_owned());
    }
    file.sync_all().map_err(|error| format!("the file cannot be flushed: {error}"))?;
    // A file that is open for writing elsewhere could be changed by data that is on its way already, and one that is
    // opened now would lose the trace of what is written to it.
    let closed = match sys::lease::with_read_lease(&file, CLOSE_PATIENCE, || close(&file, content)) {
        Ok(Some(closed)) => closed,
        Ok(None) => return Err("another process has the file open for writing".to_owned()),
        // Where leases do not work.
        Err(_) => close(&file, content),
    };
    closed.map(Some).map_err(|error| format!("its mark cannot be updated: {error}"))
}

/// Just before a file that exists is written to: nobody else has it open. `open_checked` is the only descriptor of it
/// that this process has.
///
/// # Errors
///
/// The error as a sentence.
pub(crate) fn check_unused(look: &File, path: &Path) -> Result<(), String> {
    match sys::lease::write_lease_within(look, PATIENCE) {
        Ok(WriteLease::Refused) => {
            Err(format!("'{}' was opened by another process after the check; it was not touched", path.display()))
        }
        // Where leases do not work, the check before planning looked into /proc and said so.
        Ok(WriteLease::Granted) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_had_another_name_at_the_end_of_a_timespan_is_not_touched_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&path, b"data").expect("written");
        let (file, mut files) = (File::open(&path).expect("opens"), WrittenFiles::default());
        files.begin(&file, &path, |fill| fill).expect("marked");
        assert!(files.compare(&file, &path, None).is_ok(), "while a timespan writes to it");
        files.end_writing();
        assert!(files.compare(&file, &path, None).is_ok(), "unchanged");
        files.begin(&file, &path, |fill| fill).expect("marked");
        std::fs::rename(&path, &other).expect("renamed");
        files.end_writing();
        std::fs::rename(&other, &path).expect("renamed");
        let refused = files.compare(&file, &path, None).expect_err("refused");
        assert!(refused.contains("another name"), "{refused}");
        assert!(files.close_all().is_empty());
    }
}
