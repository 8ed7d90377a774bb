//! Threads and their work on each target.

use crate::content;
use crate::engine_choice::{self, NoEngine, Thread};
use crate::files::Files;
use crate::findings::{Findings, RefusalKind};
use crate::near_device::NearDevice;
use crate::pace::{self, Share};
use crate::seeds;
use crate::target::PlannedTarget;
use model::engine_kind::EngineKind;
use model::limits::OUTSTANDING_MAX;
use model::operation::Operation;
use model::plan::{Assignment, Content, Expected, MappedPlan, TargetPlan, WorkerPlan, WorkerTarget};
use model::profile::TimeSpan;
use model::rw_flags::RwFlags;

/// The targets of each thread, and its relative number on each.
#[derive(Debug)]
pub(crate) struct ThreadAssignments {
    /// By thread.
    pub(crate) by_thread: Vec<Vec<ThreadAssignment>>,
    /// By target: relative numbers of its threads, ascending.
    pub(crate) threads_of: Vec<Vec<u32>>,
}

/// A target that a thread serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadAssignment {
    target: usize,
    relative_thread: u32,
}

/// Assigns the targets. The number of threads has been checked.
pub(crate) fn assignments(time_span: &TimeSpan) -> ThreadAssignments {
    let mut by_thread: Vec<Vec<ThreadAssignment>> = Vec::new();
    if time_span.thread_count > 0 {
        for thread in 0..time_span.thread_count {
            let serves = |target: &model::profile::Target| {
                target.thread_targets.is_empty() || target.thread_targets.iter().any(|listed| listed.thread == thread)
            };
            let own = (0..time_span.targets.len()).filter(|&target| serves(&time_span.targets[target]));
            by_thread.push(own.map(|target| ThreadAssignment { target, relative_thread: thread }).collect());
        }
    } else {
        for (target, settings) in time_span.targets.iter().enumerate() {
            by_thread.extend(
                (0..settings.threads).map(|relative_thread| vec![ThreadAssignment { target, relative_thread }]),
            );
        }
    }
    let mut threads_of = vec![Vec::new(); time_span.targets.len()];
    for assignment in by_thread.iter().flatten() {
        threads_of[assignment.target].push(assignment.relative_thread);
    }
    ThreadAssignments { by_thread, threads_of }
}

/// Plans every thread; `None` = something was refused.
pub(crate) fn plan(
    time_span: &TimeSpan,
    assignments: &ThreadAssignments,
    targets: &[PlannedTarget],
    cpus: Option<&[u32]>,
    files: &Files,
    findings: &mut Findings,
) -> Option<Vec<WorkerPlan>> {
    let mut near_device = cpus.filter(|_| time_span.near_device).map(|cpus| NearDevice::new(files.facts(), cpus));
    let rows = assignments.by_thread.iter().map(Vec::len).sum::<usize>() as u32;
    let mut shares = (0..rows).map(|row| Share { row, rows });
    let mut workers = Vec::with_capacity(assignments.by_thread.len());
    for (thread, assigned) in assignments.by_thread.iter().enumerate() {
        let thread = thread as u32;
        let shares: Vec<Share> = shares.by_ref().take(assigned.len()).collect();
        let Some(slots) = slots(time_span, thread, assigned, findings) else { continue };
        let own = || {
            assigned.iter().map(|assignment| (&time_span.targets[assignment.target], &targets[assignment.target].plan))
        };
        let wishes = Thread {
            time_span,
            slots,
            all_mapped: own().all(|(settings, _)| settings.memory_mapped),
            without_data: own().find_map(|(settings, _)| without_data(settings)),
            writes_through_to_device: own().any(|(settings, plan)| {
                settings.writes() && settings.write_through && matches!(plan.expect, Expected::Block { .. })
            }),
        };
        let engine = match engine_choice::choose(wishes, &files.facts().system) {
            Ok((engine, note)) => {
                if let Some(note) = note {
                    findings.note(note);
                }
                engine
            }
            Err(NoEngine::Contradiction(message)) => {
                findings.refuse(RefusalKind::Invalid, message);
                continue;
            }
            Err(NoEngine::Unavailable(message)) => {
                findings.refuse_file(RefusalKind::Impossible, message);
                continue;
            }
        };
        if engine.kind == EngineKind::IoUring
            && let Some(message) = own().find_map(|(settings, plan)| no_ring_discards(settings, plan, files))
        {
            findings.refuse_file(RefusalKind::Impossible, message);
            continue;
        }
        let targets = assigned
            .iter()
            .zip(shares)
            .map(|(assignment, share)| {
                worker_target(time_span, thread, *assignment, &targets[assignment.target], share)
            })
            .collect();
        let (seed, stream) = seeds::of_thread(time_span, thread);
        let cpu = match &mut near_device {
            Some(near) => Some(near.next(own().map(|(settings, _)| settings.path.as_path()), findings)),
            None => cpus.map(|cpus| cpus[thread as usize % cpus.len()]),
        };
        let is_pool = time_span.is_pool_with_requests();
        workers.push(WorkerPlan {
            thread,
            cpu,
            engine,
            targets,
            assignment: if is_pool { Assignment::Weighted } else { Assignment::Fixed },
            slots,
            seed,
            stream,
            randomize_writes: time_span.random_write_data,
        });
    }
    (workers.len() == assignments.by_thread.len()).then_some(workers)
}

