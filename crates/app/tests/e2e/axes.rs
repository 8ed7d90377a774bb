//! Axes of a sweep beside numbers: patterns, targets, options without a value, threads of a total depth.

use serde_json::Value;
use testkit::{Finished, Workplace, workplace};

/// The results of a sweep, in the order of its runs.
fn kept(place: &Workplace, folder: &str) -> Vec<Value> {
    let index = place.json::<Value>(&format!("{folder}/sweep.json"));
    let visits = index["visits"].as_array().expect("visits").iter().filter(|visit| visit["purpose"] == "measure");
    let file = |visit: &Value| visit["outcome"]["measured"]["file"].as_str().expect("a measured run").to_owned();
    visits.map(|visit| place.json(&format!("{folder}/{}", file(visit)))).collect()
}

/// The first target of each run.
fn targets(place: &Workplace, folder: &str, key: &str) -> Vec<Value> {
    let target = |result: &Value| result["profile"]["time_spans"][0]["targets"][0][key].clone();
    kept(place, folder).iter().map(target).collect()
}

fn sweep(place: &Workplace, vary: &[&str], load: &str) -> Finished {
    let varied = vary.iter().flat_map(|axis| ["--vary", axis]);
    let varied: Vec<&str> = varied.collect();
    let mut run = place.diskspd("sweep --dir d --replace-output");
    for word in varied {
        run = run.arg(word);
    }
    let run = run.args("-- -d1 -W0 --max-ios=100").args(load).run();
    run.expect_status(0).expect_narrow();
    run
}

#[test]
fn patterns_are_compared_in_one_sweep() {
    let place = workplace!();
    let run = sweep(&place, &["pattern=seq,random,interlocked"], "-c1M -b4K -r8K a.dat");
    assert_eq!(targets(&place, "d", "random_percent"), [0, 100, 0]);
    assert_eq!(targets(&place, "d", "interlocked"), [false, false, true]);
    run.expect_stdout(&["Param -o 2 -t 1 pattern seq, ", "Param -o 2 -t 1 pattern random, "]);
    run.expect_told(&["pattern is part of the load, so no value of it is recommended"]);
    sweep(&place, &["rs=0..100/50"], "-b4K -r a.dat").expect_stdout(&["Param -o 2 -t 1 -rs 50, ", "\n -rs "]);
    assert_eq!(targets(&place, "d", "random_percent"), [0, 50, 100]);
    sweep(&place, &["rd=pct90/10:5/5;abs80/64K"], "-b4K -r a.dat");
    let ranges = targets(&place, "d", "distribution");
    assert!(ranges.len() == 2 && ranges[0] != ranges[1] && ranges.iter().all(|range| !range.is_null()), "{ranges:?}");
    sweep(&place, &["si=4K,8K"], "-b4K -r a.dat");
    assert_eq!(targets(&place, "d", "interlocked"), [true, true]);
}

#[test]
fn an_option_without_a_value_is_off_and_on() {
    let place = workplace!();
    sweep(&place, &["n=off,on", "t=1,2"], "-c1M -b4K -n a.dat").expect_told(&["varied: -n (off, on), -t (1, 2)"]);
    let disabled = |result: &Value| result["profile"]["time_spans"][0]["affinity"]["disabled"].clone();
    assert_eq!(kept(&place, "d").iter().map(disabled).collect::<Vec<_>>(), [false, false, true, true]);
}

#[test]
fn one_target_is_measured_after_another_or_more_and_more_of_them() {
    let place = workplace!();
    let run = sweep(&place, &["target=a.dat,b\\,c.dat"], "-c1M -b4K -r");
    assert_eq!(targets(&place, "d", "path"), ["a.dat", "b,c.dat"]);
    assert_eq!((place.content("a.dat").len(), place.content("b,c.dat").len()), (1 << 20, 1 << 20));
    run.expect_told(&["a.dat, b,c.dat, one at a time; of these "]);
    let table = String::from_utf8(place.content("d/table.csv")).expect("text");
    assert!(table.contains("\"b,c.dat\",2,1,measure,"), "{table}");
    let run = sweep(&place, &["targets=1,2"], "-c1M -b4K -r -o4 x.dat y.dat");
    run.expect_told(&["2 numbers of targets (targets 1, 2)"]);
    let count = |result: &Value| result["profile"]["time_spans"][0]["targets"].as_array().map(Vec::len);
    assert_eq!(kept(&place, "d").iter().map(count).collect::<Vec<_>>(), [Some(1), Some(2)]);
}

