//! The I/Os of a target, in words.

use super::{counted, size};
use crate::quantity::grouped;
use model::engine_kind::EngineKind;
use model::operation::Operation;
use model::plan::OpenPlan;
use model::profile::{Append, CacheMode, Distribution, FlushMode, Reduction, Rotation, Target, Throughput, TimeSpan};
use model::replay::Replay;
use model::units::Bytes;

/// Ranges of a distribution that are written out; of more only their number.
const RANGES_MAX: usize = 3;

/// The I/Os of a target, without their depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IoWords {
    /// `8 KiB random 70/30 read/write`
    pub(crate) access: String,
    /// `O_DIRECT + O_DSYNC`
    pub(crate) caches: String,
    /// `zeros`
    pub(crate) content: Option<String>,
    /// `at most 500 IOPS per thread`
    pub(crate) limit: Option<String>,
}

pub(crate) fn words(span: &TimeSpan, target: &Target, is_windows: bool) -> IoWords {
    IoWords {
        access: match (&span.replay, target.append) {
            (Some(replay), _) => replayed(replay),
            (None, Some(append)) => format!("{} {}", sizes(target), appended(append)),
            (None, None) => format!("{} {} {}", sizes(target), pattern(target), mix(target)),
        },
        caches: caches(span, target, is_windows),
        content: content(span, target),
        limit: limit(span, target),
    }
}

/// The I/Os of a target in columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IoParts {
    /// The one block size; `None` = several.
    pub(crate) block_bytes: Option<u64>,
    /// `random`, `append (file per thread, truncated at 1 GiB)`
    pub(crate) pattern: String,
    /// `70/30 read/write`
    pub(crate) mix: String,
    /// `O_DIRECT + O_DSYNC`
    pub(crate) caches: String,
}

pub(crate) fn parts(span: &TimeSpan, target: &Target, is_windows: bool) -> IoParts {
    IoParts {
        block_bytes: target.sizes_option().is_none().then(|| target.block_size.get()),
        pattern: match &span.replay {
            Some(replay) => replayed(replay),
            None => target.append.map_or_else(|| pattern(target), appended),
        },
        mix: mix(target),
        caches: caches(span, target, is_windows),
    }
}

/// `8 KiB`; several sizes of all I/Os: `4 KiB (60 %), 64 KiB (40 %)`
fn sizes(target: &Target) -> String {
    if target.sizes_option().is_none() {
        return size(target.block_size.get());
    }
    let all = target.io_sizes();
    let of_all = target.sizes.as_ref().filter(|_| target.read_sizes.is_none() && target.write_sizes.is_none());
    match (of_all, all.as_slice()) {
        (Some(mix), _) if mix.shares().len() <= RANGES_MAX => {
            let block_bytes = target.block_size.get();
            let parts = mix.shares().iter();
            let each = parts.map(|share| format!("{} ({} %)", size(share.bytes(block_bytes)), share.percent));
            each.collect::<Vec<_>>().join(", ")
        }
        (_, [first, .., last]) => format!("{} sizes from {} to {},", all.len(), size(*first), size(*last)),
        (_, [only]) => size(*only),
        (_, []) => size(target.block_size.get()),
    }
}

/// `70/30 read/write`, `read`, `write`, `63/27/10 read/write/discard`
fn mix(target: &Target) -> String {
    let shares = target.shares();
    if shares.transfer_percent() < 100 {
        let done: Vec<Operation> = Operation::ALL.into_iter().filter(|&operation| shares.does(operation)).collect();
        let names: Vec<&str> = done.iter().map(|operation| operation.name()).collect();
        let percent = |operation: &Operation| {
            let percent = format!("{:.1}", 100.0 * shares.expected(*operation));
            percent.trim_end_matches(".0").to_owned()
        };
        let percents: Vec<String> = done.iter().map(percent).collect();
        return match names.as_slice() {
            [only] => (*only).to_owned(),
            _ => format!("{} {}", percents.join("/"), names.join("/")),
        };
    }
    match target.write_percent {
        0 => "read".to_owned(),
        100.. => "write".to_owned(),
        writes => format!("{}/{writes} read/write", 100 - writes),
    }
}

fn pattern(target: &Target) -> String {
    let order = match target.random_percent {
        0 => "sequential".to_owned(),
        100.. => "random".to_owned(),
        random => format!("{random}/{} random/sequential", 100 - random),
    };
    let mut remarks = Vec::new();
    let step = target.effective_alignment();
    if step != target.block_size && target.stated_alignment() == step {
        let step = size(step.get());
        remarks.push(if target.random_percent > 0 { format!("{step} aligned") } else { format!("stride {step}") });
    }
    if target.interlocked {
        remarks.push("one position for all threads".to_owned());
    }
    if target.parallel {
        remarks.push("one position per outstanding I/O".to_owned());
    }
    if target.thread_stride.get() > 0 {
        remarks.push(format!("threads {} apart", size(target.thread_stride.get())));
    }
    if target.random_percent > 0 {
        remarks.extend(target.distribution.as_ref().map(distribution));
        remarks.extend(target.skew.map(|skew| skew.to_string()));
    }
    if remarks.is_empty() { order } else { format!("{order} ({})", remarks.join(", ")) }
}

/// `replay of t.iotrace (1,000 requests in 20.0 s)`
fn replayed(replay: &Replay) -> String {
    let Replay { trace, closed, recorded, .. } = replay;
    let order = if *closed { "in order".to_owned() } else { format!("in {:.1} s", recorded.span_ns as f64 / 1e9) };
    format!("replay of {} ({} requests {order})", trace.display(), grouped(recorded.count() as f64))
}

