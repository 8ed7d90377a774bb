//! Figures for Prometheus.

use crate::support::{measured, mix_run};
use model::result::{Implementation, RunResult};
use model::units::UnixTime;
use model::verdict::Verdict;

fn metrics(result: &RunResult) -> String {
    let mut out = Vec::new();
    render::open_metrics(result, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("it is UTF-8")
}

/// The example with labels, a histogram and a verdict.
fn example() -> RunResult {
    let mut result = mix_run();
    result.labels = vec![("firm\"ware".to_owned(), "2\\1\n".to_owned())];
    result.tool.implementation =
        Some(Implementation { name: "diskspd for Linux".to_owned(), version: "1.2.3".to_owned() });
    // 100 I/Os of 214 µs.
    measured(&mut result).rows[0].read_buckets = vec![(8839, 100)];
    result.time_spans[0].verdict = Some(Verdict::default());
    result.time_spans[0].summary = stats::summary(&result.time_spans[0]);
    result
}

#[test]
fn a_result_as_prometheus_reads_it() {
    insta::assert_snapshot!(metrics(&example()));
}

/// `node_exporter` reads the older text format: a sample whose family has another type or name is refused or lost.
#[test]
fn families_are_those_that_both_formats_write_alike() {
    let text = metrics(&example());
    let mut families = Vec::new();
    for line in text.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            assert!(["gauge", "histogram"].contains(&kind), "{line}");
            families.push(name);
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().expect("a name");
            let bare = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
            let family = families.last().expect("a type comes first");
            assert!(name == *family || bare == Some(family), "{line}");
        }
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn what_was_not_measured_has_no_figures() {
    let text = metrics(&RunResult { started_at: UnixTime::UNKNOWN, ..RunResult::default() });
    assert!(text.starts_with("# HELP diskspd_result_build_info "), "{text}");
    assert!(!text.contains("iops") && !text.contains("start_time"), "{text}");
}
