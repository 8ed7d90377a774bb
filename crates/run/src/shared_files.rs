//! Files that several hosts write to together (`--shared`).
//!
//! The first host of the run checks a file or creates it, and marks it as open for the run: that mark is what the other
//! hosts believe. No host closes the file at the end of its load, since others may still write to it. The first host does,
//! once all have ended.

use crate::file_marks::{self, cannot_mark, set_mark};
use model::facts::Fill;
use model::mark::{self, Mark, MarkState, MarkedFileState};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;
use sys::file_identity::{self, FileState};

/// How long a file that another process still has open for writing is waited for.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// A file as a mark shows it that a run of several hosts set.
#[derive(Debug)]
struct Shared {
    mark: Mark,
    /// Nothing has been written to it since.
    is_unchanged: bool,
}

/// Names the run that the file at `path` is ready for, so that other hosts know it; if they write to it (`is_written`),
/// also marks it as open. It must be a file that this program made and nothing has written to since.
///
/// # Errors
///
/// The error as a sentence.
pub fn mark_shared(path: &Path, run: &str, is_written: bool) -> Result<(), String> {
    let error = |error: io::Error| cannot_mark(path, &error);
    let file = sys::file::open_to_look(path).map_err(error)?;
    let mark = file_marks::own_mark(&file).map_err(error)?.ok_or_else(|| {
        format!(
            "'{}' has no diskspd mark by which other hosts would know it (its file system keeps no extended attributes, or \
             something has written to it)",
            path.display()
        )
    })?;
    sys::xattr::set(&file, mark::RUN_ATTRIBUTE, run.as_bytes()).map_err(error)?;
    if is_written {
        set_mark(&file, &Mark { state: MarkState::Open, ..mark }).map_err(error)?;
    }
    // Other hosts read it from a server.
    file.sync_all().map_err(error)
}

/// The file at `path` is the one that the first host of the run made ready, and nothing has written to it since.
///
/// # Errors
///
/// Why not, as a sentence.
pub fn check(path: &Path, run: &str, is_written: bool) -> Result<(), String> {
    let name = path.display();
    let file = sys::file::open_to_look(path).map_err(|error| format!("cannot open '{name}': {error}"))?;
    let is_it = if is_written {
        of_run(&file, run).map(|found| found.is_some_and(|shared| shared.is_unchanged))
    } else {
        file_marks::own_mark(&file).and_then(|mark| Ok(mark.is_some() && is_named(&file, run)?))
    };
    match is_it {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("'{name}' is not the file that the first host made ready for this run")),
        Err(error) => Err(format!("cannot check '{name}': {error}")),
    }
}

/// Closes a file that no host of the run writes to any more.
///
/// # Errors
///
/// Why it stays marked as open, as a sentence.
pub fn settle(path: &Path, run: &str) -> Result<(), String> {
    let name = path.display();
    let error = |error: io::Error| format!("cannot close '{name}': {error}");
    let file = sys::file::open_to_look(path).map_err(error)?;
    let Some(Shared { mark, .. }) = of_run(&file, run).map_err(error)? else {
        return Err(format!("'{name}' is no longer the file of this run, or a host did not end its writes"));
    };
    file.sync_all().map_err(error)?;
    let closed = match sys::lease::with_read_lease(&file, CLOSE_PATIENCE, || file_marks::close(&file, mark.fill)) {
        Ok(Some(closed)) => closed,
        Ok(None) => return Err(format!("another process has '{name}' open for writing")),
        // Where leases do not work.
        Err(_) => file_marks::close(&file, mark.fill),
    };
    closed.map(drop).map_err(error)?;
    sys::xattr::remove(&file, mark::RUN_ATTRIBUTE).map_err(error)
}

/// Closes a file that no host of the run has written to, because its load does not start. One that was written to stays
/// open.
pub fn unmark_shared(path: &Path, run: &str) {
    let Ok(file) = sys::file::open_to_look(path) else { return };
    if let Ok(Some(Shared { mark, is_unchanged: true })) = of_run(&file, run) {
        let _ = set_mark(&file, &Mark { state: MarkState::Closed, ..mark });
    }
    if matches!(is_named(&file, run), Ok(true)) {
        let _ = sys::xattr::remove(&file, mark::RUN_ATTRIBUTE);
    }
}

/// The mark that a file of the run has now; `None` = it is not open for the run.
fn of_run(file: &File, run: &str) -> io::Result<Option<Shared>> {
    if !is_named(file, run)? {
        return Ok(None);
    }
    let Some(value) = sys::xattr::get(file, mark::ATTRIBUTE)? else { return Ok(None) };
    let identity = file_identity::lasting_identity(file)?;
    let FileState { size_bytes, modified_ns, .. } = file_identity::state(file)?;
    let mark = Mark::open(&value, MarkedFileState { size_bytes, modified_ns, file: &identity });
    Ok(mark.map(|mark| Shared { is_unchanged: mark.modified_ns == modified_ns, mark }))
}

fn is_named(file: &File, run: &str) -> io::Result<bool> {
    Ok(sys::xattr::get(file, mark::RUN_ATTRIBUTE)?.is_some_and(|found| found == run.as_bytes()))
}

