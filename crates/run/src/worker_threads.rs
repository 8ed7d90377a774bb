//! The worker threads of a timespan: started, set up, run, ended.

use crate::allowance::Budget;
use crate::clock::RunClock;
use crate::drain::{Drain, Step};
use crate::gate::{Gate, Signal};
use crate::interval_layout::IntervalLayout;
use crate::journal::Journal;
use crate::life;
use crate::phase::Stop;
use crate::prepare::Ready;
use crate::recorder::Recorder;
use crate::setup::Context;
use crate::skew::SkewTables;
use crate::verification::Verification;
use hot::rng::{Rng, Streams};
use model::note::Note;
use model::plan::TimeSpanPlan;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a thread is tried again, 10 ms apart, where the machine gives no more at the moment.
const START_RETRIES: u32 = 50;

/// Stack of a worker: the loop needs a few KiB, `-Zr` another 4.
const STACK_BYTES: usize = 256 << 10;

/// The worker threads.
#[derive(Debug)]
pub(crate) struct WorkerThreads {
    pub(crate) gate: Arc<Gate>,
    pub(crate) stop: Arc<Stop>,
    pub(crate) budget: Option<Arc<Budget>>,
    pub(crate) verification: Option<Arc<Verification>>,
    pub(crate) layout: Arc<IntervalLayout>,
    pub(crate) recorders: Vec<Arc<Recorder>>,
    pub(crate) notes: Arc<Mutex<Vec<Note>>>,
    thread_ids: Vec<Arc<AtomicI32>>,
    handles: Vec<JoinHandle<()>>,
}

impl WorkerThreads {
    /// Starts a thread for every worker of the plan. They set themselves up and wait at the gate.
    ///
    /// # Errors
    ///
    /// If the machine gives no more threads; those that were started have ended then. If a target that is verified
    /// cannot be identified, or its logs cannot be made.
    pub(crate) fn start(
        plan: &Arc<TimeSpanPlan>,
        ready: &Arc<Ready>,
        clock: RunClock,
        journal: Option<Journal<'_>>,
    ) -> Result<Self, String> {
        let stop: Arc<Stop> = Arc::default();
        let verification = Verification::new(plan, &stop, clock, (journal, &ready.root))?.map(Arc::new);
        let layout = Arc::new(IntervalLayout::new(plan));
        let tables = SkewTables::new(plan);
        let recorder = |worker| Arc::new(Recorder::new(plan, worker, &layout, &tables));
        let recorders = plan.workers.iter().map(recorder).collect();
        let mut worker_threads = Self {
            gate: Arc::default(),
            stop,
            verification,
            budget: Budget::new(plan.end_after, plan.workers.len(), sys::thread::current_id()).map(Arc::new),
            layout,
            recorders,
            notes: Arc::default(),
            thread_ids: Vec::new(),
            handles: Vec::new(),
        };
        let mut streams = Streams::default();
        for (index, worker) in plan.workers.iter().enumerate() {
            let rng = streams.generator(worker.seed, worker.stream);
            let mut retries = 0..START_RETRIES;
            while let Err(error) = worker_threads.start_one(plan, ready, clock, rng.clone(), index) {
                // A thread that has ended, such as a writer of new files, counts against limits until the kernel has
                // released it, which may be after it was joined.
                if error.kind() == io::ErrorKind::WouldBlock && retries.next().is_some() {
                    std::thread::sleep(Duration::from_millis(10));
                    continue;
                }
                worker_threads.abandon();
                return Err(format!("cannot start thread {index} of {}: {error}", plan.workers.len()));
            }
        }
        Ok(worker_threads)
    }

    fn start_one(
        &mut self,
        plan: &Arc<TimeSpanPlan>,
        ready: &Arc<Ready>,
        clock: RunClock,
        rng: Rng,
        index: usize,
    ) -> io::Result<()> {
        let context = Context {
            plan: Arc::clone(plan),
            ready: Arc::clone(ready),
            recorder: Arc::clone(&self.recorders[index]),
            stop: Arc::clone(&self.stop),
            rng,
            budget: self.budget.clone(),
            verification: self.verification.clone(),
        };
        let (gate, notes, thread_id) = (Arc::clone(&self.gate), Arc::clone(&self.notes), Arc::new(AtomicI32::new(0)));
        let shared_id = Arc::clone(&thread_id);
        let body = move || {
            thread_id.store(sys::thread::current_id(), Relaxed);
            let _ended = Ended { gate: &gate, thread_id: &thread_id };
            if let Err(message) = life::live(&context, &context.plan.workers[index], clock, &gate, &notes) {
                context.stop.fail(sys::clock::monotonic_ns());
                gate.error(message);
            }
        };
        let name = format!("worker {index}");
        self.handles.push(std::thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(body)?);
        self.thread_ids.push(shared_id);
        Ok(())
    }

    /// Waits until every worker has ended, taking them out of the waits they are in, for as long as `drain` says.
    /// False if some are still stuck in the kernel then.
    pub(crate) fn wait_for_end(&self, drain: &mut Drain, is_interrupted: &dyn Fn() -> bool) -> bool {
        let mut patience = Duration::from_millis(20);
        loop {
            if self.gate.all_ended(self.handles.len(), patience) {
                return true;
            }
            // Thousands take long to end, and longer if they are woken all the time.
            patience = (patience * 2).min(Duration::from_millis(320));
            match drain.look(sys::clock::monotonic_ns(), self.outstanding(), is_interrupted()) {
                Step::Wait => {}
                Step::Cancel => self.stop.cancel(),
                Step::GiveUp => return false,
            }
            // Whoever goes on now has a clock that does not tell the time.
            self.stop.end();
            for thread_id in &self.thread_ids {
                let id = thread_id.load(Relaxed);
                if id != 0 {
                    sys::thread::wake(id);
                }
            }
        }
    }

    /// I/Os that are under way.
    pub(crate) fn outstanding(&self) -> u64 {
        self.recorders.iter().map(|recorder| recorder.in_flight.get()).sum()
    }

    /// Sends home workers that wait at the gate. One that is stuck in the kernel is left behind.
    pub(crate) fn abandon(&mut self) {
        self.gate.signal(Signal::Abandon);
        let mut drain = Drain::begin(sys::clock::monotonic_ns(), 0, 0.0);
        // Nothing was started: who does not end by then hangs in opening a target.
        if self.wait_for_end(&mut drain, &|| true) {
            self.join();
        }
    }

    /// Waits for the threads themselves; only after [`wait_for_end`](Self::wait_for_end) said true.
    pub(crate) fn join(&mut self) {
        for handle in self.handles.drain(..) {
            // A panic was already printed, and the gate was told by `Ended`.
            let _ = handle.join();
        }
    }
}

/// Tells the gate that a worker has ended, even if it panicked.
struct Ended<'a> {
    gate: &'a Gate,
    thread_id: &'a AtomicI32,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.thread_id.store(0, Relaxed);
        if std::thread::panicking() {
            self.gate.error("a worker thread failed (this is a bug in diskspd)".to_owned());
        }
        self.gate.ended();
    }
}
