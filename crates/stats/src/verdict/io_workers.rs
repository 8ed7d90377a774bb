//! I/Os that did not take the short way through the kernel.

use super::{Case, Rule};
use model::note::Note;
use model::verdict::{Finding, Severity};

pub(super) const IO_WORKERS: Rule = Rule {
    name: "io-workers",
    severity: Severity::Warn,
    advice: "use --engine=sync with more threads: waking a kernel thread for an I/O costs more than a system call",
};

pub(super) fn look(case: &Case<'_>) -> Vec<Finding> {
    let workers = |note: &Note| match note {
        Note::IoWorkerThreads { threads } => Some(IO_WORKERS.finding(note.to_string(), *threads as f64)),
        _ => None,
    };
    case.notes().filter_map(workers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::Built;

    #[test]
    fn kernel_threads_that_do_the_ios_are_warned_of() {
        let mut built = Built::sound();
        assert_eq!(built.found(look), [""; 0]);
        built.happened().notes = vec![Note::IoWorkerThreads { threads: 2 }];
        assert_eq!(
            built.found(look),
            ["WARN io-workers: io_uring gave I/Os to 2 kernel threads of its own, because the target could not take \
              them without waiting"]
        );
    }
}
