//! The end of a report without details, and the report in a few lines.

use crate::support::{measured, mix_run};
use model::confidence::{HalfWidths, Interval, PercentileHalfWidth, Withheld};
use model::figures::{CommitFigures, Directions, FlushFigures};
use model::finding::{Finding, Severity, Source};
use model::note::Note;
use model::result::{LoadLoop, RunResult};
use model::storage_course::{DeviceCourse, DeviceFigures, DeviceRequests};
use model::verdict::Verdict;
use render::Detail;

fn finding(severity: Severity, name: &str, figure: &str, advice: &str) -> Finding {
    Finding {
        name: name.to_owned(),
        severity,
        subject: String::new(),
        figure: figure.to_owned(),
        value: None,
        advice: advice.to_owned(),
        basis: String::new(),
        source: Source::Verdict,
    }
}

fn intervals() -> HalfWidths {
    let interval = Interval { low: 1_200_000.0, high: 1_310_000.0 };
    HalfWidths {
        iops_interval: Some(Interval { low: 8765.432, high: 9012.345 }),
        latency_mean_interval_ns: Some(Interval { low: 881_000.0, high: 899_500.0 }),
        percentiles: vec![PercentileHalfWidth {
            rank_ppb: 990_000_000,
            half_width_ns: 55_000.0,
            interval_ns: Some(interval),
        }],
        ..HalfWidths::default()
    }
}

/// A run with devices, intervals and these findings.
fn run(findings: Vec<Finding>) -> RunResult {
    let mut result = mix_run();
    result.time_spans[0].verdict = Some(Verdict { findings });
    result.time_spans[0].notes = vec![Note::CpuAwaited { percent_hundredths: 700, turn_ns: None }];
    let read = DeviceRequests { iops: 6215.6, bytes_per_s: 5e7, latency_mean_ns: Some(0.84e6) };
    let mean = DeviceFigures { read, total: read, queue_depth: 7.96, busy_percent: 99.5, ..DeviceFigures::default() };
    measured(&mut result).devices = vec![DeviceCourse { device: "sda".to_owned(), mean, max: mean, steps: Vec::new() }];
    measured(&mut result).load_loop = Some(LoadLoop::Closed { depth: 8 });
    let [read, write, total] = [(); 3].map(|()| Some(intervals()));
    measured(&mut result).confidence = Some(Directions { read, write, total });
    result
}

/// All text after `DiskSpd`'s tables.
fn end(result: &RunResult) -> String {
    let mut out = Vec::new();
    render::text(result, Detail::Short, &mut out).expect("a vector takes everything");
    let text = String::from_utf8(out).expect("text");
    text.split_once("    max |      9.731 |      8.846 |      9.731\n").expect("DiskSpd's last line").1.to_owned()
}

