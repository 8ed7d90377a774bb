//! Damaged or forged input is refused, or read as far as possible; nothing panics.

use crate::captured::{TEXT, XML};
use crate::older::DOCUMENTS;
use crate::{text, xml};
use import::ReadError;
use proptest::prelude::*;

/// Reads the input, and writes the result in every form.
fn survives(bytes: &[u8]) {
    if let Ok(result) = import::read(bytes) {
        text(&result);
        xml(&result);
        let mut out = Vec::new();
        render::csv(&result, &mut out).expect("a vector takes everything");
    }
}

fn documents() -> impl Strategy<Value = &'static str> {
    let all: Vec<&str> = XML.iter().chain(&TEXT).map(|(_, content)| *content).chain(DOCUMENTS).collect();
    prop::sample::select(all)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn truncated_documents(document in documents(), at in any::<prop::sample::Index>()) {
        survives(&document.as_bytes()[..at.index(document.len())]);
    }

    #[test]
    fn changed_documents(
        document in documents(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = document.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survives(&bytes);
    }

    #[test]
    fn documents_with_other_numbers(document in documents(), at in any::<prop::sample::Index>(), number in "[0-9]{1,25}(\\.[0-9]{1,9})?|-1|nan") {
        let digits: Vec<usize> = document.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at).collect();
        let at = digits[at.index(digits.len())];
        survives(format!("{}{number}{}", &document[..at], &document[at + 1..]).as_bytes());
    }

    #[test]
    fn documents_with_lines_that_moved(document in documents(), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let mut lines: Vec<&str> = document.lines().collect();
        let line = lines.remove(from.index(lines.len()));
        lines.insert(to.index(lines.len() + 1), line);
        survives(lines.join("\n").as_bytes());
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&bytes);
        survives(&[b"<Results>".as_slice(), &bytes].concat());
        survives(&[b"Command Line: x\nInput parameters:\n".as_slice(), &bytes].concat());
    }
}

#[test]
fn truncated_results_are_never_taken_for_whole_ones() {
    for (name, document) in XML.iter().chain(&TEXT) {
        let end = document.rfind("\ntotal:").or(document.rfind("</Results>")).unwrap_or(0);
        if let Some(truncated) = document.get(..end).filter(|start| !start.is_empty()) {
            assert!(matches!(import::read(truncated.as_bytes()), Err(ReadError::Malformed { .. })), "{name}");
        }
    }
}

#[test]
fn deep_and_wide_documents_are_bounded() {
    let deep = format!("<Results>{}{}</Results>", "<a>".repeat(200_000), "</a>".repeat(200_000));
    survives(deep.as_bytes());
    let group = |group| {
        format!("<Group Group=\"{group}\" MaximumProcessors=\"64\" ActiveProcessorMask=\"0xffffffffffffffff\"/>")
    };
    let many_cpus = (0..300).map(group).collect::<Vec<_>>().concat();
    let wide = format!("<Results><System><ProcessorTopology>{many_cpus}</ProcessorTopology></System></Results>");
    let error = import::read(wide.as_bytes()).expect_err("there are 19200");
    assert!(error.to_string().contains("more than 8192 processors"), "{error}");
}

#[test]
fn entities_are_not_expanded() {
    let bomb = "<!DOCTYPE r [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>\n<Results>&b;</Results>";
    assert!(import::read(bomb.as_bytes()).is_err());
    let bomb = format!("<?xml version=\"1.0\"?>\n{bomb}");
    let error = import::read(bomb.as_bytes()).expect_err("a document type is refused");
    assert_eq!(error.to_string(), "line 1, column 1: a result must not have a document type (<!DOCTYPE>)");
}

#[test]
fn threads_that_cannot_be_are_not_listed() {
    let list = "target: a [thread: 0 - 4294967295]\n    90% of IO => [     0    -    816KiB)\n";
    let document = TEXT[2].1.replace("target: test.dat [thread: 0 1]\n", list);
    let error = import::read(document.as_bytes()).expect_err("no run has so many");
    assert!(error.to_string().contains("a run has at most 65536 threads"), "{error}");
}

#[test]
fn errors_say_where_and_what_would_be_right() {
    let message = |document: &str| import::read(document.as_bytes()).expect_err("it is wrong").to_string();
    let text = TEXT[0].1;
    assert_eq!(
        message(&text.replace("thread count:\t\t2", "thread count:\t\ttwo")),
        "line 46, column 16: 'two' is not a whole number"
    );
    assert_eq!(
        message(&text.replace("Read IO\n", "Other IO\n")),
        format!(
            "line {}, column 1: one of the tables 'Total IO', 'Read IO' and 'Write IO' is missing",
            text.lines().count()
        )
    );
    let only_profile = text.split("Results for").next().unwrap_or_default();
    assert!(message(only_profile).contains("no results: no line begins with"));
    assert_eq!(
        message("<Results>\n  <System>\n  </System>\n</Results>"),
        "line 1, column 1: no timespan result found (element 'TimeSpan')"
    );
    assert!(message("{\"schema\": 1}").starts_with("not a DiskSpd result"));
}
