//! `--trace` and `diskspd trace show`: the I/Os of a run as a trace, its figures, and the closest load.

use serde_json::Value;
use std::path::{Path, PathBuf};
use testkit::{Finished, Workplace, or_skip, workplace};
use trace::event::{Action, Event};
use trace::readers::TraceReader;

fn sample(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/samples")).join(name)
}

/// The requests of a trace, and the name of the process of each.
fn events(path: &Path) -> Vec<(Event, String)> {
    let file = std::fs::File::open(path).expect("the trace");
    let mut reader = TraceReader::new(vec![Box::new(file)]).expect("a trace");
    let events: Vec<Event> = reader.by_ref().collect();
    assert_eq!(reader.account().loss_count, 0);
    let names = reader.names().processes().to_vec();
    events.into_iter().map(|event| (event, names[event.process as usize].name.clone())).collect()
}

fn shown(place: &Workplace, words: &str) -> Value {
    let run = place.diskspd("trace show --json -").args(words).run();
    run.expect_status(0);
    serde_json::from_str(&run.stdout).expect("JSON")
}

fn requests(figures: &Value, kind: &str) -> u64 {
    figures["actions"][kind]["volume"]["requests"].as_u64().unwrap_or(0)
}

// Shows switches: --trace=<file>
#[test]
fn a_trace_has_the_ios_that_the_kernel_saw() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let words = "-b4K -r -w30 -o1 -t2 -W0 -d60 --engine=sync --max-ios=300 --trace=t.iotrace a.dat";
    let seen = or_skip!(place.traced(words));
    let mut seen: Vec<_> =
        seen.iter().filter(|io| io.path == "a.dat").map(|io| (io.offset, io.length, io.write)).collect();
    let events = events(&place.path("t.iotrace"));
    let is_write = |event: &Event| event.action == Action::Operation(model::operation::Operation::Write);
    let mut traced: Vec<_> = events.iter().map(|(event, _)| (event.offset, event.length, is_write(event))).collect();
    seen.sort_unstable();
    traced.sort_unstable();
    assert_eq!((seen.len(), traced), (300, seen));
    let threads: std::collections::BTreeSet<&String> = events.iter().map(|(_, name)| name).collect();
    assert_eq!(threads.into_iter().collect::<Vec<_>>(), ["diskspd, thread 0", "diskspd, thread 1"]);
    assert!(events.iter().all(|(event, _)| event.latency_ns.is_some_and(|ns| ns > 0)));
}

#[test]
fn a_trace_has_as_many_ios_of_each_kind_as_the_run_counts() {
    let place = workplace!();
    for (load, flushes) in [
        ("-b8K -r -w40 -o8 -t2 --engine=null", 0),
        ("-b4K -w50 -o4 -t1 --read-sizes=4K/50:8K/50 -rs60 --engine=null", 0),
        ("-b4K -w100 -o2 -t1 --fdatasync-every=10", 1),
        ("-b4K -r -o4 -t1 -u", 0),
        ("-b4K -r -o4 -t1 --rate=100000", 0),
    ] {
        place.create_file("a.dat", "-c1M");
        let run = place.diskspd(load).args("-d60 -W0 --max-ios=5000 --json=r.json --trace=t.iotrace a.dat").run();
        run.expect_status(0);
        let (figures, measured) = (shown(&place, "t.iotrace"), place.measured("r.json"));
        for kind in ["read", "write"] {
            let counted = measured["total"][kind]["ios"].as_u64();
            assert_eq!(Some(requests(&figures, kind)), counted, "{load}: {kind}");
        }
        assert_eq!(figures["account"]["events"].as_u64().expect("a number") > 5000, flushes > 0, "{load}");
        assert_eq!(figures["devices"][0]["size_bytes"], 1 << 20);
    }
}

/// The load of the job for a trace of this load, as it runs.
fn fitted(place: &Workplace, load: &str, ios: u32) -> Value {
    place.create_file("a.dat", "-c64M");
    let run = place.diskspd(load).args(&format!("-d600 -W0 -t1 --engine=null --max-ios={ios} --trace=t.iotrace a.dat"));
    run.run().expect_status(0);
    let show = place.diskspd("trace show t.iotrace --job job.toml").run();
    show.expect_status(0).expect_narrow().expect_stdout(&["The closest load", "popularity of offsets"]);
    let again = place.diskspd("run job.toml -W0 --engine=null --max-ios=1000 --json=r.json a.dat").run();
    again.expect_status(0);
    place.json::<Value>("r.json")["profile"]["time_spans"][0].clone()
}

