//! Targets with different paths that are the same file, and targets that are a file read by the run.

use cli::RunRequest;
use host::{Root, file_identity, loop_file};
use model::device_guard::FileIdentity;
use model::profile::{Profile, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The file at a path.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// An existing file, regardless of its names.
    File(FileIdentity),
    /// The path where a file would be created.
    Missing(PathBuf),
}

impl Place {
    fn from_path(path: &Path) -> Self {
        existing(path).map_or_else(|| Self::Missing(host::on_machine(&Root::machine(), path)), Self::File)
    }
}

fn existing(path: &Path) -> Option<FileIdentity> {
    fs::metadata(path).map(|found| file_identity(&found)).ok()
}

/// Error if a target would change the file that the profile was read from.
pub(crate) fn changed_source(request: &RunRequest) -> Option<String> {
    changed(&request.profile, request.options.source.as_ref()?, "description of this run")
}

fn changed(profile: &Profile, source: &Path, what: &str) -> Option<String> {
    let (of_source, machine) = (existing(source)?, Root::machine());
    let is_source = |path: &Path| existing(path) == Some(of_source);
    let mut targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    let changed = targets.find(|target| {
        let is_changed = target.writes() || target.size_to_create().is_some();
        let is_below = || loop_file(&machine, &target.path).is_some_and(|file| is_source(&file));
        is_changed && (is_source(&target.path) || is_below())
    })?;
    let (target, source) = (changed.path.display(), source.display());
    Some(format!("'{target}' holds the {what} ('{source}'), which the run would destroy: give another target"))
}

/// Conflicts between targets of a timespan that are one file under several paths: each thread appends to a separate
/// file, and a file is created with one size. Nor may a target changed by the run be a file with data to be written.
pub(crate) fn conflicts(profile: &Profile) -> Vec<String> {
    let mut conflicts: Vec<String> = profile.time_spans.iter().flat_map(|span| in_time_span(&span.targets)).collect();
    let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    let sources: BTreeSet<&PathBuf> =
        targets.filter_map(|target| target.write_source.as_ref()?.file.as_ref()).collect();
    conflicts.extend(sources.into_iter().filter_map(|file| changed(profile, file, "data to be written (-Z)")));
    conflicts
}

fn in_time_span(targets: &[Target]) -> Vec<String> {
    let mut sizes: Vec<_> = targets.iter().filter_map(Target::size_to_create).collect();
    sizes.dedup();
    if sizes.len() < 2 && targets.iter().all(|target| target.append.is_none()) {
        return Vec::new();
    }
    let mut firsts: BTreeMap<Place, &Target> = BTreeMap::new();
    let mut conflicts = Vec::new();
    for target in targets {
        let first = *firsts.entry(Place::from_path(&target.path)).or_insert(target);
        // Targets with equal paths are compared without accessing the file system.
        if first.path != target.path {
            conflicts.extend(conflict(first, target));
        }
    }
    conflicts
}

fn conflict(first: &Target, second: &Target) -> Option<String> {
    let file = format!("'{}' and '{}' are the same file", first.path.display(), second.path.display());
    if first.append.is_some() || second.append.is_some() {
        return Some(format!("{file}; a thread appends to a file of its own (--append)"));
    }
    let (one, other) = (first.size_to_create()?, second.size_to_create()?);
    (one != other).then(|| format!("{file}; -c cannot create it with two sizes ({one} and {other})"))
}