#[test]
fn a_total_depth_is_divided_by_the_threads_that_were_asked_for() {
    let place = workplace!();
    let words = "sweep --dir d --total-depth 12 --threads 3,4 -- -c1M -d1 -W0 --max-ios=100 -b4K -r a.dat";
    place.diskspd(words).run().expect_status(0).expect_stdout(&["Param -o 4 -t 3, ", "Param -o 3 -t 4, "]);
    assert_eq!(targets(&place, "d", "threads"), [3, 4]);
    assert_eq!(targets(&place, "d", "outstanding"), [4, 3]);
}

#[test]
fn one_storage_is_compared_with_another_in_pairs() {
    let place = workplace!();
    let words = "ab --pairs 3 --target-a a.dat --target-b=b.dat --b -o4 --dir d -- -c1M -d1 -W0 --max-ios=100 -b4K -r";
    let run = place.diskspd(words).run();
    // Three pairs may be inconclusive.
    assert!(matches!(run.code(), Some(0 | 6)), "{run}");
    run.expect_narrow().expect_told(&["a.dat, b.dat, one at a time; of these "]);
    assert!(!run.stdout.contains("noise floor"), "{run}");
    let index = place.json::<Value>("d/ab.json");
    for visit in index["visits"].as_array().expect("visits") {
        let file = visit["outcome"]["measured"]["file"].as_str().expect("a measured run");
        let result = place.json::<Value>(&format!("d/{file}"));
        let target = &result["profile"]["time_spans"][0]["targets"][0];
        let expected: (Value, Value) =
            if visit["point"] == 0 { ("a.dat".into(), 2.into()) } else { ("b.dat".into(), 4.into()) };
        assert_eq!((target["path"].clone(), target["outstanding"].clone()), expected);
    }
    let page = place.diskspd("report d --details").run();
    page.expect_status(0).expect_told(&["A: target=a.dat", "B: -o4 target=b.dat"]);
    // Both targets are checked before either is touched.
    place.file("mine.dat", &[1; 4096]);
    let words = "ab --target-a new.dat --target-b mine.dat --dir e -- -c64K -d1 -b4K -w100";
    let run = place.diskspd(words).run();
    run.expect_status(3).expect_stderr(&["side=B: ", "mine.dat"]);
    assert!(!place.path("new.dat").exists() && place.content("mine.dat") == [1; 4096]);
}

#[test]
fn a_sweep_goes_on_with_more_values() {
    let place = workplace!();
    sweep(&place, &["b=4K,8K", "o=1,2,3"], "-c1M -r a.dat");
    let run = place.diskspd("sweep --resume d --vary o=3..5").run();
    run.expect_status(0).expect_narrow();
    let new: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with("Param") && line.ends_with("CPU")).collect();
    let beginnings = ["-o 4 -t 1 -b 4K", "-o 5 -t 1 -b 4K", "-o 4 -t 1 -b 8K", "-o 5 -t 1 -b 8K"];
    assert_eq!(new.len(), 4, "{run}");
    assert!(beginnings.iter().all(|expected| new.iter().any(|line| line.contains(&format!("{expected},")))), "{run}");
    run.expect_told(&["varied: -b (4K, 8K), -o (1, 2, 3, 4, 5)", "10 combinations of 2 block sizes (-b 4K, 8K) and 5"]);
    // Each run belongs to the point that it was made for.
    let index = place.json::<Value>("d/sweep.json");
    for visit in index["visits"].as_array().expect("visits") {
        let file = visit["outcome"]["measured"]["file"].as_str().expect("a measured run");
        let target = &place.json::<Value>(&format!("d/{file}"))["profile"]["time_spans"][0]["targets"][0];
        let point = &index["points"][visit["point"].as_u64().expect("an index") as usize]["settings"];
        let expected = (point[0]["value"].as_str(), point[1]["value"].as_str());
        let block = if target["block_size_bytes"] == 4096 { "4K" } else { "8K" };
        let depth = target["outstanding"].to_string();
        assert_eq!((Some(block), Some(&*depth)), expected, "{file}");
    }
    let again = place.diskspd("sweep --resume d").run();
    again.expect_status(0).expect_stderr(&["already done: "]);
    for (axis, reason) in [("o=2", "has all these values of -o already"), ("t=2", "does not vary -t")] {
        let run = place.diskspd("sweep --resume d --vary").arg(axis).run();
        run.expect_status(3).expect_stderr(&["this sweep cannot be resumed: --vary: the sweep", reason]);
    }
}

