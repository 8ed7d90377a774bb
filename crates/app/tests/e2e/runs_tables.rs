//! `diskspd report` of many runs: one table as text, CSV, workbook and page.

use calamine::{Data, DataType as _, Reader as _, Xlsx};
use std::collections::BTreeMap;
use std::io::Cursor;
use testkit::{Workplace, workplace};

/// Results of `DiskSpd` on Windows.
const WINDOWS: [(&str, &[u8]); 3] = [
    ("win.xml", include_bytes!("../../../import/tests/data/layout-2.0.12.xml")),
    ("win.txt", include_bytes!("../../../import/tests/data/layout-2.3.txt")),
    ("new.xml", include_bytes!("../../../import/tests/data/17-F_O.xml")),
];

/// A load that ends after a fraction of a second.
const LOAD: &str = "-c1M -d60 -W0 -r -L --max-ios=2000 --engine=null";

/// Results of Windows, our own in three forms, a series, and a result of another host.
const MIXED: &str = "win.xml win.txt new.xml own.json own.xml own.txt s other.json";

fn mixed() -> Workplace {
    let place = workplace!();
    for (name, bytes) in WINDOWS {
        place.file(name, bytes);
    }
    let words = format!("{LOAD} -b4K -w30 -o8 --label k==cmd() --json own.json --xml own.xml --text own.txt a.dat");
    place.diskspd(&words).run().expect_status(0);
    place.diskspd(&format!("sweep --vary o=1,2 --vary b=4K,8K --dir s -- {LOAD} a.dat")).run().expect_status(0);
    let host = |text: &str| {
        text.split_once("\"computer_name\": \"").map(|(_, rest)| rest.split('"').next().map(str::to_owned))
    };
    let own = String::from_utf8(place.content("own.json")).expect("JSON is text");
    let name = host(&own).flatten().expect("the machine has a name");
    let other = own.replace(&format!("\"computer_name\": \"{name}\""), "\"computer_name\": \"other-host\"");
    place.file("other.json", other.as_bytes());
    place
}

/// Cells by column, a map for each row.
type Rows = Vec<BTreeMap<String, String>>;

fn csv(place: &Workplace, name: &str) -> Rows {
    let bytes = place.content(name);
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let titles = reader.headers().expect("a header").clone();
    let lines = reader.records().map(|line| line.expect("each line has each column"));
    lines.map(|line| titles.iter().map(str::to_owned).zip(line.iter().map(str::to_owned)).collect()).collect()
}

fn sheet(place: &Workplace, book: &str, sheet: &str) -> Option<Vec<Vec<Data>>> {
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(place.content(book))).expect("a workbook");
    let range = book.worksheet_range(sheet).ok()?;
    Some(range.rows().map(<[Data]>::to_vec).collect())
}

fn table(place: &Workplace, words: &str) {
    let run = place.diskspd(&format!("report {words}")).run();
    run.expect_status(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""), "{words}");
}

#[test]
fn text_csv_workbook_and_page_agree() {
    let place = mixed();
    let text = place.diskspd(&format!("report {MIXED}")).run();
    text.expect_status(0);
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 80), "{text}");
    table(&place, &format!("{MIXED} --output t.csv"));
    table(&place, &format!("{MIXED} --output t.xlsx"));
    let rows = csv(&place, "t.csv");
    let names: Vec<&str> = rows.iter().map(|row| row["file"].as_str()).collect();
    assert_eq!(names[..7], ["win.xml", "win.txt", "new.xml", "own.json", "own.xml", "own.txt", "s/point-0001.json"]);
    // Disturbed points are measured again.
    assert!(names.len() >= 11 && names.last() == Some(&"other.json"), "{names:?}");
    // Text is text and numbers are numbers, in each cell the same as in CSV.
    let cells = sheet(&place, "t.xlsx", "runs").expect("the sheet of runs");
    assert_eq!(cells.len(), rows.len() + 1);
    let titles: Vec<String> = cells[0].iter().map(ToString::to_string).collect();
    for (line, row) in cells[1..].iter().zip(&rows) {
        for (title, cell) in titles.iter().zip(line) {
            let expected = &row[title];
            match cell {
                Data::Empty => assert_eq!(expected, "", "{title}"),
                Data::Float(number) => assert_eq!(expected.parse::<f64>(), Ok(*number), "{title}"),
                Data::String(words) => assert_eq!(expected.trim_start_matches('\''), words, "{title}"),
                other => panic!("{title}: {other:?}"),
            }
        }
    }
    // Values in text and page equal those of CSV, within the stated rounding.
    text.expect_told(&["Shown to 0.01 IOPS, 0.01 MiB/s, 1 µs and 0.01 % CPU"]);
    let number = |row: &BTreeMap<String, String>, title: &str| row[title].parse::<f64>().expect("a number");
    for row in &rows {
        let (iops, mib) = (format!("{:.2}", number(row, "iops")), format!("{:.2}", number(row, "mib_per_s")));
        let mean = format!("{:.3}", number(row, "latency_mean_ns") / 1e6);
        // A long name takes two lines; its values are on the first.
        let is_row = |line: &str| {
            let shown: Vec<&str> = line.split_whitespace().collect();
            let name = shown.first().is_some_and(|name| row["file"].starts_with(name));
            name && [&iops, &mib, &mean].iter().all(|figure| shown.contains(&figure.as_str()))
        };
        assert!(text.stdout.lines().any(is_row), "{} {iops} {mib} {mean}: {text}", row["file"]);
    }
    if cfg!(feature = "pages") {
        table(&place, &format!("{MIXED} --output t.html"));
        let page = String::from_utf8(place.content("t.html")).expect("text");
        for row in &rows {
            let line = page.split("<tr>").skip(1).find(|line| line.contains(&row["file"].replace('/', "&#x2f;")));
            let line = line.unwrap_or_else(|| panic!("{}", row["file"]));
            assert!(line.contains(&format!("{:.2}", number(row, "iops"))), "{line}");
        }
    }
}

