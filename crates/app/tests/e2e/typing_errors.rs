//! Typing errors of newcomers, and the messages for them.

use testkit::workplace;

#[test]
fn a_value_apart_from_its_option_is_refused() {
    let place = workplace!();
    place.create_file("f", "-c64K");
    for (words, expected) in [
        ("-d 1 f", "'-d 1': write -d1, without a space"),
        ("-b 8K f", "'-b 8K': write -b8K, without a space"),
        ("-t 4 f", "'-t 4': write -t4, without a space"),
        ("-w 50 f", "'-w 50': write -w50, without a space"),
        ("-r 4K f", "'-r 4K': write -r4K, without a space"),
        ("-c 1.5G f", "'-c 1.5G': write -c1.5G, without a space"),
    ] {
        let run = place.diskspd(words).run();
        run.expect_status(3).expect_stderr(&[expected]);
        assert_eq!(run.stdout, "", "{words}");
    }
    // A file of that name is a target.
    place.create_file("./50", "-c64K");
    place.diskspd("-d1 -W0 -b4K --max-ios=1 -w 50").run().expect_status(0);
}

#[test]
fn seconds_have_no_other_unit() {
    let place = workplace!();
    place.create_file("f", "-c64K");
    for (words, expected) in [
        ("-d1m f", "cannot have a unit; write -d60"),
        ("-d2h f", "cannot have a unit; write -d7200"),
        ("-W10min f", "cannot have a unit; write -W600"),
        ("-C1h f", "cannot have a unit; write -C3600"),
    ] {
        place.diskspd(words).run().expect_status(3).expect_stderr(&[expected]);
    }
    let run = place.diskspd("-d1s -W0s -b4K --max-ios=1 f").run();
    run.expect_status(0);
    assert!(!run.stderr.contains("ignored"), "{run}");
    // As in DiskSpd.
    place.diskspd("-d1x -W0 -b4K --max-ios=1 f").run().expect_status(0).expect_stderr(&["'x' is ignored"]);
}

#[test]
fn what_was_meant_is_named() {
    let place = workplace!();
    for (words, expected) in [
        ("-b8KB f", "write 8K"),
        ("-b64KiB f", "write 64K"),
        ("-c1.5G f", "write 1536M"),
        ("comapre a b", "did you mean the subcommand compare?"),
        ("chekc -c1M f", "did you mean the subcommand check?"),
        ("preset run oltpp f", "did you mean oltp?"),
        ("--overwrit f", "did you mean --overwrite?"),
        ("check --jsom r.json f", "did you mean --json?"),
        ("sweep --vry o=1..4 -- f", "invalid option '--vry' (did you mean --vary?)"),
        ("compare --fail-on p99>+5% a b", "invalid option '--fail-on' (did you mean --fail-if?)"),
        (
            "report --outptu a.txt r.json",
            "invalid option '--outptu' (did you mean --output?); see diskspd report --help",
        ),
    ] {
        place.diskspd(words).run().expect_status(3).expect_stderr(&[expected]);
    }
}

#[test]
fn a_range_of_a_sweep_is_not_a_value() {
    let place = workplace!();
    place.create_file("f", "-c1M");
    for (words, expected) in [
        ("sweep --vary o=1-4 -- -d1 f", "ERROR: --vary 'o=1-4': '1-4' is not a value; write 1..4 for a range"),
        ("sweep --vary b=4K-64K*2 -- -d1 f", "write 4K..64K*2 for a range"),
        ("sweep --vary w=0-100/10 -- -d1 f", "write 0..100/10 for a range"),
        ("sweep --vary rate=100-200 -- -d1 f", "write 100..200 for a range"),
        ("sweep --vary g=100i-200i -- -d1 f", "write 100i..200i for a range"),
        ("sweep --vary g=1M/s-8M/s*2 -- -d1 f", "write 1M/s..8M/s*2 for a range"),
        ("sweep --vary rate=1M/s-2M/s -- -d1 f", "write 1M/s..2M/s for a range"),
        ("sweep --vary T=1b-4b -- -d1 f", "write 1b..4b for a range"),
    ] {
        let run = place.diskspd(words).run();
        run.expect_status(3).expect_stderr(&[expected]);
        assert_eq!(run.stdout, "", "{words}");
    }
    assert_eq!(std::fs::read_dir(place.folder()).expect("our folder").count(), 1, "nothing was written");
}

#[test]
fn writes_without_a_percentage_are_none_and_that_is_said() {
    let place = workplace!();
    place.create_file("f", "-c1M");
    let run = place.short_run("-b4K").args("-w f").run();
    run.expect_status(0).expect_stderr(&["WARNING: -w without a percentage writes nothing, as -w0"]);
    let run = place.short_run("-b4K").args("-w0 f").run();
    assert_eq!(run.expect_status(0).stderr, "");
}

