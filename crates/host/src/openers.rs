//! Other users of a file.
//!
//! The kernel grants a write lease only on a file that nobody else has open; /proc and /sys then identify the users.
//! Where no lease can be had, these are the only source. Files are compared by device and inode number, so that hard
//! links, bind mounts and deleted names are recognised.

use crate::open_files::{self, OpenFile};
use crate::overlay::{Overlays, identity};
use crate::root::Root;
use crate::syntax::{labelled, unescape};
use crate::{exports, loops, mounts, zpool};
use model::device_guard::FileIdentity;
use model::facts::Openers;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::lease::WriteLease;

/// The maximum number of users of a file that are listed.
const NAMED_MAX: usize = 8;
/// `OVERLAYFS_SUPER_MAGIC` (`include/uapi/linux/magic.h`).
const OVERLAY_MAGIC: u64 = 0x794C_7630;
/// Time that an unidentified user has to close the file.
const PATIENCE: Duration = Duration::from_secs(1);
/// The maximum number of bytes read of one process's list of mappings.
const MAPS_BYTES_MAX: u64 = 64 << 20;

/// Searches for users of the regular `file`, which is also at `path`, other than this one descriptor.
pub(crate) fn find(root: &Root, file: &File, path: &Path) -> Openers {
    let lease = sys::lease::try_write_lease(file);
    // The lease is on the merged file of an overlay, not on the underlying one.
    let is_overlay = sys::file::file_system(file).is_ok_and(|stat| stat.magic == OVERLAY_MAGIC);
    if matches!(lease, Ok(WriteLease::Granted)) && !is_overlay {
        return Openers::None;
    }
    let Ok(identity) = file.metadata().map(|metadata| identity(&metadata)) else {
        return Openers::NoneFoundInProc { reason: "the file's device and inode numbers cannot be read".to_owned() };
    };
    let mut found = search(root, &[(path.to_owned(), identity)], &[]);
    let mut who = found.users.remove(&identity).unwrap_or_default();
    let own = found.own_descriptors.remove(&identity).unwrap_or_default();
    who.extend(standard_streams(&own));
    let by_ourselves = own.iter().any(|&number| number > 2 && number != file.as_raw_fd());
    if !who.is_empty() {
        return Openers::Some { who: shortened(who) };
    }
    match lease {
        Ok(WriteLease::Granted) => Openers::None,
        Err(error) => Openers::NoneFoundInProc { reason: no_lease(&error, &found) },
        Ok(_) if by_ourselves => Openers::NoneFoundInProc {
            reason: "this process has the file open twice, so the kernel's lease check cannot work".to_owned(),
        },
        // A user of that moment may have left since, or is about to: an indexer, or the kernel itself, which keeps
        // files of a ring open until some time after its process has ended.
        Ok(_) if matches!(sys::lease::write_lease_within(file, PATIENCE), Ok(WriteLease::Granted)) => Openers::None,
        Ok(_) if !found.unidentified.is_empty() || !found.busy_rings.is_empty() => {
            let rings = found.busy_rings.iter();
            let rings = rings.map(|who| format!("possibly {who}, whose files registered with io_uring cannot be read"));
            Openers::Some { who: found.unidentified.into_iter().chain(rings).collect() }
        }
        Ok(_) if found.hidden_processes > 0 => Openers::Some {
            who: vec![format!(
                "an unidentified process (one of {} that this user may not inspect, or one in another container)",
                found.hidden_processes
            )],
        },
        Ok(_) => Openers::Some {
            who: vec!["another process not visible from here (in another container, or a kernel service)".to_owned()],
        },
    }
}

/// Time that unidentified processes of this program have to close a shared file.
const SHARED_PATIENCE: Duration = Duration::from_secs(20);

/// As [`find`], for a file that several hosts share: processes of this same program, which are other hosts on this
/// machine, do not count as users.
pub(crate) fn of_shared(root: &Root, file: &File, path: &Path) -> Openers {
    let Ok(identity) = file.metadata().map(|metadata| identity(&metadata)) else { return find(root, file, path) };
    let began = Instant::now();
    loop {
        let SharedUsers { who, peers, all_are_known } = shared_users(root, path, identity);
        if peers > 0 && peers == who.len() && all_are_known {
            return Openers::None;
        }
        // A process that has just closed it is not found here, and one that is opening it is found there.
        match find(root, file, path) {
            Openers::Some { .. } if peers == who.len() && began.elapsed() < SHARED_PATIENCE => {}
            openers => return openers,
        }
    }
}

