//! One part of a measurement, requested afterwards.

use crate::combine::pooled;
use crate::latency::{coarse_upper_edge_ns, percentiles_of};
use crate::rate::Volume;
use model::course::{Section, SectionFigures};
use model::figures::{Directions, Figures, Percentile};
use model::packed_counts::PackedCounts;
use model::result::Measured;
use std::fmt;

/// The figures of a part.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Where it begins, in nanoseconds since the start of the measurement: a section's start, at or before the
    /// requested time.
    pub start_ns: u64,
    /// Where it ends: a section's end, at or after the requested time.
    pub end_ns: u64,
    /// Volumes, rates and latencies.
    pub figures: Directions<Figures>,
    /// The requested percentiles, ascending; empty without I/Os. At most 0.8 % (below 1 µs, 8 ns) above the exact ones.
    pub percentiles: Directions<Vec<Percentile>>,
}

/// Why there are no figures of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPart {
    /// The result has no sections.
    NoSections,
    /// The part begins or ends outside the measurement.
    StopSources {
        /// Its length in nanoseconds.
        elapsed_ns: u64,
    },
}

impl fmt::Display for NoPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSections => {
                f.write_str("the result has no latencies over time; only JSON results of runs with -D or -L have them")
            }
            Self::StopSources { elapsed_ns } => {
                write!(f, "the selected range is outside the measurement, which lasted {} s", *elapsed_ns as f64 / 1e9)
            }
        }
    }
}

/// The part of a measurement from `from_ns` to `to_ns` (`None` = to its end) in whole sections, with the
/// percentiles of the given ranks in parts per billion.
pub fn part(measured: &Measured, from_ns: u64, to_ns: Option<u64>, ranks_ppb: &[u64]) -> Result<Part, NoPart> {
    let (Some(first), Some(last)) = (measured.sections.first(), measured.sections.last()) else {
        return Err(NoPart::NoSections);
    };
    let to_ns = to_ns.unwrap_or(last.end_ns);
    if from_ns < first.start_ns || from_ns >= to_ns || to_ns > last.end_ns {
        return Err(NoPart::StopSources { elapsed_ns: last.end_ns });
    }
    let inside = measured.sections.iter().filter(|section| section.end_ns > from_ns && section.start_ns < to_ns);
    let sections: Vec<&Section> = inside.collect();
    let start_ns = sections.first().map_or(from_ns, |section| section.start_ns);
    let end_ns = sections.last().map_or(to_ns, |section| section.end_ns);
    let mut ranks_ppb = ranks_ppb.to_vec();
    ranks_ppb.sort_unstable();
    ranks_ppb.dedup();
    let reads = sections.iter().filter_map(|section| section.read.as_ref());
    let writes = sections.iter().filter_map(|section| section.write.as_ref());
    let summarize =
        |side: &mut dyn Iterator<Item = &SectionFigures>| summarize_side(side, end_ns - start_ns, &ranks_ppb);
    let read = summarize(&mut reads.clone());
    let write = summarize(&mut writes.clone());
    let total = summarize(&mut reads.chain(writes));
    Ok(Part {
        start_ns,
        end_ns,
        figures: Directions { read: read.0, write: write.0, total: total.0 },
        percentiles: Directions { read: read.1, write: write.1, total: total.1 },
    })
}

