//! Targets that fail, hang, shrink, vanish or fill up during a run: it ends with a correct report and the reason, and
//! never hangs, crashes or counts I/Os that did not complete.

use std::fs::{self, File};
use std::time::{Duration, Instant};
use testkit::{Faulty, Finished, Mounted, Report, SlowRead, or_skip, skip, workplace};

/// One command line for each engine that applies to targets that cannot be mapped.
const WAYS: [(&str, &str); 4] =
    [("synchronous", "-o1"), ("io_uring", "-o8"), ("batched io_uring", "-o8 -u4"), ("Linux AIO", "-o8 -x")];

/// The line of stderr about the failed I/O; there is one per thread and target.
fn failure(run: &Finished) -> &str {
    let mut lines = run.stderr.lines().filter(|line| line.contains(" failed: "));
    let line = lines.next().unwrap_or_else(|| panic!("no failure is told\n{run}"));
    assert_eq!(lines.next(), None, "told once\n{run}");
    line
}

/// The number after these words.
fn number_after(line: &str, words: &str) -> u64 {
    let rest = line.split_once(words).unwrap_or_else(|| panic!("'{line}' lacks '{words}'")).1;
    rest.split(' ').next().unwrap_or_default().parse().unwrap_or_else(|_| panic!("no number after '{words}': {line}"))
}

// Shows faults: An I/O fails (EIO on some blocks)
#[test]
fn an_io_error_ends_the_run_with_its_place_and_the_figures_so_far() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "faulty"));
    for write in [false, true] {
        for (way, words) in WAYS {
            faulty.fail_blocks(4096, 0);
            let mix = if write { "-w100 --overwrite" } else { "-w0" };
            let mut run = place.diskspd("-d600 -W0 -C600 -b4K -v").args(mix).args(words).arg(&faulty.file).start();
            run.wait_for_stderr("starting measurements");
            faulty.fail_blocks(4096, 5);
            let run = run.finish();
            run.expect_status(1).expect_stderr(&["Error generating I/O requests"]);
            let line = failure(&run);
            let verb = if write { "writing" } else { "reading" };
            assert!(line.contains(&format!("{verb} 4096 bytes at offset ")), "{way}: {line}");
            assert!(line.contains("a.dat' failed: Input/output error (errno 5)"), "{way}: {line}");
            let block = number_after(line, "at offset ") / 4096;
            assert_eq!((block + 1) % 5, 0, "{way}: not a block that fails: {line}");
            run.expect_stdout(&[line, "The test failed after", "cover that time only"]);
            let report = Report::parse(&run.stdout);
            assert!(report.seconds < 599.0, "{run}");
            let sums = [report.read.sum, report.write.sum];
            assert_eq!(sums[usize::from(!write)].ios, 0, "{run}");
            let done = &sums[usize::from(write)];
            assert_eq!(done.bytes, done.ios * 4096, "{way}: an I/O that failed has no bytes\n{run}");
        }
    }
}

// Shows faults: A target hangs
#[test]
fn a_target_that_hangs_does_not_hang_the_run() {
    drop(or_skip!(Faulty::mounted(&workplace!(), "probe")));
    // Each run waits for the hanging I/O.
    std::thread::scope(|scope| {
        for (way, words) in WAYS {
            scope.spawn(move || expect_no_hang(way, words));
        }
    });
}

fn expect_no_hang(way: &str, words: &str) {
    let place = workplace!();
    let faulty = Faulty::mounted(&place, "faulty").expect("it could be mounted before");
    let load = || place.diskspd("-d10 -W0 -b4K -v").args(words).arg(&faulty.file).start();
    let (started, mut run) = faulty.hold_load(load);
    // This is the report printed while the target still hangs. On a busy machine completions from before may be seen
    // after the end: then the report states how long the others were waited for.
    run.wait_for_stdout("had not completed");
    let until_report = started.elapsed().as_secs_f64();
    let held = faulty.held();
    assert!(held > 0, "{way}: nothing hung");
    faulty.release();
    let run = run.finish();
    run.expect_status(0).expect_stderr(&["had not completed"]);
    let line = run.stdout.lines().find(|line| line.contains("had not completed")).expect("seen above");
    let told = number_after(line, "NOTE: ");
    assert!((1..=8).contains(&told), "{way}: {line}");
    let report = Report::parse(&run.stdout);
    // The wait of 5 s for hanging I/Os is not measured, however late each step of it happens.
    let in_time = report.seconds >= 9.99 && report.seconds <= until_report - 4.9;
    assert!(in_time, "{way}: the time that was asked for, {until_report} s until the report\n{run}");
    assert!(report.total.sum.ios > 0, "{way}: what came back before\n{run}");
}

