//! Complete outputs of `DiskSpd` 2.2, read and written again without loss.

use crate::{text, written};
use model::ending::Ending;
use model::result::RunResult;
use roxmltree::{Document, Node};

/// Name and content of every captured output.
macro_rules! captured {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("../data/", $name)))),*] };
}

pub(crate) const XML: [(&str, &str); 3] = captured!["01-basic_mix.xml", "17-F_O.xml", "40-weights.xml"];

pub(crate) const TEXT: [(&str, &str); 10] = captured![
    "01-basic_mix.txt",
    "07-mmap.txt",
    "11-rdpct.txt",
    "17-F_O.txt",
    "26-verbose_stats.txt",
    "31-multi_target.txt",
    "39-two_timespans.txt",
    "42-open_failure.txt",
    "44-interrupted_warmup.txt",
    "45-interrupted_run.txt",
];

pub(crate) fn read(content: &str) -> RunResult {
    import::read(content.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// The profile of a document, at the margin.
fn profile_of(document: &str) -> String {
    let start = document.find("  <Profile>").expect("there is a profile");
    let end = document.find("  </Profile>\n").expect("it ends") + "  </Profile>\n".len();
    let lines: Vec<&str> = document[start..end].lines().map(|line| &line[2..]).collect();
    lines.join("\n")
}

fn elements<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}

/// Asserts that every element of `theirs` is in `ours`, in the same order, with the same attributes and text.
fn assert_holds(ours: Node<'_, '_>, theirs: Node<'_, '_>, place: &str) {
    for attribute in theirs.attributes() {
        assert_eq!(ours.attribute(attribute.name()), Some(attribute.value()), "{place}@{}", attribute.name());
    }
    let own_text = |node: Node<'_, '_>| node.text().unwrap_or_default().trim().to_owned();
    // The version is that of the document's own form.
    if place != "/Results/System/Tool/Version" && place != "/Results/System/Tool/VersionDate" {
        assert_eq!(own_text(ours), own_text(theirs), "{place}");
    }
    let mut candidates = elements(ours);
    for child in elements(theirs) {
        let name = child.tag_name().name();
        let inside = format!("{place}/{name}");
        let found = candidates.find(|candidate| candidate.tag_name().name() == name);
        assert_holds(found.unwrap_or_else(|| panic!("{inside} is missing or out of order")), child, &inside);
    }
}

#[test]
fn xml_results_come_out_with_every_element_and_figure() {
    for (name, theirs) in XML {
        let result = read(theirs);
        let ours = written(|out| render::xml(&result, &profile_of(theirs), out));
        assert!(ours.starts_with("<Results>\n  <System>\n"), "{name}");
        assert!(ours.ends_with("\n</Results>"), "{name}");
        let (ours, theirs) =
            (Document::parse(&ours).expect("well-formed"), Document::parse(theirs).expect("well-formed"));
        assert_holds(ours.root_element(), theirs.root_element(), "/Results");
    }
}

#[test]
fn xml_results_give_the_figures_that_stand_in_them() {
    for (name, content) in XML {
        let result = read(content);
        let document = Document::parse(content).expect("well-formed");
        let find = |node: Node<'_, '_>, name: &str| {
            let found = elements(node).find(|child| child.tag_name().name() == name);
            found.and_then(|child| child.text().map(str::to_owned))
        };
        let figure = |node: Node<'_, '_>, name: &str| find(node, name).expect(name).parse::<u64>().expect("a number");
        let rows: Vec<_> = document
            .descendants()
            .filter(|node| node.has_tag_name("Thread"))
            .flat_map(|thread| {
                let targets = elements(thread).filter(|node| node.has_tag_name("Target"));
                targets.map(move |target| (thread, target)).collect::<Vec<_>>()
            })
            .filter(|(thread, _)| elements(*thread).any(|node| node.has_tag_name("Id")))
            .collect();
        let measured = result.time_spans[0].measured.as_ref().expect("it was measured");
        assert_eq!(measured.rows.len(), rows.len(), "{name}");
        let mut bytes = 0;
        for (row, (thread, target)) in measured.rows.iter().zip(rows) {
            assert_eq!(u64::from(row.thread), figure(thread, "Id"), "{name}");
            assert_eq!(row.path.to_str(), find(target, "Path").as_deref(), "{name}");
            assert_eq!(row.target_size_bytes, figure(target, "FileSize"));
            let figures = &row.figures;
            assert_eq!(
                (figures.total.bytes, figures.total.ios),
                (figure(target, "BytesCount"), figure(target, "IOCount"))
            );
            assert_eq!(
                (figures.read.bytes, figures.read.ios),
                (figure(target, "ReadBytes"), figure(target, "ReadCount"))
            );
            assert_eq!(
                (figures.write.bytes, figures.write.ios),
                (figure(target, "WriteBytes"), figure(target, "WriteCount"))
            );
            bytes += figures.total.bytes;
        }
        assert_eq!(measured.total.total.bytes, bytes, "{name}");
        assert_eq!(result.tool.version, "2.2.0");
        assert_eq!(result.tool.implementation, None);
        assert_eq!(result.time_spans[0].outcome, Ending::Completed);
    }
}

#[test]
fn what_2_2_leaves_out_follows_from_what_it_writes() {
    let measured = read(XML[0].1).time_spans.remove(0).measured.expect("it was measured");
    // 699 reads of 0.067 ms and 279 writes of 0.087 ms.
    let total = measured.rows[0].figures.total.latency.expect("there were I/Os");
    assert!((total.mean_ns - (699.0 * 67_000.0 + 279.0 * 87_000.0) / 978.0).abs() < 1e-3);
    assert_eq!((total.min_ns, total.max_ns), (None, None), "extremes of a row are in no document");
    assert_eq!(measured.intervals.len(), 2);
    assert_eq!(measured.intervals[1].read.latency.expect("there were reads").max_ns, Some(871_870_000));
}

/// Lines that 2.3 writes and 2.2 does not.
fn is_new(line: &str) -> bool {
    line.starts_with("affinity assignment:") || line.starts_with("buffer separation:")
}

/// The report up to the machine, without indentation, which 2.3 changed.
fn echo(report: &str) -> Vec<String> {
    let echo = report.split("System information:").next().unwrap_or_default();
    echo.lines().map(str::trim).filter(|line| !is_new(line)).map(str::to_owned).collect()
}

/// Results without the table that 2.3 split, and with sizes in the format of 2.3.
fn results(report: &str) -> Vec<String> {
    let start = report.find("Results for timespan 1:").expect("there are results");
    let end = report.find("\nWait Statistics").unwrap_or(report.len());
    report[start..end]
        .lines()
        .map(|line| line.replace("  1.60MiB", "   1.6MiB").replace("  3.20MiB", "   3.2MiB"))
        .collect()
}

#[test]
fn text_results_come_out_line_by_line() {
    for (name, theirs) in TEXT {
        let mut result = read(theirs);
        // In the order of the file: DiskSpd's is arbitrary, and ours follows it.
        result.time_spans.iter_mut().for_each(|span| span.notes.clear());
        let ours = text(&result);
        assert_eq!(echo(&ours), echo(theirs), "{name}");
        assert_eq!(results(&ours), results(theirs), "{name}");
    }
}

#[test]
fn wait_statistics_of_2_2_are_told_apart() {
    let result = read(TEXT[4].1);
    let waits = &result.time_spans[0].measured.as_ref().expect("it was measured").waits;
    assert!(result.profile.verbose_stats);
    assert_eq!(waits.iter().map(|waits| waits.thread).collect::<Vec<_>>(), [0, 1]);
    let counts = waits[0].counts;
    assert_eq!((counts.wait, counts.throttle_wait, counts.throttle_sleep, counts.lookaside), (0, 0, 913, 76));
    assert_eq!(counts.lookaside_completions, [0, 76, 0, 0, 0, 0, 0, 0]);
    assert!(text(&result).contains("the number of completions per wait"));
}

#[test]
fn text_and_xml_of_one_kind_of_run_read_alike() {
    let (text, xml) = (read(TEXT[0].1), read(XML[0].1));
    let mut from_text = text.profile;
    // A text lacks the creation size of a file.
    from_text.time_spans[0].targets[0].create_size = xml.profile.time_spans[0].targets[0].create_size;
    from_text.result_format = xml.profile.result_format;
    assert_eq!(from_text, xml.profile);
    assert_eq!(text.system, xml.system);
}

#[test]
fn a_text_tells_which_system_and_version_it_is_of() {
    for (name, content) in TEXT {
        let result = read(content);
        assert_eq!((result.tool.version.as_str(), result.tool.implementation), ("2.2", None), "{name}");
        assert_eq!(result.system.topology.cpus.len(), 2, "{name}");
    }
    let interrupted = read(TEXT[8].1);
    assert_eq!(interrupted.time_spans[0].measured, None);
    assert_eq!(interrupted.time_spans[0].outcome, Ending::Stopped);
}

#[test]
fn every_encoding_reads_the_same() {
    for (name, content) in XML.iter().chain(&TEXT) {
        let expected = read(content);
        let windows = content.replace('\n', "\r\n");
        let utf16: Vec<u8> =
            [0xff, 0xfe].into_iter().chain(windows.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        for bytes in [windows.as_bytes(), &utf16] {
            assert_eq!(import::read(bytes).as_ref(), Ok(&expected), "{name}");
        }
        let with_messages = format!("WARNING: something\n2026-11-21T19:56:20: starting\n{content}");
        assert_eq!(read(&with_messages), expected, "{name}");
    }
}