/// `append (file per thread, truncated at 1 GiB)`
fn appended(append: Append) -> String {
    let full = size(append.size.get());
    let how = match append.rotation {
        Rotation::Truncate => format!("truncated at {full}"),
        Rotation::Preallocate => format!("preallocated, truncated at {full}"),
        Rotation::Recycle => format!("recycled at {full}"),
    };
    format!("append (file per thread, {how})")
}

/// `90 % of I/Os on 10 %, 10 % on 90 %`
fn distribution(distribution: &Distribution) -> String {
    let ranges = distribution.ranges();
    if ranges.len() > RANGES_MAX {
        return format!("skewed over {} ranges", ranges.len());
    }
    let length = |length: u64| match distribution {
        Distribution::Percent(_) => format!("{length} %"),
        Distribution::Absolute(_) if length == 0 => "the rest".to_owned(),
        Distribution::Absolute(_) => size(length),
    };
    let ranges = ranges.iter().enumerate().map(|(index, range)| {
        let of = if index == 0 { " of I/Os" } else { "" };
        format!("{} %{of} on {}", range.io_percent, length(range.length))
    });
    ranges.collect::<Vec<_>>().join(", ")
}

/// The caches between the program and the target.
fn caches(span: &TimeSpan, target: &Target, is_windows: bool) -> String {
    if span.engine == Some(EngineKind::Null) {
        return "null engine (no I/O)".to_owned();
    }
    if target.memory_mapped {
        return mapped(target, is_windows).to_owned();
    }
    let (cache, write_through) = if is_windows { on_windows(target) } else { on_linux(span, target) };
    [Some(cache), write_through].into_iter().flatten().collect::<Vec<_>>().join(" + ")
}

fn on_linux(span: &TimeSpan, target: &Target) -> (&'static str, Option<&'static str>) {
    let open = OpenPlan::new(span, target);
    let cache = match (open.direct, target.cache_mode) {
        (true, CacheMode::NoLocalCache) => "O_DIRECT (no client cache)",
        (true, _) => "O_DIRECT",
        (false, _) => "page cache",
    };
    (cache, open.write_through.then_some("O_DSYNC"))
}

fn on_windows(target: &Target) -> (&'static str, Option<&'static str>) {
    let cache = match target.cache_mode {
        CacheMode::Cached => "cached",
        CacheMode::NoLocalCache => "no local cache",
        CacheMode::Unbuffered => "unbuffered",
    };
    (cache, target.write_through.then_some("write-through"))
}

/// For a mapped target with cache-bypassing copies the flush is omitted: none follows those.
fn mapped(target: &Target, is_windows: bool) -> &'static str {
    match (target.write_through, target.flush) {
        (true, _) if is_windows => "memory mapped + write-through",
        (true, _) => "memory mapped (non-temporal copies)",
        (false, None) => match target.cache_mode {
            CacheMode::Cached => "memory mapped",
            CacheMode::NoLocalCache => "memory mapped (-Sr)",
            CacheMode::Unbuffered => "memory mapped (-Su)",
        },
        (false, Some(FlushMode::ViewOfFile)) if is_windows => "memory mapped + FlushViewOfFile",
        (false, Some(FlushMode::ViewOfFile)) => "memory mapped + msync",
        (false, Some(FlushMode::NonVolatileMemory)) => "memory mapped + CPU cache flush",
        (false, Some(FlushMode::NonVolatileMemoryNoDrain)) => "memory mapped + CPU cache flush without drain",
    }
}

/// The written content, if it is not `DiskSpd`'s pattern of bytes.
fn content(span: &TimeSpan, target: &Target) -> Option<String> {
    if !target.writes() {
        return None;
    }
    if let Some(Reduction { compress_ratio, dedupe_percent }) = target.reduction() {
        let repeated = if dedupe_percent > 0 { format!(", {dedupe_percent}% repeated") } else { String::new() };
        return Some(format!("writes data that compresses {compress_ratio}:1{repeated}"));
    }
    match &target.write_source {
        Some(source) if source.file.is_some() => Some(format!("writes {} of a file", size(source.size.get()))),
        Some(source) => Some(format!("writes from a buffer of {} of random bytes", size(source.size.get()))),
        None if target.zero_write_buffers => Some("writes zeros".to_owned()),
        None if span.random_write_data => Some("writes random bytes".to_owned()),
        None => None,
    }
}

/// The limit that keeps a closed loop from issuing at full speed.
fn limit(span: &TimeSpan, target: &Target) -> Option<String> {
    let whose = if span.thread_count > 0 && span.targets.len() > 1 { "per thread and target" } else { "per thread" };
    match (span.rate_iops, target.throughput) {
        (Some(_), _) => None,
        (None, Throughput::Iops(iops @ 1..)) => Some(format!("limited to {iops} IOPS {whose}")),
        (None, Throughput::BytesPerMs(bytes @ 1..)) => {
            let (number, unit) = Bytes(u64::from(bytes) * 1000).parts();
            Some(format!("limited to {number} {unit}/s {whose}"))
        }
        (None, Throughput::Iops(0) | Throughput::BytesPerMs(0) | Throughput::Unlimited) => {
            match (target.burst_ios, target.think_time_ms) {
                (Some(ios @ 1..), Some(pause_ms @ 1..)) => {
                    Some(format!("bursts of {} with pauses of {pause_ms} ms", counted(ios, "I/O")))
                }
                _ => None,
            }
        }
    }
}
