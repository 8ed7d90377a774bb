//! `diskspd gate` and `diskspd history`: their output and their files.

use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::time::Duration;
use testkit::{Corrupting, Corruption, Mounted, Occasion, Workplace, or_skip, tool, workplace};
use yaml_rust2::YamlLoader;

/// The null engine reaches any rate.
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
    run.expect_status(0).expect_narrow().expect_stdout(&["PASS: not worse than 8 earlier runs (iops ", "EARLIER"]);
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
    run.expect_status(4);
    // The machine may be too busy for the rate.
    let percent = run.stdout.split("FAIL: iops -").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    assert!(percent.is_some_and(|percent| (45.0..60.0).contains(&percent)), "{run}");
    assert_eq!(index(&place).len(), 10, "one run was enough");
    let junit = fs::read_to_string(place.path("j.xml")).expect("a file");
    assert!(junit.contains("failures=\"1\"") && junit.contains("<failure message=\"iops -"), "{junit}");
    // A run with worse results does not extend the history.
    gate(&place, "").expect_status(4).expect_stdout(&["against 9 earlier runs"]);

    let run = place.diskspd("history f --output h.html").run();
    run.expect_status(0).expect_stdout(&["kernel: ", "GATE", "PASS", "FAIL"]);
    let page = fs::read_to_string(place.path("h.html")).expect("a page");
    assert!(page.contains("iops of each run") && page.contains("<svg"), "no chart");

    // --accept: the runs since results became worse are the new history.
    let run = place.diskspd("gate f --accept").arg("new disk").run();
    run.expect_status(0).expect_stdout(&["accepted: the history begins with the run of "]);
    gate(&place, "").expect_status(6).expect_stdout(&["recorded, 3 of 5"]);
    place.diskspd("history f").run().expect_status(0).expect_stdout(&["accepted from ", ": new disk"]);
}

#[test]
fn a_change_in_doubt_is_run_again() {
    let place = workplace!();
    with_history(&place, 8, 1.15);
    // A single run decides about differences of 20 % and more.
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
    // Another load has a separate history.
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
    assert_eq!(results(&place), 8);
}

fn gate_without_file(place: &Workplace) {
    // Threads do not wait for each other's target.
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
    run.expect_stderr(&["index.jsonl' was incomplete: 0 lines unreadable or double, 5 results added from their files"]);
    assert_eq!(index(&place).len(), entries.len() + 1);
    let text = fs::read_to_string(place.path("f/index.jsonl")).expect("an index");
    fs::write(place.path("f/index.jsonl"), &text[..text.len() - 30]).expect("cut");
    let run = place.diskspd("history f").run();
    run.expect_status(0).expect_stderr(&["1 line unreadable or double, 1 result added"]);
    // Files of other programs remain.
    fs::write(place.path("f/index.jsonl"), "a diary\n").expect("written");
    let run = gate(&place, "");
    run.expect_status(1).expect_stderr(&["not an index written by this version of diskspd: move it away"]);
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
    // A result that is a link does not count.
    gate(&place, "").expect_status(6);
    let entry = index(&place).remove(0);
    let name = entry["file"].as_str().expect("a name");
    symlink(place.path(&format!("f/{name}")), place.path("f/20200101T000000.000Z.json")).expect("linked");
    gate(&place, "").expect_status(6).expect_stdout(&["recorded, 2 of 5"]);
    // Neither summary nor JUnit replaces other files, and nothing is run then.
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

/// Direct I/O to a file system in memory does not measure a disk.
#[test]
fn an_invalid_run_is_kept_and_is_no_history() {
    let place = workplace!();
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "64M"));
    let load = "-- -c1M -d60 -W0 -b4K -r -Su --max-ios=500";
    for _ in 0..6 {
        let run = place.diskspd(&format!("gate f {load}")).arg(memory.path.join("a.dat")).run();
        if run.code() == Some(1) {
            testkit::skip!("tmpfs of this kernel refuses O_DIRECT");
        }
        run.expect_status(6).expect_stdout(&["CANNOT TELL: the run is INVALID (", "it is kept, but is not history"]);
    }
    let entries = index(&place);
    assert!(entries.len() == 6 && entries.iter().all(|entry| entry["verdict"] == "invalid"), "{entries:?}");
    // --strict makes it a failure.
    let run = place.diskspd(&format!("gate f {load} --strict")).arg(memory.path.join("a.dat")).run();
    run.expect_status(4).expect_stdout(&["FAIL: the run is INVALID ("]);
    // The same run without its findings would be the seventh result of its history.
    let name = format!("f/{}", entries[0]["file"].as_str().expect("a name"));
    let mut result: Value = place.json(&name);
    result["time_spans"][0]["verdict"]["findings"] = Value::Array(Vec::new());
    fs::remove_file(place.path("f/index.jsonl")).expect("removed");
    fs::write(place.path(&name), result.to_string()).expect("written");
    let run = place.diskspd(&format!("gate f --result {name}")).run();
    run.expect_status(6).expect_stdout(&["recorded, 1 of 5"]);
}

