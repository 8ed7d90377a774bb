//! The kernel's own threads that do this process's `io_uring` I/Os where they would have to wait.

use std::fs;

/// What the kernel calls them (`create_io_worker` in `io_uring/io-wq.c`); they end after five idle
/// seconds.
const NAME: &str = "iou-wrk-";

/// How many this process has now; 0 where /proc does not tell.
pub(crate) fn count() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with(NAME)).count() as u64
}
