//! `--fdatasync-every`, `--fsync-every`: a thread makes what it wrote durable, many writes at once.
//!
//! No operation of the thread is under way meanwhile: a flush covers only writes that have ended, and while the
//! thread is in the system call it could stamp no other completion.

use crate::recorder::Recorder;
use crate::row::Row;
use engine::Engine;
use model::plan::WorkerPlan;
use model::profile::FlushCall;
use std::io;
use std::os::fd::OwnedFd;

/// Writes that have ended.
#[derive(Clone, Copy, Debug, Default)]
struct Writes {
    count: u64,
    /// Sum of their latencies.
    latency_ns: u64,
}

/// When a thread flushes, and what.
#[derive(Debug)]
pub(crate) struct Flusher {
    after_writes: u64,
    call: FlushCall,
    /// Writes on the recorder when the latest flush began.
    flushed: Writes,
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
        Ok(Self { after_writes: after_writes.into(), call, flushed: Writes::default(), files })
    }

    /// True once so many writes have ended since the latest flush.
    pub(crate) fn is_due(&mut self, recorder: &Recorder) -> bool {
        let written = writes(recorder);
        // The measurement began, and the counters with it.
        if written.count < self.flushed.count {
            self.flushed = Writes::default();
        }
        written.count - self.flushed.count >= self.after_writes
    }

    /// Flushes; the latency of the write before it, if it was a single one. Fails with the target and the kernel's
    /// reason.
    pub(crate) fn flush<E: Engine>(
        &mut self,
        recorder: &Recorder,
        engine: &mut E,
    ) -> Result<Option<u64>, (usize, io::Error)> {
        let before = std::mem::replace(&mut self.flushed, writes(recorder));
        let is_single = self.flushed.count.checked_sub(before.count) == Some(1);
        let write_ns = self.flushed.latency_ns.checked_sub(before.latency_ns).filter(|_| is_single);
        let flush = |file: &OwnedFd| match self.call {
            FlushCall::Fdatasync => sys::file::flush(file),
            FlushCall::Fsync => sys::file::flush_all(file),
        };
        self.files.iter().try_for_each(|(index, file)| {
            engine.begin_flush(*index as u32);
            let flushed = flush(file);
            engine.end_flush(flushed.is_ok());
            flushed.map_err(|error| (*index, error))
        })?;
        Ok(write_ns)
    }
}

fn writes(recorder: &Recorder) -> Writes {
    let all = recorder.rows.iter().map(Row::changes);
    all.fold(Writes::default(), |sum, (count, latency_ns)| Writes {
        count: sum.count + count,
        latency_ns: sum.latency_ns.wrapping_add(latency_ns),
    })
}
