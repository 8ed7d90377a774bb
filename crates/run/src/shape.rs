//! What is known of a load before its loop begins, so that the loop does not ask for it at each I/O.

use model::plan::WorkerPlan;

/// What a loop may take for granted.
pub(crate) trait Shape {
    /// One target in a closed loop without further limits: the common case.
    const IS_PLAIN: bool;
    /// That, and one request.
    const IS_SINGLE: bool;
    /// Some targets have I/Os of several sizes.
    const HAS_SIZES: bool = false;
    /// The thread stops now and then: to flush after some writes, or to begin a full file anew.
    const PAUSES: bool = false;
    /// I/Os are those of a trace.
    const REPLAYS: bool = false;
}

/// Any load.
pub(crate) struct Any;
/// Any load with I/Os of several sizes.
pub(crate) struct AnySizes;
/// Any load whose thread stops now and then, with sizes or without.
pub(crate) struct Pausing;
/// The requests of a trace.
pub(crate) struct Recorded;
/// A plain one.
pub(crate) struct Plain;
/// A plain one but for I/Os of several sizes.
pub(crate) struct PlainSizes;
/// A plain one with one request.
pub(crate) struct Single;

impl Shape for Any {
    const IS_PLAIN: bool = false;
    const IS_SINGLE: bool = false;
}

impl Shape for AnySizes {
    const IS_PLAIN: bool = false;
    const IS_SINGLE: bool = false;
    const HAS_SIZES: bool = true;
}

impl Shape for Pausing {
    const IS_PLAIN: bool = false;
    const IS_SINGLE: bool = false;
    const HAS_SIZES: bool = true;
    const PAUSES: bool = true;
}

impl Shape for Recorded {
    const IS_PLAIN: bool = false;
    const IS_SINGLE: bool = false;
    const REPLAYS: bool = true;
}

impl Shape for Plain {
    const IS_PLAIN: bool = true;
    const IS_SINGLE: bool = false;
}

impl Shape for PlainSizes {
    const IS_PLAIN: bool = true;
    const IS_SINGLE: bool = false;
    const HAS_SIZES: bool = true;
}

impl Shape for Single {
    const IS_PLAIN: bool = true;
    const IS_SINGLE: bool = true;
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