/// The content of a file that is open for the run. With `is_unwritten`, no host can have begun to write to it.
pub(crate) fn content(file: &File, path: &Path, run: &str, is_unwritten: bool) -> Result<Fill, String> {
    let name = path.display();
    match of_run(file, run) {
        Ok(Some(shared)) if shared.is_unchanged || !is_unwritten => Ok(shared.mark.fill),
        Ok(Some(_)) => Err(format!("'{name}' was changed by another process after the check; it was not touched")),
        Ok(None) => Err(format!("'{name}' is no longer the file that was checked; it was not touched")),
        Err(error) => Err(format!("cannot check '{name}': {error}")),
    }
}

/// Records what the file will hold after the run. All hosts of the run say the same.
pub(crate) fn set_content(file: &File, path: &Path, run: &str, content: Fill) -> Result<(), String> {
    let error = |error: io::Error| cannot_mark(path, &error);
    match of_run(file, run).map_err(error)? {
        Some(Shared { mark, .. }) if mark.fill != content => {
            set_mark(file, &Mark { fill: content, ..mark }).map_err(error)
        }
        _ => Ok(()),
    }
}

/// This host may still write to the file, or its data is lost: nobody closes it.
pub(crate) fn keep_open(path: &Path, run: &str) {
    let Ok(file) = sys::file::open_to_look(path) else { return };
    if matches!(is_named(&file, run), Ok(true)) {
        let _ = sys::xattr::remove(&file, mark::RUN_ATTRIBUTE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::facts::Fill;
    use std::io::Write as _;
    use std::path::PathBuf;
    use tempfile::TempDir;

    /// A closed file of ours; or why there is none.
    fn ours() -> Result<(TempDir, PathBuf), String> {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder");
        let path = folder.path().join("t");
        let mut file = File::create(&path).expect("made");
        file.write_all(b"data").expect("written");
        match sys::xattr::set(&file, "user.diskspd-test", b"x") {
            Err(error) => return Err(format!("no extended attributes here: {error}")),
            Ok(()) => file_marks::close(&file, Fill::Ramp).expect("closed"),
        };
        Ok((folder, path))
    }

    fn mark(path: &Path) -> Option<Mark> {
        file_marks::own_mark(&File::open(path).expect("there")).expect("read")
    }

    fn write(path: &Path) {
        std::fs::OpenOptions::new().write(true).open(path).expect("there").write_all(b"DATA").expect("written");
    }

    #[test]
    fn a_file_is_open_for_all_hosts_until_the_first_closes_it() {
        let (_folder, path) = testkit::or_skip!(ours());
        mark_shared(&path, "run", true).expect("marked");
        assert_eq!(mark(&path), None, "open");
        assert!(check(&path, "other", true).is_err() && check(&path, "run", false).is_err());
        check(&path, "run", true).expect("the file of the run");
        let file = File::open(&path).expect("there");
        assert_eq!(content(&file, &path, "run", true), Ok(Fill::Ramp));
        set_content(&file, &path, "run", Fill::Mixed).expect("set");
        drop(file);
        write(&path);
        let file = File::open(&path).expect("there");
        assert_eq!(content(&file, &path, "run", false), Ok(Fill::Mixed));
        assert!(content(&file, &path, "run", true).is_err(), "written to before the start");
        assert!(check(&path, "run", true).is_err(), "a host that comes later has not seen who wrote");
        drop(file);
        assert!(settle(&path, "other").is_err() && mark(&path).is_none());
        settle(&path, "run").expect("closed");
        assert_eq!(mark(&path).map(|mark| mark.fill), Some(Fill::Mixed));
        assert!(settle(&path, "run").is_err(), "once");
    }

    #[test]
    fn a_file_that_a_host_may_still_write_to_is_not_closed() {
        let (_folder, path) = testkit::or_skip!(ours());
        mark_shared(&path, "run", true).expect("marked");
        keep_open(&path, "run");
        assert!(settle(&path, "run").is_err());
        assert_eq!(mark(&path), None);
    }

    #[test]
    fn a_file_that_nobody_wrote_to_is_as_before() {
        let (_folder, path) = testkit::or_skip!(ours());
        let before = mark(&path);
        mark_shared(&path, "run", true).expect("marked");
        unmark_shared(&path, "other");
        assert_eq!(mark(&path), None);
        unmark_shared(&path, "run");
        assert_eq!(mark(&path), before);
        mark_shared(&path, "run", true).expect("marked");
        write(&path);
        unmark_shared(&path, "run");
        assert_eq!(mark(&path), None, "somebody wrote to it");
    }

    #[test]
    fn a_file_that_is_only_read_stays_closed() {
        let (_folder, path) = testkit::or_skip!(ours());
        mark_shared(&path, "run", false).expect("named");
        assert!(mark(&path).is_some());
        check(&path, "run", false).expect("the file of the run");
        assert!(check(&path, "run", true).is_err() && check(&path, "other", false).is_err());
        unmark_shared(&path, "run");
        assert!(mark(&path).is_some() && check(&path, "run", false).is_err());
    }

    #[test]
    fn a_file_that_is_not_ours_is_not_shared() {
        let (_folder, path) = testkit::or_skip!(ours());
        write(&path);
        assert!(mark_shared(&path, "run", true).is_err_and(|reason| reason.contains("mark")));
    }
}
