//! `diskspd check`: a table of answers, and what to do.

use crate::foreign;
use crate::table_text::lines_of_any_width;
use model::check::CheckReport;
use model::finding::{Finding, Severity};
use report::{Column, Table};
use std::io::{self, Write};

/// What checks answer, the most severe first.
const OUTCOMES: [Severity; 4] = [Severity::Fail, Severity::Warn, Severity::Unknown, Severity::Pass];

/// Writes all of it.
pub fn text(report: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::with_columns(["RESULT", "CHECK", "OF", "FOUND"].map(Column::text));
    for finding in &report.findings {
        let Finding { name, subject, severity, figure, .. } = finding;
        table.rows.push(vec![severity.name().to_owned(), name.clone(), shown(subject)?, shown(figure)?]);
    }
    for line in lines_of_any_width(&table) {
        writeln!(out, "{}", line.trim_start())?;
    }
    let advised: Vec<&Finding> = report.findings.iter().filter(|finding| !finding.advice.is_empty()).collect();
    if !advised.is_empty() {
        writeln!(out, "\nWhat to do:")?;
    }
    for wanted in [Severity::Fail, Severity::Warn] {
        for finding in advised.iter().filter(|finding| finding.severity == wanted) {
            let Finding { name, subject, severity, advice, .. } = finding;
            writeln!(out, "  {} {name} of {}: {advice}", severity.name(), shown(subject)?)?;
        }
    }
    let counts: Vec<String> =
        OUTCOMES.iter().map(|outcome| format!("{} {}", report.count(*outcome), outcome.name())).collect();
    writeln!(out, "\n{}", counts.join(", "))
}

/// A path or message, which may hold anything, on one line.
fn shown(text: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    foreign::write_bytes(&mut bytes, text.as_bytes())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::check::{CHECK_SCHEMA, CHECK_SCHEMA_VERSION, Workload};
    use model::finding::Source;

    #[test]
    fn a_table_advice_and_counts() {
        let finding = |name: &str, subject: &str, severity, figure: &str, advice: &str| Finding {
            name: name.to_owned(),
            severity,
            subject: subject.to_owned(),
            figure: figure.to_owned(),
            value: None,
            advice: advice.to_owned(),
            basis: String::new(),
            source: Source::Check,
        };
        let findings = vec![
            finding("target", "a\n.dat", Severity::Pass, "a file", ""),
            finding("scheduler", "sda", Severity::Warn, "bfq", "use none"),
            finding("raid", "md0", Severity::Fail, "degraded", "mend it"),
            finding("smart", "sda", Severity::Unknown, "only root may ask", ""),
        ];
        let report = CheckReport {
            schema: CHECK_SCHEMA,
            schema_version: CHECK_SCHEMA_VERSION,
            version: "1".to_owned(),
            workload: Workload::Any,
            findings,
        };
        let mut out = Vec::new();
        text(&report, &mut out).expect("a vector takes everything");
        insta::assert_snapshot!(String::from_utf8(out).expect("text"), @r"
        RESULT   CHECK      OF         FOUND
        pass     target     a\x0a.dat  a file
        warn     scheduler  sda        bfq
        fail     raid       md0        degraded
        unknown  smart      sda        only root may ask

        What to do:
          fail raid of md0: mend it
          warn scheduler of sda: use none

        1 fail, 1 warn, 1 unknown, 1 pass
        ");
    }
}
