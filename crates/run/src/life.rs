//! The life of a worker's thread: bound, set up, started, turned until it is over, drained.

use crate::clock::RunClock;
use crate::flush::Flusher;
use crate::gate::{Gate, Signal};
use crate::logs::{self, Log};
use crate::phase::Phases;
use crate::setup::{self, Context};
use crate::verifying::Verifying;
use crate::work::{self, Buffers};
use crate::worker::WorkerError;
use engine::Engine;
use engine::aio::AioEngine;
use engine::below::Below;
use engine::buffers::Region;
use engine::mapped::Mapped;
use engine::null::NullEngine;
use engine::ring_setup::{self, RingSettings};
use engine::sync::SyncEngine;
use engine::uring::{Unregistered, UringEngine};
use model::affinity;
use model::engine_kind::EngineKind;
use model::note::Note;
use model::operation::Operation;
use model::plan::{Expected, WorkerPlan, WorkerTarget};
use model::record::CpuWait;
use model::units::Bytes;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

/// Runs one worker thread. Errors are sentences for the user.
pub(crate) fn live(
    context: &Context,
    plan: &WorkerPlan,
    clock: RunClock,
    gate: &Gate,
    notes: &Mutex<Vec<Note>>,
) -> Result<(), String> {
    let at = |message: String| format!("thread {}: {message}", plan.thread);
    // Its pattern says nothing without the trace.
    if context.feed.is_none() && plan.targets.iter().any(WorkerTarget::is_recorded) {
        return Err(at("there is no trace to replay".to_owned()));
    }
    if let Some(cpu) = plan.cpu {
        sys::thread::bind_to_cpu(cpu).map_err(|error| at(format!("cannot run on CPU {cpu}: {error}")))?;
    }
    // Without exact sleeps paced starts are up to 50 µs late, which is acceptable.
    let _ = sys::clock::use_exact_sleeps();
    set_priority(plan, notes);
    let files = setup::open_targets(context, plan).map_err(at)?;
    let (regions, layout) = setup::lay_out(context, plan).map_err(at)?.split();
    let flusher = context
        .plan
        .flush_after_writes
        .map(|writes| Flusher::new(writes, context.plan.flush_call, plan, &files))
        .transpose();
    let flusher = flusher
        .map_err(|error| at(format!("cannot open the targets for {}: {error}", context.plan.flush_call.name())))?;
    let logs =
        logs::logs(plan, &files).map_err(|error| at(format!("cannot open the targets for --append: {error}")))?;
    let parts = WorkerParts { context, plan, layout: &layout, clock, gate, flusher, logs };
    if plan.targets.iter().any(|target| target.mapped.is_some()) {
        let mapped = setup::map_targets(context, plan, &files, regions, &layout).map_err(at)?;
        let below = engine(&parts, files, mapped.below, notes)?;
        return work(parts, Mapped::new(below, clock, plan.slots, mapped.targets, mapped.regions));
    }
    // Each has a loop of its own.
    match engine(&parts, files, regions, notes)? {
        Below::Sync(engine) => work(parts, engine),
        Below::Uring(engine) => work(parts, *engine),
        Below::Aio(engine) => work(parts, engine),
        Below::Null(engine) => work(parts, engine),
    }
}

/// Parts of a worker, beside its engine.
struct WorkerParts<'a> {
    context: &'a Context,
    plan: &'a WorkerPlan,
    layout: &'a [Buffers],
    clock: RunClock,
    gate: &'a Gate,
    flusher: Option<Flusher>,
    logs: Box<[Option<Log>]>,
}

/// The one place where the kind of engine is looked at.
fn engine(
    parts: &WorkerParts<'_>,
    files: Vec<OwnedFd>,
    regions: Vec<Region>,
    notes: &Mutex<Vec<Note>>,
) -> Result<Below<RunClock>, String> {
    let (plan, clock) = (parts.plan, parts.clock);
    let at = |what: &str, error: io::Error| format!("thread {}: cannot set up {what}: {error}", plan.thread);
    Ok(match plan.engine.kind {
        EngineKind::Synchronous => Below::Sync(SyncEngine::new(clock, plan.slots, files, regions)),
        EngineKind::IoUring => {
            Below::Uring(Box::new(ring(parts, files, regions, notes).map_err(|error| at("io_uring", error))?))
        }
        EngineKind::LinuxAio => {
            Below::Aio(AioEngine::new(plan.slots, files, regions).map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock => at("Linux AIO", io::Error::other(NO_MORE_AIO)),
                _ => at("Linux AIO", error),
            })?)
        }
        // Mapped targets need nothing below them; the null engine only owns their descriptors' place.
        EngineKind::Null | EngineKind::MemoryMapped => Below::Null(NullEngine::new(plan.slots, regions)),
    })
}