#[test]
fn what_is_rounded_unlike_or_of_another_host_is_said() {
    let place = mixed();
    table(&place, &format!("{MIXED} --output t.csv"));
    let rows = csv(&place, "t.csv");
    let row_of = |name: &str| rows.iter().find(|row| row["file"] == name).expect("a row");
    let column = |title: &str| rows.iter().map(|row| row[title].as_str()).collect::<Vec<_>>();
    let text = "rates, latencies, CPU usage";
    let xml = "latencies, CPU usage";
    assert_eq!(column("rounded")[..6], [xml, text, xml, "no", xml, text]);
    assert!(column("rounded")[6..].iter().all(|rounded| *rounded == "no"));
    assert_eq!((column("host")[0], column("host").last()), ("OLD-1", Some(&"other-host")));
    assert_eq!([&row_of("win.xml")["tool"], &row_of("win.xml")["target_paths"]], ["DiskSpd 2.0.12", "C:\\R&D\\io.dat"]);
    assert_eq!([&row_of("win.xml")["block_bytes"], &row_of("win.xml")["total_depth"]], ["8192", "8"]);
    assert_eq!(row_of("new.xml")["depth"], "4", "-O");
    // The same run in three forms, within the rounding of each.
    let (json, xml, text) = (row_of("own.json"), row_of("own.xml"), row_of("own.txt"));
    for title in [
        "label",
        "pattern",
        "mix",
        "threads",
        "depth",
        "total_depth",
        "caching",
        "engine",
        "duration_s",
        "ios",
        "verdict",
    ] {
        assert_eq!([&json[title]; 2], [&xml[title], &text[title]], "{title}");
    }
    assert_eq!(json["label"], "k==cmd()");
    let number = |row: &BTreeMap<String, String>, title: &str| row[title].parse::<f64>().expect("a number");
    for title in ["iops", "mib_per_s"] {
        assert_eq!(json[title], xml[title], "{title}");
        assert!((number(json, title) - number(text, title)).abs() <= 0.005 + 1e-9 * number(json, title), "{title}");
    }
    for title in ["latency_mean_ns", "read_p99_ns", "write_p99_9_ns"] {
        for other in [xml, text] {
            assert!((number(json, title) - number(other, title)).abs() <= 501.0, "{title}");
        }
    }
    // A series has the settings of its points.
    assert_eq!(row_of("s/point-0003.json")["point"], "'-o2 -b4K");
    assert_eq!(
        (row_of("s/point-0003.json")["series"].as_str(), row_of("s/point-0003.json")["purpose"].as_str()),
        ("s", "measure")
    );
    let run = place.diskspd(&format!("report {MIXED}")).run();
    run.expect_told(&[" runs: 4 hosts (OLD-1, lab-7, ", "other-host), not ranked"]);
    run.expect_told(&[
        "Rounded in the file: win.txt, own.txt (rates to 0.01, latencies to 1 µs, CPU usage to 0.01 %).",
    ]);
}

