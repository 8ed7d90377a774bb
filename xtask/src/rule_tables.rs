//! The tables of the pages about rules, generated from the declarations of the rules.

use model::check::Workload;
use rules::{check::CheckRule, expect, runs, verdict};
use std::fmt::Write as _;

/// The end of `docs/verdict.md`; `diskspd explain` prints the rest of a rule.
pub(crate) fn verdict_table() -> String {
    let rows = verdict::rules().map(|rule| {
        let unit = if rule.unit.is_empty() { "-" } else { rule.unit };
        let finding = plain(first_sentence(rule.computed_from));
        [quoted(rule.name), rule.severity.word().to_owned(), unit.to_owned(), finding]
    });
    table(["Name", "Severity", "Value", "Computed from"], rows)
}

/// A text up to the first full stop before a capital letter, a bracket or a backquote.
fn first_sentence(text: &str) -> &str {
    let begins_sentence = |rest: &str| rest.starts_with(|first: char| first.is_uppercase() || "([`".contains(first));
    let mut ends = text.match_indices(". ").filter(|(at, stop)| begins_sentence(&text[at + stop.len()..]));
    ends.next().map_or(text, |(at, _)| &text[..at])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_before_the_next_one() {
        assert_eq!(
            first_sentence("above 2.5 % of e.g. reads. Not with `-n`. [Why](x.md)"),
            "above 2.5 % of e.g. reads"
        );
        assert_eq!(first_sentence("a signal (cpu.stat, 1. 2)"), "a signal (cpu.stat, 1. 2)");
    }
}
