//! Deleting the files of a run once it is over (`--delete-after`).

use crate::observer::{Event, Observer};
use crate::written_files::{self, WrittenFiles};
use model::device_guard::FileIdentity;
use model::facts::FileStamp;
use model::plan::{Expected, Plan};
use std::fs::File;
use std::io;
use std::path::Path;
use sys::file_identity;
use sys::folder::Folder;

/// Deletes what the plan wants deleted, if it is still the file that this run made, reused or wrote to, and nobody
/// has changed or opened it.
pub(crate) fn delete(plan: &Plan, files: &mut WrittenFiles, observer: &mut dyn Observer) {
    for path in &plan.delete_after {
        let reused = reused(plan, path);
        // What the run never came to make is not there to be deleted.
        let Some(identity) = files.created_at(path).or(reused.map(|stamp| stamp.identity)) else { continue };
        match delete_one(path, identity, reused, files) {
            Ok(()) => observer.observe(&Event::Deleted { path }),
            Err(reason) => {
                let message = format!("'{}' was not deleted: {reason}", path.display());
                observer.observe(&Event::Warning { message: &message });
            }
        }
    }
}

fn reused(plan: &Plan, path: &Path) -> Option<FileStamp> {
    let mut targets = plan.time_spans.iter().flat_map(|span| &span.targets);
    targets.find_map(|target| match target.expect {
        Expected::File(stamp) if target.path == path => Some(stamp),
        _ => None,
    })
}

fn delete_one(
    path: &Path,
    identity: FileIdentity,
    reused: Option<FileStamp>,
    files: &mut WrittenFiles,
) -> Result<(), String> {
    // The file itself: removing a link would leave it.
    let path = if sys::confinement::covers(path) {
        path.to_owned()
    } else {
        std::fs::canonicalize(path).map_err(|error| error.to_string())?
    };
    let look = sys::file::open_to_look(&path).map_err(|error| error.to_string())?;
    if files.compare(&look, &path, reused)?.identity != identity {
        return Err("the path no longer names the file that this run created".to_owned());
    }
    written_files::check_unused(&look, &path)?;
    remove(&path, &look).map_err(|error| error.to_string())?;
    files.remove(identity);
    Ok(())
}

/// Under a private name first: what comes to the old one by then is not looked at again, and is not deleted.
fn remove(path: &Path, file: &File) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidFilename.into());
    };
    let (folder, own) = (Folder::open(parent)?, file_identity::state(file)?);
    let private = sys::new_file::private_name();
    if let Err(error) = folder.rename_new(name, &private) {
        // Where names cannot be changed without replacing, a look just before must do.
        return if error.kind() == io::ErrorKind::AlreadyExists { Err(error) } else { folder.remove(name, &own) };
    }
    if folder.find(&private)?.is_some_and(|moved| moved.is_unchanged(&own)) {
        return folder.remove(&private, &own);
    }
    folder.rename_new(&private, name)?;
    Err(io::Error::other("the path no longer names the file that this run created"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_marks;
    use std::path::PathBuf;
    use tempfile::TempDir;

    fn file(folder: &TempDir, name: &str, content: &[u8]) -> (PathBuf, FileStamp) {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("a small file");
        let stamp = file_marks::stamp(&File::open(&path).expect("opens")).expect("a stamp");
        (path, stamp)
    }

    fn folder() -> TempDir {
        tempfile::tempdir().expect("a place for files")
    }

    fn delete(path: &Path, stamp: FileStamp) -> Result<(), String> {
        delete_one(path, stamp.identity, Some(stamp), &mut WrittenFiles::default())
    }

    #[test]
    fn a_file_that_took_the_place_of_ours_stays() {
        let folder = folder();
        let (path, ours) = file(&folder, "t", b"ours");
        std::fs::rename(&path, folder.path().join("moved")).expect("renamed");
        let (path, _) = file(&folder, "t", b"theirs");
        assert!(delete(&path, ours).is_err_and(|reason| reason.contains("no longer")));
        assert_eq!(std::fs::read(&path).expect("it is still there"), b"theirs");
    }

    #[test]
    fn a_file_that_was_changed_or_is_open_stays() {
        let folder = folder();
        let (path, ours) = file(&folder, "t", b"ours");
        std::fs::write(&path, b"theirs").expect("written");
        assert!(delete(&path, ours).is_err_and(|reason| reason.contains("changed")));
        let (path, ours) = file(&folder, "u", b"ours");
        let other = File::open(&path).expect("opens");
        if sys::lease::try_write_lease(&other).is_ok() {
            assert!(delete(&path, ours).is_err_and(|reason| reason.contains("opened")));
        }
        drop(other);
        assert_eq!(delete(&path, ours), Ok(()));
        assert!(!path.exists());
    }

    #[test]
    fn what_comes_between_the_look_and_the_deletion_stays() {
        let folder = folder();
        let (path, _) = file(&folder, "t", b"ours");
        let look = File::open(&path).expect("opens");
        let (theirs, _) = file(&folder, "theirs", b"theirs");
        std::fs::rename(theirs, &path).expect("renamed");
        assert!(remove(&path, &look).is_err());
        assert_eq!(std::fs::read(&path).expect("it is still there"), b"theirs");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn behind_a_link_it_is_the_file_that_goes() {
        let folder = folder();
        let (path, ours) = file(&folder, "t", b"ours");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert_eq!(delete(&link, ours), Ok(()));
        assert!(!path.exists());
    }
}
