//! Detects a cache below a target, such as that of a virtual machine's host, that retains the data of reads.
//!
//! Blocks are read past the page cache, then much of the rest, then the blocks again. Each second read alternates with
//! the read of a block that was not read before: a slowdown of the device at that time affects both. Nothing is
//! written.

use crate::direct_reader::DirectReader;
use model::cache_probe::CacheProbe;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Blocks that are read twice.
const BLOCKS: u64 = 256;
/// Fewer are not meaningful.
const BLOCKS_MIN: usize = 32;
/// Bytes of each.
const BLOCK_BYTES: u64 = 4096;
/// Bytes per read between the first and the second reads.
const PIECE_BYTES: u64 = 256 << 10;
/// The maximum number of bytes read between them: more than the DRAM of a drive holds.
const BETWEEN_BYTES_MAX: u64 = 1 << 30;
/// Time limit of each of the three steps.
const STEP_TIME_MAX: Duration = Duration::from_secs(2);
/// Additional time limit for a target that hangs.
const PATIENCE: Duration = Duration::from_secs(4);

/// Probes the part `used` of a file or device.
///
/// # Errors
///
/// The reason why there is no result, as the end of a sentence.
pub fn cache_probe(path: &Path, used: &Range<u64>) -> Result<CacheProbe, String> {
    let (told, heard) = mpsc::channel();
    let (path, used) = (path.to_owned(), used.clone());
    // On a thread that can be abandoned: the kernel interrupts no read of a device that hangs.
    let probe = move || told.send(probe(&path, &used));
    std::thread::Builder::new().spawn(probe).map_err(|error| error.to_string())?;
    match heard.recv_timeout(3 * STEP_TIME_MAX + PATIENCE) {
        Ok(Ok(probe)) => Ok(probe),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("it does not answer".to_owned()),
    }
}

fn probe(path: &Path, used: &Range<u64>) -> io::Result<CacheProbe> {
    let mut reader = DirectReader::open(path, PIECE_BYTES as usize)?;
    let cells = Cells::within(used).ok_or_else(|| io::Error::other("the part that the run reads is too small"))?;
    let mut first_ns = Vec::new();
    let begin = Instant::now();
    for cell in Cells::order() {
        first_ns.push(timed_ns(&mut reader, cells.repeated(cell))?);
        if begin.elapsed() > STEP_TIME_MAX {
            break;
        }
    }
    if first_ns.len() < BLOCKS_MIN {
        return Err(io::Error::other("it is too slow"));
    }
    let between_bytes = read_between(&mut reader, &cells)?;
    let (mut second_ns, mut other_ns) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    for cell in Cells::order().take(first_ns.len()) {
        second_ns.push(timed_ns(&mut reader, cells.repeated(cell))?);
        other_ns.push(timed_ns(&mut reader, cells.other(cell))?);
        if begin.elapsed() > STEP_TIME_MAX && second_ns.len() >= BLOCKS_MIN {
            break;
        }
    }
    Ok(compared(used, between_bytes, &first_ns, &second_ns, &other_ns))
}

fn timed_ns(reader: &mut DirectReader, place: u64) -> io::Result<u64> {
    let begin = Instant::now();
    reader.read(place, BLOCK_BYTES as usize)?;
    Ok(begin.elapsed().as_nanos() as u64)
}

/// Reads data far from the blocks, so that a small cache evicts them. Returns the number of bytes.
fn read_between(reader: &mut DirectReader, cells: &Cells) -> io::Result<u64> {
    let mut bytes = 0;
    let begin = Instant::now();
    'all: for round in 0..cells.pieces() {
        for cell in Cells::order() {
            if bytes >= BETWEEN_BYTES_MAX || begin.elapsed() > STEP_TIME_MAX {
                break 'all;
            }
            reader.read(cells.piece(cell, round), PIECE_BYTES as usize)?;
            bytes += PIECE_BYTES;
        }
    }
    Ok(bytes)
}

/// The probed part, in cells of equal size. Each has a block that is read twice at its start, a block that is read once
/// in its middle, and room for pieces away from both.
struct Cells {
    /// Number of the first block, from 0.
    first_block: u64,
    /// Blocks of a cell.
    blocks: u64,
}

impl Cells {
    /// `None` if blocks would be so close that readahead of the device includes others.
    fn within(used: &Range<u64>) -> Option<Self> {
        const BLOCKS_APART_MIN: u64 = 16;
        let first_block = used.start.div_ceil(BLOCK_BYTES);
        let blocks = (used.end / BLOCK_BYTES).saturating_sub(first_block) / BLOCKS;
        (blocks >= 2 * BLOCKS_APART_MIN).then_some(Self { first_block, blocks })
    }

