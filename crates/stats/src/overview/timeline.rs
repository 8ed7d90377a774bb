//! Rates and percentiles over time, in a limited number of steps.

use crate::latency::is_weak;
use crate::part::{Part, part};
use crate::rate::Volume;
use model::course::{Series, SeriesCounts};
use model::figures::Directions;
use model::result::Measured;
use model::units::mib;
use std::ops::RangeInclusive;

/// The rates of one part of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Where it begins, in nanoseconds since the start of the measurement.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// I/Os per second.
    pub iops: Directions<f64>,
    /// MiB per second.
    pub mib_per_s: Directions<f64>,
    /// Mean latency of reads and writes together, in nanoseconds; `None` without I/Os, or if it was not measured.
    pub latency_mean_ns: Option<f64>,
}

/// A series in at most `moments_max` equal steps, each of whole cells. Cells at the end that make no whole
/// step are left out, as a step that is cut off would look like a fall.
pub fn timeline(series: &Series, moments_max: usize) -> Vec<Moment> {
    let cells = series.read.ios.len().min(series.write.ios.len());
    let cells_each = cells.div_ceil(moments_max.max(1)).max(1);
    let volume = |counts: &SeriesCounts, from: usize| {
        let sum_of =
            |amounts: &[u64]| amounts.iter().skip(from).take(cells_each).fold(0, |a: u64, b| a.saturating_add(*b));
        Volume { bytes: sum_of(&counts.bytes), ios: sum_of(&counts.ios) }
    };
    let latency_sum_ns = |counts: &SeriesCounts, from: usize| {
        let sums = counts.latency_sum_ns.get(from..from + cells_each)?;
        Some(sums.iter().map(|ns| *ns as f64).sum::<f64>())
    };
    let moment = |index: usize| {
        let from = index * cells_each;
        let (read, write) = (volume(&series.read, from), volume(&series.write, from));
        let latency_sums = latency_sum_ns(&series.read, from).zip(latency_sum_ns(&series.write, from));
        let mut total = read;
        total.add(write);
        let latency_mean_ns = latency_sums.filter(|_| total.ios > 0).map(|(a, b)| (a + b) / total.ios as f64);
        let start_ns = series.width_ns.saturating_mul(from as u64);
        let width_ns = series.width_ns.saturating_mul(cells_each as u64);
        let [read, write, total] = [read, write, total].map(|volume| volume.figures(width_ns));
        Moment {
            start_ns,
            end_ns: start_ns.saturating_add(width_ns),
            iops: Directions { read: read.iops, write: write.iops, total: total.iops },
            mib_per_s: Directions {
                read: mib(read.bytes_per_s),
                write: mib(write.bytes_per_s),
                total: mib(total.bytes_per_s),
            },
            latency_mean_ns,
        }
    };
    (0..cells / cells_each).map(moment).collect()
}

/// The parts of a measurement with the percentiles of the given ranks: as many as leave each of them I/Os enough
/// for the highest rank, within bounds. None without sections.
pub fn percentiles_over_time(measured: &Measured, parts: RangeInclusive<usize>, ranks_ppb: &[u64]) -> Vec<Part> {
    let highest_ppb = ranks_ppb.iter().copied().max().unwrap_or(0);
    let is_enough = |parts: usize| !is_weak(measured.total.total.ios / parts.max(1) as u64, highest_ppb);
    let (least, most) = parts.into_inner();
    let parts = (least..=most).rev().find(|parts| is_enough(*parts)).unwrap_or(least);
    let sections_each = measured.sections.len().div_ceil(parts.max(1)).max(1);
    let ends = measured.sections.chunks(sections_each).filter_map(|several| Some((several.first()?, several.last()?)));
    ends.filter_map(|(first, last)| part(measured, first.start_ns, Some(last.end_ns), ranks_ppb).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::course::Section;

    fn series(cells: u64) -> Series {
        let counts = |ios: u64| SeriesCounts {
            ios: (0..cells).map(|_| ios).collect(),
            bytes: (0..cells).map(|_| ios * 4096).collect(),
            latency_sum_ns: Vec::new(),
        };
        Series { width_ns: 100_000_000, read: counts(100), write: counts(28) }
    }

    #[test]
    fn a_long_series_is_thinned_without_changing_its_rates() {
        for (cells, moments_max, moments, width_ns) in
            [(600, 300, 300, 200_000_000), (7, 300, 7, 100_000_000), (10, 4, 3, 300_000_000)]
        {
            let found = timeline(&series(cells), moments_max);
            assert_eq!(found.len(), moments);
            for (index, moment) in (0u64..).zip(&found) {
                assert_eq!((moment.start_ns, moment.end_ns), (index * width_ns, (index + 1) * width_ns));
                assert!((moment.iops.total - 1280.0).abs() < 1e-9 && (moment.iops.write - 280.0).abs() < 1e-9);
                assert!((moment.mib_per_s.total - 5.0).abs() < 1e-9 && (moment.iops.read - 1000.0).abs() < 1e-9);
            }
        }
        assert_eq!(timeline(&Series::default(), 300), []);
    }

    #[test]
    fn a_mean_latency_is_that_of_all_ios_of_the_step() {
        let mut series = series(4);
        assert_eq!(timeline(&series, 2)[0].latency_mean_ns, None);
        series.read.latency_sum_ns = vec![1000, 2000, 0, 0];
        series.write.latency_sum_ns = vec![0, 840, 0, 0];
        assert_eq!(
            timeline(&series, 2).iter().map(|moment| moment.latency_mean_ns).collect::<Vec<_>>(),
            [Some(15.0), Some(0.0)]
        );
        series.read.ios = vec![0; 4];
        series.write.ios = vec![0; 4];
        assert_eq!(timeline(&series, 2)[0].latency_mean_ns, None);
    }

    #[test]
    fn sections_are_put_together_until_they_are_few() {
        let section = |n: u64| Section { start_ns: n * 10, end_ns: n * 10 + 10, ..Section::default() };
        let mut measured = Measured { sections: (0..7).map(section).collect(), ..Measured::default() };
        let places = |measured: &Measured, ranks_ppb: &[u64]| -> Vec<(u64, u64)> {
            let parts = percentiles_over_time(measured, 2..=3, ranks_ppb);
            parts.iter().map(|part| (part.start_ns, part.end_ns)).collect()
        };
        assert_eq!(places(&measured, &[]), [(0, 40), (40, 70)], "without I/Os as few as may be");
        measured.total.total.ios = 3000;
        assert_eq!(places(&measured, &[500_000_000, 990_000_000]), [(0, 30), (30, 60), (60, 70)]);
        measured.total.total.ios = 2999;
        assert_eq!(places(&measured, &[500_000_000, 990_000_000]), [(0, 40), (40, 70)]);
        assert!(places(&Measured::default(), &[]).is_empty());
    }
}
