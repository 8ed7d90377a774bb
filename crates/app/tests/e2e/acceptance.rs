//! Presets for storage acceptance: each limit with its outcome and source, one last line for all, and the exit status.

use std::time::Duration;
use testkit::{Faulty, Finished, Mounted, Workplace, or_skip, workplace};

const PRESETS: [&str; 3] = ["etcd", "k8s-node", "postgres-commit"];

/// Few I/Os, over a small file.
const SHORT: &str = "-c1M -d600 -W0";

fn last_line(run: &Finished) -> &str {
    run.stdout.lines().last().unwrap_or_default()
}

/// The file of a preset with text replaced.
fn edited(place: &Workplace, preset: &str, changes: &[(&str, &str)]) -> String {
    let shown = place.diskspd(&format!("preset show {preset} --toml")).run();
    shown.expect_status(0);
    let mut text = shown.stdout.clone();
    for (before, after) in changes {
        assert!(text.contains(before), "{preset} has {before}:\n{text}");
        text = text.replace(before, after);
    }
    let name = format!("my-{preset}.toml");
    place.file(&name, text.as_bytes());
    name
}

/// The same with limits that any storage meets.
fn lenient(place: &Workplace, preset: &str) -> String {
    let limits = [("etcd", "flush.p99<10ms"), ("k8s-node", "commit.p99<25ms"), ("postgres-commit", "commit.p99<10ms")];
    let (_, limit) = limits.into_iter().find(|(name, _)| *name == preset).expect("a preset");
    let (metric, _) = limit.split_once('<').expect("a limit");
    let rate = if preset == "k8s-node" { vec![("iops>=300", "iops>0")] } else { Vec::new() };
    edited(place, preset, &[vec![(limit, format!("{metric}<1h").as_str())], rate].concat())
}

#[test]
fn limits_that_are_met_pass_with_their_sources() {
    let place = workplace!();
    for (preset, limits, source) in [
        (
            "etcd",
            &["PASS flush.p99<1h: p99 (flush) was "][..],
            "     etcd FAQ, wal_fsync_duration_seconds: https://etcd.io/",
        ),
        (
            "k8s-node",
            &["PASS iops>0: iops was ", "PASS commit.p99<1h: p99 (commit) was "],
            "     own choice: containerd",
        ),
        ("postgres-commit", &["PASS commit.p99<1h: p99 (commit) was "], "     own choice, PostgreSQL states none: "),
    ] {
        let file = lenient(&place, preset);
        let run = place.diskspd(&format!("preset run {file} {SHORT} --max-ios=2000 {preset}.dat")).run();
        run.expect_status(0).expect_stdout(limits).expect_stdout(&[source]);
        let all = limits.len();
        let noun = if all == 1 { "requirement" } else { "requirements" };
        assert_eq!(last_line(&run), format!("PASS: {file}: {all} of {all} {noun} met"), "{run}");
        let block = run.stdout.lines().skip_while(|line| !line.starts_with("PASS "));
        let too_long = block.filter(|line| line.chars().count() > 80 && line.trim_start().contains(' '));
        assert_eq!(too_long.collect::<Vec<_>>(), [""; 0], "{run}");
    }
}

#[test]
fn a_log_in_memory_is_accepted() {
    let place = workplace!();
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "64M"));
    for preset in ["etcd", "postgres-commit"] {
        let target = memory.path.join(preset);
        let words = format!("preset run {preset} -d600 -W0 --max-ios=20000");
        let run = place.diskspd(&words).arg(&target).run();
        run.expect_status(0).expect_stdout(&[&format!("\nPASS: {preset}: 1 of 1 requirement met\n")]);
    }
    let sizes =
        ["etcd", "postgres-commit"].map(|preset| std::fs::metadata(memory.path.join(preset)).expect("made").len());
    assert_eq!(sizes, [22_000_000, 16 << 20]);
}

#[test]
fn storage_with_slow_flushes_fails() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    faulty.flush_takes(Duration::from_millis(30));
    for preset in PRESETS {
        let limit = if preset == "k8s-node" { "commit.p99<25ms: p99 (commit) was " } else { ".p99<10ms: p99 (" };
        let words = format!("preset run {preset} {SHORT} --max-ios=40 --overwrite");
        let run = place.diskspd(&words).arg(&faulty.new_file).run();
        run.expect_status(4).expect_stdout(&["\nFAIL ", limit]);
        assert!(last_line(&run).starts_with(&format!("FAIL: {preset}: ")), "{run}");
    }
}

#[test]
fn a_percentile_of_too_few_flushes_cannot_tell() {
    let place = workplace!();
    for preset in PRESETS {
        let file = lenient(&place, preset);
        let run = place.diskspd(&format!("preset run {file} {SHORT} --max-ios=60 {preset}.dat")).run();
        run.expect_status(6).expect_stdout(&["\nUNKNOWN "]).expect_told(&[" I/Os (at least 100 needed)"]);
        assert!(last_line(&run).starts_with(&format!("UNKNOWN: {file}: ")), "{run}");
    }
}

/// Direct I/O to a file system without a disk does not measure a disk.
#[test]
fn an_invalid_run_cannot_tell() {
    let place = workplace!();
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "64M"));
    let words = format!("preset run k8s-node {SHORT} --max-ios=2000");
    let run = place.diskspd(&words).arg(memory.path.join("a.dat")).run();
    if run.code() == Some(1) {
        testkit::skip!("tmpfs of this kernel refuses O_DIRECT");
    }
    run.expect_status(6).expect_stdout(&["INVALID ", "UNKNOWN iops>=300: iops was ", ", but the run is INVALID\n"]);
    assert_eq!(last_line(&run), "UNKNOWN: k8s-node: 0 of 2 requirements met", "{run}");
}

