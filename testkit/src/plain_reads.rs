//! Reads as the simplest program makes them.

use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

const BLOCK_BYTES: usize = 4096;

/// Reads `count` blocks of 4 KiB at random places of a file, one after the other and past the page cache.
/// The sum of the times from just before each system call to just behind it.
pub fn plain_reads(path: &Path, count: u32) -> io::Result<Duration> {
    let flags = OFlags::DIRECT.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let blocks = file.metadata()?.len() / BLOCK_BYTES as u64;
    let mut memory = vec![0; 2 * BLOCK_BYTES];
    let aligned = memory.as_ptr().align_offset(BLOCK_BYTES);
    let block = &mut memory[aligned..][..BLOCK_BYTES];
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = Duration::ZERO;
    for _ in 0..count {
        // xorshift64 (Marsaglia 2003).
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let place = random % blocks.max(1) * BLOCK_BYTES as u64;
        let begin = Instant::now();
        file.read_exact_at(block, place)?;
        sum += begin.elapsed();
    }
    Ok(sum)
}
