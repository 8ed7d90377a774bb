//! Combined results of the runs of a sweep.

mod advice;
mod blocks;
mod counted;
mod leaders;

pub use advice::{
    ComparedFigures, above_plateau, are_blocks_large, compared, front, is_doubtful, loads, range, unbeaten, varied_load,
};
pub use blocks::block_sizes;
pub use counted::{CountedRuns, basis, figures, figures_on, median_run, runs, runs_on};
pub use leaders::{Leaders, leaders};

use crate::knee::{DEPTHS_MIN, DepthSample, knee, still_rises};
use advice::{best_of, throughputs};
use counted::is_disturbed;
use model::headline::Headline;
use model::sweep::{
    BlockKnee, BlockSeries, DepthSeries, DeviceCount, Point, Purpose, Saturation, Setting, Sweep, Visit,
};
use std::collections::BTreeMap;

/// Points that an open range has at least.
const OPEN_POINTS_MIN: usize = 5;
/// Throughput no longer grows if the upper half of the range brought less than this.
const FLAT_GAIN: f64 = 1.05;
/// A point lies off the curve if it is this far from its neighbours ...
const OFF_CURVE: f64 = 0.05;
/// ... and this many times as far as points are in the median.
const OFF_CURVE_SPREADS: f64 = 4.0;

/// The depth series of a sweep without their knees: points of equal settings but for those that set the depth. Splits
/// of one total depth are no series, because their depth does not vary.
fn series(sweep: &Sweep) -> Vec<DepthSeries> {
    let mut groups = BTreeMap::<Vec<Setting>, BTreeMap<u32, Vec<usize>>>::new();
    for (index, point) in sweep.points.iter().enumerate() {
        let depth = figures(sweep, index).and_then(|figures| figures.depth);
        let Some((shared, depth)) = beside_depth(point).zip(depth) else { continue };
        groups.entry(shared).or_default().entry(depth).or_default().push(index);
    }
    let series = groups.into_iter().filter(|(_, depths)| depths.len() > 1).map(|(settings, depths)| DepthSeries {
        settings,
        points: depths.into_values().flatten().collect(),
        knee: None,
        recommended: None,
    });
    let mut series: Vec<DepthSeries> = series.collect();
    // As given: 16K sorts before 4K.
    series.sort_by_key(|series| series.points.iter().copied().min());
    series
}

/// The settings of a point that do not set its depth, the same in all of a series; `None` if none sets it.
fn beside_depth(point: &Point) -> Option<Vec<Setting>> {
    let (depth, shared): (Vec<_>, Vec<_>) = point.settings.iter().cloned().partition(Setting::is_depth);
    (!depth.is_empty()).then_some(shared)
}

/// True if a sweep varies the queue depth over too few values for a knee, before anything is measured.
pub fn has_too_few_depths(points: &[Point]) -> bool {
    let mut groups = BTreeMap::<Vec<Setting>, usize>::new();
    for shared in points.iter().filter_map(beside_depth) {
        *groups.entry(shared).or_default() += 1;
    }
    groups.values().any(|&count| count > 1) && groups.values().all(|&count| count < DEPTHS_MIN)
}

/// Adds the combined results of the runs of a sweep to it.
pub fn conclude(sweep: &mut Sweep) {
    sweep.depths = depths(sweep);
    sweep.front = loads(sweep).iter().flat_map(|points| front(sweep, points)).collect();
    sweep.front.sort_unstable();
    sweep.block_sizes = block_sizes(sweep);
}

/// The depth series of a sweep, their knees, and the points to use.
///
/// Where a depth has several points, only the best of them are on the curve.
pub fn depths(sweep: &Sweep) -> Vec<DepthSeries> {
    let with_knee = |mut series: DepthSeries| {
        series.knee = knee(&samples(sweep, &series));
        let efficient = series.knee.as_ref().and_then(|knee| point_at(sweep, &series, knee.efficient.depth));
        series.recommended = efficient.map(|point| unbeaten(sweep, point, &series.points));
        series
    };
    series(sweep).into_iter().map(with_knee).collect()
}

