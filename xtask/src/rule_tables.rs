//! The tables of the pages about rules, generated from the declarations of the rules.

use model::check::Workload;
use rules::{check::CheckRule, expect, runs, verdict};
use std::fmt::Write as _;

/// The end of `docs/verdict.md`.
pub(crate) fn verdict_table() -> String {
    let rows = verdict::rules().map(|rule| {
        let unit = if rule.unit.is_empty() { "-" } else { rule.unit };
        [
            quoted(rule.name),
            rule.severity.word().to_owned(),
            unit.to_owned(),
            plain(rule.computed_from),
            plain(rule.advice),
        ]
    });
    table(["Name", "Severity", "Value", "Computed from", "What to do"], rows) + &causes()
}

/// The findings of the verdict that are suppressed by others, with these.
fn causes() -> String {
    let row = |cause: &verdict::Cause| {
        let condition = if cause.condition.words.is_empty() { "always" } else { cause.condition.words };
        let silent: Vec<String> = cause.explains.iter().map(|name| quoted(name)).collect();
        [quoted(cause.name), condition.to_owned(), silent.join(", "), plain(cause.because)]
    };
    let heading = "\n## One cause, one finding\n\nA finding that another finding explains is not reported. Findings that are \
                   `INVALID`, or more severe than the one that explains them, are always reported.\n";
    heading.to_owned()
        + &table(["Finding", "Condition", "Not reported with it", "Because"], verdict::CAUSES.iter().map(row))
}

/// The end of `docs/sweeps.md`.
pub(crate) fn runs_table() -> String {
    let rows = runs::RULES.iter().map(|rule| {
        let (name, severity) = (quoted(rule.name), rule.severity.word().to_owned());
        [name, severity, rule.unit.to_owned(), plain(rule.computed_from), plain(rule.advice)]
    });
    table(["Name", "Severity", "Value", "Computed from", "What to do"], rows)
}

/// The end of `docs/expect.md`.
pub(crate) fn expectation_table() -> String {
    let rows = expect::rules().map(|rule| {
        let (name, severity) = (quoted(rule.name), rule.severity.word().to_owned());
        [name, severity, rule.unit.to_owned(), plain(rule.computed_from), plain(rule.advice)]
    });
    table(["Name", "Severity", "Value", "If", "What to do"], rows)
}

/// The end of `docs/check.md`.
pub(crate) fn check_table() -> String {
    let row = |rule: &CheckRule, condition: &str| {
        let documentation = rule.computed_from;
        let or_never = |text: &str| if text.is_empty() { "-".to_owned() } else { plain(text) };
        let looks_at = format!("{condition}{}", plain(documentation.looks_at));
        [quoted(rule.name), looks_at, or_never(documentation.warns_if), or_never(documentation.fails_if)]
    };
    let always = rules::check::rules(Workload::Any).map(|rule| row(rule, ""));
    let for_sql = rules::check::rules_of(Workload::Sql).iter().map(|rule| row(rule, "`--for sql`: "));
    table(["Check", "Looks at", "Warns if", "Fails if"], always.chain(for_sql))
}

fn table<const N: usize>(heading: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut table = format!("\n| {} |\n|{}\n", heading.join(" | "), "---|".repeat(N));
    for row in rows {
        // Writing to a string does not fail.
        let _ = writeln!(table, "| {} |", row.join(" | "));
    }
    table
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// A text that fits into one cell.
fn plain(text: &str) -> String {
    text.replace('|', "\\|")
}
