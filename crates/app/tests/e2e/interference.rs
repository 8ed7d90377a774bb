//! `diskspd interference`: each stream alone, then all together, and the resulting table.

use crate::pages::{charts, series};
use serde_json::Value;
use std::fs;
use testkit::{Program, Workplace, skip, workplace};

const SCHEMA: &str = include_str!("../../../../docs/formats/diskspd-sweep.schema.json");

/// An interference.json, which must conform to the schema.
fn document(place: &Workplace) -> Value {
    let document: Value = place.json("d/interference.json");
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    if let Err(fault) = jsonschema::validate(&schema, &document) {
        panic!("at {}: {fault}", fault.instance_path());
    }
    document
}

/// Two streams that the null engine serves at any rate.
fn load(program: Program) -> Program {
    let program = program.args("--dir d -- -c1M -d1 -W0 --engine=null -g200i");
    program.arg("--stream=point: -b4K -r -t2").arg("--stream").arg("scan: -b64K -w100").arg("a.dat")
}

fn points(document: &Value) -> Vec<(u64, u64)> {
    let visits = document["visits"].as_array().expect("visits");
    let number = |visit: &Value, key: &str| visit[key].as_u64().expect("a number");
    visits.iter().map(|visit| (number(visit, "run"), number(visit, "point"))).collect()
}

fn result(place: &Workplace, document: &Value, visit: usize) -> Value {
    let file = document["visits"][visit]["outcome"]["measured"]["file"].as_str().expect("a name");
    place.json(&format!("d/{file}"))
}

