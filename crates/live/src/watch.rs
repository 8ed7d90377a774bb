//! The devices of a machine, watched from one reading to the next.

use crate::choice::{Choice, object_of};
use host::Root;
use model::block_device::{DeviceKind, DeviceRow, Transport};
use model::counter_object::{CounterObject, TOTAL_INSTANCE};
use model::device_interval::{
    CountedDevice, DeviceInterval, DeviceReading, WATCH_SCHEMA, WATCH_SCHEMA_VERSION, WatchBegin, WatchedDevice,
};
use std::collections::{BTreeMap, BTreeSet};

/// Devices that are watched, and their counters at the last reading.
#[derive(Debug)]
pub struct Watch {
    root: Root,
    choice: Choice,
    begun: DeviceReading,
    before: DeviceReading,
    /// Names and numbers at the last scan of the devices; another scan when they change.
    seen: BTreeSet<(String, u32, u32)>,
    devices: BTreeMap<String, Device>,
    /// Names of CPUs in Processor Information, with those in Processor.
    processors: BTreeMap<String, String>,
}

/// An instance of a system-wide object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemInstance {
    /// Its name in columns.
    pub name: String,
    /// Its object and instance in intervals.
    pub object: CounterObject,
    pub key: String,
}

/// A device as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its description for users.
    pub facts: WatchedDevice,
    /// Its Windows object.
    pub object: CounterObject,
    /// A file system on it is mounted.
    is_mounted: bool,
    /// It is watched.
    is_chosen: bool,
}

#[cfg(test)]
impl Device {
    pub(crate) fn watched(facts: WatchedDevice, object: CounterObject) -> Self {
        Self { facts, object, is_mounted: false, is_chosen: true }
    }

    pub(crate) fn mounted(self) -> Self {
        Self { is_mounted: true, ..self }
    }
}

impl Device {
    /// The objects of which it is an instance: a whole disk with a mounted file system is both a disk and a volume.
    pub fn objects(&self) -> impl Iterator<Item = CounterObject> {
        let volume =
            (self.is_mounted && self.object == CounterObject::PhysicalDisk).then_some(CounterObject::LogicalDisk);
        std::iter::once(self.object).chain(volume)
    }
}

impl Watch {
    /// Reads the counters for the first time; `None` if the kernel shows none.
    pub fn begin(root: Root, choice: Choice) -> Option<Self> {
        let reading = host::device_reading(&root)?;
        let mut watch = Self {
            processors: host::processor_names(&root),
            root,
            choice,
            begun: reading.clone(),
            before: reading.clone(),
            seen: BTreeSet::new(),
            devices: BTreeMap::new(),
        };
        watch.identify_devices(&reading);
        Some(watch)
    }

    /// When it began, on the monotonic clock.
    pub fn begun_ns(&self) -> u64 {
        self.begun.monotonic_ns
    }

    /// The devices that are watched now, by name.
    pub fn devices(&self) -> impl Iterator<Item = (&str, &Device)> {
        self.devices.iter().filter(|(_, device)| device.is_chosen).map(|(name, device)| (name.as_str(), device))
    }

    /// The instances of a system-wide object now, the total last.
    pub fn system_instances(&self, object: CounterObject) -> Vec<SystemInstance> {
        let read = if object == CounterObject::ProcessorInformation { CounterObject::Processor } else { object };
        let Some(instances) = self.before.system.get(&read) else { return Vec::new() };
        let mut names: Vec<(String, String)> = match object {
            CounterObject::ProcessorInformation => self.processors.clone().into_iter().collect(),
            _ => instances.keys().map(|name| (name.clone(), name.clone())).collect(),
        };
        names.retain(|(_, key)| instances.contains_key(key) && key != TOTAL_INSTANCE);
        // 2 before 10.
        names.sort_by_key(|(name, _)| (name.len(), name.clone()));
        names.push((TOTAL_INSTANCE.to_owned(), TOTAL_INSTANCE.to_owned()));
        names.into_iter().map(|(name, key)| SystemInstance { name, object: read, key }).collect()
    }

