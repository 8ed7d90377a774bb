//! What happens to devices while they are used: what the kernel's log tells, and error counters.

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

/// Devices that are watched from [`HealthWatch::begin`] on.
#[derive(Debug)]
pub struct HealthWatch<'a> {
    root: &'a Root,
    /// `None` where this process may not read it.
    log: Option<KernelLog>,
    /// What it has told.
    messages: Vec<KernelMessage>,
    devices: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    name: String,
    /// What the log may call it.
    log_names: Vec<String>,
    before: Counters,
}

impl<'a> HealthWatch<'a> {
    /// Watches `devices`, by the kernel's names, from `now_ns` on, in nanoseconds of `CLOCK_MONOTONIC`. Reads
    /// nothing of the log yet but its end.
    pub fn begin<'d>(root: &'a Root, devices: impl IntoIterator<Item = &'d str>, now_ns: u64) -> Self {
        let watched = |name: &str| Watched {
            name: name.to_owned(),
            log_names: names::of(root, name),
            before: counters::read(root, name),
        };
        let devices = devices.into_iter().map(watched).collect();
        Self { root, log: KernelLog::open(root, now_ns), messages: Vec::new(), devices }
    }

    /// Reads what the log tells until `now_ns`. The more often, the better is known when a message came.
    pub fn look(&mut self, now_ns: u64) {
        self.messages.extend(self.log.iter_mut().flat_map(|log| log.new_messages(now_ns)));
    }

    /// What the kernel said until the last look, of whatever it was, by `CLOCK_MONOTONIC`.
    pub fn into_messages(self) -> Vec<KernelMessage> {
        self.messages
    }

    /// What happened until the last look: messages by device and fault, in the order of the devices, then
    /// counters that rose.
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