/// The runs on the curve of a series. Of several points of a depth those with the most throughput: the highest alone, if
/// noise may have made it, would lift the curve where a depth has many points.
fn samples(sweep: &Sweep, series: &DepthSeries) -> Vec<DepthSample> {
    let basis = basis(sweep, &series.points);
    let mut depths = BTreeMap::<u32, Vec<usize>>::new();
    for point in &series.points {
        if let Some(depth) = figures_on(sweep, *point, basis).and_then(|figures| figures.depth) {
            depths.entry(depth).or_default().push(*point);
        }
    }
    let on_curve = |points: &Vec<usize>| match leaders(sweep, points) {
        Some(Leaders::Several(points)) => points,
        Some(Leaders::One(point) | Leaders::Single(point)) => vec![point],
        None => Vec::new(),
    };
    let runs = depths.values().flat_map(on_curve).flat_map(|point| runs_on(sweep, point, basis));
    let sample = |figures: &Headline| figures.depth.map(|depth| DepthSample { depth, iops: figures.iops });
    runs.filter_map(Visit::headline).filter_map(sample).collect()
}

/// Points to be measured again, ascending: those whose first run was disturbed, and of the others those off the curve.
pub fn points_to_repeat(sweep: &Sweep) -> Vec<usize> {
    // A resumed sweep must find the same, whatever was repeated before.
    let sweep = without(sweep, &[Purpose::Again, Purpose::Confirm]);
    let mut found = disturbed(&sweep);
    found.extend(off_the_curve(&sweep, &found));
    found.sort_unstable();
    found.dedup();
    found
}

/// Points without a sound run, if another run may help: where most points are disturbed, the cause is lasting.
fn disturbed(sweep: &Sweep) -> Vec<usize> {
    let points: Vec<usize> = (0..sweep.points.len()).filter(|point| figures(sweep, *point).is_some()).collect();
    let has_no_sound = |point: &usize| runs(sweep, *point).into_iter().filter_map(Visit::headline).all(is_disturbed);
    let found: Vec<usize> = points.iter().copied().filter(has_no_sound).collect();
    if found.len() * 2 > points.len() { Vec::new() } else { found }
}

/// The sweep without the runs of some purposes.
fn without(sweep: &Sweep, purposes: &[Purpose]) -> Sweep {
    let visits = sweep.visits.iter().filter(|visit| !purposes.contains(&visit.purpose)).cloned().collect();
    Sweep { visits, ..sweep.clone() }
}

/// Points whose throughput does not fit their neighbours' in depth. Beside a disturbed point its sound neighbour would look
/// bad.
fn off_the_curve(sweep: &Sweep, disturbed: &[usize]) -> Vec<usize> {
    let sound = |series: &DepthSeries| -> Vec<usize> {
        series.points.iter().copied().filter(|point| !disturbed.contains(point)).collect()
    };
    series(sweep).iter().flat_map(|series| off_one_curve(sweep, &sound(series))).collect()
}

/// A point's distance is that from the median of itself and its four neighbours in depth, which a single
/// one cannot move far; that median follows a rising or falling curve. The worst is taken out first, so that
/// it does not make its neighbours look bad.
fn off_one_curve(sweep: &Sweep, points: &[usize]) -> Vec<usize> {
    let mut known: Vec<(usize, f64)> =
        points.iter().filter_map(|point| Some((*point, figures(sweep, *point)?.iops.ln()))).collect();
    let mut found = Vec::new();
    while known.len() >= OPEN_POINTS_MIN {
        let distance = |middle: usize| {
            let from = middle.saturating_sub(2).min(known.len() - 5);
            let mut five: Vec<f64> = known[from..from + 5].iter().map(|(_, iops)| *iops).collect();
            five.sort_by(f64::total_cmp);
            (known[middle].1 - five[2]).abs()
        };
        let distances: Vec<f64> = (0..known.len()).map(distance).collect();
        let mut sorted = distances.clone();
        sorted.sort_by(f64::total_cmp);
        let limit = OFF_CURVE.max(OFF_CURVE_SPREADS * sorted[sorted.len() / 2]);
        // The ends of a rising curve are far from their neighbours' median by nature.
        let inner = 2..known.len() - 2;
        let Some(worst) = inner.max_by(|&a, &b| distances[a].total_cmp(&distances[b])) else { break };
        if distances[worst] <= limit {
            break;
        }
        found.push(known.remove(worst).0);
    }
    found
}

/// True if an open range has gone far enough: the upper half of it brought next to nothing.
pub fn is_flat(sweep: &Sweep) -> bool {
    let was_tried = |point: usize| sweep.visits.iter().any(|visit| visit.point == point);
    let tried = throughputs(sweep, &(0..sweep.points.len()).take_while(|point| was_tried(*point)).collect::<Vec<_>>());
    if tried.len() < OPEN_POINTS_MIN {
        return false;
    }
    // Values are numbers: an open range has no others.
    let value = |point: usize| sweep.points[point].settings.first().and_then(|setting| number(&setting.value));
    let Some(last) = value(tried.len() - 1) else { return true };
    let best = |from: f64, to: f64| {
        let among = tried.iter().enumerate().filter(|(point, _)| value(*point).is_some_and(|v| v > from && v <= to));
        among.map(|(_, iops)| *iops).fold(0.0, f64::max)
    };
    // A range whose throughput is later reported as still rising must not end here.
    let sample =
        |(point, iops): (usize, &f64)| value(point).map(|size| DepthSample { depth: size as u32, iops: *iops });
    let samples: Vec<DepthSample> = tried.iter().enumerate().filter_map(sample).collect();
    best(last / 2.0, last) < FLAT_GAIN * best(0.0, last / 2.0) && !still_rises(&samples)
}

