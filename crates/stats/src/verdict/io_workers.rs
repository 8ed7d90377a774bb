//! I/Os that did not take the short way through the kernel.

use super::{Rule, RuleContext};
use model::note::Note;
use model::verdict::{Finding, Severity};

pub(super) const IO_WORKERS: Rule = Rule {
    name: "io-workers",
    severity: Severity::Warn,
    advice: "use --engine=sync with more threads: waking a kernel thread for each I/O costs more than a system call",
};

pub(super) fn evaluate(context: &RuleContext<'_>) -> Vec<Finding> {
    let workers = |note: &Note| match note {
        Note::IoWorkerThreads { threads } => Some(IO_WORKERS.finding(note.to_string(), *threads as f64)),
        _ => None,
    };
    context.notes().filter_map(workers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::Built;

    #[test]
    fn kernel_threads_that_do_the_ios_are_warned_of() {
        let mut built = Built::sound();
        assert_eq!(built.found(evaluate), [""; 0]);
        built.span_result().notes = vec![Note::IoWorkerThreads { threads: 2 }];
        assert_eq!(
            built.found(evaluate),
            ["WARN io-workers: io_uring passed I/Os to 2 kernel worker threads, because submitting them to the \
                 target would have blocked"]
        );
    }
}
