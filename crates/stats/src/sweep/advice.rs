//! Which points of a sweep to use: never one that another point beats in all figures.

use super::counted::is_confirmed;
use super::{basis, figures, figures_on, runs};
use model::headline::Headline;
use model::sweep::{Point, Setting, Sweep, Visit};
use std::cmp::Ordering;

/// The figures by which points are compared, beside the CPU usage of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComparedFigures {
    /// True: bytes per second; false: I/Os per second.
    pub by_bytes: bool,
    /// True if the mean latency counts.
    pub has_latency: bool,
}

/// The figures that points are compared by.
#[derive(Clone, Copy)]
pub(super) struct Scale(ComparedFigures);

/// The figures of a point that decide if it is better than another.
#[derive(Clone, Copy, Debug)]
struct Merit {
    throughput: f64,
    /// In nanoseconds.
    latency: f64,
    cpu_percent: f64,
}

impl Scale {
    /// The mean latency where all points have it, else none; throughput in bytes where blocks are large or their sizes
    /// differ. Advice and headlines use the same figures.
    pub(super) fn from_points(sweep: &Sweep, points: &[usize]) -> Self {
        let mut known = points.iter().filter_map(|point| figures(sweep, *point));
        let has_latency = known.all(|figures| figures.mean_ns.is_some());
        let by_bytes = are_blocks_large(sweep, points) || are_blocks_varied(sweep, points);
        Self(ComparedFigures { by_bytes, has_latency })
    }

    /// In bytes or I/Os per second.
    pub(super) fn throughput(self, figures: &Headline) -> f64 {
        if self.0.by_bytes { figures.bytes_per_s } else { figures.iops }
    }

    fn merit(self, figures: &Headline) -> Merit {
        Merit {
            throughput: self.throughput(figures),
            latency: figures.mean_ns.filter(|_| self.0.has_latency).unwrap_or_default(),
            cpu_percent: figures.cpu_percent,
        }
    }
}

impl Merit {
    /// True if it is nowhere worse, and somewhere better.
    fn beats(&self, other: &Self) -> bool {
        self.throughput >= other.throughput
            && self.latency <= other.latency
            && self.cpu_percent <= other.cpu_percent
            && self.compare(other) != Ordering::Equal
    }

    /// By throughput, then latency, then CPU usage: greater is better.
    fn compare(&self, other: &Self) -> Ordering {
        let throughput = self.throughput.total_cmp(&other.throughput);
        throughput.then(other.latency.total_cmp(&self.latency)).then(other.cpu_percent.total_cmp(&self.cpu_percent))
    }
}

fn merits(sweep: &Sweep, points: &[usize]) -> Vec<(usize, Merit)> {
    let (scale, basis) = (Scale::from_points(sweep, points), basis(sweep, points));
    points.iter().filter_map(|point| Some((*point, scale.merit(figures_on(sweep, *point, basis)?)))).collect()
}

/// True if the I/Os of all these points are so large that throughput is given in MiB/s.
pub fn are_blocks_large(sweep: &Sweep, points: &[usize]) -> bool {
    let mut known = points.iter().filter_map(|point| figures(sweep, *point)).peekable();
    known.peek().is_some() && known.all(Headline::has_large_blocks)
}

/// True if block sizes differ among points.
pub(super) fn are_blocks_varied(sweep: &Sweep, points: &[usize]) -> bool {
    let block = |point: &usize| sweep.points[*point].settings.iter().find(|setting| setting.name == "b");
    points.iter().any(|point| block(point) != points.first().and_then(block))
}

/// The throughput of each of these points, by which they are compared; 0 for those without figures.
pub(super) fn throughputs(sweep: &Sweep, points: &[usize]) -> Vec<f64> {
    let (scale, basis) = (Scale::from_points(sweep, points), basis(sweep, points));
    let throughput = |point: &usize| figures_on(sweep, *point, basis).map_or(0.0, |figures| scale.throughput(figures));
    points.iter().map(throughput).collect()
}

/// The best of some points by throughput, then latency, then CPU usage; of equal ones the first.
pub(super) fn best_of(sweep: &Sweep, points: &[usize]) -> Option<usize> {
    let merits = merits(sweep, points);
    merits.into_iter().rev().max_by(|(_, a), (_, b)| a.compare(b)).map(|(point, _)| point)
}

