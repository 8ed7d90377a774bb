//! Presets are loads that a user could have typed, and end with their own table.

use serde_json::Value;
use testkit::{Finished, Workplace, workplace};

/// A preset's run, short and over a small file.
fn run(place: &Workplace, words: &str) -> Value {
    let run = place.diskspd("preset run").args(words).args("-c8M -d1 -W0 --json r.json a.dat").run();
    run.expect_status(0);
    place.json("r.json")
}

#[test]
fn a_mix_does_its_sizes_in_the_shares_of_their_weights() {
    let place = workplace!();
    let document = run(&place, "sql-normal --maxdop 2");
    let span = &document["time_spans"][0];
    assert_eq!(span["measured"]["thread_count"], 2);
    let rows = span["measured"]["rows"].as_array().expect("a list");
    let targets = document["profile"]["time_spans"][0]["targets"].as_array().expect("a list");
    let ios = |target: usize| -> u64 {
        let of_target = rows.iter().filter(|row| row["target"] == target);
        of_target.map(|row| row["figures"]["total"]["ios"].as_u64().expect("a number")).sum()
    };
    let total: u64 = (0..targets.len()).map(ios).sum();
    for (index, target) in targets.iter().enumerate() {
        let weight = target["weight"].as_u64().expect("a number");
        // Weights add up to 100; a share of n draws is off by less than four standard deviations.
        let (n, p) = (total as f64, weight as f64 / 100.0);
        let allowed = 4.0 * (n * p * (1.0 - p)).sqrt() + 64.0;
        assert!((ios(index) as f64 - n * p).abs() < allowed, "weight {weight}: {} of {total}", ios(index));
    }
}

#[test]
fn the_two_ways_to_write_durably_are_told_apart() {
    let place = workplace!();
    let run = place.diskspd("preset run sql-log -b4K -c8M -d60 -W0 --max-ios=50 --json r.json a.dat").run();
    run.expect_status(0).expect_narrow().expect_stdout(&[
        "load",
        "4 KiB, O_DSYNC",
        " rating ",
        " of mean ",
        "not shown for lack of room: ",
        "fdatasync/s",
    ]);
    run.expect_told(&["A commit is a durable write (O_DSYNC), or a write and the fdatasync after it"]);
    assert!(!run.stdout.contains("Command Line:"), "the table stands for the reports:\n{}", run.stdout);
    let document: Value = place.json("r.json");
    let flushes = |span: usize| &document["time_spans"][span]["measured"]["flushes"];
    assert!(flushes(0).is_null(), "{}", flushes(0));
    let writes = document["time_spans"][1]["measured"]["total"]["write"]["ios"].as_u64().expect("a number");
    let count = flushes(1)["count"].as_u64().expect("a number");
    // The last write may be counted without its flush.
    assert!(writes > 0 && count.abs_diff(writes) <= 1, "{count} flushes of {writes} writes");
    let (commit, flush) = (&flushes(1)["commit"], &flushes(1)["latency"]);
    assert!(commit["mean_ns"].as_f64() > flush["mean_ns"].as_f64(), "a commit is more than its flush: {}", flushes(1));
    let again = place.diskspd("report r.json").run();
    again.expect_status(0).expect_stdout(&["Command Line:", "fdatasync, after each write", "fdatasync/s"]);
}

#[test]
fn the_table_of_desktop_benchmarks_has_four_lines() {
    let place = workplace!();
    let toml = place.diskspd("preset show desktop --toml").run();
    assert!(toml.stdout.contains("repeats = 5"), "{toml}");
    place.file("twice.toml", toml.stdout.replace("repeats = 5", "repeats = 2").as_bytes());
    let run = place.diskspd("preset run twice.toml -c8M -d600 -W0 --max-ios=200 --json r.json a.dat").run();
    run.expect_status(0).expect_stdout(&["MB: 10^6 bytes.", "read", "latency", "write", "best", "IOPS"]);
    let result: Value = place.json("r.json");
    assert_eq!(result["time_spans"].as_array().map(Vec::len), Some(16), "each load runs twice");
    for name in ["SEQ1M Q8T1", "SEQ1M Q1T1", "RND4K Q32T1", "RND4K Q1T1"] {
        let line = run.stdout.lines().map(str::trim).find(|line| line.starts_with(name)).expect("a line for each");
        let cells = line[name.len()..].split_whitespace().map(|cell| cell.replace(',', ""));
        // Without units and, if there is room for it, the verdict.
        let figures: Vec<f64> = cells.filter_map(|cell| cell.parse().ok()).collect();
        assert!(figures.len() >= 7 && figures.iter().all(|&figure| figure > 0.0), "{line}");
        assert!(
            figures[figures.len() - 3] >= figures[figures.len() - 4],
            "the best is no worse than the median: {line}"
        );
    }
}

