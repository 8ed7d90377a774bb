//! Response times over an offered rate that rises or falls (`--rate=1000..50000`).

use crate::latency::{coarse_upper_edge_ns, figures, percentiles_of};
use crate::ranks::P99_PPB;
use hot::rate_curve::Curve;
use model::packed_counts::PackedCounts;
use model::plan::RateCurve;
use model::profile::{OfferedRate, TimeSpan};
use model::record::{SectionRecord, Tally, TimeSpanRecord};
use model::result::RampInterval;

/// Parts that distinguish rates and hold enough I/Os each.
const INTERVALS_MAX: usize = 20;

const NS_PER_S: u64 = 1_000_000_000;

/// The parts of a ramp; none of another rate.
pub(crate) fn intervals(span: &TimeSpan, record: &TimeSpanRecord) -> Vec<RampInterval> {
    let Some(OfferedRate::Ramp { from_iops, to_iops }) = span.rate_iops else { return Vec::new() };
    let over_ns = u64::from(span.duration_s.max(1)) * NS_PER_S;
    let curve = Curve::new(RateCurve::Ramp { from_iops, to_iops, before_ns: 0, over_ns });
    let width = record.sections.len().div_ceil(INTERVALS_MAX).max(1);
    record.sections.chunks(width).filter_map(|sections| interval(&curve, sections)).collect()
}

fn interval(curve: &Curve, sections: &[SectionRecord]) -> Option<RampInterval> {
    let (start_ns, end_ns) = (sections.first()?.start_ns, sections.last()?.end_ns);
    let seconds = end_ns.checked_sub(start_ns).filter(|ns| *ns > 0)? as f64 / 1e9;
    let (mut tally, mut histogram) = (Tally::default(), PackedCounts::default());
    for section in sections {
        tally.merge(&section.response.tally);
        histogram = histogram.plus(section.response.histogram.iter());
    }
    let buckets: Vec<(u32, u64)> = histogram.iter().collect();
    let extremes = (tally.min_ns, tally.max_ns);
    let p99 = percentiles_of(&buckets, coarse_upper_edge_ns, extremes, [P99_PPB]);
    Some(RampInterval {
        start_ns,
        end_ns,
        offered_iops: (curve.starts(end_ns as f64) - curve.starts(start_ns as f64)) / seconds,
        iops: tally.count as f64 / seconds,
        response_mean_ns: figures(&tally).map(|figures| figures.mean_ns),
        response_p99_ns: p99.first().filter(|_| tally.count > 0).map(|p99| p99.value_ns),
    })
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the figures compared are exact")]
mod tests {
    use super::*;
    use model::record::SectionCounts;

    /// One section of 100 ms with this many responses of 1 ms and one of 9 ms.
    fn section(index: u64, fast: u64) -> SectionRecord {
        let coarse = |ns| hot::buckets::coarse(hot::buckets::index(ns)) as u32;
        let tally = Tally {
            count: fast + 1,
            sum_ns: u128::from(fast * 1_000_000 + 9_000_000),
            sum_squares_ns2: fast as f64 * 1e12 + 81e12,
            min_ns: 1_000_000,
            max_ns: 9_000_000,
        };
        let histogram = PackedCounts::pack([(coarse(1_000_000), fast), (coarse(9_000_000), 1)]);
        let response = SectionCounts { tally, histogram, ..SectionCounts::default() };
        let start_ns = index * 100_000_000;
        SectionRecord { start_ns, end_ns: start_ns + 100_000_000, response, ..SectionRecord::default() }
    }

    fn ramp(sections: Vec<SectionRecord>) -> Vec<RampInterval> {
        let rate_iops = Some(OfferedRate::Ramp { from_iops: 1000, to_iops: 5000 });
        let span = TimeSpan { rate_iops, duration_s: 4, ..TimeSpan::default() };
        intervals(&span, &TimeSpanRecord { sections, ..TimeSpanRecord::default() })
    }

    #[test]
    fn each_part_has_the_mean_of_what_was_offered_in_it() {
        let found = ramp((0..40).map(|index| section(index, 7)).collect());
        assert_eq!(found.len(), 20);
        for (index, part) in found.iter().enumerate() {
            let middle_s = 0.2 * index as f64 + 0.1;
            assert!((part.offered_iops - (1000.0 + 1000.0 * middle_s)).abs() < 1e-6, "{part:?}");
            assert_eq!((part.end_ns - part.start_ns, part.iops), (200_000_000, 80.0));
            assert_eq!(part.response_mean_ns, Some(2_000_000.0));
            assert_eq!(part.response_p99_ns, Some(9_000_000));
        }
        // 1 in 201 is slower.
        let found = ramp(vec![section(0, 200)]);
        assert!(found[0].response_p99_ns.is_some_and(|p99_ns| (1_000_000..1_020_000).contains(&p99_ns)), "{found:?}");
    }

    #[test]
    fn parts_without_ios_have_no_times_and_other_rates_have_no_parts() {
        let empty = SectionRecord { end_ns: 100_000_000, ..SectionRecord::default() };
        let found = ramp(vec![empty]);
        assert_eq!((found[0].iops, found[0].response_mean_ns, found[0].response_p99_ns), (0.0, None, None));
        let span = TimeSpan { rate_iops: Some(OfferedRate::Steady(5)), ..TimeSpan::default() };
        let record = TimeSpanRecord { sections: vec![section(0, 1)], ..TimeSpanRecord::default() };
        assert_eq!(intervals(&span, &record), Vec::new());
    }
}
