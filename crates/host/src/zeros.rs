//! Share of a block device that reads as zeros.

use crate::direct_reader::DirectReader;
use model::facts::ZeroSample;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The maximum number of blocks in a sample.
const BLOCKS: u64 = 1000;
/// Bytes of each: a multiple of every sector size.
const BLOCK_BYTES: usize = 4096;
/// Time limit for a slow device.
const TIME_MAX: Duration = Duration::from_secs(1);
/// Additional time limit for one that hangs.
const PATIENCE: Duration = Duration::from_secs(1);
/// Fewer are not meaningful.
const BLOCKS_MIN: u32 = 100;

/// Reads 1000 blocks spread over `used`, past the page cache, or the number that can be read in a second. `None` if the
/// device cannot be read, is too small, too slow or hangs.
pub fn sampled_zeros(device: &Path, used: &Range<u64>) -> Option<ZeroSample> {
    let (told, heard) = mpsc::channel();
    let (device, used) = (device.to_owned(), used.clone());
    // On a thread that can be abandoned: the kernel interrupts no read of a device that hangs.
    let sample = move || told.send(sample(&device, &used));
    std::thread::Builder::new().spawn(sample).ok()?;
    let sample = heard.recv_timeout(TIME_MAX + PATIENCE).ok()?.ok()?;
    (sample.blocks >= BLOCKS_MIN).then_some(sample)
}

fn sample(device: &Path, used: &Range<u64>) -> io::Result<ZeroSample> {
    let mut reader = DirectReader::open(device, BLOCK_BYTES)?;
    let length_bytes = used.end.saturating_sub(used.start);
    let mut sample = ZeroSample { start_bytes: used.start, length_bytes, ..ZeroSample::default() };
    let begin = Instant::now();
    for place in places(used) {
        if begin.elapsed() > TIME_MAX {
            break;
        }
        let block = reader.read(place, BLOCK_BYTES)?;
        sample.blocks += 1;
        sample.zero_blocks += u32::from(block.iter().all(|byte| *byte == 0));
    }
    Ok(sample)
}

/// One offset in each of equal parts, in an order that strides over the whole range: at a timeout, the sample so far is
/// of all of it.
fn places(used: &Range<u64>) -> impl Iterator<Item = u64> + use<> {
    /// Coprime to the number of blocks.
    const STRIDE: u64 = 617;
    let block_bytes = BLOCK_BYTES as u64;
    let first = used.start.div_ceil(block_bytes);
    let blocks = (used.end / block_bytes).saturating_sub(first);
    let count = BLOCKS.min(blocks);
    let part = blocks / count.max(1);
    let numbers = (0..BLOCKS).map(|turn| turn * STRIDE % BLOCKS).filter(move |number| *number < count);
    numbers.map(move |number| {
        // At a varying offset in each part, which could otherwise be that of a table or a stripe (Knuth's
        // multiplicative hash).
        let inside = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % part.max(1);
        (first + number * part + inside) * block_bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn places_are_spread_over_the_range_and_no_two_are_the_same() {
        let used = 1 << 20..(1 << 20) + (1 << 34);
        let seen: BTreeSet<u64> = places(&used).collect();
        assert_eq!(seen.len() as u64, BLOCKS);
        assert!(seen.iter().all(|place| used.contains(place) && place.is_multiple_of(4096)));
        for tenth in 0..10 {
            let part = used.start + tenth * (1 << 34) / 10..used.start + (tenth + 1) * (1 << 34) / 10;
            assert!(seen.range(part).count().abs_diff(100) <= 1, "tenth {tenth}");
        }
        let early: Vec<u64> = places(&used).take(20).collect();
        assert!(early.iter().any(|place| *place > used.end / 2) && early.iter().any(|place| *place < used.end / 2));
    }

    #[test]
    fn small_ranges_are_read_block_by_block() {
        assert_eq!(places(&(0..3 * 4096)).collect::<BTreeSet<_>>(), [0, 4096, 8192].into());
        assert_eq!(places(&(1..4096)).count(), 0);
        assert_eq!(places(&(0..0)).count(), 0);
    }

    #[test]
    fn what_cannot_be_read_is_not_told() {
        assert_eq!(sampled_zeros(Path::new("/nonexistent"), &(0..1 << 30)), None);
        assert_eq!(sampled_zeros(Path::new("/"), &(0..1 << 30)), None);
    }
}
