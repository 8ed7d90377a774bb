//! Who else has a file open.
//!
//! The kernel knows and tells by granting a write lease or not; /proc and /sys then tell who it
//! is. Where no lease can be had, what they tell is all there is.

use crate::root::Root;
use crate::syntax::{labelled, unescape};
use model::facts::{FileIdentity, Openers};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::lease::WriteLease;

/// Most users of a file that are named one by one.
const NAMED_MAX: usize = 8;
/// How long a user who cannot be found gets to go away.
const PATIENCE: Duration = Duration::from_secs(1);
/// Most bytes read of one process's list of mappings.
const MAPS_BYTES_MAX: u64 = 64 << 20;

/// Looks for users of `file`, regular, which also lies at `path`, besides this one descriptor.
pub(crate) fn of(root: &Root, file: &File, path: &Path) -> Openers {
    let lease = sys::lease::try_write_lease(file);
    if matches!(lease, Ok(WriteLease::Granted)) {
        return Openers::None;
    }
    let Ok(search) = Search::new(root, file, path) else {
        return Openers::NoneFoundInProc { reason: "its identity cannot be read".to_owned() };
    };
    let found = search.everywhere();
    if !found.who.is_empty() {
        return Openers::Some { who: shortened(found.who) };
    }
    match lease {
        Err(error) => Openers::NoneFoundInProc { reason: no_lease(&error, found.hidden_processes) },
        Ok(_) if found.by_ourselves => Openers::NoneFoundInProc {
            reason: "this process itself has it open once more, so the kernel cannot be asked".to_owned(),
        },
        // Who was there may have left since, or is about to: an indexer, or the kernel itself, which
        // keeps files of a ring open until some time after its process has ended.
        Ok(_) if matches!(sys::lease::write_lease_within(file, PATIENCE), Ok(WriteLease::Granted)) => Openers::None,
        Ok(_) if found.hidden_processes > 0 => Openers::Some {
            who: vec![format!(
                "a process that cannot be seen from here (one of the {} that this user may not look into, or one in \
                 another container)",
                found.hidden_processes
            )],
        },
        Ok(_) => Openers::Some {
            who: vec![
                "another process that cannot be seen from here (in another container, or a service of the kernel)"
                    .to_owned(),
            ],
        },
    }
}

fn no_lease(error: &io::Error, hidden_processes: usize) -> String {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied => "only the file's owner may ask the kernel by a lease".to_owned(),
        io::ErrorKind::InvalidInput => "its file system knows no leases".to_owned(),
        _ => format!("the kernel grants no lease: {error}"),
    };
    match hidden_processes {
        0 => why,
        count => format!("{why}; {count} processes of other users could not be looked into"),
    }
}

fn shortened(mut who: Vec<String>) -> Vec<String> {
    if who.len() > NAMED_MAX {
        let more = who.len() - NAMED_MAX;
        who.truncate(NAMED_MAX);
        who.push(format!("{more} more"));
    }
    who
}

/// What is looked for.
struct Search<'a> {
    root: &'a Root,
    identity: FileIdentity,
    /// Without symbolic links, as the kernel names it in its lists.
    path: PathBuf,
    /// The descriptor that this very search uses.
    own_descriptor: i32,
}

/// What was found.
#[derive(Default)]
struct Found {
    who: Vec<String>,
    /// This process has further descriptors of it, apart from the standard ones.
    by_ourselves: bool,
    /// Processes whose descriptors may not be looked at.
    hidden_processes: usize,
}

