//! CPU time that the run lacked.

use super::{RuleContext, VerdictRule};
use crate::rule::{Observation, percent};
use model::engine_kind::EngineKind;
use model::finding::Severity;
use model::note::Note;
use model::plan::{Pace, WorkerPlan};
use model::units::counted;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "steal",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "steal time in /proc/stat during the measurement, as a share of the time of the CPUs that the \
                        run used, if above 2 %. These are the CPUs that its threads are bound to or, with `-n`, all \
                        CPUs that it may use",
        advice: "measure on a host, or at a time, where other virtual machines do not compete for the CPUs",
        evaluate: steal,
    },
    VerdictRule {
        name: "cpu-limited",
        severity: Severity::Warn,
        unit: "seconds",
        computed_from: "time for which the CPU limits of this process's cgroups throttled it during the measurement \
                        (cpu.stat, summed over CPUs), if above 2 % of the measured time",
        advice: "raise or remove the CPU limit (cpu.max) of the cgroup or container",
        evaluate: |context| cpu_limited(context).into_iter().collect(),
    },
    VerdictRule {
        name: "cpu-bound",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "CPU time of the process (/proc/self/stat) plus the time for which its threads waited for a \
                        CPU, as a share of the measured time of its threads, if above 95 %. The finding also shows how \
                        much of the CPU time was spent in this program's own code, as opposed to the kernel: a faster \
                        program could save at most this part. Not reported with `--sqpoll`, `--iopoll`, `-g`, `-i`, \
                        `--rate` or the null engine",
        advice: "use more threads (-t), larger blocks or more CPUs: the CPUs, not the target, limit the rate",
        evaluate: |context| cpu_bound(context).into_iter().collect(),
    },
    VerdictRule {
        name: "busy-cpu",
        severity: Severity::Note,
        unit: "percent",
        computed_from: "usage of the busiest CPU (/proc/stat), if it is 95 % or more and the others are idle for \
                        half of the time or more. Not reported with `cpu-bound`, and not where threads poll or pace \
                        themselves: `--sqpoll`, `--iopoll`, `-g`, `-i`, `--rate` or the null engine",
        advice: "this CPU may limit the figures: spread threads and interrupts over more CPUs (-a; /proc/interrupts \
                 shows which CPU handles the device), or look which other program used it",
        evaluate: |context| busy_cpu(context).into_iter().collect(),
    },
];

/// Share of its time from which a computing thread counts as one that never waits.
const BUSY: f64 = 0.95;

/// Share of its time from which a thread's own work may be the reason for an empty queue.
const HALF_BUSY: f64 = 0.5;

/// Time that a cgroup was throttled.
fn cpu_limited(context: &RuleContext<'_>) -> Option<Observation> {
    let around = context.span_result.kernel_counters.as_ref()?;
    let limit = around.after.since(&around.before).cpu_limit?;
    let waited_s = limit.throttled_us as f64 / 1e6;
    let figure = format!(
        "the cgroup was throttled at its CPU limit {} in {:.1} s, for {waited_s:.1} s summed over CPUs",
        counted(limit.throttled_count, "time"),
        context.elapsed_s()
    );
    (waited_s > super::WORTH_A_WARNING * context.elapsed_s()).then(|| Observation::new(figure, waited_s))
}

/// CPU use of the threads.
pub(super) struct ThreadCpuUse {
    /// Share of their time that they computed, or would have with a free CPU.
    pub(super) share: f64,
    /// Share of their CPU time that was spent in this program's own code.
    own_share: f64,
}

