//! `--stream`: the I/Os of each stream in the kernel match its results, in every form.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use testkit::{Program, Snapshot, or_skip, workplace};

/// I/Os of each stream by direction, in a result.
fn ios_by_stream(measured: &Value) -> BTreeMap<(String, String), u64> {
    let mut told = BTreeMap::new();
    for stream in measured["streams"].as_array().expect("a list") {
        for direction in ["read", "write"] {
            let ios = stream["figures"][direction]["ios"].as_u64().expect("a number");
            let name = stream["name"].as_str().expect("a name").to_owned();
            told.insert((name, direction.to_owned()), ios);
        }
    }
    told
}

fn with_streams(program: Program, streams: &[&str]) -> Program {
    streams.iter().fold(program, |program, stream| program.arg("--stream").arg(stream))
}

// Shows switches: --stream=<name>:<options>
#[test]
fn each_stream_does_its_own_load_and_its_figures_are_what_the_kernel_saw() {
    let place = workplace!();
    for name in ["data.dat", "log file.dat"] {
        place.create_file(name, "-c1M");
    }
    let streams = ["point: -b8K -r -w30 -t2", "log: -b4K -w100 'log file.dat'", "scan: -b64K -si"];
    let job = with_streams(place.diskspd("-o1 -W0 -d60 -L -z3"), &streams).args("-Rptoml data.dat").run();
    job.expect_status(0);
    assert!(job.stdout.contains("stream = \"point\"") && job.stdout.contains("path = \"log file.dat\""), "{job}");
    place.file("job.toml", job.stdout.as_bytes());
    let words = "run job.toml --max-ios=2000 --json r.json --text r.txt --xml r.xml";
    let mut ios = or_skip!(place.traced(words));
    // On a busy machine, some threads may do all I/Os before another one begins; they are retried.
    for _ in 0..5 {
        let kinds: BTreeSet<_> = ios.iter().map(|io| (io.length, io.write)).collect();
        if kinds.len() == 4 {
            break;
        }
        ios = or_skip!(place.traced(words));
    }
    let measured = place.measured("r.json");
    let mut seen: BTreeMap<(String, String), u64> = BTreeMap::new();
    for io in &ios {
        let name = match (io.length, io.path.as_str()) {
            (8192, "data.dat") => "point",
            (4096, "log file.dat") => "log",
            (65536, "data.dat") => "scan",
            other => panic!("{other:?}"),
        };
        *seen.entry((name.to_owned(), if io.write { "write" } else { "read" }.to_owned())).or_default() += 1;
    }
    let told: BTreeMap<_, _> = ios_by_stream(&measured).into_iter().filter(|(_, ios)| *ios > 0).collect();
    assert_eq!(seen, told);
    let points = seen.get(&("point".to_owned(), "write".to_owned())).copied().unwrap_or(0);
    assert!(points > 0 && seen.values().sum::<u64>() == 2000, "{seen:?}");
    // There is nothing beside the streams.
    let sum = |key: &str| -> u64 {
        let streams = measured["streams"].as_array().expect("a list").iter();
        streams.map(|stream| stream["figures"]["total"][key].as_u64().expect("a number")).sum()
    };
    for key in ["ios", "bytes"] {
        assert_eq!(measured["total"]["total"][key], sum(key));
    }
    let text = String::from_utf8(place.content("r.txt")).expect("a text");
    assert!(text.contains("      stream: scan\n") && text.contains("\nPercentiles of latency, stream log\n"), "{text}");
    let row = text.lines().find(|line| line.split_whitespace().take(2).eq(["log", "writes"])).expect("a row");
    let log = seen[&("log".to_owned(), "write".to_owned())];
    assert_eq!(row.split_whitespace().nth(2).map(|cell| cell.replace(',', "")), Some(log.to_string()), "{row}");
    // DiskSpd's tables come first and are unchanged.
    assert!(text.find("Total latency distribution:") < text.find("\nStreams\n"), "{text}");
    place.diskspd("report r.xml --output again.json").run().expect_status(0);
    let again = place.measured("again.json");
    assert_eq!(self::ios_by_stream(&again), self::ios_by_stream(&measured));
    let count = |of: &Value| of["streams"][0]["latency"]["total"]["count"].clone();
    assert_eq!(count(&again), count(&measured));
    for (row, read) in measured["rows"].as_array().expect("rows").iter().zip(again["rows"].as_array().expect("rows")) {
        assert_eq!(row["target"], read["target"], "threads tell which stream a row is of");
    }
    place.diskspd("report r.json --output r.html").run().expect_status(0);
    let page = String::from_utf8(place.content("r.html")).expect("a text");
    assert!(page.contains("Percentiles of latency, stream scan"), "{page}");
}

