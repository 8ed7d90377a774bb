//! The echo of one target.

use crate::foreign;
use model::engine_kind::EngineKind;
use model::profile::{
    BypassIo, CacheMode, Distribution, FlushMode, IoPriority, Target, Throughput, TimeSpan, WriteSource,
};
use model::units::Bytes;
use report::numbers::{range_bytes, range_start};
use std::io::{self, Write};

/// The I/O mechanism of a target's threads, as far as the echo shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// One I/O at a time: nothing is printed.
    OneAtATime,
    /// An I/O engine.
    Engine(EngineKind),
    /// Windows: completion ports.
    CompletionPorts,
    /// Windows: completion routines.
    CompletionRoutines,
}

impl Mechanism {
    /// The mechanism of the chosen engine.
    pub(crate) const fn from_engine(engine: EngineKind) -> Self {
        if engine.is_one_at_a_time() { Self::OneAtATime } else { Self::Engine(engine) }
    }

    /// The mechanism of a profile if nothing has to be changed.
    pub(crate) fn expected(span: &TimeSpan, target: &Target) -> Self {
        if target.memory_mapped || target.outstanding <= 1 {
            Self::OneAtATime
        } else if span.completion_routines {
            Self::Engine(EngineKind::LinuxAio)
        } else {
            Self::Engine(EngineKind::IoUring)
        }
    }

    /// The mechanism of `DiskSpd` on Windows.
    pub(crate) fn on_windows(span: &TimeSpan, target: &Target) -> Self {
        match (target.outstanding, span.completion_routines) {
            (0 | 1, _) => Self::OneAtATime,
            (_, true) => Self::CompletionRoutines,
            (_, false) => Self::CompletionPorts,
        }
    }
}

/// The system that a profile was run on: it determines the wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    Linux,
    Windows,
}

pub(crate) fn lines(
    out: &mut dyn Write,
    span: &TimeSpan,
    target: &Target,
    mechanism: Mechanism,
    platform: Platform,
) -> io::Result<()> {
    path(out, target)?;
    if let Some(name) = &target.stream {
        writeln!(out, "      stream: {name}")?;
    }
    writeln!(out, "      think time: {}ms", target.think_time_ms.unwrap_or(0))?;
    writeln!(out, "      burst size: {}", target.burst_ios.unwrap_or(0))?;
    caching(out, target, platform)?;
    content(out, target)?;
    if target.parallel {
        writeln!(out, "      using parallel async I/O")?;
    }
    match target.write_percent {
        0 => writeln!(out, "      performing read test")?,
        100 => writeln!(out, "      performing write test")?,
        writes => {
            let reads = 100u32.saturating_sub(writes);
            writeln!(out, "      performing mix test (read/write ratio: {reads}/{writes})")?;
        }
    }
    let shares = target.shares();
    for (label, percent) in [("discards", shares.discard_percent), ("write-zeroes", shares.write_zeroes_percent)] {
        if percent > 0 {
            writeln!(out, "      {label}: {percent}% of all I/Os")?;
        }
    }
    writeln!(out, "      block size: {}", target.block_size)?;
    for (label, sizes) in
        [("sizes", &target.sizes), ("sizes of reads", &target.read_sizes), ("sizes of writes", &target.write_sizes)]
    {
        if let Some(sizes) = sizes {
            writeln!(out, "      {label}: {sizes}")?;
        }
    }
    if let Some(append) = target.append {
        writeln!(out, "      appending to a file per thread: {append}")?;
    }
    pattern(out, target)?;
    depth(out, span, target)?;
    for (label, bytes) in [
        ("base file offset", target.base_offset),
        ("max file size", target.max_offset),
        ("thread stride size", target.thread_stride),
    ] {
        if bytes != Bytes(0) {
            writeln!(out, "      {label}: {bytes}")?;
        }
    }
    hints(out, target, platform)?;
    if span.thread_count == 0 {
        writeln!(out, "      threads per file: {}", target.threads)?;
        if span.io_ring.is_none() {
            self::mechanism(out, mechanism)?;
        }
    }
    let priority = match target.io_priority {
        IoPriority::VeryLow => "very low",
        IoPriority::Low => "low",
        IoPriority::Normal => "normal",
    };
    writeln!(out, "      IO priority: {priority}")?;
    match target.throughput {
        Throughput::Unlimited => {}
        Throughput::BytesPerMs(rate) => writeln!(out, "      throughput rate-limited to {rate} B/ms")?,
        Throughput::Iops(rate) => writeln!(out, "      throughput rate-limited to {rate} IOPS")?,
    }
    target.distribution.as_ref().map_or(Ok(()), |distribution| self::distribution(out, distribution))
}

fn path(out: &mut dyn Write, target: &Target) -> io::Result<()> {
    let bytes = target.path.as_os_str().as_encoded_bytes();
    let (label, shown) = bytes.strip_prefix(b"*").map_or(("path: '", bytes), |name| ("path: template target '", name));
    write!(out, "    {label}")?;
    foreign::write_bytes(out, shown)?;
    writeln!(out, "'")
}

