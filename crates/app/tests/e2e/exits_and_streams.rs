//! Behaviour that scripts rely on: exit status, contents of stdout and stderr, and early ends of a run.

use std::fs::{self, File};
use testkit::{Finished, LoopDevice, Mounted, Report, Running, or_skip, skip, tool, workplace};

/// The text of a report without results.
const NOTHING: &str = "The test was interrupted before the measurements began. No results are displayed.";

/// The run was not possible: exit 1, the reasons on stderr, and nothing else.
fn impossible(run: &Finished, parts: &[&str]) {
    run.expect_status(1).expect_stderr(parts);
    assert_eq!(run.stdout, "", "nothing is reported");
    assert!(run.stderr.lines().all(|line| line.starts_with("ERROR: ")), "{run}");
}

/// The command line or the profile is wrong: exit 3, the reason on stderr, and nothing else.
fn invalid(run: &Finished, parts: &[&str]) {
    run.expect_status(3).expect_stderr(parts);
    assert_eq!(run.stdout, "", "nothing is reported");
}

// Shows switches: -Rs[text|xml]
// Shows switches: -?
// Shows switches: --help[=<option|word>]
// Shows switches: --version
#[test]
fn what_only_shows_something_succeeds() {
    let place = workplace!();
    for (words, part) in [
        ("-?", "Usage:"),
        ("--help", "Usage:"),
        ("--help=-rd", "-rd"),
        ("--version", "diskspd"),
        ("-Rp missing.dat", "timespan:"),
        ("-Rptext missing.dat", "timespan:"),
        ("-Rpxml missing.dat", "<Profile>"),
        ("-Rs", "cpu count:"),
    ] {
        let run = place.diskspd(words).run();
        run.expect_status(0).expect_stdout(&[part]);
        assert_eq!(run.stderr, "", "{words}");
    }
    assert_eq!(fs::read_dir(place.folder()).expect("our folder").count(), 0);
}

#[test]
fn the_version_names_the_commit_and_what_the_kernel_offers() {
    let place = workplace!();
    let run = place.diskspd("--version").run();
    run.expect_status(0).expect_stdout(&[
        "behaves like DiskSpd 2.3.0",
        "\ncommit: ",
        "\nbuild:  ",
        "io_uring: ",
        "Linux AIO: ",
    ]);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("proc is mounted");
    run.expect_stdout(&[&format!("\nkernel: {}", release.trim())]);
    let git = or_skip!(tool("git"));
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let head = place.tool(git).args("-c safe.directory=* -C").arg(root).args("rev-parse HEAD").run();
    let commit = run.stdout.lines().find_map(|line| line.strip_prefix("commit: ")).expect("a commit");
    // An unpacked archive has no commit; a packager may set another.
    if head.code() == Some(0) && std::env::var_os("DISKSPD_COMMIT").is_none() {
        assert!(head.stdout.starts_with(commit) && commit.len() >= 12, "{run}{head}");
    }
}

#[test]
fn no_arguments_give_the_usage_and_status_3() {
    let run = workplace!().diskspd("").run();
    run.expect_status(3).expect_stdout(&["Usage:"]);
    assert_eq!(run.stderr, "");
}

#[test]
fn wrong_command_lines_end_with_status_3() {
    let place = workplace!();
    place.file("a.dat", &vec![0; 65_536]);
    for (words, part) in [
        ("--nonsense a.dat", "--nonsense"),
        ("-q a.dat", "-q"),
        ("-b8K", "target"),
        ("a.dat -r", "-r"),
        ("-w101 a.dat", "-w101"),
        ("-d0 a.dat", "-d"),
        ("-n -a0 a.dat", "-n"),
        ("-a63 a.dat", "63"),
        ("-i10 a.dat", "-j"),
        ("*1", "*1"),
    ] {
        invalid(&place.diskspd(words).run(), &[part]);
    }
    // All errors in a profile are reported at once.
    invalid(&place.diskspd("-n -a0 -i10 -t2 -F2 a.dat").run(), &["-n", "-j", "-F"]);
}