fn near(value: &Value, expected: f64) -> bool {
    value.as_f64().is_some_and(|value| (value - expected).abs() <= 0.1 * expected)
}

#[test]
fn the_closest_load_to_a_skewed_one_has_its_skew() {
    let place = workplace!();
    let span = fitted(&place, "-b4K -r -o4 -w30 --skew=zipf:0.9", 200_000);
    let target = &span["targets"][0];
    assert!(near(&target["skew"]["parameter_millionths"], 900_000.0), "{target}");
    assert!(near(&target["max_offset_bytes"], f64::from(64 << 20)) && near(&target["write_percent"], 30.0), "{target}");
    assert_eq!((&target["block_size_bytes"], &target["random_percent"]), (&4096.into(), &100.into()));
}

#[test]
fn the_closest_load_to_one_of_several_sizes_has_them() {
    let place = workplace!();
    let span = fitted(&place, "-b4K -r -o4 --sizes=4K/60:8K/30:64K/10", 50_000);
    let sizes = span["targets"][0]["read_sizes"].as_array().expect("sizes").clone();
    let percents: Vec<_> = sizes.iter().map(|size| (&size["size"]["bytes"], &size["percent"])).collect();
    assert_eq!(percents.len(), 3, "{sizes:?}");
    for ((bytes, percent), (expected, share)) in percents.into_iter().zip([(4096, 60.0), (8192, 30.0), (65_536, 10.0)])
    {
        assert!(*bytes == expected && near(percent, share), "{sizes:?}");
    }
}

#[test]
fn the_closest_load_to_one_in_bursts_has_their_length() {
    let place = workplace!();
    let span = fitted(&place, "-b4K -r -o4 -i64 -j20", 6_400);
    let target = &span["targets"][0];
    assert!(near(&target["burst_ios"], 64.0), "{target}");
    // A pause may take longer, but not less.
    assert!(target["think_time_ms"].as_u64().is_some_and(|ms| ms >= 20), "{target}");
}

/// The cells of the row with this name.
fn row<'a>(run: &'a Finished, name: &str) -> Vec<&'a str> {
    let cells = |line: &'a str| line.trim().split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let rows = run.stdout.lines().map(cells);
    rows.into_iter().find(|cells: &Vec<&str>| cells.first() == Some(&name)).unwrap_or_else(|| panic!("{name}: {run}"))
}

#[test]
fn a_trace_is_compared_with_the_result_of_a_run_and_with_another_trace() {
    let place = workplace!();
    place.create_file("a.dat", "-c64M");
    for (load, name) in
        [("-b8K -r -w30", "own"), ("-b8K -r -w30", "again"), ("-b64K --read-sizes=4K/50:64K/50", "other")]
    {
        let files = format!("--trace={name}.iotrace --json={name}.json");
        let run = place.diskspd(&format!("{load} -t1 -o4 -d600 -W0 -L --engine=null --max-ios=20000 {files} a.dat"));
        run.run().expect_status(0);
    }
    let compared = |sides: &str| {
        let run = place.diskspd("compare").args(sides).run();
        run.expect_status(0).expect_narrow();
        run
    };
    let run = compared("own.iotrace own.json");
    assert_eq!(row(&run, "mean size"), ["mean size", "8 KiB", "8 KiB", "+0.0 %"]);
    assert_eq!(row(&run, "sequential")[2], "0 %");
    for name in ["range", "touched"] {
        assert_eq!(row(&run, name)[2..], ["-", "-"], "{run}");
    }
    assert_eq!(row(&run, "reads")[3], "+0.0 points", "{run}");
    let run = compared("own.iotrace again.iotrace");
    assert_eq!(row(&run, "range")[1..], ["64 MiB", "64 MiB", "+0.0 %"]);
    assert!(row(&run, "read p99").len() == 4, "{run}");
    let run = compared("own.iotrace other.iotrace");
    run.expect_stdout(&["The load of the second differs from that of the first", "reads +", "sequential +"]);
    assert_eq!(row(&run, "4 KiB")[1], "0 %");
    assert_eq!(row(&run, "8 KiB")[1..], ["100 %", "0 %", "-100.0 points"]);
    compared("other.json own.iotrace").expect_stdout(&["The load of the trace differs from that of the run"]);
}

