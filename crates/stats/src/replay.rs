//! How true a replay was to its trace.

use crate::latency::MergedLatencies;
use hot::buckets;
use model::record::{ReplayRecord, TimeSpanRecord, TimesRecord};
use model::replay::{LATE_NS, VERY_LATE_NS};
use model::replay_figures::ReplayFigures;

/// The figures of a replay; `None` if I/Os were generated.
pub(crate) fn figures(record: &TimeSpanRecord) -> Option<ReplayFigures> {
    let rows = || record.rows.iter().filter_map(|row| row.replay.as_ref());
    rows().next()?;
    let merged = |times: fn(&ReplayRecord) -> &TimesRecord| {
        let mut merged = MergedLatencies::default();
        rows().map(times).for_each(|times| merged.add(&times.tally, &times.buckets));
        merged.distribution()
    };
    let changes = record.replay.clone().unwrap_or_default();
    let lateness = merged(|row| &row.lateness);
    let late = |than_ns: u64| {
        let Some(lateness) = &lateness else { return 0.0 };
        let limit = buckets::index(than_ns) as u32;
        let late: u64 = lateness.buckets.iter().filter(|(index, _)| *index > limit).map(|(_, count)| count).sum();
        100.0 * late as f64 / lateness.count.max(1) as f64
    };
    Some(ReplayFigures {
        planned: changes.made.saturating_add(changes.unread),
        issued: rows().map(|row| row.issued).sum(),
        delayed_by_reading: rows().map(|row| row.delayed_by_reading).sum(),
        late_percent: late(LATE_NS),
        very_late_percent: late(VERY_LATE_NS),
        lateness,
        flush_latency: merged(|row| &row.flushes),
        changes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{RowRecord, Tally};
    use model::replay::ReplayChanges;

    #[test]
    fn lateness_of_all_threads_is_one_distribution() {
        let row = |times_ns: &[u64]| {
            let mut buckets: Vec<(u32, u64)> = Vec::new();
            for &time_ns in times_ns {
                buckets.push((buckets::index(time_ns) as u32, 1));
            }
            let tally = Tally { count: times_ns.len() as u64, max_ns: 2_000_000, ..Tally::default() };
            let lateness = TimesRecord { tally, buckets };
            RowRecord {
                replay: Some(ReplayRecord { issued: 3, lateness, ..ReplayRecord::default() }),
                ..RowRecord::default()
            }
        };
        let record = TimeSpanRecord {
            rows: vec![row(&[10, 50_000]), row(&[200_000, 2_000_000])],
            replay: Some(ReplayChanges { made: 7, unread: 2, ..ReplayChanges::default() }),
            ..TimeSpanRecord::default()
        };
        let figures = figures(&record).expect("a replay");
        assert_eq!((figures.planned, figures.issued), (9, 6));
        assert!((figures.late_percent - 50.0).abs() < 1e-9 && (figures.very_late_percent - 25.0).abs() < 1e-9);
        assert_eq!(super::figures(&TimeSpanRecord::default()), None);
    }
}