impl<'a> Search<'a> {
    fn new(root: &'a Root, file: &File, path: &Path) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let identity = FileIdentity { device: metadata.dev(), inode: metadata.ino() };
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self { root, identity, path, own_descriptor: file.as_raw_fd() })
    }

    fn everywhere(&self) -> Found {
        let mut found = Found::default();
        if self.is_swap() {
            found.who.push("active swap".to_owned());
        }
        found.who.extend(self.loop_devices());
        let own = fs::read_link(self.root.path("/proc/self")).ok();
        for process in self.root.numbered("/proc", "") {
            if own.as_deref() == Some(Path::new(&process.to_string())) {
                self.look_at_ourselves(&mut found);
            } else {
                self.look_at(process, &mut found);
            }
        }
        found
    }

    /// True if `path` leads to the file, or bears its name where this process cannot follow.
    fn is_it(&self, path: &Path) -> bool {
        match fs::metadata(path) {
            Ok(metadata) => metadata.dev() == self.identity.device && metadata.ino() == self.identity.inode,
            Err(_) => path == self.path,
        }
    }

    fn is_swap(&self) -> bool {
        let list = self.root.text("/proc/swaps").unwrap_or_default();
        let names = list.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        names.map(|name| PathBuf::from(OsString::from_vec(unescape(name)))).any(|path| self.is_it(&path))
    }

    fn loop_devices(&self) -> Vec<String> {
        let backs = |number: &u32| {
            let backing = self.root.word(format!("/sys/block/loop{number}/loop/backing_file"));
            backing.is_some_and(|path| self.is_it(Path::new(&path)))
        };
        let numbers = self.root.numbered("/sys/block", "loop");
        numbers.into_iter().filter(backs).map(|number| format!("loop device /dev/loop{number}")).collect()
    }

    /// Numbers of the process's descriptors that are the file; an error if they may not be seen.
    fn descriptors(&self, process: &str) -> io::Result<Vec<i32>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(self.root.path(format!("/proc/{process}/fd")))?.flatten() {
            let is_it = fs::metadata(entry.path())
                .is_ok_and(|file| file.dev() == self.identity.device && file.ino() == self.identity.inode);
            if is_it && let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }

    fn look_at(&self, process: u32, found: &mut Found) {
        let name = process.to_string();
        let descriptors = self.descriptors(&name);
        let is_mapped = self.is_mapped(&name);
        // A process that has just ended is no hidden one.
        if matches!(&descriptors, Err(error) if error.kind() == io::ErrorKind::PermissionDenied) {
            found.hidden_processes += 1;
        }
        let mapped = match (descriptors.is_ok_and(|numbers| !numbers.is_empty()), is_mapped) {
            (true, _) => "",
            (false, true) => ", which has it mapped",
            (false, false) => return,
        };
        let status = self.root.text(format!("/proc/{process}/status")).unwrap_or_default();
        let command = labelled(&status, "Name").map(|name| format!(" ({name})")).unwrap_or_default();
        found.who.push(format!("process {process}{command}{mapped}"));
    }

    /// Our own standard streams count, since a report must not go into a target; other
    /// descriptors of ours are no stranger's.
    fn look_at_ourselves(&self, found: &mut Found) {
        for number in self.descriptors("self").unwrap_or_default() {
            match number {
                0 => found.who.push("the standard input of this very process".to_owned()),
                1 => found.who.push("the standard output of this very process".to_owned()),
                2 => found.who.push("the standard error of this very process".to_owned()),
                _ if number == self.own_descriptor => {}
                _ => found.by_ourselves = true,
            }
        }
    }

    fn is_mapped(&self, process: &str) -> bool {
        let Ok(maps) = File::open(self.root.path(format!("/proc/{process}/maps"))) else { return false };
        let mut lines = BufReader::new(maps.take(MAPS_BYTES_MAX)).split(b'\n');
        lines.any(|line| line.is_ok_and(|line| self.is_mapping_of_it(&String::from_utf8_lossy(&line))))
    }

    /// A line is `start-end flags offset major:minor inode    path`.
    fn is_mapping_of_it(&self, line: &str) -> bool {
        let mut words = line.split_ascii_whitespace().skip(3);
        let (Some(device), Some(inode)) = (words.next(), words.next()) else { return false };
        if inode.parse() != Ok(self.identity.inode) {
            return false;
        }
        let (major, minor) = sys::file::major_minor(self.identity.device);
        // Some file systems (btrfs, overlay) show another device number here than stat does.
        device == format!("{major:02x}:{minor:02x}") || words.next().is_some_and(|path| Path::new(path) == self.path)
    }
}
