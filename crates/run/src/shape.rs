//! Properties of a load that are known before its loop begins, so that the loop does not test them at each I/O.

use model::plan::WorkerPlan;

/// Properties of a load that its loop relies on.
pub(crate) trait Shape {
    /// One target in a closed loop without further limits: the common case.
    const IS_FIXED: bool;
    /// That, one request, and I/Os of one size.
    const IS_SINGLE: bool;
}

/// One target in a closed loop without limits, whose requests are all prepared.
pub(crate) struct Fixed;
/// The same with one request and one size.
pub(crate) struct Single;
/// Any load.
pub(crate) struct General;

impl Shape for Fixed {
    const IS_FIXED: bool = true;
    const IS_SINGLE: bool = false;
}

impl Shape for Single {
    const IS_FIXED: bool = true;
    const IS_SINGLE: bool = true;
}

impl Shape for General {
    const IS_FIXED: bool = false;
    const IS_SINGLE: bool = false;
}

/// How a worker submits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Submission {
    /// Everything that may start, then one system call that waits for one completion.
    EachTurn,
    /// `-u`.
    Batched(Batched),
}

/// The state of batched submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batched {
    /// Operations per submission.
    pub(crate) size: u32,
    /// `-L` or `-D`.
    pub(crate) latency_run: bool,
    /// Built and not submitted.
    pub(crate) queued: u32,
}

impl Submission {
    pub(crate) fn new(plan: &WorkerPlan, latency_run: bool) -> Self {
        match plan.engine.ring.and_then(|ring| ring.batch) {
            Some(size) => Self::Batched(Batched { size, latency_run, queued: 0 }),
            None => Self::EachTurn,
        }
    }
}
