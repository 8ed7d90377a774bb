//! `diskspd gate` and `diskspd history`: what they answer, and what they keep.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use testkit::{Workplace, workplace};

/// The null engine keeps any rate.
const LOAD: &str = "-- -c1M -d1 -W0 -b4K -r --rate=500 --engine=null a.dat";

fn gate(place: &Workplace, options: &str) -> testkit::Finished {
    place.diskspd(&format!("gate f {options} --metric iops {LOAD}")).run()
}

fn index(place: &Workplace) -> Vec<Value> {
    let text = fs::read_to_string(place.path("f/index.jsonl")).expect("an index");
    text.lines().map(|line| serde_json::from_str(line).expect("a line")).collect()
}

fn write_index(place: &Workplace, entries: &[Value]) {
    let lines: Vec<String> = entries.iter().map(Value::to_string).collect();
    // The schema comes first, as the program writes it.
    let lines = lines.iter().map(|line| {
        let rest = line.replacen("\"schema\":\"diskspd-gate/1\"", "\"was\":0", 1);
        format!("{{\"schema\":\"diskspd-gate/1\",{}\n", &rest[1..])
    });
    fs::write(place.path("f/index.jsonl"), lines.collect::<String>()).expect("written");
}

/// A history of this many runs like the last, whose IOPS are `factor` times as many.
fn with_history(place: &Workplace, count: usize, factor: f64) {
    gate(place, "").expect_status(6).expect_stdout(&["CANNOT TELL: recorded, 1 of 5; 4 results more needed"]);
    let entry = index(place).remove(0);
    let name = entry["file"].as_str().expect("a name").to_owned();
    let of_run = |number: usize| {
        let mut copy = entry.clone();
        let copied = format!("2026010{}T000000.00{}Z.json", number / 10 + 1, number % 10);
        fs::copy(place.path(&format!("f/{name}")), place.path(&format!("f/{copied}"))).expect("copied");
        copy["file"] = copied.into();
        copy["at_unix_ns"] = (1_767_225_600_000_000_000 + number as u64).into();
        let iops = copy["metrics"]["iops"].as_f64().expect("a number");
        copy["metrics"]["iops"] = (iops * factor * if number.is_multiple_of(2) { 1.004 } else { 0.996 }).into();
        copy
    };
    let entries: Vec<Value> = (0..count).map(of_run).collect();
    fs::remove_file(place.path(&format!("f/{name}"))).expect("removed");
    write_index(place, &entries);
}

#[test]
fn a_load_as_fast_as_before_passes_and_one_half_as_fast_fails_at_once() {
    let place = workplace!();
    with_history(&place, 8, 1.0);
    let run = gate(&place, "--summary s.md --junit j.xml");
    run.expect_status(0).expect_stdout(&["PASS: not worse than 8 earlier runs (iops ", "EARLIER"]);
    let summary = fs::read_to_string(place.path("s.md")).expect("a summary");
    assert!(summary.starts_with("## diskspd gate: PASS\n") && summary.contains("| iops |"), "{summary}");
    let junit = fs::read_to_string(place.path("j.xml")).expect("a file");
    assert!(junit.contains("tests=\"1\" failures=\"0\"") && junit.contains("name=\"iops\""), "{junit}");

    let mut entries = index(&place);
    assert_eq!((entries.len(), &entries[8]["gate"]), (9, &Value::from("pass")));
    for entry in &mut entries {
        entry["metrics"]["iops"] = (entry["metrics"]["iops"].as_f64().expect("a number") * 2.0).into();
    }
    write_index(&place, &entries);
    let run = gate(&place, "--junit j.xml");
    run.expect_status(4).expect_stdout(&["FAIL: iops -50."]);
    assert_eq!(index(&place).len(), 10, "one run was enough");
    let junit = fs::read_to_string(place.path("j.xml")).expect("a file");
    assert!(junit.contains("failures=\"1\"") && junit.contains("<failure message=\"iops -50."), "{junit}");
    // A run that is worse is no history.
    gate(&place, "").expect_status(4).expect_stdout(&["against 9 earlier runs"]);

    let run = place.diskspd("history f --output h.html").run();
    run.expect_status(0).expect_stdout(&["kernel: ", "GATE", "PASS", "FAIL"]);
    let page = fs::read_to_string(place.path("h.html")).expect("a page");
    assert!(page.contains("iops of each run") && page.contains("<svg"), "no chart");

    // --accept: the runs since it is worse are the history.
    let run = place.diskspd("gate f --accept").arg("new disk").run();
    run.expect_status(0).expect_stdout(&["accepted: the history begins with the run of "]);
    gate(&place, "").expect_status(6).expect_stdout(&["recorded, 3 of 5"]);
    place.diskspd("history f").run().expect_status(0).expect_stdout(&["accepted from ", ": new disk"]);
}

