//! One target as XML.

use super::Xml;
use model::profile::{BypassIo, CacheMode, Distribution, FlushMode, IoPriority, Target, Throughput};

pub(super) fn write_target(xml: &mut Xml, target: &Target) {
    xml.inside("Target", |xml| {
        xml.element("Path", target.path.display());
        xml.element("BlockSize", target.block_size.get());
        xml.element("BaseFileOffset", target.base_offset.get());
        xml.element("SequentialScan", target.sequential_scan_hint);
        xml.element("RandomAccess", target.random_access_hint);
        xml.element("TemporaryFile", target.temporary_hint);
        xml.element("UseLargePages", target.large_pages);
        write_caching(xml, target);
        write_content(xml, target);
        xml.element("ParallelAsyncIO", target.parallel);
        if let Some(burst) = target.burst_ios {
            xml.element("BurstSize", burst);
        }
        if let Some(think_time) = target.think_time_ms {
            xml.element("ThinkTime", think_time);
        }
        if let Some(size) = target.create_size {
            xml.element("FileSize", size.get());
        }
        write_pattern(xml, target);
        xml.element("ThreadStride", target.thread_stride.get());
        xml.element("MaxFileSize", target.max_offset.get());
        xml.element("RequestCount", target.outstanding);
        xml.element("WriteRatio", target.write_percent);
        match target.throughput {
            Throughput::Unlimited => xml.element("Throughput", 0),
            Throughput::BytesPerMs(rate) => xml.element("Throughput", rate),
            Throughput::Iops(rate) => xml.element_with("Throughput", &[("unit", &"IOPS")], rate),
        }
        xml.element("ThreadsPerFile", target.threads);
        let priority = match target.io_priority {
            IoPriority::VeryLow => 1,
            IoPriority::Low => 2,
            IoPriority::Normal => 3,
        };
        xml.element("IOPriority", priority);
        xml.element("Weight", target.weight);
        write_thread_targets(xml, target);
    });
}

fn write_caching(xml: &mut Xml, target: &Target) {
    match target.cache_mode {
        CacheMode::Cached => {}
        CacheMode::NoLocalCache => xml.element("DisableLocalCache", true),
        CacheMode::Unbuffered => xml.element("DisableOSCache", true),
    }
    if target.write_through {
        xml.element("WriteThrough", true);
    }
    if target.memory_mapped {
        xml.element("MemoryMappedIo", true);
    }
    if let Some(flush) = target.flush {
        let name = match flush {
            FlushMode::ViewOfFile => "ViewOfFile",
            FlushMode::NonVolatileMemory => "NonVolatileMemory",
            FlushMode::NonVolatileMemoryNoDrain => "NonVolatileMemoryNoDrain",
        };
        xml.element("FlushType", name);
    }
    match target.bypass_io {
        None => {}
        Some(BypassIo::Partial) => xml.element("BypassIO", "Partial"),
        Some(BypassIo::Full) => xml.element("BypassIO", "Full"),
    }
}

/// Zeros win over a source if both were set.
fn write_content(xml: &mut Xml, target: &Target) {
    xml.inside("WriteBufferContent", |xml| match &target.write_source {
        _ if target.zero_write_buffers => xml.element("Pattern", "zero"),
        None => xml.element("Pattern", "sequential"),
        Some(source) => {
            xml.element("Pattern", "random");
            xml.inside("RandomDataSource", |xml| {
                xml.element("SizeInBytes", source.size.get());
                if let Some(file) = &source.file {
                    xml.element("FilePath", file.display());
                }
            });
        }
    });
}

fn write_pattern(xml: &mut Xml, target: &Target) {
    let alignment = target.effective_alignment().get();
    if target.random_percent == 0 {
        xml.element("StrideSize", alignment);
        xml.element("InterlockedSequential", target.interlocked);
        return;
    }
    xml.element("Random", alignment);
    if target.random_percent < 100 {
        xml.element("RandomRatio", target.random_percent);
    }
    if let Some(distribution) = &target.distribution {
        let kind = match distribution {
            Distribution::Percent(_) => "Percent",
            Distribution::Absolute(_) => "Absolute",
        };
        xml.inside("Distribution", |xml| {
            xml.inside(kind, |xml| {
                for range in distribution.ranges() {
                    xml.element_with("Range", &[("IO", &range.io_percent)], range.length);
                }
            });
        });
    }
}

fn write_thread_targets(xml: &mut Xml, target: &Target) {
    if target.thread_targets.is_empty() {
        return;
    }
    xml.inside("ThreadTargets", |xml| {
        for thread_target in &target.thread_targets {
            xml.inside("ThreadTarget", |xml| {
                xml.element("Thread", thread_target.thread);
                if thread_target.weight != 0 {
                    xml.element("Weight", thread_target.weight);
                }
            });
        }
    });
}
