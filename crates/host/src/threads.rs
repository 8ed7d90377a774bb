//! Threads of this process, from /proc.

use crate::root::Root;

/// The kernel's name for its own threads that execute `io_uring` I/Os that would block (`create_io_worker` in
/// `io_uring/io-wq.c`); they end after five idle seconds.
const IO_WORKER: &str = "iou-wrk-";

/// A kernel thread that does I/Os for this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoWorkerThread {
    /// Its thread ID.
    pub id: u32,
    /// Nanoseconds that it was on a CPU; `None` where the kernel does not count them.
    pub cpu_ns: Option<u64>,
}

/// The kernel threads that do I/Os for this process now; none where /proc does not show them.
pub fn io_worker_threads(root: &Root) -> Vec<IoWorkerThread> {
    const TASKS: &str = "/proc/self/task";
    let worker = |task: String| {
        let is_worker = root.text(format!("{TASKS}/{task}/comm"))?.starts_with(IO_WORKER);
        let cpu_ns = || root.text(format!("{TASKS}/{task}/schedstat")).and_then(|text| number(&text, 0));
        is_worker.then(|| Some(IoWorkerThread { id: task.parse().ok()?, cpu_ns: cpu_ns() }))?
    };
    root.names(TASKS).into_iter().filter_map(worker).collect()
}

/// Nanoseconds that the calling thread has waited for a CPU since its start, and the number of time slices; `None`
/// where the kernel does not count them.
pub fn cpu_wait(root: &Root) -> Option<(u64, u64)> {
    let text = root.text("/proc/thread-self/schedstat")?;
    number(&text, 1).zip(number(&text, 2))
}

/// Nanoseconds on a CPU, nanoseconds waiting for one, and number of time slices
/// (Documentation/scheduler/sched-stats.rst).
fn number(text: &str, at: usize) -> Option<u64> {
    text.split_ascii_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(number("583604 1889037 3\n", 1), Some(1_889_037));
        assert_eq!(number("583604\n", 1), None);
        assert_eq!(number("", 1), None);
    }

    #[test]
    fn threads_of_the_kernel_have_names_of_their_own() {
        let directory = tempfile::tempdir().expect("a folder");
        for (task, name) in [("1", "diskspd\n"), ("7", "iou-wrk-1\n"), ("8", "iou-wrk-1\n"), ("9", "worker 0\n")] {
            let task = directory.path().join("proc/self/task").join(task);
            std::fs::create_dir_all(&task).expect("a new folder");
            std::fs::write(task.join("comm"), name).expect("a new file");
        }
        std::fs::write(directory.path().join("proc/self/task/8/schedstat"), "583604 1889037 3\n").expect("a new file");
        let mut found = io_worker_threads(&Root::recorded(directory.path()));
        found.sort_by_key(|thread| thread.id);
        let thread = |id, cpu_ns| IoWorkerThread { id, cpu_ns };
        assert_eq!(found, [thread(7, None), thread(8, Some(583_604))]);
        assert_eq!(io_worker_threads(&Root::recorded("/nonexistent")), []);
    }
}
