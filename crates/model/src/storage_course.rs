//! Activity of the storage below the targets over a measurement, as the kernel counted it.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A block device below a target over the measurement: requests of all programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceCourse {
    /// The kernel's name.
    pub device: String,
    /// Over the whole measurement.
    pub mean: DeviceFigures,
    /// The highest value of each figure in any step; a last step of less than half the width of the others is left out.
    pub max: DeviceFigures,
    /// Without gaps from the start of the measurement to its end; a step is missing if the device was, or if a counter
    /// went backwards.
    pub steps: Vec<DeviceStep>,
}

/// One step of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceStep {
    /// When its counters were read first, in nanoseconds since the start of the measurement.
    pub start_ns: u64,
    /// When they were read again.
    pub end_ns: u64,
    /// Activity of the device meanwhile.
    pub figures: DeviceFigures,
}

/// Activity of a device in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceFigures {
    /// Reads.
    pub read: DeviceRequests,
    /// Writes.
    pub write: DeviceRequests,
    /// Reads and writes together.
    pub total: DeviceRequests,
    /// Mean number of requests in flight.
    pub queue_depth: f64,
    /// Part of the time with at least one request in flight, in percent.
    pub busy_percent: f64,
}

/// Requests that a device completed in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceRequests {
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean time from the creation of a request to its completion (iostat's await), in nanoseconds; null = there were
    /// none. The kernel reports sums of these times in whole milliseconds.
    pub latency_mean_ns: Option<f64>,
}

/// A cache below the targets over the measurement: I/Os of all programs, as the cache counts them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheFigures {
    /// The kernel's name of the cached device, or `ZFS ARC`.
    pub cache: String,
    /// Reads.
    pub read: CacheHits,
    /// Writes; null = the cache counts none.
    pub write: Option<CacheHits>,
    /// Reads that went past the cache; null = it does not count them.
    pub bypassed_reads: Option<u64>,
}

/// I/Os that a cache served, and those that went to the device behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheHits {
    /// I/Os that it served.
    pub hits: u64,
    /// I/Os that it did not serve.
    pub misses: u64,
    /// Hits of both, in percent; null = there were neither.
    pub hit_percent: Option<f64>,
}

/// A share (NFS, SMB) that targets are on, over the measurement: requests of all programs of this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareCourse {
    /// Where it is mounted.
    #[serde(with = "crate::path::One")]
    pub mount_point: PathBuf,
    /// The mounted source: `server:/export`, `//server/share`.
    pub source: String,
    /// Over the whole measurement.
    pub mean: ShareFigures,
    /// The highest value of each figure in any step; a last step of less than half the width of the others is left out.
    pub max: ShareFigures,
    /// Without gaps from the start of the measurement to its end; a step is missing if the share was unmounted, or if a
    /// counter went backwards.
    pub steps: Vec<ShareStep>,
}

/// One step of a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareStep {
    /// When its counters were read first, in nanoseconds since the start of the measurement.
    pub start_ns: u64,
    /// When they were read again.
    pub end_ns: u64,
    /// Transfers meanwhile.
    pub figures: ShareFigures,
}

/// Transfers from and to a share in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareFigures {
    /// Reads.
    pub read: ShareTransfers,
    /// Writes.
    pub write: ShareTransfers,
    /// Reads and writes together.
    pub total: ShareTransfers,
}

/// Requests to the server of a share that completed in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareTransfers {
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second, of NFS with the headers of the RPCs.
    pub bytes_per_s: f64,
    /// Times of the RPCs; null = the file system does not count them (SMB).
    pub rpc: Option<RpcFigures>,
}

/// Times of RPCs. The kernel reports their sums in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RpcFigures {
    /// Mean time from the creation of an RPC to its completion, in nanoseconds; null = there were none.
    pub execute_mean_ns: Option<f64>,
    /// Mean time that it waited in this machine to be sent.
    pub queue_mean_ns: Option<f64>,
    /// Mean time from sending to the reply: network and server.
    pub round_trip_mean_ns: Option<f64>,
    /// Retransmissions per second.
    pub retransmissions_per_s: f64,
}
