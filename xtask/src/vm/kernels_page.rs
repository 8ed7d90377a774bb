//! docs/kernels.md: features by kernel, as they were seen. It is both the document and the expectation.

use super::{Step, Stop, failed};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

const PAGE: &str = "docs/kernels.md";

/// Before the table.
const HEAD: &str = "| feature |";

/// The cell of a feature that was not looked for.
const NOTHING: &str = "-";

/// The cell of a feature that was seen as on the kernel to its left.
const AS_LEFT: &str = "←";

/// Features of a kernel, with how they were seen.
type Column = (String, BTreeMap<String, String>);

/// Compares with the page, or writes it; each column is a version of the kernel with its features.
pub(super) fn compare(root: &Path, columns: &[Column], writes: bool) -> Step<()> {
    let path = root.join(PAGE);
    let page = std::fs::read_to_string(&path).map_err(|error| failed("read", &path, &error))?;
    let differences = differences(&page, columns);
    if differences.is_empty() {
        return Ok(());
    }
    if writes {
        return std::fs::write(&path, written(&page, columns)).map_err(|error| failed("write", &path, &error));
    }
    Err(Stop::Failed(format!(
        "{PAGE} says otherwise; mend the program, or `cargo xtask vm-test --part kernels --write`:\n{}",
        differences.join("\n")
    )))
}

/// `6.1` of `6.1.0-50-amd64`.
fn series(version: &str) -> String {
    let number = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>();
    version.split('.').take(2).map(number).collect::<Vec<_>>().join(".")
}

/// Each feature that is not as the page says, including those that only one of them has.
fn differences(page: &str, columns: &[Column]) -> Vec<String> {
    let rows = rows(page);
    let heads: Vec<String> = rows.first().map(|(_, cells)| cells.clone()).unwrap_or_default();
    let mut differences = Vec::new();
    for (version, seen) in columns {
        let series = series(version);
        let Some(number) = heads.iter().position(|head| *head == series) else {
            differences.push(format!("{series}: has no column"));
            continue;
        };
        let expected: BTreeMap<&str, &str> =
            rows[1..].iter().map(|(feature, cells)| (feature.as_str(), cells[number].as_str())).collect();
        let features: BTreeSet<&str> = expected.keys().copied().chain(seen.keys().map(String::as_str)).collect();
        for feature in features {
            let says = expected.get(feature).copied().filter(|says| *says != NOTHING);
            let (says, saw) = (says, seen.get(feature).map(|how| escaped(how)));
            if says != saw.as_deref() {
                let [says, saw] = [says.unwrap_or(NOTHING), saw.as_deref().unwrap_or(NOTHING)];
                differences.push(format!("{series}: {feature}: expected: {says}; seen: {saw}"));
            }
        }
    }
    differences
}

/// The table's rows, the heads first: the first cell, and the others.
fn rows(page: &str) -> Vec<(String, Vec<String>)> {
    let lines = page.lines().skip_while(|line| !line.starts_with(HEAD)).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    let rows = lines.filter(|line| !line.starts_with("|-")).map(cells);
    let mut rows: Vec<(String, Vec<String>)> = rows.map(|mut cells| (cells.remove(0), cells)).collect();
    for (_, cells) in &mut rows {
        for at in 1..cells.len() {
            if cells[at] == AS_LEFT {
                let left = cells[at - 1].clone();
                cells[at] = left;
            }
        }
    }
    rows
}

fn escaped(how: &str) -> String {
    how.replace('|', "/")
}

/// The page with a table of what was seen.
fn written(page: &str, columns: &[Column]) -> String {
    let before: String = page.split_inclusive('\n').take_while(|line| !line.starts_with(HEAD)).collect();
    let after: String = page
        .split_inclusive('\n')
        .skip_while(|line| !line.starts_with(HEAD))
        .skip_while(|line| line.starts_with('|'))
        .collect();
    let heads: Vec<String> = columns.iter().map(|(version, _)| series(version)).collect();
    let mut table = format!("{HEAD} {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    let features: BTreeSet<&String> = columns.iter().flat_map(|(_, seen)| seen.keys()).collect();
    for feature in features {
        let cells =
            columns.iter().map(|(_, seen)| seen.get(feature).map_or_else(|| NOTHING.to_owned(), |it| escaped(it)));
        let cells: Vec<String> = cells.collect();
        let is_as_left = |at: usize| at > 0 && cells[at] == cells[at - 1];
        let cells: Vec<&str> = (0..cells.len()).map(|at| if is_as_left(at) { AS_LEFT } else { &cells[at] }).collect();
        let _ = writeln!(table, "| {feature} | {} |", cells.join(" | "));
    }
    before + &table + &after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_expected_and_all_else_differs() {
        let column = |version: &str, how: &str| {
            (
                version.to_owned(),
                BTreeMap::from([("BPF".to_owned(), how.to_owned()), ("openat2".to_owned(), "yes".to_owned())]),
            )
        };
        let seen = [column("5.10.0-32-amd64", "no"), column("7.2.13+deb14-amd64", "yes | with BTF")];
        let page = written("# Kernels\n\n| feature | old |\n|---|---|\n| x | y |\n\nThe end.\n", &seen);
        assert!(
            page.starts_with("# Kernels\n\n| feature | 5.10 | 7.2 |\n") && page.ends_with("|\n\nThe end.\n"),
            "{page}"
        );
        assert_eq!(differences(&page, &seen), [""; 0]);
        assert!(page.contains(&format!("| openat2 | yes | {AS_LEFT} |")), "{page}");
        let better = differences(&page, &[column("5.10.1", "yes")]);
        assert_eq!(better, ["5.10: BPF: expected: no; seen: yes"]);
        assert_eq!(differences(&page, &[column("7.3", "yes")]), ["7.3: has no column"]);
    }
}
