//! Damaged and forged documents: nothing panics, and memory is bounded.

use crate::{DOCUMENTS, document};
use import::fio::{self, is_document};
use import::json::read;
use proptest::prelude::*;

/// Reads the input, and writes the result in every form.
fn survives(bytes: &[u8]) {
    let Ok(result) = fio::read(bytes) else { return };
    let mut out = Vec::new();
    let profile = cli::write_profile(&result.profile, result.profile.result_format);
    render::text(&result, render::Detail::Full, &mut out).expect("a vector takes everything");
    render::csv(&result, &mut out).expect("a vector takes everything");
    let _ = render::xml(&result, &profile, &mut out);
    let mut json = Vec::new();
    if render::json::write(&result, |_| None, &mut json).is_ok() {
        read(&json).expect("what is written can be read");
    }
}

fn documents() -> impl Strategy<Value = &'static str> {
    prop::sample::select(DOCUMENTS.map(|(_, text)| text).to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn cut_and_changed_documents(
        document in documents(),
        end in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let mut bytes = document.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survives(&bytes);
        survives(&bytes[..end.index(bytes.len())]);
    }

    #[test]
    fn other_numbers(
        document in documents(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), "[0-9]{1,25}|-1|nan|1e308|0\\.5|null"), 1..20),
    ) {
        let mut text = document.to_owned();
        for (at, number) in changes {
            let values: Vec<usize> = text.match_indices(" : ").map(|(at, _)| at + 3).collect();
            let at = values[at.index(values.len())];
            let end = text[at..].find([',', '\n', '}']).map_or(text.len(), |length| at + length);
            if text[at..end].starts_with(|first: char| first.is_ascii_digit()) {
                text.replace_range(at..end, &number);
            }
        }
        survives(text.as_bytes());
    }

    #[test]
    fn any_text(text in "[{}\\[\\]\",:a-z0-9 \\\\]{0,200}") {
        let _ = is_document(text.as_bytes());
        survives(text.as_bytes());
        survives(format!("{{\"fio version\":\"x\",{text}").as_bytes());
    }
}

#[test]
fn documents_of_others_are_not_taken_for_fio() {
    for text in [
        "",
        "{}",
        "\"fio version\"",
        "{\"schema\": \"diskspd-result\", \"fio version\": 1, \"jobs\": []}",
        "{\"a\": \"fio version\", \"jobs\": []}",
        "Command Line: diskspd \"fio version\"",
    ] {
        assert!(!is_document(text.as_bytes()), "{text}");
    }
    // `jq -S` sorts the keys.
    let sorted: serde_json::Value = serde_json::from_str(document("mix")).expect("JSON");
    assert!(is_document(format!("{{\"disk_util\":[],{}", &sorted.to_string()[1..]).as_bytes()));
}

#[test]
fn encodings_of_windows_are_read() {
    let mix = document("mix");
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(mix.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let marked = [b"\xef\xbb\xbf", mix.as_bytes()].concat();
    let plain = fio::read(mix.as_bytes()).expect("a result");
    for bytes in [utf16, marked] {
        assert!(is_document(&bytes));
        assert_eq!(read(&bytes).expect("a result"), plain);
    }
}

#[test]
fn messages_say_what_is_wrong() {
    let message = |text: &str| fio::read(text.as_bytes()).expect_err(text).to_string();
    assert!(message("{ \"fio version\" : \"fio-3.33\", \"jobs\" : [").contains("cut off"));
    assert!(message("{ \"fio version\" : \"fio-3.33\", \"jobs\" : [] }").contains("there are no jobs"));
    let many = format!("{{\"fio version\":\"fio-3\",\"jobs\":[{}]}}", vec!["{}"; 4097].join(","));
    assert!(message(&many).contains("4097 jobs are too many"), "{}", message(&many));
    let without = document("mix").replace("\"total_ios\"", "\"x\"");
    assert_eq!(message(&without), "JSON of fio: job 'mix': read has no total_ios");
}

/// Names in a message are escaped for the terminal.
#[test]
fn names_are_printable() {
    let text =
        document("mix").replacen("\"error\" : 0", "\"error\" : 5", 1).replacen("\"mix\"", "\"a\\u001b[31mb\"", 1);
    let result = fio::read(text.as_bytes()).expect("a result");
    assert!(result.time_spans[0].errors[0].contains("a\\x1b[31mb"), "{:?}", result.time_spans[0].errors);
}

/// Options of all jobs, and a name that many jobs share, are not copied for each of them.
#[test]
fn memory_is_a_small_multiple_of_the_document() {
    let jobs = vec!["{\"jobname\":\"a\",\"job options\":{\"rw\":\"read\"}}"; 4096].join(",");
    let long = "x".repeat(1 << 20);
    let wide = format!(
        "{{\"fio version\":\"fio-3\",\"global options\":{{\"filename\":\"{long}\",\"{long}\":\"1\"}},\"jobs\":[{jobs}]}}"
    );
    let bins = (0..200_000_u64).map(|bin| format!("\"{}\":1", bin * 50_000)).collect::<Vec<_>>().join(",");
    let tall = format!(
        "{{\"fio version\":\"fio-3\",\"jobs\":[{{\"read\":{{\"total_ios\":200000,\"clat_ns\":{{\"N\":200000,\"mean\":1,\"stddev\":1,\"bins\":{{{bins}}}}}}}}}]}}"
    );
    let deep = format!("{{\"fio version\":\"fio-3\",\"jobs\":{}", "[".repeat(1 << 20));
    for text in [wide, tall, deep] {
        let allocations = allocation_counter::measure(|| {
            let _ = fio::read(text.as_bytes());
        });
        // 4096 jobs have 4096 rows and streams, of a few KiB each.
        let bound = 12 * text.len() as u64 + 4096 * 8192;
        assert!(allocations.bytes_max < bound, "{} of {}", allocations.bytes_max, text.len());
    }
}
