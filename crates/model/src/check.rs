//! `diskspd check`: facts about targets and machine, and the resulting findings.

use crate::environment::{Environment, TargetEnvironment};
use crate::facts::{SystemFacts, TargetFacts};
use crate::finding::{Finding, Severity};
use crate::kernel_counters::DeviceCounters;
use crate::record::CpuTimes;
use crate::system_counter::KernelValues;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A fact, or why it cannot be had: a phrase without a full stop.
pub type KnownFact<T> = Result<T, String>;

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
    /// Copies of each file that the free space must hold (`--copies`).
    pub copies: u32,
    /// How long the load will take, in seconds; at least an hour unless the user states a time.
    pub window_s: u64,
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
    /// Jobs of systemd timers, cron and anacron.
    pub scheduled: ScheduledJobs,
    /// Names of running programs that are known to work on whole disks or file systems, or to make backups.
    pub housekeeping: Vec<String>,
    /// Activity over a short period without a load from diskspd.
    pub activity: Activity,
}

/// A target and the storage below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedTarget {
    /// As the user wrote it.
    pub path: PathBuf,
    /// The file or device at the path.
    pub facts: TargetFacts,
    /// The storage below it.
    pub environment: TargetEnvironment,
    /// Its file system; meaningless for a block device.
    pub file_system: FileSystemState,
    /// The network paths to the servers of its share or network disk; empty = it is on neither.
    pub network: Vec<NetworkPath>,
}

/// A network path to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkPath {
    /// The server's address, or the source of the mount if it is unknown.
    pub server: String,
    /// The network interface that the kernel sends through.
    pub interface: KnownFact<String>,
}

/// State of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystemState {
    /// Errors counted since it was created or the count was reset.
    pub error_count: KnownFact<u64>,
    /// Background work: `balance`, `resize` ...; `None` = none.
    pub work: KnownFact<Option<String>>,
    /// Attributes of the target, or of the directory that it would be made in.
    pub attributes: KnownFact<FileAttributes>,
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
    pub health: KnownFact<DriveHealth>,
    /// Its hottest sensor.
    pub temperature: KnownFact<Temperature>,
    /// The longest time in microseconds that an idle `NVMe` drive may take to wake up (APST); 0 = it stays awake.
    pub wake_latency_us: KnownFact<u64>,
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
    /// Frequency governors of the CPUs that may be used, and how many have each; empty if the kernel reports none.
    pub governors: BTreeMap<String, u32>,
    /// Idle states that are switched on, of the first of these CPUs; empty if the kernel manages none.
    pub idle_states: Vec<IdleState>,
    /// True if this process could forbid them (`/dev/cpu_dma_latency`).
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

/// Jobs that the machine starts on its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduledJobs {
    /// In any order.
    pub jobs: Vec<ScheduledJob>,
    /// Why others, if there are any, are unknown.
    pub unread: Vec<String>,
}

/// A job of a systemd timer, of cron or of anacron.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduledJob {
    /// `fstrim.timer`, `/etc/cron.d/sysstat`, `/etc/cron.daily/man-db` ...
    pub name: String,
    /// The command or script that it runs; of a timer, the unit that it activates.
    pub command: String,
    /// Seconds until it is due; `None` = not scheduled, or later than the examined period.
    pub due_in_s: Option<u64>,
}

/// A program that makes backups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupProgram {
    /// Its name, or its name and the argument that makes it copy.
    pub name: &'static str,
    /// True if its process always runs and waits for a server to start a backup.
    pub is_service: bool,
}

/// The backup programs that are known by name.
pub const BACKUP_PROGRAMS: [BackupProgram; 36] = [
    backup("restic"),
    backup("borg"),
    backup("borgmatic"),
    backup("kopia"),
    backup("duplicity"),
    backup("duplicati"),
    backup("rsnapshot"),
    backup("rdiff-backup"),
    backup("rsync"),
    backup("rclone"),
    backup("timeshift"),
    backup("snapper"),
    backup("btrbk"),
    backup("sanoid"),
    backup("syncoid"),
    backup("zfs send"),
    backup("btrfs send"),
    backup("xfsdump"),
    backup("pg_dump"),
    backup("pg_dumpall"),
    backup("pg_basebackup"),
    backup("pgbackrest"),
    backup("barman"),
    backup("wal-g"),
    backup("mysqldump"),
    backup("mariadb-dump"),
    backup("mariabackup"),
    backup("mariadb-backup"),
    backup("xtrabackup"),
    backup("mongodump"),
    backup("veeamagent"),
    backup("veeamjobman"),
    service("veeamservice"),
    service("bareos-fd"),
    service("bacula-fd"),
    service("dsmcad"),
];

const fn backup(name: &'static str) -> BackupProgram {
    BackupProgram { name, is_service: false }
}

const fn service(name: &'static str) -> BackupProgram {
    BackupProgram { name, is_service: true }
}

/// Activity on an otherwise idle machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// Length of the observation in milliseconds.
    pub duration_ms: u64,
    /// Counters of the devices; those that keep none are missing.
    pub devices: BTreeMap<String, DeviceCounters>,
    /// Times of the CPUs.
    pub cpus: Vec<CpuTimes>,
    /// Activity of the network interfaces.
    pub interfaces: BTreeMap<String, InterfaceActivity>,
}

/// Activity of a network interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceActivity {
    /// Speed of the link in Mbit/s; virtual interfaces have none.
    pub link_mbit_per_s: Option<u64>,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Errors in both directions.
    pub error_count: u64,
    /// Dropped packets in both directions.
    pub drop_count: u64,
    /// Errors since the interface exists.
    pub error_total: u64,
    /// Dropped packets since then.
    pub drop_total: u64,
}

impl InterfaceActivity {
    /// The difference of two readings of the kernel's counters.
    pub fn between(before: &KernelValues, after: &KernelValues) -> Self {
        let value = |values: &KernelValues, name: &str| values.get(name).copied().unwrap_or(0);
        let since = |name: &str| value(after, name).saturating_sub(value(before, name));
        Self {
            link_mbit_per_s: after.get("speed").copied().filter(|speed| *speed > 0),
            received_bytes: since("rx_bytes"),
            sent_bytes: since("tx_bytes"),
            error_count: since("rx_errors") + since("tx_errors"),
            drop_count: since("rx_dropped") + since("tx_dropped"),
            error_total: value(after, "rx_errors") + value(after, "tx_errors"),
            drop_total: value(after, "rx_dropped") + value(after, "tx_dropped"),
        }
    }
}

/// Value of `schema` in every document of answers.
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

/// A finding with the field names of this document.
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