#[test]
fn comparisons_that_a_trace_does_not_permit_are_refused() {
    let place = workplace!();
    let csv = sample("msr.csv");
    let csv = csv.display();
    for (words, expected) in [
        (format!("{csv} {csv} --fail-if p99>+5%"), "--fail-if 'p99>+5%': traces have no metrics"),
        (format!("{csv} --with r.json r.json"), "a trace can be compared with one result only"),
        (format!("{csv} {csv} --with {csv}"), "only the files of one blktrace"),
    ] {
        place.diskspd("compare").args(&words).run().expect_status(3).expect_stderr(&[expected]);
    }
    place.diskspd("compare").args(&format!("{csv} missing.json")).run().expect_status(1);
}

#[test]
fn traces_of_other_tools_are_shown() {
    let place = workplace!();
    let both = format!("{} {}", sample("loop.blktrace.0").display(), sample("loop.blktrace.1").display());
    let one = |name: &str| sample(name).display().to_string();
    for (files, kind, count) in [
        (both, serde_json::json!("blktrace"), 85),
        (one("loop.blkparse.txt"), serde_json::json!("blkparse"), 85),
        (one("fio-3.33.v3.iolog"), serde_json::json!({"io_log": 3}), 44),
        (one("fio.v2.iolog"), serde_json::json!({"io_log": 2}), 5),
        (one("msr.csv"), serde_json::json!("csv"), 4),
    ] {
        let figures = shown(&place, &files);
        assert_eq!((&figures["kind"], &figures["account"]["events"]), (&kind, &count.into()), "{files}");
        let text = place.diskspd("trace show").args(&files).run();
        text.expect_status(0).expect_narrow().expect_stdout(&["Answer ", "requests", "Trust ", "Next "]);
    }
}

#[test]
fn a_damaged_trace_is_used_up_to_its_damage() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let load = "-b4K -r -o1 -t1 -W0 -d60 --engine=null --max-ios=20000 --trace=t.iotrace a.dat";
    place.diskspd(load).run().expect_status(0);
    let whole = place.content("t.iotrace");
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    place.file("changed.iotrace", &changed);
    place.file("cut.iotrace", &whole[..whole.len() / 2]);
    for name in ["changed.iotrace", "cut.iotrace"] {
        let run = place.diskspd("trace show --json f.json --replace-output").args(name).run();
        run.expect_status(1).expect_stderr(&["ERROR: ", name, "byte ", "bytes not used"]);
        run.expect_stdout(&["Only in part: 1 part of the trace"]);
        let figures = place.json::<Value>("f.json");
        // Blocks of 4096.
        assert_eq!(figures["account"]["events"].as_u64().map(|events| events % 4096), Some(0));
        assert!((4096..20_000).contains(&requests(&figures, "read")), "{figures}");
    }
}

#[test]
fn what_is_no_trace_and_what_would_be_lost_is_refused() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    place.file("text.txt", b"some text\n");
    let refused = |words: &str, parts: &[&str]| -> Finished {
        let run = place.diskspd(words).run();
        run.expect_status(3).expect_stderr(parts);
        run
    };
    refused("trace show text.txt", &["ERROR: 'text.txt': not a trace (expected: .iotrace, blktrace"]);
    refused("trace show text.txt --json text.txt", &["--json 'text.txt': the file is the trace to be read"]);
    refused("-d1 --trace=text.txt a.dat", &["--trace 'text.txt': the existing file is not a trace written by diskspd"]);
    refused("-d1 --trace=a.dat a.dat", &["--trace 'a.dat': the file is a target of this run"]);
    refused("-d1 --json=r --trace=r a.dat", &["--trace 'r': the file is a result file of this run"]);
    refused("repeat --runs=2 -- -d1 --trace=t.iotrace a.dat", &["--trace works only with a single run"]);
    assert_eq!(place.content("text.txt"), b"some text\n");
    let missing = place.diskspd("trace show missing.iotrace").run();
    missing.expect_status(1).expect_stderr(&["cannot read 'missing.iotrace'"]);
    // With --plan nothing is written.
    place.diskspd("-d1 --plan --trace=t.iotrace a.dat").run().expect_status(0);
    assert!(!place.path("t.iotrace").exists());
}

#[cfg(feature = "pages")]
#[test]
fn a_page_has_the_answer_and_the_course_of_the_trace() {
    let place = workplace!();
    let run = place.diskspd("trace show --output p.html").arg(sample("loop.classic.txt")).run();
    run.expect_status(0);
    let page = String::from_utf8(place.content("p.html")).expect("text");
    for part in ["Requests per second", "<svg", "in flight", "fio"] {
        assert!(page.contains(part), "{part}");
    }
}
