//! Deleting the files of a run once it is over (`--delete-after`).

use crate::observer::{Event, Observer};
use model::facts::FileIdentity;
use model::plan::{Expected, Plan};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Deletes what the plan wants deleted, if it is still the file that this run made or reused.
pub(crate) fn delete(plan: &Plan, made: &BTreeMap<PathBuf, FileIdentity>, observer: &mut dyn Observer) {
    for path in &plan.delete_after {
        // What the run never came to make is not there to be deleted.
        let Some(identity) = made.get(path).copied().or_else(|| reused(plan, path)) else { continue };
        match delete_one(path, identity) {
            Ok(()) => observer.observe(&Event::Deleted { path }),
            Err(reason) => {
                let message = format!("'{}' was not deleted: {reason}", path.display());
                observer.observe(&Event::Warning { message: &message });
            }
        }
    }
}

fn reused(plan: &Plan, path: &Path) -> Option<FileIdentity> {
    let mut targets = plan.time_spans.iter().flat_map(|span| &span.targets);
    targets.find_map(|target| match target.expect {
        Expected::File(identity) if target.path == path => Some(identity),
        _ => None,
    })
}

fn delete_one(path: &Path, identity: FileIdentity) -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    // The file itself: removing a link would leave it.
    let file = std::fs::canonicalize(path).map_err(text)?;
    let status = std::fs::symlink_metadata(&file).map_err(text)?;
    if (FileIdentity { device: status.dev(), inode: status.ino() }) != identity {
        return Err("it is no longer the file of this run".to_owned());
    }
    std::fs::remove_file(&file).map_err(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_took_the_place_of_ours_stays() {
        let directory = tempfile::tempdir().expect("a place for files");
        let path = directory.path().join("t");
        std::fs::write(&path, b"theirs").expect("a small file");
        let ours = FileIdentity { device: 1, inode: 2 };
        assert!(delete_one(&path, ours).is_err_and(|reason| reason.contains("no longer")));
        assert_eq!(std::fs::read(&path).expect("it is still there"), b"theirs");
    }

    #[test]
    fn behind_a_link_it_is_the_file_that_goes() {
        let directory = tempfile::tempdir().expect("a place for files");
        let (file, link) = (directory.path().join("t"), directory.path().join("link"));
        std::fs::write(&file, b"ours").expect("a small file");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let status = std::fs::metadata(&file).expect("it was made");
        let identity = FileIdentity { device: status.dev(), inode: status.ino() };
        assert_eq!(delete_one(&link, identity), Ok(()));
        assert!(!file.exists());
    }
}
