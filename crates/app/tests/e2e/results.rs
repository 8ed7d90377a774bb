//! Results as files, and reports from them.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;
use testkit::{Workplace, workplace};

const SCHEMA: &str = include_str!("../../../../docs/formats/diskspd-result.schema.json");

/// The document in a file, which must conform to the schema.
fn document(place: &Workplace, name: &str) -> Value {
    let document: Value = place.json(name);
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    if let Err(fault) = jsonschema::validate(&schema, &document) {
        panic!("{name} at {}: {fault}", fault.instance_path());
    }
    document
}

/// The report of `diskspd report` on a file.
fn report(place: &Workplace, name: &str) -> String {
    let run = place.diskspd("report").arg(name).run();
    run.expect_status(0);
    assert_eq!(run.stderr, "");
    run.stdout
}

// Shows switches: --json=<file>
// Shows switches: --xml=<file>
// Shows switches: --text=<file>
// Shows switches: --csv=<file>
// Shows switches: --label=<key>=<value>
#[test]
fn a_run_is_written_in_every_form_at_once() {
    let place = workplace!();
    let words = "-c1M -d1 -W0 -b4K -r -w30 -o4 -t2 -L -D200 --json r.json --text=r.txt --xml r.xml --csv r.csv";
    let run = place.diskspd(words).args("--label firmware=2.1 --label=rack=a=b a.dat").run();
    run.expect_status(0);
    assert_eq!(place.content("r.txt"), run.stdout.as_bytes());
    assert_eq!(report(&place, "r.json"), run.stdout, "byte for byte");
    let document = document(&place, "r.json");
    assert_eq!(document["labels"][1], serde_json::json!({"key": "rack", "value": "a=b"}));
    assert_eq!(document["time_spans"][0]["outcome"], "completed");
    assert_eq!(document["plan"]["time_spans"][0]["workers"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["targets"][0]["path"], "a.dat");
    assert!(document["targets"][0]["environment"]["backing"] != Value::Null);
    assert!(document["environment"]["kernel_release"].is_string());
    for moment in ["before", "after"] {
        assert!(document["time_spans"][0]["kernel_counters"][moment]["devices"].is_object(), "{moment}");
    }
    assert!(run.stdout.contains("\nLabel: firmware=2.1\nLabel: rack=a=b\n"));
    for (suffix, name) in [("txt", "r.txt"), ("xml", "r.xml"), ("csv", "r.csv"), ("json", "r.json")] {
        let again = format!("again.{suffix}");
        place.diskspd(&format!("report r.json --output {again}")).run().expect_status(0);
        assert_eq!(place.content(&again), place.content(name), "{name}");
    }
    let text = place.diskspd("report r.txt").run();
    text.expect_status(1)
        .expect_stderr(&["a text report of diskspd for Linux", "use the JSON or XML result of the run"]);
    let files = fs::read_dir(place.folder()).expect("our folder").count();
    assert_eq!(files, 9, "one target, four results twice, and nothing else");
}

#[test]
fn stdout_carries_the_one_document_asked_for() {
    let place = workplace!();
    place.file("a.dat", &vec![0; 65_536]);
    let run = place.diskspd("-d1 -W0 -b4K --json - --text r.txt a.dat").run();
    run.expect_status(0);
    let document: Value = serde_json::from_str(&run.stdout).expect("nothing but JSON");
    assert_eq!(document["schema"], "diskspd-result");
    place.file("r.json", run.stdout.as_bytes());
    assert_eq!(report(&place, "r.json").as_bytes(), place.content("r.txt"));
    let run = place.diskspd("-d1 -W0 -b4K --csv - -C0 a.dat").run();
    run.expect_status(0);
    assert!(run.stdout.starts_with("scope,timespan,"), "{}", run.stdout);
    let run = place.diskspd("--json - --csv - new.dat -c1M").run();
    run.expect_status(3).expect_stderr(&["'--json -' already uses stdout"]);
}

#[test]
fn metrics_have_the_figures_of_the_summary() {
    let place = workplace!();
    place.diskspd("-c1M -d60 -W0 -b4K -r -w30 -o4 -L --max-ios=5000 --json r.json a.dat").run().expect_status(0);
    place.diskspd("report r.json --output r.prom").run().expect_status(0);
    let metrics = String::from_utf8(place.content("r.prom")).expect("text");
    let sample = |name: &str| -> f64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no sample {name} in {metrics}"))
    };
    let summary = &document(&place, "r.json")["time_spans"][0]["summary"];
    let near = |sample: f64, figure: &Value, unit: f64| {
        let figure = figure.as_f64().expect("a figure") * unit;
        assert!((sample - figure).abs() <= figure * 1e-9, "{sample} {figure}");
    };
    for direction in ["read", "write", "total"] {
        let labels = format!("time_span=\"1\",direction=\"{direction}\"");
        near(sample(&format!("diskspd_result_iops{{{labels}}}")), &summary[direction]["iops"], 1.0);
        let p99 = format!("diskspd_result_io_latency_quantile_seconds{{{labels},quantile=\"0.99\"}}");
        near(sample(&p99), &summary[direction]["p99_ns"], 1e-9);
    }
    let rows = &document(&place, "r.json")["time_spans"][0]["measured"]["rows"];
    let labels = "time_span=\"1\",target=\"a.dat\",direction=\"read\"";
    let reads = &rows[0]["figures"]["read"]["ios"];
    near(sample(&format!("diskspd_result_ios{{{labels}}}")), reads, 1.0);
    near(sample(&format!("diskspd_result_io_latency_seconds_count{{{labels}}}")), reads, 1.0);
}

