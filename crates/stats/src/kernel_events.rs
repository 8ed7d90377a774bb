//! Kernel events counted over a measurement (`-e`): classes of events, and I/O at each level.

use crate::rate::Volume;
use model::block_device::BlockDevice;
use model::environment::TargetEnvironment;
use model::kernel_counters::{DeviceCounters, KernelCounters, KernelCountersAround, RequestCounters};
use model::kernel_events::{
    EventClass, EventCount, EventKind, IoLevel, IoStack, KernelEvent, KernelEvents, LevelFigures,
};
use model::machine_counters::MachineCounters;
use model::plan::TimeSpanPlan;
use model::profile::Tracing;
use model::record::{DirectionRecord, RowRecord, TimeSpanRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The data that the events of a timespan are computed from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventSources<'a> {
    /// The requested classes of events.
    pub(crate) tracing: Tracing,
    /// The plan of the timespan.
    pub(crate) plan: &'a TimeSpanPlan,
    /// The raw record of the timespan.
    pub(crate) record: &'a TimeSpanRecord,
    /// The kernel's counters at both ends of the measurement.
    pub(crate) around: &'a KernelCountersAround,
    /// The devices below each target.
    pub(crate) environments: &'a BTreeMap<PathBuf, TargetEnvironment>,
}

/// The requested events; those that the kernel does not report are left out.
pub(crate) fn kernel_events(sources: &EventSources<'_>) -> KernelEvents {
    let counted = sources.around.after.since(&sources.around.before);
    let stacks = if sources.tracing.disk_io { stacks(sources, &counted) } else { Vec::new() };
    let machine = counted.machine.unwrap_or_default();
    let class = |class| {
        let (source, counters) = match class {
            EventKind::DiskIo => {
                ("/sys/block/*/stat of the devices that the targets are on", disk_io(sources, &counted))
            }
            EventKind::MemoryPageFaults => ("/proc/vmstat and /proc/self/stat", page_faults(&machine)),
            EventKind::MemoryHardFaults => ("/proc/vmstat and /proc/self/stat", hard_faults(&machine)),
            EventKind::Network => ("/proc/net/snmp and /proc/net/snmp6 of this network namespace", network(&machine)),
            EventKind::Process | EventKind::Thread => {
                ("/proc/stat and /proc/loadavg, which count processes and threads together", tasks(&machine))
            }
        };
        (is_wanted(class, sources.tracing) && !counters.is_empty()).then(|| EventClass {
            class,
            source: source.to_owned(),
            counters: counters.into_iter().map(|(event, count)| EventCount { event, count }).collect(),
        })
    };
    KernelEvents { classes: EventKind::ALL.into_iter().filter_map(class).collect(), stacks }
}

const fn is_wanted(class: EventKind, tracing: Tracing) -> bool {
    match class {
        EventKind::DiskIo => tracing.disk_io,
        EventKind::MemoryPageFaults => tracing.memory_page_faults,
        EventKind::MemoryHardFaults => tracing.memory_hard_faults && !tracing.memory_page_faults,
        EventKind::Network => tracing.network,
        EventKind::Process => tracing.process,
        EventKind::Thread => tracing.thread,
    }
}

type Counts = Vec<(KernelEvent, u64)>;

/// Sums over the devices that targets are on, each once.
fn disk_io(sources: &EventSources<'_>, counted: &KernelCounters) -> Counts {
    let devices = sources.environments.values().flat_map(TargetEnvironment::devices);
    let names: BTreeSet<&str> = devices.map(|device| device.name.as_str()).collect();
    let known: Vec<_> = names.into_iter().filter_map(|name| counted.devices.get(name)).collect();
    if known.is_empty() {
        return Vec::new();
    }
    let sum = |count: fn(&DeviceCounters) -> u64| known.iter().map(|device| count(device)).sum();
    vec![(KernelEvent::Read, sum(|device| device.read.count)), (KernelEvent::Write, sum(|device| device.write.count))]
}

fn page_faults(machine: &MachineCounters) -> Counts {
    let mut counts = Vec::new();
    if let Some(faults) = machine.page_faults {
        counts.extend([(KernelEvent::HardPageFault, faults.hard), (KernelEvent::SoftPageFault, faults.soft)]);
    }
    if let Some(faults) = machine.own_page_faults {
        counts.extend([(KernelEvent::OwnHardPageFault, faults.hard), (KernelEvent::OwnSoftPageFault, faults.soft)]);
    }
    counts
}

fn hard_faults(machine: &MachineCounters) -> Counts {
    let is_hard = |event: KernelEvent| matches!(event, KernelEvent::HardPageFault | KernelEvent::OwnHardPageFault);
    page_faults(machine).into_iter().filter(|(event, _)| is_hard(*event)).collect()
}