/// A ring, and then its buffers registered as far as the limit on locked memory reaches.
fn ring(
    parts: &WorkerParts<'_>,
    files: Vec<OwnedFd>,
    regions: Vec<Region>,
    notes: &Mutex<Vec<Note>>,
) -> io::Result<UringEngine> {
    let WorkerParts { context, plan, gate, .. } = parts;
    let with_rings = || context.plan.workers.iter().filter(|worker| worker.engine.kind == EngineKind::IoUring);
    let (mut engine, missing) =
        UringEngine::new(plan.slots, ring_settings(plan), files, regions).map_err(|error| match error.kind() {
            io::ErrorKind::OutOfMemory => {
                let rings = with_rings().map(|worker| ring_setup::locked_bytes(worker.slots));
                no_memory_for_rings(&error, with_rings().count(), rings.sum())
            }
            _ => error,
        })?;
    if let Some(missing) = missing {
        note(notes, Note::RingFlagsReduced { missing: missing.to_owned() });
    }
    if let (Some(_), Some(entries)) = (plan.cpu, &context.plan.io_worker_affinity) {
        // Before Linux 5.14 they run where this thread runs.
        let _ = engine.run_kernel_threads_on(affinity::cpus(entries));
    }
    // Before Linux 5.15 four per CPU are the limit.
    let _ = engine.allow_kernel_threads(plan.slots);
    let registers = plan.engine.ring.is_none_or(|ring| ring.registered_buffers);
    let buffer_bytes = if registers { engine.buffer_bytes() } else { 0 };
    gate.ring_made(with_rings().count() as u32, ring_setup::locked_bytes(plan.slots) + buffer_bytes);
    match if registers { engine.register_buffers() } else { Ok(()) } {
        Ok(()) => {}
        Err(Unregistered::LockLimit) => gate.buffers_refused(),
        Err(Unregistered::Other(reason)) => note(notes, Note::BuffersNotRegistered { reason }),
    }
    Ok(engine)
}

/// The error for `ENOMEM` of `io_uring_setup(2)`.
fn no_memory_for_rings(error: &io::Error, rings: usize, bytes: u64) -> io::Error {
    let Some(limit_bytes) = sys::limits::locked_memory_bytes() else {
        return io::Error::new(error.kind(), error.to_string());
    };
    io::Error::other(format!(
        "{error}; the rings of {rings} threads may need {} of locked memory, and all processes of this user together may \
         lock {}: raise the limit (ulimit -l), or use fewer threads (-t) or Linux AIO (-x)",
        Bytes(bytes),
        Bytes(limit_bytes)
    ))
}

/// Meaning of `EAGAIN` of `io_setup(2)`.
const NO_MORE_AIO: &str = "not enough AIO requests left; raise the system-wide limit with sysctl fs.aio-max-nr";

fn ring_settings(plan: &WorkerPlan) -> RingSettings {
    let ring = plan.engine.ring.unwrap_or_default();
    RingSettings {
        submission_polling: ring.submission_polling,
        completion_polling: ring.completion_polling,
        // Batched submission looks at completions between system calls.
        deferred_completions: ring.batch.is_none(),
    }
}

/// Tells the kernel of a thread whose targets agree on a priority; where they do not, each
/// operation carries its own, as far as the engine can.
fn set_priority(plan: &WorkerPlan, notes: &Mutex<Vec<Note>>) {
    let mut priorities = plan.targets.iter().map(|target| work::priority(target.priority));
    let first = priorities.next().unwrap_or(0);
    let agree = priorities.all(|other| other == first);
    let per_operation = plan.engine.kind.takes_batches();
    let reason = match (agree, per_operation) {
        (true, _) if first == 0 => return,
        (true, _) => match sys::thread::set_io_priority(first) {
            Ok(()) => return,
            Err(error) => error.to_string(),
        },
        (false, true) => return,
        (false, false) => "a thread with the synchronous engine can only have one I/O priority (-I)".to_owned(),
    };
    note(notes, Note::OptionWithoutEffect { option: "-I".to_owned(), reason });
}

fn work<E: Engine>(parts: WorkerParts<'_>, engine: E) -> Result<(), String> {
    match &parts.context.verification {
        Some(verification) => {
            let engine = Verifying::new(engine, parts.clock, verification, &parts.context.plan, parts.plan);
            work_over(parts, engine)
        }
        None => work_over(parts, engine),
    }
}

