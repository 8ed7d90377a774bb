//! The schema file, validated by xmllint, against the documents that we read and write.

#![allow(clippy::unwrap_used)] // Files of the test's own.

use cli::{Command, Environment, LineCommand, parse, read_profile, write_profile};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use roxmltree::{Document, Node};
use settings::arbitrary;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Refused by us for reasons that a schema cannot express.
const BEYOND_THE_SCHEMA: &[&str] = &["profile_random_stride.xml"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// True for each document that is valid by the schema; `None` without xmllint.
fn validity(documents: &[Vec<u8>]) -> Option<Vec<bool>> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new("xmllint");
    command.args(["--noout", "--nonet", "--schema"]).arg(root().join("docs/formats/diskspd-profile.xsd"));
    for (number, document) in documents.iter().enumerate() {
        std::fs::write(folder.path().join(number.to_string()), document).unwrap();
        command.arg(number.to_string());
    }
    let output = match command.current_dir(folder.path()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: xmllint is not installed (package libxml2-utils)");
            return None;
        }
        Err(error) => panic!("xmllint: {error}"),
    };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!told.contains("Schemas parser error"), "{told}");
    // A document that is not well-formed has no such line.
    let is_valid = |number: usize| told.lines().any(|line| line == format!("{number} validates"));
    Some((0..documents.len()).map(is_valid).collect())
}

#[test]
fn files_are_valid_as_far_as_a_schema_can_tell() {
    let folder = root().join("crates/cli/tests/data/profiles");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 46);
    let documents: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    let Some(validity) = validity(&documents) else { return };
    for ((file, document), is_valid) in files.iter().zip(&documents).zip(validity) {
        let name = file.file_name().unwrap().to_string_lossy();
        let is_read = read_profile(document, &name).is_ok() || BEYOND_THE_SCHEMA.contains(&&*name);
        assert_eq!(is_valid, is_read, "{name}");
    }
}

struct FakeEnv;

impl Environment for FakeEnv {
    fn milliseconds_since_boot(&self) -> u32 {
        0
    }

    fn file_exists(&self, _: &Path) -> bool {
        false
    }
}

#[test]
fn what_is_shown_is_valid() {
    let mut shown = Vec::new();
    for line in include_str!("data/command-lines.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let args = row["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
        let args: Vec<OsString> = std::iter::once("-Rpxml").chain(args).map(OsString::from).collect();
        if let Ok(Command::Line(LineCommand::ShowProfile(request))) = parse(&args, &FakeEnv) {
            shown.push(write_profile(&request.profile, request.format).into_bytes());
        }
    }
    assert!(shown.len() > 200, "{}", shown.len());
    let Some(validity) = validity(&shown) else { return };
    for (text, is_valid) in shown.iter().zip(validity) {
        let text = String::from_utf8_lossy(text);
        // A template without a number can be shown but not read.
        assert_eq!(is_valid, !text.contains("<Path>*abc</Path>"), "{text}");
    }
}

/// A change that leaves a document well-formed.
#[derive(Clone, Debug)]
enum Change {
    None,
    Text(&'static str),
    Remove,
    Repeat,
    Rename(&'static str),
    Attribute(&'static str),
}

fn changes() -> impl Strategy<Value = Change> {
    let texts = select(vec![
        "",
        " ",
        "0",
        "1",
        "007",
        " 5 ",
        "-1",
        "4K",
        "16",
        "17",
        "63",
        "64",
        "99",
        "100",
        "101",
        "3",
        "4",
        "65535",
        "65536",
        "4294967294",
        "4294967295",
        "4294967296",
        "18446744073709551615",
        "18446744073709551616",
        "true",
        "True",
        "FALSE",
        "yes",
        " aio\n",
        "null",
        "xml",
        "Cpu",
        "Full",
        "zero",
        "*1",
        "*0",
        "0x1",
        "<Linux/>",
    ]);
    let names = select(vec!["Weight", "Thread", "Range", "Group", "Linux", "Targets", "linux", "Random"]);
    let attributes = select(vec!["Group='0'", "unit='IOPS'", "IO='100'", "Percent='1'", "x='y'", "Mask='0'"]);
    prop_oneof![
        1 => Just(Change::None),
        6 => texts.prop_map(Change::Text),
        2 => Just(Change::Remove),
        2 => Just(Change::Repeat),
        2 => names.prop_map(Change::Rename),
        1 => attributes.prop_map(Change::Attribute),
    ]
}

/// The document with one of its elements changed.
fn changed(text: &str, at: Index, change: &Change) -> String {
    let document = Document::parse(text).unwrap();
    let elements: Vec<_> = document.descendants().filter(Node::is_element).skip(1).collect();
    let node = elements[at.index(elements.len())];
    let (range, name) = (node.range(), node.tag_name().name());
    let source = &text[range.clone()];
    let start_tag = format!("<{name}");
    let behind_name = &source[start_tag.len()..];
    let instead = match change {
        Change::None => source.to_owned(),
        Change::Text(text) => {
            let attributes: Vec<String> =
                node.attributes().map(|attribute| format!(" {}='{}'", attribute.name(), attribute.value())).collect();
            format!("<{name}{}>{text}</{name}>", attributes.concat())
        }
        Change::Remove => String::new(),
        Change::Repeat => source.repeat(2),
        Change::Rename(new) => {
            let end_tag = format!("</{name}>");
            let inside = behind_name.strip_suffix(&end_tag).unwrap_or(behind_name);
            let end = if inside.len() < behind_name.len() { format!("</{new}>") } else { String::new() };
            format!("<{new}{inside}{end}")
        }
        Change::Attribute(attribute) => format!("{start_tag} {attribute}{behind_name}"),
    };
    format!("{}{instead}{}", &text[..range.start], &text[range.end..])
}

/// The schema may accept documents that we refuse, but never refuses one that we read.
#[test]
fn whatever_is_read_is_valid() {
    let mut runner = TestRunner::new_with_rng(
        ProptestConfig::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, b"profiles against their schema..."),
    );
    let strategy = (any::<u64>(), any::<Index>(), changes());
    let documents: Vec<Vec<u8>> = (0..600)
        .map(|_| {
            let (seed, at, change) = strategy.new_tree(&mut runner).unwrap().current();
            let profile = arbitrary::profile(seed);
            changed(&write_profile(&profile, profile.result_format), at, &change).into_bytes()
        })
        .filter(|text| Document::parse(std::str::from_utf8(text).unwrap()).is_ok())
        .collect();
    let Some(validity) = validity(&documents) else { return };
    let (mut read, mut refused_by_both) = (0, 0);
    for (document, is_valid) in documents.iter().zip(validity) {
        match read_profile(document, "p") {
            Ok(_) => {
                read += 1;
                assert!(is_valid, "{}", String::from_utf8_lossy(document));
            }
            Err(_) if !is_valid => refused_by_both += 1,
            Err(_) => {}
        }
    }
    assert!(read > 50 && refused_by_both > 200, "{read} read, {refused_by_both} refused");
    let refused = documents.len() - read;
    assert!(
        refused_by_both * 100 / refused >= 90,
        "of {refused} that are refused the schema refuses {refused_by_both}"
    );
}
