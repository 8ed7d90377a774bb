//! Faults of devices during their use: from the kernel's log, and from error counters.

mod counters;
mod log;
mod message;
mod names;

use crate::root::Root;
use counters::Counters;
use log::KernelLog;
use model::kernel_log::{DeviceFault, KernelMessage};
use model::note::Note;
use std::collections::BTreeMap;

/// Devices watched from [`HealthWatch::begin`] on.
#[derive(Debug)]
pub struct HealthWatch<'a> {
    root: &'a Root,
    /// `None` where this process may not read it.
    log: Option<KernelLog>,
    /// Its messages so far.
    messages: Vec<KernelMessage>,
    devices: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    name: String,
    /// Its possible names in the log.
    log_names: Vec<String>,
    before: Counters,
}

impl<'a> HealthWatch<'a> {
    /// Watches `devices`, by the kernel's names, from `now_ns` on, in nanoseconds of `CLOCK_MONOTONIC`. Only seeks to
    /// the end of the log.
    pub fn begin<'d>(root: &'a Root, devices: impl IntoIterator<Item = &'d str>, now_ns: u64) -> Self {
        let watched = |name: &str| Watched {
            name: name.to_owned(),
            log_names: names::list(root, name),
            before: counters::read(root, name),
        };
        let devices = devices.into_iter().map(watched).collect();
        Self { root, log: KernelLog::open(root, now_ns), messages: Vec::new(), devices }
    }

    /// Reads the log's messages until `now_ns`. Frequent calls give more exact times of messages.
    pub fn read_messages(&mut self, now_ns: u64) {
        self.messages.extend(self.log.iter_mut().flat_map(|log| log.new_messages(now_ns)));
    }

    /// All messages of the kernel until the last read, on any subject, by `CLOCK_MONOTONIC`.
    pub fn into_messages(self) -> Vec<KernelMessage> {
        self.messages
    }

    /// Faults until the last read: messages by device and fault, in the order of the devices, then counters that rose.
    pub fn notes(&self) -> Vec<Note> {
        let fault = |message: &'_ KernelMessage| message::fault(&message.text);
        let faults: Vec<(DeviceFault, &str)> =
            self.messages.iter().filter_map(|message| Some((fault(message)?, message.text.as_str()))).collect();
        let mut notes = Vec::new();
        for device in &self.devices {
            notes.extend(logged(device, &faults));
            let rose = counters::risen(&device.before, &counters::read(self.root, &device.name));
            notes.extend(rose.into_iter().map(|(counter, count)| Note::DeviceErrorsCounted {
                device: device.name.clone(),
                counter,
                count,
            }));
        }
        notes
    }
}

fn logged(device: &Watched, faults: &[(DeviceFault, &str)]) -> Vec<Note> {
    let mut found: BTreeMap<DeviceFault, (u64, &str)> = BTreeMap::new();
    for &(fault, message) in faults.iter().filter(|(_, message)| names::is_named(&device.log_names, message)) {
        found.entry(fault).or_insert((0, message)).0 += 1;
    }
    let note = |(fault, (count, first)): (DeviceFault, (u64, &str))| Note::DeviceFaultsLogged {
        device: device.name.clone(),
        fault,
        count,
        first: first.to_owned(),
    };
    found.into_iter().map(note).collect()
}
