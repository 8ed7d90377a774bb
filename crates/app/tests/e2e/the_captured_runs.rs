//! Behaviour of DiskSpd 2.2.0 with targets that are missing, empty or too small: the rows of `command-lines.jsonl` that
//! are whole runs end with the same exit status here.

use serde_json::Value;
use testkit::{HugePages, workplace};

/// Rows where we differ intentionally, with our exit status and the reason; docs/differences.md has a line for each.
const DIFFERENT: [(&str, i32, &str); 2] = [
    ("0871", 3, "-b0 is refused; the original crashes"),
    ("0876", 3, "#<n> is refused; the original looks for a drive"),
];

/// Number of such rows.
const ROWS: usize = 15;

#[test]
fn captured_runs_end_with_the_same_status() {
    let text = include_str!("../../../cli/tests/data/command-lines.jsonl");
    let mut rows = 0;
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).expect("a row is JSON");
        if row["status"] != "run" {
            continue;
        }
        rows += 1;
        let id = row["id"].as_str().expect("an id");
        let arguments: Vec<&str> =
            row["args"].as_array().expect("arguments").iter().filter_map(Value::as_str).collect();
        let huge_pages = HugePages::as_they_are().expect("a file in the folder for temporary ones");
        if arguments.contains(&"-l") && huge_pages.free() > 0 {
            testkit::say_skipped(format_args!("huge pages are free here (row {id})"));
            continue;
        }
        let place = workplace!();
        place.file("pattern.bin", &[7; 10_000]);
        place.file("small.dat", &[7; 1000]);
        place.file("test64k.dat", &vec![7; 65_536]);
        place.file("empty.dat", b"");
        let program = arguments.iter().fold(place.diskspd(""), testkit::Program::arg);
        let run = program.run();
        let different = DIFFERENT.iter().find(|(other, ..)| *other == id);
        let original = row["rc"].as_i64().and_then(|code| i32::try_from(code).ok()).expect("an exit status");
        let expected = different.map_or(original, |(_, code, _)| *code);
        run.expect_status(expected);
        assert!(!run.stderr.is_empty(), "row {id} says nothing\n{run}");
        // DiskSpd shows the profile and the machine, too. Missing huge pages are detected once the run has begun.
        if expected == 1 && original == 1 && row["stdout"].as_str().is_some_and(|text| text.contains("Results for")) {
            let has_begun = run.stdout.contains("The test failed before the measurements began.");
            assert!((run.stdout.is_empty() || has_begun) && run.stderr.starts_with("ERROR: "), "row {id}\n{run}");
        }
        for (name, size) in [("small.dat", 1000), ("test64k.dat", 65_536), ("empty.dat", 0)] {
            assert_eq!(place.content(name), vec![7; size], "row {id} changed {name}");
        }
    }
    assert_eq!(rows, ROWS, "rows got lost");
}
