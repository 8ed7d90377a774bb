//! The worker threads of a timespan: started, set up, run, ended.

use crate::Machine;
use crate::allowance::Budget;
use crate::clock::RunClock;
use crate::drain::{Drain, Step};
use crate::gate::{Gate, Signal};
use crate::interval_layout::IntervalLayout;
use crate::io_trace::Tracer;
use crate::life;
use crate::phase::Stop;
use crate::prepare::Ready;
use crate::recorder::Recorder;
use crate::setup::Context;
use crate::skew::SkewTables;
use crate::verification::Verification;
use hot::rng::{Rng, Streams};
use model::note::Note;
use model::plan::{TimeSpanPlan, WorkerTarget};
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
        machine: Machine<'_>,
    ) -> Result<Self, String> {
        let stop: Arc<Stop> = Arc::default();
        let verification = Verification::new(plan, &stop, clock, (machine.journal, &ready.root))?.map(Arc::new);
        let layout = Arc::new(IntervalLayout::new(plan));
        let tables = SkewTables::new(plan);
        let recorder = |worker| Arc::new(Recorder::new(plan, worker, &layout, &tables));
        let recorders = plan.workers.iter().map(recorder).collect();
        let mut worker_threads = Self {
            gate: Arc::default(),
            stop,
            verification,
            budget: budget(plan).map(Arc::new),
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
            while let Err(error) = worker_threads.start_one(plan, ready, clock, (rng.clone(), machine), index) {
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
        (rng, machine): (Rng, Machine<'_>),
        index: usize,
    ) -> io::Result<()> {
        let context = Context {
            plan: Arc::clone(plan),
            ready: Arc::clone(ready),
            recorder: Arc::clone(&self.recorders[index]),
            stop: Arc::clone(&self.stop),
            rng,
            budget: self.budget.clone(),
            feed: machine.feeds.get(index).cloned(),
            verification: self.verification.clone(),
            tracer: machine.trace.map(|rings| Tracer::new(rings, plan, index)),
        };
        let (gate, notes, thread_id) = (Arc::clone(&self.gate), Arc::clone(&self.notes), Arc::new(AtomicI32::new(0)));
        let shared_id = Arc::clone(&thread_id);
        let body = move || {
            thread_id.store(sys::thread::current_id(), Relaxed);
            let worker = &context.plan.workers[index];
            // What outlives a panic are counters and locks, which others may read at every moment.
            let life = AssertUnwindSafe(|| life::live(&context, worker, clock, &gate, &notes));
            let lived = catch_unwind(life).unwrap_or_else(|panic| Err(describe_panic(worker.thread, panic.as_ref())));
            if let Err(message) = lived {
                context.stop.fail(sys::clock::monotonic_ns());
                gate.error(message);
            }
            thread_id.store(0, Relaxed);
            gate.ended();
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
            match drain.next_step(sys::clock::monotonic_ns(), self.outstanding(), is_interrupted()) {
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
            // Panics were caught.
            let _ = handle.join();
        }
    }
}

/// The budget of the threads; `None` = they end with the time.
fn budget(plan: &TimeSpanPlan) -> Option<Budget> {
    let (workers, control_thread) = (plan.workers.len(), sys::thread::current_id());
    let replays = plan.workers.iter().flat_map(|worker| &worker.targets).any(WorkerTarget::is_recorded);
    if replays {
        return Some(Budget::within(plan.end_after, workers, control_thread));
    }
    Budget::new(plan.end_after, workers, control_thread)
}

/// Describes a panic to the user. Its place was printed when it happened.
fn describe_panic(thread: u32, panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
    let first_line = text.and_then(|text| text.lines().next()).unwrap_or("no reason given");
    format!("thread {thread} ended by a panic, which is a bug in diskspd: {first_line}")
}

#[cfg(test)]
mod tests {
    use crate::event::{Events, StopSources};
    use crate::observer::{Event, Observer};
    use crate::worker_tests::{plan_of, target};
    use crate::{Machine, run};
    use host::Root;
    use model::engine_kind::EngineKind;
    use model::plan::{
        Assignment, Expected, OpenPlan, Plan, Preparation, SizePlan, SizesPlan, TargetPlan, TimeSpanPlan, WorkerPlan,
    };
    use model::record::{Outcome, RowRecord};
    use std::collections::BTreeMap;
    use std::sync::atomic::AtomicBool;

    struct Nobody;

    impl Observer for Nobody {
        fn observe(&mut self, _: &Event<'_>) {}
    }

    /// Two threads that read `/dev/zero`, of which the second has buffers for one block and reads two in each 100th
    /// I/O, for a minute.
    fn plan_with_a_mistake() -> Plan {
        let mut first = target(0, 1);
        first.write_percent = 0;
        let mut second = first.clone();
        let size = |blocks, read_percent| SizePlan {
            bytes: first.block_bytes * blocks,
            read_percent,
            alignment_bytes: first.block_bytes,
            positions: 100,
            ..SizePlan::default()
        };
        second.sizes = Some(SizesPlan { sizes: vec![size(1, 99), size(2, 1)], bytes_per_ms: None });
        let mut span = plan_of(vec![first], Assignment::Fixed, 1);
        span.workers[0].engine.kind = EngineKind::Synchronous;
        span.workers.push(WorkerPlan { thread: 1, targets: vec![second], ..span.workers[0].clone() });
        span.targets.push(TargetPlan {
            path: "/dev/zero".into(),
            stream: None,
            size_bytes: 1 << 30,
            preparation: Preparation::Keep,
            expect: Expected::Character,
            open: OpenPlan { read: true, ..OpenPlan::default() },
            write_source: None,
            shared_run: None,
        });
        let minute_ns = 60_000_000_000;
        let span = TimeSpanPlan { warm_up_ns: 0, duration_ns: minute_ns, cool_down_ns: 0, intervals: None, ..span };
        Plan { time_spans: vec![span], ..Plan::default() }
    }

    // Shows faults: A thread of the run panics
    #[test]
    fn a_panic_of_a_worker_ends_the_run_as_failed_with_the_figures_so_far() {
        let machine = Machine {
            root: &Root::machine(),
            environments: &BTreeMap::new(),
            counts_events: false,
            holds_latency: false,
            journal: None,
            feeds: &[],
            trace: None,
        };
        let no = AtomicBool::new(false);
        let stop_sources =
            StopSources { interrupt: &no, status_asked: &no, events: &Events::default(), agreed_start: None };
        let record = run(&plan_with_a_mistake(), machine, stop_sources, &mut Nobody);
        let [span] = &record.time_spans[..] else { panic!("there is one timespan") };
        let error = "thread 1 ended by a panic, which is a bug in diskspd: an I/O extends beyond its buffer";
        assert_eq!(span.outcome, Outcome::Failed { errors: vec![error.to_owned()] });
        assert!(span.elapsed_ns > 0);
        let ios = |row: &RowRecord| row.read.tally.count;
        assert_eq!(span.rows.iter().map(|row| row.thread).collect::<Vec<_>>(), [0, 1]);
        assert!(span.rows.iter().all(|row| ios(row) > 0), "{:?}", span.rows.iter().map(ios).collect::<Vec<_>>());
    }
}
