//! Results, streams and recordings are data too: an existing file at their name is replaced only by measurements, and
//! only if it is an earlier document of the same kind, or empty.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use testkit::{Finished, LoopDevice, Mounted, Snapshot, Workplace, or_skip, workplace};

/// `DiskSpd`'s own report, as it prints it on Windows.
const WINDOWS_TEXT: &[u8] = include_bytes!("../../../import/tests/data/01-basic_mix.txt");
const WINDOWS_XML: &[u8] = include_bytes!("../../../import/tests/data/01-basic_mix.xml");

/// Short runs.
const RUN: &str = "-d600 -W0 -b4K --max-ios=9";

/// Every way to write a document, with the arguments before and after the name. It needs `a.dat` and `r.json`.
const OUTPUTS: [(&str, &str, &str); 18] = [
    ("json", "-d600 -W0 -b4K --max-ios=9 --json", "a.dat"),
    ("xml", "-d600 -W0 -b4K --max-ios=9 --xml", "a.dat"),
    ("text", "-d600 -W0 -b4K --max-ios=9 --text", "a.dat"),
    ("csv", "-d600 -W0 -b4K --max-ios=9 --csv", "a.dat"),
    ("live.jsonl", "-d600 -W0 -b4K --max-ios=9 --live-json", "a.dat"),
    ("report.json", "report r.json --output", ""),
    ("report.xml", "report r.json --output", ""),
    ("report.txt", "report r.json --output", ""),
    ("report.csv", "report r.json --output", ""),
    ("report.prom", "report r.json --output", ""),
    ("report.html", "report r.json --output", ""),
    ("report.svg", "report r.json --output", ""),
    ("report.png", "report r.json --output", ""),
    ("check.json", "check a.dat --json", ""),
    ("monitor.csv", "monitor all -n2 -i100ms --output", ""),
    ("monitor.jsonl", "monitor all -n2 -i100ms --output", ""),
    ("monitor.rec", "monitor all -n2 -i100ms --csv --record", ""),
    ("typeperf.csv", "monitor all -sc 1 -si 1 -o", ""),
];

/// A directory with a target created by this program and a result.
fn with_result() -> Workplace {
    let place = workplace!();
    place.diskspd("-c1M -d600 -W0 -b4K --max-ios=9 --json r.json a.dat").run().expect_status(0);
    place
}

fn has_devices() -> bool {
    !fs::read_to_string("/proc/diskstats").unwrap_or_default().trim().is_empty()
}

/// The outputs that are possible here.
fn outputs() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    OUTPUTS.into_iter().filter(|(_, words, _)| has_devices() || !words.starts_with("monitor"))
}

fn written(place: &Workplace, (name, before, behind): (&str, &str, &str), option: &str) -> Finished {
    // Options come before targets.
    let (first, rest) = before.split_once(' ').unwrap_or((before, ""));
    let run = place.diskspd(first).args(option).args(rest).arg(name).args(behind).run();
    // The findings of a check depend on this machine.
    if run.code() == Some(1) && first == "check" {
        assert!(run.stdout.contains("FAIL"), "{run}");
    }
    run
}

fn expect_written(place: &Workplace, output: (&str, &str, &str), option: &str) {
    let run = written(place, output, option);
    assert!(run.code() == Some(0) || output.1.starts_with("check"), "{run}");
}

/// Checks that the run is refused, and that the file is unchanged.
fn expect_refused(place: &Workplace, output: (&str, &str, &str), option: &str, parts: &[&str]) {
    let path = place.path(output.0);
    let before = Snapshot::take(&path);
    let run = written(place, output, option);
    run.expect_status(3).expect_stderr(&["ERROR: ", output.0]).expect_stderr(parts);
    assert_eq!(run.stdout, "", "{run}");
    assert_eq!(Snapshot::take(&path), before, "{run}");
}

fn entries(place: &Workplace) -> usize {
    fs::read_dir(place.folder()).expect("our folder").count()
}

