//! Others read what a worker counts while it counts, and while it moves counts from one cell to another.

use super::pacing::{parallel, run};
use super::{context, plan_of, target};
use model::live::{LivePhase, LiveRow, LiveTally};
use model::plan::{Assignment, Intervals, TimeSpanPlan};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// Readers at a time; more than there are CPUs, so that some are interrupted in the middle.
const READERS: usize = 4;

/// Counts that may only grow: I/Os, bytes, and latencies in buckets.
fn sums(rows: &[LiveRow]) -> [u64; 3] {
    let sides = rows.iter().flat_map(|row| [&row.read, &row.write]);
    let add = |sums: [u64; 3], tally: &LiveTally| {
        let in_buckets: u64 = tally.buckets.iter().map(|&(_, count)| count).sum();
        [sums[0] + tally.ios, sums[1] + tally.bytes, sums[2] + in_buckets]
    };
    sides.fold([0; 3], add)
}

#[test]
fn counts_never_fall_for_whoever_reads_along_and_end_as_the_record() {
    // A part of the measurement ends each millisecond, and with it a thousand times the counts move.
    let intervals = Some(Intervals { width_ns: MS, count: 1000 });
    for _ in 0..3 {
        let plan = plan_of(vec![target(0, 4), target(1, 4)], Assignment::Fixed, 8);
        let context = context(TimeSpanPlan { duration_ns: S, measure_latency: true, intervals, ..plan });
        let is_over = AtomicBool::new(false);
        let (row, looks) = thread::scope(|scope| {
            let read_along = || {
                let (mut before, mut looks) = ([0; 3], 0);
                while !is_over.load(Relaxed) {
                    let now = sums(&context.recorder.live(LivePhase::Measurement));
                    assert!(now.iter().zip(&before).all(|(now, before)| now >= before), "{now:?} after {before:?}");
                    (before, looks) = (now, looks + 1);
                }
                looks
            };
            let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read_along)).collect();
            let row = run(&context, parallel(20 * US), 50);
            is_over.store(true, Relaxed);
            (row, readers.into_iter().map(|reader| reader.join().expect("it saw no count fall")).sum::<u64>())
        });
        assert!(looks > 0, "somebody read along");
        let rows = context.recorder.live(LivePhase::Measurement);
        assert_eq!((rows[0].read.ios, rows[0].write.ios), (row.read.tally.count, row.write.tally.count));
        let [ios, _, in_buckets] = sums(&rows);
        assert_eq!(ios, in_buckets, "nothing is on its way any more");
        assert!(ios > 300_000, "{ios}");
    }
}
