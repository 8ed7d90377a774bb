//! Measured reduction of written data (`--compress`, `--dedupe`).

use model::plan::TimeSpanPlan;
use model::profile::TimeSpan;
use model::record::{TimeSpanRecord, WrittenSample};
use model::result::ReductionFigures;
use structured_zstd::encoding::{CompressionLevel, compress_to_vec};

/// Compressed at a time: a record of ZFS and what btrfs compresses at once.
const PIECE_BYTES: usize = 128 << 10;

/// This many pieces are enough: each is made by the same law.
const PIECES_MAX: usize = 16;

/// The figures of every target with such data.
pub(crate) fn figures(span: &TimeSpan, plan: &TimeSpanPlan, record: &TimeSpanRecord) -> Vec<ReductionFigures> {
    let targets = span.targets.iter().zip(&plan.targets).enumerate();
    targets
        .filter_map(|(target, (asked, planned))| {
            let asked = asked.reduction()?;
            let of_target = record.rows.iter().filter(|row| row.target == target);
            let samples: Vec<&WrittenSample> = of_target.filter_map(|row| row.written.as_ref()).collect();
            // Data that is created and then read only has no sample.
            if samples.is_empty() {
                return None;
            }
            let pieces = samples.iter().flat_map(|sample| sample.bytes.chunks(PIECE_BYTES)).take(PIECES_MAX);
            let pieces: Vec<&[u8]> = pieces.collect();
            let hashes: Vec<u64> = samples.iter().flat_map(|sample| &sample.block_hashes).copied().collect();
            Some(ReductionFigures {
                target,
                path: planned.path.clone(),
                asked,
                sample_bytes: length(&pieces),
                zstd_ratio: ratio(&pieces, |piece| compress_to_vec(piece, CompressionLevel::Default).len()),
                lz4_ratio: ratio(&pieces, |piece| lz4_flex::block::compress(piece).len()),
                compared_blocks: hashes.len() as u64,
                equal_blocks_percent: equal_percent(hashes),
            })
        })
        .collect()
}

fn length(pieces: &[&[u8]]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}

/// Size divided by the size after compression.
fn ratio(pieces: &[&[u8]], compressed: impl Fn(&[u8]) -> usize) -> Option<f64> {
    let after: usize = pieces.iter().map(|piece| compressed(piece)).sum();
    (after > 0).then(|| length(pieces) as f64 / after as f64)
}

/// Percent of the blocks that are equal to another one.
fn equal_percent(mut hashes: Vec<u64>) -> Option<f64> {
    hashes.sort_unstable();
    let equal: usize = hashes.chunk_by(|a, b| a == b).map(<[u64]>::len).filter(|&count| count > 1).sum();
    (!hashes.is_empty()).then(|| equal as f64 / hashes.len() as f64 * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hot::reducible::{Reducible, SAMPLE_BLOCKS, Sample};
    use hot::rng::Rng;
    use model::plan::{Expected, OpenPlan, Preparation, TargetPlan};
    use model::profile::{Reduction, Target};
    use model::record::RowRecord;
    use model::units::Millionths;

    /// Reduction that is measured in data with these settings, in writes of a whole block.
    fn found(ratio: u32, dedupe_percent: u32) -> ReductionFigures {
        found_in(4096, ratio, dedupe_percent)
    }

    fn found_in(write_bytes: usize, ratio: u32, dedupe_percent: u32) -> ReductionFigures {
        let mut span = TimeSpan { targets: vec![Target::new("a")], ..TimeSpan::default() };
        let asked = Reduction { compress_ratio: Millionths(ratio * 1_000_000), dedupe_percent };
        (span.targets[0].compress_ratio, span.targets[0].dedupe_percent) =
            (Some(asked.compress_ratio), Some(dedupe_percent));
        let sample = |seed| {
            let (content, mut rng, mut sample) = (Reducible::new(asked), Rng::new(seed), Sample::default());
            let mut block = vec![0; write_bytes];
            for _ in 0..SAMPLE_BLOCKS {
                content.fill(&mut block, &mut rng);
                sample.take(&block);
            }
            let (bytes, block_hashes) = sample.into_parts();
            RowRecord { written: Some(WrittenSample { bytes, block_hashes }), ..RowRecord::default() }
        };
        let record = TimeSpanRecord { rows: vec![sample(1), sample(2)], ..TimeSpanRecord::default() };
        let target = TargetPlan {
            path: "a".into(),
            size_bytes: 1 << 30,
            preparation: Preparation::Keep,
            expect: Expected::Character,
            open: OpenPlan::default(),
            write_source: None,
            shared_run: None,
            stream: None,
        };
        let plan = TimeSpanPlan { targets: vec![target], ..TimeSpanPlan::default() };
        figures(&span, &plan, &record).remove(0)
    }

    #[test]
    fn data_compresses_as_asked_for_with_either_algorithm() {
        for (asked, tolerance) in [(1, 0.01), (2, 0.02), (5, 0.03), (10, 0.05), (12, 0.05), (15, 0.05)] {
            let found = found(asked, 0);
            for (name, ratio) in [("zstd", found.zstd_ratio), ("lz4", found.lz4_ratio)] {
                let ratio = ratio.expect("something was written");
                let off = ratio / f64::from(asked) - 1.0;
                assert!(off.abs() < tolerance, "{name}: {ratio} instead of {asked}");
            }
            assert_eq!((found.sample_bytes, found.compared_blocks), (512 << 10, 32_768));
            assert_eq!(found.equal_blocks_percent, Some(0.0));
        }
    }

    #[test]
    fn small_writes_compress_as_asked_for_as_far_as_they_are_admitted() {
        for (write_bytes, asked) in [(512, 2), (512, 3), (2048, 3)] {
            let found = found_in(write_bytes, asked, 0);
            for ratio in [found.zstd_ratio, found.lz4_ratio] {
                let off = ratio.expect("something was written") / f64::from(asked) - 1.0;
                assert!(off.abs() < 0.05, "{write_bytes} bytes, {asked}: {off}");
            }
        }
    }

    #[test]
    fn blocks_are_repeated_as_asked_for() {
        for asked in [1, 30, 100] {
            let equal = found(1, asked).equal_blocks_percent.expect("blocks were written");
            // Four deviations of 32,768 draws are 1 %.
            assert!((equal - f64::from(asked)).abs() < 1.0, "{equal} instead of {asked}");
        }
    }

    #[test]
    fn equal_blocks_count_all_but_those_that_are_alone() {
        assert_eq!(equal_percent(vec![1, 2, 1, 3]), Some(50.0));
        assert_eq!(equal_percent(vec![7, 7, 7]), Some(100.0));
        assert_eq!(equal_percent(vec![]), None);
    }
}
