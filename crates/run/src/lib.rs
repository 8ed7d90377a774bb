//! Threads and phases: a plan becomes a record.
//!
//! The calling thread is the control thread: it prepares the targets, starts one worker per
//! planned thread, keeps the phases, reads what the kernel counts and logs, and collects what the workers
//! counted.
//! It neither parses nor renders; whoever wants to see the run as it goes passes an [`Observer`].

mod allowance;
mod batch_starts;
mod clock;
mod control;
mod counter_readings;
mod create;
mod data_plane;
mod delete;
mod device_guard;
mod drain;
pub mod event;
mod file_marks;
mod flush;
mod gate;
mod gather;
mod general;
mod in_a_row;
mod interruptions;
mod interval_cursor;
pub mod interval_layout;
pub mod io_trace;
mod io_workers;
mod issue_recorded;
pub mod journal;
mod kernel_sampler;
mod latency_cells;
mod life;
mod live_counts;
mod logs;
pub mod observer;
mod open_loop;
mod pause;
pub mod phase;
mod prepare;
pub mod recorder;
mod replay_cells;
mod replaying;
pub mod row;
mod run_log;
mod saturation;
mod section_sums;
mod sections;
mod seq_lock;
mod setup;
mod shape;
pub mod shared_files;
mod size_cells;
pub mod skew;
mod spread;
mod submission;
mod times;
mod verification;
mod verifying;
mod waiting;
mod work;
pub mod worker;
#[cfg(test)]
mod worker_tests;
mod worker_threads;
mod written_files;

use crate::clock::RunClock;
use crate::create::Unprepared;
use crate::event::StopSources;
use crate::io_trace::IoRings;
use crate::journal::Journal;
use crate::kernel_sampler::KernelSampler;
use crate::observer::{Event, Observer};
use crate::prepare::Preparer;
use host::Root;
use hot::replay::Feed;
use model::environment::TargetEnvironment;
use model::note::Note;
use model::plan::Plan;
use model::record::{Outcome, Record, TimeSpanRecord};
use model::units::{UnixTime, counted};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use sys::cpu_latency::LatencyHold;
use sys::machine_clock::MachineClock;

/// The machine that a plan is run on, and what is read and held of it.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    /// Where the kernel's files are.
    pub root: &'a Root,
    /// Storage below the targets: the kernel's counters of these devices are read.
    pub environments: &'a BTreeMap<PathBuf, TargetEnvironment>,
    /// Reads the counters of kernel events, too (`-e`).
    pub counts_events: bool,
    /// Keeps CPUs out of idle states that are slow to leave (`--hold-latency`).
    pub holds_latency: bool,
    /// Where the map of verified units is saved, and the logs of changes are (`--journal`).
    pub journal: Option<Journal<'a>>,
    /// Requests of a trace, by thread (`trace replay`); empty = I/Os are generated.
    pub feeds: &'a [Arc<Feed>],
    /// Where each I/O is put (`--trace`).
    pub trace: Option<&'a Arc<IoRings>>,
}

/// Runs a plan. What comes from outside may end it gracefully, as the first failure ends it; later
/// timespans are recorded as not run.
pub fn run(plan: &Plan, machine: Machine<'_>, stop_sources: StopSources<'_>, observer: &mut dyn Observer) -> Record {
    let mut sampler = KernelSampler::begin(machine.root, machine.environments, machine.counts_events);
    let hold = machine.holds_latency.then(LatencyHold::acquire);
    let mut preparer = Preparer::new(machine.root);
    preparer.agreed_start_ns = stop_sources.agreed_start.map(|agreed| agreed.start_ns);
    let mut record = run_time_spans(plan, &mut preparer, &mut sampler, machine, stop_sources, observer);
    delete::delete(plan, &mut preparer.files, observer);
    close_files(&mut preparer, &record, observer);
    // It may have come where only the flag is looked at, as while files are made.
    stop_sources.pass_interrupt_on();
    (record.kernel_messages, record.notes) = sampler.finish();
    record.notes.extend(hold.as_ref().map(latency_note));
    record
}

