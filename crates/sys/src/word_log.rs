//! A file to which one thread appends words of 64 bits, by storing them in memory shared with the file: a stored word
//! survives the end of the process at once, and the end of the machine from the next [`sync`](LogExtender::sync) on.
//!
//! The file grows in segments whose blocks are reserved before they are mapped. The thread that appends makes no system
//! call, takes no lock and allocates nothing; another one prepares segments for it.

use crate::file_mapping;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};

/// Bytes before the first word: a multiple of every page size.
pub const HEAD_BYTES: u64 = 64 << 10;

const WORDS: usize = 1 << 19;

/// Growth of the file in bytes: 4 MiB.
pub const SEGMENT_BYTES: u64 = 8 * WORDS as u64;

/// State shared by both sides.
#[derive(Debug)]
struct Shared {
    file: File,
    /// The writer's next segment; null = none is ready.
    next: AtomicPtr<AtomicU64>,
    /// The writer's last segment, no longer used; null = none.
    used: AtomicPtr<AtomicU64>,
    /// No more segments will follow, or one of them lost its file.
    is_broken: AtomicBool,
}

/// The side that appends.
#[derive(Debug)]
pub struct LogWriter {
    shared: Arc<Shared>,
    segment: *mut AtomicU64,
    /// Number of words in it.
    at: usize,
}

/// The side that prepares segments.
#[derive(Debug)]
pub struct LogExtender {
    shared: Arc<Shared>,
    /// Offset of the next segment.
    end: u64,
}

// SAFETY: the writer owns its segment alone; it is memory that is tied to no thread.
unsafe impl Send for LogWriter {}

/// A log in an empty file that is open for reading and writing, with `head` at its beginning.
///
/// # Errors
///
/// `ENOSPC` above all; `InvalidInput` if the head is longer than [`HEAD_BYTES`].
pub fn create(file: File, head: &[u8]) -> io::Result<(LogWriter, LogExtender)> {
    if head.len() as u64 > HEAD_BYTES {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    file_mapping::install_guard()?;
    reserve(&file, 0, HEAD_BYTES)?;
    file.write_all_at(head, 0)?;
    let none = || AtomicPtr::new(ptr::null_mut());
    let shared = Arc::new(Shared { file, next: none(), used: none(), is_broken: AtomicBool::new(false) });
    let mut extender = LogExtender { shared: Arc::clone(&shared), end: HEAD_BYTES };
    let segment = extender.segment()?;
    let writer = LogWriter { shared, segment, at: 0 };
    extender.extend()?;
    Ok((writer, extender))
}

impl LogWriter {
    /// Appends words, in their order; false, and none is appended, if there is no room for them yet.
    ///
    /// # Panics
    ///
    /// If these are more words than a segment has.
    #[inline]
    pub fn push(&mut self, words: &[u64]) -> bool {
        assert!(words.len() < WORDS, "too many words");
        // One word is left for `push_last`.
        if self.at + words.len() < WORDS {
            self.store(words);
            return true;
        }
        self.push_over(words)
    }

    /// Appends a word for which there is always room. No other may follow.
    pub fn push_last(&mut self, word: u64) {
        if self.at < WORDS {
            self.store(&[word]);
        }
    }

    /// True if no more room will become available.
    pub fn is_broken(&self) -> bool {
        self.shared.is_broken.load(Relaxed)
    }

    #[cold]
    fn push_over(&mut self, words: &[u64]) -> bool {
        let next = self.shared.next.load(Acquire);
        if next.is_null() || self.is_broken() {
            return false;
        }
        let (before, after) = words.split_at(WORDS - self.at);
        self.store(before);
        self.shared.next.store(ptr::null_mut(), Relaxed);
        // The extender provided the segment only after it had taken the used one before.
        self.shared.used.store(self.segment, Release);
        (self.segment, self.at) = (next, 0);
        self.store(after);
        true
    }

    #[inline]
    fn store(&mut self, words: &[u64]) {
        debug_assert!(self.at + words.len() <= WORDS);
        let first = self.segment.wrapping_add(self.at);
        let is_whole = file_mapping::guarded(first as usize, 8 * words.len(), || {
            for (at, word) in words.iter().enumerate() {
                // SAFETY: callers checked that the words end within the segment, which is mapped until this side gives
                // it away. Others map the same file, so the cells are atomic. A fault is answered by the guard.
                unsafe { &*first.wrapping_add(at) }.store(*word, Release);
            }
        });
        self.at += words.len();
        if !is_whole {
            self.shared.is_broken.store(true, Relaxed);
        }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        unmap(self.segment);
    }
}

impl LogExtender {
    /// Prepares a segment if none is ready for the writer.
    ///
    /// # Errors
    ///
    /// `ENOSPC` above all. The writer finds the log broken then.
    pub fn extend(&mut self) -> io::Result<()> {
        if !self.shared.next.load(Acquire).is_null() {
            return Ok(());
        }
        unmap(self.shared.used.swap(ptr::null_mut(), AcqRel));
        let segment = self.segment().inspect_err(|_| self.shared.is_broken.store(true, Relaxed))?;
        self.shared.next.store(segment, Release);
        Ok(())
    }

    /// Makes all appended words durable.
    ///
    /// # Errors
    ///
    /// The kernel's; some of it may be lost then.
    pub fn sync(&self) -> io::Result<()> {
        self.shared.file.sync_data()
    }

    /// True if the writer found an error of the file.
    pub fn is_broken(&self) -> bool {
        self.shared.is_broken.load(Relaxed)
    }

    /// Marks that records may be missing: by an invalid word, far after the appended ones.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn mark_incomplete(&self) -> io::Result<()> {
        self.shared.file.write_all_at(&u64::MAX.to_le_bytes(), self.end - 8)
    }

    fn segment(&mut self) -> io::Result<*mut AtomicU64> {
        reserve(&self.shared.file, self.end, SEGMENT_BYTES)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let (bytes, file) = (SEGMENT_BYTES as usize, &self.shared.file);
        // SAFETY: a new mapping at an address of the kernel's choice, at an offset that is a multiple of every page size;
        // it is only accessed through atomic cells and lives until `unmap`.
        let place = unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, file, self.end)? };
        self.end += SEGMENT_BYTES;
        Ok(place.cast())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        unmap(*self.next.get_mut());
        unmap(*self.used.get_mut());
    }
}