#[test]
fn targets_that_cannot_be_used_end_with_status_1_and_their_errors() {
    let place = workplace!();
    place.file("empty.dat", b"");
    place.file("small.dat", &[0; 1000]);
    place.file("a.dat", &vec![0; 65_536]);
    for (words, parts) in [
        ("missing.dat", ["missing.dat", "-c<size>"]),
        ("folder/missing.dat", ["folder/missing.dat", "does not exist"]),
        ("empty.dat", ["empty.dat", "empty"]),
        ("small.dat", ["small.dat", "too small"]),
        ("-f32K a.dat", ["a.dat", "too small"]),
        ("-b4K -T64K -t2 a.dat", ["a.dat", "-T 64KiB"]),
        ("-b4K -B64K a.dat", ["a.dat", "-B"]),
        ("-b4K -B1T a.dat", ["a.dat", "-B"]),
        (".", [".", "directory"]),
    ] {
        impossible(&place.short_run("").args(words).run(), &parts);
    }
    // All of them are reported, not only the first.
    impossible(&place.short_run("missing.dat a.dat empty.dat").run(), &["missing.dat", "empty.dat"]);
}

// Shows switches: -Su
#[test]
fn direct_io_that_does_not_fit_the_device_is_refused_before_the_run() {
    let place = workplace!();
    or_skip!(place.direct_io());
    place.file("a.dat", &vec![0; 65_536]);
    for words in ["-Su -b1000", "-Su -b4K -r100", "-Su -b4K -B100"] {
        let run = place.short_run("").args(words).args("a.dat").run();
        assert_ne!(run.code(), Some(0), "{run}");
        run.expect_stderr(&["a.dat"]);
        assert!(!run.stdout.contains("Total IO"), "{run}");
    }
    place.short_run("-b1000 -r100 -B100 a.dat").run().expect_status(0);
}

// Shows switches: -v
#[test]
fn stdout_carries_the_report_and_stderr_everything_else() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let quiet = place.diskspd("-d1 -W1 -C1 -t2 -b4K -si a.dat").run();
    quiet.expect_status(0);
    assert_eq!(quiet.stderr, "", "a run without anything to say, and no terminal");
    let loud = place.diskspd("-d1 -W1 -C1 -t2 -b4K -v -P100 a.dat").run();
    loud.expect_status(0);
    // Except for -v itself and measured values, both reports have the same lines.
    let skeleton = |text: &str| -> Vec<String> {
        // With -v more follows DiskSpd's tables.
        let tables = text
            .lines()
            .take_while(|line| !["No 95 % ", " 95 % ", "closed loop"].iter().any(|own| line.starts_with(own)));
        // Notes on the machine, and the I/O of other processes, do, too.
        let tables = tables.filter(|line| !line.starts_with("NOTE: ") && !line.starts_with(" level "));
        let kept = tables.filter(|line| !line.contains("Command Line") && !line.contains("verbose"));
        kept.filter(|line| !line.contains("sequential") && !line.chars().any(|c| c.is_ascii_digit()))
            .map(str::to_owned)
            .collect()
    };
    let (loud_lines, quiet_lines) = (skeleton(&loud.stdout), skeleton(&quiet.stdout));
    // A note about the machine may be at the end of either, after an empty line.
    assert_eq!(loud_lines.join("\n").trim_end(), quiet_lines.join("\n").trim_end());
    assert!(loud.stdout.starts_with("\nCommand Line: "), "{loud}");
    for part in [
        "WARNING:",
        "Generating requests for timespan 1.",
        "creating thread 1",
        "starting warm up for 1s...",
        "starting measurements for 1s...",
        "stopped measurements, total measured time",
        "starting cool down for 1s...",
        "finished test...",
        "....",
    ] {
        assert!(loud.stderr.contains(part), "stderr lacks '{part}'\n{loud}");
        assert!(!loud.stdout.contains(part), "stdout has '{part}'\n{loud}");
    }
    // Every line of -v begins with its time, whatever was printed before it.
    for line in loud.stderr.lines().filter(|line| line.contains("measurements") || line.contains("cool down")) {
        let is_stamped = line.get(4..5) == Some("-") && line.get(10..11) == Some("T");
        assert!(is_stamped, "no time in front of '{line}'");
    }
    let has_time_behind_dots = |line: &str| line.starts_with('.') && line.trim_start_matches('.').starts_with("20");
    assert!(!loud.stderr.lines().any(has_time_behind_dots), "a time behind the dots of -P\n{loud}");
}

