//! What can go wrong with a device while it is used.

use serde::{Deserialize, Serialize};

/// What the kernel complained of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceFault {
    /// A command did not come back in time.
    Timeout,
    /// The device, its link or its adapter was reset.
    Reset,
    /// The medium could not be read or written.
    MediaError,
    /// A request failed for another reason.
    IoError,
    /// A device or a path to it was taken out of use.
    Dropped,
}

impl DeviceFault {
    /// In words, of several.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Timeout => "timeouts",
            Self::Reset => "resets",
            Self::MediaError => "errors of the medium",
            Self::IoError => "I/O errors",
            Self::Dropped => "devices or paths taken out of use",
        }
    }
}