// Shows switches: -g(<bytes/ms>|<count>i|<size>/s)
// Shows switches: --rate=<rate>[..<rate>]
#[test]
fn rates_are_in_bytes_per_second_too() {
    let place = workplace!();
    for (words, expected) in [
        ("-g100M/s f", "<Throughput>104858</Throughput>"),
        ("-g1000/s f", "<Throughput>1</Throughput>"),
        ("-g200i f", "<Throughput unit=\"IOPS\">200</Throughput>"),
        ("-g2000 f", "<Throughput>2000</Throughput>"),
        // Blocks of 64 KiB.
        ("--rate=100M/s f", "<Rate>1600</Rate>"),
        ("--rate 10M/s..100M/s -b1M f g", "<Rate>10..100</Rate>"),
        ("-b4K --stream=a:-g1M/s f", "<Throughput>1049</Throughput>"),
    ] {
        let run = place.diskspd("-Rpxml").args(words).run();
        run.expect_status(0).expect_stdout(&[expected]);
        assert_eq!(run.stderr, "", "{words}");
    }
    for (words, expected) in [
        ("-Rpxml -g1500/s f", "WARNING: '-g1500/s' is rounded to 2000 bytes per second"),
        ("-Rpxml -b48K --rate=100K/s f", "WARNING: --rate is rounded to 2 I/Os per second of 48K"),
    ] {
        place.diskspd(words).run().expect_status(0).expect_stderr(&[expected]);
    }
    for (words, expected) in [
        ("-g100M f", "'-g100M': invalid rate (expected: I/Os per second as in 200i, bytes per second as in 100M/s"),
        ("-g1/s f", "the rate must be 1000 to"),
        ("-g2b/s f", "is not a rate in bytes per second"),
        ("--rate=1/s f", "--rate of 1/s is no rate with I/Os of 64K"),
        ("--rate=1M/s..10 f", "both ends of a rate in bytes need /s"),
        ("--rate=1M/s --sizes=4K/50:8K/50 f", "--rate in bytes per second needs one size for all I/Os (-b)"),
    ] {
        place.diskspd(words).run().expect_status(3).expect_stderr(&[expected]);
    }
    // A profile from a file gets its rate like a typed one.
    std::fs::write(place.path("p.xml"), place.diskspd("-Rpxml -b32K f").run().stdout).expect("a profile");
    place.diskspd("-Xp.xml -Rpxml --rate=1M/s").run().expect_status(0).expect_stdout(&["<Rate>32</Rate>"]);
}

#[test]
fn only_what_was_typed_is_named() {
    let place = workplace!();
    let run = place.diskspd(r"E:\x").run();
    run.expect_status(3).expect_stderr(&[r"ERROR: target 'E:\x' is a Windows path; give a file"]);
    assert_eq!(run.stderr.lines().count(), 1, "{run}");
    place.create_file("f", "-c4M");
    for (words, expected) in [
        ("-b2M -f1M f", "ERROR: 'f': its range (-f) of 1MiB is too small for a block of 2MiB"),
        ("-b8M f", "ERROR: 'f': the target of 4MiB is too small for a block of 8MiB"),
        ("-b2M -B3M f", "ERROR: 'f': its range (-B) of 1MiB is too small for a block of 2MiB"),
    ] {
        place.diskspd("-d1").args(words).run().expect_status(1).expect_stderr(&[expected]);
    }
}

/// An abbreviation would change its meaning once there is another option.
#[test]
fn names_are_not_abbreviated() {
    let place = workplace!();
    for (words, expected) in [
        ("report --out a.txt r.json", "invalid option '--out' (did you mean --output?)"),
        ("repeat --run 3 -- f", "invalid option '--run' (did you mean --runs?)"),
        ("monitor --hist", "invalid option '--hist'"),
        ("preset sho oltp", "ACTION 'sho': unknown value (expected: list, show, run)"),
        ("repor r.json a", "did you mean the subcommand report?"),
    ] {
        let run = place.diskspd(words).run();
        run.expect_status(3).expect_stderr(&["ERROR: ", expected]);
        assert_eq!(run.stdout, "", "{words}");
    }
}

#[test]
fn paths_of_subcommands_may_be_any_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let place = workplace!();
    let name = |bytes: &[u8]| std::ffi::OsStr::from_bytes(bytes).to_owned();
    place.diskspd("-c1M -d1 -W0 -b4K --max-ios=1 --json r.json f").run().expect_status(0);
    let odd = name(b"r\xff.json");
    std::fs::copy(place.path("r.json"), place.folder().join(&odd)).expect("a copy");
    place.diskspd("report").arg(&odd).run().expect_status(0);
    place.diskspd("report r.json --output").arg(name(b"o\xff.txt")).run().expect_status(0);
    assert!(place.folder().join(name(b"o\xff.txt")).exists());
    place.diskspd("compare r.json").arg(&odd).run().expect_status(0);
    place.diskspd("sweep --vary").arg(name(b"o=\xff")).args("-- f").run().expect_status(3).expect_stderr(&["UTF-8"]);
}