/// Each run would have to create them again; they are deleted after the last, even if the series is stopped.
#[test]
fn targets_of_a_series_are_deleted_after_it() {
    let place = workplace!();
    let load = "-c1M -d1 -W0 --max-ios=100 -b4K --delete-after";
    place.file("mine.dat", &[1; 4096]);
    for words in [
        format!("sweep --dir a --vary o=1,2 -- {load} t.dat"),
        format!("sweep --dir b --vary c=1M,2M -- {load} t.dat"),
        format!("repeat --dir c --runs 2 -- {load} t.dat"),
        format!("ab --dir d --pairs 3 --target-a t.dat --target-b u.dat -- {load}"),
        format!("gate g -- {load} t.dat"),
    ] {
        let run = place.diskspd(&words).run();
        assert!(matches!(run.code(), Some(0 | 6)), "{run}");
        assert!(!place.path("t.dat").exists() && !place.path("u.dat").exists(), "{run}");
    }
    place
        .diskspd("repeat --dir f --runs 2 -- -d1 -W0 --max-ios=100 -b4K --delete-after mine.dat")
        .run()
        .expect_status(0);
    assert_eq!(place.content("mine.dat"), [1; 4096], "it was there before");
    let visits = place.json::<Value>("a/sweep.json")["visits"].as_array().map(Vec::len);
    assert!(visits >= Some(2));
    let mut stopped = place.diskspd("repeat --runs 2 --rest 600s --dir e --").args(load).arg("t.dat").start();
    stopped.wait_for_stdout("Run 1");
    assert!(place.path("t.dat").exists(), "the next run uses it");
    stopped.interrupt();
    stopped.finish().expect_status(130);
    assert!(!place.path("t.dat").exists());
}

#[test]
fn a_plan_has_the_command_of_each_run_and_touches_nothing() {
    let place = workplace!();
    for (words, commands) in [
        (
            "sweep --plan --vary o=1,2 --vary target=a.dat,b.dat -- -c1M -d9 -b4K",
            &[
                "diskspd -o1 -c1M -d9 -b4K a.dat",
                "diskspd -o1 -c1M -d9 -b4K b.dat",
                "diskspd -o2 -c1M -d9 -b4K a.dat",
                "diskspd -o2 -c1M -d9 -b4K b.dat",
            ][..],
        ),
        ("repeat --plan --runs 3 -- -c1M -d9 a.dat", &["diskspd -c1M -d9 a.dat"]),
        ("ab --plan --a -o1 -- -c1M -d9 a.dat", &["diskspd -o1 -c1M -d9 a.dat", "diskspd -c1M -d9 a.dat"]),
        ("sweep --plan --limit p99=1ms -- -c1M -d9 a.dat", &["diskspd -c1M -d9 a.dat"]),
    ] {
        let run = place.diskspd(words).run();
        run.expect_status(0).expect_stderr(&["data to write: "]);
        assert_eq!(run.stdout.lines().collect::<Vec<_>>(), commands, "{words}");
        assert_eq!(std::fs::read_dir(place.folder()).expect("our folder").count(), 0, "{words}");
    }
    place.file("mine.dat", &[1; 4096]);
    let run = place.diskspd("sweep --plan --vary o=1,2 -- -w100 -d9 mine.dat").run();
    run.expect_status(3).expect_stderr(&["mine.dat"]);
}

/// Results of points would be beside the directory of the sweep.
#[test]
fn what_cannot_vary_says_why() {
    let place = workplace!();
    for (axis, reason) in [
        ("json=x,y", "--json=x: omit --json: the results are written to --dir"),
        ("live-json=x,y", "--live-json=x: --live-json is for a single run"),
        ("X=p.xml", "-Xp.xml: '-c1M' cannot be combined with an XML profile (-X)"),
        ("plan=off,on", "--plan: --plan is for a single run"),
        ("targets=1,2", "targets=2: the load has only 1 target"),
        ("target=b.dat", "'a.dat': the targets are those of --vary target=...; put none behind --"),
        ("pattern=zigzag", "'zigzag' is not a pattern (expected: seq, random, interlocked)"),
        ("L=1", "-L takes no value; write L=off,on"),
    ] {
        let run = place.diskspd("sweep --dir d --vary").arg(axis).args("-- -c1M -b4K a.dat").run();
        run.expect_status(3).expect_stderr(&[reason]);
        assert_eq!(std::fs::read_dir(place.folder()).expect("our folder").count(), 0, "{axis}");
    }
}