// Shows switches: -R(text|xml)
#[test]
fn stdout_is_text_or_xml_as_r_says() {
    let place = workplace!();
    place.file("a.dat", &vec![0; 65_536]);
    for (words, is_xml) in [("", false), ("-Rtext", false), ("-Rxml", true)] {
        let run = place.short_run("-b4K").args(words).arg("a.dat").run();
        run.expect_status(0);
        let xml = roxmltree::Document::parse(&run.stdout);
        assert_eq!(xml.is_ok_and(|xml| xml.root_element().has_tag_name("Results")), is_xml, "{run}");
        assert_eq!(run.stdout.starts_with("\nCommand Line: "), !is_xml, "{run}");
    }
}

#[test]
fn a_run_that_fails_or_is_ended_writes_what_there_is() {
    let place = workplace!();
    let run = place.diskspd("-d1 --json r.json missing.dat").run();
    run.expect_status(1);
    let failed = document(&place, "r.json");
    assert_eq!(failed["time_spans"][0]["outcome"], "not_run");
    assert_eq!(failed["plan"], Value::Null);
    assert!(failed["errors"][0].as_str().is_some_and(|error| error.contains("missing.dat")), "{}", failed["errors"]);
    assert_eq!(run.stdout, "");
    assert!(report(&place, "r.json").contains("The test was not run. No results are displayed."));

    place.file("a.dat", &vec![0; 65_536]);
    let mut running = place.diskspd("-d600 -W0 -b4K -v --json r.json a.dat").start();
    running.wait_for_stderr("starting measurements");
    std::thread::sleep(Duration::from_millis(100));
    let run = running.end();
    let stopped = document(&place, "r.json");
    assert_eq!(stopped["time_spans"][0]["outcome"], "stopped");
    assert_eq!(stopped["time_spans"][0]["measured"]["is_partial"], true);
    assert_eq!(report(&place, "r.json"), run.stdout);
}

#[test]
fn a_file_that_cannot_be_is_refused_before_anything_is_touched() {
    let place = workplace!();
    let target = place.file("a.dat", &vec![7; 65_536]);
    symlink(&target, place.path("link")).expect("our folder");
    fs::hard_link(&target, place.path("hard")).expect("our folder");
    fs::create_dir(place.path("folder")).expect("our folder");
    place.tool("mkfifo").arg("fifo").run().expect_status(0);
    for (name, reason) in [
        ("a.dat", "the file is a target of this run"),
        ("link", "the file is a target of this run"),
        ("hard", "the file is a target of this run"),
        ("new.dat", "the file is a target of this run"),
        ("source.bin", "the file with write data"),
        ("folder", "it is a directory"),
        ("fifo", "it is a FIFO"),
        ("/dev/null", "it is in /dev"),
        ("/proc/self/comm", "it is in /proc"),
        ("missing/r.json", "No such file or directory"),
    ] {
        place.file("source.bin", b"source");
        let words = format!("-c1M -d1 -w100 --overwrite -Z64K,source.bin --json {name} new.dat a.dat");
        let run = place.diskspd(&words).run();
        run.expect_status(3).expect_stderr(&[&format!("ERROR: --json '{name}': "), reason]);
        assert_eq!(run.stdout, "");
        assert!(!place.path("new.dat").exists(), "{name}");
        assert_eq!(place.content("a.dat"), vec![7; 65_536], "{name}");
        assert_eq!(place.content("source.bin"), b"source");
    }
    let run = place.diskspd("-d1 --json r --text ./r a.dat").run();
    run.expect_status(3).expect_stderr(&["'r': already used by --text"]);
}