/// A preset of two loads that judges.
fn judging(log: &str) -> String {
    format!(
        r#"
        form = "diskspd-preset/1"
        title = "Judged"
        judge = true
        options = "-d60 -W0 -L -b4K -o1 -t1 --max-ios=20000"
        [[load]]
        name = "data"
        bands = "data"
        options = "-r -w0"
        [[load]]
        name = "log"
        bands = "log"
        options = "-s -w100 --engine=null {log}"
        [[load]]
        name = "scan"
        options = "-s -w0"
        "#
    )
}

#[test]
fn a_preset_that_judges_passes_or_fails_by_its_bands() {
    let place = workplace!();
    place.file("mine.toml", judging("").as_bytes());
    let run = place.diskspd("preset run mine.toml -c8M --json r.json a.dat").run();
    // A busy machine makes a PASS uncertain.
    run.expect_status(0).expect_narrow().expect_stdout(&["PASS", "not judged", "Answer    3 loads: "]);
    run.expect_told(&[" PASS", ", 1 not judged", "ideal"]);
    let result: Value = place.json("r.json");
    let requirements = |span: usize| result["time_spans"][span]["requirements"].as_array().expect("a list").clone();
    assert_eq!((requirements(0).len(), requirements(1).len(), requirements(2).len()), (1, 1, 0), "{result:#}");
    assert_eq!(requirements(1)[0]["name"], "latency-band");
    assert_eq!(requirements(1)[0]["severity"], "pass");
}

#[test]
fn the_suite_for_sql_server_checks_first() {
    let place = workplace!();
    let shown = place.diskspd("preset show sql").run();
    shown.expect_status(0).expect_stdout(&["# log: 4 KiB, O_DSYNC", "# tempdb"]);
    place.file("short.toml", judging("").replace("judge = true", "judge = true\ncheck = \"sql\"").as_bytes());
    let run = place.diskspd("preset run short.toml -c8M a.dat").run();
    let table = run.stdout.find("Judged").expect("the table");
    let check = run.stdout.find("space").expect("the check");
    assert!(check < table, "{run}");
    // Of the suite itself only the plan: it takes minutes.
    place.diskspd("preset run sql --plan -c64M a.dat").run().expect_status(0).expect_stdout(&["Timespan 15:"]);
}

// Shows switches: --bands=<sql|sql-log>
#[test]
fn a_plain_run_is_judged_in_bands() {
    let place = workplace!();
    let run = place.diskspd("-c1M -d60 -W0 -b4K -o1 -r --max-ios=20000 --bands sql a.dat").run();
    run.expect_status(0).expect_stdout(&["PASS    mean latency up to 20 ms: mean latency was "]);
    run.expect_told(&["ideal (up to 10 ms)"]);
    // The duration of a commit depends on the device.
    let log = place.diskspd("-d60 -W0 -b4K -o1 -s -w100 --max-ios=20 --fdatasync-every=1 --bands=sql-log a.dat").run();
    assert!(log.expect_told(&["commit was "]).code().is_some() && matches!(log.code(), Some(0 | 4 | 6)), "{log}");
    assert_eq!(log.code() == Some(4), log.stdout.contains("  FAIL    commit up to"), "{log}");
    let reads = place.short_run("-b4K -o1 --bands=sql-log a.dat").run();
    reads.expect_status(6).expect_stdout(&["UNKNOWN commit up to"]);
    reads.expect_told(&["commit was not measured"]);
    place.diskspd("-b4K --bands=oracle a.dat").run().expect_status(3).expect_stderr(&["(expected: sql, sql-log)"]);
}

