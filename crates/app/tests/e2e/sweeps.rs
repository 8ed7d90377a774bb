//! `diskspd sweep`: its output, its files, and how it is resumed.

use serde_json::Value;
use std::fs;
use testkit::{Finished, Workplace, or_skip, workplace};

const SCHEMA: &str = include_str!("../../../../docs/formats/diskspd-sweep.schema.json");

/// A sweep.json or repeat.json, which must conform to the schema.
fn index(place: &Workplace, name: &str) -> Value {
    let index = place.json::<Value>(name);
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    if let Err(fault) = jsonschema::validate(&schema, &index) {
        panic!("{name} at {}: {fault}", fault.instance_path());
    }
    index
}

/// Files in a directory of the workplace, sorted.
fn files(place: &Workplace, name: &str) -> Vec<String> {
    let entries = fs::read_dir(place.path(name)).expect("the directory is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_point_is_run_and_kept() {
    let place = workplace!();
    let words = "sweep --vary o=1..6 --ssds 2 --copies 2 --dir results -- -c1M -d1 -W0 -b4K -r -w50 -L a.dat";
    let sweep = || {
        let _ = (fs::remove_dir_all(place.path("results")), fs::remove_file(place.path("a.dat")));
        place.diskspd(words).run()
    };
    // A machine that stalls for a second can do nothing in a run of a second; it is retried.
    let has_ios = |run: &Finished| !run.stdout.contains(", 0.00 iops, ");
    let run = (0..2).map(|_| sweep()).find(has_ios).unwrap_or_else(sweep);
    run.expect_status(0);
    run.expect_stderr(&[
        "load: first point: 4 KiB random 50/50 read/write, QD 1 (1 thread x 1), page cache, 1 MiB file on ",
        "; varied: -o (1, 2, 3, 4, 5, 6)\n",
        "6 points: 6 s plus file creation",
        "data to write: 1MiB to create targets; 50 % of the I/Os are writes",
        "results: results",
    ]);
    let lines: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with("Param ")).collect();
    let (first, again) = lines.split_at(6);
    assert!(again.iter().all(|line| line.ends_with("(repeated)")), "{}", run.stdout);
    for (depth, line) in (1..).zip(first) {
        assert!(line.starts_with(&format!("Param -o {depth} -t 1, ")), "{line}");
        for unit in [" iops, ", " MB/sec, ", " ms, ", "% CPU"] {
            assert!(line.contains(unit), "{line}");
        }
    }
    run.expect_narrow().expect_told(&["depth/SSD", "Answer "]);
    let sweep = index(&place, "results/sweep.json");
    assert_eq!(sweep["points"].as_array().map(Vec::len), Some(6));
    let visits = sweep["visits"].as_array().expect("visits");
    assert_eq!(files(&place, "results").len(), visits.len() + 2, "a file for each run, the sweep and its table");
    for visit in visits {
        let measured = &visit["outcome"]["measured"];
        let kept = place.json::<Value>(&format!("results/{}", measured["file"].as_str().expect("a name")));
        let total = &kept["time_spans"][0]["measured"]["total"]["total"];
        assert_eq!(total["iops"], measured["headline"]["iops"], "the line's figure is the file's");
        let depth = visit["point"].as_u64().expect("an index") + 1;
        let line = format!("-o{depth} -c1M -d1 -W0 -b4K -r -w50 -L a.dat");
        assert!(kept["command_line"].as_str().expect("words").ends_with(&line), "{}", kept["command_line"]);
    }
    let table = String::from_utf8(place.content("results/table.csv")).expect("text");
    assert!(table.starts_with("o,point,run,purpose,file,total_depth,threads,iops,"), "{table}");
    assert_eq!(table.lines().count(), visits.len() + 1);
    assert_eq!(place.content("a.dat").len(), 1 << 20);
}

