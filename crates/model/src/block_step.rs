//! Steps of the requests of a block device, as the kernel reports them.

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// A process asked for it.
    Queued,
    /// The driver got it.
    Issued,
    /// The driver gave it back, to get it again.
    Requeued,
    /// It completed.
    Completed,
}

impl StepKind {
    /// All of them; their numbers are those of the records of programs in the kernel.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Issued, Self::Requeued, Self::Completed];
}

/// One step of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockStep {
    /// The step.
    pub kind: StepKind,
    /// When, in nanoseconds of `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// Major and minor number of the disk.
    pub device: (u32, u32),
    /// First sector of 512 bytes, from the start of the disk.
    pub sector: u64,
    /// Bytes; 0 of flushes.
    pub bytes: u64,
    /// The kernel's letters for its kind: `WS`, `RA`, `FF`.
    pub letters: String,
    /// The process in which the step was made; of completions any.
    pub pid: u32,
    /// Name of its thread.
    pub name: String,
}

/// Steps that a recording lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissedSteps {
    /// Those that found no room in the kernel's buffer.
    pub without_room: u64,
    /// Those of any disk at which the kernel did not run the program that records them.
    pub skipped: u64,
}

impl MissedSteps {
    /// Most that there can be of the recorded requests.
    pub const fn total(self) -> u64 {
        self.without_room.saturating_add(self.skipped)
    }
}
