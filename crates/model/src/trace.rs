//! Figures of a trace of block I/O.

/// First bytes of an `.iotrace`. The first is not ASCII, and the last two are changed by conversions of line ends.
pub const TRACE_MAGIC: [u8; 8] = *b"\x89iotrc\r\n";

/// The schema of the output of `trace show --json`.
pub const TRACE_SCHEMA: &str = "diskspd-trace";

/// Its version.
pub const TRACE_SCHEMA_VERSION: u32 = 1;