#[test]
fn corrupt_data_end_with_their_own_status() {
    let place = workplace!();
    let disk = or_skip!(Corrupting::mounted(&place, "disk", 1 << 20));
    let filling = "-b64K -s -w100 -o1 -t1 -d60 -W0 -Su --max-bytes=1M --verify --overwrite";
    place.diskspd(filling).arg(&disk.file).run().expect_status(0);
    disk.order(Corruption::Zeros, Occasion::every(101).at_most(20));
    let load = "gate f --junit j.xml -- -b4K -r -w50 -o1 -t1 -d60 -W0 -Su --max-ios=3000 --verify --overwrite";
    let run = place.diskspd(load).arg(&disk.file).run();
    run.expect_status(5).expect_stdout(&["FAIL: the run is INVALID (data-corruption"]);
    assert_eq!((index(&place).len(), &index(&place)[0]["gate"]), (1, &"fail".into()));
    let junit = String::from_utf8(place.content("j.xml")).expect("UTF-8");
    assert!(junit.contains("failures=\"1\""), "{junit}");
}

#[test]
fn a_requirement_that_is_missed_is_the_answer() {
    let place = workplace!();
    with_history(&place, 5, 1.0);
    let limited = LOAD.replace("--engine", "--require iops>=100000 --engine");
    let run = place.diskspd(&format!("gate f --metric iops --junit j.xml {limited}")).run();
    run.expect_status(4).expect_stdout(&["FAIL: iops>=100000: iops was "]);
    let junit = String::from_utf8(place.content("j.xml")).expect("UTF-8");
    assert!(junit.contains("failures=\"1\"") && junit.contains("<failure message=\"iops&gt;=100000"), "{junit}");
    assert_eq!((index(&place).len(), &index(&place)[5]["gate"]), (6, &"fail".into()));
    gate(&place, "").expect_stdout(&["5 earlier runs"]);
}

#[test]
fn storage_that_stands_still_fails() {
    let place = workplace!();
    // The one I/O of a minute is in the warm-up.
    let run = place.diskspd("gate f -- -c1M -W1 -d1 -i1 -j60000 -o1 -t1 --engine=null a.dat").run();
    run.expect_status(4).expect_stdout(&["FAIL: no I/O was completed"]);
}