    /// The cells in an order that strides over the whole part.
    fn order() -> impl Iterator<Item = u64> {
        /// Coprime to the number of cells.
        const STRIDE: u64 = 97;
        (0..BLOCKS).map(|turn| turn * STRIDE % BLOCKS)
    }

    /// The block of a cell that is read twice. At a varying offset in the cell, which could otherwise be that of a
    /// table or a stripe.
    fn repeated(&self, cell: u64) -> u64 {
        let inside = (cell.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % (self.blocks / 16).max(1);
        (self.first_block + cell * self.blocks + inside) * BLOCK_BYTES
    }

    /// The block of a cell that is read once.
    fn other(&self, cell: u64) -> u64 {
        self.repeated(cell) + self.blocks / 2 * BLOCK_BYTES
    }

    /// The number of pieces that a cell has room for: an eighth of it in each half, away from the blocks.
    fn pieces(&self) -> u64 {
        self.blocks * BLOCK_BYTES / 8 / PIECE_BYTES * 2
    }

    /// Offset of one of these pieces.
    fn piece(&self, cell: u64, number: u64) -> u64 {
        let half = number % 2;
        let start_blocks = self.blocks / 2 * half + self.blocks / 4;
        (self.first_block + cell * self.blocks + start_blocks) * BLOCK_BYTES + number / 2 * PIECE_BYTES
    }
}

fn compared(
    used: &Range<u64>,
    between_bytes: u64,
    first_ns: &[u64],
    second_ns: &[u64],
    other_ns: &[u64],
) -> CacheProbe {
    let ranked = |times_ns: &[u64], share: f64| {
        let mut times_ns = times_ns.to_vec();
        times_ns.sort_unstable();
        times_ns.get((times_ns.len() as f64 * share) as usize).copied().unwrap_or_default()
    };
    let most_second_ns = ranked(second_ns, 0.9);
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    CacheProbe {
        start_bytes: used.start,
        length_bytes: used.end.saturating_sub(used.start),
        blocks: count(second_ns.len()),
        between_bytes,
        first_p50_ns: ranked(first_ns, 0.5),
        second_p50_ns: ranked(second_ns, 0.5),
        other_p50_ns: ranked(other_ns, 0.5),
        faster_blocks: count(second_ns.iter().zip(other_ns).filter(|(second, other)| second < other).count()),
        fast_other_blocks: count(other_ns.iter().filter(|other| **other <= most_second_ns).count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn blocks_and_pieces_do_not_overlap_and_stay_inside() {
        for used in [0..32 << 20, (1 << 20) + 1..(1 << 20) + (1 << 30), 4096..(7 << 30) + 4095] {
            let cells = Cells::within(&used).expect("it is large enough");
            let blocks: BTreeSet<u64> =
                Cells::order().flat_map(|cell| [cells.repeated(cell), cells.other(cell)]).collect();
            assert_eq!(blocks.len() as u64, 2 * BLOCKS);
            assert!(blocks.iter().all(|block| used.contains(block) && block + BLOCK_BYTES <= used.end));
            let pieces: BTreeSet<u64> = Cells::order()
                .flat_map(|cell| (0..cells.pieces()).map(move |number| (cell, number)))
                .map(|(cell, number)| cells.piece(cell, number))
                .collect();
            assert_eq!(pieces.len() as u64, BLOCKS * cells.pieces());
            for piece in &pieces {
                assert!(used.contains(piece) && piece + PIECE_BYTES <= used.end);
                assert_eq!(blocks.range(piece.saturating_sub(BLOCK_BYTES)..piece + PIECE_BYTES).count(), 0);
                assert_eq!(pieces.range(piece + 1..piece + PIECE_BYTES).count(), 0);
            }
        }
        assert!(Cells::within(&(0..1 << 20)).is_none());
    }

    #[test]
    fn second_reads_are_held_against_those_just_after_them() {
        let probe = compared(&(0..1 << 30), 5, &[90; 4], &[10, 20, 30, 40], &[100, 15, 110, 120]);
        assert_eq!((probe.blocks, probe.between_bytes, probe.faster_blocks, probe.fast_other_blocks), (4, 5, 3, 1));
        assert_eq!((probe.first_p50_ns, probe.second_p50_ns, probe.other_p50_ns), (90, 30, 110));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        assert!(cache_probe(Path::new("/nonexistent"), &(0..1 << 30)).is_err());
        let directory = tempfile::tempdir().expect("a folder");
        let path = directory.path().join("small");
        std::fs::write(&path, [0; 8192]).expect("a new file");
        assert!(cache_probe(&path, &(0..8192)).is_err());
    }
}
