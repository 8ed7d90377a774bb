//! `--require`: requirements on a real run, in every form of a result, and the exit status.

use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use testkit::{Cgroup, Faulty, Finished, Mounted, Program, Workplace, or_skip, workplace};

fn document(place: &Workplace, name: &str) -> Value {
    place.json(name)
}

// Shows switches: --require=<metric><operator><bound>
#[test]
fn requirements_are_told_in_every_form_and_kept() {
    let place = workplace!();
    let words = "-c1M -d60 -W0 -b4K -r -w50 --max-ios=100000 --json r.json --xml r.xml --require iops>1 --require p99<=1ns \
                 --require=cpu<=100% a.dat";
    let run = place.diskspd(words).run();
    run.expect_status(4).expect_stdout(&[
        "Requirements: 1 of 3 not met\n  PASS    iops>1: iops was ",
        " I/O per s\n  FAIL    p99<=1ns: p99 was ",
        "\n          the verdict may name a cause other than the storage\n  PASS    cpu<=100%: cpu was ",
    ]);
    let verdict = run.stdout.find("\nVerdict: ").expect("a verdict");
    assert!(verdict < run.stdout.find("\nRequirements: ").expect("requirements"), "{}", run.stdout);
    let document = document(&place, "r.json");
    let span = &document["time_spans"][0];
    let outcomes = span["requirements"].as_array().expect("a list");
    let told: Vec<(&str, &str)> = outcomes
        .iter()
        .map(|outcome| (outcome["subject"].as_str().expect("text"), outcome["severity"].as_str().expect("text")))
        .collect();
    assert_eq!(told, [("iops>1", "pass"), ("p99<=1ns", "fail"), ("cpu<=100%", "pass")]);
    // The judged value is the measured one, of reads and writes together.
    assert_eq!(outcomes[1]["value"].as_f64(), span["summary"]["total"]["p99_ns"].as_f64());
    assert!(span["summary"]["total"]["p99_ns"].is_u64(), "latencies are measured without -L");
    let xml = String::from_utf8(place.content("r.xml")).expect("it is text");
    let finding = "<Finding Name=\"requirement\" Severity=\"FAIL\" Subject=\"p99&lt;=1ns\" Value=";
    assert!(xml.contains("<Requirements>") && xml.contains(finding), "{xml}");
    let again = place.diskspd("report r.json").run();
    again.expect_status(0);
    assert_eq!(again.stdout, run.stdout);
    place.diskspd("report r.xml").run().expect_status(0).expect_stdout(&["Requirements: 1 of 3 not met\n"]);
    place.diskspd("report r.json --output r.html").run().expect_status(0);
    let page = String::from_utf8(place.content("r.html")).expect("it is text");
    assert!(page.contains("Requirements: 1 of 3 not met") && page.contains("p99&lt;=1ns"), "the page has them");
}

/// A log as etcd writes it: 22 MB, 2,300 bytes at a time, each with fdatasync.
const LOG: &str = "-c22000000 -b2300 -w100 -o1 -d60 -W0 --overwrite --fdatasync-every=1";

/// The bounds of etcd's documentation on the flush, on the commit, and as they are usually typed.
const COMMIT_BOUNDS: [(&str, &str); 4] = [
    ("flush.p99<10ms", "flush.p99<10ms: p99 (flush) was "),
    ("commit.p99<10ms", "commit.p99<10ms: p99 (commit) was "),
    ("p99<10ms", "commit.p99<10ms: p99 (commit) was "),
    (" p99 < 10ms ", "commit.p99<10ms: p99 (commit) was "),
];

/// Judges the log by each bound, and by the 95th percentile of its commits.
fn log_is_held(place: &Workplace, target: &Path, ios: u32, program: impl Fn() -> Program, outcome: (i32, &str)) {
    for (typed, told) in COMMIT_BOUNDS {
        let run = program().args(LOG).arg(format!("--max-ios={ios}")).arg("--require").arg(typed);
        let run = run.args("--require commit.p95>1ns --json r.json").arg(target).run();
        let (status, word) = outcome;
        run.expect_status(status)
            .expect_stdout(&[&format!("  {word}    {told}"), "  PASS    commit.p95>1ns: p95 (commit) was "]);
        let span = &document(place, "r.json")["time_spans"][0];
        let commits = &span["measured"]["commit_latency"];
        assert_eq!(commits["count"], span["measured"]["flushes"]["count"], "a commit for each flush");
        assert!(
            commits["figures"]["mean_ns"].as_f64() > span["measured"]["flush_latency"]["figures"]["mean_ns"].as_f64()
        );
    }
}

