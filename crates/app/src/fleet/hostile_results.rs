//! Results of malicious hosts: the controller merges and shows them, whatever numbers they contain.

use super::hosts::sent;
use crate::outputs::write_document;
use crate::saved_results::result_in;
use ::fleet::{Finished, HostOutcome, HostRun};
use cli::Form;
use model::fleet::ClockOffset;
use model::host_timing::HostTiming;
use serde_json::{Number, Value};
use std::path::Path;
use testkit::Random;

const SAMPLE: &[u8] = include_bytes!("../../../import/tests/json/version-1.json");
const CASES: u64 = 60;

fn one_of<'a, T>(values: &'a [T], random: &mut Random) -> &'a T {
    &values[random.below(values.len() as u64) as usize]
}

/// An unusual number of the same kind.
fn unusual(old: &Number, random: &mut Random) -> Number {
    if old.is_f64() {
        Number::from_f64(*one_of(&[0.0, -1.0, 1e-300, 1e300, -1e300, 1e19], random)).expect("finite")
    } else {
        let whole = [0, 1, u64::from(u32::MAX), 1 << 32, i64::MAX as u64, 1 << 63, u64::MAX];
        (*one_of(&whole, random)).into()
    }
}

/// The document in the current format.
fn sample() -> Value {
    let result = result_in(Path::new("sample"), SAMPLE).expect("a result");
    let mut document = Vec::new();
    write_document(Form::Json, &result, &mut document).expect("written");
    serde_json::from_slice(&document).expect("JSON")
}

/// Paths of all numbers, each with `*` for a place in a list.
fn numbers(value: &Value, path: &str, all: &mut Vec<String>) {
    match value {
        Value::Number(_) => all.push(path.to_owned()),
        Value::Array(values) => values.iter().for_each(|value| numbers(value, &format!("{path}/*"), all)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| numbers(value, &format!("{path}/{name}"), all)),
        _ => {}
    }
}

/// Changes the numbers at one of these paths.
fn change(value: &mut Value, path: &str, chosen: &str, random: &mut Random) {
    match value {
        Value::Number(number) if path == chosen && random.below(3) > 0 => *number = unusual(number, random),
        Value::Array(values) => {
            for value in values {
                change(value, &format!("{path}/*"), chosen, random);
            }
        }
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, value)| change(value, &format!("{path}/{name}"), chosen, random));
        }
        _ => {}
    }
}

fn host(index: usize, document: &Value, random: &mut Random) -> HostRun {
    let offset_ns = *one_of(&[0, i64::MAX, i64::MIN, 5], random);
    let mut time = |usual: u64| *one_of(&[usual, usual, usual, 0, u64::MAX], random);
    let timing = HostTiming {
        planned_start_ns: time(1_000_000_000),
        started_ns: time(1_000_100_000),
        measured_from_ns: Some(time(1_000_000_000)),
        measured_to_ns: Some(time(3_000_000_000)),
    };
    let clock =
        ClockOffset { offset_ns, uncertainty_ns: time(100), drift_ppb: Some(-offset_ns.max(-9)), round_trip_ns: 9 };
    let finished = Finished { result: document.to_string(), timing };
    HostRun { name: format!("h{index}"), index, outcome: HostOutcome::Finished(finished), clock }
}

#[test]
fn no_numbers_of_a_host_break_the_controller() {
    let document = sample();
    let mut paths = Vec::new();
    numbers(&document, "", &mut paths);
    paths.sort();
    paths.dedup();
    assert!(paths.len() > 100, "{}", paths.len());
    let cases = std::env::var("DISKSPD_TEST_LIES").ok().map_or(CASES, |cases| cases.parse().expect("a number"));
    for case in 0..cases {
        let mut random = Random::new(case);
        let mut lie = document.clone();
        let mut changed = Vec::new();
        for _ in 0..=random.below(3) {
            let chosen = one_of(&paths, &mut random).clone();
            change(&mut lie, "", &chosen, &mut random);
            changed.push(chosen);
        }
        let hosts = vec![host(0, &document, &mut random), host(1, &lie, &mut random), host(2, &lie, &mut random)];
        let merge = || {
            let merged = stats::fleet::merge(hosts.into_iter().map(sent).collect());
            let judged = rules::judged(merged, None, &[], &[]);
            for form in Form::ALL {
                write_document(form, &judged, &mut Vec::new()).expect("to memory");
            }
        };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(merge));
        assert!(done.is_ok(), "case {case}: {changed:?}");
    }
}
