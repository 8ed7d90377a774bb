//! Writing a file from start to end: real blocks, never only reserved ones, several at a time.

use crate::observer::{Event, Observer};
use crate::prepare::Unprepared;
use hot::fill;
use hot::rng::Rng;
use model::facts::{FileIdentity, Fill};
use model::mark::{self, Mark};
use model::plan::Creation;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use sys::lease::WriteLease;
use sys::mapping::Mapping;

/// Bytes per write.
const CHUNK_BYTES: u64 = 1 << 20;

/// How long an unexpected user of a file gets to go away: a program that only had a look at it.
const PATIENCE: Duration = Duration::from_millis(500);

/// Most symbolic links that are followed, as in the kernel.
const LINKS_MAX: usize = 40;

/// Writes in flight: more do not make the devices faster that four keep busy.
const WRITERS: usize = 4;

/// Writes a file as planned and gives its identity. `made` is what this run has already made at
/// the path. A file that is new in this run is removed again if anything fails; one that was there
/// before never is.
///
/// # Errors
///
/// A sentence with the path and the reason.
pub(crate) fn create(
    creation: &Creation,
    made: Option<FileIdentity>,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<FileIdentity, Unprepared> {
    let at = |what: &str, error: &io::Error| format!("cannot {what} '{}': {error}", creation.path.display());
    let path = &end_of_links(&creation.path);
    if let (true, Some(parent)) = (creation.make_parents, path.parent()) {
        std::fs::create_dir_all(parent).map_err(|error| at("make the directories above", &error))?;
    }
    let file = open(path, creation.replaces.or(made))?;
    let result = fill_file(creation, &file, interrupt, observer);
    if result.is_err() && creation.replaces.is_none() {
        // The reason of the failure matters more than that of a failed removal.
        let _ = std::fs::remove_file(path);
    }
    match result {
        Err(error) if error.kind() == io::ErrorKind::Interrupted && interrupt.load(Relaxed) => {
            return Err(Unprepared::Interrupted);
        }
        result => result.map_err(|error| at("write", &error))?,
    }
    let status = file.metadata().map_err(|error| at("look at", &error))?;
    Ok(FileIdentity { device: status.dev(), inode: status.ino() })
}

/// Where a symbolic link leads, even to nothing: a new file is made under a name that is free, and
/// a link's own name is not.
fn end_of_links(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(next) = std::fs::read_link(&place) else { break };
        place = place.parent().map_or(next.clone(), |folder| folder.join(&next));
    }
    place
}

/// Opens the file: a new one that nobody else made meanwhile, or the very one that was checked.
fn open(path: &Path, existing: Option<FileIdentity>) -> Result<File, String> {
    let name = path.display();
    let Some(identity) = existing else {
        return OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|error| format!("cannot create '{name}': {error}"));
    };
    let look = sys::file::open_to_look(path).map_err(|error| format!("cannot open '{name}': {error}"))?;
    same_file(&look, path, identity)?;
    check_unused(&look, path)?;
    drop(look);
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|error| format!("cannot open '{name}' for writing: {error}"))?;
    same_file(&file, path, identity)?;
    file.set_len(0).map_err(|error| format!("cannot empty '{name}': {error}"))?;
    Ok(file)
}

/// Just before an existing file is written to: nobody else has it open. `look` is the only
/// descriptor of it that this process has.
///
/// # Errors
///
/// A sentence that says so.
pub(crate) fn check_unused(look: &File, path: &Path) -> Result<(), String> {
    match sys::lease::write_lease_within(look, PATIENCE) {
        Ok(WriteLease::Refused) => {
            Err(format!("'{}' was opened by another process after it was checked; it was not touched", path.display()))
        }
        // Where leases do not work, the check before planning looked into /proc and said so.
        Ok(WriteLease::Granted) | Err(_) => Ok(()),
    }
}

fn same_file(file: &File, path: &Path, identity: FileIdentity) -> Result<(), String> {
    let status = file.metadata().map_err(|error| format!("cannot look at '{}': {error}", path.display()))?;
    if (FileIdentity { device: status.dev(), inode: status.ino() }) == identity {
        Ok(())
    } else {
        Err(format!("'{}' is no longer the file that was checked; it was not touched", path.display()))
    }
}

