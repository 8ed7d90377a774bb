//! `-S -h -N -l -x -u -bs -I`: caches, and the I/O method.

use super::row::{Group, Kind, OptionRow, Pass, Repeat, Scope, SinceVersion};
use crate::builder::{Builder, GivenOption};
use crate::number::split_digits;
use model::limits::IO_RING_BATCH_MAX;
use model::profile::{BufferSeparation, BypassIo, CacheMode, FlushMode, IoPriority, IoRingBatch};

const CACHING: OptionRow = OptionRow { group: Group::Caching, ..OptionRow::BASE };

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "-S",
        value: "[bhmruwyY]",
        repeat: Repeat::Accumulates,
        xml: &["DisableOSCache", "DisableLocalCache", "WriteThrough", "MemoryMappedIo", "BypassIO"],
        short: "caching: b cached [default], u unbuffered, w write-through, h both, m mapped, r no local cache, y/Y \
                BypassIO",
        long: "Sets how reads and writes are cached. The letters can be combined in one -S or given in several. b: \
               use the page cache (default). u: unbuffered. w: write-through, that is, a write completes only when it \
               is on stable media. h: the same as uw. m: memory mapped I/O. r: without the local cache of a network \
               file system. y: BypassIO as far as possible; Y: BypassIO, or fail. -S alone means -Su. Only one of b, \
               u, h and r can be given; nor can y and Y, w and h, m and u, or m and h be combined. Each letter can be \
               given only once.",
        since: SinceVersion::DiskSpd("2.0"),
        on_linux: "u opens with O_DIRECT, w with O_DSYNC, h with both.",
        example: "-Suw",
        apply: caching,
        ..CACHING
    },
    OptionRow {
        name: "-h",
        kind: Kind::Flag,
        repeat: Repeat::Error,
        xml: &["DisableOSCache", "WriteThrough"],
        short: "deprecated: use -Sh",
        long: "The same as -Sh: unbuffered and write-through. Kept for command lines of early versions.",
        example: "-h",
        apply: unbuffered_write_through,
        ..CACHING
    },
    OptionRow {
        name: "-N",
        value: "(v|n|i)",
        xml: &["FlushType"],
        short: "flush after each memory mapped write: v view, n nonvolatile memory, i the same without waiting",
        long: "Flushes after each memory mapped write (-Sm). v: flush the view of the file. n: flush nonvolatile \
               memory and wait until it is drained. i: like n, but without waiting. Upper or lower case.",
        since: SinceVersion::DiskSpd("2.0.21"),
        example: "-Nv",
        apply: flush,
        ..CACHING
    },
    OptionRow {
        name: "-l",
        kind: Kind::Flag,
        repeat: Repeat::Harmless,
        xml: &["UseLargePages"],
        short: "I/O buffers in large pages",
        long: "Allocates I/O buffers in large pages. Buffer separation (-bs) then has no effect on them.",
        example: "-l",
        apply: |builder, _| {
            builder.settings().large_pages = true;
            Ok(())
        },
        ..CACHING
    },
    OptionRow {
        name: "-x",
        kind: Kind::Flag,
        repeat: Repeat::Harmless,
        scope: Scope::TimeSpan,
        xml: &["CompletionRoutines"],
        short: "completion routines instead of completion ports",
        long: "Handles completions in callback routines instead of completion ports. Cannot be used with -g, -Sm, -u \
               or -oc.",
        example: "-x",
        apply: |builder, _| {
            builder.span.completion_routines = true;
            Ok(())
        },
        ..CACHING
    },
    OptionRow {
        name: "-u",
        value: "[n][<batch>[p]]",
        scope: Scope::TimeSpan,
        xml: &["IoRing"],
        short: "use IoRing with batches of this many I/Os (p: percent of -o); n: no registered buffers \
                [default 25p]",
        long: "Each thread uses an IoRing and submits its I/Os in batches. The batch size is a number of I/Os or, with \
               p, a percentage of the outstanding I/Os. Buffers are registered with the ring unless n is given. Cannot \
               be used with -x or -Sm.",
        since: SinceVersion::DiskSpd("2.3"),
        example: "-u8",
        apply: io_ring,
        ..CACHING
    },
    OptionRow {
        name: "-bs",
        value: "(n|p)",
        pass: Pass::One,
        scope: Scope::TimeSpan,
        xml: &["BufferSeparation"],
        short: "placement of I/O buffers: p separated for each thread [default], n as allocated",
        long: "p: align every I/O buffer so that no two buffers share a cache line of page-directory entries. n: leave \
               the buffers where the allocator puts them.",
        since: SinceVersion::DiskSpd("2.3"),
        on_linux: "Rejected with -X; DiskSpd ignores it there.",
        example: "-bsn",
        apply: buffer_separation,
        ..CACHING
    },
    OptionRow {
        name: "-I",
        value: "(1|2|3)",
        xml: &["IOPriority"],
        short: "I/O priority: 1 very low, 2 low, 3 normal [default]",
        long: "Priority of every I/O: 1 very low, 2 low, 3 normal.",
        example: "-I3",
        apply: priority,
        ..CACHING
    },
];

