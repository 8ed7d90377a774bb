//! Changes within a run: a file system that becomes slower, one that stalls once, and one that stalls repeatedly.

use serde_json::Value;
use std::thread::sleep;
use std::time::{Duration, Instant};
use testkit::{Faulty, Finished, Service, Workplace, or_skip, workplace};

/// The shortest measurement that is searched for changes is 30 s.
const LOAD: &str = "-d31 -W0 -b4K -o1 -t1 -v --json r.json";

/// The finding of this name in the verdict of the last run.
fn found(place: &Workplace, name: &str) -> Option<Value> {
    let result: Value = place.json("r.json");
    let findings = result["time_spans"][0]["verdict"]["findings"].as_array().expect("a verdict");
    findings.iter().find(|finding| finding["name"] == name).cloned()
}

/// The reason why other programs may hide a change: a very late reply shows that the file system lacked CPU time, and
/// two findings show that the run did.
fn disturbed(place: &Workplace, faulty: &Faulty) -> Result<(), String> {
    let late = faulty.latest();
    if late > Duration::from_millis(10) {
        return Err(format!("the measurement was disturbed: an answer was {} ms late", late.as_millis()));
    }
    match ["process-paused", "cpu-contention"].iter().find(|name| found(place, name).is_some()) {
        Some(name) => Err(format!("the machine is too busy: {name}")),
        None => Ok(()),
    }
}

/// The finding of this name in the verdict of a run, or the reason why other programs may have hidden it.
fn unless_disturbed(place: &Workplace, faulty: &Faulty, run: &Finished, name: &str) -> Result<Value, String> {
    if let Some(finding) = found(place, name) {
        return Ok(finding);
    }
    disturbed(place, faulty)?;
    panic!("no finding '{name}'\n{run}");
}

#[test]
fn a_rate_that_falls_during_the_run_is_reported_as_levels() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    // Long enough that the additional delay of a busy machine is small.
    faulty.serve(Service::Each(Duration::from_millis(20)));
    let mut run = place.diskspd(LOAD).arg(&faulty.file).favoured().start();
    run.wait_for_stderr("starting measurements");
    let begun = Instant::now();
    sleep(Duration::from_secs(18));
    let until_change_s = begun.elapsed().as_secs_f64();
    faulty.serve(Service::Each(Duration::from_millis(80)));
    let run = run.finish();
    run.expect_status(0);
    let finding = or_skip!(unless_disturbed(&place, &faulty, &run, "change-point"));
    let figure = finding["figure"].as_str().expect("a text");
    assert!(figure.ends_with("burst credit or cache exhausted"), "{finding}");
    let (_, rest) = figure.split_once(" for ").expect(figure);
    let first_s: f64 = rest.split_once(" s").and_then(|(seconds, _)| seconds.parse().ok()).expect(figure);
    assert!((-1.0..2.0).contains(&(first_s - until_change_s)), "{until_change_s} s: {finding}");
    // A quarter of the rate; replies are later than specified on a busy machine.
    assert!(finding["value"].as_f64().is_some_and(|change| (-85.0..-50.0).contains(&change)), "{finding}");
    if disturbed(&place, &faulty).is_ok() {
        assert!(found(&place, "drift").is_none() && found(&place, "periodic-stalls").is_none(), "{run}");
    }
}

#[test]
fn stalls_that_come_back_are_reported_with_their_period() {
    const PERIOD: Duration = Duration::from_millis(1200);
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    faulty.serve(Service::Each(Duration::from_millis(5)));
    let mut run = place.diskspd(LOAD).arg("-L").arg(&faulty.file).favoured().start();
    run.wait_for_stderr("starting measurements");
    // At absolute times, and with -L: on a busy machine there are other slow I/Os, which are shorter or come at random.
    let begin = Instant::now();
    for number in 1..=25u32 {
        sleep(PERIOD.mul_f64(number.into()).saturating_sub(begin.elapsed()));
        faulty.serve(Service::Each(Duration::from_millis(400)));
        sleep(Duration::from_millis(300));
        faulty.serve(Service::Each(Duration::from_millis(5)));
    }
    let run = run.finish();
    run.expect_status(0);
    let finding = or_skip!(unless_disturbed(&place, &faulty, &run, "periodic-stalls"));
    assert!(finding["value"].as_f64().is_some_and(|period_ms| (1150.0..1250.0).contains(&period_ms)), "{finding}");
    if disturbed(&place, &faulty).is_ok() {
        assert!(found(&place, "change-point").is_none(), "{run}");
    }
}

#[test]
fn a_single_stall_is_reported_with_its_time_at_the_top_of_the_page() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    faulty.serve(Service::Each(Duration::from_millis(5)));
    let mut run = place.diskspd("-d6 -W0 -b4K -o1 -t1 -L -v --json r.json").arg(&faulty.file).favoured().start();
    run.wait_for_stderr("starting measurements");
    sleep(Duration::from_millis(1500));
    faulty.serve(Service::Each(Duration::from_millis(2200)));
    sleep(Duration::from_millis(200));
    faulty.serve(Service::Each(Duration::from_millis(5)));
    let run = run.finish();
    run.expect_status(0);
    let finding = or_skip!(unless_disturbed(&place, &faulty, &run, "stall"));
    // It may be longer on a busy machine.
    assert!(finding["value"].as_f64().is_some_and(|length_s| (2.0..5.0).contains(&length_s)), "{finding}");
    let figure = finding["figure"].as_str().expect("a text");
    assert!(figure.starts_with("no I/O completed for ") && figure.contains(" s (at "), "{finding}");
    place.diskspd("report r.json --output r.html").run().expect_status(0);
    let page = String::from_utf8(place.content("r.html")).expect("text");
    let (at_top, _) = page.split_once("<table").expect("a table");
    // The page escapes slashes.
    assert!(at_top.contains(&figure.replace('/', "&#x2f;")), "{figure}");
}
