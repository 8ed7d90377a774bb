//! Presets that are several series of runs.

use calamine::{Reader, Xlsx};
use serde_json::Value;
use std::fs;
use testkit::{Workplace, workplace};

fn entries(place: &Workplace, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(place.path(folder)).expect("the directory is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Short runs; activity of other processes is reported in the answers.
const SHORT: &str = "-c1M -d1 -W0 --max-ios=50";

#[test]
fn a_baseline_is_checked_announced_run_summed_up_and_cleaned_up() {
    let place = workplace!();
    place.file("mine.dat", &[1; 4096]);
    let run = |more: &str| place.diskspd("preset run volume-baseline --dir b").args(more).run();
    // Neither series begins before all are checked.
    run("-c1M -d1 mine.dat").expect_status(3).expect_stderr(&["mine.dat"]);
    assert_eq!(entries(&place, "."), ["mine.dat"]);
    let plan = run(&format!("--plan --quick {SHORT} t.dat"));
    plan.expect_status(0)
        .expect_stderr(&["6 series, 63 runs at least: 1 min 3 s plus file creation; 3MiB to create targets"]);
    assert_eq!(plan.stdout.lines().filter(|line| line.starts_with("diskspd ")).count(), 39, "{plan}");
    assert_eq!(entries(&place, "."), ["mine.dat"]);
    let quick = run("--plan --quick -c1M t.dat");
    quick.expect_status(0).expect_stderr(&["6 series, 63 runs at least: 9 min 27 s plus file creation"]);

    let words = format!("--against disk.dat --ssds 2 --copies 2 --delete-after {SHORT} t.dat");
    let made = run(&words);
    // 4: the check of the machine before the runs failed.
    assert!(matches!(made.code(), Some(0 | 4 | 6)), "{made}");
    made.expect_told(&[
        "RESULT CHECK OF FOUND",
        "Summary",
        "the volume against one disk",
        "queue depth until the plateau",
        "whether the peak lasts",
    ]);
    let documents = [
        cfg!(feature = "pages").then_some(("baseline.html", "page")),
        Some(if cfg!(feature = "sheets") { ("runs.xlsx", "spreadsheet") } else { ("runs.csv", "table") }),
    ];
    let documents: Vec<(&str, &str)> = documents.into_iter().flatten().collect();
    let told: Vec<String> = documents.iter().map(|(name, kind)| format!("b/{name} ({kind})")).collect();
    made.expect_told(&[&format!("Results {}", told.join(", "))]);
    let series = ["01-disk", "02-files", "03-depth", "04-balance", "05-sequential", "06-mix", "07-sustained"];
    let all: Vec<String> =
        series.into_iter().chain(documents.iter().map(|(name, _)| *name)).map(str::to_owned).collect();
    assert_eq!(entries(&place, "b"), all);
    let titles = ["The volume against one disk", "Queue depth until the plateau", "Whether the peak lasts"];
    for (name, _) in documents.iter().filter(|(name, _)| name.ends_with("html")) {
        let page = String::from_utf8(place.content(&format!("b/{name}"))).expect("text");
        assert!(titles.iter().all(|title| page.contains(title)));
    }
    let (table, _) = documents[documents.len() - 1];
    let before = place.content(&format!("b/{table}"));
    if table.ends_with("xlsx") {
        let mut book: Xlsx<_> = calamine::open_workbook(place.path("b/runs.xlsx")).expect("a workbook");
        let runs = book.worksheet_range("runs").expect("a sheet of runs").height() - 1;
        assert!(runs >= 75, "{runs}");
    }
    assert_eq!(entries(&place, "."), ["b", "mine.dat"], "what was created is gone");
    let index = place.json::<Value>("b/06-mix/sweep.json");
    assert_eq!((&index["points"][13]["settings"][0]["value"], &index["devices"]["ssds"]), (&"100".into(), &2.into()));

    // Complete series are not run again.
    fs::remove_dir_all(place.path("b/07-sustained")).expect("a directory of results");
    let resumed = run(&format!("--resume {words}"));
    assert!(matches!(resumed.code(), Some(0 | 6)), "{resumed}");
    assert_eq!(resumed.stdout.lines().filter(|line| line.starts_with("Run ")).count(), 10, "{resumed}");
    assert!(
        !resumed.stdout.lines().any(|line| line.starts_with("Param ") && !line.ends_with("(repeated)")),
        "{resumed}"
    );
    assert_eq!(entries(&place, "b"), all);
    let table = format!("b/{table}");
    assert_ne!(place.content(&table), before, "its own are replaced");
    place.file(&table, b"mine");
    run(&format!("--resume {words}")).expect_status(3).expect_stderr(&[&table, "move it away"]);
    assert_eq!(place.content(&table), b"mine");
    fs::remove_file(place.path(&table)).expect("a file");
    let other = run(&format!("--resume {words}").replace("-d1", "-d2"));
    other.expect_status(3).expect_stderr(&["'b/01-disk' was begun with other options"]);
    run(&words).expect_status(3).expect_stderr(&["'b' is not empty; give another --dir, or go on there with --resume"]);
    let one = place.diskspd("preset run oltp --quick -c1M t.dat").run();
    one.expect_status(3).expect_stderr(&["preset 'oltp' is one run: --dir, --quick"]);
}

#[test]
fn a_drive_report_is_one_grid() {
    let place = workplace!();
    let plan = place.diskspd("preset run drive-report --plan -c1M t.dat").run();
    plan.expect_status(0).expect_stderr(&["1 series, 72 runs at least: 14 min 24 s"]);
    assert_eq!(plan.stdout.lines().count(), 72);
    let run = place.diskspd("preset run drive-report -c256K -d1 -W0 --max-ios=10 t.dat").run();
    assert!(matches!(run.code(), Some(0 | 4)), "{run}");
    let table = String::from_utf8(place.content("drive-report/01-grid/table.csv")).expect("text");
    assert!(table.starts_with("b,pattern,w,o,point,"), "{table}");
    assert!(table.lines().count() >= 73, "{table}");
}

#[test]
fn a_copy_reads_one_file_and_writes_another() {
    let place = workplace!();
    let words = "preset run file-copy -c2M -d1 -W0 --max-ios=2000 --json r.json";
    let run = place.diskspd(words).arg("from a.dat").arg("to.dat").run();
    run.expect_status(0);
    let streams = place.json::<Value>("r.json")["time_spans"][0]["measured"]["streams"].clone();
    let bytes = |index: usize, kind: &str| streams[index]["figures"][kind]["bytes"].as_u64().expect("a count");
    assert_eq!((&streams[0]["name"], &streams[1]["name"]), (&"read".into(), &"write".into()));
    assert!(
        bytes(0, "read") > 0 && bytes(0, "write") == 0 && bytes(1, "write") > 0 && bytes(1, "read") == 0,
        "{streams}"
    );
    let run = place.diskspd(words).arg("--replace-output").arg("from a.dat").run();
    run.expect_status(3).expect_stderr(&["load 'copy': it needs 2 targets, not 1"]);
    place
        .diskspd("preset show file-copy")
        .run()
        .expect_status(0)
        .expect_stdout(&["-w0 <target 1>", "-w100 -t1 -o8 <target 2>"]);
}