/// `None` if unknown, or if CPU use is not work.
pub(super) fn computing(context: &RuleContext<'_>) -> Option<ThreadCpuUse> {
    let around = context.span_result.kernel_counters.as_ref()?;
    let spent = around.after.since(&around.before).process?;
    let (cpu_s, own_s) = (spent.cpu_time_ms? as f64 / 1e3, spent.user_time_ms.unwrap_or(0) as f64 / 1e3);
    let workers = &context.plan?.workers;
    // Polling and pacing compute while they wait, and the null engine does by design.
    let waits = |worker: &WorkerPlan| {
        let ring = worker.engine.ring.unwrap_or_default();
        let polls = ring.submission_polling || ring.completion_polling || worker.engine.kind == EngineKind::Null;
        !polls && worker.targets.iter().all(|work| work.pace == Pace::Unlimited)
    };
    if workers.is_empty() || !workers.iter().all(waits) {
        return None;
    }
    let time_s = context.elapsed_s() * workers.len() as f64;
    // A thread that waits for a CPU would compute if it had one.
    let awaited = context.notes().find_map(|note| match note {
        Note::CpuAwaited { percent_hundredths, .. } => Some(f64::from(*percent_hundredths) / 10_000.0),
        _ => None,
    });
    Some(ThreadCpuUse {
        share: (cpu_s / time_s + awaited.unwrap_or(0.0)).min(1.0),
        own_share: (own_s / cpu_s.max(f64::MIN_POSITIVE)).min(1.0),
    })
}

/// Threads that computed all the time, only because of their I/O.
fn cpu_bound(context: &RuleContext<'_>) -> Option<Observation> {
    let ThreadCpuUse { share, own_share } = computing(context)?;
    let figure = format!(
        "the threads used or waited for a CPU for {} of the time; {} of the CPU time was this program's own code",
        percent(share),
        percent(own_share)
    );
    (share > BUSY).then(|| Observation::new(figure, share * 100.0))
}

/// A saturated CPU beside idle ones, which the average hides.
fn busy_cpu(context: &RuleContext<'_>) -> Option<Observation> {
    let ThreadCpuUse { share, .. } = computing(context)?;
    let cpus = &context.measured.cpus;
    let busiest = cpus.iter().max_by(|one, other| one.usage_percent.total_cmp(&other.usage_percent))?;
    let others = cpus.len().checked_sub(1).filter(|others| *others > 0)? as f64;
    let usage: f64 = cpus.iter().map(|cpu| cpu.usage_percent).sum();
    let of_others = (usage - busiest.usage_percent) / others / 100.0;
    let figure = format!(
        "CPU {} was busy for {} of the time, the others for {}",
        busiest.cpu,
        percent(busiest.usage_percent / 100.0),
        percent(of_others)
    );
    let is_alone = busiest.usage_percent / 100.0 >= BUSY && of_others <= HALF_BUSY && share <= BUSY;
    is_alone.then(|| Observation::new(figure, busiest.usage_percent))
}

/// True if a hypervisor or a limit took CPU time from the threads.
pub(super) fn was_taken(context: &RuleContext<'_>) -> bool {
    !steal(context).is_empty() || cpu_limited(context).is_some()
}

/// True if the threads had too little CPU time, or used so much that they cannot have kept a device busy all the time.
pub(super) fn was_scarce(context: &RuleContext<'_>) -> bool {
    was_taken(context)
        || cpu_bound(context).is_some()
        || computing(context).is_some_and(|computing| computing.share > HALF_BUSY)
}

