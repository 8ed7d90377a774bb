//! A message of the kernel's log.

use serde::{Deserialize, Serialize};

/// What the kernel said, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelMessage {
    /// When it was logged, in nanoseconds since the start of the measurement: within a second, and mostly far
    /// better. Negative = before it.
    pub at_ns: i64,
    /// The message.
    pub text: String,
}
