//! What is known of a load before its loop begins, so that the loop does not ask for it at each I/O.

use crate::submission::Submission;
use crate::work::Assigner;
use crate::worker::Worker;

/// What a loop may take for granted.
pub(crate) trait Shape {
    /// One target in a closed loop without further limits: the common case.
    const IS_PLAIN: bool;
    /// That, and one request.
    const IS_SINGLE: bool;
}

/// Any load.
pub(crate) struct Any;
/// A plain one.
pub(crate) struct Plain;
/// A plain one with one request.
pub(crate) struct Single;

impl Shape for Any {
    const IS_PLAIN: bool = false;
    const IS_SINGLE: bool = false;
}

impl Shape for Plain {
    const IS_PLAIN: bool = true;
    const IS_SINGLE: bool = false;
}

impl Shape for Single {
    const IS_PLAIN: bool = true;
    const IS_SINGLE: bool = true;
}

impl<E, C> Worker<E, C> {
    /// True if it may run as [`Plain`].
    pub(crate) fn is_plain(&self) -> bool {
        matches!(&*self.work, [work] if work.is_all_prepared() && !work.pacer.is_limited())
            && matches!(self.assigner, Assigner::Fixed { .. })
            && self.submission == Submission::EachTurn
            && self.allowance.is_none()
            && self.flusher.is_none()
            && !self.stamps_starts
    }

    /// True if it may run as [`Single`].
    pub(crate) fn is_single(&self) -> bool {
        self.is_plain() && self.slots.len() == 1
    }
}
