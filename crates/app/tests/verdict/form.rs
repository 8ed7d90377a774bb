//! The form of the verdict, and its findings on runs that are sound or short.

use super::{findings, found, is_found};
use std::time::Duration;
use testkit::{Faulty, or_skip, skip, workplace};

/// Headlines of a verdict with nothing worse than a note.
const SOUND: [&str; 2] =
    ["Verdict: no conditions found that invalidate or bias the results\n", "Verdict: valid; NOTE "];

// Shows verdict: short-run
#[test]
fn it_ends_every_form_of_a_result() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let run = place.diskspd("-d1 -W0 -b4K -g1 -v --json r.json --xml r.xml a.dat").run();
    run.expect_status(0);
    let (_, block) = run.stdout.split_once("\nVerdict: ").unwrap_or_else(|| panic!("no verdict\n{run}"));
    assert!(block.lines().skip(1).all(|line| line.starts_with("  ")), "it is the end\n{run}");
    let finding = found(&place, &run, "short-run");
    assert_eq!(finding["severity"], "note");
    assert!(finding["value"].as_f64().is_some_and(|seconds| (0.9..10.0).contains(&seconds)), "{finding}");
    let figure = finding["figure"].as_str().expect("a sentence");
    assert!(block.contains(&format!("  NOTE    short-run: {figure}\n          measure for 60 s")), "{run}");
    let xml = String::from_utf8(place.content("r.xml")).expect("it is text");
    assert!(xml.contains("<Finding Name=\"short-run\" Severity=\"NOTE\" Value="), "{xml}");
    let behind = xml.split_once("</Verdict>").expect("a verdict").1;
    let tags: Vec<&str> = behind.split_whitespace().collect();
    assert_eq!(tags[..2], ["</Linux>", "</TimeSpan>"], "it is the last of all");
    // A saved result is read back unchanged.
    let text = run.stdout.split_once("\nResults for").expect("results").1;
    for file in ["r.json", "r.xml"] {
        let again = place.diskspd("report").arg(file).run();
        assert_eq!(again.stdout.split_once("\nVerdict: ").map(|parts| parts.1), Some(block), "{file}\n{text}");
    }
}

// Shows switches: --strict
// Shows verdict: lost-ios
#[test]
fn strict_turns_invalid_figures_into_status_4() {
    drop(or_skip!(Faulty::mounted(&workplace!(), "probe")));
    // Each run waits for the hanging I/O.
    let expect = |strict: &str, status| {
        let place = workplace!();
        let faulty = Faulty::mounted(&place, "faulty").expect("it could be mounted before");
        let words = format!("-d4 -W0 -b4K -o1 -v --json r.json {strict}");
        let (_, mut run) = faulty.hold_load(|| place.diskspd(&words).arg(&faulty.file).start());
        run.wait_for_stdout("\nVerdict: INVALID\n");
        faulty.release();
        let run = run.finish();
        run.expect_status(status);
        let finding = found(&place, &run, "lost-ios");
        assert_eq!((&finding["severity"], &finding["value"]), (&"invalid".into(), &1.0.into()));
    };
    std::thread::scope(|scope| {
        scope.spawn(|| expect("", 0));
        scope.spawn(|| expect("--strict", 4));
    });
    let place = workplace!();
    // This one is sound.
    place.create_file("a.dat", "-c1M");
    place.diskspd("-d1 -W0 -b4K --strict a.dat").run().expect_status(0);
}

// Shows verdict: ended-early
#[test]
fn a_run_that_is_stopped_says_so() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let mut run = place.diskspd("-d600 -W0 -b4K -g1 -v --json r.json a.dat").start();
    run.wait_for_stderr("starting measurements");
    std::thread::sleep(Duration::from_millis(200));
    let run = run.end();
    assert_eq!(found(&place, &run, "ended-early")["severity"], "note");
}

// Shows verdict: weak-percentiles
#[test]
fn percentiles_of_few_ios_are_named() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let run = place.diskspd("-d60 -W0 -b4K -o1 -L --max-ios=500 --json r.json a.dat").run();
    run.expect_status(0);
    assert_eq!(
        found(&place, &run, "weak-percentiles")["figure"],
        "unreliable from the 99th percentile of 500 reads on"
    );
    // Without -L there are none.
    place.diskspd("-d60 -W0 -b4K -o1 --max-ios=500 --json r.json a.dat").run().expect_status(0);
    assert!(!is_found(&place, "weak-percentiles"));
}

#[test]
fn an_ordinary_run_has_nothing_invalid() {
    let place = workplace!();
    let run = place.diskspd("-d2 -W1 -c16M -r -b8K -t2 -o8 -w30 -Sh -L -D --strict --json r.json testfile.dat").run();
    if run.stderr.contains("direct I/O") {
        skip!("the file system of the build refuses O_DIRECT");
    }
    run.expect_status(0);
    assert!(findings(&place).iter().all(|finding| finding["severity"] != "invalid"), "{run}");
    assert!(run.stdout.contains("\nVerdict: WARN\n") || SOUND.iter().any(|head| run.stdout.contains(head)), "{run}");
}