// Shows data-safety: a result, page or chart at a name that exists
#[test]
fn other_peoples_files_are_refused_by_every_output() {
    let place = with_result();
    for output in outputs() {
        for content in [&vec![0xa5; 65_536][..], b"notes\n", b"{}", WINDOWS_TEXT, WINDOWS_XML, &[0; 4096]] {
            place.file(output.0, content);
            expect_refused(&place, output, "", &["the existing file is not ", "--replace-output"]);
        }
    }
}

// Shows switches: --replace-output
#[test]
fn overwrite_does_not_concern_outputs_and_replace_output_does() {
    let place = with_result();
    for output in outputs() {
        let path = place.file(output.0, b"somebody's");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("our file");
        if output.1.starts_with("-d600") {
            expect_refused(&place, output, "--overwrite", &["--replace-output"]);
        }
        // A subcommand comes first.
        let option = if output.1.starts_with("-d600") { "--replace-output" } else { "" };
        let later = if option.is_empty() { format!("{} --replace-output", output.2) } else { output.2.to_owned() };
        expect_written(&place, (output.0, output.1, &later), option);
        assert!(!place.content(output.0).starts_with(b"somebody's"), "{}", output.0);
        assert_eq!(fs::metadata(&path).expect("our file").permissions().mode() & 0o777, 0o640);
    }
    let theirs = place.file("theirs.dat", &vec![7; 65_536]);
    let before = Snapshot::take(&theirs);
    place.diskspd("-d1 -w100 --replace-output --json n.json theirs.dat").run().expect_status(3);
    assert_eq!(Snapshot::take(&theirs), before, "--replace-output does not concern targets");
}

#[test]
fn documents_replace_those_of_their_kind_and_what_is_empty() {
    let place = with_result();
    for output in outputs() {
        expect_written(&place, output, "");
        let first = Snapshot::take(place.path(output.0));
        expect_written(&place, output, "");
        assert!(first.size_bytes > 0 && Snapshot::take(place.path(output.0)).size_bytes > 0, "{}", output.0);
        place.file(output.0, b"");
        expect_written(&place, output, "");
        assert!(!place.content(output.0).is_empty(), "{}", output.0);
    }
    let files = entries(&place);
    assert_eq!(files, outputs().count() + 2, "and nothing else is left");
}

#[test]
fn documents_of_another_kind_are_refused() {
    let place = with_result();
    for output in outputs() {
        expect_written(&place, output, "");
    }
    // Each kind once, as the option that writes it.
    let kinds = ["json", "xml", "text", "csv", "live.jsonl", "report.html", "report.svg", "report.png", "check.json"];
    let monitored = ["monitor.csv", "monitor.jsonl", "monitor.rec"];
    let is_one = |name: &str| kinds.contains(&name) || monitored.contains(&name);
    let documents: Vec<_> = outputs().filter(|(name, ..)| is_one(name)).collect();
    let contents: Vec<Vec<u8>> = documents.iter().map(|(name, ..)| place.content(name)).collect();
    for (index, output) in documents.iter().enumerate() {
        for content in contents.iter().enumerate().filter_map(|(other, content)| (other != index).then_some(content)) {
            place.file(output.0, content);
            expect_refused(
                &place,
                *output,
                "",
                &["the existing file is ", " written by diskspd, not ", "--replace-output"],
            );
        }
    }
    for (name, content) in [("check.json", 8), ("live.jsonl", 4)] {
        place.file(name, &contents[content]);
    }
    fs::copy(place.path("check.json"), place.path("json")).expect("our folder");
    expect_refused(
        &place,
        OUTPUTS[0],
        "",
        &["the existing file is a check report written by diskspd, not a JSON result"],
    );
    fs::copy(place.path("live.jsonl"), place.path("json")).expect("our folder");
    expect_refused(&place, OUTPUTS[0], "", &["is a live stream"]);
}

