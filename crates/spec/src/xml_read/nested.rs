//! What stands inside a target: `Distribution`, `WriteBufferContent`, `ThreadTargets`.

use super::element::Element;
use super::reader::Reader;
use super::value;
use crate::distribution::{complete_absolute, complete_percent};
use model::profile::{DistributionRange, Target, ThreadTarget, WriteSource};
use model::units::Bytes;
use roxmltree::Node;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Ranges of a distribution in each of its two forms; one of them is right.
#[derive(Default)]
pub(super) struct Ranges {
    pub(super) percent: Option<Vec<DistributionRange>>,
    pub(super) absolute: Option<Vec<DistributionRange>>,
}

pub(super) const DISTRIBUTION: &[Element<Ranges>] = &[
    Element::own("Percent", |reader, node, into| {
        let mut ranges = ranges(reader, node, &(1..=100));
        complete_percent(&mut ranges);
        into.percent = Some(ranges);
    }),
    Element::own("Absolute", |reader, node, into| {
        let mut ranges = ranges(reader, node, &(0..=u64::MAX));
        complete_absolute(&mut ranges);
        into.absolute = Some(ranges);
    }),
];

fn ranges(reader: &mut Reader<'_>, list: Node<'_, '_>, lengths: &RangeInclusive<u64>) -> Vec<DistributionRange> {
    let mut ranges = Vec::new();
    for item in reader.items(list, &[("Range", &["IO"])]) {
        let io_percent = reader.needed(item, "IO", |text| value::number(text, &(0..=100)));
        let length = reader.number(item, lengths);
        if let (Some(io_percent), Some(length)) = (io_percent, length) {
            ranges.push(DistributionRange { io_percent, length });
        }
    }
    ranges
}

/// What write buffers hold.
#[derive(Default)]
pub(super) struct ContentDraft {
    pattern: Option<Pattern>,
    source: Option<SourceDraft>,
}

enum Pattern {
    Sequential,
    Zero,
    Random,
}

/// Where random content comes from.
#[derive(Default)]
pub(super) struct SourceDraft {
    size_bytes: Option<u64>,
    file: Option<PathBuf>,
}

pub(super) const CONTENT: &[Element<ContentDraft>] = &[
    Element::required(Element::word(
        "Pattern",
        &[
            ("sequential", |content| content.pattern = Some(Pattern::Sequential)),
            ("zero", |content| content.pattern = Some(Pattern::Zero)),
            ("random", |content| content.pattern = Some(Pattern::Random)),
        ],
    )),
    Element::own("RandomDataSource", |reader, node, content| {
        reader.children(node, SOURCE, content.source.insert(SourceDraft::default()));
    }),
];

pub(super) const SOURCE: &[Element<SourceDraft>] = &[
    Element::required(Element::u64("SizeInBytes", |source, n| source.size_bytes = Some(n))),
    Element::text("FilePath", |source, path| source.file = Some(PathBuf::from(path))),
];

/// A source counts only for the pattern `random`, which needs one.
pub(super) fn content(reader: &mut Reader<'_>, node: Node<'_, '_>, target: &mut Target) {
    let mut draft = ContentDraft::default();
    reader.children(node, CONTENT, &mut draft);
    match (draft.pattern, draft.source) {
        (None | Some(Pattern::Sequential), _) => {}
        (Some(Pattern::Zero), _) => target.zero_write_buffers = true,
        (Some(Pattern::Random), Some(SourceDraft { size_bytes, file })) => {
            target.write_source = size_bytes.map(|size| WriteSource { size: Bytes(size), file });
        }
        (Some(Pattern::Random), None) => reader.fault(
            node,
            "the pattern random needs a <RandomDataSource> with <SizeInBytes>, the size of the random data",
        ),
    }
}

/// A thread that serves the target.
#[derive(Default)]
pub(super) struct ThreadDraft {
    thread: Option<u32>,
    weight: u32,
}

pub(super) const THREAD_TARGET: &[Element<ThreadDraft>] = &[
    Element::required(Element::u32("Thread", |draft, n| draft.thread = Some(n))),
    Element::u32("Weight", |draft, n| draft.weight = n),
];

pub(super) fn thread_targets(reader: &mut Reader<'_>, node: Node<'_, '_>) -> Vec<ThreadTarget> {
    let mut listed = Vec::new();
    let mut threads = BTreeSet::new();
    for item in reader.items(node, &[("ThreadTarget", &[])]) {
        let mut draft = ThreadDraft::default();
        reader.children(item, THREAD_TARGET, &mut draft);
        let Some(thread) = draft.thread else { continue };
        if threads.insert(thread) {
            listed.push(ThreadTarget { thread, weight: draft.weight });
        } else {
            reader.fault(item, format!("thread {thread} is already listed for this target"));
        }
    }
    listed
}
