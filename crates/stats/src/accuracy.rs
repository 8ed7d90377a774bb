//! What the course of a measurement tells of its figures: how far they may be off, and whether they were
//! the same all the time.

use crate::confidence::batch_means::{BatchMean, VALUES_MIN};
use crate::confidence::sectioning::{Histogram, Sections};
use crate::latency::NAMED_PERCENTILES;
use crate::sample::mean;
use crate::steadiness::{self, StallSources};
use model::confidence::{FigureSteadiness, HalfWidths, PercentileHalfWidth, Steadiness};
use model::figures::Directions;
use model::record::{CellCounts, SectionCounts, SectionRecord, SeriesCell, SlowIo, TimeSpanRecord};

/// Reads, writes, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Both,
}

/// What a timespan is judged by.
pub(crate) struct Accuracy<'a> {
    cells: &'a [SeriesCell],
    cell_s: f64,
    /// Those of full length.
    sections: &'a [SectionRecord],
    measures_latency: bool,
}

impl<'a> Accuracy<'a> {
    pub(crate) fn of(record: &'a TimeSpanRecord, measures_latency: bool) -> Self {
        Self {
            cells: &record.series.cells,
            cell_s: record.series.width_ns as f64 / 1e9,
            sections: whole_sections(&record.sections),
            measures_latency,
        }
    }

    /// `None` without a series.
    pub(crate) fn confidence(&self) -> Option<Directions<Option<HalfWidths>>> {
        (!self.cells.is_empty()).then(|| Directions {
            read: self.half_widths(Kind::Read),
            write: self.half_widths(Kind::Write),
            total: self.half_widths(Kind::Both),
        })
    }

    fn half_widths(&self, kind: Kind) -> Option<HalfWidths> {
        let cells: Vec<CellCounts> = self.cells.iter().map(|cell| counts(cell, kind)).collect();
        if cells.iter().all(|cell| cell.ios == 0) {
            return None;
        }
        let per_s = |of: fn(&CellCounts) -> u64| {
            let amounts: Vec<f64> = cells.iter().map(|cell| of(cell) as f64).collect();
            Some(BatchMean::of(&amounts)?.half_width_95() / self.cell_s)
        };
        let latency_mean_ns = if self.measures_latency { latency_mean_half_width_ns(&cells) } else { None };
        Some(HalfWidths {
            iops: per_s(|cell| cell.ios)?,
            bytes_per_s: per_s(|cell| cell.bytes)?,
            latency_mean_ns,
            percentiles: self.percentiles(kind),
        })
    }

    fn percentiles(&self, kind: Kind) -> Vec<PercentileHalfWidth> {
        // A day of seconds is unpacked a group at a time: all at once would take gigabytes.
        let group = (self.sections.len() / VALUES_MIN).max(1);
        let histograms: Vec<Histogram> =
            self.sections.chunks_exact(group).map(|sections| histogram(sections, kind)).collect();
        let Some(sections) = Sections::of(&histograms) else { return Vec::new() };
        let half_width =
            |(_, rank_ppb)| Some(PercentileHalfWidth { rank_ppb, half_width_ns: sections.half_width_95_ns(rank_ppb)? });
        NAMED_PERCENTILES.into_iter().filter_map(half_width).collect()
    }

    /// `slowest` are I/Os whose times may tell of stalls.
    pub(crate) fn steadiness(&self, slowest: &[SlowIo]) -> FigureSteadiness {
        let mut cells: Vec<CellCounts> = self.cells.iter().map(|cell| counts(cell, Kind::Both)).collect();
        let ios = ios(&cells);
        let cell_ns = (self.cell_s * 1e9) as u64;
        let latency_mean_ns = if self.measures_latency { latency_mean_ns(&cells) } else { None };
        let stalls = StallSources { ios: &ios, cell_ns, slowest, latency_mean_ns };
        let periodic_stalls = steadiness::periodic_stalls(&stalls);
        let brief = steadiness::brief_changes(&ios, cell_ns);
        // What has a finding of its own makes no other one.
        for (range, _) in brief.iter().rev() {
            cells.drain(range.clone());
        }
        FigureSteadiness {
            iops: judge(&cells, |cells| Some(mean(&self::ios(cells)))),
            latency_mean: if self.measures_latency { judge(&cells, self::latency_mean_ns) } else { None },
            brief_changes: brief.into_iter().map(|(_, change)| change).collect(),
            periodic_stalls,
        }
    }
}

