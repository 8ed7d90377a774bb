//! Trigger of the I/O starts, and outcome of the intended starts.

use crate::accuracy::Accuracy;
use crate::latency::MergedLatencies;
use crate::ramp;
use model::figures::Directions;
use model::note::Note;
use model::plan::{TimeSpanPlan, WorkerPlan};
use model::profile::{OfferedRate, RateProcess, TimeSpan};
use model::record::{OpenLoopRecord, Tally, TimeSpanRecord};
use model::replay::Replay;
use model::result::{LoadLoop, OpenLoop};

pub(crate) fn load_loop(
    span: &TimeSpan,
    plan: &TimeSpanPlan,
    record: &TimeSpanRecord,
    accuracy: &Accuracy<'_>,
) -> LoadLoop {
    let depth = outstanding_max(plan);
    let replay = span.replay.as_ref().filter(|replay| !replay.closed);
    let Some(rate_iops) = span.rate_iops.or_else(|| replay.map(recorded_rate)) else {
        return LoadLoop::Closed { depth };
    };
    let rows = || record.rows.iter().filter_map(|row| row.open_loop.as_ref());
    let sum = |of: fn(&OpenLoopRecord) -> u64| rows().map(of).fold(0, u64::saturating_add);
    let mut lateness = Tally::default();
    let (mut read, mut write) = (MergedLatencies::default(), MergedLatencies::default());
    for row in rows() {
        lateness.merge(&row.lateness);
        read.add(&row.read.tally, &row.read.buckets);
        write.add(&row.write.tally, &row.write.buckets);
    }
    let mut total = read.clone();
    total.merge(&write);
    let backlog = sum(|row| row.backlog);
    LoadLoop::Open(Box::new(OpenLoop {
        depth,
        rate_iops,
        process: if replay.is_some() { RateProcess::Trace } else { span.rate_process.unwrap_or_default() },
        intended_starts: lateness.count.saturating_add(backlog),
        backlog,
        delayed_by_depth: sum(|row| row.delayed_by_depth),
        lateness_mean_ns: if lateness.count == 0 { 0.0 } else { lateness.sum_ns as f64 / lateness.count as f64 },
        lateness_max_ns: lateness.max_ns,
        ramp: ramp::intervals(span, record),
        response_time: Directions {
            read: read.distribution(),
            write: write.distribution(),
            total: total.distribution(),
        },
        response_time_confidence: accuracy.response_times(),
    }))
}

/// The mean rate of a trace.
fn recorded_rate(replay: &Replay) -> OfferedRate {
    let per_s = replay.recorded.count() as f64 * 1e9 / replay.recorded.span_ns.max(1) as f64;
    OfferedRate::Steady((per_s.round() as u32).max(1))
}

/// I/Os that all threads together have outstanding at most.
pub(crate) fn outstanding_max(plan: &TimeSpanPlan) -> u32 {
    plan.workers.iter().map(depth).fold(0, u32::saturating_add)
}

/// I/Os that a thread has outstanding at most: engines that do one after the other have one.
fn depth(worker: &WorkerPlan) -> u32 {
    if worker.engine.kind.is_one_at_a_time() { 1 } else { worker.slots }
}

/// Notes to be read with response times.
pub(crate) fn notes(load_loop: &LoadLoop) -> Vec<Note> {
    let LoadLoop::Open(open) = load_loop else { return Vec::new() };
    let OpenLoop { depth, intended_starts: intended, backlog, delayed_by_depth: delayed, .. } = **open;
    let mut notes = Vec::new();
    if delayed > 0 {
        notes.push(Note::StartsDelayedByDepth { delayed, started: intended.saturating_sub(backlog), depth });
    }
    if backlog > 0 {
        notes.push(Note::StartsNotMade { backlog, intended });
    }
    notes
}