#[test]
fn a_terminal_shows_how_the_run_goes() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let script = or_skip!(tool("script"));
    let at_a_terminal = |line: &str| place.tool(&script).args("-qec").arg(line).arg("/dev/null").env("TERM", "xterm");
    let probe = at_a_terminal("true").run();
    if probe.code() != Some(0) {
        skip!("no terminal can be made here: {}", probe.stderr.trim());
    }
    let program = place.program().display();
    // It ends once the test has seen the awaited output.
    let line = format!(
        "{program} -d600 -W0 -b4K a.dat > report.txt & until test -e seen; do sleep 0.1; done; kill -TERM $!; wait $!"
    );
    let mut run = at_a_terminal(&line).start();
    run.wait_for_stdout(" ms mean latency");
    place.file("seen", b"");
    let run = run.finish();
    run.expect_status(0).expect_stdout(&["measuring, ", " s left: ", " IOPS, ", " MiB/s, "]);
    let report = String::from_utf8(place.content("report.txt")).expect("text");
    assert!(report.contains("Total IO") && !report.contains("s left"), "{report}");
}

#[test]
fn a_report_ends_with_the_result_on_a_line() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let run = place.diskspd("-d60 -W0 -b4K -r -o2 -L --max-ios=5000 --json r.json --text r.txt a.dat").run();
    run.expect_status(0);
    assert_eq!(run.stderr, "", "it stands in the report, not beside it");
    let line = run.stdout.lines().next_back().expect("a line");
    let total: Vec<&str> =
        run.stdout.lines().find(|line| line.starts_with("total:")).expect("a row").split('|').collect();
    let (iops, mean): (f64, &str) = (total[3].trim().parse().expect("a number"), total[4].trim());
    let figures = line.strip_prefix("4 KiB random read, QD 2: ").unwrap_or_else(|| panic!("{line}"));
    let (said, rest) = figures.split_once(" IOPS, ").expect("a rate");
    // The value in the report is rounded, too.
    assert!((said.replace(',', "").parse::<f64>().expect("a number") - iops).abs() <= 1.0, "{line}");
    assert!(rest.contains(&format!(" MiB/s, mean {mean} ms, p99 ")), "{line}");
    let verdicts = ["sound", "valid", "WARN ", "INVALID "];
    let verdict = line.split_once("; ").expect("a verdict").1;
    assert!(verdicts.iter().any(|known| verdict.starts_with(known)), "{line}");
    // Our lines are few, beside those that DiskSpd prints; findings, which are indented, depend on how busy the machine
    // is.
    let after_histogram = run.stdout.lines().rev().take_while(|line| !line.starts_with("    max |"));
    let ours = after_histogram.filter(|line| !line.is_empty() && !line.starts_with("  "));
    assert!(ours.count() <= 6, "{}", run.stdout);
    assert_eq!(String::from_utf8(place.content("r.txt")).expect("text"), run.stdout);
    let again = place.diskspd("report r.json").run();
    assert_eq!(again.stdout, run.stdout);
    let details = place.diskspd("report --details r.json").run();
    details.expect_status(0).expect_stdout(&["\nclosed loop, depth 2; average outstanding "]);
    let without_latencies = place.diskspd("-d60 -W0 -b4K --max-ios=5000 a.dat").run();
    let line = without_latencies.stdout.lines().next_back().expect("a line");
    assert!(line.contains(" MiB/s; ") && !line.contains("mean"), "{line}");
    for form in ["-Rxml", "--json=-", "--csv=-"] {
        let document = place.diskspd("-d60 -W0 -b4K --max-ios=5000 -L").args(form).args("a.dat").run();
        // JSON contains it in its brief.
        let is_told = document.stdout.lines().any(|line| line.contains(" IOPS, ") && !line.starts_with("    \""));
        assert!(!is_told, "{form}: {}", document.stdout);
    }
}

// Shows switches: --brief
#[test]
fn a_brief_report_has_twelve_lines_at_most() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let load = "-d60 -W0 -b4K -r -w50 -o2 -L --max-ios=5000 --require=iops<1 --strict --brief --json r.json a.dat";
    let run = place.diskspd(load).run();
    run.expect_status(4);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines.len() <= 12 && lines[0].starts_with(" 95 % ") && lines[1].starts_with(" all "), "{run}");
    assert!(lines.last().is_some_and(|line| line.starts_with("4 KiB random 50/50 read/write, QD 2: ")), "{run}");
    assert!(!run.stdout.contains("Total IO"), "{run}");
    place.diskspd("report r.json").run().expect_status(0).expect_stdout(&["Total IO"]);
}

