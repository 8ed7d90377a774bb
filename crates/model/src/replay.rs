//! Replays of traces: the recorded load, and the changes to its requests.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A trace whose requests are issued in place of generated ones (`diskspd trace replay`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replay {
    /// The trace.
    #[serde(with = "crate::path::One")]
    pub trace: PathBuf,
    /// `--closed`: in order, as soon as the depth allows; otherwise at the times of the trace.
    pub closed: bool,
    /// `--scale-offsets`: offsets in proportion to the size of the target; otherwise those beyond its end are folded.
    pub scale_offsets: bool,
    /// `--discards`: discards are issued too.
    pub discards: bool,
    /// Begin of each device of the trace, in bytes: they follow each other.
    pub device_begins_bytes: Vec<u64>,
    /// The requests of the trace.
    pub recorded: RecordedLoad,
}

/// Figures of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedLoad {
    /// From the first issue to the last, in nanoseconds.
    pub span_ns: u64,
    /// The end of the last byte that a request touches; several devices follow each other.
    pub end_bytes: u64,
    /// Size of the largest read or write in bytes; larger ones than
    /// [`PIECE_BYTES_MAX`] are issued in pieces.
    pub largest_bytes: u64,
    /// Most requests outstanding; null = the trace has no completions.
    pub depth_max: Option<u32>,
    /// Reads.
    pub read: RecordedRequests,
    /// Writes.
    pub write: RecordedRequests,
    /// Discards.
    pub discard: RecordedRequests,
    /// Write-zeroes.
    pub write_zeroes: RecordedRequests,
    /// Flushes of both kinds.
    pub flush: RecordedRequests,
}

impl RecordedLoad {
    /// All requests.
    pub const fn count(&self) -> u64 {
        let Self { read, write, discard, write_zeroes, flush, .. } = self;
        let changes = write.count.saturating_add(discard.count).saturating_add(write_zeroes.count);
        read.count.saturating_add(changes).saturating_add(flush.count)
    }
}

/// Requests of one kind in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedRequests {
    /// Number.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Their latencies; null = the trace has no completions of them.
    pub latency: Option<RecordedLatency>,
}

/// Recorded latencies, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedLatency {
    /// Mean.
    pub mean_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Longest.
    pub max_ns: u64,
}

/// Most bytes of a read or write of a replay: larger ones are issued in pieces.
pub const PIECE_BYTES_MAX: u64 = 64 << 20;

/// Most bytes of any request of a replay, discards included.
pub const REQUEST_BYTES_MAX: u64 = 1 << 30;

/// Lateness in nanoseconds above which a start counts as late.
pub const LATE_NS: u64 = 100_000;
/// Lateness in nanoseconds above which a start counts as very late.
pub const VERY_LATE_NS: u64 = 1_000_000;

/// Requests that a replay made of those of its trace, and those that were changed or left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayChanges {
    /// Requests to be issued that were made of those of the trace, with flushes and pieces.
    pub made: u64,
    /// Requests of the trace that were not read, as the run had ended.
    pub unread: u64,
    /// Requests beyond the end of the target, issued at an offset inside it.
    pub folded: u64,
    /// Requests with an offset in proportion to the size of the target.
    pub scaled: u64,
    /// Requests extended to the alignment that the target needs.
    pub aligned: u64,
    /// Requests issued in pieces.
    pub split: u64,
    /// Flushes issued for writes that the trace marks as preceded by one.
    pub flushes_before_writes: u64,
    /// Discards left out, as `--discards` was not given.
    pub discards_left_out: u64,
    /// Requests without bytes, left out.
    pub empty_left_out: u64,
    /// Parts of the trace that could not be read.
    pub losses: u64,
}
