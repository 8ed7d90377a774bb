//! Events of a run. They come from the control thread only.

use model::facts::NewDirectory;
use model::live::LiveCounts;
use model::plan::{TimeSpanPlan, WorkerPlan};
use std::path::Path;

/// Somebody who wants to see the run.
pub trait Observer {
    /// Something happened.
    fn observe(&mut self, event: &Event<'_>);

    /// How often it wants [`Event::Counts`], in nanoseconds; `None` = never.
    fn counts_every_ns(&self) -> Option<u64> {
        None
    }
}

/// An event of a run.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A timespan begins, counted from 1.
    TimeSpan {
        /// Its number.
        number: usize,
    },
    /// A file of the right size and content is used as it is.
    Reusing { path: &'a Path },
    /// The directory of a new file was created.
    DirectoryCreated { directory: &'a NewDirectory },
    /// A file is being written.
    Creating {
        path: &'a Path,
        /// Bytes written so far.
        written_bytes: u64,
        /// Bytes in all; the file is complete when both are equal.
        size_bytes: u64,
    },
    /// A file of this run was deleted.
    Deleted { path: &'a Path },
    /// A worker is about to be started.
    Thread {
        /// Its plan.
        worker: &'a WorkerPlan,
        /// The timespan it belongs to.
        plan: &'a TimeSpanPlan,
    },
    /// All workers are ready; the start signal waits for the start event.
    WaitingForStart,
    /// All workers are ready and the start signal was given.
    Started,
    /// A phase begins.
    Phase(Phase),
    /// CPU times were read.
    CpuTimesRead {
        /// Number of CPUs.
        cpus: usize,
    },
    /// The measurement ended.
    Measured {
        /// Measured time in nanoseconds.
        elapsed_ns: u64,
    },
    /// All workers have ended.
    Finished,
    /// The last second.
    Live(Live),
    /// Counts of all threads in the phase so far, as often as the observer wants them, and once more when all
    /// threads have ended.
    Counts(&'a LiveCounts),
    /// The phase so far, because somebody asked.
    Status(Live),
    /// So many dots of `-P` are due.
    Dots {
        /// How many.
        count: u64,
    },
    /// Ctrl+C was seen.
    Interrupted,
    /// Somebody set the stop event.
    StopEventSet,
    /// Something that the user should know at once.
    Warning {
        /// A sentence.
        message: &'a str,
    },
}

/// A phase of a timespan and its planned length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Warm-up.
    WarmUp {
        /// Planned length in nanoseconds.
        length_ns: u64,
    },
    /// Measurement.
    Measure {
        /// Planned length in nanoseconds.
        length_ns: u64,
    },
    /// Cool-down.
    CoolDown {
        /// Planned length in nanoseconds.
        length_ns: u64,
    },
}

/// Figures of the time since the last event of this kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Live {
    /// The phase it belongs to.
    pub phase: Phase,
    /// Time left in the phase.
    pub left_ns: u64,
    /// Length of the stretch.
    pub stretch_ns: u64,
    /// I/Os completed in it.
    pub ios: u64,
    /// Bytes transferred in it.
    pub bytes: u64,
    /// Sum of the latencies of these I/Os.
    pub latency_sum_ns: u64,
}