// Shows faults: A target is slow for the depth
#[test]
fn a_queue_that_takes_long_to_drain_is_waited_for() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "faulty"));
    // 3.5 s are left of them after the end: less than 5 s, at which they count as hanging, and more than the 2 s that
    // go unreported.
    let time = Duration::from_millis(4500);
    faulty.slow_down_all(time);
    for _ in 0..5 {
        let started = Instant::now();
        let run = place.diskspd("-d1 -W0 -b4K -r -o8 -v").arg(&faulty.file).run();
        let took = started.elapsed();
        // Replies, or the steps before and after them, may be late on a busy machine.
        let reads = faulty.take_slow_reads();
        let is_late = |read: &SlowRead| read.answered - read.arrived > time + Duration::from_millis(300);
        let is_paused = run.stdout.contains("NOTE: the process did not run for ");
        if is_paused || took > time + Duration::from_millis(1500) || reads.iter().any(is_late) {
            continue;
        }
        run.expect_status(0).expect_stdout(&["NOTE: the 8 I/Os outstanding at the end took "]);
        assert!(!run.stdout.contains("had not completed") && !run.stdout.contains("lost-ios"), "{run}");
        return;
    }
    skip!("the machine is too busy: none of 5 runs had the time that it needs");
}

// Shows faults: A target hangs, and the run is interrupted
#[test]
fn ctrl_c_ends_the_wait_for_a_target_that_hangs() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "faulty"));
    let mut run = place.diskspd("-d600 -W0 -b4K -o4 -v").arg(&faulty.file).start();
    run.wait_for_stderr("starting measurements");
    run.wait_until("some I/O", |_| faulty.answered() > 100);
    faulty.hold();
    run.wait_until("an I/O to hang", |_| faulty.held() > 0);
    run.interrupt();
    run.wait_for_stdout("outstanding at the end had not completed");
    faulty.release();
    run.finish().expect_status(0);
}

// Shows faults: A target hangs, and there are more timespans
#[test]
fn no_timespan_begins_while_ios_of_the_one_before_hang() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "faulty"));
    let span = format!(
        "<TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target><Path>{}</Path>\
         <BlockSize>4096</BlockSize></Target></Targets></TimeSpan>",
        faulty.file.display()
    );
    place.file("three.xml", format!("<Profile><TimeSpans>{span}{span}{span}</TimeSpans></Profile>").as_bytes());
    // From its first I/O on: the file is not read before.
    faulty.hold();
    let mut run = place.diskspd("-v -Xthree.xml").start();
    run.wait_for_stdout("Results for timespan 3:");
    assert!(faulty.held() > 0, "nothing hung");
    faulty.release();
    let run = run.finish();
    run.expect_status(1)
        .expect_stderr(&["ERROR: the next timespan is not run: 2 I/Os of the previous one did not complete"]);
    run.expect_stdout(&["NOTE: 2 I/Os had not completed", "Results for timespan 2:"]);
    assert_eq!(run.stderr.matches("Generating requests").count(), 1, "{run}");
    assert_eq!(run.stdout.matches("No results are displayed").count(), 2, "{run}");
}

// Shows faults: A target hangs for a moment
#[test]
fn a_target_that_hangs_for_a_moment_only_shows_in_the_latencies() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "faulty"));
    let begun = Instant::now();
    faulty.hold();
    let mut run = place.diskspd("-d600 -W0 -b4K -o4 -L --max-ios=1000").arg(&faulty.file).start();
    run.wait_until("an I/O to hang", |_| faulty.held() > 0);
    std::thread::sleep(Duration::from_millis(500));
    faulty.release();
    let run = run.finish();
    let all_ms = begun.elapsed().as_secs_f64() * 1000.0;
    run.expect_status(0);
    assert!(!run.stdout.contains("had not completed"), "{run}");
    let max = run.stdout.lines().find(|line| line.trim_start().starts_with("max |")).expect("a maximum");
    let max_ms: f64 = max.split('|').nth(3).expect("the total").trim().parse().expect("milliseconds");
    assert!((490.0..all_ms).contains(&max_ms), "{run}");
}

// Shows faults: A file is unlinked, during the run or while the run waits for its start event
#[test]
fn a_file_that_vanishes_is_used_to_the_end() {
    let place = workplace!();
    for (words, mapped) in [("-o1", false), ("-o8", false), ("-o8 -x", false), ("-Sm", true)] {
        let path = place.create_file("a.dat", "-c1M");
        let mut run = place.diskspd("-d600 -W0 -b4K -w50 -v").args(words).arg(&path).start();
        run.wait_for_stderr("starting measurements");
        fs::remove_file(&path).expect("our file");
        run.wait_for_ios();
        run.interrupt();
        let run = run.finish();
        run.expect_status(0);
        let report = Report::parse(&run.stdout);
        assert!(report.read.sum.ios > 0 && report.write.sum.ios > 0, "mapped: {mapped}\n{run}");
        assert!(!path.exists(), "it is not made again");
    }
}