// Shows data-safety: a result, page or chart at a name that exists
// Shows data-safety: a stream or recording at a name that exists, emptied
#[test]
fn a_run_without_figures_replaces_nothing() {
    let place = with_result();
    let words = "--json j --xml x --text t --csv c --live-json l";
    // Without an existing file it reports why there are no measurements.
    place.diskspd("-d1").args(words).arg("missing.dat").run().expect_status(1);
    assert!(!place.path("l").exists() && place.path("t").exists());
    if place.attributes().is_err() {
        fs::remove_file(place.path("t")).expect("our file");
    }
    for _ in 0..2 {
        place.diskspd(RUN).args(words).arg("a.dat").run().expect_status(0);
    }
    place.file("mine.dat", b"somebody's");
    let paths = ["j", "x", "t", "c", "l"].map(|name| place.path(name));
    let before = paths.each_ref().map(Snapshot::take);
    for (words_of_run, status) in [("-d1 missing.dat", 1), ("-d1 -w100 mine.dat", 3), ("-d1 -c64K mine.dat", 3)] {
        for replace in ["", "--replace-output"] {
            let run = place.diskspd(replace).args(words).args(words_of_run).run();
            run.expect_status(status);
            assert_eq!(paths.each_ref().map(Snapshot::take), before, "{run}");
            if status == 1 {
                run.expect_stderr(&["--json 'j': this run has no results", "the existing file is unchanged"]);
            }
        }
    }
}

#[test]
fn a_text_without_a_line_of_ours_is_ours_as_long_as_nobody_changes_it() {
    let place = with_result();
    or_skip!(place.attributes());
    place.file("windows.txt", WINDOWS_TEXT);
    let convert = || place.diskspd("report windows.txt --output t.txt").run();
    for _ in 0..2 {
        convert().expect_status(0);
        assert_eq!(place.content("t.txt"), place.diskspd("report windows.txt").run().stdout.as_bytes());
    }
    let mut changed = place.content("t.txt");
    changed[20] = b'!';
    fs::write(place.path("t.txt"), changed).expect("our file");
    convert().expect_status(3).expect_stderr(&["the existing file is not a text report written by diskspd"]);
}

#[test]
fn a_run_that_is_ended_early_replaces_if_it_has_figures() {
    let place = with_result();
    let before = place.content("r.json");
    let mut waiting = place.diskspd("-d600 -W600 -v -b4K --json r.json a.dat").start();
    waiting.wait_for_stderr("starting warm up");
    waiting.interrupt();
    waiting.finish().expect_status(130).expect_stderr(&["this run has no results"]);
    assert_eq!(place.content("r.json"), before);
    place.diskspd("-d600 -W0 -v -b4K --json r.json a.dat").run_until_measuring().expect_status(0);
    assert_ne!(place.content("r.json"), before);
}

// Shows data-safety: a result, page or chart at a name that exists
#[test]
fn what_is_put_there_meanwhile_stays_and_the_figures_are_beside_it() {
    let place = with_result();
    for existed in [true, false] {
        if !existed {
            fs::remove_file(place.path("r.json")).expect("our file");
        }
        let mut running = place.diskspd("-d600 -W0 -v -b4K --json r.json a.dat").start();
        running.wait_for_stderr("starting measurements");
        place.file("theirs", b"somebody's");
        fs::rename(place.path("theirs"), place.path("r.json")).expect("our folder");
        running.interrupt();
        let run = running.finish();
        run.expect_status(1).expect_stderr(&["it was not overwritten", "r.json.1'"]);
        assert_eq!(place.content("r.json"), b"somebody's");
        assert!(place.content("r.json.1").starts_with(b"{\n  \"schema\": \"diskspd-result\""));
        fs::remove_file(place.path("r.json.1")).expect("our file");
    }
}