/// The number that a value of a range begins with, in its own unit.
fn number(value: &str) -> Option<f64> {
    value.trim_end_matches(|unit: char| unit.is_ascii_alphabetic()).parse().ok()
}

/// After a first look: both depths of each series, and the point of each load with the most throughput.
pub fn points_that_matter(sweep: &Sweep) -> Vec<usize> {
    // A resumed sweep must find the same, whatever was confirmed before.
    let sweep = &without(sweep, &[Purpose::Confirm]);
    let mut points = Vec::new();
    for series in depths(sweep) {
        let Some(knee) = &series.knee else { continue };
        let saturation = match knee.saturation {
            Saturation::At { depth, .. } => Some(depth.depth),
            Saturation::StillRising { .. } => None,
        };
        let depths = [Some(knee.efficient.depth), saturation].into_iter().flatten();
        points.extend(depths.filter_map(|depth| point_at(sweep, &series, depth)));
    }
    points.extend(loads(sweep).iter().filter_map(|points| best_of(sweep, points)));
    points.sort_unstable();
    points.dedup();
    points
}

/// Figures of a point for one of the devices below the targets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerDevice {
    /// I/Os of the devices for each I/O of the load: a write is made as often as there are copies.
    pub amplification: f64,
    /// I/Os outstanding; `None` = unknown.
    pub depth: Option<f64>,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
}

/// Shares out the figures of a point over the devices below.
pub fn per_device(figures: &Headline, devices: DeviceCount) -> PerDevice {
    let amplification = 1.0 - figures.write_share + figures.write_share * f64::from(devices.copies);
    let each = |all: f64| all * amplification / f64::from(devices.ssds);
    PerDevice {
        amplification,
        depth: figures.depth.map(|depth| each(depth.into())),
        iops: each(figures.iops),
        bytes_per_s: each(figures.bytes_per_s),
    }
}

/// The figures of one point in percent of those of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelativeFigures {
    /// I/Os per second.
    pub iops_percent: f64,
    /// Mean latency; `None` if it was not measured.
    pub mean_percent: Option<f64>,
}

/// One point beside another; `None` if the other has no throughput.
pub fn beside(figures: &Headline, other: &Headline) -> Option<RelativeFigures> {
    let percent = |one: f64, other: f64| (other > 0.0).then(|| one / other * 100.0);
    Some(RelativeFigures {
        iops_percent: percent(figures.iops, other.iops)?,
        mean_percent: figures.mean_ns.zip(other.mean_ns).and_then(|(one, other)| percent(one, other)),
    })
}

/// True if the intervals of a series of depths come from the scatter of repeated runs, not from single ones.
pub fn is_repeated(sweep: &Sweep, points: &[usize]) -> bool {
    let basis = basis(sweep, points);
    points.iter().filter(|point| runs_on(sweep, **point, basis).len() > 1).count() * 2 >= points.len()
}

/// How much throughput grew towards the largest point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The point of half the size, or the nearest below that.
    pub from: usize,
    /// The point of the largest size.
    pub to: usize,
    /// Throughput of the second in percent more than that of the first.
    pub percent: f64,
}

/// From half of the largest size to the largest, by `size` and `rate`; `None` with fewer than two sizes.
pub fn growth(
    sweep: &Sweep,
    points: &[usize],
    size: fn(&Headline) -> Option<f64>,
    rate: fn(&Headline) -> f64,
) -> Option<Growth> {
    let basis = basis(sweep, points);
    let known = points.iter().filter_map(|point| {
        let figures = figures_on(sweep, *point, basis)?;
        Some((size(figures)?, rate(figures), *point))
    });
    let mut known: Vec<(f64, f64, usize)> = known.collect();
    // Of several points of one size, the best is the last.
    known.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let &(largest, after, to) = known.last()?;
    let &(size, before, from) = known.iter().rfind(|(size, ..)| *size <= largest / 2.0).or(known.first())?;
    (size < largest && before > 0.0).then(|| Growth { from, to, percent: (after / before - 1.0) * 100.0 })
}

