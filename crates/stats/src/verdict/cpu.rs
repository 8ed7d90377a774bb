//! CPU time that the run did not get.

use super::{Rule, RuleContext, rule};
use model::note::Note;
use model::plan::{EngineKind, Pace, WorkerPlan};
use model::verdict::{Finding, Severity};

pub(super) const STEAL: Rule = Rule {
    name: "steal",
    severity: Severity::Warn,
    advice: "measure on a host, or at a time, where other virtual machines do not compete for the CPUs",
};

pub(super) const CPU_LIMITED: Rule = Rule {
    name: "cpu-limited",
    severity: Severity::Warn,
    advice: "raise or remove the CPU limit (cpu.max) of the cgroup or container",
};

pub(super) const CPU_BOUND: Rule = Rule {
    name: "cpu-bound",
    severity: Severity::Warn,
    advice: "use more threads (-t), larger blocks or more CPUs: the CPUs, not the target, limit the rate",
};

/// Share of its time that a thread may compute before it is taken for one that never waits.
const BUSY: f64 = 0.95;

/// Share of its time from which on a thread's own work may be what empties a queue.
const HALF_BUSY: f64 = 0.5;

pub(super) fn evaluate(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = steal(context);
    findings.extend(cpu_limited(context));
    findings.extend(cpu_bound(context));
    findings
}

/// Time that a cgroup's CPUs had to wait for their next period.
fn cpu_limited(context: &RuleContext<'_>) -> Option<Finding> {
    let around = context.span_result.kernel_counters.as_ref()?;
    let limit = around.after.since(&around.before).cpu_limit?;
    let waited_s = limit.throttled_us as f64 / 1e6;
    let figure = format!(
        "the cgroup's CPUs were throttled for {waited_s:.1} s of {:.1} s, {} times",
        context.elapsed_s(),
        limit.throttled_count
    );
    (waited_s > super::WORTH_A_WARNING * context.elapsed_s()).then(|| CPU_LIMITED.finding(figure, waited_s))
}

/// How the threads used the CPUs.
pub(super) struct Computing {
    /// Share of their time in which they computed, or would have if they had had a CPU.
    pub(super) share: f64,
    /// Share of their CPU time that was spent in this program's own code.
    own_share: f64,
}

/// `None` if it is not known, or is no work.
pub(super) fn computing(context: &RuleContext<'_>) -> Option<Computing> {
    let around = context.span_result.kernel_counters.as_ref()?;
    let spent = around.after.since(&around.before).process?;
    let (cpu_s, own_s) = (spent.cpu_time_ms? as f64 / 1e3, spent.user_time_ms.unwrap_or(0) as f64 / 1e3);
    let workers = &context.plan?.workers;
    // Polling and pacing compute while they wait, and the null engine is meant to.
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
        Note::CpuAwaited { percent_hundredths } => Some(f64::from(*percent_hundredths) / 10_000.0),
        _ => None,
    });
    Some(Computing {
        share: (cpu_s / time_s + awaited.unwrap_or(0.0)).min(1.0),
        own_share: (own_s / cpu_s.max(f64::MIN_POSITIVE)).min(1.0),
    })
}

/// Threads that computed all the time, where nothing but their I/O makes them.
fn cpu_bound(context: &RuleContext<'_>) -> Option<Finding> {
    let Computing { share, own_share } = computing(context)?;
    let figure = format!(
        "the threads used or waited for a CPU for {} of the time; {} of the CPU time was this program's own code",
        rule::percent(share),
        rule::percent(own_share)
    );
    (share > BUSY).then(|| CPU_BOUND.finding(figure, share * 100.0))
}

/// True if a hypervisor or a limit took CPU time from the threads.
pub(super) fn was_taken(context: &RuleContext<'_>) -> bool {
    !steal(context).is_empty() || cpu_limited(context).is_some()
}

/// True if the threads had too little CPU time, or used so much that they cannot have kept a device
/// busy all the time.
pub(super) fn was_scarce(context: &RuleContext<'_>) -> bool {
    !evaluate(context).is_empty() || computing(context).is_some_and(|computing| computing.share > HALF_BUSY)
}

fn steal(context: &RuleContext<'_>) -> Vec<Finding> {
    let steal = |note: &Note| match note {
        Note::CpuStolen { percent_hundredths } => {
            let share = f64::from(*percent_hundredths) / 10_000.0;
            let figure = format!("steal time was {} of all CPU time", rule::percent(share));
            (share > super::WORTH_A_WARNING).then(|| STEAL.finding(figure, share * 100.0))
        }
        _ => None,
    };
    context.notes().filter_map(steal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::Built;
    use model::kernel_counters::{CpuLimitCounters, ProcessCounters};
    use model::plan::RingPlan;

    // Shows verdict: steal
    #[test]
    fn steal_counts_above_two_percent() {
        let mut built = Built::sound();
        assert_eq!(built.found(evaluate), [""; 0]);
        built.span_result().notes = vec![Note::CpuStolen { percent_hundredths: 200 }];
        assert_eq!(built.found(evaluate), [""; 0]);
        built.span_result().notes = vec![Note::CpuStolen { percent_hundredths: 531 }];
        assert_eq!(built.found(evaluate), ["WARN steal: steal time was 5.3 % of all CPU time"]);
    }

    #[test]
    fn a_limit_that_held_the_cpus_back_is_warned_of() {
        let mut built = Built::sound();
        let mut limited = |throttled_us: u64| {
            let around = built.span_result().kernel_counters.get_or_insert_default();
            around.before.cpu_limit = Some(CpuLimitCounters { throttled_count: 10, throttled_us: 1_000_000 });
            around.after.cpu_limit =
                Some(CpuLimitCounters { throttled_count: 50, throttled_us: 1_000_000 + throttled_us });
            built.found(evaluate)
        };
        assert_eq!(limited(0), [""; 0]);
        assert_eq!(limited(2_000_000), [""; 0]);
        assert_eq!(
            limited(12_500_000),
            ["WARN cpu-limited: the cgroup's CPUs were throttled for 12.5 s of 100.0 s, 40 times"]
        );
    }

    /// One thread that computed for so long in 100 s.
    fn computed(cpu_time_ms: u64) -> Built {
        let mut built = Built::sound();
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
        assert_eq!(computed(90_000).found(evaluate), [""; 0]);
        assert_eq!(
            computed(98_000).found(evaluate),
            [
                "WARN cpu-bound: the threads used or waited for a CPU for 98.0 % of the time; 25.0 % of the CPU time was \
              this program's own code"
            ]
        );
        let mut crowded = computed(48_000);
        assert_eq!(crowded.found(evaluate), [""; 0]);
        crowded.span_result().notes = vec![Note::CpuAwaited { percent_hundredths: 4900 }];
        assert!(crowded.found(evaluate)[0].contains("for 97.0 % of the time"));
    }

    #[test]
    fn polling_and_pacing_are_no_work() {
        let mut polling = computed(99_000);
        polling.plan().workers[0].engine.ring = Some(RingPlan { completion_polling: true, ..RingPlan::default() });
        assert_eq!(polling.found(evaluate), [""; 0]);
        let mut null = computed(99_000);
        null.plan().workers[0].engine.kind = EngineKind::Null;
        assert_eq!(null.found(evaluate), [""; 0]);
        let mut paced = computed(99_000);
        paced.work().pace = Pace::Burst { ios: 1, pause_ns: 1 };
        assert_eq!(paced.found(evaluate), [""; 0]);
    }
}