/// An interrupted series has no answer: scripts must not take its end for one. A directory that the user did not choose
/// remains only if it holds a result.
#[test]
fn what_was_stopped_has_no_answer() {
    let place = workplace!();
    place.create_file("f", "-c1M");
    for (words, is_measured) in [
        ("sweep --vary o=1,2", false),
        ("repeat --runs 2", false),
        ("sweep --vary o=1,2 --rest 600s --dir kept", true),
        ("sweep --vary o=1,2 --rest 600s", true),
    ] {
        let seconds = if is_measured { "-d1 -W0" } else { "-d600 -W0" };
        let mut run = place.diskspd(words).args("--").args(seconds).args("-b4K -r f").start();
        if is_measured {
            run.wait_for_stdout("Param -o 1");
        } else {
            run.wait_for_stderr("results: ");
        }
        run.terminate();
        let run = run.finish();
        run.expect_status(143);
        let mut names: Vec<String> = std::fs::read_dir(place.folder())
            .expect("our folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.retain(|name| name != "f");
        if is_measured {
            run.expect_stderr(&["stopped; continue with diskspd sweep --resume "]);
            assert_eq!(names.len(), 1, "{names:?}\n{run}");
            std::fs::remove_dir_all(place.path(&names[0])).expect("the directory of results");
        } else {
            run.expect_stderr(&["stopped before a run was complete; nothing is kept"]);
            assert_eq!(names, Vec::<String>::new(), "{run}");
        }
    }
}

#[test]
fn what_was_stopped_goes_on_and_a_changed_sweep_does_not() {
    let place = workplace!();
    let mut running = place
        .diskspd("sweep --vary o=1,2,3 --rest 600s --before-point")
        .arg("echo ran >> log")
        .args("--dir d -- -c1M -d1 -W0 -b4K -r -L a.dat")
        .start();
    running.wait_for_stdout("Param -o 1");
    running.interrupt();
    let run = running.finish();
    run.expect_status(130).expect_stderr(&["stopped; continue with diskspd sweep --resume d"]);
    assert_eq!(place.content("log"), b"ran\n", "a command for each run");
    let text = String::from_utf8(place.content("d/sweep.json")).expect("text");
    // Shortened, as the rest would take ten minutes.
    let hurried = text.replace("600s", "1ms");
    place.file("d/sweep.json", hurried.as_bytes());
    let run = place.diskspd("sweep --resume d --run-commands").run();
    run.expect_status(0).expect_stderr(&["already done: 1 run"]);
    run.expect_stderr(&["varied: -o (1, 2, 3)\n"]);
    // On a machine in use, points are measured again.
    let first = |line: &&str| line.starts_with("Param ") && !line.ends_with("(repeated)");
    assert_eq!(run.stdout.lines().filter(first).count(), 2, "{}", run.stdout);
    let kept = files(&place, "d");
    assert_eq!(kept[..3], ["point-0001.json", "point-0002.json", "point-0003.json"]);
    assert!(kept.ends_with(&["sweep.json".to_owned(), "table.csv".to_owned()]), "{kept:?}");

    place.file("d/sweep.json", hurried.replace("diskspd 0", "diskspd 99").as_bytes());
    place
        .diskspd("sweep --resume d")
        .run()
        .expect_status(3)
        .expect_stderr(&["the earlier runs were made with diskspd 99"]);
    place.file("d/sweep.json", hurried.replace("--vary=o=1,2,3", "--vary=o=1,2,4").as_bytes());
    place.diskspd("sweep --resume d").run().expect_status(3).expect_stderr(&["the stored points do not match"]);
    place
        .diskspd("sweep --vary o=1 --dir d -- a.dat")
        .run()
        .expect_status(3)
        .expect_stderr(&["--resume d continues it"]);
    place.diskspd("sweep --resume nowhere").run().expect_status(1).expect_stderr(&["cannot read 'nowhere/sweep.json'"]);
}

#[test]
fn every_point_is_checked_before_anything_is_touched() {
    let place = workplace!();
    let theirs = place.file("theirs.dat", &vec![7; 65_536]);
    // Only the last point would write.
    let run = place.diskspd("sweep --vary w=0,50 --dir d -- -d1 -W0 -b4K -r theirs.dat").run();
    run.expect_status(3).expect_stderr(&["ERROR: -w50: ", "theirs.dat"]);
    assert_eq!(run.stdout, "");
    assert_eq!(fs::read(theirs).expect("it is there"), vec![7; 65_536]);
    assert!(!place.path("d").exists(), "not even the directory was made");
    for (words, reason) in
        [("--vary o=1 -- -c1M -yswhen a.dat", "only with single runs"), ("--vary o=1,0 -- -c1M a.dat", "-o0")]
    {
        place.diskspd("sweep").args(words).run().expect_status(3).expect_stderr(&[reason]);
    }
    // A target that cannot be opened ends them as it ends a single run.
    for words in ["sweep --vary o=1,2", "repeat --runs 2", "repeat --precondition --steady"] {
        let run = place.diskspd(words).args("--dir d -- -d1 -W0 -w100 nowhere.dat").run();
        run.expect_status(1).expect_stderr(&["'nowhere.dat' does not exist"]);
        assert!(!place.path("d").exists(), "{run}");
    }
    assert_eq!(files(&place, "."), ["theirs.dat"]);
}

#[test]
fn a_failed_point_does_not_end_the_sweep() {
    let place = workplace!();
    let run = place
        .diskspd("sweep --vary b=4K,8K,16K --dir d --before-point")
        .arg("test ! -e stop || { rm stop; exit 7; }; test -e began || touch began stop")
        .args("-- -c1M -d1 -W0 -r a.dat")
        .run();
    run.expect_status(1).expect_stderr(&["1 run failed"]);
    run.expect_stdout(&["Param -o 2 -t 1 -b 8K, failed: --before-point", "exit status: 7", "Param -o 2 -t 1 -b 16K, "]);
    let sweep = index(&place, "d/sweep.json");
    assert!(sweep["visits"][1]["outcome"]["failed"]["reasons"][0].is_string());
    let run = place.diskspd("sweep --resume d --run-commands").run();
    run.expect_status(0).expect_stdout(&["Param -o 2 -t 1 -b 8K, "]);
    assert!(!run.stdout.contains("Param -o 2 -t 1 -b 4K"), "only what is missing: {}", run.stdout);
}

#[test]
fn targets_are_made_once_and_split_into_files_that_share_the_depth() {
    let place = workplace!();
    let run = place.diskspd("sweep --files 1,2 --dir d -- -c2M -d1 -W0 -b64K -r -w100 -Zr -o4 -L a.dat").run();
    run.expect_status(0);
    run.expect_stdout(&["Param -o 4 -t 1 --files 1, ", "Param -o 2 -t 1 --files 2, "]);
    let first = |line: &&str| line.starts_with("Param ") && !line.ends_with("(repeated)");
    assert_eq!(run.stdout.lines().filter(first).count(), 2, "a line for each run: {}", run.stdout);
    assert_eq!(files(&place, "."), ["a-1of2.dat", "a-2of2.dat", "a.dat", "d"]);
    assert_eq!(place.content("a-2of2.dat").len(), 1 << 20);
    let modified_time =
        |place: &Workplace| fs::metadata(place.path("a.dat")).expect("it is there").modified().expect("a time");
    let run = place.diskspd("sweep --vary o=1,2 --dir e -- -c2M -d1 -W0 -b64K -r -L a.dat").run();
    run.expect_status(0).expect_stderr(&["2MiB to create targets"]);
    let when = modified_time(&place);
    let run = place.diskspd("sweep --vary o=1,2 --dir f -- -c2M -d1 -W0 -b64K -r -L a.dat").run();
    run.expect_status(0).expect_stderr(&["no targets to create; the load writes nothing"]);
    assert_eq!(modified_time(&place), when, "what stands is not made again");
}

#[test]
fn repeats_print_each_run_their_average_and_median() {
    let place = workplace!();
    let run = place.diskspd("repeat --runs 6 --dir r -- -c1M -d1 -W0 -b4K -r -L a.dat").run();
    run.expect_status(0).expect_stderr(&["6 runs: 6 s", "results: r"]);
    run.expect_narrow().expect_stdout(&["Run 1, ", "Run 6, ", "Average, "]).expect_told(&["The median of 6 runs"]);
    let sweep = index(&place, "r/repeat.json");
    let iops = |visit: &Value| visit["outcome"]["measured"]["headline"]["iops"].as_f64().expect("a figure");
    let runs: Vec<f64> = sweep["visits"].as_array().expect("runs").iter().map(iops).collect();
    assert_eq!(runs.len(), 6);
    let average = format!("Average, {:.3} iops", runs.iter().sum::<f64>() / 6.0);
    assert!(run.stdout.contains(&average), "{average}: {}", run.stdout);
    assert_eq!(files(&place, "r").len(), 8);
    let run = place.diskspd("repeat --until iops=100% --runs 8 --dir s -- -c1M -d1 -W0 -b4K -r a.dat").run();
    run.expect_status(0).expect_stderr(&["runs until the mean of iops is known to within 100 % (maximum 8)"]);
    assert!(run.stdout.contains("Run 8, ") && !run.stdout.contains("\n mean "), "{}", run.stdout);
    place
        .diskspd("repeat --dir r -- a.dat")
        .run()
        .expect_status(3)
        .expect_stderr(&["--dir 'r' already holds a repeat; --resume r continues it"]);
}

/// Error if the load did not reach its rate in a round: another program had the CPUs.
fn kept_the_rate(found: &Value, asked: f64) -> Result<(), String> {
    let visits = found["visits"].as_array().expect("a list").iter();
    let mut reached = visits.filter_map(|visit| visit["outcome"]["measured"]["headline"]["iops"].as_f64());
    if reached.any(|reached| reached < 0.9 * asked) {
        return Err(format!("others leave so little of the CPUs that {asked} I/Os per second are too many"));
    }
    Ok(())
}

#[test]
fn rounds_go_on_until_they_are_steady_and_say_what_they_are_not() {
    let place = workplace!();
    // The null engine is as steady as the machine; a rate makes it as steady as possible.
    let words = "repeat --steady --runs 12 --dir s -- -c1M -d1 -b4K -r --rate=2000 --engine=null a.dat";
    let run = place.diskspd(words).run();
    let found = place.json::<Value>("s/repeat.json");
    or_skip!(kept_the_rate(&found, 2000.0));
    run.expect_status(0).expect_told(&[
        "Steady state by the SNIA criteria: rounds ",
        "Deviation from the SNIA specification: the device was not purged",
        "the targets are files",
    ]);
    let rounds = found["visits"].as_array().expect("a list").len();
    assert!((5..=12).contains(&rounds) && found["steady_state"]["is_reached"] == true, "{rounds}");
    place.diskspd("repeat --resume s").run().expect_status(0);
    assert_eq!(
        place.json::<Value>("s/repeat.json")["visits"].as_array().expect("a list").len(),
        rounds,
        "all were made"
    );
}

#[test]
fn preconditioning_writes_every_target_twice_and_asks_first() {
    let place = workplace!();
    let run = place.diskspd("repeat --runs 1 --precondition --endurance 1G --dir p -- -c4M -d1 -W0 -b4K a.dat").run();
    run.expect_status(0).expect_stderr(&["preconditioning: writes 8MiB (every target twice)", "0.7812 %"]);
    run.expect_stdout(&["Preconditioning, ", "Run 1, "]);
    let visits = &place.json::<Value>("p/repeat.json")["visits"];
    assert_eq!(visits[0]["purpose"], "precondition");
    let written =
        place.json::<Value>(&format!("p/{}", visits[0]["outcome"]["measured"]["file"].as_str().expect("a file")));
    assert_eq!(written["time_spans"][0]["measured"]["total"]["write"]["bytes"], 8 << 20);
    // It is not a run, neither for compare nor on a page.
    place.diskspd("compare p p").run().expect_status(0).expect_told(&["Both sides are the same run"]);
    place.diskspd("report p --output p.html").run().expect_status(0);
    let page = String::from_utf8(place.content("p.html")).expect("it is text");
    assert!(page.contains("The median of 1 run"), "one run was made");
    let content = place.content("a.dat");
    assert!(content.chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)), "no block is as it was");
    // Another program's file is only read by the load, but preconditioning would write it.
    let other = place.file("other.dat", &vec![7; 1 << 20]);
    let refused = place.diskspd("repeat --runs 1 --precondition --dir q -- -d1 -W0 -b4K other.dat").run();
    refused.expect_status(3).expect_stderr(&["other.dat"]);
    assert_eq!(std::fs::read(other).expect("it is there"), vec![7; 1 << 20]);
}

