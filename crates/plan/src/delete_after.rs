//! Files to delete after the run (`--delete-after`): those that it makes or reuses.

use crate::files::Files;
use crate::findings::Findings;
use model::facts::{Origin, TargetKind};
use model::note::Note;
use model::profile::Profile;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The targets to delete, in the profile's order; a note for each that is kept.
pub(crate) fn plan(profile: &Profile, files: &Files<'_>, findings: &mut Findings) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let targets = profile.time_spans.iter().flat_map(|span| &span.targets).map(|target| &target.path);
    let mut deleted = Vec::new();
    for path in targets.filter(|path| seen.insert(*path)) {
        match reason_to_stay(path, files) {
            None => deleted.push(path.clone()),
            Some(reason) => findings.note(Note::NotDeleted { path: path.clone(), reason: reason.to_owned() }),
        }
    }
    deleted
}

fn reason_to_stay(path: &Path, files: &Files<'_>) -> Option<&'static str> {
    match &files.facts().targets.get(path)?.kind {
        TargetKind::Block(_) | TargetKind::Character(_) => Some("it is a device"),
        TargetKind::Regular(file) if matches!(file.origin, Origin::Foreign { .. } | Origin::Empty) => {
            Some("the file existed before this run and was not created by diskspd")
        }
        _ if !files.makes(path) => Some("this run did not create the file with -c"),
        _ => None,
    }
}
