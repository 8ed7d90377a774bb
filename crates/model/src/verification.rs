//! Verification of the data that a load writes and reads (`--verify`): plan and results.

use crate::corruption::CorruptionClass;
use crate::placement::DevicePlace;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The result of a verification of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All that could be checked is right.
    Good,
    /// Something is corrupt.
    Corrupt,
    /// Nothing is corrupt; a target could not be read.
    Failed,
    /// Nothing is corrupt, and not everything could be checked.
    CannotTell,
}

/// The findings after one cut (`verify --cycles`), over all targets.
#[derive(Clone, Debug, Serialize)]
pub struct Cycle {
    /// From 1.
    pub number: u32,
    /// From the first logged write of the load to the cut.
    pub cut_after_ns: u64,
    /// `good`, `corrupt` or `cannot_tell`.
    pub outcome: Outcome,
    /// False: the load ended well in spite of the cut, and its map was compared.
    pub was_cut_off: bool,
    /// Changes in the logs.
    pub logged_changes: u64,
    /// Flushes in the logs that completed.
    pub logged_flushes: u64,
    /// The last records of a log may be missing.
    pub journal_ends_early: bool,
    /// Units of which something is durable.
    pub durable_units: u64,
    /// Units whose last completed write was not flushed, and is gone.
    pub unflushed_units: u64,
    /// Units that hold part of a write that was not durable.
    pub torn_units: u64,
    /// Units that lack what is durable.
    pub corrupt_units: u64,
}

/// A series of cycles.
#[derive(Debug, Serialize)]
pub struct CycleSeries {
    /// True: the form of the document may change.
    pub experimental: bool,
    /// That of the worst cycle; `cannot_tell` if it was interrupted.
    pub outcome: Outcome,
    /// Requested cycles.
    pub planned_cycles: u32,
    /// Cycles that were run.
    pub cycles: Vec<Cycle>,
}

impl CycleSeries {
    /// A series before its first cycle.
    pub fn new(planned_cycles: u32) -> Self {
        Self { experimental: true, outcome: Outcome::CannotTell, planned_cycles, cycles: Vec::new() }
    }

    /// Adds a cycle; true if the series must end.
    pub fn add(&mut self, cycle: Cycle) -> bool {
        let outcome = cycle.outcome;
        self.cycles.push(cycle);
        let is_whole = self.cycles.len() == self.planned_cycles as usize;
        self.outcome = match outcome {
            Outcome::Corrupt => Outcome::Corrupt,
            _ if is_whole && self.count(Outcome::Good) == self.cycles.len() => Outcome::Good,
            _ => Outcome::CannotTell,
        };
        outcome == Outcome::Corrupt
    }

    /// Cycles with this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.cycles.iter().filter(|cycle| cycle.outcome == outcome).count()
    }
}

/// How a timespan verifies its data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerificationPlan {
    /// Bytes that are written and checked as a whole.
    pub unit_bytes: u32,
    /// The map has an entry for each unit of all targets. If not, it is too large for the memory: units share entries and
    /// are only compared with themselves.
    pub is_exact: bool,
    /// The most that the map of a target takes, in bytes.
    pub target_map_bytes_max: u64,
    /// Corrupt units that end the run (`--verify-stop`); null = none.
    pub stop_after: Option<u64>,
}

/// Results of verification in a timespan, warm-up and cool-down included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerificationFigures {
    /// Size of a unit in bytes.
    pub unit_bytes: u32,
    /// True if units were compared with a map of what was written; false if only with themselves.
    pub is_exact: bool,
    /// Units that were read and compared.
    pub checked_units: u64,
    /// Units that were read and not comparable: not written by this run, or changed during the read.
    pub unchecked_units: u64,
    /// Percent of the units read that were not comparable; null = none was read.
    pub unchecked_percent: Option<f64>,
    /// I/Os that waited because another one was changing the same units.
    pub waiting_ios: u64,
    /// Reads that failed because the storage could not return the data (`EIO`, `ENODATA`, `EBADMSG`, `EILSEQ`). They do not
    /// end the run, and are in no rate or latency.
    #[serde(default)]
    pub unreadable_ios: u64,
    /// Corrupt units of each class that occurred, each unit and write counted once.
    pub corrupt: Vec<CorruptUnits>,
    /// The first corrupt units, at most 100.
    pub first: Vec<CorruptUnit>,
}

impl VerificationFigures {
    /// Corrupt units of all classes.
    pub fn corrupt_units(&self) -> u64 {
        self.corrupt.iter().map(|class| class.units).fold(0, u64::saturating_add)
    }
}

/// Corrupt units of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CorruptUnits {
    /// The class.
    pub class: CorruptionClass,
    /// How many.
    pub units: u64,
}