// Shows data-safety: a stream or recording at a name that exists, emptied
#[test]
fn an_output_is_no_target_and_no_source_under_any_name() {
    let place = with_result();
    let target = place.path("a.dat");
    fs::hard_link(&target, place.path("hard")).expect("our folder");
    symlink(&target, place.path("soft")).expect("our folder");
    fs::create_dir(place.path("folder")).expect("our folder");
    symlink(place.path("folder"), place.path("other")).expect("our folder");
    let before = Snapshot::take(&target);
    for option in ["--json", "--xml", "--text", "--csv", "--live-json"] {
        for name in ["a.dat", "./a.dat", "hard", "soft"] {
            let run = place.diskspd("-d1 --replace-output").args(option).arg(name).arg("a.dat").run();
            run.expect_status(3).expect_stderr(&[option, name, "the file is a target of this run"]);
        }
        let run = place.diskspd("-d1 -c1M --replace-output").args(option).args("other/new.dat folder/new.dat").run();
        run.expect_status(3).expect_stderr(&["the file is a target of this run"]);
        let run = place.diskspd("-d1 --replace-output").args(option).args("hard r.json").run();
        run.expect_status(3).expect_stderr(&["the file is a target created by diskspd"]);
        let run = place.diskspd("-d1 -w1 -Z4K,r.json --replace-output").args(option).args("r.json a.dat").run();
        run.expect_status(3).expect_stderr(&["the file with write data"]);
    }
    assert_eq!(Snapshot::take(&target), before);
    for words in ["--json new --xml ./new", "--json other/new --csv folder/new", "--json new --live-json new"] {
        let run = place.diskspd("-d1").args(words).arg("a.dat").run();
        run.expect_status(3);
    }
    let profile = place.diskspd("-Rpxml -d1 a.dat").run().stdout;
    place.file("p.xml", profile.as_bytes());
    for option in ["--xml", "--live-json"] {
        let run = place.diskspd("--replace-output -Xp.xml").args(option).arg("p.xml").run();
        run.expect_status(3).expect_stderr(&["the file is the profile of this run"]);
    }
    let preset = place.diskspd("preset show sql-log --toml").run().stdout;
    place.file("p.toml", preset.as_bytes());
    let run = place.diskspd("preset run ./p.toml --replace-output --json p.toml -d1 a.dat").run();
    run.expect_status(3).expect_stderr(&["the file is the preset of this run"]);
    assert_eq!(place.content("p.toml"), preset.as_bytes());
}

#[test]
fn a_run_does_not_destroy_the_file_that_describes_it() {
    let place = with_result();
    let profile = place.diskspd("-Rpxml -d1 -w50 *1").run().stdout;
    let job = place.diskspd("-Rptoml -d1 -w50 *1").run().stdout;
    let preset = place.diskspd("preset show sql-log --toml").run().stdout;
    for (name, text, words) in
        [("p.xml", profile, "-Xp.xml"), ("j.toml", job, "run j.toml"), ("p.toml", preset, "preset run ./p.toml -d1")]
    {
        place.file(name, text.as_bytes());
        symlink(place.path(name), place.path(&format!("{name}.link"))).expect("our folder");
        for target in [name.to_owned(), format!("{name}.link")] {
            let run = place.diskspd(words).args("--overwrite").arg(&target).run();
            run.expect_status(3).expect_stderr(&["holds the description of this run", &target]);
        }
        assert_eq!(place.content(name), text.as_bytes());
    }
    // It may be read.
    let reads = place.diskspd("-d1 -W0 -Rpxml -b512 *1").run().stdout;
    place.file("reads.xml", reads.as_bytes());
    place.diskspd("-Xreads.xml reads.xml").run().expect_status(0);
}

#[test]
fn bind_mounts_are_seen_through() {
    let place = with_result();
    for name in ["folder", "other"] {
        fs::create_dir(place.path(name)).expect("our folder");
    }
    place.file("bound.dat", b"");
    fs::copy(place.path("a.dat"), place.path("folder/a.dat")).expect("our folder");
    let _folder = or_skip!(Mounted::bind(&place, "folder", "other"));
    let _file = or_skip!(Mounted::bind(&place, "a.dat", "bound.dat"));
    for (output, words) in
        [("bound.dat", "-d1 a.dat"), ("other/a.dat", "-d1 folder/a.dat"), ("other/new.dat", "-d1 -c64K folder/new.dat")]
    {
        for option in ["--json", "--live-json"] {
            let run = place.diskspd("--replace-output").args(option).arg(output).args(words).run();
            run.expect_status(3).expect_stderr(&[output, "the file is a target of this run"]);
        }
    }
    for (words, reason) in [
        ("--json folder/r --xml other/r", "already used by --xml"),
        ("--json folder/r --live-json other/r", "the file is a result file of this run"),
    ] {
        let run = place.diskspd("-d1").args(words).arg("a.dat").run();
        run.expect_status(3).expect_stderr(&[reason]);
    }
    assert!(!place.path("folder/r").exists() && !place.path("folder/new.dat").exists());
}