#[test]
fn a_label_that_looks_like_a_formula_is_text() {
    let place = workplace!();
    place.diskspd(&format!("{LOAD} -b4K --json a.json --label k=v a.dat")).run().expect_status(0);
    let own = String::from_utf8(place.content("a.json")).expect("JSON is text");
    let label = own.replace("\"key\": \"k\"", "\"key\": \"=cmd()\"");
    assert_ne!(own, label);
    place.file("b.json", label.as_bytes());
    table(&place, "a.json b.json --output t.csv");
    table(&place, "a.json b.json --output t.xlsx");
    assert_eq!(csv(&place, "t.csv")[1]["label"], "'=cmd()=v");
    let cells = sheet(&place, "t.xlsx", "runs").expect("the sheet of runs");
    let column = cells[0].iter().position(|title| *title == Data::String("label".to_owned())).expect("the column");
    assert_eq!(cells[2][column], Data::String("=cmd()=v".to_owned()));
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(place.content("t.xlsx"))).expect("a workbook");
    let formulas = book.worksheet_formula("runs").expect("the sheet");
    assert!(formulas.used_cells().all(|(_, _, formula)| formula.is_empty()), "{formulas:?}");
}

#[test]
fn a_series_gives_a_pivot_and_a_repeated_one_a_curve() {
    let place = mixed();
    let printed = place.diskspd("report s").run();
    printed.expect_status(0).expect_stdout(&["The points\n"]);
    table(&place, "s --output s.xlsx --ssds 4 --copies 2");
    let rows = sheet(&place, "s.xlsx", "pivot").expect("two settings differ");
    assert_eq!(
        rows[0][0].to_string(),
        "Median of the runs with the same settings, by block_bytes and depth (with total_depth)"
    );
    let numbers: Vec<Vec<f64>> =
        rows.iter().skip(4).take(2).map(|row| row.iter().filter_map(Data::as_f64).collect()).collect();
    table(&place, "s --output s.csv");
    let runs = csv(&place, "s.csv");
    for numbers in numbers {
        let [block_bytes, one, two] = numbers[..] else { panic!("{rows:?}") };
        for (depth, iops) in [(1.0, one), (2.0, two)] {
            let is_it = |row: &&BTreeMap<String, String>| {
                (row["block_bytes"].parse(), row["depth"].parse()) == (Ok(block_bytes), Ok(depth))
            };
            let of_point: Vec<f64> =
                runs.iter().filter(is_it).map(|row| row["iops"].parse().expect("a number")).collect();
            let (low, high) =
                of_point.iter().fold((f64::MAX, 0.0f64), |(low, high), iops| (low.min(*iops), high.max(*iops)));
            assert!((low..=high).contains(&iops), "{iops}: {of_point:?}");
        }
    }
    table(&place, "s/point-0001.json s/point-0003.json --output c.xlsx");
    assert!(sheet(&place, "c.xlsx", "pivot").is_none());
    let rows = sheet(&place, "c.xlsx", "curve").expect("one setting differs");
    assert_eq!([rows[2][0].to_string(), rows[2][1].to_string()], ["depth", "iops"]);
    assert!(sheet(&place, "s.xlsx", "runs").is_some_and(|rows| rows.len() == runs.len() + 1));
    // The same table gives the same bytes; a modified workbook is not replaced.
    table(&place, "s --output again.xlsx --ssds 4 --copies 2");
    assert_eq!(place.content("s.xlsx"), place.content("again.xlsx"));
    table(&place, "s --output again.xlsx");
    place.file("changed.xlsx", &place.content("again.xlsx"));
    let run = place.diskspd("report s --output changed.xlsx").run();
    run.expect_status(3).expect_stderr(&["the existing file is not a workbook written by diskspd"]);
}

