//! Origin of a file: created by this tool, according to its mark, or foreign. And content of a device, by samples.

use model::facts::Origin;
use model::mark::{ATTRIBUTE, Mark, MarkedFileState, RUN_ATTRIBUTE};
use std::fs::File;
use std::io;
use std::iter;
use std::os::unix::fs::FileExt;
use sys::file_identity::FileState;

/// Bytes per sample.
const SAMPLE_BYTES: u64 = 4096;
/// Content of both fills in a sample.
const ZEROS: [u8; SAMPLE_BYTES as usize] = [0; SAMPLE_BYTES as usize];
const RAMP: [u8; SAMPLE_BYTES as usize] = ramp();
/// The maximum number of samples of one file.
const SAMPLES_MAX: u64 = 1000;
/// The maximum number of separate data extents.
const SEGMENTS_MAX: usize = 10_000;

/// Determines the origin of `file`, and whether it was written to since. A file that is open for the run `shared_run`
/// is ours: its first host has determined that.
pub(crate) fn determine(file: &File, state: &FileState, shared_run: Option<&str>) -> Origin {
    let mark = sys::xattr::get(file, ATTRIBUTE);
    if state.size_bytes == 0 {
        // It contains no data to lose, but another user may have created it.
        let marked = mark.ok().flatten().map(|value| by_mark(file, state, &value, shared_run));
        return marked.filter(|origin| matches!(origin, Origin::Ours { .. })).unwrap_or(Origin::Empty);
    }
    match mark {
        Ok(Some(value)) => by_mark(file, state, &value, shared_run),
        Ok(None) => foreign("it has no diskspd mark"),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => foreign(
            "its file system does not support extended attributes, so diskspd cannot mark files that it creates",
        ),
        Err(error) => foreign(format!("its diskspd mark cannot be read: {error}")),
    }
}

fn foreign(evidence: impl Into<String>) -> Origin {
    Origin::Foreign { evidence: evidence.into() }
}

fn by_mark(file: &File, state: &FileState, value: &[u8], shared_run: Option<&str>) -> Origin {
    let identity = match sys::file_identity::lasting_identity(file) {
        Ok(identity) => identity,
        Err(error) => return foreign(format!("its inode or birth time cannot be read: {error}")),
    };
    let FileState { size_bytes, modified_ns, .. } = *state;
    let seen = MarkedFileState { size_bytes, modified_ns, file: &identity };
    let is_shared = shared_run
        .is_some_and(|run| matches!(sys::xattr::get(file, RUN_ATTRIBUTE), Ok(Some(found)) if found == run.as_bytes()));
    if let Some(Mark { size_bytes, fill, .. }) = Mark::open(value, seen).filter(|_| is_shared) {
        return Origin::Ours { size_bytes, fill };
    }
    match Mark::fitting(value, seen) {
        Ok(Mark { size_bytes, fill, .. }) => Origin::Ours { size_bytes, fill },
        Err(why) => foreign(why.to_string()),
    }
}

/// Offset of the first sample that is neither zeros nor our fill.
pub(crate) fn first_foreign_sample(file: &File, size_bytes: u64) -> io::Result<Option<u64>> {
    let mut sample = [0; SAMPLE_BYTES as usize];
    for offset in sample_offsets(file, size_bytes) {
        let length = SAMPLE_BYTES.min(size_bytes - offset) as usize;
        let bytes = &mut sample[..length];
        match file.read_exact_at(bytes, offset) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Some(offset)),
            Err(error) => return Err(error),
        }
        if !is_ours(bytes) {
            return Ok(Some(offset));
        }
    }
    Ok(None)
}

const fn ramp() -> [u8; SAMPLE_BYTES as usize] {
    let mut ramp = [0; SAMPLE_BYTES as usize];
    let mut index = 0;
    while index < ramp.len() {
        ramp[index] = index as u8;
        index += 1;
    }
    ramp
}

/// Zeros, or 00..FF repeating from an offset that is a multiple of 256.
fn is_ours(bytes: &[u8]) -> bool {
    bytes == &ZEROS[..bytes.len()] || bytes == &RAMP[..bytes.len()]
}

/// Offsets of the samples, ascending: all blocks with data if they are few, else blocks spread
/// evenly over them, the first and the last among them.
fn sample_offsets(file: &File, size_bytes: u64) -> Vec<u64> {
    // If holes cannot be detected, everything counts as data.
    let segments = sys::extents::data_segments(file, size_bytes, SEGMENTS_MAX)
        .unwrap_or_else(|_| iter::once(0..size_bytes).collect());
    let blocks: Vec<(u64, u64)> =
        segments.iter().map(|segment| (segment.start / SAMPLE_BYTES, segment.end.div_ceil(SAMPLE_BYTES))).collect();
    let count: u64 = blocks.iter().map(|(first, end)| end - first).sum();
    let samples = count.min(SAMPLES_MAX);
    let mut offsets = Vec::new();
    let (mut segment, mut before) = (0, 0);
    for sample in 0..samples {
        let last = u128::from(count - 1);
        let wanted = (u128::from(sample) * last / u128::from((samples - 1).max(1))) as u64;
        while let Some((first, end)) = blocks.get(segment) {
            if wanted - before < end - first {
                offsets.push((first + wanted - before) * SAMPLE_BYTES);
                break;
            }
            before += end - first;
            segment += 1;
        }
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn file(size_bytes: u64, pieces: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().expect("a temporary file");
        file.set_len(size_bytes).expect("set");
        for (offset, bytes) in pieces {
            file.write_all_at(bytes, *offset).expect("written");
        }
        file
    }

    fn ramp(length: u64) -> Vec<u8> {
        (0..length).map(|index| index as u8).collect()
    }

    #[test]
    fn holes_zeros_and_the_ramp_are_no_foreign_data() {
        for (size, pieces) in [
            (MIB, vec![]),
            (MIB, vec![(0, vec![0; MIB as usize])]),
            (MIB + 77, vec![(0, ramp(MIB + 77))]),
            (100 * MIB, vec![(50 * MIB, ramp(MIB)), (0, vec![0; 4096])]),
        ] {
            let pieces: Vec<(u64, &[u8])> = pieces.iter().map(|(offset, bytes)| (*offset, &bytes[..])).collect();
            assert_eq!(first_foreign_sample(&file(size, &pieces), size).expect("readable"), None);
        }
    }

    #[test]
    fn any_other_sample_is_found() {
        let shifted: Vec<u8> = ramp(4097)[1..].to_vec();
        for (size, offset, bytes) in [
            (4096, 0, &b"x"[..]),
            (MIB, MIB - 1, b"x"),
            (MIB, 8192, &shifted),
            // One block of data in a sparse file of 1 TiB is found.
            (1 << 40, 123 << 30, b"x"),
        ] {
            let found = first_foreign_sample(&file(size, &[(offset, bytes)]), size).expect("readable");
            assert_eq!(found, Some(offset / SAMPLE_BYTES * SAMPLE_BYTES));
        }
    }

    #[test]
    fn a_large_file_is_sampled_from_its_first_to_its_last_block() {
        let size = 16 * MIB + 1;
        let offsets = sample_offsets(&file(size, &[(0, &vec![1; size as usize])]), size);
        assert_eq!(offsets.len() as u64, SAMPLES_MAX);
        assert_eq!((offsets.first(), offsets.last()), (Some(&0), Some(&(16 * MIB))));
        assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
