//! The kernel's own counters, read before and after a measurement.

use crate::machine_counters::MachineCounters;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelCounters {
    /// Of block devices, by the kernel's name.
    pub devices: BTreeMap<String, DeviceCounters>,
    /// Of this process.
    pub process: Option<ProcessCounters>,
    /// Counters of caches below the targets: that of ZFS in memory, and those of bcache and dm-cache devices, by the
    /// kernel's name.
    #[serde(default)]
    pub caches: BTreeMap<String, CacheCounters>,
    /// Of network file systems that targets are on (NFS, SMB).
    #[serde(default)]
    pub shares: Vec<ShareCounters>,
    /// Data that the page cache of the whole machine still had to write.
    #[serde(default)]
    pub dirty: Option<DirtyMemory>,
    /// The same for the ranges of the targets that are written through the page cache; `None` = there are none, or the
    /// kernel does not report it (before Linux 6.5).
    #[serde(default)]
    pub dirty_of_targets: Option<DirtyMemory>,
    /// Counters of the CPU limits of this process's cgroups.
    #[serde(default)]
    pub cpu_limit: Option<CpuLimitCounters>,
    /// Frequency and throttling of the CPUs that threads run on; empty if the kernel does not report them.
    #[serde(default)]
    pub cpus: Vec<CpuCounters>,
    /// Bytes of other programs; `None` = they cannot be known.
    #[serde(default)]
    pub others: Option<OtherBytes>,
    /// CPU time outside this program; `None` = it is not known.
    #[serde(default)]
    pub other_cpu: Option<OtherCpuTime>,
    /// Counters of the machine, if requested (`-e`).
    #[serde(default)]
    pub machine: Option<MachineCounters>,
}

/// The kernel's counters at the two ends of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelCountersAround {
    /// When it began.
    pub before: KernelCounters,
    /// When it ended.
    pub after: KernelCounters,
}

impl KernelCounters {
    /// Counts since `before`; devices that one of the two lacks are left out. Values that are not counts are those of
    /// now.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let difference = |(name, now): (&String, &DeviceCounters)| {
            before.devices.get(name).map(|then| (name.clone(), now.since(then)))
        };
        let of_cache = |(name, now): (&String, &CacheCounters)| {
            before.caches.get(name).map(|then| (name.clone(), now.since(then)))
        };
        let of_share = |now: &ShareCounters| Some(now.since(now.find_in(&before.shares)?));
        let of_cpu = |now: &CpuCounters| Some(now.since(before.cpus.iter().find(|then| then.cpu == now.cpu)?));
        Self {
            devices: self.devices.iter().filter_map(difference).collect(),
            caches: self.caches.iter().filter_map(of_cache).collect(),
            shares: self.shares.iter().filter_map(of_share).collect(),
            process: self.process.zip(before.process).map(|(now, then)| now.since(&then)),
            dirty: self.dirty,
            dirty_of_targets: self.dirty_of_targets,
            cpu_limit: self.cpu_limit.zip(before.cpu_limit).map(|(now, then)| now.since(&then)),
            cpus: self.cpus.iter().filter_map(of_cpu).collect(),
            others: self.others.as_ref().zip(before.others.as_ref()).and_then(|(now, then)| now.since(then)),
            other_cpu: self.other_cpu.zip(before.other_cpu).map(|(now, then)| now.since(&then)),
            machine: self.machine.zip(before.machine).map(|(now, then)| now.since(&then)),
        }
    }
}

/// CPU time that was used outside this program so far, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherCpuTime {
    /// By other programs, in their own code and in the kernel, with those that ended as far as their parents count them.
    pub programs_ms: u64,
    /// By the kernel's own threads, which complete and write back I/Os of all programs, this one's included.
    pub kernel_threads_ms: u64,
    /// In interrupts and what follows them (`irq` and `softirq` in /proc/stat), whomever they are for.
    pub interrupts_ms: u64,
}

impl OtherCpuTime {
    fn since(self, before: &Self) -> Self {
        Self {
            programs_ms: self.programs_ms.saturating_sub(before.programs_ms),
            kernel_threads_ms: self.kernel_threads_ms.saturating_sub(before.kernel_threads_ms),
            interrupts_ms: self.interrupts_ms.saturating_sub(before.interrupts_ms),
        }
    }
}

