//! Results of several hosts: JSON has all of it, XML the merged figures.

use crate::captured::read;
use crate::{generated, written, xml};
use model::fleet::ClockOffset;
use model::host_timing::HostTiming;
use model::result::RunResult;
use proptest::prelude::*;
use stats::fleet::{HostOutcome, HostResult, merge};

const S: u64 = 1_000_000_000;

/// The same result from two hosts, the second of which started 20 ms later, and a lost host.
fn fleet(result: &RunResult) -> RunResult {
    let host = |name: &str, index, from_ns| {
        let timing = HostTiming {
            planned_start_ns: 10 * S,
            started_ns: from_ns,
            measured_from_ns: Some(from_ns),
            measured_to_ns: Some(from_ns + S),
        };
        let outcome = HostOutcome::Finished { result: Box::new(result.clone()), timing };
        let clock = ClockOffset { uncertainty_ns: 40_000, round_trip_ns: 80_000, ..ClockOffset::default() };
        HostResult { name: name.to_owned(), index, outcome, clock }
    };
    let lost = HostOutcome::Lost("no heartbeat for 10 s".to_owned());
    let lost = HostResult { name: "h3".to_owned(), index: 2, outcome: lost, clock: ClockOffset::default() };
    merge(vec![host("h1", 0, 10 * S), host("h2", 1, 10 * S + 20_000_000), lost])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn json_of_a_fleet_is_read_back_whole(result in generated::result()) {
        let result = fleet(&result);
        prop_assert!(result.fleet.as_ref().is_some_and(|fleet| fleet.hosts.len() == 3));
        let json = written(|out| render::json::write(&result, |_| None, out));
        prop_assert_eq!(import::json::read(json.as_bytes()).expect("we wrote it"), result);
    }

    #[test]
    fn xml_of_a_fleet_has_the_merged_counts_and_rows(result in generated::result()) {
        let result = fleet(&result);
        let again = read(&xml(&result));
        prop_assert_eq!(&again.fleet, &None);
        for (merged, read) in result.time_spans.iter().zip(&again.time_spans) {
            let (Some(merged), Some(read)) = (&merged.measured, &read.measured) else { continue };
            prop_assert_eq!((merged.total.total.ios, merged.total.total.bytes), (read.total.total.ios, read.total.total.bytes));
            let rows = |of: &model::result::Measured| of.rows.iter().map(|row| (row.thread, row.path.clone(), row.figures.total.ios)).collect::<Vec<_>>();
            prop_assert_eq!(rows(merged), rows(read));
        }
    }
}
