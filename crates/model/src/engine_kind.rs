//! The ways to do I/O.

use serde::{Deserialize, Serialize};

/// The ways to do I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// `preadv2`/`pwritev2`, one at a time.
    Synchronous,
    /// `io_uring`.
    IoUring,
    /// Linux native AIO (`io_submit`).
    LinuxAio,
    /// Copies to and from mapped targets; nothing else.
    MemoryMapped,
    /// Completes at once without the kernel: measures the tool itself.
    Null,
}

impl EngineKind {
    /// The name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Synchronous => "synchronous I/O",
            Self::IoUring => "io_uring",
            Self::LinuxAio => "Linux AIO",
            Self::MemoryMapped => "memory mapped I/O",
            Self::Null => "null",
        }
    }

    /// Every engine.
    pub const ALL: [Self; 5] = [Self::IoUring, Self::LinuxAio, Self::Synchronous, Self::MemoryMapped, Self::Null];

    /// True if it does one operation after the other, whatever the queue depth.
    pub const fn is_one_at_a_time(self) -> bool {
        matches!(self, Self::Synchronous | Self::MemoryMapped)
    }

    /// True if the kernel takes many operations in one call, each with its own priority.
    pub const fn takes_batches(self) -> bool {
        matches!(self, Self::IoUring | Self::LinuxAio)
    }

    /// The word after `--engine`.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Synchronous => "sync",
            Self::IoUring => "io_uring",
            Self::LinuxAio => "aio",
            Self::MemoryMapped => "mmap",
            Self::Null => "null",
        }
    }
}
