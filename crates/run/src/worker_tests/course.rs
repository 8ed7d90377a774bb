//! Records over the time of a measurement: cells, sections, and the slowest I/Os.

use super::pacing::{parallel, run};
use super::simulated::Service;
use super::{BLOCK, context, plan_of, target};
use crate::gather;
use crate::section_sums::SectionSums;
use crate::setup::Context;
use model::plan::{Assignment, Intervals, TimeSpanPlan};
use model::record::{CellCounts, RowRecord, SectionCounts, TimeSpanRecord};
use std::slice;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// A second of measurement by one thread with four requests.
fn plan(measure_latency: bool, intervals: Option<Intervals>) -> TimeSpanPlan {
    let plan = plan_of(vec![target(0, 4)], Assignment::Fixed, 4);
    TimeSpanPlan { duration_ns: S, measure_latency, intervals, ..plan }
}

fn measured(context: &Context, service: Service) -> (RowRecord, TimeSpanRecord) {
    let layout = context.recorder.layout();
    let row = run(context, service, 50);
    let mut record = TimeSpanRecord { elapsed_ns: S, ..TimeSpanRecord::default() };
    let sections = layout.sections().map(SectionSums::new);
    gather::series(layout, slice::from_ref(&context.recorder), sections, &mut record);
    record.threads.push(context.recorder.thread_record(MS));
    (row, record)
}

fn ios<'a>(counts: impl Iterator<Item = &'a CellCounts>) -> u64 {
    counts.map(|counts| counts.ios).sum()
}

#[test]
fn every_io_is_in_one_cell_and_in_one_section() {
    let quarters = Some(Intervals { width_ns: 250 * MS, count: 4 });
    for (measure_latency, intervals, sections) in [(true, None, 20), (false, quarters, 4), (true, quarters, 4)] {
        let context = context(plan(measure_latency, intervals));
        let (row, record) = measured(&context, parallel(100 * US));
        let series = &record.series;
        assert_eq!((series.width_ns, series.cells.len(), record.sections.len()), (100 * MS, 10, sections));
        assert_eq!(ios(series.cells.iter().map(|cell| &cell.read)), row.read.tally.count);
        assert_eq!(ios(series.cells.iter().map(|cell| &cell.write)), row.write.tally.count);
        for cell in &series.cells {
            let both = [&cell.read, &cell.write];
            // Four requests of 100 us each, less what the looks at the clock take.
            let ios = ios(both.into_iter());
            assert!(ios.abs_diff(4000) < 20, "{ios}");
            assert!(both.iter().all(|counts| counts.bytes == counts.ios * BLOCK));
            let mean_ns = both.iter().map(|counts| counts.latency_sum_ns).sum::<u64>() / ios;
            assert!((100 * US..101 * US).contains(&mean_ns), "{mean_ns}");
        }
        for (whole, side) in [(&row.read, 0), (&row.write, 1)] {
            let side_counts = |index: usize| [&record.sections[index].read, &record.sections[index].write][side];
            let mut sum = SectionCounts::default();
            for counts in (0..sections).map(side_counts) {
                assert_eq!(counts.histogram.iter().map(|(_, count)| count).sum::<u64>(), counts.tally.count);
                sum.tally.merge(&counts.tally);
                sum.bytes += counts.bytes;
            }
            assert_eq!((sum.tally.count, sum.bytes), (whole.tally.count, whole.bytes));
            assert_eq!((sum.tally.sum_ns, sum.tally.max_ns), (whole.tally.sum_ns, whole.tally.max_ns));
        }
    }
}

#[test]
fn a_section_holds_the_latencies_of_its_time() {
    let tenths = Intervals { width_ns: 100 * MS, count: 10 };
    let context = context(plan(false, Some(tenths)));
    // What would end from 250 to 320 ms ends at 320 ms; the measurement begins at 1 ms.
    let stall_ns = 251 * MS..321 * MS;
    let (_, record) = measured(&context, Service { stall_ns, ..parallel(100 * US) });
    for (index, section) in record.sections.iter().enumerate() {
        assert_eq!((section.start_ns, section.end_ns), (index as u64 * 100 * MS, (index as u64 + 1) * 100 * MS));
        let histograms = [&section.read.histogram, &section.write.histogram];
        let slow = |&(bucket, _): &(u32, u64)| hot::buckets::coarse_lower_edge_ns(bucket as usize) > 60 * MS;
        let slow: u64 = histograms.iter().flat_map(|one| one.iter()).filter(slow).map(|(_, count)| count).sum();
        assert_eq!(slow, if index == 3 { 4 } else { 0 }, "section {index}");
    }
}

#[test]
fn without_latencies_there_are_cells_only() {
    let context = context(plan(false, None));
    let (row, record) = measured(&context, parallel(100 * US));
    assert_eq!((record.sections.len(), record.threads[0].slowest.len()), (0, 0));
    let both = record.series.cells.iter().flat_map(|cell| [&cell.read, &cell.write]);
    assert_eq!(ios(both), row.read.tally.count + row.write.tally.count);
}

#[test]
fn the_slowest_are_those_of_a_stall() {
    let context = context(plan(true, None));
    let stall_ns = 401 * MS..901 * MS;
    let (_, record) = measured(&context, Service { stall_ns, ..parallel(100 * US) });
    let mut slowest = record.threads[0].slowest.clone();
    assert_eq!(slowest.len(), 100);
    slowest.sort_by_key(|io| std::cmp::Reverse(io.latency_ns));
    for io in &slowest[..4] {
        assert!((499 * MS..=501 * MS).contains(&io.latency_ns), "{io:?}");
        assert!((900 * MS..901 * MS).contains(&io.ended_at_ns), "{io:?}");
        assert_eq!((io.thread, io.target, io.size_bytes, io.offset_bytes % BLOCK), (0, 0, BLOCK, 0));
    }
    assert!(slowest[4].latency_ns < MS, "{:?}", slowest[4]);
}