// Shows faults: SIGINT, SIGTERM, SIGHUP
#[test]
fn ctrl_c_while_measuring_reports_what_was_measured() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    for terminate in [false, true] {
        let mut run = place.diskspd("-d600 -W0 -C600 -b4K -v -L a.dat").start();
        run.wait_for_stderr("starting measurements");
        run.wait_for_ios();
        if terminate {
            run.terminate();
        } else {
            run.interrupt();
        }
        let run = run.finish();
        let cause = if terminate { "SIGTERM" } else { "Ctrl-C" };
        let line = format!("\n*** Interrupted by {cause}. Stopping I/O Request Generator. ***\n");
        run.expect_status(0).expect_stderr(&[&line]);
        assert!(!run.stdout.contains("***\n***") && !run.stdout.contains("Interrupted by"), "{run}");
        assert!(!run.stderr.contains("cool down"), "{run}");
        let report = Report::parse(&run.stdout);
        assert!(report.seconds > 0.0 && report.seconds < 599.0, "{run}");
        assert!(report.total.sum.ios > 0, "{run}");
        // Rates are over the measured time, not the planned one; the report's two decimals leave an uncertainty of 5
        // ms.
        let rate = report.total.sum.ios as f64 / report.total.sum.ios_per_s;
        assert!((rate - report.seconds).abs() <= 0.006, "{run}");
    }
}

// Shows faults: SIGINT, SIGTERM, SIGHUP
#[test]
fn ctrl_c_while_warming_up_has_nothing_to_report() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let send: [fn(&Running); 3] = [Running::interrupt, Running::terminate, Running::hang_up];
    for (send, (status, cause)) in send.into_iter().zip([(130, "Ctrl-C"), (143, "SIGTERM"), (129, "SIGHUP")]) {
        // These tests may run under nohup.
        let program = place.tool("env").args("--default-signal=HUP").arg(place.program());
        let mut run = program.args("-d1 -W600 -v a.dat").start();
        run.wait_for_stderr("starting warm up");
        send(&run);
        let run = run.finish();
        run.expect_status(status).expect_stdout(&[NOTHING]);
        run.expect_stderr(&[&format!("*** Interrupted by {cause}.")]);
        assert!(!run.stderr.contains("starting measurements"), "{run}");
    }
}

// Shows faults: SIGINT, SIGTERM, SIGHUP
#[test]
fn ctrl_c_while_cooling_down_keeps_the_whole_measurement() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    // A busy machine may give a run no time in one second; it is retried.
    for left in (0..5).rev() {
        let mut run = place.diskspd("-d1 -W0 -C600 -v -b4K a.dat").start();
        run.wait_for_stderr("starting cool down");
        let run = run.end();
        let report = Report::parse(&run.stdout);
        assert!(report.seconds >= 0.99, "{run}");
        if report.total.sum.ios > 0 {
            break;
        }
        assert!(left > 0, "nothing is measured\n{run}");
    }
}

// Shows faults: stderr is not read
#[test]
fn stderr_that_nobody_reads_does_not_stall_a_run() {
    let place = workplace!();
    let bash = or_skip!(tool("bash"));
    place.create_file("a.dat", "-c1M");
    // The reader of the pipe reads nothing before the program has ended.
    let script = "mkfifo pipe; exec 9<>pipe; \"$0\" -d2 -W0 -b4K -v -P1 -t4 -o8 a.dat 2>pipe; echo status $?";
    let run = place.tool(bash).args("-c").arg(script).arg(place.program()).run();
    run.expect_status(0).expect_stdout(&["status 0"]);
    assert!(Report::parse(&run.stdout).seconds >= 1.99, "{run}");
}

// Shows faults: A second SIGINT or SIGTERM
#[test]
fn a_second_signal_ends_at_once() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    // A graceful end takes only moments, so both signals arrive before the process continues. The kernel may still
    // delay one of them.
    let signalled_twice = || {
        let mut run = place.diskspd("-d600 -W0 -v -b4K a.dat").start();
        run.wait_for_stderr("starting measurements");
        run.pause();
        run.interrupt();
        run.terminate();
        run.go_on();
        run.finish()
    };
    let run = (0..5).map(|_| signalled_twice()).find(|run| run.code() != Some(0)).expect("a second signal in time");
    // Depends on which of the two handlers the kernel runs last.
    assert!(matches!(run.code(), Some(130 | 143)), "{run}");
    assert_eq!(run.stdout, "", "a report takes time");
}

// Shows faults: The reader of stdout or stderr goes away, or a stream is closed
#[test]
fn a_reader_that_went_away_is_no_error() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let script = r#"{ "$0" -d1 -W0 -b4K -L -D a.dat; echo "status $?" >&2; } | head -n 1"#;
    let run = place.tool("sh").args("-c").arg(script).arg(place.program()).run();
    assert_eq!(run.stderr, "status 0\n");
    let script = r#"{ sleep 0.2; "$0" --help; echo "status $?" >&2; } | true"#;
    let run = place.tool("sh").args("-c").arg(script).arg(place.program()).run();
    assert_eq!(run.stderr, "status 0\n");
}

