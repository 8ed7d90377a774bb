//! One request of a trace, and the names that requests refer to.

pub use model::action::Action;
use serde::Serialize;
use std::collections::HashMap;

/// Properties that a request may have, as a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// Its issuer waits for it.
    pub const SYNC: Self = Self(1);
    /// A write that is durable when it completes (force unit access).
    pub const FUA: Self = Self(1 << 1);
    /// Metadata of a file system.
    pub const METADATA: Self = Self(1 << 2);
    /// Read ahead of its use.
    pub const READAHEAD: Self = Self(1 << 3);
    /// A write before which the device's cache is flushed.
    pub const PREFLUSH: Self = Self(1 << 4);

    /// The flags of these bits; unknown bits are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0x1F)
    }

    /// Its bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// True if it has all of `flags`.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// It with `flags` if `condition` holds.
    #[must_use]
    pub const fn with(self, flags: Self, condition: bool) -> Self {
        if condition { Self(self.0 | flags.0) } else { self }
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Issue, in nanoseconds after the first request of the trace.
    pub issue_ns: u64,
    /// From issue to completion; `None` if the trace has no completion.
    pub latency_ns: Option<u64>,
    /// Index in [`Names::devices`].
    pub device: u32,
    /// Index in [`Names::processes`].
    pub process: u32,
    /// First byte; 0 of flushes.
    pub offset: u64,
    /// Bytes; 0 of flushes.
    pub length: u64,
    /// The effect.
    pub action: Action,
    /// Properties.
    pub flags: Flags,
}

/// A device or file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Device {
    /// Its name in the trace.
    pub name: String,
    /// Its size, if the trace has it.
    pub size_bytes: Option<u64>,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Process {
    /// Its id; 0 if the trace has none.
    pub pid: u32,
    /// Its name; empty if the trace has none.
    pub name: String,
}

/// Devices at most; further ones share the last place.
pub const DEVICES_MAX: usize = 4096;
/// Processes at most; further ones share the last place.
pub const PROCESSES_MAX: usize = 65_536;
/// Bytes of a name at most; longer ones are cut.
pub const NAME_BYTES_MAX: usize = 255;

/// Tables of the names that events refer to. They grow while a trace is read.
#[derive(Clone, Debug, Default)]
pub struct Names {
    devices: Vec<Device>,
    processes: Vec<Process>,
    device_index: HashMap<String, u32>,
    process_index: HashMap<(u32, String), u32>,
    /// Number of changes so far.
    revision: u64,
}

impl Names {
    /// Devices, in order of their first request.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Processes, in order of their first request.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Changes with each change of a table.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The index of a device, which is added if it is new.
    pub fn intern_device(&mut self, name: &str) -> u32 {
        if let Some(&index) = self.device_index.get(name) {
            return index;
        }
        if self.devices.len() == DEVICES_MAX {
            return DEVICES_MAX as u32 - 1;
        }
        let index = self.devices.len() as u32;
        self.set_device(index as usize, Device { name: cut(name), size_bytes: None });
        self.device_index.insert(name.to_owned(), index);
        index
    }

    /// The index of a process, which is added if it is new.
    pub fn intern_process(&mut self, pid: u32, name: &str) -> u32 {
        let key = (pid, cut(name));
        if let Some(&index) = self.process_index.get(&key) {
            return index;
        }
        if self.processes.len() == PROCESSES_MAX {
            return PROCESSES_MAX as u32 - 1;
        }
        let index = self.processes.len() as u32;
        self.set_process(index as usize, Process { pid, name: key.1.clone() });
        self.process_index.insert(key, index);
        index
    }

    /// Puts a device at `index`; false if the table may not be so large.
    pub fn set_device(&mut self, index: usize, device: Device) -> bool {
        self.revision += 1;
        place(&mut self.devices, index, DEVICES_MAX, device)
    }

    /// Puts a process at `index`; false if the table may not be so large.
    pub fn set_process(&mut self, index: usize, process: Process) -> bool {
        self.revision += 1;
        place(&mut self.processes, index, PROCESSES_MAX, process)
    }
}

fn place<T: Clone + Default>(table: &mut Vec<T>, index: usize, most: usize, entry: T) -> bool {
    if index >= most {
        return false;
    }
    if index >= table.len() {
        table.resize(index + 1, T::default());
    }
    table[index] = entry;
    true
}

/// A name of at most [`NAME_BYTES_MAX`] bytes.
fn cut(name: &str) -> String {
    name[..name.floor_char_boundary(NAME_BYTES_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_entered_once_and_cut_at_a_character() {
        let mut names = Names::default();
        let long = "é".repeat(200);
        assert_eq!([names.intern_device("8,0"), names.intern_device("8,16"), names.intern_device("8,0")], [0, 1, 0]);
        assert_eq!([names.intern_process(7, &long), names.intern_process(8, &long)], [0, 1]);
        let revision = names.revision();
        assert_eq!(names.intern_process(7, &long), 0);
        assert_eq!((names.revision(), names.processes()[0].name.len()), (revision, 254));
    }

    #[test]
    fn tables_have_a_bound() {
        let mut names = Names::default();
        for number in 0..DEVICES_MAX + 5 {
            names.intern_device(&number.to_string());
        }
        assert_eq!(names.devices().len(), DEVICES_MAX);
        assert_eq!(names.intern_device("new"), DEVICES_MAX as u32 - 1);
        assert!(!names.set_process(PROCESSES_MAX, Process::default()));
    }
}
