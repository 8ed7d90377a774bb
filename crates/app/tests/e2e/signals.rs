//! Signals and closed streams: a run ends as requested, with a correct report.

use std::time::{Duration, Instant};
use testkit::{Faulty, Report, Running, or_skip, say_skipped, tool, workplace};

/// The text of a report without results.
const NOTHING: &str = "The test was interrupted before the measurements began. No results are displayed.";

// Shows faults: SIGINT, SIGTERM, SIGHUP
#[test]
fn signals_that_end_a_program_end_the_run_gracefully() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let send: [fn(&Running); 3] = [Running::interrupt, Running::terminate, Running::hang_up];
    for (name, send) in ["INT", "TERM", "HUP"].into_iter().zip(send) {
        if name == "HUP" && ignores_hang_up() {
            say_skipped(format_args!("SIGHUP: these tests run under nohup, and so do the programs that they start"));
            continue;
        }
        let mut run = place.diskspd("-d600 -W0 -C600 -b4K -o8 -t2 -v a.dat").start();
        run.wait_for_stderr("starting measurements");
        run.wait_for_ios();
        send(&run);
        if name == "HUP" {
            // The kernel and the shell both send it when a terminal is closed.
            send(&run);
        }
        let run = run.finish();
        let cause = if name == "INT" { "Ctrl-C".to_owned() } else { format!("SIG{name}") };
        run.expect_status(0)
            .expect_stderr(&[&format!("*** Interrupted by {cause}. Stopping I/O Request Generator. ***")]);
        let report = Report::parse(&run.stdout);
        assert!(report.seconds > 0.0 && report.seconds < 599.0, "{name}\n{run}");
        assert!(report.total.sum.ios > 0, "{name}\n{run}");
    }
}

/// True if this process ignores SIGHUP, as its children then do.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    u64::from_str_radix(ignored.trim(), 16).is_ok_and(|mask| mask & 1 != 0)
}

// Shows faults: SIGHUP under nohup
#[test]
fn under_nohup_a_terminal_may_go_away() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let script = r#"trap "" HUP; exec "$0" -d2 -W0 -b4K -v a.dat"#;
    let mut run = place.tool("sh").args("-c").arg(script).arg(place.program()).start();
    run.wait_for_stderr("starting measurements");
    run.hang_up();
    let run = run.finish();
    run.expect_status(0);
    assert!(!run.stderr.contains("Interrupted"), "{run}");
    assert!(Report::parse(&run.stdout).seconds >= 1.99, "{run}");
}

// Shows faults: A signal while a thread hangs in opening its target
#[test]
fn a_signal_is_heard_while_a_thread_hangs_in_opening_its_target() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "faulty"));
    let before = faulty.opened();
    place.briefly("-b4K -o8").arg(&faulty.file).run_until_measuring().expect_status(0);
    // The last one is by the worker.
    faulty.hold_open(faulty.opened() - before);
    let mut run = place.diskspd("-d1 -W0 -b4K -o8 -v").arg(&faulty.file).start();
    run.wait_until("an open to hang", |_| faulty.held() > 0);
    run.interrupt();
    run.wait_for_stdout(NOTHING);
    assert!(faulty.held() > 0, "it was not the signal that ended the run");
    faulty.release();
    let run = run.finish();
    run.expect_status(130).expect_stderr(&["*** Interrupted by Ctrl-C."]);
}

// Shows faults: A signal while a file that is being made hangs
#[test]
fn the_second_signal_ends_a_creation_that_hangs() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "faulty"));
    faulty.hold();
    let mut run = place.diskspd("-d1 -W0 -c8M").arg(&faulty.new_file).start();
    run.wait_until("writes to hang", |_| faulty.held() > 0);
    run.interrupt();
    run.terminate();
    // The kernel keeps the process until the writes complete.
    faulty.release();
    let run = run.finish();
    assert_eq!(run.stdout.matches("total:").count(), 0, "{run}");
    // Both signals may be handled only after the writes, when the first one has taken effect.
    match run.code() {
        Some(130 | 143) => {}
        _ => assert!(!faulty.new_file.exists(), "half a file is left\n{run}"),
    }
}

