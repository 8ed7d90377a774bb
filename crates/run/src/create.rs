//! Writing a file from start to end: real blocks, never only reserved ones, several at a time.

use crate::file_marks;
use crate::observer::{Event, Observer};
use crate::written_files::WrittenFiles;
use hot::fill;
use hot::reducible::Reducible;
use hot::rng::Rng;
use model::facts::Fill;
use model::plan::{Blocks, Creation};
use model::record::{Outcome, TimeSpanRecord};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use sys::mapping::Mapping;
use sys::new_file::NewFile;

/// Bytes per write.
const CHUNK_BYTES: u64 = 1 << 20;

/// Most symbolic links that are followed, as in the kernel.
const LINKS_MAX: usize = 40;

/// Writes in flight: more do not make the devices faster that four keep busy.
const WRITERS: usize = 4;

/// Why a timespan was not prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unprepared {
    /// Ctrl+C, which is not a failure.
    Interrupted,
    /// A sentence with the reason.
    Failed(String),
}

impl From<String> for Unprepared {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

impl Unprepared {
    /// The timespan that did not come to be.
    pub(crate) fn record(self, observer: &mut dyn Observer) -> TimeSpanRecord {
        let outcome = match self {
            Self::Interrupted => {
                observer.observe(&Event::Interrupted);
                Outcome::Stopped
            }
            Self::Failed(reason) => Outcome::Failed { errors: vec![reason] },
        };
        TimeSpanRecord { outcome, ..TimeSpanRecord::default() }
    }
}

/// Writes a file as planned. A new file appears under its name when it is whole; if anything fails before, nothing
/// is left of it. One that was there before is written anew in place and never removed.
///
/// # Errors
///
/// A sentence with the path and the reason.
pub(crate) fn create(
    creation: &Creation,
    files: &mut WrittenFiles,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(), Unprepared> {
    let path = &end_of_links(&creation.path);
    let result = if creation.replaces.is_some() || files.created_at(&creation.path).is_some() {
        write_anew(creation, path, files, interrupt, observer)
    } else {
        write_new(creation, path, files, interrupt, observer)
    };
    result.map_err(|failure| match failure {
        Failure::Io(error) if error.kind() == io::ErrorKind::Interrupted && interrupt.load(Relaxed) => {
            Unprepared::Interrupted
        }
        Failure::Io(error) => Unprepared::Failed(format!("cannot write '{}': {error}", creation.path.display())),
        Failure::Told(reason) => Unprepared::Failed(reason),
    })
}

/// Why a file was not written.
enum Failure {
    /// While it was being filled.
    Io(io::Error),
    /// A sentence.
    Told(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Told(reason)
    }
}

fn write_new(
    creation: &Creation,
    path: &Path,
    files: &mut WrittenFiles,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(), Failure> {
    let at = |what: &str, error: &io::Error| format!("cannot {what} '{}': {error}", creation.path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Some(directory) = creation.new_directory.as_ref().filter(|_| !folder.exists()) {
        sys::confinement::create_folders(folder).map_err(|error| at("create the parent directories of", &error))?;
        observer.observe(&Event::DirectoryCreated { directory });
    }
    let Some(name) = path.file_name() else { return Err(at("create", &io::ErrorKind::InvalidFilename.into()).into()) };
    let new = match NewFile::create(folder, name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return take(creation, path, files),
        result => result.map_err(|error| at("create", &error))?,
    };
    if new.has_private_name() {
        files.remove_leftovers(folder);
    }
    file_marks::mark_as_open(new.file(), creation.size_bytes, creation.fill).map_err(|error| at("mark", &error))?;
    fill_file(creation, new.file(), interrupt, observer)?;
    let stamp = file_marks::close(new.file(), creation.fill).map_err(|error| at("mark", &error))?;
    match new.publish(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return take(creation, path, files),
        result => result.map_err(|error| at("create", &error))?,
    }
    files.insert(stamp, &creation.path);
    Ok(())
}

/// Somebody has made a file there since it was looked for. It is used if it is what was to be made; else it stays
/// as it is.
fn take(creation: &Creation, path: &Path, files: &mut WrittenFiles) -> Result<(), Failure> {
    let name = creation.path.display();
    let look = sys::file::open_to_look(path).map_err(|error| format!("cannot open '{name}': {error}"))?;
    let mark = file_marks::own_mark(&look).map_err(|error| format!("cannot check '{name}': {error}"))?;
    if mark.is_none_or(|mark| (mark.size_bytes, mark.fill) != (creation.size_bytes, creation.fill)) {
        return Err(Failure::Told(format!(
            "cannot create '{name}': another process has created it since the check; it was not touched"
        )));
    }
    files.insert(file_marks::stamp(&look)?, &creation.path);
    Ok(())
}

/// The file keeps its inode, its permissions and its links.
fn write_anew(
    creation: &Creation,
    path: &Path,
    files: &mut WrittenFiles,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(), Failure> {
    let name = path.display();
    // Closed again at once: otherwise the kernel counts it as another user.
    drop(files.open_checked(path, creation.replaces)?);
    let file = sys::confinement::open_to_change(path);
    let file = file.map_err(|error| format!("cannot open '{name}' for writing: {error}"))?;
    files.compare(&file, path, creation.replaces)?;
    files.begin_anew(&file, &creation.path, creation.size_bytes, creation.fill)?;
    file.set_len(0).map_err(|error| format!("cannot truncate '{name}': {error}"))?;
    fill_file(creation, &file, interrupt, observer).inspect_err(|_| {
        // What is not whole must not look so: its old data is gone anyway.
        let _ = file.set_len(0);
    })?;
    // Others could find it all the time, so it is closed as files are that tests have written to.
    files.written_anew(file_marks::stamp(&file)?, &creation.path, creation.fill);
    Ok(())
}

/// Where a symbolic link leads, even to nothing: a new file is made under a name that is free, and
/// a link's own name is not.
fn end_of_links(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    if sys::confinement::covers(path) {
        return place;
    }
    for _ in 0..LINKS_MAX {
        let Ok(next) = std::fs::read_link(&place) else { break };
        place = place.parent().map_or(next.clone(), |folder| folder.join(&next));
    }
    place
}

fn fill_file(creation: &Creation, file: &File, interrupt: &AtomicBool, observer: &mut dyn Observer) -> io::Result<()> {
    match creation.blocks {
        Blocks::Written => {}
        Blocks::Reserved => {
            sys::create::reserve(file, creation.size_bytes)?;
            return file.sync_all();
        }
        Blocks::None => return Ok(()),
    }
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
        chunk(creation, bulk)?.write_to(file, 0, unaligned, bulk)?;
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

/// State that the writers share.
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
            let write = || write_chunks(creation, file, bytes, &progress);
            match std::thread::Builder::new().spawn_scoped(scope, write) {
                Ok(writer) => writers.push(writer),
                // One is slower, but enough.
                Err(_) if !writers.is_empty() => break,
                Err(error) => {
                    let message = format!("cannot start a writer thread: {error}");
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

fn write_chunks(creation: &Creation, file: &File, bytes: u64, progress: &Progress) {
    let write = || -> io::Result<()> {
        let mut memory = chunk(creation, 0)?;
        let reducible = reducible(creation.fill);
        while !progress.give_up.load(Relaxed) {
            let at = progress.next.fetch_add(CHUNK_BYTES, Relaxed);
            if at >= bytes {
                break;
            }
            let length = (bytes - at).min(CHUNK_BYTES);
            if creation.fill == Fill::Random {
                let mut rng = Rng::new(at);
                memory.fill(0, length, |part, _| fill::random(part, &mut rng));
            } else if let Some(reducible) = &reducible {
                let mut rng = own_rng(creation, at);
                memory.fill(0, length, |part, _| reducible.fill(part, &mut rng));
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

fn reducible(fill: Fill) -> Option<Reducible> {
    match fill {
        Fill::Reducible(reduction) => Some(Reducible::new(reduction)),
        _ => None,
    }
}

/// Random numbers that no other file and chunk has: files must not repeat each other's blocks.
fn own_rng(creation: &Creation, offset: u64) -> Rng {
    let path = creation.path.as_os_str().as_encoded_bytes().iter();
    // FNV-1a.
    let name =
        path.fold(0xCBF2_9CE4_8422_2325, |hash: u64, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
    Rng::new(name.wrapping_add(offset))
}

/// A chunk's content, for a chunk that begins at `offset` of the file.
fn chunk(creation: &Creation, offset: u64) -> io::Result<Mapping> {
    let mut memory = Mapping::new(CHUNK_BYTES, 0)?;
    let mut rng = Rng::new(offset);
    match creation.fill {
        Fill::Ramp | Fill::Mixed => memory.fill(0, CHUNK_BYTES, |part, at| fill::ramp(part, offset + at)),
        Fill::Random => memory.fill(0, CHUNK_BYTES, |part, _| fill::random(part, &mut rng)),
        Fill::Zero => {}
        Fill::Reducible(reduction) => {
            let (reducible, mut rng) = (Reducible::new(reduction), own_rng(creation, offset));
            memory.fill(0, CHUNK_BYTES, |part, _| reducible.fill(part, &mut rng));
        }
    }
    Ok(memory)
}
