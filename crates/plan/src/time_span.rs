//! One timespan: targets, threads, memory.

use crate::files::Files;
use crate::findings::{Findings, RefusalKind};
use crate::interrupts;
use crate::limits;
use crate::memory;
use crate::placement;
use crate::target;
use crate::verification;
use crate::workers;
use model::facts::Facts;
use model::note::Note;
use model::plan::{TimeSpanPlan, WorkerPlan};
use model::profile::{OfferedRate, Profile, TimeSpan};
use std::collections::BTreeSet;

const NS_PER_S: u64 = 1_000_000_000;

/// Plans a timespan; `None` = something was refused.
pub(crate) fn plan(
    profile: &Profile,
    time_span: &TimeSpan,
    files: &mut Files,
    findings: &mut Findings,
) -> Option<TimeSpanPlan> {
    let system = &files.facts().system;
    let cpus = placement::cpu_order(&time_span.affinity, &system.topology, findings)
        .map(|cpus| interrupts::first(cpus, time_span, files.facts()));
    let duration_ns = u64::from(time_span.duration_s) * NS_PER_S;
    let intervals = limits::intervals(time_span, duration_ns, findings);
    if time_span.request_count > 0 && time_span.thread_count == 0 {
        let reason = "it needs -F".to_owned();
        findings.note(Note::OptionWithoutEffect { option: "-O".to_owned(), reason });
    }
    if !limits::check(time_span, system, findings) {
        return None;
    }
    let assignments = workers::assignments(time_span);
    if assignments.by_thread.is_empty() {
        findings.refuse(RefusalKind::Invalid, "no target has a thread (-t0)");
        return None;
    }
    let (planned, shared_counters) = target::plan_all(time_span, &assignments.threads_of, files, findings)?;
    let workers = workers::plan(time_span, &assignments, &planned, cpus.as_deref(), files, findings)?;
    note_write_depth(time_span, &workers, findings);
    let targets: Vec<_> = planned.into_iter().map(|planned| planned.plan).collect();
    let measured = memory::Measured {
        duration_ns,
        intervals,
        latency: time_span.measure_latency,
        ramp: time_span.rate_iops.is_some_and(OfferedRate::is_ramp),
        flush_after_writes: time_span.flushes().map(|(writes, _)| writes),
        disks: disks(files.facts()),
    };
    let mut memory = memory::plan(&workers, &targets, &measured, system.page_size_bytes);
    let verification = time_span.verify.then(|| verification::plan(time_span, &workers, &targets, system, findings));
    let verification = match verification {
        Some(planned) => {
            let (planned, map_bytes) = planned?;
            memory.verification = map_bytes;
            Some(planned)
        }
        None => None,
    };
    memory::check(&memory, system, findings);
    Some(TimeSpanPlan {
        warm_up_ns: u64::from(time_span.warm_up_s) * NS_PER_S,
        duration_ns,
        cool_down_ns: u64::from(time_span.cool_down_s) * NS_PER_S,
        measure_latency: time_span.measure_latency,
        verification,
        cold: time_span.cold,
        end_after: time_span.end_after,
        flush_after_writes: time_span.flushes().map(|(writes, _)| writes),
        flush_call: time_span.flushes().map(|(_, call)| call).unwrap_or_default(),
        intervals,
        progress_ios: profile.progress_ios,
        targets,
        io_worker_affinity: cpus.as_ref().map(|cpus| placement::sorted(cpus)),
        effective_affinity: cpus
            .map(|cpus| placement::effective(workers.iter().filter_map(|worker| worker.cpu).take(cpus.len()))),
        workers,
        shared_counters,
        buffer_separation_bytes: memory::separation_bytes(time_span.buffer_separation, system),
        memory,
    })
}

/// Notes a flush interval below the number of outstanding requests: it lowers the depth of writes.
fn note_write_depth(time_span: &TimeSpan, workers: &[WorkerPlan], findings: &mut Findings) {
    let Some((writes, call)) = time_span.flushes() else { return };
    let depth = workers.iter().map(WorkerPlan::writing_slots).max().unwrap_or(0);
    if writes < depth {
        findings.note(Note::WriteDepthLimited { option: call.option().to_owned(), writes, depth });
    }
}

/// Number of disks of the targets.
fn disks(facts: &Facts) -> usize {
    facts.disks.values().flatten().map(|disk| disk.name.as_str()).collect::<BTreeSet<_>>().len()
}