/// As [`users_of_files`] for one file that several hosts share, without processes of this same program.
pub fn users_of_shared_file(root: &Root, path: &Path, identity: FileIdentity) -> Vec<String> {
    let SharedUsers { who, peers, .. } = shared_users(root, path, identity);
    if peers == who.len() { Vec::new() } else { shortened(who) }
}

/// Users of a file that several hosts share.
struct SharedUsers {
    who: Vec<String>,
    /// Number of them that are processes of this same program.
    peers: usize,
    all_are_known: bool,
}

fn shared_users(root: &Root, path: &Path, identity: FileIdentity) -> SharedUsers {
    let mut found = search(root, &[(path.to_owned(), identity)], &[]);
    SharedUsers {
        who: found.users.remove(&identity).unwrap_or_default(),
        peers: found.peers.remove(&identity).unwrap_or_default(),
        all_are_known: found.unidentified.is_empty(),
    }
}

/// Users of each of these regular files, as phrases: "process 7 (postgres)", "loop device /dev/loop0", "active swap".
/// Files without users are absent.
///
/// No lease is requested, and descriptors of this process do not count, so this may be called while it has the files
/// open. Users that /proc does not show are not found: processes of other users if this is not root, and those in other
/// containers; and loop devices that may not be opened and have another path to the file.
pub fn users_of_files(root: &Root, files: &[(PathBuf, FileIdentity)]) -> BTreeMap<FileIdentity, Vec<String>> {
    search(root, files, &[]).users.into_iter().map(|(identity, who)| (identity, shortened(who))).collect()
}

/// A report must not be written into a target, so the standard streams of this process count.
pub(crate) fn standard_streams(descriptors: &[i32]) -> Vec<String> {
    let name = |number: &i32| match number {
        0 => Some("standard input of this process"),
        1 => Some("standard output of this process"),
        2 => Some("standard error of this process"),
        _ => None,
    };
    descriptors.iter().filter_map(name).map(str::to_owned).collect()
}

fn no_lease(error: &io::Error, found: &FoundOpeners) -> String {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied => "only the file's owner can take a lease".to_owned(),
        io::ErrorKind::InvalidInput => "its file system does not support leases".to_owned(),
        _ => format!("the kernel refused a lease: {error}"),
    };
    let denied = open_files::denied(found.hidden_processes);
    let rings = open_files::busy_rings(&found.busy_rings);
    std::iter::once(why).chain(denied).chain(rings).chain(found.unidentified.clone()).collect::<Vec<_>>().join("; ")
}

fn shortened(mut who: Vec<String>) -> Vec<String> {
    if who.len() > NAMED_MAX {
        let more = who.len() - NAMED_MAX;
        who.truncate(NAMED_MAX);
        who.push(format!("{more} more"));
    }
    who
}

/// Results of a search.
#[derive(Debug, Default)]
pub(crate) struct FoundOpeners {
    /// Users by file, without this process.
    pub(crate) users: BTreeMap<FileIdentity, Vec<String>>,
    /// By file, the number of `users` that are processes of this same program.
    pub(crate) peers: BTreeMap<FileIdentity, usize>,
    /// Descriptors of this process by file.
    pub(crate) own_descriptors: BTreeMap<FileIdentity, Vec<i32>>,
    /// Number of processes whose descriptors may not be inspected.
    pub(crate) hidden_processes: usize,
    /// Processes whose rings could not be read, as phrases.
    pub(crate) busy_rings: Vec<String>,
    /// Loop devices and swap files that may be any file, as phrases.
    pub(crate) unidentified: Vec<String>,
}

impl FoundOpeners {
    fn add(&mut self, file: FileIdentity, user: impl Into<String>) {
        self.users.entry(file).or_default().push(user.into());
    }
}

/// Searches for users of all `files` at once. `own_loops` are loop devices that do not count as users.
pub(crate) fn search(root: &Root, files: &[(PathBuf, FileIdentity)], own_loops: &[String]) -> FoundOpeners {
    // Without symbolic links, as in the kernel's lists.
    let real = |path: &PathBuf| fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    let files: Vec<(PathBuf, FileIdentity)> = files.iter().map(|(path, file)| (real(path), *file)).collect();
    let mut search = Search { root, files: BTreeMap::new(), asked: BTreeMap::new() };
    let overlays = Overlays::read(root);
    for (path, file) in &files {
        for (other, place) in overlays.others(path) {
            if other != *file {
                search.asked.insert(other, *file);
                search.files.entry(other.inode).or_default().push((place, other));
            }
        }
    }
    for (path, file) in files {
        search.files.entry(file.inode).or_default().push((path, file));
    }
    let mut found = FoundOpeners::default();
    if !search.files.is_empty() {
        search.swaps(&mut found);
        search.loops(own_loops, &mut found);
        search.named(&mut found);
        search.processes(&mut found);
    }
    found
}

