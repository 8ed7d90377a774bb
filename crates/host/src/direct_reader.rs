//! Reads past the page cache.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A multiple of every sector size.
const ALIGNMENT_BYTES: usize = 4096;

/// A target that is read past the page cache, with the memory that this takes.
#[derive(Debug)]
pub struct DirectReader {
    file: File,
    memory: Vec<u8>,
    /// Where the aligned part of the memory begins.
    start: usize,
}

impl DirectReader {
    /// Opens a file or device for reads of at most so many bytes.
    pub fn of(path: &Path, bytes_max: usize) -> io::Result<Self> {
        let file = sys::block::open_past_cache(path)?;
        let memory = vec![0; bytes_max + ALIGNMENT_BYTES];
        let start = memory.as_ptr().align_offset(ALIGNMENT_BYTES);
        Ok(Self { file, memory, start })
    }

    /// Reads so many bytes at a place, both multiples of the sector size.
    pub fn read(&mut self, place: u64, bytes: usize) -> io::Result<&[u8]> {
        let block = &mut self.memory[self.start..][..bytes];
        self.file.read_exact_at(block, place)?;
        Ok(block)
    }
}
