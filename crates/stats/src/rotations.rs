//! Rotations of the files that threads append to.

use model::figures::RotationFigures;
use model::record::{Tally, TimeSpanRecord};

/// The figures of all threads' rotations; `None` if no file was to be rotated.
pub(crate) fn figures(record: &TimeSpanRecord) -> Option<RotationFigures> {
    let (mut all, mut threads) = (Tally::default(), 0_u32);
    for rotations in record.threads.iter().filter_map(|thread| thread.rotations.as_ref()) {
        all.merge(rotations);
        threads += 1;
    }
    let time_ns = record.elapsed_ns as f64 * f64::from(threads);
    (threads > 0).then(|| RotationFigures {
        count: all.count,
        total_ns: u64::try_from(all.sum_ns).unwrap_or(u64::MAX),
        max_ns: (all.count > 0).then_some(all.max_ns),
        time_percent: if time_ns > 0.0 { 100.0 * all.sum_ns as f64 / time_ns } else { 0.0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::ThreadRecord;

    fn thread(rotations: Option<Tally>) -> ThreadRecord {
        ThreadRecord { rotations, ..ThreadRecord::default() }
    }

    #[test]
    fn rotations_of_threads_add_up_in_the_time_of_those_that_append() {
        let tally = |count, sum_ns, max_ns| Tally { count, sum_ns, min_ns: 1, max_ns, ..Tally::default() };
        let threads = vec![thread(Some(tally(2, 30, 20))), thread(None), thread(Some(tally(1, 70, 70)))];
        let record = TimeSpanRecord { elapsed_ns: 1000, threads, ..TimeSpanRecord::default() };
        let expected = RotationFigures { count: 3, total_ns: 100, max_ns: Some(70), time_percent: 5.0 };
        assert_eq!(figures(&record), Some(expected));
        let record = TimeSpanRecord { elapsed_ns: 1000, threads: vec![thread(None)], ..TimeSpanRecord::default() };
        assert_eq!(figures(&record), None);
        let record = TimeSpanRecord { threads: vec![thread(Some(Tally::default()))], ..record };
        assert_eq!(figures(&record), Some(RotationFigures::default()));
    }
}
