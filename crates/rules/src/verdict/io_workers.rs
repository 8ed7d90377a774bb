//! I/Os that did not take the short way through the kernel.

use super::{RuleContext, VerdictRule};
use crate::rule::Observation;
use model::finding::Severity;
use model::note::Note;

pub(super) const RULES: &[VerdictRule] = &[VerdictRule {
    name: "io-workers",
    severity: Severity::Warn,
    unit: "threads at a time",
    computed_from: "kernel threads of this process named iou-wrk, counted once a second. The value is the highest \
                    count",
    advice: "use --engine=sync with more threads: waking a kernel thread for each I/O costs more than a system call",
    evaluate: io_workers,
}];

pub(super) fn io_workers(context: &RuleContext<'_>) -> Vec<Observation> {
    context.noted(|note| match note {
        Note::IoWorkerThreads { threads } => Some(Observation::new(note.to_string(), *threads as f64)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::Built;

    #[test]
    fn kernel_threads_that_do_the_ios_are_warned_of() {
        let mut built = Built::sound();
        assert_eq!(built.found(RULES), [""; 0]);
        built.span_result().notes = vec![Note::IoWorkerThreads { threads: 2 }];
        assert_eq!(
            built.found(RULES),
            ["WARN io-workers: io_uring passed I/Os to 2 kernel worker threads, because submitting them to the \
                 target would have blocked"]
        );
    }
}