/// The note on `--hold-latency`.
fn latency_note(hold: &io::Result<LatencyHold>) -> Note {
    match hold {
        Ok(_) => Note::CpuLatencyHeld,
        Err(error) => Note::CpuLatencyNotHeld { reason: format!("{}: {error}", sys::cpu_latency::DOOR) },
    }
}

/// Closes what was written to, unless I/Os are still on their way: a flush would wait for them.
fn close_files(preparer: &mut Preparer, record: &Record, observer: &mut dyn Observer) {
    if record.time_spans.iter().any(|span| span.notes.iter().any(|note| drain::left_behind(note).is_some())) {
        preparer.files.keep_shared_open();
    } else {
        preparer.close_files(observer);
    }
}

/// Makes the targets of a plan's first timespan ready, and measures nothing.
///
/// # Errors
///
/// Why they are not; `None` if they were not because of an interrupt.
pub fn prepare(
    plan: &Plan,
    root: &Root,
    stop_sources: StopSources<'_>,
    observer: &mut dyn Observer,
) -> Result<(), Option<String>> {
    let mut preparer = Preparer::new(root);
    let steps = plan.time_spans.first().into_iter().flat_map(|span| &span.targets).map(|target| &target.preparation);
    let first = preparer.prepare_first(plan, stop_sources.interrupt, observer);
    let made = first.and_then(|()| preparer.make(steps, stop_sources.interrupt, observer));
    preparer.close_files(observer);
    made.map_err(|unprepared| match unprepared {
        Unprepared::Interrupted => None,
        Unprepared::Failed(reason) => Some(reason),
    })
}

/// Deletes the files that a plan wants deleted (`--delete-after`), without a run of it.
pub fn delete_targets(plan: &Plan, observer: &mut dyn Observer) {
    delete::delete(plan, &mut written_files::WrittenFiles::default(), observer);
}

fn run_time_spans(
    plan: &Plan,
    preparer: &mut Preparer,
    sampler: &mut KernelSampler<'_>,
    machine: Machine<'_>,
    stop_sources: StopSources<'_>,
    observer: &mut dyn Observer,
) -> Record {
    let first_look = sys::machine_clock::sample();
    if let Err(unprepared) = preparer.prepare_first(plan, stop_sources.interrupt, observer) {
        let mut time_spans = vec![TimeSpanRecord::default(); plan.time_spans.len()];
        if let Some(first) = time_spans.first_mut() {
            *first = unprepared.record(observer);
        }
        return Record { started_at: UnixTime(sys::clock::realtime_ns()), time_spans, ..Record::default() };
    }
    let mut record = Record { started_at: UnixTime(sys::clock::realtime_ns()), ..Record::default() };
    let clock = RunClock(MachineClock::choose(first_look, host::trusts_cpu_counter(preparer.root())));
    let coarse = clock::note(clock.0.step_ns(&host::clock_source(preparer.root())));
    for (index, time_span) in plan.time_spans.iter().enumerate() {
        let mut result = record.time_spans.last().and_then(instead).unwrap_or_else(|| {
            observer.observe(&Event::TimeSpan { number: index + 1 });
            let plan = Arc::new(time_span.clone());
            control::run_time_span(&plan, clock, preparer, sampler, machine, stop_sources, observer)
        });
        if index + 1 < plan.time_spans.len() && instead(&result).is_none() {
            preparer.files.end_writing();
        }
        result.notes.extend(coarse.clone().filter(|_| result.outcome == Outcome::Completed));
        record.time_spans.push(result);
    }
    record
}

/// The record in place of the timespan that follows `before`; `None` = it is run.
fn instead(before: &TimeSpanRecord) -> Option<TimeSpanRecord> {
    if before.outcome != Outcome::Completed {
        return Some(TimeSpanRecord::default());
    }
    // They would complete during it, and their targets are still open.
    let stuck = before.notes.iter().find_map(drain::left_behind)?;
    let stuck = counted(stuck, "I/O");
    let error = format!("the next timespan is not run: {stuck} of the previous one did not complete");
    Some(TimeSpanRecord { outcome: Outcome::Failed { errors: vec![error] }, ..TimeSpanRecord::default() })
}