#[test]
fn each_stream_runs_alone_then_all_together_and_the_table_is_of_these_runs() {
    let place = workplace!();
    let run = load(place.diskspd("interference --rounds 2")).run();
    run.expect_status(0).expect_stderr(&[
        "load: point: 4 KiB random read",
        "; scan: 64 KiB",
        "2 rounds of 3 runs: 6 s",
    ]);
    run.expect_narrow().expect_stdout(&["Round 1 point, ", "Round 1 scan, ", "Round 2 point+scan, "]);
    run.expect_told(&["with only 2 rounds, a single disturbed round would shift the median"]);
    let found = document(&place);
    assert_eq!(points(&found), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    let results: Vec<Value> = (0..6).map(|visit| result(&place, &found, visit)).collect();
    let span = |visit: usize| &results[visit]["profile"]["time_spans"][0];
    let names = |visit: usize| -> Vec<&str> {
        let targets = span(visit)["targets"].as_array().expect("targets").iter();
        targets.map(|target| target["stream"].as_str().expect("a name")).collect()
    };
    assert_eq!([names(0), names(1), names(5)], [vec!["point"], vec!["scan"], vec!["point", "scan"]]);
    let seeds: Vec<u64> = (0..6).map(|visit| span(visit)["random_seed"].as_u64().expect("a seed")).collect();
    assert!(seeds[..3].iter().all(|seed| *seed == seeds[0]) && seeds[3..].iter().all(|seed| *seed == seeds[0] + 1));
    // The command line of a stream alone lacks the other, and is otherwise as typed.
    let words = |visit: usize| results[visit]["command_line"].as_str().expect("words").to_owned();
    assert!(words(0).contains("--stream=point: ") && !words(0).contains("scan"), "{}", words(0));
    let iops = |visit: usize, stream: usize| {
        results[visit]["time_spans"][0]["measured"]["streams"][stream]["figures"]["total"]["iops"]
            .as_f64()
            .expect("a rate")
    };
    // The rates of the streams of each run, by threads.
    let asked = [&[400.0][..], &[200.0], &[400.0, 200.0]];
    let keeps = |visit: usize| asked[visit % 3].iter().zip(0..).all(|(rate, stream)| iops(visit, stream) > 0.9 * rate);
    if !(0..6).all(keeps) {
        skip!("others leave so little of the CPUs that 400 I/Os per second are too many");
    }
    let told = &found["interference"]["streams"];
    for (stream, [alone, together]) in [[(0, 0), (2, 0)], [(1, 0), (2, 1)]].into_iter().enumerate() {
        let median = |(visit, index): (usize, usize)| f64::midpoint(iops(visit, index), iops(visit + 3, index));
        let near = |figure: &Value, expected: f64| (figure.as_f64().expect("a figure") - expected).abs() < 1e-6;
        assert!(near(&told[stream]["alone"]["iops"], median(alone)), "{told:#}");
        assert!(near(&told[stream]["together"]["iops"], median(together)), "{told:#}");
        assert!(near(&told[stream]["iops_share_percent"], median(together) / median(alone) * 100.0), "{told:#}");
        assert!(told[stream]["p99_factor"].as_f64().is_some_and(|factor| factor > 0.0), "{told:#}");
    }
    let row = run.stdout.lines().find(|line| line.starts_with(" scan ")).expect("a row");
    let alone = format!("{:.0}", told[1]["alone"]["iops"].as_f64().expect("a rate"));
    assert_eq!(row.split_whitespace().nth(1), Some(alone.as_str()), "{row}");
    place.diskspd("report d --output page.html").run().expect_status(0);
    let page = String::from_utf8(place.content("page.html")).expect("a text");
    assert!(page.contains("point+scan") && page.contains("of its IOPS"), "{page}");
    assert!(page.contains("; each run: 1 s, no warm-up</span></h1>"), "{page}");
    run.expect_told(&["Limited to a rate (-g): point, scan: ", "In single rounds: share "]);
    assert!(page.contains("In single rounds: share "), "{page}");
    assert!(page.contains("Limited to a rate (-g): point, scan: ") && !page.contains("in one round"), "{page}");
    assert_eq!(charts(&page), ["interference"]);
    for kind in ["alone", "together"] {
        let bars = series(&page, "interference", kind);
        let rates = [&told[0][kind]["iops"], &told[1][kind]["iops"]].map(|iops| iops.as_f64().expect("a rate"));
        assert!(bars.y.len() == 2 && bars.y.iter().zip(rates).all(|(bar, iops)| (bar - iops).abs() < 1e-3 * iops));
        assert!(bars.texts[1].starts_with(&format!("scan {kind}: ")), "{:?}", bars.texts);
    }
    place.diskspd("report d --output c.svg --chart interference").run().expect_status(0);
    let chart = String::from_utf8(place.content("c.svg")).expect("text");
    assert!(["point", "scan", "alone", "together"].iter().all(|word| chart.contains(word)), "{chart}");
    let other = place.diskspd("report d --output d.svg --chart depth").run();
    other.expect_status(1).expect_stderr(&["unknown chart 'depth' (available: interference)"]);
}

#[test]
fn rounds_that_were_interrupted_go_on() {
    let place = workplace!();
    let mut running = load(place.diskspd("interference --rest 600s")).start();
    running.wait_for_stdout("Round 1 point, ");
    running.interrupt();
    let run = running.finish();
    run.expect_status(130).expect_stderr(&["stopped; continue with diskspd interference --resume d"]);
    run.expect_told(&["An answer needs a run of each stream alone, and one of all together."]);
    // Shortened, as the rest would take ten minutes.
    let text = String::from_utf8(place.content("d/interference.json")).expect("text");
    place.file("d/interference.json", text.replace("600s", "1ms").as_bytes());
    let run = place.diskspd("interference --resume d").run();
    run.expect_status(0).expect_stderr(&["already done: 1 run"]);
    let one_round = "one round cannot tell interference from the scatter between runs";
    run.expect_stdout(&["Round 1 scan, ", "Round 1 point+scan, "]).expect_told(&["factor", one_round]);
    assert!(!run.stdout.contains("Round 1 point, "), "{run}");
    let found = document(&place);
    assert_eq!(points(&found), [(0, 0), (0, 1), (0, 2)]);
    assert_eq!(found["interference"]["streams"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_is_no_set_of_streams_is_refused_before_anything_is_made() {
    let place = workplace!();
    for (streams, words, expected) in [
        (&["a: -r"][..], "", "two or more streams"),
        (&["a: -r", "b: -q"], "", "stream 'b': invalid option: '-q'"),
        (&["a: -r", "b: -r"], "--rate=5", "--rate is shared by all streams"),
        (&["a: -r", "b: -r -Sm -Su"], "", "stream 'b'"),
    ] {
        let program = place.diskspd("interference -- -c1M -d1 -W0").args(words);
        let program = streams.iter().fold(program, |program, stream| program.arg("--stream").arg(stream));
        program.arg("a.dat").run().expect_status(3).expect_stderr(&["ERROR: ", expected]);
    }
    let left: Vec<_> = fs::read_dir(place.folder()).expect("our own folder").collect();
    assert!(left.is_empty(), "{left:?}");
}
