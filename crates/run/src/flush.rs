//! `--fdatasync-every`, `--fsync-every`: a thread makes what it wrote durable, many writes at once.
//!
//! No operation of the thread is under way meanwhile: a flush covers only writes that have ended, and while the
//! thread is in the system call it could stamp no other completion.

use crate::recorder::Recorder;
use crate::row::Row;
use engine::Engine;
use hot::slots::Slot;
use model::limits::{UNCOMMITTED_BYTES, uncommitted_max};
use model::operation::Operation;
use model::plan::WorkerPlan;
use model::profile::FlushCall;
use std::io;
use std::os::fd::OwnedFd;

/// A write that has ended and is not durable yet.
#[derive(Clone, Copy, Debug)]
struct Uncommitted {
    started_ns: u64,
    /// When it should have started; says something in an open loop only.
    intended_ns: u64,
    /// Index of its target among those of the thread.
    work: u32,
    operation: Operation,
}

// Memory is planned by this size.
const _: () = assert!(size_of::<Uncommitted>() as u64 == UNCOMMITTED_BYTES);

/// When a thread flushes, and what.
#[derive(Debug)]
pub(crate) struct Flusher {
    after_writes: u64,
    call: FlushCall,
    /// Writes on the recorder when the latest flush began.
    flushed: u64,
    /// Those that have ended since then; never longer than its capacity. Without capacity none are kept.
    uncommitted: Vec<Uncommitted>,
    /// What the thread writes to: index of the target among its own, and the open target.
    files: Vec<(usize, OwnedFd)>,
}

impl Flusher {
    /// Flushes after so many writes of a worker whose targets are open as `files`.
    ///
    /// # Errors
    ///
    /// The kernel's reason to give no second descriptor.
    pub(crate) fn new(after_writes: u32, call: FlushCall, plan: &WorkerPlan, files: &[OwnedFd]) -> io::Result<Self> {
        let written =
            plan.targets.iter().zip(files).enumerate().filter(|(_, (target, _))| target.shares().changes_data());
        let files = written.map(|(index, (_, file))| Ok((index, file.try_clone()?))).collect::<io::Result<_>>()?;
        let uncommitted = Vec::with_capacity(uncommitted_max(after_writes, plan.slots) as usize);
        Ok(Self { after_writes: after_writes.into(), call, flushed: 0, uncommitted, files })
    }

    /// True once so many writes have ended since the latest flush.
    pub(crate) fn is_due(&mut self, recorder: &Recorder) -> bool {
        let written = writes(recorder);
        // The measurement began, and the counters with it.
        if written < self.flushed {
            self.flushed = 0;
        }
        written - self.flushed >= self.after_writes
    }

    /// Keeps a write that has ended, begun at `started_ns`, until it is durable. False if none are kept.
    #[inline]
    pub(crate) fn keep(&mut self, slot: &Slot, started_ns: u64) -> bool {
        let has_room = self.uncommitted.len() < self.uncommitted.capacity();
        if has_room {
            let Slot { intended_ns, work, operation, .. } = *slot;
            self.uncommitted.push(Uncommitted { started_ns, intended_ns, work, operation });
        }
        has_room
    }

    /// The writes before a flush that ended at `ended_ns` are durable; they are counted if they belong to the
    /// measurement.
    pub(crate) fn commit(&mut self, ended_ns: u64, is_measured: bool, recorder: &Recorder) {
        let writes = self.uncommitted.drain(..).filter(|_| is_measured);
        for Uncommitted { started_ns, intended_ns, work, operation } in writes {
            if let Some(flushes) = &recorder.flushes {
                flushes.commit(ended_ns.saturating_sub(started_ns));
            }
            recorder.respond(&recorder.rows[work as usize], operation, ended_ns.saturating_sub(intended_ns));
        }
    }

    /// Flushes. Fails with the target and the kernel's reason.
    pub(crate) fn flush<E: Engine>(&mut self, recorder: &Recorder, engine: &mut E) -> Result<(), (usize, io::Error)> {
        self.flushed = writes(recorder);
        let flush = |file: &OwnedFd| match self.call {
            FlushCall::Fdatasync => sys::file::flush(file),
            FlushCall::Fsync => sys::file::flush_all(file),
        };
        self.files.iter().try_for_each(|(index, file)| {
            engine.begin_flush(*index as u32);
            let flushed = flush(file);
            engine.end_flush(flushed.is_ok());
            flushed.map_err(|error| (*index, error))
        })
    }
}

/// Writes that have ended.
fn writes(recorder: &Recorder) -> u64 {
    recorder.rows.iter().map(Row::changes).sum()
}
