//! A result of several hosts, merged from results of runs: `report`, `compare`, requirements and pages treat it like
//! any other.

use model::confidence::Interval;
use model::fleet::ClockOffset;
use model::host_timing::HostTiming;
use model::metric::{Metric, MetricName};
use model::requirement::{Operator, Requirement};
use model::result::RunResult;
use stats::fleet::{HostOutcome, HostResult, merge};
use testkit::{Workplace, workplace};

const S: u64 = 1_000_000_000;

fn read(place: &Workplace, name: &str) -> RunResult {
    import::json::read(&place.content(name)).expect("the program wrote it")
}

fn host(place: &Workplace, number: usize, offset_ns: i64) -> HostResult {
    let own = |axis_ns: u64| axis_ns.checked_add_signed(offset_ns).expect("clocks are positive");
    let from_ns = own(10 * S + number as u64 * 1_000_000);
    let mut result = read(place, &format!("h{number}.json"));
    let elapsed_ns = result.time_spans[0].measured.as_ref().expect("it measured").elapsed_ns;
    let timing = HostTiming {
        planned_start_ns: own(10 * S),
        started_ns: from_ns,
        measured_from_ns: Some(from_ns),
        measured_to_ns: Some(from_ns + elapsed_ns),
    };
    // The runs were one after the other.
    result.time_spans[0].timing = Some(timing);
    let clock = ClockOffset { offset_ns, uncertainty_ns: 50_000, drift_ppb: Some(0), round_trip_ns: 100_000 };
    let outcome = HostOutcome::Finished { result: Box::new(result), timing };
    HostResult { name: format!("h{number}"), index: number - 1, outcome, clock }
}

/// Writes the results of two hosts and that of both, with requirements.
fn fleet(place: &Workplace, name: &str, requirements: &[Requirement]) -> RunResult {
    for number in [1, 2] {
        let words = format!("-c1M -d2 -W0 -b4K -r -w30 -o4 -t2 -L -D500 --json h{number}.json a.dat");
        // A busy machine may give a run too little time in two seconds; it is retried.
        let has_series = (0..5).any(|_| {
            place.diskspd(&words).run().expect_status(0);
            let result = read(place, &format!("h{number}.json"));
            let measured = result.time_spans[0].measured.as_ref().expect("it measured");
            measured.total.total.ios > 5000 && measured.confidence.as_ref().is_some_and(|known| known.total.is_some())
        });
        assert!(has_series, "fewer than 5000 I/Os from the page cache in 2 s");
    }
    let hosts = vec![host(place, 1, 0), host(place, 2, 3600 * S.cast_signed())];
    let mut result = rules::judged(merge(hosts), None, requirements, &[]);
    // On a busy machine, the rate over two seconds is too uncertain to be compared.
    let measured = result.time_spans[0].measured.as_mut().expect("they measured");
    let iops = measured.total.total.iops;
    let known = measured.confidence.as_mut().and_then(|confidence| confidence.total.as_mut()).expect("a series");
    known.iops_interval = Some(Interval { low: 0.99 * iops, high: 1.01 * iops });
    let mut json = Vec::new();
    render::json::write(&result, |_| None, &mut json).expect("a vector takes everything");
    place.file(name, &json);
    result
}

#[test]
fn a_result_of_hosts_is_reported_compared_and_drawn() {
    let place = workplace!();
    let requirement = |metric, operator, bound, bound_typed: &str| {
        let (typed, bound_typed) = (String::new(), bound_typed.to_owned());
        Requirement { typed, name: MetricName::bare(metric), operator, bound, bound_typed, basis: String::new() }
    };
    let requirements = [
        requirement(Metric::Iops, Operator::AtLeast, 1.0, "1"),
        requirement(Metric::P99, Operator::AtMost, 1000.0, "1us"),
    ];
    let result = fleet(&place, "r.json", &requirements);
    let ios: u64 = [1, 2].map(|number| read(&place, &format!("h{number}.json"))).iter().map(total_ios).sum();
    assert_eq!(total_ios(&result), ios);
    let text = place.diskspd("report r.json").run();
    text.expect_status(0).expect_stdout(&[
        "h1:a.dat (1MiB)",
        "h2:a.dat (1MiB)",
        "thread count:\t\t4",
        "\nHosts\n",
        "All hosts measured together for ",
        "Requirements: 1 of 2 not met",
    ]);
    // In a table of runs they are one row, beside those of the hosts themselves.
    place.diskspd("report r.json h1.json h2.json --output t.csv").run().expect_status(0);
    let bytes = place.content("t.csv");
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let titles = reader.headers().expect("a header").clone();
    let at = |name: &str| titles.iter().position(|title| title == name).expect("the column");
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("each row has each column")).collect();
    assert_eq!(rows.iter().map(|row| row[at("hosts")].to_owned()).collect::<Vec<_>>(), ["2", "1", "1"]);
    assert_eq!((&rows[0][at("host")], &rows[0][at("ios")]), ("h1, h2", ios.to_string().as_str()));
    let compared = place.diskspd("compare r.json r.json --fail-if iops<-3%").run();
    compared.expect_status(0).expect_stdout(&["IOPS", "+0.0 %"]);
    place.diskspd("report r.json --output r.html").run().expect_status(0);
    let page = String::from_utf8(place.content("r.html")).expect("HTML is text");
    for expected in ["2 hosts: h1, h2: ", "I/Os per second of each host", "data-chart=\"hosts\"", "start late us"] {
        assert!(page.contains(expected), "{expected}");
    }
    for output in ["r.xml", "r.csv"] {
        place.diskspd(&format!("report r.json --output {output}")).run().expect_status(0);
        let document = String::from_utf8(place.content(output)).expect("it is text");
        assert!(document.contains("h2:a.dat"), "{document}");
    }
}

fn total_ios(result: &RunResult) -> u64 {
    result.time_spans[0].measured.as_ref().expect("it measured").total.total.ios
}
