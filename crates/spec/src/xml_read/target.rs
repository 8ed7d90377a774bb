//! `Target`.

use super::element::Element;
use super::reader::{Reader, child};
use super::{linux, nested, value};
use model::limits::BLOCK_SIZE_BYTES_MAX;
use model::profile::{BypassIo, CacheMode, Distribution, FlushMode, IoPriority, Target, Throughput};
use model::units::Bytes;
use roxmltree::Node;
use std::path::PathBuf;

/// A target being read, with what counts only in relation to something else.
pub(super) struct Draft {
    pub(super) target: Target,
    stride: Option<u64>,
    random: Option<u64>,
    random_ratio: Option<u32>,
    disable_os_cache: bool,
    disable_all_cache: bool,
    disable_local_cache: bool,
    write_through: bool,
}

const BLOCK_SIZE_MAX: u32 = BLOCK_SIZE_BYTES_MAX as u32;

pub(super) const TARGET: &[Element<Draft>] = &[
    Element::required(Element::own("Path", path)),
    Element::u32_within("BlockSize", 1..=BLOCK_SIZE_MAX, |draft, n| draft.target.block_size = Bytes(n.into())),
    Element::u64("StrideSize", |draft, n| draft.stride = Some(n)),
    Element::flag("InterlockedSequential", |draft, on| draft.target.interlocked = on),
    Element::u64("Random", |draft, n| draft.random = Some(n)),
    Element::own("RandomRatio", random_ratio),
    Element::own("Distribution", |reader, node, draft| {
        draft.target.distribution = distribution(reader, node);
    }),
    Element::u64("BaseFileOffset", |draft, n| draft.target.base_offset = Bytes(n)),
    Element::u64("MaxFileSize", |draft, n| draft.target.max_offset = Bytes(n)),
    Element::u64("FileSize", |draft, n| draft.target.create_size = Some(Bytes(n))),
    Element::u32_within("RequestCount", 1..=u32::MAX, |draft, n| draft.target.outstanding = n),
    Element::u32_within("ThreadsPerFile", 1..=u32::MAX, |draft, n| draft.target.threads = n),
    Element::u64("ThreadStride", |draft, n| draft.target.thread_stride = Bytes(n)),
    Element::flag("ParallelAsyncIO", |draft, on| draft.target.parallel = on),
    Element::u32_within("WriteRatio", 0..=100, |draft, n| draft.target.write_percent = n),
    Element::u32("BurstSize", |draft, n| draft.target.burst_ios = Some(n)),
    Element::u32("ThinkTime", |draft, n| draft.target.think_time_ms = Some(n)),
    Element::own("Throughput", throughput).with_attributes(&["unit"]),
    Element::flag("DisableOSCache", |draft, on| draft.disable_os_cache = on),
    Element::flag("DisableLocalCache", |draft, on| draft.disable_local_cache = on),
    Element::flag("DisableAllCache", |draft, on| draft.disable_all_cache = on),
    Element::flag("WriteThrough", |draft, on| draft.write_through = on),
    Element::flag("MemoryMappedIo", |draft, on| draft.target.memory_mapped = on),
    Element::word(
        "FlushType",
        &[
            ("ViewOfFile", |draft| draft.target.flush = Some(FlushMode::ViewOfFile)),
            ("NonVolatileMemory", |draft| draft.target.flush = Some(FlushMode::NonVolatileMemory)),
            ("NonVolatileMemoryNoDrain", |draft| draft.target.flush = Some(FlushMode::NonVolatileMemoryNoDrain)),
        ],
    ),
    Element::word(
        "BypassIO",
        &[
            ("Partial", |draft| draft.target.bypass_io = Some(BypassIo::Partial)),
            ("Full", |draft| draft.target.bypass_io = Some(BypassIo::Full)),
        ],
    ),
    Element::flag("SequentialScan", |draft, on| draft.target.sequential_scan_hint = on),
    Element::flag("RandomAccess", |draft, on| draft.target.random_access_hint = on),
    Element::flag("TemporaryFile", |draft, on| draft.target.temporary_hint = on),
    Element::flag("UseLargePages", |draft, on| draft.target.large_pages = on),
    Element::own("WriteBufferContent", |reader, node, draft| nested::content(reader, node, &mut draft.target)),
    // 0 is documented as "not set".
    Element::u32_within("IOPriority", 0..=3, |draft, n| {
        draft.target.io_priority = match n {
            1 => IoPriority::VeryLow,
            2 => IoPriority::Low,
            _ => IoPriority::Normal,
        };
    }),
    Element::u32("Weight", |draft, n| draft.target.weight = n),
    Element::own("ThreadTargets", |reader, node, draft| {
        draft.target.thread_targets = nested::thread_targets(reader, node);
    }),
    Element::own("Linux", |reader, node, draft| reader.children(node, linux::IN_TARGET, draft)),
];

