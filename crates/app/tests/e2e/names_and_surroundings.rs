//! Unusual names and environments: they do not change the measurement, the report or the files touched.

use roxmltree::Document;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use testkit::{Workplace, or_skip, skip, tool, workplace};

/// Bytes of the longest path that the kernel takes, without the NUL.
const PATH_BYTES_MAX: usize = 4095;

/// A run on a target of this name, written in every form; returns the XML and the JSON.
fn run_on(place: &Workplace, name: &OsStr) -> (String, Value) {
    let run = place
        .diskspd("-c64K -d60 -W0 -b4K -o1 -t1 --max-ios=8 -L --json=r.json --xml=r.xml --csv=r.csv")
        .arg(name)
        .run();
    run.expect_status(0);
    assert!(run.stdout.contains("Total IO") && !run.stdout.contains('\u{7}'), "{run}");
    // Regardless of the name, each row of a table is one line.
    let rows = run.stdout.lines().filter(|line| line.starts_with("     0 |")).count();
    assert_eq!(rows, 3, "{run}");
    let target = place.folder().join(name);
    assert_eq!(fs::metadata(&target).expect("the target is there").len(), 65_536);
    let json = place.json("r.json");
    (String::from_utf8(place.content("r.xml")).expect("it is UTF-8"), json)
}

#[test]
fn any_name_of_a_file_is_a_target() {
    let place = workplace!();
    let names = [
        "with blanks  in it",
        "a--b",
        "-r",
        "two\nlines",
        "bell\u{7}",
        "tab\t",
        "<&\"'>",
        "100%s",
        "ü–ß",
        "*1",
        "report",
        "#1",
        "a=b,c",
        "'",
    ];
    for name in names {
        // A name that begins like an option, or is a subcommand's, is written with a directory.
        let written = PathBuf::from(".").join(name);
        let (xml, json) = run_on(&place, written.as_os_str());
        let document = Document::parse(&xml).unwrap_or_else(|error| panic!("{name:?}: {error}\n{xml}"));
        let path = document.descendants().find(|node| node.has_tag_name("Path")).and_then(|node| node.text());
        // XML has no control characters.
        if !name.contains('\u{7}') {
            assert_eq!(path, written.to_str(), "{name:?}");
        }
        assert_eq!(json["profile"]["time_spans"][0]["targets"][0]["path"].as_str(), written.to_str(), "{name:?}");
        let text = place.diskspd("report r.json").run();
        text.expect_status(0).expect_stdout(&["Total IO"]);
    }
}

#[test]
fn a_name_that_is_no_text_is_a_target_and_kept_to_the_byte() {
    let place = workplace!();
    let name = OsString::from_vec(b"./\xff\xfe b".to_vec());
    let (xml, json) = run_on(&place, &name);
    Document::parse(&xml).expect("it is well-formed");
    // Saved results contain it in a form from which the bytes can be restored.
    let path = &json["profile"]["time_spans"][0]["targets"][0]["path"];
    assert!(!path.is_null() && path.as_str() != Some("./\u{fffd}\u{fffd} b"), "{path}");
    // As the path of results and of a profile too.
    let result = OsString::from_vec(b"\xffr.json".to_vec());
    let option = [OsStr::new("--json"), &result];
    let run = place.diskspd("-d1 -W0 -b4K --max-ios=8").arg(option[0]).arg(option[1]).arg(&name).run();
    // The value of an option must be text; it is refused by name, and nothing is created.
    run.expect_status(3).expect_stderr(&["not valid UTF-8"]);
    assert!(!place.folder().join(&result).exists());
}