    /// The first line of a recording.
    pub fn facts(&self, host: String, interval_ns: u64) -> WatchBegin {
        WatchBegin {
            schema: WATCH_SCHEMA.to_owned(),
            schema_version: WATCH_SCHEMA_VERSION,
            tool_version: model::version::IMPLEMENTATION_VERSION.to_owned(),
            host,
            started_at_unix_ns: i64::try_from(self.begun.at.0).unwrap_or(i64::MAX),
            interval_ns,
            devices: self.devices().map(|(_, device)| device.facts.clone()).collect(),
            machine: Some(Box::new(host::watched_machine(&self.root))),
        }
    }

    /// Reads the counters again: I/O of the watched devices since the last reading. `None` if no time passed or the
    /// kernel showed nothing; the I/O is in the next interval then.
    pub fn read(&mut self, number: u64) -> Option<DeviceInterval> {
        let after = host::device_reading(&self.root)?;
        self.identify_devices(&after);
        let mut interval = stats::device_rates::interval(&self.before, &after, number, self.begun.monotonic_ns)?;
        self.before = after;
        interval.devices.retain(|name, _| self.devices.get(name).is_some_and(|device| device.is_chosen));
        Some(interval)
    }

    /// Identifies the devices of a reading. Only new devices are worth reading the many files; a device that was idle
    /// may become one to watch, too.
    fn identify_devices(&mut self, reading: &DeviceReading) {
        let seen: BTreeSet<_> = reading
            .devices
            .iter()
            .map(|(name, device)| (name.clone(), device.number.major, device.number.minor))
            .collect();
        let is_used = |device: &CountedDevice| device.counters.read.count > 0 || device.counters.write.count > 0;
        let is_waiting = |name: &String| self.devices.get(name).is_some_and(|device| !device.is_chosen);
        let begins = |(name, now): (&String, &CountedDevice)| {
            is_used(now) && is_waiting(name) && self.before.devices.get(name).is_some_and(|then| !is_used(then))
        };
        if seen == self.seen && !reading.devices.iter().any(begins) {
            return;
        }
        let rows = host::devices(&self.root);
        let described = |row: DeviceRow| {
            let counters = reading.devices.get(&row.name)?.counters;
            let device = Device {
                is_chosen: self.choice.takes(&row, &counters),
                object: object_of(&row.kind),
                is_mounted: !row.mounted.is_empty(),
                facts: facts(&row),
            };
            Some((row.name, device))
        };
        self.devices = rows.into_iter().filter_map(described).collect();
        self.seen = seen;
    }
}