pub(super) fn read(reader: &mut Reader<'_>, node: Node<'_, '_>) -> Target {
    let mut draft = Draft {
        target: Target::new(""),
        stride: None,
        random: None,
        random_ratio: None,
        disable_os_cache: false,
        disable_all_cache: false,
        disable_local_cache: false,
        write_through: false,
    };
    reader.children(node, TARGET, &mut draft);
    if draft.random.is_some() || draft.random_ratio.is_some() {
        if let Some(stride) = child(node, "StrideSize") {
            reader.fault(stride, "it excludes <Random> and <RandomRatio>: I/O is either sequential or random");
        }
        draft.target.random_percent = draft.random_ratio.unwrap_or(100);
        draft.target.alignment = draft.random.map(Bytes);
    } else {
        draft.target.alignment = draft.stride.map(Bytes);
    }
    set_caching(&mut draft);
    draft.target
}

/// Of two elements that contradict each other the later in this order counts, wherever they stand.
fn set_caching(draft: &mut Draft) {
    let target = &mut draft.target;
    if draft.disable_os_cache {
        target.cache_mode = CacheMode::Unbuffered;
    }
    if draft.disable_all_cache {
        target.cache_mode = CacheMode::Unbuffered;
        target.write_through = true;
    }
    if draft.disable_local_cache {
        target.cache_mode = CacheMode::NoLocalCache;
    }
    if draft.write_through {
        target.write_through = true;
    }
}

/// White space belongs to a path.
fn path(reader: &mut Reader<'_>, node: Node<'_, '_>, draft: &mut Draft) {
    let Some(path) = reader.text(node) else { return };
    reader.read(node, value::template(&path));
    draft.target.path = PathBuf::from(path);
}

fn random_ratio(reader: &mut Reader<'_>, node: Node<'_, '_>, draft: &mut Draft) {
    let Some(text) = reader.text(node) else { return };
    let read = value::number(&text, &(1..=99)).map_err(|message| match value::trimmed(&text) {
        "100" => format!("{message}; for random I/O only, leave it out beside <Random>"),
        "0" => format!("{message}; for sequential I/O only, leave out <Random> too"),
        _ => message,
    });
    draft.random_ratio = reader.read(node, read);
}

fn throughput(reader: &mut Reader<'_>, node: Node<'_, '_>, draft: &mut Draft) {
    #[derive(Clone, Copy)]
    enum Unit {
        BytesPerMs,
        Iops,
    }
    const UNITS: &[(&str, Unit)] = &[("BPMS", Unit::BytesPerMs), ("IOPS", Unit::Iops)];
    let unit = reader.attribute(node, "unit", |text| value::word(text, UNITS)).unwrap_or(Unit::BytesPerMs);
    draft.target.throughput = match (reader.number(node, &(0..=u32::MAX)), unit) {
        (None | Some(0), _) => Throughput::Unlimited,
        (Some(rate), Unit::BytesPerMs) => Throughput::BytesPerMs(rate),
        (Some(rate), Unit::Iops) => Throughput::Iops(rate),
    };
}

fn distribution(reader: &mut Reader<'_>, node: Node<'_, '_>) -> Option<Distribution> {
    let mut ranges = nested::Ranges::default();
    reader.children(node, nested::DISTRIBUTION, &mut ranges);
    match ranges {
        nested::Ranges { percent: Some(ranges), absolute: None } => Some(Distribution::Percent(ranges)),
        nested::Ranges { percent: None, absolute: Some(ranges) } => Some(Distribution::Absolute(ranges)),
        nested::Ranges { percent: None, absolute: None } => {
            reader.fault(node, "one of <Percent> and <Absolute> is missing in it");
            None
        }
        nested::Ranges { percent: Some(_), absolute: Some(_) } => {
            reader.fault(node, "it holds both <Percent> and <Absolute>; only one can be");
            None
        }
    }
}