fn fill_file(creation: &Creation, file: &File, interrupt: &AtomicBool, observer: &mut dyn Observer) -> io::Result<()> {
    set_mark(file, Mark { size_bytes: creation.size_bytes, fill: creation.fill })?;
    sys::create::allocate(file, creation.size_bytes)?;
    let direct = creation.direct_alignment_bytes.filter(|_| sys::create::set_direct(file, true).is_ok());
    // Direct writes end where the alignment does; the rest goes through the cache.
    let unaligned = direct.map_or(0, |alignment| creation.size_bytes % alignment.max(1));
    let bulk = creation.size_bytes - unaligned;
    write_in_parallel(creation, file, bulk, interrupt, observer)?;
    if direct.is_some() {
        sys::create::set_direct(file, false)?;
    }
    if unaligned > 0 {
        chunk(creation.fill, bulk)?.write_to(file, 0, unaligned, bulk)?;
    }
    file.sync_all()?;
    observer.observe(&Event::Creating {
        path: &creation.path,
        written_bytes: creation.size_bytes,
        size_bytes: creation.size_bytes,
    });
    // Advice; a cache that stays warm is no failure.
    let _ = sys::create::drop_cached(file);
    Ok(())
}

/// Marks a file as ours; file systems without such attributes have none.
///
/// # Errors
///
/// Those that mean more than "not possible here".
pub(crate) fn set_mark(file: &File, mark: Mark) -> io::Result<()> {
    match sys::xattr::set(file, mark::ATTRIBUTE, mark.to_string().as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
        _ => Ok(()),
    }
}

/// What the writers share.
struct Progress {
    next: AtomicU64,
    written: AtomicU64,
    give_up: AtomicBool,
    error: Mutex<Option<io::Error>>,
}

impl Progress {
    /// All writers give up; the first reason is kept.
    fn fail(&self, error: io::Error) {
        self.give_up.store(true, Relaxed);
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

fn write_in_parallel(
    creation: &Creation,
    file: &File,
    bytes: u64,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> io::Result<()> {
    let progress = Progress {
        next: AtomicU64::new(0),
        written: AtomicU64::new(0),
        give_up: AtomicBool::new(false),
        error: Mutex::new(None),
    };
    let mut tell = |written_bytes| {
        observer.observe(&Event::Creating { path: &creation.path, written_bytes, size_bytes: creation.size_bytes });
    };
    tell(0);
    std::thread::scope(|scope| {
        let mut writers = Vec::with_capacity(WRITERS);
        for _ in 0..WRITERS {
            let write = || write_chunks(creation.fill, file, bytes, &progress);
            match std::thread::Builder::new().spawn_scoped(scope, write) {
                Ok(writer) => writers.push(writer),
                // One is slower, but enough.
                Err(_) if !writers.is_empty() => break,
                Err(error) => {
                    let message = format!("no thread can be started for it: {error}");
                    progress.fail(io::Error::new(error.kind(), message));
                    break;
                }
            }
        }
        while writers.iter().any(|writer| !writer.is_finished()) {
            std::thread::park_timeout(Duration::from_millis(20));
            if interrupt.load(Relaxed) {
                progress.give_up.store(true, Relaxed);
            }
            match progress.written.load(Relaxed) {
                // Said already, and it means that a file is begun.
                0 => {}
                written_bytes => tell(written_bytes),
            }
        }
    });
    match progress.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None if interrupt.load(Relaxed) => Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted")),
        None => Ok(()),
    }
}

fn write_chunks(content: Fill, file: &File, bytes: u64, progress: &Progress) {
    let write = || -> io::Result<()> {
        let mut memory = chunk(content, 0)?;
        while !progress.give_up.load(Relaxed) {
            let at = progress.next.fetch_add(CHUNK_BYTES, Relaxed);
            if at >= bytes {
                break;
            }
            let length = (bytes - at).min(CHUNK_BYTES);
            if content == Fill::Random {
                let mut rng = Rng::new(at);
                memory.fill(0, length, |part, _| fill::random(part, &mut rng));
            }
            memory.write_to(file, 0, length, at)?;
            progress.written.fetch_add(length, Relaxed);
        }
        Ok(())
    };
    if let Err(error) = write() {
        progress.fail(error);
    }
}

/// A chunk's content, for a chunk that begins at `offset` of the file.
fn chunk(content: Fill, offset: u64) -> io::Result<Mapping> {
    let mut memory = Mapping::new(CHUNK_BYTES, 0)?;
    let mut rng = Rng::new(offset);
    match content {
        Fill::Ramp | Fill::Mixed => memory.fill(0, CHUNK_BYTES, |part, at| fill::ramp(part, offset + at)),
        Fill::Random => memory.fill(0, CHUNK_BYTES, |part, _| fill::random(part, &mut rng)),
        Fill::Zero => {}
    }
    Ok(memory)
}
