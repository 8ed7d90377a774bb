//! `diskspd explain`: the documentation of findings, from the declarations of their rules.

use crate::show;
use crate::status::{Status, refuse_each};
use cli::subcommand::explain::ExplainRequest;
use model::check::Workload;
use model::finding::Severity;
use model::printable::wrapped;
use model::suggest::hint;
use report::{Column, Table};
use rules::{Rule, RuleSet, check, expect, require, runs, verdict};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Width of a line in columns.
const LINE_WIDTH: usize = 100;

/// Width of the label before a text, in columns.
const LABEL_WIDTH: usize = 16;

/// The documentation of one rule.
struct Explanation {
    name: &'static str,
    /// Where the finding is reported.
    reported_by: &'static str,
    severity: Severity,
    /// Labels and texts; empty texts are left out.
    texts: Vec<(&'static str, Cow<'static, str>)>,
}

/// Runs `diskspd explain`.
pub(crate) fn run(request: &ExplainRequest) -> Status {
    let known = explanations();
    if request.names.is_empty() {
        return show::text(&list(&known));
    }
    let mut errors = Vec::new();
    let mut texts = Vec::new();
    for name in &request.names {
        // The verdict and check have rules of the same name.
        let before = texts.len();
        texts.extend(known.iter().filter(|rule| rule.name == name).map(text));
        if texts.len() == before {
            errors.push(unknown(name, &known));
        }
    }
    if errors.is_empty() {
        return show::text(&texts.join("\n"));
    }
    refuse_each(&errors)
}

/// The names of all findings, without duplicates.
pub(crate) fn names() -> Vec<&'static str> {
    let names: BTreeSet<&str> = explanations().into_iter().map(|rule| rule.name).collect();
    names.into_iter().collect()
}

fn explanations() -> Vec<Explanation> {
    fn explain_rule<S: RuleSet<Documentation = &'static str>>(
        rule: &Rule<S>,
        reported_by: &'static str,
    ) -> Explanation {
        let texts = [("Computed from", rule.computed_from), ("Value", rule.unit), ("What to do", rule.advice)];
        let texts = texts.map(|(label, text)| (label, text.into())).into();
        Explanation { name: rule.name, reported_by, severity: rule.severity, texts }
    }
    let verdict = verdict::rules().map(|rule| {
        let mut explanation = explain_rule(rule, "verdict");
        explanation.texts.extend(suppressions(rule.name).map(|(label, text)| (label, text.into())));
        explanation
    });
    let expect = expect::rules().map(|rule| explain_rule(rule, "--expect"));
    let require = require::rules().map(|rule| explain_rule(rule, "--require"));
    let runs = runs::RULES.iter().map(|rule| explain_rule(rule, "repeat, sweep"));
    // All checks: SQL Server requires more than other workloads.
    let check = check::rules(Workload::Sql).map(|rule| {
        let documentation = rule.computed_from;
        let texts = [
            ("Looks at", documentation.looks_at),
            ("Warns if", documentation.warns_if),
            ("Fails if", documentation.fails_if),
            ("Value", rule.unit),
            ("What to do", rule.advice),
        ];
        let texts = texts.map(|(label, text)| (label, text.into())).into();
        Explanation { name: rule.name, reported_by: "check", severity: rule.severity, texts }
    });
    verdict.chain(expect).chain(require).chain(runs).chain(check).collect()
}

/// The findings that this one suppresses, and those that suppress it.
fn suppressions(name: &str) -> impl Iterator<Item = (&'static str, String)> {
    let line = |others: &str, cause: &verdict::Cause| match cause.condition.words {
        "" => format!("{others}: {}", cause.because),
        condition => format!("{others}, {condition}: {}", cause.because),
    };
    let own = verdict::CAUSES.iter().filter(move |cause| cause.name == name);
    let others = verdict::CAUSES.iter().filter(move |cause| cause.explains.contains(&name));
    let suppresses = own.map(move |cause| ("Suppresses", line(&cause.explains.join(", "), cause)));
    suppresses.chain(others.map(move |cause| ("Suppressed by", line(cause.name, cause))))
}

fn list(known: &[Explanation]) -> String {
    let row =
        |rule: &Explanation| vec![rule.name.to_owned(), rule.reported_by.to_owned(), rule.severity.word().to_owned()];
    let columns = ["FINDING", "REPORTED BY", "SEVERITY"].map(Column::text);
    let table = Table { rows: known.iter().map(row).collect(), ..Table::with_columns(columns) };
    render::wide_table_lines(&table).iter().fold(String::new(), |text, line| text + line.trim() + "\n")
}

fn text(rule: &Explanation) -> String {
    let mut text = format!("{} ({}: {})\n", rule.name, rule.reported_by, rule.severity.word());
    for (label, value) in rule.texts.iter().filter(|(_, value)| !value.is_empty()) {
        let lines = wrapped(&plain(value), LINE_WIDTH - LABEL_WIDTH).join(&format!("\n{:LABEL_WIDTH$}", ""));
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {label:<14}{lines}");
    }
    text
}

/// A text of the documentation without its markup.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[')
        && let Some((words, place)) = link.split_once("](")
        && let Some((place, after)) = place.split_once(')')
    {
        let _ = write!(plain, "{before}{words}: docs/{place}");
        rest = after;
    }
    plain.push_str(rest);
    plain.replace('`', "")
}

fn unknown(name: &str, known: &[Explanation]) -> String {
    let meant = hint(name, known.iter().map(|rule| rule.name));
    format!("unknown finding '{name}'; {meant}'diskspd explain' lists all findings")
}
