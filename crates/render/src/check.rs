//! `diskspd check`: a table of findings, and advice.

use crate::foreign;
use crate::table_text::{COLUMNS, lines};
use model::check::CheckReport;
use model::finding::{Finding, Severity};
use model::printable::wrapped;
use report::{Column, Table};
use std::io::{self, Write};

/// Outcomes of checks, the most severe first.
const OUTCOMES: [Severity; 5] = [Severity::Fail, Severity::Warn, Severity::Note, Severity::Unknown, Severity::Pass];

/// Indent of the further lines of an advice.
const FURTHER: &str = "    ";

/// Writes the whole report.
pub fn text(report: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    let columns = ["RESULT", "CHECK"].map(Column::text).into_iter().chain(["OF", "FOUND"].map(Column::words));
    let mut table = Table::with_columns(columns);
    for finding in &report.findings {
        let Finding { name, subject, severity, figure, .. } = finding;
        table.rows.push(vec![severity.name().to_owned(), name.clone(), shown(subject)?, shown(figure)?]);
    }
    for line in lines(&table) {
        writeln!(out, "{}", line.strip_prefix(' ').unwrap_or(&line))?;
    }
    let advised: Vec<&Finding> = report.findings.iter().filter(|finding| !finding.advice.is_empty()).collect();
    if !advised.is_empty() {
        writeln!(out, "\nWhat to do:")?;
    }
    for wanted in [Severity::Fail, Severity::Warn, Severity::Note] {
        for finding in advised.iter().filter(|finding| finding.severity == wanted) {
            let Finding { name, subject, severity, advice, .. } = finding;
            let words = format!("{} {name} of {}: {advice}", severity.name(), shown(subject)?);
            for (index, line) in wrapped(&words, COLUMNS - FURTHER.len()).iter().enumerate() {
                writeln!(out, "{}{line}", if index == 0 { "  " } else { FURTHER })?;
            }
        }
    }
    let counts: Vec<String> =
        OUTCOMES.iter().map(|outcome| format!("{} {}", report.count(*outcome), outcome.name())).collect();
    writeln!(out, "\n{}", counts.join(", "))
}

/// A path or message, which may contain anything, on one line.
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
            finding(
                "raid",
                "md0",
                Severity::Fail,
                "degraded: one of its drives is missing, and reads are rebuilt from the others",
                "replace the drive that is missing, and wait until the array has been rebuilt before you measure",
            ),
            finding("lun-count", "a.dat", Severity::Note, "one LUN", "stripe it"),
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
        fail     raid       md0        degraded: one of its drives is missing, and
                                       reads are rebuilt from the others
        note     lun-count  a.dat      one LUN
        unknown  smart      sda        only root may ask

        What to do:
          fail raid of md0: replace the drive that is missing, and wait until the
            array has been rebuilt before you measure
          warn scheduler of sda: use none
          note lun-count of a.dat: stripe it

        1 fail, 1 warn, 1 note, 1 unknown, 1 pass
        ");
    }
}
