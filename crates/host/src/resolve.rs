//! Resolution of symbolic links.

use crate::root::Root;
use std::fs;
use std::path::{Path, PathBuf};

/// The kernel's limit of links in a row.
const LINKS_MAX: usize = 40;

/// The target of `path`, if it leads through any symbolic link; the target need not exist. `None` also if only the
/// kernel can follow the links (as of /dev/stdin to a pipe).
pub(crate) fn through_links(path: &Path) -> Option<PathBuf> {
    let is_link = |part: &Path| fs::symlink_metadata(part).is_ok_and(|metadata| metadata.is_symlink());
    if !path.ancestors().filter(|part| !part.as_os_str().is_empty()).any(is_link) {
        return None;
    }
    if let Ok(place) = fs::canonicalize(path) {
        return Some(place);
    }
    if fs::metadata(path).is_ok() {
        return None;
    }
    let mut place = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&place) else { break };
        place = place.parent().unwrap_or(Path::new("")).join(target);
    }
    let existing = existing_directory(&place)?;
    let rest = place.strip_prefix(&existing).ok()?;
    let directory = if existing.as_os_str().is_empty() { Path::new(".") } else { &existing };
    Some(fs::canonicalize(directory).ok()?.join(rest))
}

/// The machine's path for the target of `path`, which need not exist: absolute, and as far as it exists without
/// symbolic links.
pub fn on_machine(root: &Root, path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let seen = root.path(&absolute);
    let place = fs::canonicalize(&seen).ok().or_else(|| through_links(&seen)).or_else(|| {
        let existing = existing_directory(&seen)?;
        let rest = seen.strip_prefix(&existing).ok()?;
        Some(fs::canonicalize(&existing).ok()?.join(rest))
    });
    place.and_then(|place| root.on_machine(&place)).unwrap_or(absolute)
}

/// As [`on_machine`] for a path that is then opened: a confined process opens its targets by the given paths, and
/// follows no links that were put there since.
pub(crate) fn to_open(root: &Root, path: &Path) -> PathBuf {
    if sys::confinement::covers(path) { path.to_owned() } else { on_machine(root, path) }
}

/// The nearest directory above `path` that exists, as written; an empty path is the current one.
pub(crate) fn existing_directory(path: &Path) -> Option<PathBuf> {
    let exists = |part: &&Path| part.as_os_str().is_empty() || part.is_dir();
    path.ancestors().skip(1).find(exists).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_whether_their_end_exists_or_not() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let base = fs::canonicalize(directory.path()).expect("exists");
        let at = |name: &str| base.join(name);
        fs::create_dir(at("d")).expect("made");
        fs::write(at("d/file"), "").expect("written");
        symlink("d/file", at("to-file")).expect("linked");
        symlink("d", at("to-d")).expect("linked");
        symlink("to-d/new", at("to-new")).expect("linked");
        symlink("loop", at("loop")).expect("linked");
        assert_eq!(through_links(&at("d/file")), None);
        assert_eq!(through_links(&at("nothing")), None);
        assert_eq!(through_links(&at("to-file")), Some(at("d/file")));
        assert_eq!(through_links(&at("to-d/file")), Some(at("d/file")));
        assert_eq!(through_links(&at("to-new")), Some(at("d/new")));
        assert_eq!(through_links(&at("to-d/a/b")), Some(at("d/a/b")));
        // No end, but no hang either.
        let _ = through_links(&at("loop"));
    }
}