/// One corrupt unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CorruptUnit {
    /// The target's path.
    #[serde(with = "crate::path::One")]
    pub path: PathBuf,
    /// Offset of the unit on the target, in bytes.
    pub offset_bytes: u64,
    /// The kind of corruption.
    pub class: CorruptionClass,
    /// When it was read, in nanoseconds since the threads were started.
    pub at_ns: u64,
    /// Thread that read it.
    pub thread: u32,
    /// The content that the unit must have.
    pub expected: ExpectedContent,
    /// Content of its header; null = it has none.
    pub found: Option<UnitHeader>,
    /// Its first 64 bytes in hexadecimal.
    pub first_bytes: String,
    /// A second read, past the page cache where that is possible; null = it was not possible, or the unit changed
    /// meanwhile.
    pub second_read: Option<SecondRead>,
    /// Where the unit is on the devices below its target, after the run; empty = unknown.
    #[serde(default)]
    pub places: Vec<DevicePlace>,
    /// Kernel messages within 5 s of the read, the nearest 5 messages in the order of time.
    #[serde(default)]
    pub kernel_messages: Vec<NearMessage>,
}

/// A message of the kernel near the read of a corrupt unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NearMessage {
    /// Nanoseconds from the read to the message; negative = it came before.
    pub after_read_ns: i64,
    /// The message.
    pub text: String,
}

impl NearMessage {
    /// With its time: `kernel, 0.2 s before: …`. The message is as the kernel has it.
    pub fn words(&self) -> String {
        let side = if self.after_read_ns < 0 { "before" } else { "after" };
        format!("kernel, {:.1} s {side}: {}", self.after_read_ns.unsigned_abs() as f64 / 1e9, self.text)
    }
}

/// `nvme0n1p2 at 1052672, nvme0n1 at 2101248`
pub fn places_words(places: &[DevicePlace]) -> String {
    let place = |place: &DevicePlace| format!("{} at {}", place.device, place.offset_bytes);
    places.iter().map(place).collect::<Vec<_>>().join(", ")
}

/// Content that a unit must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExpectedContent {
    /// A write to it, by its number among the writes to this unit (1 to 32765, then 1 again).
    Write(u16),
    /// Zeros.
    Zeros,
    /// Anything that was not written to another place.
    Unknown,
}

/// Result of a second read of a corrupt unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SecondRead {
    /// The right data.
    Right,
    /// The same data as the first.
    Same,
    /// Other data that is not right either.
    Other,
    /// An error.
    Failed,
}

impl SecondRead {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Right => "the right data",
            Self::Same => "the same data",
            Self::Other => "other data, which is wrong too",
            Self::Failed => "the read failed",
        }
    }
}

/// Content of the header of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitHeader {
    /// True if the checksum of the unit is right.
    pub is_intact: bool,
    /// True if this run wrote it.
    pub is_of_this_run: bool,
    /// The write that the header records.
    #[serde(flatten)]
    pub write: UnitWrite,
}

/// The write of a unit, as its header tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitWrite {
    /// Target that it was written to, by its number in the run.
    pub target: u32,
    /// Offset that it was written to, in bytes.
    pub offset_bytes: u64,
    /// Number of the write among those to the unit.
    #[serde(rename = "write")]
    pub number: u16,
    /// When the write was made, in nanoseconds since the threads of its run were started.
    pub written_ns: u64,
    /// Thread that wrote it.
    pub thread: u32,
    /// Number of the write among all changes of the run: later ones to the same unit have larger numbers.
    pub sequence: u64,
    /// First byte of that I/O.
    pub io_offset_bytes: u64,
    /// Its length in bytes.
    pub io_length_bytes: u64,
}

impl UnitWrite {
    /// Place, time and I/O of the write; `run` is the number of its run, if it is to be printed.
    pub fn words(&self, run: Option<&str>) -> String {
        let Self { target, offset_bytes, number, written_ns, thread, sequence, io_offset_bytes, io_length_bytes } =
            self;
        let run = run.map(|run| format!(" of run {run}")).unwrap_or_default();
        format!(
            "write {number} to offset {offset_bytes} of target {target}, made by thread {thread} at {:.6} s{run} as I/O \
             {sequence} ({io_length_bytes} bytes at {io_offset_bytes})",
            *written_ns as f64 / 1e9
        )
    }
}

impl ExpectedContent {
    /// In words.
    pub fn words(self) -> String {
        match self {
            Self::Write(number) => format!("write {number} to this unit"),
            Self::Zeros => "zeros".to_owned(),
            Self::Unknown => "nothing that was written to another place".to_owned(),
        }
    }
}
