//! I/O of the threads on each target, and the part of it that they may access.

use super::{Area, EngineKind, TimeSpanPlan, WorkerPlan, WorkerTarget};
use crate::operation::Operation;
use std::ops::Range;

/// I/O of a timespan's threads on each target, sorted once: there may be thousands of both.
#[derive(Debug, Default)]
pub struct TargetWork<'a> {
    /// In the order of targets, then of threads.
    all: Vec<(&'a WorkerPlan, &'a WorkerTarget)>,
}

impl TimeSpanPlan {
    /// I/O of the threads, by target.
    pub fn target_work(&self) -> TargetWork<'_> {
        let works = self.workers.iter().flat_map(|worker| worker.targets.iter().map(move |work| (worker, work)));
        let mut all: Vec<_> = works.collect();
        all.sort_by_key(|(_, work)| work.target);
        TargetWork { all }
    }
}

impl<'a> TargetWork<'a> {
    /// The threads that use a target, each with its I/O on it.
    fn users(&self, target: usize) -> &[(&'a WorkerPlan, &'a WorkerTarget)] {
        let start = self.all.partition_point(|(_, work)| work.target < target);
        let length = self.all[start..].partition_point(|(_, work)| work.target == target);
        &self.all[start..start + length]
    }

    /// I/O of each thread on a target.
    pub fn workers_on(&self, target: usize) -> impl Iterator<Item = &'a WorkerTarget> {
        self.users(target).iter().map(|(_, work)| *work)
    }

    /// The part of a target that the threads may access, from the first byte to the last; `None` = no thread uses it.
    pub fn used_bytes(&self, target: usize) -> Option<Range<u64>> {
        self.workers_on(target).map(WorkerTarget::used_bytes).reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
    }

    /// True if any thread reads the target.
    pub fn reads(&self, target: usize) -> bool {
        self.workers_on(target).any(|work| work.does(Operation::Read))
    }

    /// The engine of the first thread that uses the target; `None` = no thread uses it.
    pub fn engine(&self, target: usize) -> Option<EngineKind> {
        self.users(target).first().map(|(worker, _)| worker.engine.kind)
    }

    /// True if I/O on the target is only counted, by the null engine.
    pub fn is_null(&self, target: usize) -> bool {
        self.users(target).iter().all(|(worker, _)| worker.engine.kind == EngineKind::Null)
    }
}

impl WorkerTarget {
    /// The part of its target that the thread may access.
    pub fn used_bytes(&self) -> Range<u64> {
        let Area { base_bytes, size_bytes, .. } = *self.pattern.area();
        base_bytes..base_bytes.saturating_add(size_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Assignment, EnginePlan};

    /// A thread that uses a part of a target.
    fn worker(target: usize, base_bytes: u64, size_bytes: u64, write_percent: u32, kind: EngineKind) -> WorkerPlan {
        let area = Area { base_bytes, size_bytes, alignment_bytes: 4096, positions: 1 };
        let work = WorkerTarget { target, write_percent, ..WorkerTarget::example(area) };
        WorkerPlan {
            thread: 0,
            cpu: None,
            engine: EnginePlan { kind, reason: "".into(), ring: None, completions_max: None },
            targets: vec![work],
            assignment: Assignment::Fixed,
            slots: 1,
            seed: 0,
            stream: 0,
            randomize_writes: false,
        }
    }

    #[test]
    fn what_threads_use_of_a_target_is_taken_together() {
        let workers = vec![
            worker(0, 8192, 4096, 100, EngineKind::Synchronous),
            worker(1, 0, 1 << 30, 0, EngineKind::Null),
            worker(0, 40_960, 8192, 30, EngineKind::Null),
        ];
        let plan = TimeSpanPlan { workers, ..TimeSpanPlan::default() };
        let work = plan.target_work();
        assert_eq!([0, 1, 2].map(|target| work.used_bytes(target)), [Some(8192..49_152), Some(0..1 << 30), None]);
        assert_eq!([0, 1, 2].map(|target| work.reads(target)), [true, true, false]);
        assert_eq!([0, 1].map(|target| work.is_null(target)), [false, true]);
        let engines = [0, 1, 2].map(|target| work.engine(target));
        assert_eq!(engines, [Some(EngineKind::Synchronous), Some(EngineKind::Null), None]);
    }
}