fn network(machine: &MachineCounters) -> Counts {
    let Some(network) = machine.network else { return Vec::new() };
    vec![
        (KernelEvent::Accept, network.tcp_accepted),
        (KernelEvent::Connect, network.tcp_connected),
        (KernelEvent::Retransmit, network.tcp_retransmitted),
        (KernelEvent::TcpSend, network.tcp_sent),
        (KernelEvent::TcpReceive, network.tcp_received),
        (KernelEvent::UdpSend, network.udp_sent),
        (KernelEvent::UdpReceive, network.udp_received),
    ]
}

fn tasks(machine: &MachineCounters) -> Counts {
    let Some(tasks) = machine.tasks else { return Vec::new() };
    vec![(KernelEvent::Start, tasks.started), (KernelEvent::End, tasks.ended)]
}

/// One stack per set of devices that targets are on, in the order of the targets.
fn stacks(sources: &EventSources<'_>, counted: &KernelCounters) -> Vec<IoStack> {
    let EventSources { plan, record, environments, .. } = *sources;
    let mut stacks: Vec<(Vec<&BlockDevice>, BTreeSet<usize>)> = Vec::new();
    for (index, target) in plan.targets.iter().enumerate() {
        let devices = environments.get(&target.path).map(TargetEnvironment::devices).unwrap_or_default();
        if devices.is_empty() {
            continue;
        }
        let same = |(known, _): &&mut (Vec<&BlockDevice>, _)| names(known) == names(&devices);
        match stacks.iter_mut().find(same) {
            Some((_, targets)) => {
                targets.insert(index);
            }
            None => stacks.push((devices, BTreeSet::from([index]))),
        }
    }
    let stack = |(devices, targets): (Vec<&BlockDevice>, BTreeSet<usize>)| {
        let rows = record.rows.iter().filter(|row| targets.contains(&row.target));
        let mut levels = vec![own(rows, record.elapsed_ns)];
        for device in devices {
            descend(device, 1, counted, record.elapsed_ns, &mut levels);
        }
        let paths: BTreeSet<&Path> = targets.iter().map(|&index| plan.targets[index].path.as_path()).collect();
        IoStack { targets: paths.into_iter().map(Path::to_owned).collect(), levels }
    };
    stacks.into_iter().map(stack).collect()
}

fn names<'a>(devices: &[&'a BlockDevice]) -> Vec<&'a str> {
    devices.iter().map(|device| device.name.as_str()).collect()
}

/// This program's own I/O: latencies as in its other figures.
fn own<'a>(rows: impl Iterator<Item = &'a RowRecord>, elapsed_ns: u64) -> IoLevel {
    let (mut read, mut write) = (Sum::default(), Sum::default());
    for row in rows {
        read.add(&row.read);
        write.add(&row.write);
    }
    IoLevel { device: None, depth: 0, read: read.figures(elapsed_ns), write: write.figures(elapsed_ns) }
}

/// I/O of one direction and the time that it took.
#[derive(Default)]
struct Sum {
    volume: Volume,
    time_ns: u128,
}

impl Sum {
    fn add(&mut self, record: &DirectionRecord) {
        self.volume.add(Volume { bytes: record.bytes, ios: record.tally.count });
        self.time_ns = self.time_ns.saturating_add(record.tally.sum_ns);
    }

    fn from_counters(requests: RequestCounters) -> Self {
        Self {
            volume: Volume { bytes: requests.bytes, ios: requests.count },
            time_ns: u128::from(requests.time_ms) * 1_000_000,
        }
    }

    fn figures(&self, elapsed_ns: u64) -> LevelFigures {
        let Volume { bytes, ios } = self.volume;
        let latency_mean_ns = (ios > 0).then(|| self.time_ns as f64 / ios as f64);
        level_figures(ios, bytes, latency_mean_ns, elapsed_ns)
    }
}

/// The figures of a level from its counts.
pub fn level_figures(ios: u64, bytes: u64, latency_mean_ns: Option<f64>, elapsed_ns: u64) -> LevelFigures {
    let rates = Volume { bytes, ios }.figures(elapsed_ns);
    LevelFigures { ios, bytes, iops: rates.iops, bytes_per_s: rates.bytes_per_s, latency_mean_ns }
}

/// Adds a device and those below it. One shared by several others is listed once.
fn descend(device: &BlockDevice, depth: u32, counted: &KernelCounters, elapsed_ns: u64, levels: &mut Vec<IoLevel>) {
    if levels.iter().any(|level| level.device.as_deref() == Some(device.name.as_str())) {
        return;
    }
    if let Some(counters) = counted.devices.get(&device.name) {
        let figures = |requests| Sum::from_counters(requests).figures(elapsed_ns);
        let (read, write) = (figures(counters.read), figures(counters.write));
        levels.push(IoLevel { device: Some(device.name.clone()), depth, read, write });
    }
    for below in &device.below {
        descend(below, depth + 1, counted, elapsed_ns, levels);
    }
}

#[cfg(test)]
mod tests;
