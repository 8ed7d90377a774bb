//! Threads and phases: a plan becomes a record.
//!
//! The calling thread is the control thread: it prepares the targets, starts one worker per
//! planned thread, keeps the phases, reads the CPU times and collects what the workers counted.
//! It neither parses nor renders; whoever wants to see the run as it goes passes an [`Observer`].

mod allowance;
mod clock;
mod collect;
mod control;
pub mod cpu;
mod cpu_wait;
mod create;
mod delete;
mod device_guard;
pub mod event;
mod flush;
mod gate;
mod gather;
mod in_a_row;
pub mod interval_layout;
mod io_workers;
mod issue;
mod life;
mod live_counts;
pub mod observer;
mod open_loop;
pub mod phase;
mod prepare;
pub mod recorder;
pub mod row;
mod section_sums;
mod sections;
mod seq_lock;
mod setup;
mod shape;
mod spread;
mod submission;
mod times;
mod work;
pub mod worker;
#[cfg(test)]
mod worker_tests;
mod worker_threads;
mod written_files;

use crate::clock::RunClock;
use crate::event::StopSources;
use crate::observer::{Event, Observer};
use crate::prepare::{Preparer, Unprepared};
use model::note::Note;
use model::plan::Plan;
use model::record::{Outcome, Record, TimeSpanRecord};
use model::units::UnixTime;
use std::path::Path;
use std::sync::Arc;
use sys::machine_clock::MachineClock;

/// Runs a plan. What comes from outside may end it gracefully, as the first failure ends it; later
/// timespans are recorded as not run.
pub fn run(plan: &Plan, stop_sources: StopSources<'_>, observer: &mut dyn Observer) -> Record {
    let mut preparer = Preparer::default();
    let record = run_time_spans(plan, &mut preparer, stop_sources, observer);
    delete::delete(plan, &mut preparer.files, observer);
    close_files(&mut preparer, &record, observer);
    // It may have come where only the flag is looked at, as while files are made.
    stop_sources.pass_interrupt_on();
    record
}

/// Closes what was written to, unless I/Os are still on their way: a flush would wait for them.
fn close_files(preparer: &mut Preparer, record: &Record, observer: &mut dyn Observer) {
    let is_stuck = |note: &Note| matches!(note, Note::IosNeverReturned { .. });
    if !record.time_spans.iter().any(|span| span.notes.iter().any(is_stuck)) {
        preparer.close_files(observer);
    }
}

/// Makes the targets of a plan's first timespan ready, and measures nothing.
///
/// # Errors
///
/// Why they are not; `None` if they were not because of an interrupt.
pub fn prepare(plan: &Plan, stop_sources: StopSources<'_>, observer: &mut dyn Observer) -> Result<(), Option<String>> {
    let mut preparer = Preparer::default();
    let steps = plan.time_spans.first().into_iter().flat_map(|span| &span.targets).map(|target| &target.preparation);
    let first = preparer.prepare_first(plan, stop_sources.interrupt, observer);
    let made = first.and_then(|()| preparer.make(steps, stop_sources.interrupt, observer));
    preparer.close_files(observer);
    made.map_err(|unprepared| match unprepared {
        Unprepared::Interrupted => None,
        Unprepared::Failed(reason) => Some(reason),
    })
}

fn run_time_spans(
    plan: &Plan,
    preparer: &mut Preparer,
    stop_sources: StopSources<'_>,
    observer: &mut dyn Observer,
) -> Record {
    let first_look = sys::machine_clock::look();
    if let Err(unprepared) = preparer.prepare_first(plan, stop_sources.interrupt, observer) {
        let mut time_spans = vec![TimeSpanRecord::default(); plan.time_spans.len()];
        if let Some(first) = time_spans.first_mut() {
            *first = unprepared.record(observer);
        }
        return Record { started_at: UnixTime(sys::clock::realtime_ns()), time_spans };
    }
    let mut record = Record { started_at: UnixTime(sys::clock::realtime_ns()), time_spans: Vec::new() };
    let clock = RunClock(MachineClock::choose(first_look, Path::new("/")));
    let coarse = clock::note(clock.0.step_ns(Path::new("/")));
    for (index, time_span) in plan.time_spans.iter().enumerate() {
        let mut result = record.time_spans.last().and_then(instead).unwrap_or_else(|| {
            observer.observe(&Event::TimeSpan { number: index + 1 });
            control::run_time_span(&Arc::new(time_span.clone()), clock, preparer, stop_sources, observer)
        });
        result.notes.extend(coarse.clone().filter(|_| result.outcome == Outcome::Completed));
        record.time_spans.push(result);
    }
    record
}

/// What is recorded instead of the timespan that follows `before`; `None` = it is run.
fn instead(before: &TimeSpanRecord) -> Option<TimeSpanRecord> {
    if before.outcome != Outcome::Completed {
        return Some(TimeSpanRecord::default());
    }
    // They would complete during it, and their targets are still open.
    let stuck = before.notes.iter().find_map(|note| match note {
        Note::IosNeverReturned { count } => Some(*count),
        _ => None,
    })?;
    let error = format!("the next timespan is not run: {stuck} I/Os of the previous one have not completed");
    Some(TimeSpanRecord { outcome: Outcome::Failed { errors: vec![error] }, ..TimeSpanRecord::default() })
}
