//! The echo of one target.

use super::lines::{Line, between};
use crate::{ReadError, number};
use model::profile::{
    BypassIo, CacheMode, Distribution, DistributionRange, FlushMode, IoPriority, Target, Throughput, TimeSpan,
    WriteSource,
};
use model::units::Bytes;

/// Reads a line about the last target; false if there is none yet.
pub(super) fn read(line: Line<'_>, span: &mut TimeSpan) -> Result<bool, ReadError> {
    let content = line.content();
    let path = between(content, "path: '", "'").map(str::to_owned);
    if let Some(path) = path.or(between(content, "path: template target '", "'").map(|name| format!("*{name}"))) {
        span.targets.push(Target::new(path));
    }
    let Some(target) = span.targets.last_mut() else { return Ok(false) };
    word(content, target);
    span.completion_routines |= content == "using completion routines (ReadFileEx/WriteFileEx)";
    numbers(line, target)?;
    sizes(line, target)?;
    pattern(line, target)?;
    throughput(line, target)?;
    if let Some(range) = content.split_once("% of IO => [") {
        distribution(line, range, target)?;
    }
    Ok(true)
}

/// Reads lines with a fixed text, in the wording of all versions.
fn word(content: &str, target: &mut Target) {
    match content {
        "software cache disabled" => target.cache_mode = CacheMode::Unbuffered,
        "local software cache disabled, remote cache enabled" => target.cache_mode = CacheMode::NoLocalCache,
        _ if content.ends_with(", writethrough on") => target.write_through = true,
        // Versions before 2.0.17 have one line for both caches.
        "software and hardware cache disabled" | "software and hardware write cache disabled" => {
            target.cache_mode = CacheMode::Unbuffered;
            target.write_through = true;
        }
        "using BypassIO (allow partial)" => target.bypass_io = Some(BypassIo::Partial),
        "using BypassIO (full bypass)" => target.bypass_io = Some(BypassIo::Full),
        "zeroing write buffers" => target.zero_write_buffers = true,
        "using parallel async I/O" => target.parallel = true,
        "performing write test" => target.write_percent = 100,
        "IO priority: very low" => target.io_priority = IoPriority::VeryLow,
        "IO priority: low" => target.io_priority = IoPriority::Low,
        "using FILE_FLAG_SEQUENTIAL_SCAN hint" => target.sequential_scan_hint = true,
        "using FILE_FLAG_RANDOM_ACCESS hint" => target.random_access_hint = true,
        "using FILE_ATTRIBUTE_TEMPORARY hint" => target.temporary_hint = true,
        _ => {}
    }
    if let Some(flush) = content.strip_prefix("memory mapped I/O enabled") {
        target.memory_mapped = true;
        target.flush = match flush {
            ", flush mode: FlushViewOfFile" => Some(FlushMode::ViewOfFile),
            ", flush mode: FlushNonVolatileMemory" => Some(FlushMode::NonVolatileMemory),
            ", flush mode: FlushNonVolatileMemory with no drain" => Some(FlushMode::NonVolatileMemoryNoDrain),
            _ => None,
        };
    }
}

fn numbers(line: Line<'_>, target: &mut Target) -> Result<(), ReadError> {
    let content = line.content();
    for (beginning, place) in [
        ("number of outstanding I/O operations per thread: ", &mut target.outstanding),
        ("threads per file: ", &mut target.threads),
        ("relative IO weight in thread pool: ", &mut target.weight),
    ] {
        if let Some(text) = content.strip_prefix(beginning) {
            *place = line.parse(text, number::whole)?;
        }
    }
    if let Some(depth) = content.strip_prefix("number of outstanding I/O operations: ") {
        target.outstanding = line.parse(depth, number::whole)?;
    }
    if let Some(time) = between(content, "think time: ", "ms") {
        target.think_time_ms = Some(line.parse(time, number::whole)?).filter(|&ms| ms > 0);
    }
    if let Some(ios) = content.strip_prefix("burst size: ") {
        target.burst_ios = Some(line.parse(ios, number::whole)?).filter(|&ios| ios > 0);
    }
    // 2.0.12 to 2.0.15 print the writes first, then 100.
    if let Some(ratio) = between(content, "performing mix test (read/write ratio: ", ")") {
        let (_, writes) = ratio.split_once('/').unwrap_or(("", ratio));
        target.write_percent = line.parse(writes, number::whole)?;
    } else if let Some(ratio) = between(content, "performing mix test (write/read ratio: ", ")") {
        let (writes, _) = ratio.split_once('/').unwrap_or((ratio, ""));
        target.write_percent = line.parse(writes, number::whole)?;
    }
    Ok(())
}

