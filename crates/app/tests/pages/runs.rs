//! Pages of single results.

use crate::{charts, load, page, series, words};
use serde_json::Value;
use std::path::Path;
use testkit::{Workplace, workplace};

fn json(place: &Workplace, name: &str) -> Value {
    serde_json::from_slice(&place.content(name)).expect("it is JSON")
}

#[test]
fn a_run_is_shown_with_the_values_of_its_result() {
    let place = workplace!();
    let words_of_run = "-c1M -d1 -W0 -b4K -r -w30 -o4 -t2 -L -D100 --json r.json a.dat";
    place.diskspd(words_of_run).run().expect_status(0);
    let page = page(&place, "r.json");
    assert_eq!(
        charts(&page),
        [
            "iops",
            "throughput",
            "read-latency",
            "write-latency",
            "distribution",
            "percentiles",
            "heat",
            "cpu",
            "slowest"
        ]
    );
    let result = json(&place, "r.json");
    let measured = &result["time_spans"][0]["measured"];
    let counts = |side: &str| -> Vec<f64> {
        let ios = measured["series"][side]["ios"].as_array().expect("a series");
        ios.iter().map(|ios| ios.as_u64().expect("a number") as f64).collect()
    };
    for (side, name) in [("read", "reads"), ("write", "writes")] {
        let rates: Vec<f64> = counts(side).iter().map(|ios| ios * 10.0).collect();
        let shown = series(&page, "iops", name);
        assert_eq!(shown.y.len(), rates.len());
        for (shown, rate) in shown.y.iter().zip(&rates) {
            assert!((shown - rate).abs() <= rate * 1e-5, "{shown} {rate}");
        }
        assert!((shown.x[0] - 0.1).abs() < 1e-9);
        assert!(shown.texts[0].starts_with("0.1 s: ") && shown.texts[0].ends_with(" IOPS"), "{}", shown.texts[0]);
    }
    let range = |chart: &str| {
        let svg = page.split(&format!(" data-chart=\"{chart}\"")).nth(1).expect("the chart is there");
        svg.split(" data-y=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an axis").to_owned()
    };
    assert_eq!(range("read-latency"), range("write-latency"), "the same height is the same latency");
    let percent: f64 = series(&page, "distribution", "reads").y.iter().sum();
    assert!((percent - 100.0).abs() < 0.01, "{percent}");
    let ios: f64 = series(&page, "heat", "").y.iter().sum();
    assert!((ios - measured["total"]["total"]["ios"].as_f64().expect("a number")).abs() <= ios * 1e-4);
    let slowest = series(&page, "slowest", "reads").y.into_iter().chain(series(&page, "slowest", "writes").y);
    let longest = slowest.fold(0.0, f64::max);
    let longest_ns = measured["slowest"][0]["latency_ns"].as_f64().expect("a number");
    assert!((longest - longest_ns).abs() <= longest_ns * 1e-5);
    let words = words(&page);
    for expected in ["99.9th percentile", "Percentiles of latency", "Environment", "Command line", "a.dat"] {
        assert!(words.contains(expected), "{expected}");
    }
    assert!(words.contains(words_of_run), "the command is there");
    assert!(
        load(&page).starts_with("4 KiB random 70/30 read/write, QD 8 (2 threads x 4), page cache, 1 MiB file on "),
        "{}",
        load(&page)
    );
    let place_of = |what: &str| page.find(what).expect(what);
    assert!(place_of("class=\"verdict") < place_of("class=\"tiles"), "verdict, headline");
    assert!(place_of("class=\"tiles") < place_of("data-chart=\"iops\""), "charts");
    assert!(place_of("data-chart=\"slowest\"") < place_of("Command line"), "command");
}

#[test]
fn a_preset_begins_with_its_table_and_names_its_timespans() {
    let place = workplace!();
    let preset = "form = \"diskspd-preset/1\"\ntitle = \"Two loads\"\noptions = \"-b4K -d1 -W0 -L\"\n\
                  [[load]]\nname = \"the reads\"\n[[load]]\nname = \"the writes\"\noptions = \"-w100 -r -o3\"\n";
    place.file("two.toml", preset.as_bytes());
    place.diskspd("preset run two.toml -c1M --json r.json a.dat").run().expect_status(0);
    let page = page(&place, "r.json");
    assert!(load(&page).starts_with("2 timespans with different loads; the first: 4 KiB sequential read, QD 2 "));
    let words = words(&page);
    let at = |what: &str| words.find(what).unwrap_or_else(|| panic!("{what}: {words}"));
    assert!(at("Two loads") < at("the writes") && at("the writes") < at("Timespan 1: the reads"));
    assert!(at("Timespan 2: the writes") < at("4 KiB random write, QD 3 (1 thread x 3), page cache, 1 MiB file on "));
}