// Before there were scopes, p99 was the latency of the copies into the page cache, and every such requirement passed.
#[test]
fn a_log_on_a_file_system_with_slow_flushes_is_too_slow() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    // 60 a second.
    faulty.flush_takes(Duration::from_micros(16_667));
    log_is_held(&place, &faulty.new_file, 30, || place.diskspd(""), (4, "FAIL"));
}

#[test]
fn a_log_on_a_device_with_sixty_writes_a_second_is_too_slow() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::ext4(&place, "own", 64 << 20));
    let target = mounted.path.join("a.dat");
    place.diskspd("-c22000000 -d1 -W0 --max-ios=1").arg(&target).run().expect_status(0);
    place.tool("sync").run().expect_status(0);
    let device = mounted.device.as_ref().expect("it is on one").path.clone();
    let group = or_skip!(Cgroup::of_writes(&device, 60));
    let script = format!("echo $$ > {}; exec \"$0\" \"$@\"", group.door().display());
    let inside = || place.tool("sh").arg("-c").arg(&script).arg(place.program());
    log_is_held(&place, &target, 60, inside, (4, "FAIL"));
}

#[test]
fn a_log_in_memory_is_fast_enough() {
    let place = workplace!();
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "64M"));
    log_is_held(&place, &memory.path.join("a.dat"), 20_000, || place.diskspd(""), (0, "PASS"));
}

#[test]
fn reads_and_commits_are_held_to_a_bound_separately() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let held = |words: &str| -> Finished {
        let run =
            place.diskspd("-d60 -W0 -b4K -r --max-ios=400 --require p90<1h --require iops>0").args(words).arg("a.dat");
        run.run()
    };
    for (words, scopes) in [
        ("-w50 --fdatasync-every=1", &["read", "commit"][..]),
        ("-w50 -Sw", &["read", "commit"]),
        ("-w50 --fsync-every=10", &["read", "write", "commit"]),
        ("-w100 --fsync-every=10", &["write", "commit"]),
        ("-w100 -Sw", &[]),
        ("-w50 --fdatasync-every=1 --rate=100000", &["response.read", "response.write"]),
        ("-w50 --rate=100000", &["response"]),
    ] {
        let run = held(words);
        let told: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with("  PASS    ")).collect();
        let expected = scopes
            .iter()
            .map(|scope| format!("{scope}.p90<1h: "))
            .chain(scopes.is_empty().then(|| "p90<1h: ".to_owned()));
        let expected: Vec<String> = expected.chain(["iops>0: ".to_owned()]).collect();
        assert!(run.code() == Some(0) && told.len() == expected.len(), "{words}: {run}");
        for (line, expected) in told.iter().zip(expected) {
            assert!(line["  PASS    ".len()..].starts_with(&expected), "{words}: {line}");
        }
    }
}

/// A log whose flushes take 20 ms is judged, named and compared by its commits.
#[test]
fn every_output_says_which_latency_it_is() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    faulty.flush_takes(Duration::from_millis(20));
    let load = |flush: &str, name: &str| {
        let words = format!("-c1M -b4K -w100 -o1 -d60 -W0 -L --overwrite --max-ios=20 --json {name}.json {flush}");
        place.diskspd(&words).arg(&faulty.new_file).run().expect_status(0);
        document(&place, &format!("{name}.json"))["time_spans"][0].clone()
    };
    let copied = load("", "copied");
    let flushed = load("--fsync-every=1", "flushed");
    let metric = |span: &Value, name: &str| span["metrics"][name].as_f64();
    assert!(
        metric(&flushed, "commit.p50") > metric(&flushed, "flush.p50") && metric(&flushed, "flush.p50") >= Some(2e7)
    );
    assert!(metric(&flushed, "write.p50") < metric(&flushed, "commit.p50"));
    assert_eq!((metric(&flushed, "p99"), metric(&copied, "p99").is_some()), (None, true));
    assert_eq!(metric(&copied, "commit.p50"), None);
    for (form, sample) in [
        ("csv", "commit,1,,,,write,"),
        ("prom", "diskspd_result_latency_seconds{time_span=\"1\",metric=\"commit.p50\"} 0.0"),
    ] {
        place.diskspd(&format!("report flushed.json --output flushed.{form}")).run().expect_status(0);
        let text = String::from_utf8(place.content(&format!("flushed.{form}"))).expect("it is text");
        assert!(text.contains(sample), "{text}");
    }
    let alike = place.diskspd("compare flushed.json flushed.json").run();
    alike.expect_status(0).expect_stdout(&["Load  ", ", fsync after each write, ", "\n p99 (commit) "]);
    // The latencies that the application waits for differ.
    let unlike = place.diskspd("compare --anyway copied.json flushed.json").arg("--fail-if").arg("p99 > +5%").run();
    unlike
        .expect_status(6)
        .expect_told(&["p99 (write)", "the application waits for p99 in the first, p99 (commit) in the second"]);
    unlike.expect_stderr(&["--fail-if 'p99 > +5%' cannot be judged: the application waits for "]);
    assert!(!unlike.stdout.contains("\n p99  "), "{unlike}");
    let p95 = place.diskspd("compare flushed.json flushed.json").arg("--fail-if").arg("p95>+5%").run();
    p95.expect_stdout(&["\n p95 (commit) "]);
    for (limit, status, told) in [
        ("commit.p99>+5%", 6, "cannot be judged: the results of one side have no commit.p99"),
        ("log:p99>+5%", 3, "compare has no metrics of streams"),
    ] {
        let run = place.diskspd("compare --anyway copied.json flushed.json --fail-if").arg(limit).run();
        run.expect_status(status).expect_stderr(&[told]);
    }
}