#[test]
fn a_limit_that_is_typed_replaces_that_of_the_same_metric() {
    let place = workplace!();
    let words = format!("preset run etcd {SHORT} --max-ios=200 --require flush.p99<1ns --require iops>0 a.dat");
    let run = place.diskspd(&words).run();
    run.expect_status(4).expect_stdout(&["FAIL flush.p99<1ns: p99 (flush) was ", "PASS iops>0: iops was "]);
    assert!(!run.stdout.contains("10ms") && !run.stdout.contains("etcd FAQ"), "{run}");
    assert_eq!(last_line(&run), "FAIL: etcd: 1 of 2 requirements met", "{run}");
    let added = place.diskspd(&words.replace("flush.p99<1ns", "flush.mean<1ns")).run();
    added.expect_status(4).expect_stdout(&[" flush.p99<10ms: p99 (flush) was ", "FAIL flush.mean<1ns: "]);
}

#[test]
fn sources_are_in_every_form_of_the_result() {
    let place = workplace!();
    let file = lenient(&place, "etcd");
    let words = format!("preset run {file} {SHORT} --max-ios=200 --json r.json --xml r.xml a.dat");
    place.diskspd(&words).run().expect_status(0);
    let document: serde_json::Value = place.json("r.json");
    let found = &document["time_spans"][0]["requirements"][0];
    let source = found["basis"].as_str().expect("a source");
    assert!(found["subject"] == "flush.p99<1h" && source.starts_with("etcd FAQ, "), "{found}");
    let again = place.diskspd("report r.json").run();
    again.expect_status(0).expect_stdout(&["\nVerdict: ", &format!("\n     {source}\n")]);
    assert_eq!(last_line(&again), format!("PASS: {file}: 1 of 1 requirement met"), "{again}");
    let xml = String::from_utf8(place.content("r.xml")).expect("it is text");
    assert!(xml.contains(&format!("<Basis>{source}</Basis>")), "{xml}");
    place.diskspd("report r.xml --output r.html").run().expect_status(0);
    let page = String::from_utf8(place.content("r.html")).expect("it is text");
    assert!(page.contains("source of the limit: etcd FAQ, wal_fsync_duration_seconds"), "the page has the source");
}

#[test]
fn each_load_has_a_line_for_each_limit() {
    let place = workplace!();
    let second =
        ("[[load]]\n", "[[load]]\nname = \"first\"\noptions = \"-b4K -w100 --fdatasync-every=1\"\n\n[[load]]\n");
    let file = edited(&place, "etcd", &[second, ("flush.p99<10ms", "flush.p99<1h")]);
    let run = place.diskspd(&format!("preset run {file} {SHORT} --max-ios=200 a.dat")).run();
    run.expect_status(0)
        .expect_stdout(&["PASS flush.p99<1h (first): p99 (flush)", "PASS flush.p99<1h (log): p99 (flush)"]);
    assert_eq!(last_line(&run), format!("PASS: {file}: 2 of 2 requirements met"), "{run}");
}

#[test]
fn a_run_that_fails_is_not_accepted() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    faulty.fail_blocks(4096, 100);
    let file = lenient(&place, "etcd");
    let words = format!("preset run {file} -d600 -W0 --max-ios=2000 --overwrite");
    let run = place.diskspd(&words).arg(&faulty.file).run();
    run.expect_status(1);
    assert_eq!(last_line(&run), format!("FAIL: {file}: the run failed"), "{run}");
}

#[test]
fn what_is_wrong_with_a_limit_is_refused_with_its_place() {
    let place = workplace!();
    let source = "source = \"etcd FAQ, wal_fsync_duration_seconds: https://etcd.io/docs/v3.5/faq/\"";
    for (before, after, expected) in [
        (
            "flush.p99<10ms",
            "flush.p98<10ms",
            "ERROR: preset 'my-etcd.toml': line 13, column 13: unknown metric 'flush.p98'",
        ),
        ("flush.p99<10ms", "flush.p99<10", "line 13, column 13: '10' is not a bound for flush.p99 (expected: a time"),
        (source, "source = \" \"", "line 14, column 10: source must be one line of 1 to 400 bytes"),
        (source, "", "line 12, column 1: missing field `source`"),
        (source, &format!("{source}\nwhy = 1"), "line 15, column 1: unknown field `why`"),
        (
            " --fdatasync-every=1",
            "",
            "ERROR: [[require]] of the preset: 'flush.p99<10ms': the load has no flush.p99: it needs",
        ),
    ] {
        let file = edited(&place, "etcd", &[(before, after)]);
        let run = place.diskspd(&format!("preset run {file} {SHORT} a.dat")).run();
        run.expect_status(3).expect_stderr(&[expected]);
        assert!(!place.path("a.dat").exists(), "{after}");
    }
}

#[test]
fn files_of_others_stay_as_they_are() {
    let place = workplace!();
    let target = place.file("a.dat", b"of others");
    for preset in PRESETS {
        place.diskspd(&format!("preset run {preset} -d1 -W0")).arg(&target).run().expect_status(3);
    }
    assert_eq!(place.content("a.dat"), b"of others");
}
