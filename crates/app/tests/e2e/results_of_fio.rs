//! Results of fio as input: reports, comparisons, pages.

use serde_json::Value;
use testkit::{Finished, Workplace, workplace};

const RANDOM_READS: &str = include_str!("../../../import/tests/data/fio/plus.json");
const OLD: &str = include_str!("../../../import/tests/data/fio/2.2.10.json");

fn prepared() -> Workplace {
    let place = workplace!();
    place.file("a.json", RANDOM_READS.as_bytes());
    let faster = RANDOM_READS.replace("67147.540984", "90000.000000").replace("\"fio-3.33\"", "\"fio-3.40\"");
    place.file("b.json", faster.as_bytes());
    place.file("old.json", OLD.as_bytes());
    place
}

fn report(place: &Workplace, name: &str) -> Finished {
    let run = place.diskspd("report").args(name).run();
    run.expect_status(0);
    run
}

#[test]
fn a_report_has_the_figures_of_fio_and_no_others() {
    let place = prepared();
    let run = report(&place, "--details a.json");
    for expected in
        ["67147.54", "|    0.409 |     0.216 |", "50th |      0.399 |", "closed loop, depth 32", "read from fio 3.33"]
    {
        assert!(run.stdout.contains(expected), "{expected}: {run}");
    }
    assert!(!run.stdout.contains("Usage |"), "the usage of CPUs is unknown: {run}");
    let old = report(&place, "old.json");
    assert!(old.stdout.contains("512.00") && old.stdout.contains("no settings of the load"), "{old}");
    // It has only three percentiles: the others are unknown, not 0.
    let weak = old.stdout.lines().find(|line| line.starts_with("3-nines |")).expect("a row");
    assert_eq!(weak.matches("N/A").count(), 3, "{weak}");
}

#[test]
fn results_of_fio_are_compared_with_each_other_and_with_ours() {
    let place = prepared();
    let run = place.diskspd("compare a.json b.json").run();
    run.expect_status(0);
    run.expect_stdout(&["  +34.0 %  ", "  67,148 IOPS  90,000 IOPS\n"]);
    run.expect_told(&["measured with (fio 3.33 / fio 3.40)", "Loads compared in part: by the 17 settings"]);
    assert_eq!(run.stdout.matches("Loads compared in part").count(), 1, "{run}");
    let ours = place.diskspd("--engine=aio -c8M -f8M -d1 -W0 -b4K -r -o8 -t4 -Su -L --json=ours.json t").run();
    ours.expect_status(0);
    let run = place.diskspd("compare a.json ours.json").run();
    run.expect_status(0);
    assert!(run.stdout.contains("\n IOPS ") && run.stdout.contains("\n p99 "), "{run}");
    assert!(!run.stdout.contains("--engine") && !run.stdout.contains("machine."), "unknown is no difference: {run}");
    let other = place.diskspd("-c8M -d1 -W0 -b8K -r -o8 -t4 -Su -L --json=other.json t2").run();
    other.expect_status(0);
    let run = place.diskspd("compare a.json other.json").run();
    run.expect_status(3);
    assert!(run.stderr.contains("-b4K against -b8K"), "{run}");
}

#[test]
fn a_result_of_fio_is_written_in_every_form() {
    let place = prepared();
    for source in ["a.json", "old.json"] {
        for output in ["o.txt", "o.xml", "o.csv", "o.json", "o.fio.json", "o.prom", "o.html"] {
            let run = place.diskspd("report").arg(source).args("--replace-output --output").arg(output).run();
            run.expect_status(0);
        }
        let page = String::from_utf8(place.content("o.html")).expect("text");
        assert!(page.contains("by fio ") && !page.contains("DiskSpd does not check"), "the page names the program");
        assert!(!page.contains("CPU of the machine"), "unknown CPU usage has no tile");
        let again = report(&place, "o.json").stdout;
        assert_eq!(again, report(&place, source).stdout, "{source}");
    }
}

// Shows switches: --fio-json=<file>
/// The members used by programs that collect fio's JSON.
#[test]
fn a_run_is_written_in_the_form_of_fio() {
    let place = workplace!();
    let run = place
        .diskspd("-c8M -d600 --max-ios=4000 -W0 -b4K -r -o4 -t2 -w50 -Su -L --json=r.json --fio-json=r.fio.json t")
        .run();
    run.expect_status(0);
    let read = |name: &str| serde_json::from_slice::<Value>(&place.content(name)).expect("JSON");
    let (ours, fio) = (read("r.json"), read("r.fio.json"));
    let (total, job) = (&ours["time_spans"][0]["measured"]["total"], &fio["jobs"][0]);
    assert!(fio["fio version"].as_str().is_some_and(|version| version.starts_with("fio-3.")), "{fio}");
    for name in ["read", "write"] {
        assert_eq!(job[name]["total_ios"], total[name]["ios"]);
        assert_eq!(job[name]["io_bytes"], total[name]["bytes"]);
        assert_eq!(job[name]["iops"], total[name]["iops"]);
        assert_eq!(job[name]["clat_ns"]["mean"], total[name]["latency"]["mean_ns"]);
        let bins = job[name]["clat_ns"]["bins"].as_object().expect("bins").values().filter_map(Value::as_u64);
        assert_eq!(Some(bins.sum()), total[name]["ios"].as_u64());
    }
    let options = &job["job options"];
    assert_eq!(
        (&options["rw"], &options["bs"], &options["iodepth"], &options["numjobs"], &options["direct"]),
        (&"randrw".into(), &"4k".into(), &"4".into(), &"2".into(), &"1".into())
    );
    place.diskspd("report r.json --output again.fio.json").run().expect_status(0);
    assert_eq!(place.content("again.fio.json"), place.content("r.fio.json"));
    let run = place.diskspd("compare r.json r.fio.json").run();
    run.expect_status(0);
    run.expect_narrow().expect_told(&["Loads compared in part: "]);
}

#[test]
fn only_such_documents_of_this_program_are_replaced() {
    let place = prepared();
    let convert = |output: &str| place.diskspd("report a.json --output").arg(output).run();
    convert("x.fio.json").expect_status(0);
    convert("x.fio.json").expect_status(0);
    place.file("theirs.fio.json", RANDOM_READS.as_bytes());
    let run = convert("theirs.fio.json");
    run.expect_status(3);
    assert!(run.stderr.contains("not a result in the form of fio's JSON"), "{run}");
    assert_eq!(place.content("theirs.fio.json"), RANDOM_READS.as_bytes());
}

#[test]
fn what_is_cut_off_is_refused() {
    let place = prepared();
    place.file("cut.json", &RANDOM_READS.as_bytes()[..RANDOM_READS.len() / 2]);
    let run = place.diskspd("report cut.json").run();
    run.expect_status(1);
    assert!(run.stderr.contains("'cut.json': JSON of fio that is cut off"), "{run}");
}