/// Why the run of a point gets a section of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionReason {
    /// All streams together.
    Together,
    /// The highest point that meets limits.
    MeetsLimits,
    /// The same, not confirmed.
    Estimate,
    /// One of the points at which chance decides whether a run meets limits.
    Noise,
    /// No point meets limits; this is the lowest.
    MissesLimits,
    /// The point to use.
    Recommended,
    /// The most throughput of all points.
    Best,
}

/// The point whose run gets its own section, see [`shown`].
pub fn recommended(sweep: &Sweep) -> Option<usize> {
    shown(sweep).map(|(point, _)| point)
}

/// The point whose run gets its own section: the highest that meets limits, or the lowest that does not; the one to use if
/// there is one series of depths or of block sizes; or else the one with the most throughput.
pub fn shown(sweep: &Sweep) -> Option<(usize, SectionReason)> {
    if sweep.interference.is_some() {
        return Some((sweep.points.len().checked_sub(1)?, SectionReason::Together));
    }
    if let Some(found) = &sweep.limit {
        if let Some(noise) = found.noise {
            let is_of_range = |point: &usize| (noise.first..=noise.last).contains(point);
            let has_figures = |point: &usize| figures(sweep, *point).is_some();
            let point = found.holds.filter(is_of_range).filter(has_figures).unwrap_or(noise.first);
            return has_figures(&point).then_some((point, SectionReason::Noise));
        }
        let met = if found.is_confirmed { SectionReason::MeetsLimits } else { SectionReason::Estimate };
        let met = found.holds.map(|point| (point, met));
        let decided = met.or_else(|| found.fails.map(|point| (point, SectionReason::MissesLimits)));
        if let Some((point, why)) = decided {
            return figures(sweep, point).map(|_| (point, why));
        }
    }
    let of_depths = match &sweep.depths[..] {
        [series] => series.recommended,
        _ => None,
    };
    let of_blocks = match &sweep.block_sizes[..] {
        [BlockSeries { knee: Some(BlockKnee::At { point, .. }), .. }] => Some(*point),
        _ => None,
    };
    let to_use = of_depths.or(of_blocks).map(|point| (point, SectionReason::Recommended));
    to_use.or_else(|| best(sweep).map(|point| (point, SectionReason::Best)))
}

/// Where block sizes and depths vary together: the points with the most of each kind of throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcrossBlocks {
    /// The point with the most bytes per second.
    pub most_bytes: usize,
    /// The point with the most I/Os per second.
    pub most_iops: usize,
}

/// `None` unless points of one load, which several block sizes have, also differ in depth.
pub fn across_blocks(sweep: &Sweep) -> Option<AcrossBlocks> {
    let is_depth_varied = sweep.points.iter().flat_map(|point| &point.settings).any(Setting::is_depth);
    let loads = loads(sweep);
    let [points] = &loads[..] else { return None };
    if !is_depth_varied || !advice::are_blocks_varied(sweep, points) {
        return None;
    }
    let basis = basis(sweep, points);
    let highest = |of: fn(&Headline) -> f64| {
        let known = points.iter().filter_map(|point| Some((*point, of(figures_on(sweep, *point, basis)?))));
        known.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(point, _)| point)
    };
    let most_bytes = highest(|figures| figures.bytes_per_s)?;
    Some(AcrossBlocks { most_bytes, most_iops: highest(|figures| figures.iops)? })
}

/// The best point of a series with this depth: that with the most throughput, of equal ones that with the lowest
/// latency, then that with the least CPU usage.
pub fn point_at(sweep: &Sweep, series: &DepthSeries, depth: u32) -> Option<usize> {
    let of_depth = |point: &usize| figures(sweep, *point).is_some_and(|figures| figures.depth == Some(depth));
    best_of(sweep, &series.points.iter().copied().filter(of_depth).collect::<Vec<_>>())
}

/// The points that are comparable by throughput: those of the first load, and if some are confirmed only these.
pub fn compared_points(sweep: &Sweep) -> Vec<usize> {
    let points = loads(sweep).into_iter().next().unwrap_or_default();
    let is_confirmed = |point: &usize| !runs_on(sweep, *point, CountedRuns::Confirmed).is_empty();
    let confirmed: Vec<usize> = points.iter().copied().filter(is_confirmed).collect();
    if confirmed.is_empty() { points } else { confirmed }
}

/// The point with the most throughput of the [`compared_points`]: I/Os per second, or bytes where blocks are large or
/// their sizes differ.
pub fn best(sweep: &Sweep) -> Option<usize> {
    best_of(sweep, &compared_points(sweep))
}

#[cfg(test)]
mod tests;