// Shows faults: A file is unlinked, during the run or while the run waits for its start event
#[test]
fn a_file_that_vanishes_while_the_start_is_waited_for_is_used_all_the_same() {
    let place = workplace!();
    let path = place.create_file("a.dat", "-c1M");
    let event = format!("vanishing-{}", std::process::id());
    let mut run = place.diskspd(&format!("-d60 -W0 -b4K -v --max-ios=1000 -yr{event} a.dat")).start();
    run.wait_for_stderr("waiting for the start event");
    fs::remove_file(&path).expect("our file");
    place.diskspd(&format!("-ye{event}")).run().expect_status(0);
    let run = run.finish();
    run.expect_status(0);
    assert!(Report::parse(&run.stdout).total.sum.ios > 0, "{run}");
}

// Shows faults: A file shrinks
#[test]
fn a_file_that_shrinks_is_an_error_for_every_engine() {
    let place = workplace!();
    let direct = place.direct_io();
    for (words, reason) in [
        ("-o1", "end of target"),
        ("-o8 -t2", "end of target"),
        ("-o8 -x", "end of target"),
        ("-o8 -Su", "end of target"),
        ("-o1 -Su", "end of target"),
        ("-Sm", "the mapped page cannot be accessed"),
    ] {
        if words.contains("-Su") && direct.is_err() {
            continue;
        }
        let path = place.create_file("a.dat", "-c8M --overwrite");
        let mut run = place.diskspd("-d600 -W0 -r -b4K -v").args(words).arg(&path).start();
        run.wait_for_stderr("starting measurements");
        File::options().write(true).open(&path).and_then(|file| file.set_len(4096)).expect("our file");
        let run = run.finish();
        run.expect_status(1).expect_stderr(&["reading 4096 bytes at offset ", "a.dat' failed: ", reason]);
        run.expect_stdout(&[reason, "The test failed after"]);
        assert!(Report::parse(&run.stdout).seconds < 599.0, "{run}");
    }
}

// Shows faults: The file system is full while a sparse file is written
/// An empty page in place of a truncated one used to be verified as data of the file: writes to it seemed to succeed.
#[test]
fn a_mapped_page_that_is_lost_stays_lost() {
    let place = workplace!();
    // The first access is nearly always a read, which does not end the run.
    let mut run = place.diskspd("-c4K -b4K -o1 -t1 -w2 -d30 -W0 -v -Sm --verify --overwrite a.dat").start();
    run.wait_for_stderr("starting measurements");
    File::options().write(true).open(place.path("a.dat")).and_then(|file| file.set_len(0)).expect("a file");
    let run = run.finish();
    assert!(matches!(run.code(), Some(1 | 5)), "{run}");
    run.expect_stderr(&["writing 4096 bytes at offset 0 of 'a.dat' failed: the mapped page cannot be accessed"]);
}

#[test]
fn a_file_that_grows_holes_into_a_full_file_system_is_an_error() {
    let place = workplace!();
    let small = or_skip!(Mounted::tmpfs(&place, "small", "8M"));
    let path = small.path.join("a.dat");
    for (words, reason) in [
        ("-o1", "No space left on device (errno 28)"),
        ("-o8", "No space left on device (errno 28)"),
        ("-o8 -x", "No space left on device (errno 28)"),
        ("-Sm", "the mapped page cannot be accessed"),
    ] {
        File::create(&path).and_then(|file| file.set_len(64 << 20)).expect("a sparse file");
        let run = place.diskspd("-d600 -W0 -w100 --overwrite -b64K").args(words).arg(&path).run();
        run.expect_status(1).expect_stderr(&["writing 65536 bytes at offset ", reason]);
        run.expect_stdout(&[reason, "The test failed after"]);
        let written = Report::parse(&run.stdout).write.sum;
        assert!(written.bytes <= 8 << 20, "more than there is room for\n{run}");
    }
}

// Shows faults: The file system is full when a file is made
#[test]
fn a_file_that_cannot_be_finished_is_removed_again() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "faulty"));
    for (fault, reason) in [("full", "No space left on device"), ("broken", "Input/output error")] {
        if fault == "full" {
            faulty.limit_room(2 << 20);
        } else {
            faulty.limit_room(u64::MAX);
            faulty.fail_blocks(1 << 20, 3);
        }
        let run = place.diskspd("-d1 -W0 -c8M").arg(&faulty.new_file).run();
        run.expect_status(1).expect_stderr(&["cannot write '", "new.dat'", reason]);
        assert!(!faulty.new_file.exists(), "half a file is left\n{run}");
        assert!(!run.stdout.contains("total:"), "nothing was measured\n{run}");
    }
}

// Shows faults: The file system is full when a file is made
#[test]
fn a_file_that_does_not_fit_is_refused_before_it_is_begun() {
    let place = workplace!();
    let small = or_skip!(Mounted::tmpfs(&place, "small", "8M"));
    let run = place.diskspd("-d1 -W0 -c64M").arg(small.path.join("a.dat")).run();
    run.expect_status(1).expect_stderr(&["no space for '", "64MiB needed", "tmpfs"]);
    assert_eq!(fs::read_dir(&small.path).expect("our folder").count(), 0);
}
