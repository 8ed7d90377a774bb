//! Parts of a run that are short, unlike all others, and move its mean or are slow for a second.

use super::{CUT_MIN, SHIFT_MIN};
use crate::sample::mean;
use model::change::BriefChange;

/// A cell is unlike the others if it is this many deviations from their median ...
const DEVIATIONS: f64 = 6.0;
/// ... and this share of it.
const SHARE_MIN: f64 = 0.25;
/// The median of distances from the median, as a standard deviation of a normal law.
const MAD_TO_DEVIATION: f64 = 1.4826;
/// A second is slow if it lacks this share of the usual I/Os, whatever it does to the mean of the run: so long a part has
/// an effect on the highest percentiles.
const SECOND_LACKS_MIN: f64 = 0.4;
/// Cells between two that are unlike the others, which still are one part.
const GAP_MAX: usize = 2;
/// With more such parts than these in one direction, they are the nature of the load.
const PARTS_MAX: usize = 3;

/// Level of most cells of a series, and the distance from it at which a cell is unlike them.
pub(super) struct UsualLevel {
    pub(super) median: f64,
    distance_min: f64,
}

impl UsualLevel {
    /// `None` if in half of the cells nothing happened.
    pub(super) fn from_cells(cells: &[f64]) -> Option<Self> {
        let median = median(cells.to_vec())?;
        let deviation = MAD_TO_DEVIATION * self::median(cells.iter().map(|cell| (cell - median).abs()).collect())?;
        (median > 0.0).then(|| Self { median, distance_min: (DEVIATIONS * deviation).max(SHARE_MIN * median) })
    }

    pub(super) fn is_above(&self, cell: f64) -> bool {
        cell > self.median + self.distance_min
    }

    pub(super) fn is_below(&self, cell: f64) -> bool {
        cell < self.median - self.distance_min
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// Ranges of neighbouring cells that are all unlike the others.
pub(super) fn ranges(cells: &[f64], is_unlike: impl Fn(f64) -> bool) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (index, _) in cells.iter().enumerate().filter(|(_, cell)| is_unlike(**cell)) {
        match ranges.last_mut() {
            Some((_, end)) if index <= *end + GAP_MAX => *end = index + 1,
            _ => ranges.push((index, index + 1)),
        }
    }
    ranges
}

/// The parts with slow seconds. A second holds ten times as many I/Os as a cell: at a few hundred per second only seconds
/// scatter so little that a lack shows.
fn slow_seconds(counts: &[f64], cell_ns: u64) -> Vec<(usize, usize)> {
    let width = 1_000_000_000_u64.div_ceil(cell_ns) as usize;
    let seconds: Vec<f64> = counts.windows(width).map(mean).collect();
    let Some(usual) = UsualLevel::from_cells(&seconds) else { return Vec::new() };
    let is_slow = |second: f64| usual.is_below(second) && second <= (1.0 - SECOND_LACKS_MIN) * usual.median;
    let slowest = |begin: usize, end: usize| seconds[begin..end].iter().copied().fold(f64::INFINITY, f64::min);
    let narrowed = |(begin, end): (usize, usize)| {
        let limit = f64::midpoint(usual.median, slowest(begin, end));
        let (from, to) = slowest_part(&counts[begin..end - 1 + width], limit);
        (begin + from, begin + to)
    };
    ranges(&seconds, is_slow).into_iter().map(narrowed).collect()
}

/// The part that lacks most I/Os in all, compared with a limit (the maximum subarray; Bentley, Programming Pearls, CACM
/// 27, 1984).
fn slowest_part(counts: &[f64], limit: f64) -> (usize, usize) {
    let (mut begin, mut lack) = (0, 0.0);
    let mut most = (0.0, (0, counts.len()));
    for (index, count) in counts.iter().enumerate() {
        lack += limit - count;
        if lack <= 0.0 {
            (begin, lack) = (index + 1, 0.0);
        } else if lack > most.0 {
            most = (lack, (begin, index + 1));
        }
    }
    most.1
}

/// The short parts that move the mean, or are slow for a second, and the cells that they hold.
pub(super) fn changes(counts: &[f64], cell_ns: u64) -> Vec<(std::ops::Range<usize>, BriefChange)> {
    let Some(usual) = UsualLevel::from_cells(counts) else { return Vec::new() };
    let (count, whole) = (counts.len() as f64, mean(counts));
    let per_s = |count: f64| count * 1e9 / cell_ns as f64;
    let change = |(begin, end): (usize, usize)| {
        let inside = &counts[begin..end];
        let length = inside.len() as f64;
        let rest = (whole * count - inside.iter().sum::<f64>()) / (count - length);
        let shift = (rest - whole) / whole;
        let (start_ns, end_ns) = (begin as u64 * cell_ns, end as u64 * cell_ns);
        let (iops, usual_iops) = (per_s(mean(inside)), per_s(usual.median));
        let change = BriefChange { start_ns, end_ns, iops, usual_iops, shift };
        (length <= CUT_MIN * count).then_some((begin..end, change))
    };
    let few = |ranges: Vec<(usize, usize)>| if ranges.len() <= PARTS_MAX { ranges } else { Vec::new() };
    let above = few(ranges(counts, |cell| usual.is_above(cell)));
    let below = ranges(counts, |cell| usual.is_below(cell));
    let slow = if below.len() <= PARTS_MAX { few(slow_seconds(counts, cell_ns)) } else { Vec::new() };
    let moves_mean = |(_, change): &(_, BriefChange)| change.shift.abs() >= SHIFT_MIN;
    let mut found: Vec<_> = above.into_iter().chain(few(below)).filter_map(change).filter(moves_mean).collect();
    let is_new = |found: &[(std::ops::Range<usize>, _)], (begin, end): (usize, usize)| {
        found.iter().all(|(cells, _)| cells.end <= begin || end <= cells.start)
    };
    for part in slow {
        if is_new(&found, part) {
            found.extend(change(part));
        }
    }
    found.sort_by_key(|(cells, _)| cells.start);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Source, coverage_percent, normal};
    use hot::rng::Rng;

