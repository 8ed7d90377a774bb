//! Why a task ends before it is done.

/// A task that did not do what it is for.
#[derive(Clone, Debug)]
pub enum Stop {
    /// Something that it needs cannot be had here.
    Skipped(String),
    /// Something went wrong, or a check failed.
    Failed(String),
}