#[test]
fn a_change_in_doubt_is_run_again() {
    let place = workplace!();
    with_history(&place, 8, 1.15);
    // One run alone decides about 20 % and more.
    let run = gate(&place, "--runs 1");
    run.expect_status(6).expect_stdout(&["CANNOT TELL: may be worse than 8 earlier runs (iops -1", "would decide"]);
    assert_eq!(index(&place).len(), 9);
    let place = workplace!();
    with_history(&place, 8, 1.15);
    let run = gate(&place, "--runs 3");
    run.expect_status(4).expect_stdout(&["FAIL: iops -"]);
    assert!(index(&place).len() > 9, "one run was not enough");
}

#[test]
fn a_saved_result_is_judged_and_counted_once() {
    let place = workplace!();
    place.diskspd("-c1M -d1 -W0 -b4K -r -L --rate=500 --engine=null --json=r.json a.dat").run().expect_status(0);
    for _ in 0..2 {
        let run = place.diskspd("gate f --result r.json").run();
        run.expect_status(6).expect_stdout(&["recorded, 1 of 5"]);
    }
    let metrics = index(&place)[0]["metrics"].as_object().expect("metrics").len();
    assert!(metrics > 5, "{metrics}");
    place.diskspd("gate f --result nothing.json").run().expect_status(1);
    // Another load has a history of its own.
    place.diskspd("-c1M -d1 -W0 -b8K -r -L --rate=500 --engine=null --json=o.json a.dat").run().expect_status(0);
    let run = place.diskspd("gate f --result o.json").run();
    run.expect_status(6).expect_stderr(&["a new history begins: load "]).expect_stdout(&["recorded, 1 of 5"]);
}

#[test]
fn gates_at_the_same_time_lose_nothing() {
    let place = workplace!();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| gate_without_file(&place))).collect();
        for one in all {
            one.join().expect("it ends");
        }
    });
    let entries = index(&place);
    assert_eq!(entries.len(), 8);
    let files = fs::read_dir(place.path("f")).expect("a directory");
    let results = files.filter(|file| file.as_ref().is_ok_and(|of| of.path().extension() == Some("json".as_ref())));
    assert_eq!(results.count(), 8);
}

fn gate_without_file(place: &Workplace) {
    // None waits for another's target.
    let name = format!("{:?}.dat", std::thread::current().id()).replace(['(', ')'], "");
    let load = LOAD.replace("a.dat", &name);
    let run = place.diskspd(&format!("gate f --metric iops {load}")).run();
    assert!(matches!(run.status.code(), Some(0 | 4 | 6)), "{run}");
}

#[test]
fn an_index_that_is_lost_or_broken_is_made_again() {
    let place = workplace!();
    with_history(&place, 5, 1.0);
    let entries = index(&place);
    fs::remove_file(place.path("f/index.jsonl")).expect("removed");
    let run = gate(&place, "--runs 1");
    run.expect_stderr(&["index.jsonl' was incomplete: 0 lines unreadable, 5 results added from their files"]);
    assert_eq!(index(&place).len(), entries.len() + 1);
    let text = fs::read_to_string(place.path("f/index.jsonl")).expect("an index");
    fs::write(place.path("f/index.jsonl"), &text[..text.len() - 30]).expect("cut");
    let run = place.diskspd("history f").run();
    run.expect_status(0).expect_stderr(&["1 line unreadable, 1 result added"]);
    // Somebody else's file stays.
    fs::write(place.path("f/index.jsonl"), "a diary\n").expect("written");
    let run = gate(&place, "");
    run.expect_status(1).expect_stderr(&["not a gate index written by diskspd: move it away"]);
    assert_eq!(fs::read(place.path("f/index.jsonl")).expect("read"), b"a diary\n");
}

