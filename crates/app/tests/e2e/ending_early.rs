//! `--max-ios`, `--max-bytes`, `--max-write`, `--delete-after` and SIGUSR1: runs that end early, the files that they
//! leave behind, and their status output.

use testkit::{Finished, Report, Workplace, workplace};

/// A run on a file that is created if it does not exist.
fn run(place: &Workplace, words: &str) -> Finished {
    place.diskspd(&format!("-c1M -b4K -o4 {words}")).arg(place.path("t.dat")).run()
}

// Shows switches: --max-ios=<n>
#[test]
fn exactly_so_many_ios_are_measured_whatever_the_engine_and_the_number_of_threads() {
    let place = workplace!();
    for words in [
        "-t1 -W0 -d60",
        "-t3 -r -W0 -d60",
        "-t3 -r -W1 -d60",
        "-t2 -W1 -d60 -u4",
        "-t2 -W1 -d60 -u4 -L",
        "-F2 -O5 -W1 -d60 -r",
        "-t2 -x -W0 -d60",
        "-t2 --engine=sync -o1 -W1 -d60",
        "-t2 -Sm -W0 -d60",
    ] {
        let finished = run(&place, &format!("{words} --max-ios=777"));
        finished.expect_status(0);
        assert_eq!(Report::parse(&finished.stdout).total.sum.ios, 777, "{words}");
        assert!(finished.stdout.contains("ended early because a limit was reached (--max-ios=777)"), "{words}");
    }
}

// Shows switches: --max-bytes=<size>[KMGT]
#[test]
fn no_more_bytes_are_measured_than_allowed() {
    let place = workplace!();
    let finished = run(&place, "-t2 -r -W1 -d60 --max-bytes=2M");
    finished.expect_status(0);
    assert_eq!(Report::parse(&finished.stdout).total.sum.bytes, 2 << 20);
}

// Shows switches: --max-write=<size>[KMGT]
#[test]
fn a_limit_on_writes_leaves_reads_alone_and_holds_from_the_warm_up_on() {
    let place = workplace!();
    run(&place, "-d1 -W0").expect_status(0);
    // The kernel's own count of what the process wrote, its report included.
    let finished = place
        .diskspd("-b4K -o4 -t2 -r -w50 -Sh -W0 -d60 -L -D100 --max-write=1M")
        .arg(place.path("t.dat"))
        .run_counted();
    finished.expect_status(0);
    let written = finished.kernel_io.expect("the process writes more than a page").write_bytes;
    assert!((1_000_000..=(1 << 20) + 65_536).contains(&written), "{written} bytes were written");

    let early = place.diskspd("-b4K -o4 -w100 -W600 -d5 --max-write=64K").arg(place.path("t.dat")).run();
    early.expect_status(1);
    assert!(early.stderr.contains("nothing was measured: --max-write=65536 was reached before"));
}

#[test]
fn every_timespan_has_its_own_limit() {
    let place = workplace!();
    let profile = run(&place, "-W0 -d60 --max-ios=50 -Rpxml");
    let span = &profile.stdout;
    let (begin, end) = (span.find("<TimeSpan>").expect("one"), span.find("</TimeSpans>").expect("their end"));
    let two = format!("{}{}{}", &span[..end], &span[begin..end], &span[end..]);
    let path = place.file("two.xml", two.as_bytes());
    let finished = place.diskspd("").arg(format!("-X{}", path.display())).run();
    finished.expect_status(0);
    assert_eq!(finished.stdout.matches("a limit was reached (--max-ios=50)").count(), 2);
}

// Shows switches: --delete-after
#[test]
fn files_that_the_run_made_are_deleted_and_others_stay() {
    let place = workplace!();
    let theirs = place.file("theirs.dat", &vec![7; 1 << 16]);
    let finished = place
        .diskspd("-W0 -d1 -b4K -c1M -f1M --overwrite --delete-after")
        .arg(place.path("ours.dat"))
        .arg(&theirs)
        .arg("/dev/zero")
        .run();
    finished.expect_status(0);
    assert!(!place.path("ours.dat").exists() && theirs.exists());
    let (text, said) = (&finished.stdout, &finished.stderr);
    assert!(said.contains("deleted ") && said.contains("ours.dat"), "{said}");
    assert!(text.contains("theirs.dat' is not deleted (--delete-after): the file existed before"), "{text}");
    assert!(text.contains("'/dev/zero' is not deleted (--delete-after): it is a device"), "{text}");

    // Without -c nothing was created.
    run(&place, "-W0 -d1").expect_status(0);
    let read = place.diskspd("-W0 -d1 -b4K --delete-after").arg(place.path("t.dat")).run();
    assert!(place.path("t.dat").exists() && read.stdout.contains("this run did not create the file with -c"));
    // A reused file counts as created.
    run(&place, "-W0 -d1 --delete-after").expect_status(0);
    assert!(!place.path("t.dat").exists());
}

#[test]
fn an_interrupted_run_deletes_too() {
    let place = workplace!();
    let program = place.diskspd("-v -W0 -d60 -b4K -c1M --delete-after").arg(place.path("t.dat"));
    program.run_until_measuring().expect_status(0);
    assert!(!place.path("t.dat").exists());
}

#[test]
fn a_signal_gets_a_line_of_figures_and_the_run_goes_on() {
    let place = workplace!();
    let mut run = place.diskspd("-v -W0 -d600 -b4K -o1 -c1M").arg(place.path("t.dat")).start();
    run.wait_for_stderr("starting measurements");
    run.ask_status();
    run.wait_for_stderr(" s left: ");
    // One outstanding I/O is a system call that the kernel counts.
    let before = run.transferred_bytes();
    run.wait_until("more I/Os", |run| run.transferred_bytes() > before + 4096);
    run.interrupt();
    let finished = run.finish();
    finished.expect_status(0);
    let said = &finished.stderr;
    let line = said.lines().find(|line| line.starts_with("measuring, ")).expect("the line");
    let is_whole = line.ends_with(" mean latency") || line.ends_with(" no I/O completed");
    assert!(line.contains(" IOPS, ") && is_whole, "{line}");
    assert!(said.contains("stopped measurements, total measured time "), "{said}");
}

#[test]
fn limits_that_are_none_are_refused() {
    let place = workplace!();
    for (words, reason) in [
        ("--max-ios=0", "'0' is not a whole number of at least 1"),
        ("--max-ios=-3", "'-3' is not a whole number of at least 1"),
        ("--max-bytes=3b", "is a number of blocks"),
        ("--max-write=0", "'0' is not a size of at least 1"),
        ("--max-write=1X", "'X' is not a size unit"),
    ] {
        let finished = run(&place, words);
        finished.expect_status(3);
        assert!(finished.stderr.contains(reason), "{words}: {}", finished.stderr);
        assert!(!place.path("t.dat").exists());
    }
}