#[test]
fn names_that_begin_with_a_dash_are_taken_for_options() {
    let place = with_result();
    for (words, option) in [
        ("--json -d1 a.dat", "--json"),
        ("--xml=-d1 a.dat", "--xml"),
        ("--text -d1 a.dat", "--text"),
        ("--csv -d1 a.dat", "--csv"),
        ("--live-json -d1 a.dat", "--live-json"),
        ("report r.json --output -d1", "--output"),
        ("report r.json --output p.html --monitor -d1", "--monitor"),
        ("check a.dat --json -d1", "--json"),
        ("monitor -n1 -o -d1", "--output"),
        ("monitor -n1 --record -d1", "--record"),
        ("sweep --vary o=1 --dir -d1 -- a.dat", "--dir"),
        ("sweep --resume -d1", "--resume"),
        ("repeat --dir=-d1 -- a.dat", "--dir"),
        ("repeat --resume -d1", "--resume"),
    ] {
        let message = format!("ERROR: {option} '-d1': looks like an option; for a file of that name, write './-d1'");
        place.diskspd(words).run().expect_status(3).expect_stderr(&[&message]);
    }
    assert_eq!(entries(&place), 2);
    place.diskspd(RUN).args("--json ./-d1 a.dat").run().expect_status(0);
    assert!(place.path("-d1").exists());
    let run = place.diskspd("check a.dat --json -").run();
    assert!(run.stdout.starts_with("{\n  \"schema\": \"diskspd-check\""), "{run}");
    assert!(!place.path("-").exists());
}

// Shows data-safety: files in the directory of a series
#[test]
fn a_sweep_needs_a_directory_of_its_own() {
    let place = with_result();
    let load = "-- -d1 -W0 -b4K a.dat";
    for words in ["sweep --vary o=1 --dir", "repeat --runs 1 --dir"] {
        let run = place.diskspd(words).arg("").args(load).run();
        run.expect_status(3).expect_stderr(&["ERROR: --dir '': a file name is missing"]);
        let run = place.diskspd(words).arg(".").args(load).run();
        run.expect_status(3).expect_stderr(&["--dir '.': the directory is not empty", "--replace-output"]);
    }
    assert_eq!(entries(&place), 2);
    fs::create_dir(place.path("s")).expect("our folder");
    for name in ["s/sweep.json", "s/table.csv", "s/notes", "s/point-0001.json"] {
        place.file(name, b"somebody's");
    }
    let before = ["s/notes", "s/point-0001.json"].map(|name| Snapshot::take(place.path(name)));
    let run = place.diskspd("sweep --vary o=1 --dir s").args(load).run();
    run.expect_status(3).expect_stderr(&["--replace-output"]);
    let run = place.diskspd("sweep --vary o=1 --replace-output --dir s").args("-- -d1 missing.dat").run();
    run.expect_status(1);
    assert_eq!(place.content("s/sweep.json"), b"somebody's");
    place.diskspd("sweep --vary o=1 --replace-output --dir s").args(load).run().expect_status(0);
    assert!(place.content("s/sweep.json").starts_with(b"{\n  \"schema\": \"diskspd-sweep\""));
    assert_eq!(["s/notes", "s/point-0001.json"].map(|name| Snapshot::take(place.path(name))), before);
    place.file("s/table.csv", b"somebody's");
    let run = place.diskspd("sweep --resume s").run();
    run.expect_status(1).expect_stderr(&["table.csv", "--replace-output"]);
    assert_eq!(place.content("s/table.csv"), b"somebody's");
    place.diskspd("sweep --resume s --replace-output").run().expect_status(0);
    fs::create_dir(place.path("empty")).expect("our folder");
    for name in ["table.csv", "point-0001.json"] {
        let run = place.diskspd("sweep --vary o=1 --dir empty -- -c1M -d1").arg(format!("empty/{name}")).run();
        run.expect_status(3).expect_stderr(&["has a name reserved for the result files"]);
    }
    assert_eq!(fs::read_dir(place.path("empty")).expect("our folder").count(), 0);
}

