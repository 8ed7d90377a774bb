//! Paths of targets on several hosts.

use model::profile::{Profile, Target};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Placeholder for the name of a host in paths.
const HOST: &str = "{host}";
/// Placeholder for its number.
const INDEX: &str = "{index}";

/// The profile of one host: paths with its name and number.
pub(super) fn expanded(profile: &Profile, host: &str, index: usize) -> Profile {
    let expand = |path: &Path| match path.to_str() {
        Some(text) => PathBuf::from(text.replace(HOST, host).replace(INDEX, &index.to_string())),
        None => path.to_owned(),
    };
    let mut profile = profile.clone();
    for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
        target.path = expand(&target.path);
        if let Some(file) = target.write_source.as_mut().and_then(|source| source.file.as_mut()) {
            *file = expand(file);
        }
    }
    profile
}

/// Files that several hosts would create or write to under one path.
pub(super) fn alike(profiles: &[Profile]) -> BTreeSet<PathBuf> {
    let [first, others @ ..] = profiles else { return BTreeSet::new() };
    let changed = |target: &&Target| (target.create_size.is_some() || target.writes()) && !is_device(&target.path);
    let paths_of = |profile: &Profile| -> BTreeSet<PathBuf> {
        profile
            .time_spans
            .iter()
            .flat_map(|span| &span.targets)
            .filter(changed)
            .map(|target| target.path.clone())
            .collect()
    };
    let others: BTreeSet<PathBuf> = others.iter().flat_map(paths_of).collect();
    paths_of(first).into_iter().filter(|path| others.contains(path)).collect()
}

/// The reasons why such files are refused.
pub(super) fn refusals(alike: &BTreeSet<PathBuf>) -> Vec<String> {
    let reason = |path: &PathBuf| {
        format!(
            "'{}' would be written to by several hosts: put {HOST} or {INDEX} into the path, or give --shared if all hosts \
             see the same file there",
            path.display()
        )
    };
    alike.iter().map(reason).collect()
}

/// Devices of other hosts are identified by their paths only.
pub(super) fn is_device(path: &Path) -> bool {
    path.starts_with("/dev")
}
