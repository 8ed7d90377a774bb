//! Pages of several results.

use super::{charts, fixed, load, page, series, words};
use testkit::workplace;

#[test]
fn differences_are_shown_with_their_intervals() {
    let place = workplace!();
    for name in ["a", "b"] {
        let words = format!("-c1M -d2 -W0 -b4K -r -L -D100 --json {name}.json a.dat");
        // A busy machine may give a run too little time in two seconds for all values; it is retried.
        let has_enough = (0..5).any(|_| {
            place.diskspd(&words).run().expect_status(0);
            let result: serde_json::Value = place.json(&format!("{name}.json"));
            result["time_spans"][0]["measured"]["total"]["total"]["ios"].as_u64() > Some(5000)
        });
        assert!(has_enough, "{name}: fewer than 5000 I/Os from the page cache in 2 s");
    }
    let page = page(&place, "a.json b.json");
    assert_eq!(charts(&page), ["differences", "iops", "read-percentiles"]);
    for side in ["a.json", "b.json"] {
        assert_eq!(series(&page, "iops", side).x.len(), 20);
        assert!(series(&page, "read-percentiles", side).y.len() > 3);
    }
    let shown = series(&page, "differences", "");
    let compared = place.diskspd("compare a.json b.json").run();
    compared.expect_status(0);
    let line = load(&page);
    assert!(line.starts_with("4 KiB random read, QD 2 (1 thread x 2), page cache, 1 MiB file on "), "{line}");
    compared.expect_told(&[&format!("Load {line} Answer")]);
    assert_eq!(shown.texts.len(), 7, "{:?}", shown.texts);
    for (text, drawn) in shown.texts.iter().zip(&shown.y) {
        let (name, change) = text.split_once(": ").expect("a name and its change");
        let table = compared.stdout.split("\nDifferences\n").nth(1).expect("a table");
        let line = table
            .lines()
            .find(|line| line.trim_start().starts_with(name))
            .unwrap_or_else(|| panic!("{name}: {compared}"));
        let percent = change.split_inclusive(" %").next().expect("a percentage");
        assert!(line.contains(percent), "{percent}: {line}");
        let shown: f64 = percent.strip_suffix(" %").and_then(|number| number.parse().ok()).expect("a percentage");
        // Half a tenth, as both are rounded.
        assert!((shown - drawn).abs() < 0.0501, "{text}: drawn at {drawn}");
    }
    let words = words(&page);
    assert!(words.contains("Each run: 2 s, no warm-up."), "{words}");
    assert!(words.contains("a.json: command line") && words.contains("b.json: command line"), "{words}");
}

#[test]
fn each_is_compared_with_the_first_and_unlike_loads_are_a_table() {
    let place = workplace!();
    for (name, options) in [("a", "-b4K"), ("b", "-b8K"), ("c", "-b4K"), ("d", "-b4K -D200")] {
        let words = format!("-c1M -d60 -W0 -r -L {options} -g500i --max-ios=1000 --json {name}.json a.dat");
        place.diskspd(&words).run().expect_status(0);
    }
    let page = page(&place, "a.json c.json d.json");
    assert_eq!(charts(&page), ["differences", "differences", "iops", "read-percentiles"]);
    // One table for all sides: differences first.
    let environment =
        page.split("<table aria-label=\"Environment\"").nth(1).and_then(|rest| rest.split("</table>").next());
    let rows: Vec<&str> = environment.expect("it is there").split("<tr>").skip(2).collect();
    let differs = |row: &&str| row.contains(">differs<");
    assert!(rows.iter().any(|row| row.contains("-D200") && differs(row)), "{rows:?}");
    assert!(rows.iter().skip_while(|row| differs(row)).all(|row| !differs(row)), "{rows:?}");
    assert!(rows.iter().any(|row| row.contains("<td>kernel</td>") && !differs(row)), "{rows:?}");
    let words = words(&page);
    assert!(words.contains("c.json against a.json") && words.contains("d.json against a.json"), "{words}");
    assert!(words.contains("measured one after the other, so drift can look like a difference"), "{words}");
    let refused = place.diskspd("compare a.json b.json -o refused.html").run();
    refused.expect_status(3).expect_stderr(&["-b4K against -b8K", "the loads differ"]);
    assert!(!place.path("refused.html").exists());
    let table = super::page(&place, "a.json b.json d.json");
    assert_eq!(charts(&table)[..2], ["table-throughput", "table-mib"]);
    let shown = super::words(&table);
    assert!(shown.contains("Table of runs") && !shown.contains("b.json against a.json"), "{shown}");
    assert!(shown.contains("Runs differ in: block."), "{shown}");
    // For one load only if a table is requested.
    let table = super::page(&place, "a.json c.json --table");
    assert!(super::words(&table).contains("Limited by a rate of their own, not ranked"), "{table}");
}

#[test]
fn a_run_compared_with_itself_is_called_the_same() {
    let place = workplace!();
    place.diskspd("-c1M -d60 -W0 -b4K -r -L --max-ios=5000 --json a.json a.dat").run().expect_status(0);
    place.file("copy.json", &place.content("a.json"));
    let page = words(&page(&place, "a.json copy.json"));
    assert!(page.contains("Both sides are the same run"), "{page}");
    place.diskspd("compare a.json copy.json").run().expect_told(&["Both sides are the same run"]);
    place.diskspd("-c1M -d60 -W0 -b4K -r -L --max-ios=5000 --json b.json a.dat").run().expect_status(0);
    let other = place.diskspd("compare a.json b.json").run();
    assert!(!other.stdout.contains("oth sides are"), "{other}");
}

/// A run that stalled used to remove IOPS and latencies from the comparison, and the rest was called equivalent.
#[test]
fn what_cannot_be_compared_is_said() {
    let place = workplace!();
    fixed::result(&place, "a.json", fixed::USUAL);
    fixed::result(&place, "b.json", 5);
    let mut stalled: serde_json::Value = place.json("b.json");
    stalled["command_line"] = "another run".into();
    let measured = &mut stalled["time_spans"][0]["measured"];
    for kind in ["read", "write", "total"] {
        measured["total"][kind]["iops"] = 0.0.into();
        measured["total"][kind]["bytes_per_s"] = 0.0.into();
    }
    place.file("b.json", stalled.to_string().as_bytes());
    let told = words(&page(&place, "a.json b.json"));
    assert!(told.contains("Cannot tell: b.json has no I/Os"), "{told}");
    assert!(told.contains("Not compared: IOPS, MiB/s: b.json has no I/Os"), "{told}");
    place
        .diskspd("compare a.json b.json")
        .run()
        .expect_told(&["Cannot tell: b.json has no I/Os", "Not compared: IOPS, MiB/s: b.json has no I/Os"]);
}
