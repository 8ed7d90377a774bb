//! Pages of single results.

use super::{charts, fixed, load, page, series, words};
use serde_json::Value;
use std::path::Path;
use testkit::{Corrupting, Corruption, Occasion, or_skip, workplace};

#[test]
fn a_run_is_shown_with_the_values_of_its_result() {
    let place = workplace!();
    fixed::result(&place, "r.json", fixed::USUAL);
    let page = page(&place, "r.json");
    let result = place.json::<Value>("r.json");
    let measured = &result["time_spans"][0]["measured"];
    let over_time = ["iops", "throughput", "read-latency", "write-latency", "beside-iops", "beside-latency"];
    let others = ["distribution", "percentiles", "heat", "cpu", "cpu-time", "slowest"];
    assert_eq!(charts(&page), [over_time, others].concat());
    let told = words(&page);
    assert!(told.contains("CPU of the machine") && told.contains("mean of all CPUs; diskspd "), "{told}");
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
        assert!((shown.x[0] - 0.05).abs() < 1e-9);
        assert!(shown.texts[0].starts_with("0.05 s: ") && shown.texts[0].ends_with(" IOPS"), "{}", shown.texts[0]);
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
    assert!(words.contains(fixed::LOAD), "the command is there");
    assert!(
        load(&page).starts_with("4 KiB random 70/30 read/write, QD 8 (2 threads x 4), page cache, 1 MiB file on "),
        "{}",
        load(&page)
    );
    let place_of = |what: &str| page.find(what).expect(what);
    assert!(place_of("class=\"came-out") < place_of("class=\"tiles"), "the answer, the figures");
    assert!(place_of("class=\"tiles") < place_of("<figure data-chart=\"iops\""), "the chart that shows it");
    // Findings that invalidate the results come before them.
    let is_invalid = page.contains("class=\"verdict bad");
    let chart = place_of("<figure data-chart=\"iops\"");
    assert!(is_invalid || chart < place_of("class=\"verdict"), "what to know before they are used");
    assert!(chart < place_of("class=\"brief"), "what comes next");
    assert!(place_of("data-chart=\"slowest\"") < place_of("class=\"command"), "command");
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
    let begin = words(page.split("class=\"brief\"").next().expect("a beginning"));
    assert!(begin.contains("2 loads: from ") && begin.contains("the writes"), "{begin}");
    let words = words(&page);
    let at = |what: &str| words.find(what).unwrap_or_else(|| panic!("{what}: {words}"));
    assert!(at("2 loads, each 1 s, no warm-up, ") < at("Timespan 1: the reads"));
    assert!(at("Two loads") < at("the writes") && at("the writes") < at("Timespan 1: the reads"));
    assert!(at("Timespan 2: the writes") < at("4 KiB random write, QD 3 (1 thread x 3), page cache, 1 MiB file on "));
}

/// The page of a preset with one load used to begin with its environment, with its table and its chart far below.
#[test]
fn a_preset_with_one_load_begins_as_any_run() {
    let place = workplace!();
    let preset = "form = \"diskspd-preset/1\"\ntitle = \"One load\"\noptions = \"-b4K -d1 -W0 -L -r\"\n\
                  [[load]]\nname = \"the reads\"\n";
    place.file("one.toml", preset.as_bytes());
    place.diskspd("preset run one.toml -c1M --json r.json a.dat").run().expect_status(0);
    let page = page(&place, "r.json");
    let begin = words(page.split("class=\"brief\"").next().expect("a beginning"));
    assert!(begin.contains("One load") && begin.contains("I/Os per second"), "{begin}");
    assert!(page.find("<figure data-chart=\"iops\"") < page.find("class=\"brief\""));
    assert!(!page.contains("All loads") && !page.contains("Timespan 1"));
}

/// Forty timespans used to share four names, without distinction of reads and writes.
#[test]
fn timespans_of_one_name_are_numbered() {
    let place = workplace!();
    place.diskspd("preset run desktop -c8M -d60 -W0 --max-ios=4 --json r.json a.dat").run().expect_status(0);
    let words = words(&page(&place, "r.json"));
    for expected in [
        "Timespan 1: SEQ1M Q8T1, read, run 1 of 5",
        "Timespan 40: RND4K Q1T1, write, run 5 of 5",
        "read latency",
        "MB: 10^6 bytes.",
    ] {
        assert!(words.contains(expected), "{expected}: {words}");
    }
}

