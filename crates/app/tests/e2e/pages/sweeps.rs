//! Pages of sweeps and repeats.

use super::{charts, fixed, load, page, series, words};
use crate::pairs::kept_the_rates;
use serde_json::{Value, json};
use testkit::{Workplace, or_skip, workplace};

/// Gives every run of a set the same verdict.
fn judge_all(place: &Workplace, file: &str, severity: &str, warnings: &[&str]) {
    let mut set: Value = place.json(file);
    for visit in set["visits"].as_array_mut().expect("visits") {
        let headline = &mut visit["outcome"]["measured"]["headline"];
        headline["severity"] = severity.into();
        headline["warnings"] = json!(warnings);
        headline["warning_figures"] = json!(vec!["12 % stolen"; warnings.len()]);
        // As in older documents.
        headline["warning_advice"] = json!([]);
        headline["warning_values"] = json!([]);
    }
    place.file(file, set.to_string().as_bytes());
}

/// The tones of the answers of a page.
fn tones(page: &str) -> Vec<&str> {
    page.split("<div class=\"answer ").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// The command that a page advises, if each row of its brief has a text.
fn advised(page: &str) -> String {
    let brief = page.split("<dl class=\"brief\"").nth(1).and_then(|rest| rest.split("</dl>").next()).expect("a brief");
    let rows: Vec<&str> = brief.split("<dd>").skip(1).filter_map(|row| row.split("</dd>").next()).collect();
    assert!(rows.len() == 4 && rows.iter().all(|row| !row.trim().is_empty()), "{rows:?}");
    let command = rows[3].split("<code>").nth(1).and_then(|rest| rest.split("</code>").next()).unwrap_or_default();
    command.replace("<span class=\"whole\">", "").replace("</span>", "")
}

#[test]
fn a_sweep_says_which_depth_to_use() {
    let place = workplace!();
    let words_of_sweep = "sweep --vary o=1..5 --dir results -- -c1M -d1 -W0 -b4K -r -L a.dat";
    place.diskspd(words_of_sweep).run().expect_status(0);
    let page = page(&place, "results");
    let sweep: Value = place.json("results/sweep.json");
    let efficient = sweep["depths"][0]["knee"]["efficient"]["depth"].as_u64().expect("a depth");
    let used = sweep["depths"][0]["recommended"].as_u64().expect("a point") + 1;
    let headline = format!("depth {used} <span class=\"whole\">(-o{used})");
    let answer = page.find(&headline).expect("the answer is there");
    assert!(answer < page.find("<figure").expect("charts"), "it comes first");
    assert!(
        page.contains("<h1><span class=\"method\">Sweep</span> <span class=\"load\">first point: "),
        "what was measured is the heading"
    );
    let points = page.split("<table aria-label=\"Points\"").nth(1).expect("a table of the points");
    let place_of = |column: &str| points.find(&format!(">{column}</th>")).expect(column);
    assert!(place_of("verdict") < place_of("IOPS") && place_of("IOPS") < place_of("depth"), "what decides comes first");
    let is_explained = page.contains(">Pareto front</th>") == page.contains("Pareto front: no other point beats");
    let all = "No setting is beaten by another in IOPS, mean latency and CPU usage.";
    assert!(
        is_explained && page.contains(">Pareto front</th>") != page.contains(all),
        "where all rows have it, it has no column"
    );
    let line = load(&page);
    assert!(
        line.starts_with("first point: 4 KiB random read, QD 1 (1 thread x 1), ")
            && line.ends_with("; varied: -o (1, 2, 3, 4, 5); each run: 1 s, no warm-up")
    );
    assert_eq!(charts(&page)[..2], ["depth", "iops"]);
    let throughput = series(&page, "depth", "IOPS");
    assert_eq!(throughput.x, [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(series(&page, "depth", "99th").y.len(), 5);
    let words = words(&page);
    assert!(words.contains(&format!("efficient: {efficient}")), "it is marked in the charts");
    assert!(words.contains(&format!("The run with -o{used}")));
    assert!(advised(&page).starts_with("diskspd sweep "), "{}", advised(&page));
    assert!(words.contains("diskspd sweep --vary=o=1..5 -- -c1M -d1 -W0 -b4K -r -L a.dat"), "{words}");
}

#[test]
fn depth_with_another_option_has_a_line_for_each_value() {
    let place = workplace!();
    let words_of_sweep = "sweep --vary b=4K,8K --vary o=1,2 --dir results -- -c1M -d1 -W0 -r -L a.dat";
    place.diskspd(words_of_sweep).run().expect_status(0);
    let page = page(&place, "results");
    assert_eq!(charts(&page)[..5], ["depth-throughput", "depth-mib", "depth-latency", "depth", "depth"]);
    for chart in ["depth-throughput", "depth-mib", "depth-latency"] {
        for name in ["-b4K", "-b8K"] {
            assert_eq!(series(&page, chart, name).x, [1.0, 2.0], "{chart} {name}");
        }
    }
    assert!(words(&page).contains("IOPS and latency by queue depth, -b8K"));
    assert!(advised(&page).starts_with("diskspd sweep --vary=b=4K,8K "), "{}", advised(&page));
}

/// One line through all points used to zigzag between points of the same depth, and the page called all of them
/// synchronous.
#[test]
fn two_options_of_depth_have_a_line_for_each_value_of_one() {
    let place = workplace!();
    let words_of_sweep = "sweep --vary t=1,2 --vary o=1,2,4 --dir results -- -c1M -d1 -W0 -b4K -r -L a.dat";
    place.diskspd(words_of_sweep).run().expect_status(0);
    let page = page(&place, "results");
    assert_eq!(charts(&page)[..3], ["depth-throughput", "depth-latency", "depth"]);
    for chart in ["depth-throughput", "depth-latency"] {
        assert_eq!(series(&page, chart, "-t1").x, [1.0, 2.0, 4.0], "{chart}");
        assert_eq!(series(&page, chart, "-t2").x, [2.0, 4.0, 8.0], "{chart}");
    }
    assert_eq!(series(&page, "depth", "IOPS").x, [1.0, 2.0, 4.0, 8.0], "a depth has one point");
    let sweep: Value = place.json("results/sweep.json");
    let engines = |visit: usize| sweep["visits"][visit]["outcome"]["measured"]["headline"]["engines"].clone();
    assert_eq!(engines(0), json!(["synchronous"]));
    let words = words(&page);
    if engines(1) == engines(0) {
        assert!(!words.contains("with -o1)"), "no machine without io_uring and AIO has another engine: {words}");
    } else {
        let told = words.matches("(synchronous I/O with -o1)").count();
        assert!(told >= 3, "at the head and below the charts: {words}");
    }
}

/// Documents of earlier versions lack the engines of points, which a depth of one changes.
#[test]
fn engines_of_depths_that_are_not_known_are_left_out() {
    let place = workplace!();
    let words_of_sweep = "sweep --vary o=1,2 --dir results -- -c1M -d1 -W0 -b4K -r -L a.dat";
    place.diskspd(words_of_sweep).run().expect_status(0);
    let names_an_engine = |page: &str| {
        let measured = page.split("<dl class=\"brief\"").nth(1).and_then(|rest| rest.split("</dd>").next());
        ["io_uring", "Linux AIO", "synchronous I/O"].iter().any(|engine| measured.expect("a brief").contains(engine))
    };
    assert!(names_an_engine(&page(&place, "results")));
    let mut sweep: Value = place.json("results/sweep.json");
    for visit in sweep["visits"].as_array_mut().expect("visits") {
        visit["outcome"]["measured"]["headline"].as_object_mut().expect("figures").remove("engines");
    }
    place.file("results/sweep.json", sweep.to_string().as_bytes());
    assert!(!names_an_engine(&page(&place, "results")));
}

#[test]
fn a_grid_is_a_heat_map() {
    let place = workplace!();
    let words_of_sweep = "sweep --vary b=4K,8K --vary w=0,50,100 --dir results -- -c1M -d1 -W0 -r -L a.dat";
    place.diskspd(words_of_sweep).run().expect_status(0);
    let page = page(&place, "results");
    assert_eq!(charts(&page)[..3], ["grid-throughput", "grid-mib", "grid-latency"]);
    let grid = series(&page, "grid-throughput", "");
    let sweep: Value = place.json("results/sweep.json");
    assert_eq!(grid.y.len(), 6);
    let best = grid.y.iter().copied().fold(0.0, f64::max);
    let visits = sweep["visits"].as_array().expect("visits");
    let rates = visits.iter().map(|visit| visit["outcome"]["measured"]["headline"]["iops"].as_f64().expect("a rate"));
    let fastest = rates.fold(0.0, f64::max);
    assert!((best - fastest).abs() <= fastest * 1e-5);
    assert!(grid.texts.iter().any(|text| text.starts_with("-b8K -w50: ")), "{:?}", grid.texts);
    assert!(words(&page).contains("Most MiB/s: "));
}

#[test]
fn one_option_that_is_not_depth_has_charts_too() {
    let place = workplace!();
    place.diskspd("sweep --vary b=4K,8K --dir results -- -c1M -d1 -W0 -r -L a.dat").run().expect_status(0);
    let page = page(&place, "results");
    assert_eq!(charts(&page)[..2], ["settings-throughput", "settings-latency"]);
    assert_eq!(series(&page, "settings-throughput", "").x, [1.0, 2.0]);
}

#[test]
fn runs_of_the_same_load_stand_beside_each_other() {
    let place = workplace!();
    place.diskspd("repeat --runs 3 --dir results -- -c1M -d1 -W0 -b4K -r -L a.dat").run().expect_status(0);
    let page = page(&place, "results");
    assert_eq!(charts(&page), ["runs"]);
    assert_eq!(series(&page, "runs", "runs").x, [1.0, 2.0, 3.0]);
    let words = words(&page);
    assert!(words.contains("are too few for a confidence interval of the median; 6 are needed"), "{words}");
    assert!(words.contains("diskspd repeat --runs=3 -- -c1M"), "{words}");
    assert!(load(&page).ends_with("; each run: 1 s, no warm-up"), "{}", load(&page));
    let runs = page.split("<table aria-label=\"Each run\">").nth(1).and_then(|rest| rest.split("</table>").next());
    let rows: Vec<&str> = runs.expect("a table of the runs").split("<tr>").skip(2).collect();
    assert_eq!(rows.len(), 3, "{rows:?}");
    for (number, row) in (1..).zip(&rows) {
        assert!(row.trim_start().starts_with(&format!("<td class=\"number\">{number}</td>")), "{row}");
        assert_eq!(row.matches("<td").count(), 6, "run, verdict, IOPS, MiB/s, mean, p99: {row}");
    }
}

/// Answers used to be green although every run had a warning.
#[test]
fn answers_are_no_better_than_the_verdicts_of_their_runs() {
    let place = workplace!();
    let load = "-c1M -d1 -W0 -b4K -r --engine=null a.dat";
    // With a rate: the null engine otherwise takes all CPU time.
    for (words_of_set, rate, folder, file) in [
        ("sweep --vary o=1,2", "-g1000i", "depths", "sweep.json"),
        ("sweep --vary b=4K,8K", "-g1000i", "blocks", "sweep.json"),
        ("", "", "limit", "sweep.json"),
        ("repeat --runs 2", "-g1000i", "repeat", "repeat.json"),
        ("ab --a --rate=200 --b --rate=300 --pairs 3", "", "pairs", "ab.json"),
    ] {
        match words_of_set {
            "" => fixed::search(&place),
            words => drop(place.diskspd(&format!("{words} --dir {folder} -- {rate} {load}")).run()),
        }
        let file = format!("{folder}/{file}");
        for (severity, warnings, tone, told) in [
            ("note", &[][..], None, None),
            ("warn", &["steal"], Some("warn"), Some(" have warnings: steal in ")),
            ("invalid", &["steal", "io-errors"], Some("bad"), Some(" are INVALID: ")),
        ] {
            judge_all(&place, &file, severity, warnings);
            let page = page(&place, folder);
            let (tones, words) = (tones(&page), words(&page));
            assert!(!tones.is_empty(), "{folder}");
            match (tone, told) {
                (Some(tone), Some(told)) => {
                    assert!(tones.iter().all(|found| *found == tone), "{folder}, {severity}: {tones:?}");
                    // From the headline, which may name a single run.
                    let measured_in = match severity {
                        "warn" => ["runs with warnings (steal", "a run with warnings (steal"],
                        _ => ["INVALID runs (", "an INVALID run ("],
                    };
                    let is_told = measured_in.iter().any(|runs| words.contains(&format!(", measured in {runs}")));
                    // In the headline, or in a sentence below it.
                    assert!(is_told || words.contains(told), "{folder}: {words}");
                    assert!(words.contains("12 % stolen") || severity == "invalid", "{folder}: {words}");
                    // Its meaning, the action, and the affected runs.
                    assert!(
                        words.contains("12 % stolen, in all ") || words.contains("12 % stolen, in both runs"),
                        "{folder}: {words}"
                    );
                    assert!(words.contains("Meaning: steal time in /proc/stat"), "{folder}: {words}");
                    assert!(words.contains("What to do: measure on a host"), "{folder}: {words}");
                }
                _ => assert!(!words.contains("have warnings"), "{folder}: {words}"),
            }
        }
    }
}

#[test]
fn a_sweep_without_its_results_still_has_its_answer() {
    let place = workplace!();
    place.diskspd("sweep --vary o=1,2 --dir results -- -c1M -d1 -W0 -b4K -r -L a.dat").run().expect_status(0);
    let sweep = place.content("results/sweep.json");
    std::fs::create_dir(place.path("alone")).expect("our own folder");
    place.file("alone/sweep.json", &sweep);
    let run = place.diskspd("report alone -o page.html").run();
    run.expect_status(0);
    assert!(run.stderr.contains("WARNING: cannot read 'alone/point-000"), "{}", run.stderr);
    let page = String::from_utf8(place.content("page.html")).expect("text");
    assert_eq!(charts(&page), ["depth"]);
    assert!(words(&page).contains("Too few queue depths to find the best one"));
    let strange =
        String::from_utf8(sweep).expect("text").replace("\"points\": [\n        0", "\"points\": [\n        99");
    place.file("alone/sweep.json", strange.as_bytes());
    let run = place.diskspd("report alone -o page.html").run();
    run.expect_status(1);
    assert!(run.stderr.contains("it refers to point 99, but has 2"), "{}", run.stderr);
}

/// The pages of `ab` used to answer the question of a sweep: the best of the two depths.
#[test]
fn pairs_say_whether_one_side_is_better() {
    let place = workplace!();
    let pairs = "ab --a -g200i --b -g300i --pairs 3 --dir pairs -- -c1M -d1 -W0 -b4K -r --engine=null a.dat";
    let run = place.diskspd(pairs).run();
    or_skip!(kept_the_rates(&run.stdout, [200.0, 300.0]));
    run.expect_status(0);
    let page = page(&place, "pairs");
    let words = words(&page);
    assert!(words.contains("B is better in IOPS (+"), "{words}");
    assert!(words.contains("A: -g200i and B: -g300i") && words.contains("3 pairs of runs"), "{words}");
    assert!(words.contains("better") && words.contains("95 % interval"), "{words}");
    assert!(words.contains("diskspd ab --a=-g200i --b=-g300i"), "{words}");
    assert!(load(&page).ends_with("; each run: 1 s, no warm-up"), "{}", load(&page));
    assert_eq!(charts(&page), ["pairs"]);
    let (a, b) = (series(&page, "pairs", "A: -g200i"), series(&page, "pairs", "B: -g300i"));
    assert_eq!((a.x.len(), b.x.len()), (3, 3));
    assert!(a.y.iter().zip(&b.y).all(|(a, b)| a < b), "{:?} {:?}", a.y, b.y);
}

/// Such pages used to have a row "1 failed" for the first rate, which was never tried, and a load of one I/O per
/// second.
#[test]
fn a_search_for_a_rate_shows_the_rates_that_were_tried() {
    let place = workplace!();
    fixed::search(&place);
    let page = page(&place, "limit");
    let line = load(&page);
    assert!(
        line.starts_with("4 KiB random read, at most QD 8 (1 thread x 8), ")
            && line.contains("; searched: highest --rate with "),
        "{line}"
    );
    let words = words(&page);
    assert!(!words.contains("failed"), "{words}");
    assert!(advised(&page).starts_with("diskspd "), "{}", advised(&page));
    for column in ["within the limit", "runs", "mean response"] {
        assert!(page.contains(&format!(">{column}</th>")), "{column}: {words}");
    }
    assert_eq!(charts(&page)[..2], ["settings-latency", "settings-throughput"], "what decides comes first");
    let limit = series(&page, "settings-latency", "limit");
    assert!(limit.y.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq()) && limit.y.len() > 1, "{:?}", limit.y);
    let tried = series(&page, "settings-throughput", "probes");
    let sweep: Value = place.json("limit/sweep.json");
    let visits = sweep["visits"].as_array().expect("visits").iter().filter(|visit| visit["purpose"] != "capacity");
    let points = visits.map(|visit| visit["point"].as_u64().expect("a number") as usize);
    let rates = points.map(|point| sweep["points"][point]["settings"][0]["value"].as_str().expect("a rate"));
    let rates: Vec<f64> = rates.map(|rate| rate.parse().expect("a number")).collect();
    assert!(tried.x.iter().all(|rate| rates.contains(rate)), "the axis is that of the rates: {:?}, {rates:?}", tried.x);
}

/// Such a search used to measure no latencies without -L, to have no value for its limit, and to end at its first rate.
#[test]
fn a_search_has_the_latencies_that_it_judges() {
    let place = workplace!();
    let words = "sweep --limit read.p99=1s --probe 1s --confirm 1s --dir s -- -c1M -d1 -W0 -b4K -r -w50 -o8 a.dat";
    place.diskspd(words).run();
    let sweep: Value = place.json("s/sweep.json");
    let visits = sweep["visits"].as_array().expect("visits");
    let runs: Vec<&Value> = visits.iter().filter(|visit| visit["purpose"] != "capacity").collect();
    let judged = |visit: &&Value| {
        let all = visit["outcome"]["measured"]["headline"]["waited_for"].as_array().expect("latencies");
        all.iter().any(|of| of["scope"] == "read" && of["p99_ns"].as_f64().is_some_and(|ns| ns > 0.0))
    };
    assert!(!runs.is_empty() && runs.iter().all(judged), "{sweep:#}");
    let page = page(&place, "s");
    let points = page.split("<table aria-label=\"Points\"").nth(1).and_then(|rest| rest.split("</table>").next());
    let points = points.expect("a table of the points");
    assert!(points.contains(">p99 (read)</th>") && !points.contains(">-</td>"), "{points}");
}

/// A page of such a search used to have an empty table and no answer.
#[test]
fn a_search_that_ended_at_once_says_so() {
    let place = workplace!();
    fixed::search(&place);
    let mut sweep: Value = place.json("limit/sweep.json");
    (sweep["limit"], sweep["visits"], sweep["findings"]) = (Value::Null, serde_json::json!([]), serde_json::json!([]));
    place.file("limit/sweep.json", sweep.to_string().as_bytes());
    let page = page(&place, "limit");
    assert!(words(&page).contains("No point was measured"), "{}", words(&page));
    assert!(!page.contains("Pareto front"), "there is no table");
}

/// The page of an interrupted search used to recommend the rate with the most IOPS.
#[test]
fn a_search_that_was_stopped_says_so_and_goes_on() {
    let place = workplace!();
    fixed::search(&place);
    let mut sweep: Value = place.json("limit/sweep.json");
    (sweep["limit"], sweep["findings"]) = (Value::Null, serde_json::json!([]));
    place.file("limit/sweep.json", sweep.to_string().as_bytes());
    let page = page(&place, "limit");
    assert!(words(&page).contains("No answer: the search for the highest rate had not ended"), "{}", words(&page));
    assert_eq!(advised(&page), "diskspd sweep --resume limit");
    assert!(load(&page).contains("; searched: highest --rate with mean="), "{}", load(&page));
    assert!(!words(&page).contains("most throughput of all points"), "{}", words(&page));
}

/// The series used to be sorted as text: 16K, 4K, 64K.
#[test]
fn series_are_in_the_order_of_their_values() {
    let place = workplace!();
    let load = "-c1M -d60 --max-ios=50 -W0 -r -L a.dat";
    place.diskspd(&format!("sweep --vary b=4K,16K --vary o=1,2 --dir s -- {load}")).run().expect_status(0);
    let page = page(&place, "s");
    let about = |block: &str| format!("<p class=\"about\">with -b{block}</p>");
    let at = |block: &str| page.find(&about(block)).unwrap_or_else(|| panic!("{block}: {}", words(&page)));
    assert!(at("4K") < at("16K"), "{}", words(&page));
    assert!(words(&page).contains("Of all block sizes: most MiB/s with "), "{}", words(&page));
}
