//! Mechanisms that make a write durable.

use serde::{Deserialize, Serialize};

/// How writes that had to be durable before they counted as done (`-Sw`) became so on a device,
/// as far as its counters and properties tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The kernel treats the device's cache as off or non-volatile, and hardly ever flushes it.
    NotVolatile,
    /// Each write bypassed the device's cache (FUA); there were hardly any flushes.
    Fua,
    /// Some writes were followed by a flush, the others bypassed the cache (FUA).
    FuaAndFlushes,
    /// About as many flushes as writes.
    FlushPerWrite,
    /// Clearly fewer flushes than writes: one flush made several writes durable.
    SharedFlushes,
    /// Clearly more flushes than writes.
    SeveralFlushesPerWrite,
    /// The device has a volatile cache that was hardly flushed, and no FUA.
    Nothing,
}

impl Durability {
    /// As a clause about writes.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NotVolatile => "the kernel treats the device's cache as off or non-volatile (write through)",
            Self::Fua => "writes used FUA",
            Self::FuaAndFlushes => "some writes were followed by a cache flush, the others used FUA",
            Self::FlushPerWrite => "the device's cache was flushed for each write",
            Self::SharedFlushes => "one cache flush covered several writes",
            Self::SeveralFlushesPerWrite => "the device's cache was flushed more than once per write",
            Self::Nothing => {
                "the writes are not durable: the device's cache is volatile (write back) and was not flushed"
            }
        }
    }
}
