//! Targets as memory: shared mappings of files, copies in and out, and making writes durable.
//!
//! If a file is truncated while it is mapped, the next access beyond its end raises SIGBUS. Every copy is therefore
//! guarded: a handler maps an empty page at the faulting address, so that the copy can continue, and the copy reports
//! an I/O error. The file is then mapped there again: no later copy reads the empty page as data of the file, and each
//! one tests anew whether the file has the page.

use crate::cache_lines;
use crate::mapping::Mapping;
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags};
use std::cell::Cell;
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize, compiler_fence};

/// A file in memory, shared with all processes that have it open.
#[derive(Debug)]
pub struct FileMapping {
    file: OwnedFd,
    protection: ProtFlags,
    start: *mut u8,
    bytes: usize,
    /// Empty pages remain in the mapping: no copy is possible any more.
    is_broken: Cell<bool>,
}

/// Method of making a write durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persist {
    /// `msync` of the pages (`-Nv`).
    Pages,
    /// Write back the CPU's cache lines and wait (`-Nn`).
    Lines,
    /// Write them back without waiting (`-Ni`).
    LinesWithoutWaiting,
}

// SAFETY: the mapping is owned by this value alone; copies through raw pointers are all that
// touches it, and other writers of the file are expected.
unsafe impl Send for FileMapping {}