/// Bytes that programs other than this one had transferred so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherBytes {
    /// Fetched from block devices for them (`read_bytes` of all other processes, those that ended included as far as
    /// their parents count them).
    pub read_bytes: u64,
    /// Written for them, or left to the page cache to write (`write_bytes` without `cancelled_write_bytes`).
    pub write_bytes: u64,
    /// Bytes read from each block device that no target stands on and that has no device below it, by the kernel's name.
    pub elsewhere_read_bytes: BTreeMap<String, u64>,
    /// Bytes read from all these devices and those of the targets while the processes were looked at: they may be among
    /// the bytes of one side and not yet of the other.
    pub meanwhile_read_bytes: u64,
}

impl OtherBytes {
    /// Counts since `before`; `None` if a device came, went or restarted its counters.
    fn since(&self, before: &Self) -> Option<Self> {
        let elsewhere = |(name, now): (&String, &u64)| {
            let then = before.elsewhere_read_bytes.get(name)?;
            Some((name.clone(), now.checked_sub(*then)?))
        };
        let is_same = self.elsewhere_read_bytes.len() == before.elsewhere_read_bytes.len();
        Some(Self {
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(before.write_bytes),
            elsewhere_read_bytes: self.elsewhere_read_bytes.iter().map(elsewhere).collect::<Option<_>>()?,
            meanwhile_read_bytes: self.meanwhile_read_bytes.saturating_add(before.meanwhile_read_bytes),
        })
        .filter(|_| is_same)
    }

    /// Bytes that other programs read from devices of the targets, at least.
    #[must_use]
    pub fn least_read_bytes(&self) -> u64 {
        let elsewhere = self.elsewhere_read_bytes.values().fold(self.meanwhile_read_bytes, |a, b| a.saturating_add(*b));
        self.read_bytes.saturating_sub(elsewhere)
    }
}

/// Requests of one kind that a device completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestCounters {
    /// Requests completed.
    pub count: u64,
    /// Requests that were merged into others before they were passed on.
    pub merged_count: u64,
    /// Bytes transferred or discarded.
    pub bytes: u64,
    /// Sum of the times that requests took, in milliseconds.
    pub time_ms: u64,
}

impl RequestCounters {
    fn since(&self, before: &Self) -> Self {
        Self {
            count: self.count.saturating_sub(before.count),
            merged_count: self.merged_count.saturating_sub(before.merged_count),
            bytes: self.bytes.saturating_sub(before.bytes),
            time_ms: self.time_ms.saturating_sub(before.time_ms),
        }
    }
}

/// Counters of a block device since it was detected. The kernel rounds times of single requests down (to milliseconds
/// before Linux 5.0), and lets counters wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceCounters {
    /// Reads.
    pub read: RequestCounters,
    /// Writes.
    pub write: RequestCounters,
    /// Discards; `None` before Linux 4.18.
    pub discard: Option<RequestCounters>,
    /// Flushes, which have no size and are not merged; `None` before Linux 5.5.
    pub flush: Option<FlushCounters>,
    /// Requests in flight at this moment.
    pub in_flight_count: u64,
    /// Time with at least one request in flight, in milliseconds.
    pub busy_ms: u64,
    /// Time weighted by the number of requests in flight, in milliseconds.
    pub queue_time_ms: u64,
}

impl DeviceCounters {
    /// Counts since `before`; requests in flight are those of now.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            read: self.read.since(&before.read),
            write: self.write.since(&before.write),
            discard: self.discard.zip(before.discard).map(|(now, then)| now.since(&then)),
            flush: self.flush.zip(before.flush).map(|(now, then)| FlushCounters {
                count: now.count.saturating_sub(then.count),
                time_ms: now.time_ms.saturating_sub(then.time_ms),
            }),
            in_flight_count: self.in_flight_count,
            busy_ms: self.busy_ms.saturating_sub(before.busy_ms),
            queue_time_ms: self.queue_time_ms.saturating_sub(before.queue_time_ms),
        }
    }
}

/// Flushes of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlushCounters {
    /// Flushes completed.
    pub count: u64,
    /// Sum of the times that they took, in milliseconds.
    pub time_ms: u64,
}

/// Name of the cache of all ZFS pools in memory in [`KernelCounters::caches`].
pub const ZFS_CACHE: &str = "ZFS ARC";

/// Reads that came to a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheCounters {
    /// Those that it served.
    pub read_hits: u64,
    /// Misses, and reads ahead of demand.
    pub read_misses: u64,
    /// Writes to blocks that it holds; `None` = it counts no writes.
    #[serde(default)]
    pub write_hits: Option<u64>,
    /// Writes to other blocks.
    #[serde(default)]
    pub write_misses: Option<u64>,
    /// Reads that went past it, such as sequential ones; `None` = it does not count them.
    #[serde(default)]
    pub bypassed_reads: Option<u64>,
}

