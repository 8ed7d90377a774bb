//! Headings under which help lists options.

/// Subject of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Size, bounds, creation and protection of targets.
    Targets,
    /// Durations, other ends, and the seed.
    Timing,
    /// Threads and queue depth.
    Load,
    /// Limits of rates, open loops, pauses.
    Rate,
    /// Offsets and mix of I/Os, and several loads.
    Access,
    /// Caches and how I/O is issued.
    Caching,
    /// Flushes, and data that is verified.
    Durability,
    /// Content of writes.
    WriteBuffers,
    /// Threads to CPUs.
    Affinity,
    /// Statistics and results.
    Output,
    /// Figures during a run.
    Live,
    /// Conditions that decide whether a result is acceptable.
    Acceptance,
    /// One load on several hosts.
    Hosts,
    /// Events.
    Synchronization,
    /// Kernel events.
    EventTracing,
    /// Help, and modes without a run.
    Program,
}

impl Group {
    /// All, in the order of help.
    pub const ALL: [Self; 16] = [
        Self::Targets,
        Self::Timing,
        Self::Load,
        Self::Rate,
        Self::Access,
        Self::Caching,
        Self::Durability,
        Self::WriteBuffers,
        Self::Affinity,
        Self::Output,
        Self::Live,
        Self::Acceptance,
        Self::Hosts,
        Self::Synchronization,
        Self::EventTracing,
        Self::Program,
    ];

    /// The heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Targets => "Targets",
            Self::Timing => "Duration and amount",
            Self::Load => "Threads and queue depth",
            Self::Rate => "Rate and pacing",
            Self::Access => "Access pattern",
            Self::Caching => "Caching and I/O",
            Self::Durability => "Durability and verification",
            Self::WriteBuffers => "Write buffers",
            Self::Affinity => "CPU affinity",
            Self::Output => "Statistics and output",
            Self::Live => "During the run",
            Self::Acceptance => "Acceptance",
            Self::Hosts => "Many hosts",
            Self::Synchronization => "Synchronization",
            Self::EventTracing => "Event tracing",
            Self::Program => "Help and plan",
        }
    }
}
