//! The endings of a timespan, and the text beside the figures.

use crate::support::{cells, measured, mix_run, part, report};
use model::ending::Ending;
use model::figures::Directions;
use model::note::Note;
use model::profile::{Target, TimeSpan};
use model::result::{RunResult, TimeSpanResult, Totals};
use std::path::PathBuf;

fn interrupted() -> TimeSpanResult {
    TimeSpanResult { measured: None, outcome: Ending::Stopped, ..mix_run().time_spans.remove(0) }
}

/// The example and a second timespan with this result.
fn two_time_spans(second: TimeSpanResult) -> RunResult {
    let mut result = mix_run();
    result.profile.time_spans.push(TimeSpan { targets: vec![Target::new("b.bin")], ..TimeSpan::default() });
    result.time_spans.push(second);
    result.totals = Some(Totals {
        elapsed_ns: 20_020_000_000,
        figures: Directions {
            write: cells(1_073_741_824, 131_072, 51.15, 6547.05),
            read: cells(2_147_483_648, 262_144, 102.30, 13_094.11),
            total: cells(3_221_225_472, 393_216, 153.45, 19_641.16),
        },
    });
    result
}

#[test]
fn nothing_measured_shows_no_figures() {
    let mut result = mix_run();
    result.time_spans = vec![interrupted()];
    let text = report(&result);
    assert!(text.ends_with(concat!(
        "  heterogeneous cores:  n\n",
        "\n",
        "Results for timespan 1:\n",
        "*******************************************************************************\n",
        "The test was interrupted before the measurements began. No results are displayed.\n",
    )));
}

#[test]
fn an_error_before_the_measurement_is_named() {
    let mut result = mix_run();
    let errors = vec!["cannot open 'data.bin': no such file".to_owned()];
    result.time_spans = vec![TimeSpanResult { errors, outcome: Ending::Failed, ..interrupted() }];
    insta::assert_snapshot!(part(&report(&result), "Results for", ""), @r"
    Results for timespan 1:
    *******************************************************************************
    The test failed before the measurements began. No results are displayed.

    ERROR: cannot open 'data.bin': no such file
    ");
}

#[test]
fn figures_up_to_an_error_are_marked() {
    let mut result = mix_run();
    result.time_spans[0].errors = vec!["thread 1: reading 'data.bin' at offset 8192\nfailed".to_owned()];
    measured(&mut result).is_partial = true;
    measured(&mut result).elapsed_ns = 3_200_000_000;
    let text = report(&result);
    insta::assert_snapshot!(part(&text, "Results for", "actual"), @r"
    Results for timespan 1:
    *******************************************************************************
    The test failed after 3.20s. The figures below cover that time only.
    ");
    assert!(text.contains("that time only.\n\nactual test time:\t3.20s\n"));
    assert!(text.ends_with("8.846 |      9.731\n\nERROR: thread 1: reading 'data.bin' at offset 8192\\x0afailed\n"));
}

#[test]
fn an_error_after_the_measurement_is_said_too() {
    let mut result = mix_run();
    result.time_spans[0].errors = vec!["thread 1: write failed".to_owned()];
    let text = report(&result);
    assert!(text.contains("*\nThe test failed after the measurements. The figures below are complete.\n\n"));
}

#[test]
fn a_stop_by_the_user_needs_no_mark() {
    let mut result = mix_run();
    measured(&mut result).is_partial = true;
    assert_eq!(report(&result), report(&mix_run()));
}

#[test]
fn notes_stand_after_all_tables() {
    let mut result = mix_run();
    result.notes = vec![Note::AlignmentAssumed { path: PathBuf::from("data.bin"), alignment_bytes: 4096 }];
    result.time_spans[0].notes = vec![Note::CpuStolen { percent_hundredths: 123 }];
    insta::assert_snapshot!(part(&report(&result), "    max", ""), @r"
        max |      9.731 |      8.846 |      9.731

    NOTE: direct I/O alignment on 'data.bin' is unknown; assuming 4096 bytes
    NOTE: the hypervisor took 1.23% of the time of the CPUs that the run used; this steal time is not in the CPU table
    ");
}

#[test]
fn several_timespans_end_with_totals() {
    let mut result = two_time_spans(mix_run().time_spans.remove(0));
    let text = report(&result);
    let totals = concat!(
        "    max |      9.731 |      8.846 |      9.731\n",
        "\n",
        "\n",
        "Totals:\n",
        "*******************************************************************************\n",
        "\n",
        "type   |       bytes     |     I/Os     |    MiB/s   |  I/O per s\n",
        "-------------------------------------------------------------------------------\n",
        "write  |      1073741824 |       131072 |      51.15 |    6547.05\n",
        "read   |      2147483648 |       262144 |     102.30 |   13094.11\n",
        "-------------------------------------------------------------------------------\n",
        "total  |      3221225472 |       393216 |     153.45 |   19641.16\n",
        "\n",
        "total test time:\t20.02s\n",
    );
    assert!(text.ends_with(totals), "{text}");
    assert!(text.contains("      IO priority: normal\n\n  timespan:   2\n  -------------\n"));
    assert!(text.contains("      9.731\n\nResults for timespan 2:\n"));

    result.notes = vec![Note::OptionWithoutEffect { option: "-ft".to_owned(), reason: "no equivalent".to_owned() }];
    assert!(report(&result).ends_with("total test time:\t20.02s\n\nNOTE: -ft has no effect: no equivalent\n"));
}

#[test]
fn a_timespan_that_was_not_run_says_so() {
    let text = report(&two_time_spans(TimeSpanResult { outcome: Ending::NotRun, ..interrupted() }));
    assert!(text.contains(concat!(
        "\nResults for timespan 2:\n",
        "*******************************************************************************\n",
        "The test was not run. No results are displayed.\n",
        "\n\nTotals:\n",
    )));
}

#[test]
fn labels_follow_the_command_line() {
    let mut result = mix_run();
    result.labels = vec![("firmware".to_owned(), "2.1 = beta\n".to_owned()), ("rack".to_owned(), String::new())];
    let text = report(&result);
    assert!(
        text.contains("data.bin\n\nLabel: firmware=2.1 = beta\\x0a\nLabel: rack=\n\nInput parameters:\n"),
        "{text}"
    );
}