// Shows data-safety: files in the directory of a series
// Shows data-safety: whatever a command of the user changes
#[test]
fn a_kept_command_is_shown_and_run_only_when_asked_for() {
    let place = with_result();
    for (words, option) in [("sweep --vary o=1,2", "--before-point"), ("repeat --runs 2", "--before-run")] {
        let folder = words.split(' ').next().expect("a word");
        place.file("hook", b"echo x >>hooked\n");
        let words = format!("{words} --dir {folder} {option}");
        place.diskspd(&words).arg("sh ./hook").args("-- -d1 -W0 -b4K a.dat").run().expect_status(0);
        assert_eq!(place.content("hooked").len(), 4, "what is typed is run");
        let run = place.diskspd(folder).args("--resume").arg(folder).run();
        run.expect_status(3).expect_stderr(&["sh ./hook", "--run-commands"]);
        assert_eq!(place.content("hooked").len(), 4);
        place.diskspd(folder).args("--run-commands --resume").arg(folder).run().expect_status(0);
        fs::remove_file(place.path("hooked")).expect("our file");
        let run = place.diskspd(folder).args("--run-commands -- -d1 a.dat").run();
        run.expect_status(3).expect_stderr(&["it is only for --resume"]);
    }
}

/// Nothing is created if a target that does not exist yet is where results are to be stored.
#[test]
fn a_target_to_be_made_is_no_place_for_results() {
    let place = workplace!();
    std::os::unix::fs::symlink("made.dat", place.path("link")).expect("our link");
    for (words, reason) in [
        ("repeat --runs 2 --dir new -- -c1M -d1 new", "--dir 'new' is a target of this run"),
        ("repeat --runs 2 --dir ./made.dat -- -c1M -d1 link", "--dir './made.dat' is a target of this run"),
        ("repeat --runs 2 --dir new/deep -- -c1M -d1 new", "--dir 'new/deep' lies in 'new', a target of this run"),
        (
            "repeat --runs 2 --dir made.dat/d -- -c1M -d1 link",
            "--dir 'made.dat/d' lies in 'link', a target of this run",
        ),
        ("repeat --runs 2 --dir link/d/e -- -c1M -d1 made.dat", "lies in 'made.dat', a target of this run"),
        ("repeat --runs 2 --dir x.0 -- --append -d1 x", "--dir 'x.0' is a target of this run"),
        ("repeat --runs 2 --dir x.1/d -- --append -t2 -d1 x", "--dir 'x.1/d' lies in 'x.1', a target of this run"),
        ("-c1M -d1 --json made.dat link", "--json 'made.dat': the file is a target of this run"),
        ("-c1M -d1 --csv link made.dat", "--csv 'link': it is a dangling symbolic link"),
    ] {
        let run = place.diskspd(words).run();
        run.expect_status(3).expect_stderr(&[reason]);
        assert_eq!(entries(&place), 1, "{words}: only the link is there");
    }
    // Directories of absolute targets are created with them, even that of the results.
    for (folder, name) in [("new", "table.csv"), ("new", "repeat.json"), ("new/deep", "point-0001.json")] {
        let run = place.diskspd("repeat --runs 2 --dir").arg(folder).args("-- -c1M -d1");
        let run = run.arg(place.path(folder).join(name)).run();
        run.expect_status(3).expect_stderr(&[name, "has a name reserved for the result files in this directory"]);
        assert_eq!(entries(&place), 1, "{folder}/{name}: only the link is there");
    }
}