/// Judges a figure of groups of cells; `None` if a group has none.
fn judge(cells: &[CellCounts], figure: impl Fn(&[CellCounts]) -> Option<f64>) -> Option<Steadiness> {
    let groups: Option<Vec<f64>> = cells.chunks_exact(steadiness::FOLD).map(figure).collect();
    steadiness::judge(&groups?)
}

fn ios(cells: &[CellCounts]) -> Vec<f64> {
    cells.iter().map(|cell| cell.ios as f64).collect()
}

fn latency_mean_ns(cells: &[CellCounts]) -> Option<f64> {
    let (ios, sum_ns) = cells
        .iter()
        .fold((0.0, 0.0), |(ios, sum_ns), cell| (ios + cell.ios as f64, sum_ns + cell.latency_sum_ns as f64));
    (ios > 0.0).then(|| sum_ns / ios)
}

/// The mean latency is a ratio of two means, of latency and of I/Os per cell. How far a ratio R may be off
/// follows from the mean of (latency - R x I/Os), which is 0 (Law & Kelton, 9.5.2: the classical ratio
/// estimator of the regenerative method).
fn latency_mean_half_width_ns(cells: &[CellCounts]) -> Option<f64> {
    let ratio_ns = latency_mean_ns(cells)?;
    let excess_ns: Vec<f64> =
        cells.iter().map(|cell| cell.latency_sum_ns as f64 - ratio_ns * cell.ios as f64).collect();
    let ios_per_cell = mean(&cells.iter().map(|cell| cell.ios as f64).collect::<Vec<_>>());
    Some(BatchMean::of(&excess_ns)?.half_width_95() / ios_per_cell)
}

fn counts(cell: &SeriesCell, kind: Kind) -> CellCounts {
    let SeriesCell { read, write } = *cell;
    match kind {
        Kind::Read => read,
        Kind::Write => write,
        Kind::Both => CellCounts {
            ios: read.ios.saturating_add(write.ios),
            bytes: read.bytes.saturating_add(write.bytes),
            latency_sum_ns: read.latency_sum_ns.saturating_add(write.latency_sum_ns),
        },
    }
}

/// The latencies of several sections.
fn histogram(sections: &[SectionRecord], kind: Kind) -> Histogram {
    let mut histogram = Histogram::new();
    for section in sections {
        let counted: &[&SectionCounts] = match kind {
            Kind::Read => &[&section.read],
            Kind::Write => &[&section.write],
            Kind::Both => &[&section.read, &section.write],
        };
        for (index, count) in counted.iter().flat_map(|counts| counts.histogram.iter()) {
            *histogram.entry(index).or_default() += count;
        }
    }
    histogram
}