/// Requests that a thread keeps outstanding.
fn slots(time_span: &TimeSpan, thread: u32, assigned: &[ThreadAssignment], findings: &mut Findings) -> Option<u32> {
    if assigned.is_empty() {
        findings.refuse(
            RefusalKind::Invalid,
            format!("thread {thread} of -F{} has no target: no ThreadTarget names it", time_span.thread_count),
        );
        return None;
    }
    let slots = if time_span.is_pool_with_requests() {
        u64::from(time_span.request_count)
    } else {
        assigned.iter().map(|assignment| u64::from(time_span.targets[assignment.target].outstanding)).sum()
    };
    match slots {
        0 => findings.refuse(RefusalKind::Invalid, format!("thread {thread} would issue no I/O (-o0): raise -o")),
        1.. if slots > u64::from(OUTSTANDING_MAX) => findings.refuse(
            RefusalKind::Invalid,
            format!(
                "a thread would keep {slots} I/Os outstanding over all its targets; the maximum is {OUTSTANDING_MAX} \
                 (lower -o, or give -O with -F)"
            ),
        ),
        _ => return Some(slots as u32),
    }
    None
}

fn worker_target(
    time_span: &TimeSpan,
    thread: u32,
    assignment: ThreadAssignment,
    planned: &PlannedTarget,
    share: Share,
) -> WorkerTarget {
    let target = &time_span.targets[assignment.target];
    let listed = target.thread_targets.iter().find(|listed| listed.thread == thread);
    let weight = listed.map(|listed| listed.weight).filter(|&weight| weight > 0).unwrap_or(target.weight);
    let slots = if time_span.is_pool_with_requests() { time_span.request_count } else { target.outstanding };
    WorkerTarget {
        target: assignment.target,
        relative_thread: assignment.relative_thread,
        slots,
        weight,
        block_bytes: target.largest_io_bytes(),
        sizes: planned.layout.sizes.clone(),
        pattern: planned.layout.pattern(assignment.relative_thread),
        write_percent: target.write_percent,
        discard_percent: target.discard_percent.unwrap_or(0),
        write_zeroes_percent: target.write_zeroes_percent.unwrap_or(0),
        content: content_of(time_span, target),
        pace: pace::pace(time_span, target, share),
        mapped: target.memory_mapped.then_some(MappedPlan {
            non_temporal: target.write_through,
            flush: target.flush.filter(|_| !target.write_through),
        }),
        priority: target.io_priority,
        rw_flags: RwFlags::from_target(target),
        large_pages: target.large_pages,
        effective_distribution: planned.layout.effective_distribution.clone(),
    }
}

/// Reason why a target cannot be discarded through `io_uring`, if any.
fn no_ring_discards(settings: &model::profile::Target, plan: &TargetPlan, files: &Files) -> Option<String> {
    let release = &files.facts().system.kernel_release;
    let is_discarded = settings.shares().does(Operation::Discard) && matches!(plan.expect, Expected::Block { .. });
    (is_discarded && !has_ring_discards(release)).then(|| {
        format!(
            "--discard on the block device '{}' through io_uring needs Linux 6.12 or later (this is {release}); use \
             --engine=sync",
            settings.path.display()
        )
    })
}

/// True if a kernel of this release supports discards of block devices on rings.
fn has_ring_discards(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (6, 12)
}

/// The option for I/Os of a target that transfer no data, if it has some.
fn without_data(target: &model::profile::Target) -> Option<&'static str> {
    let shares = target.shares();
    let options = [("--discard", Operation::Discard), ("--write-zeroes", Operation::WriteZeroes)];
    options.into_iter().find(|(_, operation)| shares.does(*operation)).map(|(option, _)| option)
}

/// Content of writes; nothing is generated for a target without writes.
fn content_of(time_span: &TimeSpan, target: &model::profile::Target) -> Content {
    if target.shares().does(Operation::Write) { content::content(time_span, target) } else { Content::Ramp }
}