#[test]
fn clocks_may_be_set_back() {
    let place = workplace!();
    with_history(&place, 8, 2.0);
    let mut entries = index(&place);
    for entry in &mut entries {
        // In 2096.
        entry["at_unix_ns"] = (entry["at_unix_ns"].as_u64().expect("a time") + 2_200_000_000_000_000_000).into();
    }
    write_index(&place, &entries);
    gate(&place, "").expect_status(4).expect_stdout(&["FAIL: iops -"]);
    gate(&place, "").expect_status(4).expect_stdout(&["against 8 earlier runs"]);
    // A reader of the history sees one line.
    let run = place.diskspd("gate f --accept").arg("half as\nfast \u{1b}[31m").run();
    run.expect_status(0).expect_stdout(&["accepted: the history begins with the run of 20"]);
    gate(&place, "").expect_status(6).expect_stdout(&["recorded, 3 of 5"]);
    let run = place.diskspd("history f").run();
    run.expect_status(0).expect_stdout(&["FAIL", ": half as\\x0afast \\x1b[31m\n"]);
    // A lost line is restored after the acceptance.
    let mut entries = index(&place);
    entries.pop();
    write_index(&place, &entries);
    gate(&place, "").expect_status(6).expect_stdout(&["recorded, 4 of 5"]);
}

#[test]
fn an_index_is_not_trusted() {
    let place = workplace!();
    gate(&place, "").expect_status(6);
    let entry = index(&place).remove(0);
    let name = entry["file"].as_str().expect("a name").to_owned();
    fs::copy(place.path(&format!("f/{name}")), place.path("20260101T000000.000Z.json")).expect("copied");
    let outside =
        ["../20260101T000000.000Z.json".into(), place.path("20260101T000000.000Z.json").display().to_string()];
    let mut entries = vec![entry.clone(); 6];
    for name in outside {
        let mut other = entry.clone();
        other["file"] = name.into();
        entries.push(other);
    }
    write_index(&place, &entries);
    // A result counts once, and one outside of the directory never.
    let run = gate(&place, "");
    run.expect_status(6).expect_stdout(&["recorded, 2 of 5"]).expect_stderr(&["5 lines unreadable or double"]);
    assert_eq!(index(&place).len(), 2);
    // An entry of another version has answers that this program would lose.
    let text = fs::read_to_string(place.path("f/index.jsonl")).expect("an index");
    for foreign in [text.replace("diskspd-gate/1", "diskspd-gate/2"), "{\"schema\":\"other\"}\n".to_owned()] {
        fs::write(place.path("f/index.jsonl"), &foreign).expect("written");
        for words in ["gate f --accept why", "history f", &format!("gate f {LOAD}")] {
            let run = place.diskspd(words).run();
            run.expect_status(1).expect_stderr(&["not an index written by this version of diskspd: move it away"]);
            assert!(!run.stderr.contains("incomplete"), "{run}");
        }
        assert_eq!(fs::read_to_string(place.path("f/index.jsonl")).expect("an index"), foreign);
    }
    assert_eq!(results(&place), 2, "nothing was run");
}

/// Results in the directory.
fn results(place: &Workplace) -> usize {
    let files = fs::read_dir(place.path("f")).expect("a directory");
    files.filter(|file| file.as_ref().is_ok_and(|of| of.path().extension() == Some("json".as_ref()))).count()
}

/// It used to leave its lock in a directory named by mistake.
#[test]
fn accepting_nothing_leaves_a_directory_as_it_is() {
    let place = workplace!();
    fs::create_dir(place.path("f")).expect("a new directory");
    place.diskspd("gate f --accept why").run().expect_status(1).expect_stderr(&["no results in 'f'"]);
    assert_eq!(fs::read_dir(place.path("f")).expect("it is there").count(), 0);
}

