//! `--trace`: each I/O of a run, from its thread to the one that writes it down.
//!
//! A thread puts what has completed into a ring of its own, without waiting; what finds no room is lost, and counted.

use hot::ring::Ring;
use hot::slots::Slot;
use model::operation::Operation;
use model::plan::{Plan, TimeSpanPlan, WorkerPlan};
use model::profile::FlushCall;
use std::path::PathBuf;
use std::sync::Arc;

/// Records of all rings together: 128 MiB.
const RECORDS_MAX: usize = 4 << 20;

/// Words of a record.
const RECORD_WORDS: usize = 4;

/// Records of a ring.
const RECORDS: std::ops::RangeInclusive<usize> = 1 << 10..=1 << 16;

/// An I/O that has completed, or a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedIo {
    /// Number of its thread.
    pub thread: u32,
    /// Index of its target in [`IoRings::targets`].
    pub target: u32,
    /// Its operation; `Err` = a flush.
    pub operation: Result<Operation, FlushCall>,
    /// Start, in nanoseconds of the monotonic clock.
    pub issue_ns: u64,
    /// From start to completion, in nanoseconds.
    pub latency_ns: u64,
    /// First byte; 0 of flushes.
    pub offset: u64,
    /// Bytes; 0 of flushes.
    pub length: u32,
}

/// The rings of all threads of a run.
#[derive(Debug)]
pub struct IoRings {
    /// By index of the worker in its timespan.
    rings: Box<[Ring<RECORD_WORDS>]>,
    /// Targets of all timespans, each once, with its size in bytes.
    targets: Vec<(PathBuf, u64)>,
}

impl IoRings {
    /// Rings for the threads of a plan.
    pub fn new(plan: &Plan) -> Self {
        let threads = plan.time_spans.iter().map(|span| span.workers.len()).max().unwrap_or(0);
        let records = (RECORDS_MAX / threads.max(1)).clamp(*RECORDS.start(), *RECORDS.end());
        let mut targets: Vec<(PathBuf, u64)> = Vec::new();
        for target in plan.time_spans.iter().flat_map(|span| &span.targets) {
            if !targets.iter().any(|(path, _)| *path == target.path) {
                targets.push((target.path.clone(), target.size_bytes));
            }
        }
        Self { rings: (0..threads).map(|_| Ring::new(records)).collect(), targets }
    }

    /// The targets with their sizes in bytes.
    pub fn targets(&self) -> &[(PathBuf, u64)] {
        &self.targets
    }

    /// Takes what was put in so far, by thread, in order of completion; one thread at a time may.
    pub fn take(&self, mut each: impl FnMut(TracedIo)) {
        for (thread, ring) in (0..).zip(&self.rings) {
            // No more than it holds, so that one thread does not keep the others waiting.
            let records = std::iter::from_fn(|| ring.take()).take(*RECORDS.end());
            records.for_each(|record| each(decode(thread, record)));
        }
    }

    /// I/Os that found no room so far.
    pub fn lost(&self) -> u64 {
        self.rings.iter().map(Ring::lost).sum()
    }
}

/// Codes of the flushes behind those of the operations.
const FDATASYNC: u64 = Operation::COUNT as u64;
const FSYNC: u64 = FDATASYNC + 1;

fn decode(thread: u32, [issue_ns, latency_ns, offset, rest]: [u64; RECORD_WORDS]) -> TracedIo {
    let operation = match rest >> 32 & 0xFF {
        FDATASYNC => Err(FlushCall::Fdatasync),
        FSYNC => Err(FlushCall::Fsync),
        code => Ok(Operation::ALL[code as usize % Operation::COUNT]),
    };
    TracedIo { thread, target: (rest >> 40) as u32, operation, issue_ns, latency_ns, offset, length: rest as u32 }
}

/// The end of a ring that a worker writes to.
#[derive(Clone, Debug)]
pub(crate) struct Tracer {
    rings: Arc<IoRings>,
    ring: usize,
    /// By target of the worker.
    targets: Box<[u32]>,
}

impl Tracer {
    /// That of the worker with this index in a timespan.
    pub(crate) fn new(rings: &Arc<IoRings>, span: &TimeSpanPlan, index: usize) -> Self {
        let place = |worker: &WorkerPlan| -> Box<[u32]> {
            let paths = worker.targets.iter().map(|target| &span.targets[target.target].path);
            let known = |path: &PathBuf| rings.targets.iter().position(|(other, _)| other == path);
            paths.map(|path| known(path).unwrap_or(0) as u32).collect()
        };
        Self { rings: Arc::clone(rings), ring: index, targets: place(&span.workers[index]) }
    }

    fn push(&self, work: u32, code: u64, (issue_ns, ended_ns): (u64, u64), offset: u64, length: u32) {
        let target = u64::from(self.targets[work as usize]);
        let rest = target << 40 | code << 32 | u64::from(length);
        self.rings.rings[self.ring].push([issue_ns, ended_ns.saturating_sub(issue_ns), offset, rest]);
    }

    /// An operation was under way from `times.0` to `times.1`.
    #[inline]
    pub(crate) fn io(&self, slot: &Slot, length: u32, times: (u64, u64)) {
        self.push(slot.work, slot.operation.index() as u64, times, slot.offset, length);
    }

    /// A flush of the worker's target with this index was.
    pub(crate) fn flush(&self, work: usize, call: FlushCall, times: (u64, u64)) {
        let code = if call == FlushCall::Fsync { FSYNC } else { FDATASYNC };
        self.push(work as u32, code, times, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let rings = Arc::new(IoRings {
            rings: (0..2).map(|_| Ring::new(8)).collect(),
            targets: vec![("a".into(), 1), ("b".into(), 2)],
        });
        let tracer = Tracer { rings: Arc::clone(&rings), ring: 1, targets: [1].into() };
        for operation in Operation::ALL {
            let slot = Slot { operation, offset: 1 << 50, ..Slot::default() };
            tracer.io(&slot, u32::MAX >> 1, (5, 12));
        }
        tracer.flush(0, FlushCall::Fsync, (20, 30));
        tracer.flush(0, FlushCall::Fdatasync, (30, 31));
        let mut taken = Vec::new();
        rings.take(|io| taken.push(io));
        let io = |operation| TracedIo {
            thread: 1,
            target: 1,
            operation: Ok(operation),
            issue_ns: 5,
            latency_ns: 7,
            offset: 1 << 50,
            length: u32::MAX >> 1,
        };
        let flush = |call, issue_ns, latency_ns| TracedIo {
            operation: Err(call),
            issue_ns,
            latency_ns,
            offset: 0,
            length: 0,
            ..io(Operation::Read)
        };
        let flushes = [flush(FlushCall::Fsync, 20, 10), flush(FlushCall::Fdatasync, 30, 1)];
        assert_eq!(taken, [Operation::ALL.map(io).as_slice(), &flushes].concat());
    }
}
