//! The kernel's counters at both ends of a measurement, those of storage in between, and its log.

use host::{HealthWatch, Root};
use model::environment::{MountedFileSystem, TargetEnvironment, device_names, queue_device_names};
use model::kernel_counters::{KernelCounters, KernelCountersAround};
use model::kernel_log::KernelMessage;
use model::note::Note;
use model::operation::Operation;
use model::placement::DevicePlace;
use model::plan::TimeSpanPlan;
use model::record::CounterReading;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Reads what the kernel counts and logs during a run.
#[derive(Debug)]
pub(crate) struct KernelSampler<'a> {
    root: &'a Root,
    environments: &'a BTreeMap<PathBuf, TargetEnvironment>,
    /// Reads the counters of kernel events, too (`-e`).
    counts_events: bool,
    /// The devices that the targets stand on, and those below, by the kernel's names.
    devices: BTreeSet<String>,
    /// Those of them that requests wait at.
    queues: BTreeSet<String>,
    /// The shares that targets are on.
    shares: Vec<&'a MountedFileSystem>,
    health: HealthWatch<'a>,
}

/// The counters at one end of a measurement.
#[derive(Clone, Debug)]
pub(crate) struct KernelSample {
    /// When they were read, in nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) at_ns: u64,
    pub(crate) counters: KernelCounters,
}

impl<'a> KernelSampler<'a> {
    /// Watches from now on the devices that the targets stand on.
    pub(crate) fn begin(
        root: &'a Root,
        environments: &'a BTreeMap<PathBuf, TargetEnvironment>,
        counts_events: bool,
    ) -> Self {
        let devices = device_names(environments);
        let names = devices.iter().map(String::as_str);
        let health = HealthWatch::begin(root, names, sys::clock::monotonic_ns());
        let queues = queue_device_names(environments);
        Self { root, environments, counts_events, devices, queues, shares: shares(environments), health }
    }

    pub(crate) fn root(&self) -> &'a Root {
        self.root
    }

    /// The counters now.
    pub(crate) fn sample(&self, plan: &TimeSpanPlan) -> KernelSample {
        let at_ns = sys::clock::monotonic_ns();
        let root = self.root;
        // First what may be compared with the I/Os of just this time.
        let io = host::io_counters(root, self.devices.iter().map(String::as_str));
        let counters = KernelCounters {
            shares: host::share_counters(root, &self.shares),
            machine: self.counts_events.then(|| host::machine_counters(root)),
            other_cpu: host::other_cpu_time(root),
            others: host::other_bytes(root, &self.devices),
            dirty_of_targets: host::dirty_parts(self.written_through_cache(plan)),
            cpus: host::cpu_counters(
                root,
                plan.workers.iter().filter_map(|worker| worker.cpu).collect::<BTreeSet<_>>(),
            ),
            ..io
        };
        KernelSample { at_ns, counters }
    }

    /// How many devices and shares have counters of their own.
    pub(crate) fn storage_count(&self) -> usize {
        self.queues.len() + self.shares.len()
    }

    /// The counters of storage now.
    pub(crate) fn storage(&self, since_ns: u64) -> CounterReading {
        let at_ns = sys::clock::monotonic_ns().saturating_sub(since_ns);
        let devices = host::device_counters(self.root, self.queues.iter().map(String::as_str));
        CounterReading { at_ns, cpus: None, devices, shares: host::share_counters(self.root, &self.shares) }
    }

    /// Those that a sample has.
    pub(crate) fn storage_in(&self, sample: &KernelSample, since_ns: u64) -> CounterReading {
        let KernelCounters { devices, shares, .. } = &sample.counters;
        let devices = devices.iter().filter(|(name, _)| self.queues.contains(*name));
        CounterReading {
            at_ns: sample.at_ns.saturating_sub(since_ns),
            cpus: None,
            devices: devices.map(|(name, counters)| (name.clone(), *counters)).collect(),
            shares: shares.clone(),
        }
    }

    /// Reads the log. The more often, the better is known when a message came.
    pub(crate) fn read_log(&mut self) {
        self.health.read_messages(sys::clock::monotonic_ns());
    }

    /// Where pieces of a target lie on the devices below it.
    pub(crate) fn places(&self, path: &Path, pieces: &[Range<u64>]) -> Vec<Vec<DevicePlace>> {
        let environment = self.environments.get(path);
        environment.map(|found| host::device_places(self.root, path, found, pieces)).unwrap_or_default()
    }

    /// Messages that were logged, and notes on faults of the devices.
    pub(crate) fn finish(mut self) -> (Vec<KernelMessage>, Vec<Note>) {
        self.read_log();
        let notes = self.health.notes();
        (self.health.into_messages(), notes)
    }

    /// The targets of the timespan on devices that are written to and leave it to the kernel when, and the
    /// parts of them that are used. None if they are many: each is opened.
    fn written_through_cache<'p>(&self, plan: &'p TimeSpanPlan) -> BTreeMap<&'p Path, Range<u64>> {
        const TARGETS_MAX: usize = 100;
        let mut parts: BTreeMap<&Path, Range<u64>> = BTreeMap::new();
        if plan.targets.len() > TARGETS_MAX {
            return parts;
        }
        for work in plan.workers.iter().flat_map(|worker| &worker.targets).filter(|work| work.does(Operation::Write)) {
            let Some(target) = plan.targets.get(work.target) else { continue };
            let on_disk = self.environments.get(&target.path).is_some_and(|below| !below.devices().is_empty());
            if target.open.is_written_back() && on_disk {
                let used = work.used_bytes();
                let part = parts.entry(&target.path).or_insert_with(|| used.clone());
                *part = part.start.min(used.start)..part.end.max(used.end);
            }
        }
        parts
    }
}

/// The mounts below targets whose transfers the kernel counts, each once.
fn shares(environments: &BTreeMap<PathBuf, TargetEnvironment>) -> Vec<&MountedFileSystem> {
    let mounts = environments.values().filter_map(|environment| environment.mount.as_ref());
    let mut shares: Vec<&MountedFileSystem> = mounts.filter(|mount| host::counts_transfers(mount)).collect();
    shares.sort_by(|a, b| a.point.cmp(&b.point));
    shares.dedup_by(|a, b| a.point == b.point);
    shares
}

/// Counters at the two ends of a measurement, and the time of its start; `None` if it did not begin.
pub(crate) fn around(ends: Option<[KernelSample; 2]>) -> Option<(u64, KernelCountersAround)> {
    let [before, after] = ends?;
    Some((before.at_ns, KernelCountersAround { before: before.counters, after: after.counters }))
}
