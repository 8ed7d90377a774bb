//! Elements of a target with children: `Distribution`, `WriteBufferContent`, `ThreadTargets`.

use crate::element::reader::Reader;
use crate::element::tree::Element;
use crate::element::value;
use crate::setting::{Codec, CustomElement, EmitCondition, Setting, U32, U64, number, short_size, write_all};
use model::profile::{Distribution, DistributionRange, Target, ThreadTarget, WriteSource};
use model::units::Bytes;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::PathBuf;

pub(crate) static DISTRIBUTION: CustomElement<Target> = CustomElement {
    schema: "Distribution",
    attributes: &[],
    read: |reader, node, target| {
        let mut found = Ranges::default();
        reader.children(node, RANGES, &mut found);
        target.distribution = match found {
            Ranges { percent: Some(ranges), absolute: None } => Some(Distribution::Percent(ranges)),
            Ranges { percent: None, absolute: Some(ranges) } => Some(Distribution::Absolute(ranges)),
            Ranges { percent: None, absolute: None } => {
                reader.fault(node, "must contain <Percent> or <Absolute>");
                None
            }
            Ranges { percent: Some(_), absolute: Some(_) } => {
                reader.fault(node, "only one of <Percent> and <Absolute> is allowed here");
                None
            }
        };
        // A result contains the distribution as it was run.
        if let Some(distribution) = target.distribution.as_mut().filter(|_| reader.is_strict()) {
            distribution.complete();
        }
    },
    write: |xml, name, target| {
        let Some(distribution) = &target.distribution else { return };
        let kind = match distribution {
            Distribution::Percent(_) => "Percent",
            Distribution::Absolute(_) => "Absolute",
        };
        xml.inside(name, |xml| {
            xml.inside(kind, |xml| {
                for range in distribution.ranges() {
                    xml.element_with("Range", &[("IO", &range.io_percent)], range.length);
                }
            });
        });
    },
    shown: |target| {
        let Some(distribution) = &target.distribution else { return String::new() };
        let (kind, length): (_, fn(u64) -> String) = match distribution {
            Distribution::Percent(_) => ("pct", |percent| percent.to_string()),
            Distribution::Absolute(_) => ("abs", short_size),
        };
        let range = |range: &DistributionRange| format!("{}/{}", range.io_percent, length(range.length));
        format!("-rd{kind}{}", distribution.ranges().iter().map(range).collect::<Vec<_>>().join(":"))
    },
};

/// Ranges of a distribution in each of its two forms.
#[derive(Default)]
pub(crate) struct Ranges {
    percent: Option<Vec<DistributionRange>>,
    absolute: Option<Vec<DistributionRange>>,
}

/// `Distribution`; its ranges are written there.
pub(crate) static RANGES: &[Setting<Ranges>] =
    &[Setting::new("Percent", "", Codec::Own(&PERCENT)), Setting::new("Absolute", "", Codec::Own(&ABSOLUTE))];

static PERCENT: CustomElement<Ranges> = CustomElement {
    schema: "Percent",
    attributes: &[],
    read: |reader, node, into| into.percent = Some(ranges(reader, node, &(1..=100))),
    write: |_, _, _| {},
    shown: |_| String::new(),
};

static ABSOLUTE: CustomElement<Ranges> = CustomElement {
    schema: "Absolute",
    attributes: &[],
    read: |reader, node, into| into.absolute = Some(ranges(reader, node, &U64)),
    write: |_, _, _| {},
    shown: |_| String::new(),
};

/// The items of `Percent` and `Absolute`, with their attributes.
pub(crate) const RANGE_ITEMS: &[(&str, &[&str])] = &[("Range", &["IO"])];

fn ranges<'n>(reader: &mut Reader<'n>, list: &'n Element, lengths: &RangeInclusive<u64>) -> Vec<DistributionRange> {
    let mut ranges = Vec::new();
    for item in reader.items(list, RANGE_ITEMS) {
        let io_percent = reader.needed(item, "IO", |text| value::number(text, &(0..=100)));
        let length = reader.number(item, lengths);
        if let (Some(io_percent), Some(length)) = (io_percent, length) {
            ranges.push(DistributionRange { io_percent, length });
        }
    }
    ranges
}

