//! Rows of a timespan.

use crate::element::reader::Reader;
use crate::element::tree::Element;
use crate::element::value;
use crate::linux::LINUX_IN_TIME_SPAN;
use crate::setting::{Codec, CustomElement, EmitCondition, Setting, U32, flag, number, words, write_all};
use crate::target::TARGET;
use model::affinity::{AffinityEntry, list_text, push_cpu};
use model::limits::{COMPLETION_DEPTH_MAX, CPUS_PER_GROUP, GROUP_MAX, IO_RING_BATCH_MAX};
use model::profile::{BufferSeparation, EfficiencyOrder, GroupSpan, IoRing, IoRingBatch, Target, TimeSpan, Traversal};
use model::units::counted;

type Row = Setting<TimeSpan>;

/// `TimeSpan`.
pub static TIME_SPAN: &[Row] = &[
    Row::new("CompletionRoutines", "completion_routines", flag!(completion_routines)).option("-x").doc("-x"),
    Row::new("MeasureLatency", "measure_latency", flag!(measure_latency)).option("-L").doc("-L"),
    Row::new("CalculateIopsStdDev", "calculate_iops_std_dev", flag!(calculate_iops_std_dev))
        .option("-D")
        .doc("-D")
        .no_load(),
    Row::new("Duration", "duration_s", number!(duration_s, U32)).option("-d").doc("Seconds (-d) [10].").no_load(),
    Row::new("Warmup", "warm_up_s", number!(warm_up_s, U32)).option("-W").doc("Seconds (-W) [5].").no_load(),
    Row::new("Cooldown", "cool_down_s", number!(cool_down_s, U32)).option("-C").doc("Seconds (-C) [0].").no_load(),
    Row::new("ThreadCount", "thread_count", number!(thread_count, U32))
        .option("-F")
        .doc("Total number of threads, each working on every target (-F); 0: ThreadsPerFile applies."),
    Row::new("RequestCount", "request_count", number!(request_count, U32))
        .option("-O")
        .doc("Outstanding I/Os per thread, counted over all its targets (-O). Used only when ThreadCount is given."),
    Row::new("IoBucketDuration", "interval_ms", number!(interval_ms, U32))
        .option("-D")
        .doc("Milliseconds per interval of CalculateIopsStdDev [1000].")
        .no_load(),
    Row::new("RandSeed", "random_seed", number!(random_seed, U32)).option("-z").doc("-z").no_load(),
    Row::new("RandomWriteData", "random_write_data", flag!(random_write_data))
        .option("-Zr")
        .doc("-Zr")
        .emit(EmitCondition::IfSet),
    Row::new("IoRing", "io_ring", Codec::Own(&IO_RING_OF_SPAN))
        .option("-u")
        .emit(EmitCondition::When(|span| span.io_ring.is_some()))
        .examples(&[
            "",
            "<IoRingBatchSize>65536</IoRingBatchSize>",
            "<IoRingBatchSize Percent='true'>100</IoRingBatchSize><UseRegBuffer>false</UseRegBuffer>",
        ]),
    Row::new("DisableAffinity", "affinity", Codec::Flag(|span| span.affinity.disabled, disable_affinity))
        .option("-n")
        .doc("Leaves threads unbound (-n); not together with AffinityTraversal or Affinity."),
    Row::new("AffinityTraversal", "affinity", Codec::Own(&TRAVERSAL))
        .option("-a")
        .emit(EmitCondition::When(|span| !span.affinity.disabled))
        .examples(&[
            "<AffinityTraversal Group='Fill' Efficiency='PFirst'>Cpu</AffinityTraversal>",
            "<AffinityTraversal Group='Span' Efficiency='FillEFirst'>CoreAware</AffinityTraversal>",
            "<AffinityTraversal Group='Fill' Efficiency='Unordered'>Cpu</AffinityTraversal>",
            "<AffinityTraversal Group='Fill' Efficiency='EFirst'>Cpu</AffinityTraversal>",
            "<AffinityTraversal Group='Span' Efficiency='FillPFirst'>Cpu</AffinityTraversal>",
        ]),
    Row::new("Affinity", "affinity", Codec::Own(&LISTED))
        .option("-a")
        .emit(EmitCondition::When(|span| !span.affinity.disabled && !span.affinity.listed.is_empty()))
        .examples(&["<Group Group='0' Mask='0xf'/>", "<Group Group='65535' Mask='0x8'/><Group Group='1' Mask='0'/>"]),
    // From old profiles; it never had an effect.
    Row::new("GroupAffinity", "", Codec::Flag(|_| false, |_, _| {}))
        .doc("Found in old profiles; has no effect.")
        .emit(EmitCondition::Never),
    Row::new(
        "BufferSeparation",
        "buffer_separation",
        words!(buffer_separation;
            "SystemDefault" / "n" => BufferSeparation::SystemDefault,
            "PDECacheLine" / "p" => BufferSeparation::ThreadOptimized,
        ),
    )
    .option("-bs")
    .doc("-bsn, -bsp"),
    Row::new("CompletionDepth", "completion_depth", number!(completion_depth, 1..=COMPLETION_DEPTH_MAX as u64))
        .option("-oc")
        .doc("-oc")
        .emit(EmitCondition::IfSet),
    Row::new("Targets", "targets", Codec::Own(&TARGETS)).required(),
    Row::new("Linux", "", Codec::Own(&LINUX))
        .emit(EmitCondition::When(|span| LINUX_IN_TIME_SPAN.iter().any(|setting| setting.is_emitted(span)))),
];