fn facts(row: &DeviceRow) -> WatchedDevice {
    let mapped_name = match &row.kind {
        DeviceKind::Mapper { name, .. } => name.clone(),
        _ => None,
    };
    WatchedDevice {
        name: row.name.clone(),
        kind: row.kind.word(),
        mapped_name,
        model: row.model.clone(),
        size_bytes: row.size_bytes,
        transport: row.transport.as_ref().map(Transport::word),
        scheduler: row.scheduler.clone(),
        rotational: row.rotational,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn line(name: &str, minor: u32, reads: u64) -> String {
        format!(" 8 {minor} {name} {reads} 0 {} {reads} 0 0 0 0 0 {reads} {reads} 0 0 0 0 0 0\n", reads * 8)
    }

    fn device(root: &Path, name: &str, minor: u32) {
        let place = root.join("sys/class/block").join(name);
        fs::create_dir_all(place.join("device")).unwrap();
        fs::write(place.join("dev"), format!("8:{minor}\n")).unwrap();
        fs::write(place.join("size"), "2048\n").unwrap();
    }

    fn counters(root: &Path, lines: &[String]) {
        fs::create_dir_all(root.join("proc")).unwrap();
        fs::write(root.join("proc/diskstats"), lines.concat()).unwrap();
    }

    #[test]
    fn devices_that_come_are_watched_and_those_that_go_are_not_missed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        device(root, "sda", 0);
        device(root, "sdb", 16);
        counters(root, &[line("sda", 0, 10), line("sdb", 16, 5)]);
        let mut watch = Watch::begin(Root::recorded(root), Choice::Usual).expect("two devices");
        assert_eq!(watch.facts("host".to_owned(), 1).devices.len(), 2);
        // sdb is removed, sdc is added.
        fs::remove_dir_all(root.join("sys/class/block/sdb")).unwrap();
        device(root, "sdc", 32);
        counters(root, &[line("sda", 0, 17), line("sdc", 32, 900)]);
        let first = watch.read(1).expect("time passed");
        assert_eq!(first.devices.keys().collect::<Vec<_>>(), ["sda"]);
        assert_eq!((first.devices["sda"].read.count, first.devices["sda"].read.bytes), (7, 7 * 4096));
        // sdc has two readings now; sda was recreated meanwhile.
        counters(root, &[line("sda", 0, 3), line("sdc", 32, 905)]);
        let second = watch.read(2).expect("time passed");
        assert_eq!(second.devices.keys().collect::<Vec<_>>(), ["sdc"]);
        assert_eq!(second.devices["sdc"].read.count, 5);
        // One reading fails; the next interval contains its I/O.
        fs::remove_file(root.join("proc/diskstats")).unwrap();
        assert_eq!(watch.read(3), None);
        counters(root, &[line("sda", 0, 4), line("sdc", 32, 906)]);
        let fourth = watch.read(4).expect("time passed");
        assert_eq!((fourth.number, fourth.devices.len()), (4, 2));
    }

    /// Every kind of device, as the kernel lists them; sda1 and loop0 were used.
    fn all_kinds(root: &Path) {
        let names = ["sda", "sda1", "nvme0n1", "dm-0", "md0", "loop0", "loop1", "ram0"];
        let mut lines = Vec::new();
        for (minor, name) in (0u32..).zip(names) {
            device(root, name, minor);
            lines.push(line(name, minor, u64::from(["sda1", "loop0"].contains(&name))));
        }
        let at = |name: &str| root.join("sys/class/block").join(name);
        fs::write(at("sda1").join("partition"), "1\n").unwrap();
        fs::create_dir_all(at("dm-0").join("dm")).unwrap();
        fs::write(at("dm-0").join("dm/name"), "vg-data\n").unwrap();
        fs::create_dir_all(at("md0").join("md")).unwrap();
        fs::write(at("md0").join("md/level"), "raid1\n").unwrap();
        counters(root, &lines);
    }

    #[test]
    fn every_kind_of_device_has_its_place() {
        let folder = tempfile::tempdir().unwrap();
        all_kinds(folder.path());
        let watched = |choice| {
            let watch = Watch::begin(Root::recorded(folder.path()), choice).expect("devices");
            watch.devices().map(|(name, device)| (name.to_owned(), device.object)).collect::<Vec<_>>()
        };
        let names = |choice| watched(choice).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(Choice::Usual), ["dm-0", "loop0", "md0", "nvme0n1", "sda"]);
        assert_eq!(
            names(Choice::Used(vec!["RAM0".to_owned()])),
            ["dm-0", "loop0", "md0", "nvme0n1", "ram0", "sda", "sda1"]
        );
        assert_eq!(names(Choice::All).len(), 8);
        let logical = watched(Choice::All).into_iter().filter(|(_, object)| *object == CounterObject::LogicalDisk);
        assert_eq!(logical.map(|(name, _)| name).collect::<Vec<_>>(), ["dm-0", "loop0", "loop1", "md0", "sda1"]);
        let mut watch =
            Watch::begin(Root::recorded(folder.path()), Choice::Named(vec!["dm-0".to_owned()])).expect("it");
        assert_eq!(watch.facts(String::new(), 1).devices[0].mapped_name.as_deref(), Some("vg-data"));
        assert_eq!(watch.read(1).map(|interval| interval.devices.len()), Some(1));
    }

    #[test]
    fn what_lay_idle_is_watched_once_it_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        device(root, "loop1", 1);
        counters(root, &[line("loop1", 1, 0)]);
        let mut watch = Watch::begin(Root::recorded(root), Choice::Usual).expect("a device");
        assert_eq!(watch.devices().count(), 0);
        counters(root, &[line("loop1", 1, 30)]);
        let interval = watch.read(1).expect("time passed");
        assert_eq!(interval.devices["loop1"].read.count, 30);
    }

    #[test]
    fn a_machine_without_devices_cannot_be_watched() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Watch::begin(Root::recorded(folder.path()), Choice::All).is_none());
    }
}
