//! Counts of hosts in equal parts of their measurements, on the common axis.
//!
//! A part is not divided: it counts in that part of the common axis whose place is nearest, so that counts, extremes and
//! histograms stay exact and only its time is off, by at most half its width. Parts that some host lacks, because it
//! began later or ended earlier, are left out.

use super::part::HostPart;
use crate::combine::pooled;
use crate::rate;
use model::course::{Section, SectionFigures, Series, SeriesCounts};
use model::figures::{Directions, IntervalFigures, LatencyFigures};
use std::ops::Range;

/// By how many parts of this width the parts of a host move.
fn moved(part: &HostPart<'_>, start_ns: i64, width_ns: u64) -> i64 {
    let (shift_ns, width_ns) = (i128::from(part.axis.shift_ns(start_ns)), i128::from(width_ns.max(1)));
    (shift_ns + width_ns / 2).div_euclid(width_ns) as i64
}

/// Which of its own parts each host has in the common ones: as many of each host.
pub(super) struct Layout {
    firsts: Vec<usize>,
    pub(super) count: usize,
}

impl Layout {
    /// `counts` are the parts of each host.
    fn new(parts: &[HostPart<'_>], start_ns: i64, width_ns: u64, counts: &[usize]) -> Self {
        let moves: Vec<i64> = parts.iter().map(|part| moved(part, start_ns, width_ns)).collect();
        let ends = moves.iter().zip(counts).map(|(moved, count)| moved.saturating_add_unsigned(*count as u64));
        // None before the window begins.
        let first = moves.iter().copied().max().unwrap_or(0).max(0);
        let count = usize::try_from(ends.min().unwrap_or(0).saturating_sub(first)).unwrap_or(0);
        let firsts = moves.iter().map(|moved| usize::try_from(first.saturating_sub(*moved)).unwrap_or(0)).collect();
        Self { firsts, count }
    }

    /// The range of a host's own parts.
    fn range(&self, host: usize) -> Range<usize> {
        let first = self.firsts.get(host).copied().unwrap_or(0);
        first..first + self.count
    }
}

/// The layout of the intervals (`-D`) of rows and of all of them together; `None` if hosts have none, or other ones.
pub(super) fn intervals(parts: &[HostPart<'_>], start_ns: i64, width_ns: u64) -> Option<Layout> {
    let counts: Vec<usize> = parts.iter().map(|part| part.measured.intervals.len()).collect();
    let are_there = width_ns > 0 && !counts.is_empty() && !counts.contains(&0);
    are_there.then(|| Layout::new(parts, start_ns, width_ns, &counts))
}

impl Layout {
    /// A host's intervals on the common axis.
    pub(super) fn select(&self, host: usize, of: &[Directions<IntervalFigures>]) -> Vec<Directions<IntervalFigures>> {
        of.get(self.range(host)).unwrap_or_default().to_vec()
    }

    /// Those of all hosts together.
    pub(super) fn sum(&self, parts: &[HostPart<'_>], width_ns: u64) -> Vec<Directions<IntervalFigures>> {
        let own: Vec<_> =
            parts.iter().enumerate().map(|(host, part)| self.select(host, &part.measured.intervals)).collect();
        let at = |index: usize| {
            let all = || own.iter().filter_map(|own| own.get(index));
            let sum = |of: fn(&Directions<IntervalFigures>) -> IntervalFigures| {
                let cells = all().map(of);
                let ios = cells.clone().fold(0, |ios: u64, cell| ios.saturating_add(cell.ios));
                let latency = pooled(cells.filter_map(|cell| Some((cell.ios, cell.latency?))));
                IntervalFigures { ios, iops: rate::per_second(ios, width_ns), latency }
            };
            Directions { read: sum(|of| of.read), write: sum(|of| of.write), total: sum(|of| of.total) }
        };
        (0..self.count).map(at).collect()
    }
}

/// Population deviation of the I/Os per second over intervals; `None` without any.
pub(super) fn std_devs(intervals: &[Directions<IntervalFigures>]) -> Option<Directions<f64>> {
    let std_dev = |rate: fn(&Directions<IntervalFigures>) -> f64| {
        let count = intervals.len() as f64;
        let mean = intervals.iter().map(rate).sum::<f64>() / count;
        (intervals.iter().map(|cell| (rate(cell) - mean).powi(2)).sum::<f64>() / count).sqrt()
    };
    let all = Directions {
        read: std_dev(|of| of.read.iops),
        write: std_dev(|of| of.write.iops),
        total: std_dev(|of| of.total.iops),
    };
    (!intervals.is_empty()).then_some(all)
}

/// The series of all hosts together, in cells of the widest; empty if one has none.
pub(super) fn series(parts: &[HostPart<'_>], start_ns: i64) -> Series {
    let widths = || parts.iter().map(|part| part.measured.series.width_ns);
    let width_ns = widths().max().unwrap_or(0);
    if width_ns == 0 || widths().any(|own_ns| own_ns == 0 || width_ns % own_ns != 0) {
        return Series::default();
    }
    let own: Vec<Series> = parts.iter().map(|part| widened(&part.measured.series, width_ns)).collect();
    let counts: Vec<usize> = own.iter().map(|own| own.read.ios.len()).collect();
    let layout = Layout::new(parts, start_ns, width_ns, &counts);
    let side = |of: fn(&Series) -> &SeriesCounts| {
        let sum = |amounts: fn(&SeriesCounts) -> &Vec<u64>| {
            let mut sums = vec![0u64; layout.count];
            for (host, own) in own.iter().enumerate() {
                // Amounts that one host lacks are unknown for all together.
                let Some(own) = amounts(of(own)).get(layout.range(host)) else { return Vec::new() };
                for (sum, amount) in sums.iter_mut().zip(own) {
                    *sum = sum.saturating_add(*amount);
                }
            }
            sums
        };
        SeriesCounts {
            ios: sum(|counts| &counts.ios),
            bytes: sum(|counts| &counts.bytes),
            latency_sum_ns: sum(|counts| &counts.latency_sum_ns),
        }
    };
    Series { width_ns, read: side(|series| &series.read), write: side(|series| &series.write) }
}

/// In cells of this width, a multiple of its own; a last one that is not whole is left out.
fn widened(series: &Series, width_ns: u64) -> Series {
    let cells_each = usize::try_from(width_ns / series.width_ns.max(1)).unwrap_or(1).max(1);
    let sums = |amounts: &[u64]| -> Vec<u64> {
        amounts.chunks_exact(cells_each).map(|cells| cells.iter().copied().fold(0, u64::saturating_add)).collect()
    };
    let side = |counts: &SeriesCounts| SeriesCounts {
        ios: sums(&counts.ios),
        bytes: sums(&counts.bytes),
        latency_sum_ns: sums(&counts.latency_sum_ns),
    };
    Series { width_ns, read: side(&series.read), write: side(&series.write) }
}

/// The sections of all hosts together; empty if one has none, or other ones.
pub(super) fn sections(parts: &[HostPart<'_>], start_ns: i64) -> Vec<Section> {
    let length_ns = |section: &Section| section.end_ns.saturating_sub(section.start_ns);
    let firsts = || parts.iter().filter_map(|part| part.measured.sections.first()).map(length_ns);
    let width_ns = firsts().max().unwrap_or(0);
    // One that is alone may have been cut short.
    let is_other = |part: &HostPart<'_>| match &part.measured.sections[..] {
        [] => true,
        [_] => false,
        [first, ..] => length_ns(first) < width_ns / 100 * 99,
    };
    if width_ns == 0 || parts.iter().any(is_other) {
        return Vec::new();
    }
    let counts: Vec<usize> = parts.iter().map(|part| part.measured.sections.len()).collect();
    let layout = Layout::new(parts, start_ns, width_ns, &counts);
    let own: Vec<&[Section]> = parts
        .iter()
        .enumerate()
        .map(|(host, part)| part.measured.sections.get(layout.range(host)).unwrap_or_default())
        .collect();
    let at = |index: usize| {
        let all = || own.iter().filter_map(move |own| own.get(index));
        let start_ns = index as u64 * width_ns;
        let reached_ns = all().map(length_ns).min().unwrap_or(width_ns).min(width_ns);
        Section {
            start_ns,
            end_ns: start_ns + reached_ns,
            read: side(all().filter_map(|section| section.read.as_ref())),
            write: side(all().filter_map(|section| section.write.as_ref())),
        }
    };
    let mut merged: Vec<Section> = (0..layout.count).map(at).collect();
    // They follow each other without gaps; only the last one may be shorter.
    let last = merged.len().saturating_sub(1);
    for section in &mut merged[..last] {
        section.end_ns = section.start_ns + width_ns;
    }
    merged
}

fn side<'a>(of_hosts: impl Iterator<Item = &'a SectionFigures>) -> Option<SectionFigures> {
    let mut sum = SectionFigures::default();
    let mut groups: Vec<(u64, LatencyFigures)> = Vec::new();
    for SectionFigures { ios, bytes, latency, histogram } in of_hosts {
        sum.ios = sum.ios.saturating_add(*ios);
        sum.bytes = sum.bytes.saturating_add(*bytes);
        groups.push((*ios, *latency));
        sum.histogram = sum.histogram.plus(histogram.iter());
    }
    sum.latency = pooled(groups)?;
    Some(sum)
}
