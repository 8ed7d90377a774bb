//! How targets are opened.

use crate::profile::{CacheMode, Target, TimeSpan};
use serde::{Deserialize, Serialize};

/// How a target is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenPlan {
    /// Open for reading.
    pub read: bool,
    /// Open for writing.
    pub write: bool,
    /// `O_DIRECT`.
    pub direct: bool,
    /// `O_DSYNC`.
    pub write_through: bool,
    /// `POSIX_FADV_SEQUENTIAL` (`-fs`).
    pub advise_sequential: bool,
    /// `POSIX_FADV_RANDOM` (`-fr`).
    pub advise_random: bool,
    /// Without `O_NOATIME` (`--atime`).
    #[serde(default)]
    pub access_times: bool,
}

impl OpenPlan {
    /// How a timespan opens one of its targets.
    pub fn new(span: &TimeSpan, target: &Target) -> Self {
        Self {
            // A mapping must be readable to be written.
            read: target.reads() || target.memory_mapped,
            write: target.writes(),
            // A mapping goes through the page cache whatever the descriptor's flags.
            direct: target.cache_mode != CacheMode::Cached && !target.memory_mapped,
            write_through: target.write_through && !target.memory_mapped,
            advise_sequential: target.sequential_scan_hint,
            advise_random: target.random_access_hint,
            access_times: span.access_times,
        }
    }

    /// True if writes end in the page cache, from where the kernel writes them later.
    pub const fn is_written_back(&self) -> bool {
        !self.direct && !self.write_through
    }
}
