//! Blocks: head, checksum and content.

use super::CONTENT_BYTES_MAX;
use std::io::{self, Read};

/// Tag, length of the content, number of requests, time of the first, checksum.
pub(super) const BLOCK_HEAD_BYTES: usize = 24;

/// First part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHead {
    pub(super) tag: [u8; 4],
    length: u32,
    pub(super) count: u32,
    pub(super) first_ns: u64,
    crc: u32,
}

impl BlockHead {
    /// The head of a block with this content.
    pub(super) fn new(tag: [u8; 4], count: u32, first_ns: u64, content: &[u8]) -> Self {
        let mut head = Self { tag, length: content.len() as u32, count, first_ns, crc: 0 };
        head.crc = head.checksum(content);
        head
    }

    pub(super) fn to_bytes(self) -> [u8; BLOCK_HEAD_BYTES] {
        let mut bytes = [0; BLOCK_HEAD_BYTES];
        bytes[..4].copy_from_slice(&self.tag);
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.count.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.first_ns.to_le_bytes());
        bytes[20..].copy_from_slice(&self.crc.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; BLOCK_HEAD_BYTES]) -> Self {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Self {
            tag: [bytes[0], bytes[1], bytes[2], bytes[3]],
            length: word(4),
            count: word(8),
            first_ns: u64::from(word(12)) | u64::from(word(16)) << 32,
            crc: word(20),
        }
    }

    /// CRC32C of the head before the checksum, and of the content.
    fn checksum(&self, content: &[u8]) -> u32 {
        crc32c::crc32c_append(crc32c::crc32c(&self.to_bytes()[..20]), content)
    }
}

/// A block that cannot be used.
#[derive(Debug)]
pub(super) struct Damage {
    pub(super) reason: String,
    /// Bytes of it that were read.
    pub(super) read: u64,
}

/// The next block; `None` at the end of the input.
pub(super) fn read_block(input: &mut impl Read) -> Result<Option<(BlockHead, Vec<u8>)>, Damage> {
    let mut bytes = [0; BLOCK_HEAD_BYTES];
    let damage = |reason: &str, read: usize| Damage { reason: reason.to_owned(), read: read as u64 };
    let failed =
        |error: io::Error, read: usize| Damage { reason: format!("reading failed: {error}"), read: read as u64 };
    let read = read_up_to(input, &mut bytes).map_err(|error| failed(error, 0))?;
    if read == 0 {
        return Ok(None);
    }
    if read < bytes.len() {
        return Err(damage("the trace ends within a block", read));
    }
    let head = BlockHead::from_bytes(&bytes);
    if head.length > CONTENT_BYTES_MAX {
        return Err(damage("the length of a block is not possible", read));
    }
    let content = read_content(input, head.length).map_err(|error| failed(error, read))?;
    if content.len() < head.length as usize {
        return Err(damage("the trace ends within a block", read + content.len()));
    }
    if head.crc != head.checksum(&content) {
        return Err(damage("the checksum of a block is wrong", read + content.len()));
    }
    Ok(Some((head, content)))
}

/// `length` bytes, or as many as the input has, at most [`CONTENT_BYTES_MAX`].
pub(super) fn read_content(input: &mut impl Read, length: u32) -> io::Result<Vec<u8>> {
    // Not allocated before it is there: a damaged length may be long.
    let mut content = Vec::new();
    input.take(length.min(CONTENT_BYTES_MAX).into()).read_to_end(&mut content)?;
    Ok(content)
}

/// Fills the buffer as far as the input goes.
pub(super) fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
