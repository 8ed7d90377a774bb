//! Files that another process has open: by descriptors, of which a thread may have a table of its own, and by
//! registration with an `io_uring` ring, which outlives the descriptor.

use crate::root::Root;
use crate::syntax::unescape;
use model::units::counted;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The maximum number of reads of a ring whose files the kernel does not list at the moment, because the ring is in
/// use.
const RING_READS_MAX: u32 = 100;
/// The wait before each of these but the first.
const RING_WAIT: Duration = Duration::from_millis(1);
/// The maximum number of bytes read of one ring: it may have a million files.
const RING_BYTES_MAX: u64 = 64 << 20;

/// A file that a process has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenFile<'a> {
    /// A descriptor of this number, with its entry in /proc.
    Descriptor(i32, &'a Path),
    /// Registered with an `io_uring` ring: its path, or from older kernels its name alone.
    Registered(&'a Path),
}

/// Files that may be open in addition to the visited ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UninspectedFiles {
    /// Permission to inspect the descriptors was denied.
    pub(crate) denied: bool,
    /// The files of a ring could not be read: it was in use at each attempt.
    pub(crate) busy_ring: bool,
}

/// Visits all files that a process has open.
pub(crate) fn visit(root: &Root, process: u32, mut visit: impl FnMut(OpenFile<'_>)) -> UninspectedFiles {
    let mut unseen = UninspectedFiles::default();
    for table in tables(root, process) {
        match fs::read_dir(root.path(format!("{table}/fd"))) {
            Ok(entries) => {
                for entry in entries.flatten() {
                    visit_entry(root, &table, &entry, &mut visit, &mut unseen);
                }
            }
            // A process that has just ended is not a hidden one.
            Err(error) => unseen.denied |= error.kind() == io::ErrorKind::PermissionDenied,
        }
    }
    unseen
}

fn visit_entry(
    root: &Root,
    table: &str,
    entry: &fs::DirEntry,
    visit: &mut impl FnMut(OpenFile<'_>),
    unseen: &mut UninspectedFiles,
) {
    let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { return };
    let Ok(target) = fs::read_link(entry.path()) else { return };
    // Targets that are no paths are those of sockets, pipes and the like.
    if target.is_absolute() {
        visit(OpenFile::Descriptor(number, &entry.path()));
    } else if target.as_os_str() == "anon_inode:[io_uring]" {
        match registered(&root.path(format!("{table}/fdinfo/{number}"))) {
            Some(files) => files.iter().for_each(|file| visit(OpenFile::Registered(file))),
            // Unless it was closed meanwhile.
            None => unseen.busy_ring |= entry.path().symlink_metadata().is_ok(),
        }
    }
}

/// The directories in /proc of a process and of each of its threads with a descriptor table of its own.
fn tables(root: &Root, process: u32) -> Vec<String> {
    // Kernels without kcmp, and recorded trees: each thread counts as one with its own.
    let is_shared = |thread: u32| {
        shows_own_namespace(root) && sys::descriptor::are_shared(process, thread).is_ok_and(|is_shared| is_shared)
    };
    let threads = threads(root, process).filter(|&thread| !is_shared(thread));
    std::iter::once(format!("/proc/{process}"))
        .chain(threads.map(|thread| format!("/proc/{process}/task/{thread}")))
        .collect()
}

/// The threads of a process but the first.
pub(crate) fn threads(root: &Root, process: u32) -> impl Iterator<Item = u32> {
    root.numbered(format!("/proc/{process}/task"), "").into_iter().filter(move |&thread| thread != process)
}

/// True if process IDs in /proc are those of this process's namespace.
fn shows_own_namespace(root: &Root) -> bool {
    let own = std::process::id().to_string();
    *root == Root::machine() && fs::read_link("/proc/self").is_ok_and(|link| link == Path::new(&own))
}

/// The files registered with the ring whose fdinfo is at `path`; `None` if they cannot be read.
fn registered(path: &Path) -> Option<Vec<PathBuf>> {
    for attempt in 0..RING_READS_MAX {
        if attempt > 0 {
            std::thread::sleep(RING_WAIT);
        }
        let mut text = Vec::new();
        File::open(path).ok()?.take(RING_BYTES_MAX).read_to_end(&mut text).ok()?;
        if let Some(files) = listed(&String::from_utf8_lossy(&text)) {
            return Some(files);
        }
    }
    None
}

/// The lines `index: path` after `UserFiles:`; `None` if the kernel left them out.
fn listed(text: &str) -> Option<Vec<PathBuf>> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("UserFiles:"));
    lines.next()?;
    let entry = |line: &str| {
        let (index, name) = line.split_once(": ")?;
        index.trim_start().parse::<u32>().ok().map(|_| name.to_owned())
    };
    let names = lines.map_while(entry).filter(|name| name != "<none>");
    Some(names.map(|name| PathBuf::from(OsString::from_vec(unescape(name.trim_end_matches(" (deleted)"))))).collect())
}

/// The namespace of this kind of a process, in the kernel's notation.
pub(crate) fn namespace(root: &Root, process: &str, kind: &str) -> Option<PathBuf> {
    fs::read_link(root.path(format!("/proc/{process}/ns/{kind}"))).ok()
}

/// The phrase for processes whose descriptors may not be inspected; `None` if there are none.
pub(crate) fn denied(processes: usize) -> Option<String> {
    (processes > 0).then(|| format!("{} of other users could not be inspected", counted(processes, "process")))
}

/// The phrase for processes whose rings could not be read; `None` if there are none.
pub(crate) fn busy_rings(processes: &[String]) -> Option<String> {
    let names = processes.join(", ");
    (!processes.is_empty()).then(|| format!("files registered with a busy io_uring ring could not be read ({names})"))
}

/// Candidate paths of a registered file: in this process's view, and in that of its owner.
pub(crate) fn places(root: &Root, process: u32, path: &Path) -> Vec<PathBuf> {
    match path.strip_prefix("/") {
        Ok(below) => vec![path.to_owned(), root.path(format!("/proc/{process}/root")).join(below)],
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_ring_are_read_as_all_kernels_list_them() {
        let list = |text| listed(text).map(|files| files.iter().map(|file| file.display().to_string()).collect());
        let names_of = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(
            list("SQEs:\t0\nUserFiles:\t3\n    1: /tmp/a\\040b\n    2: /dev/sdb (deleted)\nUserBufs:\t1\n    0: 0x1\n"),
            names_of(&["/tmp/a b", "/dev/sdb"])
        );
        assert_eq!(list("UserFiles:\t2\n    0: <none>\n    1: sdb\nUserBufs:\t0\n"), names_of(&["sdb"]));
        assert_eq!(list("UserFiles:\t0\nUserBufs:\t1\n    0: 0x7f00/4096\n"), names_of(&[]));
        assert_eq!(list("SqThread:\t-1\n"), None, "a ring in use");
    }
}