/// PASS used to be shown beside WARN without an explanation.
#[test]
fn a_preset_says_which_of_its_loads_can_be_trusted() {
    let place = workplace!();
    let preset = "form = \"diskspd-preset/1\"\ntitle = \"Two loads\"\noptions = \"-b4K -d1 -W0 -L\"\n\
                  [[load]]\nname = \"the reads\"\n[[load]]\nname = \"the writes\"\noptions = \"-w100 -r -o3\"\n";
    place.file("two.toml", preset.as_bytes());
    place
        .diskspd("preset run two.toml -c1M -d60 --max-ios=1000 --require iops>=1 --json r.json a.dat")
        .run()
        .expect_status(0);
    let mut result = place.json::<Value>("r.json");
    for span in result["time_spans"].as_array_mut().expect("timespans") {
        span["verdict"]["findings"] = serde_json::json!([]);
    }
    let sound = result.clone();
    let finding = serde_json::json!({
        "name": "steal", "severity": "warn", "subject": "", "figure": "5 %", "value": 5.0, "advice": "wait",
        "source": "verdict"
    });
    result["time_spans"][1]["verdict"]["findings"] = serde_json::json!([finding]);
    place.file("sound.json", sound.to_string().as_bytes());
    place.file("doubtful.json", result.to_string().as_bytes());
    let answer = |page: &str| {
        let class = page.split("<div class=\"answer ").nth(1).and_then(|rest| rest.split('"').next());
        class.expect("an answer").to_owned()
    };
    let good = page(&place, "sound.json");
    let told = words(&good);
    assert_eq!(answer(&good), "good");
    assert!(told.contains("2 loads: 2 PASS") && told.contains("Yes: no condition was found"), "{told}");
    let doubtful = page(&place, "doubtful.json");
    let told = words(&doubtful);
    assert_eq!(answer(&doubtful), "warn");
    for expected in [
        "2 loads: 1 PASS, 1 PASS, unproven",
        "1 of 2 runs has warnings: steal in 1.",
        "Only in part: steal in 1 of 2 runs.",
        "With warnings: the writes.",
        "in 1 of 2 runs: the writes",
        "even a PASS is not proven",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    assert!(told.find("2 loads: 1 PASS") < told.find("Timespan 1: "), "the summary comes first");
    assert!(
        doubtful.contains(">the writes</td><td data-name=\"run verdict\">WARN</td>"),
        "the verdict stands beside the load"
    );
    assert!(doubtful.contains(">the reads</td><td data-name=\"run verdict\">ok</td>"));
}

/// A percentile with hardly any I/O beyond it used to look like any other.
#[test]
fn percentiles_of_few_samples_are_marked() {
    let place = workplace!();
    place.diskspd("-c1M -d60 -W0 -b4K -r -L --rate=200 --max-ios=100 --json r.json a.dat").run().expect_status(0);
    let told = words(&page(&place, "r.json"));
    for weak in ["99th percentile few samples", "99.9th percentile few samples", "99th pct. response time few samples"]
    {
        assert!(told.contains(weak), "{weak}: {told}");
    }
    assert!(!told.contains("Median few samples"), "{told}");
}

#[test]
fn cpu_usage_over_time_is_that_of_the_result() {
    let place = workplace!();
    let measured = || {
        place.diskspd("-c1M -d3 -W0 -b4K -r --json r.json a.dat").run().expect_status(0);
        place.json::<Value>("r.json")["time_spans"][0]["measured"]["cpu_course"].take()
    };
    // A busy machine may not sample its CPUs in the middle of three seconds; it is retried.
    let is_parted = |course: &Value| course["end_ns"].as_array().is_some_and(|ends| ends.len() >= 2);
    let course = (0..4).map(|_| measured()).find(is_parted).unwrap_or_else(measured);
    let numbers = |name: &str| -> Vec<f64> {
        let found = course[name].as_array().unwrap_or_else(|| panic!("{name}: {course}"));
        found.iter().map(|number| number.as_f64().expect("a number")).collect()
    };
    let ends = numbers("end_ns");
    let shares = ["user_percent", "kernel_percent", "steal_percent"].map(numbers);
    assert!(ends.len() >= 2 && ends.windows(2).all(|pair| pair[0] < pair[1]), "{ends:?}");
    assert!((ends[ends.len() - 1] - 3e9).abs() < 1e6, "the last part ends with the measurement: {ends:?}");
    for (part, _) in ends.iter().enumerate() {
        let sum: f64 = shares.iter().map(|share| share[part]).sum();
        assert!((0.0..=100.0 + 1e-6).contains(&sum) && shares.iter().all(|share| share[part] >= 0.0), "{course}");
    }
    assert!(shares.iter().flatten().sum::<f64>() > 0.0, "the load itself uses a CPU: {course}");
    let page = page(&place, "r.json");
    assert_eq!(charts(&page), ["iops", "throughput", "cpu", "cpu-time"]);
    for (name, share) in ["user", "kernel", "steal"].into_iter().zip(&shares) {
        let shown = series(&page, "cpu-time", name);
        assert_eq!(shown.y.len(), share.len());
        for (shown, share) in shown.y.iter().zip(share) {
            assert!((shown - share).abs() <= share * 1e-4, "{name}: {shown} {share}");
        }
    }
}

/// The depth in the line is the one in effect.
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
        place.diskspd(&format!("-c1M -d60 -W0 -b4K --max-ios=50 --json r.json {options}")).run().expect_status(0);
        let result = place.json::<Value>("r.json");
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
    for title in [
        "CPU usage of the machine over time",
        "Latency over time",
        "Latency distribution",
        "Latency by percentile",
        "Latency heat map",
        "Slowest I/Os",
    ] {
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
        // Repeated options are included.
        let is_typed = Path::new(name).extension().is_some_and(|extension| extension == "txt");
        assert_eq!(words.contains("Command line"), is_typed, "{name}");
        assert_eq!(words.contains("<Profile>") && words.contains("diskspd -Xload.xml"), !is_typed, "{name}");
    }
    let mix = page(&place, &format!("{data}01-basic_mix.xml"));
    assert!(
        super::words(&mix).contains("Not judged: DiskSpd does not check for conditions"),
        "whether it can be trusted"
    );
    for part in [
        "imported-cached: the I/O went through the file system's cache",
        "imported-rate: each thread was limited to 2000 bytes per ms",
        "imported-outlier: the slowest I/O took 872 ms, 187 times the 99.9th percentile",
        "by DiskSpd 2.2.0; the file system's cache ",
        "The file does not say: the build of Windows, ",
        "repeat the run with -Sh",
    ] {
        assert!(super::words(&mix).contains(part), "{part}: {}", super::words(&mix));
    }
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
    let mut result = place.json::<Value>("r.json");
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
    let mut result = place.json::<Value>("r.json");
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

/// No kernel of the tests mounts a share: one is added to a result.
#[test]
fn a_share_is_shown_beside_the_run() {
    let place = workplace!();
    fixed::result(&place, "r.json", fixed::USUAL);
    let mut result = place.json::<Value>("r.json");
    let times = serde_json::json!({
        "execute_mean_ns": 3.5e6, "queue_mean_ns": 1e6, "round_trip_mean_ns": 2.25e6, "retransmissions_per_s": 0.5
    });
    let side = serde_json::json!({ "iops": 512.0, "bytes_per_s": 4_194_304.0, "rpc": times });
    let none = serde_json::json!({ "iops": 0.0, "bytes_per_s": 0.0, "rpc": null });
    let figures = serde_json::json!({ "read": side, "write": none, "total": side });
    let step = |start_ns: u64| serde_json::json!({ "start_ns": start_ns, "end_ns": start_ns + 500_000_000, "figures": figures });
    result["time_spans"][0]["measured"]["shares"] = serde_json::json!([{
        "mount_point": "/mnt/<a>", "source": "nas:/<a>", "mean": figures, "max": figures,
        "steps": [step(0), step(500_000_000)],
    }]);
    place.file("share.json", result.to_string().as_bytes());
    let page = page(&place, "share.json");
    for (chart, name, value) in [
        ("share-iops", "nas:/&lt;a&gt;", 512.0),
        ("share-latency", "nas:/&lt;a&gt; execute", 3.5e6),
        ("share-latency", "nas:/&lt;a&gt; RTT", 2.25e6),
    ] {
        let shown = series(&page, chart, name);
        assert_eq!(shown.y.len(), 2, "{name}");
        assert!(shown.y.iter().all(|y| (y - value).abs() <= value * 1e-5), "{name}: {:?}", shown.y);
    }
    assert!(!series(&page, "share-latency", "diskspd").y.is_empty(), "the run's own latency is beside it");
    assert!(words(&page).contains("Shares over the measurement"));
    let report = place.diskspd("report --details share.json").run();
    report.expect_status(0);
    let row = report.stdout.lines().find(|line| line.starts_with(" nas:/<a>")).expect("a row of the share");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["nas:/<a>", "mean", "512", "0", "4", "2.25", "ms", "1", "ms", "3.5", "ms", "0.5"]);
}