pub(crate) static CONTENT_OF_TARGET: CustomElement<Target> = CustomElement {
    schema: "WriteBufferContent",
    attributes: &[],
    read: |reader, node, target| {
        reader.children(node, CONTENT, target);
        let pattern = node.child("Pattern").map(Element::text);
        if pattern.as_deref().map(value::trimmed) != Some("random") {
            // A source is used only by the pattern that has one.
            target.write_source = None;
        } else if node.child("RandomDataSource").is_none() && reader.is_strict() {
            reader.fault(
                node,
                "the pattern 'random' needs a <RandomDataSource> with <SizeInBytes>, the size of the random data",
            );
        }
    },
    write: |xml, name, target| xml.inside(name, |xml| write_all(xml, CONTENT, target)),
    shown: |target| match &target.write_source {
        _ if target.zero_write_buffers => "-Z".to_owned(),
        None => "no -Z".to_owned(),
        Some(WriteSource { size, file: None }) => format!("-Z{}", short_size(size.get())),
        Some(WriteSource { size, file: Some(file) }) => {
            format!("-Z{},{}", short_size(size.get()), file.as_os_str().as_encoded_bytes().escape_ascii())
        }
    },
};

/// `WriteBufferContent`. Zeros win over a source if both were set.
pub(crate) static CONTENT: &[Setting<Target>] = &[
    Setting::new(
        "Pattern",
        "zero_write_buffers",
        Codec::Word(&[
            crate::setting::Word {
                name: "sequential",
                argument: "",
                set: |target: &mut Target| target.zero_write_buffers = false,
                is_set: |target| !target.zero_write_buffers && target.write_source.is_none(),
            },
            crate::setting::Word {
                name: "zero",
                argument: "",
                set: |target| target.zero_write_buffers = true,
                is_set: |target| target.zero_write_buffers,
            },
            crate::setting::Word {
                name: "random",
                argument: "",
                set: |target| target.zero_write_buffers = false,
                is_set: |target| target.write_source.is_some(),
            },
        ]),
    )
    .required(),
    Setting::new("RandomDataSource", "write_source", Codec::Own(&SOURCE_OF_TARGET))
        .emit(EmitCondition::When(|target| !target.zero_write_buffers && target.write_source.is_some())),
];

static SOURCE_OF_TARGET: CustomElement<Target> = CustomElement {
    schema: "RandomDataSource",
    attributes: &[],
    read: |reader, node, target| {
        let mut source = WriteSource { size: Bytes(0), file: None };
        reader.children(node, SOURCE, &mut source);
        target.write_source = Some(source);
    },
    write: |xml, name, target| {
        if let Some(source) = &target.write_source {
            xml.inside(name, |xml| write_all(xml, SOURCE, source));
        }
    },
    shown: |_| String::new(),
};

/// `RandomDataSource`.
pub(crate) static SOURCE: &[Setting<WriteSource>] = &[
    Setting::<WriteSource>::new("SizeInBytes", "size_bytes", number!(size size, U64)).required(),
    Setting::new("FilePath", "file", Codec::Own(&SOURCE_FILE))
        .emit(EmitCondition::When(|source: &WriteSource| source.file.is_some())),
];

static SOURCE_FILE: CustomElement<WriteSource> = CustomElement {
    schema: "xs:string",
    attributes: &[],
    read: |reader, node, source| source.file = reader.text(node).map(PathBuf::from),
    write: |xml, name, source| {
        if let Some(file) = &source.file {
            xml.element(name, file.display());
        }
    },
    shown: |_| String::new(),
};

pub(crate) static THREAD_TARGETS: CustomElement<Target> = CustomElement {
    schema: "ThreadTargets",
    attributes: &[],
    read: |reader, node, target| {
        let mut threads = BTreeSet::new();
        for item in reader.items(node, &[("ThreadTarget", &[])]) {
            let mut found = ThreadTarget { thread: 0, weight: 0 };
            reader.children(item, THREAD_TARGET, &mut found);
            if item.child("Thread").is_none() {
                continue;
            }
            if threads.insert(found.thread) || !reader.is_strict() {
                target.thread_targets.push(found);
            } else {
                reader.fault(item, format!("thread {} is already listed for this target", found.thread));
            }
        }
    },
    write: |xml, name, target| {
        xml.inside(name, |xml| {
            for of_thread in &target.thread_targets {
                xml.inside("ThreadTarget", |xml| write_all(xml, THREAD_TARGET, of_thread));
            }
        });
    },
    shown: |target| {
        let listed = target.thread_targets.iter().map(|one| format!("{}:{}", one.thread, one.weight));
        format!("<ThreadTargets>{}</ThreadTargets>", listed.collect::<Vec<_>>().join(" "))
    },
};

/// `ThreadTarget`.
pub(crate) static THREAD_TARGET: &[Setting<ThreadTarget>] = &[
    Setting::<ThreadTarget>::new("Thread", "thread", number!(thread, U32)).required(),
    Setting::<ThreadTarget>::new("Weight", "weight", number!(weight, U32))
        .emit(EmitCondition::When(|of_thread| of_thread.weight != 0)),
];