fn sizes(line: Line<'_>, target: &mut Target) -> Result<(), ReadError> {
    let content = line.content();
    for (beginning, place) in [
        ("block size: ", &mut target.block_size),
        ("base file offset: ", &mut target.base_offset),
        ("max file size: ", &mut target.max_offset),
        ("thread stride size: ", &mut target.thread_stride),
    ] {
        if let Some(text) = content.strip_prefix(beginning) {
            *place = Bytes(line.parse(text, number::size_bytes)?);
        }
    }
    if let Some(stride) = content.strip_prefix("stride size: ") {
        target.alignment = Some(Bytes(line.parse(stride, number::size_bytes)?));
    }
    if let Some(size) = content.strip_prefix("write buffer size: ") {
        target.write_source = Some(WriteSource { size: Bytes(line.parse(size, number::size_bytes)?), file: None });
    }
    if let (Some(file), Some(source)) = (between(content, "write buffer source: '", "'"), &mut target.write_source) {
        source.file = Some(file.into());
    }
    Ok(())
}

fn pattern(line: Line<'_>, target: &mut Target) -> Result<(), ReadError> {
    let content = line.content();
    let Some((words, alignment)) = content.strip_suffix(')').and_then(|content| content.rsplit_once(": ")) else {
        return Ok(());
    };
    if words.starts_with("using random I/O (alignment") {
        target.random_percent = 100;
    } else if let Some(rest) = words.strip_prefix("using mixed random/sequential I/O (") {
        let percent = rest.split('%').next().unwrap_or_default();
        target.random_percent = line.parse(percent, number::whole)?;
    } else if words.starts_with("using interlocked sequential I/O (stride") {
        target.interlocked = true;
    } else if !words.starts_with("using sequential I/O (stride") {
        return Ok(());
    }
    target.alignment = Some(Bytes(line.parse(alignment, number::size_bytes)?));
    Ok(())
}

fn throughput(line: Line<'_>, target: &mut Target) -> Result<(), ReadError> {
    let Some(limit) = line.content().strip_prefix("throughput rate-limited to ") else { return Ok(()) };
    target.throughput = match (limit.strip_suffix(" IOPS"), limit.strip_suffix(" B/ms")) {
        (Some(rate), _) => Throughput::Iops(line.parse(rate, number::whole)?),
        (None, Some(rate)) => Throughput::BytesPerMs(line.parse(rate, number::whole)?),
        (None, None) => Throughput::Unlimited,
    };
    Ok(())
}

/// `90% of IO => [ 0% -  10%) of target` or `90% of IO => [     0    -      1GiB)`, the last `end`.
fn distribution(line: Line<'_>, (percent, range): (&str, &str), target: &mut Target) -> Result<(), ReadError> {
    let io_percent = line.parse(percent, number::whole)?;
    let Some((range, of_target)) = range.split_once(')') else { return Err(line.error(range, "the range has no end")) };
    let Some((start, end)) = range.split_once(" - ") else { return Err(line.error(range, "the range has no end")) };
    if of_target.trim() == "of target" {
        let percent = |text: &str| number::whole::<u64>(text.trim().trim_end_matches('%'));
        let length = line.parse(end, percent)?.saturating_sub(line.parse(start, percent)?);
        add_range(target, Distribution::Percent, DistributionRange { io_percent, length });
    } else {
        let start = line.parse(start, number::size_bytes)?;
        let length = match end.trim() {
            "end" => 0,
            _ => line.parse(end, number::size_bytes)?.saturating_sub(start),
        };
        add_range(target, Distribution::Absolute, DistributionRange { io_percent, length });
    }
    Ok(())
}

fn add_range(target: &mut Target, kind: fn(Vec<DistributionRange>) -> Distribution, range: DistributionRange) {
    match &mut target.distribution {
        Some(Distribution::Percent(ranges) | Distribution::Absolute(ranges)) => ranges.push(range),
        none => *none = Some(kind(vec![range])),
    }
}