// Shows faults: stdout cannot be written (disk full)
#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let Ok(full) = File::options().write(true).open("/dev/full") else { skip!("no /dev/full") };
    let run = place.short_run("-b4K a.dat").stdout(full).run();
    run.expect_status(1).expect_stderr(&["stdout", "No space left on device"]);
}

#[test]
fn a_target_that_shrinks_ends_the_run_with_the_place_of_the_error() {
    let place = workplace!();
    // One thread with the synchronous engine, then several with rings.
    for words in ["-o1 -b4K", "-o4 -t2 -r -b4K -L -D"] {
        let path = place.create_file("a.dat", "-c8M --overwrite");
        let mut run = place.diskspd("-d600 -W0 -C600 -v").args(words).arg("a.dat").start();
        run.wait_for_stderr("starting measurements");
        run.wait_for_ios();
        File::options().write(true).open(&path).and_then(|file| file.set_len(4096)).expect("our file");
        let run = run.finish();
        run.expect_status(1).expect_stderr(&["Error generating I/O requests"]);
        let failures: Vec<&str> = run.stderr.lines().filter(|line| line.contains("failed")).collect();
        assert!(matches!(failures.len(), 1 | 2), "once per thread and target\n{run}");
        for line in failures {
            for part in ["reading 4096 bytes at offset ", "'a.dat'", "end of target"] {
                assert!(line.contains(part), "'{line}' lacks '{part}'");
            }
            assert!(run.stdout.contains(line), "the report names the error too\n{run}");
        }
        assert!(!run.stderr.contains("cool down"), "all threads stop\n{run}");
        run.expect_stdout(&["The test failed after", "cover that time only"]);
        let report = Report::parse(&run.stdout);
        assert!(report.seconds < 599.0 && report.total.sum.ios > 0, "{run}");
    }
}

#[test]
fn a_device_that_fails_ends_the_run_with_the_reason_of_the_kernel() {
    let place = workplace!();
    // A file system of 64 MiB on a file that can only grow to 16.
    let small = or_skip!(Mounted::tmpfs(&place, "small", "16M"));
    let image = small.path.join("image");
    File::create(&image).and_then(|file| file.set_len(64 << 20)).expect("a sparse file");
    let made = place.tool(or_skip!(tool("mkfs.ext4"))).args("-q -F -m0 -O ^has_journal").arg(&image).run();
    if made.code() != Some(0) {
        skip!("no ext4 here: {}", made.stderr.trim());
    }
    let device = or_skip!(LoopDevice::over(&place, &image));
    let mounted = or_skip!(Mounted::device(&place, "failing", device));
    let path = mounted.path.join("a.dat");
    File::create(&path).and_then(|file| file.set_len(48 << 20)).expect("a sparse file");
    for words in ["-o1", "-o8"] {
        let run = place.diskspd("-d600 -W0 --overwrite -w100 -Su -b64K").args(words).arg(&path).run();
        run.expect_status(1).expect_stderr(&["writing 65536 bytes at offset ", "a.dat", "failed: ", "(errno "]);
        assert!(Report::parse(&run.stdout).seconds < 599.0, "{run}");
    }
}

// Shows faults: A file shrinks
#[test]
fn short_transfers_count_with_their_length_and_are_told_once() {
    let place = workplace!();
    let path = place.create_file("a.dat", "-c1M");
    let mut run = place.diskspd("-d600 -W0 -v -o1 -r4K -b64K -B0:128K a.dat").start();
    run.wait_for_stderr("starting measurements");
    // The last block of each pass is short by half, and only that; nothing is empty.
    File::options().write(true).open(&path).and_then(|file| file.set_len((64 << 10) + 2048)).expect("our file");
    // Hundreds of I/Os, many of them short.
    let before = run.transferred_bytes();
    run.wait_until("more I/Os", |run| run.transferred_bytes() > before + (16 << 20));
    run.interrupt();
    let run = run.finish();
    run.expect_status(0);
    assert_eq!(run.stderr.matches("WARNING").count(), 1, "{run}");
    let sum = Report::parse(&run.stdout).read.sum;
    assert!(sum.bytes < sum.ios * 65_536, "short transfers were counted in full\n{run}");
}
