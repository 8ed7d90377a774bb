//! Activity of the machine during a run: its CPUs, and the devices below the targets.

use host::Root;
use live::screen::run::MachineActivity;
use model::device_interval::DeviceReading;
use model::record::CpuTimes;
use std::collections::BTreeSet;

/// Samples the activity of the machine, and keeps the last sample.
pub(super) struct MachineWatch {
    machine: Root,
    /// By the kernel's names.
    devices: BTreeSet<String>,
    reading: Option<DeviceReading>,
    cpus: Vec<CpuTimes>,
}

impl MachineWatch {
    pub(super) fn begin(devices: BTreeSet<String>) -> Self {
        let machine = Root::machine();
        let (reading, cpus) = (host::device_reading(&machine), host::cpu_times(&machine).unwrap_or_default());
        Self { machine, devices, reading, cpus }
    }

    /// Activity since the last sample. Values that cannot be read are not shown.
    pub(super) fn sample(&mut self) -> MachineActivity {
        let (reading, cpus) = (host::device_reading(&self.machine), host::cpu_times(&self.machine).unwrap_or_default());
        let both = self.reading.as_ref().zip(reading.as_ref());
        let interval =
            both.and_then(|(before, now)| stats::device_rates::interval(before, now, 1, before.monotonic_ns));
        let rates = interval.map(|interval| interval.devices).unwrap_or_default();
        let usages = stats::usages(&CpuTimes::spent(&self.cpus, &cpus));
        (self.reading, self.cpus) = (reading, cpus);
        MachineActivity {
            devices: rates.into_iter().filter(|(name, _)| self.devices.contains(name)).collect(),
            cpus_busy_percent: usages.iter().map(|usage| usage.usage_percent).collect(),
        }
    }
}
