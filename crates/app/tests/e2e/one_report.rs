//! Text, page and JSON of a result have the same contents in the same words.

use crate::pages::page;
use serde_json::Value;
use std::collections::BTreeMap;
use testkit::{Workplace, workplace};

/// A load that ends after a fraction of a second.
const LOAD: &str = "-c1M -d60 -W0 -b4K -r -L --max-ios=2000 --engine=null a.dat";

/// The text after each heading of a report.
type Brief = BTreeMap<&'static str, String>;

/// The headings, as text and as pages have them.
const HEADINGS: [(&str, &str); 4] =
    [("Measured", "Measured"), ("On", "On"), ("Trust", "Can it be trusted?"), ("Next", "Next")];

/// The lines that begin with a heading and those below it.
fn of_text(text: &str) -> Brief {
    let mut brief = Brief::new();
    for (heading, _) in HEADINGS {
        let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("{heading:<10}")));
        let first = lines.next().unwrap_or_else(|| panic!("{heading}: {text}"));
        let rest = lines.take_while(|line| line.starts_with("          "));
        let words: Vec<&str> = [&first[10..]].into_iter().chain(rest).flat_map(str::split_whitespace).collect();
        brief.insert(heading, words.join(" "));
    }
    brief
}

/// The rows of the brief of a page; without an answer the first is above its table.
fn of_page(page: &str) -> Brief {
    let came_out = page.split("<p class=\"came-out\">").nth(1).and_then(|rest| rest.split("</p>").next());
    let row = |heading: &str| {
        let rest = page.split(&format!("<dt>{heading}</dt><dd>")).nth(1)?;
        rest.split("</dd>").next()
    };
    let told = HEADINGS.map(|(heading, on_page)| {
        let html = row(on_page).or(came_out.filter(|_| heading == "Measured"));
        (heading, plain(html.unwrap_or_else(|| panic!("{on_page}: {page}"))))
    });
    told.into_iter().collect()
}

/// Text without its markup.
fn plain(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        text += part.split_once('>').map_or(part, |(_, text)| text);
    }
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#x2f;", "/"), ("&amp;", "&")];
    let text = marks.iter().fold(text, |text, (mark, character)| text.replace(mark, character));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn expect_one_report(place: &Workplace, text: &str, sources: &str) {
    assert_eq!(of_text(text), of_page(&page(place, sources)), "{sources}");
}

#[test]
fn series_say_on_their_pages_what_they_print() {
    let place = workplace!();
    for (number, series) in [
        "sweep --vary o=1,2",
        "sweep --vary b=4K,8K",
        "sweep --vary w=0,50",
        "sweep --vary b=4K,8K --vary o=1,2",
        "sweep --total-depth 2",
        "repeat --runs 2",
        "ab --pairs 3 --a -o1 --b -o2",
    ]
    .into_iter()
    .enumerate()
    {
        let run = place.diskspd(&format!("{series} --dir d{number} -- {LOAD}")).run();
        assert!([Some(0), Some(6)].contains(&run.code()), "{run}");
        expect_one_report(&place, &run.stdout, &format!("d{number}"));
    }
    let streams = place.diskspd("interference --dir i -- -c1M -d1 -W0 --engine=null -g500i");
    let run = streams.arg("--stream=a: -b4K").arg("--stream=b: -b8K").arg("a.dat").run();
    run.expect_status(0);
    expect_one_report(&place, &run.stdout, "i");
}

#[test]
fn comparisons_and_recordings_say_on_their_pages_what_they_print() {
    let place = workplace!();
    for name in ["a", "b"] {
        place.diskspd(&format!("--json {name}.json {LOAD}")).run().expect_status(0);
    }
    let run = place.diskspd("compare a.json b.json").run();
    run.expect_status(0);
    expect_one_report(&place, &run.stdout, "a.json b.json");
    place.diskspd("monitor --record m.jsonl -sc 1").run().expect_status(0);
    let run = place.diskspd("report m.jsonl").run();
    run.expect_status(0);
    expect_one_report(&place, &run.stdout, "m.jsonl");
}

#[test]
fn runs_say_on_their_pages_and_in_json_the_same() {
    let place = workplace!();
    place.diskspd(&format!("--json run.json {LOAD}")).run().expect_status(0);
    let preset = place.diskspd("preset run desktop -c8M -d60 -W0 --max-ios=100 --json preset.json b.dat").run();
    preset.expect_status(0);
    for name in ["run.json", "preset.json"] {
        let result: Value = place.json(name);
        let brief_text =
            |key: &str| result["brief"][key].as_str().unwrap_or_else(|| panic!("{key}: {result}")).to_owned();
        let page = of_page(&page(&place, name));
        let next = [brief_text("next"), brief_text("command")].join(" ");
        let in_json = Brief::from([
            ("Measured", brief_text("measured")),
            ("On", brief_text("on")),
            ("Trust", brief_text("trust")),
            ("Next", next.trim_end().to_owned()),
        ]);
        assert_eq!(page, in_json, "{name}");
        assert!(brief_text("answer").contains(": ") || name == "preset.json", "{result}");
    }
    // It is written, never read back.
    let text = String::from_utf8(place.content("run.json")).expect("text");
    let other = text.replacen("\"trust\": \"", "\"trust\": \"unheard of ", 1);
    assert_ne!(text, other);
    place.file("run.json", other.as_bytes());
    place.diskspd("report run.json --output again.json").run().expect_status(0);
    assert_eq!(String::from_utf8(place.content("again.json")).expect("text"), text);
}
