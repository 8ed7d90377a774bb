//! `diskspd check`: a table of answers, and what to do.

use crate::foreign;
use crate::plain_table::PlainTable;
use model::check::{CheckReport, Finding, Outcome};
use std::io::{self, Write};

/// Writes all of it.
pub fn text(report: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    let mut table = PlainTable::new(["RESULT", "CHECK", "OF", "FOUND"], []);
    for finding in &report.findings {
        let Finding { check, subject, outcome, found, .. } = finding;
        table.add([outcome.word().to_owned(), check.name().to_owned(), shown(subject)?, shown(found)?]);
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_start())?;
    }
    let advised: Vec<(&Finding, &String)> =
        report.findings.iter().filter_map(|finding| Some((finding, finding.advice.as_ref()?))).collect();
    if !advised.is_empty() {
        writeln!(out, "\nWhat to do:")?;
    }
    for wanted in [Outcome::Fail, Outcome::Warn] {
        for (finding, advice) in advised.iter().filter(|(finding, _)| finding.outcome == wanted) {
            let Finding { check, subject, outcome, .. } = finding;
            writeln!(out, "  {} {} of {}: {advice}", outcome.word(), check.name(), shown(subject)?)?;
        }
    }
    let counts: Vec<String> =
        Outcome::ALL.iter().map(|outcome| format!("{} {}", report.count(*outcome), outcome.word())).collect();
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
    use model::check::{CHECK_SCHEMA, CHECK_SCHEMA_VERSION, Check, Workload};

    #[test]
    fn a_table_advice_and_counts() {
        let finding = |check, subject: &str, outcome, found: &str, advice: Option<&str>| Finding {
            check,
            subject: subject.to_owned(),
            outcome,
            found: found.to_owned(),
            advice: advice.map(str::to_owned),
        };
        let findings = vec![
            finding(Check::Target, "a\n.dat", Outcome::Pass, "a file", None),
            finding(Check::Scheduler, "sda", Outcome::Warn, "bfq", Some("use none")),
            finding(Check::Raid, "md0", Outcome::Fail, "degraded", Some("mend it")),
            finding(Check::Smart, "sda", Outcome::Unknown, "only root may ask", None),
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
