//! The worker threads of a timespan: started, set up, run, ended.

use crate::clock::RunClock;
use crate::gate::{Gate, Signal};
use crate::phase::{Phases, Stop};
use crate::prepare::Ready;
use crate::recorder::Recorder;
use crate::setup::{self, Context};
use crate::worker::{Trouble, Turn, Worker};
use engine::Engine;
use engine::null::NullEngine;
use engine::sync::SyncEngine;
use engine::uring::{RingSettings, Shortfall, UringEngine};
use hot::clock::Clock;
use model::note::Note;
use model::plan::{EngineKind, TimeSpanPlan, WorkerPlan};
use std::io;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What operations get to come back by themselves or after cancellation once the run is over.
const DRAIN_NS: u64 = 2_000_000_000;

/// Stack of a worker: the loop needs a few KiB, `-Zr` another 4.
const STACK_BYTES: usize = 256 << 10;

/// The worker threads.
#[derive(Debug)]
pub(crate) struct Crew {
    pub(crate) gate: Arc<Gate>,
    pub(crate) stop: Arc<Stop>,
    pub(crate) recorders: Vec<Arc<Recorder>>,
    pub(crate) notes: Arc<Mutex<Vec<Note>>>,
    thread_ids: Vec<Arc<AtomicI32>>,
    handles: Vec<JoinHandle<()>>,
}

impl Crew {
    /// Starts a thread for every worker of the plan. They set themselves up and wait at the gate.
    ///
    /// # Errors
    ///
    /// If the machine gives no more threads; those that were started have ended then.
    pub(crate) fn start(plan: &Arc<TimeSpanPlan>, ready: &Arc<Ready>, clock: RunClock) -> Result<Self, String> {
        let recorders = plan.workers.iter().map(|worker| Arc::new(Recorder::new(plan, worker))).collect();
        let mut crew = Self {
            gate: Arc::default(),
            stop: Arc::default(),
            recorders,
            notes: Arc::default(),
            thread_ids: Vec::new(),
            handles: Vec::new(),
        };
        for index in 0..plan.workers.len() {
            if let Err(error) = crew.start_one(plan, ready, clock, index) {
                crew.gate.signal(Signal::Abandon);
                crew.join();
                return Err(format!("cannot start thread {index} of {}: {error}", plan.workers.len()));
            }
        }
        Ok(crew)
    }

    fn start_one(
        &mut self,
        plan: &Arc<TimeSpanPlan>,
        ready: &Arc<Ready>,
        clock: RunClock,
        index: usize,
    ) -> io::Result<()> {
        let context = Context {
            plan: Arc::clone(plan),
            ready: Arc::clone(ready),
            recorder: Arc::clone(&self.recorders[index]),
            stop: Arc::clone(&self.stop),
        };
        let (gate, notes, thread_id) = (Arc::clone(&self.gate), Arc::clone(&self.notes), Arc::new(AtomicI32::new(0)));
        self.thread_ids.push(Arc::clone(&thread_id));
        let body = move || {
            thread_id.store(sys::thread::current_id(), Relaxed);
            let _ended = Ended { gate: &gate, thread_id: &thread_id };
            if let Err(message) = live(&context, &context.plan.workers[index], clock, &gate, &notes) {
                context.stop.fail(sys::clock::monotonic_ns());
                gate.error(message);
            }
        };
        let name = format!("worker {index}");
        self.handles.push(std::thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(body)?);
        Ok(())
    }

    /// Waits until every worker has ended, taking them out of the waits they are in. False if some
    /// are still stuck in the kernel when all patience is at an end.
    pub(crate) fn wait_for_end(&self) -> bool {
        let deadline_ns = sys::clock::monotonic_ns() + DRAIN_NS + DRAIN_NS / 4;
        loop {
            if self.gate.all_ended(self.handles.len(), Duration::from_millis(20)) {
                return true;
            }
            if sys::clock::monotonic_ns() >= deadline_ns {
                return false;
            }
            for thread_id in &self.thread_ids {
                let id = thread_id.load(Relaxed);
                if id != 0 {
                    sys::thread::wake(id);
                }
            }
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
            self.gate.error("a worker thread broke (this is a defect of diskspd)".to_owned());
        }
        self.gate.ended();
    }
}

