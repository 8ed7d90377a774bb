//! Anonymous memory: I/O buffers with a given alignment, and tables that use no memory until they are touched.
//!
//! The kernel reads and writes buffers without the compiler's knowledge, so no slice of one is ever handed out; bytes
//! are copied in and out.

use rustix::mm::{MapFlags, ProtFlags};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::AtomicU64;

/// A private anonymous mapping, zero at first.
#[derive(Debug)]
pub struct Mapping {
    reserved: *mut c_void,
    reserved_bytes: usize,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping is plain memory owned by this value alone; no part of it is tied to a thread.
unsafe impl Send for Mapping {}
// SAFETY: through a shared reference memory is only read (`read`), never written.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `bytes` of memory whose address is a multiple of `alignment` (0 = page).
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or `InvalidInput` if the sizes do not fit into the address space.
    pub fn new(bytes: u64, alignment: u64) -> io::Result<Self> {
        let too_large =
            || io::Error::new(io::ErrorKind::InvalidInput, "a buffer of this size does not fit in the address space");
        let page = rustix::param::page_size();
        let bytes = usize::try_from(bytes).map_err(|_| too_large())?.max(1);
        let alignment = usize::try_from(alignment).map_err(|_| too_large())?.max(page);
        let padding = if alignment > page { alignment } else { 0 };
        let reserved_bytes =
            bytes.checked_add(padding).filter(|&n| isize::try_from(n).is_ok()).ok_or_else(too_large)?;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice; nothing else can
        // refer to it. Reserved without swap so that padding costs address space only.
        let reserved = unsafe {
            rustix::mm::mmap_anonymous(
                ptr::null_mut(),
                reserved_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )?
        };
        let skip = reserved.cast::<u8>().align_offset(alignment);
        debug_assert!(skip <= padding);
        // SAFETY: `skip` is at most the padding that was mapped beyond `bytes`.
        let start = unsafe { reserved.cast::<u8>().add(skip) };
        Ok(Self { reserved, reserved_bytes, start, bytes })
    }

    /// At least `bytes` of memory in huge pages of the system's default size.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if not enough of them are free (`vm.nr_hugepages`).
    pub fn huge(bytes: u64, huge_page_bytes: u64) -> io::Result<Self> {
        let whole = bytes.max(1).checked_next_multiple_of(huge_page_bytes.max(1));
        let whole = whole.and_then(|whole| usize::try_from(whole).ok());
        let whole = whole.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: as in `new`.
        let reserved = unsafe {
            rustix::mm::mmap_anonymous(
                ptr::null_mut(),
                whole,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::HUGETLB,
            )?
        };
        Ok(Self { reserved, reserved_bytes: whole, start: reserved.cast(), bytes: bytes.max(1) as usize })
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.bytes as u64
    }

    /// True never: a mapping has at least one byte.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Address of the first byte, for the kernel.
    pub fn address(&self) -> *mut u8 {
        self.start
    }

    /// Copies `source` to `offset`.
    ///
    /// # Panics
    ///
    /// If it does not fit.
    pub fn write(&mut self, offset: u64, source: &[u8]) {
        let at = self.checked(offset, source.len());
        // SAFETY: `checked` proved that the destination lies inside the mapping; the source is a
        // live slice that cannot overlap memory which no reference points into.
        unsafe { ptr::copy_nonoverlapping(source.as_ptr(), at, source.len()) }
    }

    /// Copies bytes from `offset` into `target`. Bytes that the kernel is writing at the moment
    /// may be old or new.
    ///
    /// # Panics
    ///
    /// If it does not fit.
    pub fn read(&self, offset: u64, target: &mut [u8]) {
        let at = self.checked(offset, target.len());
        // SAFETY: as in `write`, with the roles exchanged.
        unsafe { ptr::copy_nonoverlapping(at, target.as_mut_ptr(), target.len()) }
    }

    /// Fills `length` bytes from `offset` by calls of `fill` on pieces of at most 4 KiB; its second argument is the
    /// piece's offset in the mapping.
    ///
    /// # Panics
    ///
    /// If it does not fit.
    pub fn fill(&mut self, offset: u64, length: u64, mut fill: impl FnMut(&mut [u8], u64)) {
        let mut piece = [0u8; 4096];
        let mut done = 0;
        while done < length {
            let part = &mut piece[..(length - done).min(4096) as usize];
            fill(part, offset + done);
            self.write(offset + done, part);
            done += part.len() as u64;
        }
    }

