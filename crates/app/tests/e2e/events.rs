//! `-ys -yf -yr -yp -ye`: runs that wait for each other, through named events of one user.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::event::{EventFolder, NamedEvent};
use testkit::{Finished, Program, Running, Workplace, is_root, nobody_can_run, or_skip, skip, workplace};

const WAITING: &str = "waiting for the start event";
const NOT_MEASURED: &str = "The test was interrupted before the measurements began.";
const NO_SUCH_EVENT: &str = "Error opening event '";

/// A name not used by other tests.
fn name(place: &Workplace, name: &str) -> String {
    format!("{}/{name}", place.folder().display())
}

/// A run of ten minutes with these event options (kind and name), on a small file.
fn reader(place: &Workplace, words: &str, events: &[(&str, &str)]) -> Program {
    let mut file = place.path("read.dat");
    // Not rewritten while other runs read it.
    if !file.exists() {
        file = place.file("read.dat", &vec![0; 1 << 16]);
    }
    let mut program = place.diskspd(&format!("-v -W0 -d600 -b4K -o1 {words}"));
    for (kind, event) in events {
        program = program.arg(format!("-y{kind}{event}"));
    }
    program.arg(file)
}

/// The same, returned once it waits for its start event.
fn waiting_reader(place: &Workplace, words: &str, events: &[(&str, &str)]) -> Running {
    let mut run = reader(place, words, events).start();
    run.wait_for_stderr(WAITING);
    run
}

fn signal(place: &Workplace, event: &str) -> Finished {
    place.diskspd("").arg(format!("-ye{event}")).run()
}

fn hold(event: &str) -> NamedEvent {
    EventFolder::of_this_user().and_then(|folder| folder.create(event.as_bytes())).expect("an event of ours")
}

fn exists(event: &str) -> bool {
    EventFolder::of_this_user().and_then(|folder| folder.open(event.as_bytes())).expect("a look").is_some()
}

/// Time when the event is set, in nanoseconds of the monotonic clock.
fn stamp(event: NamedEvent) -> JoinHandle<u64> {
    thread::spawn(move || {
        let limit_ns = monotonic_ns() + 60_000_000_000;
        while !event.wait_until_ns(limit_ns) {
            assert!(monotonic_ns() < limit_ns, "the event was never set");
        }
        monotonic_ns()
    })
}

// Shows switches: -yr<name>
// Shows switches: -yp<name>
#[test]
fn three_runs_begin_by_one_event_and_stop_by_another() {
    let place = &workplace!();
    let (start, stop) = (name(place, "MyStartEvent"), name(place, "MyStopEvent"));
    let started: Vec<String> = (0..3).map(|index| name(place, &format!("started {index}"))).collect();
    let runs: Vec<Running> = started
        .iter()
        .map(|started| waiting_reader(place, "", &[("r", &start), ("p", &stop), ("s", started)]))
        .collect();
    let stamps: Vec<JoinHandle<u64>> = started.iter().map(|started| stamp(hold(started))).collect();
    let before_ns = monotonic_ns();
    let signalled = signal(place, &start);
    signalled.expect_status(0).expect_stdout(&[&format!("Successfully set event: '{start}'\n")]);
    for stamp in stamps {
        assert!(stamp.join().expect("the event is set") >= before_ns, "it did not wait");
    }
    signal(place, &stop).expect_status(0);
    for run in runs {
        let run = run.finish();
        run.expect_status(0).expect_stdout(&["actual test time:"]).expect_stderr(&["the stop event was set"]);
        assert!(!run.stderr.contains("Interrupted"), "nobody pressed Ctrl+C\n{run}");
    }
    assert!(!exists(&start) && !exists(&stop), "gone with those who held them");
}

// Shows switches: -yp<name>
#[test]
fn ctrl_c_in_one_run_stops_all_that_share_its_stop_event() {
    let place = workplace!();
    let stop = name(&place, "stop");
    let mut runs: Vec<Running> = (0..2).map(|_| reader(&place, "", &[("p", &stop)]).start()).collect();
    for run in &mut runs {
        run.wait_for_stderr("starting measurements");
    }
    runs[0].interrupt();
    let ended: Vec<Finished> = runs.into_iter().map(Running::finish).collect();
    ended[0].expect_status(0).expect_stderr(&["*** Interrupted by Ctrl-C."]);
    ended[1].expect_status(0).expect_stderr(&["the stop event was set"]).expect_stdout(&["actual test time:"]);
}

