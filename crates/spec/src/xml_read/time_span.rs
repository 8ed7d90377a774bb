//! `TimeSpan`, and what belongs to its threads: `Affinity`, `AffinityTraversal`, `IoRing`.

use super::element::Element;
use super::reader::{Reader, is_named};
use super::{linux, target, value};
use model::affinity::{AffinityEntry, push_cpu};
use model::limits::{COMPLETION_DEPTH_MAX, CPUS_PER_GROUP, GROUP_MAX, IO_RING_BATCH_MAX};
use model::profile::{BufferSeparation, EfficiencyOrder, GroupSpan, IoRing, IoRingBatch, TimeSpan, Traversal};
use roxmltree::Node;

pub(super) const TIME_SPAN: &[Element<TimeSpan>] = &[
    Element::required(Element::own("Targets", targets)),
    Element::u32("Duration", |span, seconds| span.duration_s = seconds),
    Element::u32("Warmup", |span, seconds| span.warm_up_s = seconds),
    Element::u32("Cooldown", |span, seconds| span.cool_down_s = seconds),
    Element::u32("RandSeed", |span, seed| span.random_seed = seed),
    Element::flag("RandomWriteData", |span, on| span.random_write_data = on),
    Element::u32("ThreadCount", |span, count| span.thread_count = count),
    Element::u32("RequestCount", |span, count| span.request_count = count),
    Element::flag("DisableAffinity", |span, on| span.affinity.disabled = on),
    Element::own("AffinityTraversal", traversal).with_attributes(&["Group", "Efficiency"]),
    Element::own("Affinity", affinity),
    // Of old profiles; it never meant anything.
    Element::flag("GroupAffinity", |_, _| {}),
    Element::flag("CompletionRoutines", |span, on| span.completion_routines = on),
    Element::own("IoRing", |reader, node, span| {
        let ring = span.io_ring.insert(IoRing::default());
        reader.children(node, IO_RING, ring);
    }),
    Element::u32_within("CompletionDepth", 1..=COMPLETION_DEPTH_MAX, |span, depth| span.completion_depth = Some(depth)),
    Element::word(
        "BufferSeparation",
        &[
            ("SystemDefault", |span| span.buffer_separation = BufferSeparation::SystemDefault),
            ("PDECacheLine", |span| span.buffer_separation = BufferSeparation::ThreadOptimized),
        ],
    ),
    Element::flag("MeasureLatency", |span, on| span.measure_latency = on),
    Element::flag("CalculateIopsStdDev", |span, on| span.calculate_iops_std_dev = on),
    Element::u32("IoBucketDuration", |span, milliseconds| span.interval_ms = milliseconds),
    Element::own("Linux", |reader, node, span| reader.children(node, linux::IN_TIME_SPAN, span)),
];

pub(super) const IO_RING: &[Element<IoRing>] = &[
    Element::own("IoRingBatchSize", batch).with_attributes(&["Percent"]),
    Element::flag("UseRegBuffer", |ring, on| ring.registered_buffers = on),
];

pub(super) fn read(reader: &mut Reader<'_>, node: Node<'_, '_>) -> TimeSpan {
    let mut span = TimeSpan::default();
    reader.children(node, TIME_SPAN, &mut span);
    span
}

fn targets(reader: &mut Reader<'_>, node: Node<'_, '_>, span: &mut TimeSpan) {
    for item in reader.items(node, &[("Target", &[])]) {
        span.targets.push(target::read(reader, item));
    }
}

fn traversal(reader: &mut Reader<'_>, node: Node<'_, '_>, span: &mut TimeSpan) {
    const TRAVERSALS: &[(&str, Traversal)] = &[("Cpu", Traversal::Cpu), ("CoreAware", Traversal::CoreAware)];
    const GROUPS: &[(&str, GroupSpan)] = &[("Fill", GroupSpan::Fill), ("Span", GroupSpan::Span)];
    const EFFICIENCIES: &[(&str, EfficiencyOrder)] = &[
        ("Unordered", EfficiencyOrder::Unordered),
        ("PFirst", EfficiencyOrder::PerformanceFirst),
        ("EFirst", EfficiencyOrder::EfficiencyFirst),
        ("FillPFirst", EfficiencyOrder::FillPerformanceFirst),
        ("FillEFirst", EfficiencyOrder::FillEfficiencyFirst),
    ];
    let Some(text) = reader.text(node) else { return };
    span.affinity.traversal = reader.read(node, value::word(&text, TRAVERSALS));
    span.affinity.group_span = reader.attribute(node, "Group", |text| value::word(text, GROUPS));
    span.affinity.efficiency = reader.attribute(node, "Efficiency", |text| value::word(text, EFFICIENCIES));
}

/// CPUs in one of three forms: masks of a group, single CPUs of a group, single CPUs of group 0.
fn affinity(reader: &mut Reader<'_>, node: Node<'_, '_>, span: &mut TimeSpan) {
    let items = reader.items(
        node,
        &[
            ("Group", &["Group", "Mask"]),
            ("AffinityGroupAssignment", &["Group", "Processor"]),
            ("AffinityAssignment", &[]),
        ],
    );
    let kind = items.first().map(|first| first.tag_name().name().to_owned()).unwrap_or_default();
    let listed = &mut span.affinity.listed;
    for item in items {
        if !is_named(item, &kind) {
            reader.fault(item, format!("the list began with <{kind}>; all its elements must be of one kind"));
            continue;
        }
        match kind.as_str() {
            "Group" => group(reader, item, listed),
            "AffinityGroupAssignment" => group_assignment(reader, item, listed),
            _ => {
                if let Some(cpu) = reader.number(item, &(0..=CPUS_PER_GROUP - 1)) {
                    push_cpu(listed, 0, cpu);
                }
            }
        }
    }
}

fn group_number(text: &str) -> Result<u16, String> {
    // The largest group is the largest u16.
    value::number(text, &(0..=GROUP_MAX)).map(|group: u32| group as u16)
}

/// A mask of 0 is the whole group.
fn group(reader: &mut Reader<'_>, item: Node<'_, '_>, listed: &mut Vec<AffinityEntry>) {
    reader.nothing(item);
    let group = reader.needed(item, "Group", group_number);
    let mask = reader.needed(item, "Mask", value::mask);
    if let (Some(group), Some(mask)) = (group, mask) {
        listed.push(AffinityEntry { group, mask });
    }
}

/// Older versions take an attribute that is missing as 0.
fn group_assignment(reader: &mut Reader<'_>, item: Node<'_, '_>, listed: &mut Vec<AffinityEntry>) {
    reader.nothing(item);
    let group = reader.attribute(item, "Group", group_number);
    let cpu = reader.attribute(item, "Processor", |text| value::number(text, &(0..=CPUS_PER_GROUP - 1)));
    push_cpu(listed, group.unwrap_or(0), cpu.unwrap_or(0));
}

/// I/Os, or percent of the requests that a thread keeps outstanding.
fn batch(reader: &mut Reader<'_>, node: Node<'_, '_>, ring: &mut IoRing) {
    let is_percent = reader.attribute(node, "Percent", value::flag).unwrap_or(false);
    let range = if is_percent { 1..=100 } else { 1..=IO_RING_BATCH_MAX };
    if let Some(size) = reader.number(node, &range) {
        ring.batch = if is_percent { IoRingBatch::Percent(size) } else { IoRingBatch::Count(size) };
    }
}