// Shows faults: SIGSTOP and SIGCONT
#[test]
fn a_run_that_was_stopped_and_continued_says_so_and_counts_the_pause() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let begun = Instant::now();
    let mut run = place.diskspd("-d600 -W0 -b4K -L -v a.dat").start();
    run.wait_for_stderr("starting measurements");
    run.wait_for_ios();
    let measuring = Instant::now();
    run.pause();
    let paused_at = Instant::now();
    std::thread::sleep(Duration::from_millis(1500));
    run.go_on();
    run.wait_for_ios();
    let at_least = measuring.elapsed().as_secs_f64();
    run.interrupt();
    let run = run.finish();
    let at_most = paused_at.elapsed().as_secs_f64();
    run.expect_status(0);
    let report = Report::parse(&run.stdout);
    // Time passes while the process is stopped.
    assert!(
        report.seconds >= at_least - 0.01 && report.seconds <= begun.elapsed().as_secs_f64(),
        "{at_least} s\n{run}"
    );
    assert!((report.total.sum.ios as f64 / report.total.sum.ios_per_s - report.seconds).abs() <= 0.006, "{run}");
    let note = "NOTE: the process did not run for ";
    let line = run.stdout.lines().find_map(|line| line.strip_prefix(note)).unwrap_or_else(|| panic!("no note\n{run}"));
    let told: f64 = line.split(' ').next().unwrap_or_default().parse().expect("seconds");
    assert!(told >= 1.0 && told <= at_most, "{line}");
    assert!(line.contains("stopped by a signal"), "{line}");
}

// Shows faults: SIGSTOP and SIGCONT
#[test]
fn a_run_that_is_stopped_beyond_its_end_ends_when_it_is_continued() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    // All in parallel; this thread may be delayed for nine seconds.
    let start = |words| {
        let mut run = place.diskspd("-d10 -W0 -b4K -v").args(words).arg("a.dat").start();
        run.wait_for_stderr("starting measurements");
        std::thread::sleep(Duration::from_millis(300));
        run.pause();
        run
    };
    let runs = ["-o1", "-o8 -x", "-o8 -g64"].map(start);
    std::thread::sleep(Duration::from_millis(10_200));
    for run in runs {
        run.go_on();
        let run = run.finish();
        run.expect_status(0).expect_stdout(&["NOTE: the process did not run for ", "lasted until the end"]);
        let report = Report::parse(&run.stdout);
        assert!((9.99..10.1).contains(&report.seconds), "what came after the end was measured too\n{run}");
    }
}

// Shows faults: The reader of stdout or stderr goes away, or a stream is closed
#[test]
fn streams_that_nobody_reads_do_not_end_a_run() {
    let place = workplace!();
    place.create_file("a.dat", "-c1M");
    let sh = or_skip!(tool("bash"));
    // The reader of stderr exits before the first line.
    let script = r#"( sleep 0.3; exec "$0" -d60 -W0 -b4K -v -P10 --max-ios=1000 a.dat ) 2> >(true) > report.txt; echo "status $?""#;
    let run = place.tool(&sh).args("-c").arg(script).arg(place.program()).run();
    assert_eq!(run.stdout, "status 0\n", "{run}");
    assert!(Report::parse(&String::from_utf8_lossy(&place.content("report.txt"))).total.sum.ios > 0);
    // No streams at all.
    let script = r#""$0" -d1 -W0 -b4K -v --json result.json a.dat <&- >&- 2>&-; echo "status $?""#;
    let run = place.tool(&sh).args("-c").arg(script).arg(place.program()).run();
    assert_eq!(run.stdout, "status 0\n", "{run}");
    assert!(!place.content("result.json").is_empty());
}