#[test]
fn a_mix_is_described_and_block_sizes_have_a_throughput() {
    let place = workplace!();
    let run = place.diskspd("sweep --vary w=0,100 --dir w -- -c1M -d1 -W0 -b4K -r -L a.dat").run();
    run.expect_status(0).expect_narrow().expect_told(&[
        "No setting is beaten by another in IOPS",
        "-w is part of the load, so no value of it is recommended",
    ]);
    assert!(!run.stdout.contains("Most IOPS"), "{}", run.stdout);
    let run = place.diskspd("sweep --vary b=4K,64K --ssds 2 --dir b -- -c1M -d1 -W0 -r -L a.dat").run();
    run.expect_status(0).expect_told(&["MiB/s/SSD", "Most MiB/s: -b", "at least 5 block sizes are needed"]);
    // Their points are not repeats, even if loads may differ.
    place.diskspd("compare --anyway w b").run().expect_status(1).expect_stderr(&["2 points of a sweep, not repeats"]);
    let points = "b/point-0001.json b/point-0002.json --with w/point-0001.json";
    let run = place.diskspd(&format!("compare --anyway {points}")).run();
    run.expect_status(3).expect_stderr(&["-b4K against -b64K", "the runs of one side must be repeats of one load"]);
    let sweep = index(&place, "b/sweep.json");
    assert_eq!(sweep["block_sizes"][0]["points"], serde_json::json!([0, 1]));
    assert!(!sweep["front"].as_array().expect("points").is_empty());
}

#[test]
fn a_report_of_a_directory_is_what_the_series_printed() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let load = "-- -d1 -W0 -b4K -r -L --engine=null a.dat";
    for series in ["sweep --vary o=1,2", "repeat --runs 2", "ab --pairs 3 --a -o1 --b -o2"] {
        let run = place.diskspd(series).args("--dir results").args(load).run();
        assert!([Some(0), Some(6)].contains(&run.code()), "{run}");
        let report = place.diskspd("report results").run();
        report.expect_status(0);
        assert!(report.stdout.len() > 50 && run.stdout.ends_with(&report.stdout), "{series}: {report}\n{run}");
        assert!(report.stdout.starts_with("Load      "), "{series}: {report}");
        let details = place.diskspd("report results --details").run();
        details.expect_status(0).expect_stdout(&["\nEnvironment\n", "\nCommand line\n  diskspd "]);
        assert!(!report.stdout.contains("\nEnvironment\n"), "{series}: {report}");
        std::fs::remove_dir_all(place.path("results")).expect("our own");
    }
    std::fs::create_dir(place.path("empty")).expect("our own folder");
    place.diskspd("report empty").run().expect_status(1).expect_stderr(&["empty"]);
}