static LINUX: CustomElement<TimeSpan> = CustomElement {
    schema: "TimeSpanLinux",
    attributes: &[],
    read: |reader, node, span| reader.children(node, LINUX_IN_TIME_SPAN, span),
    write: |xml, name, span| xml.inside(name, |xml| write_all(xml, LINUX_IN_TIME_SPAN, span)),
    // Its rows are shown one by one.
    shown: |_| String::new(),
};

static TARGETS: CustomElement<TimeSpan> = CustomElement {
    schema: "Targets",
    attributes: &[],
    read: |reader, node, span| {
        for item in reader.items(node, &[("Target", &[])]) {
            let mut target = Target::new("");
            reader.children(item, TARGET, &mut target);
            span.targets.push(target);
        }
    },
    write: |xml, name, span| {
        xml.inside(name, |xml| {
            for target in &span.targets {
                xml.inside("Target", |xml| write_all(xml, TARGET, target));
            }
        });
    },
    shown: |span| counted(span.targets.len(), "target"),
};

static IO_RING_OF_SPAN: CustomElement<TimeSpan> = CustomElement {
    schema: "IoRing",
    attributes: &[],
    read: |reader, node, span| reader.children(node, IO_RING, span.io_ring.insert(IoRing::default())),
    write: |xml, name, span| {
        if let Some(ring) = &span.io_ring {
            xml.inside(name, |xml| write_all(xml, IO_RING, ring));
        }
    },
    shown: |span| {
        let ring = span.io_ring.unwrap_or_default();
        let buffers = if ring.registered_buffers { "" } else { "n" };
        match ring.batch {
            IoRingBatch::Percent(percent) => format!("-u{buffers}{percent}p"),
            IoRingBatch::Count(count) => format!("-u{buffers}{count}"),
        }
    },
};

/// `IoRing`.
pub(crate) static IO_RING: &[Setting<IoRing>] = &[
    Setting::new("IoRingBatchSize", "batch", Codec::Own(&BATCH)),
    Setting::new(
        "UseRegBuffer",
        "registered_buffers",
        Codec::Flag(
            |ring: &IoRing| ring.registered_buffers,
            |ring, on| {
                ring.registered_buffers = on;
            },
        ),
    ),
];

/// I/Os, or percent of the requests that a thread keeps outstanding.
static BATCH: CustomElement<IoRing> = CustomElement {
    schema: "IoRingBatchSize",
    attributes: &["Percent"],
    read: |reader, node, ring| {
        let flag = node.attribute("Percent").map(|text| {
            let flag = value::flag(text);
            flag.map_err(|message| format!("attribute Percent: {message}"))
        });
        let is_percent = flag.is_some_and(|flag| reader.known(node, flag).unwrap_or(false));
        let most = if is_percent { 100 } else { IO_RING_BATCH_MAX };
        let Some(size) = reader.number(node, &(1..=u64::from(most))) else { return };
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        ring.batch = if is_percent { IoRingBatch::Percent(size) } else { IoRingBatch::Count(size) };
    },
    write: |xml, name, ring| {
        let (percent, batch) = match ring.batch {
            IoRingBatch::Percent(percent) => ("true", percent),
            IoRingBatch::Count(count) => ("false", count),
        };
        xml.element_with(name, &[("Percent", &percent)], batch);
    },
    shown: |_| String::new(),
};

/// With affinity disabled no other element is written, so that the profile can be read back.
fn disable_affinity(span: &mut TimeSpan, disabled: bool) {
    span.affinity.disabled = disabled;
    if disabled {
        span.affinity.efficiency = None;
    }
}

const TRAVERSALS: &[(&str, Traversal)] = &[("Cpu", Traversal::Cpu), ("CoreAware", Traversal::CoreAware)];
const GROUPS: &[(&str, GroupSpan)] = &[("Fill", GroupSpan::Fill), ("Span", GroupSpan::Span)];
const EFFICIENCIES: &[(&str, EfficiencyOrder)] = &[
    ("Unordered", EfficiencyOrder::Unordered),
    ("PFirst", EfficiencyOrder::PerformanceFirst),
    ("EFirst", EfficiencyOrder::EfficiencyFirst),
    ("FillPFirst", EfficiencyOrder::FillPerformanceFirst),
    ("FillEFirst", EfficiencyOrder::FillEfficiencyFirst),
];