// Shows data-safety: results, index.jsonl and index.lock in the directory of a gate
// Shows data-safety: a gate summary or JUnit file at a name that exists
#[test]
fn links_in_the_directory_are_not_followed() {
    let place = workplace!();
    place.file("theirs", b"theirs");
    for name in ["index.lock", "index.jsonl"] {
        fs::create_dir_all(place.path("f")).expect("made");
        symlink(place.path("theirs"), place.path(&format!("f/{name}"))).expect("linked");
        gate(&place, "").expect_status(1).expect_stderr(&[name]);
        assert_eq!(fs::read(place.path("theirs")).expect("read"), b"theirs");
        fs::remove_file(place.path(&format!("f/{name}"))).expect("removed");
    }
    // A result that is a link is none.
    gate(&place, "").expect_status(6);
    let entry = index(&place).remove(0);
    let name = entry["file"].as_str().expect("a name");
    symlink(place.path(&format!("f/{name}")), place.path("f/20200101T000000.000Z.json")).expect("linked");
    gate(&place, "").expect_status(6).expect_stdout(&["recorded, 2 of 5"]);
    // Neither summary nor JUnit replaces what is not theirs, and nothing is run then.
    place.file("s.md", b"# Mine\n");
    let run = gate(&place, "--summary s.md");
    run.expect_status(3).expect_stderr(&["--summary 's.md': the existing file is not a gate summary"]);
    gate(&place, "--junit s.md").expect_status(3);
    assert_eq!(index(&place).len(), 2);
    let run = place.diskspd(&format!("gate f --metric iops --summary {} {LOAD}", place.path("s.md").display()));
    run.env("GITHUB_STEP_SUMMARY", place.path("s.md").to_str().expect("UTF-8")).run().expect_status(6);
    let summary = fs::read_to_string(place.path("s.md")).expect("a summary");
    assert!(summary.starts_with("# Mine\n## diskspd gate: CANNOT TELL"), "{summary}");
}

#[test]
fn an_invalid_run_is_kept_and_is_no_history() {
    let place = workplace!();
    with_history(&place, 5, 1.0);
    let mut result: Value = place.json(&format!("f/{}", index(&place)[0]["file"].as_str().expect("a name")));
    result["started_at_unix_ns"] = 1_800_000_000_000_000_000u64.into();
    let verdict = &mut result["time_spans"][0]["verdict"];
    let finding = serde_json::json!({"name": "ledger", "severity": "invalid", "source": "verdict", "figure": "x", "value": null, "advice": ""});
    verdict["findings"].as_array_mut().expect("findings").push(finding);
    place.file("r.json", result.to_string().as_bytes());
    let run = place.diskspd("gate f --metric iops --result r.json").run();
    run.expect_status(6).expect_stdout(&["CANNOT TELL: the run is INVALID (ledger): it is kept, but is not history"]);
    assert_eq!(index(&place)[5]["verdict"], "invalid");
    gate(&place, "").expect_stdout(&["5 earlier runs"]);
}

#[test]
fn two_sides_are_compared_in_pairs() {
    let place = workplace!();
    let load = "-- -c1M -d1 -W0 -b4K -r --max-ios=4 --engine=null a.dat";
    let run = place.diskspd(&format!("gate f --junit j.xml --before-a true --before-b false {load}")).run();
    run.expect_status(1).expect_stdout(&["failed: --before-b 'false'"]);
    let run = place.diskspd(&format!("gate f --junit j.xml --before-a true --before-b true {load}")).run();
    assert!(matches!(run.status.code(), Some(0 | 4 | 6)), "{run}");
    assert!(run.stdout.contains("Pair 1 A") && place.path("j.xml").exists(), "{run}");
}
