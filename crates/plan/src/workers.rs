//! Threads and what each does to each of its targets.

use crate::content;
use crate::engine_choice::{self, NoEngine, Thread};
use crate::files::Files;
use crate::findings::{Findings, RefusalKind};
use crate::near_device::NearDevice;
use crate::pace::{self, Share};
use crate::seeds;
use crate::target::Planned;
use model::limits::OUTSTANDING_MAX;
use model::plan::{Assignment, Content, Expected, MappedPlan, WorkerPlan, WorkerTarget};
use model::profile::TimeSpan;

/// Which targets each thread serves, and as which of the target's threads.
#[derive(Debug)]
pub(crate) struct Roster {
    /// By thread.
    pub(crate) seats: Vec<Vec<Seat>>,
    /// By target: relative numbers of its threads, ascending.
    pub(crate) threads_of: Vec<Vec<u32>>,
}

/// A target that a thread serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    target: usize,
    relative_thread: u32,
}

/// Hands out the targets. The number of threads has been checked.
pub(crate) fn roster(time_span: &TimeSpan) -> Roster {
    let mut seats: Vec<Vec<Seat>> = Vec::new();
    if time_span.thread_count > 0 {
        for thread in 0..time_span.thread_count {
            let serves = |target: &model::profile::Target| {
                target.thread_targets.is_empty() || target.thread_targets.iter().any(|listed| listed.thread == thread)
            };
            let own = (0..time_span.targets.len()).filter(|&target| serves(&time_span.targets[target]));
            seats.push(own.map(|target| Seat { target, relative_thread: thread }).collect());
        }
    } else {
        for (target, settings) in time_span.targets.iter().enumerate() {
            seats.extend((0..settings.threads).map(|relative_thread| vec![Seat { target, relative_thread }]));
        }
    }
    let mut threads_of = vec![Vec::new(); time_span.targets.len()];
    for seat in seats.iter().flatten() {
        threads_of[seat.target].push(seat.relative_thread);
    }
    Roster { seats, threads_of }
}

/// Plans every thread; `None` = something was refused.
pub(crate) fn plan(
    time_span: &TimeSpan,
    roster: &Roster,
    targets: &[Planned],
    cpus: Option<&[u32]>,
    files: &Files,
    findings: &mut Findings,
) -> Option<Vec<WorkerPlan>> {
    let mut near_device = cpus.filter(|_| time_span.near_device).map(|cpus| NearDevice::new(files.facts(), cpus));
    let rows = roster.seats.iter().map(Vec::len).sum::<usize>() as u32;
    let mut shares = (0..rows).map(|row| Share { row, rows });
    let mut workers = Vec::with_capacity(roster.seats.len());
    for (thread, seats) in roster.seats.iter().enumerate() {
        let thread = thread as u32;
        let shares: Vec<Share> = shares.by_ref().take(seats.len()).collect();
        let Some(slots) = slots(time_span, thread, seats, findings) else { continue };
        let own = || seats.iter().map(|seat| (&time_span.targets[seat.target], &targets[seat.target].plan));
        let wishes = Thread {
            time_span,
            slots,
            all_mapped: own().all(|(settings, _)| settings.memory_mapped),
            writes_through_to_device: own().any(|(settings, plan)| {
                settings.writes() && settings.write_through && matches!(plan.expect, Expected::Block { .. })
            }),
        };
        let engine = match engine_choice::choose(wishes, &files.facts().system.io_uring) {
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
        let targets = seats
            .iter()
            .zip(shares)
            .map(|(seat, share)| worker_target(time_span, thread, *seat, &targets[seat.target], share))
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
    (workers.len() == roster.seats.len()).then_some(workers)
}

/// Requests that a thread keeps outstanding.
fn slots(time_span: &TimeSpan, thread: u32, seats: &[Seat], findings: &mut Findings) -> Option<u32> {
    if seats.is_empty() {
        findings.refuse(
            RefusalKind::Invalid,
            format!("thread {thread} of -F{} has no target: no ThreadTarget names it", time_span.thread_count),
        );
        return None;
    }
    let slots = if time_span.is_pool_with_requests() {
        u64::from(time_span.request_count)
    } else {
        seats.iter().map(|seat| u64::from(time_span.targets[seat.target].outstanding)).sum()
    };
    match slots {
        0 => findings.refuse(RefusalKind::Invalid, format!("thread {thread} would keep no I/O outstanding (-o0)")),
        1.. if slots > u64::from(OUTSTANDING_MAX) => findings.refuse(
            RefusalKind::Invalid,
            format!(
                "a thread would keep {slots} I/Os outstanding over all its targets; the most is {OUTSTANDING_MAX} (lower \
                 -o, or give -O with -F)"
            ),
        ),
        _ => return Some(slots as u32),
    }
    None
}

fn worker_target(time_span: &TimeSpan, thread: u32, seat: Seat, planned: &Planned, share: Share) -> WorkerTarget {
    let target = &time_span.targets[seat.target];
    let listed = target.thread_targets.iter().find(|listed| listed.thread == thread);
    let weight = listed.map(|listed| listed.weight).filter(|&weight| weight > 0).unwrap_or(target.weight);
    let slots = if time_span.is_pool_with_requests() { time_span.request_count } else { target.outstanding };
    WorkerTarget {
        target: seat.target,
        relative_thread: seat.relative_thread,
        slots,
        weight,
        block_bytes: target.block_size.get(),
        pattern: planned.layout.pattern(seat.relative_thread),
        write_percent: target.write_percent,
        content: content_of(time_span, target),
        pace: pace::pace(time_span, target, share),
        mapped: target.memory_mapped.then_some(MappedPlan {
            non_temporal: target.write_through,
            flush: target.flush.filter(|_| !target.write_through),
        }),
        priority: target.io_priority,
        large_pages: target.large_pages,
        effective_distribution: planned.layout.effective_distribution.clone(),
    }
}

/// Nothing is made for writes that never happen.
fn content_of(time_span: &TimeSpan, target: &model::profile::Target) -> Content {
    if target.writes() { content::content(time_span, target) } else { Content::Ramp }
}
