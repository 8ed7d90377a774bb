//! The verdict in a report.

use crate::support::{mix_run, part, report};
use model::finding::{Finding, Severity, Source};
use model::note::Note;
use model::verdict::Verdict;

fn finding(severity: Severity, figure: &str) -> Finding {
    Finding {
        name: "a-rule".to_owned(),
        severity,
        subject: String::new(),
        figure: figure.to_owned(),
        value: None,
        advice: "do something".to_owned(),
        basis: String::new(),
        source: Source::Verdict,
    }
}

/// All text after the tables.
fn block(findings: Vec<Finding>) -> String {
    let mut result = mix_run();
    result.time_spans[0].verdict = Some(Verdict { findings });
    part(&report(&result), "Verdict:", "").to_owned()
}

#[test]
fn without_findings_it_is_one_line() {
    assert_eq!(block(Vec::new()), "Verdict: no conditions found that invalidate or bias the results\n");
}

#[test]
fn findings_have_two_lines_each_and_the_gravest_is_in_the_first() {
    let findings = vec![
        finding(Severity::Invalid, "everything is wrong"),
        finding(Severity::Warn, "something is"),
        finding(Severity::Note, "little is"),
    ];
    insta::assert_snapshot!(block(findings), @r"
    Verdict: INVALID
      INVALID a-rule: everything is wrong
              do something
      WARN    a-rule: something is
              do something
      NOTE    a-rule: little is
              do something
    ");
    assert!(block(vec![finding(Severity::Warn, "w")]).starts_with("Verdict: WARN\n"));
}

#[test]
fn notes_do_not_make_figures_wrong() {
    let block_with_notes = |count| block(vec![finding(Severity::Note, "little is"); count]);
    let head = "Verdict: no conditions found that invalidate the results; notes limit what\n  they show: a-rule\n";
    assert!(block_with_notes(1).starts_with(&format!("{head}  NOTE    a-rule: ")), "{}", block_with_notes(1));
    assert!(block_with_notes(2).starts_with(head), "each name is told once");
}

#[test]
fn it_is_the_end_of_a_report_and_changes_nothing_before() {
    let mut result = mix_run();
    result.time_spans[0].notes = vec![Note::CpuStolen { percent_hundredths: 531 }];
    let without = report(&result);
    result.time_spans[0].verdict = Some(Verdict::default());
    let with = report(&result);
    assert!(with.strip_prefix(&without).is_some_and(|rest| rest.starts_with("\nVerdict: ")), "{with}");
}

#[test]
fn a_path_cannot_begin_a_line() {
    assert!(block(vec![finding(Severity::Warn, "on 'a\nTotal IO'")]).contains("on 'a\\x0aTotal IO'"));
}
