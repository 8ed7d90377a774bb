//! The call that hands operations to a ring and waits for them.

use io_uring::IoUring;
use rustix::io_uring::{
    IoringEnterFlags, IoringRegisterOp, io_uring_enter, io_uring_ptr, io_uring_register, io_uring_rsrc_update,
};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// How the kernel finds a ring: registered with this thread, it need not look into the table of descriptors at each
/// call (Linux 5.18).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingHandle {
    /// A descriptor, or an index among the thread's registered rings, which is one as long as the ring is open.
    number: BorrowedFd<'static>,
    flags: IoringEnterFlags,
}

impl RingHandle {
    /// A handle for this ring, which only this thread may use.
    pub(crate) fn register(ring: &IoUring) -> Self {
        let descriptor = ring.as_raw_fd();
        // Any index will do.
        let mut update = index(u32::MAX);
        update.data = io_uring_ptr::new(ptr::without_provenance_mut(descriptor as usize));
        let (number, flags) = match change(ring, IoringRegisterOp::RegisterRingFds, &mut update) {
            Ok(()) => (update.offset.cast_signed(), IoringEnterFlags::REGISTERED_RING),
            // An older kernel: it looks each time.
            Err(_) => (descriptor, IoringEnterFlags::empty()),
        };
        // SAFETY: it is not -1, and nobody uses it but `enter` and `unregister`, whose callers have the ring.
        let number = unsafe { BorrowedFd::borrow_raw(number) };
        // Deferred completions are only delivered by a call that asks for events.
        Self { number, flags: flags | IoringEnterFlags::GETEVENTS }
    }

    /// A handle that the kernel refuses at each call.
    #[cfg(test)]
    pub(crate) fn not_a_ring(file: std::os::fd::OwnedFd) -> Self {
        use std::os::fd::IntoRawFd;
        // SAFETY: open until the process ends.
        let number = unsafe { BorrowedFd::borrow_raw(file.into_raw_fd()) };
        Self { number, flags: IoringEnterFlags::GETEVENTS }
    }

    /// Gives the index back; a ring stays open as long as it is registered.
    pub(crate) fn unregister(self, ring: &IoUring) {
        if self.flags.contains(IoringEnterFlags::REGISTERED_RING) {
            let mut update = index(self.number.as_raw_fd().cast_unsigned());
            // What cannot be released ends with the thread.
            let _ = change(ring, IoringRegisterOp::UnregisterRingFds, &mut update);
        }
    }

    /// Hands `staged` operations over and waits for `least` completions. Gives the number that the kernel took.
    ///
    /// # Safety
    ///
    /// The ring must be open. Buffers and files of the operations must stay until they have come back.
    #[inline]
    pub(crate) unsafe fn enter(self, staged: u32, least: u32) -> rustix::io::Result<u32> {
        // SAFETY: the number is an open descriptor, or an index that the flag says is one. The rest is as the caller
        // promises.
        unsafe { io_uring_enter(self.number, staged, least, self.flags) }
    }
}

fn index(number: u32) -> io_uring_rsrc_update {
    let mut update = io_uring_rsrc_update::default();
    update.offset = number;
    update
}

fn change(ring: &IoUring, op: IoringRegisterOp, update: &mut io_uring_rsrc_update) -> io::Result<()> {
    // SAFETY: the ring is open, and the kernel reads and writes one structure of this kind.
    unsafe {
        let descriptor = BorrowedFd::borrow_raw(ring.as_raw_fd());
        io_uring_register(descriptor, op, ptr::from_mut(update).cast(), 1)?;
    }
    Ok(())
}