impl FileMapping {
    /// Maps the first `bytes` bytes of a file that is open for reading, and for writing too if
    /// `writable`.
    ///
    /// # Errors
    ///
    /// The kernel's; `InvalidInput` if the file does not fit into the address space.
    pub fn new(file: impl AsFd, bytes: u64, writable: bool) -> io::Result<Self> {
        install_guard()?;
        let bytes = usize::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let protection = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let file = file.as_fd().try_clone_to_owned()?;
        // SAFETY: a new mapping at an address of the kernel's choice; no reference into it is made.
        let start = unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, &file, 0)? };
        Ok(Self { file, protection, start: start.cast(), bytes, is_broken: Cell::new(false) })
    }

    /// Copies `length` bytes at `offset` into `buffer` at `buffer_offset`.
    ///
    /// # Errors
    ///
    /// `EIO` if the file ends before, or its device fails.
    ///
    /// # Panics
    ///
    /// If either range is outside its memory.
    pub fn read(
        &self,
        offset: u64,
        buffer: &mut Mapping,
        buffer_offset: u64,
        length: u64,
        non_temporal: bool,
    ) -> io::Result<()> {
        let to = inside(buffer.address(), buffer.len(), buffer_offset, length);
        self.copy(self.at(offset, length), to, offset, length, non_temporal)
    }

    /// Copies `length` bytes of `buffer` at `buffer_offset` to `offset`.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    ///
    /// # Panics
    ///
    /// As for [`read`](Self::read).
    pub fn write(
        &self,
        offset: u64,
        buffer: &Mapping,
        buffer_offset: u64,
        length: u64,
        non_temporal: bool,
    ) -> io::Result<()> {
        let from = inside(buffer.address(), buffer.len(), buffer_offset, length);
        self.copy(from, self.at(offset, length), offset, length, non_temporal)
    }

    /// Makes data written to a range durable.
    ///
    /// # Errors
    ///
    /// Those of `msync`; `Unsupported` if this CPU cannot write cache lines back.
    ///
    /// # Panics
    ///
    /// If the range is outside the mapping.
    pub fn persist(&self, offset: u64, length: u64, how: Persist) -> io::Result<()> {
        let at = self.at(offset, length);
        match how {
            Persist::Pages => {
                let page = rustix::param::page_size();
                let skipped = at as usize % page;
                // SAFETY: the range, widened to the page it begins in, lies inside the mapping.
                unsafe {
                    let first = at.sub(skipped).cast::<c_void>();
                    rustix::mm::msync(first, length as usize + skipped, MsyncFlags::SYNC)?;
                }
                Ok(())
            }
            Persist::Lines | Persist::LinesWithoutWaiting => {
                // SAFETY: `at` was checked to have `length` bytes inside the mapping.
                let done = unsafe { cache_lines::write_back(at, length as usize) };
                if how == Persist::Lines {
                    cache_lines::wait_for_stores();
                }
                if done { Ok(()) } else { Err(io::Error::from(io::ErrorKind::Unsupported)) }
            }
        }
    }

    fn at(&self, offset: u64, length: u64) -> *mut u8 {
        inside(self.start, self.bytes as u64, offset, length)
    }

    fn copy(&self, from: *const u8, to: *mut u8, offset: u64, length: u64, non_temporal: bool) -> io::Result<()> {
        if self.is_broken.get() {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        let guarded = self.at(offset, length) as usize;
        GUARD.with(|guard| guard.begin(guarded, guarded + length as usize));
        // SAFETY: both ranges were checked to lie inside their memory; one is a mapping of a file
        // and the other an anonymous one, so they cannot overlap. A fault in the file's mapping is
        // answered by the guard.
        unsafe {
            if non_temporal {
                cache_lines::copy_past(from, to, length as usize);
            } else {
                ptr::copy_nonoverlapping(from, to, length as usize);
            }
        }
        if GUARD.with(Guard::end) {
            self.map_again(offset, length);
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(())
    }

    /// Maps the file again in place of the empty pages of a fault in a range of the mapping.
    #[cold]
    fn map_again(&self, offset: u64, length: u64) {
        let page = rustix::param::page_size() as u64;
        let first = offset - offset % page;
        let bytes = (offset + length - first).next_multiple_of(page) as usize;
        // SAFETY: these are whole pages of this mapping, which reaches to the end of its last page; the same part of the
        // same file takes their place, and no reference into them exists.
        let mapped = unsafe {
            let place = self.at(first, 0).cast();
            rustix::mm::mmap(place, bytes, self.protection, MapFlags::SHARED | MapFlags::FIXED, &self.file, first)
        };
        self.is_broken.set(mapped.is_err());
    }
}

/// Runs `access`, which touches this range of a mapped file: `bytes` bytes from `first` on; false if it raised a fault.
#[inline]
pub(crate) fn guarded(first: usize, bytes: usize, access: impl FnOnce()) -> bool {
    GUARD.with(|guard| guard.begin(first, first + bytes));
    access();
    !GUARD.with(Guard::end)
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped; nothing points into it any more.
        let unmapped = unsafe { rustix::mm::munmap(self.start.cast(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

fn inside(start: *mut u8, bytes: u64, offset: u64, length: u64) -> *mut u8 {
    let fits = offset.checked_add(length).is_some_and(|end| end <= bytes);
    assert!(fits, "{offset}+{length} is outside a mapping of {bytes} bytes");
    start.wrapping_add(offset as usize)
}

/// Shared by a thread's copies and the signal handler that interrupts them.
///
/// The copy does not name these cells, so only the fences keep the compiler from moving their accesses across it.
struct Guard {
    /// Addresses whose faults belong to the current copy.
    first: AtomicUsize,
    end: AtomicUsize,
    faulted: AtomicBool,
}

thread_local! {
    static GUARD: Guard =
        const { Guard { first: AtomicUsize::new(0), end: AtomicUsize::new(0), faulted: AtomicBool::new(false) } };
}

impl Guard {
    fn begin(&self, first: usize, end: usize) {
        self.faulted.store(false, Relaxed);
        self.first.store(first, Relaxed);
        self.end.store(end, Relaxed);
        compiler_fence(SeqCst);
    }

    /// True if the copy raised a fault.
    fn end(&self) -> bool {
        compiler_fence(SeqCst);
        self.first.store(0, Relaxed);
        self.end.store(0, Relaxed);
        self.faulted.load(Relaxed)
    }

    fn contains(&self, address: usize) -> bool {
        (self.first.load(Relaxed)..self.end.load(Relaxed)).contains(&address)
    }
}

pub(crate) fn install_guard() -> io::Result<()> {
    static INSTALLED: OnceLock<Option<i32>> = OnceLock::new();
    let error = INSTALLED.get_or_init(|| {
        // SAFETY: the structure is fully initialised; the handler only accesses thread-local atomics
        // that need no initialisation and makes system calls that are safe in handlers.
        let failed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) != 0
        };
        failed.then(|| io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL))
    });
    error.map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(errno)))
}