// Shows data-safety: rows added to a table of runs
#[test]
fn rows_are_added_below_the_same_columns_only() {
    let place = mixed();
    table(&place, "own.json --output t.csv --append");
    let first = place.content("t.csv");
    table(&place, "win.xml s --output t.csv --append");
    let (both, count) = (place.content("t.csv"), csv(&place, "t.csv").len());
    assert!(both.starts_with(&first) && count >= 6);
    // The file of a run is listed twice if it is given twice.
    table(&place, "own.json own.json --output t.csv --append");
    assert_eq!(csv(&place, "t.csv").len(), count + 2);
    let refused = |name: &str, bytes: &[u8], reason: &str| {
        place.file(name, bytes);
        let run = place.diskspd("report own.json --append --output").arg(name).run();
        run.expect_status(3).expect_stderr(&[reason]);
        assert_eq!(place.content(name), bytes, "it is unchanged");
    };
    let text = String::from_utf8(first).expect("CSV is text");
    let other = text.replacen(",verdict,", ",judgement,", 1);
    refused("other.csv", other.as_bytes(), "its columns differ: it lacks verdict, it alone has judgement");
    refused("crlf.csv", text.replace('\n', "\r\n").as_bytes(), "other line ends or a byte order mark");
    refused("notes.csv", b"a,b\n1,2\n", "its first line has none of the columns");
    let half = &text.as_bytes()[..text.len() - 5];
    place.file("half.csv", half);
    let run = place.diskspd("report own.json --append --output half.csv").run();
    run.expect_status(1).expect_stderr(&["its last line is not whole"]);
    assert_eq!(place.content("half.csv"), half);
    let run = place.diskspd("report own.json missing.json --append --output t.csv").run();
    run.expect_status(1).expect_stderr(&["cannot read 'missing.json'"]);
    assert_eq!(csv(&place, "t.csv").len(), count + 2, "nothing is added");
}

#[test]
fn what_cannot_be_read_is_named_and_nothing_is_written() {
    let place = mixed();
    place.file("broken.json", b"{\"schema\": \"diskspd-result\", ");
    place.file("c\x1b[31m.txt", b"nothing");
    for output in ["t.csv", "t.xlsx", "t.html"] {
        if output == "t.html" && !cfg!(feature = "pages") {
            continue;
        }
        let run = place.diskspd("report --table own.json broken.json missing --output").arg(output).run();
        run.expect_status(1).expect_stderr(&["'broken.json': it is not a result", "cannot read 'missing'"]);
        assert!(!place.path(output).exists(), "{output}");
    }
    let run = place.diskspd("report own.json").arg("c\x1b[31m.txt").run();
    run.expect_status(1).expect_stderr(&["'c\\x1b[31m.txt': not a DiskSpd result"]);
    run.expect_stdout(&[" own.json "]);
    assert!(!run.stderr.contains('\x1b'), "{run}");
    let run = place.diskspd("report own.json own.xml --output own.json").run();
    run.expect_status(3);
}

#[test]
fn a_directory_of_results_has_a_row_for_each_run() {
    let place = mixed();
    std::fs::create_dir(place.path("d")).expect("a directory");
    for name in ["own.json", "own.xml", "own.txt", "win.xml"] {
        place.file(&format!("d/{name}"), &place.content(name));
    }
    place.file("d/notes.txt", b"of somebody");
    let run = place.diskspd("report d --output t.csv").run();
    run.expect_status(0).expect_stderr(&["WARNING: 'd/notes.txt': not a DiskSpd result"]);
    let rows = csv(&place, "t.csv");
    let names: Vec<&str> = rows.iter().map(|row| row["file"].as_str()).collect();
    assert_eq!(names, ["d/own.json", "d/win.xml"], "of one run the most exact form");
    // A run whose file is missing has the values of the index.
    std::fs::remove_file(place.path("s/point-0002.json")).expect("it is there");
    let run = place.diskspd("report s --output s.csv").run();
    run.expect_status(0).expect_stderr(&["its row has only the figures of the index"]);
    let rows = csv(&place, "s.csv");
    let row = rows.iter().find(|row| row["file"] == "s/point-0002.json").expect("its row stays");
    assert_eq!(row["target_paths"], "");
    assert!(row["iops"].parse::<f64>().is_ok_and(|iops| iops > 0.0));
}

#[test]
fn results_of_open_loops_and_flushes_have_the_latencies_that_are_waited_for() {
    let place = workplace!();
    let words = "-c1M -d1 -W0 -b4K -r -w100 -L --fdatasync-every=1 --max-ios=200 --json f.json --text f.txt a.dat";
    place.diskspd(words).run().expect_status(0);
    table(&place, "f.json f.txt --output t.csv");
    let rows = csv(&place, "t.csv");
    assert!(rows.iter().all(|row| row["latency_mean_ns"].is_empty() && !row["write_mean_ns"].is_empty()), "{rows:?}");
    assert!(!rows[0]["commit_p99_ns"].is_empty() && !rows[0]["flush_iops"].is_empty());
    let per_s = |row: &BTreeMap<String, String>| row["flush_iops"].parse::<f64>().expect("flushes per second");
    // Text has three digits.
    assert!((per_s(&rows[0]) - per_s(&rows[1])).abs() <= 0.005 * per_s(&rows[0]), "{rows:?}");
    assert_eq!(rows[1]["commit_p99_ns"], "", "commits are not read from text");
}
