//! Readings of the kernel's counters from the start of a measurement to its end, on the control thread.

use crate::kernel_sampler::{KernelSample, KernelSampler};
use model::plan::{Intervals, TimeSpanPlan};
use model::record::{CounterReading, CpuTimes};

/// CPU times count ticks of 10 ms: shorter parts would tell no shares.
const CPU_STEP_NS_MIN: u64 = 1_000_000_000;

/// The readings of one measurement.
#[derive(Debug)]
pub(crate) struct CounterReadings {
    parts: Intervals,
    /// Those of storage, too.
    has_storage: bool,
    measure_ns: u64,
    /// When the next one is due; `u64::MAX` before the measurement and after it.
    due_ns: u64,
    /// The last times of each CPU, and what all of them spent since the start.
    cpus: Vec<CpuTimes>,
    spent: CpuTimes,
    readings: Vec<CounterReading>,
}

impl CounterReadings {
    /// Of a measurement that begins at `measure_ns`.
    pub(crate) fn new(plan: &TimeSpanPlan, measure_ns: u64, sampler: &KernelSampler<'_>) -> Self {
        let is_read = plan.measure_latency || plan.intervals.is_some();
        let counted = if is_read { sampler.storage_count() } else { 0 };
        Self {
            parts: Intervals::of_counters(plan.duration_ns, plan.intervals, counted),
            has_storage: counted > 0,
            measure_ns,
            due_ns: u64::MAX,
            cpus: Vec::new(),
            spent: CpuTimes::default(),
            readings: Vec::new(),
        }
    }

    pub(crate) const fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// The measurement begins with these counters.
    pub(crate) fn begin(&mut self, sample: &KernelSample, cpus: Option<&[CpuTimes]>, sampler: &KernelSampler<'_>) {
        self.add_sample(sample, cpus, sampler);
        self.plan_next(sample.at_ns);
    }

    /// Reads the counters if it is time.
    pub(crate) fn read_if_due(&mut self, now_ns: u64, sampler: &KernelSampler<'_>) {
        if now_ns < self.due_ns {
            return;
        }
        let at_ns = now_ns.saturating_sub(self.measure_ns);
        let storage = self.has_storage.then(|| sampler.storage(self.measure_ns));
        let mut reading = storage.unwrap_or(CounterReading { at_ns, ..CounterReading::default() });
        if (at_ns / self.parts.width_ns).is_multiple_of(CPU_STEP_NS_MIN.div_ceil(self.parts.width_ns)) {
            reading.cpus = host::cpu_times(sampler.root()).ok().map(|times| self.spent_until(&times));
        }
        self.readings.push(reading);
        self.plan_next(now_ns);
    }

    /// The measurement ends with these counters.
    pub(crate) fn end(&mut self, sample: &KernelSample, cpus: Option<&[CpuTimes]>, sampler: &KernelSampler<'_>) {
        self.add_sample(sample, cpus, sampler);
        self.due_ns = u64::MAX;
    }

    pub(crate) fn into_readings(self) -> Vec<CounterReading> {
        self.readings
    }

    fn add_sample(&mut self, sample: &KernelSample, cpus: Option<&[CpuTimes]>, sampler: &KernelSampler<'_>) {
        let at_ns = sample.at_ns.saturating_sub(self.measure_ns);
        let storage = self.has_storage.then(|| sampler.storage_in(sample, self.measure_ns));
        let reading = storage.unwrap_or(CounterReading { at_ns, ..CounterReading::default() });
        let cpus = cpus.map(|times| self.spent_until(times));
        self.readings.push(CounterReading { cpus, ..reading });
    }

    /// Times of all CPUs since the start. CPU by CPU: one that comes or goes takes no part.
    fn spent_until(&mut self, times: &[CpuTimes]) -> CpuTimes {
        for spent in CpuTimes::spent(&self.cpus, times) {
            self.spent.user += spent.user;
            self.spent.kernel += spent.kernel;
            self.spent.idle += spent.idle;
            self.spent.steal += spent.steal;
        }
        self.cpus = times.to_vec();
        self.spent
    }

