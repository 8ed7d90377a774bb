//! Named events: switches that processes of one user share by name.
//!
//! An event is created unset, stays set once it is set, and is gone when the last process that
//! holds it has ended, in whatever way. The kernel does the counting:
//!
//! * One file per name in a folder of this user; it holds the switch, a futex word, and the name.
//! * Every holder has a shared lock (`flock`) on the file, and the kernel releases the lock of a
//!   process that dies. So a file on which an exclusive lock can be had is a dead one.
//! * A file is given its name only when it is complete and locked, and its name is only removed by
//!   a process that has it locked exclusively. So a file with a name is always complete, and a
//!   process with a shared lock on a file that still has its name holds a live event: it can no
//!   longer be removed. A process that finds the name gone after waiting for the lock starts over.
//! * The last holder removes the file. `flock` releases the shared lock before it tries for the
//!   exclusive one; of several concurrent ones the last one to release finds no shared lock left, so
//!   at least one of them gets it. Leftovers of a killed process are removed by the next one that
//!   looks for the name or creates any event.
//!
//! Exclusive locks are held for a few system calls only. A process killed between these releases its
//! lock like any other; only one that is stopped just there blocks others.
//!
//! Users cannot reach each other's events: the folder is `0700`, files are `0600`, and both are
//! used only if they belong to this user. Processes with a `/dev/shm` of their own (containers, as
//! a rule) have events of their own.

use crate::futex::{SharedWord, WORD_BYTES};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

/// File systems in memory that all processes of a machine share, in order of preference; disks
/// do as well.
const PLACES: [&str; 3] = ["/dev/shm", "/run/shm", "/tmp"];

/// Longest name of an event. The kernel admits no longer argument anyway.
const NAME_BYTES_MAX: usize = 128 << 10;

/// The maximum number of attempts if other processes interfere; each time one of them made progress.
const ATTEMPTS: u32 = 10_000;

/// The maximum number of files that are checked for dead ones before an event is created.
const SWEEP_MAX: usize = 1000;

/// The folder with the events of this user.
#[derive(Clone, Debug)]
pub struct EventFolder {
    folder: Arc<OwnedFd>,
}

/// An event that this process holds until the value is dropped.
#[derive(Debug)]
pub struct NamedEvent {
    word: SharedWord,
    /// Has a shared lock.
    file: File,
    folder: EventFolder,
    file_name: String,
}

impl EventFolder {
    /// The folder of this user, created if it is missing.
    pub fn of_this_user() -> io::Result<Self> {
        let place = PLACES.iter().map(Path::new).find(|place| place.is_dir() && crate::file::may_write(place).is_ok());
        let Some(place) = place else {
            return Err(io::Error::new(
                ErrorKind::NotFound,
                format!("events need a writable directory: one of {}", PLACES.join(", ")),
            ));
        };
        Self::at(&place.join(format!("diskspd-{}", rustix::process::geteuid().as_raw())))
    }