/// Without a last one that is clearly shorter than the first.
fn whole_sections(sections: &[SectionRecord]) -> &[SectionRecord] {
    let length_ns = |section: &SectionRecord| section.end_ns.saturating_sub(section.start_ns);
    match sections {
        [first, .., last] if length_ns(last) < length_ns(first) / 100 * 99 => &sections[..sections.len() - 1],
        _ => sections,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Source, coverage_percent, exponential, normal};
    use hot::rng::Rng;
    use model::packed_counts::PackedCounts;
    use model::record::SeriesRecord;

    const CELL_NS: u64 = 100_000_000;

    fn record(cells: Vec<SeriesCell>) -> TimeSpanRecord {
        TimeSpanRecord { series: SeriesRecord { width_ns: CELL_NS, cells }, ..TimeSpanRecord::default() }
    }

    fn reads(ios: u64, latency_ns: u64) -> SeriesCell {
        let read = CellCounts { ios, bytes: ios * 4096, latency_sum_ns: ios * latency_ns };
        SeriesCell { read, write: CellCounts::default() }
    }

    fn half_widths(record: &TimeSpanRecord, measures_latency: bool) -> Directions<Option<HalfWidths>> {
        Accuracy::of(record, measures_latency).confidence().expect("there is a series")
    }

    #[test]
    fn without_a_series_nothing_is_known() {
        let record = TimeSpanRecord::default();
        let accuracy = Accuracy::of(&record, true);
        assert_eq!((accuracy.confidence(), accuracy.steadiness(&[])), (None, FigureSteadiness::default()));
    }

    #[test]
    fn nine_cells_have_no_interval() {
        assert_eq!(half_widths(&record(vec![reads(100, 1000); 9]), true), Directions::default());
        let ten = half_widths(&record(vec![reads(100, 1000); 10]), true);
        assert_eq!(ten.read.as_ref().map(|widths| widths.latency_mean_ns), Some(Some(0.0)));
        assert_eq!((ten.write, ten.total.is_some()), (None, true));
    }

    #[test]
    fn widths_are_those_of_rates() {
        // 90 and 110 I/Os of 4 KiB by turns: an interval with t = 2.093 and no correlation.
        let cells = (0..20).map(|index| reads(90 + index % 2 * 20, 1000)).collect();
        let widths = half_widths(&record(cells), false).read.expect("reads");
        let expected = 2.093_024 * (100.0f64 * 20.0 / 19.0 / 20.0).sqrt() * 10.0;
        assert!((widths.iops - expected).abs() < 1e-4 * expected, "{widths:?}");
        assert!((widths.bytes_per_s - expected * 4096.0).abs() < 100.0, "{widths:?}");
        assert_eq!(widths.latency_mean_ns, None, "it was not measured");
    }

    /// A closed loop of depth 1: what a cell has more of I/Os it has less of latency.
    #[test]
    fn intervals_of_mean_latency_hold_the_truth() {
        let percent = coverage_percent(2000, |rng| {
            let times_ns = Source::AUTOREGRESSIVE_90.series(600, rng);
            let cell = |time: f64| {
                let latency_ns = time.max(100.0) * 1000.0;
                let ios = (CELL_NS as f64 / latency_ns) as u64;
                reads(ios, latency_ns as u64)
            };
            let record = record(times_ns.into_iter().map(cell).collect());
            let widths = half_widths(&record, true).total.expect("reads");
            let mean_ns = latency_mean_ns(&record.series.cells.iter().map(|cell| cell.read).collect::<Vec<_>>());
            // The mean over I/Os, not over time: 1 / E(1 / latency), by a long run below.
            (mean_ns.expect("I/Os") - 989_800.0).abs() <= widths.latency_mean_ns.expect("measured")
        });
        assert!((91.0..=97.0).contains(&percent), "{percent} %");
    }

    /// Where the mean of the test before comes from: latencies with mean 1 ms and a deviation of a tenth.
    #[test]
    fn the_mean_latency_of_many_ios_is_the_harmonic_mean_over_time() {
        let mut rng = Rng::new(2);
        let rate: f64 = (0..1_000_000).map(|_| 1.0 / (1.0 + 0.1 * normal(&mut rng)).max(0.1)).sum::<f64>() / 1e6;
        assert!((1e6 / rate - 989_800.0).abs() < 600.0, "{}", 1e6 / rate);
    }

    #[test]
    fn percentiles_come_from_sections_of_full_length() {
        let section = |number: u64, length_ns: u64, index: u32| {
            let read = SectionCounts { histogram: PackedCounts::pack([(index, 1000)]), ..SectionCounts::default() };
            let start_ns = number * 1_000_000_000;
            SectionRecord { start_ns, end_ns: start_ns + length_ns, read, ..SectionRecord::default() }
        };
        let mut run = record(vec![reads(1000, 1000); 100]);
        run.sections = (0..10).map(|number| section(number, 1_000_000_000, 500)).collect();
        run.sections.push(section(10, 1_000_000, 900));
        let widths = half_widths(&run, true).read.expect("reads");
        let known: Vec<u64> = widths.percentiles.iter().map(|percentile| percentile.rank_ppb).collect();
        assert_eq!(known.last(), Some(&999_000_000), "ten of ten thousand lie beyond it");
        assert!(widths.percentiles.iter().all(|percentile| percentile.half_width_ns.abs() < 1e-9), "{widths:?}");
        run.sections.remove(0);
        assert_eq!(half_widths(&run, true).read.expect("reads").percentiles, []);
    }

    #[test]
    fn a_rate_that_is_kept_may_have_a_latency_that_drifts() {
        let record = record((0..600).map(|index| reads(100 + index % 2, 1_000_000 + 500 * index)).collect());
        let steadiness = Accuracy::of(&record, true).steadiness(&[]);
        assert_eq!(steadiness.iops, Some(Steadiness::Steady));
        assert!(
            matches!(steadiness.latency_mean, Some(Steadiness::Drift { change }) if change > 0.2),
            "{steadiness:?}"
        );
        assert_eq!(Accuracy::of(&record, false).steadiness(&[]).latency_mean, None);
    }

    /// A device that does 1000 I/Os per second as long as tokens last: 21,000 at first, and 500 more per second.
    fn token_bucket(seconds: usize, rng: &mut Rng) -> TimeSpanRecord {
        let mut tokens = 21_000.0;
        let mut cell = |_| {
            let wanted = 100.0 + 3.0 * normal(rng);
            let done = wanted.min(tokens + 50.0);
            tokens += 50.0 - done;
            reads(done.max(0.0) as u64, 1_000_000)
        };
        record((0..seconds * 10).map(&mut cell).collect())
    }

    #[test]
    fn a_token_bucket_that_runs_empty_has_two_levels() {
        let mut rng = Rng::new(8);
        let steadiness = Accuracy::of(&token_bucket(60, &mut rng), false).steadiness(&[]);
        let Some(Steadiness::Levels { levels }) = steadiness.iops else { panic!("{steadiness:?}") };
        let [first, second] = levels[..] else { panic!("{levels:?}") };
        assert!((first.length * 60.0 - 42.0).abs() < 1.0, "{levels:?}");
        assert!((first.mean / second.mean - 2.0).abs() < 0.05, "{levels:?}");
        assert_eq!((steadiness.brief_changes, steadiness.periodic_stalls), (Vec::new(), None));
    }

    /// Half a second of a cache at the start.
    #[test]
    fn a_burst_is_told_once_and_judged_no_more() {
        let mut rng = Rng::new(9);
        let mut cells: Vec<SeriesCell> =
            (0..400).map(|_| reads((100.0 + 5.0 * normal(&mut rng)) as u64, 1_000_000)).collect();
        cells[..5].fill(reads(1700, 100_000));
        let steadiness = Accuracy::of(&record(cells), true).steadiness(&[]);
        let [burst] = steadiness.brief_changes[..] else { panic!("{steadiness:?}") };
        assert!((-0.25..-0.15).contains(&burst.shift) && burst.end_ns == 500_000_000, "{burst:?}");
        let rest = (steadiness.iops, steadiness.latency_mean);
        assert_eq!(rest, (Some(Steadiness::Steady), Some(Steadiness::Steady)));
    }

    #[test]
    fn steady_runs_have_no_changes_of_any_kind() {
        let is_found = |cells: Vec<f64>| {
            let cells = cells.into_iter().map(|ios| reads(ios.max(0.0).round() as u64, 1_000_000)).collect();
            let found = Accuracy::of(&record(cells), false).steadiness(&[]);
            found.iops != Some(Steadiness::Steady) || !found.brief_changes.is_empty() || found.periodic_stalls.is_some()
        };
        for source in Source::STATIONARY {
            let alarms = coverage_percent(1000, |rng| is_found(source.series(600, rng)));
            assert!(alarms <= 1.0, "{source:?}: {alarms} %");
        }
        // Ten I/Os per cell at random times.
        let alarms = coverage_percent(1000, |rng| {
            let mut cells = vec![0.0; 600];
            let mut time = 0.0;
            while time < 600.0 {
                cells[time as usize] += 1.0;
                time += 0.1 * exponential(rng);
            }
            is_found(cells)
        });
        assert!(alarms <= 1.0, "{alarms} %");
    }
}
