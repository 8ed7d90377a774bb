//! Every maximum in one place, so that errors name the limit.

/// Largest block size: one below 2^32 - 1, which `DiskSpd` reserves.
pub const BLOCK_SIZE_BYTES_MAX: u64 = 0xFFFF_FFFE;

/// Most bytes that Linux transfers in one I/O (`MAX_RW_COUNT` with pages of 4 KiB): 2 GiB - 4 KiB.
pub const TRANSFER_BYTES_MAX: u64 = 0x7FFF_F000;

/// Most bytes that a path has (`PATH_MAX` without its end).
pub const PATH_BYTES_MAX: usize = 4095;

/// Most requests outstanding per thread, or per thread and target (`-o`, `-O`).
pub const OUTSTANDING_MAX: u32 = 65_536;

/// Bytes that an engine keeps of a request at most: what it does, prepared for each kind of I/O.
pub const PREPARED_BYTES: u64 = 272;

/// Bytes that a thread keeps of a target at most: its counters, and how its offsets are drawn. Tables and lists, which it
/// has as it needs them, are not among them.
pub const ROW_BYTES: u64 = 2048;

/// Most completions taken per dequeue call (`-oc`).
pub const COMPLETION_DEPTH_MAX: u32 = 16;

/// Largest batch of `-u<n>`.
pub const IO_RING_BATCH_MAX: u32 = 65_536;

/// CPUs per processor group: the width of a mask.
pub const CPUS_PER_GROUP: u32 = 64;

/// Largest processor group number.
pub const GROUP_MAX: u32 = 65_535;

/// Most worker threads in one timespan. Above it the machine runs out of process ids and stacks
/// long before anything is measured.
pub const THREADS_MAX: u32 = 65_536;

/// Most targets in one timespan.
pub const TARGETS_MAX: usize = 65_536;

/// Most intervals of `-D` kept per thread and target.
pub const INTERVALS_MAX: u64 = 16_777_216;

/// Width in nanoseconds of the cells of the series of counts, in a run that is not too long.
pub const SERIES_WIDTH_NS: u64 = 100_000_000;

/// Most cells of the series of counts: 7 hours of 100 ms.
pub const SERIES_CELLS_MAX: u64 = 262_144;

/// Most cells of the series in a result: above, its cells are twice as wide until they are few enough.
pub const RESULT_SERIES_MAX: usize = 10_000;

/// Most sections of a measurement with a latency histogram of their own.
pub const SECTIONS_MAX: u64 = 200_000;

/// Sections of a measurement with `-L` and without `-D`: batches enough for confidence intervals.
pub const SECTIONS_WITHOUT_INTERVALS: u64 = 20;

/// Shortest time in nanoseconds between two readings of the kernel's counters during a measurement.
pub const COUNTER_STEP_NS_MIN: u64 = 100_000_000;

/// Most readings of the kernel's counters in one measurement.
pub const COUNTER_READINGS_MAX: u64 = 2_000;

/// Most counters of one device or share in these readings together, where there are many devices.
pub const STORAGE_COUNTERS_MAX: u64 = 65_536;

/// Words of a thread's queue of closed sections: the largest section fits in, and some dozen usual ones.
pub const SECTION_QUEUE_WORDS: usize = 40_960;

/// Most sizes of a mix of sizes (`--sizes`).
pub const SIZES_MAX: usize = 16;

/// The most writes between two flushes (`--fdatasync-every`) of which each is timed until its flush has ended.
pub const COMMIT_WRITES_MAX: u32 = 65_536;

/// Bytes that a thread keeps of such a write.
pub const UNCOMMITTED_BYTES: u64 = 24;

/// Writes of a thread that wait for a flush at most: those that ended in the warm-up do not count for the first flush of the
/// measurement, and all requests may end after the write that makes a flush due.
pub const fn uncommitted_max(after_writes: u32, slots: u32) -> u64 {
    if after_writes > COMMIT_WRITES_MAX { 0 } else { 2 * (after_writes as u64 + slots as u64) }
}

/// The slowest I/Os of a measurement that are kept, of each thread and of all.
pub const SLOWEST_IOS: usize = 100;

/// Most kernel messages that are reported with them.
pub const KERNEL_MESSAGES: usize = 100;

/// Share of the available memory that a plan may use, in percent.
pub const MEMORY_PERCENT_MAX: u64 = 90;

/// Largest XML profile that is read. A profile of a thousand targets has a tenth of it.
pub const PROFILE_BYTES_MAX: usize = 8 << 20;

/// Deepest nesting of elements in an XML profile; the format itself needs 9.
pub const PROFILE_DEPTH_MAX: usize = 32;

/// Most attributes of one element of an XML profile; the format itself has 2.
pub const PROFILE_ATTRIBUTES_MAX: usize = 16;

/// Most faults of one XML profile that are listed.
pub const PROFILE_FAULTS_MAX: usize = 100;

/// Most points of a sweep, and most values of one of its options.
pub const SWEEP_POINTS_MAX: usize = 1024;

/// Most runs of one point of a sweep, and of a repeat.
pub const RUNS_MAX: u32 = 1000;

const _: () = assert!(CPUS_PER_GROUP == u64::BITS);
