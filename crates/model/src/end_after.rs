//! What ends a timespan before its time.

use serde::{Deserialize, Serialize};
use std::fmt;

/// When a timespan ends before its time; `None` = this does not end it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndAfter {
    /// `--max-ios`: so many I/Os were measured, by all threads together.
    pub ios: Option<u64>,
    /// `--max-bytes`: the next I/O would bring the measured bytes above this.
    pub bytes: Option<u64>,
    /// `--max-write`: the next write would bring the bytes written, warm-up included, above this.
    pub written_bytes: Option<u64>,
}

impl fmt::Display for EndAfter {
    /// As options: `--max-ios=1000, --max-write=1048576`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = [("--max-ios", self.ios), ("--max-bytes", self.bytes), ("--max-write", self.written_bytes)];
        let given = limits.iter().filter_map(|(option, limit)| limit.map(|limit| format!("{option}={limit}")));
        f.write_str(&given.collect::<Vec<_>>().join(", "))
    }
}