#[test]
fn what_cannot_be_judged_is_not_recorded() {
    let place = workplace!();
    place.diskspd("-c1M -d1 -W0 -b4K --max-ios=9 --engine=null --json=one.json a.dat").run().expect_status(0);
    let run = place.diskspd("gate f --metric commit.p99 --result one.json").run();
    run.expect_status(1).expect_stderr(&["the load has no commit.p99"]);
    let mut result: Value = place.json("one.json");
    for part in ["time_spans", "profile"] {
        let spans = if part == "profile" { &mut result["profile"]["time_spans"] } else { &mut result["time_spans"] };
        let copy = spans[0].clone();
        spans.as_array_mut().expect("spans").push(copy);
    }
    place.file("two.json", result.to_string().as_bytes());
    let run = place.diskspd("gate f --result two.json").run();
    run.expect_status(1).expect_stderr(&["a gate judges one timespan"]);
    place.diskspd("-d1 -W0 -b4K --json=failed.json missing.dat").run();
    let run = place.diskspd("gate f --result failed.json").run();
    run.expect_status(1).expect_stderr(&["the result has no figures"]);
    assert_eq!(results(&place), 0);
    // A load that fails or is refused leaves nothing behind.
    for (load, status) in [("-d1 missing.dat", 1), ("-w101 a.dat", 3)] {
        place.diskspd(&format!("gate new -- {load}")).run().expect_status(status);
        assert!(!place.path("new").exists());
    }
}

#[test]
fn outputs_are_kept_apart_and_a_summary_of_a_job_is_added_to() {
    let place = workplace!();
    fs::create_dir(place.path("f")).expect("made");
    for (options, reason) in [
        ("--summary x --junit ./x", "--junit and --summary name one file"),
        ("--summary f/index.jsonl", "the file is a file of the gate"),
        ("--junit f/index.lock", "the file is a file of the gate"),
        ("--summary a.dat", "the file is a target of this run"),
        ("--junit /dev/null", "it is in /dev"),
    ] {
        gate(&place, options).expect_status(3).expect_stderr(&[reason]);
    }
    assert_eq!(fs::read_dir(place.path("f")).expect("a directory").count(), 0, "nothing was run");
    let summary = place.file("s.md", b"one\n");
    let words = format!("gate f --metric iops --summary {} {LOAD}", summary.display());
    let mut run = place.diskspd(&words).env("GITHUB_STEP_SUMMARY", &summary).start();
    run.wait_for_stderr("load: ");
    fs::OpenOptions::new().append(true).open(&summary).expect("ours").write_all(b"two\n").expect("written");
    run.finish().expect_status(6);
    let text = fs::read_to_string(&summary).expect("a summary");
    assert!(text.starts_with("one\n") && text.contains("two\n") && text.contains("## diskspd gate: CANNOT"), "{text}");
    // A page cannot replace the files of the history.
    let run = place.diskspd("history f --replace-output --output f/index.jsonl").run();
    run.expect_status(3).expect_stderr(&["the file is a file of the gate"]);
}

#[test]
fn a_run_that_is_killed_or_whose_directory_moves_loses_nothing() {
    let place = workplace!();
    gate(&place, "").expect_status(6);
    let words = format!("gate f --metric iops {LOAD}");
    let long = words.replace("-d1 ", "-d600 ");
    let mut run = place.diskspd(&long).start();
    run.wait_for_stderr("load: ");
    run.kill_hard();
    let mut run = place.diskspd(&long).start();
    run.wait_for_stderr("load: ");
    run.interrupt();
    let run = run.finish();
    assert!(run.code() == Some(130) || run.signal() == Some(2), "{run}");
    assert_eq!((index(&place).len(), results(&place)), (1, 1));
    let mut run = place.diskspd(&words).start();
    run.wait_for_stderr("load: ");
    fs::rename(place.path("f"), place.path("moved")).expect("moved");
    fs::create_dir(place.path("f")).expect("made");
    run.finish().expect_status(6).expect_stdout(&["recorded, 2 of 5"]);
    assert_eq!(results(&place), 0);
    fs::remove_dir(place.path("f")).expect("empty");
    fs::rename(place.path("moved"), place.path("f")).expect("moved back");
    assert_eq!((index(&place).len(), results(&place)), (2, 2));
}

