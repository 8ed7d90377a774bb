//! A word of memory that processes share through a file, and sleeping until it is set.

use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::futex;
use rustix::time::Timespec;
use std::fs::File;
use std::io;
use std::num::NonZeroU32;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Size of the word at the start of its file, in bytes.
pub const WORD_BYTES: usize = size_of::<u32>();

const UNSET: u32 = 0;
const SET: u32 = 1;

/// Polling interval where futexes are forbidden, in nanoseconds.
const LOOK_NS: u64 = 1_000_000;

/// The first word of a file, mapped: unset while it is 0.
#[derive(Debug)]
pub struct SharedWord {
    word: NonNull<AtomicU32>,
}

// SAFETY: the mapping belongs to this value alone, stays where it is until the value is dropped, and
// is only used as an atomic.
unsafe impl Send for SharedWord {}
// SAFETY: as above; atomics may be used by several threads at once.
unsafe impl Sync for SharedWord {}

impl SharedWord {
    /// Maps the start of `file`, which must be open for reading and writing.
    ///
    /// A process with write permission can still truncate the file, which turns the next access to the word into
    /// `SIGBUS`: use it on files of this user only.
    pub fn map(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() < WORD_BYTES as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too short"));
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the place, so no memory in use is replaced.
        let start = unsafe { rustix::mm::mmap(std::ptr::null_mut(), WORD_BYTES, access, MapFlags::SHARED, file, 0) }?;
        let word = NonNull::new(start.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { word })
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the pointer is the page-aligned start of a mapping that holds at least one word
        // and lives as long as `self`; every process touches it by atomic operations only.
        unsafe { self.word.as_ref() }
    }

    /// True if it is set.
    pub fn is_set(&self) -> bool {
        self.word().load(SeqCst) != UNSET
    }

    /// Sets it and wakes all who wait for it, in every process.
    pub fn set(&self) {
        self.word().store(SET, SeqCst);
        // It fails only where waiting fails too, and there the word is polled.
        let _ = futex::wake(self.word(), futex::Flags::empty(), i32::MAX.cast_unsigned());
    }

    /// Sleeps until the word is set, `CLOCK_MONOTONIC` reads `until_ns`, or a signal arrives. True
    /// if it is set.
    pub fn wait_until_ns(&self, until_ns: u64) -> bool {
        let until = Timespec {
            tv_sec: (until_ns / 1_000_000_000).cast_signed(),
            tv_nsec: (until_ns % 1_000_000_000).cast_signed(),
        };
        let slept = futex::wait_bitset(self.word(), futex::Flags::empty(), UNSET, Some(&until), NonZeroU32::MAX);
        match slept {
            Ok(()) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR | rustix::io::Errno::TIMEDOUT) => {}
            Err(_) => crate::clock::sleep_until_ns(until_ns.min(crate::clock::monotonic_ns() + LOOK_NS)),
        }
        self.is_set()
    }
}

impl Drop for SharedWord {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made by `map`, and no reference into it outlives `self`.
        // Failure leaves a page mapped, which is harmless.
        let _ = unsafe { rustix::mm::munmap(self.word.as_ptr().cast(), WORD_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;
    use std::time::Duration;

    fn two_of_one_file() -> (SharedWord, SharedWord) {
        let file = tempfile::tempfile().expect("a temporary file");
        file.set_len(WORD_BYTES as u64).expect("four bytes fit");
        (SharedWord::map(&file).expect("mapped"), SharedWord::map(&file).expect("mapped"))
    }

    #[test]
    fn what_one_sets_the_other_sees_and_is_woken_by() {
        let (here, there) = two_of_one_file();
        assert!(!here.is_set());
        let waiter = std::thread::spawn(move || there.wait_until_ns(monotonic_ns() + 60_000_000_000));
        std::thread::sleep(Duration::from_millis(20));
        let set_at_ns = monotonic_ns();
        here.set();
        assert!(waiter.join().expect("the waiter ends"));
        assert!(monotonic_ns() - set_at_ns < 30_000_000_000, "woken, not timed out");
    }

    #[test]
    fn waiting_for_nothing_ends_in_time_and_waiting_for_what_is_set_at_once() {
        let (here, there) = two_of_one_file();
        let until_ns = monotonic_ns() + 5_000_000;
        while monotonic_ns() < until_ns {
            assert!(!here.wait_until_ns(until_ns));
        }
        there.set();
        assert!(here.wait_until_ns(u64::MAX >> 1));
    }

    #[test]
    fn an_empty_file_is_not_mapped() {
        let file = tempfile::tempfile().expect("a temporary file");
        assert!(SharedWord::map(&file).is_err());
    }
}
