//! A ring buffer into which programs put records, in order over all CPUs (`Documentation/bpf/ringbuf.rst`).

use super::{Attributes, MAP_CREATE, bpf, owned, pair};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Release};

const MAP_TYPE_RING_BUFFER: u32 = 27;

/// Flag of [`Function::RingOutput`](super::instruction::Function::RingOutput): nobody waits to be woken.
pub const NO_WAKE: i32 = 1;

/// Head of a record: its length with two flags, and a place.
const HEAD_BYTES: usize = 8;
/// The record is being written.
const BUSY: u32 = 1 << 31;
/// The record is to be skipped.
const DISCARDED: u32 = 1 << 30;

/// A ring buffer with its two mappings: the position up to which records were read, which is ours, and the position up
/// to which they were written, followed by the records, twice, so that none is in two parts.
#[derive(Debug)]
pub struct RingBuffer {
    map: OwnedFd,
    consumer: *mut c_void,
    producer: *mut c_void,
    page_bytes: usize,
    bytes: usize,
}

// SAFETY: the mappings belong to this value alone; the kernel writes to them whatever thread reads.
unsafe impl Send for RingBuffer {}

impl RingBuffer {
    /// A buffer of `bytes`, a power of two and a multiple of the page size.
    ///
    /// # Errors
    ///
    /// If the kernel permits none (`EPERM`), or does not know them (before Linux 5.8: `EINVAL`).
    pub fn create(bytes: u32) -> io::Result<Self> {
        let mut attributes = Attributes::default();
        attributes[0] = pair(MAP_TYPE_RING_BUFFER, 0);
        attributes[1] = pair(0, bytes);
        let map = bpf(MAP_CREATE, &mut attributes).map(owned)?;
        let (page_bytes, bytes) = (rustix::param::page_size(), bytes as usize);
        let all = page_bytes + 2 * bytes;
        let map_at = |bytes: usize, protection, offset: usize| {
            // SAFETY: a new mapping at an address of the kernel's choice; no reference into it outlives a call below.
            unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, map.as_fd(), offset as u64) }
        };
        let consumer = map_at(page_bytes, ProtFlags::READ | ProtFlags::WRITE, 0)?;
        let producer = match map_at(all, ProtFlags::READ, page_bytes) {
            Ok(producer) => producer,
            Err(error) => {
                // SAFETY: the mapping was made above and nothing points into it.
                let _ = unsafe { munmap(consumer, page_bytes) };
                return Err(error.into());
            }
        };
        Ok(Self { map, consumer, producer, page_bytes, bytes })
    }

    /// Its number in programs.
    pub fn number(&self) -> i32 {
        self.map.as_raw_fd()
    }

    /// Gives the records that are there to `each`, the oldest first, and makes room for others; gives their number.
    pub fn take(&mut self, mut each: impl FnMut(&[u8])) -> usize {
        // SAFETY: the first word of each mapping is a position, aligned to the page, and lives as long as this value.
        let (consumed, produced) =
            unsafe { (&*self.consumer.cast::<AtomicU64>(), &*self.producer.cast::<AtomicU64>()) };
        let mut position = consumed.load(Acquire);
        let mut count = 0;
        while position < produced.load(Acquire) {
            let at = self.page_bytes + (position as usize & (self.bytes - 1));
            // SAFETY: positions are multiples of 8 below the end of the first copy; a head is there for each record.
            let head = unsafe { &*self.producer.byte_add(at).cast::<AtomicU32>() }.load(Acquire);
            if head & BUSY != 0 {
                break;
            }
            let length = (head & !DISCARDED) as usize;
            if head & DISCARDED == 0 {
                // SAFETY: the kernel put `length` bytes behind the head, in the second copy if they go beyond the end,
                // and writes there only when the position was passed.
                each(unsafe {
                    slice::from_raw_parts(self.producer.byte_add(at + HEAD_BYTES).cast(), length.min(self.bytes))
                });
                count += 1;
            }
            position += (length + HEAD_BYTES).next_multiple_of(8) as u64;
            consumed.store(position, Release);
        }
        count
    }
}

impl Drop for RingBuffer {
    fn drop(&mut self) {
        // SAFETY: both were mapped by `create` with these lengths; no reference into them is left.
        let _ = unsafe { munmap(self.consumer, self.page_bytes) };
        // SAFETY: as above.
        let _ = unsafe { munmap(self.producer, self.page_bytes + 2 * self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_buffer_is_empty() {
        match RingBuffer::create(1 << 16) {
            Ok(mut ring) => assert_eq!(ring.take(|_| panic!("nothing was put")), 0),
            Err(error) => testkit::skip!("no eBPF here: {error}"),
        }
    }
}
