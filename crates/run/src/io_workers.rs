//! Kernel threads that do I/Os for this process, and the CPU time that they take.

use host::IoWorkerThread;
use model::affinity::{self, AffinityEntry};
use model::note::Note;
use std::collections::{BTreeMap, BTreeSet};

/// Those that were seen during a timespan. They end with the rings, or when they are idle, so they are looked for from
/// time to time.
#[derive(Debug, Default)]
pub(crate) struct IoWorkers {
    /// The most seen at a time.
    most: u64,
    /// When each was seen first and last during the measurement, its CPU time in nanoseconds.
    cpu_ns: BTreeMap<u32, [u64; 2]>,
    /// The CPU time of at least one is not known.
    is_unknown: bool,
    /// Those that were let run on the CPUs of the plan.
    spread: BTreeSet<u32>,
}

impl IoWorkers {
    /// The measurement begins, and these are there.
    pub(crate) fn begin_measurement(&mut self, found: &[IoWorkerThread]) {
        self.most = self.most.max(found.len() as u64);
        self.cpu_ns = found.iter().filter_map(|thread| Some((thread.id, [thread.cpu_ns?; 2]))).collect();
    }

    /// These are there now. What one that is new has used, it used since the last look.
    pub(crate) fn update(&mut self, found: &[IoWorkerThread]) {
        self.most = self.most.max(found.len() as u64);
        for IoWorkerThread { id, cpu_ns } in found {
            match cpu_ns {
                Some(cpu_ns) => self.cpu_ns.entry(*id).or_default()[1] = *cpu_ns,
                None => self.is_unknown = true,
            }
        }
    }

    /// Lets those that are new run on these CPUs. They inherit the one CPU of the thread that submits; from Linux 6.2 that
    /// limits what `IORING_REGISTER_IOWQ_AFF` asks for, and from 6.3 they can be moved.
    pub(crate) fn spread_over(&mut self, cpus: &[AffinityEntry], found: &[IoWorkerThread]) {
        for IoWorkerThread { id, .. } in found {
            if self.spread.insert(*id) {
                // One that has ended, or that an older kernel does not move, stays as it is.
                let _ = sys::thread::bind_to_cpus(*id, affinity::cpus(cpus));
            }
        }
    }

    /// The note on them; `None` if none was seen.
    pub(crate) fn note(&self) -> Option<Note> {
        let used_ns: u64 = self.cpu_ns.values().map(|[first, last]| last.saturating_sub(*first)).sum();
        let cpu_time_ms = (!self.is_unknown).then_some(used_ns / 1_000_000);
        (self.most > 0).then_some(Note::IoWorkerThreads { threads: self.most, cpu_time_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn threads(found: &[(u32, u64)]) -> Vec<IoWorkerThread> {
        found.iter().map(|(id, ms)| IoWorkerThread { id: *id, cpu_ns: Some(ms * MS) }).collect()
    }

    #[test]
    fn cpu_time_counts_from_the_beginning_of_the_measurement() {
        let mut workers = IoWorkers::default();
        assert_eq!(workers.note(), None);
        workers.update(&threads(&[(1, 300), (2, 5), (3, 5)]));
        workers.begin_measurement(&threads(&[(1, 400), (2, 5)]));
        workers.update(&threads(&[(1, 450), (7, 30)]));
        // One ended; what it used before stays.
        workers.update(&threads(&[(1, 500)]));
        assert_eq!(workers.note(), Some(Note::IoWorkerThreads { threads: 3, cpu_time_ms: Some(130) }));
    }

    #[test]
    fn cpu_time_that_is_not_counted_is_unknown() {
        let mut workers = IoWorkers::default();
        workers.update(&[IoWorkerThread { id: 1, cpu_ns: None }]);
        assert_eq!(workers.note(), Some(Note::IoWorkerThreads { threads: 1, cpu_time_ms: None }));
    }
}
