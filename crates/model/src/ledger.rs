//! Bytes requested, and bytes that reached storage.

use crate::operation::Operation;
use serde::{Deserialize, Serialize};

/// Bytes that a timespan transferred, and bytes that each level of storage below it counted from the start of the
/// measurement to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ledger {
    /// Bytes requested and bytes that reached storage, by operation, use of caches and storage.
    pub accounts: Vec<Account>,
    /// Bytes that each level counted, of all programs: this program first, the lowest devices last.
    pub levels: Vec<Level>,
}

/// Reads or writes of one kind on one storage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Account {
    /// Read or write.
    pub operation: Operation,
    /// Use of caches: states if these I/Os were to reach the device before they completed.
    pub cache_use: CacheUse,
    /// The devices directly below the targets, the share, or the kind of file system.
    pub storage: String,
    /// Indices of the targets in the timespan.
    pub targets: Vec<usize>,
    /// Bytes that the program transferred.
    pub asked_bytes: u64,
    /// How many of these can have reached storage, at most: bytes that cannot be told from those of this run are
    /// counted as its own. Null = nothing below counts bytes.
    pub reached_bytes: Option<u64>,
    /// The same in percent of the bytes that the program transferred.
    pub reached_percent: Option<f64>,
    /// The level that counted the fewest; empty = unknown.
    pub level: String,
    /// True if the counters reach down to devices, or to the server of a share. False: `reached_bytes` is what an upper
    /// level counted, and a cache below it is unknown.
    pub is_complete: bool,
    /// True if the bytes that other programs read from the device are known and are not in `reached_bytes`.
    pub without_others: bool,
    /// Growth of the data that the page cache still had to write to the targets, from the start to the end; null =
    /// unknown, or these I/Os leave none.
    pub dirty_left_bytes: Option<u64>,
}

/// Use of caches: states if I/Os were to reach the device before they complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheUse {
    /// They bypass the page cache (`O_DIRECT`).
    Direct,
    /// Writes go through the page cache to the device (`O_DSYNC`).
    WriteThrough,
    /// The page cache may serve or keep them, as a mapping does.
    #[default]
    Cached,
}

/// Bytes at one level, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// `program`, `kernel`, the source of a share, or the kernel's name of a device.
    pub name: String,
    /// `program`; `kernel` (what it fetched and was left to write for this process); `share`; or the kind of device.
    pub kind: String,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes of these that other programs read, at least; null = unknown.
    pub other_read_bytes: Option<u64>,
    /// Bytes that other programs wrote, at their own level; null = unknown.
    pub other_write_bytes: Option<u64>,
    /// Data of the targets that the page cache still had to write at the end; null = unknown, or no such level.
    pub dirty_left_bytes: Option<u64>,
}

impl Account {
    /// Cache use and operation, in two words.
    pub const fn words(&self) -> &'static str {
        match (self.operation, self.cache_use) {
            (Operation::Read, CacheUse::Direct) => "direct reads",
            (Operation::Read, _) => "cached reads",
            (_, CacheUse::Direct) => "direct writes",
            (_, CacheUse::WriteThrough) => "write-through writes",
            (_, CacheUse::Cached) => "cached writes",
        }
    }
}