/// Fast writes before slow flushes do not make two sides equal.
#[test]
fn series_have_the_latency_that_the_application_waits_for() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    faulty.flush_takes(Duration::from_millis(5));
    let load = "-c1M -b4K -w100 -o1 -d60 -W0 -L --overwrite --max-ios=20 --fsync-every=1";
    let repeat = place.diskspd(&format!("repeat --runs 2 --dir r -- {load}")).arg(&faulty.new_file).run();
    repeat.expect_status(0);
    repeat.expect_stdout(&["Run 1, ", " ms (commit), p99 (commit) ", "\n mean (commit) ", "\n p99 (commit) "]);
    let refused = place.diskspd(&format!("ab --pairs 3 --dir no --fail-if response.p99>+5% -- {load}"));
    refused.arg(&faulty.new_file).run().expect_status(3).expect_stderr(&["(expected: commit.mean, commit.p99)"]);
    let ab = format!("ab --pairs 3 --dir ab --fail-if commit.p99<-99.9% -- {load}");
    let ab = place.diskspd(&ab).arg(&faulty.new_file).run();
    ab.expect_stdout(&["\n mean (commit) ", "\n p99 (commit) ", ", mean (commit) "]);
    let figures = &document(&place, "ab/ab.json")["ab"]["figures"];
    let scopes = figures.as_array().expect("figures").iter().map(|of| of["scope"].as_str().expect("a scope"));
    assert_eq!(scopes.collect::<Vec<_>>(), ["all", "commit", "commit"]);
    let sweep = place.diskspd(&format!("sweep --vary b=4K,8K --dir s -- {load}")).arg(&faulty.new_file).run();
    sweep.expect_status(0).expect_stdout(&[" (commit)"]);
    let table = String::from_utf8(place.content("s/table.csv")).expect("it is text");
    let of_first = |name: &str| {
        let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        let (header, first) =
            (cells(table.lines().next().expect("a heading")), cells(table.lines().nth(1).expect("a run")));
        let place = header.iter().position(|cell| cell == name).expect(name);
        first[place].parse::<f64>().expect(name)
    };
    assert!(of_first("commit_p50_ns") > of_first("latency_p50_ns"), "{table}");
    // The copy into the page cache is not compared with a commit.
    let copied = load.replace(" --fsync-every=1", "");
    let unlike = place.diskspd(&format!("ab --pairs 3 --dir unlike --b=--fsync-every=1 -- {copied}"));
    let unlike = unlike.arg(&faulty.new_file).run();
    unlike.expect_told(&["atencies not compared: the application waits for p99 in A, p99 (commit) in B"]);
    assert!(!unlike.stdout.contains("\n p99 "), "{unlike}");
    for folder in ["r", "ab", "s"] {
        let name = "p99 (commit)";
        place.diskspd(&format!("report {folder} --output {folder}.html")).run().expect_status(0);
        let page = String::from_utf8(place.content(&format!("{folder}.html"))).expect("it is text");
        assert!(page.contains(name), "{folder}");
    }
}

/// With `--rate` the response to a write that is flushed ends when it is durable.
#[test]
fn a_commit_ends_the_response() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    faulty.flush_takes(Duration::from_millis(20));
    let words = "-c1M -b4K -w100 -o1 -d60 -W0 --rate=10 --max-ios=5 --fdatasync-every=1";
    let run =
        place.diskspd(words).args("--require response.p50>20ms --require write.p50>0ns").arg(&faulty.new_file).run();
    run.expect_status(0).expect_stdout(&["  PASS    response.p50>20ms: p50 (response) was "]);
}

