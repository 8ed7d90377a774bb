//! Untrusted text is shown, and never interpreted by a terminal.

use std::ffi::OsStr;
use std::path::Path;
use testkit::{LoopDevice, Workplace, or_skip, workplace};

/// A name with a line feed, ESC, a C1 control character, a line separator and an override of the text's direction.
const NAME: &str = "=a\ntotal: 9|\u{1b}[2J\u{9b}31m\u{2028}\u{202e}b.dat";

/// Its escaped form.
const SHOWN: &str = r"=a\x0atotal: 9|\x1b[2J\x9b31m\u{2028}\u{202e}b.dat";

fn is_unprintable(character: char) -> bool {
    (character.is_control() && character != '\n' && character != '\t')
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn expect_printable(what: &str, text: &str) {
    let found = text.chars().find(|&character| is_unprintable(character));
    assert_eq!(found, None, "{what}: {text:?}");
}

fn content(place: &Workplace, name: &str) -> String {
    String::from_utf8(place.content(name)).expect("text")
}

#[test]
fn names_of_files_are_shown_in_every_form() {
    let place = workplace!();
    let path = place.path(NAME);
    let run = place
        .diskspd("-c64K -d1 -W0 -b4K -v -L --label")
        .arg("a=\u{1b}[31m\u{202e}")
        .args("--json r.json --xml r.xml --csv r.csv --text r.txt --live-json live.jsonl")
        .arg(&path)
        .run();
    run.expect_status(0).expect_stdout(&[SHOWN, r"Label: a=\x1b[31m\u{202e}"]).expect_stderr(&[SHOWN]);
    expect_printable("stdout", &run.stdout);
    expect_printable("stderr", &run.stderr);
    for name in ["r.json", "r.xml", "r.csv", "r.txt", "live.jsonl"] {
        expect_printable(name, &content(&place, name));
    }
    // A cell that begins with the name would be a formula without the path before it.
    assert!(content(&place, "r.csv").contains(SHOWN));
    let json: serde_json::Value = place.json("r.json");
    let target = &json["profile"]["time_spans"][0]["targets"][0]["path"];
    assert_eq!(target.as_str().map(OsStr::new), Some(path.as_os_str()), "the document holds the very name");
    for (name, kind) in [("r.json", "page.html"), ("r.xml", "again.json"), ("r.json", "chart.svg")] {
        place.diskspd("report").args(name).args("--output").args(kind).run().expect_status(0);
        expect_printable(kind, &content(&place, kind));
    }
    for words in ["report r.json", "report r.xml --slowest", "compare r.json r.json", "report r.txt"] {
        let run = place.diskspd(words).run();
        expect_printable(words, &run.stdout);
        expect_printable(words, &run.stderr);
    }
}

#[test]
fn errors_show_what_was_typed_and_not_all_of_it() {
    let place = workplace!();
    place.file("p.toml", "title = \"\u{1b}[2Jx\u{202e}\"\n[[load]]\nargs = \"-b4K\"\n".as_bytes());
    place.file("bad.json", "{\"schema\":\"\u{1b}[31m\u{202e}\"}".as_bytes());
    place.file("bad.xml", "<Profile><\u{202e}x>\u{9b}31m</\u{202e}x></Profile>".as_bytes());
    let long = "\u{1b}".repeat(100_000);
    for (words, argument) in [
        ("-c1M -d60 -W0 --max-ios=10", NAME),
        ("-d1", "-b\u{1b}[31m"),
        ("-d1", "--lable=\u{1b}\u{202e}"),
        ("--label", "\u{1b}\n"),
        ("report", "bad.json"),
        ("report", "nowhere\u{1b}\u{202e}.json"),
        ("preset show", "p.toml"),
        ("preset run", "\u{1b}\u{202e}"),
        ("sweep --vary", "o=\u{1b}[2J"),
        ("check", "\u{1b}\u{2029}"),
        ("monitor", "\u{1b}\u{2029}"),
        ("compare --fail-if", "\u{9b}>1"),
        ("-ye\u{9b}31m", "-d1"),
        ("", "-Xbad.xml"),
        ("-d1", &long),
        ("", &format!("-b{long}")),
        ("", &format!("--json={long}")),
        ("", &format!("-{long}")),
    ] {
        let run = place.diskspd(words).arg(argument).run();
        let what: String = argument.chars().take(40).collect();
        expect_printable(&what, &run.stdout);
        expect_printable(&what, &run.stderr);
    }
    for argument in [format!("-b{}", "x".repeat(100_000)), format!("-{}", "x".repeat(100_000))] {
        let run = place.diskspd("").arg(argument).run();
        run.expect_status(3);
        assert!(run.stderr.len() < 1000, "{} bytes", run.stderr.len());
    }
}

#[test]
fn the_backing_file_of_a_device_is_shown() {
    let place = workplace!();
    let image = place.path("i\u{1b}[2J\u{202e}.img");
    std::fs::write(&image, vec![0; 1 << 20]).expect("1 MiB fits");
    let device = or_skip!(LoopDevice::over(&place, Path::new(&image)));
    for words in ["devices", "devices --json"] {
        let run = place.diskspd(words).run();
        run.expect_status(0);
        expect_printable(words, &run.stdout);
    }
    let refused = place.short_run("-w100 -b4K").arg(&device.path).run();
    refused.expect_status(3).expect_stderr(&["--destroy="]);
    expect_printable("the line to paste", &refused.stderr);
}
