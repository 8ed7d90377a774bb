//! I/Os that `io_uring` passed to kernel worker threads.

use super::{RuleContext, VerdictRule};
use crate::rule::{Observation, percent};
use model::finding::Severity;
use model::note::Note;

pub(super) const RULES: &[VerdictRule] = &[VerdictRule {
    name: "io-workers",
    severity: Severity::Warn,
    unit: "threads at a time",
    computed_from: "kernel threads of this process named iou-wrk, counted once a second. The value is the highest \
                    count. WARN if their CPU time (schedstat in /proc/self/task) is more than 2 % of the measured \
                    time multiplied by the number of outstanding I/Os (-o), or more than half of the measured time \
                    multiplied by the number of the run's threads; otherwise NOTE",
    advice: "use --engine=sync with more threads: waking a kernel thread for each I/O costs more than a system call",
    evaluate: io_workers,
}];

/// Share of the threads' time from which the kernel threads count as busy, however deep the queue is.
const BUSY: f64 = 0.5;

/// CPU time of these threads as a share of that of the run's threads; `None` if there are none.
pub(super) fn cpu_share(context: &RuleContext<'_>) -> Option<f64> {
    let cpu_time_ms = context.notes().find_map(|note| match note {
        Note::IoWorkerThreads { cpu_time_ms, .. } => *cpu_time_ms,
        _ => None,
    })?;
    Some(cpu_time_ms as f64 / 1e3 / (context.elapsed_s() * f64::from(context.measured.thread_count.max(1))))
}

pub(super) fn io_workers(context: &RuleContext<'_>) -> Vec<Observation> {
    context.noted(|note| {
        let Note::IoWorkerThreads { threads, cpu_time_ms } = note else { return None };
        let share = cpu_share(context);
        let outstanding = context.plan.into_iter().flat_map(|plan| &plan.workers).map(|worker| u64::from(worker.slots));
        let time_s = context.elapsed_s() * outstanding.sum::<u64>().max(1) as f64;
        let share_of_latency = cpu_time_ms.map(|cpu_time_ms| cpu_time_ms as f64 / 1e3 / time_s);
        let cost = share.map(|share| format!("; they used a CPU for {} of the threads' time", percent(share)));
        let observation = Observation::new(format!("{note}{}", cost.unwrap_or_default()), *threads as f64);
        let is_costly = share.is_some_and(|share| share > BUSY)
            || share_of_latency.is_some_and(|share| share > super::WORTH_A_WARNING);
        Some(if is_costly { observation } else { observation.with_severity(Severity::Note) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::CaseResult;

    #[test]
    fn kernel_threads_that_do_the_ios_are_warned_of_if_they_cost_much() {
        let mut built = CaseResult::sound();
        assert_eq!(built.found(RULES), [""; 0]);
        let mut found = |cpu_time_ms| {
            built.span_result().notes = vec![Note::IoWorkerThreads { threads: 2, cpu_time_ms }];
            built.found(RULES)
        };
        let figure = "io-workers: io_uring passed I/Os to 2 kernel worker threads, because submitting them to the \
                      target would have blocked";
        // One thread with eight requests, 100 s.
        let cost = |share| format!("{figure}; they used a CPU for {share} of the threads' time");
        assert_eq!(found(Some(35_000)), [format!("WARN {}", cost("35.0 %"))]);
        assert_eq!(found(Some(16_000)), [format!("NOTE {}", cost("16.0 %"))], "2 % of eight");
        assert_eq!(found(None), [format!("NOTE {figure}")]);
        // Each of a thousand requests waits long, but no more throughput is possible.
        built.plan().workers[0].slots = 1000;
        let mut found = |cpu_time_ms| {
            built.span_result().notes = vec![Note::IoWorkerThreads { threads: 2, cpu_time_ms }];
            built.found(RULES)
        };
        assert_eq!(found(Some(50_000)), [format!("NOTE {}", cost("50.0 %"))]);
        assert_eq!(found(Some(80_000)), [format!("WARN {}", cost("80.0 %"))]);
    }
}