/// Write access to the files of a series must not decide what a resumed one destroys.
#[test]
fn kept_permissions_are_asked_for_again() {
    let place = with_result();
    place.file("foreign.dat", &vec![7; 1 << 20]);
    let load = "-d1 -W0 -b4K -w100 --overwrite foreign.dat";
    place.diskspd("sweep --vary o=1,2 --dir s --").args(load).run().expect_status(0);
    place.file("foreign.dat", &vec![7; 1 << 20]);
    let state = String::from_utf8(place.content("s/sweep.json")).expect("text");
    for words in ["--resume s", "--resume s --run-commands --replace-output", "--resume s --destroy=eui.1"] {
        let run = place.diskspd("sweep").args(words).run();
        run.expect_status(3).expect_stderr(&["'s'", "existing files to be overwritten", "give --overwrite"]);
    }
    place.file("s/sweep.json", state.replace("\"--overwrite\"", "\"--destroy=eui.1\"").as_bytes());
    let run = place.diskspd("sweep --resume s --overwrite --destroy=eui.2").run();
    run.expect_status(3).expect_stderr(&["the block device 'eui.1' to be written to", "give --destroy=eui.1"]);
    // Text to be pasted into a shell is quoted for it.
    place.file("s/sweep.json", state.replace("\"--overwrite\"", "\"--destroy=two words\"").as_bytes());
    place.diskspd("sweep --resume s").run().expect_status(3).expect_stderr(&["give --destroy='two words'"]);
    place.file("s/sweep.json", state.as_bytes());
    assert!(place.content("foreign.dat") == vec![7; 1 << 20], "nothing was written");
    place.diskspd("sweep --resume s --overwrite").run().expect_status(0);
    let run = place.diskspd("sweep --overwrite --vary o=1 --dir t --").args(load).run();
    run.expect_status(3).expect_stderr(&["--overwrite before '--' is only for --resume; put it behind '--'"]);
}

// Shows data-safety: unfinished results of killed runs, deleted
#[test]
fn private_names_of_others_stay() {
    let place = with_result();
    for name in [".diskspd-0123456789abcdef", ".diskspd-notes", ".diskspd-abcdef"] {
        place.file(name, b"somebody's");
    }
    place.diskspd(RUN).args("--json r.json a.dat").run().expect_status(0);
    assert_eq!(entries(&place), 5);
    let mut running = place.diskspd("-d600 -W0 -v -b4K --json r.json --live-json l a.dat").start();
    running.wait_for_stderr("starting measurements");
    assert_eq!(entries(&place), 6, "a run keeps no private file before it ends");
    running.end();
}

#[test]
fn an_empty_file_below_a_loop_device_is_no_output() {
    let place = workplace!();
    let image = place.sparse("below.img", 1 << 20).expect("a sparse file");
    let device = or_skip!(LoopDevice::over(&place, &image));
    fs::write(&image, b"").expect("our own file");
    for option in ["--json=below.img", "--live-json=below.img"] {
        let words = format!("-c1M -d1 -W0 -b4K --max-ios=2 {option}");
        let run = place.diskspd(&words).arg(&device.path).run();
        run.expect_status(3).expect_stderr(&["below.img", "the file is below a target of this run"]);
        assert_eq!(place.content("below.img"), b"");
    }
}

/// The program with a redirection of the shell after it.
fn redirected(place: &Workplace, words: &str, redirection: &str) -> Finished {
    let line = format!("exec \"$0\" \"$@\" {redirection}");
    place.tool("sh").arg("-c").arg(line).arg(place.program()).args(RUN).args(words).arg("a.dat").run()
}