    /// The folder at `path`, created if it is missing.
    pub fn at(path: &Path) -> io::Result<Self> {
        match rustix::fs::mkdirat(CWD, path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(about(path, &error.into())),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(|error| about(path, &error.into()))?;
        let status = rustix::fs::fstat(&folder)?;
        if status.st_uid != rustix::process::geteuid().as_raw() {
            return Err(refused(path, "belongs to another user"));
        }
        if Mode::from_raw_mode(status.st_mode).intersects(Mode::RWXG | Mode::RWXO) {
            return Err(refused(path, "is accessible to other users; its mode must be 0700"));
        }
        Ok(Self { folder: Arc::new(folder) })
    }

    /// The event with this name, created if it does not exist.
    pub fn create(&self, name: &[u8]) -> io::Result<NamedEvent> {
        if name.len() > NAME_BYTES_MAX {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                format!("the name is {} bytes long (maximum {NAME_BYTES_MAX})", name.len()),
            ));
        }
        self.sweep();
        for _ in 0..ATTEMPTS {
            if let Some(event) = self.open(name)? {
                return Ok(event);
            }
            if let Some(event) = self.make(name)? {
                return Ok(event);
            }
        }
        Err(unsettled())
    }

    /// The event with this name; `None` if no process holds one.
    pub fn open(&self, name: &[u8]) -> io::Result<Option<NamedEvent>> {
        let file_name = file_name(name);
        for _ in 0..ATTEMPTS {
            let Some(file) = self.open_file(&file_name)? else { return Ok(None) };
            match file.try_lock() {
                Ok(()) => {
                    // Dead, unless another process has just removed it. The name of a file that is locked exclusively
                    // belongs to that file: only this process may remove it.
                    if file.metadata()?.nlink() > 0 {
                        self.unlink(&file_name);
                    }
                    continue;
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Waits while another process checks whether it is dead, as above.
            lock_shared(&file)?;
            if file.metadata()?.nlink() == 0 {
                continue;
            }
            check_name(&file, name)?;
            return Ok(Some(NamedEvent { word: SharedWord::map(&file)?, file, folder: self.clone(), file_name }));
        }
        Err(unsettled())
    }

    /// Creates an event; `None` if another process was faster.
    fn make(&self, name: &[u8]) -> io::Result<Option<NamedEvent>> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&*self.folder, ".", flags, Mode::RUSR | Mode::WUSR)?);
        // Written, not only extended: so the page is allocated, even if the memory is used up later.
        file.write_all_at(&[0; WORD_BYTES], 0)?;
        file.write_all_at(name, WORD_BYTES as u64)?;
        lock_shared(&file)?;
        let word = SharedWord::map(&file)?;
        let file_name = file_name(name);
        let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
        match rustix::fs::linkat(CWD, &unnamed, &*self.folder, &file_name, AtFlags::SYMLINK_FOLLOW) {
            Ok(()) => Ok(Some(NamedEvent { word, file, folder: self.clone(), file_name })),
            Err(Errno::EXIST) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a file in the folder, if it is there and can be trusted.
    fn open_file(&self, file_name: &str) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&*self.folder, file_name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let status = rustix::fs::fstat(&file)?;
        let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        if !is_file || status.st_uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(
                ErrorKind::PermissionDenied,
                "the file of the event is not a regular file owned by this user",
            ));
        }
        Ok(Some(file))
    }

    /// Removes files left by killed processes; failures are ignored.
    fn sweep(&self) {
        let Ok(entries) = Dir::read_from(&*self.folder) else { return };
        for entry in entries.flatten().take(SWEEP_MAX) {
            let Ok(name) = entry.file_name().to_str() else { continue };
            if !is_file_name(name) {
                continue;
            }
            let Ok(Some(file)) = self.open_file(name) else { continue };
            if file.try_lock().is_ok() && file.metadata().is_ok_and(|status| status.nlink() > 0) {
                self.unlink(name);
            }
        }
    }

    /// Removes a name; only for a process that has the file with this name locked exclusively.
    fn unlink(&self, file_name: &str) {
        // It is missing if the user removed it.
        let _ = rustix::fs::unlinkat(&*self.folder, file_name, AtFlags::empty());
    }
}

impl NamedEvent {
    /// True if it is set.
    pub fn is_set(&self) -> bool {
        self.word.is_set()
    }

    /// Sets it, for good, and wakes all who wait for it.
    pub fn set(&self) {
        self.word.set();
    }

    /// Sleeps until the event is set, `CLOCK_MONOTONIC` reads `until_ns`, or a signal arrives. True
    /// if it is set.
    pub fn wait_until_ns(&self, until_ns: u64) -> bool {
        self.word.wait_until_ns(until_ns)
    }
}

impl Drop for NamedEvent {
    fn drop(&mut self) {
        // The last holder removes the file. Closing it releases the lock.
        if self.file.try_lock().is_ok() && self.file.metadata().is_ok_and(|status| status.nlink() > 0) {
            self.folder.unlink(&self.file_name);
        }
    }
}

/// Takes a shared lock; exclusive ones are held for moments only.
fn lock_shared(file: &File) -> io::Result<()> {
    loop {
        match file.lock_shared() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Any bytes may be an event's name, so its file is named by their hash (64-bit FNV-1a).
fn file_name(name: &[u8]) -> String {
    let hash = name
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

fn is_file_name(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Two names with the same hash cannot be events at the same time.
fn check_name(file: &File, name: &[u8]) -> io::Result<()> {
    let mut found = vec![0; name.len()];
    let length = (WORD_BYTES + name.len()) as u64;
    if file.metadata()?.len() == length {
        file.read_exact_at(&mut found, WORD_BYTES as u64)?;
        if found == name {
            return Ok(());
        }
    }
    Err(io::Error::new(
        ErrorKind::AlreadyExists,
        "an event with a different name already uses the file of this event; choose another name",
    ))
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("'{}': {error}", path.display()))
}

fn refused(path: &Path, reason: &str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, format!("'{}' {reason}", path.display()))
}

fn unsettled() -> io::Error {
    io::Error::new(ErrorKind::ResourceBusy, "other processes keep creating and removing this event")
}

#[cfg(test)]
mod tests;
