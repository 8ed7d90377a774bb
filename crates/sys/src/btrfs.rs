//! The address space of btrfs: its chunks and their devices.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// Size of the arguments of both calls.
const ARGUMENT_BYTES: usize = 4096;
/// `BTRFS_IOC_TREE_SEARCH`: `_IOWR(0x94, 17, struct btrfs_ioctl_search_args)`.
const TREE_SEARCH: libc::c_ulong = request(17);
/// `BTRFS_IOC_DEV_INFO`: `_IOWR(0x94, 30, struct btrfs_ioctl_dev_info_args)`.
const DEV_INFO: libc::c_ulong = request(30);
/// The tree of chunks.
const CHUNK_TREE: u64 = 3;
const FIRST_CHUNK_OBJECT: u64 = 256;
const CHUNK_ITEM: u32 = 228;
/// `struct btrfs_ioctl_search_key`, before the answer.
const KEY_BYTES: usize = 104;
/// `struct btrfs_ioctl_search_header`, before each item.
const HEADER_BYTES: usize = 32;
/// `struct btrfs_chunk` without its stripes.
const CHUNK_BYTES: usize = 48;
/// `struct btrfs_stripe`.
const STRIPE_BYTES: usize = 32;
/// Offset of the path in `struct btrfs_ioctl_dev_info_args`.
const PATH_AT: usize = 3072;
/// More chunks than a file system of 100 TiB has.
const CHUNKS_MAX: usize = 1 << 20;

const fn request(number: libc::c_ulong) -> libc::c_ulong {
    (3 << 30) | ((ARGUMENT_BYTES as libc::c_ulong) << 16) | (0x94 << 8) | number
}

/// A part of the address space, and its place on devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Its first address.
    pub start_bytes: u64,
    /// Its length.
    pub length_bytes: u64,
    /// Distribution of its bytes over its stripes.
    pub layout: ChunkLayout,
    /// Each stripe's device and its offset there.
    pub stripes: Vec<(u64, u64)>,
}

/// Distribution of a chunk's bytes over its stripes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChunkLayout {
    /// Each stripe contains all of them (single, DUP, RAID1 and its variants).
    #[default]
    Copies,
    /// They are spread over the stripes; each byte is on this many of them.
    Spread {
        /// 2 for RAID10, 1 for RAID0, RAID5 and RAID6.
        copies: u64,
    },
}

/// All chunks of the file system of `file`, by address. Needs root.
pub fn chunks(file: &File) -> io::Result<Vec<Chunk>> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut from = 0;
    loop {
        let answer = search(file, from)?;
        let found = parse(&answer).ok_or_else(|| io::Error::other("unexpected reply from btrfs"))?;
        let Some(last) = found.last() else { return Ok(chunks) };
        let next = last.start_bytes.checked_add(1);
        chunks.extend(found);
        match next {
            Some(next) if next > from && chunks.len() < CHUNKS_MAX => from = next,
            _ => return Ok(chunks),
        }
    }
}

/// The path of the device with this number in the file system of `file`.
pub fn device_path(file: &File, device: u64) -> io::Result<PathBuf> {
    let mut argument = vec![0_u64; ARGUMENT_BYTES / 8];
    argument[0] = device;
    call(file, DEV_INFO, &mut argument)?;
    let bytes = bytes_of(&argument);
    let path = bytes[PATH_AT..].split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(PathBuf::from(std::ffi::OsStr::new(&*String::from_utf8_lossy(path))))
}

fn search(file: &File, from: u64) -> io::Result<Vec<u8>> {
    let mut argument = vec![0_u64; ARGUMENT_BYTES / 8];
    // Tree, then least and greatest object, offset and transaction; types and number of items are 32 bits each.
    argument[..7].copy_from_slice(&[CHUNK_TREE, FIRST_CHUNK_OBJECT, FIRST_CHUNK_OBJECT, from, u64::MAX, 0, u64::MAX]);
    let halves = |low: u32, high: u32| {
        let mut word = [0; 8];
        word[..4].copy_from_slice(&low.to_ne_bytes());
        word[4..].copy_from_slice(&high.to_ne_bytes());
        u64::from_ne_bytes(word)
    };
    argument[7] = halves(CHUNK_ITEM, CHUNK_ITEM);
    argument[8] = halves(u32::MAX, 0);
    call(file, TREE_SEARCH, &mut argument)?;
    Ok(bytes_of(&argument))
}