// Shows data-safety: a file that the program inherits open
#[test]
fn a_descriptor_is_written_to_only_if_nothing_in_its_file_is_lost() {
    let place = with_result();
    place.create_file("other.dat", "-c64K");
    let theirs = place.file("theirs.txt", b"somebody's notes\n");
    for (redirection, path, reason) in [
        ("3>>theirs.txt", "theirs.txt", "the file is not empty, and not a live stream written by diskspd"),
        ("3<>theirs.txt", "theirs.txt", "the file is not empty, and not a live stream written by diskspd"),
        ("3>>r.json", "r.json", "the file is not empty, and not a live stream written by diskspd"),
        ("3<>a.dat", "a.dat", "the file is a target of this run"),
        ("3>>a.dat", "a.dat", "the file is a target of this run"),
        ("3<>other.dat", "other.dat", "the file is a target created by diskspd"),
    ] {
        let before = Snapshot::take(place.path(path));
        let is_target = path != "theirs.txt" && path != "r.json";
        for option in if is_target { &["", "--replace-output"][..] } else { &[""] } {
            let run = redirected(&place, &format!("{option} --live-json=fd:3"), redirection);
            run.expect_status(3).expect_stderr(&["--live-json 'fd:3': ", reason]);
            assert_eq!(Snapshot::take(place.path(path)), before, "{redirection} {option}");
        }
    }
    let run = redirected(&place, "--json same.json --live-json=fd:3", "3>same.json");
    run.expect_status(3).expect_stderr(&["'fd:3': the file is a result file of this run"]);
    redirected(&place, "--replace-output --live-json=fd:3", "3>>theirs.txt").expect_status(0);
    assert!(fs::read(theirs).expect("a file").starts_with(b"somebody's notes\n{\"kind\":\"begin\""));
    // An empty file, another stream after the first, and devices that discard data.
    let streams = || String::from_utf8(place.content("s.jsonl")).expect("text").matches("\"kind\":\"begin\"").count();
    redirected(&place, "--live-json=fd:3", "3>s.jsonl").expect_status(0);
    redirected(&place, "--live-json=fd:3", "3>>s.jsonl").expect_status(0);
    assert_eq!(streams(), 2);
    let before = Snapshot::take(place.path("s.jsonl"));
    let run = redirected(&place, "--live-json=fd:3", "3<>s.jsonl");
    run.expect_status(3).expect_stderr(&["lines would overwrite a part of the stream in the file: append to it"]);
    assert_eq!(Snapshot::take(place.path("s.jsonl")), before);
    for redirection in ["3>/dev/null", "3>&2", "3>&1 | cat", "2>>theirs.txt 3>&2"] {
        redirected(&place, "--live-json=fd:3", redirection).expect_status(0);
    }
    let device = or_skip!(LoopDevice::over(&place, &place.sparse("image", 1 << 20).expect("a sparse file")));
    let run = redirected(&place, "--replace-output --live-json=fd:3", &format!("3<>{}", device.path.display()));
    run.expect_status(3).expect_stderr(&["'fd:3': it is a block device"]);
}

// Shows data-safety: the files map and, during the run, map.new in the directory of --journal
#[test]
fn outputs_and_targets_do_not_have_the_names_of_files_of_the_journal() {
    let place = workplace!();
    fs::create_dir(place.path("j")).expect("a new directory");
    symlink("j/log.2", place.path("link")).expect("free");
    let run = |words: &str, target: &str| {
        let program = place.diskspd("-d600 -W0 -b4K -w50 -c64K --max-ios=9 --verify --journal=j --journal-here");
        program.args(words).arg(target).run()
    };
    let reserved = "has a name reserved for the map and the logs in this directory";
    for words in [
        "--json j/map.new",
        "--xml j/map",
        "--csv j/run",
        "--text j/log.0",
        "--live-json j/log.17",
        "--json ./j/../j/run",
    ] {
        run(words, "a.dat").expect_status(3).expect_stderr(&["--journal='j': ", reserved, " of this run"]);
    }
    for target in ["j/map", "j/map.new", "j/run", "j/log.0", "link"] {
        run("", target).expect_status(3).expect_stderr(&["--journal='j': ", reserved, "a target of this run"]);
    }
    assert!(!place.path("a.dat").exists(), "a target was made although the run was refused");
    assert_eq!(fs::read_dir(place.path("j")).expect("a directory").count(), 0);
    run("--json j/r.json --live-json j/log.jsonl", "j/a.dat").expect_status(0);
}