fn unmap(segment: *mut AtomicU64) {
    if !segment.is_null() {
        // SAFETY: exactly what `segment` mapped; whoever calls this had the only pointer to it.
        let unmapped = unsafe { rustix::mm::munmap(segment.cast(), SEGMENT_BYTES as usize) };
        debug_assert!(unmapped.is_ok());
    }
}

/// Reserves blocks, so that a full file system is an error here; where the file system cannot, writes zeros.
fn reserve(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), offset, bytes) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let zeros = vec![0; 64 << 10];
            (offset..offset + bytes).step_by(zeros.len()).try_for_each(|at| file.write_all_at(&zeros, at))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(file: &File) -> Vec<u64> {
        let bytes = file.metadata().expect("our own file").len();
        let mut content = vec![0; (bytes - HEAD_BYTES) as usize];
        file.read_exact_at(&mut content, HEAD_BYTES).expect("all of it");
        content.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect()
    }

    #[test]
    fn words_are_in_the_file_at_once_and_in_order() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        let (mut writer, mut extender) = create(file.try_clone().expect("a second one"), b"head").expect("room");
        let mut head = [0; 5];
        file.read_exact_at(&mut head, 0).expect("the head");
        assert_eq!(&head, b"head\0");
        let mut pushed = 0;
        while pushed + 3 < 2 * WORDS as u64 {
            assert!(writer.push(&[pushed + 1, pushed + 2, pushed + 3]), "{pushed}");
            pushed += 3;
        }
        // Without the other side there are at most two segments, less one word.
        assert!(!writer.push(&[1, 2, 3]) && !writer.is_broken());
        extender.extend().expect("room");
        assert!(writer.push(&[pushed + 1, pushed + 2, pushed + 3]));
        pushed += 3;
        extender.extend().expect("room");
        extender.sync().expect("durable");
        let words = words(&file);
        assert_eq!(words.len(), 4 * WORDS);
        assert!((1..=pushed).eq(words[..pushed as usize].iter().copied()));
        assert!(words[pushed as usize..].iter().all(|&word| word == 0));
    }

    #[test]
    fn a_last_word_always_has_room() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        let (mut writer, _extender) = create(file.try_clone().expect("a second one"), b"").expect("room");
        while writer.push(&[7]) {}
        writer.push_last(9);
        writer.push_last(10);
        let words = words(&file);
        assert_eq!(words[words.len() - 2..], [7, 9]);
    }

    #[test]
    fn a_file_that_is_cut_off_breaks_the_log_and_not_the_process() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        let (mut writer, extender) = create(file.try_clone().expect("a second one"), b"").expect("room");
        assert!(writer.push(&[1]));
        file.set_len(0).expect("shorter");
        writer.push(&[2; 1000]);
        assert!(writer.is_broken() && extender.is_broken());
    }
}
