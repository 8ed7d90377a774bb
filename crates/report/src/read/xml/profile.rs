//! The profile that a result holds: what every version of `DiskSpd` wrote there.
//!
//! It tells what was run, so nothing in it is refused but numbers that are none. What is unknown
//! here is passed over; profiles that are to be run are read elsewhere, and strictly.

use super::element::{Element, is_true};
use super::{profile_target, system};
use crate::read::ReadError;
use model::affinity::AffinityEntry;
use model::limits::CPUS_PER_GROUP;
use model::profile::{
    Affinity, BufferSeparation, EfficiencyOrder, GroupSpan, IoRing, IoRingBatch, PrecreateFiles, Profile, RateProcess,
    ResultFormat, TimeSpan, Traversal,
};

pub(super) fn read(profile: Element<'_, '_>) -> Result<Profile, ReadError> {
    let spans = profile.child("TimeSpans").into_iter().flat_map(|spans| spans.children("TimeSpan"));
    Ok(Profile {
        time_spans: spans.map(time_span).collect::<Result<_, _>>()?,
        verbose: profile.is_true("Verbose"),
        verbose_stats: profile.is_true("VerboseStats"),
        progress_ios: profile.whole("Progress")?.unwrap_or(0),
        experiment_flags: profile.whole("ExperimentFlags")?.unwrap_or(0),
        result_format: match profile.child_text("ResultFormat") {
            Some("text") => ResultFormat::Text,
            _ => ResultFormat::Xml,
        },
        precreate_files: match profile.child_text("PrecreateFiles") {
            Some("UseMaxSize") => Some(PrecreateFiles::UseMaxSize),
            Some("CreateOnlyFilesWithConstantSizes") => Some(PrecreateFiles::OnlyConstantSizes),
            Some("CreateOnlyFilesWithConstantOrZeroSizes") => Some(PrecreateFiles::OnlyConstantOrZeroSizes),
            _ => None,
        },
        ..Profile::default()
    })
}

fn time_span(span: Element<'_, '_>) -> Result<TimeSpan, ReadError> {
    let plain = TimeSpan::default();
    let linux = span.child("Linux");
    let targets = span.child("Targets").into_iter().flat_map(|targets| targets.children("Target"));
    Ok(TimeSpan {
        duration_s: span.whole("Duration")?.unwrap_or(plain.duration_s),
        warm_up_s: span.whole("Warmup")?.unwrap_or(plain.warm_up_s),
        cool_down_s: span.whole("Cooldown")?.unwrap_or(plain.cool_down_s),
        random_seed: span.whole("RandSeed")?.unwrap_or(plain.random_seed),
        random_write_data: span.is_true("RandomWriteData"),
        thread_count: span.whole("ThreadCount")?.unwrap_or(0),
        request_count: span.whole("RequestCount")?.unwrap_or(0),
        affinity: affinity(span)?,
        completion_routines: span.is_true("CompletionRoutines"),
        io_ring: span.child("IoRing").map(io_ring).transpose()?,
        completion_depth: span.whole("CompletionDepth")?,
        rate_iops: linux.map(|linux| linux.whole("Rate")).transpose()?.flatten(),
        rate_process: linux.and_then(|linux| linux.child_text("RateProcess")).and_then(RateProcess::from_option),
        flush_after_writes: linux.map(|linux| linux.whole("FlushAfterWrites")).transpose()?.flatten(),
        measure_latency: span.is_true("MeasureLatency"),
        calculate_iops_std_dev: span.is_true("CalculateIopsStdDev"),
        interval_ms: span.whole("IoBucketDuration")?.unwrap_or(plain.interval_ms),
        // Versions before 2.3 do not say, because they knew nothing else.
        buffer_separation: match span.child_text("BufferSeparation") {
            Some("PDECacheLine") => BufferSeparation::ThreadOptimized,
            _ => BufferSeparation::SystemDefault,
        },
        targets: targets.map(profile_target::read).collect::<Result<_, _>>()?,
        ..plain
    })
}

fn io_ring(ring: Element<'_, '_>) -> Result<IoRing, ReadError> {
    let plain = IoRing::default();
    let batch = match ring.child("IoRingBatchSize") {
        None => plain.batch,
        Some(size) if size.attribute("Percent").is_some_and(is_true) => IoRingBatch::Percent(size.whole_text()?),
        Some(size) => IoRingBatch::Count(size.whole_text()?),
    };
    let registered_buffers = ring.child_text("UseRegBuffer").map_or(plain.registered_buffers, is_true);
    Ok(IoRing { batch, registered_buffers })
}

fn affinity(span: Element<'_, '_>) -> Result<Affinity, ReadError> {
    let traversal = span.child("AffinityTraversal");
    let attribute = |name| traversal.and_then(|traversal| traversal.attribute(name));
    let listed = span.child("Affinity").into_iter().flat_map(Element::all_children);
    Ok(Affinity {
        disabled: span.is_true("DisableAffinity"),
        traversal: traversal.map(|traversal| match traversal.text() {
            "CoreAware" => Traversal::CoreAware,
            _ => Traversal::Cpu,
        }),
        group_span: attribute("Group").map(|group| match group {
            "Span" => GroupSpan::Span,
            _ => GroupSpan::Fill,
        }),
        efficiency: match attribute("Efficiency") {
            Some("PFirst") => Some(EfficiencyOrder::PerformanceFirst),
            Some("EFirst") => Some(EfficiencyOrder::EfficiencyFirst),
            Some("FillPFirst") => Some(EfficiencyOrder::FillPerformanceFirst),
            Some("FillEFirst") => Some(EfficiencyOrder::FillEfficiencyFirst),
            // Versions before 2.3 do not say, because they knew no order.
            _ => Some(EfficiencyOrder::Unordered),
        },
        listed: listed.map(listed_cpus).collect::<Result<_, _>>()?,
    })
}

/// A mask of a group, or one CPU in the older forms.
fn listed_cpus(element: Element<'_, '_>) -> Result<AffinityEntry, ReadError> {
    let group = system::group_number(element)? as u16;
    if let Some(mask) = element.mask("Mask")? {
        return Ok(AffinityEntry { group, mask });
    }
    let cpu: u32 = match element.whole_attribute("Processor")? {
        Some(cpu) => cpu,
        None => element.whole_text()?,
    };
    if cpu >= CPUS_PER_GROUP {
        return Err(element.error(format!("processor {cpu} is not below {CPUS_PER_GROUP}")));
    }
    Ok(AffinityEntry { group, mask: 1 << cpu })
}
