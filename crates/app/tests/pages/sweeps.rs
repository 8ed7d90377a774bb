//! Pages of sweeps and repeats.

use crate::{charts, load, page, series, words};
use serde_json::Value;
use testkit::workplace;

#[test]
fn a_sweep_says_which_depth_to_use() {
    let place = workplace!();
    let words_of_sweep = "sweep --vary o=1..5 --dir results -- -c1M -d1 -W0 -b4K -r -L a.dat";
    place.diskspd(words_of_sweep).run().expect_status(0);
    let page = page(&place, "results");
    let sweep: Value = serde_json::from_slice(&place.content("results/sweep.json")).expect("JSON");
    let efficient = sweep["depths"][0]["knee"]["efficient"]["depth"].as_u64().expect("a depth");
    let used = sweep["depths"][0]["recommended"].as_u64().expect("a point") + 1;
    let headline = format!("Use depth {used} (-o{used})");
    let answer = page.find(&headline).expect("the answer is there");
    assert!(answer < page.find("<figure").expect("charts"), "it comes first");
    let line = load(&page);
    assert!(
        line.starts_with("first point: 4 KiB random read, QD 1 (1 thread x 1), ") && line.ends_with("; varied: -o")
    );
    assert_eq!(charts(&page)[..2], ["depth", "iops"]);
    let throughput = series(&page, "depth", "IOPS");
    assert_eq!(throughput.x, [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(series(&page, "depth", "99th").y.len(), 5);
    let words = words(&page);
    assert!(words.contains(&format!("efficient: {efficient}")), "it is marked in the charts");
    assert!(words.contains(&format!("The run with -o{used}")));
    assert!(words.contains("diskspd sweep --vary=o=1..5 -- -c1M -d1 -W0 -b4K -r -L a.dat"), "{words}");
}

#[test]
fn depth_with_another_option_has_a_line_for_each_value() {
    let place = workplace!();
    let words_of_sweep = "sweep --vary b=4K,8K --vary o=1,2 --dir results -- -c1M -d1 -W0 -r -L a.dat";
    place.diskspd(words_of_sweep).run().expect_status(0);
    let page = page(&place, "results");
    assert_eq!(charts(&page)[..4], ["depth-throughput", "depth-latency", "depth", "depth"]);
    for chart in ["depth-throughput", "depth-latency"] {
        for name in ["-b4K", "-b8K"] {
            assert_eq!(series(&page, chart, name).x, [1.0, 2.0], "{chart} {name}");
        }
    }
    assert!(words(&page).contains("Throughput and latency over depth, -b8K"));
}

#[test]
fn a_grid_is_a_heat_map() {
    let place = workplace!();
    let words_of_sweep = "sweep --vary b=4K,8K --vary w=0,50,100 --dir results -- -c1M -d1 -W0 -r -L a.dat";
    place.diskspd(words_of_sweep).run().expect_status(0);
    let page = page(&place, "results");
    assert_eq!(charts(&page)[..2], ["grid-throughput", "grid-latency"]);
    let grid = series(&page, "grid-throughput", "");
    let sweep: Value = serde_json::from_slice(&place.content("results/sweep.json")).expect("JSON");
    assert_eq!(grid.y.len(), 6);
    let best = grid.y.iter().copied().fold(0.0, f64::max);
    let visits = sweep["visits"].as_array().expect("visits");
    let rates = visits.iter().map(|visit| visit["outcome"]["measured"]["headline"]["iops"].as_f64().expect("a rate"));
    let fastest = rates.fold(0.0, f64::max);
    assert!((best - fastest).abs() <= fastest * 1e-5);
    assert!(grid.texts.iter().any(|text| text.starts_with("-b8K -w50: ")), "{:?}", grid.texts);
    assert!(words(&page).contains("Most MiB/s with "));
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
    assert!(words.contains("The median of 3 runs, too few for a confidence interval; 6 are needed."), "{words}");
    assert!(words.contains("diskspd repeat --runs=3 -- -c1M"), "{words}");
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
    assert!(run.stderr.contains("a run refers to a point that is not listed"), "{}", run.stderr);
}
