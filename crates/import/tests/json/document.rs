//! One whole document, and invalid documents.

use crate::support::{measured, mix_run};
use import::json::{ReadError, read};
use model::ending::Ending;
use model::figures::LatencyFigures;
use model::note::Note;
use model::result::{Implementation, RunResult};
use model::units::UnixTime;
use render::json::write;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

fn written(result: &RunResult) -> String {
    let mut out = Vec::new();
    write(result, |_| None, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// With the summary that belongs to its figures.
fn summarised(mut result: RunResult) -> RunResult {
    for (index, span_result) in result.time_spans.iter_mut().enumerate() {
        stats::summarise_metrics(result.profile.time_spans.get(index), span_result);
    }
    result
}

/// The specification's complete example with a few percentiles, a histogram and a note.
fn example() -> RunResult {
    let mut result = mix_run();
    result.tool.implementation =
        Some(Implementation { name: "diskspd for Linux".to_owned(), version: "1.2.3".to_owned() });
    result.labels = vec![("firmware".to_owned(), "2.1".to_owned())];
    result.notes = vec![Note::RingFlagsReduced { missing: "DEFER_TASKRUN".to_owned() }];
    let figures = measured(&mut result);
    let latency = figures.total_latency.as_mut().expect("the example has latencies");
    for distribution in [&mut latency.read, &mut latency.write, &mut latency.total] {
        distribution.as_mut().expect("the example reads and writes").percentiles.truncate(2);
    }
    figures.rows[0].read_buckets = vec![(200, 3), (11_000, 1)];
    summarised(result)
}

#[test]
fn the_example_has_the_form_that_readers_know() {
    insta::assert_snapshot!(written(&example()));
}

#[test]
fn the_example_reads_back() {
    assert_eq!(read(written(&example()).as_bytes()).expect("we wrote it"), example());
}

#[test]
fn a_report_from_the_document_is_that_of_the_run() {
    let text = |result: &RunResult| {
        let mut out = Vec::new();
        render::text(result, render::Detail::Full, &mut out).expect("a vector takes everything");
        out
    };
    let read_back = read(written(&mix_run()).as_bytes()).expect("we wrote it");
    assert_eq!(text(&read_back), include_bytes!("../../../render/tests/report/mix_run.txt"));
}

#[test]
fn what_is_hard_to_write_survives() {
    let mut result = mix_run();
    let path = PathBuf::from(OsString::from_vec(b"caf\xe9\n\"\xff.dat".to_vec()));
    result.profile.time_spans[0].targets[0].path.clone_from(&path);
    result.targets.facts.insert(
        path.clone(),
        model::facts::TargetFacts::new(model::facts::TargetKind::Unusable { what: "a directory".into() }),
    );
    result.targets.environments.insert("other".into(), model::environment::TargetEnvironment::default());
    result.started_at = UnixTime::UNKNOWN;
    result.time_spans[0].outcome = Ending::Stopped;
    let figures = measured(&mut result);
    figures.rows[0].path = path;
    figures.total.read.bytes = u64::MAX;
    figures.total.read.bytes_per_s = 0.1 + 0.2;
    figures.total.write.latency =
        Some(LatencyFigures { mean_ns: f64::MIN_POSITIVE, std_dev_ns: 1e300, min_ns: None, max_ns: Some(u64::MAX) });
    let result = summarised(result);
    assert_eq!(read(written(&result).as_bytes()).expect("we wrote it"), result);
}

#[test]
fn a_result_without_anything_survives() {
    let result = RunResult::default();
    assert_eq!(read(written(&result).as_bytes()).expect("we wrote it"), result);
}

#[test]
fn fields_of_the_future_are_ignored_and_versions_of_it_refused() {
    let text = written(&example());
    let richer = text.replacen("\"command_line\"", "\"weather\": {\"rain\": [1]},\n  \"command_line\"", 1);
    assert_eq!(read(richer.as_bytes()).expect("a field is no reason"), example());
    let newer = text.replacen("\"schema_version\": 2", "\"schema_version\": 3", 1);
    assert!(matches!(read(newer.as_bytes()), Err(ReadError::TooNew { version: 3 })));
}

#[test]
fn documents_of_version_1_are_read() {
    let earlier = include_str!("version-1.json");
    assert!(earlier.contains("\"schema_version\": 1") && earlier.contains("mib_per_s"));
    assert_eq!(read(earlier.as_bytes()).expect("every version is read"), example());
}

#[test]
fn what_is_no_result_is_told_as_what_it_is() {
    let text = written(&example());
    // Cut at the beginning of an object: a truncated number would be another number.
    let cut = text[..text.len() / 2].rfind('{').expect("it has objects");
    for (bytes, expected) in [
        ("", "it is not a result of this program: EOF"),
        ("{", "it is not a result of this program: EOF"),
        ("[]", "it is not a result of this program: "),
        ("{}", "its \"schema\" is missing, not \"diskspd-result\""),
        ("{\"schema\": \"fio\"}", "its \"schema\" is \"fio\", not"),
        ("{\"schema\": \"diskspd-result\", \"schema_version\": 1}", "missing field `tool`"),
        (&text[..=cut], "it is not a result of this program: EOF while parsing"),
        (&text.replace("\"completed\"", "\"finished\""), "unknown variant `finished`"),
        (&text.replace("HISTFAA", "HISTXAA"), "a histogram"),
    ] {
        let error = read(bytes.as_bytes()).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn sweeps_of_every_version_are_read() {
    let earlier = include_str!("../../../../fuzz/corpus/sweep/sweep.json");
    assert!(earlier.contains("\"form\"") && earlier.contains("mib_per_s"));
    let sweep = import::json::read_sweep(earlier.as_bytes()).expect("every version is read");
    assert!(sweep.measured().any(|headline| headline.bytes_per_s > 0.0), "{sweep:?}");
    for (text, expected) in [
        (r#"{"schema": "diskspd-sweep", "schema_version": 3}"#, "unsupported version 3 (this program reads up to 2)"),
        (r#"{"form": "diskspd-check/1"}"#, "unknown schema 'diskspd-check/1' (expected: diskspd-sweep)"),
        ("{}", "unknown schema 'missing' (expected: diskspd-sweep)"),
    ] {
        assert_eq!(import::json::read_sweep(text.as_bytes()).expect_err(text), expected);
    }
}

#[test]
fn a_sweep_that_names_a_point_it_does_not_have_is_refused() {
    let sound: serde_json::Value =
        serde_json::from_str(include_str!("../../../../fuzz/corpus/sweep/sweep.json")).expect("JSON");
    let count = sound["points"].as_array().expect("points").len();
    let places = [
        "/visits/0/point",
        "/depths/0/points/0",
        "/depths/0/recommended",
        "/front/0",
        "/block_sizes/0/points/0",
        "/block_sizes/0/knee/at/point",
        "/limit/holds",
        "/limit/fails",
        "/limit/noise/first",
        "/limit/noise/last",
    ];
    for place in places {
        let mut damaged = sound.clone();
        damaged["front"] = serde_json::json!([0]);
        damaged["block_sizes"] = serde_json::json!([
            {"settings": [], "points": [0], "knee": {"at": {"point": 0, "plateau_bytes_per_s": 1.0}}}
        ]);
        damaged["depths"][0]["recommended"] = 0.into();
        damaged["limit"] = serde_json::json!(
            {"limits": [], "holds": 0, "fails": 0, "is_confirmed": false, "noise": {"first": 0, "last": 0}}
        );
        let read = |document: &serde_json::Value| import::json::read_sweep(document.to_string().as_bytes());
        assert!(read(&damaged).is_ok(), "{place}: {:?}", read(&damaged));
        *damaged.pointer_mut(place).expect(place) = count.into();
        let expected = format!("it refers to point {count}, but has {count}, numbered from 0");
        assert_eq!(read(&damaged).expect_err(place), expected);
    }
    let mut damaged = sound;
    damaged["visits"][0]["run"] = u32::MAX.into();
    let error = import::json::read_sweep(damaged.to_string().as_bytes()).expect_err("no such run");
    assert_eq!(error, "no run has the number 4294967295");
}