#[test]
fn what_is_shown_can_be_run_again_by_hand() {
    let place = workplace!();
    let xml = place.diskspd("preset show fleet-vdi --maxdop 1 --xml").run();
    xml.expect_status(0);
    place.file("p.xml", xml.stdout.as_bytes());
    place.short_run("-c4M a.dat").run().expect_status(0);
    place.diskspd("-Xp.xml -d1 -W0 a.dat").run().expect_status(0).expect_stdout(&["write", "total"]);
    let lines = place.diskspd("preset show oltp --maxdop 3").run();
    lines.expect_status(0).expect_stdout(&["diskspd -b8K -r -w30 -t3 -o8 -Sh", "<target>"]);
    let toml = place.diskspd("preset show oltp --toml").run();
    place.file("mine.toml", toml.stdout.replace("-w30", "-w0").as_bytes());
    let mine = place.diskspd("preset run mine.toml -d1 -W0 a.dat").run();
    mine.expect_status(0).expect_stdout(&["performing read test", "\n 8 KiB random"]);
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_made() {
    let place = workplace!();
    place.file("bad.toml", b"form = \"diskspd-preset/1\"\ntitle = 3\n");
    for (words, expected) in [
        ("preset run nothing -c1M a.dat", "unknown preset 'nothing'"),
        ("preset run missing.toml -c1M a.dat", "cannot read the preset 'missing.toml'"),
        ("preset run bad.toml -c1M a.dat", "line 2, column 9: invalid type: integer `3`"),
        ("preset run oltp -w101 -c1M a.dat", "-w101"),
        ("preset fly", "(expected: list, show, run)"),
    ] {
        place.diskspd(words).run().expect_status(3).expect_stderr(&["ERROR: ", expected]);
        assert!(!place.path("a.dat").exists(), "{words}");
    }
    let list = place.diskspd("preset list").run();
    list.expect_status(0).expect_stdout(&["sql-log ", "desktop "]);
    let lines =
        place.diskspd("preset show sql-log --toml").run().stdout.replacen("title = \"", "title = \"one\\ntwo ", 1);
    place.file("lines.toml", lines.as_bytes());
    let shown = place.diskspd("preset show lines.toml").run();
    shown.expect_status(0).expect_stdout(&["one", "two "]);
    assert!(shown.stdout.lines().next().is_some_and(|line| line.contains("two ")), "{}", shown.stdout);
}

/// The names of the streams of each load.
fn streams(document: &Value) -> Vec<Vec<String>> {
    let spans = document["time_spans"].as_array().expect("timespans");
    let name = |stream: &Value| stream["name"].as_str().expect("a name").to_owned();
    let of_span = |span: &Value| span["measured"]["streams"].as_array().expect("a list").iter().map(name).collect();
    spans.iter().map(of_span).collect()
}

/// The result of a run in which each load, and each stream of it, did I/O. A busy machine or a slow disk gets more time
/// than two seconds.
fn run_of_all_streams(place: &Workplace, words: &str) -> (Finished, Value) {
    let mut seconds = 2;
    loop {
        let run = place.diskspd(&format!("preset run {words} -c64M -d{seconds} --json r.json a.dat")).run();
        run.expect_status(0);
        let document: Value = place.json("r.json");
        let has_ios = |figures: &Value| figures["ios"].as_u64() > Some(0);
        let is_whole = document["time_spans"].as_array().expect("timespans").iter().all(|span| {
            let measured = &span["measured"];
            let streams = measured["streams"].as_array().expect("a list");
            has_ios(&measured["total"]["total"]) && streams.iter().all(|stream| has_ios(&stream["figures"]["total"]))
        });
        if is_whole {
            return (run, document);
        }
        seconds *= 3;
        assert!(seconds < 60, "a stream without I/Os: {document:#}");
    }
}

/// Checks that a preset runs these streams in its loads, and names its sources.
fn expect_streams(name: &str, expected: &[&[&str]]) {
    let place = workplace!();
    let follows_machine = cli::preset::Builtin::find(name).is_some_and(|builtin| builtin.text.contains("{threads}"));
    let degree = if follows_machine { "--maxdop 2" } else { "" };
    let (run, document) = run_of_all_streams(&place, &format!("{name} {degree} -W0"));
    assert_eq!(streams(&document), expected, "{name}");
    // A narrow table wraps long names.
    for stream in expected.concat() {
        assert!(run.stdout.split_whitespace().any(|word| word == stream), "{stream}: {run}");
    }
    let shown = place.diskspd(&format!("preset show {name}")).run();
    shown.expect_status(0).expect_stdout(&["\nSources:\nhttps://", "\ndiskspd ", "-d60 "]);
}

#[test]
fn postgresql_has_its_streams() {
    let loads = [["pages", "bgwriter", "wal"], ["pages", "checkpoint", "wal"], ["pages", "scan", "wal"]];
    expect_streams("postgresql", &loads.each_ref().map(<[_; 3]>::as_slice));
}

#[test]
fn rocksdb_has_its_streams() {
    expect_streams("rocksdb", &[&["gets"], &["gets", "compaction-read", "compaction-write"]]);
}

#[test]
fn kafka_has_its_streams() {
    expect_streams("kafka", &[&["append", "fetch"], &["write-back", "fetch"]]);
}

#[test]
fn loads_of_training_have_no_streams() {
    expect_streams("ai-data-loader", &[&[], &[]]);
    expect_streams("checkpoint-writer", &[&[], &[]]);
}

#[test]
fn options_that_are_typed_win_inside_of_streams() {
    let place = workplace!();
    let run = place.diskspd("preset run rocksdb -o3 -c64M -d1 -W0 --json r.json a.dat").run();
    run.expect_status(0);
    let document: Value = place.json("r.json");
    let targets = document["profile"]["time_spans"][1]["targets"].as_array().expect("targets");
    assert!(targets.iter().all(|target| target["outstanding"] == 3), "{targets:#?}");
}

#[test]
fn the_users_of_sqliosim_are_verified() {
    let place = workplace!();
    let (_, document) = run_of_all_streams(&place, "sqliosim");
    assert_eq!(streams(&document), [["random", "log", "audit", "read-ahead", "bulk-update", "checkpoint"]]);
    let found = &document["time_spans"][0]["verification"];
    assert_eq!((&found["unit_bytes"], &found["corrupt"]), (&4096.into(), &Value::Array(vec![])), "{found}");
    assert!(found["checked_units"].as_u64() > Some(0), "{found}");
    place.diskspd("verify a.dat a.dat.0").run().expect_status(0);
    let shown = place.diskspd("preset show sqliosim").run();
    shown.expect_status(0).expect_stdout(&["sqliosim.default.cfg.ini", "--verify"]);
}