#[test]
fn the_longest_path_works_and_a_longer_one_is_refused() {
    let place = workplace!();
    // Directories of 200 bytes below ours, and a name that fills the rest.
    let mut path = place.folder().to_owned();
    while path.as_os_str().len() + 202 < PATH_BYTES_MAX - 1 {
        path.push("d".repeat(200));
    }
    let left = PATH_BYTES_MAX - path.as_os_str().len() - 1;
    let name = path.join("f".repeat(left.min(250)));
    assert!(name.as_os_str().len() > PATH_BYTES_MAX - 200, "{}", name.as_os_str().len());
    let (_, json) = run_on(&place, name.as_os_str());
    assert_eq!(json["profile"]["time_spans"][0]["targets"][0]["path"].as_str(), name.to_str());
    // Longer than the kernel accepts, as a whole or a part of it.
    for (name, status, expected) in [
        ("x".repeat(5000), 3, "is longer than Linux allows (4095 bytes)"),
        (format!("./{}", "y/".repeat(3000)), 3, "is longer than Linux allows (4095 bytes)"),
        (format!("{}/file", "z".repeat(256)), 1, "File name too long"),
    ] {
        let run = place.short_run("-c64K").arg(&name).run();
        run.expect_status(status).expect_stderr(&[expected]);
    }
}

#[test]
fn numbers_are_the_same_in_every_locale() {
    let place = workplace!();
    let words = "-Rpxml -g1500i -r -rdpct33/25 -W0 *1";
    let plain = place.diskspd(words).run();
    for locale in ["de_DE.UTF-8", "de_DE", "ar_EG.UTF-8", "nonsense", ""] {
        let run = place.diskspd(words).env("LC_ALL", locale).env("LANG", locale).env("LC_NUMERIC", locale).run();
        run.expect_status(0);
        assert_eq!((run.stdout, run.stderr), (plain.stdout.clone(), plain.stderr.clone()), "{locale}");
    }
    place.create_file("a.dat", "-c64K");
    let run = place.short_run("-b4K -L a.dat").env("LC_ALL", "de_DE.UTF-8").run();
    run.expect_status(0);
    let total = run.stdout.lines().find(|line| line.starts_with("total:")).expect("a total");
    assert!(total.contains('.') && !total.contains(','), "{total}");
}

#[test]
fn an_empty_environment_is_enough() {
    let place = workplace!();
    let env = or_skip!(tool("env"));
    for words in ["-c64K -d1 -W0 -b4K --max-ios=8 a.dat", "--version", "devices", "-Rs", "preset list"] {
        let run = place.tool(&env).arg("-i").arg(place.program()).args(words).run();
        run.expect_status(0);
        assert!(!run.stdout.is_empty(), "{words}");
    }
}

/// The output of a terminal session with this in the environment.
fn at_a_terminal(place: &Workplace, script: &OsStr, name: &str, value: &str) -> Result<String, String> {
    let line = format!("{} -d2 -W0 -b4K a.dat", place.program().display());
    let run = place.tool(script).args("-qec").arg(line).arg("/dev/null").env("TERM", "xterm").env(name, value).run();
    if run.code() == Some(0) {
        Ok(run.stdout.clone())
    } else {
        Err(format!("no terminal can be made here: {}", run.stderr.trim()))
    }
}

#[test]
fn a_terminal_that_wants_no_colours_gets_none() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let script = or_skip!(tool("script"));
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let shown = or_skip!(at_a_terminal(&place, script.as_os_str(), name, value));
        assert!(shown.contains("Total IO"), "{shown}");
        // Sequences that set colours end with m.
        let sequences = shown.split("\u{1b}[").skip(1);
        let colours =
            sequences.filter(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'));
        assert_eq!(colours.count(), 0, "{name}={value}: {shown:?}");
        if value == "dumb" {
            assert!(!shown.contains('\u{1b}'), "a terminal that cannot move its cursor: {shown:?}");
        }
    }
}

#[test]
fn without_the_kernels_account_of_the_process_a_run_goes_on() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    if !testkit::is_root() {
        skip!("mount namespaces need root");
    }
    let unshare = or_skip!(tool("unshare"));
    for hidden in ["/proc/$$/io", "/proc/$$/status", "/proc/stat", "/proc/self/mountinfo", "/proc/diskstats"] {
        let hide = format!("mount --bind /dev/null {hidden} && exec \"$0\" -d1 -W0 -b4K -L --json=r.json a.dat");
        let run = place.tool(&unshare).args("--mount sh -c").arg(hide).arg(place.program()).run();
        if run.stderr.contains("mount: ") {
            skip!("{hidden} cannot be hidden here: {}", run.stderr.trim());
        }
        run.expect_status(0).expect_stdout(&["Total IO"]);
        assert!(!run.stderr.contains("panicked"), "{run}");
    }
}
