//! The XML result writer and reader are complete: everything that is written is read.

use crate::generated;
use crate::xml;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use roxmltree::{Document, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

const DOCUMENTS: usize = 30;
/// Parts of one name that are tried in a document: an invalid flag means the same as an unset one.
const TRIES: u32 = 2;

/// Parts that follow from others in the document: counts from masks, places of CPUs from the topology, ends of
/// intervals from their length.
const UNREAD: [&str; 14] = [
    "/Results/System/ProcessorTopology Heterogeneous",
    "/Results/System/ProcessorTopology/Core Core",
    "/Results/System/ProcessorTopology/Group ActiveProcessors",
    "/Results/TimeSpan/CpuUtilization/CPU/Core",
    "/Results/TimeSpan/CpuUtilization/CPU/EfficiencyClass",
    "/Results/TimeSpan/CpuUtilization/CPU/Node",
    "/Results/TimeSpan/CpuUtilization/CPU/Socket",
    "/Results/TimeSpan/Iops/Bucket SampleMillisecond",
    // There is no other.
    "/Results/TimeSpan/Linux/Confidence Percent",
    "/Results/TimeSpan/Linux/OpenLoop/HalfWidths Direction",
    // They follow from the counts.
    "/Results/TimeSpan/Linux/Stream/StreamIos IosPerSecond",
    "/Results/TimeSpan/Linux/Stream/StreamIos MiBPerSecond",
    "/Results/TimeSpan/ProcCount",
    "/Results/TimeSpan/Thread/Target/Iops/Bucket SampleMillisecond",
];

/// Values of attributes and texts, each with the elements around it and its place. Profiles have a test of their own.
fn parts(document: &Document<'_>) -> Vec<(String, Range<usize>)> {
    let mut parts = Vec::new();
    for node in document.descendants().filter(Node::is_element) {
        let mut names: Vec<&str> = node.ancestors().map(|around| around.tag_name().name()).collect();
        if names.contains(&"Profile") {
            continue;
        }
        names.reverse();
        let path = names.join("/");
        parts.extend(
            node.attributes().map(|attribute| (format!("{path} {}", attribute.name()), attribute.range_value())),
        );
        let has_text = |text: &Node<'_, '_>| text.is_text() && text.text().is_some_and(|text| !text.trim().is_empty());
        parts.extend(node.children().filter(has_text).map(|text| (path.clone(), text.range())));
    }
    parts
}

#[test]
fn every_attribute_and_text_that_is_written_is_read() {
    let mut runner = TestRunner::deterministic();
    let (mut read, mut tried) = (BTreeSet::new(), BTreeSet::new());
    let mut unread = BTreeSet::new();
    for _ in 0..DOCUMENTS {
        let text = xml(&generated::result().new_tree(&mut runner).expect("nothing is rejected").current());
        let whole = import::read(text.as_bytes());
        let mut others = Vec::new();
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for (name, place) in parts(&Document::parse(&text).expect("it is well-formed")) {
            if UNREAD.contains(&name.as_str()) {
                unread.insert(name);
                others.push(place);
                continue;
            }
            let count = counts.entry(name.clone()).or_default();
            if read.contains(&name) || *count == TRIES {
                continue;
            }
            *count += 1;
            let other = format!("{}x{}", &text[..place.start], &text[place.end..]);
            let is_read = import::read(other.as_bytes()) != whole;
            let names = if is_read { &mut read } else { &mut tried };
            names.insert(name);
        }
        // All of these at once: reading a document is slow. From the end, so that positions stay valid.
        others.sort_unstable_by_key(|place| place.start);
        let mut other = text.clone();
        others.into_iter().rev().for_each(|place| other.replace_range(place, "x"));
        assert_eq!(import::read(other.as_bytes()), whole, "something in UNREAD is read");
    }
    assert_eq!(tried.difference(&read).collect::<Vec<_>>(), Vec::<&String>::new(), "written, but not read");
    assert_eq!(unread.into_iter().collect::<Vec<_>>(), UNREAD);
    assert!(read.len() > 150, "{read:?}");
}
