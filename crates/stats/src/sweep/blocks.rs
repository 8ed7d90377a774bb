//! Throughput over block size.

use super::advice::{best_of, unbeaten};
use super::{basis, figures, runs_on};
use crate::knee::{DepthSample, knee};
use model::headline::Headline;
use model::sweep::{BlockKnee, BlockSeries, Saturation, Setting, Sweep, Visit};
use std::collections::BTreeMap;

/// Option of the block size.
const BLOCK: &str = "b";
/// Smallest unit of a block size.
const SECTOR_BYTES: f64 = 512.0;

/// The series of block sizes, if depth does not vary as well.
pub fn block_sizes(sweep: &Sweep) -> Vec<BlockSeries> {
    if sweep.points.iter().flat_map(|point| &point.settings).any(Setting::is_depth) {
        return Vec::new();
    }
    let mut groups = BTreeMap::<Vec<Setting>, BTreeMap<u32, Vec<usize>>>::new();
    for (index, point) in sweep.points.iter().enumerate() {
        let Some(size) = figures(sweep, index).and_then(sectors) else { continue };
        if point.settings.iter().any(|setting| setting.name == BLOCK) {
            let shared = point.settings.iter().filter(|setting| setting.name != BLOCK).cloned().collect();
            groups.entry(shared).or_default().entry(size).or_default().push(index);
        }
    }
    let several = groups.into_iter().filter(|(_, sizes)| sizes.len() > 1);
    let mut found: Vec<BlockSeries> = several.map(|(settings, sizes)| series(sweep, settings, &sizes)).collect();
    // As given: 16 sorts before 4.
    found.sort_by_key(|series| series.points.iter().copied().min());
    found
}

/// Mean size of an I/O.
fn sectors(figures: &Headline) -> Option<u32> {
    let size = figures.bytes_per_s / figures.iops / SECTOR_BYTES;
    (size >= 1.0 && size <= f64::from(u32::MAX)).then(|| size.round() as u32)
}

fn series(sweep: &Sweep, settings: Vec<Setting>, sizes: &BTreeMap<u32, Vec<usize>>) -> BlockSeries {
    let points: Vec<usize> = sizes.values().flatten().copied().collect();
    let basis = basis(sweep, &points);
    let sample = |size: u32| {
        move |point: &usize| {
            let headlines = runs_on(sweep, *point, basis).into_iter().filter_map(Visit::headline);
            headlines.map(move |figures| DepthSample { depth: size, iops: figures.bytes_per_s }).collect::<Vec<_>>()
        }
    };
    // The same curve: more bytes at a time instead of more I/Os at a time.
    let samples: Vec<DepthSample> =
        sizes.iter().flat_map(|(size, points)| points.iter().flat_map(sample(*size))).collect();
    let knee = knee(&samples).and_then(|knee| match knee.saturation {
        Saturation::At { depth, plateau_iops } => {
            let point = best_of(sweep, sizes.get(&depth.depth)?)?;
            Some(BlockKnee::At { point: unbeaten(sweep, point, &points), plateau_bytes_per_s: plateau_iops })
        }
        Saturation::StillRising { doubling_percent } => Some(BlockKnee::StillRising { doubling_percent }),
    });
    BlockSeries { settings, points, knee }
}
