//! `diskspd check`: facts about targets and machine, and the resulting findings.

use crate::environment::{Environment, TargetEnvironment};
use crate::facts::{SystemFacts, TargetFacts};
use crate::finding::{Finding, Severity};
use crate::kernel_counters::DeviceCounters;
use crate::record::CpuTimes;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A fact, or why it cannot be had: a phrase without a full stop.
pub type Known<T> = Result<T, String>;

/// The workload that the targets are checked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// Anything.
    #[default]
    Any,
    /// The files of SQL Server on Linux.
    Sql,
}

/// All facts that the checks use.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckFacts {
    /// The workload that the targets are checked for.
    pub workload: Workload,
    /// Size in bytes that each target would be created with (`-c`).
    pub create_bytes: Option<u64>,
    /// The machine.
    pub system: SystemFacts,
    /// Its environment.
    pub environment: Environment,
    /// In the order given.
    pub targets: Vec<CheckedTarget>,
    /// Every device below any target, by the kernel's name.
    pub devices: BTreeMap<String, DeviceState>,
    /// The processors.
    pub processors: ProcessorState,
    /// When systemd's timers are due next.
    pub timers: Known<Vec<Timer>>,
    /// Names of running programs that are known to work on whole disks or file systems.
    pub housekeeping: Vec<String>,
    /// Activity over a short period without a load from diskspd.
    pub activity: Activity,
}

/// A target and the storage below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedTarget {
    /// As the user wrote it.
    pub path: PathBuf,
    /// What is there.
    pub facts: TargetFacts,
    /// What is below.
    pub environment: TargetEnvironment,
    /// Its file system; meaningless for a block device.
    pub file_system: FileSystemState,
}

/// State of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystemState {
    /// Errors counted since it was created or the count was reset.
    pub error_count: Known<u64>,
    /// Background work: `balance`, `resize` ...; `None` = none.
    pub work: Known<Option<String>>,
    /// Attributes of the target, or of the directory that it would be made in.
    pub attributes: Known<FileAttributes>,
}

/// Attributes of a file that change what a write does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileAttributes {
    /// Its data is compressed (`chattr +c`).
    pub is_compressed: bool,
    /// Its data is written in place (`chattr +C`).
    pub is_written_in_place: bool,
}

/// State of a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceState {
    /// Start offset of a partition on its disk, in bytes; `None` for other devices.
    pub start_bytes: Option<u64>,
    /// ALUA access state of a SCSI path: `active/optimized`, `standby` ...; `None` if it has none.
    pub path_access: Option<String>,
    /// The drive's own log.
    pub health: Known<DriveHealth>,
    /// Its hottest sensor.
    pub temperature: Known<Temperature>,
    /// The longest time in microseconds that an idle `NVMe` drive may take to wake up (APST); 0 = it stays awake.
    pub wake_latency_us: Known<u64>,
}

/// The SMART log of an `NVMe` drive (page 02h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveHealth {
    /// Critical warnings of the drive: bit 0 spare blocks, 1 temperature, 2 reliability, 3 read-only, 4 its
    /// backup power, 5 persistent memory.
    pub critical_warning: u8,
    /// Remaining spare blocks, in percent.
    pub spare_percent: u8,
    /// Below this the drive gives a critical warning.
    pub spare_percent_min: u8,
    /// Share of the rated endurance that is used up; may be above 100.
    pub worn_percent: u8,
    /// Media and data integrity errors.
    pub media_error_count: u64,
}

/// A temperature in thousandths of a degree Celsius.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Temperature {
    /// Now.
    pub millidegrees: i64,
    /// The drive may throttle from this temperature on.
    pub warning_millidegrees: Option<i64>,
}

/// CPU power management and distances between NUMA nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessorState {
    /// Frequency governors of the CPUs that may be used, and how many have each; empty if the kernel tells none.
    pub governors: BTreeMap<String, u32>,
    /// Idle states that are switched on, of the first of these CPUs; empty if the kernel manages none.
    pub idle_states: Vec<IdleState>,
    /// Whether this process could forbid them (`/dev/cpu_dma_latency`).
    pub may_hold_latency: bool,
    /// The kernel's distance from each memory node to each; 10 = the same node.
    pub node_distances: BTreeMap<u32, BTreeMap<u32, u32>>,
}

/// An idle state of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct IdleState {
    /// Exit latency in microseconds.
    pub exit_latency_us: u64,
    /// `C1`, `C6` ...
    pub name: String,
}

/// A timer of systemd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// `fstrim.timer`
    pub unit: String,
    /// Seconds until it is due; `None` = not scheduled.
    pub due_in_s: Option<u64>,
}

/// What happened on an otherwise idle machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// Length of the observation in milliseconds.
    pub duration_ms: u64,
    /// What the devices did; those that keep no counters are missing.
    pub devices: BTreeMap<String, DeviceCounters>,
    /// What the CPUs did.
    pub cpus: Vec<CpuTimes>,
}

/// What `schema` says in every document of answers.
pub const CHECK_SCHEMA: &str = "diskspd-check";

/// Version of these documents.
pub const CHECK_SCHEMA_VERSION: u32 = 2;

/// All answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// Always [`CHECK_SCHEMA`].
    pub schema: &'static str,
    /// Version of this format: [`CHECK_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of diskspd that ran the checks.
    pub version: String,
    /// The workload that the targets are checked for.
    pub workload: Workload,
    /// In the order of the checks.
    #[serde(serialize_with = "answers")]
    pub findings: Vec<Finding>,
}

impl CheckReport {
    /// Number of findings with this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// A finding in the words of this document.
#[derive(Serialize)]
struct Answer<'a> {
    check: &'a str,
    subject: &'a str,
    outcome: Severity,
    found: &'a str,
    advice: Option<&'a str>,
}

fn answers<S: Serializer>(findings: &[Finding], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(findings.iter().map(|finding| Answer {
        check: &finding.name,
        subject: &finding.subject,
        outcome: finding.severity,
        found: &finding.figure,
        advice: Some(finding.advice.as_str()).filter(|advice| !advice.is_empty()),
    }))
}
