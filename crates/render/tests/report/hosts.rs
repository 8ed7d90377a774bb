//! Results of several hosts.

use crate::support::{mix_run, part, report};
use model::finding::{Finding, Severity, Source};
use model::fleet::ClockOffset;
use model::host_timing::HostTiming;
use model::note::Note;
use model::result::RunResult;
use model::verdict::Verdict;
use stats::fleet::{HostOutcome, HostResult, merge};

const S: u64 = 1_000_000_000;

fn host(name: &str, index: usize, result: RunResult, late_us: u64) -> HostResult {
    let from_ns = 52 * S + late_us * 1000;
    let timing = HostTiming {
        planned_start_ns: 50 * S,
        started_ns: 50 * S + late_us * 1000,
        measured_from_ns: Some(from_ns),
        measured_to_ns: Some(from_ns + 10 * S),
    };
    let clock = ClockOffset { uncertainty_ns: 45_000, round_trip_ns: 90_000, ..ClockOffset::default() };
    HostResult {
        name: name.to_owned(),
        index,
        outcome: HostOutcome::Finished { result: Box::new(result), timing },
        clock,
    }
}

/// Two hosts that measured, and one that was lost.
fn fleet() -> RunResult {
    let mut noisy = mix_run();
    let span_result = &mut noisy.time_spans[0];
    span_result.notes = vec![Note::CpuStolen { percent_hundredths: 900 }];
    span_result.verdict = Some(Verdict {
        findings: vec![Finding {
            name: "steal".to_owned(),
            severity: Severity::Warn,
            subject: String::new(),
            figure: "9 % steal time".to_owned(),
            value: Some(9.0),
            advice: String::new(),
            basis: String::new(),
            source: Source::Verdict,
        }],
    });
    let lost = HostOutcome::Lost("no heartbeat for 10 s".to_owned());
    let lost = HostResult { name: "h3".to_owned(), index: 2, outcome: lost, clock: ClockOffset::default() };
    merge(vec![host("h1", 0, mix_run(), 12), host("h2", 1, noisy, 2012), lost])
}

#[test]
fn rows_of_all_hosts_come_first_and_the_hosts_behind_them() {
    let text = report(&fleet());
    let hosts = text.find("\nHosts\n").expect("a table of the hosts");
    let rows = text.find("h2:data.bin (1GiB)").expect("rows name the host");
    assert!(rows < hosts && text.contains("h1:data.bin (1GiB)"), "{text}");
    let table: Vec<&str> = text[hosts + 1..].lines().take(7).collect();
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn notes_name_their_hosts() {
    let text = report(&fleet());
    assert!(text.contains("\nNotes of the hosts\nh2: "), "{text}");
}

#[test]
fn the_system_is_what_hosts_have_in_common() {
    insta::assert_snapshot!(part(&report(&fleet()), "System information:", "Results for"));
}