fn work_over<E: Engine>(parts: WorkerParts<'_>, engine: E) -> Result<(), String> {
    let WorkerParts { context, plan, layout, clock, gate, flusher, logs } = parts;
    let mut worker = setup::assemble(context, plan, layout, engine, clock);
    (worker.flusher, worker.logs) = (flusher, logs);
    let Signal::Start { start_ns } = gate.ready() else { return Ok(()) };
    while sys::clock::monotonic_ns() < start_ns {
        sys::clock::sleep_until_ns(start_ns);
    }
    context.recorder.set_started(sys::clock::monotonic_ns());
    let root = &context.ready.root;
    let waited_before = host::cpu_wait(root);
    worker.start(Phases::new(&context.plan, start_ns));
    let result = worker.run().map_err(|trouble| describe(&trouble, context, plan));
    if let Some((before, after)) = waited_before.zip(host::cpu_wait(root)) {
        let of_ns = sys::clock::monotonic_ns().saturating_sub(start_ns);
        let (wait_ns, turns) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
        context.recorder.set_cpu_wait(CpuWait { wait_ns, of_ns, turns });
    }
    if result.is_err() {
        context.stop.fail(sys::clock::monotonic_ns());
    }
    worker.drain();
    result
}

fn describe(trouble: &WorkerError, context: &Context, plan: &WorkerPlan) -> String {
    let thread = plan.thread;
    match trouble {
        WorkerError::Io { work, operation, offset, length, errno } => {
            let target = &context.plan.targets[plan.targets[*work].target];
            let path = target.path.display();
            let verb = operation.gerund();
            let reason = match (errno, operation) {
                (0, Operation::Read) => "end of target: it has become shorter, or its device was removed".to_owned(),
                (0, _) => "the target accepts no more data".to_owned(),
                (&ENOSPC, _) if matches!(target.expect, Expected::Block { .. }) => format!(
                    "{} (errno {errno}): its device was removed, or has become shorter, or the pool below it is full",
                    error_text(*errno)
                ),
                _ if !operation.transfers_data() && is_unsupported(*errno) => format!(
                    "the file system or device does not support it (errno {errno}); leave out {}",
                    if *operation == Operation::Discard { "--discard" } else { "--write-zeroes" }
                ),
                _ if plan.targets[*work].mapped.is_some() && *errno == EIO => {
                    "the mapped page cannot be accessed (the file was truncated, its file system is full, or its \
                     device failed)"
                        .to_owned()
                }
                _ if polls_for_completions(plan) && is_unsupported(*errno) => {
                    "completions cannot be polled (--iopoll needs direct I/O and a device with poll queues, such as \
                     NVMe with nvme.poll_queues)"
                        .to_owned()
                }
                _ => format!("{} (errno {errno})", error_text(*errno)),
            };
            format!("thread {thread}: {verb} {length} bytes at offset {offset} of '{path}' failed: {reason}")
        }
        WorkerError::Flush { work, errno } => {
            let path = context.plan.targets[plan.targets[*work].target].path.display();
            let call = context.plan.flush_call.name();
            format!("thread {thread}: flushing '{path}' ({call}) failed: {} (errno {errno})", error_text(*errno))
        }
        WorkerError::Rotation { work, errno } => {
            let path = context.plan.targets[plan.targets[*work].target].path.display();
            let reason = match errno {
                _ if is_unsupported(*errno) => {
                    "its file system cannot reserve blocks; leave out ',preallocate' of --append".to_owned()
                }
                _ => format!("{} (errno {errno})", error_text(*errno)),
            };
            format!("thread {thread}: beginning '{path}' anew (--append) failed: {reason}")
        }
        WorkerError::Engine { errno } => {
            format!("thread {thread}: {} failed: {} (errno {errno})", plan.engine.kind.name(), error_text(*errno))
        }
    }
}

/// Error number that the guard of mapped targets returns instead of SIGBUS.
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn polls_for_completions(plan: &WorkerPlan) -> bool {
    plan.engine.ring.is_some_and(|ring| ring.completion_polling)
}

fn is_unsupported(errno: i32) -> bool {
    io::Error::from_raw_os_error(errno).kind() == io::ErrorKind::Unsupported
}

/// The system's words for an error, without the number that Rust adds.
fn error_text(errno: i32) -> String {
    let text = io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Keeps a note once, however many threads have it.
fn note(notes: &Mutex<Vec<Note>>, note: Note) {
    let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
    if !notes.contains(&note) {
        notes.push(note);
    }
}
