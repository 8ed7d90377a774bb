//! `--require`: what a real run is held to, in every form of a result, and the exit status.

use serde_json::Value;
use testkit::{Workplace, workplace};

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
    // What is judged is what was measured, of reads and writes together.
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
    place.made("a.dat", "-c1M");
    let profile = place.short_run("-b4K -Rpxml a.dat").run();
    profile.expect_status(0);
    place.file("p.xml", profile.stdout.as_bytes());
    let run = place.diskspd("-Xp.xml -Rtext --require mean<1h --require max>1us").run();
    run.expect_status(0).expect_stdout(&["  PASS    mean<1h: mean was ", "  PASS    max>1us: max was "]);
    let run = place.diskspd("preset run sql-log -c1M -d60 -W0 --max-ios=60 --require iops<1 --json r.json b.dat").run();
    run.expect_status(4).expect_stdout(&["\nFAIL iops<1 ("]);
    let spans = document(&place, "r.json")["time_spans"].as_array().expect("a list").clone();
    assert!(spans.len() > 1 && spans.iter().all(|span| span["requirements"][0]["severity"] == "fail"), "{run}");
}

#[test]
fn a_run_that_fails_fails_whatever_it_was_held_to() {
    let place = workplace!();
    let run = place.short_run("--require iops>1 nowhere.dat").run();
    run.expect_status(1)
        .expect_stdout(&["Requirements: 1 of 1 not measured\n  UNKNOWN iops>1: iops was not measured\n"]);
}

#[test]
fn every_run_of_a_repeat_is_held_to_them() {
    let place = workplace!();
    place.made("a.dat", "-c1M");
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
        ("--require=p98<1ms", "unknown metric 'p98' (expected: iops, mib, mean, p50, p90, p99, p99.9, max, cpu)"),
        ("--require=p99<1", "'1' is not a bound for p99"),
        ("--require=iops", "'iops' is not a metric with a bound"),
    ] {
        let run = place.diskspd("-c1M -d1").arg(typed).arg("a.dat").run();
        run.expect_status(3).expect_stderr(&[&format!("option '{typed}': {reason}")]);
    }
    assert!(!place.path("a.dat").exists());
}