    const CELL_NS: u64 = 100_000_000;

    #[test]
    fn half_a_second_that_moves_the_mean_of_half_a_minute_is_found() {
        let mut cells = vec![100.0; 300];
        cells[120..125].fill(1700.0);
        let found: Vec<BriefChange> = changes(&cells, CELL_NS).into_iter().map(|(_, change)| change).collect();
        let [change] = found[..] else { panic!("{found:?}") };
        assert_eq!((change.start_ns, change.end_ns), (12_000_000_000, 12_500_000_000));
        assert!((change.iops - 17_000.0).abs() < 1e-6 && (change.usual_iops - 1000.0).abs() < 1e-6, "{change:?}");
        assert!((change.shift + 80.0 / 380.0).abs() < 1e-9, "{change:?}");
    }

    #[test]
    fn what_is_long_or_small_or_common_is_none() {
        let with = |change: &dyn Fn(&mut [f64])| {
            let mut cells = vec![100.0; 600];
            change(&mut cells);
            changes(&cells, CELL_NS).len()
        };
        assert_eq!(with(&|cells| cells[..70].fill(300.0)), 0, "more than a tenth");
        assert_eq!(with(&|cells| cells[..10].fill(200.0)), 0, "1.7 % of the mean");
        assert_eq!(with(&|cells| cells[..50].fill(0.0)), 1);
        assert_eq!(with(&|cells| (0..4).for_each(|at| cells[at * 150..at * 150 + 20].fill(0.0))), 0, "four of them");
        assert!(changes(&[0.0; 300], CELL_NS).is_empty());
    }

    #[test]
    fn a_slow_second_is_found_though_it_hardly_moves_the_mean() {
        let mut rng = Rng::new(2);
        let mut cells: Vec<f64> = (0..600).map(|_| 30.0 + 30.0f64.sqrt() * normal(&mut rng)).collect();
        cells[200..212].iter_mut().for_each(|cell| *cell /= 4.0);
        let found: Vec<BriefChange> = changes(&cells, CELL_NS).into_iter().map(|(_, change)| change).collect();
        let [change] = found[..] else { panic!("{found:?}") };
        assert_eq!((change.start_ns, change.end_ns), (20_000_000_000, 21_200_000_000));
        assert!((60.0..90.0).contains(&change.iops) && (0.01..0.02).contains(&change.shift), "{change:?}");
    }

    #[test]
    fn steady_series_have_none() {
        for source in Source::STATIONARY {
            let alarms = coverage_percent(1000, |rng| !changes(&source.series(600, rng), CELL_NS).is_empty());
            assert!(alarms <= 1.0, "{source:?}: {alarms} %");
        }
    }
}