/// The word of a value; each table has all values.
fn word_of<W: PartialEq + Copy>(words: &[(&'static str, W)], value: W) -> &'static str {
    words.iter().find(|(_, known)| *known == value).map_or("", |(word, _)| *word)
}

static TRAVERSAL: CustomElement<TimeSpan> = CustomElement {
    schema: "AffinityTraversal",
    attributes: &["Group", "Efficiency"],
    read: |reader, node, span| {
        let Some(text) = reader.text(node) else { return };
        let affinity = &mut span.affinity;
        affinity.traversal = reader.word(node, &text, TRAVERSALS);
        affinity.group_span = reader.word_attribute(node, "Group", GROUPS);
        // A value that results of versions before 2.3 lack is kept.
        affinity.efficiency = reader.word_attribute(node, "Efficiency", EFFICIENCIES).or(affinity.efficiency);
    },
    write: |xml, name, span| {
        let affinity = &span.affinity;
        let group = word_of(GROUPS, affinity.group_span.unwrap_or_default());
        let efficiency = word_of(EFFICIENCIES, affinity.efficiency.unwrap_or_default());
        let traversal = word_of(TRAVERSALS, affinity.traversal.unwrap_or_default());
        xml.element_with(name, &[("Group", &group), ("Efficiency", &efficiency)], traversal);
    },
    shown: |span| {
        let affinity = &span.affinity;
        let traversal = if affinity.traversal.unwrap_or_default() == Traversal::CoreAware { "c" } else { "" };
        let group = if affinity.group_span.unwrap_or_default() == GroupSpan::Span { "s" } else { "" };
        let efficiency = match affinity.efficiency.unwrap_or_default() {
            EfficiencyOrder::Unordered => "up",
            EfficiencyOrder::PerformanceFirst => "p",
            EfficiencyOrder::EfficiencyFirst => "e",
            EfficiencyOrder::FillPerformanceFirst => "P",
            EfficiencyOrder::FillEfficiencyFirst => "E",
        };
        format!("-a{traversal}{group}{efficiency}")
    },
};

/// CPUs in one of three forms: masks of a group, single CPUs of a group, single CPUs of group 0.
static LISTED: CustomElement<TimeSpan> = CustomElement {
    schema: "Affinity",
    attributes: &[],
    read: read_listed,
    write: |xml, name, span| {
        xml.inside(name, |xml| {
            for entry in &span.affinity.listed {
                xml.empty_with("Group", &[("Group", &entry.group), ("Mask", &format!("{:#x}", entry.mask))]);
            }
        });
    },
    shown: |span| {
        let listed = &span.affinity.listed;
        format!("-a {}", list_text(listed, listed.iter().any(|entry| entry.group > 0)))
    },
};

/// Elements of `Affinity`, with their attributes.
pub(crate) const LISTED_ITEMS: &[(&str, &[&str])] =
    &[("Group", &["Group", "Mask"]), ("AffinityGroupAssignment", &["Group", "Processor"]), ("AffinityAssignment", &[])];

fn read_listed<'n>(reader: &mut Reader<'n>, node: &'n Element, span: &mut TimeSpan) {
    let items = reader.items(node, LISTED_ITEMS);
    let kind = items.first().map(|first| first.name.clone()).unwrap_or_default();
    let listed = &mut span.affinity.listed;
    for item in items {
        if !item.is_named(&kind) {
            reader.fault(item, format!("all elements of the list must have the same name; the first is <{kind}>"));
            continue;
        }
        match kind.as_str() {
            "Group" => group(reader, item, listed),
            "AffinityGroupAssignment" => group_assignment(reader, item, listed),
            _ => {
                let cpu = reader.text(item).and_then(|text| reader.read(item, value::number(&text, CPUS)));
                if let Some(cpu) = cpu {
                    push_cpu(listed, 0, cpu);
                }
            }
        }
    }
}

/// CPUs of a group.
const CPUS: &std::ops::RangeInclusive<u32> = &(0..=CPUS_PER_GROUP - 1);

fn group_number(text: &str) -> Result<u16, String> {
    // The largest group is the largest u16.
    value::number(text, &(0..=GROUP_MAX)).map(|group: u32| group as u16)
}

/// A mask of 0 is the whole group.
fn group(reader: &mut Reader<'_>, item: &Element, listed: &mut Vec<AffinityEntry>) {
    reader.nothing(item);
    let group = reader.needed(item, "Group", group_number);
    let mask = reader.needed(item, "Mask", value::mask);
    if let (Some(group), Some(mask)) = (group, mask) {
        listed.push(AffinityEntry { group, mask });
    }
}

/// Older versions read a missing attribute as 0.
fn group_assignment(reader: &mut Reader<'_>, item: &Element, listed: &mut Vec<AffinityEntry>) {
    reader.nothing(item);
    let group = reader.attribute(item, "Group", group_number);
    let cpu = reader.attribute(item, "Processor", |text| value::number(text, CPUS));
    push_cpu(listed, group.unwrap_or(0), cpu.unwrap_or(0));
}