extern "C" fn on_bus_error(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes a valid structure to a handler installed with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    if GUARD.with(|guard| guard.contains(address)) {
        let page = rustix::param::page_size();
        let place = ptr::without_provenance_mut::<c_void>(address - address % page);
        // SAFETY: the page lies in a file mapping that the interrupted copy of this very thread is
        // using; an empty private page takes its place.
        let mapped = unsafe {
            libc::mmap(
                place,
                page,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        if mapped != libc::MAP_FAILED {
            GUARD.with(|guard| guard.faulted.store(true, Relaxed));
            return;
        }
    }
    // Not ours: the default action ends the program when the access is repeated.
    // SAFETY: resetting a signal to its default action is always sound.
    unsafe {
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn mapped(bytes: u64) -> (std::fs::File, FileMapping, Mapping) {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        file.set_len(bytes).expect("room");
        let mapping = FileMapping::new(&file, bytes, true).expect("mappable");
        (file, mapping, Mapping::new(bytes, 0).expect("memory"))
    }

    #[test]
    fn copies_reach_the_file_and_come_back() {
        for non_temporal in [false, true] {
            let (file, mapping, mut buffer) = mapped(1 << 16);
            buffer.fill(0, 1 << 16, |part, at| part.iter_mut().zip(at..).for_each(|(byte, n)| *byte = n as u8));
            mapping.write(4099, &buffer, 3, 5000, non_temporal).expect("inside");
            mapping.persist(4099, 5000, Persist::Pages).expect("msync");
            let mut back = [0; 2];
            file.read_exact_at(&mut back, 4099).expect("inside");
            assert_eq!(back, [3, 4]);
            let mut target = Mapping::new(8192, 0).expect("memory");
            mapping.read(4099, &mut target, 100, 5000, non_temporal).expect("inside");
            target.read(100, &mut back);
            assert_eq!(back, [3, 4]);
            target.read(5099, &mut back);
            assert_eq!(back, [((3 + 4999) % 256) as u8, 0]);
        }
    }

    #[test]
    fn a_truncated_file_is_an_error_and_not_the_end() {
        let (file, mapping, mut buffer) = mapped(1 << 16);
        mapping.read(32_768, &mut buffer, 0, 4096, false).expect("still there");
        file.set_len(8192).expect("shorter");
        let error = mapping.read(32_768, &mut buffer, 0, 4096, false).expect_err("gone");
        assert_eq!(error.raw_os_error(), Some(libc::EIO));
        mapping.read(0, &mut buffer, 0, 4096, false).expect("the rest is still there");
        // The page that the copy used instead is no data of the file.
        for _ in 0..2 {
            for offset in [8192, 32_700, 65_535] {
                mapping.read(offset, &mut buffer, 0, 1, false).expect_err("still gone");
                mapping.write(offset, &buffer, 0, 1, false).expect_err("still gone");
            }
        }
        file.set_len(1 << 16).expect("as long as before");
        buffer.write(0, b"again");
        mapping.write(32_768, &buffer, 0, 5, false).expect("there again");
        let mut back = [0; 5];
        file.read_exact_at(&mut back, 32_768).expect("inside");
        assert_eq!(&back, b"again");
    }

    // Shows switches: -Nn
    // Shows switches: -Ni
    #[test]
    fn cache_lines_are_written_back_where_the_cpu_can() {
        let (_file, mapping, buffer) = mapped(1 << 16);
        mapping.write(100, &buffer, 0, 1000, false).expect("inside");
        for how in [Persist::Lines, Persist::LinesWithoutWaiting] {
            assert_eq!(mapping.persist(100, 1000, how).is_ok(), cache_lines::can_write_back());
        }
    }
}
