//! What the kernel tells about an open block device.

use rustix::ioctl::{Getter, ioctl, opcode};
use std::fs::File;
use std::io;

/// `BLKGETSIZE64`: despite its declared type the kernel stores 64 bits.
const BLKGETSIZE64: rustix::ioctl::Opcode = opcode::read::<usize>(0x12, 114);

/// Size of the whole device (or partition) in bytes.
pub fn size_bytes(device: &File) -> io::Result<u64> {
    // SAFETY: BLKGETSIZE64 writes exactly one u64 through its pointer argument, and Getter hands
    // it a pointer to one.
    let getter = unsafe { Getter::<BLKGETSIZE64, u64>::new() };
    // SAFETY: the getter above describes the whole effect of this request on memory.
    Ok(unsafe { ioctl(device, getter) }?)
}

/// Logical sector size in bytes: the unit that direct I/O comes in.
pub fn logical_block_bytes(device: &File) -> io::Result<u32> {
    Ok(rustix::fs::ioctl_blksszget(device)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_file_is_no_block_device() {
        let file = tempfile::tempfile().expect("a temporary file");
        assert!(size_bytes(&file).is_err());
        assert!(logical_block_bytes(&file).is_err());
    }
}
