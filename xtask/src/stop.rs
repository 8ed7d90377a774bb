//! Reasons for the early end of a task.

/// A task that did not complete.
#[derive(Clone, Debug)]
pub enum Stop {
    /// A prerequisite is not available here.
    Skipped(String),
    /// An error occurred, or a check failed.
    Failed(String),
}