fn caching(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let letters = given.value.trim_end();
    if letters.is_empty() {
        return unbuffered(builder, "-S");
    }
    for letter in letters.chars() {
        match letter {
            'b' => set_cache_mode(builder, "b", CacheMode::Cached)?,
            'h' => {
                unbuffered(builder, "h")?;
                write_through(builder, "h")?;
            }
            'm' => memory_mapped(builder)?,
            'r' => set_cache_mode(builder, "r", CacheMode::NoLocalCache)?,
            'u' => unbuffered(builder, "u")?,
            'w' => write_through(builder, "w")?,
            'y' => bypass(builder, BypassIo::Partial)?,
            'Y' => bypass(builder, BypassIo::Full)?,
            _ => return Err(format!("unknown letter '{letter}' (expected: b, h, m, r, u, w, y, Y)")),
        }
    }
    Ok(())
}

fn set_cache_mode(builder: &mut Builder, letter: &str, mode: CacheMode) -> Result<(), String> {
    if builder.seen.cache_mode {
        return Err(format!("'{letter}' conflicts with a cache mode (b, u, h or r) given before"));
    }
    builder.seen.cache_mode = true;
    builder.settings().cache_mode = mode;
    Ok(())
}

fn unbuffered(builder: &mut Builder, letter: &str) -> Result<(), String> {
    if builder.settings().memory_mapped {
        return Err(format!("'{letter}' conflicts with memory mapped I/O (-Sm) given before"));
    }
    set_cache_mode(builder, letter, CacheMode::Unbuffered)
}

fn write_through(builder: &mut Builder, letter: &str) -> Result<(), String> {
    if builder.settings().write_through {
        return Err(format!("'{letter}' conflicts with write-through (w or h) given before"));
    }
    builder.settings().write_through = true;
    Ok(())
}

fn memory_mapped(builder: &mut Builder) -> Result<(), String> {
    let target = builder.settings();
    if target.memory_mapped {
        return Err("'m' can only be given once".to_owned());
    }
    if target.cache_mode == CacheMode::Unbuffered {
        return Err("'m' conflicts with unbuffered I/O (u or h) given before".to_owned());
    }
    target.memory_mapped = true;
    Ok(())
}

fn bypass(builder: &mut Builder, mode: BypassIo) -> Result<(), String> {
    if builder.settings().bypass_io.is_some() {
        return Err("only one of y and Y can be given, and only once".to_owned());
    }
    builder.settings().bypass_io = Some(mode);
    Ok(())
}

/// Memory-mapped I/O given before is left for validation to refuse, as in `DiskSpd`.
fn unbuffered_write_through(builder: &mut Builder, _: &GivenOption<'_>) -> Result<(), String> {
    if builder.seen.cache_mode || builder.settings().write_through {
        return Err("-h cannot be given: an earlier -h or -S has set the cache mode or write-through".to_owned());
    }
    set_cache_mode(builder, "-h", CacheMode::Unbuffered)?;
    write_through(builder, "-h")
}

fn flush(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let mode = match given.value.trim_end() {
        "v" | "V" => FlushMode::ViewOfFile,
        "n" | "N" => FlushMode::NonVolatileMemory,
        "i" | "I" => FlushMode::NonVolatileMemoryNoDrain,
        _ => return Err("-N takes exactly one letter: v, n or i".to_owned()),
    };
    builder.settings().flush = Some(mode);
    Ok(())
}

fn priority(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let priority = match builder.bounded(given, "the I/O priority", 1, 3)? {
        1 => IoPriority::VeryLow,
        2 => IoPriority::Low,
        _ => IoPriority::Normal,
    };
    builder.settings().io_priority = priority;
    Ok(())
}

/// Each `-u` resets whether buffers are registered; the batch changes only if one is given.
fn io_ring(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let value = given.value.trim_end();
    let (registered_buffers, batch) = match value.strip_prefix('n') {
        Some(batch) => (false, batch),
        None => (true, value),
    };
    let batch = if batch.is_empty() { None } else { Some(io_ring_batch(batch)?) };
    let ring = builder.span.io_ring.get_or_insert_default();
    ring.registered_buffers = registered_buffers;
    ring.batch = batch.unwrap_or(ring.batch);
    Ok(())
}

fn io_ring_batch(text: &str) -> Result<IoRingBatch, String> {
    let (digits, unit) = split_digits(text);
    // A number that does not fit is larger than any limit.
    let number = digits.parse().unwrap_or(u32::MAX);
    match unit {
        _ if digits.is_empty() || number == 0 => {
            Err(format!("invalid batch '{text}'; give a number of I/Os from 1 to {IO_RING_BATCH_MAX}, or 1p to 100p"))
        }
        "p" if number > 100 => Err(format!("the batch must be 1 to 100 percent, not {digits}")),
        "p" => Ok(IoRingBatch::Percent(number)),
        "" if number > IO_RING_BATCH_MAX => {
            Err(format!("a batch of {digits} I/Os exceeds the maximum {IO_RING_BATCH_MAX}"))
        }
        "" => Ok(IoRingBatch::Count(number)),
        _ => Err(format!("unexpected '{unit}' after the batch; only p (percent) may follow")),
    }
}

fn buffer_separation(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let separation = match given.value.trim_end() {
        "n" => BufferSeparation::SystemDefault,
        "p" => BufferSeparation::ThreadOptimized,
        _ => return Err("-bs takes exactly one letter: p for separated buffers, n for no separation".to_owned()),
    };
    builder.span.buffer_separation = separation;
    builder.seen.separation = separation == BufferSeparation::ThreadOptimized;
    Ok(())
}