impl CacheCounters {
    /// Counts since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let count = |now: Option<u64>, then: Option<u64>| now.zip(then).map(|(now, then)| now.saturating_sub(then));
        Self {
            read_hits: self.read_hits.saturating_sub(before.read_hits),
            read_misses: self.read_misses.saturating_sub(before.read_misses),
            write_hits: count(self.write_hits, before.write_hits),
            write_misses: count(self.write_misses, before.write_misses),
            bypassed_reads: count(self.bypassed_reads, before.bypassed_reads),
        }
    }
}

/// Transfers of a mounted share since it was mounted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareCounters {
    /// Where it is mounted.
    #[serde(with = "crate::path::One")]
    pub mount_point: PathBuf,
    /// The mounted source: `server:/export`, `//server/share`.
    pub source: String,
    /// Requests to read.
    pub read: TransferCounters,
    /// Requests to write.
    pub write: TransferCounters,
}

impl ShareCounters {
    /// The same share in another reading.
    pub fn find_in<'a>(&self, reading: &'a [Self]) -> Option<&'a Self> {
        reading.iter().find(|other| other.mount_point == self.mount_point && other.source == self.source)
    }

    /// Counts since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self { read: self.read.since(&before.read), write: self.write.since(&before.write), ..self.clone() }
    }

    /// True if a counter is less than it was: the share was mounted again.
    pub fn went_backwards(&self, before: &Self) -> bool {
        self.read.went_backwards(&before.read) || self.write.went_backwards(&before.write)
    }
}

/// Requests of one kind to the server of a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransferCounters {
    /// Requests completed.
    pub count: u64,
    /// Bytes transferred, of NFS with the headers of the RPCs.
    pub bytes: u64,
    /// Counters of the RPC client (NFS); null = the file system does not count them (SMB).
    pub rpc: Option<RpcCounters>,
}

impl TransferCounters {
    fn since(&self, before: &Self) -> Self {
        Self {
            count: self.count.saturating_sub(before.count),
            bytes: self.bytes.saturating_sub(before.bytes),
            rpc: self.rpc.zip(before.rpc).map(|(now, then)| now.since(&then)),
        }
    }

    fn went_backwards(&self, before: &Self) -> bool {
        let rpcs = self.rpc.zip(before.rpc);
        self.count < before.count
            || self.bytes < before.bytes
            || rpcs.is_some_and(|(now, then)| now.went_backwards(&then))
    }

    /// Both together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            bytes: self.bytes.saturating_add(other.bytes),
            rpc: self.rpc.zip(other.rpc).map(|(one, another)| one.and(&another)),
        }
    }
}

/// Counters of the RPC client for one kind of request. Sums of times are in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RpcCounters {
    /// Transmissions: more than requests if some were retransmitted.
    pub transmission_count: u64,
    /// Requests that the server did not answer in time (major timeouts).
    pub timeout_count: u64,
    /// Time that requests waited in this machine to be sent, in milliseconds.
    pub queue_ms: u64,
    /// Time from sending to the reply, in milliseconds.
    pub round_trip_ms: u64,
    /// Time from the creation of requests to their completion, in milliseconds.
    pub execute_ms: u64,
}

impl RpcCounters {
    fn since(&self, before: &Self) -> Self {
        self.each(before, u64::saturating_sub)
    }

    fn and(&self, other: &Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    fn each(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            transmission_count: of(self.transmission_count, other.transmission_count),
            timeout_count: of(self.timeout_count, other.timeout_count),
            queue_ms: of(self.queue_ms, other.queue_ms),
            round_trip_ms: of(self.round_trip_ms, other.round_trip_ms),
            execute_ms: of(self.execute_ms, other.execute_ms),
        }
    }

    fn went_backwards(&self, before: &Self) -> bool {
        self.transmission_count < before.transmission_count || self.execute_ms < before.execute_ms
    }
}

/// Memory whose contents are not on storage yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirtyMemory {
    /// Waiting to be written (`Dirty`).
    pub dirty_bytes: u64,
    /// Being written (`Writeback`).
    pub writeback_bytes: u64,
}

impl DirtyMemory {
    /// Both together.
    pub const fn total_bytes(self) -> u64 {
        self.dirty_bytes.saturating_add(self.writeback_bytes)
    }
}