/// The page of a run with corrupt data used to have the class in a table far below.
#[test]
fn pages_begin_with_what_verification_found() {
    let place = workplace!();
    place.diskspd("-c1M -d60 -W0 -b4K -r -w50 --max-ios=5000 --verify --json r.json a.dat").run().expect_status(0);
    let sound = words(&page(&place, "r.json"));
    let told = sound.find(" of data verified, none corrupt").unwrap_or_else(|| panic!("{sound}"));
    assert!(sound.find("Can it be trusted?").is_some_and(|trust| told < trust), "{sound}");
    let disk = or_skip!(Corrupting::mounted(&place, "disk", 1 << 20));
    disk.order(Corruption::Zeros, Occasion::every(101).at_most(20));
    let words_of_run = "-b4K -r -w50 -d60 -W0 -Su --max-ios=6000 --verify --overwrite --json=r.json";
    place.diskspd(words_of_run).arg(&disk.file).run().expect_status(5);
    let corrupt = words(&page(&place, "r.json"));
    assert!(corrupt.contains("INVALID: do not use these results") && corrupt.contains(" corrupt units"), "{corrupt}");
    assert!(!corrupt.contains("none corrupt") && corrupt.contains("data-corruption"), "{corrupt}");
    let first = place.json::<Value>("r.json")["time_spans"][0]["verification"]["first"][0].take();
    let (class, offset) = (first["class"].as_str().expect("a class"), &first["offset_bytes"]);
    assert!(
        corrupt.contains(" corrupt units") && corrupt.contains(&format!("{class} at offset {offset} of '")),
        "{corrupt}"
    );
}