#[test]
fn a_profile_is_not_replaced_by_its_results() {
    let place = workplace!();
    place.file("a.dat", &vec![0; 65_536]);
    let shown = place.diskspd("-d1 -W0 -Rpxml a.dat").run();
    place.file("p.xml", shown.stdout.as_bytes());
    let run = place.diskspd("-Xp.xml --xml p.xml").run();
    run.expect_status(3).expect_stderr(&["--xml 'p.xml': the file is the profile of this run"]);
    assert_eq!(place.content("p.xml"), shown.stdout.as_bytes());
}

#[test]
fn earlier_results_stay_until_there_are_new_ones() {
    let place = workplace!();
    place.diskspd("-c1M -d1 -W0 --json r.json a.dat").run().expect_status(0);
    let earlier = place.content("r.json");
    place.file("mine.dat", b"somebody's");
    let run = place.diskspd("-c1M -d1 --json r.json mine.dat").run();
    run.expect_status(3).expect_stderr(&["mine.dat"]);
    assert_eq!(place.content("r.json"), earlier);
    let running = place.diskspd("-c1M -d600 -W0 -v --json r.json a.dat").start();
    let mut running = running;
    running.wait_for_stderr("starting measurements");
    assert_eq!(place.content("r.json"), earlier);
    running.end();
    assert_ne!(place.content("r.json"), earlier);
    assert_eq!(document(&place, "r.json")["schema"], "diskspd-result");
}

#[test]
fn what_is_no_result_is_refused_and_others_are_shown() {
    let place = workplace!();
    place.file("empty", b"");
    place.file("other.json", b"{\"schema\": \"fio\"}");
    place.file("broken.json", b"{\"schema\": \"diskspd-result\", ");
    for (name, reason) in [
        ("missing", "cannot read 'missing': No such file"),
        ("empty", "'empty': not a DiskSpd result"),
        ("other.json", "its \"schema\" is \"fio\""),
        ("broken.json", "it is not a result of this program: EOF"),
        (".", "'./broken.json': it is not a result of this program: EOF"),
    ] {
        let run = place.diskspd("report").arg(name).run();
        run.expect_status(1).expect_stderr(&["ERROR: ", reason]);
        assert_eq!(run.stdout, "");
    }
    place.file("a.dat", &vec![0; 65_536]);
    place.diskspd("-d1 -W0 -b4K --json r.json a.dat").run().expect_status(0);
    let text = place.diskspd("report r.json --details").run().stdout;
    let run = place.diskspd("report r.json empty r.json --details").run();
    run.expect_status(1).expect_stderr(&["'empty': not a DiskSpd result"]);
    assert_eq!(run.stdout, format!("==> r.json <==\n{text}\n==> r.json <==\n{text}"));
    // Without details, each has a row.
    let run = place.diskspd("report r.json empty r.json").run();
    run.expect_status(1).expect_stderr(&["'empty': not a DiskSpd result"]);
    assert_eq!(run.stdout.lines().filter(|line| line.starts_with(" r.json ")).count(), 2, "{run}");
    let run = place.diskspd("report r.json --output r.json").run();
    run.expect_status(3).expect_stderr(&["the file is the result being read"]);
}

#[test]
fn a_subcommands_name_is_no_target() {
    let place = workplace!();
    place.file("report", &vec![0; 65_536]);
    place
        .diskspd("report")
        .run()
        .expect_status(3)
        .expect_stderr(&["ERROR: FILE is missing; see diskspd report --help"]);
    place.diskspd("report --help").run().expect_status(0).expect_stdout(&["Usage: diskspd report FILE"]);
    place.short_run("report").run().expect_status(0).expect_stdout(&["report (64KiB)"]);
    place.diskspd("./report -d1").run().expect_status(3).expect_stderr(&["parameters (-d1) must come before targets"]);
    place.diskspd("--help").run().expect_status(0).expect_stdout(&["\n  report "]);
}