/// Effect of CPU limits on this process's cgroups: the counters of the one that was throttled most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuLimitCounters {
    /// Periods in which it was throttled (`nr_throttled`).
    pub throttled_count: u64,
    /// Total time for which it was throttled, summed over CPUs (`throttled_usec`, `throttled_time`), in microseconds.
    pub throttled_us: u64,
}

impl CpuLimitCounters {
    fn since(&self, before: &Self) -> Self {
        Self {
            throttled_count: self.throttled_count.saturating_sub(before.throttled_count),
            throttled_us: self.throttled_us.saturating_sub(before.throttled_us),
        }
    }
}

/// A CPU: how fast it runs, and how often heat made it slower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuCounters {
    /// Its number.
    pub cpu: u32,
    /// Its clock at this moment (`scaling_cur_freq`), in kHz; `None` = unknown.
    pub clock_khz: Option<u64>,
    /// Number of times that its core was thermally throttled (`core_throttle_count`); `None` = unknown.
    pub core_throttled_count: Option<u64>,
    /// The same for its package (`package_throttle_count`).
    pub package_throttled_count: Option<u64>,
}

impl CpuCounters {
    fn since(&self, before: &Self) -> Self {
        let risen = |now: Option<u64>, then: Option<u64>| now.zip(then).map(|(now, then)| now.saturating_sub(then));
        Self {
            core_throttled_count: risen(self.core_throttled_count, before.core_throttled_count),
            package_throttled_count: risen(self.package_throttled_count, before.package_throttled_count),
            ..*self
        }
    }
}

/// Activity of this process since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessCounters {
    /// Bytes that system calls read, from the cache or from storage (`rchar`).
    pub read_call_bytes: u64,
    /// Bytes that system calls wrote (`wchar`).
    pub write_call_bytes: u64,
    /// System calls that read (`syscr`).
    pub read_call_count: u64,
    /// System calls that wrote (`syscw`).
    pub write_call_count: u64,
    /// Bytes that were fetched from storage (`read_bytes`).
    pub storage_read_bytes: u64,
    /// Bytes written to storage, or still to be written from the cache (`write_bytes`).
    pub storage_write_bytes: u64,
    /// Bytes of these that were not written after all, because the file was truncated (`cancelled_write_bytes`).
    pub cancelled_write_bytes: u64,
    /// CPU time of all its threads, in milliseconds; `None` = unknown.
    #[serde(default)]
    pub cpu_time_ms: Option<u64>,
    /// How much of it was in its own code, not in the kernel, in milliseconds; `None` = unknown.
    #[serde(default)]
    pub user_time_ms: Option<u64>,
}

impl ProcessCounters {
    /// Counts since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let spent = |now: Option<u64>, then: Option<u64>| now.zip(then).map(|(now, then)| now.saturating_sub(then));
        Self {
            read_call_bytes: self.read_call_bytes.saturating_sub(before.read_call_bytes),
            write_call_bytes: self.write_call_bytes.saturating_sub(before.write_call_bytes),
            read_call_count: self.read_call_count.saturating_sub(before.read_call_count),
            write_call_count: self.write_call_count.saturating_sub(before.write_call_count),
            storage_read_bytes: self.storage_read_bytes.saturating_sub(before.storage_read_bytes),
            storage_write_bytes: self.storage_write_bytes.saturating_sub(before.storage_write_bytes),
            cancelled_write_bytes: self.cancelled_write_bytes.saturating_sub(before.cancelled_write_bytes),
            cpu_time_ms: spent(self.cpu_time_ms, before.cpu_time_ms),
            user_time_ms: spent(self.user_time_ms, before.user_time_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_covers_what_both_moments_know() {
        let counters = |count, flush| DeviceCounters {
            read: RequestCounters { count, ..RequestCounters::default() },
            flush,
            in_flight_count: count,
            ..DeviceCounters::default()
        };
        let moment = |devices: &[(&str, DeviceCounters)]| KernelCounters {
            devices: devices.iter().map(|(name, counters)| ((*name).to_owned(), *counters)).collect(),
            ..KernelCounters::default()
        };
        let before = moment(&[("sda", counters(5, None)), ("sdb", counters(9, None))]);
        let after = moment(&[("sda", counters(12, Some(FlushCounters::default()))), ("sdc", counters(1, None))]);
        let difference = after.since(&before);
        assert_eq!(difference.devices.keys().collect::<Vec<_>>(), ["sda"]);
        let sda = &difference.devices["sda"];
        assert_eq!((sda.read.count, sda.flush, sda.in_flight_count), (7, None, 12));
    }
}