fn steal(context: &RuleContext<'_>) -> Vec<Observation> {
    context.noted(|note| {
        let Note::CpuStolen { percent_hundredths } = note else { return None };
        let share = f64::from(*percent_hundredths) / 10_000.0;
        let figure = format!("steal time was {} of the time of the CPUs that the run used", percent(share));
        (share > super::WORTH_A_WARNING).then(|| Observation::new(figure, share * 100.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::CaseResult;
    use model::kernel_counters::{CpuLimitCounters, ProcessCounters};
    use model::plan::RingPlan;
    use model::result::CpuUsage;

    // Shows verdict: steal
    #[test]
    fn steal_counts_above_two_percent() {
        let mut built = CaseResult::sound();
        assert_eq!(built.found(RULES), [""; 0]);
        built.span_result().notes = vec![Note::CpuStolen { percent_hundredths: 200 }];
        assert_eq!(built.found(RULES), [""; 0]);
        built.span_result().notes = vec![Note::CpuStolen { percent_hundredths: 531 }];
        assert_eq!(built.found(RULES), ["WARN steal: steal time was 5.3 % of the time of the CPUs that the run used"]);
    }

    #[test]
    fn a_limit_that_held_the_cpus_back_is_warned_of() {
        let mut built = CaseResult::sound();
        let mut limited = |throttled_us: u64| {
            let around = built.span_result().kernel_counters.get_or_insert_default();
            around.before.cpu_limit = Some(CpuLimitCounters { throttled_count: 10, throttled_us: 1_000_000 });
            around.after.cpu_limit =
                Some(CpuLimitCounters { throttled_count: 50, throttled_us: 1_000_000 + throttled_us });
            built.found(RULES)
        };
        assert_eq!(limited(0), [""; 0]);
        assert_eq!(limited(2_000_000), [""; 0]);
        assert_eq!(
            limited(12_500_000),
            ["WARN cpu-limited: the cgroup was throttled at its CPU limit 40 times in 100.0 s, for 12.5 s summed \
              over CPUs"]
        );
    }

    /// One thread with this CPU time in 100 s.
    fn computed(cpu_time_ms: u64) -> CaseResult {
        let mut built = CaseResult::sound();
        let around = built.span_result().kernel_counters.get_or_insert_default();
        let process = |ms| {
            let user_time_ms = Some(ms / 4);
            Some(ProcessCounters { cpu_time_ms: Some(ms), user_time_ms, ..ProcessCounters::default() })
        };
        (around.before.process, around.after.process) = (process(500), process(500 + cpu_time_ms));
        built
    }

    #[test]
    fn threads_that_never_wait_are_bound_by_the_cpu() {
        assert_eq!(computed(90_000).found(RULES), [""; 0]);
        assert_eq!(
            computed(98_000).found(RULES),
            ["WARN cpu-bound: the threads used or waited for a CPU for 98.0 % of the time; 25.0 % of the CPU time \
                 was this program's own code"]
        );
        let mut crowded = computed(48_000);
        assert_eq!(crowded.found(RULES), [""; 0]);
        crowded.span_result().notes = vec![Note::CpuAwaited { percent_hundredths: 4900, turn_ns: None }];
        assert!(crowded.found(RULES)[0].contains("for 97.0 % of the time"));
    }

    // Shows verdict: busy-cpu
    #[test]
    fn a_busy_cpu_beside_idle_ones_is_named() {
        let found = |cpu_time_ms: u64, usages: &[f64]| {
            let mut built = computed(cpu_time_ms);
            let cpu = |(cpu, &usage_percent): (u32, &f64)| CpuUsage { cpu, usage_percent, ..CpuUsage::default() };
            built.measured().cpus = (0..).zip(usages).map(cpu).collect();
            built.found(RULES)
        };
        let expected = "NOTE busy-cpu: CPU 2 was busy for 98.5 % of the time, the others for 10.0 %";
        assert_eq!(found(60_000, &[10.0, 5.0, 98.5, 15.0]), [expected]);
        assert_eq!(found(60_000, &[94.0, 5.0]), [""; 0]);
        assert_eq!(found(60_000, &[99.0, 60.0]), [""; 0], "the average shows it");
        assert_eq!(found(60_000, &[99.0]), [""; 0]);
        let bound = found(98_000, &[99.0, 1.0]);
        assert!(bound.len() == 1 && bound[0].starts_with("WARN cpu-bound: "), "{bound:?}");
    }

    #[test]
    fn polling_and_pacing_are_no_work() {
        let mut polling = computed(99_000);
        polling.plan().workers[0].engine.ring = Some(RingPlan { completion_polling: true, ..RingPlan::default() });
        assert_eq!(polling.found(RULES), [""; 0]);
        let mut null = computed(99_000);
        null.plan().workers[0].engine.kind = EngineKind::Null;
        assert_eq!(null.found(RULES), [""; 0]);
        let mut paced = computed(99_000);
        paced.work().pace = Pace::Burst { ios: 1, pause_ns: 1 };
        assert_eq!(paced.found(RULES), [""; 0]);
    }
}
