//! Reads past the page cache.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A multiple of every sector size.
const ALIGNMENT_BYTES: usize = 4096;

/// A target opened for reads past the page cache, with an aligned buffer.
#[derive(Debug)]
pub struct DirectReader {
    file: File,
    is_past_cache: bool,
    memory: Vec<u8>,
    /// Offset of the aligned part of the buffer.
    start: usize,
}

impl DirectReader {
    /// Opens a file or device for reads of at most `bytes_max` bytes.
    pub fn open(path: &Path, bytes_max: usize) -> io::Result<Self> {
        Ok(Self::with(sys::block::open_past_cache(path)?, true, bytes_max))
    }

    /// The same, but through the page cache on a file system without direct I/O.
    pub fn where_possible(path: &Path, bytes_max: usize) -> io::Result<Self> {
        match sys::block::open_past_cache(path) {
            Ok(file) => Ok(Self::with(file, true, bytes_max)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                Ok(Self::with(sys::file::open_to_look(path)?, false, bytes_max))
            }
            Err(error) => Err(error),
        }
    }

    fn with(file: File, is_past_cache: bool, bytes_max: usize) -> Self {
        // A range may begin and end anywhere in a block.
        let mut memory = vec![0; bytes_max + 3 * ALIGNMENT_BYTES];
        let start = memory.as_ptr().align_offset(ALIGNMENT_BYTES);
        // Longer reads are refused at any alignment of the buffer.
        memory.truncate(start + bytes_max + 2 * ALIGNMENT_BYTES);
        Self { file, is_past_cache, memory, start }
    }

    /// False if it reads through the page cache.
    pub fn is_past_cache(&self) -> bool {
        self.is_past_cache
    }

    /// Reads `bytes` bytes at an offset, both multiples of the sector size.
    pub fn read(&mut self, place: u64, bytes: usize) -> io::Result<&[u8]> {
        let block = &mut self.memory[self.start..][..bytes];
        self.file.read_exact_at(block, place)?;
        Ok(block)
    }

    /// Reads any range within the target.
    ///
    /// # Errors
    ///
    /// Also if it is longer than the maximum given to [`open`](Self::open).
    pub fn read_range(&mut self, offset: u64, bytes: usize) -> io::Result<&[u8]> {
        let skipped = (offset % ALIGNMENT_BYTES as u64) as usize;
        let (first, wanted) = (offset - skipped as u64, skipped + bytes);
        let length = wanted.next_multiple_of(ALIGNMENT_BYTES);
        let block = self.memory.get_mut(self.start..self.start + length).ok_or(io::ErrorKind::InvalidInput)?;
        let mut got = 0;
        // The last block of a file may be shorter.
        while got < wanted {
            match self.file.read_at(&mut block[got..], first + got as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => got += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&block[skipped..wanted])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_of_a_file_is_read() {
        let directory = tempfile::tempdir().expect("a folder");
        let path = directory.path().join("a.dat");
        let content: Vec<u8> = (0..20_001_u32).map(|at| (at % 251) as u8).collect();
        std::fs::write(&path, &content).expect("room");
        let mut reader = DirectReader::where_possible(&path, 8192).expect("it is there");
        for (offset, bytes) in [(0, 8192), (1, 1), (4095, 8192), (4096, 4096), (20_000, 1), (12_000, 8001), (7, 0)] {
            let read = reader.read_range(offset, bytes).expect("it is within the file");
            assert_eq!(read, &content[offset as usize..][..bytes], "{bytes} bytes at {offset}");
        }
        let error = |offset, bytes| {
            DirectReader::where_possible(&path, 8192)
                .and_then(|mut reader| reader.read_range(offset, bytes).map(|_| ()))
        };
        assert_eq!(error(20_000, 2).map_err(|error| error.kind()), Err(io::ErrorKind::UnexpectedEof));
        assert_eq!(error(0, 20_000).map_err(|error| error.kind()), Err(io::ErrorKind::InvalidInput));
    }
}
