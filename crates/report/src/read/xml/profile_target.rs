//! One target of the profile that a result holds.

use super::element::Element;
use crate::read::ReadError;
use model::profile::{
    BypassIo, CacheMode, Distribution, DistributionRange, FlushMode, IoPriority, Target, ThreadTarget, Throughput,
    WriteSource,
};
use model::units::Bytes;

pub(super) fn read(target: Element<'_, '_>) -> Result<Target, ReadError> {
    let plain = Target::new(target.child_text("Path").unwrap_or_default());
    let bytes = |name| target.whole(name).map(|number: Option<u64>| number.map(Bytes));
    let random = bytes("Random")?.filter(|alignment| alignment.get() > 0);
    let random_percent = match random {
        None => 0,
        Some(_) => target.whole("RandomRatio")?.unwrap_or(100),
    };
    Ok(Target {
        block_size: bytes("BlockSize")?.unwrap_or(plain.block_size),
        base_offset: bytes("BaseFileOffset")?.unwrap_or_default(),
        max_offset: bytes("MaxFileSize")?.unwrap_or_default(),
        create_size: bytes("FileSize")?,
        random_percent,
        alignment: if random.is_some() { random } else { bytes("StrideSize")? },
        interlocked: target.is_true("InterlockedSequential"),
        parallel: target.is_true("ParallelAsyncIO"),
        distribution: target.child("Distribution").map(distribution).transpose()?,
        outstanding: target.whole("RequestCount")?.unwrap_or(plain.outstanding),
        threads: target.whole("ThreadsPerFile")?.unwrap_or(plain.threads),
        thread_stride: bytes("ThreadStride")?.unwrap_or_default(),
        write_percent: target.whole("WriteRatio")?.unwrap_or(0),
        burst_ios: target.whole("BurstSize")?,
        think_time_ms: target.whole("ThinkTime")?,
        throughput: throughput(target)?,
        cache_mode: cache_mode(target),
        write_through: target.is_true("WriteThrough") || target.is_true("DisableAllCache"),
        memory_mapped: target.is_true("MemoryMappedIo"),
        flush: match target.child_text("FlushType") {
            Some("ViewOfFile") => Some(FlushMode::ViewOfFile),
            Some("NonVolatileMemory") => Some(FlushMode::NonVolatileMemory),
            Some("NonVolatileMemoryNoDrain") => Some(FlushMode::NonVolatileMemoryNoDrain),
            _ => None,
        },
        bypass_io: match target.child_text("BypassIO") {
            Some("Partial") => Some(BypassIo::Partial),
            Some("Full") => Some(BypassIo::Full),
            _ => None,
        },
        sequential_scan_hint: target.is_true("SequentialScan"),
        random_access_hint: target.is_true("RandomAccess"),
        temporary_hint: target.is_true("TemporaryFile"),
        large_pages: target.is_true("UseLargePages"),
        io_priority: match target.whole("IOPriority")? {
            Some(1) => IoPriority::VeryLow,
            Some(2) => IoPriority::Low,
            Some(_) | None => IoPriority::Normal,
        },
        weight: target.whole("Weight")?.unwrap_or(plain.weight),
        thread_targets: thread_targets(target)?,
        ..with_content(plain, target)?
    })
}

/// `DisableAllCache` is what versions before 2.0.17 wrote for unbuffered and write-through.
fn cache_mode(target: Element<'_, '_>) -> CacheMode {
    if target.is_true("DisableOSCache") || target.is_true("DisableAllCache") {
        CacheMode::Unbuffered
    } else if target.is_true("DisableLocalCache") {
        CacheMode::NoLocalCache
    } else {
        CacheMode::Cached
    }
}

fn throughput(target: Element<'_, '_>) -> Result<Throughput, ReadError> {
    let Some(element) = target.child("Throughput") else { return Ok(Throughput::Unlimited) };
    let rate = element.whole_text()?;
    Ok(match element.attribute("unit") {
        _ if rate == 0 => Throughput::Unlimited,
        Some(unit) if unit.eq_ignore_ascii_case("IOPS") => Throughput::Iops(rate),
        _ => Throughput::BytesPerMs(rate),
    })
}

fn with_content(plain: Target, target: Element<'_, '_>) -> Result<Target, ReadError> {
    let Some(content) = target.child("WriteBufferContent") else { return Ok(plain) };
    let source = content.child("RandomDataSource");
    let write_source = source
        .map(|source| {
            let size = source.whole("SizeInBytes")?.unwrap_or(0);
            Ok(WriteSource { size: Bytes(size), file: source.child_text("FilePath").map(Into::into) })
        })
        .transpose()?;
    Ok(Target { zero_write_buffers: content.child_text("Pattern") == Some("zero"), write_source, ..plain })
}

fn distribution(element: Element<'_, '_>) -> Result<Distribution, ReadError> {
    let ranges = |list: Element<'_, '_>| {
        let range = |range: Element<'_, '_>| {
            Ok(DistributionRange { io_percent: range.whole_attribute("IO")?.unwrap_or(0), length: range.whole_text()? })
        };
        list.children("Range").map(range).collect::<Result<Vec<_>, ReadError>>()
    };
    match (element.child("Percent"), element.child("Absolute")) {
        (Some(percent), _) => Ok(Distribution::Percent(ranges(percent)?)),
        (None, Some(absolute)) => Ok(Distribution::Absolute(ranges(absolute)?)),
        (None, None) => Err(element.error("Distribution: neither 'Percent' nor 'Absolute' is in it".to_owned())),
    }
}

fn thread_targets(target: Element<'_, '_>) -> Result<Vec<ThreadTarget>, ReadError> {
    let elements = target.child("ThreadTargets").into_iter().flat_map(|all| all.children("ThreadTarget"));
    elements
        .map(|element| {
            Ok(ThreadTarget {
                thread: element.whole("Thread")?.unwrap_or(0),
                weight: element.whole("Weight")?.unwrap_or(0),
            })
        })
        .collect()
}
