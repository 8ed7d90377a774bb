//! Which part of a target the threads may touch.

use super::{Area, EngineKind, Pattern, TimeSpanPlan, WorkerPlan, WorkerTarget};
use std::ops::Range;

impl TimeSpanPlan {
    /// What each thread does to a target.
    pub fn work(&self, target: usize) -> impl Iterator<Item = &WorkerTarget> {
        self.workers.iter().flat_map(|worker| &worker.targets).filter(move |work| work.target == target)
    }

    /// The part of a target that the threads may touch, from the first byte to the last; `None` = no
    /// thread uses it.
    pub fn used_bytes(&self, target: usize) -> Option<Range<u64>> {
        self.work(target).map(WorkerTarget::used_bytes).reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
    }

    /// True if any thread reads the target.
    pub fn reads(&self, target: usize) -> bool {
        self.work(target).any(|work| work.write_percent < 100)
    }

    /// True if I/O on the target is only counted, by the null engine.
    pub fn is_null(&self, target: usize) -> bool {
        let uses = |worker: &&WorkerPlan| worker.targets.iter().any(|work| work.target == target);
        self.workers.iter().filter(uses).all(|worker| worker.engine.kind == EngineKind::Null)
    }
}

impl WorkerTarget {
    /// The part of its target that the thread may touch.
    pub fn used_bytes(&self) -> Range<u64> {
        let (Pattern::Sequential { area, .. }
        | Pattern::Interlocked { area, .. }
        | Pattern::Parallel { area, .. }
        | Pattern::Random { area, .. }
        | Pattern::Mixed { area, .. }) = &self.pattern;
        let Area { base_bytes, size_bytes, .. } = *area;
        base_bytes..base_bytes.saturating_add(size_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Assignment, Content, EnginePlan, Pace};
    use crate::profile::IoPriority;

    /// A thread that uses a part of a target.
    fn worker(target: usize, base_bytes: u64, size_bytes: u64, write_percent: u32, kind: EngineKind) -> WorkerPlan {
        let area = Area { base_bytes, size_bytes, alignment_bytes: 4096, positions: 1 };
        let work = WorkerTarget {
            target,
            relative_thread: 0,
            slots: 1,
            weight: 1,
            block_bytes: 4096,
            pattern: Pattern::Sequential { area, start_bytes: 0 },
            write_percent,
            content: Content::Ramp,
            pace: Pace::Unlimited,
            mapped: None,
            priority: IoPriority::Normal,
            large_pages: false,
            effective_distribution: None,
        };
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
        assert_eq!([0, 1, 2].map(|target| plan.used_bytes(target)), [Some(8192..49_152), Some(0..1 << 30), None]);
        assert_eq!([0, 1, 2].map(|target| plan.reads(target)), [true, true, false]);
        assert_eq!([0, 1].map(|target| plan.is_null(target)), [false, true]);
    }
}
