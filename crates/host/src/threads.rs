//! Threads of this process, as the kernel sees them.

use crate::root::Root;

/// What the kernel calls its own threads that do `io_uring` I/Os where these would have to wait
/// (`create_io_worker` in `io_uring/io-wq.c`); they end after five idle seconds.
const IO_WORKER: &str = "iou-wrk-";

/// How many threads of the kernel do I/Os for this process now; 0 where /proc does not tell.
pub fn io_worker_threads(root: &Root) -> u64 {
    const TASKS: &str = "/proc/self/task";
    let names = root.names(TASKS).into_iter().filter_map(|task| root.text(format!("{TASKS}/{task}/comm")));
    names.filter(|name| name.starts_with(IO_WORKER)).count() as u64
}

/// Nanoseconds that the calling thread waited for a CPU since it was started; `None` where the kernel
/// does not count them.
pub fn cpu_wait_ns(root: &Root) -> Option<u64> {
    parse(&root.text("/proc/thread-self/schedstat")?)
}

/// Nanoseconds on a CPU, nanoseconds waiting for one, and number of turns
/// (Documentation/scheduler/sched-stats.rst).
fn parse(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(parse("583604 1889037 3\n"), Some(1_889_037));
        assert_eq!(parse("583604\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn threads_of_the_kernel_have_names_of_their_own() {
        let directory = tempfile::tempdir().expect("a folder");
        for (task, name) in [("1", "diskspd\n"), ("7", "iou-wrk-1\n"), ("8", "iou-wrk-1\n"), ("9", "worker 0\n")] {
            let task = directory.path().join("proc/self/task").join(task);
            std::fs::create_dir_all(&task).expect("a new folder");
            std::fs::write(task.join("comm"), name).expect("a new file");
        }
        assert_eq!(io_worker_threads(&Root::recorded(directory.path())), 2);
        assert_eq!(io_worker_threads(&Root::recorded("/nonexistent")), 0);
    }
}