/// On pages of streams their results used to be after all charts, and the location of a file used by all of them in the
/// load of each.
#[test]
fn streams_come_before_the_charts() {
    let place = workplace!();
    let streams = ["oltp: -b4K -r -w30", "backup: -b64K"];
    let run = streams.iter().fold(place.short_run("-c1M -L"), |run, stream| run.arg("--stream").arg(stream));
    run.args("--json r.json a.dat").run().expect_status(0);
    let page = page(&place, "r.json");
    let line = load(&page);
    assert_eq!(line.matches("1 MiB file").count(), 1, "{line}");
    assert!(line.contains("; all: 1 MiB file on "), "{line}");
    let words = words(&page);
    let typed = " --stream 'oltp: -b4K -r -w30' --stream 'backup: -b64K' --json r.json a.dat";
    assert!(words.contains(typed), "the command can be typed: {words}");
    let table = words.find("Streams").expect("the table is there");
    assert!(words.find("Charts").is_some_and(|charts| table < charts), "{words}");
}

/// No kernel of the tests has such caches: they are added to a result.
#[test]
fn hits_and_misses_of_caches_are_shown_beside_the_run() {
    let place = workplace!();
    fixed::result(&place, "r.json", fixed::USUAL);
    let mut result = place.json::<Value>("r.json");
    let hits = |hits: u64, misses: u64, percent: f64| serde_json::json!({ "hits": hits, "misses": misses, "hit_percent": percent });
    result["time_spans"][0]["measured"]["caches"] = serde_json::json!([
        { "cache": "bcache0", "read": hits(9310, 690, 93.1), "write": null, "bypassed_reads": 12 },
        { "cache": "dm-3", "read": hits(5, 5, 50.0), "write": hits(3, 1, 75.0), "bypassed_reads": null },
    ]);
    place.file("cache.json", result.to_string().as_bytes());
    let page = words(&page(&place, "cache.json"));
    assert!(page.contains("Caches over the measurement") && page.contains("9,310"), "{page}");
    let report = place.diskspd("report cache.json").run();
    report.expect_status(0).expect_stdout(&[
        "cache bcache0: 93.1 % of reads hit (9,310 of 10,000), 12 reads bypassed it\n",
        "cache dm-3: 50.0 % of reads hit (5 of 10), 75.0 % of writes hit (3 of 4)\n",
    ]);
}