/// The line on the device's cache prints the request: the effect on the device is measured by counters, and is in the
/// results.
fn caching(out: &mut dyn Write, target: &Target, platform: Platform) -> io::Result<()> {
    let software = match target.cache_mode {
        CacheMode::Cached => "using software cache",
        CacheMode::NoLocalCache => "local software cache disabled, remote cache enabled",
        CacheMode::Unbuffered => "software cache disabled",
    };
    writeln!(out, "      {software}")?;
    let hardware = match (target.write_through, platform, target.cache_mode) {
        (false, ..) => "using hardware write cache, writethrough off",
        (true, Platform::Linux, _) if target.memory_mapped => "bypassing the CPU caches, writethrough on",
        (true, Platform::Linux, _) => "asking for durable writes (O_DSYNC), writethrough on",
        (true, Platform::Windows, CacheMode::Unbuffered) => "hardware write cache disabled, writethrough on",
        (true, Platform::Windows, _) => "hardware and software write caches disabled, writethrough on",
    };
    writeln!(out, "      {hardware}")?;
    if target.memory_mapped {
        let flush = match target.flush {
            None => "",
            Some(FlushMode::ViewOfFile) => ", flush mode: FlushViewOfFile",
            Some(FlushMode::NonVolatileMemory) => ", flush mode: FlushNonVolatileMemory",
            Some(FlushMode::NonVolatileMemoryNoDrain) => ", flush mode: FlushNonVolatileMemory with no drain",
        };
        writeln!(out, "      memory mapped I/O enabled{flush}")?;
    }
    match target.bypass_io {
        None => Ok(()),
        Some(BypassIo::Partial) => writeln!(out, "      using BypassIO (allow partial)"),
        Some(BypassIo::Full) => writeln!(out, "      using BypassIO (full bypass)"),
    }
}

fn content(out: &mut dyn Write, target: &Target) -> io::Result<()> {
    if target.zero_write_buffers {
        writeln!(out, "      zeroing write buffers")?;
    }
    let Some(WriteSource { size, file }) = &target.write_source else { return Ok(()) };
    writeln!(out, "      write buffer size: {size}")?;
    match file {
        None => writeln!(out, "      write buffer source: random fill"),
        Some(file) => {
            write!(out, "      write buffer source: '")?;
            foreign::write_path(out, file)?;
            writeln!(out, "'")
        }
    }
}

fn pattern(out: &mut dyn Write, target: &Target) -> io::Result<()> {
    let is_drawn =
        target.sizes_option().is_some() && (target.random_percent == 0 || target.stated_alignment() == Bytes(0));
    let alignment = if is_drawn { "drawn size".to_owned() } else { target.effective_alignment().to_string() };
    match target.random_percent {
        0 if target.interlocked => writeln!(out, "      using interlocked sequential I/O (stride: {alignment})"),
        0 => writeln!(out, "      using sequential I/O (stride: {alignment})"),
        100 => writeln!(out, "      using random I/O (alignment: {alignment})"),
        percent => {
            writeln!(out, "      using mixed random/sequential I/O ({percent}% random) (alignment/stride: {alignment})")
        }
    }
}

fn depth(out: &mut dyn Write, span: &TimeSpan, target: &Target) -> io::Result<()> {
    if span.is_pool_with_requests() {
        writeln!(out, "      relative IO weight in thread pool: {}", target.weight)
    } else {
        writeln!(out, "      number of outstanding I/O operations per thread: {}", target.outstanding)
    }
}

/// The effect of the cache hints; a temporary file has none on Linux.
fn hints(out: &mut dyn Write, target: &Target, platform: Platform) -> io::Result<()> {
    let [sequential, random, temporary] = match platform {
        Platform::Linux => {
            ["using POSIX_FADV_SEQUENTIAL hint", "using POSIX_FADV_RANDOM hint", "temporary file hint has no effect"]
        }
        Platform::Windows => [
            "using FILE_FLAG_SEQUENTIAL_SCAN hint",
            "using FILE_FLAG_RANDOM_ACCESS hint",
            "using FILE_ATTRIBUTE_TEMPORARY hint",
        ],
    };
    for (given, line) in [
        (target.sequential_scan_hint, sequential),
        (target.random_access_hint, random),
        (target.temporary_hint, temporary),
    ] {
        if given {
            writeln!(out, "      {line}")?;
        }
    }
    Ok(())
}

fn mechanism(out: &mut dyn Write, mechanism: Mechanism) -> io::Result<()> {
    match mechanism {
        Mechanism::OneAtATime => Ok(()),
        Mechanism::CompletionPorts => writeln!(out, "      using I/O Completion Ports"),
        Mechanism::CompletionRoutines => {
            writeln!(out, "      using completion routines (ReadFileEx/WriteFileEx)")
        }
        Mechanism::Engine(EngineKind::Null) => writeln!(out, "      using no device (null engine)"),
        Mechanism::Engine(engine) => writeln!(out, "      using {}", engine.name()),
    }
}

/// The list as given, holes and the automatic last range included.
fn distribution(out: &mut dyn Write, distribution: &Distribution) -> io::Result<()> {
    writeln!(out, "      IO Distribution:")?;
    let mut start = 0u64;
    for range in distribution.ranges() {
        let end = start.saturating_add(range.length);
        let io_percent = range.io_percent;
        match distribution {
            Distribution::Percent(_) => {
                writeln!(out, "         {io_percent:3}% of IO => [{start:2}% - {end:3}%) of target")?;
            }
            Distribution::Absolute(_) => {
                let end = if range.length == 0 { "      end".to_owned() } else { range_bytes(end) };
                writeln!(out, "         {io_percent:3}% of IO => [{} - {end})", range_start(start))?;
            }
        }
        start = end;
    }
    Ok(())
}