/// Of what is counted and not worded: the depth that the line says is the one that was in effect.
#[test]
fn the_load_line_has_the_depth_that_was_in_effect() {
    let place = workplace!();
    for (options, depth) in [
        ("-o4 -t2 a.dat", 8),
        ("-o4 -t2 a.dat b.dat", 16),
        ("-F3 -o4 a.dat b.dat", 24),
        ("-F3 -O5 a.dat b.dat", 15),
        ("-Sm -o4 -t2 a.dat", 2),
        ("-Sm -F3 a.dat b.dat", 3),
        ("--engine=sync -o4 a.dat", 1),
        ("--engine=null -o4 a.dat", 4),
        ("--rate=100 -o4 a.dat", 4),
    ] {
        place.diskspd(&format!("-c1M -d1 -W0 -b4K --json r.json {options}")).run().expect_status(0);
        let result = json(&place, "r.json");
        let of_loop = &result["time_spans"][0]["measured"]["load_loop"];
        let in_effect = of_loop["closed"]["depth"].as_u64().or_else(|| of_loop["open"]["depth"].as_u64());
        assert_eq!(in_effect, Some(depth), "{options}");
        let line = load(&page(&place, "r.json"));
        assert!(line.contains(&format!("QD {depth} (")), "{options}: {line}");
    }
}

#[test]
fn what_was_not_measured_is_said() {
    let place = workplace!();
    place.diskspd("-c1M -d1 -W0 -b4K --json r.json a.dat").run().expect_status(0);
    let page = page(&place, "r.json");
    assert_eq!(charts(&page), ["iops", "throughput", "cpu"]);
    let words = words(&page);
    for title in
        ["Latency over time", "Latency distribution", "Latency by percentile", "Latency heat map", "Slowest I/Os"]
    {
        assert!(words.contains(&format!("{title}: ")), "{title}");
    }
    assert!(words.contains("JSON results of runs with -L or -D have"));
}

#[test]
fn results_of_other_tools_give_what_they_have() {
    let place = workplace!();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/data/");
    for name in [
        "01-basic_mix.txt",
        "01-basic_mix.xml",
        "39-two_timespans.txt",
        "42-open_failure.txt",
        "44-interrupted_warmup.txt",
    ] {
        let page = page(&place, &format!("{data}{name}"));
        let words = words(&page);
        assert!(words.contains("DiskSpd 2.") && !load(&page).is_empty(), "{name}");
        // What one may repeat is there.
        let is_typed = Path::new(name).extension().is_some_and(|extension| extension == "txt");
        assert_eq!(words.contains("Command line"), is_typed, "{name}");
        assert_eq!(words.contains("<Profile>") && words.contains("diskspd -Xload.xml"), !is_typed, "{name}");
    }
    let mix = page(&place, &format!("{data}01-basic_mix.xml"));
    assert!(load(&mix).starts_with("4 KiB random 70/30 read/write, QD 8 (2 threads x 4), cached, "), "{}", load(&mix));
    assert_eq!(
        charts(&mix),
        ["iops", "percentiles", "cpu"],
        "intervals, percentiles and CPUs are in DiskSpd's results"
    );
}

#[test]
fn a_run_that_failed_says_why() {
    let place = workplace!();
    place.diskspd("-c1M -d1 -W0 -b4K --json r.json a.dat").run().expect_status(0);
    let mut result = json(&place, "r.json");
    result["time_spans"][0]["measured"] = Value::Null;
    result["time_spans"][0]["verdict"] = Value::Null;
    result["time_spans"][0]["outcome"] = "failed".into();
    result["time_spans"][0]["errors"] = serde_json::json!(["the <target> went away"]);
    place.file("failed.json", result.to_string().as_bytes());
    let failed = page(&place, "failed.json");
    assert!(
        words(&failed).contains("An error ended the timespan") && words(&failed).contains("the <target> went away")
    );
    assert!(failed.contains("the &lt;target&gt; went away") && charts(&failed).is_empty());
    result["time_spans"] = serde_json::json!([]);
    result["errors"] = serde_json::json!(["it was refused"]);
    place.file("refused.json", result.to_string().as_bytes());
    assert!(words(&page(&place, "refused.json")).contains("it was refused"));
}

#[test]
fn names_from_outside_are_no_markup() {
    let place = workplace!();
    let name = "<img src=x onerror=alert(1)>\"'&\n.dat";
    place
        .diskspd("-c1M -d1 -W0 -b4K -L --json r.json --label")
        .arg("<b>=</title><script>")
        .arg(name)
        .run()
        .expect_status(0);
    let run = place.diskspd("report r.json -o page.html").run();
    run.expect_status(0);
    let page = String::from_utf8(place.content("page.html")).expect("text");
    assert!(!page.contains("<img") && !page.contains("<b>=") && !page.contains("</title><script>"));
    assert!(words(&page).contains("<img src=x onerror=alert(1)>"), "{}", words(&page));
    assert!(page.contains("\\x0a.dat"), "a line break is visible");
    assert_eq!(page.matches("<script>").count(), 1);
}

#[test]
fn a_long_run_stays_small() {
    let place = workplace!();
    place.diskspd("-c1M -d1 -W0 -b4K -r -w50 -L -D100 --json r.json a.dat").run().expect_status(0);
    let mut result = json(&place, "r.json");
    let measured = &mut result["time_spans"][0]["measured"];
    for side in ["read", "write"] {
        for what in ["ios", "bytes", "latency_sum_ns"] {
            let counts = (0..10_000u64).map(|cell| (cell * 7919 % 5000).into()).collect::<Vec<Value>>();
            measured["series"][side][what] = counts.into();
        }
    }
    place.file("long.json", result.to_string().as_bytes());
    let page = page(&place, "long.json");
    assert!(series(&page, "iops", "total").y.len() <= 300);
    assert!(page.len() < 1_500_000, "{}", page.len());
}