fn summarize_side(
    side: &mut dyn Iterator<Item = &SectionFigures>,
    elapsed_ns: u64,
    ranks_ppb: &[u64],
) -> (Figures, Vec<Percentile>) {
    let side: Vec<&SectionFigures> = side.collect();
    let mut volume = Volume::default();
    for figures in &side {
        volume.add(Volume { bytes: figures.bytes, ios: figures.ios });
    }
    let latency = pooled(side.iter().map(|figures| (figures.ios, figures.latency)));
    let figures = Figures { latency, ..volume.figures(elapsed_ns) };
    let Some(latency) = latency else { return (figures, Vec::new()) };
    let histogram = side.iter().fold(PackedCounts::default(), |sum, figures| sum.plus(figures.histogram.iter()));
    let buckets: Vec<(u32, u64)> = histogram.iter().collect();
    let extremes = (latency.min_ns.unwrap_or(0), latency.max_ns.unwrap_or(u64::MAX));
    (figures, percentiles_of(&buckets, coarse_upper_edge_ns, extremes, ranks_ppb.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hot::buckets;
    use model::figures::LatencyFigures;
    use std::collections::BTreeMap;

    const S: u64 = 1_000_000_000;

    fn side(latencies_ns: &[u64]) -> Option<SectionFigures> {
        let mut counts = BTreeMap::<u32, u64>::new();
        for &ns in latencies_ns {
            *counts.entry(buckets::coarse(buckets::index(ns)) as u32).or_default() += 1;
        }
        let latency = pooled(latencies_ns.iter().map(|&ns| {
            (1, LatencyFigures { mean_ns: ns as f64, std_dev_ns: 0.0, min_ns: Some(ns), max_ns: Some(ns) })
        }))?;
        let ios = latencies_ns.len() as u64;
        Some(SectionFigures { ios, bytes: ios * 4096, latency, histogram: PackedCounts::pack(counts) })
    }

    /// Sections of a second: the n-th has n x 1000 reads of up to n ms, and one write.
    fn measured() -> Measured {
        let section = |n: u64| Section {
            start_ns: (n - 1) * S,
            end_ns: n * S,
            read: side(&(1..=n * 1000).map(|read| read * 1000).collect::<Vec<_>>()),
            write: side(&[n]),
        };
        Measured { sections: (1..=5).map(section).collect(), ..Measured::default() }
    }

    #[test]
    fn a_part_is_what_its_sections_are_together() {
        let part = part(&measured(), S, Some(3 * S), &[999_000_000, 500_000_000]).expect("it is inside");
        assert_eq!((part.start_ns, part.end_ns), (S, 3 * S));
        let Directions { read, write, total } = part.figures;
        assert_eq!((read.ios, write.ios, total.ios, total.bytes), (5000, 2, 5002, 5002 * 4096));
        assert!((read.iops - 2500.0).abs() < 1e-9 && (total.bytes_per_s - 5002.0 * 2048.0).abs() < 1e-9);
        let latency = read.latency.expect("there are reads");
        assert_eq!((latency.min_ns, latency.max_ns), (Some(1000), Some(3_000_000)));
        let mean_ns = (2000.0 * 1_000_500.0 + 3000.0 * 1_500_500.0) / 5000.0;
        assert!((latency.mean_ns - mean_ns).abs() < 1.0, "{latency:?}");
        // Of 2000 + 3000 reads the 2500th is that of 1250 us, the 4995th that of 2995 us.
        for (percentile, rank_ppb, exact_ns) in
            [(part.percentiles.read[0], 500_000_000, 1_250_000), (part.percentiles.read[1], 999_000_000, 2_995_000)]
        {
            assert_eq!(percentile.rank_ppb, rank_ppb);
            assert!(percentile.value_ns >= exact_ns && percentile.value_ns - exact_ns <= exact_ns / 128);
        }
        assert_eq!(part.percentiles.write[1].value_ns, 3);
    }

    #[test]
    fn a_part_is_widened_to_whole_sections() {
        let part = |from_ns, to_ns| part(&measured(), from_ns, to_ns, &[]).map(|part| (part.start_ns, part.end_ns));
        assert_eq!(part(0, None), Ok((0, 5 * S)));
        assert_eq!(part(S + 1, Some(2 * S)), Ok((S, 2 * S)));
        assert_eq!(part(S - 1, Some(2 * S + 1)), Ok((0, 3 * S)));
        assert_eq!(part(4 * S, None), Ok((4 * S, 5 * S)));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert_eq!(part(&Measured::default(), 0, None, &[]), Err(NoPart::NoSections));
        for (from_ns, to_ns) in [(5 * S, None), (0, Some(5 * S + 1)), (2 * S, Some(2 * S)), (3 * S, Some(S))] {
            let outside = NoPart::StopSources { elapsed_ns: 5 * S };
            assert_eq!(part(&measured(), from_ns, to_ns, &[]), Err(outside), "{from_ns} {to_ns:?}");
        }
    }
}
