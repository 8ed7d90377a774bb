//! Messages of the kernel's log, and the device faults that they report.

use serde::{Deserialize, Serialize};

/// A kernel message and its time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelMessage {
    /// When it was logged, in nanoseconds since the start of the measurement, accurate to within a second and mostly
    /// far better. Negative = before it.
    pub at_ns: i64,
    /// The message.
    pub text: String,
}

/// Kind of device fault in the kernel log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceFault {
    /// A command timed out.
    Timeout,
    /// The device, its link or its adapter was reset.
    Reset,
    /// The medium could not be read or written.
    MediaError,
    /// A request failed for another reason.
    IoError,
    /// A device or a path to it was taken out of service.
    Dropped,
}

impl DeviceFault {
    /// Plural phrase for messages.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Timeout => "timeouts",
            Self::Reset => "resets",
            Self::MediaError => "media errors",
            Self::IoError => "I/O errors",
            Self::Dropped => "device or path losses",
        }
    }
}