/// Files to search for.
struct Search<'a> {
    root: &'a Root,
    /// By inode number.
    files: BTreeMap<u64, Vec<(PathBuf, FileIdentity)>>,
    /// Underlying or merged files of overlays, with those of `files` that they belong to.
    asked: BTreeMap<FileIdentity, FileIdentity>,
}

impl Search<'_> {
    fn wanted(&self, file: FileIdentity) -> Option<FileIdentity> {
        self.of_inode(file.inode).iter().any(|(_, other)| *other == file).then(|| self.asked(file))
    }

    fn of_inode(&self, inode: u64) -> &[(PathBuf, FileIdentity)] {
        self.files.get(&inode).map_or(&[], Vec::as_slice)
    }

    fn asked(&self, file: FileIdentity) -> FileIdentity {
        self.asked.get(&file).copied().unwrap_or(file)
    }

    /// The file at `path`, or the one of that name if this process cannot follow it.
    fn at(&self, path: &Path) -> Option<FileIdentity> {
        match fs::metadata(path) {
            Ok(metadata) => self.wanted(identity(&metadata)),
            Err(_) => self.files.values().flatten().find(|(other, _)| other == path).map(|(_, file)| self.asked(*file)),
        }
    }

    /// A line is `name type size used priority`, after one with headings.
    fn swaps(&self, found: &mut FoundOpeners) {
        let list = self.root.text("/proc/swaps").unwrap_or_default();
        for line in list.lines().skip(1) {
            let mut words = line.split_whitespace();
            let (Some(name), kind) = (words.next(), words.next()) else { continue };
            let name = PathBuf::from(OsString::from_vec(unescape(name)));
            if let Some(file) = self.at(&name) {
                found.add(file, "active swap");
            } else if kind != Some("partition")
                && (name.as_os_str().as_encoded_bytes().ends_with(b" (deleted)") || fs::metadata(&name).is_err())
            {
                found
                    .unidentified
                    .push(format!("the active swap file '{}', whose identity cannot be determined", name.display()));
            }
        }
    }

    fn loops(&self, own: &[String], found: &mut FoundOpeners) {
        let mut unasked = Vec::new();
        for device in loops::attached(self.root).into_iter().filter(|device| !own.contains(&device.name)) {
            let file = match &device.backing {
                Ok(_) => device.file_identity().and_then(|file| self.wanted(file)),
                Err(_) => self.at(&device.file),
            };
            match file {
                Some(file) => found.add(file, format!("loop device /dev/{}", device.name)),
                None if device.backing.is_err() => unasked.push(device),
                None => {}
            }
        }
        found.unidentified.extend(loops::unasked(&unasked).map(|phrase| format!("possibly {phrase}")));
    }

    /// Users of whom the kernel only reports the path of the file.
    fn named(&self, found: &mut FoundOpeners) {
        for (pool, paths) in zpool::all(self.root) {
            for file in paths.iter().filter_map(|path| self.at(path)) {
                found.add(file, format!("the ZFS pool '{pool}'"));
            }
        }
        for export in exports::all(self.root) {
            if let Some(file) = self.at(&export.path) {
                found.add(file, export.phrase);
            }
        }
    }

    fn processes(&self, found: &mut FoundOpeners) {
        let own = fs::read_link(self.root.path("/proc/self")).ok();
        let mut namespaces = BTreeSet::new();
        for process in self.root.numbered("/proc", "") {
            let name = process.to_string();
            if own.as_deref() == Some(Path::new(&name)) {
                open_files::visit(self.root, process, |file| {
                    if let (OpenFile::Descriptor(number, _), Some(file)) = (file, self.open(process, file)) {
                        found.own_descriptors.entry(file).or_default().push(number);
                    }
                });
            } else {
                self.look_at(process, found);
            }
            let namespace = open_files::namespace(self.root, &name, "mnt");
            if namespace.is_some_and(|namespace| namespaces.insert(namespace)) {
                self.mounts_of(&name, found);
            }
        }
    }

    /// The searched file behind an open file of a process.
    fn open(&self, process: u32, file: OpenFile<'_>) -> Option<FileIdentity> {
        match file {
            OpenFile::Descriptor(_, entry) => self.wanted(identity(&fs::metadata(entry).ok()?)),
            OpenFile::Registered(path) => {
                open_files::places(self.root, process, path).iter().find_map(|place| self.at(place))
            }
        }
    }

    /// True if one of the files has this name, in any directory.
    fn is_name(&self, name: &Path) -> bool {
        self.files.values().flatten().any(|(path, _)| path.file_name() == Some(name.as_os_str()))
    }

    fn look_at(&self, process: u32, found: &mut FoundOpeners) {
        let mapped = self.mapped(process);
        let mut opened = BTreeSet::new();
        let mut possibly = None;
        let unseen = open_files::visit(self.root, process, |file| {
            opened.extend(self.open(process, file));
            if let OpenFile::Registered(name) = file
                && self.is_name(name)
            {
                possibly = Some("which has a file of this name registered with io_uring");
            }
        });
        found.hidden_processes += usize::from(unseen.denied);
        if opened.is_empty() && mapped.is_empty() && possibly.is_none() && !unseen.busy_ring {
            return;
        }
        let status = self.root.text(format!("/proc/{process}/status")).unwrap_or_default();
        let command = labelled(&status, "Name").map(|name| format!(" ({name})")).unwrap_or_default();
        let is_peer = self.is_this_program(process);
        for &file in opened.union(&mapped) {
            if is_peer {
                *found.peers.entry(file).or_default() += 1;
            }
            let how = if opened.contains(&file) { "" } else { ", which has it mapped" };
            found.add(file, format!("process {process}{command}{how}"));
        }
        found.busy_rings.extend(unseen.busy_ring.then(|| format!("process {process}{command}")));
        found.unidentified.extend(possibly.map(|why| format!("possibly process {process}{command}, {why}")));
    }

    /// True if a process executes the same file as this one.
    fn is_this_program(&self, process: u32) -> bool {
        let program = |process: &str| fs::metadata(self.root.path(format!("/proc/{process}/exe")));
        let identities = program("self").ok().zip(program(&process.to_string()).ok());
        identities.is_some_and(|(own, other)| identity(&own) == identity(&other))
    }

    fn mapped(&self, process: u32) -> BTreeSet<FileIdentity> {
        // The first thread shows no memory once it has ended, though all share it.
        let mut others = open_files::threads(self.root, process).map(|thread| format!("{process}/task/{thread}"));
        self.mapped_in(&process.to_string())
            .or_else(|| others.find_map(|thread| self.mapped_in(&thread)))
            .unwrap_or_default()
    }

    /// The searched files that a thread has mapped; `None` if it shows no memory.
    fn mapped_in(&self, process: &str) -> Option<BTreeSet<FileIdentity>> {
        let maps = File::open(self.root.path(format!("/proc/{process}/maps"))).ok()?;
        let mut lines = BufReader::new(maps.take(MAPS_BYTES_MAX)).split(b'\n').map_while(Result::ok).peekable();
        lines.peek()?;
        Some(lines.filter_map(|line| self.mapping(process, &String::from_utf8_lossy(&line))).collect())
    }

    /// A line is `start-end flags offset major:minor inode    path`.
    fn mapping(&self, process: &str, line: &str) -> Option<FileIdentity> {
        let mut words = line.split_ascii_whitespace();
        let range = words.next()?;
        let (device, inode) = (words.nth(2)?, words.next()?.parse::<u64>().ok()?);
        let files = self.of_inode(inode);
        files.first()?;
        let has_device = |file: &FileIdentity| {
            let (major, minor) = sys::file::major_minor(file.device);
            device == format!("{major:02x}:{minor:02x}")
        };
        if let Some((_, file)) = files.iter().find(|(_, file)| has_device(file)) {
            return Some(self.asked(*file));
        }
        // Some file systems (btrfs, overlay) show another device number here than in stat.
        let range: Vec<&str> = range.split('-').map(|end| end.trim_start_matches('0')).collect();
        let entry = self.root.path(format!("/proc/{process}/map_files/{}", range.join("-")));
        if let Ok(metadata) = fs::metadata(entry) {
            return self.wanted(identity(&metadata));
        }
        let path = Path::new(&line[line.find('/')?..]);
        files.iter().find(|(other, _)| other == path).map(|(_, file)| self.asked(*file))
    }

    /// Image files that are mounted directly in the namespace of a process, without a loop device.
    fn mounts_of(&self, process: &str, found: &mut FoundOpeners) {
        for mount in mounts::of_process(self.root, process) {
            let Some(source) = mount.source.strip_prefix('/').filter(|_| mount.file_system == "erofs") else {
                continue;
            };
            let place = self.root.path(format!("/proc/{process}/root")).join(source);
            if let Ok(metadata) = fs::metadata(place)
                && let Some(file) = self.wanted(identity(&metadata))
            {
                found.add(file, format!("the file system mounted at '{}'", mount.point.display()));
            }
        }
    }
}