/// By which figures the points of a sweep are compared.
pub fn compared(sweep: &Sweep) -> ComparedFigures {
    Scale::from_points(sweep, &(0..sweep.points.len()).collect::<Vec<_>>()).0
}

/// The points of these that no other one beats in throughput, mean latency and CPU usage.
pub fn front(sweep: &Sweep, points: &[usize]) -> Vec<usize> {
    let merits = merits(sweep, points);
    let is_beaten = |merit: &Merit| merits.iter().any(|(_, other)| other.beats(merit));
    merits.iter().filter(|(_, merit)| !is_beaten(merit)).map(|(point, _)| *point).collect()
}

/// A point, or the nearest in throughput of those that beat it and that none beats. A confirmed point is compared with
/// confirmed ones.
pub fn unbeaten(sweep: &Sweep, point: usize, points: &[usize]) -> usize {
    let comparable = |other: &usize| !is_confirmed(sweep, point) || is_confirmed(sweep, *other);
    let points = &points.iter().copied().filter(comparable).collect::<Vec<_>>();
    let merits = merits(sweep, points);
    let Some((_, wanted)) = merits.iter().find(|(known, _)| *known == point) else { return point };
    let front = front(sweep, points);
    let better = merits.iter().filter(|(other, merit)| merit.beats(wanted) && front.contains(other));
    better.min_by(|(_, a), (_, b)| a.throughput.total_cmp(&b.throughput)).map_or(point, |(other, _)| *other)
}

/// True if every run that stands for these points has a warning, so that no interval shows how sure they are.
pub fn is_doubtful(sweep: &Sweep, points: &[usize]) -> bool {
    crate::repeats::is_doubtful(points.iter().flat_map(|point| runs(sweep, *point)).filter_map(Visit::headline))
}

/// The point of these with the highest value, if it lies above the plateau, which is a mean of several.
pub fn above_plateau(sweep: &Sweep, points: &[usize], plateau: f64, of: fn(&Headline) -> f64) -> Option<(usize, f64)> {
    let basis = basis(sweep, points);
    let known = points.iter().filter_map(|point| Some((*point, of(figures_on(sweep, *point, basis)?))));
    known.max_by(|(_, a), (_, b)| a.total_cmp(b)).filter(|(_, highest)| *highest > plateau)
}

/// Options that define the load: another value is another question, so none is better than another.
const LOAD: [&str; 21] = [
    Setting::PATTERN,
    "w",
    "f",
    "c",
    "r",
    "s",
    "si",
    "rs",
    "rd",
    "rdpct",
    "rdabs",
    "Z",
    "ft",
    "B",
    "sizes",
    "skew",
    "compress",
    "dedupe",
    "append",
    "discard",
    "write-zeroes",
];

/// Points of each load, in the order given: no point is better than one of another load.
pub fn loads(sweep: &Sweep) -> Vec<Vec<usize>> {
    let load = |point: usize| -> Vec<&Setting> {
        sweep.points[point].settings.iter().filter(|setting| LOAD.contains(&setting.name.as_str())).collect()
    };
    let mut loads: Vec<Vec<usize>> = Vec::new();
    for point in 0..sweep.points.len() {
        match loads.iter_mut().find(|points| load(points[0]) == load(point)) {
            Some(points) => points.push(point),
            None => loads.push(vec![point]),
        }
    }
    loads
}

/// Varied options that define the load.
pub fn varied_load(sweep: &Sweep) -> Vec<&str> {
    let first = sweep.points.first().map_or(&[][..], |point| &point.settings[..]);
    let varies = |name: &str| {
        let value = |point: &Point| point.settings.iter().find(|setting| setting.name == name).map(|s| s.value.clone());
        sweep.points.iter().any(|point| value(point) != sweep.points.first().and_then(value))
    };
    first.iter().map(|setting| setting.name.as_str()).filter(|name| LOAD.contains(name) && varies(name)).collect()
}

/// The points with the least and the most throughput.
pub fn range(sweep: &Sweep) -> Option<(usize, usize)> {
    let merits = merits(sweep, &(0..sweep.points.len()).collect::<Vec<_>>());
    let by_throughput = |a: &&(usize, Merit), b: &&(usize, Merit)| a.1.throughput.total_cmp(&b.1.throughput);
    Some((merits.iter().min_by(by_throughput)?.0, merits.iter().max_by(by_throughput)?.0))
}
