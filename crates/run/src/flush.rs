//! `--fdatasync-every`, `--fsync-every`: a thread flushes after each group of N writes.
//!
//! Once N writes were issued, further writes wait until these have ended and the flush came back. Reads go on until the
//! last write of the group has ended. During the flush nothing of the thread is in flight: while it is in the system
//! call it could stamp no completion.

use crate::io_trace::Tracer;
use crate::recorder::Recorder;
use engine::{Engine, SlotId};
use hot::clock::Clock;
use hot::slots::Slot;
use model::limits::{UNCOMMITTED_BYTES, uncommitted_max};
use model::operation::Operation;
use model::plan::WorkerPlan;
use model::profile::FlushCall;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

/// A write that has ended and is not durable yet.
#[derive(Clone, Copy, Debug)]
struct UncommittedWrite {
    started_ns: u64,
    /// When it should have started; says something in an open loop only.
    intended_ns: u64,
    /// Index of its target among those of the thread.
    work: u32,
    operation: Operation,
}

// Memory is planned by this size.
const _: () = assert!(size_of::<UncommittedWrite>() as u64 == UNCOMMITTED_BYTES);

/// The group of writes of a thread that its next flush covers.
#[derive(Debug)]
pub(crate) struct Flusher {
    /// Writes of a group.
    after_writes: u64,
    call: FlushCall,
    /// Writes of the group that were issued.
    issued: u64,
    /// Those of them that ended.
    ended: u64,
    /// Requests whose write waits for the next group, the first one first.
    held: VecDeque<SlotId>,
    /// Writes of the group that ended; never longer than its capacity. Without capacity none are kept.
    uncommitted: Vec<UncommittedWrite>,
    /// Targets that the thread writes to: index among its own, and the open target.
    files: Vec<(usize, OwnedFd)>,
}

impl Flusher {
    /// Flushes after each N writes of a worker whose targets are open as `files`.
    ///
    /// # Errors
    ///
    /// The kernel's reason to give no second descriptor.
    pub(crate) fn new(after_writes: u32, call: FlushCall, plan: &WorkerPlan, files: &[OwnedFd]) -> io::Result<Self> {
        let written =
            plan.targets.iter().zip(files).enumerate().filter(|(_, (target, _))| target.shares().changes_data());
        let files = written.map(|(index, (_, file))| Ok((index, file.try_clone()?))).collect::<io::Result<_>>()?;
        let uncommitted = Vec::with_capacity(uncommitted_max(after_writes, plan.slots) as usize);
        let held = VecDeque::with_capacity(plan.slots as usize);
        Ok(Self { after_writes: after_writes.into(), call, issued: 0, ended: 0, held, uncommitted, files })
    }

    /// True if the write that was drawn for a request belongs to the group and may be issued; otherwise it is kept for
    /// the next one.
    pub(crate) fn admits(&mut self, slot: SlotId) -> bool {
        let has_room = self.issued < self.after_writes;
        if has_room {
            self.issued += 1;
        } else {
            self.held.push_back(slot);
        }
        has_room
    }

    /// A request whose write waited and now belongs to the group.
    pub(crate) fn next_held(&mut self) -> Option<SlotId> {
        if self.issued == self.after_writes {
            return None;
        }
        let slot = self.held.pop_front()?;
        self.issued += 1;
        Some(slot)
    }

    /// True if writes wait for the next group.
    pub(crate) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// True once all writes of the group have ended.
    pub(crate) fn is_due(&self) -> bool {
        self.ended == self.after_writes
    }

    /// A write of the group ended, begun at `started_ns`. One that `counts` is kept until it is durable; false if it is
    /// not kept.
    #[inline]
    pub(crate) fn finish(&mut self, slot: &Slot, started_ns: u64, counts: bool) -> bool {
        self.ended += 1;
        let is_kept = counts && self.uncommitted.len() < self.uncommitted.capacity();
        if is_kept {
            let Slot { intended_ns, work, operation, .. } = *slot;
            self.uncommitted.push(UncommittedWrite { started_ns, intended_ns, work, operation });
        }
        is_kept
    }

    /// The writes before a flush that ended at `ended_ns` are durable; they are counted if they belong to the
    /// measurement.
    pub(crate) fn commit(&mut self, ended_ns: u64, is_measured: bool, recorder: &Recorder) {
        let writes = self.uncommitted.drain(..).filter(|_| is_measured);
        for UncommittedWrite { started_ns, intended_ns, work, operation } in writes {
            if let Some(flushes) = &recorder.flushes {
                flushes.commit(ended_ns.saturating_sub(started_ns));
            }
            recorder.respond(&recorder.rows[work as usize], operation, ended_ns.saturating_sub(intended_ns));
        }
    }

    /// Flushes, and begins the next group. Gives the number of writes that the flush covers; fails with the target and
    /// the kernel's reason.
    pub(crate) fn flush<E: Engine, C: Clock>(
        &mut self,
        engine: &mut E,
        clock: &C,
        tracer: Option<&Tracer>,
    ) -> Result<u64, (usize, io::Error)> {
        let flush = |file: &OwnedFd| match self.call {
            FlushCall::Fdatasync => sys::file::flush(file),
            FlushCall::Fsync => sys::file::flush_all(file),
        };
        self.files.iter().try_for_each(|(index, file)| {
            engine.begin_flush(*index as u32);
            let begun_ns = tracer.map_or(0, |_| clock.now_ns());
            let flushed = flush(file);
            engine.end_flush(flushed.is_ok());
            if let Some(tracer) = tracer.filter(|_| flushed.is_ok()) {
                tracer.flush(*index, self.call, (begun_ns, clock.now_ns()));
            }
            flushed.map_err(|error| (*index, error))
        })?;
        self.issued = 0;
        Ok(std::mem::take(&mut self.ended))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::null::NullEngine;
    use model::plan::Assignment;

    /// No file is flushed.
    struct NoClock;

    impl Clock for NoClock {
        fn now_ns(&self) -> u64 {
            0
        }
    }

    #[test]
    fn writes_beyond_a_group_wait_for_the_next_in_the_order_of_their_drawing() {
        let plan = crate::worker_tests::plan_of(Vec::new(), Assignment::Fixed, 8).workers.remove(0);
        let mut flusher = Flusher::new(2, FlushCall::Fdatasync, &plan, &[]).expect("no files");
        assert_eq!([5, 3, 7, 1, 0].map(|slot| flusher.admits(slot)), [true, true, false, false, false]);
        assert_eq!((flusher.next_held(), flusher.is_due()), (None, false), "the group is full");
        assert!(flusher.finish(&Slot::default(), 10, true) && !flusher.is_due());
        assert!(!flusher.finish(&Slot::default(), 20, false), "not counted");
        assert!(flusher.is_due() && flusher.has_held());
        assert_eq!(flusher.flush(&mut NullEngine::new(1, Vec::new()), &NoClock, None).ok(), Some(2));
        assert_eq!([(); 3].map(|()| flusher.next_held()), [Some(7), Some(1), None]);
        assert!(!flusher.admits(2) && flusher.has_held() && !flusher.is_due());
    }
}
