//! Single charts, and refusals.

use testkit::workplace;

#[test]
fn one_chart_is_a_file_of_its_own() {
    let place = workplace!();
    place.diskspd("-c1M -d60 -W0 -b4K -r -L --max-ios=100000 --json r.json a.dat").run().expect_status(0);
    for (words, title) in
        [("", "I/Os per second"), ("--chart heat", "Latency heat map"), ("--chart cpu", "CPU usage of the machine")]
    {
        place.diskspd("report r.json -o chart.svg").args(words).run().expect_status(0);
        let svg = String::from_utf8(place.content("chart.svg")).expect("text");
        let document = roxmltree::Document::parse(&svg).expect("it is XML");
        let about = document.descendants().find(|node| node.has_tag_name("desc")).and_then(|node| node.text());
        let about = about.expect("what was measured");
        assert!(about.contains(" read, QD ") && about.contains(" UTC "), "{about}");
        let shown: String =
            document.descendants().filter(|node| node.has_tag_name("text")).filter_map(|n| n.text()).collect();
        assert!(shown.contains(" read, QD "), "it is drawn, too: {shown}");
        let root = document.root_element();
        assert_eq!((root.tag_name().name(), root.attribute("width")), ("svg", Some("900")));
        let named = root.children().find(|node| node.has_tag_name("title")).and_then(|node| node.text());
        assert_eq!(named, Some(title));
        assert!(root.descendants().any(|node| node.tag_name().name() == "text"), "axes have words");
    }
    place.diskspd("report r.json -o chart.png --chart distribution").run().expect_status(0);
    let png = place.content("chart.png");
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((number(16), number(20)), (1800, 840), "twice as fine as the SVG");
    assert!(png.len() > 5_000, "there is something in it");
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let place = workplace!();
    place.diskspd("-c1M -d1 -W0 -b4K --json r.json a.dat").run().expect_status(0);
    std::fs::create_dir(place.path("empty")).expect("our own folder");
    for (words, status, expected) in [
        ("r.json -o c.svg --chart moon", 1, "unknown chart 'moon' (available: iops, throughput, cpu"),
        ("r.json -o c.svg --chart heat", 1, "unknown chart 'heat'"),
        ("empty -o c.html", 1, "was not created by sweep, repeat or ab"),
        ("empty r.json -o c.html", 1, "no results in 'empty'"),
        ("missing.json -o c.html", 1, "cannot read 'missing.json'"),
        ("r.json -o r.json.d/c.html", 3, "No such file"),
        ("a.dat -o c.html", 1, "'a.dat': "),
    ] {
        let run = place.diskspd("report").args(words).run();
        run.expect_status(status);
        assert!(run.stderr.contains(expected), "{words}: {}", run.stderr);
        assert!(!place.path("c.html").exists() && !place.path("c.svg").exists(), "{words}: nothing is left behind");
    }
}
