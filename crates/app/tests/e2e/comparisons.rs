//! `diskspd compare`: results side by side.

use serde_json::Value;
use testkit::{Workplace, workplace};

/// A result with its I/Os per second multiplied and an interval of ±1 %: those of a short run on a busy machine scatter
/// too much for a conclusion.
fn altered(place: &Workplace, from: &str, to: &str, iops: f64) {
    let mut result: Value = place.json(from);
    let total = &mut result["time_spans"][0]["measured"]["total"]["total"];
    let altered = total["iops"].as_f64().expect("a figure") * iops;
    total["iops"] = altered.into();
    // The run may be too short to have any.
    result["time_spans"][0]["measured"]["confidence"] = serde_json::json!({ "read": null, "write": null, "total": {
        "percentiles": [],
        "iops_interval": { "low": altered * 0.99, "high": altered * 1.01 },
    } });
    place.file(to, result.to_string().as_bytes());
}

#[test]
fn results_are_compared_and_limits_are_heeded() {
    let place = workplace!();
    let words = "-c1M -d60 -W0 -b4K -r -o4 -L --max-ios=50000 --json a.json a.dat";
    place.diskspd(words).run().expect_status(0);
    altered(&place, "a.json", "a.json", 1.0);
    altered(&place, "a.json", "slow.json", 0.5);
    let run = place.diskspd("compare a.json a.json").run();
    run.expect_status(0).expect_narrow().expect_told(&[
        "IOPS",
        "+0.0 %",
        " mean ",
        " p99.9 ",
        "Both sides are the same run",
    ]);
    assert!(!run.stdout.contains("better") && !run.stdout.contains("worse"), "{}", run.stdout);
    let run = place.diskspd("compare a.json slow.json --fail-if iops<-3% --fail-if mean>+5%").run();
    run.expect_status(4).expect_stdout(&["-50.0 %", "worse"]).expect_stderr(&["--fail-if 'iops<-3%': condition met"]);
    // A single run on a busy machine may leave more than 5% undecided.
    assert!(!run.stderr.contains("'mean>+5%': condition met"), "{}", run.stderr);
    place.diskspd("compare slow.json a.json --fail-if iops<-3%").run().expect_status(0).expect_stdout(&["better"]);
    let run = place.diskspd("compare a.json slow.json --with slow.json slow.json --fail-if iops<-3%").run();
    run.expect_status(6)
        .expect_stderr(&["--fail-if 'iops<-3%' cannot be judged: a change of -29.3 % may be due to chance"]);
    place
        .diskspd("compare a.json a.json --fail-if ipos<-3%")
        .run()
        .expect_status(3)
        .expect_stderr(&["unknown metric 'ipos'"]);
    place.diskspd("compare a.json nowhere.json").run().expect_status(1).expect_stderr(&["cannot read 'nowhere.json'"]);
    let run = place.diskspd("compare --baseline a.json --drives 2 slow.json").run();
    run.expect_status(0).expect_told(&["IOPS: ", " on 2 drives", "25.0 % of linear scaling to 2 drives"]);
}

/// Two results that reached `--rate=200` used to be equivalent, however fast the storage of each is.
#[test]
fn results_that_reached_their_own_rate_are_limited_by_it() {
    let place = workplace!();
    place.diskspd("-c1M -d1 -W0 -b4K -r -g200i --engine=null --json a.json a.dat").run().expect_status(0);
    altered(&place, "a.json", "a.json", 1.0);
    let with_rate = |to: &str, iops: f64| {
        let mut result: Value = place.json("a.json");
        result["time_spans"][0]["measured"]["rows"][0]["figures"]["total"]["iops"] = iops.into();
        place.file(to, result.to_string().as_bytes());
    };
    with_rate("one.json", 200.0);
    with_rate("other.json", 199.0);
    with_rate("slow.json", 150.0);
    let compared = |other: &str| place.diskspd(&format!("compare one.json {other} --fail-if iops<-3%")).run();
    let run = compared("other.json");
    run.expect_status(0).expect_stdout(&["limited by their"]);
    assert!(!run.stdout.contains("equivalent"), "{}", run.stdout);
    let run = compared("slow.json");
    run.expect_status(0).expect_stdout(&[" equivalent "]);
    assert!(!run.stdout.contains("limited by"), "{}", run.stdout);
    place.diskspd("report one.json other.json --output page.html").run().expect_status(0);
    let page = String::from_utf8(place.content("page.html")).expect("a page");
    assert!(page.contains(">limited by their rate<"), "{page}");
}

#[test]
fn unlike_loads_are_refused_unless_told() {
    let place = workplace!();
    for line in [
        "-b4K --max-bytes=4M --json a.json --xml a.xml a.dat",
        "-b8K --rate=100 --max-ios=50 --json b.json --xml b.xml b.dat",
    ] {
        place.diskspd(&format!("-c1M -d60 -W0 -r -L {line}")).run().expect_status(0);
    }
    let [of_json, of_xml] = ["json", "xml"].map(|form| {
        let run = place.diskspd(&format!("compare a.{form} b.{form}")).run();
        run.expect_status(3).expect_stderr(&[
            "-b4K against -b8K",
            "no --rate against --rate=100",
            "no --max-ios against --max-ios=50",
            "the loads differ",
        ]);
        assert!(!run.stderr.contains("a.dat"), "another path is the same load: {}", run.stderr);
        run.stderr.clone()
    });
    assert_eq!(of_json, of_xml);
    let run = place.diskspd("compare --anyway a.json b.json").run();
    run.expect_status(0).expect_told(&[
        "The loads differ",
        "-b4K against -b8K",
        "What differs: the load, as above",
        "a.dat",
    ]);
}

#[test]
fn directories_of_repeats_are_sides_of_many_runs() {
    let place = workplace!();
    for folder in ["r", "s"] {
        let words = format!("repeat --runs 3 --dir {folder} -- -c1M -d60 -W0 -b4K -r -L --max-ios=20000 a.dat");
        place.diskspd(&words).run().expect_status(0);
    }
    let run = place.diskspd("compare r s").run();
    run.expect_status(0).expect_narrow().expect_told(&[
        "IOPS",
        " % to ",
        "Measured r (3 runs) and s (3 runs) compared.",
    ]);
    assert!(!run.stdout.contains("ne run on each"), "{}", run.stdout);
    let run = place.diskspd("compare r --with s/point-0001.json s/point-0002.json").run();
    run.expect_status(0);
}

#[test]
fn a_comparison_prints_and_makes_a_page() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    for name in ["a", "b"] {
        place.short_run(&format!("-b4K -L --json {name}.json a.dat")).run().expect_status(0);
    }
    let run = place.diskspd("compare a.json b.json -o c.html").run();
    run.expect_status(0).expect_stdout(&["IOPS", "verdict"]);
    let page = String::from_utf8(place.content("c.html")).expect("text");
    assert!(page.contains("<!doctype html>") && page.contains("a.json"), "a page");
    place.file("mine.html", b"mine");
    let refused = place.diskspd("compare a.json b.json -o mine.html").run();
    refused.expect_status(3).expect_stderr(&["--output 'mine.html'"]);
    assert!(refused.stdout.is_empty() && place.content("mine.html") == b"mine", "{refused}");
    place.diskspd("compare a.json b.json -o c.txt").run().expect_status(3).expect_stderr(&["ends with .html"]);
    let own = place.diskspd("compare a.json b.json -o a.json").run();
    own.expect_status(3);
}