#[test]
fn a_metric_that_the_load_cannot_have_is_refused_before_the_run() {
    let place = workplace!();
    for (words, typed, reason) in [
        ("-w100", "commit.p99<10ms", "the load has no commit.p99: it needs durable writes (--fdatasync-every"),
        ("-w100", "read.iops>1", "the load has no read.iops: it needs reads"),
        ("-w0", "response.p99<1s", "the load has no response.p99: it needs intended starts (--rate)"),
        ("-w0", "log:p99<1s", "the load has no log:p99: it needs a stream of this name (--stream)"),
        ("-w100 --fdatasync-every=70000", "commit.p99<1s", "up to 65536"),
    ] {
        let run = place.diskspd("-c1M -d1").args(words).arg("--require").arg(typed).arg("a.dat").run();
        run.expect_status(3).expect_stderr(&[&format!("ERROR: --require '{typed}': "), reason]);
        let repeat = place.diskspd("repeat --runs 2 --dir runs -- -c1M -d1").args(words);
        repeat.arg("--require").arg(typed).arg("a.dat").run().expect_status(3).expect_stderr(&[reason]);
    }
    let search = place.diskspd("sweep --limit commit.p99=1ms --dir runs -- -c1M -d1 -w100 a.dat").run();
    search.expect_status(3).expect_stderr(&["the load has no commit.p99: it needs durable writes"]);
    assert!(!place.path("a.dat").exists() && !place.path("runs").exists());
}

#[test]
fn what_is_met_ends_well_and_without_requirements_nothing_is_said() {
    let place = workplace!();
    let run = place.short_run("-c1M -b4K --require iops>=1 a.dat").run();
    run.expect_status(0).expect_stdout(&["Requirements: all met\n"]);
    let run = place.diskspd("-d1 -W0 -b4K --json r.json a.dat").run();
    run.expect_status(0);
    assert!(!run.stdout.contains("Requirements"), "{run}");
    assert_eq!(document(&place, "r.json")["time_spans"][0]["requirements"], Value::Array(Vec::new()));
}

#[test]
fn profiles_and_presets_are_held_to_them_in_every_timespan() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let profile = place.short_run("-b4K -Rpxml a.dat").run();
    profile.expect_status(0);
    place.file("p.xml", profile.stdout.as_bytes());
    let run = place.diskspd("-Xp.xml -Rtext --require mean<1h --require max>1us").run();
    run.expect_status(0).expect_stdout(&["  PASS    mean<1h: mean was ", "  PASS    max>1us: max was "]);
    let run = place.diskspd("preset run sql-log -c1M -d60 -W0 --max-ios=60 --require iops<1 --json r.json b.dat").run();
    run.expect_status(4).expect_stdout(&["\nFAIL      iops<1 ("]);
    let spans = document(&place, "r.json")["time_spans"].as_array().expect("a list").clone();
    assert!(spans.len() > 1 && spans.iter().all(|span| span["requirements"][0]["severity"] == "fail"), "{run}");
}

#[test]
fn a_run_that_fails_fails_whatever_it_was_held_to() {
    let place = workplace!();
    let run = place.short_run("--require iops>1 --json r.json nowhere.dat").run();
    run.expect_status(1).expect_stderr(&["ERROR: 'nowhere.dat' does not exist"]);
    assert_eq!(document(&place, "r.json")["time_spans"][0]["requirements"][0]["severity"], "unknown");
}

#[test]
fn every_run_of_a_repeat_is_held_to_them() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    for (folder, bound, status) in [("met", "iops>=1", 0), ("missed", "iops<1", 4)] {
        let words =
            format!("repeat --runs 2 --rest 0s --dir {folder} -- -d60 -W0 -b4K --max-ios=100 --require {bound} a.dat");
        place.diskspd(&words).run().expect_status(status);
    }
}

#[test]
fn nonsense_is_refused_by_name() {
    let place = workplace!();
    for (typed, reason) in [
        ("--require=p98<1ms", "unknown metric 'p98' (expected: iops, bandwidth, mean, p50, p90, p95, p99, "),
        ("--require=p99<1", "'1' is not a bound for p99"),
        ("--require=iops", "'iops' is not a metric with a bound"),
    ] {
        let run = place.diskspd("-c1M -d1").arg(typed).arg("a.dat").run();
        run.expect_status(3).expect_stderr(&[&format!("option '{typed}': {reason}")]);
    }
    assert!(!place.path("a.dat").exists());
}