fn call(file: &File, request: libc::c_ulong, argument: &mut [u64]) -> io::Result<()> {
    assert_eq!(argument.len() * 8, ARGUMENT_BYTES, "the kernel reads and writes this much");
    // SAFETY: both requests read and write exactly ARGUMENT_BYTES, which `argument` has, and keep no pointer; every
    // bit pattern of its words is valid.
    if unsafe { libc::ioctl(file.as_raw_fd(), request as _, argument.as_mut_ptr()) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// The chunks in an answer; `None` if it is invalid.
fn parse(answer: &[u8]) -> Option<Vec<Chunk>> {
    let bytes = |at: usize, length: usize| answer.get(at..at.checked_add(length)?);
    // The header is in native byte order, on-disk data in little-endian.
    let count = u32::from_ne_bytes(bytes(64, 4)?.try_into().ok()?);
    let long = |at: usize| Some(u64::from_le_bytes(bytes(at, 8)?.try_into().ok()?));
    let mut at = KEY_BYTES;
    let mut chunks = Vec::new();
    for _ in 0..count {
        let native = |offset: usize| Some(u64::from_ne_bytes(bytes(at + offset, 8)?.try_into().ok()?));
        let start_bytes = native(16)?;
        let length = u32::from_ne_bytes(bytes(at + 28, 4)?.try_into().ok()?) as usize;
        let item = at + HEADER_BYTES;
        let stripe_count = u16::from_le_bytes(bytes(item + 44, 2)?.try_into().ok()?);
        let stripe = |index: usize| {
            let stripe = item + CHUNK_BYTES + index * STRIPE_BYTES;
            Some((long(stripe)?, long(stripe + 8)?))
        };
        let stripes = (0..usize::from(stripe_count)).map(stripe).collect::<Option<Vec<_>>>()?;
        chunks.push(Chunk { start_bytes, length_bytes: long(item)?, layout: layout(long(item + 24)?), stripes });
        at = item.checked_add(length)?;
    }
    Some(chunks)
}

fn layout(kind: u64) -> ChunkLayout {
    const RAID0: u64 = 1 << 3;
    const RAID10: u64 = 1 << 6;
    const RAID5: u64 = 1 << 7;
    const RAID6: u64 = 1 << 8;
    match kind {
        kind if kind & RAID10 != 0 => ChunkLayout::Spread { copies: 2 },
        kind if kind & (RAID0 | RAID5 | RAID6) != 0 => ChunkLayout::Spread { copies: 1 },
        _ => ChunkLayout::Copies,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer with one chunk on two devices.
    fn answer(kind: u64) -> Vec<u8> {
        let mut bytes = vec![0; ARGUMENT_BYTES];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(64, &1_u32.to_ne_bytes());
        put(KEY_BYTES + 16, &(1_u64 << 30).to_ne_bytes());
        put(KEY_BYTES + 28, &((CHUNK_BYTES + 2 * STRIPE_BYTES) as u32).to_ne_bytes());
        let item = KEY_BYTES + HEADER_BYTES;
        put(item, &(1_u64 << 28).to_le_bytes());
        put(item + 24, &kind.to_le_bytes());
        put(item + 44, &2_u16.to_le_bytes());
        for (index, (device, offset)) in [(1_u64, 4096_u64), (2, 8192)].into_iter().enumerate() {
            let at = item + CHUNK_BYTES + index * STRIPE_BYTES;
            put(at, &device.to_le_bytes());
            put(at + 8, &offset.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn a_chunk_has_stripes_on_devices() {
        for (kind, layout) in [
            (1, ChunkLayout::Copies),
            (1 | 1 << 4, ChunkLayout::Copies),
            (1 | 1 << 3, ChunkLayout::Spread { copies: 1 }),
            (1 | 1 << 6, ChunkLayout::Spread { copies: 2 }),
        ] {
            let stripes = vec![(1, 4096), (2, 8192)];
            let chunk = Chunk { start_bytes: 1 << 30, length_bytes: 1 << 28, layout, stripes };
            assert_eq!(parse(&answer(kind)), Some(vec![chunk]));
        }
        assert_eq!(parse(&answer(1)[..KEY_BYTES + 60]), None);
        assert_eq!(parse(&[]), None);
    }
}