#[test]
fn who_waits_for_the_start_can_be_stopped() {
    let place = workplace!();
    let (start, stop) = (name(&place, "start"), name(&place, "stop"));
    let run = waiting_reader(&place, "", &[("r", &start)]);
    run.interrupt();
    let run = run.finish();
    run.expect_status(130).expect_stdout(&[NOT_MEASURED]).expect_stderr(&["*** Interrupted by Ctrl-C."]);
    assert!(!run.stderr.contains("start signal sent"), "{run}");

    let first = waiting_reader(&place, "", &[("r", &start), ("p", &stop)]);
    let second = waiting_reader(&place, "", &[("r", &start), ("p", &stop)]);
    first.terminate();
    // One was ended by a signal, and the other by the event.
    for (run, status) in [(first.finish(), 143), (second.finish(), 0)] {
        run.expect_status(status).expect_stdout(&[NOT_MEASURED]);
    }
}

#[test]
fn a_stop_event_that_is_already_set_lets_nothing_be_measured() {
    let place = workplace!();
    let (stop, started) = (name(&place, "stop"), name(&place, "started"));
    let (held, announced) = (hold(&stop), hold(&started));
    held.set();
    // Requirements cannot be checked if nothing was measured.
    for (words, status) in [("-W1", 0), ("-W0", 0), ("-W0 --require iops>1", 6)] {
        let run = reader(&place, words, &[("p", &stop), ("s", &started)]).run();
        run.expect_status(status).expect_stdout(&[NOT_MEASURED]);
        assert!(!announced.is_set(), "nothing was started\n{run}");
    }
}

// Shows switches: -ys<name>
// Shows switches: -yf<name>
#[test]
fn begin_and_end_of_the_measurement_are_announced() {
    let place = workplace!();
    let (started, finished, stop) = (name(&place, "started"), name(&place, "finished"), name(&place, "stop"));
    // An event is seen after it was set: that is not before its phase can have begun, on any machine.
    let (at_start, at_finish) = (hold(&started), hold(&finished));
    let begun_ns = monotonic_ns();
    let words = [("s", started.as_str()), ("f", &finished), ("p", &stop)];
    let run = reader(&place, "-W1", &words).start();
    let started_ns = stamp(at_start).join().expect("it is set");
    assert!(started_ns - begun_ns >= 1_000_000_000, "before the warm-up was over");
    // The measurement takes ten minutes unless it is stopped.
    assert!(!at_finish.is_set(), "before the measurement ended");
    signal(&place, &stop).expect_status(0);
    stamp(at_finish).join().expect("it is set");
    run.finish().expect_status(0);
    let at_finish = hold(&finished);
    let begun_ns = monotonic_ns();
    let run = reader(&place, "-W0 -d1 -C600", &[("f", &finished)]).start();
    // Fails if it is not set before the cool-down is over.
    let finished_ns = stamp(at_finish).join().expect("it is set");
    assert!(finished_ns - begun_ns >= 1_000_000_000, "before the measurement ended");
    run.end().expect_status(0);
}

// Shows switches: -ye<name>
#[test]
fn an_event_that_nobody_holds_cannot_be_set() {
    let place = workplace!();
    let (here, missing) = (name(&place, "here"), name(&place, "missing"));
    let run = signal(&place, &missing);
    run.expect_status(1).expect_stderr(&[&format!("{NO_SUCH_EVENT}{missing}'")]);
    assert_eq!(run.stdout, "");
    assert!(!exists(&missing), "asking makes none");

    let held = hold(&here);
    let both = place.diskspd("").arg(format!("-ye{missing}")).arg(format!("-ye{here}")).run();
    both.expect_status(1).expect_stderr(&[NO_SUCH_EVENT]).expect_stdout(&[&format!("set event: '{here}'")]);
    assert!(held.is_set());
}

// Shows switches: -ye<name>
#[test]
fn several_events_are_set_at_once_but_only_if_the_whole_line_is_right() {
    let place = workplace!();
    let names = [name(&place, "one"), name(&place, "two")];
    let held = names.each_ref().map(|name| hold(name));
    let line =
        |last: &str| place.diskspd("").arg(format!("-ye{}", names[0])).arg(format!("-ye{}", names[1])).args(last).run();
    line("-bx").expect_status(3);
    assert!(!held[0].is_set() && !held[1].is_set(), "the line was refused");
    let run = line("");
    run.expect_status(0);
    assert_eq!(run.stdout.lines().count(), 2, "{run}");
    assert!(held[0].is_set() && held[1].is_set());
}