#[test]
fn scripts_get_no_line_that_they_did_not_ask_for() {
    let place = workplace!();
    place.create_file("f", "-c1M");
    let run = place.diskspd("-c1M -d3 -W0 -b4K -o2 -r -L -w30 f").env("DISKSPD_OVERWRITE", "1").run();
    run.expect_status(0);
    assert_eq!(run.stderr, "", "nothing without -v");
    // Published scripts use the last line with "total:".
    let tables = run.stdout.lines().filter(|line| line.contains("total:")).map(str::trim_start);
    assert!(tables.clone().count() >= 3 && tables.clone().all(|line| line.starts_with("total:")), "{run}");
    let run = place.diskspd("-c1M -d1 -W0 -b4K -t2 --max-ios=1 f").run();
    run.expect_stderr(&["WARNING: target access pattern will not be sequential, consider -si\n"]);
}

// Shows faults: A target does not exist or cannot be opened
#[test]
fn on_a_terminal_errors_come_last() {
    let place = workplace!();
    let script = testkit::or_skip!(testkit::tool("script"));
    let program = place.program().display().to_string();
    let run = place.tool(&script).args("-qec").arg(format!("{program} -d1 -W0 nowhere")).arg("/dev/null").run();
    run.expect_status(1);
    let lines: Vec<&str> = run.stdout.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    assert!(lines.last().is_some_and(|line| line.starts_with("ERROR: 'nowhere' does not exist")), "{run}");
    assert!(!run.stdout.contains("Command Line:"), "{run}");
    // Lines are wrapped at blanks.
    let narrow = format!("stty cols 40; exec {program} -d 1 f");
    let run = place.tool(&script).args("-qec").arg(narrow).arg("/dev/null").run();
    assert!(run.stdout.lines().all(|line| line.trim_end().chars().count() <= 40), "{run}");
    assert!(run.stdout.contains("write -d1, without a\r\nspace between"), "{run}");
    // Scripts get the same, and programs a document with the error.
    let run = place.short_run("nowhere").run();
    run.expect_status(1);
    assert_eq!((run.stdout.as_str(), run.stderr.lines().count()), ("", 1), "{run}");
    run.expect_stderr(&["ERROR: 'nowhere' does not exist; -c<size> creates it"]);
    let run = place.short_run("-Rxml nowhere").run();
    run.expect_status(1).expect_stdout(&["<Error>The test was not run. No results are displayed.</Error>"]);
}

#[test]
fn pipes_are_read_if_they_are_named_and_skipped_if_not() {
    let place = workplace!();
    let bash = testkit::or_skip!(testkit::tool("bash"));
    place.diskspd("-c1M -d1 -W0 -b4K -L --json r.json f").run().expect_status(0);
    let program = place.program().display().to_string();
    for words in ["report <(cat r.json)", "report <(cat r.json) --output x.html", "compare r.json <(cat r.json)"] {
        place.tool(&bash).args("-c").arg(format!("{program} {words}")).run().expect_status(0);
    }
    let mkfifo = testkit::or_skip!(testkit::tool("mkfifo"));
    std::fs::create_dir(place.path("folder")).expect("a folder");
    place.file("folder/r.json", &place.content("r.json"));
    place.tool(mkfifo).arg(place.path("folder/a.json")).run().expect_status(0);
    let run = place.diskspd("compare folder r.json").run();
    run.expect_status(0).expect_stderr(&["WARNING: 'folder/a.json' is not a regular file and is skipped"]);
}

// Shows faults: A result, profile or preset is a named pipe or a device
#[test]
fn input_that_never_ends_is_bounded_and_can_be_interrupted() {
    use std::os::unix::fs::OpenOptionsExt;
    /// `O_NONBLOCK`: without a reader, opening fails.
    const IF_READ: i32 = 0o4000;
    let place = workplace!();
    let mkfifo = testkit::or_skip!(testkit::tool("mkfifo"));
    place.tool(mkfifo).args("silent.toml").run().expect_status(0);
    let writer = || std::fs::File::options().write(true).custom_flags(IF_READ).open(place.path("silent.toml")).ok();
    for words in ["report silent.toml", "compare silent.toml silent.toml", "-Xsilent.toml", "preset show silent.toml"] {
        let mut run = place.diskspd(words).start();
        let held = std::cell::OnceCell::new();
        run.wait_until("the pipe to be opened", |_| writer().is_some_and(|file| held.set(file).is_ok()));
        run.interrupt();
        let run = run.finish();
        assert!(run.code() == Some(130) || run.signal() == Some(2), "{run}");
        assert_eq!(run.stdout, "", "{run}");
    }
    for words in ["-X/dev/zero", "preset show /dev/zero"] {
        place.diskspd(words).run().expect_status(3).expect_stderr(&[" is larger than 8"]);
    }
}