    /// Writes `length` bytes from `offset` to `file` at `file_offset`, in as many calls as needed.
    ///
    /// # Errors
    ///
    /// The kernel's; `WriteZero` if a call writes nothing.
    ///
    /// # Panics
    ///
    /// If they are not inside the mapping.
    pub fn write_to(&self, file: &File, offset: u64, length: u64, file_offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < length {
            let left = (length - done) as usize;
            let at = self.checked(offset + done, left).cast::<c_void>();
            let place = (file_offset + done).cast_signed();
            // SAFETY: `checked` proved that `left` bytes from `at` lie inside the mapping; the kernel
            // only reads them.
            let written = unsafe { libc::pwrite64(file.as_raw_fd(), at, left, place) };
            match written {
                -1 => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
                0 => return Err(io::Error::from(io::ErrorKind::WriteZero)),
                count => done += count.cast_unsigned() as u64,
            }
        }
        Ok(())
    }

    /// Touches every page, so that the first I/O causes no page faults.
    pub fn touch(&mut self) {
        let page = rustix::param::page_size();
        for offset in (0..self.bytes).step_by(page) {
            // SAFETY: `offset` is below the mapping's length. Volatile, so that the store is made.
            unsafe { self.start.add(offset).write_volatile(0) }
        }
    }

    fn checked(&self, offset: u64, length: usize) -> *mut u8 {
        let end = offset.checked_add(length as u64);
        assert!(end.is_some_and(|end| end <= self.len()), "{offset}+{length} is outside a buffer of {}", self.bytes);
        // SAFETY: just asserted to be inside the mapping.
        unsafe { self.start.add(offset as usize) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `new` mapped, and the value that owned it is gone. Whoever
        // gave the address to the kernel keeps the value alive until the kernel is done.
        let unmapped = unsafe { rustix::mm::munmap(self.reserved, self.reserved_bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

/// A table of zero cells in memory that is not touched until it is used.
pub fn untouched_table<const COUNT: usize>() -> Box<[AtomicU64; COUNT]> {
    let table = Box::<[AtomicU64; COUNT]>::new_zeroed();
    // SAFETY: all-zero bytes are a valid AtomicU64 (the value 0).
    unsafe { table.assume_init() }
}

/// Makes the allocator of glibc map each large piece of memory separately, so that tables stay untouched. By default,
/// once a larger one has been freed, it allocates pieces of 128 KiB and more from reused memory, which it clears.
pub fn map_large_pieces() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number of the allocator; no memory is touched.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10);
    }
}

/// `count` zero cells in memory that is not touched until it is used.
pub fn untouched_cells(count: usize) -> Box<[AtomicU64]> {
    let cells = Box::<[AtomicU64]>::new_zeroed_slice(count);
    // SAFETY: all-zero bytes are a valid AtomicU64 (the value 0).
    unsafe { cells.assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_aligned_and_bytes_come_back() {
        // The last is that of separated buffers on a machine with pages of 64 KiB.
        for alignment in [0, 4096, 16 << 20, 4 << 30] {
            let mut mapping = Mapping::new(10_000, alignment).expect("10 kB fit");
            assert_eq!(mapping.address() as u64 % alignment.max(4096), 0);
            mapping.touch();
            mapping.write(9_997, b"end");
            mapping.fill(0, 9_000, |part, at| part.iter_mut().zip(at..).for_each(|(byte, n)| *byte = n as u8));
            let mut back = [0u8; 3];
            mapping.read(9_997, &mut back);
            assert_eq!(&back, b"end");
            mapping.read(8_999, &mut back);
            assert_eq!(back, [(8_999 % 256) as u8, 0, 0]);
        }
    }

    #[test]
    #[should_panic(expected = "outside a buffer")]
    fn nothing_is_written_past_the_end() {
        Mapping::new(100, 0).expect("100 bytes fit").write(99, b"ab");
    }

    #[test]
    fn impossible_sizes_are_errors() {
        assert!(Mapping::new(u64::MAX, 0).is_err());
        assert!(Mapping::new(1 << 62, 1 << 30).is_err());
    }

    #[test]
    fn cells_start_at_zero() {
        use std::sync::atomic::Ordering::Relaxed;
        let cells = untouched_cells(100_000);
        assert!(cells.iter().all(|cell| cell.load(Relaxed) == 0));
        assert!(untouched_table::<1000>().iter().all(|cell| cell.load(Relaxed) == 0));
    }
}