// Shows switches: --stream=<name>:<options>
#[test]
fn a_hot_and_a_cold_range_of_one_file_are_measured_apart() {
    let place = workplace!();
    place.create_file("data.dat", "-c4M");
    let job = with_streams(place.diskspd("-b4K -r -o1 -W0 -d60 -L"), &["hot: -B0:1M", "cold: -B1M:3M -b8K"]);
    let job = job.args("-Rptoml data.dat").run();
    job.expect_status(0);
    place.file("job.toml", job.stdout.as_bytes());
    let ios = or_skip!(place.traced("run job.toml --max-ios=400 --json r.json"));
    let (hot, cold): (Vec<_>, Vec<_>) = ios.iter().partition(|io| io.length == 4096);
    assert!(hot.iter().all(|io| io.offset < 1 << 20), "{hot:?}");
    assert!(cold.iter().all(|io| io.offset >= 1 << 20), "{cold:?}");
    let told = ios_by_stream(&place.measured("r.json"));
    let reads = |name: &str| told[&(name.to_owned(), "read".to_owned())];
    assert_eq!((reads("hot"), reads("cold")), (hot.len() as u64, cold.len() as u64));
}

#[test]
fn streams_share_a_file_which_is_created_once_and_guarded() {
    let place = workplace!();
    let streams = ["a: -b4K -r -Z -w50", "b: -b64K -o4"];
    let run = |words: &str| with_streams(place.diskspd(words), &streams).arg("a.dat");
    let plan = run("-c1M -d1 -W0 --plan").run();
    plan.expect_status(0);
    assert_eq!(plan.stdout.matches("before: creates 1MiB of zeros").count(), 1, "{plan}");
    assert!(plan.stdout.contains("    stream b, 'a.dat', 1MiB"), "{plan}");
    assert!(!place.path("a.dat").exists());
    // A busy machine may give a thread no time in one second; it is retried.
    let are_there = (0..5).any(|_| {
        run("-c1M -d1 -W0 --json r.json").run().expect_status(0);
        assert_eq!(fs::metadata(place.path("a.dat")).expect("made").len(), 1 << 20);
        let told = ios_by_stream(&place.measured("r.json"));
        told[&("a".to_owned(), "write".to_owned())] > 0 && told[&("b".to_owned(), "read".to_owned())] > 0
    });
    assert!(are_there, "a stream without I/Os");
    let theirs = place.file("theirs.dat", &vec![7; 1 << 20]);
    let before = Snapshot::take(&theirs);
    with_streams(place.short_run(""), &["a: -b4K", "b: -b4K -w1"]).arg(&theirs).run().expect_status(3);
    assert_eq!(Snapshot::take(&theirs), before);
}

#[test]
fn what_is_wrong_with_a_stream_is_said_with_its_place_and_nothing_is_touched() {
    let place = workplace!();
    for (streams, words, expected) in [
        (&["a: -b4K -q5"][..], "", "stream 'a': invalid option: '-q5'"),
        (&["a: -b4K", "b: -d3 -r"], "", "stream 'b': '-d3' is not an option of a target"),
        (&["a: -b4K", "b: -o0"], "", "stream 'b'"),
        (&["a: -b4K", "b: -b8K -r -si"], "", "stream 'b': "),
        (&["a: -b4K"], "-F2 -O4", "-F and -O cannot be used with --stream"),
        (
            &["a: -b4K", "b: -c2M"],
            "",
            "stream 'b', target 'f.dat': -c cannot create the same file with two sizes (1MiB and 2MiB)",
        ),
        (&["a: -b4K", "a: -b8K"], "", "stream 'a' is given twice"),
        (&["a/b: -b4K"], "", "'a/b' is not a name of a stream"),
    ] {
        let program = place.short_run("-c1M").args(words);
        let run = with_streams(program, streams).arg("f.dat").run();
        run.expect_status(3).expect_stderr(&["ERROR: ", expected]);
        assert!(!place.path("f.dat").exists(), "{streams:?}");
    }
}
