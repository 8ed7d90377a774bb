//! Readings of the storage counters from the start of a measurement to its end, on the control thread.

use crate::kernel_sampler::{KernelSample, KernelSampler};
use model::plan::{Intervals, TimeSpanPlan};
use model::record::StorageReading;

/// The readings of one measurement.
#[derive(Debug)]
pub(crate) struct StorageReadings {
    /// `None` if there are none to make.
    parts: Option<Intervals>,
    measure_ns: u64,
    /// When the next one is due; `u64::MAX` before the measurement and after it.
    due_ns: u64,
    readings: Vec<StorageReading>,
}

impl StorageReadings {
    /// Of a measurement that begins at `measure_ns`.
    pub(crate) fn new(plan: &TimeSpanPlan, measure_ns: u64, sampler: &KernelSampler<'_>) -> Self {
        let counted = sampler.storage_count();
        let parts = Intervals::of_storage(plan.duration_ns, plan.intervals, plan.measure_latency, counted);
        Self { parts, measure_ns, due_ns: u64::MAX, readings: Vec::new() }
    }

    pub(crate) const fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// The measurement begins with these counters.
    pub(crate) fn begin(&mut self, sample: &KernelSample, sampler: &KernelSampler<'_>) {
        if self.parts.is_some() {
            self.readings.push(sampler.storage_in(sample, self.measure_ns));
            self.plan_next(sample.at_ns);
        }
    }

    /// Reads the counters if it is time.
    pub(crate) fn look(&mut self, now_ns: u64, sampler: &KernelSampler<'_>) {
        if now_ns >= self.due_ns {
            self.readings.push(sampler.storage(self.measure_ns));
            self.plan_next(now_ns);
        }
    }

    /// The measurement ends with these counters.
    pub(crate) fn end(&mut self, sample: &KernelSample, sampler: &KernelSampler<'_>) {
        if self.parts.is_some() {
            self.readings.push(sampler.storage_in(sample, self.measure_ns));
            self.due_ns = u64::MAX;
        }
    }

    pub(crate) fn into_readings(self) -> Vec<StorageReading> {
        self.readings
    }

    /// The next whole number of steps after the start. Those that were missed are not made up for.
    fn plan_next(&mut self, now_ns: u64) {
        let Some(parts) = self.parts else { return };
        let next = now_ns.saturating_sub(self.measure_ns) / parts.width_ns + 1;
        // The last is read with the other counters.
        let is_inside = next < parts.count;
        self.due_ns =
            if is_inside { self.measure_ns.saturating_add(next.saturating_mul(parts.width_ns)) } else { u64::MAX };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::Root;
    use model::environment::{MountedFileSystem, TargetEnvironment};
    use std::collections::BTreeMap;
    use std::fs;

    const S: u64 = 1_000_000_000;

    #[test]
    fn readings_are_due_at_whole_steps_inside_the_measurement() {
        let parts = Some(Intervals { width_ns: S, count: 3 });
        let mut readings =
            StorageReadings { parts, measure_ns: 10 * S, due_ns: u64::MAX, readings: vec![StorageReading::default()] };
        let mut due = |now_ns| {
            readings.plan_next(now_ns);
            readings.due_ns()
        };
        assert_eq!([due(10 * S), due(10 * S + 1), due(11 * S)], [11 * S, 11 * S, 12 * S]);
        assert_eq!(due(11 * S + S / 2), 12 * S, "one that was late does not move the next");
        assert_eq!([due(12 * S), due(14 * S)], [u64::MAX; 2], "the last is read at the end");
    }

    /// /proc/self/mountstats of an NFS mount after so many reads.
    fn mount_statistics(reads: u64) -> String {
        format!(
            "device nas:/a mounted on /mnt with fstype nfs4 statvers=1.1\n\tper-op statistics\n\
             \t        READ: {reads} {reads} 0 88 4096 1 2 3 0\n\t       WRITE: 0 0 0 0 0 0 0 0 0\n"
        )
    }

    #[test]
    fn a_share_is_read_like_a_disk() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("proc/self/mountstats");
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        let root = Root::recorded(folder.path());
        let mount = MountedFileSystem {
            file_system: "nfs4".to_owned(),
            source: "nas:/a".to_owned(),
            point: "/mnt".into(),
            ..MountedFileSystem::default()
        };
        let on_share = TargetEnvironment { mount: Some(mount), ..TargetEnvironment::default() };
        let environments = BTreeMap::from([("/mnt/a".into(), on_share.clone()), ("/mnt/b".into(), on_share)]);
        let sampler = KernelSampler::begin(&root, &environments, false);
        assert_eq!(sampler.storage_count(), 1, "two targets on one share");
        let plan = TimeSpanPlan { duration_ns: 60 * S, measure_latency: true, ..TimeSpanPlan::default() };
        let mut readings = StorageReadings::new(&plan, sys::clock::monotonic_ns(), &sampler);
        fs::write(&file, mount_statistics(5)).expect("written");
        readings.begin(&sampler.sample(&plan), &sampler);
        fs::write(&file, mount_statistics(8)).expect("written");
        let due_ns = readings.due_ns();
        readings.look(due_ns - 1, &sampler);
        readings.look(due_ns, &sampler);
        fs::write(&file, mount_statistics(9)).expect("written");
        readings.end(&sampler.sample(&plan), &sampler);
        let readings = readings.into_readings();
        let reads: Vec<u64> =
            readings.iter().flat_map(|reading| &reading.shares).map(|share| share.read.count).collect();
        assert_eq!(reads, [5, 8, 9]);
        assert!(readings.is_sorted_by_key(|reading| reading.at_ns));
    }

    #[test]
    fn without_counters_nothing_is_read() {
        let (root, nothing) = (Root::machine(), BTreeMap::new());
        let sampler = KernelSampler::begin(&root, &nothing, false);
        let plan = TimeSpanPlan { duration_ns: 60 * S, measure_latency: true, ..TimeSpanPlan::default() };
        let mut readings = StorageReadings::new(&plan, 0, &sampler);
        let sample = sampler.sample(&plan);
        readings.begin(&sample, &sampler);
        readings.look(u64::MAX - 1, &sampler);
        readings.end(&sample, &sampler);
        assert_eq!(readings.into_readings(), []);
    }
}