#[test]
fn a_side_that_is_worse_fails_and_one_that_is_better_passes() {
    let place = workplace!();
    let memory = or_skip!(tempfile::tempdir_in("/dev/shm").map_err(|error| format!("/dev/shm: {error}")));
    let fast = memory.path().join("fast.dat");
    for file in [&fast, &place.path("slow.dat")] {
        place.diskspd("-c1M -d60 -W0 --max-ios=4").arg(file).run().expect_status(0);
    }
    symlink("slow.dat", place.path("a.dat")).expect("linked");
    // Durable writes: a thousand times as fast in memory.
    let load = "-w100 -o1 -t1 -b4K -r -Sw -d60 -W0 --max-ios=200 a.dat";
    let sides = [format!("ln -sfn {} a.dat", fast.display()), "ln -sfn slow.dat a.dat".to_owned()];
    let pairs = |[a, b]: [&str; 2]| {
        let run = place.diskspd("gate f --junit j.xml").arg("--before-a").arg(a).arg("--before-b").arg(b);
        run.arg("--").args(load).limit(Duration::from_mins(5)).run()
    };
    let run = pairs([&sides[0], &sides[1]]);
    if !run.stdout.contains("worse") {
        testkit::skip!("the disk of this test is as fast as memory");
    }
    run.expect_status(4).expect_stdout(&["FAIL: B is worse than A"]);
    let junit = String::from_utf8(place.content("j.xml")).expect("UTF-8");
    assert!(junit.contains("<failure message=\"B is worse than A\""), "{junit}");
    let run = pairs([&sides[1], &sides[0]]);
    run.expect_status(0).expect_stdout(&["PASS: B is not worse than A"]);
}

/// The step of a GitHub Actions job from the guide, with a smaller load.
#[test]
fn the_steps_of_the_guide_warn_and_succeed() {
    let place = workplace!();
    let bash = or_skip!(tool("bash"));
    fs::create_dir(place.path("bin")).expect("made");
    symlink(place.program(), place.path("bin/diskspd")).expect("linked");
    let guide = include_str!("../../../../docs/guide/pipelines.md");
    let blocks: Vec<_> =
        guide.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().expect("an end")).collect();
    let [github, gitlab] = blocks[..] else { panic!("{} blocks", blocks.len()) };
    let yaml = |text| YamlLoader::load_from_str(text).expect("YAML").remove(0);
    let (github, gitlab) = (yaml(github), yaml(gitlab));
    assert_eq!(gitlab["storage"]["allow_failure"]["exit_codes"].as_i64(), Some(6));
    let step = github["jobs"]["storage"]["steps"][0]["run"].as_str().expect("a script");
    let command = gitlab["storage"]["script"][0].as_str().expect("a command");
    let path = format!("{}:/usr/bin:/bin", place.path("bin").display());
    let run = |script: &str| {
        let mut script = script.to_owned();
        for (word, other) in [
            ("/var/lib/storage-gate", "results"),
            ("/mnt/test/test.dat", "test.dat"),
            ("-c4G", "-c1M"),
            ("-W10 -d30", "-W0 -d60 --max-ios=500"),
        ] {
            assert!(script.contains(word), "{word}: {script}");
            script = script.replace(word, other);
        }
        // As the runners invoke it.
        let run = place.tool(&bash).args("--noprofile --norc -eo pipefail -c").arg(script).env("PATH", &path);
        let run = run.env("GITHUB_STEP_SUMMARY", place.path("s.md")).env("GITHUB_SHA", "1a2b");
        run.env("CI_COMMIT_SHA", "1a2b").run()
    };
    let first = run(step);
    first.expect_status(0).expect_stdout(&["recorded, 1 of 5", "::warning::the storage gate cannot tell"]);
    run(command).expect_status(6).expect_stdout(&["recorded, 2 of 5"]);
    assert!(place.content("gate.xml").starts_with(b"<?xml"));
    let run = run(&step.replace("-- -c4G", "-- --require 'iops<1' -c4G"));
    run.expect_status(4).expect_stdout(&["FAIL: iops<1: "]);
    let text = fs::read_to_string(place.path("s.md")).expect("a summary");
    assert_eq!(text.matches("## diskspd gate: ").count(), 2, "{text}");
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