#[test]
fn a_killed_run_holds_nothing_and_blocks_nobody() {
    let place = workplace!();
    let start = name(&place, "start");
    let (victim, survivor) =
        (waiting_reader(&place, "", &[("r", &start)]), waiting_reader(&place, "-d1", &[("r", &start)]));
    // Dropping it is kill -9.
    drop(victim);
    signal(&place, &start).expect_status(0);
    survivor.finish().expect_status(0).expect_stdout(&["actual test time:"]);

    let victim = waiting_reader(&place, "", &[("r", &start)]);
    assert!(exists(&start));
    drop(victim);
    signal(&place, &start).expect_status(1).expect_stderr(&[NO_SUCH_EVENT]);

    let mut victim = waiting_reader(&place, "", &[("r", &start)]);
    signal(&place, &start).expect_status(0);
    victim.wait_for_stderr("starting measurements");
    drop(victim);
    // An event is forgotten when its last holder ends: this one waits.
    drop(waiting_reader(&place, "", &[("r", &start)]));
    assert!(!exists(&start));
}

#[test]
fn any_name_will_do() {
    let place = workplace!();
    let unique = place.folder().display().to_string();
    let long = format!("{unique}{}", "x".repeat(10_000));
    let names = [
        format!("../../../{unique}"),
        format!("/{unique}/.."),
        format!("two words {unique}"),
        format!("{unique}\nsecond line: \u{1b}[2J"),
        format!("größe {unique}"),
        long,
    ];
    for event in &names {
        let run = waiting_reader(&place, "-d1", &[("r", event)]);
        let signalled = signal(&place, event);
        signalled.expect_status(0);
        assert_eq!(signalled.stdout.lines().count(), 1, "{signalled}");
        assert!(signalled.stdout.chars().all(|c| c == '\n' || !c.is_control()), "{signalled}");
        run.finish().expect_status(0);
        assert!(!exists(event));
    }
    let foreign = place.diskspd("").arg(OsStr::from_bytes(b"-ye\xff\xfe")).run();
    foreign.expect_status(3).expect_stderr(&["not valid UTF-8"]);
}

#[test]
fn an_event_without_a_name_is_one_like_any_other() {
    let place = workplace!();
    // Others may hold it too; this test only checks that nothing breaks.
    let run = reader(&place, "-d1", &[("s", ""), ("f", "")]).run();
    run.expect_status(0);
    let code = signal(&place, "").code();
    assert!(matches!(code, Some(0 | 1)), "{code:?}");
}

#[test]
fn a_look_at_profile_or_plan_makes_no_event() {
    let place = workplace!();
    let start = name(&place, "start");
    for words in ["-Rp", "--plan"] {
        let run = reader(&place, words, &[("r", &start)]).run();
        run.expect_status(0);
        assert!(!run.stderr.contains(WAITING) && !exists(&start), "{run}");
    }
}

// Shows switches: -yr<name>
#[test]
fn waiting_for_the_start_takes_no_cpu_time() {
    let place = workplace!();
    let event = name(&place, "start");
    let run = waiting_reader(&place, "-t4", &[("r", &event)]);
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", run.id())).expect("it runs");
        let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
        // User and system time, fields 14 and 15 of proc(5), in units of 10 ms.
        fields[11].parse::<u64>().expect("a number") + fields[12].parse::<u64>().expect("a number")
    };
    // On a busy machine threads may not have reached the wait yet.
    let used: Vec<u64> = std::iter::repeat_with(|| {
        let before = ticks();
        thread::sleep(Duration::from_secs(1));
        ticks() - before
    })
    .take(20)
    .take_while(|used| *used > 2)
    .collect();
    assert!(used.len() < 20, "{used:?} ticks in each second");
}

// Shows data-safety: a directory in /dev/shm with the events of this user
#[test]
fn events_belong_to_one_user() {
    let place = workplace!();
    if !is_root() {
        skip!("needs root, to be another user");
    }
    let words = or_skip!(nobody_can_run(&place));
    let start = name(&place, "start");
    let held = hold(&start);
    let (program, options) = words.split_once(' ').expect("a program and its options");
    let other = place.tool(program).args(options).arg(place.program()).arg(format!("-ye{start}")).run();
    other.expect_status(1).expect_stderr(&[NO_SUCH_EVENT]);
    assert!(!held.is_set());
}