/// The life of a worker's thread.
fn live(
    context: &Context,
    plan: &WorkerPlan,
    clock: RunClock,
    gate: &Gate,
    notes: &Mutex<Vec<Note>>,
) -> Result<(), String> {
    let at = |message: String| format!("thread {}: {message}", plan.thread);
    if let Some(cpu) = plan.cpu {
        sys::thread::bind_to_cpu(cpu).map_err(|error| at(format!("cannot run on CPU {cpu}: {error}")))?;
    }
    // Without exact sleeps paced starts are up to 50 µs late; that is no reason not to run.
    let _ = sys::clock::use_exact_sleeps();
    let files = setup::open_targets(context, plan).map_err(at)?;
    let (regions, layout) = setup::lay_out(context, plan).map_err(at)?.split();
    match plan.engine.kind {
        EngineKind::Synchronous => {
            let engine = SyncEngine::new(clock, plan.slots, files, regions);
            work(setup::assemble(context, plan, &layout, engine, clock), context, plan, gate)
        }
        EngineKind::IoUring => {
            let settings =
                RingSettings { register_buffers: true, submission_polling: false, completion_polling: false };
            let (engine, shortfall) = UringEngine::new(plan.slots, settings, files, regions)
                .map_err(|error| at(format!("cannot set up io_uring: {error}")))?;
            note(notes, shortfall);
            work(setup::assemble(context, plan, &layout, engine, clock), context, plan, gate)
        }
        EngineKind::Null => {
            let engine = NullEngine::new(plan.slots, regions);
            work(setup::assemble(context, plan, &layout, engine, clock), context, plan, gate)
        }
    }
}

fn work<E: Engine, C: Clock>(
    mut worker: Worker<E, C>,
    context: &Context,
    plan: &WorkerPlan,
    gate: &Gate,
) -> Result<(), String> {
    let Signal::Start { start_ns } = gate.ready() else { return Ok(()) };
    while sys::clock::monotonic_ns() < start_ns {
        sys::clock::sleep_until_ns(start_ns);
    }
    worker.start(Phases::new(&context.plan, start_ns));
    let result = loop {
        match worker.turn() {
            Ok(Turn::GoOn) => {}
            Ok(Turn::Over) => break Ok(()),
            Err(trouble) => break Err(describe(&trouble, context, plan)),
        }
    };
    if result.is_err() {
        context.stop.fail(sys::clock::monotonic_ns());
    }
    worker.drain(sys::clock::monotonic_ns() + DRAIN_NS);
    result
}

fn describe(trouble: &Trouble, context: &Context, plan: &WorkerPlan) -> String {
    let thread = plan.thread;
    match trouble {
        Trouble::Io { work, write, offset, length, errno } => {
            let path = context.plan.targets[plan.targets[*work].target].path.display();
            let verb = if *write { "writing" } else { "reading" };
            let reason = match (errno, write) {
                (0, false) => "the target ends there".to_owned(),
                (0, true) => "the target takes no more".to_owned(),
                _ => format!("{} (errno {errno})", error_text(*errno)),
            };
            format!("thread {thread}: {verb} {length} bytes at offset {offset} of '{path}' failed: {reason}")
        }
        Trouble::Engine { errno } => {
            format!("thread {thread}: io_uring failed: {} (errno {errno})", error_text(*errno))
        }
    }
}

/// The system's words for an error, without the number that Rust adds.
fn error_text(errno: i32) -> String {
    let text = io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn note(notes: &Mutex<Vec<Note>>, shortfall: Shortfall) {
    let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
    let buffers = shortfall.buffers.map(|reason| Note::BuffersNotRegistered { reason });
    let flags = shortfall.flags.map(|missing| Note::RingFlagsReduced { missing: missing.to_owned() });
    for note in buffers.into_iter().chain(flags) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}