    /// The next whole number of steps after the start. Those that were missed are not made up for.
    fn plan_next(&mut self, now_ns: u64) {
        let Intervals { width_ns, count } = self.parts;
        let next = now_ns.saturating_sub(self.measure_ns) / width_ns + 1;
        // The last is read with the other counters.
        self.due_ns =
            if next < count { self.measure_ns.saturating_add(next.saturating_mul(width_ns)) } else { u64::MAX };
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
        let (root, nothing) = (Root::machine(), BTreeMap::new());
        let plan = TimeSpanPlan { duration_ns: 3 * S, ..TimeSpanPlan::default() };
        let mut readings = CounterReadings::new(&plan, 10 * S, &KernelSampler::begin(&root, &nothing, false));
        let mut due = |now_ns| {
            readings.plan_next(now_ns);
            readings.due_ns()
        };
        assert_eq!([due(10 * S), due(10 * S + 1), due(11 * S)], [11 * S, 11 * S, 12 * S]);
        assert_eq!(due(11 * S + S / 2), 12 * S, "one that was late does not move the next");
        assert_eq!([due(12 * S), due(14 * S)], [u64::MAX; 2], "the last is read at the end");
    }

    /// /proc/self/mountstats of an NFS mount after `reads` reads.
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
        let mut readings = CounterReadings::new(&plan, sys::clock::monotonic_ns(), &sampler);
        fs::write(&file, mount_statistics(5)).expect("written");
        readings.begin(&sampler.sample(&plan), None, &sampler);
        fs::write(&file, mount_statistics(8)).expect("written");
        let due_ns = readings.due_ns();
        readings.read_if_due(due_ns - 1, &sampler);
        readings.read_if_due(due_ns, &sampler);
        fs::write(&file, mount_statistics(9)).expect("written");
        readings.end(&sampler.sample(&plan), None, &sampler);
        let readings = readings.into_readings();
        let reads: Vec<u64> =
            readings.iter().flat_map(|reading| &reading.shares).map(|share| share.read.count).collect();
        assert_eq!(reads, [5, 8, 9]);
        assert!(readings.is_sorted_by_key(|reading| reading.at_ns));
    }

    /// /proc/stat of a machine with these CPUs, after these ticks of programs and of idleness each.
    fn cpu_statistics(cpus: &[(u64, u64)]) -> String {
        let lines = cpus.iter().enumerate();
        let lines = lines.map(|(cpu, (user, idle))| format!("cpu{cpu} {user} 0 0 {idle} 0 0 0 0 0 0\n"));
        lines.collect::<Vec<_>>().concat()
    }

    #[test]
    fn cpus_are_read_once_per_second_whatever_the_intervals() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("proc")).expect("made");
        let (root, nothing) = (Root::recorded(folder.path()), BTreeMap::new());
        let sampler = KernelSampler::begin(&root, &nothing, false);
        let intervals = Some(Intervals { width_ns: S / 2, count: 8 });
        let plan = TimeSpanPlan { duration_ns: 4 * S, intervals, ..TimeSpanPlan::default() };
        let mut readings = CounterReadings::new(&plan, S, &sampler);
        let sample = |at_ns| KernelSample { at_ns, ..sampler.sample(&plan) };
        let times = |cpu, user, idle| CpuTimes { cpu, user, idle, ..CpuTimes::default() };
        readings.begin(&sample(S), Some(&[times(0, 100, 0), times(1, 0, 0)]), &sampler);
        // A CPU that goes offline takes nothing back.
        for (half_seconds, text) in [
            (1, String::new()),
            (2, cpu_statistics(&[(150, 50), (0, 100)])),
            (3, String::new()),
            (4, cpu_statistics(&[(250, 50)])),
        ] {
            fs::write(folder.path().join("proc/stat"), text).expect("written");
            readings.read_if_due(S + half_seconds * S / 2 + 1, &sampler);
        }
        readings.end(&sample(5 * S), Some(&[times(0, 253, 50)]), &sampler);
        let known = readings.into_readings().into_iter();
        let known = known.map(|reading| reading.cpus.map(|cpus| (cpus.user, cpus.idle)));
        let expected = [Some((0, 0)), None, Some((50, 150)), None, Some((150, 150)), Some((153, 150))];
        assert_eq!(known.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn without_latencies_and_intervals_no_storage_is_read() {
        let (root, nothing) = (Root::machine(), BTreeMap::new());
        let sampler = KernelSampler::begin(&root, &nothing, false);
        for measure_latency in [false, true] {
            let plan = TimeSpanPlan { duration_ns: S, measure_latency, ..TimeSpanPlan::default() };
            let mut readings = CounterReadings::new(&plan, 0, &sampler);
            readings.begin(&KernelSample { at_ns: 0, ..sampler.sample(&plan) }, None, &sampler);
            assert_eq!(readings.due_ns(), u64::MAX, "the only part ends with the measurement");
            assert_eq!(readings.into_readings(), [CounterReading::default()]);
        }
    }
}
