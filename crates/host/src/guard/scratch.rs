//! This machine's list of scratch disks.

use crate::root::Root;
use model::device_guard::{SCRATCH_LIST, Scratch};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Looks up one of these names in the list. A list that others than root may change is ignored.
pub(super) fn look_up(root: &Root, identities: &[String]) -> Scratch {
    let list = root.path(SCRATCH_LIST);
    let metadata = match fs::symlink_metadata(&list) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Scratch::NotListed,
        Err(error) => return Scratch::Untrusted { reason: format!("{SCRATCH_LIST} cannot be checked: {error}") },
    };
    let folder = fs::symlink_metadata(list.parent().unwrap_or(Path::new("/")));
    let fault = fault(&metadata)
        .or_else(|| folder.map_or(Some("in a directory that cannot be read"), |it| fault_of_folder(&it)));
    if let Some(fault) = fault {
        return Scratch::Untrusted {
            reason: format!(
                "{SCRATCH_LIST} is {fault}; it and its directory must be owned by root and writable only by root"
            ),
        };
    }
    let text = root.text(SCRATCH_LIST).unwrap_or_default();
    if names(&text).any(|name| identities.iter().any(|identity| identity == name)) {
        Scratch::Listed
    } else {
        Scratch::NotListed
    }
}

fn fault(metadata: &Metadata) -> Option<&'static str> {
    if metadata.is_file() { fault_of(metadata.uid(), metadata.mode()) } else { Some("not a regular file") }
}

fn fault_of_folder(metadata: &Metadata) -> Option<&'static str> {
    if !metadata.is_dir() {
        return Some("not in a directory");
    }
    fault_of(metadata.uid(), metadata.mode()).map(|_| "in a directory that others can write to")
}

fn fault_of(owner: u32, mode: u32) -> Option<&'static str> {
    match (owner, mode & 0o022) {
        (0, 0) => None,
        (0, _) => Some("writable by others"),
        _ => Some("not owned by root"),
    }
}

/// One name per line; text after `#` is a comment.
fn names(text: &str) -> impl Iterator<Item = &str> {
    // Names of backing files may contain a '#', so only one at the start or after a blank counts.
    let bare = |line: &'_ str| line.find(" #").or_else(|| line.find("\t#")).unwrap_or(line.len());
    text.lines().map(move |line| line[..bare(line)].trim()).filter(|name| !name.is_empty() && !name.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_a_line_with_comments() {
        let text = "# ours\nnaa.5000\n\n  eui.01 # the left one\n/srv/a#b\n\t# more\n";
        assert_eq!(names(text).collect::<Vec<_>>(), ["naa.5000", "eui.01", "/srv/a#b"]);
    }

    #[test]
    fn only_root_may_say_what_is_scratch() {
        assert_eq!(fault_of(0, 0o100_644), None);
        assert!(
            fault_of(0, 0o100_664).is_some() && fault_of(0, 0o100_646).is_some() && fault_of(1000, 0o644).is_some()
        );
    }

    #[test]
    fn a_list_counts_if_it_can_be_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let root = Root::recorded(folder.path());
        let ask = |name: &str| look_up(&root, &[name.to_owned()]);
        assert_eq!(ask("naa.1"), Scratch::NotListed);
        let list = folder.path().join("etc/diskspd/scratch");
        fs::create_dir_all(folder.path().join("etc/diskspd")).expect("made");
        fs::set_permissions(folder.path().join("etc/diskspd"), fs::Permissions::from_mode(0o755)).expect("set");
        fs::write(&list, "naa.1\n").expect("written");
        fs::set_permissions(&list, fs::Permissions::from_mode(0o644)).expect("set");
        if fs::metadata(&list).expect("it is there").uid() == 0 {
            assert_eq!((ask("naa.1"), ask("naa.2")), (Scratch::Listed, Scratch::NotListed));
        }
        fs::set_permissions(&list, fs::Permissions::from_mode(0o666)).expect("set");
        assert!(matches!(ask("naa.1"), Scratch::Untrusted { .. }));
    }
}