fn brief(result: &RunResult) -> String {
    let mut out = Vec::new();
    render::brief(result, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_sound_run_takes_eight_lines() {
    let text = end(&run(Vec::new()));
    insta::assert_snapshot!(text, @r"

     95 %             I/O per s            mean (ms)             p99 (ms)
     all    8,884 [8,765-9,012]  0.888 [0.881-0.899]  2.262 [1.200-1.310]
     read   6,216 [8,765-9,012]  0.866 [0.881-0.899]  2.250 [1.200-1.310]
     write  2,669 [8,765-9,012]  0.937 [0.881-0.899]  2.291 [1.200-1.310]
    sda: reads 6,216/s 0.840 ms, queue 8.0, 100 % busy
    Verdict: no conditions found that invalidate or bias the results
    8 KiB random 70/30 read/write, QD 8: 8,884 IOPS, 69.4 MiB/s, mean 0.888 ms, p99 2.262 ms; sound
    ");
    assert!(text.lines().count() <= 8 && text.lines().rev().skip(1).all(|line| line.len() <= 80), "{text}");
}

#[test]
fn findings_of_many_targets_are_counted() {
    let of_target = |number: u32| finding(Severity::Warn, "unwritten-target", &format!("f{number}"), "write it first");
    let text = end(&run((1..=2500).map(of_target).collect()));
    let told: Vec<&str> = text.lines().filter(|line| line.contains("unwritten-target: ")).collect();
    let expected = ["f1", "f2", "f3", "2,497 more"].map(|rest| format!("  WARN    unwritten-target: {rest}"));
    assert_eq!(told, expected, "{text}");
    let [three, all] = [3, 4].map(|count| end(&run((1..=count).map(of_target).collect())));
    assert!(!three.contains(" more\n") && all.contains("unwritten-target: 1 more\n"), "{three}{all}");
}

#[test]
fn five_findings_take_fourteen_lines() {
    let findings = vec![
        finding(
            Severity::Invalid,
            "lost-ios",
            "3 I/Os never returned; the oldest after 12 s",
            "repeat the run. Nothing else helps",
        ),
        finding(
            Severity::Warn,
            "cpu-contention",
            "the threads waited for a CPU for 36.6 % of their time: at most 0.059 ms of the mean latency of 0.419 ms; time \
             of all CPUs: idle 3 %",
            "stop other programs, or use a machine with more CPUs: reasons",
        ),
        finding(Severity::Note, "short-run", "measured for 3.0 s", "measure for 60 s"),
        finding(Severity::Note, "weak-percentiles", "a", "b"),
        finding(Severity::Note, "weak-percentiles", "c", "d"),
    ];
    let text = end(&run(findings));
    insta::assert_snapshot!(text, @r"

     95 %             I/O per s            mean (ms)             p99 (ms)
     all    8,884 [8,765-9,012]  0.888 [0.881-0.899]  2.262 [1.200-1.310]
     read   6,216 [8,765-9,012]  0.866 [0.881-0.899]  2.250 [1.200-1.310]
     write  2,669 [8,765-9,012]  0.937 [0.881-0.899]  2.291 [1.200-1.310]
    sda: reads 6,216/s 0.840 ms, queue 8.0, 100 % busy
    Verdict: INVALID
      INVALID lost-ios: 3 I/Os never returned
              repeat the run
      WARN    cpu-contention: the threads waited for a CPU for 36.6 % of their time:
              at most 0.059 ms of the mean latency of 0.419 ms
              stop other programs, or use a machine with more CPUs
      NOTE    short-run, weak-percentiles
    8 KiB random 70/30 read/write, QD 8: 8,884 IOPS, 69.4 MiB/s, mean 0.888 ms, p99 2.262 ms; INVALID lost-ios, WARN cpu-contention
    ");
    assert!(text.lines().count() <= 14 && text.lines().rev().skip(1).all(|line| line.len() <= 80), "{text}");
}

#[test]
fn notes_alone_share_the_line_of_the_verdict() {
    let note = |name| finding(Severity::Note, name, "a figure", "advice");
    let text = end(&run(vec![note("short-run"), note("volatile-cache")]));
    assert!(text.contains("\nVerdict: valid; NOTE short-run, volatile-cache\n"), "{text}");
}

#[test]
fn what_no_table_has_is_in_the_table_without_intervals_too() {
    let mut result = run(Vec::new());
    let withheld = HalfWidths {
        withheld: Some(Withheld { dependence_s: Some(2.0), measure_s: Some(150.0) }),
        ..HalfWidths::default()
    };
    measured(&mut result).confidence = Some(Directions { read: None, write: None, total: Some(withheld.clone()) });
    let without = end(&result);
    let reason = "\nNo 95 % intervals: measure for 150 s or longer.\n";
    assert!(without.starts_with(reason), "{without}");
    let commit = CommitFigures { mean_ns: 1.5e6, p50_ns: 1, p99_ns: 3_250_000, max_ns: 9 };
    measured(&mut result).flushes =
        Some(FlushFigures { per_s: 600.0, commit: Some(commit), ..FlushFigures::default() });
    let text = end(&result);
    let row = text.lines().find(|line| line.starts_with(" commit (")).expect("a row");
    assert!(row.ends_with(" 1.5 ms  1 ns  3.25 ms     9 ns") && brief(&result).contains(row), "{row}");
    assert!(text.contains(&reason[1..]), "{text}");
}

#[test]
fn notes_that_no_finding_tells_stay() {
    let mut result = run(Vec::new());
    result.notes = vec![Note::OptionWithoutEffect { option: "-ft".to_owned(), reason: "no equivalent".to_owned() }];
    let text = end(&result);
    assert!(text.contains("\nNOTE: -ft has no effect: no equivalent\n") && !text.contains("waited"), "{text}");
    result.time_spans[0].verdict = None;
    let text = end(&result);
    assert!(text.contains("waited") && text.ends_with("; not judged\n"), "{text}");
}

#[test]
fn a_brief_report_is_the_table_the_names_and_the_result() {
    let findings = vec![
        finding(Severity::Warn, "steal", "12 %", "move"),
        finding(Severity::Warn, "drift", "5 %", "wait"),
        finding(Severity::Note, "short-run", "3 s", "measure for 60 s"),
    ];
    insta::assert_snapshot!(brief(&run(findings)), @r"
     95 %             I/O per s            mean (ms)             p99 (ms)
     all    8,884 [8,765-9,012]  0.888 [0.881-0.899]  2.262 [1.200-1.310]
     read   6,216 [8,765-9,012]  0.866 [0.881-0.899]  2.250 [1.200-1.310]
     write  2,669 [8,765-9,012]  0.937 [0.881-0.899]  2.291 [1.200-1.310]
    WARN      steal, drift
    NOTE      short-run
    8 KiB random 70/30 read/write, QD 8: 8,884 IOPS, 69.4 MiB/s, mean 0.888 ms, p99 2.262 ms; WARN drift, steal
    ");
    let mut several = run(Vec::new());
    several.profile.time_spans.push(several.profile.time_spans[0].clone());
    several.time_spans.push(several.time_spans[0].clone());
    insta::assert_snapshot!(brief(&several), @r"
    timespan 1: 8 KiB random 70/30 read/write, QD 8: 8,884 IOPS, 69.4 MiB/s, mean 0.888 ms, p99 2.262 ms; sound
    timespan 2: 8 KiB random 70/30 read/write, QD 8: 8,884 IOPS, 69.4 MiB/s, mean 0.888 ms, p99 2.262 ms; sound
    2 timespans measured; sound
    ");
}
